/** Learnings that hurt, and what is proposed to do about them. Nothing changes before a person says so. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, plural, points, signed, words } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Button } from "../../parts/controls.tsx";
import { Badge, Card, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { agentPlaybooks } from "./all-playbooks.ts";
import { type Wording, WordingDialog } from "./wording.tsx";

type Proposal = Schemas["TuningProposal"];

export function TuningProposals() {
  const all = useQuery({
    queryKey: ["tuning"],
    refetchInterval: QUIET_POLL_MS,
    queryFn: () => ok(api.GET("/api/learnings/tuning_proposals", { params: { query: { status: "all" } } })),
  });
  if (all.isError) return <Trouble error={all.error} retry={() => all.refetch()} />;
  const open = all.data?.proposals.filter(({ status }) => status === "open") ?? [];
  const decided = all.data?.proposals.filter(({ status }) => status !== "open") ?? [];
  if (open.length === 0 && decided.length === 0) return null;
  return (
    <Card
      flush
      title={
        open.length > 0
          ? `${plural(open.length, "learning")} that ${open.length === 1 ? "hurts" : "hurt"}`
          : "No proposal waits for your decision"
      }
      lead={open.length > 0 ? "proposed to be changed or retired; nothing changes before you decide" : undefined}>
      <ul className="border-t border-line">
        {open.map((proposal) => (
          <Line key={proposal.proposal_id} proposal={proposal} />
        ))}
      </ul>
      {decided.length > 0 && <Decided proposals={decided} />}
    </Card>
  );
}

const DONE = { edit: "reworded", archive: "retired", reject: "retired" } as const;

/** What was decided before, the newest first. */
function Decided({ proposals }: { proposals: Proposal[] }) {
  const newest = proposals.toSorted((a, b) => (b.decided_at ?? 0) - (a.decided_at ?? 0));
  return (
    <details className="border-t border-line px-5 py-2.5" open={proposals.length <= 3}>
      <summary className="text-soft">{plural(proposals.length, "earlier decision")}</summary>
      <ul className="mt-1.5 flex flex-col gap-1 text-[0.9rem]" aria-label="Earlier decisions">
        {newest.map((proposal) => (
          <li key={proposal.proposal_id} className="flex flex-wrap items-baseline gap-x-2">
            <Name proposal={proposal} />
            <Badge tone={proposal.status === "accepted" ? "good" : "neutral"}>
              {proposal.status === "accepted" ? DONE[proposal.action] : "left as it is"}
            </Badge>
            <span className="text-faint">
              {proposal.rationale} Decided {proposal.decided_at == null ? "" : ago(proposal.decided_at)}.
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The learning that a proposal is about, by its name where it has one. */
function Name({ proposal }: { proposal: Proposal }) {
  const playbooks = useQuery(agentPlaybooks);
  const found =
    proposal.kind === "agent_playbook" &&
    playbooks.data?.agent_playbooks.find((p) => String(p.agent_playbook_id) === proposal.learning_id);
  return (
    <span className="font-medium">
      {(found && (found.playbook_name || found.content)) || `${words(proposal.kind)} ${proposal.learning_id}`}
    </span>
  );
}

function Line({ proposal }: { proposal: Proposal }) {
  const client = useQueryClient();
  const say = useSay();
  const [editing, setEditing] = useState(false);
  const settled = (text: string) => async () => {
    await Promise.all(
      ["tuning", "scorecard", "agent-playbooks", "effects"].map((key) => client.invalidateQueries({ queryKey: [key] })),
    );
    say(text);
  };
  const { proposal_id } = proposal;
  const accept = useMutation({
    mutationFn: (own?: Wording) =>
      ok(api.POST("/api/learnings/tuning_proposals/accept", { body: { proposal_id, ...own } })),
    onSuccess: settled("Changed as you decided"),
  });
  const decline = useMutation({
    mutationFn: () => ok(api.POST("/api/learnings/tuning_proposals/decline", { body: { proposal_id } })),
    onSuccess: settled("Left as it is"),
  });
  const busy = accept.isPending || decline.isPending;
  const problem = accept.error ?? decline.error;
  const isEdit = proposal.action === "edit";
  return (
    <li className="flex flex-col gap-2 border-b border-line px-5 py-3 last:border-0">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone="warn">{isEdit ? "reword" : proposal.action}</Badge>
        <Name proposal={proposal} />
        <span className="num text-faint">
          {proposal.trial
            ? `${points(proposal.trial.effect)} by its trial`
            : `impact ${signed(proposal.impact, 2)} over ${plural(proposal.judged, "verdict")}`}
          , drafted by {proposal.drafted_by} {ago(proposal.created_at)}
        </span>
      </p>
      {isEdit && (
        <div className="rounded-lg border border-line bg-raised px-4 py-2.5 whitespace-pre-wrap">
          {proposal.content}
          {proposal.trigger && <span className="block text-faint">when {proposal.trigger}</span>}
        </div>
      )}
      <p className="text-soft">{proposal.rationale}</p>
      <ul className="flex flex-wrap gap-x-3 text-[0.9rem]">
        {proposal.evidence.slice(0, 8).map((shown) => (
          <li key={`${shown.user_id} ${shown.session_id} ${shown.interaction_id}`}>
            <Link
              className="text-accent underline underline-offset-3"
              to={`/sessions?${new URLSearchParams({ open: `${shown.user_id}\n${shown.session_id}`, turn: String(shown.interaction_id) })}`}>
              {shown.category ? words(shown.category) : proposal.trial ? "failed" : "negative"} in {shown.session_id}
            </Link>
          </li>
        ))}
      </ul>
      {problem && !editing && <Trouble error={problem} />}
      <div className="flex flex-wrap gap-2">
        <Button small look="primary" disabled={busy} onClick={() => accept.mutate(undefined)}>
          {{ edit: "Accept the wording", archive: "Archive it", reject: "Reject it" }[proposal.action]}
        </Button>
        {proposal.kind !== "profile" && (
          <Button small disabled={busy} onClick={() => setEditing(true)}>
            In my own words
          </Button>
        )}
        <Button small look="quiet" disabled={busy} onClick={() => decline.mutate()}>
          Leave it
        </Button>
      </div>
      {editing && (
        <WordingDialog
          title="Your wording"
          confirm="Use this wording"
          from={{ content: proposal.content, trigger: proposal.trigger }}
          error={accept.error}
          busy={busy}
          onClose={() => setEditing(false)}
          onSave={(own) => accept.mutate(own)}
        />
      )}
    </li>
  );
}
