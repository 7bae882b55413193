/** What an organization sets for itself, and who may call. */
import type { Session } from "../../api/client.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { Configuration } from "./configuration.tsx";
import { WhoJudges } from "./judge.tsx";
import { Keys } from "./keys.tsx";

const VIEWS = [
  ["configuration", "Configuration"],
  ["keys", "Keys"],
] as const;

export default function SettingsPage({ session }: { session: Session }) {
  const [params, change] = useUrlState();
  const view = params.get("view") === "keys" ? "keys" : "configuration";
  return (
    <Page
      title="Settings"
      lead="What is judged and how, and who may call."
      actions={
        <Segmented
          label="View"
          value={view}
          options={VIEWS}
          onChange={(v) => change({ view: v === "keys" ? v : null })}
        />
      }>
      {view === "keys" ? (
        <Keys session={session} />
      ) : (
        <>
          <WhoJudges />
          <Configuration />
        </>
      )}
    </Page>
  );
}
