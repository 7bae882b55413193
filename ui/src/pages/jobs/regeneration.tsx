/** Windows that are or were judged again: the running one live, with a way to stop it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, count, dollars, duration, onDate, plural, words } from "../../lib/format.ts";
import { Button } from "../../parts/controls.tsx";
import { Badge, Card, Empty, ProgressBar, Skeleton } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

type Progress = Schemas["RegenerateStatusResponse"];
/** What the event stream adds. */
type Tick = Progress & { rate: number; seconds_left: number | null };
const TONES = { running: "accent", completed: "good", cancelled: "neutral", error: "bad" } as const;

export function RegenerationCard({ regenerations }: { regenerations: Progress[] | undefined }) {
  return (
    <Card title="Judged again" lead="windows of the past, replayed with today's judge and rubric" flush>
      {!regenerations ? (
        <div className="px-5 pb-5">
          <Skeleton height={90} />
        </div>
      ) : regenerations.length === 0 ? (
        <Empty title="Nothing was judged again yet">
          After a change of judge or rubric, judge a past window again, so that numbers stay comparable. Verdicts keep
          their place in time.
        </Empty>
      ) : (
        <ul className="border-t border-line">
          {regenerations.map((r) => (
            <li key={r.job_id} className="border-b border-line px-5 py-3 last:border-0">
              {r.status === "running" ? <Running first={r} /> : <Ended progress={r} />}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

const windowOf = (r: Progress) => `${onDate(r.from_ts)} to ${onDate(r.to_ts)}`;

function Running({ first }: { first: Progress }) {
  const client = useQueryClient();
  const say = useSay();
  const [tick, setTick] = useState<Tick | null>(null);
  useEffect(() => {
    const events = new EventSource(`/api/evaluations/regenerate/${first.job_id}/events`);
    events.addEventListener("progress", (event) => {
      const now = JSON.parse((event as MessageEvent<string>).data) as Tick;
      setTick(now);
      if (now.status !== "running") {
        events.close();
        client.invalidateQueries();
      }
    });
    return () => events.close();
  }, [first.job_id, client]);
  const cancel = useMutation({
    mutationFn: () =>
      ok(api.DELETE("/api/evaluations/regenerate/{job_id}", { params: { path: { job_id: first.job_id } } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["regenerations"] });
      say("Cancelled; what was judged stays");
    },
    onError: (error) => say(error.message, "bad"),
  });
  const now = tick ?? first;
  const done = now.completed + now.failed;
  const left = Math.max(0, now.total - done);
  return (
    <div className="flex flex-col gap-2" data-testid="running-regeneration">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="font-medium">
          {windowOf(now)} <Badge tone="accent">running</Badge>
        </span>
        <Button small disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          {cancel.isPending ? "Cancelling…" : "Cancel"}
        </Button>
      </div>
      <ProgressBar label="Judged" done={done} of={now.total} />
      <p className="num flex flex-wrap gap-x-5 text-[0.9rem] text-soft">
        <span>{count(now.completed)} judged</span>
        <span>{count(now.failed)} failed</span>
        <span>{count(left)} left</span>
        {tick && tick.rate > 0 && <span>{tick.rate.toFixed(0)} a second</span>}
        {tick?.seconds_left != null && <span>about {duration(tick.seconds_left)} left</span>}
        <span>
          {dollars(now.cost_usd)} spent{now.max_cost_usd != null && ` of at most ${dollars(now.max_cost_usd)}`}
        </span>
        {now.reason && <span className="text-warn">{now.reason}</span>}
      </p>
    </div>
  );
}

function Ended({ progress: r }: { progress: Progress }) {
  const took = (r.finished_at ?? r.started_at) - r.started_at;
  return (
    <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
      <span className="min-w-0">
        <span className="font-medium">{windowOf(r)}</span> <Badge tone={TONES[r.status]}>{r.status}</Badge>
        {r.candidate_version && (
          <>
            {" "}
            <Badge tone="rival">rubric {r.candidate_version} compared</Badge>
          </>
        )}
        {r.reason && <span className="block text-[0.87rem] text-faint">{words(r.reason)}</span>}
      </span>
      <span className="num text-[0.9rem] text-soft">
        {count(r.completed)} of {plural(r.total, "session")} judged{r.failed > 0 && `, ${count(r.failed)} failed`}
        {r.total_candidates > r.total && `, drawn from ${count(r.total_candidates)}`} · {duration(took)} ·{" "}
        {dollars(r.cost_usd)} · {ago(r.started_at)}
      </span>
      {r.failures.length > 0 && (
        <details className="w-full text-[0.87rem]">
          <summary className="text-soft">Why {plural(r.failures.length, "session")} failed</summary>
          <ul className="mt-1 text-faint">
            {r.failures.map((f, i) => (
              <li key={`${f.session_id}-${i}`}>
                {f.session_id || "(erased)"}: {f.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
