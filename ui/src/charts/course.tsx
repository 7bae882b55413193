/** The course of one number, with zero and the band of its intervals. */
import { scaleLinear } from "d3-scale";
import { Tip, useWalk, useWidth } from "./frame.tsx";
import { type Reading, shapesOf, withGaps } from "./shapes.ts";

export type CoursePoint = {
  ts: number;
  value: number;
  low?: number | null;
  high?: number | null;
  /** A line below the number, shown beside the pointer. */
  note?: string;
};

type Props = {
  label: string;
  points: CoursePoint[];
  /** Seconds from one point to the next; more is a gap. */
  step: number;
  time: (seconds: number) => string;
  tick: (value: number) => string;
  value: (value: number) => string;
  height?: number;
  /** The axis reaches at least this far up. */
  least?: number;
};

const MARGIN = { top: 10, right: 26, bottom: 24, left: 52 };
const LABEL_WIDTH = 64;

export function Course({ label, points, step, time, tick, value, height = 210, least = 0 }: Props) {
  const [ref, width] = useWidth();
  const walk = useWalk(points.length);
  const [w, h] = [Math.max(0, width - MARGIN.left - MARGIN.right), height - MARGIN.top - MARGIN.bottom];
  const known = points.flatMap((p) => [p.value, p.low ?? p.value, p.high ?? p.value]);
  const [first, last] = [points[0]?.ts ?? 0, points.at(-1)?.ts ?? 0];
  const x = scaleLinear([first, Math.max(last, first + step)], [0, w]);
  const y = scaleLinear([Math.min(0, ...known), Math.max(least, 0, ...known) || 1], [h, 0]).nice(4);
  // Labels stand so many steps apart that none touches another, wherever points are missing.
  const every = Math.max(1, Math.ceil((LABEL_WIDTH * (last - first)) / step / Math.max(1, w)));
  const shown = withGaps<Reading>(points, step, (ts) => ({ ts, value: null }));
  const { path, band } = shapesOf(x, y);
  const nearest = (px: number) => {
    const ts = x.invert(px - MARGIN.left);
    const gaps = points.map((p) => Math.abs(p.ts - ts));
    return gaps.indexOf(Math.min(...gaps));
  };
  const hovered = walk.over === null ? undefined : points[walk.over];
  const latest = points.at(-1);
  return (
    <div ref={ref} className="relative min-w-0 overflow-hidden" style={{ height }}>
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${label}: ${points.length} points, latest ${latest ? value(latest.value) : "none"}`}
          {...walk.handlers}
          onPointerMove={(e) => walk.setOver(nearest(e.clientX - e.currentTarget.getBoundingClientRect().left))}>
          <g transform={`translate(${MARGIN.left},${MARGIN.top})`}>
            {y.ticks(4).map((at) => (
              <g key={at} transform={`translate(0,${y(at)})`}>
                <line x2={w} className={at === 0 ? "stroke-soft" : "stroke-grid"} />
                <text x={-10} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                  {tick(at)}
                </text>
              </g>
            ))}
            {points.map(
              (p) =>
                Math.round((last - p.ts) / step) % every === 0 && (
                  <text
                    key={p.ts}
                    x={x(p.ts)}
                    y={h + 18}
                    textAnchor="middle"
                    className="fill-faint text-[11px]"
                    data-tick={p.ts}>
                    {time(p.ts)}
                  </text>
                ),
            )}
            <path d={band(shown)} fill="var(--accent)" opacity="0.14" data-testid="band" />
            <path d={path(shown)} stroke="var(--accent)" strokeWidth="2" fill="none" strokeLinejoin="round" />
            {hovered && (
              <>
                <line
                  x1={x(hovered.ts)}
                  x2={x(hovered.ts)}
                  y2={h}
                  className="stroke-line-strong"
                  strokeDasharray="2 2"
                />
                <circle cx={x(hovered.ts)} cy={y(hovered.value)} r="4" className="fill-panel stroke-accent" />
              </>
            )}
            {points.length === 1 && latest && (
              <circle cx={x(latest.ts)} cy={y(latest.value)} r="3" className="fill-accent" />
            )}
          </g>
        </svg>
      )}
      {hovered && (
        <Tip x={x(hovered.ts) + MARGIN.left} y={6} width={width}>
          <div className="font-semibold">{time(hovered.ts)}</div>
          <div>{value(hovered.value)}</div>
          {hovered.low != null && hovered.high != null && (
            <div className="text-faint">
              {value(hovered.low)} to {value(hovered.high)}
            </div>
          )}
          {hovered.note && <div className="text-faint">{hovered.note}</div>}
        </Tip>
      )}
    </div>
  );
}
