/** Each version of the agent by itself: its rate with an interval, its course, and when it came. */
import { useQueries } from "@tanstack/react-query";
import type { Overview } from "../../api/types.ts";
import { difference, type Estimate } from "../../lib/intervals.ts";
import type { Range } from "../../lib/range.ts";
import { ask, windowOf } from "./use-overview.ts";

export type Version = {
  name: string;
  n: number;
  /** Success rate from 0 to 1; null with too few users for an interval. */
  rate: Estimate | null;
  buckets: Overview["hero"]["buckets"];
  /** The first bucket with a verdict. */
  since: number;
};

/** More than these are not told apart on one chart. */
const MOST = 6;

/** The versions of a window in the order in which they came; empty until all of them are known. */
export function useVersions(range: Range, names: string[], enabled: boolean): Version[] {
  const asked = names.slice(-MOST);
  return useQueries({
    queries: asked.map((name) => ({
      queryKey: ["overview", "version", range.key, range.bucket, name],
      staleTime: 60_000,
      enabled,
      queryFn: (asked: { signal: AbortSignal }) =>
        ask({ ...windowOf(range), include_shadow: false, include_rules: false, agent_version: name }, asked),
    })),
    combine: (answers) => {
      if (!answers.every(({ data }) => data)) return [];
      const found = answers.map(({ data }, place) => data && versionOf(asked[place] ?? "", data.hero));
      return found.filter((version) => !!version).sort((a, b) => a.since - b.since);
    },
  });
}

function versionOf(name: string, hero: Overview["hero"]): Version | null {
  const first = hero.buckets.find((bucket) => bucket.regular_n > 0);
  return first ? { name, n: hero.n, rate: rateOf(hero), buckets: hero.buckets, since: first.ts } : null;
}

/** A window's success rate as a fraction with its interval. */
export function rateOf(hero: Pick<Overview["hero"], "regular_success_rate_pp" | "ci95_pp">): Estimate | null {
  const [low, high] = hero.ci95_pp ?? [];
  if (hero.regular_success_rate_pp == null || low === undefined || high === undefined) return null;
  return { value: hero.regular_success_rate_pp / 100, low: low / 100, high: high / 100 };
}

/** A version that came when another was there already. */
export const newcomers = (versions: Version[]) =>
  versions.filter((version) => version.since > Math.min(...versions.map(({ since }) => since)));

/** How much more often a version succeeds than the one that came before it, as fractions. */
export function onTheOneBefore(versions: Version[], place: number): Estimate | null {
  const [after, before] = [versions[place]?.rate, versions[place - 1]?.rate];
  return after && before ? difference(after, before) : null;
}
