/** Sums of several kinds, stacked by day. */
import { scaleBand, scaleLinear } from "d3-scale";
import { onDay } from "../lib/format.ts";
import { Legend, Tip, useWalk, useWidth } from "./frame.tsx";

export type DayParts = { ts: number; parts: number[] };

type Props = {
  label: string;
  days: DayParts[];
  /** Color and name of each part. */
  kinds: [color: string, name: string][];
  value: (n: number) => string;
  height?: number;
};

const LEFT = 58;

export function DayBars({ label, days, kinds, value, height = 190 }: Props) {
  const [ref, width] = useWidth();
  const walk = useWalk(days.length);
  const over = walk.over === null ? undefined : days[walk.over];
  const sum = ({ parts }: DayParts) => parts.reduce((total, part) => total + part, 0);
  const x = scaleBand(
    days.map((day) => day.ts),
    [LEFT, Math.max(LEFT, width - 14)],
  ).padding(0.22);
  const y = scaleLinear([0, Math.max(0.01, ...days.map(sum))], [height - 22, 8]).nice(3);
  const every = Math.max(1, Math.ceil((64 * days.length) / Math.max(1, width - LEFT)));
  return (
    <div className="min-w-0 overflow-hidden">
      <div ref={ref} className="relative" style={{ height }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={label} {...walk.handlers}>
            {y.ticks(3).map((tick) => (
              <g key={tick} transform={`translate(0,${y(tick)})`}>
                <line x1={LEFT} x2={width - 14} className="stroke-grid" />
                <text x={LEFT - 8} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                  {value(tick)}
                </text>
              </g>
            ))}
            {days.map((day, i) => {
              const [left, w] = [x(day.ts) ?? 0, x.bandwidth()];
              return (
                <g key={day.ts} onPointerEnter={() => walk.setOver(i)} opacity={over && over !== day ? 0.55 : 1}>
                  <rect x={left} width={w} y={0} height={height - 22} fill="transparent" />
                  {day.parts.map((part, place) => {
                    const below = day.parts.slice(0, place).reduce((total, one) => total + one, 0);
                    const [color, name] = kinds[place] ?? ["", ""];
                    return (
                      <rect
                        key={name}
                        x={left}
                        width={w}
                        y={y(below + part)}
                        height={y(below) - y(below + part)}
                        fill={color}
                      />
                    );
                  })}
                  {(days.length - 1 - i) % every === 0 && (
                    <text x={left + w / 2} y={height - 6} textAnchor="middle" className="fill-faint text-[11px]">
                      {onDay(day.ts)}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
        )}
        {over && (
          <Tip x={(x(over.ts) ?? 0) + x.bandwidth() / 2} y={8} width={width}>
            <div className="font-semibold">{onDay(over.ts)}</div>
            {kinds.map(([, name], place) => (
              <div key={name}>
                {value(over.parts[place] ?? 0)} {name}
              </div>
            ))}
          </Tip>
        )}
      </div>
      <Legend items={kinds} />
    </div>
  );
}
