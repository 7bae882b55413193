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
const estimate = {
  effect: -12.3,
  ci_lower: -17,
  ci_upper: -7,
  always_valid_lower: -20.1,
  always_valid_upper: -4.2,
  null_reason: null,
  e_value: 900,
};
const side = (users: number, rate: number) => ({
  found_users: users + 9,
  users,
  sessions: users * 2,
  success_rate: rate,
});
const harmful = {
  ...estimate,
  agent_playbook_id: 7,
  playbook_name: "Ask for the password",
  agent_version: "v1",
  playbook_status: "rejected",
  content: "Ask for the old password.",
  state: "hurts",
  shrunken: { mean: -11.1, ci_lower: -16, ci_upper: -6, false_sign_rate: 0.0004 },
  served: side(800, 61),
  withheld: side(200, 73.3),
  share: 0.2,
  is_settled: false,
  epochs: 1,
  started_at: 100,
  smallest_visible_effect: 8.1,
  days_until_five_points: 40,
  sample_ratio_ok: true,
};
const unknown = {
  ...harmful,
  agent_playbook_id: 8,
  playbook_name: "Greet by first name",
  playbook_status: "approved",
  state: "no_sign_yet",
  effect: null,
  always_valid_lower: null,
  always_valid_upper: null,
  shrunken: null,
  null_reason: "too_few_events",
};
const revision = {
  ...estimate,
  digest: "abcdef12",
  is_present: true,
  started_at: 100,
  served: harmful.served,
  withheld: harmful.withheld,
  epochs: [{ ...harmful, epoch_no: 1, planned_users: 2000 }],
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

it("effects say what hurts and what is not known yet, and open to their course", async () => {
  serve({
    "GET /api/learnings/effects": { trials_enabled: true, as_of: 200, total: 2, effects: [harmful, unknown] },
    "GET /api/learnings/effects/7": {
      ...harmful,
      revisions: [revision],
      series: [
        { ...estimate, until: 86_400 * 20_000, served_users: 300, withheld_users: 80, effect: -9 },
        { ...estimate, until: 86_400 * 20_030, served_users: 800, withheld_users: 200 },
      ],
    },
  });
  show(<LearningsPage />, "/learnings?view=effects");
  const row = await screen.findByRole("button", { name: /Ask for the password/ });
  expect(row).toHaveTextContent("−12.3 pp (−20.1 to −4.2)");
  expect(row).toHaveTextContent("800 users with, 200 without");
  expect(row).toHaveTextContent("hurts");
  expect(row).toHaveTextContent("rejected");
  const other = screen.getByRole("button", { name: /Greet by first name/ });
  expect(other).toHaveTextContent("too few events");
  expect(other).toHaveTextContent(/withheld from 20.% of users/);
  await userEvent.click(row);
  expect(await screen.findByRole("img", { name: /became known/ })).toBeInTheDocument();
  expect(screen.getByText(/the sign is wrong with a chance of/)).toBeInTheDocument();
  const epochs = screen.getByRole("region", { name: "Texts and epochs of the trial" });
  expect(epochs).toHaveTextContent("fair");
});

it("without trials the page says where to switch them on", async () => {
  serve({ "GET /api/learnings/effects": { trials_enabled: false, as_of: 200, total: 0, effects: [] } });
  show(<LearningsPage />, "/learnings?view=effects");
  expect(await screen.findByRole("link", { name: "Settings" })).toHaveAttribute("href", "/settings");
});
