import { type FormEvent, useState } from "react";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, TextField } from "../../parts/controls.tsx";

/** A person by id, or an earlier erasure by its number. */
export function LookUp() {
  const [params, change] = useUrlState();
  const [user, setUser] = useState(params.get("user") ?? "");
  const [purge, setPurge] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ user: user.trim(), purge: null }, true);
  };
  const find = (event: FormEvent) => {
    event.preventDefault();
    change({ purge: purge.trim(), user: null }, true);
  };
  return (
    <div className="flex flex-wrap items-end gap-x-8 gap-y-3">
      <form onSubmit={submit} className="flex items-end gap-2">
        <TextField label="User id" required value={user} onChange={(e) => setUser(e.target.value)} className="w-[250px]" placeholder="customer-0042" />
        <Button look="primary" type="submit">Look up</Button>
      </form>
      <form onSubmit={find} className="flex items-end gap-2">
        <TextField label="Earlier erasure" required value={purge} onChange={(e) => setPurge(e.target.value)} className="w-[250px]" placeholder="Purge id" />
        <Button type="submit">Show</Button>
      </form>
    </div>
  );
}
