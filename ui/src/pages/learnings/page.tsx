/** What was learned, whether it is let in, and what it does to the answers. */
import { rangeOf } from "../../lib/range.ts";
import { useUrlState } from "../../lib/url-state.ts";
import { Segmented } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { RangeChoice } from "../../parts/range.tsx";
import { AgentPlaybooks } from "./agent-playbooks.tsx";
import { Effects } from "./effects.tsx";
import { OfUser } from "./of-user.tsx";
import { Scorecard } from "./scorecard.tsx";
import { TrySearch } from "./try-search.tsx";
import { TuningProposals } from "./tuning.tsx";

const VIEWS = [
  ["playbooks", "Agent playbooks"],
  ["effects", "Effects"],
  ["scorecard", "Scorecard"],
  ["people", "Of a person"],
  ["search", "Try a search"],
] as const;

export default function LearningsPage() {
  const [params, change] = useUrlState();
  const view = VIEWS.find(([name]) => name === params.get("view"))?.[0] ?? "playbooks";
  return (
    <Page
      title="Learnings"
      lead="What agents are told before they answer: who let it in, where it came from, and whether it helps."
      actions={
        <>
          {(view === "playbooks" || view === "scorecard") && <RangeChoice range={rangeOf(params)} />}
          <Segmented
            label="View"
            value={view}
            options={VIEWS}
            onChange={(v) => change({ view: v === "playbooks" ? null : v, open: null, state: null, text: null })}
          />
        </>
      }>
      {(view === "playbooks" || view === "scorecard") && <TuningProposals />}
      {view === "playbooks" && <AgentPlaybooks />}
      {view === "effects" && <Effects />}
      {view === "scorecard" && <Scorecard />}
      {view === "people" && <OfUser />}
      {view === "search" && <TrySearch />}
    </Page>
  );
}
