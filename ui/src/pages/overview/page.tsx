/** Is the agent getting better? One number, what it stands on, and what moved it. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, ok, type Session } from "../../api/client.ts";
import { rangeOf } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented, Select } from "../../parts/controls.tsx";
import { Page, Skeleton, Trouble } from "../../parts/page.tsx";
import { RangeChoice } from "../../parts/range.tsx";
import { sourceName } from "../../lib/format.ts";
import { useArrival } from "../connect/arrival.ts";
import { BeforeFirst } from "../connect/before-first.tsx";
import { Cohorts } from "./cohorts.tsx";
import { Corrections } from "./corrections.tsx";
import { EstimatedRates, estimateOf, useEstimates } from "./estimated.tsx";
import { Hero } from "./hero.tsx";
import { JudgedByRules } from "./judged-by-rules.tsx";
import { Rules } from "./rules.tsx";
import { ShadowCard } from "./shadow-card.tsx";
import { middleOf, Sentence, useChange } from "./sentence.tsx";
import { ContextTiles } from "./tiles.tsx";
import { overviewQuery, useComparisons, useOverview, useSources, viewOf } from "./use-overview.ts";
import { useVersions } from "./versions.ts";
import { VersionsCard } from "./versions-card.tsx";

const LEAD = "Is the agent succeeding, and is it getting better?";

export default function OverviewPage({ session }: { session: Session }) {
  const [params, setParams] = useUrlState();
  const range = rangeOf(params);
  const source = params.get("source");
  const version = params.get("version");
  const client = useQueryClient();
  const newest = useSources();
  const sources = newest.data ?? [];
  const sourceId = source === null ? null : (sources.find((name) => sourceName(name) === source) ?? source);
  // A source without a name has one here: which one is meant is known with the others.
  const overview = useOverview(range, sourceId, version, source === null || !newest.isPending);
  const sessions = useQuery({
    queryKey: ["judge-health"],
    queryFn: () => ok(api.GET("/api/evaluations/judge_health")),
    placeholderData: keepPreviousData,
  });
  const arrival = useArrival(overview.data?.hero.state === "empty");
  const set = source === null ? undefined : overview.data?.source_set_comparison?.sets[0];
  const view = set ? viewOf(set) : overview.data;
  // The number that was asked for comes first; what explains it follows.
  const isShown = overview.isSuccess && !overview.isPlaceholderData;
  const compared = sourceId === null || sources.includes(sourceId) ? sources : [...sources, sourceId];
  const comparisons = useComparisons(range, compared, version, isShown);
  const comparison = comparisons.data?.source_set_comparison;
  const known = comparison?.available_sources ?? sources;
  const ofSource = comparison?.sets.find((set) => set.label === source);
  const rules = source === null ? comparisons.data?.rule_attribution : ofSource?.rule_attribution;
  const change = useChange(range, sourceId, version, isShown);
  const estimates = useEstimates(range, isShown);
  // Of one source, or of one version, there is nothing to lay over each other.
  const versions = useVersions(
    range,
    source === null && version === null ? (overview.data?.available_agent_versions ?? []) : [],
    isShown,
  );
  const actions = (
    <>
      <Choice
        label="Source"
        all="All sources"
        known={known.map(sourceName)}
        value={source}
        onChange={(source) => setParams({ source })}
      />
      <Choice
        label="Agent version"
        all="All versions"
        known={overview.data?.available_agent_versions ?? []}
        value={version}
        onChange={(version) => setParams({ version })}
      />
      <Segmented
        label="Bucket"
        value={range.bucket}
        options={[
          ["day", "Daily"],
          ["week", "Weekly"],
        ]}
        onChange={(bucket) => setParams({ bucket })}
      />
      <RangeChoice
        range={range}
        // Asked for before the page is drawn anew.
        onChoose={(params) => client.prefetchQuery(overviewQuery(rangeOf(params), sourceId, version))}
      />
    </>
  );
  if (arrival.waits) {
    return (
      <Page title="Overview" lead={LEAD}>
        <BeforeFirst session={session} arrival={arrival} onward="Show the overview" />
      </Page>
    );
  }
  return (
    <Page title="Overview" lead={LEAD} actions={actions}>
      {overview.isError && <Trouble error={overview.error} retry={() => overview.refetch()} />}
      {!view || !overview.data || arrival.isLoading ? (
        !overview.isError && <Loading />
      ) : (
        <div
          aria-busy={overview.isPlaceholderData}
          className={`flex flex-col gap-4 transition-opacity ${overview.isPlaceholderData ? "opacity-60" : ""}`}>
          {overview.data.hero.state !== "empty" && (
            <Sentence known={{ hero: view.hero, change, middle: middleOf(range), versions, bucket: range.bucket }} />
          )}
          <JudgedByRules judges={overview.data.judges} />
          <Hero
            view={view}
            state={overview.data.hero.state}
            range={range}
            health={sessions.data}
            scoped={source}
            version={version}
            versions={versions}
            // Estimates do not tell versions apart.
            estimate={version === null ? estimateOf(estimates, sourceId) : undefined}
          />
          {overview.data.hero.state !== "empty" && (
            <>
              <EstimatedRates estimates={estimates} />
              <ContextTiles tiles={view.context_tiles} partners={view.partner_tiles} />
              <VersionsCard versions={versions} range={range} />
              <div className="grid items-start gap-4 xl:grid-cols-[3fr_2fr]">
                {rules ? (
                  <Following isOld={isShown && comparisons.isPlaceholderData}>
                    <Rules rules={rules} range={range} version={version} />
                  </Following>
                ) : comparisons.isError ? (
                  <Trouble error={comparisons.error} retry={() => comparisons.refetch()} />
                ) : (
                  <Skeleton height={320} className="rounded-xl" />
                )}
                <Corrections scores={view.score_distribution} />
              </div>
              <ShadowCard trend={overview.data.shadow_win_rate_trend} range={range} />
              {comparison && source === null && (
                <Following isOld={isShown && comparisons.isPlaceholderData}>
                  <Cohorts comparison={comparison} range={range} />
                </Following>
              )}
            </>
          )}
        </div>
      )}
    </Page>
  );
}

/** What follows the numbers: pale while it is that of the range before. */
function Following({ isOld, children }: { isOld: boolean; children: ReactNode }) {
  return (
    <div aria-busy={isOld} className={isOld ? "opacity-60" : ""}>
      {children}
    </div>
  );
}

/** One of the known, or all of them. What is chosen stays to be seen when it is not among them any more. */
function Choice({
  label,
  all,
  known,
  value,
  onChange,
}: {
  label: string;
  all: string;
  known: string[];
  value: string | null;
  onChange: (value: string) => void;
}) {
  const names = value === null || known.includes(value) ? known : [...known, value];
  if (value === null && names.length < 2) return null;
  return (
    <Select
      label={label}
      hidden
      className="max-w-[220px]"
      value={value ?? ""}
      options={[["", all], ...names.map((name): [string, string] => [name, name])]}
      onChange={(e) => onChange(e.target.value)}
    />
  );
}

function Loading() {
  return (
    <>
      <Skeleton height={330} className="rounded-xl" />
      <Skeleton height={92} className="rounded-xl" />
      <div className="grid gap-4 xl:grid-cols-[3fr_2fr]">
        <Skeleton height={320} className="rounded-xl" />
        <Skeleton height={320} className="rounded-xl" />
      </div>
    </>
  );
}
