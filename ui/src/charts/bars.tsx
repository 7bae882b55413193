/** Bars: a histogram against its baseline, and outcomes stacked by day. */
import { scaleBand, scaleLinear } from "d3-scale";
import { count, onDay, percent } from "../lib/format.ts";
import { Legend, Tip, useWalk, useWidth } from "./frame.tsx";

type Bin = { label: string; now: number; before: number };

/** Shares of two periods side by side: sizes differ, shapes can be compared. */
export function Histogram({
  label,
  bins,
  height = 190,
  onOpen,
}: {
  label: string;
  bins: Bin[];
  height?: number;
  /** Opens what a bar of the last days is made of. */
  onOpen?: (label: string) => void;
}) {
  const [ref, width] = useWidth();
  const sum = (pick: (bin: Bin) => number) => bins.reduce((total, bin) => total + pick(bin), 0);
  const [nowN, beforeN] = [sum((b) => b.now), sum((b) => b.before)];
  const share = (n: number, of: number) => (of === 0 ? 0 : n / of);
  const top = Math.max(0.01, ...bins.flatMap((b) => [share(b.now, nowN), share(b.before, beforeN)]));
  const x = scaleBand(
    bins.map((b) => b.label),
    [40, Math.max(40, width - 4)],
  ).padding(0.28);
  const y = scaleLinear([0, top], [height - 24, 8]).nice(3);
  const half = x.bandwidth() / 2;
  const walk = useWalk(bins.length, onOpen && ((place) => onOpen(bins[place]?.label ?? "")));
  return (
    <div className="min-w-0 overflow-hidden">
      <div ref={ref} style={{ height }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={label} {...walk.handlers}>
            {y.ticks(3).map((tick) => (
              <g key={tick} transform={`translate(0,${y(tick)})`}>
                <line x1={40} x2={width - 4} className="stroke-grid" />
                <text x={34} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                  {percent(tick, 0)}
                </text>
              </g>
            ))}
            {bins.map((bin, place) => {
              const left = x(bin.label) ?? 0;
              const [a, b] = [y(share(bin.now, nowN)), y(share(bin.before, beforeN))];
              return (
                <g
                  key={bin.label}
                  onPointerEnter={() => walk.setOver(place)}
                  opacity={walk.over === null || walk.over === place ? 1 : 0.55}>
                  <rect x={left} width={x.bandwidth()} y={8} height={height - 8} fill="transparent" />
                  <rect
                    x={left}
                    y={b}
                    width={half - 1}
                    height={Math.max(0, height - 24 - b)}
                    rx="2"
                    className="fill-line-strong">
                    <title>{`${bin.label}: ${percent(share(bin.before, beforeN))} before (${count(bin.before)})`}</title>
                  </rect>
                  <rect
                    x={left + half}
                    y={a}
                    width={half - 1}
                    height={Math.max(0, height - 24 - a)}
                    rx="2"
                    className="fill-accent">
                    <title>{`${bin.label}: ${percent(share(bin.now, nowN))} now (${count(bin.now)})`}</title>
                  </rect>
                  <text x={left + half} y={height - 8} textAnchor="middle" className="num fill-faint text-[11px]">
                    {bin.label}
                  </text>
                </g>
              );
            })}
          </svg>
        )}
      </div>
      <Legend
        items={[
          ["var(--line-strong)", `7 days before (n = ${count(beforeN)})`],
          ["var(--accent)", `last 7 days (n = ${count(nowN)})`],
        ]}
      />
    </div>
  );
}

export type Day = { ts: number; wins: number; ties: number; losses: number };

/** Wins above, losses below, ties between: per day. */
export function WinLoss({
  label,
  days,
  height = 210,
  onOpen,
}: {
  label: string;
  days: Day[];
  height?: number;
  /** Opens what a day is made of. */
  onOpen?: (ts: number) => void;
}) {
  const [ref, width] = useWidth();
  const walk = useWalk(days.length, onOpen && ((place) => onOpen(days[place]?.ts ?? 0)));
  const over = walk.over === null ? undefined : days[walk.over];
  const top = Math.max(1, ...days.map((d) => d.wins + d.ties / 2));
  const bottom = Math.max(1, ...days.map((d) => d.losses + d.ties / 2));
  const x = scaleBand(
    days.map((d) => d.ts),
    [34, Math.max(34, width - 4)],
  ).padding(0.22);
  const y = scaleLinear([-bottom, top], [height - 22, 6]);
  const every = Math.max(1, Math.ceil(days.length / Math.max(1, Math.floor(width / 90))));
  return (
    <div className="min-w-0 overflow-hidden">
      <div ref={ref} className="relative" style={{ height }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={label} {...walk.handlers}>
            {y.ticks(4).map((tick) => (
              <g key={tick} transform={`translate(0,${y(tick)})`}>
                <line x1={34} x2={width - 4} className={tick === 0 ? "stroke-line-strong" : "stroke-grid"} />
                <text x={28} dy="0.32em" textAnchor="end" className="num fill-faint text-[11px]">
                  {Math.abs(tick)}
                </text>
              </g>
            ))}
            {days.map((d, i) => {
              const [left, w] = [x(d.ts) ?? 0, x.bandwidth()];
              const bar = (from: number, to: number, tone: string) =>
                to > from && <rect x={left} width={w} y={y(to)} height={y(from) - y(to)} className={tone} />;
              return (
                <g key={d.ts} onPointerEnter={() => walk.setOver(i)} opacity={over && over !== d ? 0.55 : 1}>
                  <rect x={left} width={w} y={0} height={height - 22} fill="transparent" />
                  {bar(d.ties / 2, d.ties / 2 + d.wins, "fill-accent")}
                  {bar(-d.ties / 2, d.ties / 2, "fill-line-strong")}
                  {bar(-d.ties / 2 - d.losses, -d.ties / 2, "fill-rival")}
                  {i % every === 0 && (
                    <text x={left + w / 2} y={height - 6} textAnchor="middle" className="fill-faint text-[11px]">
                      {onDay(d.ts)}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
        )}
        {over && (
          <Tip x={x(over.ts) ?? 0} y={8} width={width}>
            <div className="font-semibold">{onDay(over.ts)}</div>
            <div className="text-accent">{count(over.wins)} wins</div>
            <div>{count(over.ties)} ties</div>
            <div className="text-rival">{count(over.losses)} losses</div>
            {onOpen && <div className="mt-1 text-faint">click: the day's sessions</div>}
          </Tip>
        )}
      </div>
      <Legend
        items={[
          ["var(--accent)", "answer won"],
          ["var(--line-strong)", "tie"],
          ["var(--rival)", "shadow won"],
        ]}
      />
    </div>
  );
}
