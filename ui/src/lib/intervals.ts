/** Estimates with intervals, and what they say of each other. */

export type Estimate = { value: number; low: number; high: number };

/** `after` minus `before`, with an interval made of theirs (MOVER, Zou and Donner 2008). It takes them to be independent;
 *  users who are in both make the true interval narrower, so this one errs to the side of caution. */
export function difference(after: Estimate, before: Estimate): Estimate {
  const value = after.value - before.value;
  return {
    value,
    low: value - Math.hypot(after.value - after.low, before.high - before.value),
    high: value + Math.hypot(after.high - after.value, before.value - before.low),
  };
}

/** The side of zero on which all of an interval lies, if it does. */
export function direction({ low, high }: Pick<Estimate, "low" | "high">): "up" | "down" | null {
  if (low > 0) return "up";
  return high < 0 ? "down" : null;
}
