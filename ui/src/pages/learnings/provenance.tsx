/** Where a learning came from: the turns, what was proposed and merged on the way, and what people decided. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, ok, type Schemas } from "../../api/client.ts";
import { ago, plural, words } from "../../lib/format.ts";
import { Badge, Skeleton, Trouble } from "../../parts/page.tsx";

type Way = Schemas["Provenance"];
type Turn = Schemas["SourceTurn"];
type Proposal = Schemas["ProposalRecord"];

export function Provenance({ kind, id }: { kind: Schemas["LearningKind"]; id: string }) {
  const way = useQuery({
    queryKey: ["provenance", kind, id],
    queryFn: () => ok(api.POST("/api/get_learning_provenance", { body: { kind, learning_id: id } })),
  });
  if (way.isError) return <Trouble error={way.error} retry={() => way.refetch()} />;
  if (!way.data) return <Skeleton height={90} />;
  return <Shown way={way.data} />;
}

function Shown({ way }: { way: Way }) {
  const nothing = way.sources.length === 0 && way.proposals.length === 0 && way.interactions.length === 0;
  return (
    <section aria-label="Where it came from" data-testid="provenance" className="flex flex-col gap-2">
      <h3 className="label">Where it came from</h3>
      {nothing && <p className="text-soft">It was added by hand, or the people it came from were erased.</p>}
      {way.sources.length > 0 && (
        <p>
          {plural(way.source_user_count ?? 0, "person", "people")} taught it independently, in{" "}
          {plural(way.sources.length, "playbook")} of their own:
        </p>
      )}
      <ul className="flex flex-col gap-2">
        {way.sources.map((source) => (
          <li key={source.user_playbook_id} className="rounded-lg border border-line px-3.5 py-2">
            <span className="font-medium">{source.user_id}</span>{" "}
            <span className="text-faint">playbook {source.user_playbook_id}</span>
            <Turns
              turns={way.interactions.filter(
                (turn) =>
                  turn.user_id === source.user_id && source.source_interaction_ids.includes(turn.interaction_id),
              )}
            />
            <Proposals proposals={source.proposals} />
          </li>
        ))}
      </ul>
      {way.sources.length === 0 && (
        <>
          <Turns turns={way.interactions} />
          <Proposals proposals={way.proposals} />
        </>
      )}
      {way.deleted_interaction_ids.length > 0 && (
        <p className="text-faint">
          {plural(way.deleted_interaction_ids.length, "turn")} it came from{" "}
          {way.deleted_interaction_ids.length === 1 ? "was" : "were"} deleted since.
        </p>
      )}
      {way.decisions.length > 0 && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-[0.9rem] text-soft">
          {way.decisions.map((decision, place) => (
            <span key={place}>
              {decision.decision} by {decision.actor}, {ago(decision.decided_at)}
            </span>
          ))}
        </p>
      )}
    </section>
  );
}

function Turns({ turns }: { turns: Turn[] }) {
  if (turns.length === 0) return null;
  return (
    <span className="ml-2 inline-flex flex-wrap gap-x-3">
      {turns.map((turn) => (
        <Link
          key={turn.interaction_id}
          className="text-accent underline underline-offset-3"
          to={`/sessions?${new URLSearchParams({ open: `${turn.user_id}\n${turn.session_id}`, turn: String(turn.interaction_id) })}`}>
          turn {turn.interaction_id}
        </Link>
      ))}
    </span>
  );
}

const TONES = { added: "good", merged: "accent", superseded: "warn", refused: "neutral" } as const;

function Proposals({ proposals }: { proposals: Proposal[] }) {
  return (
    <ul className="mt-1 flex flex-col gap-1 text-[0.9rem]">
      {proposals.map((proposal) => (
        <li key={`${proposal.window_no}-${proposal.learning_id}-${proposal.content}`} className="text-soft">
          <Badge tone={TONES[proposal.outcome]}>{words(proposal.outcome)}</Badge> {proposal.content}{" "}
          <span className="text-faint">
            window {proposal.window_no},{" "}
            {["rules", "offline"].includes(proposal.extractor) ? "by rules" : `by ${proposal.extractor}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
