/** Rates over time, with the interval of one as a band. The axis is the chosen range, its ticks are the starts of buckets
 *  (UTC). Straight segments; a gap where nothing is known; a bucket that is still filling is dotted. */
import { scaleLinear } from "d3-scale";
import { type KeyboardEvent, type MouseEvent, useState } from "react";
import { count, onDay, percent } from "../lib/format.ts";
import { BUCKET_SECONDS, type Bucket, bucketsOf, type Range } from "../lib/range.ts";
import { Tip, useWidth } from "./frame.tsx";
import { shapesOf, withGaps } from "./shapes.ts";

export type TrendPoint = {
  ts: number;
  value: number | null;
  low?: number | null;
  high?: number | null;
  n: number;
};

export type TrendLine = { name: string; color: string; points: TrendPoint[]; look?: "main" | "thin" };
/** Something that began: a version of the agent. */
export type Marker = { ts: number; name: string };

type Props = {
  label: string;
  lines: TrendLine[];
  range: Pick<Range, "from" | "to" | "bucket">;
  /** The present: a bucket that ends later is unfinished. */
  now: number;
  height?: number;
  markers?: Marker[];
  /** For small charts side by side: ends of the axes alone. */
  small?: boolean;
  /** Where the axis begins, of charts that are compared. */
  floor?: number;
  /** Opens what a bucket is made of. */
  onOpen?: (ts: number) => void;
};

/** The one rule for the axis of rates: 0 to 100 %, or 50 to 100 % with a marked break if nothing lies below. */
export function floorOf(points: TrendPoint[]): number {
  const known = points.flatMap((p) => [p.value, p.low]).filter((rate) => rate != null);
  return known.length === 0 || Math.min(...known) < 0.5 ? 0 : 0.5;
}

const LABEL_WIDTH = 58;

export function Trend({ label, lines, range, now, height = 230, markers = [], small, floor, onOpen }: Props) {
  const [ref, width] = useWidth();
  const [over, setOver] = useState<number | null>(null);
  const { bucket } = range;
  const margin = { top: small ? 6 : markers.length > 0 ? 24 : 10, right: 18, bottom: small ? 18 : 24, left: 46 };
  const inner = { w: Math.max(0, width - margin.left - margin.right), h: height - margin.top - margin.bottom };
  const buckets = bucketsOf(range);
  const half = BUCKET_SECONDS[bucket] / 2;
  const ends = [(buckets[0] ?? 0) - half, (buckets.at(-1) ?? 0) + half];
  const x = scaleLinear(ends, [0, inner.w]);
  const bottom = floor ?? floorOf(lines.flatMap((one) => one.points));
  const y = scaleLinear([bottom, 1], [inner.h, 0]);
  const main = lines.find((one) => one.look !== "thin");
  const every = Math.max(1, Math.ceil((LABEL_WIDTH * buckets.length) / Math.max(1, inner.w)));
  const ticks = small
    ? [...new Set([buckets[0] ?? 0, buckets.at(-1) ?? 0])]
    : buckets.filter((_, i) => (buckets.length - 1 - i) % every === 0);
  /** The place of the bucket under the pointer. */
  const under = (event: MouseEvent<SVGElement>) => {
    const px = event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left;
    const place = Math.round((x.invert(px) - (buckets[0] ?? 0)) / BUCKET_SECONDS[bucket]);
    return Math.min(buckets.length - 1, Math.max(0, place));
  };
  const hovered = over === null ? undefined : buckets[over];
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) setOver((i) => Math.min(buckets.length - 1, Math.max(0, (i ?? buckets.length) + step)));
    if (event.key === "Enter" && hovered !== undefined) onOpen?.(hovered);
  };
  const latest = main?.points.at(-1);
  return (
    <div ref={ref} className="relative min-w-0 overflow-hidden" style={{ height }}>
      {width > 0 && (
        <svg
          width={width}
          height={height}
          role="img"
          tabIndex={small ? -1 : 0}
          className={onOpen ? "cursor-pointer" : ""}
          aria-label={`${label}: ${main?.points.length ?? 0} ${bucket}s, latest ${percent(latest?.value)}`}
          onPointerMove={(e) => setOver(under(e))}
          onPointerLeave={() => setOver(null)}
          onBlur={() => setOver(null)}
          onKeyDown={press}
          onClick={(e) => onOpen?.(buckets[under(e)] ?? 0)}>
          <g transform={`translate(${margin.left},${margin.top})`}>
            {(small ? [bottom, 1] : y.ticks(5)).map((tick) => (
              <g key={tick} transform={`translate(0,${y(tick)})`}>
                <line x2={inner.w} className="stroke-grid" />
                <text x={-10} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                  {percent(tick, 0)}
                </text>
              </g>
            ))}
            {bottom > 0 && <Break y={inner.h} />}
            {ticks.map((tick) => (
              <g key={tick} transform={`translate(${x(tick)},${inner.h})`} data-tick={tick}>
                <line y2="4" className="stroke-line-strong" />
                <text y={small ? 15 : 17} className="fill-faint text-[11px]" textAnchor="middle">
                  {onDay(tick)}
                </text>
              </g>
            ))}
            {markers.map((marker, i) => (
              <MarkerLine
                key={marker.name}
                at={x(marker.ts)}
                name={marker.name}
                width={inner.w}
                height={inner.h}
                row={i % 2}
              />
            ))}
            {lines.map((one) => (
              <Line key={one.name} of={one} {...{ x, y, bucket, now, small }} hovered={hovered} />
            ))}
            {!lines.some((one) => one.points.some((p) => p.value !== null)) && (
              <text x={inner.w / 2} y={inner.h / 2} textAnchor="middle" className="fill-faint text-[13px]">
                no rate in this range
              </text>
            )}
            {hovered !== undefined && (
              <line x1={x(hovered)} x2={x(hovered)} y2={inner.h} className="stroke-line-strong" strokeDasharray="2 2" />
            )}
          </g>
        </svg>
      )}
      {hovered !== undefined && (
        <Tip x={x(hovered) + margin.left} y={6} width={width}>
          <div className="font-semibold">{bucket === "week" ? `Week of ${onDay(hovered)}` : onDay(hovered)}</div>
          {lines.map((one) => (
            <Reading key={one.name} of={one} at={hovered} />
          ))}
          {onOpen && <div className="mt-1 text-faint">click: its sessions</div>}
        </Tip>
      )}
    </div>
  );
}

/** One line with the band of its intervals; the part to a bucket that is still filling is dotted. */
function Line({
  of,
  x,
  y,
  bucket,
  now,
  small,
  hovered,
}: {
  of: TrendLine;
  x: (ts: number) => number;
  y: (rate: number) => number;
  bucket: Bucket;
  now: number;
  small: boolean | undefined;
  hovered: number | undefined;
}) {
  const shown = withGaps<TrendPoint>(of.points, BUCKET_SECONDS[bucket], (ts) => ({ ts, value: null, n: 0 }));
  const unfinished = (shown.at(-1)?.ts ?? 0) + BUCKET_SECONDS[bucket] > now;
  const solid = unfinished && shown.length > 1 ? shown.slice(0, -1) : shown;
  const thin = of.look === "thin";
  const { path, band } = shapesOf(x, y);
  const stroke = { stroke: of.color, fill: "none", strokeWidth: thin ? 1.5 : 2 };
  return (
    <g>
      {!thin && <path d={band(shown)} fill={of.color} opacity="0.14" />}
      <path d={path(solid)} {...stroke} strokeLinejoin="round" strokeDasharray={thin ? "5 3" : undefined} />
      {unfinished && (
        <path
          d={path(shown.slice(-2))}
          {...stroke}
          strokeDasharray="2 4"
          strokeLinecap="round"
          data-testid="unfinished"
        />
      )}
      {shown.map(
        (p) =>
          p.value !== null && (
            <circle
              key={p.ts}
              cx={x(p.ts)}
              cy={y(p.value)}
              r={p.ts === hovered ? 4 : shown.length === 1 ? 3 : small ? 1 : shown.length > 40 || thin ? 0 : 2.2}
              className="fill-panel"
              stroke={of.color}
              strokeWidth="1.6"
            />
          ),
      )}
    </g>
  );
}

/** Two strokes through the axis: it does not begin at 0. */
function Break({ y }: { y: number }) {
  return (
    <g transform={`translate(0,${y})`} className="stroke-soft" data-testid="break">
      <title>The axis begins at 50 %</title>
      <path d="M-5 -4l10 -5M-5 0l10 -5" fill="none" strokeWidth="1.3" />
    </g>
  );
}

function MarkerLine(props: { at: number; name: string; width: number; height: number; row: number }) {
  const { at, name, width, height, row } = props;
  const flip = at > width - 90;
  return (
    <g transform={`translate(${at},0)`}>
      <line y1={-8} y2={height} className="stroke-soft" strokeDasharray="1 3" />
      <text x={flip ? -5 : 5} y={-10 + row * 12} textAnchor={flip ? "end" : "start"} className="fill-soft text-[11px]">
        {name}
      </text>
    </g>
  );
}

function Reading({ of, at }: { of: TrendLine; at: number }) {
  const point = of.points.find((p) => p.ts === at);
  if (!point || point.value === null) return <div className="text-faint">{of.name}: nothing judged</div>;
  return (
    <div>
      <span style={{ color: of.color }}>{of.name}</span> {percent(point.value)}
      <div className="text-faint">
        {point.low != null && `95 % interval ${percent(point.low)} to ${percent(point.high)}, `}n = {count(point.n)}
      </div>
    </div>
  );
}
