/** Somebody who was erased is known by their reference alone: when, with which proof, and how they may come back. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { onDate } from "../../lib/format.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Button } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Note, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { requestId } from "./request.ts";

export function ErasedBefore({ purge, userId }: { purge: Schemas["PurgeOperation"]; userId: string }) {
  const [, change] = useUrlState();
  const [isAsking, setAsking] = useState(false);
  return (
    <Note tone="good">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span>
          <b>Erased on {onDate(purge.completed_at ?? purge.created_at)}.</b> What is listed here was stored since.
        </span>
        <span className="flex flex-wrap gap-2">
          <Button small onClick={() => change({ purge: purge.purge_id, user: null }, true)}>
            What remains, and the proof
          </Button>
          <Button small onClick={() => setAsking(true)}>
            Let them come back
          </Button>
        </span>
      </div>
      <Readmit userId={userId} open={isAsking} onClose={() => setAsking(false)} />
    </Note>
  );
}

function Readmit({ userId, open, onClose }: { userId: string; open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const say = useSay();
  const readmit = useMutation({
    mutationFn: () =>
      ok(api.POST("/api/governance/readmit-user", { body: { user_id: userId, request_id: requestId("readmit") } })),
    onSuccess: async ({ readmitted }) => {
      await client.invalidateQueries();
      say(readmitted ? "They may come back; what is older than the erasure stays refused" : "Nothing had to be opened");
      onClose();
    },
  });
  return (
    <Dialog title="Let this person come back?" open={open} onClose={onClose}>
      <p className="text-soft">
        New sessions of {userId} are accepted from then on. What is dated before the erasure stays refused, and the
        audit chain gets a row.
      </p>
      {readmit.isError && (
        <div className="mt-3">
          <Trouble error={readmit.error} />
        </div>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Leave it</Button>
        <Button look="primary" disabled={readmit.isPending} onClick={() => readmit.mutate()}>
          {readmit.isPending ? "Opening…" : "Let them come back"}
        </Button>
      </div>
    </Dialog>
  );
}
