/** When an experiment that still collects can be decided on, at its pace so far. */
import type { Results } from "../../api/types.ts";
import { count, onDate, plural } from "../../lib/format.ts";

/** Held-out users with a judged session, before which nothing is decided. */
const NEEDED = 30;

/** "14 of 30 holdout users; at this pace 30 on Dec 3, 2026, in about 16 days." Null once it is not about that any more. */
export function forecastOf(results: Pick<Results, "decision" | "holdout" | "experiment">, now: number): string | null {
  const { decision, holdout, experiment } = results;
  if (decision.decision !== "collecting" || experiment.ended_at != null) return null;
  const users = holdout.evaluated_user_count;
  const so_far = `${count(users)} of ${NEEDED} holdout users`;
  const seconds = now - experiment.started_at;
  if (users >= NEEDED) return `${so_far}.`;
  if (users === 0 || seconds <= 0) return `${so_far}; a forecast needs the first of them.`;
  const left = Math.ceil(((NEEDED - users) * seconds) / users);
  return `${so_far}; at this pace ${NEEDED} on ${onDate(now + left)}, in about ${plural(Math.ceil(left / 86_400), "day")}.`;
}
