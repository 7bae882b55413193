import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { serve, show } from "../../test-server.tsx";
import LearningsPage from "./page.tsx";

const playbook = {
  agent_playbook_id: 7,
  playbook_name: "",
  agent_version: "v1",
  created_at: 100,
  content: "Quote prices with tax",
  trigger: "prices",
  rationale: "",
  status: null,
  playbook_status: "pending",
  playbook_metadata: {},
  tags: [],
  source_user_count: 2,
  below_min_users: true,
  flags: ["few_people"],
  source_windows: [
    { user_playbook_id: 1, source_interaction_ids: [11] },
    { user_playbook_id: 2, source_interaction_ids: [12] },
  ],
};
const proposal = {
  user_id: "ada",
  window_no: 1,
  content: "Quote prices with tax",
  trigger: "",
  rationale: "",
  source_interaction_ids: [11],
  outcome: "added",
  reason: "",
  learning_id: "1",
  replaced_id: null,
  extractor: "rules",
  prompt_version: "v1",
  rubric_hash: "",
  created_at: 90,
};
const way = {
  kind: "agent_playbook",
  learning_id: "7",
  user_id: null,
  status: null,
  deleted_interaction_ids: [],
  proposals: [],
  superseded_by: null,
  source_user_count: 2,
  interactions: [
    { interaction_id: 11, user_id: "ada", session_id: "s1", request_id: "r", created_at: 80, role: "User" },
  ],
  sources: [
    { user_playbook_id: 1, user_id: "ada", source_interaction_ids: [11], proposals: [proposal] },
    { user_playbook_id: 2, user_id: "bob", source_interaction_ids: [12], proposals: [] },
  ],
  decisions: [{ decision: "proposed", actor: "aggregation", decided_at: 95 }],
};
const impact = {
  judged: 6,
  positive: 0,
  negative: 6,
  neutral: 0,
  mean: -1,
  ci95: [-1, -0.3],
  clustered_by: "user",
  clusters: 6,
};
const score = {
  kind: "agent_playbook",
  learning_id: "7",
  user_id: null,
  agent_version: "v1",
  title: "Quote prices without tax",
  status: null,
  playbook_status: "approved",
  relevance: { judged: 6, relevant: 6, rate: 1, ci95: [0.6, 1] },
  impact,
  attributable_impact: impact,
  standing: "hurts",
  sessions: 6,
  users: 6,
  cited_sessions: [],
  diagnoses: { content_defect: 2 },
  outdated_verdicts: 0,
  arm_lift: null,
  arm_lift_reason: "no experiment ran",
  proposal_id: "t-1",
};
const tuning = {
  proposal_id: "t-1",
  kind: "agent_playbook",
  learning_id: "7",
  user_id: null,
  action: "edit",
  content: "Quote prices with tax",
  trigger: "prices",
  rationale: "People want tax.",
  drafted_by: "openai/m",
  judged: 6,
  impact: -1,
  impact_upper: -0.3,
  status: "open",
  created_at: 100,
  decided_at: null,
  evidence: [
    {
      user_id: "ada",
      session_id: "s1",
      interaction_id: 11,
      category: "content_defect",
      reason: "r",
      interaction_ids: [11],
    },
  ],
};

it("a pending playbook shows who taught it, and is edited and approved", async () => {
  const sent = serve({
    "POST /api/get_agent_playbooks": { agent_playbooks: [playbook] },
    "POST /api/get_retrieved_learning_evaluation_results": { results: [] },
    "POST /api/get_learning_provenance": way,
    "PUT /api/update_agent_playbook": { success: true },
    "PUT /api/update_agent_playbook_status": { success: true },
  });
  show(<LearningsPage />, "/learnings?open=7");
  const origin = await screen.findByTestId("provenance");
  expect(origin).toHaveTextContent("2 people taught it independently, in 2 playbooks");
  expect(within(origin).getByRole("link", { name: "turn 11" })).toHaveAttribute(
    "href",
    expect.stringContaining("turn=11"),
  );
  expect(origin).toHaveTextContent("proposed by aggregation");
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  const text = screen.getByLabelText("What to do");
  await userEvent.clear(text);
  await userEvent.type(text, "Quote all prices with tax");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
  expect(screen.getByText(/Every agent would be served it/)).toBeInTheDocument();
  await userEvent.click(await screen.findByRole("button", { name: "Approve all the same" }));
  const changes = sent.filter((s) => s.method === "PUT").map((s) => s.body);
  expect(changes).toEqual([
    { agent_playbook_id: 7, content: "Quote all prices with tax", trigger: "prices" },
    { agent_playbook_id: 7, playbook_status: "approved", confirmed: true },
  ]);
});

it("the scorecard says what hurts, and a person decides", async () => {
  const sent = serve({
    "GET /api/learnings/scorecard": { success: true, scores: [score] },
    "GET /api/learnings/tuning_proposals": { success: true, proposals: [tuning] },
    "POST /api/get_learning_provenance": way,
    "POST /api/learnings/tuning_proposals/accept": { success: true, status: "accepted" },
  });
  show(<LearningsPage />, "/learnings?view=scorecard");
  const row = await screen.findByRole("button", { name: /Quote prices without tax/ });
  expect(row).toHaveTextContent("hurts");
  expect(row).toHaveTextContent("impact −1.00 (−1.00 to −0.30)");
  await userEvent.click(row);
  expect(await screen.findByText("content defect 2×")).toBeInTheDocument();
  expect(screen.getByText("no experiment ran")).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "In my own words" }));
  await userEvent.type(screen.getByLabelText("What to do"), ", always");
  await userEvent.click(screen.getByRole("button", { name: "Use this wording" }));
  expect(sent.find((s) => s.path.endsWith("accept"))?.body).toEqual({
    proposal_id: "t-1",
    content: "Quote prices with tax, always",
    trigger: "prices",
  });
});
