/** A wording of one's own: for an agent playbook, or instead of a model's draft. */
import { type FormEvent, useState } from "react";
import { Button, TextArea, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Trouble } from "../../parts/page.tsx";

export type Wording = { content: string; trigger: string };

export function WordingDialog({
  title,
  from,
  confirm,
  error,
  busy,
  onClose,
  onSave,
}: {
  title: string;
  from: Wording;
  confirm: string;
  error: unknown;
  busy: boolean;
  onClose: () => void;
  onSave: (wording: Wording) => void;
}) {
  const [content, setContent] = useState(from.content);
  const [trigger, setTrigger] = useState(from.trigger);
  const save = (event: FormEvent) => {
    event.preventDefault();
    onSave({ content: content.trim(), trigger: trigger.trim() });
  };
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <form onSubmit={save} className="flex flex-col gap-3">
        <TextField label="Applies when" value={trigger} onChange={(e) => setTrigger(e.target.value)} />
        <TextArea label="What to do" value={content} onChange={setContent} rows={5} />
        {error != null && <Trouble error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={busy || (!content.trim() && !trigger.trim())}>
            {confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
