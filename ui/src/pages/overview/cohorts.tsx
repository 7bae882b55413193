/** The same trend for each source, on its own small chart. */
import { Link } from "react-router";
import type { Overview } from "../../api/types.ts";
import { ChartCard, shownAs } from "../../charts/frame.tsx";
import { floorOf, Trend } from "../../charts/trend.tsx";
import { count, fixed, percent, plural, sourceName } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { withParams, useUrlState } from "../../lib/url-state.ts";
import { pointsOf } from "./use-overview.ts";

export function Cohorts({
  comparison,
  range,
}: {
  comparison: NonNullable<Overview["source_set_comparison"]>;
  range: Range;
}) {
  const [params] = useUrlState();
  const sets = comparison.sets.filter((set) => set.n > 0);
  if (sets.length < 2) return null;
  const data = {
    columns: ["source", "sessions", "judged", "success rate pp", "low 95 %", "high 95 %"],
    rows: sets.map((s) => [
      sourceName(s.label),
      s.session_count,
      s.n,
      s.success_rate_pp,
      s.ci95_pp?.[0],
      s.ci95_pp?.[1],
    ]),
    shown: shownAs((pp) => percent(pp / 100), "success rate pp", "low 95 %", "high 95 %"),
  };
  // One scale for all of them: they stand side by side to be compared.
  const floor = floorOf(sets.flatMap((set) => pointsOf(set.buckets)));
  const now = Date.now() / 1000;
  const unmatched = comparison.unmatched_session_count;
  return (
    <ChartCard
      title="By source"
      data={data}
      file="sources"
      lead={
        unmatched === 0
          ? "every judged session belongs to one of these"
          : `${plural(unmatched, "session")} of other sources not shown`
      }>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(220px,1fr))] gap-3">
        {sets.map((set) => (
          <Link
            key={set.label}
            to={withParams(params, { source: set.label })}
            className="min-w-0 rounded-lg border border-line px-3.5 pt-2.5 pb-1.5 transition-colors hover:border-line-strong hover:bg-raised">
            <div className="flex items-baseline justify-between gap-2">
              <span className="font-semibold">{sourceName(set.label)}</span>
              <span className="num text-[1.15rem] font-semibold">{fixed(set.success_rate_pp)} %</span>
            </div>
            <div className="num mb-1 flex justify-between text-[0.82rem] text-faint">
              <span>n = {count(set.n)}</span>
              <span>{set.ci95_pp ? `${fixed(set.ci95_pp[0])} to ${fixed(set.ci95_pp[1])}` : ""}</span>
            </div>
            <Trend
              small
              label={`Success rate of ${sourceName(set.label)}`}
              lines={[{ name: "success rate", color: "var(--accent)", points: pointsOf(set.buckets) }]}
              range={range}
              now={now}
              floor={floor}
              height={96}
            />
          </Link>
        ))}
      </div>
    </ChartCard>
  );
}
