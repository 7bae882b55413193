/** Who judges, whether it is paused, and why sessions have no verdict. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { judgeName } from "../../lib/judge.ts";
import { ago, count, dollars, percent, words } from "../../lib/format.ts";
import { Badge, Card, Facts, Note, Skeleton, Trouble } from "../../parts/page.tsx";

export function JudgeCard() {
  const health = useQuery({
    queryKey: ["judge-health"],
    queryFn: () => ok(api.GET("/api/evaluations/judge_health")),
    refetchInterval: 15_000,
  });
  const data = health.data;
  const all = data?.decisions.reduce((sum, d) => sum + d.count, 0) ?? 0;
  return (
    <Card
      title="Judge"
      lead="decisions of the last seven days"
      aside={data && <Badge tone={data.state === "running" ? "good" : "warn"}>{data.state}</Badge>}>
      {health.isError && <Trouble error={health.error} retry={() => health.refetch()} />}
      {!data ? (
        !health.isError && <Skeleton height={190} />
      ) : (
        <div className="flex flex-col gap-4">
          {data.paused_reason && (
            <Note tone="warn">
              <b>Paused:</b> {data.paused_reason}
              {data.paused_since != null && <> (since {ago(data.paused_since)})</>}. Sessions wait; nothing is lost.
            </Note>
          )}
          <Facts
            rows={[
              ["Judged by", judgeName(data)],
              ["Calls under way", count(data.calls_under_way)],
              [
                "Spent today",
                `${dollars(data.spent_today_usd)}${data.daily_budget_usd > 0 ? ` of ${dollars(data.daily_budget_usd)}` : ", no limit set"}`,
              ],
              ...data.decisions.map(
                (d) =>
                  [capital(words(d.decision)), `${count(d.count)} (${percent(d.count / Math.max(1, all))})`] as const,
              ),
            ]}
          />
          {data.reasons.length > 0 && (
            <div>
              <h3 className="label mb-1">Why sessions have no verdict</h3>
              <ul className="flex flex-col gap-1">
                {data.reasons.map((r) => (
                  <li key={r.decision + r.reason} className="flex items-baseline justify-between gap-3">
                    <span className="min-w-0">
                      <Badge tone={r.decision === "failed" ? "bad" : "neutral"}>{words(r.decision)}</Badge>{" "}
                      <span className="text-soft">{r.reason}</span>
                    </span>
                    <span className="num font-medium">{count(r.count)}</span>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
