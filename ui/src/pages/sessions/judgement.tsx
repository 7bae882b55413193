/** What the judge says of a session, or why it says nothing; grading now; disagreeing. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, at, dollars, words } from "../../lib/format.ts";
import { Button } from "../../parts/controls.tsx";
import { Badge, Facts, Note, Skeleton } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { Disagree } from "./disagree.tsx";
import { LABELLED } from "./labels.ts";

type Session = Schemas["SessionSummary"];

export function Judgement({ session }: { session: Session }) {
  const client = useQueryClient();
  const say = useSay();
  const [disagreeing, setDisagreeing] = useState(false);
  const key = { user_id: session.user_id, session_id: session.session_id };
  const results = useQuery({
    queryKey: ["results", key],
    queryFn: () => ok(api.POST("/api/get_agent_success_evaluation_results", { body: { ...key, limit: 50 } })),
  });
  const decision = useQuery({
    queryKey: ["decision", key],
    queryFn: () => ok(api.GET("/api/evaluations/decisions", { params: { query: key } })),
  });
  const labels = useQuery({
    queryKey: ["labels", key],
    queryFn: () => ok(api.GET("/api/evaluations/labels", { params: { query: key } })),
  });
  const grade = useMutation({
    mutationFn: (refresh: boolean) =>
      ok(
        api.POST("/api/evaluations/grade_on_demand", {
          body: { ...key, agent_version: session.agent_version, refresh },
        }),
      ),
    onSuccess: async (graded) => {
      await Promise.all(
        ["results", "decision", "learning-verdicts", "sessions", "session-view"].map((name) =>
          client.invalidateQueries({ queryKey: [name] }),
        ),
      );
      if (graded.skipped_reason) say(`Not graded: ${words(graded.skipped_reason).toLowerCase()}`, "bad");
      else say(graded.cached ? "Already graded within a day; the verdict stands" : "Graded");
    },
    onError: (error) => say(error.message, "bad"),
  });
  const agree = useMutation({
    mutationFn: (is_success: boolean) =>
      ok(api.POST("/api/evaluations/labels", { body: { labels: [{ ...key, is_success }] } })),
    onSuccess: async () => {
      await Promise.all(LABELLED.map((name) => client.invalidateQueries({ queryKey: [name] })));
      say("Noted: you agree with the judge");
    },
    onError: (error) => say(error.message, "bad"),
  });
  const all = results.data?.agent_success_evaluation_results;
  const verdict = all?.find((r) => r.evaluation_name === "agent_success");
  const rules = all?.filter((r) => r.evaluation_name !== "agent_success") ?? [];
  if (!all) return <Skeleton height={120} />;
  return (
    <section aria-label="Judgement" className="rounded-lg border border-line">
      <div className="flex flex-wrap items-center justify-between gap-2 px-4 pt-3">
        {verdict ? (
          <span className="flex items-center gap-2">
            <Badge tone={verdict.is_success ? "good" : "bad"}>
              {verdict.is_success ? "success" : words(verdict.failure_type)}
            </Badge>
            {verdict.is_escalated && <Badge tone="warn">escalated</Badge>}
          </span>
        ) : (
          <Badge>not judged</Badge>
        )}
        <span className="flex gap-1.5">
          {verdict && (
            <>
              <Button small disabled={agree.isPending} onClick={() => agree.mutate(verdict.is_success)}>
                {agree.isPending ? "Noting…" : "Agree"}
              </Button>
              <Button small onClick={() => setDisagreeing(true)}>
                Disagree
              </Button>
            </>
          )}
          <Button
            small
            look={verdict ? "plain" : "primary"}
            disabled={grade.isPending}
            onClick={() => grade.mutate(verdict !== undefined)}>
            {grade.isPending ? "Grading…" : verdict ? "Grade again" : "Grade now"}
          </Button>
        </span>
      </div>
      <div className="flex flex-col gap-3 px-4 py-3">
        {verdict ? (
          <>
            {verdict.failure_reason && <p>{verdict.failure_reason}</p>}
            <Facts
              rows={[
                ["Corrections", String(verdict.number_of_correction_per_session)],
                verdict.user_turns_to_resolution != null && [
                  "Turns to resolution",
                  String(verdict.user_turns_to_resolution),
                ],
                [
                  "Judged",
                  <span title={at(verdict.evaluated_at)}>
                    {ago(verdict.evaluated_at)} by {verdict.judge}, rubric {verdict.prompt_version}
                  </span>,
                ],
                verdict.cost_usd != null && verdict.cost_usd > 0 && ["Cost", dollars(verdict.cost_usd)],
                verdict.flags.length > 0 && ["Flags", verdict.flags.map(words).join(", ")],
                rules.length > 0 && [
                  "Other evaluators",
                  rules.map((r) => `${r.evaluation_name}: ${r.is_success ? "pass" : "fail"}`).join(", "),
                ],
              ]}
            />
          </>
        ) : (
          <WhyNot decision={decision.data?.decisions[0]} />
        )}
        {labels.data?.labels.map((label) => (
          <Note key={`${label.labelled_by}/${label.evaluation_name}`} tone={label.is_success ? "good" : "bad"}>
            <b>{label.labelled_by}</b> says{" "}
            {label.is_success ? "success" : `failure${label.failure_type ? `: ${words(label.failure_type)}` : ""}`}
            {label.note && <> · {label.note}</>} <span className="text-faint">{ago(label.labelled_at)}</span>
          </Note>
        ))}
      </div>
      {verdict && (
        <Disagree open={disagreeing} onClose={() => setDisagreeing(false)} session={session} verdict={verdict} />
      )}
    </section>
  );
}

const WHY: Partial<Record<Schemas["EvaluationDecision"], string>> = {
  not_yet_quiet: "It is still going on: sessions are judged when they were quiet for a while or declared finished.",
  queued: "It waits in the queue.",
  sampled_out: "It was not drawn: only a share of sessions is judged (Settings, sampling rate).",
  skipped: "It was passed over.",
  failed: "The judge gave no usable verdict.",
};

function WhyNot({ decision }: { decision: Schemas["Decision"] | undefined }) {
  if (!decision) return <p className="text-soft">Asking why…</p>;
  return (
    <div data-testid="why-not">
      <p className="font-medium">Why is there no verdict?</p>
      <p className="text-soft">
        {WHY[decision.decision] ?? words(decision.decision)} {decision.reason && <>({decision.reason})</>}
      </p>
      {decision.due_at != null && <p className="text-[0.87rem] text-faint">due {at(decision.due_at)}</p>}
    </div>
  );
}
