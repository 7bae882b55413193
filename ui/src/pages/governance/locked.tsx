/** Governance always needs a credential with the grant. The first one comes from the command line, so that nobody who
 *  merely reaches the server can take it. */
import type { Session } from "../../api/client.ts";
import { Copied } from "../../parts/code.tsx";
import { Card, Empty, Note } from "../../parts/page.tsx";
import { TokenForm } from "../sign-in.tsx";

const COMMAND = "evenhand keys create --role dashboard --grant governance";

export function Locked({ session }: { session: Session }) {
  if (session.state !== "local") {
    return (
      <Card>
        <Empty title="Your credential has no governance grant">
          Exporting and erasing people needs a dashboard credential with the grant. Whoever runs the server can make
          one: <code>{COMMAND}</code>
        </Empty>
      </Card>
    );
  }
  return (
    <Card title="Governance always needs a credential" className="max-w-[720px]">
      <div className="flex flex-col gap-4">
        <p className="text-soft">
          Being on the same machine is not enough to take a person's data out or to erase it. Make a key that may, on
          the command line of the server (with its <code>--data-dir</code>), and sign in with it:
        </p>
        <div className="rounded-lg border border-line bg-raised py-1 pr-1 pl-3">
          <Copied text={COMMAND} />
        </div>
        <Note tone="warn">
          It is this installation's first key and ends local mode: programs that publish and search need keys from then
          on (Settings, Keys).
        </Note>
        <TokenForm />
      </div>
    </Card>
  );
}
