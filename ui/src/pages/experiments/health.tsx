/** Can the numbers be trusted? Each check by name, what it found, and what is wrong if it is. */
import { Link } from "react-router";
import type { Results } from "../../api/types.ts";
import { count, ends, percent, words } from "../../lib/format.ts";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Note } from "../../parts/page.tsx";

type Props = {
  health: Results["health"];
  decision: Results["decision"]["decision"];
  coverage: number | null;
  unattributed: number;
};

/** Why evaluated sessions do not count; the other entries of `attribution` are about those that do. */
const LEFT_OUT = ["no_metadata", "mixed_arms", "arm_mismatch", "user_in_both_arms"] as const;

export function Health({ health, decision, coverage, unattributed }: Props) {
  const { sample_ratio: ratio, evaluation_rate: rate, attribution, balance } = health;
  const reasons = LEFT_OUT.filter((reason) => attribution[reason] > 0);
  const word = health.healthy ? "healthy" : decision === null ? "unhealthy" : "nothing to go by yet";
  return (
    <Card title="Can it be trusted?" aside={<Badge tone={health.healthy ? "good" : "warn"}>{word}</Badge>}>
      {!health.healthy && (
        <div className="mb-3">
          <Note tone="warn">
            {decision === null && <b>No decision until this is understood: </b>}
            {health.problems.join("; ")}.
          </Note>
        </div>
      )}
      <ul className="flex flex-col gap-2.5">
        {(["exposed", "published", "evaluated"] as const).map((stage) => {
          const r = ratio[stage];
          return (
            <Check key={stage} ok={!r.mismatch} name={`Split of ${stage} users`}>
              {count(r.holdout_users)} of {count(r.holdout_users + r.treatment_users)} held out:{" "}
              {percent(r.observed_holdout_share)}, planned {percent(r.expected_holdout_share)}
            </Check>
          );
        })}
        <Check ok={!rate.mismatch} name="Judged equally often">
          {percent(rate.treatment)} of treatment, {percent(rate.holdout)} of holdout sessions
        </Check>
        {balance.success_rate.difference !== null && (
          <Check ok name="Alike before">
            in the 30 days before: success {percent(balance.success_rate.treatment)} and{" "}
            {percent(balance.success_rate.holdout)}
            {balance.success_rate.interval_95 && ` (difference ${ends(balance.success_rate.interval_95)} pp)`}; shown
            for comparison, never an alarm
          </Check>
        )}
        <Check ok={health.contaminated_holdout_session_count === 0} name="Holdout kept clean">
          {health.contaminated_holdout_session_count === 0 ? (
            "no holdout session carried learnings"
          ) : (
            <>
              {count(health.contaminated_holdout_session_count)} holdout sessions carried learnings:{" "}
              {health.contaminated_holdout_sessions.slice(0, 5).map((s) => (
                <Link
                  key={`${s.user_id}/${s.session_id}`}
                  className="mr-2 text-accent underline"
                  to={`/sessions?${new URLSearchParams({ open: `${s.user_id}\n${s.session_id}` })}`}>
                  {s.session_id}
                </Link>
              ))}
            </>
          )}
        </Check>
        <Check ok={coverage === null || coverage >= 0.8} name="Coverage">
          {percent(coverage)} of evaluated sessions belong to the experiment
          {unattributed > 0 &&
            `; ${count(unattributed)} do not (${reasons.map((reason) => `${words(reason)} ${count(attribution[reason])}`).join(", ")})`}
          {attribution.began_before_exposure > 0 &&
            `; ${count(attribution.began_before_exposure)} began before the user's first search`}
          {attribution.ended_after_stop > 0 && `; ${count(attribution.ended_after_stop)} ended after the stop`}
        </Check>
      </ul>
    </Card>
  );
}

function Check({ ok, name, children }: { ok: boolean; name: string; children: React.ReactNode }) {
  return (
    <li className="flex gap-2.5">
      <span className={`mt-0.5 ${ok ? "text-good" : "text-warn"}`}>{ok ? <Icon.Check /> : <Icon.Warning />}</span>
      <span className="min-w-0">
        <span className="font-medium">{name}</span>
        <span className="sr-only">{ok ? ": fine" : ": a problem"}</span>
        <span className="num block text-[0.9rem] text-soft">{children}</span>
      </span>
    </li>
  );
}
