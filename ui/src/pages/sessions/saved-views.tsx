/** Filters under a name, kept in this browser. The address has them too, for others. */
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, Select, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useSay } from "../../parts/toast.tsx";

const KEY = "evenhand-session-views";

type Views = Record<string, string>;

function stored(): Views {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Views;
  } catch {
    return {};
  }
}

/** What is saved of an address: everything but the session that is open. */
function viewOf(params: URLSearchParams): string {
  const kept = new URLSearchParams(params);
  for (const name of ["open", "turn"]) kept.delete(name);
  kept.sort();
  return kept.toString();
}

export function SavedViews() {
  const [params] = useUrlState();
  const go = useNavigate();
  const say = useSay();
  const [views, setViews] = useState(stored);
  const [isNaming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const here = viewOf(params);
  const current = Object.keys(views).find((known) => views[known] === here);
  const keep = (next: Views) => {
    localStorage.setItem(KEY, JSON.stringify(next));
    setViews(next);
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    keep({ ...views, [name.trim()]: here });
    setNaming(false);
    say(`Saved as ${name.trim()}`);
  };
  const forget = (known: string) => {
    const { [known]: _, ...rest } = views;
    keep(rest);
    say(`${known} is forgotten; the sessions stay`);
  };
  const names = Object.keys(views).sort();
  return (
    <>
      {names.length > 0 && (
        <Select
          label="Saved views"
          hidden
          className="max-w-[200px]"
          value={current ?? ""}
          options={[["", "Saved views"], ...names.map((known): [string, string] => [known, known])]}
          onChange={(e) => go(`/sessions?${views[e.target.value] ?? ""}`)}
        />
      )}
      {current ? (
        <Button onClick={() => forget(current)}>Forget this view</Button>
      ) : (
        <Button disabled={here === ""} title={here === "" ? "Filter first" : undefined} onClick={() => setNaming(true)}>
          Save this view
        </Button>
      )}
      <Dialog title="Save this view" open={isNaming} onClose={() => setNaming(false)}>
        <form onSubmit={save} className="flex flex-col gap-4">
          <TextField
            label="Name"
            required
            maxLength={60}
            value={name}
            onChange={(e) => setName(e.target.value)}
            hint="Filters, range and order, in this browser. To share them, send the address."
          />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setNaming(false)}>Cancel</Button>
            <Button look="primary" type="submit" disabled={!name.trim()}>
              Save
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
