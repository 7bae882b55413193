/** Names of judges in words. */
import type { Schemas } from "../api/client.ts";

type Health = Pick<Schemas["JudgeHealth"], "judge">;

export function judgeName({ judge }: Health): string {
  if (judge === "rules") return "rules";
  return judge.startsWith("learned/") ? `learned judge ${judge.slice("learned/".length)}` : judge;
}

/** One sentence on what this judge is. */
export function judgeNature({ judge }: Health): string {
  if (judge === "rules") return "Rules on this machine decide what shows its end and leave the rest undecided.";
  return judge.startsWith("learned/")
    ? "A judge trained on this machine with your labels and outcomes; no provider is asked."
    : "Sessions are judged by this model.";
}
