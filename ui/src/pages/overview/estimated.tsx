/** The success rate over all sessions that were due, decided or not, as far as labels drawn at random tell it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { count, percent, plural, sourceName, words } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { Card } from "../../parts/page.tsx";

/** One source's estimate over all its sessions that were due. */
export type Estimate = Schemas["EstimatedSource"];

export function useEstimates(range: Range, enabled: boolean): Estimate[] {
  const estimated = useQuery({
    queryKey: ["estimated-success", range.from, range.to],
    enabled,
    queryFn: ({ signal }) =>
      ok(
        api.GET("/api/evaluations/estimated_success", {
          signal,
          params: { query: { from_ts: String(range.from), to_ts: String(range.to) } },
        }),
      ),
  });
  return estimated.data?.sources.filter((source) => source.labels > 0) ?? [];
}

/** The estimate that stands for what is shown: that of the source, or the only one there is. */
export function estimateOf(estimates: Estimate[], source: string | null): Estimate | undefined {
  const found =
    source === null ? (estimates.length === 1 ? estimates[0] : undefined) : estimates.find((e) => e.source === source);
  return found?.estimated.value == null ? undefined : found;
}

export function EstimatedRates({ estimates }: { estimates: Estimate[] }) {
  if (estimates.length === 0) return null;
  return (
    <Card
      title="Estimated success rate"
      lead="over all sessions that were due, decided or not: what the judge says, corrected by labels drawn at random">
      <ul className="flex flex-wrap gap-x-10 gap-y-3">
        {estimates.map((source) => (
          <li key={source.source} data-testid="estimated">
            <div className="label">{sourceName(source.source)}</div>
            <OfSource source={source} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function OfSource({ source }: { source: Estimate }) {
  const { value, ci95, null_reason } = source.estimated;
  const [low, high] = ci95 ?? [];
  if (value == null) {
    return (
      <p className="text-soft">
        none yet: {words(null_reason)} ({plural(source.labelled_users, "labelled user")} of 30).{" "}
        <Link className="text-accent underline" to="/review">
          Review sessions
        </Link>
      </p>
    );
  }
  return (
    <>
      <div className="num text-[2rem] leading-tight font-semibold tracking-[-0.03em]">{percent(value)}</div>
      <p className="num text-[0.87rem] text-soft">
        {low !== undefined && `95 % interval ${percent(low)} to ${percent(high)}, `}
        {count(source.sessions)} sessions, {plural(source.labels, "label")}
      </p>
    </>
  );
}
