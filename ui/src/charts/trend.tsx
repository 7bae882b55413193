/** A rate over time, with its interval as a band. Straight segments; a gap where nothing is known; the bucket that
 *  is still filling is dotted. */
import { scaleLinear, scaleTime } from "d3-scale";
import { area, curveLinear, line } from "d3-shape";
import { useState } from "react";
import { count, onDay, percent } from "../lib/format.ts";
import { Tip, useWidth } from "./frame.tsx";

export type TrendPoint = {
  ts: number;
  value: number | null;
  low?: number | null;
  high?: number | null;
  n: number;
  /** A second rate, drawn thin. */
  rival?: number | null;
  rivalN?: number;
};

type Props = {
  label: string;
  points: TrendPoint[];
  bucket: "day" | "week";
  /** When the data ends: a bucket beyond it is unfinished. */
  now: number;
  height?: number;
  names?: [string, string];
  /** Room for axes and numbers; without, the line alone. */
  bare?: boolean;
};

const SECONDS = { day: 86_400, week: 604_800 };

/** Points with the missing buckets between them put in, so that a gap is a gap. */
export function withGaps(points: TrendPoint[], bucket: "day" | "week"): TrendPoint[] {
  const filled: TrendPoint[] = [];
  for (const point of points) {
    const last = filled.at(-1);
    if (last && point.ts - last.ts > SECONDS[bucket] * 1.5) {
      filled.push({ ts: last.ts + SECONDS[bucket], value: null, n: 0 });
    }
    filled.push(point);
  }
  return filled;
}

export function Trend({ label, points, bucket, now, height = 230, names = ["success rate", "shadow"], bare }: Props) {
  const [ref, width] = useWidth();
  const [over, setOver] = useState<number | null>(null);
  const shown = withGaps(points, bucket);
  const margin = bare ? { top: 6, right: 4, bottom: 16, left: 4 } : { top: 10, right: 12, bottom: 24, left: 46 };
  const inner = { w: Math.max(0, width - margin.left - margin.right), h: height - margin.top - margin.bottom };
  const values = shown
    .flatMap((p) => [p.value, p.low ?? null, p.high ?? null, p.rival ?? null])
    .filter((v) => v !== null);
  const low = Math.max(0, Math.min(...values, 1) - 0.03);
  const high = Math.min(1, Math.max(...values, 0) + 0.03);
  const first = shown[0]?.ts ?? 0;
  const end = shown.at(-1)?.ts ?? 1;
  const x = scaleTime([first * 1000, Math.max(end, first + 1) * 1000], [0, inner.w]);
  const y = scaleLinear([low, high], [inner.h, 0]).nice(4);
  const unfinished = end + SECONDS[bucket] > now;
  const solid = unfinished && shown.length > 1 ? shown.slice(0, -1) : shown;
  const tail = unfinished ? shown.slice(-2) : [];
  const path = line<TrendPoint>()
    .defined((p) => p.value !== null)
    .x((p) => x(p.ts * 1000))
    .y((p) => y(p.value ?? 0))
    .curve(curveLinear);
  const rival = line<TrendPoint>()
    .defined((p) => p.rival != null)
    .x((p) => x(p.ts * 1000))
    .y((p) => y(p.rival ?? 0));
  const band = area<TrendPoint>()
    .defined((p) => p.low != null && p.high != null)
    .x((p) => x(p.ts * 1000))
    .y0((p) => y(p.low ?? 0))
    .y1((p) => y(p.high ?? 0));
  const hovered = over === null ? null : (shown[over] ?? null);
  const nearest = (px: number) => {
    let best = 0;
    shown.forEach((p, i) => {
      if (Math.abs(x(p.ts * 1000) - px) < Math.abs(x((shown[best]?.ts ?? 0) * 1000) - px)) best = i;
    });
    return best;
  };
  const move = (step: number) => setOver((i) => Math.min(shown.length - 1, Math.max(0, (i ?? shown.length) + step)));
  return (
    <div ref={ref} className="relative min-w-0 overflow-hidden" style={{ height }}>
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          tabIndex={bare ? -1 : 0}
          aria-label={`${label}: ${points.length} ${bucket}s, latest ${percent(points.at(-1)?.value)}`}
          onPointerMove={(e) =>
            setOver(nearest(e.clientX - e.currentTarget.getBoundingClientRect().left - margin.left))
          }
          onPointerLeave={() => setOver(null)}
          onBlur={() => setOver(null)}
          onKeyDown={(e) => (e.key === "ArrowLeft" ? move(-1) : e.key === "ArrowRight" && move(1))}>
          <g transform={`translate(${margin.left},${margin.top})`}>
            {!bare &&
              y.ticks(4).map((tick) => (
                <g key={tick} transform={`translate(0,${y(tick)})`}>
                  <line x2={inner.w} className="stroke-grid" />
                  <text x={-10} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                    {percent(tick, 0)}
                  </text>
                </g>
              ))}
            {(bare ? [first, end] : x.ticks(Math.max(2, Math.floor(inner.w / 90))).map((d) => d.getTime() / 1000)).map(
              (tick, i) => (
                <text
                  key={tick}
                  x={x(tick * 1000)}
                  y={inner.h + (bare ? 13 : 17)}
                  className="fill-faint text-[11px]"
                  textAnchor={bare ? (i === 0 ? "start" : "end") : "middle"}>
                  {onDay(tick)}
                </text>
              ),
            )}
            <path d={band(shown) ?? ""} className="fill-accent/15" />
            <path d={rival(shown) ?? ""} className="fill-none stroke-rival" strokeWidth="1.5" strokeDasharray="5 3" />
            <path d={path(solid) ?? ""} className="fill-none stroke-accent" strokeWidth="2" strokeLinejoin="round" />
            <path
              d={path(tail) ?? ""}
              className="fill-none stroke-accent"
              strokeWidth="2"
              strokeDasharray="2 4"
              strokeLinecap="round"
            />
            {shown.map(
              (p) =>
                p.value !== null &&
                (shown.length < 40 || p === hovered) && (
                  <circle
                    key={p.ts}
                    cx={x(p.ts * 1000)}
                    cy={y(p.value)}
                    r={p === hovered ? 4 : bare ? 0 : 2.2}
                    className="fill-panel stroke-accent"
                    strokeWidth="1.6"
                  />
                ),
            )}
            {hovered && (
              <line
                x1={x(hovered.ts * 1000)}
                x2={x(hovered.ts * 1000)}
                y2={inner.h}
                className="stroke-line-strong"
                strokeDasharray="2 2"
              />
            )}
          </g>
        </svg>
      )}
      {hovered && (
        <Tip x={x(hovered.ts * 1000) + margin.left} y={6} width={width}>
          <div className="font-semibold">{bucket === "week" ? `Week of ${onDay(hovered.ts)}` : onDay(hovered.ts)}</div>
          {hovered.value === null ? (
            <div className="text-faint">nothing judged</div>
          ) : (
            <>
              <div>
                {names[0]} {percent(hovered.value)}
              </div>
              {hovered.low != null && (
                <div className="text-faint">
                  95 % interval {percent(hovered.low)} to {percent(hovered.high)}
                </div>
              )}
              <div className="text-faint">n = {count(hovered.n)}</div>
              {hovered.rival != null && (
                <div className="text-rival">
                  {names[1]} {percent(hovered.rival)} (n = {count(hovered.rivalN)})
                </div>
              )}
            </>
          )}
        </Tip>
      )}
    </div>
  );
}
