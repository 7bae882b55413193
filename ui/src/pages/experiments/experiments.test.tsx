import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Results } from "../../api/types.ts";
import { serve, show } from "../../test-server.tsx";
import { AboutCard } from "./about.tsx";
import { LiftOverTime } from "./looks.tsx";
import ExperimentsPage from "./page.tsx";
import { intervalRows } from "./results.tsx";
import { verdictOf } from "./use-results.ts";

const at = {
  day: 1_768_003_200,
  lift_pp: 4,
  always_valid_interval_pp: [-1, 9],
  treatment_users: 90,
  holdout_users: 40,
};

const part = {
  experiment: { experiment_id: "e", holdout_percentage: 5, started_at: 1, ended_at: null },
  health: { healthy: true, problems: [], worst_case_lift_pp: null },
  decision: {
    decision: "positive",
    sentence: "Retrieval helps.",
    margin_percentage_points: 2,
    failed_guardrail: false,
  },
  success_rate_lift_percentage_points: 5,
  confidence_interval_95_percentage_points: [2, 8],
  always_valid: null,
  always_valid_null_reason: "fewer_than_30_evaluated_users_in_an_arm",
  cuped: null,
  judge: { corrected_lift_pp: null },
  delivery: null,
  robustness: null,
} as unknown as Results;

describe("results", () => {
  it("say what they come to, unless something is wrong", () => {
    expect(verdictOf(part)).toMatchObject({ word: "helps", tone: "good" });
    const broken = {
      ...part,
      health: { ...part.health, healthy: false },
      decision: { ...part.decision, decision: null },
    };
    expect(verdictOf(broken)).toMatchObject({ word: "unhealthy", tone: "warn" });
    const fresh = {
      ...part,
      health: { ...part.health, healthy: false },
      decision: { ...part.decision, decision: "collecting" as const },
    };
    expect(verdictOf(fresh)).toMatchObject({ word: "collecting", tone: "accent" });
    const open = {
      ...part,
      decision: { ...part.decision, decision: "inconclusive" as const, sentence: "Keep it running." },
    };
    expect(verdictOf(open)).toMatchObject({ word: "not decided", sentence: "Keep it running." });
    expect(verdictOf({ ...open, experiment: { ...open.experiment, ended_at: 9 } })).toMatchObject({
      word: "undecided",
    });
  });
  it("give a reason where there is no interval", () => {
    const rows = intervalRows(part);
    expect(rows[0]).toMatchObject({ name: "Headline, 95 %", value: 5, low: 2, high: 8, strong: true });
    expect(rows[1]).toMatchObject({ value: null, note: "not yet" });
    expect(rows[1]?.about).toContain("Not yet: fewer than 30 evaluated users in an arm.");
  });
  it("draw the current interval, which is what is decided from, not what all looks have in common", () => {
    const always_valid = { interval_pp: [-1, 9], running_interval_pp: [1, 9] } as unknown as Results["always_valid"];
    expect(intervalRows({ ...part, always_valid })[1]).toMatchObject({ name: "Safe to read daily", low: -1, high: 9 });
  });
  it("draw the headline alone while it is too early to decide", () => {
    const robustness = {
      user_weighted_lift_pp: -18,
      user_weighted_interval_95_pp: [-21, -15],
    } as unknown as Results["robustness"];
    expect(intervalRows({ ...part, robustness }).map((row) => row.name)).toContain("Each user counts once");
    const early = { ...part, robustness, decision: { ...part.decision, decision: "collecting" as const } };
    expect(intervalRows(early).map((row) => [row.name, row.note])).toEqual([
      ["Headline, 95 %", undefined],
      ["Safe to read daily", "too early"],
    ]);
  });
});

it("plans, starts, and refuses nonsense before it is sent", async () => {
  const active = { experiment_id: "mine", holdout_percentage: 5, started_at: 1, ended_at: null };
  const sent = serve({
    "GET /api/retrieval_experiments": { active_experiment: null, experiments: [] },
    "GET /api/retrieval_experiments/plan": {
      days: 30,
      past_users: 100,
      past_sessions: 900,
      success_rate: 0.9,
      effect_percentage_points: 2,
      smallest_detectable_effect_percentage_points: 4.2,
      holdout_users_needed: 400,
      treatment_users_needed: 7600,
      days_needed: 90,
      small_holdout_price: 2.29,
      warnings: ["As many users as in the last 30 days would make a holdout of 5."],
    },
    "POST /api/retrieval_experiments": { active_experiment: active, experiments: [active] },
  });
  show(<ExperimentsPage />);
  await userEvent.click(await screen.findByRole("button", { name: "Start an experiment" }));
  const start = screen.getByRole("button", { name: "Start" });
  const share = screen.getByLabelText("Held out (%)");
  await userEvent.clear(share);
  await userEvent.type(share, "100");
  expect(start).toBeDisabled();
  await userEvent.clear(share);
  await userEvent.type(share, "5");
  expect(await screen.findByText("a lift of 4.2 pp or more")).toBeInTheDocument();
  expect(screen.getByText(/would make a holdout of 5/)).toBeInTheDocument();
  await userEvent.type(screen.getByLabelText("Hypothesis (optional)"), "It helps.");
  await userEvent.click(start);
  expect(await screen.findByText(/Started/)).toBeInTheDocument();
  expect(sent.find((s) => s.method === "POST")?.body).toMatchObject({
    holdout_percentage: 5,
    hypothesis: "It helps.",
    owner: "",
  });
});

it("says what an experiment is for, and has it changed", async () => {
  const about = { hypothesis: "It helps.", owner: "Mara", notes: "" };
  const sent = serve({ "PATCH /api/retrieval_experiments/e%201/about": about });
  show(<AboutCard experimentId="e 1" about={about} />);
  expect(screen.getByRole("heading", { name: "It helps." })).toBeInTheDocument();
  expect(screen.getByText("Owner: Mara")).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  await userEvent.type(screen.getByLabelText("Notes (optional)"), "A new app.");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText("Saved")).toBeInTheDocument();
  expect(sent[0]?.body).toEqual({ ...about, notes: "A new app." });
});

it("tells the lift day by day once two looks have an interval", async () => {
  const looks = [0, 1, 2].map((n) => ({
    ...at,
    day: at.day + n * 86_400,
    always_valid_interval_pp: n === 0 ? null : at.always_valid_interval_pp,
  })) as Results["looks"];
  const { unmount } = show(<LiftOverTime data={{ ...part, looks: looks.slice(0, 2) }} />);
  expect(screen.queryByText("Lift over time")).toBeNull();
  unmount();
  show(<LiftOverTime data={{ ...part, looks }} />);
  await userEvent.click(screen.getByRole("button", { name: "Lift over time as a table" }));
  const rows = screen.getAllByRole("row").map((row) => row.textContent);
  expect(rows.slice(1)).toEqual([
    "2026-01-10+4.0 pp––9040",
    "2026-01-11+4.0 pp−1.0 pp+9.0 pp9040",
    "2026-01-12+4.0 pp−1.0 pp+9.0 pp9040",
  ]);
});
