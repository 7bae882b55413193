/** A person's word against the judge's: it becomes ground truth for the judge's agreement with people. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas } from "../../api/client.ts";
import { words } from "../../lib/format.ts";
import { Button, Select, TextArea } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { LABELLED } from "./labels.ts";

const TYPES = ["wrong_answer", "wrong_tool", "missing_tool", "insufficient_info_from_tool", "system_error"] as const;

type Props = {
  open: boolean;
  onClose: () => void;
  session: Schemas["SessionSummary"];
  verdict: Schemas["AgentSuccessEvaluationResult"];
};

export function Disagree({ open, onClose, session, verdict }: Props) {
  const client = useQueryClient();
  const say = useSay();
  const [type, setType] = useState<(typeof TYPES)[number]>("wrong_answer");
  const [note, setNote] = useState("");
  const isSuccess = !verdict.is_success;
  const label = useMutation({
    mutationFn: () =>
      ok(
        api.POST("/api/evaluations/labels", {
          body: {
            labels: [
              {
                user_id: session.user_id,
                session_id: session.session_id,
                is_success: isSuccess,
                failure_type: isSuccess ? null : type,
                note,
              },
            ],
          },
        }),
      ),
    onSuccess: async () => {
      await Promise.all(LABELLED.map((name) => client.invalidateQueries({ queryKey: [name] })));
      say("Noted: your verdict counts in the judge's agreement with people");
      onClose();
    },
  });
  return (
    <Dialog title="Disagree with the judge" open={open} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          label.mutate();
        }}>
        <p className="text-soft">
          The judge says <b className="text-ink">{verdict.is_success ? "success" : "failure"}</b>. You say{" "}
          <b className="text-ink">{isSuccess ? "success" : "failure"}</b>. The judge's verdict stays as it is; yours is
          kept beside it.
        </p>
        {!isSuccess && (
          <Select
            label="What went wrong"
            value={type}
            onChange={(e) => setType(TYPES.find((t) => t === e.target.value) ?? "wrong_answer")}
            options={TYPES.map((t) => [t, words(t)])}
          />
        )}
        <TextArea label="Why (optional)" value={note} onChange={setNote} rows={3} maxLength={4000} />
        {label.isError && <Trouble error={label.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={label.isPending}>
            {label.isPending ? "Recording…" : "Record my verdict"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
