/** The overview in one sentence, with how sure it is. */
import { useQueries } from "@tanstack/react-query";
import { count, onDay, percent, plural, signed } from "../../lib/format.ts";
import { difference, direction, type Estimate } from "../../lib/intervals.ts";
import { bucketStart, type Range } from "../../lib/range.ts";
import { ask, type View, viewOf } from "./use-overview.ts";
import { newcomers, rateOf, type Version } from "./versions.ts";

/** The middle of a range, at the start of a day: its second half is compared with its first. */
export const middleOf = ({ from, to }: Pick<Range, "from" | "to">) => bucketStart((from + to) / 2, "day");

/** The success rate of the second half of a range minus that of the first; null while or if it is not known. */
export function useChange(
  range: Range,
  source: string | null,
  version: string | null,
  enabled: boolean,
): Estimate | null {
  const middle = middleOf(range);
  const halves = [
    [middle, range.to],
    [range.from, middle - 1],
  ] as const;
  return useQueries({
    queries: halves.map(([from_ts, to_ts], half) => ({
      queryKey: ["overview", "half", half, range.key, source, version],
      staleTime: 60_000,
      enabled: enabled && from_ts < to_ts,
      queryFn: async (asked: { signal: AbortSignal }) => {
        const answer = await ask(
          {
            from_ts,
            to_ts,
            bucket: "week",
            include_shadow: false,
            include_rules: false,
            agent_version: version,
            source_sets: source === null ? [] : [{ label: source, sources: [source] }],
          },
          asked,
        );
        const [set] = answer.source_set_comparison?.sets ?? [];
        return rateOf(source === null ? answer.hero : set ? viewOf(set).hero : answer.hero);
      },
    })),
    combine: ([after, before]) => (after?.data && before?.data ? difference(after.data, before.data) : null),
  });
}

type Known = {
  hero: View["hero"];
  change: Estimate | null;
  middle: number;
  versions: Version[];
  bucket: Range["bucket"];
};

/** "83.6 % of judged sessions succeed (80.1 to 86.6 %), up 9.0 to 15.1 points since Oct 3; version 2.0 came on Oct 12." */
export function sentenceOf({ hero, change, middle, versions, bucket }: Known): string {
  const newest = newcomers(versions).at(-1);
  const came = newest
    ? `; version ${newest.name} came ${bucket === "week" ? "in the week of" : "on"} ${onDay(newest.since)}`
    : "";
  if (hero.only_rules)
    return `${plural(hero.failures_with_evidence, "session")} failed with evidence; how many succeed, rules alone cannot tell${came}.`;
  const rate = hero.regular_success_rate_pp;
  if (rate == null) return `Nothing was judged in this range${came}.`;
  const [low, high] = hero.ci95_pp ?? [];
  const sure =
    low === undefined || high === undefined
      ? `of ${count(hero.n)}, too few users to say how sure that is`
      : `${low.toFixed(1)} to ${high.toFixed(1)} %`;
  return `${percent(rate / 100)} of judged sessions succeed (${sure})${changed(change, middle)}${came}.`;
}

function changed(change: Estimate | null, middle: number): string {
  if (!change) return "";
  const [low, high] = [100 * change.low, 100 * change.high];
  const since = `since ${onDay(middle)}`;
  const way = direction(change);
  if (way === "up") return `, up ${low.toFixed(1)} to ${high.toFixed(1)} points ${since}`;
  if (way === "down") return `, down ${(-high).toFixed(1)} to ${(-low).toFixed(1)} points ${since}`;
  return `; no sure change ${since} (${signed(low)} to ${signed(high)} points)`;
}

export function Sentence({ known }: { known: Known }) {
  return (
    <p className="max-w-[90ch] text-[1.15rem] leading-snug font-medium tracking-[-0.01em]" data-testid="sentence">
      {sentenceOf(known)}
    </p>
  );
}
