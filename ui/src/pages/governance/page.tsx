/** Forgetting a person, and proving it: look, take along, erase, keep the proof. */
import type { Session } from "../../api/client.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Card, Empty, Page } from "../../parts/page.tsx";
import { Audit } from "./audit.tsx";
import { EarlierErasures } from "./earlier.tsx";
import { Locked } from "./locked.tsx";
import { LookUp } from "./look-up.tsx";
import { Person } from "./person.tsx";
import { PurgeStatus } from "./purge.tsx";

export default function GovernancePage({ session }: { session: Session }) {
  const [params] = useUrlState();
  const [user, purge] = [params.get("user"), params.get("purge")];
  return (
    <Page title="Governance" lead="Export everything stored about a person, or erase it and keep a signed proof.">
      {!session.governance ? (
        <Locked session={session} />
      ) : (
        <>
          <LookUp key={`look-up ${user ?? ""}`} />
          {purge && <PurgeStatus purgeId={purge} />}
          {user ? (
            <Person key={user} userId={user} />
          ) : (
            !purge && (
              <Card>
                <Empty title="Whom is it about?">
                  Enter a user id to see what is stored, as counts. Nothing is read out, and looking changes nothing.
                </Empty>
              </Card>
            )
          )}
          <EarlierErasures />
          <Audit />
        </>
      )}
    </Page>
  );
}
