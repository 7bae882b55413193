/** The newest events of the audit chain, with the names of those who did it. */
import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "../../api/client.ts";
import { at, words } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { Badge, Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";

type Actor = Schemas["Actor"];

const KINDS: Record<Actor["kind"], string> = {
  key: "a key",
  person: "a person",
  command_line: "the command line",
  local: "a program on this machine",
  server: "the server",
  unknown: "somebody not known any more",
};

function nameOf(actor: Actor): string {
  const name = actor.name || (actor.kind === "key" ? "an unnamed key" : KINDS[actor.kind]);
  return actor.email && actor.email !== name ? `${name} (${actor.email})` : name;
}

export function Audit() {
  const audit = useQuery({
    queryKey: ["audit-events"],
    refetchInterval: QUIET_POLL_MS,
    queryFn: () => ok(api.GET("/api/governance/audit-events", { params: { query: { limit: 50 } } })),
  });
  const events = audit.data?.events;
  return (
    <Card flush title="Audit" lead="who did what, the newest 50 events; whom it was about is a reference">
      {audit.isError && (
        <div className="px-5 pb-4">
          <Trouble error={audit.error} retry={() => audit.refetch()} />
        </div>
      )}
      {audit.isPending && (
        <div className="px-5 pb-4">
          <Skeleton height={60} />
        </div>
      )}
      {events?.length === 0 && <Empty title="Nothing was noted yet" />}
      <ul className="overflow-hidden rounded-b-xl">
        {events?.map((event) => (
          <li
            key={event.sequence}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line px-5 py-2.5">
            <span className="num sm:w-[150px]">{at(event.created_at)}</span>
            <Badge tone={event.status === "ok" ? "neutral" : "bad"}>{words(event.operation).toLowerCase()}</Badge>
            <span className="min-w-0 flex-1 sm:truncate" title={event.actor.subject ?? event.actor_ref}>
              {nameOf(event.actor)}
            </span>
            {event.subject_ref && (
              <code className="min-w-0 truncate text-[0.84rem] text-soft">{event.subject_ref}</code>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
