/** The conversation: turns, gaps of silence, tools folded away, learnings with what they did. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "react-router";
import type { Schemas } from "../../api/client.ts";
import { at, atTime, count, dollars, duration, words } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import * as Icon from "../../parts/icons.tsx";
import { Badge } from "../../parts/page.tsx";
import { agentPlaybooks } from "../learnings/all-playbooks.ts";

type Turn = Schemas["Interaction"];
type LearningVerdict = Schemas["RetrievedLearningEvaluationResult"];
/** Silence worth showing. */
const GAP = 300;

export function Transcript({ turns, verdicts }: { turns: Turn[]; verdicts: LearningVerdict[] }) {
  const [params] = useUrlState();
  const wanted = params.get("turn");
  useEffect(() => {
    if (wanted) document.getElementById(`turn-${wanted}`)?.scrollIntoView({ block: "center" });
  }, [wanted]);
  return (
    <section aria-label="Transcript" className="flex flex-col gap-3">
      {turns.map((turn, i) => {
        const gap = i > 0 ? turn.created_at - (turns[i - 1]?.created_at ?? turn.created_at) : 0;
        return (
          <div key={turn.interaction_id} className="contents">
            {gap >= GAP && <p className="text-center text-[0.82rem] text-faint">{duration(gap)} of silence</p>}
            <TurnView
              turn={turn}
              marked={wanted === String(turn.interaction_id)}
              verdicts={verdicts.filter((v) => v.interaction_id === turn.interaction_id)}
            />
          </div>
        );
      })}
    </section>
  );
}

/** The model's call behind a turn in one line. */
function modelCall({ model, input_tokens, output_tokens, cost_usd, latency_ms }: Schemas["Usage"]): string {
  const parts = [
    model,
    input_tokens != null && `${count(input_tokens)} tokens in`,
    output_tokens != null && `${count(output_tokens)} out`,
    latency_ms != null && `${(latency_ms / 1000).toFixed(1)} s`,
    cost_usd != null && dollars(cost_usd),
  ];
  return parts.filter(Boolean).join(" · ");
}

function TurnView({ turn, verdicts, marked }: { turn: Turn; verdicts: LearningVerdict[]; marked: boolean }) {
  const person = turn.role.toLowerCase() === "user";
  return (
    <article
      id={`turn-${turn.interaction_id}`}
      className={`flex flex-col gap-1.5 ${person ? "items-end pl-10" : "items-start pr-10"}`}>
      <div className="flex items-baseline gap-2 text-[0.82rem] text-faint">
        <span className="font-medium text-soft">{turn.role}</span>
        <time title={at(turn.created_at)}>{atTime(turn.created_at)}</time>
        {turn.usage && <span>{modelCall(turn.usage)}</span>}
      </div>
      {turn.content && (
        <div
          className={`max-w-full rounded-2xl px-3.5 py-2 whitespace-pre-wrap [overflow-wrap:anywhere] ${person ? "rounded-tr-md bg-accent-soft" : "rounded-tl-md border border-line bg-raised"} ${marked ? "ring-2 ring-accent" : ""}`}>
          {turn.content}
        </div>
      )}
      {turn.user_action !== "none" && turn.user_action && (
        <p className="text-[0.84rem] text-faint">
          {turn.user_action}: {turn.user_action_description}
        </p>
      )}
      {turn.tools_used.map((tool, i) => (
        <details key={`${tool.tool_name}-${i}`} className="w-full rounded-lg border border-line text-[0.88rem]">
          <summary className="flex items-center gap-2 px-3 py-1.5">
            <Icon.Tool className="text-faint" />
            <code>{tool.tool_name}</code>
            <Badge tone={tool.status && tool.status !== "success" ? "bad" : "neutral"}>
              {tool.status ?? "success"}
            </Badge>
          </summary>
          <pre className="scroll-thin overflow-x-auto border-t border-line px-3 py-2 text-[0.82rem]" tabIndex={0}>
            {JSON.stringify(tool.tool_data ?? {}, null, 2)}
          </pre>
        </details>
      ))}
      {turn.shadow_content && (
        <details className="w-full rounded-lg border border-line text-[0.88rem]">
          <summary className="flex items-center gap-2 px-3 py-1.5 text-soft">
            <Icon.Shadow className="text-faint" />
            What the shadow answered
          </summary>
          <div className="border-t border-line px-3 py-2 whitespace-pre-wrap">{turn.shadow_content}</div>
        </details>
      )}
      {turn.retrieved_learnings.map((learning) => (
        <Used
          key={`${learning.kind}/${learning.learning_id}`}
          kind={learning.kind}
          id={learning.learning_id}
          user={turn.user_id}
          cited={turn.citations.some((c) => c.real_id === learning.learning_id)}
          verdict={verdicts.find((v) => v.kind === learning.kind && v.learning_id === learning.learning_id)}
        />
      ))}
    </article>
  );
}

/** A learning by its name, and the page it is on. */
function useLearning(kind: string, id: string, user: string): { name: string; to: string } {
  const isShared = kind === "agent_playbook";
  const playbooks = useQuery({ ...agentPlaybooks, enabled: isShared });
  const found = playbooks.data?.agent_playbooks.find((playbook) => String(playbook.agent_playbook_id) === id);
  const number = `${words(kind)} ${id.length > 12 ? `${id.slice(0, 8)}…` : id}`;
  return isShared
    ? { name: found?.playbook_name || number, to: `/learnings?open=${encodeURIComponent(id)}` }
    : { name: number, to: `/learnings?${new URLSearchParams({ view: "people", user })}` };
}

type Diagnosis = { category: string; reason: string; evidence_interaction_ids: number[] };

/** A learning the agent was given at this turn, and what it did there. */
function Used({
  kind,
  id,
  user,
  cited,
  verdict,
}: {
  kind: string;
  id: string;
  user: string;
  cited: boolean;
  verdict: LearningVerdict | undefined;
}) {
  const [, change] = useUrlState();
  const known = useLearning(kind, id, user);
  const diagnosis = verdict?.diagnosis as Diagnosis | null | undefined;
  const tone = verdict?.impact === "positive" ? "good" : verdict?.impact === "negative" ? "bad" : "neutral";
  return (
    <details className="w-full rounded-lg border border-line text-[0.88rem]">
      <summary className="flex flex-wrap items-center gap-2 px-3 py-1.5">
        <Icon.Book className="text-faint" />
        <span title={`${words(kind)} ${id}`}>{known.name}</span>
        {cited && <Badge tone="accent">cited</Badge>}
        {verdict ? (
          <>
            <Badge>
              {verdict.is_relevant == null ? "relevance unknown" : verdict.is_relevant ? "relevant" : "not relevant"}
            </Badge>
            <Badge tone={tone}>{verdict.impact ? `${verdict.impact} impact` : "impact unknown"}</Badge>
          </>
        ) : (
          <span className="text-faint">not judged</span>
        )}
      </summary>
      <div className="flex flex-col gap-1.5 border-t border-line px-3 py-2 text-soft">
        <Link className="text-accent underline underline-offset-3" to={known.to}>
          See {known.name} among the learnings
        </Link>
        {verdict?.relevance_reason && (
          <p>
            <b className="font-medium text-ink">Relevance:</b> {verdict.relevance_reason}
          </p>
        )}
        {verdict?.impact_reason && (
          <p>
            <b className="font-medium text-ink">Impact:</b> {verdict.impact_reason}
          </p>
        )}
        {diagnosis && (
          <p>
            <b className="font-medium text-ink">Diagnosis: {words(diagnosis.category)}.</b> {diagnosis.reason}{" "}
            {diagnosis.evidence_interaction_ids.map((turn) => (
              <button
                key={turn}
                type="button"
                className="mr-1.5 text-accent underline"
                onClick={() => change({ turn: String(turn) })}>
                turn {turn}
              </button>
            ))}
          </p>
        )}
      </div>
    </details>
  );
}
