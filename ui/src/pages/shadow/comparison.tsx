/** One comparison: who won and why, and both answers side by side when opened. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { ShadowVerdict } from "../../api/types.ts";
import { ago } from "../../lib/format.ts";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Skeleton, Trouble } from "../../parts/page.tsx";
import { sessionView } from "../sessions/session-view.ts";

export function outcomeOf(verdict: ShadowVerdict): "win" | "loss" | "tie" {
  const { better_request: better } = verdict.output;
  if (better === "tie") return "tie";
  return (better === "1") === verdict.service_is_request_1 ? "win" : "loss";
}

/** The judge's reason with the two answers by their names instead of their places. */
export function reasonOf(verdict: ShadowVerdict): string {
  const names = verdict.service_is_request_1
    ? { 1: "the answer", 2: "the shadow" }
    : { 1: "the shadow", 2: "the answer" };
  const named = (verdict.output.comparison_reason || "no reason given").replace(
    /\b(?:response|request) ([12])\b/gi,
    (_, place: string) => names[place as "1" | "2"],
  );
  return named.charAt(0).toUpperCase() + named.slice(1);
}

const TONES = { win: "accent", loss: "rival", tie: "neutral" } as const;

export function Comparison({
  verdict,
  open,
  onToggle,
}: {
  verdict: ShadowVerdict;
  open: boolean;
  onToggle: () => void;
}) {
  const outcome = outcomeOf(verdict);
  const strength = outcome === "tie" ? "" : verdict.output.is_significantly_better ? "clear " : "slight ";
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="grid w-full grid-cols-[auto_1fr_auto] items-center gap-3 px-5 py-2.5 text-left hover:bg-raised">
        <span className="w-[88px]">
          <Badge tone={TONES[outcome]}>
            {strength}
            {outcome}
          </Badge>
        </span>
        <span className="min-w-0 truncate">{reasonOf(verdict)}</span>
        <span className="flex items-center gap-3 text-[0.85rem] whitespace-nowrap text-faint">
          {verdict.order_consistent === false && <Badge tone="warn">order flip</Badge>}
          <span className="max-sm:hidden">{ago(Date.parse(verdict.created_at) / 1000)}</span>
          <Icon.Arrow className={`transition-transform ${open ? "rotate-90" : ""}`} />
        </span>
      </button>
      {open && <Answers verdict={verdict} />}
    </li>
  );
}

function Answers({ verdict }: { verdict: ShadowVerdict }) {
  const session = useQuery(sessionView(verdict));
  if (session.isError)
    return (
      <div className="px-5 pb-4">
        <Trouble error={session.error} />
      </div>
    );
  if (!session.data)
    return (
      <div className="px-5 pb-4">
        <Skeleton height={120} />
      </div>
    );
  const turns = session.data.interactions;
  const place = turns.findIndex((turn) => String(turn.interaction_id) === verdict.interaction_id);
  const [turn, before] = [
    turns[place],
    turns.slice(0, Math.max(0, place)).findLast((t) => t.role.toLowerCase() === "user"),
  ];
  const open = new URLSearchParams({ open: `${verdict.user_id}\n${verdict.session_id}`, turn: verdict.interaction_id });
  return (
    <div className="flex flex-col gap-3 px-5 pb-4">
      {before && (
        <p className="text-soft">
          <span className="text-faint">Asked:</span> {before.content}
        </p>
      )}
      <div className="grid gap-3 md:grid-cols-2">
        <Answer name="Answer" text={turn?.content ?? ""} tone="text-accent" />
        <Answer name="Shadow" text={turn?.shadow_content ?? ""} tone="text-rival" />
      </div>
      <p className="text-[0.87rem] text-faint">
        {reasonOf(verdict)} Judged by {verdict.judge}, {verdict.agent_version} ·{" "}
        <Link className="text-accent underline" to={`/sessions?${open}`}>
          Open the session
        </Link>
      </p>
    </div>
  );
}

function Answer({ name, text, tone }: { name: string; text: string; tone: string }) {
  return (
    <div className="rounded-lg border border-line bg-raised px-3.5 py-2.5">
      <div className={`mb-1 text-[0.84rem] font-semibold ${tone}`}>{name}</div>
      <div className="whitespace-pre-wrap">{text || "The turn is gone."}</div>
    </div>
  );
}
