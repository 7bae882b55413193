/** The overview's questions: the numbers of the window first, then how rules and sources compare. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import type { Overview, SourceSet } from "../../api/types.ts";
import { sourceName } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import type { Range } from "../../lib/range.ts";

export type View = Pick<Overview, "context_tiles" | "score_distribution" | "partner_tiles"> & {
  hero: Pick<
    Overview["hero"],
    | "regular_success_rate_pp"
    | "buckets"
    | "ci95_pp"
    | "few_users"
    | "n"
    | "judged_share"
    | "without_verdict"
    | "only_rules"
    | "failures_with_evidence"
    | "advice"
  >;
};

/** A single source's numbers, in the shape of the whole. */
export function viewOf(set: SourceSet): View {
  const rate = set.n > 0 && !set.only_rules ? set.success_rate_pp : null;
  return { ...set, hero: { ...set, regular_success_rate_pp: rate } };
}

/** The success rate of each bucket, as a chart draws it. */
export const pointsOf = (buckets: Overview["hero"]["buckets"]) =>
  buckets.map((b) => ({
    ts: b.ts,
    value: b.regular_rate ?? null,
    low: b.ci95?.[0] ?? null,
    high: b.ci95?.[1] ?? null,
    n: b.regular_n,
  }));

/** The sources sessions come from, as far as the newest ones tell. */
export function useSources() {
  return useQuery({
    queryKey: ["sources"],
    staleTime: 300_000,
    queryFn: async () => {
      const { sessions } = await ok(api.GET("/api/sessions", { params: { query: { limit: 200 } } }));
      return [...new Set(sessions.map((session) => session.source))].sort();
    },
  });
}

type Question = Schemas["GetEvaluationOverviewRequest"];
type Asked = { signal: AbortSignal };

/** Given up when nobody waits for it any more: a browser sends six requests to a server at once, not more. */
export const ask = (question: Question, { signal }: Asked) =>
  ok(api.POST("/api/get_evaluation_overview", { signal, body: { include_session_ids: false, ...question } }));

export const windowOf = ({ from, to, bucket }: Range) => ({ from_ts: from, to_ts: to, bucket });

const setOf = (source: string) => ({ label: sourceName(source), sources: [source] });

/** The numbers of the whole, and of the one source that is shown: what is asked for first. */
export const overviewQuery = (range: Range, source: string | null, version: string | null) => ({
  queryKey: ["overview", range.key, range.bucket, source, version],
  queryFn: (asked: Asked) =>
    ask(
      {
        ...windowOf(range),
        include_rules: false,
        agent_version: version,
        source_sets: source === null ? [] : [setOf(source)],
      },
      asked,
    ),
});

export function useOverview(range: Range, source: string | null, version: string | null, enabled: boolean) {
  return useQuery({
    ...overviewQuery(range, source, version),
    placeholderData: keepPreviousData,
    enabled,
    // The first verdict of a new agent is on its way for a second or two.
    refetchInterval: (query) => (query.state.data?.hero.state === "empty" ? 5_000 : QUIET_POLL_MS),
  });
}

/** Rules, and all sources beside each other: to compare them takes longer than the numbers themselves. */
export function useComparisons(range: Range, sources: string[], version: string | null, enabled: boolean) {
  return useQuery({
    queryKey: ["overview", "comparisons", range.key, range.bucket, sources, version],
    placeholderData: keepPreviousData,
    refetchInterval: QUIET_POLL_MS,
    enabled,
    queryFn: (asked) => ask({ ...windowOf(range), agent_version: version, source_sets: sources.map(setOf) }, asked),
  });
}
