/** Learnings that hurt, and what is proposed to do about them. Nothing changes before a person says so. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, plural, points, signed, words } from "../../lib/format.ts";
import { Button } from "../../parts/controls.tsx";
import { Badge, Card, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { type Wording, WordingDialog } from "./wording.tsx";

type Proposal = Schemas["TuningProposal"];

export function TuningProposals() {
  const open = useQuery({ queryKey: ["tuning"], queryFn: () => ok(api.GET("/api/learnings/tuning_proposals")) });
  if (open.isError) return <Trouble error={open.error} retry={() => open.refetch()} />;
  if (!open.data || open.data.proposals.length === 0) return null;
  return (
    <Card flush title={plural(open.data.proposals.length, "learning")} lead="hurt, and wait for your decision">
      <ul className="border-t border-line">
        {open.data.proposals.map((proposal) => (
          <Line key={proposal.proposal_id} proposal={proposal} />
        ))}
      </ul>
    </Card>
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
        <span className="font-medium">
          {words(proposal.kind)} {proposal.learning_id}
        </span>
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
