/** What a holdout of this size can tell, judging by past sessions. */
import type { Plan } from "../../api/types.ts";
import { count, fixed, percent, plural } from "../../lib/format.ts";
import { Facts, Note, Skeleton } from "../../parts/page.tsx";

export function PlanNote({ plan }: { plan: Plan | undefined }) {
  if (!plan) return <Skeleton height={120} />;
  if (plan.past_users === 0)
    return <Note tone="warn">There are no judged sessions of the last {plan.days} days to plan with.</Note>;
  const needed = plan.holdout_users_needed;
  return (
    <div className="flex flex-col gap-3">
      <Facts
        rows={[
          [
            "Judging by",
            `${plural(plan.past_sessions, "session")} of ${plural(plan.past_users, "user")} in ${plan.days} days, ${percent(plan.success_rate)} successful`,
          ],
          [
            "In as many days it sees",
            plan.smallest_detectable_effect_percentage_points == null
              ? "cannot be told"
              : `a lift of ${fixed(plan.smallest_detectable_effect_percentage_points)} pp or more`,
          ],
          [
            `To see ${fixed(plan.effect_percentage_points)} pp`,
            needed == null
              ? "cannot be told"
              : `${count(needed)} held-out and ${count(plan.treatment_users_needed)} other users${plan.days_needed == null ? "" : `, about ${plural(plan.days_needed, "day")}`}`,
          ],
          plan.small_holdout_price != null && [
            "Price of a small holdout",
            `${fixed(plan.small_holdout_price, 2)} times the detectable effect of an even split`,
          ],
        ]}
      />
      {plan.warnings.map((warning) => (
        <Note key={warning} tone="warn">
          {warning}
        </Note>
      ))}
    </div>
  );
}
