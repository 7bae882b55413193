/** An erasure on its way, and its proof when it is complete. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, download, ok } from "../../api/client.ts";
import { at, duration, words } from "../../lib/format.ts";
import { Copied } from "../../parts/code.tsx";
import { Button } from "../../parts/controls.tsx";
import * as Icon from "../../parts/icons.tsx";
import { Badge, Card, Facts, Note, Skeleton, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { Remains } from "./remains.tsx";
import { fileName } from "./request.ts";

export const TONES = { complete: "good", failed: "bad", running: "accent", pending: "neutral" } as const;

export function PurgeStatus({ purgeId }: { purgeId: string }) {
  const say = useSay();
  const path = `/api/governance/purge-operations/${encodeURIComponent(purgeId)}`;
  const purge = useQuery({
    queryKey: ["purge", purgeId],
    queryFn: () =>
      ok(api.GET("/api/governance/purge-operations/{purge_id}", { params: { path: { purge_id: purgeId } } })),
    refetchInterval: ({ state }) => (state.data && state.data.status !== "complete" ? 1000 : false),
  });
  const data = purge.data;
  const proof = useMutation({
    mutationFn: () => download(`${path}/certificate`, `${fileName("erasure", data?.request_ref ?? purgeId)}.json`),
    onSuccess: () => say("Proof downloaded; `evenhand governance verify-certificate` checks it"),
    onError: (error) => say(error.message, "bad"),
  });
  return (
    <Card
      title="Erasure"
      aside={data && <Badge tone={TONES[data.status]}>{words(data.status)}</Badge>}
      className="max-w-[860px]">
      {purge.isError && <Trouble error={purge.error} retry={() => purge.refetch()} />}
      {!data ? (
        !purge.isError && <Skeleton height={150} />
      ) : (
        <div className="flex flex-col gap-4" data-testid="purge" data-status={data.status}>
          {data.status === "complete" && (
            <Note tone="good">
              Every row is gone: the barrier stood, everything stored was deleted, a final check found nothing, and the
              audit chain has the event.
            </Note>
          )}
          {data.status === "failed" && (
            <Note tone="bad">
              <b>{words(data.error_code)}:</b> {data.error_detail} It is tried again by itself; nothing new can be
              written about this person meanwhile.
            </Note>
          )}
          <Facts
            rows={[
              ["Purge id", <Copied text={data.purge_id} />],
              ["Person", <Copied text={data.subject_ref} />],
              ["Request", <Copied text={data.request_ref} />],
              ["Asked for", at(data.created_at)],
              [
                "Complete",
                data.completed_at
                  ? `${at(data.completed_at)}, ${data.completed_at === data.created_at ? "within a second" : `${duration(data.completed_at - data.created_at)} later`}`
                  : "not yet",
              ],
            ]}
          />
          {data.status === "complete" && <Remains purgeId={purgeId} />}
          {data.status === "complete" && (
            <div>
              <Button look="primary" disabled={proof.isPending} onClick={() => proof.mutate()}>
                <Icon.Download />
                {proof.isPending ? "Downloading…" : "Download the proof"}
              </Button>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}
