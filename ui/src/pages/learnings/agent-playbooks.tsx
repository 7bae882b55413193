/** The organization's playbooks: approve, edit, reject, and see where they came from and which of them hurt. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { EffectPlot } from "../../charts/effect-plot.tsx";
import { type Effect, effectText, reachOf, worstFirst } from "../../lib/effect.ts";
import { ago, count, percent, plural, words } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, Segmented } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { SearchField, usePages } from "../../parts/listing.tsx";
import { Badge, Card, Empty, Facts, Note, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { agentPlaybooks } from "./all-playbooks.ts";
import { type Impact, useImpact } from "./impact.ts";
import { Provenance } from "./provenance.tsx";
import { useEffects } from "./use-effects.ts";
import { type Wording, WordingDialog } from "./wording.tsx";

type Playbook = Schemas["AgentPlaybook"];
const STATUSES = [
  ["", "All"],
  ["pending", "Pending"],
  ["approved", "Approved"],
  ["rejected", "Rejected"],
  ["retired", "Retired"],
] as const;
/** Reasons to look at a playbook twice, in words. */
const REASONS = {
  payment: "it asks for payment data",
  credentials: "it speaks of passwords, codes or the like",
  link: "it names a link or an address",
  few_people: "fewer people than your configuration asks for are left of those who taught it",
} as const;

const TONES = { approved: "good", pending: "warn", rejected: "bad", retired: "neutral" } as const;

/** A playbook that was retired is served to nobody, whatever was decided about it before. */
const stageOf = ({ status, playbook_status }: Playbook) => (status == null ? playbook_status : "retired");

export function AgentPlaybooks() {
  const [params, change] = useUrlState();
  const status = (params.get("status") ?? "") as (typeof STATUSES)[number][0];
  const sort = params.get("sort") === "new" ? "new" : "harm";
  const list = useQuery({ ...agentPlaybooks, refetchInterval: QUIET_POLL_MS });
  const impact = useImpact();
  const of = (playbook: Playbook) => impact.data?.of("agent_playbook", playbook.agent_playbook_id);
  const all = list.data?.agent_playbooks ?? [];
  const text = params.get("text")?.toLowerCase() ?? "";
  const shown = all.filter(
    (p) =>
      (!status || stageOf(p) === status) && `${p.playbook_name} ${p.trigger} ${p.content}`.toLowerCase().includes(text),
  );
  const effects = useEffects();
  const reach = reachOf(effects.all);
  const effect = (playbook: Playbook) => effects.of("agent_playbook", playbook.agent_playbook_id);
  if (sort === "harm") shown.sort((a, b) => worstFirst(effect(a), effect(b)) || b.created_at - a.created_at);
  const open = params.get("open");
  const [page, more] = usePages(shown, `${status} ${sort} ${text}`);
  return (
    <Card
      flush
      title={plural(shown.length, "agent playbook")}
      lead="success with it minus success without it, in points: what the overview shows"
      aside={
        <span className="flex flex-wrap gap-2">
          <SearchField label="Search playbooks" />
          <Segmented
            label="Order"
            value={sort}
            options={[
              ["harm", "Most harmful"],
              ["new", "Newest"],
            ]}
            onChange={(s) => change({ sort: s === "harm" ? null : s })}
          />
          <Segmented label="Status" value={status} options={STATUSES} onChange={(s) => change({ status: s })} />
        </span>
      }>
      {list.isError && (
        <div className="px-5 pb-5">
          <Trouble error={list.error} retry={() => list.refetch()} />
        </div>
      )}
      {(list.isPending || effects.isPending) && (
        <div className="px-5 pb-5">
          <Skeleton height={300} />
        </div>
      )}
      {list.data && !effects.isPending && shown.length === 0 && (
        <Empty title={all.length === 0 ? "No playbooks yet" : "None of these"}>
          Agent playbooks are put together from what several people's sessions taught, or added through{" "}
          <code>/api/add_agent_playbook</code>. Agents are served approved ones.
        </Empty>
      )}
      <ul className="border-t border-line">
        {(effects.isPending ? [] : page).map((playbook) => (
          <Row
            key={playbook.agent_playbook_id}
            playbook={playbook}
            impact={of(playbook)}
            effect={effect(playbook)}
            reach={reach}
            open={open === String(playbook.agent_playbook_id)}
            onToggle={() =>
              change({ open: open === String(playbook.agent_playbook_id) ? null : String(playbook.agent_playbook_id) })
            }
          />
        ))}
      </ul>
      {more}
    </Card>
  );
}

function Row({
  playbook,
  impact,
  effect,
  reach,
  open,
  onToggle,
}: {
  playbook: Playbook;
  impact: Impact | undefined;
  effect: Effect | undefined;
  reach: number;
  open: boolean;
  onToggle: () => void;
}) {
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 px-5 py-2.5 text-left hover:bg-raised md:grid-cols-[minmax(0,1fr)_minmax(120px,220px)_190px_150px_20px]">
        <span className="min-w-0">
          <span className="block truncate font-medium">{playbook.playbook_name || playbook.content}</span>
          <span className="block truncate text-[0.87rem] text-faint">{playbook.trigger}</span>
        </span>
        <span className="max-md:hidden">
          <EffectPlot effect={effect} reach={reach} />
        </span>
        <span className="num text-[0.87rem] max-md:order-3 max-md:col-span-2">
          {effect ? effectText(effect) : "no session cited it"}
          {effect && effect.value !== null && (
            <span className="block text-[0.82rem] text-faint">by {effect.basis}</span>
          )}
        </span>
        <span>
          <Badge tone={TONES[stageOf(playbook)]}>{standing(playbook)}</Badge>
        </span>
        <Icon.Arrow className={`text-faint transition-transform max-md:hidden ${open ? "rotate-90" : ""}`} />
      </button>
      {open && <Detail playbook={playbook} impact={impact} />}
    </li>
  );
}

/** Whether agents are given it. */
function standing(playbook: Playbook): string {
  const { withheld_share } = playbook;
  const stage = stageOf(playbook);
  if (stage === "pending") return "waits for approval";
  if (stage !== "approved") return stage;
  return withheld_share ? `served, ${percent(withheld_share, 0)} on trial` : "served";
}

/** Helped, neutral, harmed: as one bar, in words beside it. */
export function ImpactBar({ impact }: { impact: Impact | undefined }) {
  if (!impact || impact.judged === 0) return <span className="text-[0.85rem] text-faint">no verdicts yet</span>;
  const total = Math.max(1, impact.positive + impact.neutral + impact.negative);
  const part = (n: number, tone: string) =>
    n > 0 && <span className={tone} style={{ width: `${(100 * n) / total}%` }} />;
  return (
    <span className="block">
      <span aria-hidden="true" className="flex h-2 overflow-hidden rounded-full bg-line">
        {part(impact.positive, "bg-good")}
        {part(impact.neutral, "bg-line-strong")}
        {part(impact.negative, "bg-bad")}
      </span>
      <span className="num mt-0.5 block text-[0.82rem] text-faint">
        {count(impact.positive)} helped, {count(impact.negative)} harmed, {count(impact.judged)} judged
      </span>
    </span>
  );
}

function Detail({ playbook, impact }: { playbook: Playbook; impact: Impact | undefined }) {
  const client = useQueryClient();
  const say = useSay();
  const decide = useMutation({
    mutationFn: (playbook_status: Playbook["playbook_status"]) =>
      ok(
        api.PUT("/api/update_agent_playbook_status", {
          body: { agent_playbook_id: playbook.agent_playbook_id, playbook_status, ...(asking && { confirmed: true }) },
        }),
      ),
    onSuccess: async (_, status) => {
      await Promise.all(["agent-playbooks", "provenance"].map((key) => client.invalidateQueries({ queryKey: [key] })));
      setAsking(false);
      say(`Playbook ${status}`);
    },
    onError: (error) => say(error.message, "bad"),
  });
  const [editing, setEditing] = useState(false);
  // Whether the reasons to look twice are shown, with a button that approves all the same.
  const [asking, setAsking] = useState(false);
  const flags = playbook.flags ?? [];
  const edit = useMutation({
    mutationFn: (wording: Wording) =>
      ok(
        api.PUT("/api/update_agent_playbook", { body: { agent_playbook_id: playbook.agent_playbook_id, ...wording } }),
      ),
    onSuccess: async () => {
      await Promise.all(["agent-playbooks", "provenance"].map((key) => client.invalidateQueries({ queryKey: [key] })));
      setEditing(false);
      say("Playbook changed");
    },
  });
  const example = impact?.example;
  const open =
    example &&
    new URLSearchParams({
      open: `${example.user_id}\n${example.session_id}`,
      ...(example.turn ? { turn: String(example.turn) } : {}),
    });
  return (
    <div className="flex flex-col gap-3.5 px-5 pb-5">
      <div className="rounded-lg border border-line bg-raised px-4 py-3 whitespace-pre-wrap">{playbook.content}</div>
      {flags.length > 0 && (
        <Note tone="warn">
          <b>Look twice:</b> {flags.map((flag) => REASONS[flag]).join("; ")}.{" "}
          {asking && "Every agent would be served it."}
        </Note>
      )}
      {example && open && (
        <Note tone="bad">
          <b>When it harmed:</b> {example.reason || "no reason given"}{" "}
          {impact.diagnoses.length > 0 && (
            <>({impact.diagnoses.map(([category, n]) => `${words(category)} ${n}×`).join(", ")}) </>
          )}
          <Link to={`/sessions?${open}`} className="text-accent underline underline-offset-3">
            See such a session
          </Link>
        </Note>
      )}
      <Facts
        rows={[
          ["Applies when", playbook.trigger || "always"],
          playbook.rationale !== "" && ["Why", playbook.rationale],
          ["Agent version", playbook.agent_version || "any"],
          ["Made", `${ago(playbook.created_at)}, number ${playbook.agent_playbook_id}`],
          [
            "Came from",
            playbook.source_windows?.length
              ? `${plural(playbook.source_user_count ?? 0, "person", "people")}: ${plural(playbook.source_windows.length, "user playbook")} (${plural(
                  playbook.source_windows.reduce((n, w) => n + (w.source_interaction_ids?.length ?? 0), 0),
                  "turn",
                )})`
              : "nobody's sessions, or they were erased",
          ],
          impact && [
            "Verdicts on answers",
            `${count(impact.positive)} helped, ${count(impact.negative)} harmed, ${count(impact.judged)} judged`,
          ],
          impact && ["Relevant", `${count(impact.relevant)} of ${count(impact.judged)} times it was retrieved`],
        ]}
      />
      <Provenance kind="agent_playbook" id={String(playbook.agent_playbook_id)} />
      <div className={`flex-wrap gap-2 ${stageOf(playbook) === "retired" ? "hidden" : "flex"}`}>
        {(["approved", "rejected", "pending"] as const)
          .filter((s) => s !== playbook.playbook_status)
          .map((s) => (
            <Button
              key={s}
              small
              look={s === "approved" ? "primary" : "plain"}
              disabled={decide.isPending}
              onClick={() => (s === "approved" && flags.length > 0 && !asking ? setAsking(true) : decide.mutate(s))}>
              {decide.isPending && decide.variables === s
                ? "Deciding…"
                : {
                    approved: asking ? "Approve all the same" : "Approve",
                    rejected: "Reject",
                    pending: "Back to pending",
                  }[s]}
            </Button>
          ))}
        <Button small onClick={() => setEditing(true)}>
          Edit
        </Button>
      </div>
      {editing && (
        <WordingDialog
          title="Edit the playbook"
          confirm="Save"
          from={playbook}
          error={edit.error}
          busy={edit.isPending}
          onClose={() => setEditing(false)}
          onSave={(wording) => edit.mutate(wording)}
        />
      )}
    </div>
  );
}
