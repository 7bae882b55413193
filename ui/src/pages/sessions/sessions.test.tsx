import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Sent, serve, show, viewer } from "../../test-server.tsx";
import SessionsPage from "./page.tsx";

const row = (n: number, is_success: boolean | null) => ({
  user_id: `user-${n}`,
  session_id: `chat-${n}`,
  first_request_at: 1_768_000_000,
  last_request_at: 1_768_000_400,
  finished_at: null,
  source: "web",
  agent_version: "v1",
  request_count: 1,
  interaction_count: 2 + n,
  is_success,
  failure_type: is_success === false ? "wrong_answer" : null,
  failure_reason: is_success === false ? "It answered another question." : null,
  number_of_correction_per_session: 0,
  is_escalated: false,
  first_words: n === 2 ? "Where is it?" : null,
  calls: { count: 1, input_tokens: 1200, output_tokens: 34, cost_usd: 0.02, latency_ms: 1500 },
});
const turn = (id: number, role: string, content: string, at: number) => ({
  interaction_id: id,
  user_id: "user-2",
  request_id: "r",
  created_at: at,
  role,
  content,
  user_action: "none",
  user_action_description: "",
  interacted_image_url: "",
  shadow_content: "",
  expert_content: "",
  tools_used: [],
  retrieved_learnings: id === 2 ? [{ kind: "agent_playbook", learning_id: "7" }] : [],
  citations: [],
  token_count: 3,
});
const result = {
  result_id: 1,
  evaluation_name: "agent_success",
  is_success: false,
  failure_type: "wrong_answer",
  failure_reason: "It answered another question.",
  number_of_correction_per_session: 1,
  is_escalated: false,
  evaluated_at: 1_768_000_500,
  judge: "rules",
  prompt_version: "v1",
  flags: [],
  cost_usd: 0,
};

let sent: Sent[];
const three = {
  sessions: [row(1, true), row(2, false), row(3, null)],
  next_cursor: null,
  total: 3,
  searched_to: null,
};
function open(address: string, results: unknown[] = [result], list: unknown = three) {
  sent = serve({
    "GET /api/sessions": list,
    "GET /api/sessions/user-2/chat-2": {
      session: row(2, false),
      requests: [],
      outcomes: [],
      interactions: [
        turn(1, "User", "Where is it?", 1_768_000_000),
        {
          ...turn(2, "Assistant", "On Tuesday.", 1_768_000_400),
          usage: { model: "m", input_tokens: 1200, output_tokens: 34, cost_usd: 0.02, latency_ms: 1500 },
        },
      ],
      evaluation_results: results,
    },
    "POST /api/get_retrieved_learning_evaluation_results": {
      results: [
        {
          interaction_id: 2,
          kind: "agent_playbook",
          learning_id: "7",
          is_relevant: true,
          impact: "negative",
          relevance_reason: "",
          impact_reason: "",
          diagnosis: { category: "content_defect", reason: "It names the wrong day.", evidence_interaction_ids: [1] },
        },
      ],
    },
    "POST /api/get_agent_success_evaluation_results": { agent_success_evaluation_results: results },
    "GET /api/evaluations/decisions": {
      decisions: [
        {
          decision: "sampled_out",
          reason: "",
          due_at: null,
          decided_at: null,
          user_id: "user-2",
          session_id: "chat-2",
        },
      ],
    },
    "GET /api/evaluations/labels": { labels: [] },
    "POST /api/get_agent_playbooks": { agent_playbooks: [{ agent_playbook_id: 7, playbook_name: "Name the day" }] },
    "GET /api/retrieval_experiments": {
      active_experiment: null,
      experiments: [{ experiment_id: "exp", holdout_percentage: 5, started_at: 1, ended_at: 2 }],
    },
    "POST /api/get_evaluation_overview": {
      available_agent_versions: ["v0", "v1"],
      source_set_comparison: { available_sources: ["app", "web"] },
    },
    "POST /api/evaluations/labels": { success: true, labelled: 1 },
    "POST /api/evaluations/grade_on_demand": {
      session_id: "chat-2",
      result_id: 1,
      cached: true,
      skipped_reason: null,
      retrieved_learning_status: "complete",
      stale: false,
    },
  });
  show(<SessionsPage session={viewer} />, address);
}
/** The questions for a page of the list so far. */
const lists = () =>
  sent.filter(({ path, query }) => path === "/api/sessions" && query.has("start_time")).map((one) => one.query);
const opened = `/sessions?open=${encodeURIComponent("user-2\nchat-2")}`;

describe("sessions", () => {
  beforeEach(() => open(opened));

  it("lists verdicts in words and marks what is not judged", async () => {
    const table = await screen.findByRole("region", { name: "Sessions" });
    expect(within(table).getByText("success")).toBeInTheDocument();
    expect(within(table).getByText("wrong answer")).toBeInTheDocument();
    expect(within(table).getByText("not judged")).toBeInTheDocument();
  });
  it("shows how a session began, why it failed and what its calls took", async () => {
    const row = (await screen.findByRole("button", { name: "Open session chat-2 of user-2" })).closest("tr");
    await within(row as HTMLElement).findByText("Where is it?");
    expect(row).toHaveTextContent("user-2, chat-2, 1,234 tokens, $0.02, 1.5 s · It answered another question.");
  });
  it("offers sources and versions as choices, and keeps the choice in the address", async () => {
    await screen.findByRole("option", { name: "v0" });
    await userEvent.selectOptions(screen.getByLabelText("Source"), "app");
    await vi.waitFor(() => expect(screen.getByLabelText("Source")).toHaveValue("app"));
  });
  it("saves filters under a name, shows them again and forgets them", async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Failed" }));
    await userEvent.click(screen.getByRole("button", { name: "Save this view" }));
    await userEvent.type(screen.getByLabelText("Name"), "Failures");
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    await userEvent.click(screen.getByRole("button", { name: "All" }));
    await userEvent.selectOptions(screen.getByLabelText("Saved views"), "Failures");
    expect(screen.getByRole("button", { name: "Failed" })).toHaveAttribute("aria-pressed", "true");
    await userEvent.click(screen.getByRole("button", { name: "Forget this view" }));
    expect(localStorage.getItem("evenhand-session-views")).toBe("{}");
  });
  it("sorts by a click on a heading, the other way by a second one", async () => {
    const order = () => screen.getAllByRole("button", { name: /^Open session/ }).map((b) => b.ariaLabel?.slice(13, 19));
    await screen.findByText(/3 sessions in all/);
    await userEvent.click(screen.getByRole("button", { name: /Turns/ }));
    expect(order()).toEqual(["chat-3", "chat-2", "chat-1"]);
    await userEvent.click(screen.getByRole("button", { name: /Turns/ }));
    expect(order()).toEqual(["chat-1", "chat-2", "chat-3"]);
    expect(screen.getByText(/by turns, smallest first/)).toBeInTheDocument();
  });
  it("asks the server for the oldest first, and sorts what it has by cost", async () => {
    await screen.findByText(/3 sessions in all/);
    await userEvent.selectOptions(screen.getByLabelText("Order"), "Oldest first");
    await vi.waitFor(() => expect(lists().at(-1)?.get("order")).toBe("oldest"));
    await screen.findByText(/3 sessions in all, oldest first/);
    await userEvent.selectOptions(screen.getByLabelText("Order"), "Highest cost");
    await screen.findByText(/3 sessions in all, highest cost/);
  });
  it("narrows the list to an arm of an experiment", async () => {
    await screen.findByRole("option", { name: "exp" });
    expect(screen.queryByLabelText("Arm")).toBeNull();
    await userEvent.selectOptions(screen.getByLabelText("Experiment"), "exp");
    await userEvent.selectOptions(await screen.findByLabelText("Arm"), "holdout");
    await vi.waitFor(() => expect(lists().at(-1)?.get("arm")).toBe("holdout"));
    expect(lists().at(-1)?.get("experiment_id")).toBe("exp");
  });
  it("records that a person agrees, and names and links what the agent was told", async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Agree" }));
    expect(await screen.findByText(/you agree with the judge/)).toBeInTheDocument();
    expect(sent.find((s) => s.path === "/api/evaluations/labels" && s.method === "POST")?.body).toEqual({
      labels: [{ user_id: "user-2", session_id: "chat-2", is_success: false }],
    });
    expect(await screen.findByRole("link", { name: /See Name the day/ })).toHaveAttribute("href", "/learnings?open=7");
  });
  it("walks with J and K and closes with Escape", async () => {
    await screen.findByRole("complementary", { name: "Session chat-2" });
    await screen.findByText(/user-3/);
    await userEvent.keyboard("j");
    expect(await screen.findByRole("complementary", { name: "Session chat-3" })).toBeInTheDocument();
    await userEvent.keyboard("kk");
    expect(await screen.findByRole("complementary", { name: "Session chat-1" })).toBeInTheDocument();
    await userEvent.keyboard("{Escape}");
    expect(screen.queryByRole("complementary")).toBeNull();
  });
  it("shows silence, what a learning did, and leads to the cited turn", async () => {
    expect(await screen.findByText("6 min 40 s of silence")).toBeInTheDocument();
    expect(await screen.findByText("negative impact")).toBeInTheDocument();
    await userEvent.click(screen.getByText("negative impact"));
    expect(screen.getByText(/It names the wrong day/)).toBeInTheDocument();
    await userEvent.click(screen.getByRole("button", { name: "turn 1" }));
    expect(document.querySelector("#turn-1 .ring-2")).toHaveTextContent("Where is it?");
  });
  it("records a person's verdict against the judge's", async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Disagree" }));
    await userEvent.type(screen.getByLabelText("Why (optional)"), "it was right");
    await userEvent.click(screen.getByRole("button", { name: "Record my verdict" }));
    expect(await screen.findByText(/Noted/)).toBeInTheDocument();
    const label = sent.find((s) => s.path === "/api/evaluations/labels" && s.method === "POST");
    expect(label?.body).toEqual({
      labels: [{ user_id: "user-2", session_id: "chat-2", is_success: true, failure_type: null, note: "it was right" }],
    });
  });
});

it("says why there is no verdict and grades now", async () => {
  open(opened, []);
  expect(await screen.findByText(/It was not drawn/)).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "Grade now" }));
  expect(await screen.findByText(/Already graded within a day/)).toBeInTheDocument();
  expect(sent.find((s) => s.path.endsWith("grade_on_demand"))?.body).toMatchObject({
    user_id: "user-2",
    session_id: "chat-2",
    agent_version: "v1",
    refresh: false,
  });
});

it("says how far a search has come, and goes on only when asked", async () => {
  open("/sessions?text=parcel", [], ({ query }: Sent) => {
    // Whether there is a session at all is asked without the filter.
    if (!query.has("text")) return three;
    return query.has("cursor")
      ? { sessions: [row(9, true)], next_cursor: null, total: null, searched_to: null }
      : { sessions: [], next_cursor: "further", total: null, searched_to: 1_768_000_000 };
  });
  expect(await screen.findByText(/Nothing among those since/)).toBeInTheDocument();
  expect(lists()).toHaveLength(1);
  await userEvent.click(screen.getByRole("button", { name: "Search further" }));
  await screen.findByText(/1 session in all/);
  expect(lists().map((query) => query.get("cursor"))).toEqual([null, "further"]);
});
