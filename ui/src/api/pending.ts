/** Shapes of endpoints whose types are not generated yet. */
import { Problem, proof } from "./client.ts";

export type Bucket = {
  ts: number; regular_rate: number | null; shadow_rate: number | null; regular_n: number; shadow_n: number;
  avg_corrections: number | null; escalation_rate: number | null; ci95: [number, number] | null;
};
export type ContextTiles = {
  success: { current: number | null; delta_pp: number | null };
  behavior_success: { current: number | null; delta_pp: number | null; eligible_sessions: number; excluded_system_errors: number };
  corrections: { current: number | null; delta: number | null };
  turns: { current: number | null; delta: number | null };
  escalation: { current: number | null; delta_pp: number | null };
};
export type Rule = {
  rule_id: string; kind: string; title: string; successes_with: number; failures_with: number; net_sessions: number;
  cited_session_ids: string[]; success_rate_ci95: [number, number];
};
export type Scores = { current_bins: number[]; baseline_bins: number[]; labels: string[] };
export type PartnerTile = { scorer_name: string; current: number; n: number; delta: number | null };
export type SourceSet = {
  label: string; sources: string[]; session_count: number; success_rate_pp: number; buckets: Bucket[];
  context_tiles: ContextTiles; score_distribution: Scores; rule_attribution: Rule[]; partner_tiles: PartnerTile[];
  ci95_pp: [number, number] | null; n: number;
};
export type ShadowTrend = {
  daily: { date: string; n: number; wins: number; losses: number; ties: number }[];
  window_total: { n: number; wins: number; losses: number; ties: number; win_rate: number; net_win: number; flip_rate: number | null };
  judge_prompt_version: string;
};
export type Overview = {
  hero: {
    state: "empty" | "shadow_off" | "early" | "full"; regular_success_rate_pp: number | null; shadow_success_rate_pp: number | null;
    delta_pp: number | null; buckets: Bucket[]; ci95_pp: [number, number] | null; n: number;
  };
  context_tiles: ContextTiles; rule_attribution: Rule[]; score_distribution: Scores; partner_tiles: PartnerTile[];
  shadow_win_rate_trend: ShadowTrend | null;
  source_set_comparison: { available_sources: string[]; sets: SourceSet[]; unmatched_session_count: number } | null;
};
export type ShadowVerdict = {
  verdict_id: number; interaction_id: string; session_id: string; user_id: string; agent_version: string;
  service_is_request_1: boolean; created_at: string; judged_at: string; judge: string; order_consistent: boolean | null;
  judge_prompt_version: string;
  output: { better_request: string; is_significantly_better: boolean; comparison_reason: string };
};

export async function call<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = proof(method);
  const init: RequestInit = { method, headers };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const response = await fetch(path, init);
  const answer = await response.json();
  if (!response.ok) throw new Problem(response.status, answer);
  return answer as T;
}

export type Experiment = { experiment_id: string; holdout_percentage: number; started_at: number; ended_at: number | null };
export type ExperimentList = { active_experiment: Experiment | null; experiments: Experiment[] };
export type ArmMetrics = {
  arm: string; assigned_user_count: number; published_session_count: number; evaluated_user_count: number; evaluated_session_count: number;
  success_rate: number | null; average_corrections: number | null; average_turns_to_resolution: number | null; escalation_rate: number | null;
  average_output_tokens: number | null; output_token_session_count: number;
};
export type ExperimentResults = {
  experiment: Experiment; treatment: ArmMetrics; holdout: ArmMetrics; success_rate_lift_percentage_points: number | null;
  relative_success_lift: number | null; confidence_interval_95_percentage_points: [number, number] | null;
  evaluated_session_coverage: number | null; unattributed_evaluated_session_count: number;
};

export type Plan = {
  holdout_percentage: number; effect_percentage_points: number; days: number; past_users: number; past_sessions: number; success_rate: number | null;
  smallest_detectable_effect_percentage_points: number | null; treatment_users_needed: number | null; holdout_users_needed: number | null;
  days_needed: number | null; small_holdout_price: number | null; warnings: string[];
};
export type Purge = {
  purge_id: string; subject_ref: string; request_ref: string; status: string; error_code: string | null; error_detail: string | null;
  created_at: number; updated_at: number; completed_at: number | null;
};
export type Erased = { purge_id: string; status: string; deleted_counts: Record<string, number>; completed_at: number | null };
export type Footprint = { subject_ref: string; counts: Record<string, number>; total: number };
