/** Hypothesis, owner and notes of an experiment. Changed at any time; the design is not. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { Button, TextArea, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Card, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";

export type About = Schemas["ExperimentAbout"];
export const NOTHING_SAID: About = { hypothesis: "", owner: "", notes: "" };

export function AboutFields({ about, onChange }: { about: About; onChange: (about: About) => void }) {
  const set = (part: Partial<About>) => onChange({ ...about, ...part });
  return (
    <>
      <TextArea
        label="Hypothesis (optional)"
        rows={2}
        maxLength={500}
        value={about.hypothesis}
        onChange={(hypothesis) => set({ hypothesis })}
      />
      <TextField
        label="Owner (optional)"
        maxLength={128}
        placeholder="who answers questions about it"
        value={about.owner}
        onChange={(e) => set({ owner: e.target.value })}
      />
      <TextArea
        label="Notes (optional)"
        rows={3}
        maxLength={4000}
        value={about.notes}
        onChange={(notes) => set({ notes })}
      />
    </>
  );
}

export function AboutCard({ experimentId, about }: { experimentId: string; about: About }) {
  const [isEditing, setEditing] = useState(false);
  const isSaid = Object.values(about).some(Boolean);
  return (
    <Card
      title={about.hypothesis || "Hypothesis"}
      lead={about.owner ? `Owner: ${about.owner}` : "no owner named"}
      aside={
        <Button small onClick={() => setEditing(true)}>
          {isSaid ? "Edit" : "Say what it is for"}
        </Button>
      }>
      <p className="max-w-[80ch] [overflow-wrap:anywhere] whitespace-pre-line text-soft">
        {about.notes || "No notes."}
      </p>
      <EditAbout
        key={String(isEditing)}
        experimentId={experimentId}
        about={about}
        open={isEditing}
        onClose={() => setEditing(false)}
      />
    </Card>
  );
}

function EditAbout(props: { experimentId: string; about: About; open: boolean; onClose: () => void }) {
  const { experimentId, open, onClose } = props;
  const client = useQueryClient();
  const say = useSay();
  const [about, setAbout] = useState(props.about);
  const save = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH("/api/retrieval_experiments/{experiment_id}/about", {
          params: { path: { experiment_id: experimentId } },
          body: about,
        }),
      ),
    onSuccess: async () => {
      say("Saved");
      onClose();
      await client.invalidateQueries({ queryKey: ["experiment-results", experimentId] });
    },
  });
  return (
    <Dialog title={`What ${experimentId} is for`} open={open} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate();
        }}>
        <AboutFields about={about} onChange={setAbout} />
        {save.isError && <Trouble error={save.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={save.isPending}>
            {save.isPending ? "Saving…" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
