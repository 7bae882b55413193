/** Intervals on one axis around zero: where the effect may lie. */
import { scaleLinear } from "d3-scale";
import { points, signed } from "../lib/format.ts";
import { useWidth } from "./frame.tsx";

export type IntervalRow = {
  name: string;
  value: number | null;
  low: number | null;
  high: number | null;
  /** Stands where there is no number. */
  note?: string;
  /** A sentence that says what the row is, beside the pointer. */
  about?: string;
  strong?: boolean;
};

/** All values in one unit, percentage points unless said otherwise. */
export function Intervals({ label, rows, unit = "pp" }: { label: string; rows: IntervalRow[]; unit?: string }) {
  const [ref, width] = useWidth();
  const narrow = width < 520;
  const left = narrow ? 8 : 190;
  const right = narrow ? 8 : 150;
  const step = narrow ? 58 : 40;
  const height = rows.length * step + 30;
  const known = rows.flatMap((r) => [r.low, r.high, r.value]).filter((v) => v !== null);
  const reach = Math.max(1, ...known.map(Math.abs)) * 1.08;
  const lowest = Math.min(0, ...known),
    highest = Math.max(0, ...known);
  const pad = (highest - lowest) * 0.06 || reach;
  const x = scaleLinear([lowest - pad, highest + pad], [left, Math.max(left, width - right)]).nice(5);
  const text = (n: number) => (unit === "pp" ? points(n) : `${signed(n, 2)} ${unit}`);
  return (
    <div ref={ref} className="min-w-0 overflow-hidden" style={{ height }}>
      {width > 0 && (
        <svg width={width} height={height} role="img" aria-label={label}>
          {x.ticks(narrow ? 4 : 6).map((tick) => (
            <g key={tick} transform={`translate(${x(tick)},0)`}>
              <line y1={4} y2={height - 22} className={tick === 0 ? "stroke-soft" : "stroke-grid"} />
              <text y={height - 7} textAnchor={anchorAt(x(tick), width)} className="num fill-faint text-[11px]">
                {signed(tick, 0)}
              </text>
            </g>
          ))}
          {rows.map((row, i) => {
            const y = i * step + (narrow ? 36 : 22);
            const tone = row.low !== null && row.low > 0 ? "good" : row.high !== null && row.high < 0 ? "bad" : "soft";
            const stroke = { good: "stroke-good", bad: "stroke-bad", soft: "stroke-soft" }[tone];
            const fill = { good: "fill-good", bad: "fill-bad", soft: "fill-soft" }[tone];
            return (
              <g key={row.name}>
                {row.about && <title>{row.about}</title>}
                <rect x={0} width={width} y={y - step / 2} height={step} fill="transparent" />
                <text
                  x={narrow ? left : left - 12}
                  y={narrow ? y - 14 : y}
                  dy="0.32em"
                  textAnchor={narrow ? "start" : "end"}
                  className={`text-[12.5px] ${row.strong ? "fill-ink font-semibold" : "fill-soft"}`}>
                  {row.name}
                </text>
                {row.low !== null && row.high !== null && (
                  <line
                    x1={x(row.low)}
                    x2={x(row.high)}
                    y1={y}
                    y2={y}
                    className={stroke}
                    strokeWidth={row.strong ? 5 : 3}
                    strokeLinecap="round"
                    opacity="0.55"
                  />
                )}
                {row.value !== null && <circle cx={x(row.value)} cy={y} r={row.strong ? 5.5 : 4.2} className={fill} />}
                <text
                  x={narrow ? width - right : width - right + 12}
                  y={narrow ? y - 14 : y}
                  dy="0.32em"
                  textAnchor={narrow ? "end" : "start"}
                  className="num fill-ink text-[12.5px]">
                  {row.low !== null && row.high !== null
                    ? `${signed(row.low)} to ${signed(row.high)}`
                    : row.value !== null
                      ? text(row.value)
                      : (row.note ?? "–")}
                </text>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}

/** A label at an edge ends there, so that none of it is cut. */
const anchorAt = (x: number, width: number) => (x < 16 ? "start" : x > width - 16 ? "end" : "middle");
