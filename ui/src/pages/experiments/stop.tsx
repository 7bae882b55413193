/** Stopping the active experiment, after a question. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok } from "../../api/client.ts";
import { Button } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

export function StopExperiment({ experimentId, small }: { experimentId: string; small?: boolean }) {
  const client = useQueryClient();
  const say = useSay();
  const [isAsking, setAsking] = useState(false);
  const stop = useMutation({
    mutationFn: () => ok(api.POST("/api/retrieval_experiments/stop", { body: { experiment_id: experimentId } })),
    onSuccess: async (answer) => {
      client.setQueryData(["experiments"], answer);
      setAsking(false);
      say("Stopped: every search finds what was learned again; the results stay");
      await client.invalidateQueries({ queryKey: ["experiment-results", experimentId] });
    },
  });
  return (
    <>
      <Button {...(small ? { small } : {})} onClick={() => setAsking(true)}>
        Stop
      </Button>
      <Dialog title={`Stop ${experimentId}?`} open={isAsking} onClose={() => setAsking(false)}>
        <p className="text-soft">
          Nobody is assigned any more, and held-out users get learned context again. What was measured is kept. The same
          experiment cannot be started again.
        </p>
        {stop.isError && (
          <div className="mt-3">
            <Trouble error={stop.error} />
          </div>
        )}
        <div className="mt-5 flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>Keep it running</Button>
          <Button look="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>
            {stop.isPending ? "Stopping…" : "Stop the experiment"}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
