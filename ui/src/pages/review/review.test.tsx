import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { type Sent, serve, show } from "../../test-server.tsx";
import ReviewPage from "./page.tsx";

const item = (n: number, verdict: string) => ({
  user_id: `user-${n}`,
  session_id: `chat-${n}`,
  source: "web",
  half: n % 2 === 1 ? "random" : "informative",
  chance: n % 2 === 1 ? 0.25 : null,
  verdict,
  probability: 0.6,
});
const view = (n: number) => ({
  session: {},
  requests: [],
  outcomes: [],
  interactions: [
    {
      interaction_id: n,
      created_at: 1_768_000_000,
      role: "User",
      content: `Question ${n}`,
      user_action: "none",
      tools_used: [],
      retrieved_learnings: [],
    },
  ],
});

let sent: Sent[];
let labelled: string[];
beforeEach(() => {
  labelled = [];
  const all = [item(1, "success"), item(2, "failure"), item(3, "undecided")];
  sent = serve({
    "POST /api/evaluations/review_queue": () => ({
      items: all.filter((one) => !labelled.includes(one.session_id)),
      ground_truth: 12 + labelled.length,
      needed: 50,
      last_ten: { labels: 10, agreed: 6, disagreed: 3, undecided: 1 },
    }),
    "POST /api/evaluations/labels": (request: Sent) => {
      const { labels } = request.body as { labels: { session_id: string }[] };
      labelled.push(...labels.map((label) => label.session_id));
      return { success: true, labelled: 1 };
    },
    ...Object.fromEntries([1, 2, 3].map((n) => [`GET /api/sessions/user-${n}/chat-${n}`, view(n)])),
  });
});

const labels = () => sent.filter((one) => one.path.endsWith("/labels")).map((one) => one.body);

describe("the review queue", () => {
  it("labels by one click and goes on to the next session", async () => {
    show(<ReviewPage />, "/review");
    await screen.findByText("Question 1");
    expect(screen.getByTestId("ground-truth").textContent).toBe("12 of 50");
    await userEvent.click(screen.getByRole("button", { name: "Disagree" }));
    await screen.findByText("Question 2");
    expect(labels()).toEqual([{ labels: [{ user_id: "user-1", session_id: "chat-1", is_success: false }] }]);
    await screen.findByText("13", { exact: false });
    const list = within(screen.getByRole("list", { name: "Sessions to review" }));
    expect(list.getAllByRole("button").map((button) => button.textContent)).toEqual(["chat-2unsure", "chat-3random"]);
  });

  it("is walked and answered by keys", async () => {
    show(<ReviewPage />, "/review");
    await screen.findByText("Question 1");
    await userEvent.keyboard("jj");
    await screen.findByText("Question 3");
    // There is no verdict to agree with.
    await userEvent.keyboard("a");
    expect(labels()).toEqual([]);
    await userEvent.keyboard("s");
    await screen.findByText("Question 2");
    expect(labels()).toEqual([{ labels: [{ user_id: "user-3", session_id: "chat-3", is_success: true }] }]);
    await userEvent.keyboard("a");
    await screen.findByText("Question 1");
    expect(labels().at(1)).toEqual({ labels: [{ user_id: "user-2", session_id: "chat-2", is_success: false }] });
  });
});
