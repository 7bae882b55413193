/** What a holdout of this size can tell, from what sessions were like so far. */
import type { Plan } from "../../api/pending.ts";
import { Note } from "../../parts/page.tsx";

export function PlanNote({ plan, percentage }: { plan: Plan | undefined; percentage: number }) {
  if (!plan) return null;
  return <Note>{percentage} % held out.</Note>;
}
