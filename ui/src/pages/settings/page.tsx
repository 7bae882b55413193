/** Settings of an organization: its own choices, who may call, and who is told. */
import type { Session } from "../../api/client.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { Alerts } from "./alerts.tsx";
import { Configuration } from "./configuration.tsx";
import { WhoJudges } from "./judge.tsx";
import { Keys } from "./keys.tsx";
import { Webhooks } from "./webhooks.tsx";

const VIEWS = [
  ["configuration", "Configuration"],
  ["keys", "Keys"],
  ["webhooks", "Webhooks"],
  ["alerts", "Alerts"],
] as const;

export default function SettingsPage({ session }: { session: Session }) {
  const [params, change] = useUrlState();
  const view = VIEWS.map(([name]) => name).find((name) => name === params.get("view")) ?? "configuration";
  return (
    <Page
      title="Settings"
      lead="What is judged and how, who may call, and who is told."
      actions={
        <Segmented
          label="View"
          value={view}
          options={VIEWS}
          onChange={(v) => change({ view: v === "configuration" ? null : v })}
        />
      }>
      {view === "keys" && <Keys session={session} />}
      {view === "webhooks" && <Webhooks session={session} />}
      {view === "alerts" && <Alerts session={session} />}
      {view === "configuration" && (
        <>
          <WhoJudges />
          <Configuration />
        </>
      )}
    </Page>
  );
}
