/** Erasures there were, by date: whom they were about is not known any more. */
import { useQuery } from "@tanstack/react-query";
import { api, ok } from "../../api/client.ts";
import { at, plural, words } from "../../lib/format.ts";
import { QUIET_POLL_MS } from "../../lib/poll.ts";
import { useUrlState } from "../../lib/url-state.ts";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Empty, Skeleton, Trouble } from "../../parts/page.tsx";
import { TONES } from "./purge.tsx";

export const purgeOperations = {
  queryKey: ["purges"],
  refetchInterval: QUIET_POLL_MS,
  queryFn: () => ok(api.GET("/api/governance/purge-operations")),
};

export function EarlierErasures() {
  const [params, change] = useUrlState();
  const erasures = useQuery(purgeOperations);
  const all = erasures.data?.purge_operations;
  return (
    <Card
      flush
      title="Earlier erasures"
      lead={
        all
          ? `${plural(all.length, "erasure")}${all.length === 100 ? " (the newest)" : ""}; each keeps its signed proof`
          : "…"
      }>
      {erasures.isError && (
        <div className="px-5 pb-4">
          <Trouble error={erasures.error} retry={() => erasures.refetch()} />
        </div>
      )}
      {erasures.isPending && (
        <div className="px-5 pb-4">
          <Skeleton height={60} />
        </div>
      )}
      {all?.length === 0 && (
        <Empty title="Nobody was erased yet">An erasure is listed here from the moment it begins.</Empty>
      )}
      <ul className="overflow-hidden rounded-b-xl">
        {all?.map((purge) => (
          <li key={purge.purge_id} className="border-t border-line">
            <button
              type="button"
              onClick={() => change({ purge: purge.purge_id, user: null }, true)}
              aria-current={params.get("purge") === purge.purge_id}
              className="flex w-full flex-wrap items-center gap-x-4 gap-y-1 px-5 py-2.5 text-left hover:bg-raised aria-[current=true]:bg-accent-soft">
              <span className="num sm:w-[150px]">{at(purge.created_at)}</span>
              <code className="min-w-0 flex-1 truncate text-[0.84rem] text-soft">{purge.subject_ref}</code>
              <Badge tone={TONES[purge.status]}>{words(purge.status)}</Badge>
              <Icon.Arrow className="text-faint" />
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
