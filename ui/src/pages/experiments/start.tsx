/** Starting an experiment: a name, a share, what that share can tell, and what it is for. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok } from "../../api/client.ts";
import { isoDay } from "../../lib/format.ts";
import { Button, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { AboutFields, NOTHING_SAID } from "./about.tsx";
import { PlanNote } from "./plan.tsx";

export function StartExperiment({ open, onClose }: { open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const say = useSay();
  const [name, setName] = useState(`retrieval-${isoDay(Date.now() / 1000)}`);
  const [share, setShare] = useState("10");
  const [about, setAbout] = useState(NOTHING_SAID);
  const percentage = Number(share);
  const valid = name.trim() !== "" && percentage > 0 && percentage < 100;
  const plan = useQuery({
    queryKey: ["plan", percentage],
    enabled: open && valid,
    placeholderData: keepPreviousData,
    queryFn: () =>
      ok(api.GET("/api/retrieval_experiments/plan", { params: { query: { holdout_percentage: percentage } } })),
  });
  const start = useMutation({
    mutationFn: () =>
      ok(
        api.POST("/api/retrieval_experiments", {
          body: { experiment_id: name.trim(), holdout_percentage: percentage, ...about },
        }),
      ),
    onSuccess: (answer) => {
      client.setQueryData(["experiments"], answer);
      say("Started: users are assigned from their next search on");
      onClose();
    },
  });
  return (
    <Dialog title="Start an experiment" open={open} onClose={onClose} wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          start.mutate();
        }}>
        <div className="grid gap-3 sm:grid-cols-[1fr_150px]">
          <TextField
            label="Name"
            required
            maxLength={128}
            value={name}
            onChange={(e) => setName(e.target.value)}
            hint="Never used before."
          />
          <TextField
            label="Held out (%)"
            type="number"
            required
            min="0.1"
            max="99.9"
            step="any"
            value={share}
            onChange={(e) => setShare(e.target.value)}
          />
        </div>
        {plan.isError ? <Trouble error={plan.error} /> : <PlanNote plan={plan.data} />}
        <AboutFields about={about} onChange={setAbout} />
        {start.isError && <Trouble error={start.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button look="primary" type="submit" disabled={!valid || start.isPending}>
            {start.isPending ? "Starting…" : "Start"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
