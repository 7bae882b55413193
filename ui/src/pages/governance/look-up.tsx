import { type FormEvent, useState } from "react";
import { useUrlState } from "../../lib/url-state.ts";
import { Button, TextField } from "../../parts/controls.tsx";

/** A person by id. */
export function LookUp() {
  const [params, change] = useUrlState();
  const [user, setUser] = useState(params.get("user") ?? "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change({ user: user.trim(), purge: null }, true);
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <TextField
        label="User id"
        required
        value={user}
        onChange={(e) => setUser(e.target.value)}
        className="w-[250px]"
        placeholder="customer-0042"
      />
      <Button look="primary" type="submit">
        Look up
      </Button>
    </form>
  );
}
