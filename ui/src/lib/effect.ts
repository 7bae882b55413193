/** What helped and what harmed, by one definition for every page: a trial where one has an effect, or else the named
 *  association of the window. */
import type { Rule } from "../api/types.ts";
import { ends, points } from "./format.ts";

export type Effect = {
  basis: "trial" | "association";
  /** Success with it minus success without it, in points; null while too little is known. */
  value: number | null;
  low: number | null;
  high: number | null;
  /** Drawn towards none by what all of them show together; learnings stand in its order. */
  shrunken: number | null;
  /** More than chance, for better or worse. */
  standing: "helps" | "hurts" | null;
};

export function effectOf({ trial, association }: Pick<Rule, "trial" | "association">): Effect {
  if (trial?.effect_pp != null) {
    const [low = null, high = null] = trial.always_valid_ci95_pp ?? [];
    const standing = trial.state === "no_sign_yet" ? null : trial.state;
    return { basis: "trial", value: trial.effect_pp, low, high, shrunken: trial.shrunken_pp ?? null, standing };
  }
  const [low = null, high = null] = association.ci95_pp ?? [];
  const shrunken = association.shrunken_pp ?? null;
  const standing = association.is_marked ? ((shrunken ?? 0) < 0 ? "hurts" : "helps") : null;
  return { basis: "association", value: association.difference_pp ?? null, low, high, shrunken, standing };
}

/** The worst first; those of which nothing is known stand where no effect would. */
export const worstFirst = (a: Effect | undefined, b: Effect | undefined) => (a?.shrunken ?? 0) - (b?.shrunken ?? 0);

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
