import { cleanup, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Overview } from "../../api/types.ts";
import { serve, show, viewer } from "../../test-server.tsx";
import OverviewPage from "./page.tsx";
import type { Estimate } from "./estimated.tsx";
import { sentenceOf } from "./sentence.tsx";
import { verdict } from "./versions-card.tsx";

const interval = { ci95: null, ci95_null_reason: null, few_users: false };
const change = (low: number, high: number) => ({ delta_ci95: [low, high], delta_ci95_null_reason: null });
const rate = { current: 0.9, delta_pp: 1.2, judged_share: 0.75, ...interval, ...change(-0.5, 2.9) };
const tiles = {
  success: rate,
  behavior_success: { ...rate, eligible_sessions: 90, excluded_system_errors: 4 },
  corrections: { current: 0.4, delta: -0.1, ...interval, ...change(-0.2, -0.05) },
  turns: { current: 2.5, delta: null, ...interval, delta_ci95: null, delta_ci95_null_reason: null },
  escalation: { current: 0.03, delta_pp: 0.5, judged_share: 0.75, ...interval, ...change(0.1, 0.9) },
};
const rule = (id: string, good: number, bad: number, shrunken: number | null = null) => ({
  rule_id: id,
  kind: "agent_playbook" as const,
  title: `Playbook ${id}`,
  successes_with: good,
  failures_with: bad,
  net_sessions: good - bad,
  cited_session_ids: [],
  success_rate_ci95: [0, 1] as [number, number],
  association: {
    difference_pp: shrunken,
    ci95_pp: shrunken === null ? null : [shrunken - 5, shrunken + 5],
    shrunken_pp: shrunken,
    p_value: null,
    adjusted_p_value: null,
    is_marked: shrunken !== null,
    users: null,
    null_reason: null,
  },
});

const model = { judge: "openai/gpt-5-mini", is_rules: false, n: 60 };
const rules = { judge: "rules", is_rules: true, n: 40 };

/** Rules alone have no rate. */
const alone = (judges: Overview["judges"]) =>
  judges.every((judge) => judge.is_rules)
    ? { only_rules: true, failures_with_evidence: 17, advice: "Report outcomes, or label 50 sessions." }
    : { only_rules: false, failures_with_evidence: 17, advice: null };

function overview(state: Overview["hero"]["state"], judges: Overview["judges"]): Overview {
  const bucket = {
    ts: 1_768_435_200,
    regular_rate: 0.9,
    shadow_rate: null,
    regular_n: 40,
    shadow_n: 0,
    avg_corrections: 0.4,
    escalation_rate: 0.03,
    ...interval,
    ci95: [0.8, 0.95] as [number, number],
    judged_share: 0.75,
  };
  return {
    hero: {
      state,
      regular_success_rate_pp: 91.4,
      shadow_success_rate_pp: null,
      delta_pp: null,
      buckets: [bucket],
      ci95_pp: [90.1, 92.5],
      ci95_null_reason: null,
      few_users: false,
      delta_ci95: null,
      delta_ci95_null_reason: null,
      n: 1234,
      judged_share: 0.75,
      without_verdict: 411,
      ...alone(judges),
    },
    context_tiles: tiles,
    rule_attribution: [rule("1", 80, 5, 12), rule("2", 3, 30, -40), rule("3", 2, 1)],
    rules_as_of: 1_768_435_200,
    score_distribution: { labels: ["0", "1"], current_bins: [9, 1], baseline_bins: [8, 2] },
    partner_tiles: [],
    shadow_win_rate_trend: null,
    recent_results: [],
    source_set_comparison: {
      available_sources: ["app", "web"],
      source_sessions: [],
      sets: [],
      unmatched_session_count: 0,
    },
    available_agent_versions: ["v1", "v2"],
    judges,
  };
}

const mostJudged = [
  { decision: "judged", count: 90 },
  { decision: "failed", count: 10 },
];

function open(
  state: Overview["hero"]["state"],
  address?: string,
  judges: Overview["judges"] = [model],
  decisions = mostJudged,
  sources: Estimate[] = [],
) {
  const sent = serve({
    "GET /api/evaluations/estimated_success": { sources },
    "GET /api/sessions": { sessions: [{ source: "web" }, { source: "app" }, { source: "web" }], next_cursor: null },
    "POST /api/get_evaluation_overview": overview(state, judges),
    "GET /api/evaluations/judge_health": { decisions },
  });
  show(<OverviewPage session={viewer} />, address);
  return () =>
    sent
      .filter((one) => one.path === "/api/get_evaluation_overview")
      .map((one) => one.body as { agent_version: string | null; include_shadow?: boolean })
      // What the page shows of a version; the sentence and the trend ask for each of them without shadows.
      .filter((body) => body.include_shadow === undefined)
      .map((body) => body.agent_version);
}

describe("the overview", () => {
  it("says the rate, its interval, what it stands on and how much was judged", async () => {
    open("full");
    expect(await screen.findByTestId("success-rate")).toHaveTextContent("91.4 %");
    expect(screen.getByText("95 % interval 90.1 to 92.5 %")).toBeInTheDocument();
    expect(screen.getByText("1,234")).toBeInTheDocument();
    expect(await screen.findByText("90.0 % of 100")).toBeInTheDocument();
    expect(screen.getByTestId("judged-share")).toHaveTextContent("75");
  });
  it("shows failures with evidence, and what to do, while rules alone judge", async () => {
    open("full", undefined, [rules]);
    expect(await screen.findByTestId("failures")).toHaveTextContent("17");
    expect(screen.getByRole("heading", { name: "Failures with evidence" })).toBeInTheDocument();
    expect(screen.getByText("Report outcomes, or label 50 sessions.")).toBeInTheDocument();
    expect(screen.queryByTestId("success-rate")).toBeNull();
  });
  it("shows the estimate over all sessions large where the judge abstains, of one source", async () => {
    const estimated = { value: 0.684, ci95: [0.61, 0.75] as [number, number], null_reason: null };
    const of = (source: string) => ({ source, sessions: 1645, labels: 120, labelled_users: 80, estimated });
    open("full", undefined, [model], mostJudged, [of("web")]);
    expect(await screen.findByTestId("estimated-rate")).toHaveTextContent("68.4 %");
    expect(screen.getByText(/^95 % interval 61.0 % to 75.0 %; .* corrected by 120 labels/)).toBeInTheDocument();
    expect(screen.getByTestId("success-of-the-judged")).toHaveTextContent("91.4 %");
    cleanup();
    open("full", undefined, [model], mostJudged, [of("app"), of("web")]);
    expect(await screen.findAllByTestId("estimated")).toHaveLength(2);
    expect(screen.getByTestId("success-rate")).toHaveTextContent("91.4 %");
  });
  it("says when rules judged, or some of it, and where to set a model", async () => {
    open("full", undefined, [rules]);
    expect(await screen.findByText(/^Judged by rules, not by a model/)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "how to set it" })).toHaveAttribute("href", "/settings");
    cleanup();
    open("full", undefined, [model, rules]);
    expect(await screen.findByText(/^Partly judged by rules/)).toBeInTheDocument();
    cleanup();
    open("full");
    await screen.findByTestId("success-rate");
    expect(screen.queryByText(/by rules/)).toBeNull();
  });
  it("colours a change only when its interval excludes none", async () => {
    open("full");
    expect(await screen.findByText(/^\+1.2 pp \(−0.5 to \+2.9\) on the 7 days before/)).not.toHaveClass("text-good");
    expect(screen.getByText(/^.0.10 \(.0.20 to .0.05\)/)).toHaveClass("text-good");
  });
  it("puts what harms first and greys what is not more than chance", async () => {
    open("full");
    const rules = await screen.findAllByTitle("Show the sessions that cited it");
    expect(rules.map((r) => r.textContent?.match(/Playbook \d/)?.[0])).toEqual([
      "Playbook 2",
      "Playbook 3",
      "Playbook 1",
    ]);
    expect(rules[1]).toHaveClass("text-faint");
    expect(rules[0]).toHaveAttribute("href", "/sessions?rule=agent_playbook%3A2&range=30d");
  });
  it("asks for all versions of the agent, or for the one that is chosen", async () => {
    const asked = open("full");
    const choice = await screen.findByRole("combobox", { name: "Agent version" });
    expect(choice).toHaveDisplayValue("All versions");
    expect(asked().every((version) => version === null)).toBe(true);
    await userEvent.selectOptions(choice, "v2");
    expect(choice).toHaveDisplayValue("v2");
    await waitFor(() => expect(asked().at(-1)).toBe("v2"));
    expect(await screen.findByRole("heading", { name: "Success rate, v2" })).toBeInTheDocument();
    expect(screen.getAllByTitle("Show the sessions that cited it")[0]).toHaveAttribute(
      "href",
      "/sessions?rule=agent_playbook%3A2&range=30d&version=v2",
    );
    await userEvent.selectOptions(choice, "All versions");
    expect(await screen.findByRole("heading", { name: "Success rate" })).toBeInTheDocument();
  });
  it("keeps a version of the address that has nothing, and says so", async () => {
    const asked = open("empty", "/overview?version=v9");
    expect(await screen.findByText("No session of v9 was judged in this range")).toBeInTheDocument();
    expect(screen.getByRole("combobox", { name: "Agent version" })).toHaveDisplayValue("v9");
    expect(new Set(asked())).toEqual(new Set(["v9"]));
  });
  it("teaches how to get comparisons when there are none", async () => {
    open("shadow_off");
    expect(await screen.findByText(/Compare with another agent/)).toBeInTheDocument();
  });
  it("warns in early days", async () => {
    open("early");
    expect(await screen.findByText(/Early days/)).toBeInTheDocument();
  });
  it("leads to the ways to connect when nothing is judged", async () => {
    open("empty", undefined, [], []);
    expect(await screen.findByText("Nothing is judged yet")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "How to send sessions" })).toHaveAttribute("href", "/connect");
    expect(screen.queryByTestId("success-rate")).toBeNull();
  });
  it("asks for a longer range when nothing was judged in this one", async () => {
    open("empty");
    expect(await screen.findByText("Nothing was judged in this range")).toBeInTheDocument();
  });
  it("asks for labels when every session stayed undecided", async () => {
    open("empty", undefined, [], [{ decision: "undecided", count: 3 }]);
    expect(await screen.findByText("3 sessions have no verdict")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Review" })).toHaveAttribute("href", "/review");
  });
});

describe("the sentence", () => {
  const of = (change: { value: number; low: number; high: number } | null, ...versions: [string, number][]) =>
    sentenceOf({
      hero: overview("full", [model]).hero,
      change,
      middle: Date.UTC(2026, 9, 3) / 1000,
      bucket: "day",
      versions: versions.map(([name, since]) => ({ name, since, n: 10, rate: null, buckets: [] })),
    });
  it("has the rate, how sure it is, the change, and the version that came", () => {
    const came = Date.UTC(2026, 9, 12) / 1000;
    expect(of({ value: 0.12, low: 0.09, high: 0.151 }, ["1.0", 0], ["2.0", came])).toBe(
      "91.4 % of judged sessions succeed (90.1 to 92.5 %), up 9.0 to 15.1 points since Oct 3; version 2.0 came on Oct 12.",
    );
    expect(of({ value: -0.12, low: -0.151, high: -0.09 })).toContain(", down 9.0 to 15.1 points since Oct 3.");
  });
  it("calls a change sure only when its interval excludes none", () => {
    expect(of({ value: 0.02, low: -0.01, high: 0.05 }, ["1.0", 0])).toBe(
      "91.4 % of judged sessions succeed (90.1 to 92.5 %); no sure change since Oct 3 (−1.0 to +5.0 points).",
    );
    expect(of(null)).toBe("91.4 % of judged sessions succeed (90.1 to 92.5 %).");
  });
  it("gives no rate while rules alone judge", () => {
    const { hero } = overview("full", [rules]);
    const known = { change: null, middle: 0, versions: [], bucket: "day" as const };
    expect(sentenceOf({ hero, ...known })).toMatch(/^17 sessions failed with evidence; how many succeed/);
  });
});

it("says which version is better only when that is sure", () => {
  const version = (name: string, value: number, half: number) => ({
    name,
    since: 0,
    n: 100,
    rate: { value, low: value - half, high: value + half },
    buckets: [],
  });
  expect(verdict([version("1.0", 0.7, 0.02), version("2.0", 0.8, 0.02)])).toBe(
    "2.0 succeeds more often than 1.0: by 7.2 to 12.8 points.",
  );
  expect(verdict([version("1.0", 0.7, 0.1), version("2.0", 0.72, 0.1)])).toMatch(/^No sure difference/);
});
