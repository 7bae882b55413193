/** What helped and what harmed, by one definition for every page: a trial where one has an effect, or else the named
 *  association of the window. */
import type { Rule } from "../api/types.ts";
import { ends, points } from "./format.ts";
import { direction } from "./intervals.ts";

export type Effect = {
  basis: "trial" | "association";
  /** Success with it minus success without it, in points; null while too little is known. */
  value: number | null;
  low: number | null;
  high: number | null;
  /** Drawn towards none by what all of them show together; learnings stand in its order. */
  shrunken: number | null;
  /** More than chance, for better or worse: the interval excludes none. */
  standing: "helps" | "hurts" | null;
  /** Of the sessions that cite it, the share that succeeded. */
  successRate: number;
};

export function effectOf({ trial, association, successes_with, failures_with }: Rule): Effect {
  const successRate = successes_with / Math.max(1, successes_with + failures_with);
  if (trial?.effect_pp != null) {
    const [low = null, high = null] = trial.always_valid_ci95_pp ?? [];
    const standing = trial.state === "no_sign_yet" ? null : trial.state;
    const shrunken = trial.shrunken_pp ?? null;
    return { basis: "trial", value: trial.effect_pp, low, high, shrunken, standing, successRate };
  }
  const [low = null, high = null] = association.ci95_pp ?? [];
  const shrunken = association.shrunken_pp ?? null;
  const way = association.is_marked && low !== null && high !== null ? direction({ low, high }) : null;
  const standing = way && (way === "up" ? "helps" : "hurts");
  return { basis: "association", value: association.difference_pp ?? null, low, high, shrunken, standing, successRate };
}

/** The worst first. Those of which nothing is known stand where no effect would, the least successful of them first. */
export const worstFirst = (a: Effect | undefined, b: Effect | undefined) =>
  (a?.shrunken ?? 0) - (b?.shrunken ?? 0) || (a?.successRate ?? 1) - (b?.successRate ?? 1);

/** How far an axis around zero has to reach for all of them. */
export function reachOf(effects: (Effect | undefined)[]): number {
  const known = effects.flatMap((effect) => [effect?.value, effect?.low, effect?.high]).filter((pp) => pp != null);
  return Math.max(5, ...known.map(Math.abs));
}

/** "+3.0 pp (+1.0 to +5.0)" */
export function effectText({ value, low, high }: Pick<Effect, "value" | "low" | "high">): string {
  if (value === null) return "too few users to compare";
  return low === null || high === null ? points(value) : `${points(value)} (${ends([low, high])})`;
}
