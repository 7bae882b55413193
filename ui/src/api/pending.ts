/** Shapes of endpoints whose types are not generated yet. */
import { Problem, proof } from "./client.ts";

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
