"""Generated from openapi.json by generate.py; not edited by hand."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


ActorKind = Literal["key", "person", "command_line", "local", "server", "unknown"]

# How a rule stands.
AlertState = Literal["collecting", "quiet", "worse", "still_worse", "recovered", "settled"]

# The arm of a user in an experiment.
Arm = Literal["treatment", "holdout"]

# The better of two responses, in the order in which the judge saw them.
BetterRequest = Literal["1", "2", "tie"]

# Bucket of the charts, in UTC.
Bucket = Literal["day", "week"]

# Method of an interval for the lift.
CiMethod = Literal["clustered_newcombe_tbm", "cr2_bell_mccaffrey", "cr1_t_clusters_minus_1", "delta_welch", "newcombe_neff"]

# The kinds of learnings that an agent can cite; `playbook` where it does not say which.
CitationKind = Literal["profile", "user_playbook", "agent_playbook", "playbook"]

# By what verdicts are clustered: `session` where all are of one person.
ClusteredBy = Literal["user", "session"]

# The stable, machine-readable code of a problem.
Code = Literal["malformed_json", "bad_request", "unauthenticated", "credential_not_governance", "forbidden", "approval_needs_a_person", "csrf_missing", "not_found", "method_not_allowed", "request_timeout", "request_id_reused", "source_run_id_reused", "session_ambiguous", "config_version_stale", "regeneration_running", "diff_not_complete", "experiment_active", "experiment_id_used", "experiment_not_active", "subject_erasing", "subject_erased", "predates_erasure", "purge_not_complete", "learning_exists", "confirmation_needed", "proposal_decided", "proposal_stale", "question_not_open", "too_many_questions", "job_not_dead", "too_many_webhooks", "too_many_alert_rules", "body_too_large", "unsupported_media_type", "invalid_input", "experiment_unknown", "experiment_arm_mismatch", "user_id_required_by_experiment", "rate_limited", "internal", "judge_failed", "judge_unavailable", "unavailable", "storage_not_configured"]

# By whom it was decided: a person at the dashboard, an agent, aggregation, or a person who accepted a tuning
# proposal.
DeciderKind = Literal["dashboard", "agent", "aggregation", "tuning"]

# A decision about an agent playbook.
DecisionKind = Literal["proposed", "approved", "rejected", "pending", "edited", "archived"]

# State of a delivery.
DeliveryState = Literal["waiting", "delivered", "failed"]

# Cause of a learning's failure to help.
DiagnosisCategory = Literal["content_defect", "application_failure", "external_failure", "no_issue", "unknown"]

# Database engine.
Engine = Literal["sqlite", "postgres"]

# The kinds of learnings as a search names them.
EntityType = Literal["profiles", "user_playbooks", "agent_playbooks"]

# Depth of an erasure.
ErasureLevel = Literal["logical", "physical"]

# Evaluation state of a session.
EvaluationDecision = Literal["not_yet_quiet", "queued", "sampled_out", "skipped", "failed", "undecided", "judged"]

# Something that webhooks are told of.
EventType = Literal["session.failed", "regeneration.done", "experiment.decided", "experiment.unhealthy", "playbook.helps", "playbook.hurts", "judge.paused", "judge.budget_reached", "alert.raised", "alert.cleared", "webhook.test"]

# Window preset of the public Python client's own extractor.
ExtractionPreset = Literal["quick_chat", "standard", "long_form", "high_volume"]

# Cause of a session's failure.
FailureType = Literal["system_error", "missing_tool", "wrong_tool", "insufficient_info_from_tool", "wrong_answer", ""]

# An operation by the name under which its status is asked for.
Generation = Literal["profile_generation", "playbook_generation"]

# Permission of a credential beyond its role.
Grant = Literal["governance"]

# Ground truth that verdicts are measured against.
GroundTruth = Literal["labels", "outcomes", "both"]

# An outcome that must not get worse.
GuardrailName = Literal["corrections", "escalation_rate", "output_tokens", "turns_to_resolution"]

# Verdict on one guardrail.
GuardrailVerdict = Literal["passed", "failed", "undecided"]

# A part of the server that is looked at.
HealthCheck = Literal["process", "storage", "jobs", "files", "judge"]

HealthStatus = Literal["ok", "unavailable"]

# Amount of evidence behind an overview. `empty`: no results. `shadow_off`: no shadow comparison in the window, or
# none asked for. `early`: the first result is less than 14 days old, or there are fewer than 500 shadow verdicts.
# Else `full`.
HeroState = Literal["empty", "shadow_off", "early", "full"]

# Running state of the judge.
JudgeActivity = Literal["running", "paused"]

# A kind of judge.
JudgeKind = Literal["llm", "learned", "rules"]

# The effect of a learning on the response that it was retrieved for.
LearningImpact = Literal["positive", "negative", "neutral"]

# A kind of learning.
LearningKind = Literal["profile", "user_playbook", "agent_playbook"]

# Learning status of a published request. A failure is tried again once a day.
LearningProgress = Literal["pending", "processing", "done", "failed"]

# The call of a playbook's trial; without one the sign of a learning's attributable impact where it is marked as more
# than chance; else `unclear`.
LearningStanding = Literal["helps", "hurts", "unclear"]

# Status of a learning. Clients read `current` as null.
LearningStatus = Literal["current", "pending", "archived", "superseded"]

# Decision on the lift so far.
LiftDecision = Literal["collecting", "positive", "negative", "no_effect_at_precision", "inconclusive"]

# Reason for a null number.
NullReason = Literal["arm_without_evaluated_sessions", "no_evaluated_sessions", "fewer_than_two_evaluated_users_in_an_arm", "outcome_not_binary", "zero_baseline", "zero_variance", "unbounded_interval", "no_users", "input_out_of_range", "fewer_than_30_evaluated_users_in_an_arm", "no_looks", "empty_intersection", "fewer_than_100_users", "too_little_history", "constant_pre_period", "variance_not_reduced", "no_user_with_two_sessions", "fewer_than_two_segments", "fewer_than_five_users", "no_difference_in_delivery", "fewer_than_two_weeks", "one_user_determines_slope", "no_labels", "no_unlabelled_sessions", "no_labelled_successes", "no_labelled_failures", "judge_no_better_than_chance", "judge_rate_outside_error_rates", "no_variation_in_labels", "no_discordant_pairs", "arm_without_published_sessions", "nothing_served", "unhealthy", "too_few_events", "one_user_dominates", "fewer_than_30_labelled_users_in_an_arm", "fewer_than_30_labelled_users", "only_rules_judged", "too_few_users", "nothing_to_compare_with", "out_of_reach"]

# State of an operation.
OperationState = Literal["in_progress", "completed", "failed", "cancelled"]

# A person's opinion of the judge's verdict.
Opinion = Literal["agree", "disagree"]

# Reason to ask a second time before an agent playbook is approved.
PlaybookFlag = Literal["payment", "credentials", "link", "few_people"]

# The approval of an agent playbook.
PlaybookStatus = Literal["pending", "approved", "rejected"]

# The fate of a proposal: added, merged into a learning that says the same, put in the place of an older one, or
# refused.
ProposalOutcome = Literal["added", "merged", "superseded", "refused"]

# Learning status in the answer to a publish.
PublishLearningStatus = Literal["done", "deferred"]

# Reason for a failed erasure. Says nothing of the person.
PurgeErrorCode = Literal["erase_delete_failed", "erase_not_empty", "erase_audit_failed", "erase_scrub_busy", "erase_index_corrupt", "erase_storage_unavailable"]

# Status of an erasure.
PurgeStatus = Literal["pending", "running", "failed", "complete"]

# Status of a question.
QuestionStatus = Literal["pending", "resolved", "expired", "superseded", "cancelled"]

# State of a job in the queue.
QueueState = Literal["waiting", "due", "running", "done", "dead", "cancelled"]

# Status of a regeneration.
RegenerationStatus = Literal["running", "completed", "cancelled", "error"]

# Completeness of the verdicts on a session's retrieved learnings.
RetrievedLearningStatus = Literal["complete", "degraded", "failed", "pending", "not_applicable"]

# The decision on a playbook.
ReviewDecision = Literal["accept", "edit", "reject", "skip"]

# Reason for a session to be in the queue.
ReviewHalf = Literal["random", "informative"]

# The reason for a decision.
ReviewReason = Literal["grounded_useful", "unsupported_evidence", "evidence_unavailable"]

# The judge's verdict on a session in the queue.
ReviewedVerdict = Literal["success", "failure", "undecided"]

# The purpose of a credential.
Role = Literal["agent", "publish", "dashboard", "auditor", "governance"]

RuleKind = Literal["regex", "tool_used", "tool_not_used", "max_turns", "customer_outcome"]

# By what learnings are found: vectors, full text, or both.
SearchMode = Literal["hybrid", "vector", "fts"]

# A number that judged sessions have.
SessionMetric = Literal["success_rate", "corrections", "turns_to_resolution", "escalation_rate", "system_error_rate"]

# The outcome of a session.
SessionOutcomeKind = Literal["success", "failure", "unknown"]

# Preference of a session's comparisons: for the responses it was given, or for those published beside them.
ShadowPreference = Literal["regular_is_better", "regular_is_slightly_better", "tied", "shadow_is_slightly_better", "shadow_is_better"]

# Reason for not grading a session.
SkippedReason = Literal["NO_REQUESTS", "NO_INTERACTIONS", "AGENT_VERSION_NOT_IN_SESSION", "UNDECIDED"]

# Cause of a stall.
StallReason = Literal["billing_error", "auth_error"]

# Time to live of a profile.
TimeToLive = Literal["one_day", "one_week", "one_month", "one_quarter", "one_year", "infinity"]

# Is it known whether a playbook helps?
TrialState = Literal["helps", "hurts", "no_sign_yet"]

# The remedy that is proposed for a learning.
TuningAction = Literal["archive", "reject", "edit"]

# The decision about a tuning proposal.
TuningStatus = Literal["open", "accepted", "declined"]

# An action of a person besides saying something.
UserAction = Literal["click", "scroll", "type", "none"]

# A remark about the transcript that comes with a verdict.
VerdictFlag = Literal["orders_to_grader", "fake_role_tags", "verdict_shaped", "hidden_characters", "transcript_cut", "usage_estimated"]

# Form of the messages to a webhook.
WebhookFormat = Literal["standard", "slack", "email"]

class _AcceptTuningProposalRequestRequired(TypedDict):
    proposal_id: str


class AcceptTuningProposalRequest(_AcceptTuningProposalRequestRequired, total=False):
    # A wording of one's own instead of the draft.
    content: Optional[str]
    trigger: Optional[str]


class _ActorRequired(TypedDict):
    kind: ActorKind


# The one who did something.
class Actor(_ActorRequired, total=False):
    email: Optional[str]
    # Of the key, or of the person as the provider gave it.
    name: Optional[str]
    # The provider's own id of the person.
    subject: Optional[str]


class AddAgentPlaybookRequest(TypedDict):
    agent_playbooks: List[NewAgentPlaybook]


class AddUserPlaybookRequest(TypedDict):
    user_playbooks: List[NewUserPlaybook]


class AddUserProfileRequest(TypedDict):
    user_profiles: List[NewProfile]


class AddedPlaybooks(TypedDict):
    added_count: int
    # In the order in which they were sent.
    ids: List[int]
    message: str
    success: bool


class AddedProfiles(TypedDict):
    added_count: int
    # In the order in which they were sent.
    ids: List[str]
    message: str
    success: bool


class _AgentPlaybookRequired(TypedDict):
    agent_playbook_id: int
    agent_version: str
    content: str
    created_at: int
    playbook_metadata: Any
    playbook_name: str
    playbook_status: PlaybookStatus
    rationale: str
    tags: List[str]
    # When it applies.
    trigger: str


# Instruction for a recurring situation, put together from several people's playbooks. The organization's own.
class AgentPlaybook(_AgentPlaybookRequired, total=False):
    # True if aggregation proposed it, it is pending, and fewer than `min_users` of its people are still there; null
    # in search results.
    below_min_users: Optional[bool]
    # Reasons to look at it twice: approving it needs `confirmed`; null in search results.
    flags: Optional[List[PlaybookFlag]]
    # Number of different people it came from, of those who are still there; null in search results.
    source_user_count: Optional[int]
    # User playbooks it came from, with their turns; null in search results.
    source_windows: Optional[List[SourceWindow]]
    status: Optional[LearningStatus]
    # Share of users from whom it is withheld, while it is on trial; null for agents.
    withheld_share: Optional[float]


class AgentSuccessConfig(TypedDict, total=False):
    # Kept for the public client; verdicts are named `agent_success`.
    evaluation_name: Optional[str]
    # The same for sessions published as evaluation_only; null means the same share.
    evaluation_only_sampling_rate: Optional[float]
    # Sources that are evaluated; null means all of them.
    request_sources_enabled: Optional[List[str]]
    # The share of judged sessions whose retrieved learnings are judged too; null means all of them.
    retrieved_learning_sampling_rate: Optional[float]
    # The share of sessions that is judged; all when absent.
    sampling_rate: Optional[float]
    # Kept for the public client, without effect here.
    stride_size_override: Optional[int]
    # What counts as success; empty leaves it to the rubric, and reads back as what the rubric says, in short.
    success_definition_prompt: Optional[str]
    # Kept for the public client, without effect here.
    tagging_definition_prompt: Optional[str]
    # Kept for the public client, without effect here.
    window_size_override: Optional[int]


class _AgentSuccessEvaluationResultRequired(TypedDict):
    agent_version: str
    # Calls made for this verdict.
    attempts: int
    # Time of the session's first request: a regrade keeps its place on every chart.
    created_at: int
    evaluated_at: int
    evaluation_name: str
    failure_reason: str
    # Empty on success.
    failure_type: FailureType
    # Manipulation attempts found in the transcript, and its truncation.
    flags: List[VerdictFlag]
    input_tokens: int
    is_escalated: bool
    is_success: bool
    # `rules`, `rule` (an evaluator), `learned/<number>`, or provider/model as reported.
    judge: str
    latency_ms: int
    number_of_correction_per_session: int
    output_tokens: int
    prompt_version: str
    result_id: int
    retrieved_learning_status: RetrievedLearningStatus
    rubric_hash: str
    session_id: str
    user_id: UserId


# A verdict on a session.
class AgentSuccessEvaluationResult(_AgentSuccessEvaluationResultRequired, total=False):
    # US dollars; null if the model is unpriced.
    cost_usd: Optional[float]
    # The learned judge's calibrated probability of success; null of other judges.
    probability: Optional[float]
    regular_vs_shadow: Optional[ShadowPreference]
    tags: Optional[List[str]]
    # The user's turns, on success only.
    user_turns_to_resolution: Optional[int]


class AggregationStarted(TypedDict):
    message: str
    success: bool


class _AgreementRequired(TypedDict):
    confusion: ConfusionTable
    # The same with the judge's errors taken out, by the labels that the review queue drew at random; null under 30
    # labelled users.
    corrected_success_rate: Number
    evaluation_name: str
    # Sessions that the judge passed and people did not, newest first, at most 100.
    false_passes: List[FalsePass]
    ground_truth: GroundTruth
    # For context: expert annotators agree with each other at about this κ.
    human_ceiling_kappa: float
    # Judged sessions in the window.
    judged: int
    # Cohen's κ: agreement beyond chance.
    kappa: Number
    # Verdicts with ground truth.
    n: int
    # The judge's success rate over all judged sessions, as it is.
    raw_success_rate: Number
    # Share of real successes that the judge sees.
    sensitivity: Number
    # Share of real failures that the judge sees.
    specificity: Number


class Agreement(_AgreementRequired, total=False):
    # Share on which both agree.
    agreement: Optional[float]


class _AlertEpisodeRequired(TypedDict):
    # 95 % over all looks together.
    ci_lower: float
    ci_upper: float
    difference: float
    # The mean to be expected from the four weeks before, and the mean since then, when it was raised.
    mean_before: float
    mean_since: float
    raised_at: int
    sessions: float
    # When it got worse, as far as can be told.
    worse_since: int


# An episode: from the look that raised the alert to the one that cleared it.
class AlertEpisode(_AlertEpisodeRequired, total=False):
    # `recovered`, `settled` (four weeks have passed), or `withdrawn` (the rule was changed); null while it goes on.
    cleared_as: Optional[str]
    # null while it goes on.
    cleared_at: Optional[int]


class _AlertRuleRequired(TypedDict):
    created_at: int
    enabled: bool
    # The newest first.
    episodes: List[AlertEpisode]
    # How much likelier what was seen is under a change for the worse than without one. An alert is raised at 2,000.
    evidence: float
    metric: SessionMetric
    name: str
    rule_id: str
    # Smaller changes raise no alert: points of a rate, or per cent of the mean of corrections and turns.
    smallest_change: float
    state: AlertState


# A rule, and how it stands.
class AlertRule(_AlertRuleRequired, total=False):
    # null: of all versions of the agent.
    agent_version: Optional[str]
    # The hour until which sessions were looked at; null before the first look.
    looked_until: Optional[int]
    reason: Optional[NullReason]
    # null: of all sources.
    source: Optional[str]


class AlertRules(TypedDict):
    # The oldest first.
    rules: List[AlertRule]


# The lift in a way that may be read every day.
class AlwaysValidLift(TypedDict):
    # Lower and upper end.
    interval_pp: Optional[List[float]]
    interval_pp_null_reason: Optional[NullReason]
    p_value: float
    # Number of users at which the interval is tightest.
    planned_users: int
    # Intersection of the intervals of all looks.
    running_interval_pp: Optional[List[float]]
    running_interval_pp_null_reason: Optional[NullReason]
    running_p_value: Optional[float]
    running_p_value_null_reason: Optional[NullReason]


# Provenance of the numbers: the same input and version give the same numbers.
class AnalysisStamp(TypedDict):
    as_of: int
    ci_method: CiMethod
    # Version of the assignment hash.
    hash_version: str
    # A digest of everything the numbers depend on.
    input_digest: str
    version: str


# A number of both arms.
class ArmDifference(TypedDict):
    difference: Optional[float]
    difference_null_reason: Optional[NullReason]
    holdout: Optional[float]
    holdout_null_reason: Optional[NullReason]
    # Lower and upper end.
    interval_95: Optional[List[float]]
    interval_95_null_reason: Optional[NullReason]
    treatment: Optional[float]
    treatment_null_reason: Optional[NullReason]


class _AskPendingToolCallRequestRequired(TypedDict):
    question_text: str
    # The user in whose session it came up.
    user_id: str


class AskPendingToolCallRequest(_AskPendingToolCallRequestRequired, total=False):
    # How the answer should look.
    answer_format: Optional[str]
    args: Optional[Dict[str, Any]]
    # Questions of one user with the same key are one: the same text is not asked twice, another takes its place. Made
    # of the text when absent.
    dedup_key: Optional[str]
    # A day when absent.
    expires_in_seconds: Optional[int]
    tags: Optional[List[str]]
    tool_name: Optional[str]


# The experiment and arm that a search or a request is attributed to.
class Attribution(TypedDict):
    arm: Arm
    experiment_id: str


# Evaluated sessions by reason, and two kinds of those that count.
class AttributionCounts(TypedDict):
    # The stored arm is not the user's.
    arm_mismatch: int
    # Sessions that count.
    attributed: int
    # Sessions that count and began before the user's first search.
    began_before_exposure: int
    # Sessions that count and ended after the stop.
    ended_after_stop: int
    # The session's requests name both arms.
    mixed_arms: int
    # None of the session's requests names the experiment.
    no_metadata: int
    # The user has requests in both arms.
    user_in_both_arms: int


class AuditEvents(TypedDict):
    # The newest first.
    events: List[ShownEvent]


class _BehaviorTileRequired(TypedDict):
    # Few users: read it with care.
    few_users: bool
    eligible_sessions: int
    excluded_system_errors: int


# Success when failures of type system_error are left out.
class BehaviorTile(_BehaviorTileRequired, total=False):
    # Its ends, in the unit of the number it belongs to.
    ci95: Optional[List[float]]
    ci95_null_reason: Optional[NullReason]
    # Its ends, in the unit of the change.
    delta_ci95: Optional[List[float]]
    delta_ci95_null_reason: Optional[NullReason]
    current: Optional[float]
    delta_pp: Optional[float]
    # Of the sessions of the current window that were due, the share with a verdict.
    judged_share: Optional[float]


# Sessions with probabilities from `at_least` to the next line's.
class Calibrated(TypedDict):
    at_least: float
    mean_probability: float
    sessions: int
    success_share: float


class _CallTotalsRequired(TypedDict):
    count: int


# Calls of models that a session's turns carry: sums of what is known of them.
class CallTotals(_CallTotalsRequired, total=False):
    cost_usd: Optional[float]
    input_tokens: Optional[int]
    latency_ms: Optional[int]
    output_tokens: Optional[int]


class Cancelled(TypedDict):
    # `cancelled`, or what it had ended as before.
    status: RegenerationStatus


class _CertificateRequired(TypedDict):
    backups_expire_at: int
    barrier_closed_at: int
    certificate_version: int
    completed_at: int
    # Rows by target.
    erased: Dict[str, int]
    evenhand_version: str
    # Learned judges that had learned from this person and were deleted, and those trained again without them.
    judge_models_deleted: int
    judge_models_retrained: int
    level: ErasureLevel
    purge_id: str
    request_ref: str
    schema_version: int
    # Agent playbooks in which something that only this person said was masked.
    shared_texts_masked: int
    subject_ref: str


# Certificate of an erasure: rows erased, time, version and depth.
class Certificate(_CertificateRequired, total=False):
    audit_hash: Optional[str]
    audit_sequence: Optional[int]
    engine: Optional[Engine]
    # On PostgreSQL: when rewritten tables are out of the log and of the backups.
    physical_after: Optional[int]
    physical_at: Optional[int]


class ChangeExperimentAboutRequest(TypedDict, total=False):
    hypothesis: Optional[str]
    notes: Optional[str]
    owner: Optional[str]


# A 95 % interval of a change, or the reason why there is none. A change is one only when it excludes 0.
class ChangeInterval(TypedDict, total=False):
    # Its ends, in the unit of the change.
    delta_ci95: Optional[List[float]]
    delta_ci95_null_reason: Optional[NullReason]


class _ChangedRequired(TypedDict):
    success: bool


class Changed(_ChangedRequired, total=False):
    msg: Optional[str]


class Check(TypedDict):
    detail: str
    name: HealthCheck
    ok: bool


class _CitationRequired(TypedDict):
    kind: CitationKind
    real_id: str


# A learning that the agent says shaped its response.
class Citation(_CitationRequired, total=False):
    tag: str
    title: str


class CitedSession(TypedDict):
    session_id: str
    user_id: UserId


class ClearUserDataRequest(TypedDict):
    user_id: str


class _ClearedUserDataRequired(TypedDict):
    # Rows deleted, by target.
    deleted_counts: Dict[str, int]
    success: bool


class ClearedUserData(_ClearedUserDataRequired, total=False):
    message: Optional[str]


# Comparison of a candidate with the model in use, on sessions that neither was trained on.
class Comparison(TypedDict):
    # Mean squared errors of the probabilities; the smaller is the better.
    candidate_brier: float
    current_brier: float
    # The candidate took the place of the model in use.
    replaced: bool
    sessions: int


class ConfigChanged(TypedDict):
    config: ConfigView
    message: str
    # The same as `message`, under the name that existing clients read.
    msg: str
    success: bool
    version: int


class _ConfigViewRequired(TypedDict):
    # Send it back with a change to be refused when somebody else changed something in between.
    version: int


class ConfigView(_ConfigViewRequired, total=False):
    # What the agent is and does, for the judge.
    agent_context_prompt: Optional[str]
    agent_success_config: Optional[AgentSuccessConfig]
    # Keys are hidden before they are stored.
    api_key_config: Optional[Dict[str, Any]]
    enable_document_expansion: Optional[bool]
    # Judgements of one regeneration at a time.
    eval_concurrency_limit: Optional[int]
    # Sessions of one day and source that a regeneration judges.
    eval_sample_n_per_stratum: Optional[int]
    # Evaluators that are rules: free, each under its own name.
    evaluators: Optional[List[Evaluator]]
    expiry_reclamation: Optional[Dict[str, Any]]
    extraction_preset: Optional[ExtractionPreset]
    governance: Optional[GovernanceConfig]
    governance_retention: Optional[Dict[str, Any]]
    judge: Optional[JudgeConfig]
    learning: Optional[LearningConfig]
    learning_trials: Optional[LearningTrialsConfig]
    lineage_gc: Optional[Dict[str, Any]]
    llm_config: Optional[Dict[str, Any]]
    pending_tool_call_config: Optional[Dict[str, Any]]
    playbook_optimizer_config: Optional[Dict[str, Any]]
    profile_extractor_config: Optional[Dict[str, Any]]
    retrieval_floor: Optional[Dict[str, Any]]
    # Whether agents are served agent playbooks that nobody has approved yet. Rejected ones are never served.
    serve_pending: Optional[bool]
    # Judge each pair twice, the second time in the other order.
    shadow_both_orders: Optional[bool]
    # The rubric of shadow comparisons; only its verdicts are shown.
    shadow_comparison_judge_prompt_version: Optional[str]
    shadow_mode_enabled: Optional[bool]
    skip_should_run_check: Optional[bool]
    # The server's storage is set where it is started.
    storage_config: Optional[Dict[str, Any]]
    storage_config_test: Optional[int]
    # At most `window_size`.
    stride_size: Optional[int]
    # The tools the agent has, for the judge.
    tool_can_use: Optional[List[ToolCanUse]]
    user_playbook_extractor_config: Optional[Dict[str, Any]]
    # `learning.window` is the one that counts.
    window_size: Optional[int]


class ConfusionTable(TypedDict):
    false_failures: int
    false_passes: int
    true_failures: int
    true_passes: int


# A holdout session whose turns carried learnings.
class ContaminatedSession(TypedDict):
    session_id: str
    user_id: str


class ContextTile(TypedDict):
    behavior_success: BehaviorTile
    corrections: MeanTile
    escalation: RateTile
    success: RateTile
    # The user's turns, of successes.
    turns: MeanTile


class _CoverageRequired(TypedDict):
    # Verdicts of failure.
    failures_with_evidence: int
    # Rules alone judged: there is no success rate, only failures with evidence.
    only_rules: bool
    # Sessions that were due and have no verdict: the judge abstained, or failed.
    without_verdict: int


# How much of what was due was judged, and what the verdicts can say.
class Coverage(_CoverageRequired, total=False):
    # Ways to a success rate, for people; null unless rules alone judge.
    advice: Optional[str]
    # Of the sessions that were due, the share with a verdict; null if none was due.
    judged_share: Optional[float]


class Covered(TypedDict):
    coverage: float
    kappa: float


class _CreateAlertRuleRequestRequired(TypedDict):
    metric: SessionMetric
    name: str


class CreateAlertRuleRequest(_CreateAlertRuleRequestRequired, total=False):
    # All versions of the agent when absent.
    agent_version: Optional[str]
    # Smaller changes raise no alert: points of a rate (3 when absent), or per cent of the mean of corrections and
    # turns (10 when absent).
    smallest_change: Optional[float]
    # All sources when absent.
    source: Optional[str]


class _CreateKeyRequestRequired(TypedDict):
    role: Role


class CreateKeyRequest(_CreateKeyRequestRequired, total=False):
    # Days after which it is refused; without it, it does not end.
    expires_in_days: Optional[int]
    # Let a dashboard key export and erase people.
    governance_grant: Optional[bool]
    name: Optional[str]
    # An agent key that publishes and searches only.
    no_reads: Optional[bool]


class _CreateWebhookRequestRequired(TypedDict):
    # The events that are sent.
    events: List[Literal["session.failed", "regeneration.done", "experiment.decided", "experiment.unhealthy", "playbook.helps", "playbook.hurts", "judge.paused", "judge.budget_reached", "alert.raised", "alert.cleared"]]
    # `https://…`, or `mailto:` and an address for the format `email`.
    url: str


class CreateWebhookRequest(_CreateWebhookRequestRequired, total=False):
    description: Optional[str]
    format: Optional[WebhookFormat]


class CreatedKey(TypedDict):
    key: Key
    # Shown this once; only its digest is kept.
    token: str


class _CreatedWebhookRequired(TypedDict):
    webhook: Webhook


class CreatedWebhook(_CreatedWebhookRequired, total=False):
    # `whsec_…`, which the signature is checked with. Shown this once; null unless the format is `standard`.
    secret: Optional[str]


# The lift made more precise with what users did before: an analysis of covariance.
class CupedLift(TypedDict):
    degrees_of_freedom: float
    # Lower and upper end.
    interval_95_pp: Optional[List[float]]
    interval_95_pp_null_reason: Optional[NullReason]
    lift_pp: Optional[float]
    lift_pp_null_reason: Optional[NullReason]
    p_value: float
    share_of_users_with_history: float
    standard_error_pp: Optional[float]
    standard_error_pp_null_reason: Optional[NullReason]
    theta: float
    variance_reduction: float


class _DeadJobRequired(TypedDict):
    attempts: int
    created_at: int
    # When it gave up.
    finished_at: int
    job_id: str
    kind: str


# A job that gave up: nothing of the person it may have been about.
class DeadJob(_DeadJobRequired, total=False):
    # Reason of the last attempt's failure, in the server's own words.
    last_error: Optional[str]


class _DeadJobsRequired(TypedDict):
    # The newest first.
    jobs: List[DeadJob]


class DeadJobs(_DeadJobsRequired, total=False):
    next_cursor: Optional[str]


class _DecisionRequired(TypedDict):
    decision: EvaluationDecision
    # In words; empty where the decision says it all.
    reason: str
    session_id: str
    user_id: UserId


# Evaluation decision on a session.
class Decision(_DecisionRequired, total=False):
    decided_at: Optional[int]
    # Due time, while it waits.
    due_at: Optional[int]


class DecisionCount(TypedDict):
    count: int
    decision: EvaluationDecision


class DecisionsResponse(TypedDict):
    decisions: List[Decision]


class DeclineTuningProposalRequest(TypedDict):
    proposal_id: str


class DeleteAgentPlaybookRequest(TypedDict):
    agent_playbook_id: int


class DeleteAgentPlaybooksByIdsRequest(TypedDict):
    agent_playbook_ids: List[int]


class DeleteInteractionRequest(TypedDict):
    interaction_id: int
    user_id: str


class DeleteProfileRequest(TypedDict):
    profile_id: str
    user_id: str


class DeleteProfilesByIdsRequest(TypedDict):
    profile_ids: List[str]


class DeleteRequestRequest(TypedDict):
    request_id: str


class DeleteRequestsByIdsRequest(TypedDict):
    request_ids: List[str]


class DeleteUserPlaybookRequest(TypedDict):
    user_playbook_id: int


class DeleteUserPlaybooksByIdsRequest(TypedDict):
    user_playbook_ids: List[int]


class Deleted(TypedDict):
    message: str
    success: bool


class DeletedAlertRule(TypedDict):
    success: bool


class DeletedLearning(TypedDict):
    message: str
    success: bool


class DeletedLearnings(TypedDict):
    deleted_count: int
    message: str
    success: bool


class DeletedRequests(TypedDict):
    deleted_count: int
    message: str
    success: bool


class DeletedSession(TypedDict):
    deleted_requests_count: int
    message: str
    success: bool


class DeletedWebhook(TypedDict):
    success: bool


class _EffectAtTimeRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float
    # Users with a judged session.
    served_users: int
    until: int
    withheld_users: int


# An effect by sessions in which the playbook was found until a time.
class EffectAtTime(_EffectAtTimeRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]


class _ErasedRequired(TypedDict):
    # Rows deleted so far, by target.
    deleted_counts: Dict[str, int]
    purge_id: str
    request_ref: str
    # Agent playbooks in which something that only this person said was masked.
    shared_texts_masked: int
    # `complete` with 200; anything else with 202.
    status: PurgeStatus
    # Stands for the person; cannot be turned back.
    subject_ref: str


class Erased(_ErasedRequired, total=False):
    completed_at: Optional[int]
    error_code: Optional[PurgeErrorCode]


class EstimatedSource(TypedDict):
    # From 0 to 1, over all these sessions; null with a reason under 30 labelled users.
    estimated: Number
    labelled_users: int
    # Labels of sessions that the review queue drew at random, and the users they are of.
    labels: int
    # Sessions that were due: decided, undecided or failed.
    sessions: int
    source: str


# Estimated success rates, one for each source.
class EstimatedSuccess(TypedDict):
    # In the order of their names.
    sources: List[EstimatedSource]


# Evaluation rates of the arms, and a test of their difference.
class EvaluationRates(TypedDict):
    difference_pp: Optional[float]
    difference_pp_null_reason: Optional[NullReason]
    holdout: Optional[float]
    holdout_null_reason: Optional[NullReason]
    # True if the arms are not judged equally often.
    mismatch: bool
    # Of a single look; nothing is concluded from it.
    p_value: Optional[float]
    p_value_null_reason: Optional[NullReason]
    # Over all looks; may be read every day.
    sequential_p_value: Optional[float]
    sequential_p_value_null_reason: Optional[NullReason]
    standard_error_pp: Optional[float]
    standard_error_pp_null_reason: Optional[NullReason]
    treatment: Optional[float]
    treatment_null_reason: Optional[NullReason]


class EvaluationSourceSetRequest(TypedDict):
    label: str
    # Each in one set only; the empty one matches requests published without a source.
    sources: List[str]


class _EvaluatorRequired(TypedDict):
    evaluation_name: str
    kind: RuleKind


class Evaluator(_EvaluatorRequired, total=False):
    # For `max_turns`: of the user.
    max_turns: Optional[int]
    # For `regex`: false makes a match a failure.
    must_match: Optional[bool]
    # For `regex`.
    pattern: Optional[str]
    # For `regex`: `user`, `agent` (when absent: everybody but the user) or a role's own name.
    role: Optional[str]
    # For `tool_used` and `tool_not_used`.
    tool_name: Optional[str]


# The purpose of an experiment. Empty where nothing was said.
class ExperimentAbout(TypedDict):
    # The expectation that it tests.
    hypothesis: str
    notes: str
    # The people who answer for it.
    owner: str


# The arms before first exposure, when nothing could differ but by chance.
class ExperimentBalance(TypedDict):
    corrections_per_session: ArmDifference
    sessions_per_user: ArmDifference
    # Success rate, from 0 to 1; its difference in points.
    success_rate: ArmDifference


# Decision of an experiment so far, safe to read every day.
class ExperimentDecision(TypedDict):
    # null while something is wrong.
    decision: Optional[LiftDecision]
    decision_null_reason: Optional[NullReason]
    failed_guardrail: bool
    # The smallest lift that matters.
    margin_percentage_points: float
    # The decision, for people.
    sentence: str


# Share of sessions that got a learning, the effect on them, and the lift where there was something to find.
class ExperimentDelivery(TypedDict):
    complier_effect_pp: Optional[float]
    complier_effect_pp_null_reason: Optional[NullReason]
    # Lower and upper end.
    complier_interval_95_pp: Optional[List[float]]
    complier_interval_95_pp_null_reason: Optional[NullReason]
    complier_standard_error_pp: Optional[float]
    complier_standard_error_pp_null_reason: Optional[NullReason]
    holdout_share: float
    treatment_share: float
    triggered: TriggeredLift


# An outcome that must not get worse, and whether it did.
class ExperimentGuardrail(TypedDict):
    # Small means worse; adjusted over all guardrails after Holm.
    deterioration_p_value: Optional[float]
    deterioration_p_value_null_reason: Optional[NullReason]
    # Always valid: it may be read every day.
    difference_interval_95: Optional[List[float]]
    difference_interval_95_null_reason: Optional[NullReason]
    # Treatment minus holdout; positive is worse.
    harm: Optional[float]
    harm_null_reason: Optional[NullReason]
    # Tolerable harm, in the unit of the outcome.
    margin: float
    name: GuardrailName
    # Small means passed; adjusted over all guardrails after Holm.
    non_inferiority_p_value: Optional[float]
    non_inferiority_p_value_null_reason: Optional[NullReason]
    verdict: GuardrailVerdict


# Health checks of an experiment. An unhealthy experiment has no decision, and keeps its numbers.
class ExperimentHealth(TypedDict):
    attribution: AttributionCounts
    balance: ExperimentBalance
    # Holdout sessions whose turns carried learnings.
    contaminated_holdout_session_count: int
    # Some of these sessions.
    contaminated_holdout_sessions: List[ContaminatedSession]
    evaluation_rate: EvaluationRates
    healthy: bool
    # Problems found, for people.
    problems: List[str]
    sample_ratio: SampleRatios
    # The lift if every session that should have been judged and was not had gone the worst way.
    worst_case_lift_pp: Optional[List[float]]
    worst_case_lift_pp_null_reason: Optional[NullReason]


# Statistical inference on the lift.
class ExperimentInference(TypedDict):
    # Of `confidence_interval_95_percentage_points`.
    ci_method: CiMethod
    cr2_p_value: Optional[float]
    cr2_p_value_null_reason: Optional[NullReason]
    # After Bell and McCaffrey.
    degrees_of_freedom: Optional[float]
    degrees_of_freedom_null_reason: Optional[NullReason]
    # Factor by which the clustering of sessions in users raises the number of sessions needed.
    design_effect: NumberByArm
    effective_sample_size: NumberByArm
    effective_users: NumberByArm
    # The quantity that the lift estimates, for people.
    estimand: str
    # Of `confidence_interval_95_percentage_points`.
    interval_null_reason: Optional[NullReason]
    intervals_95_pp: LiftIntervals
    # Of `success_rate_lift_percentage_points`.
    lift_null_reason: Optional[NullReason]
    p_value: Optional[float]
    p_value_null_reason: Optional[NullReason]
    # Lower and upper end.
    relative_interval_95: Optional[List[float]]
    relative_interval_95_null_reason: Optional[NullReason]
    # Of `relative_success_lift`.
    relative_lift_null_reason: Optional[NullReason]
    standard_error_pp: StandardErrors


# Shares of the learnings served to treatment that come from holdout users, or were made after the start.
class ExperimentInterference(TypedDict):
    estimand: str
    served_learnings: int
    share_from_playbooks_with_holdout_sources: float
    share_made_after_start: float


# Judges of the sessions, and the lift corrected for the judge's errors.
class ExperimentJudges(TypedDict):
    # Lower and upper end.
    corrected_interval_95_pp: Optional[List[float]]
    corrected_interval_95_pp_null_reason: Optional[NullReason]
    corrected_lift_pp: Optional[float]
    corrected_lift_pp_null_reason: Optional[NullReason]
    epochs: List[JudgeEpoch]
    labelled_sessions: int
    # True if there are several epochs: compare with care.
    mixed: bool
    # Lower and upper end.
    prediction_powered_interval_95_pp: Optional[List[float]]
    prediction_powered_interval_95_pp_null_reason: Optional[NullReason]
    prediction_powered_lift_pp: Optional[float]
    prediction_powered_lift_pp_null_reason: Optional[NullReason]


# The last look of a day at an experiment.
class ExperimentLook(TypedDict):
    # The always-valid interval as it was then; null with too few users.
    always_valid_interval_pp: Optional[List[float]]
    # The day's begin (UTC).
    day: int
    holdout_users: int
    lift_pp: float
    # Users with a judged session.
    treatment_users: int


# Robustness of the lift against single users.
class ExperimentRobustness(TypedDict):
    largest_leave_one_user_out_shift_pp: Optional[float]
    largest_leave_one_user_out_shift_pp_null_reason: Optional[NullReason]
    largest_user_share: float
    # True if one user has so many sessions of an arm that the headline interval is widened for it.
    one_user_dominates: bool
    # Test of no lift that assigns the users anew: it stands on the assignment alone.
    reassignment: Optional[Reassignment]
    reassignment_null_reason: Optional[NullReason]
    # Lower and upper end.
    user_weighted_interval_95_pp: Optional[List[float]]
    user_weighted_interval_95_pp_null_reason: Optional[NullReason]
    # Each user counts once.
    user_weighted_lift_pp: Optional[float]
    user_weighted_lift_pp_null_reason: Optional[NullReason]
    user_weighted_p_value: Optional[float]
    user_weighted_p_value_null_reason: Optional[NullReason]


# The lift by what sessions have in common.
class ExperimentSegments(TypedDict):
    agent_version: Segmentation
    source: Segmentation


# Change of the lift from week to week.
class ExperimentTrend(TypedDict):
    # Lower and upper end.
    slope_interval_95_pp: Optional[List[float]]
    slope_interval_95_pp_null_reason: Optional[NullReason]
    slope_p_value: Optional[float]
    slope_p_value_null_reason: Optional[NullReason]
    slope_pp_per_week: Optional[float]
    slope_pp_per_week_null_reason: Optional[NullReason]
    slope_standard_error_pp: Optional[float]
    slope_standard_error_pp_null_reason: Optional[NullReason]
    weeks: List[WeeklyLift]


# The document, which [`Shape`] writes piece by piece as it is read.
class ExportBundle(TypedDict):
    # Every list by its name, with its rows.
    bundle: Dict[str, List[Dict[str, Any]]]
    export_id: str
    generated_at: int
    manifest: Dict[str, SectionManifest]
    schema_version: int
    subject_ref: str


class FalsePass(TypedDict):
    result_id: int
    session_id: str
    user_id: UserId


class FinalizeResponse(TypedDict):
    finished_at: int
    message: str
    session_id: str
    success: bool
    user_id: UserId


class FlipView(TypedDict):
    candidate_is_success: bool
    # The candidate's, when it says failure.
    failure_reason: str
    live_is_success: bool
    session_id: str
    user_id: UserId


class GenerationStarted(TypedDict):
    msg: str
    # The name that its status is asked for with.
    operation_id: Generation
    # False if one is running already.
    success: bool


class _GetAgentPlaybooksResponseRequired(TypedDict):
    agent_playbooks: List[AgentPlaybook]
    success: bool


class GetAgentPlaybooksResponse(_GetAgentPlaybooksResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class GetAgentSuccessEvaluationResultsRequest(TypedDict, total=False):
    agent_version: Optional[str]
    # Also verdicts on versions of the agent that are not a session's latest.
    all_versions: Optional[bool]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # `agent_success`, or an evaluator's name; all of them when absent.
    evaluation_name: Optional[str]
    # How many.
    limit: Optional[int]
    session_id: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    user_id: Optional[str]


class _GetAgentSuccessEvaluationResultsResponseRequired(TypedDict):
    agent_success_evaluation_results: List[AgentSuccessEvaluationResult]
    success: bool


class GetAgentSuccessEvaluationResultsResponse(_GetAgentSuccessEvaluationResultsResponseRequired, total=False):
    msg: Optional[str]


class _GetAllProfilesResponseRequired(TypedDict):
    success: bool
    user_profiles: List[Profile]


class GetAllProfilesResponse(_GetAllProfilesResponseRequired, total=False):
    msg: Optional[str]


class _GetEvaluationOverviewRequestRequired(TypedDict):
    # Included: of the sessions' first requests. Unix seconds or RFC 3339.
    from_ts: Union[float, str]
    # Included; not before `from_ts`. Unix seconds or RFC 3339.
    to_ts: Union[float, str]


class GetEvaluationOverviewRequest(_GetEvaluationOverviewRequestRequired, total=False):
    # Everything in the answer but `available_agent_versions` is about this version of the agent; about all when
    # absent. Verdicts, and the rules that their sessions cite, count under the version they were stored for: a
    # session judged for two versions is in the overviews of both, each with its own verdict. A shadow comparison of a
    # turn counts under the version of the turn's request; the preference of a session and imported scores under that
    # of the session's newest request.
    agent_version: Optional[str]
    bucket: Optional[Bucket]
    # Whether rules and what they go with are told: most of the work over many sessions.
    include_rules: Optional[bool]
    # Whether lists of sessions are filled.
    include_session_ids: Optional[bool]
    include_shadow: Optional[bool]
    # Cohorts to be compared.
    source_sets: Optional[List[EvaluationSourceSetRequest]]


class _GetEvaluationOverviewResponseRequired(TypedDict):
    # Versions of the agent with a verdict in the window, in the order of their names; all of them, also when one is
    # asked for.
    available_agent_versions: List[str]
    context_tiles: ContextTile
    hero: HeroBlock
    # The judges of the verdicts in `recent_results`, the most frequent first.
    judges: List[JudgeShare]
    partner_tiles: List[PartnerTileRow]
    # The newest 100 of the window.
    recent_results: List[AgentSuccessEvaluationResult]
    # Empty with `include_rules: false`.
    rule_attribution: List[RuleAttributionRow]
    # When the intervals and associations of rules were computed; over many sessions it may be some minutes ago.
    rules_as_of: int
    score_distribution: ScoreDistribution


class GetEvaluationOverviewResponse(_GetEvaluationOverviewResponseRequired, total=False):
    shadow_win_rate_trend: Optional[ShadowWinRateTrend]
    source_set_comparison: Optional[SourceSetComparison]


class _GetInteractionsRequestRequired(TypedDict):
    user_id: str


class GetInteractionsRequest(_GetInteractionsRequestRequired, total=False):
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # How many turns.
    top_k: Optional[int]


class _GetInteractionsResponseRequired(TypedDict):
    interactions: List[Interaction]
    success: bool


class GetInteractionsResponse(_GetInteractionsResponseRequired, total=False):
    msg: Optional[str]


class GetLearningProvenanceRequest(TypedDict):
    kind: LearningKind
    # A playbook's number as text.
    learning_id: str


class GetPlaybooksRequest(TypedDict, total=False):
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # The same as `top_k`.
    limit: Optional[int]
    playbook_name: Optional[str]
    # Of agent playbooks; all when absent. Agents get approved ones only, and pending ones too while the organization
    # sets `serve_pending`.
    playbook_status_filter: Optional[Union[PlaybookStatus, List[PlaybookStatus]]]
    request_id: Optional[str]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Null means current; current when absent.
    status_filter: Optional[List[Optional[LearningStatus]]]
    # Any of these.
    tags: Optional[List[str]]
    top_k: Optional[int]
    # User playbooks are those of all users without it.
    user_id: Optional[str]


class _GetProfilesRequestRequired(TypedDict):
    user_id: str


class GetProfilesRequest(_GetProfilesRequestRequired, total=False):
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # The same as `top_k`.
    limit: Optional[int]
    playbook_name: Optional[str]
    # Of agent playbooks; all when absent. Agents get approved ones only, and pending ones too while the organization
    # sets `serve_pending`.
    playbook_status_filter: Optional[Union[PlaybookStatus, List[PlaybookStatus]]]
    request_id: Optional[str]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Null means current; current when absent.
    status_filter: Optional[List[Optional[LearningStatus]]]
    # Any of these.
    tags: Optional[List[str]]
    top_k: Optional[int]


class _GetProfilesResponseRequired(TypedDict):
    success: bool
    user_profiles: List[Profile]


class GetProfilesResponse(_GetProfilesResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class GetRequestsRequest(TypedDict, total=False):
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # Sessions to skip.
    offset: Optional[int]
    request_id: Optional[str]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # How many sessions.
    top_k: Optional[int]
    user_id: Optional[str]


class _GetRequestsResponseRequired(TypedDict):
    has_more: bool
    sessions: List[SessionRequests]
    success: bool


class GetRequestsResponse(_GetRequestsResponseRequired, total=False):
    msg: Optional[str]


class GetRetrievedLearningEvaluationResultsRequest(TypedDict, total=False):
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # How many.
    limit: Optional[int]
    session_id: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    user_id: Optional[str]


class _GetRetrievedLearningEvaluationResultsResponseRequired(TypedDict):
    results: List[RetrievedLearningEvaluationResult]
    success: bool


class GetRetrievedLearningEvaluationResultsResponse(_GetRetrievedLearningEvaluationResultsResponseRequired, total=False):
    msg: Optional[str]


class GetSessionOutcomesRequest(TypedDict, total=False):
    # Included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    label: Optional[str]
    # Outcomes to skip.
    offset: Optional[int]
    outcome: Optional[SessionOutcomeKind]
    # All sessions when absent.
    session_ids: Optional[List[str]]
    # Of the session's first request.
    source: Optional[str]
    # When it occurred, included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # How many; 100 when absent, or as many as `session_ids` can have.
    top_k: Optional[int]
    user_id: Optional[str]


class _GetSessionOutcomesResponseRequired(TypedDict):
    message: str
    session_outcomes: List[ListedOutcome]
    success: bool


class GetSessionOutcomesResponse(_GetSessionOutcomesResponseRequired, total=False):
    msg: Optional[str]


class _GetUserPlaybooksResponseRequired(TypedDict):
    success: bool
    user_playbooks: List[UserPlaybook]


class GetUserPlaybooksResponse(_GetUserPlaybooksResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class GovernanceConfig(TypedDict):
    pass


class GovernanceRequest(TypedDict):
    # The caller's own: the same pair of user and request is the same operation.
    request_id: str
    user_id: str


class _GradeRequired(TypedDict):
    # The verdict was there already.
    cached: bool
    session_id: str
    # The session grew since it was judged; ask with `refresh` to grade it again.
    stale: bool


class Grade(_GradeRequired, total=False):
    result_id: Optional[int]
    retrieved_learning_status: Optional[RetrievedLearningStatus]
    skipped_reason: Optional[SkippedReason]


class _GradeOnDemandRequestRequired(TypedDict):
    agent_version: str
    session_id: str


class GradeOnDemandRequest(_GradeOnDemandRequestRequired, total=False):
    evaluation_name: Optional[str]
    # Grade again, whatever is cached.
    refresh: Optional[bool]
    # Needed when several users have a session of this id.
    user_id: Optional[str]


# Sessions with a label or an outcome, and how many a model takes.
class GroundTruthProgress(TypedDict):
    failures: int
    labels: int
    needed: int
    needed_of_each: int
    sessions: int
    successes: int


class Health(TypedDict):
    checks: List[Check]
    status: HealthStatus


class _HeroBlockRequired(TypedDict):
    # Verdicts of failure.
    failures_with_evidence: int
    # Rules alone judged: there is no success rate, only failures with evidence.
    only_rules: bool
    # Sessions that were due and have no verdict: the judge abstained, or failed.
    without_verdict: int
    # Buckets with something in them, oldest first.
    buckets: List[HeroBucket]
    # Few users: read the interval with care.
    few_users: bool
    # Judged sessions in the window.
    n: int
    state: HeroState


class HeroBlock(_HeroBlockRequired, total=False):
    # Its ends, in the unit of the change.
    delta_ci95: Optional[List[float]]
    delta_ci95_null_reason: Optional[NullReason]
    # Ways to a success rate, for people; null unless rules alone judge.
    advice: Optional[str]
    # Of the sessions that were due, the share with a verdict; null if none was due.
    judged_share: Optional[float]
    ci95_null_reason: Optional[NullReason]
    # Interval of the success rate, in points.
    ci95_pp: Optional[List[float]]
    # The share that prefers the regular responses minus that, in points.
    delta_pp: Optional[float]
    # 0 to 100; null without results, and where rules alone judged.
    regular_success_rate_pp: Optional[float]
    # The share of sessions whose shadow responses are preferred, ties by half; null without comparisons.
    shadow_success_rate_pp: Optional[float]


class _HeroBucketRequired(TypedDict):
    # Few users: read it with care.
    few_users: bool
    # Judged sessions.
    regular_n: int
    # Sessions with a comparison.
    shadow_n: int
    # The start of the day or week, UTC.
    ts: int


# One bar of the charts.
class HeroBucket(_HeroBucketRequired, total=False):
    # Its ends, in the unit of the number it belongs to.
    ci95: Optional[List[float]]
    ci95_null_reason: Optional[NullReason]
    avg_corrections: Optional[float]
    escalation_rate: Optional[float]
    # Of the sessions that were due, the share with a verdict; null if none was due.
    judged_share: Optional[float]
    # 0 to 1; null without verdicts, and where rules alone judged.
    regular_rate: Optional[float]
    # The share of sessions that prefers the shadow responses, ties by half; null without comparisons.
    shadow_rate: Optional[float]


class _ImpactRequired(TypedDict):
    clustered_by: ClusteredBy
    # Number of clusters.
    clusters: int
    judged: int
    negative: int
    neutral: int
    positive: int


class Impact(_ImpactRequired, total=False):
    # 95 % interval of the mean, clustered by `clustered_by`; null with fewer than two clusters.
    ci95: Optional[List[float]]
    # From -1 (always negative) to 1 (always positive); null without verdicts.
    mean: Optional[float]
    # Of no impact: below 0.05 where the interval excludes 0.
    p_value: Optional[float]


class _ImportScoreRequestRequired(TypedDict):
    scorer_name: str
    session_id: str
    # Unique per score: the same one again is not counted twice.
    source_run_id: str
    # When the score was given. Unix seconds or RFC 3339.
    ts: Union[float, str]
    value: float


class ImportScoreRequest(_ImportScoreRequestRequired, total=False):
    # Needed when several users have a session of this id.
    user_id: Optional[str]


class ImportScoreResponse(TypedDict):
    # False when this score was imported before.
    recorded: bool
    success: bool
    user_id: UserId


# One thing wrong with the input, with the JSON pointer to it.
class InputProblem(TypedDict):
    code: str
    detail: str
    # JSON pointer into the body, or the name of the query parameter after a slash.
    pointer: str


class _InteractionRequired(TypedDict):
    citations: List[Citation]
    content: str
    created_at: int
    expert_content: str
    interacted_image_url: str
    interaction_id: int
    request_id: str
    retrieved_learnings: List[RetrievedLearning]
    role: str
    shadow_content: str
    tools_used: List[ToolUsed]
    user_action: UserAction
    user_action_description: str
    user_id: UserId


# One turn, as it is read back.
class Interaction(_InteractionRequired, total=False):
    # Tokens of `content` (cl100k_base).
    token_count: Optional[int]
    usage: Optional[Usage]


class InteractionData(TypedDict, total=False):
    citations: Optional[List[Citation]]
    content: Optional[str]
    # When absent, the time of the turn before it, or the request's. Unix seconds or RFC 3339.
    created_at: Optional[Union[float, str]]
    # The response an expert would have given.
    expert_content: Optional[str]
    image_encoding: Optional[str]
    # http, https or data; never fetched.
    interacted_image_url: Optional[str]
    retrieved_learnings: Optional[List[RetrievedLearning]]
    # `User` when absent.
    role: Optional[str]
    # The response of another agent, to be compared with `content`.
    shadow_content: Optional[str]
    tools_used: Optional[List[ToolUsed]]
    # The model's call behind this turn.
    usage: Optional[Usage]
    user_action: Optional[UserAction]
    user_action_description: Optional[str]


class InvalidateCacheRequest(TypedDict, total=False):
    # Refused if it is another than the caller's.
    org_id: Optional[str]


class InvalidatedCache(TypedDict):
    # False: there is nothing to invalidate, as every read sees the newest configuration.
    invalidated: bool
    org_id: OrgId


# One line of the operators' summary.
class JobCount(TypedDict):
    count: int
    kind: str
    state: QueueState


class JobsSummary(TypedDict):
    jobs: List[JobCount]
    # Waiting time of the oldest due job; 0 when nothing is late.
    oldest_due_age_seconds: int


class JudgeConfig(TypedDict, total=False):
    # Whether a session that was handed over to a person counts as failed.
    escalation_means_failure: Optional[bool]
    # null means the newest rubric this server has.
    learning_impact_prompt_version: Optional[str]
    # null means the newest rubric this server has.
    learning_relevance_prompt_version: Optional[str]
    # null, or the model this server judges with: it has one for all organizations.
    model: Optional[str]
    # The first of these that is available judges: `llm` if a model is configured, `learned` once it is trained,
    # `rules` always.
    order: Optional[Union[JudgeKind, List[JudgeKind]]]
    # null means the newest rubric this server has.
    session_success_prompt_version: Optional[str]


class _JudgeDiffRequired(TypedDict):
    both_failure: int
    both_success: int
    # Sessions with both verdicts.
    compared: int
    # At most 200.
    flips: List[FlipView]
    flips_to_failure: int
    flips_to_success: int
    # McNemar's test: do flips go one way more than the other? The value is the exact p.
    mcnemar_p: Number
    progress: RegenerateStatusResponse
    # Sessions without a live verdict: nothing to compare with.
    without_live_verdict: int


class JudgeDiff(_JudgeDiffRequired, total=False):
    candidate_success_rate: Optional[float]
    live_success_rate: Optional[float]
    mcnemar_chi_square: Optional[float]


class _JudgeDiffRequestRequired(TypedDict):
    # The version of the session rubric, or the model `learned/<number>` that is in use, to compare with the live
    # verdicts.
    candidate_version: str
    # Included: of the sessions' first requests. Unix seconds or RFC 3339.
    from_ts: Union[float, str]
    # Included; the future is read as now. Unix seconds or RFC 3339.
    to_ts: Union[float, str]


class JudgeDiffRequest(_JudgeDiffRequestRequired, total=False):
    # Stop when this much is spent.
    max_cost_usd: Optional[float]


# Judge and rubric, with the lift of each: numbers of two rubrics are never pooled in silence.
class JudgeEpoch(TypedDict):
    holdout_sessions: int
    judge: str
    lift_pp: Optional[float]
    lift_pp_null_reason: Optional[NullReason]
    prompt_version: str
    treatment_sessions: int


class _JudgeHealthRequired(TypedDict):
    # Calls under way in this process.
    calls_under_way: int
    # 0 means no limit.
    daily_budget_usd: float
    # The newest decision of every session decided in the last seven days, by kind.
    decisions: List[DecisionCount]
    # The judge of the next session: `rules`, `learned/` and the number of the learned judge, or provider/model.
    judge: str
    # No model of a provider is configured.
    offline: bool
    # Reasons for missing verdicts in these seven days, most frequent first.
    reasons: List[ReasonCount]
    # US dollars this process spent today (UTC).
    spent_today_usd: float
    state: JudgeActivity


# The judge at a glance.
class JudgeHealth(_JudgeHealthRequired, total=False):
    # Reason for the pause, in words.
    paused_reason: Optional[str]
    paused_since: Optional[int]


# A judge, and how many of the newest verdicts are its.
class JudgeShare(TypedDict):
    # Rules over words, not a model: they decide on evidence alone, and have no success rate.
    is_rules: bool
    # `rules`, `learned/<number>`, or provider/model as the provider reported it.
    judge: str
    n: int


class _KeyRequired(TypedDict):
    created_at: int
    credential_id: str
    grants: List[Grant]
    name: str
    # False for an agent key that publishes and searches only.
    reads: bool
    role: Role


# A credential, without its token.
class Key(_KeyRequired, total=False):
    # From then on it is refused.
    expires_at: Optional[int]
    # When it was last used, to the hour.
    last_used_at: Optional[int]
    revoked_at: Optional[int]


class KeysResponse(TypedDict):
    # Newest first, revoked ones included.
    keys: List[Key]


class _LabelRequired(TypedDict):
    session_id: str


class Label(_LabelRequired, total=False):
    evaluation_name: Optional[str]
    failure_type: Optional[Literal["system_error", "missing_tool", "wrong_tool", "insufficient_info_from_tool", "wrong_answer"]]
    # How the session went; needed without an opinion.
    is_success: Optional[bool]
    labelled_by: Optional[str]
    note: Optional[str]
    # Instead of is_success: whether the judge's verdict is right.
    opinion: Optional[Opinion]
    # Needed when several users have a session of this id.
    user_id: Optional[str]


# A label as it is read back.
class LabelView(TypedDict):
    evaluation_name: str
    # Empty on success.
    failure_type: FailureType
    is_success: bool
    labelled_at: int
    labelled_by: str
    note: str
    session_id: str
    user_id: UserId


class LabelsRequest(TypedDict):
    labels: List[Label]


class LabelsResponse(TypedDict):
    labelled: int
    success: bool


# Judge and people on the newest labels.
class LastLabels(TypedDict):
    # The judge says the same, the opposite, or nothing.
    agreed: int
    disagreed: int
    labels: int
    undecided: int


class _LearnedJudgeRequired(TypedDict):
    ground_truth: GroundTruthProgress
    # It judges the sessions that become due: it is trained, and first in `judge.order` of those available.
    is_judging: bool


# The learned judge of an organization.
class LearnedJudge(_LearnedJudgeRequired, total=False):
    comparison: Optional[Comparison]
    report_card: Optional[Report]
    trained_at: Optional[int]
    # `learned/<number>`; null until one is trained.
    version: Optional[str]


class LearningConfig(TypedDict, total=False):
    # Whether playbooks of several people become pending agent playbooks.
    aggregation: Optional[bool]
    # Whether what is published is learned from.
    enabled: Optional[bool]
    # null means the newest rubric this server has.
    extraction_prompt_version: Optional[str]
    # A shorter window is read when nothing came for this long.
    idle_seconds: Optional[int]
    # Different people who must have taught the same before it is proposed for all.
    min_users: Optional[int]
    # How far the next window begins after the last one; at most `window`.
    stride: Optional[int]
    # Judged sessions before a learning can be proposed for archiving or editing.
    tuning_min_sessions: Optional[int]
    # Interactions of one person that are read together.
    window: Optional[int]


class _LearningEffectRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float
    agent_playbook_id: int
    # Epochs of its present text.
    epochs: int
    # True if it was found to help and is withheld from few users since.
    is_settled: bool
    served: TrialSide
    # Share of users from whom it is withheld now.
    share: float
    started_at: int
    state: TrialState
    withheld: TrialSide


# The effect of a playbook's present text, judged among those of all playbooks.
class LearningEffect(_LearningEffectRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]
    # Days until an effect of five points could be seen, at the present traffic.
    days_until_five_points: Optional[int]
    # True if the sides have their shares of users; null without users.
    sample_ratio_ok: Optional[bool]
    shrunken: Optional[ShrunkenEffect]
    # The smallest effect that could be seen by now.
    smallest_visible_effect: Optional[float]


class _LearningEffectDetailRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float
    agent_playbook_id: int
    # Epochs of its present text.
    epochs: int
    # True if it was found to help and is withheld from few users since.
    is_settled: bool
    served: TrialSide
    # Share of users from whom it is withheld now.
    share: float
    started_at: int
    state: TrialState
    withheld: TrialSide
    agent_version: str
    content: str
    playbook_name: str
    # The texts that were on trial, the oldest first. Numbers of an old text stay with it.
    revisions: List[TrialRevision]
    # The effect of the present text as it was known at these times.
    series: List[EffectAtTime]


# One playbook's effect, with its texts and its course.
class LearningEffectDetail(_LearningEffectDetailRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]
    # Days until an effect of five points could be seen, at the present traffic.
    days_until_five_points: Optional[int]
    # True if the sides have their shares of users; null without users.
    sample_ratio_ok: Optional[bool]
    shrunken: Optional[ShrunkenEffect]
    # The smallest effect that could be seen by now.
    smallest_visible_effect: Optional[float]
    playbook_status: Optional[PlaybookStatus]


class _LearningEffectEstimateRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float


# Success with a playbook minus success without it, in percentage points.
class LearningEffectEstimate(_LearningEffectEstimateRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]


class LearningEffects(TypedDict):
    # When they were computed; over many users it may be a minute ago.
    as_of: int
    # The best first by their shrunken means, those without an effect last.
    effects: List[ListedEffect]
    # Effects that pass the filter.
    total: int
    # Whether playbooks are withheld from anybody now.
    trials_enabled: bool


class _LearningProvenanceRequired(TypedDict):
    # Of agent playbooks: who proposed, approved, edited or rejected it, oldest first.
    decisions: List[PlaybookDecision]
    # Cited turns that were deleted since.
    deleted_interaction_ids: List[int]
    # The turns it stands on, of people who are still there.
    interactions: List[SourceTurn]
    kind: LearningKind
    learning_id: str
    # Proposals, merges and replacements that led to it, oldest first. Empty for a learning added through the API.
    proposals: List[ProposalRecord]
    # Of agent playbooks: the user playbooks it came from, with their own way.
    sources: List[PlaybookSource]
    success: bool


class LearningProvenance(_LearningProvenanceRequired, total=False):
    # Of agent playbooks: how many different people they are of.
    source_user_count: Optional[int]
    status: Optional[LearningStatus]
    # Id of the learning that replaced it, if one did.
    superseded_by: Optional[str]
    user_id: Optional[UserId]


class _LearningStatusResponseRequired(TypedDict):
    request_id: str
    status: LearningProgress


class LearningStatusResponse(_LearningStatusResponseRequired, total=False):
    reason: Optional[str]


class LearningTrialsConfig(TypedDict, total=False):
    # Ids or tags of playbooks that everybody gets: those of safety and law.
    always_serve: Optional[List[str]]
    # Whether approved agent playbooks are withheld from some users, to see which help.
    enabled: Optional[bool]
    # Share of users who do not get a playbook of which it is not known whether it helps; 0.2.
    new_share: Optional[float]
    # The same of a playbook that is known to help; 0.02.
    settled_share: Optional[float]


# The interval of the lift by every method.
class LiftIntervals(TypedDict):
    # Lower and upper end.
    clustered_newcombe_tbm: Optional[List[float]]
    clustered_newcombe_tbm_null_reason: Optional[NullReason]
    # Lower and upper end.
    cr1_t_clusters_minus_1: Optional[List[float]]
    cr1_t_clusters_minus_1_null_reason: Optional[NullReason]
    # Lower and upper end.
    cr2_bell_mccaffrey: Optional[List[float]]
    cr2_bell_mccaffrey_null_reason: Optional[NullReason]
    # Lower and upper end.
    delta_welch: Optional[List[float]]
    delta_welch_null_reason: Optional[NullReason]
    # Lower and upper end.
    newcombe_neff: Optional[List[float]]
    newcombe_neff_null_reason: Optional[NullReason]


# The lift within one segment. Small segments go together without a name; of fewer than five users nothing is shown.
class LiftSegment(TypedDict):
    # Adjusted over all segments: the larger of that after Benjamini and Hochberg and that after Westfall and Young.
    adjusted_p_value: Optional[float]
    adjusted_p_value_null_reason: Optional[NullReason]
    holdout_users: Optional[int]
    holdout_users_null_reason: Optional[NullReason]
    # Lower and upper end.
    interval_95_pp: Optional[List[float]]
    interval_95_pp_null_reason: Optional[NullReason]
    lift_pp: Optional[float]
    lift_pp_null_reason: Optional[NullReason]
    # null for the small ones together.
    name: Optional[str]
    p_value: Optional[float]
    p_value_null_reason: Optional[NullReason]
    pooled: bool
    standard_error_pp: Optional[float]
    standard_error_pp_null_reason: Optional[NullReason]
    treatment_users: Optional[int]
    treatment_users_null_reason: Optional[NullReason]


class _ListSessionsResponseRequired(TypedDict):
    sessions: List[ListedSession]


# A page of sessions, in the order of their last activity.
class ListSessionsResponse(_ListSessionsResponseRequired, total=False):
    # Ask with this for the next page; null on the last.
    next_cursor: Optional[str]
    # Set where a page is not full because too many sessions had to be looked at: only those with a last activity up
    # to here were. `next_cursor` goes on with the others.
    searched_to: Optional[int]
    # Sessions of the filter on all pages, at most 10,000; null unless `count` asks for it, and where it cannot be
    # told in a second.
    total: Optional[int]


class _ListedEffectRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float
    agent_playbook_id: int
    # Epochs of its present text.
    epochs: int
    # True if it was found to help and is withheld from few users since.
    is_settled: bool
    served: TrialSide
    # Share of users from whom it is withheld now.
    share: float
    started_at: int
    state: TrialState
    withheld: TrialSide
    agent_version: str
    content: str
    playbook_name: str


# An effect with the playbook that it is of.
class ListedEffect(_ListedEffectRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]
    # Days until an effect of five points could be seen, at the present traffic.
    days_until_five_points: Optional[int]
    # True if the sides have their shares of users; null without users.
    sample_ratio_ok: Optional[bool]
    shrunken: Optional[ShrunkenEffect]
    # The smallest effect that could be seen by now.
    smallest_visible_effect: Optional[float]
    playbook_status: Optional[PlaybookStatus]


class _ListedOutcomeRequired(TypedDict):
    occurred_at: int
    outcome: SessionOutcomeKind
    recorded_at: int
    revision: int
    session_id: str
    user_id: UserId
    # The same as `recorded_at`, under the name that existing clients read.
    created_at: int
    # The source of the session's first request.
    source: str


# An outcome in a list: with what the list can be narrowed by.
class ListedOutcome(_ListedOutcomeRequired, total=False):
    label: Optional[str]
    metadata: Optional[Dict[str, Any]]
    value: Optional[float]


class _ListedSessionRequired(TypedDict):
    # The agent version of its newest request.
    agent_version: str
    # Time of its first request; dates its verdicts.
    first_request_at: int
    interaction_count: int
    last_request_at: int
    request_count: int
    session_id: str
    # The source of its first request.
    source: str
    user_id: UserId
    calls: CallTotals


# A session in a list, with its newest verdict. Null where it has none.
class ListedSession(_ListedSessionRequired, total=False):
    # Time at which it was declared finished, if it was and has not grown since.
    finished_at: Optional[int]
    # Empty on success.
    failure_reason: Optional[str]
    failure_type: Optional[FailureType]
    # The beginning of the user's first turn.
    first_words: Optional[str]
    is_escalated: Optional[bool]
    is_success: Optional[bool]
    number_of_correction_per_session: Optional[int]


class MarkPendingToolCallNotApplicableRequest(TypedDict, total=False):
    # The answer is given again to the same question for so long; 30 days when absent.
    valid_for_seconds: Optional[int]


class _MeanTileRequired(TypedDict):
    # Few users: read it with care.
    few_users: bool


# A mean of the current window and its change; null where there is nothing to say.
class MeanTile(_MeanTileRequired, total=False):
    # Its ends, in the unit of the number it belongs to.
    ci95: Optional[List[float]]
    ci95_null_reason: Optional[NullReason]
    # Its ends, in the unit of the change.
    delta_ci95: Optional[List[float]]
    delta_ci95_null_reason: Optional[NullReason]
    current: Optional[float]
    delta: Optional[float]


class _MyConfigRequired(TypedDict):
    message: str
    # Always empty: credentials of the storage stay with the server.
    storage_config: Dict[str, Any]
    success: bool


class MyConfig(_MyConfigRequired, total=False):
    storage_type: Optional[Engine]


class NewAgentPlaybook(TypedDict, total=False):
    agent_version: Optional[str]
    # Approve it although `flags` names reasons to look at it twice.
    confirmed: Optional[bool]
    # This or `trigger` must say something.
    content: Optional[str]
    # Now when absent. Unix seconds or RFC 3339.
    created_at: Optional[Union[float, str]]
    playbook_metadata: Optional[str]
    playbook_name: Optional[str]
    playbook_status: Optional[PlaybookStatus]
    rationale: Optional[str]
    # The user playbooks it came from.
    source_windows: Optional[List[SourceWindow]]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]
    trigger: Optional[str]


class _NewProfileRequired(TypedDict):
    content: str
    user_id: str


class NewProfile(_NewProfileRequired, total=False):
    custom_features: Optional[Dict[str, Any]]
    # From the time to live when absent. Unix seconds or RFC 3339.
    expiration_timestamp: Optional[Union[float, str]]
    generated_from_request_id: Optional[str]
    # Now when absent. Unix seconds or RFC 3339.
    last_modified_timestamp: Optional[Union[float, str]]
    # Minted when absent or empty.
    profile_id: Optional[str]
    profile_time_to_live: Optional[TimeToLive]
    source: Optional[str]
    source_interaction_ids: Optional[List[int]]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]


class _NewUserPlaybookRequired(TypedDict):
    user_id: str


class NewUserPlaybook(_NewUserPlaybookRequired, total=False):
    agent_version: Optional[str]
    # This or `trigger` must say something.
    content: Optional[str]
    # Now when absent. Unix seconds or RFC 3339.
    created_at: Optional[Union[float, str]]
    playbook_name: Optional[str]
    rationale: Optional[str]
    request_id: Optional[str]
    source: Optional[str]
    source_interaction_ids: Optional[List[int]]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]
    trigger: Optional[str]


# A number with its interval, or the reason why there is none.
class Number(TypedDict, total=False):
    ci95: Optional[List[float]]
    null_reason: Optional[str]
    value: Optional[float]


# A number of each arm.
class NumberByArm(TypedDict):
    holdout: Optional[float]
    holdout_null_reason: Optional[NullReason]
    treatment: Optional[float]
    treatment_null_reason: Optional[NullReason]


class _OperationStatusRequired(TypedDict):
    success: bool


class OperationStatus(_OperationStatusRequired, total=False):
    operation_status: Optional[OperationStatusInfo]


class _OperationStatusInfoRequired(TypedDict):
    processed_users: int
    # 0 to 100.
    progress_percentage: float
    service_name: Generation
    started_at: int
    status: OperationState
    # People with turns that are read.
    total_users: int


# Status of the newest operation of a name.
class OperationStatusInfo(_OperationStatusInfoRequired, total=False):
    completed_at: Optional[int]
    error_message: Optional[str]


OrgId = str

class OrganizationConfig(TypedDict, total=False):
    # What the agent is and does, for the judge.
    agent_context_prompt: Optional[str]
    agent_success_config: Optional[AgentSuccessConfig]
    # Keys are hidden before they are stored.
    api_key_config: Optional[Dict[str, Any]]
    enable_document_expansion: Optional[bool]
    # Judgements of one regeneration at a time.
    eval_concurrency_limit: Optional[int]
    # Sessions of one day and source that a regeneration judges.
    eval_sample_n_per_stratum: Optional[int]
    # Evaluators that are rules: free, each under its own name.
    evaluators: Optional[List[Evaluator]]
    expiry_reclamation: Optional[Dict[str, Any]]
    extraction_preset: Optional[ExtractionPreset]
    governance: Optional[GovernanceConfig]
    governance_retention: Optional[Dict[str, Any]]
    judge: Optional[JudgeConfig]
    learning: Optional[LearningConfig]
    learning_trials: Optional[LearningTrialsConfig]
    lineage_gc: Optional[Dict[str, Any]]
    llm_config: Optional[Dict[str, Any]]
    pending_tool_call_config: Optional[Dict[str, Any]]
    playbook_optimizer_config: Optional[Dict[str, Any]]
    profile_extractor_config: Optional[Dict[str, Any]]
    retrieval_floor: Optional[Dict[str, Any]]
    # Whether agents are served agent playbooks that nobody has approved yet. Rejected ones are never served.
    serve_pending: Optional[bool]
    # Judge each pair twice, the second time in the other order.
    shadow_both_orders: Optional[bool]
    # The rubric of shadow comparisons; only its verdicts are shown.
    shadow_comparison_judge_prompt_version: Optional[str]
    shadow_mode_enabled: Optional[bool]
    skip_should_run_check: Optional[bool]
    # The server's storage is set where it is started.
    storage_config: Optional[Dict[str, Any]]
    storage_config_test: Optional[int]
    # At most `window_size`.
    stride_size: Optional[int]
    # The tools the agent has, for the judge.
    tool_can_use: Optional[List[ToolCanUse]]
    user_playbook_extractor_config: Optional[Dict[str, Any]]
    # Of the configuration that is changed: refused when somebody else changed something in between.
    version: Optional[int]
    # `learning.window` is the one that counts.
    window_size: Optional[int]


class _PartnerTileRowRequired(TypedDict):
    current: float
    n: int
    scorer_name: str


# The mean of one scorer's imported scores.
class PartnerTileRow(_PartnerTileRowRequired, total=False):
    # null without scores in the window before.
    delta: Optional[float]


class _PendingToolCallRequired(TypedDict):
    args: Dict[str, Any]
    created_at: int
    dedup_key: str
    expires_at: int
    id: str
    org_id: OrgId
    question_text: str
    # The user whom it is about.
    scope: Dict[str, Any]
    scope_hash: str
    status: QuestionStatus
    tags: List[str]
    tool_name: str
    user_id: UserId


# A question as clients read it.
class PendingToolCall(_PendingToolCallRequired, total=False):
    answer_format: Optional[str]
    # The same as `valid_until`.
    cache_until: Optional[int]
    resolved_at: Optional[int]
    # The answer: `{"answer": …}`, or what the tool would have given.
    result: Optional[Dict[str, Any]]
    superseded_by: Optional[str]
    # Until then the answer is given to an agent that asks the same.
    valid_until: Optional[int]


class PendingToolCalls(TypedDict):
    pending_tool_calls: List[PendingToolCall]


# A decision about an agent playbook.
class PlaybookDecision(TypedDict):
    actor: DeciderKind
    decided_at: int
    decision: DecisionKind


# Diagnosis of a learning that did not help, as far as the session shows it.
class PlaybookDiagnosis(TypedDict):
    category: DiagnosisCategory
    # Turns of the session, each once.
    evidence_interaction_ids: List[int]
    reason: str


# A user playbook that an agent playbook came from.
class PlaybookSource(TypedDict):
    proposals: List[ProposalRecord]
    source_interaction_ids: List[int]
    user_id: UserId
    user_playbook_id: int


class Preview(TypedDict):
    # Rows by target.
    counts: Dict[str, int]
    subject_ref: str
    total: int


class PreviewRequest(TypedDict):
    user_id: str


# The body of every error answer.
class Problem(TypedDict):
    code: Code
    # The fault of this request and the next thing to do about it.
    detail: str
    # For bad input: its problems, each with its place; at most 100.
    errors: List[InputProblem]
    # Further problems of the same input that `errors` does not list.
    errors_not_listed: int
    # The same id as in the header X-Request-Id and in the server's log.
    request_id: str
    status: int
    # The reason phrase of the status.
    title: str
    # A stable address that names the kind of problem.
    type: str


class _ProfileRequired(TypedDict):
    content: str
    # From then on it is not returned; 4102444800 means never.
    expiration_timestamp: int
    generated_from_request_id: str
    last_modified_timestamp: int
    profile_id: str
    profile_time_to_live: TimeToLive
    source: str
    source_interaction_ids: List[int]
    tags: List[str]
    user_id: UserId


# Something an agent knows about a person.
class Profile(_ProfileRequired, total=False):
    custom_features: Optional[Dict[str, Any]]
    status: Optional[LearningStatus]


class _ProfileChangeRequired(TypedDict):
    profile_id: str
    user_id: str


class ProfileChange(_ProfileChangeRequired, total=False):
    content: Optional[str]
    custom_features: Optional[Dict[str, Any]]
    # Starts anew from now.
    profile_time_to_live: Optional[TimeToLive]
    source: Optional[str]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]


class ProfileChangeLog(TypedDict):
    # The newest first.
    profile_change_logs: List[ProfileChanges]
    success: bool


# Changes that one window of a person's turns made to their profiles.
class ProfileChanges(TypedDict):
    added_profiles: List[Profile]
    created_at: int
    # The number of the first profile it added.
    id: int
    # Those they took the place of, as far as they are still stored.
    removed_profiles: List[Profile]
    # The request of the last turn that its first profile came from.
    request_id: str
    user_id: UserId


class Promoted(TypedDict):
    config_version: int
    session_success_prompt_version: str
    success: bool


class _ProposalRecordRequired(TypedDict):
    content: str
    created_at: int
    # `offline` (rules), or provider/model as reported.
    extractor: str
    outcome: ProposalOutcome
    prompt_version: str
    rationale: str
    reason: str
    rubric_hash: str
    source_interaction_ids: List[int]
    trigger: str
    user_id: UserId
    # The number of the window in its person's stream.
    window_no: int


# A proposal and what became of it.
class ProposalRecord(_ProposalRecordRequired, total=False):
    # The learning it became, or was merged into.
    learning_id: Optional[str]
    # The learning whose place it took.
    replaced_id: Optional[str]


class _ProvenanceRequired(TypedDict):
    # Of agent playbooks: who proposed, approved, edited or rejected it, oldest first.
    decisions: List[PlaybookDecision]
    # Cited turns that were deleted since.
    deleted_interaction_ids: List[int]
    # The turns it stands on, of people who are still there.
    interactions: List[SourceTurn]
    kind: LearningKind
    learning_id: str
    # Proposals, merges and replacements that led to it, oldest first. Empty for a learning added through the API.
    proposals: List[ProposalRecord]
    # Of agent playbooks: the user playbooks it came from, with their own way.
    sources: List[PlaybookSource]


# Provenance of a learning.
class Provenance(_ProvenanceRequired, total=False):
    # Of agent playbooks: how many different people they are of.
    source_user_count: Optional[int]
    status: Optional[LearningStatus]
    # Id of the learning that replaced it, if one did.
    superseded_by: Optional[str]
    user_id: Optional[UserId]


# A public key of this installation, Ed25519 in hex.
class PublicKey(TypedDict):
    # The governance key behind it.
    key_id: str
    public_key: str


class PublicKeys(TypedDict):
    # Signs the end of the audit chain.
    audit_head: PublicKey
    # Signs certificates now.
    certificates: PublicKey
    # Signed certificates before.
    earlier: List[PublicKey]


class _PublishRequestRequired(TypedDict):
    interaction_data_list: List[InteractionData]
    session_id: str
    user_id: str


class PublishRequest(_PublishRequestRequired, total=False):
    # Empty means the configured default.
    agent_version: Optional[str]
    # When the request happened; now when absent. Lets history be imported. Unix seconds or RFC 3339.
    created_at: Optional[Union[float, str]]
    # Keeps the session out of learning.
    evaluation_only: Optional[bool]
    force_extraction: Optional[bool]
    override_learning_stall: Optional[bool]
    # Makes the publish idempotent; minted when absent.
    request_id: Optional[str]
    # Goes with `retrieval_experiment_id`.
    retrieval_experiment_arm: Optional[Arm]
    # With `retrieval_experiment_arm`: the attribution a search answered with.
    retrieval_experiment_id: Optional[str]
    # Nothing more is coming: the session is due for evaluation at once.
    session_finished: Optional[bool]
    skip_aggregation: Optional[bool]
    # Where the session comes from: empty, or lower-case letters, digits and `._:-`.
    source: Optional[str]


class _PublishResponseRequired(TypedDict):
    # This request id was published before with the same content; nothing was stored again.
    duplicate: bool
    interaction_ids: List[int]
    learning_status: PublishLearningStatus
    message: str
    request_id: str
    success: bool
    # Parts that were left out or ignored.
    warnings: List[str]


class PublishResponse(_PublishResponseRequired, total=False):
    experiment: Optional[Attribution]
    learning_reason: Optional[str]


class _PurgeOperationRequired(TypedDict):
    created_at: int
    purge_id: str
    request_ref: str
    status: PurgeStatus
    subject_ref: str
    updated_at: int


class PurgeOperation(_PurgeOperationRequired, total=False):
    completed_at: Optional[int]
    error_code: Optional[PurgeErrorCode]
    error_detail: Optional[str]


class PurgeOperations(TypedDict):
    purge_operations: List[PurgeOperation]


class QueueAge(TypedDict):
    # Begin of the step.
    at: int
    # The longest that a due job was seen waiting, of all organizations.
    oldest_due_age_seconds: int


class QueueAgeHistory(TypedDict):
    # Of the last 24 hours, oldest first. Nothing from before this process started.
    ages: List[QueueAge]
    step_seconds: int


class _RateIntervalRequired(TypedDict):
    # Few users: read it with care.
    few_users: bool


# A 95 % interval that accounts for users, or the reason why there is none.
class RateInterval(_RateIntervalRequired, total=False):
    # Its ends, in the unit of the number it belongs to.
    ci95: Optional[List[float]]
    ci95_null_reason: Optional[NullReason]


class _RateTileRequired(TypedDict):
    # Few users: read it with care.
    few_users: bool


# A rate of the current window, 0 to 1, and its change in points; null where there is nothing to say.
class RateTile(_RateTileRequired, total=False):
    # Its ends, in the unit of the number it belongs to.
    ci95: Optional[List[float]]
    ci95_null_reason: Optional[NullReason]
    # Its ends, in the unit of the change.
    delta_ci95: Optional[List[float]]
    delta_ci95_null_reason: Optional[NullReason]
    current: Optional[float]
    delta_pp: Optional[float]
    # Of the sessions of the current window that were due, the share with a verdict.
    judged_share: Optional[float]


class Readmitted(TypedDict):
    # False when the user was not erased: nothing had to be opened.
    readmitted: bool
    subject_ref: str


class ReasonCount(TypedDict):
    count: int
    decision: EvaluationDecision
    reason: str


# A test that assigns the users anew, again and again, and counts how often chance gives as much.
class Reassignment(TypedDict):
    p_value: float
    repetitions: int
    statistic: float


class RecentShadowComparisonsResponse(TypedDict):
    verdicts: List[ShadowComparisonVerdict]


class RegenerateFailure(TypedDict):
    reason: str
    session_id: str


class _RegenerateRequestRequired(TypedDict):
    # Included: of the sessions' first requests. Unix seconds or RFC 3339.
    from_ts: Union[float, str]
    # Included; the future is read as now. Unix seconds or RFC 3339.
    to_ts: Union[float, str]


class RegenerateRequest(_RegenerateRequestRequired, total=False):
    # An evaluator's name, or `shadow_comparison` to compare shadow responses again under the pinned rubric.
    evaluation_name: Optional[str]
    # Stop when this much is spent.
    max_cost_usd: Optional[float]


class _RegenerateStatusResponseRequired(TypedDict):
    completed: int
    concurrency_limit: int
    cost_usd: float
    evaluation_name: str
    failed: int
    # The newest 50.
    failures: List[RegenerateFailure]
    # The window: of the sessions' first requests, both ends included.
    from_ts: int
    job_id: str
    sampled_count: int
    started_at: float
    status: RegenerationStatus
    to_ts: int
    # Sessions to be judged.
    total: int
    # Sessions of the window, before sampling.
    total_candidates: int


# Progress of a regeneration.
class RegenerateStatusResponse(_RegenerateStatusResponseRequired, total=False):
    # The candidate's rubric version, for a judge diff.
    candidate_version: Optional[str]
    # US dollars; null while unknown or if the model is unpriced.
    estimated_cost_usd: Optional[float]
    finished_at: Optional[float]
    max_cost_usd: Optional[float]
    # Reason for an early end or a wait.
    reason: Optional[str]


class _RegenerationPreviewRequired(TypedDict):
    # Judge that would be used: `offline`, or provider/model.
    judge: str
    # Sessions that would be judged.
    total: int
    # Sessions of the window.
    total_candidates: int


# Size and cost of a regeneration that has not started.
class RegenerationPreview(_RegenerationPreviewRequired, total=False):
    # US dollars; null if the model is unpriced.
    estimated_cost_usd: Optional[float]


class Regenerations(TypedDict):
    # Newest first, judge diffs included; at most 20.
    regenerations: List[RegenerateStatusResponse]


class _RelevanceRequired(TypedDict):
    judged: int
    relevant: int


class Relevance(_RelevanceRequired, total=False):
    # Wilson's 95 % interval, over sessions.
    ci95: Optional[List[float]]
    # The share that was relevant; null without verdicts.
    rate: Optional[float]


class _ReportRequired(TypedDict):
    against_success: List[Telling]
    # The chance that a success gets a higher probability than a failure.
    auc: float
    # Mean squared error of the probabilities.
    brier: float
    calibration: List[Calibrated]
    # The share of sessions it decides.
    coverage: float
    # κ at each coverage, surest sessions first.
    curve: List[Covered]
    # Words and tools that speak most for success, and against it.
    for_success: List[Telling]
    sessions: int
    success_share: float
    users: int


# Report card of a model. Every number is from predictions of sessions whose users it was not trained on.
class Report(_ReportRequired, total=False):
    failure_precision: Optional[float]
    # Cohen's κ of what it decides.
    kappa: Optional[float]
    kappa_ci95: Optional[List[float]]
    kappa_without_abstaining: Optional[float]
    success_precision: Optional[float]


class _RequestRequired(TypedDict):
    agent_version: str
    created_at: int
    evaluation_only: bool
    request_id: str
    session_id: str
    source: str
    user_id: UserId


# One publish, as it is read back.
class Request(_RequestRequired, total=False):
    retrieval_experiment_arm: Optional[Arm]
    retrieval_experiment_id: Optional[str]


class RequestWithInteractions(TypedDict):
    # Oldest first.
    interactions: List[Interaction]
    request: Request


class _RerankUserProfilesRequestRequired(TypedDict):
    # Those the user does not have are passed over.
    profile_ids: List[str]
    query: str
    user_id: str


class RerankUserProfilesRequest(_RerankUserProfilesRequestRequired, total=False):
    request_id: Optional[str]
    session_id: Optional[str]
    top_k: Optional[int]


class RerunPlaybookGenerationRequest(TypedDict, total=False):
    # Every version when absent.
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]


class RerunProfileGenerationRequest(TypedDict, total=False):
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Everybody when absent.
    user_id: Optional[str]


class _ResolvePendingToolCallRequestRequired(TypedDict):
    # `{"answer": …}`, or what the tool would have given.
    result: Dict[str, Any]


class ResolvePendingToolCallRequest(_ResolvePendingToolCallRequestRequired, total=False):
    # The answer is given again to the same question for so long; 30 days when absent.
    valid_for_seconds: Optional[int]


class RetriedJob(TypedDict):
    success: bool


class _RetrievalExperimentArmMetricsRequired(TypedDict):
    arm: Arm
    # Users with requests stored under this arm.
    assigned_user_count: int
    evaluated_session_count: int
    evaluated_user_count: int
    output_token_session_count: int
    # Sessions with requests stored under this arm.
    published_session_count: int


class RetrievalExperimentArmMetrics(_RetrievalExperimentArmMetricsRequired, total=False):
    average_corrections: Optional[float]
    # Per published session with complete token counts.
    average_output_tokens: Optional[float]
    average_turns_to_resolution: Optional[float]
    # From 0 to 1.
    escalation_rate: Optional[float]
    # Of the sessions that were due, the share with a verdict, from 0 to 1; null if none was due.
    judged_share: Optional[float]
    # From 0 to 1.
    success_rate: Optional[float]


class _RetrievalExperimentListResponseRequired(TypedDict):
    # All of them, the newest start first.
    experiments: List[RetrievalExperimentRecord]


class RetrievalExperimentListResponse(_RetrievalExperimentListResponseRequired, total=False):
    active_experiment: Optional[RetrievalExperimentRecord]


# Power analysis of an experiment of this size, judging by past sessions.
class RetrievalExperimentPlan(TypedDict):
    # Days of past sessions that the plan stands on.
    days: int
    # Days until they have come, if the past users come back as they did.
    days_needed: Optional[int]
    days_needed_null_reason: Optional[NullReason]
    # Factor by which the clustering of sessions in users raises the number of sessions needed.
    design_effect: Optional[float]
    design_effect_null_reason: Optional[NullReason]
    effect_percentage_points: float
    holdout_percentage: float
    holdout_users_needed: Optional[int]
    holdout_users_needed_null_reason: Optional[NullReason]
    # Correlation of one user's sessions: 0 not alike at all, 1 all the same.
    intraclass_correlation: Optional[float]
    intraclass_correlation_null_reason: Optional[NullReason]
    past_sessions: int
    past_users: int
    power: float
    # Factor by which this holdout raises the detectable effect of an even split.
    small_holdout_price: Optional[float]
    small_holdout_price_null_reason: Optional[NullReason]
    # The smallest lift that as many users as there were would show.
    smallest_detectable_effect_percentage_points: Optional[float]
    smallest_detectable_effect_percentage_points_null_reason: Optional[NullReason]
    success_rate: Optional[float]
    success_rate_null_reason: Optional[NullReason]
    # Users needed to decide about the effect that was asked for, reading the results every day.
    treatment_users_needed: Optional[int]
    treatment_users_needed_null_reason: Optional[NullReason]
    warnings: List[str]


class _RetrievalExperimentRecordRequired(TypedDict):
    experiment_id: str
    # Share of users who are held out, in percent.
    holdout_percentage: float
    started_at: int


# An experiment as clients see it.
class RetrievalExperimentRecord(_RetrievalExperimentRecordRequired, total=False):
    # null while it is active.
    ended_at: Optional[int]


# Results of an experiment so far. A part that cannot be given is null beside its `…_null_reason`.
class RetrievalExperimentResultsResponse(TypedDict):
    about: ExperimentAbout
    always_valid: Optional[AlwaysValidLift]
    always_valid_null_reason: Optional[NullReason]
    analysis: AnalysisStamp
    # Lower and upper end, clustered by user.
    confidence_interval_95_percentage_points: Optional[List[float]]
    cuped: Optional[CupedLift]
    cuped_null_reason: Optional[NullReason]
    decision: ExperimentDecision
    delivery: Optional[ExperimentDelivery]
    delivery_null_reason: Optional[NullReason]
    # The share of evaluated sessions that belong to the experiment.
    evaluated_session_coverage: Optional[float]
    experiment: RetrievalExperimentRecord
    guardrails: List[ExperimentGuardrail]
    health: ExperimentHealth
    holdout: RetrievalExperimentArmMetrics
    inference: ExperimentInference
    interference: Optional[ExperimentInterference]
    interference_null_reason: Optional[NullReason]
    judge: ExperimentJudges
    # The last look of every day, oldest first: whoever asks looks, and the server once a day while it runs.
    looks: List[ExperimentLook]
    relative_success_lift: Optional[float]
    robustness: Optional[ExperimentRobustness]
    robustness_null_reason: Optional[NullReason]
    segments: ExperimentSegments
    success_rate_lift_percentage_points: Optional[float]
    treatment: RetrievalExperimentArmMetrics
    trend: ExperimentTrend
    unattributed_evaluated_session_count: int


class _RetrievedLearningRequired(TypedDict):
    kind: LearningKind
    learning_id: str


# A learning that was put before the agent for this response.
class RetrievedLearning(_RetrievedLearningRequired, total=False):
    exposure_receipt: Optional[str]


class _RetrievedLearningEvaluationResultRequired(TypedDict):
    agent_version: str
    attempts: int
    created_at: int
    # True if the judge saw the whole session.
    diagnosis_evidence_complete: bool
    impact_reason: str
    input_tokens: int
    judge: str
    kind: LearningKind
    latency_ms: int
    learning_id: str
    output_tokens: int
    # Of the relevance rubric and the impact rubric.
    prompt_version: str
    relevance_reason: str
    result_id: int
    rubric_hash: str
    session_id: str
    user_id: UserId


# A stored verdict on one learning at one turn.
class RetrievedLearningEvaluationResult(_RetrievedLearningEvaluationResultRequired, total=False):
    cost_usd: Optional[float]
    diagnosis: Optional[PlaybookDiagnosis]
    # SHA-256 of the playbook's content and trigger as judged.
    evaluated_playbook_digest: Optional[str]
    impact: Optional[LearningImpact]
    interaction_created_at: Optional[int]
    interaction_id: Optional[int]
    is_relevant: Optional[bool]


# A better wording.
class ReviewEdit(TypedDict):
    content: str
    rationale: str
    trigger: str


class _ReviewItemRequired(TypedDict):
    half: ReviewHalf
    session_id: str
    source: str
    user_id: UserId
    verdict: ReviewedVerdict


# A session to look at.
class ReviewItem(_ReviewItemRequired, total=False):
    # Chance to be drawn; null of the informative half.
    chance: Optional[float]
    # The learned judge's probability of success.
    probability: Optional[float]


class ReviewQueue(TypedDict):
    # Sessions with a label or an outcome; at 50, with 10 of each kind, the learned judge is trained.
    ground_truth: int
    # The random half and the informative half in turns.
    items: List[ReviewItem]
    # The last ten labels against the judge's verdicts.
    last_ten: LastLabels
    needed: int


class ReviewQueueRequest(TypedDict, total=False):
    limit: Optional[int]


class _ReviewReportRequired(TypedDict):
    accepted_count: int
    edited_count: int
    rejected_count: int
    report_only: bool
    results: List[ReviewResult]
    selected_count: int
    skipped_count: int
    success: bool


class ReviewReport(_ReviewReportRequired, total=False):
    msg: Optional[str]
    # Always null: decisions are carried out before the answer.
    run_id: Optional[str]


class _ReviewResultRequired(TypedDict):
    # True if the decision was carried out.
    applied: bool
    decision: ReviewDecision
    reason_code: ReviewReason
    user_playbook_id: int


# A playbook and what was decided.
class ReviewResult(_ReviewResultRequired, total=False):
    edit: Optional[ReviewEdit]
    reason: Optional[str]
    # The playbook that took its place.
    successor_user_playbook_id: Optional[int]


class ReviewUserPlaybooksRequest(TypedDict, total=False):
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # False: decisions are carried out.
    report_only: Optional[bool]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # How many, the newest.
    top_k: Optional[int]


class RevokedKey(TypedDict):
    message: str
    success: bool


class _RuleAssociationRequired(TypedDict):
    # True if the adjusted p-value is below 0.1: only then is it worth a look.
    is_marked: bool


# Difference of success between sessions that cite a rule and sessions of the same users, or else of the same source
# and version of the agent, that do not. Nothing was randomised: it is an association, not an effect.
class RuleAssociation(_RuleAssociationRequired, total=False):
    # Adjusted over all rules of the window (Benjamini and Hochberg).
    adjusted_p_value: Optional[float]
    # 95 % interval, clustered by user.
    ci95_pp: Optional[List[float]]
    # In points; 0 is no difference.
    difference_pp: Optional[float]
    null_reason: Optional[NullReason]
    p_value: Optional[float]
    # Drawn towards no difference by what all rules show together; rules are in its order.
    shrunken_pp: Optional[float]
    # Users with a session that cites the rule and was compared.
    users: Optional[int]


class _RuleAttributionRowRequired(TypedDict):
    association: RuleAssociation
    # Oldest first; empty with `include_session_ids: false`.
    cited_session_ids: List[str]
    failures_with: int
    kind: CitationKind
    net_sessions: int
    rule_id: str
    successes_with: int
    title: str


class RuleAttributionRow(_RuleAttributionRowRequired, total=False):
    # Interval of the success rate of sessions that cite it, 0 to 1, which accounts for users; null with few of them.
    success_rate_ci95: Optional[List[float]]
    trial: Optional[RuleTrial]


class _RuleTrialRequired(TypedDict):
    # Users with a judged session who got it, and from whom it was withheld.
    served_users: int
    state: TrialState
    withheld_users: int


# The effect of an agent playbook by a trial: it was withheld from users chosen at random.
class RuleTrial(_RuleTrialRequired, total=False):
    # 95 % over all looks together.
    always_valid_ci95_pp: Optional[List[float]]
    # Success with it minus success without it, in points; null while too little is known.
    effect_pp: Optional[float]
    # Drawn towards none by what all trials show together.
    shrunken_pp: Optional[float]


class RunPlaybookAggregationRequest(TypedDict):
    agent_version: str


# A split of users against the planned share.
class SampleRatioTest(TypedDict):
    chi_square: Optional[float]
    chi_square_null_reason: Optional[NullReason]
    # True if `p_value` is that of the exact binomial test, because few users are expected.
    exact: bool
    expected_holdout_share: float
    holdout_users: int
    mismatch: bool
    observed_holdout_share: Optional[float]
    observed_holdout_share_null_reason: Optional[NullReason]
    # Of a single look; nothing is concluded from it.
    p_value: Optional[float]
    p_value_null_reason: Optional[NullReason]
    # Over all looks; may be read every day.
    sequential_p_value: Optional[float]
    sequential_p_value_null_reason: Optional[NullReason]
    treatment_users: int


# Sample ratio tests of the users at each stage.
class SampleRatios(TypedDict):
    evaluated: SampleRatioTest
    exposed: SampleRatioTest
    published: SampleRatioTest


class _ScoreRequired(TypedDict):
    agent_version: str
    # The same without negative verdicts whose verified diagnosis lays the problem elsewhere. Tuning goes by this one.
    attributable_impact: Impact
    # The newest of these sessions.
    cited_sessions: List[CitedSession]
    # Verified, supported diagnoses by category.
    diagnoses: Dict[str, int]
    # Over all verdicts on its present text.
    impact: Impact
    # True if the adjusted p-value is below 0.1. Nothing is proposed about a learning that is not marked.
    is_marked: bool
    kind: LearningKind
    learning_id: str
    # Verdicts on an older text of it, which do not count.
    outdated_verdicts: int
    relevance: Relevance
    # Different sessions it was judged in.
    sessions: int
    # By a trial that called it; without one by verdicts.
    standing: LearningStanding
    # The beginning of its text.
    title: str
    # Different people among them.
    users: int


# Scorecard of one learning.
class Score(_ScoreRequired, total=False):
    # P-value of the attributable impact, adjusted over all learnings (Benjamini and Hochberg).
    adjusted_p_value: Optional[float]
    arm_lift: Optional[ServedLift]
    arm_lift_reason: Optional[str]
    playbook_status: Optional[PlaybookStatus]
    # The open proposal about it, if there is one.
    proposal_id: Optional[str]
    # The attributable impact drawn towards none by what all learnings show together.
    shrunken_impact: Optional[float]
    status: Optional[LearningStatus]
    trial_effect: Optional[LearningEffect]
    user_id: Optional[UserId]


# Histogram of corrections per session.
class ScoreDistribution(TypedDict):
    baseline_bins: List[int]
    current_bins: List[int]
    labels: List[str]


class Scorecard(TypedDict):
    # Harmful learnings first, then helpful ones.
    scores: List[Score]
    success: bool


class _SearchAgentPlaybooksResponseRequired(TypedDict):
    agent_playbooks: List[AgentPlaybook]
    # True if a part of the search was missing.
    degraded: bool
    # Search mode that was actually used.
    search_mode_effective: SearchMode
    success: bool


class SearchAgentPlaybooksResponse(_SearchAgentPlaybooksResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class _SearchInteractionsRequestRequired(TypedDict):
    user_id: str


class SearchInteractionsRequest(_SearchInteractionsRequestRequired, total=False):
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # The same as `top_k`.
    most_recent_k: Optional[int]
    # Words to look for; without them, the newest turns.
    query: Optional[str]
    request_id: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    top_k: Optional[int]


class SearchPlaybooksRequest(TypedDict, total=False):
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    playbook_name: Optional[str]
    # Of agent playbooks; what agents are served when absent. Agents get approved ones only, and pending ones too
    # while the organization sets `serve_pending`.
    playbook_status_filter: Optional[Union[PlaybookStatus, List[PlaybookStatus]]]
    # Without it, the newest that pass the filters.
    query: Optional[str]
    request_id: Optional[str]
    search_mode: Optional[SearchMode]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Null means current; current when absent.
    status_filter: Optional[List[Optional[LearningStatus]]]
    # Any of these.
    tags: Optional[List[str]]
    # The least similarity of a match by vectors; matches by words are not cut.
    threshold: Optional[float]
    # How many of each kind.
    top_k: Optional[int]
    # User playbooks are found with it only.
    user_id: Optional[str]


class _SearchProfilesRequestRequired(TypedDict):
    user_id: str


class SearchProfilesRequest(_SearchProfilesRequestRequired, total=False):
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    playbook_name: Optional[str]
    # Of agent playbooks; what agents are served when absent. Agents get approved ones only, and pending ones too
    # while the organization sets `serve_pending`.
    playbook_status_filter: Optional[Union[PlaybookStatus, List[PlaybookStatus]]]
    # Without it, the newest that pass the filters.
    query: Optional[str]
    request_id: Optional[str]
    search_mode: Optional[SearchMode]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Null means current; current when absent.
    status_filter: Optional[List[Optional[LearningStatus]]]
    # Any of these.
    tags: Optional[List[str]]
    # The least similarity of a match by vectors; matches by words are not cut.
    threshold: Optional[float]
    # How many of each kind.
    top_k: Optional[int]


class _SearchProfilesResponseRequired(TypedDict):
    # True if a part of the search was missing.
    degraded: bool
    # Search mode that was actually used.
    search_mode_effective: SearchMode
    success: bool
    user_profiles: List[Profile]


class SearchProfilesResponse(_SearchProfilesResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class _SearchRequestRequired(TypedDict):
    # The first 32 distinct words count.
    query: str


class SearchRequest(_SearchRequestRequired, total=False):
    # What agents are served when absent. Agents get approved ones only, whatever they ask for, and pending ones too
    # while the organization sets `serve_pending`.
    agent_playbook_status_filter: Optional[Union[PlaybookStatus, List[PlaybookStatus]]]
    agent_version: Optional[str]
    # Not included. Unix seconds or RFC 3339.
    end_time: Optional[Union[float, str]]
    # All when absent.
    entity_types: Optional[Union[EntityType, List[EntityType]]]
    playbook_name: Optional[str]
    request_id: Optional[str]
    search_mode: Optional[SearchMode]
    session_id: Optional[str]
    source: Optional[str]
    # Included. Unix seconds or RFC 3339.
    start_time: Optional[Union[float, str]]
    # Null means current; current when absent.
    status_filter: Optional[List[Optional[LearningStatus]]]
    # Any of these.
    tags: Optional[List[str]]
    # The least similarity of a match by vectors; matches by words are not cut.
    threshold: Optional[float]
    # How many of each kind.
    top_k: Optional[int]
    # Whose profiles and user playbooks; without it only agent playbooks are searched.
    user_id: Optional[str]


class _SearchResponseRequired(TypedDict):
    agent_playbooks: List[AgentPlaybook]
    # True if a part of the search was missing.
    degraded: bool
    profiles: List[Profile]
    # Search mode that was actually used.
    search_mode_effective: SearchMode
    success: bool
    user_playbooks: List[UserPlaybook]


class SearchResponse(_SearchResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


class _SearchUserPlaybooksResponseRequired(TypedDict):
    # True if a part of the search was missing.
    degraded: bool
    # Search mode that was actually used.
    search_mode_effective: SearchMode
    success: bool
    user_playbooks: List[UserPlaybook]


class SearchUserPlaybooksResponse(_SearchUserPlaybooksResponseRequired, total=False):
    experiment: Optional[Attribution]
    msg: Optional[str]


# Row count of a section, and the SHA-256 of its rows, each with a newline after it.
class SectionManifest(TypedDict):
    count: int
    sha256: str


# The lift of each segment, and whether they differ.
class Segmentation(TypedDict):
    # Test that the lift is the same everywhere.
    interaction: Optional[Reassignment]
    interaction_null_reason: Optional[NullReason]
    segments: List[LiftSegment]


class _ServedLiftRequired(TypedDict):
    experiment_id: str
    holdout_sessions: int
    holdout_users: int
    treatment_sessions: int
    treatment_users: int


# Sessions of the treatment that were served an agent playbook against all sessions of the holdout, of the same agent
# version.
class ServedLift(_ServedLiftRequired, total=False):
    # Its 95 % interval, clustered by user; null with fewer than two users on one side.
    ci95_percentage_points: Optional[List[float]]
    # Success rate of the sessions that were served it minus that of the holdout; null when one of them has none.
    percentage_points: Optional[float]


class _SessionKeyRequired(TypedDict):
    session_id: str


class SessionKey(_SessionKeyRequired, total=False):
    # Needed when several users have a session of this id.
    user_id: Optional[str]


# A session and whose it is.
class SessionKeyView(TypedDict):
    session_id: str
    user_id: UserId


class SessionLabels(TypedDict):
    # Newest first.
    labels: List[LabelView]


class _SessionOutcomeRequired(TypedDict):
    occurred_at: int
    outcome: SessionOutcomeKind
    recorded_at: int
    revision: int
    session_id: str
    user_id: UserId


# An outcome as it is stored; a different report later is a new revision.
class SessionOutcome(_SessionOutcomeRequired, total=False):
    label: Optional[str]
    metadata: Optional[Dict[str, Any]]
    value: Optional[float]


class _SessionOutcomeRequestRequired(TypedDict):
    # Unix seconds or RFC 3339.
    occurred_at: Union[float, str]
    outcome: SessionOutcomeKind
    session_id: str


class SessionOutcomeRequest(_SessionOutcomeRequestRequired, total=False):
    label: Optional[str]
    # At most 16 KB.
    metadata: Optional[Dict[str, Any]]
    # Needed when several users have a session of this id.
    user_id: Optional[str]
    value: Optional[float]


class _SessionOutcomeResponseRequired(TypedDict):
    message: str
    # False when the same outcome was recorded before.
    recorded: bool
    # The source of the session's first request.
    source: str
    success: bool
    user_id: UserId


class SessionOutcomeResponse(_SessionOutcomeResponseRequired, total=False):
    # Always null: what cannot be recorded is an error with a code.
    reason: Optional[str]


class SessionRequests(TypedDict):
    requests: List[RequestWithInteractions]
    session_id: str


class _SessionSummaryRequired(TypedDict):
    # The agent version of its newest request.
    agent_version: str
    # Time of its first request; dates its verdicts.
    first_request_at: int
    interaction_count: int
    last_request_at: int
    request_count: int
    session_id: str
    # The source of its first request.
    source: str
    user_id: UserId


# A session in a list.
class SessionSummary(_SessionSummaryRequired, total=False):
    # Time at which it was declared finished, if it was and has not grown since.
    finished_at: Optional[int]


# Everything that was judged about one session.
class SessionVerdicts(TypedDict):
    # Newest first.
    evaluation_results: List[AgentSuccessEvaluationResult]
    # Newest turn first; at most 1000.
    learning_verdicts: List[RetrievedLearningEvaluationResult]
    # Of the pinned rubric, oldest turn first.
    shadow_comparisons: List[ShadowComparisonVerdict]


# One session, whole, with everything that was judged about it.
class SessionView(TypedDict):
    # Oldest first.
    interactions: List[Interaction]
    # Every outcome the customer reported, oldest first.
    outcomes: List[SessionOutcome]
    requests: List[Request]
    session: SessionSummary
    # Newest first.
    evaluation_results: List[AgentSuccessEvaluationResult]
    # Newest turn first; at most 1000.
    learning_verdicts: List[RetrievedLearningEvaluationResult]
    # Of the pinned rubric, oldest turn first.
    shadow_comparisons: List[ShadowComparisonVerdict]


# The judge's verdict on a pair.
class ShadowComparisonOutput(TypedDict):
    better_request: BetterRequest
    comparison_reason: str
    is_significantly_better: bool


class _ShadowComparisonVerdictRequired(TypedDict):
    agent_version: str
    # Calls made for this verdict.
    attempts: int
    # Time of the turn (RFC 3339, UTC): a verdict keeps its place when it is judged again.
    created_at: str
    input_tokens: int
    interaction_id: str
    judge: str
    judge_prompt_version: str
    # Time of the judgement (RFC 3339, UTC).
    judged_at: str
    latency_ms: int
    output: ShadowComparisonOutput
    output_tokens: int
    rubric_hash: str
    # True if the service's response was response 1 of the first call.
    service_is_request_1: bool
    session_id: str
    user_id: UserId
    verdict_id: int


# A stored verdict on one turn.
class ShadowComparisonVerdict(_ShadowComparisonVerdictRequired, total=False):
    cost_usd: Optional[float]
    # True if both orders gave the same answer; null when one order was judged.
    order_consistent: Optional[bool]


class ShadowWinRateTrend(TypedDict):
    # Days with a verdict, oldest first.
    daily: List[ShadowWinRateTrendPoint]
    judge_prompt_version: str
    window_total: ShadowWinRateTrendWindowTotal


class ShadowWinRateTrendPoint(TypedDict):
    # `2026-01-15`, UTC.
    date: str
    losses: int
    n: int
    ties: int
    wins: int


class _ShadowWinRateTrendWindowTotalRequired(TypedDict):
    losses: int
    n: int
    # (wins − losses) / n; 0 without verdicts.
    net_win: float
    ties: int
    # wins / n; 0 without verdicts.
    win_rate: float
    wins: int


class ShadowWinRateTrendWindowTotal(_ShadowWinRateTrendWindowTotalRequired, total=False):
    # The share of pairs judged in both orders whose answer depended on the order; null without such pairs.
    flip_rate: Optional[float]


class _ShownEventRequired(TypedDict):
    actor: Actor
    # Stands for the one who did it; the same for all they do.
    actor_ref: str
    counts: Dict[str, int]
    created_at: int
    # `EXPORT`, `ERASE`, `KEY_CREATE`, …
    operation: str
    sequence: int
    # `ok` or `error`.
    status: str


# An event as people read it.
class ShownEvent(_ShownEventRequired, total=False):
    request_ref: Optional[str]
    # Stands for the person it was about, if it was about one.
    subject_ref: Optional[str]


# An effect drawn towards zero, as far as all effects together say that it was luck.
class ShrunkenEffect(TypedDict):
    # 90 %.
    ci_lower: float
    ci_upper: float
    # Chance that the true effect has the other sign.
    false_sign_rate: float
    mean: float


class SignedCertificate(TypedDict):
    certificate: Certificate
    # The governance key behind the signature.
    key_id: str
    # Ed25519, in hex.
    public_key: str
    # Over `evenhand-certificate-v1`, a newline, and the certificate as JSON with sorted names and no white space.
    signature: str


class SourceSessions(TypedDict):
    session_ids: List[str]
    sessions: List[SessionKeyView]
    source: str


class SourceSetComparison(TypedDict):
    # Sources with a verdict in the window.
    available_sources: List[str]
    sets: List[SourceSetEvaluationMetrics]
    source_sessions: List[SourceSessions]
    # Distinct (user, session) pairs in none of the sets.
    unmatched_session_count: int


class _SourceSetEvaluationMetricsRequired(TypedDict):
    # Verdicts of failure.
    failures_with_evidence: int
    # Rules alone judged: there is no success rate, only failures with evidence.
    only_rules: bool
    # Sessions that were due and have no verdict: the judge abstained, or failed.
    without_verdict: int
    buckets: List[HeroBucket]
    context_tiles: ContextTile
    # Few users: read the interval with care.
    few_users: bool
    label: str
    # Judged sessions in the window.
    n: int
    partner_tiles: List[PartnerTileRow]
    rule_attribution: List[RuleAttributionRow]
    score_distribution: ScoreDistribution
    # Distinct (user, session) pairs.
    session_count: int
    # One for each of them; empty with `include_session_ids: false`.
    session_ids: List[str]
    sources: List[str]
    # 0 to 100; 0 without sessions.
    success_rate_pp: float


class SourceSetEvaluationMetrics(_SourceSetEvaluationMetricsRequired, total=False):
    # Ways to a success rate, for people; null unless rules alone judge.
    advice: Optional[str]
    # Of the sessions that were due, the share with a verdict; null if none was due.
    judged_share: Optional[float]
    ci95_null_reason: Optional[NullReason]
    # Interval of the success rate, in points.
    ci95_pp: Optional[List[float]]


# A turn that taught something.
class SourceTurn(TypedDict):
    created_at: int
    interaction_id: int
    request_id: str
    role: str
    session_id: str
    user_id: UserId


class _SourceWindowRequired(TypedDict):
    user_playbook_id: int


# A user playbook, and the turns behind it, that an agent playbook came from.
class SourceWindow(_SourceWindowRequired, total=False):
    source_interaction_ids: List[int]


class Spending(TypedDict):
    # Every day, oldest first.
    days: List[SpendingOfDay]


class SpendingOfDay(TypedDict):
    # The day's begin (UTC).
    day: int
    judging_usd: float
    learning_usd: float


class StallNotified(TypedDict):
    # False if nothing stands still.
    notified_in_cc: bool


class _StallStateRequired(TypedDict):
    # True after `/stall_state/notified`, until it stalls anew.
    notified_in_cc: bool
    stalled: bool


class StallState(_StallStateRequired, total=False):
    error_message: Optional[str]
    reason: Optional[StallReason]
    # Always null: the server tries again by itself, and cannot know when it will be let in.
    reset_estimate: Optional[int]
    stalled_at: Optional[int]


# Standard errors of the lift, by estimator.
class StandardErrors(TypedDict):
    cr0: Optional[float]
    cr0_null_reason: Optional[NullReason]
    cr1: Optional[float]
    cr1_null_reason: Optional[NullReason]
    cr2: Optional[float]
    cr2_null_reason: Optional[NullReason]
    cr3: Optional[float]
    cr3_null_reason: Optional[NullReason]
    delta: Optional[float]
    delta_null_reason: Optional[NullReason]


class _StartRetrievalExperimentRequestRequired(TypedDict):
    # Never used before.
    experiment_id: str
    # Share of users who are held out, in percent.
    holdout_percentage: float


class StartRetrievalExperimentRequest(_StartRetrievalExperimentRequestRequired, total=False):
    hypothesis: Optional[str]
    # The smallest lift that matters. Fixed from here on.
    margin_percentage_points: Optional[float]
    notes: Optional[str]
    owner: Optional[str]
    # How many users the experiment is planned for: where the always-valid interval is tightest. Fixed from here on.
    # As the planner says when absent.
    planned_users: Optional[int]


class Started(TypedDict):
    job_id: str
    # Sessions that will be judged.
    total: int


class StopRetrievalExperimentRequest(TypedDict):
    experiment_id: str


class _StorageStatsRequired(TypedDict):
    # User playbooks of any status.
    playbook_count: int
    # Profiles of any status that have not expired.
    profile_count: int
    success: bool


class StorageStats(_StorageStatsRequired, total=False):
    msg: Optional[str]
    newest_profile_modified: Optional[int]
    oldest_profile_modified: Optional[int]


class Telling(TypedDict):
    name: str
    weight: float


class _ToolCanUseRequired(TypedDict):
    tool_name: str


class ToolCanUse(_ToolCanUseRequired, total=False):
    tool_description: Optional[str]


class _ToolUsedRequired(TypedDict):
    tool_name: str


# A tool the agent called.
class ToolUsed(_ToolUsedRequired, total=False):
    # `success` when absent.
    status: str
    # Its arguments and results.
    tool_data: Dict[str, Any]


# One session, whole.
class Transcript(TypedDict):
    # Oldest first.
    interactions: List[Interaction]
    # Every outcome the customer reported, oldest first.
    outcomes: List[SessionOutcome]
    requests: List[Request]
    session: SessionSummary


class _TrialEpochRequired(TypedDict):
    epoch_no: int
    is_settled: bool
    # Users at which its evidence is sharpest.
    planned_users: int
    served: TrialSide
    # Share of users from whom it was withheld.
    share: float
    started_at: int
    withheld: TrialSide


# A time in which neither the text nor the share changed.
class TrialEpoch(_TrialEpochRequired, total=False):
    # True if the sides have their shares of users; null without users.
    sample_ratio_ok: Optional[bool]


# The effect of a playbook by a trial, in percentage points.
class TrialFinding(TypedDict):
    # 95 % over all looks together.
    always_valid_lower: float
    always_valid_upper: float
    e_value: float
    # Success with it minus success without it.
    effect: float
    # Users with a judged session who got it, and from whom it was withheld.
    served_users: int
    withheld_users: int


class _TrialRevisionRequired(TypedDict):
    # Strength of the evidence for some effect; 0 without one.
    e_value: float
    # Digest of the text.
    digest: str
    epochs: List[TrialEpoch]
    is_present: bool
    served: TrialSide
    started_at: int
    withheld: TrialSide


# The trial of one text of a playbook.
class TrialRevision(_TrialRevisionRequired, total=False):
    # 95 % over all looks together.
    always_valid_lower: Optional[float]
    always_valid_upper: Optional[float]
    # 95 %, for one look.
    ci_lower: Optional[float]
    ci_upper: Optional[float]
    effect: Optional[float]
    null_reason: Optional[NullReason]


class _TrialSideRequired(TypedDict):
    # Users for whom it was found.
    found_users: int
    # Judged sessions in which it was found.
    sessions: int
    # Those of them with a judged session in which it was found.
    users: int


# Users and sessions of one side of a trial.
class TrialSide(_TrialSideRequired, total=False):
    # Percentage of them that succeeded, weighted; null without any.
    success_rate: Optional[float]


# Only sessions whose searches found something, in both arms.
class TriggeredLift(TypedDict):
    holdout_sessions: int
    # Lower and upper end.
    interval_95_pp: Optional[List[float]]
    interval_95_pp_null_reason: Optional[NullReason]
    lift_pp: Optional[float]
    lift_pp_null_reason: Optional[NullReason]
    p_value: Optional[float]
    p_value_null_reason: Optional[NullReason]
    sample_ratio: SampleRatioTest
    treatment_sessions: int


class TuningDecided(TypedDict):
    status: TuningStatus
    success: bool


# A verdict that counts against a learning, or an example of a session that got it and failed.
class TuningEvidence(TypedDict):
    # The verified diagnosis; empty without one.
    category: str
    # The turn the learning was judged at.
    interaction_id: int
    # Turns that the diagnosis cites.
    interaction_ids: List[int]
    reason: str
    session_id: str
    user_id: UserId


class _TuningProposalRequired(TypedDict):
    action: TuningAction
    # The proposed wording, for an edit.
    content: str
    created_at: int
    # `rules`, or provider/model as reported.
    drafted_by: str
    # The turns that show it, of people who are still there.
    evidence: List[TuningEvidence]
    impact: float
    impact_upper: float
    # Verdicts it rests on, their mean impact, and the upper end of its 95 % interval.
    judged: int
    kind: LearningKind
    learning_id: str
    proposal_id: str
    rationale: str
    status: TuningStatus
    trigger: str


# A learning that hurts, and what is proposed to do about it.
class TuningProposal(_TuningProposalRequired, total=False):
    decided_at: Optional[int]
    trial: Optional[TrialFinding]
    user_id: Optional[UserId]


class TuningProposals(TypedDict):
    proposals: List[TuningProposal]
    success: bool


class _UpdateAgentPlaybookRequestRequired(TypedDict):
    agent_playbook_id: int


class UpdateAgentPlaybookRequest(_UpdateAgentPlaybookRequestRequired, total=False):
    agent_version: Optional[str]
    # Approve it although `flags` names reasons to look at it twice.
    confirmed: Optional[bool]
    content: Optional[str]
    playbook_metadata: Optional[str]
    playbook_name: Optional[str]
    playbook_status: Optional[PlaybookStatus]
    rationale: Optional[str]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]
    trigger: Optional[str]


class _UpdateAgentPlaybookStatusRequestRequired(TypedDict):
    agent_playbook_id: int
    playbook_status: PlaybookStatus


class UpdateAgentPlaybookStatusRequest(_UpdateAgentPlaybookStatusRequestRequired, total=False):
    # Approve it although `flags` names reasons to look at it twice.
    confirmed: Optional[bool]


class UpdateAlertRuleRequest(TypedDict, total=False):
    # While false nothing is looked at.
    enabled: Optional[bool]
    name: Optional[str]
    # Smaller changes raise no alert: points of a rate (3 when absent), or per cent of the mean of corrections and
    # turns (10 when absent).
    smallest_change: Optional[float]


class _UpdatePendingToolCallAnswerRequestRequired(TypedDict):
    answer: str


class UpdatePendingToolCallAnswerRequest(_UpdatePendingToolCallAnswerRequestRequired, total=False):
    # The answer is given again to the same question for so long; 30 days when absent.
    valid_for_seconds: Optional[int]


class _UpdateUserPlaybookRequestRequired(TypedDict):
    user_playbook_id: int


class UpdateUserPlaybookRequest(_UpdateUserPlaybookRequestRequired, total=False):
    agent_version: Optional[str]
    content: Optional[str]
    playbook_name: Optional[str]
    rationale: Optional[str]
    status: Optional[LearningStatus]
    tags: Optional[List[str]]
    trigger: Optional[str]


class UpdateWebhookRequest(TypedDict, total=False):
    description: Optional[str]
    # While false nothing is sent, and what waits is given up.
    enabled: Optional[bool]
    # The events that are sent.
    events: Optional[List[Literal["session.failed", "regeneration.done", "experiment.decided", "experiment.unhealthy", "playbook.helps", "playbook.hurts", "judge.paused", "judge.budget_reached", "alert.raised", "alert.cleared"]]]
    url: Optional[str]


class UpgradeProfilesRequest(TypedDict, total=False):
    # Leaves people without pending profiles as they are.
    only_affected_users: Optional[bool]
    # Everybody when absent.
    user_id: Optional[str]


class UpgradeUserPlaybooksRequest(TypedDict, total=False):
    # All when absent.
    agent_version: Optional[str]
    # False: pending ones join the current ones, and nothing is archived or deleted.
    archive_current: Optional[bool]
    # All when absent.
    playbook_name: Optional[str]


class UpgradedProfiles(TypedDict):
    message: str
    profiles_archived: int
    profiles_deleted: int
    profiles_promoted: int
    success: bool


class UpgradedUserPlaybooks(TypedDict):
    message: str
    success: bool
    user_playbooks_archived: int
    user_playbooks_deleted: int
    user_playbooks_promoted: int


# The model's call behind a turn, as far as it was reported.
class Usage(TypedDict, total=False):
    cost_usd: Optional[float]
    input_tokens: Optional[int]
    # From the request to the end of the response.
    latency_ms: Optional[int]
    model: Optional[str]
    output_tokens: Optional[int]


UserId = str

class _UserPlaybookRequired(TypedDict):
    agent_version: str
    content: str
    created_at: int
    playbook_name: str
    rationale: str
    request_id: str
    source: str
    source_interaction_ids: List[int]
    tags: List[str]
    # When it applies.
    trigger: str
    user_id: UserId
    user_playbook_id: int


# Instruction for a recurring situation, learned from one person's sessions.
class UserPlaybook(_UserPlaybookRequired, total=False):
    status: Optional[LearningStatus]


class Version(TypedDict):
    name: str
    # The newest schema migration this binary knows.
    schema_version: int
    version: str


class _WebhookRequired(TypedDict):
    created_at: int
    description: str
    enabled: bool
    events: List[EventType]
    # Attempts that failed since the last one that did not.
    failures: int
    format: WebhookFormat
    # Of `slack`, without its end: whoever knows it may write there.
    url: str
    webhook_id: str


# A webhook, without its secret.
class Webhook(_WebhookRequired, total=False):
    # While it fails: when it is tried again.
    next_attempt_at: Optional[int]


class WebhookDeliveries(TypedDict):
    # The newest first.
    deliveries: List[WebhookDelivery]


class _WebhookDeliveryRequired(TypedDict):
    attempts: int
    created_at: int
    # The `webhook-id` of the message, the same at every attempt.
    delivery_id: str
    event: EventType
    state: DeliveryState
    webhook_id: str


# A delivery as the log shows it.
class WebhookDelivery(_WebhookDeliveryRequired, total=False):
    # The beginning of the last error; null if there was none.
    error: Optional[str]
    last_attempt_at: Optional[int]
    # When it is tried again; null when it is over.
    next_attempt_at: Optional[int]
    # Status of the last answer; null without one.
    status_code: Optional[int]


class WebhookList(TypedDict):
    # The oldest first.
    webhooks: List[Webhook]


# The lift of one week since the start.
class WeeklyLift(TypedDict):
    lift_pp: Optional[float]
    lift_pp_null_reason: Optional[NullReason]
    standard_error_pp: Optional[float]
    standard_error_pp_null_reason: Optional[NullReason]
    week: int


class _WhoamiRequired(TypedDict):
    grants: List[Grant]
    message: str
    org_id: OrgId
    role: Role
    storage_configured: bool
    success: bool


class Whoami(_WhoamiRequired, total=False):
    # Storage location, without credentials.
    storage_label: Optional[str]
    storage_type: Optional[Engine]
