/** Credentials: made here, shown once, ended here. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Schemas, type Session, signIn } from "../../api/client.ts";
import { ago, onDate, plural } from "../../lib/format.ts";
import { Copied } from "../../parts/code.tsx";
import { Button, Checkbox, Select, TextField } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Badge, Note, Trouble } from "../../parts/page.tsx";
import { useSay } from "../../parts/toast.tsx";
import { AskBefore, ListCard } from "./list-card.tsx";

type Key = Schemas["Key"];

/** A key that ends within this many days is pointed out. */
const SOON_DAYS = 14;

const endsIn = (key: Key, now = Date.now() / 1000) =>
  key.expires_at == null || key.revoked_at != null ? null : (key.expires_at - now) / 86_400;
const hasEnded = (key: Key) => (endsIn(key) ?? 1) <= 0;
const endsSoon = (key: Key) => !hasEnded(key) && (endsIn(key) ?? SOON_DAYS + 1) <= SOON_DAYS;

export function Keys({ session }: { session: Session }) {
  const [creating, setCreating] = useState(false);
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => ok(api.GET("/api/keys")) });
  const mayChange = session.role !== "auditor";
  const live = keys.data?.keys.filter((k) => k.revoked_at == null && !hasEnded(k)) ?? [];
  const soon = live.filter(endsSoon);
  return (
    <>
      {session.state === "local" && (
        <Note tone="warn">
          <b>Local mode.</b> No credential was made yet, so programs on this machine may do everything but governance.
          The first one ends that: from then on everybody needs one, this browser too.
        </Note>
      )}
      {soon.length > 0 && (
        <Note tone="warn">
          <b>
            {plural(soon.length, "key ends", "keys end")} within {SOON_DAYS} days:
          </b>{" "}
          {soon.map((key) => `${key.name || "unnamed"} (${onDate(key.expires_at ?? 0)})`).join(", ")}. Whoever uses one
          is refused from then on: make another and hand it over before.
        </Note>
      )}
      <ListCard
        query={keys}
        items={(data) => data.keys}
        title={plural(live.length, "live key")}
        add={mayChange ? { text: "Make a key", onClick: () => setCreating(true) } : undefined}
        empty={{
          title: "No keys yet",
          text: (
            <>
              Agents publish and search with an <b>agent</b> key; people and tools that run the installation use a{" "}
              <b>dashboard</b> key, those who only look an <b>auditor</b> key.
            </>
          ),
        }}
        line={(key) => <Line key={key.credential_id} of={key} mayChange={mayChange} />}
      />
      <CreateKey open={creating} onClose={() => setCreating(false)} session={session} />
    </>
  );
}

function Line({ of: key, mayChange }: { of: Key; mayChange: boolean }) {
  const client = useQueryClient();
  const say = useSay();
  const [isEnding, setEnding] = useState(false);
  const revoke = useMutation({
    mutationFn: () =>
      ok(api.DELETE("/api/keys/{credential_id}", { params: { path: { credential_id: key.credential_id } } })),
    onSuccess: async () => {
      setEnding(false);
      say("Revoked: it is refused from now on");
      await client.invalidateQueries({ queryKey: ["keys"] });
      await client.invalidateQueries({ queryKey: ["session"] });
    },
  });
  return (
    <li
      className={`flex flex-wrap items-center justify-between gap-3 border-b border-line px-5 py-2.5 last:border-0 ${key.revoked_at != null || hasEnded(key) ? "opacity-60" : ""}`}>
      <span className="min-w-0">
        <span className="font-medium">{key.name || "unnamed"}</span>{" "}
        <Badge tone={key.role === "agent" ? "neutral" : "accent"}>{key.role}</Badge>{" "}
        {key.grants.includes("governance") && <Badge tone="rival">governance</Badge>}{" "}
        {!key.reads && <Badge tone="neutral">no reads</Badge>} {endsSoon(key) && <Badge tone="warn">ends soon</Badge>}
        {hasEnded(key) && <Badge tone="bad">ended</Badge>}
        <span className="block text-[0.84rem] text-faint">
          made {ago(key.created_at)}
          {key.last_used_at == null ? ", not used yet" : `, last used ${ago(key.last_used_at)}`}
          {key.expires_at != null && `, ${hasEnded(key) ? "ended" : "ends"} ${onDate(key.expires_at)}`}
          {key.revoked_at != null && `, revoked ${ago(key.revoked_at)}`}
        </span>
      </span>
      {key.revoked_at == null && mayChange && (
        <Button small onClick={() => setEnding(true)}>
          Revoke
        </Button>
      )}
      <AskBefore
        title={`Revoke ${key.name || "this key"}?`}
        text="Whoever uses it is refused from the next request on. This cannot be undone."
        open={isEnding}
        onClose={() => setEnding(false)}
        verb={["Revoke", "Revoking…"]}
        action={revoke}
      />
    </li>
  );
}

function CreateKey({ open, onClose, session }: { open: boolean; onClose: () => void; session: Session }) {
  const client = useQueryClient();
  const [role, setRole] = useState<Key["role"]>("agent");
  const [name, setName] = useState("");
  const [grant, setGrant] = useState(false);
  const [noReads, setNoReads] = useState(false);
  const [days, setDays] = useState("");
  const create = useMutation({
    mutationFn: () =>
      ok(
        api.POST("/api/keys", {
          body: {
            role,
            name,
            governance_grant: role === "dashboard" && grant,
            no_reads: role === "agent" && noReads,
            expires_in_days: days === "" ? null : Number(days),
          },
        }),
      ),
  });
  const close = async () => {
    create.reset();
    onClose();
    await Promise.all([
      client.invalidateQueries({ queryKey: ["session"] }),
      client.invalidateQueries({ queryKey: ["keys"] }),
    ]);
  };
  const signInWith = async (token: string) => {
    client.setQueryData(["session"], await signIn(token));
    await close();
  };
  const token = create.data?.token;
  const mayGrant = session.governance;
  return (
    <Dialog title={token ? "Your new key" : "Make a key"} open={open} onClose={close}>
      {token ? (
        <div className="flex flex-col gap-4">
          <p className="text-soft">Copy it now: it is not shown again, and only its digest is kept.</p>
          <div className="rounded-lg border border-line bg-raised py-1 pr-1 pl-3">
            <Copied text={token} testid="token" />
          </div>
          <div className="flex justify-end gap-2">
            {role === "dashboard" && session.state === "local" && (
              <Button onClick={() => signInWith(token)}>Sign in with it</Button>
            )}
            <Button look="primary" onClick={close}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(e) => {
            e.preventDefault();
            create.mutate();
          }}>
          <TextField
            label="Name"
            value={name}
            onChange={(e) => setName(e.target.value)}
            placeholder="support bot, production"
            maxLength={255}
          />
          <Select
            label="Role"
            value={role}
            onChange={(e) => setRole(e.target.value as Key["role"])}
            options={[
              ["agent", "Agent: publishes, searches, reads"],
              ["publish", "Publish: publishes and searches only"],
              ["dashboard", "Dashboard: runs the installation"],
              ["auditor", "Auditor: reads, changes nothing"],
              ...(mayGrant ? [["governance", "Governance: exports and erases only"] as [string, string]] : []),
            ]}
          />
          {role === "agent" && <Checkbox label="Cannot read what was stored" checked={noReads} onChange={setNoReads} />}
          <TextField
            label="Ends after days"
            type="number"
            min={1}
            max={3650}
            value={days}
            onChange={(e) => setDays(e.target.value)}
            placeholder="never"
          />
          {role === "dashboard" && mayGrant && (
            <Checkbox label="May export and erase people" checked={grant} onChange={setGrant} />
          )}
          {session.state === "local" && (
            <Note tone="warn">
              This ends local mode: every program, and this browser, needs a key from then on. Make a dashboard key
              first.
            </Note>
          )}
          {!mayGrant && (
            <p className="text-soft">
              The first key that may export and erase people comes from the command line:{" "}
              <code>evenhand keys create --role governance</code>
            </p>
          )}
          {create.isError && <Trouble error={create.error} />}
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button look="primary" type="submit" disabled={create.isPending}>
              {create.isPending ? "Making…" : "Make it"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
