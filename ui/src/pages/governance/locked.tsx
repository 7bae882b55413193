/** Governance always needs a credential. In local mode the first one can be made here; else somebody with the grant
 *  gives it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ok, type Session, signIn } from "../../api/client.ts";
import { Button, Checkbox } from "../../parts/controls.tsx";
import { Card, Empty, Note, Trouble } from "../../parts/page.tsx";

export function Locked({ session }: { session: Session }) {
  if (session.state !== "local") {
    return (
      <Card>
        <Empty title="Your credential has no governance grant">
          Exporting and erasing people needs a dashboard credential with the grant. Whoever runs the server can make one:{" "}
          <code>evenhand keys create --role dashboard --grant governance</code>
        </Empty>
      </Card>
    );
  }
  return <FirstCredential />;
}

function FirstCredential() {
  const client = useQueryClient();
  const [sure, setSure] = useState(false);
  const [session, setSession] = useState<Session | null>(null);
  const create = useMutation({
    mutationFn: async () => {
      const { token } = await ok(api.POST("/api/keys", { body: { role: "dashboard", name: "first governance key", governance_grant: true } }));
      setSession(await signIn(token));
      return token;
    },
  });
  const go = () => session && client.setQueryData(["session"], session);
  return (
    <Card title="Governance always needs a credential" className="max-w-[720px]">
      {create.data ? (
        <div className="flex flex-col gap-4">
          <p className="text-soft">This is your key. Copy it now: it is not shown again. This browser is signed in with it already.</p>
          <code className="rounded-lg border border-line bg-raised px-3 py-2 [overflow-wrap:anywhere] select-all" data-testid="token">{create.data}</code>
          <div><Button look="primary" onClick={go}>I have it, go on</Button></div>
        </div>
      ) : (
        <div className="flex flex-col gap-4">
          <p className="text-soft">Being on the same machine is not enough to take a person's data out or to erase it. Make a key that may, and this browser signs in with it.</p>
          <Note tone="warn">It is this installation's first key and ends local mode: programs that publish and search need keys from then on (Settings, Keys).</Note>
          <Checkbox label="I understand that programs without a key are refused from then on" checked={sure} onChange={setSure} />
          {create.isError && <Trouble error={create.error} />}
          <div><Button look="primary" disabled={!sure || create.isPending} onClick={() => create.mutate()}>Make the key and sign in</Button></div>
        </div>
      )}
    </Card>
  );
}
