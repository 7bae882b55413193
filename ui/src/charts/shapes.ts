/** The line through what is known of a number over time, and the band of its intervals. */
import { area, curveLinear, line } from "d3-shape";

export type Reading = { ts: number; value: number | null; low?: number | null; high?: number | null };

/** Straight segments; nothing is drawn where nothing is known. */
export function shapesOf(x: (ts: number) => number, y: (value: number) => number) {
  const path = line<Reading>()
    .defined((p) => p.value !== null)
    .x((p) => x(p.ts))
    .y((p) => y(p.value ?? 0))
    .curve(curveLinear);
  const band = area<Reading>()
    .defined((p) => p.low != null && p.high != null)
    .x((p) => x(p.ts))
    .y0((p) => y(p.low ?? 0))
    .y1((p) => y(p.high ?? 0));
  return { path: (points: Reading[]) => path(points) ?? "", band: (points: Reading[]) => band(points) ?? "" };
}

/** With a place of which nothing is known between points that are more than one step of seconds apart: a gap is a gap. */
export function withGaps<P extends Reading>(points: P[], step: number, unknown: (ts: number) => P): P[] {
  return points.flatMap((point, i) => {
    const before = points[i - 1];
    const isApart = before !== undefined && point.ts - before.ts > step * 1.5;
    return isApart ? [unknown(before.ts + step), point] : [point];
  });
}
