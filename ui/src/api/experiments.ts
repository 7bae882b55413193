/** The parts of an experiment's results that the specification leaves open, as the server sends them. */

export type Pair = [number, number] | null;
export type Ratio = {
  treatment_users: number;
  holdout_users: number;
  expected_holdout_share: number;
  observed_holdout_share: number | null;
  p_value: number | null;
  sequential_p_value: number | null;
  mismatch: boolean;
};
export type Segment = {
  name: string | null;
  pooled: boolean;
  treatment_users: number | null;
  holdout_users: number | null;
  lift_pp: number | null;
  interval_95_pp: Pair;
  adjusted_p_value: number | null;
};
export type Segmented = { segments: Segment[]; interaction: { p_value: number } | null };
export type Guardrail = {
  name: string;
  margin: number;
  harm: number | null;
  difference_interval_95: Pair;
  verdict: string;
};

export type Additions = {
  inference: {
    estimand: string;
    p_value: number | null;
    cr2_p_value: number | null;
    interval_null_reason: string | null;
    lift_null_reason: string | null;
    intervals_95_pp: Record<string, Pair | string>;
    relative_interval_95: Pair;
  };
  always_valid: {
    interval_pp: Pair;
    p_value: number;
    running_interval_pp: Pair;
    running_p_value: number | null;
    planned_users: number;
  } | null;
  always_valid_null_reason: string | null;
  decision: { decision: string | null; sentence: string; margin_percentage_points: number; failed_guardrail: boolean };
  health: {
    healthy: boolean;
    problems: string[];
    sample_ratio: Record<"exposed" | "published" | "evaluated", Ratio>;
    evaluation_rate: { treatment: number | null; holdout: number | null; p_value: number | null };
    worst_case_lift_pp: Pair;
    contaminated_holdout_session_count: number;
    contaminated_holdout_sessions: { user_id: string; session_id: string }[];
    attribution: Record<
      | "attributed"
      | "began_before_exposure"
      | "ended_after_stop"
      | "no_metadata"
      | "mixed_arms"
      | "arm_mismatch"
      | "user_in_both_arms",
      number
    >;
  };
  delivery: {
    treatment_share: number;
    holdout_share: number;
    complier_effect_pp: number | null;
    complier_interval_95_pp: Pair;
    triggered: { lift_pp: number | null; interval_95_pp: Pair; treatment_sessions: number; holdout_sessions: number };
  } | null;
  judge: {
    mixed: boolean;
    epochs: {
      judge: string;
      prompt_version: string;
      treatment_sessions: number;
      holdout_sessions: number;
      lift_pp: number | null;
    }[];
    labelled_sessions: number;
    prediction_powered_lift_pp: number | null;
    prediction_powered_interval_95_pp: Pair;
    corrected_lift_pp: number | null;
    corrected_interval_95_pp: Pair;
  };
  interference: { share_from_playbooks_with_holdout_sources: number; share_made_after_start: number } | null;
  cuped: { lift_pp: number; interval_95_pp: Pair; variance_reduction: number } | null;
  segments: { source: Segmented; agent_version: Segmented };
  guardrails: Guardrail[];
  robustness: {
    user_weighted_lift_pp: number | null;
    user_weighted_interval_95_pp: Pair;
    largest_leave_one_user_out_shift_pp: number | null;
    largest_user_share: number;
  } | null;
  trend: {
    weeks: { week: number; lift_pp: number | null; standard_error_pp: number | null }[];
    slope_pp_per_week: number | null;
    slope_p_value: number | null;
  };
  analysis: { version: string; as_of: number; ci_method: string; input_digest: string };
};
