"""Generated from openapi.json by generate.py; not edited by hand."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, List, Literal, Optional, Union, cast
from urllib.parse import quote

from . import types


class Operations:
    """Every operation of the server, one method each; a refusal raises `ApiError`."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def add_agent_playbook(
        self,
        body: types.AddAgentPlaybookRequest,
    ) -> types.AddedPlaybooks:
        """Add agent playbooks, all or none, with the user playbooks they came from. An agent key adds pending ones; an approved
one is refused (403 `approval_needs_a_person`)."""
        return cast("types.AddedPlaybooks", self._call("POST", "/api/add_agent_playbook", body=body))

    def add_user_playbook(
        self,
        body: types.AddUserPlaybookRequest,
    ) -> types.AddedPlaybooks:
        """Add user playbooks, all or none. The next search finds them."""
        return cast("types.AddedPlaybooks", self._call("POST", "/api/add_user_playbook", body=body))

    def add_user_profile(
        self,
        body: types.AddUserProfileRequest,
    ) -> types.AddedProfiles:
        """Add profiles, all or none. The next search finds them."""
        return cast("types.AddedProfiles", self._call("POST", "/api/add_user_profile", body=body))

    def invalidate_cache(
        self,
        body: types.InvalidateCacheRequest,
    ) -> types.InvalidatedCache:
        """Accepted for clients that know servers with caches of configurations; this one has none."""
        return cast("types.InvalidatedCache", self._call("POST", "/api/admin/cache/invalidate", body=body))

    def list_alert_rules(
        self,
    ) -> types.AlertRules:
        """The organization's rules, how they stand, and their newest episodes."""
        return cast("types.AlertRules", self._call("GET", "/api/alerts"))

    def create_alert_rule(
        self,
        body: types.CreateAlertRuleRequest,
    ) -> types.AlertRule:
        """Make a rule: is this metric worse than in the four weeks before? It is looked at at once, and then every hour.
Webhooks that ask for `alert.raised` and `alert.cleared` are told."""
        return cast("types.AlertRule", self._call("POST", "/api/alerts", body=body))

    def delete_alert_rule(
        self,
        rule_id: str,
    ) -> types.DeletedAlertRule:
        """Delete a rule with its history."""
        return cast("types.DeletedAlertRule", self._call("DELETE", f"/api/alerts/{quote(rule_id, safe='')}"))

    def update_alert_rule(
        self,
        rule_id: str,
        body: types.UpdateAlertRuleRequest,
    ) -> types.AlertRule:
        """Change a rule; what is absent stays. A new `smallest_change` or `enabled` makes it begin anew."""
        return cast("types.AlertRule", self._call("PATCH", f"/api/alerts/{quote(rule_id, safe='')}", body=body))

    def clear_user_data(
        self,
        body: types.ClearUserDataRequest,
    ) -> types.ClearedUserData:
        """Delete everything stored for a user. To forget a person with proof, erase them instead."""
        return cast("types.ClearedUserData", self._call("POST", "/api/clear_user_data", body=body))

    def delete_agent_playbook(
        self,
        body: types.DeleteAgentPlaybookRequest,
    ) -> types.DeletedLearning:
        """Delete an agent playbook; the user playbooks it came from stay."""
        return cast("types.DeletedLearning", self._call("DELETE", "/api/delete_agent_playbook", body=body))

    def delete_agent_playbooks_by_ids(
        self,
        body: types.DeleteAgentPlaybooksByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several agent playbooks; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_agent_playbooks_by_ids", body=body))

    def delete_all_agent_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all agent playbooks of the organization; the user playbooks they came from stay."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_all_agent_playbooks"))

    def delete_all_interactions(
        self,
    ) -> types.DeletedRequests:
        """Delete all sessions of the organization, with their turns and everything that was written about them. What was
learned from them stays."""
        return cast("types.DeletedRequests", self._call("DELETE", "/api/delete_all_interactions"))

    def delete_all_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all playbooks of the organization: people's and its own."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_all_playbooks"))

    def delete_all_profiles(
        self,
    ) -> types.DeletedLearnings:
        """Delete all profiles of the organization."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_all_profiles"))

    def delete_all_user_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all user playbooks of the organization; agent playbooks made from them stay."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_all_user_playbooks"))

    def delete_interaction(
        self,
        body: types.DeleteInteractionRequest,
    ) -> types.Deleted:
        """Delete one turn."""
        return cast("types.Deleted", self._call("DELETE", "/api/delete_interaction", body=body))

    def delete_profile(
        self,
        body: types.DeleteProfileRequest,
    ) -> types.DeletedLearning:
        """Delete a profile."""
        return cast("types.DeletedLearning", self._call("DELETE", "/api/delete_profile", body=body))

    def delete_profiles_by_ids(
        self,
        body: types.DeleteProfilesByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several profiles; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_profiles_by_ids", body=body))

    def delete_request(
        self,
        body: types.DeleteRequestRequest,
    ) -> types.Deleted:
        """Delete a request with its turns."""
        return cast("types.Deleted", self._call("DELETE", "/api/delete_request", body=body))

    def delete_requests_by_ids(
        self,
        body: types.DeleteRequestsByIdsRequest,
    ) -> types.DeletedRequests:
        """Delete several requests; ids that do not exist are passed over."""
        return cast("types.DeletedRequests", self._call("DELETE", "/api/delete_requests_by_ids", body=body))

    def delete_session(
        self,
        body: types.SessionKey,
    ) -> types.DeletedSession:
        """Delete a session with everything that hangs on it."""
        return cast("types.DeletedSession", self._call("DELETE", "/api/delete_session", body=body))

    def delete_user_playbook(
        self,
        body: types.DeleteUserPlaybookRequest,
    ) -> types.DeletedLearning:
        """Delete a user playbook with its source windows; agent playbooks made from it stay."""
        return cast("types.DeletedLearning", self._call("DELETE", "/api/delete_user_playbook", body=body))

    def delete_user_playbooks_by_ids(
        self,
        body: types.DeleteUserPlaybooksByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several user playbooks; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", self._call("DELETE", "/api/delete_user_playbooks_by_ids", body=body))

    def get_agreement(
        self,
        *,
        evaluation_name: Optional[str] = None,
        from_ts: Optional[Union[float, str]] = None,
        to_ts: Optional[Union[float, str]] = None,
        agent_version: Optional[str] = None,
        prompt_version: Optional[str] = None,
        judge: Optional[str] = None,
        source: Optional[str] = None,
        ground_truth: Optional[Literal["labels", "outcomes", "both"]] = None,
    ) -> types.Agreement:
        """Agreement of the judge with people, and the success rate corrected for the judge's errors."""
        return cast("types.Agreement", self._call("GET", "/api/evaluations/agreement", query={"evaluation_name": evaluation_name, "from_ts": from_ts, "to_ts": to_ts, "agent_version": agent_version, "prompt_version": prompt_version, "judge": judge, "source": source, "ground_truth": ground_truth}))

    def get_decisions(
        self,
        *,
        user_id: Optional[str] = None,
        session_id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> types.DecisionsResponse:
        """Evaluation decisions: the reason for a session's verdict, or for its absence."""
        return cast("types.DecisionsResponse", self._call("GET", "/api/evaluations/decisions", query={"user_id": user_id, "session_id": session_id, "limit": limit}))

    def get_estimated_success(
        self,
        *,
        from_ts: Optional[Union[float, str]] = None,
        to_ts: Optional[Union[float, str]] = None,
    ) -> types.EstimatedSuccess:
        """Success rates over all sessions that were due, decided or not, by source, corrected by labels drawn at random."""
        return cast("types.EstimatedSuccess", self._call("GET", "/api/evaluations/estimated_success", query={"from_ts": from_ts, "to_ts": to_ts}))

    def export_evaluations(
        self,
        *,
        from_ts: Union[float, str],
        to_ts: Union[float, str],
        format: Literal["csv", "ndjson", "parquet"],
        sources: Optional[str] = None,
    ) -> bytes:
        """Download every verdict of success in a window, oldest session first."""
        return cast("bytes", self._call("GET", "/api/evaluations/export", query={"from_ts": from_ts, "to_ts": to_ts, "sources": sources, "format": format}, raw=True))

    def grade_on_demand(
        self,
        body: types.GradeOnDemandRequest,
    ) -> types.Grade:
        """Grade one session now. Calls for the same session at the same time share one judgement; within 24 hours the
verdict is given again."""
        return cast("types.Grade", self._call("POST", "/api/evaluations/grade_on_demand", body=body))

    def start_judge_diff(
        self,
        body: types.JudgeDiffRequest,
    ) -> types.Started:
        """Judge a window with another rubric or model, beside the live numbers."""
        return cast("types.Started", self._call("POST", "/api/evaluations/judge_diffs", body=body))

    def get_judge_diff(
        self,
        job_id: str,
    ) -> types.JudgeDiff:
        """Result of a judge diff: paired flips and McNemar's test."""
        return cast("types.JudgeDiff", self._call("GET", f"/api/evaluations/judge_diffs/{quote(job_id, safe='')}"))

    def promote_judge_diff(
        self,
        job_id: str,
    ) -> types.Promoted:
        """Judge with the compared rubric from now on."""
        return cast("types.Promoted", self._call("POST", f"/api/evaluations/judge_diffs/{quote(job_id, safe='')}/promote"))

    def get_judge_health(
        self,
    ) -> types.JudgeHealth:
        """Health of the judge: paused or not, spending, decisions of the last seven days and the reasons for missing
verdicts."""
        return cast("types.JudgeHealth", self._call("GET", "/api/evaluations/judge_health"))

    def get_labels(
        self,
        *,
        session_id: str,
        user_id: Optional[str] = None,
    ) -> types.SessionLabels:
        """People's labels of a session."""
        return cast("types.SessionLabels", self._call("GET", "/api/evaluations/labels", query={"session_id": session_id, "user_id": user_id}))

    def post_labels(
        self,
        body: types.LabelsRequest,
    ) -> types.LabelsResponse:
        """Say what really became of sessions."""
        return cast("types.LabelsResponse", self._call("POST", "/api/evaluations/labels", body=body))

    def get_learned_judge(
        self,
    ) -> types.LearnedJudge:
        """The learned judge: progress to its first training, and the report card of the model in use."""
        return cast("types.LearnedJudge", self._call("GET", "/api/evaluations/learned_judge"))

    def list_regenerations(
        self,
    ) -> types.Regenerations:
        """The newest regenerations."""
        return cast("types.Regenerations", self._call("GET", "/api/evaluations/regenerate"))

    def regenerate(
        self,
        body: types.RegenerateRequest,
    ) -> types.Started:
        """Judge the sessions of a window again, in the background. One at a time per organization."""
        return cast("types.Started", self._call("POST", "/api/evaluations/regenerate", body=body))

    def preview_regeneration(
        self,
        body: types.RegenerateRequest,
    ) -> types.RegenerationPreview:
        """Preview of a regeneration: its sessions and its cost, without starting it."""
        return cast("types.RegenerationPreview", self._call("POST", "/api/evaluations/regenerate/preview", body=body))

    def get_regeneration(
        self,
        job_id: str,
    ) -> types.RegenerateStatusResponse:
        """Progress of a regeneration."""
        return cast("types.RegenerateStatusResponse", self._call("GET", f"/api/evaluations/regenerate/{quote(job_id, safe='')}"))

    def cancel_regeneration(
        self,
        job_id: str,
    ) -> types.Cancelled:
        """Cancel a regeneration; what is judged stays."""
        return cast("types.Cancelled", self._call("DELETE", f"/api/evaluations/regenerate/{quote(job_id, safe='')}"))

    def regeneration_events(
        self,
        job_id: str,
    ) -> bytes:
        """Follow a regeneration: an event `progress` every second until it ends."""
        return cast("bytes", self._call("GET", f"/api/evaluations/regenerate/{quote(job_id, safe='')}/events", raw=True))

    def draw_reviews(
        self,
        body: types.ReviewQueueRequest,
    ) -> types.ReviewQueue:
        """Sessions for people to look at, half drawn at random and half where a label teaches most; more are drawn when fewer
are open."""
        return cast("types.ReviewQueue", self._call("POST", "/api/evaluations/review_queue", body=body))

    def recent_shadow_comparisons(
        self,
        *,
        limit: Optional[int] = None,
    ) -> types.RecentShadowComparisonsResponse:
        """The newest verdicts of the pinned rubric, of the last 30 days."""
        return cast("types.RecentShadowComparisonsResponse", self._call("GET", "/api/evaluations/shadow_comparisons/recent", query={"limit": limit}))

    def finalize_session(
        self,
        body: types.SessionKey,
    ) -> types.FinalizeResponse:
        """Declare a session finished."""
        return cast("types.FinalizeResponse", self._call("POST", "/api/finalize_session", body=body))

    def get_agent_playbooks(
        self,
        body: types.GetPlaybooksRequest,
    ) -> types.GetAgentPlaybooksResponse:
        """Agent playbooks with what they came from, newest first."""
        return cast("types.GetAgentPlaybooksResponse", self._call("POST", "/api/get_agent_playbooks", body=body))

    def get_agent_success_evaluation_results(
        self,
        body: types.GetAgentSuccessEvaluationResultsRequest,
    ) -> types.GetAgentSuccessEvaluationResultsResponse:
        """Verdicts on sessions, newest session first."""
        return cast("types.GetAgentSuccessEvaluationResultsResponse", self._call("POST", "/api/get_agent_success_evaluation_results", body=body))

    def get_all_interactions(
        self,
        *,
        limit: Optional[int] = None,
    ) -> types.GetInteractionsResponse:
        """The newest turns of everybody, in the order in which they happened."""
        return cast("types.GetInteractionsResponse", self._call("GET", "/api/get_all_interactions", query={"limit": limit}))

    def get_all_profiles(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        status_filter: Optional[Literal["current", "pending", "archived", "superseded"]] = None,
        user_id: Optional[str] = None,
        profile_id: Optional[str] = None,
        query: Optional[str] = None,
        source: Optional[str] = None,
        profile_time_to_live: Optional[Literal["one_day", "one_week", "one_month", "one_quarter", "one_year", "infinity"]] = None,
        limit: Optional[int] = None,
    ) -> types.GetAllProfilesResponse:
        """Profiles of everybody, the newest first. What has expired is not there."""
        return cast("types.GetAllProfilesResponse", self._call("GET", "/api/get_all_profiles", query={"start_time": start_time, "end_time": end_time, "status_filter": status_filter, "user_id": user_id, "profile_id": profile_id, "query": query, "source": source, "profile_time_to_live": profile_time_to_live, "limit": limit}))

    def get_config(
        self,
    ) -> types.ConfigView:
        """The organization's configuration, complete with defaults."""
        return cast("types.ConfigView", self._call("GET", "/api/get_config"))

    def get_evaluation_overview(
        self,
        body: types.GetEvaluationOverviewRequest,
    ) -> types.GetEvaluationOverviewResponse:
        """Success, corrections, escalations, rules and shadow comparisons over a window, in total and by sets of sources."""
        return cast("types.GetEvaluationOverviewResponse", self._call("POST", "/api/get_evaluation_overview", body=body))

    def get_interactions(
        self,
        body: types.GetInteractionsRequest,
    ) -> types.GetInteractionsResponse:
        """The newest turns of a user, in the order in which they happened."""
        return cast("types.GetInteractionsResponse", self._call("POST", "/api/get_interactions", body=body))

    def get_learning_provenance(
        self,
        body: types.GetLearningProvenanceRequest,
    ) -> types.LearningProvenance:
        """From which interactions, through which merges and approvals, a learning came."""
        return cast("types.LearningProvenance", self._call("POST", "/api/get_learning_provenance", body=body))

    def get_operation_status(
        self,
        *,
        service_name: Optional[Literal["profile_generation", "playbook_generation"]] = None,
    ) -> types.OperationStatus:
        """Status of the newest reading of a name."""
        return cast("types.OperationStatus", self._call("GET", "/api/get_operation_status", query={"service_name": service_name}))

    def get_profiles(
        self,
        body: types.GetProfilesRequest,
    ) -> types.GetProfilesResponse:
        """A user's profiles, newest first. What has expired is not there."""
        return cast("types.GetProfilesResponse", self._call("POST", "/api/get_profiles", body=body))

    def get_requests(
        self,
        body: types.GetRequestsRequest,
    ) -> types.GetRequestsResponse:
        """Requests by session, newest session first."""
        return cast("types.GetRequestsResponse", self._call("POST", "/api/get_requests", body=body))

    def get_retrieved_learning_evaluation_results(
        self,
        body: types.GetRetrievedLearningEvaluationResultsRequest,
    ) -> types.GetRetrievedLearningEvaluationResultsResponse:
        """Verdicts on retrieved learnings, newest turn first."""
        return cast("types.GetRetrievedLearningEvaluationResultsResponse", self._call("POST", "/api/get_retrieved_learning_evaluation_results", body=body))

    def get_session_outcomes(
        self,
        body: types.GetSessionOutcomesRequest,
    ) -> types.GetSessionOutcomesResponse:
        """The current outcomes of sessions, newest first."""
        return cast("types.GetSessionOutcomesResponse", self._call("POST", "/api/get_session_outcomes", body=body))

    def get_user_playbooks(
        self,
        body: types.GetPlaybooksRequest,
    ) -> types.GetUserPlaybooksResponse:
        """User playbooks, newest first."""
        return cast("types.GetUserPlaybooksResponse", self._call("POST", "/api/get_user_playbooks", body=body))

    def audit_events(
        self,
        *,
        before: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> types.AuditEvents:
        """The audit: exports, erasures, readmissions, deletions, keys made and ended, changes of the configuration, decisions
about playbooks, and refused calls. Keys and people who did it are named; the user it was about is a reference."""
        return cast("types.AuditEvents", self._call("GET", "/api/governance/audit-events", query={"before": before, "limit": limit}))

    def erase_user(
        self,
        body: types.GovernanceRequest,
    ) -> types.Erased:
        """Erase a person: everything stored for them, everywhere."""
        return cast("types.Erased", self._call("POST", "/api/governance/erase-user", body=body))

    def export_user(
        self,
        body: types.GovernanceRequest,
        *,
        format: Optional[Literal["json", "zip"]] = None,
    ) -> types.ExportBundle:
        """Everything that is stored of a person."""
        return cast("types.ExportBundle", self._call("POST", "/api/governance/export-user", body=body, query={"format": format}))

    def preview_user(
        self,
        body: types.PreviewRequest,
    ) -> types.Preview:
        """Row counts that an export or an erasure would touch."""
        return cast("types.Preview", self._call("POST", "/api/governance/preview-user", body=body))

    def public_key(
        self,
    ) -> types.PublicKeys:
        """The keys that certificates of this installation are checked with. Open to everybody."""
        return cast("types.PublicKeys", self._call("GET", "/api/governance/public-key"))

    def purge_operations(
        self,
    ) -> types.PurgeOperations:
        """The newest 100 erasures: references, status and times. Whom they were about is not known any more."""
        return cast("types.PurgeOperations", self._call("GET", "/api/governance/purge-operations"))

    def purge_operation(
        self,
        purge_id: str,
    ) -> types.PurgeOperation:
        """Progress of an erasure."""
        return cast("types.PurgeOperation", self._call("GET", f"/api/governance/purge-operations/{quote(purge_id, safe='')}"))

    def purge_certificate(
        self,
        purge_id: str,
    ) -> types.SignedCertificate:
        """The signed certificate of a complete erasure. `evenhand governance verify-certificate` checks it anywhere."""
        return cast("types.SignedCertificate", self._call("GET", f"/api/governance/purge-operations/{quote(purge_id, safe='')}/certificate"))

    def readmit_user(
        self,
        body: types.GovernanceRequest,
    ) -> types.Readmitted:
        """Let an erased person come back. What is dated before their erasure stays refused."""
        return cast("types.Readmitted", self._call("POST", "/api/governance/readmit-user", body=body))

    def import_score(
        self,
        body: types.ImportScoreRequest,
    ) -> types.ImportScoreResponse:
        """Import a score that another program gave to a session; partner tiles show them."""
        return cast("types.ImportScoreResponse", self._call("POST", "/api/imported_scores", body=body))

    def summary(
        self,
    ) -> types.JobsSummary:
        """Background work of this organization: counts by kind and state."""
        return cast("types.JobsSummary", self._call("GET", "/api/jobs"))

    def queue_ages(
        self,
    ) -> types.QueueAgeHistory:
        """How long due jobs waited over the last day, as this server saw it every minute."""
        return cast("types.QueueAgeHistory", self._call("GET", "/api/jobs/ages"))

    def dead_jobs(
        self,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> types.DeadJobs:
        """Jobs of this organization that gave up, with the reason. Those that belong to a regeneration are told of there."""
        return cast("types.DeadJobs", self._call("GET", "/api/jobs/dead", query={"cursor": cursor, "limit": limit}))

    def retry_job(
        self,
        job_id: str,
    ) -> types.RetriedJob:
        """Try a job that gave up again, now and with all its attempts."""
        return cast("types.RetriedJob", self._call("POST", f"/api/jobs/{quote(job_id, safe='')}/retry"))

    def list_keys(
        self,
    ) -> types.KeysResponse:
        """The organization's credentials."""
        return cast("types.KeysResponse", self._call("GET", "/api/keys"))

    def create_key(
        self,
        body: types.CreateKeyRequest,
    ) -> types.CreatedKey:
        """Make a credential. The first one ends local mode. Governance is handed on only by those who have it."""
        return cast("types.CreatedKey", self._call("POST", "/api/keys", body=body))

    def revoke_key(
        self,
        credential_id: str,
    ) -> types.RevokedKey:
        """End a credential: it is refused from the next request on. One that governs is ended only by those who do."""
        return cast("types.RevokedKey", self._call("DELETE", f"/api/keys/{quote(credential_id, safe='')}"))

    def learning_status(
        self,
        *,
        request_id: str,
    ) -> types.LearningStatusResponse:
        """Learning status of a published request."""
        return cast("types.LearningStatusResponse", self._call("GET", "/api/learning_status", query={"request_id": request_id}))

    def get_effects(
        self,
        *,
        agent_version: Optional[str] = None,
        source: Optional[str] = None,
        state: Optional[Literal["helps", "hurts", "no_sign_yet"]] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
    ) -> types.LearningEffects:
        """Which playbooks help, and which hurt: effects of those that are or were on trial."""
        return cast("types.LearningEffects", self._call("GET", "/api/learnings/effects", query={"agent_version": agent_version, "source": source, "state": state, "limit": limit, "offset": offset}))

    def export_effects(
        self,
    ) -> bytes:
        """The rows behind the effects, one JSON object per line, with references in the place of ids. What
`evenhand learnings effects` reads."""
        return cast("bytes", self._call("GET", "/api/learnings/effects/export", raw=True))

    def get_effect(
        self,
        agent_playbook_id: str,
    ) -> types.LearningEffectDetail:
        """One playbook's effect: by text, by epoch, and its course over time."""
        return cast("types.LearningEffectDetail", self._call("GET", f"/api/learnings/effects/{quote(agent_playbook_id, safe='')}"))

    def scorecard(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        kind: Optional[Literal["profile", "user_playbook", "agent_playbook"]] = None,
        learning_id: Optional[str] = None,
        agent_version: Optional[str] = None,
    ) -> types.Scorecard:
        """Scorecard of learnings: relevance, impact with its interval, verified diagnoses."""
        return cast("types.Scorecard", self._call("GET", "/api/learnings/scorecard", query={"start_time": start_time, "end_time": end_time, "limit": limit, "kind": kind, "learning_id": learning_id, "agent_version": agent_version}))

    def tuning_proposals(
        self,
        *,
        status: Optional[Literal["open", "accepted", "declined", "all"]] = None,
    ) -> types.TuningProposals:
        """Learnings that hurt, with what is proposed to do about them."""
        return cast("types.TuningProposals", self._call("GET", "/api/learnings/tuning_proposals", query={"status": status}))

    def accept_tuning_proposal(
        self,
        body: types.AcceptTuningProposalRequest,
    ) -> types.TuningDecided:
        """Carry a proposal out: archive the learning, or give it the proposed wording or one's own."""
        return cast("types.TuningDecided", self._call("POST", "/api/learnings/tuning_proposals/accept", body=body))

    def decline_tuning_proposal(
        self,
        body: types.DeclineTuningProposalRequest,
    ) -> types.TuningDecided:
        """Leave the learning as it is; the same text is not proposed again."""
        return cast("types.TuningDecided", self._call("POST", "/api/learnings/tuning_proposals/decline", body=body))

    def manual_playbook_generation(
        self,
        body: types.RerunPlaybookGenerationRequest,
    ) -> types.GenerationStarted:
        """Read the turns of a version of the agent, or of all, that wait for more to come."""
        return cast("types.GenerationStarted", self._call("POST", "/api/manual_playbook_generation", body=body))

    def manual_profile_generation(
        self,
        body: types.RerunProfileGenerationRequest,
    ) -> types.GenerationStarted:
        """Read the turns of a person, or of everybody, that wait for more to come."""
        return cast("types.GenerationStarted", self._call("POST", "/api/manual_profile_generation", body=body))

    def my_config(
        self,
    ) -> types.MyConfig:
        """The storage of the caller's data, without its credentials."""
        return cast("types.MyConfig", self._call("GET", "/api/my_config"))

    def list_pending_tool_calls(
        self,
        *,
        status: Optional[Literal["pending", "resolved", "expired", "superseded", "cancelled"]] = None,
        limit: Optional[int] = None,
    ) -> types.PendingToolCalls:
        """Questions that agents left, the newest first."""
        return cast("types.PendingToolCalls", self._call("GET", "/api/pending_tool_calls", query={"status": status, "limit": limit}))

    def ask_pending_tool_call(
        self,
        body: types.AskPendingToolCallRequest,
    ) -> types.PendingToolCall:
        """Ask the people who run the agent something. The same question of a user is asked once: while it is open, and while
its answer is valid, that one is returned."""
        return cast("types.PendingToolCall", self._call("POST", "/api/pending_tool_calls", body=body))

    def get_pending_tool_call(
        self,
        id: str,
    ) -> types.PendingToolCall:
        """One question, with its answer if it has one."""
        return cast("types.PendingToolCall", self._call("GET", f"/api/pending_tool_calls/{quote(id, safe='')}"))

    def update_pending_tool_call_answer(
        self,
        id: str,
        body: types.UpdatePendingToolCallAnswerRequest,
    ) -> types.PendingToolCall:
        """Change the answer to a question that has one."""
        return cast("types.PendingToolCall", self._call("PATCH", f"/api/pending_tool_calls/{quote(id, safe='')}/answer", body=body))

    def cancel_pending_tool_call(
        self,
        id: str,
    ) -> types.PendingToolCall:
        """Withdraw a question that is pending."""
        return cast("types.PendingToolCall", self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/cancel"))

    def mark_pending_tool_call_not_applicable(
        self,
        id: str,
        body: types.MarkPendingToolCallNotApplicableRequest,
    ) -> types.PendingToolCall:
        """Answer a question that is pending with "nobody knows"."""
        return cast("types.PendingToolCall", self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/not_applicable", body=body))

    def resolve_pending_tool_call(
        self,
        id: str,
        body: types.ResolvePendingToolCallRequest,
    ) -> types.PendingToolCall:
        """Answer a question that is pending."""
        return cast("types.PendingToolCall", self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/resolve", body=body))

    def profile_change_log(
        self,
    ) -> types.ProfileChangeLog:
        """Profiles that extraction added lately, and those they took the place of: the newest 200 that are still stored."""
        return cast("types.ProfileChangeLog", self._call("GET", "/api/profile_change_log"))

    def publish_interaction(
        self,
        body: types.PublishRequest,
        *,
        wait_for_response: Optional[bool] = None,
    ) -> types.PublishResponse:
        """Publish what happened in a session."""
        return cast("types.PublishResponse", self._call("POST", "/api/publish_interaction", body=body, query={"wait_for_response": wait_for_response}))

    def rerank_user_profiles(
        self,
        body: types.RerankUserProfilesRequest,
    ) -> types.GetProfilesResponse:
        """Put some of a user's profiles into the order in which they fit a question. Those that have nothing to do with it
come last, the newest first."""
        return cast("types.GetProfilesResponse", self._call("POST", "/api/rerank_user_profiles", body=body))

    def rerun_playbook_generation(
        self,
        body: types.RerunPlaybookGenerationRequest,
    ) -> types.GenerationStarted:
        """Read turns once more and learn from them, of a version of the agent or of all."""
        return cast("types.GenerationStarted", self._call("POST", "/api/rerun_playbook_generation", body=body))

    def rerun_profile_generation(
        self,
        body: types.RerunProfileGenerationRequest,
    ) -> types.GenerationStarted:
        """Read turns once more and learn from them, of a person or of everybody."""
        return cast("types.GenerationStarted", self._call("POST", "/api/rerun_profile_generation", body=body))

    def list_experiments(
        self,
    ) -> types.RetrievalExperimentListResponse:
        """All experiments, and the active one."""
        return cast("types.RetrievalExperimentListResponse", self._call("GET", "/api/retrieval_experiments"))

    def start_experiment(
        self,
        body: types.StartRetrievalExperimentRequest,
    ) -> types.RetrievalExperimentListResponse:
        """Start an experiment: from now on every user is in one of its two arms."""
        return cast("types.RetrievalExperimentListResponse", self._call("POST", "/api/retrieval_experiments", body=body))

    def get_plan(
        self,
        *,
        holdout_percentage: Optional[float] = None,
        effect_percentage_points: Optional[float] = None,
        power: Optional[float] = None,
        days: Optional[int] = None,
    ) -> types.RetrievalExperimentPlan:
        """Numbers of users and days an experiment needs, judging by past sessions."""
        return cast("types.RetrievalExperimentPlan", self._call("GET", "/api/retrieval_experiments/plan", query={"holdout_percentage": holdout_percentage, "effect_percentage_points": effect_percentage_points, "power": power, "days": days}))

    def stop_experiment(
        self,
        body: types.StopRetrievalExperimentRequest,
    ) -> types.RetrievalExperimentListResponse:
        """Stop the active experiment. What was stored stays."""
        return cast("types.RetrievalExperimentListResponse", self._call("POST", "/api/retrieval_experiments/stop", body=body))

    def change_about(
        self,
        experiment_id: str,
        body: types.ChangeExperimentAboutRequest,
    ) -> types.ExperimentAbout:
        """Change what an experiment is for: hypothesis, owner and notes. What is absent stays. Its design is fixed."""
        return cast("types.ExperimentAbout", self._call("PATCH", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/about", body=body))

    def export_rows(
        self,
        experiment_id: str,
    ) -> bytes:
        """The rows behind the results, one JSON object per line, with references in the place of ids. What
`evenhand experiments analyse` reads."""
        return cast("bytes", self._call("GET", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/export", raw=True))

    def get_results(
        self,
        experiment_id: str,
        *,
        ci_method: Optional[Literal["clustered_newcombe_tbm", "cr2_bell_mccaffrey", "cr1_t_clusters_minus_1", "delta_welch", "newcombe_neff"]] = None,
    ) -> types.RetrievalExperimentResultsResponse:
        """Results of an experiment so far."""
        return cast("types.RetrievalExperimentResultsResponse", self._call("GET", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/results", query={"ci_method": ci_method}))

    def review_user_playbooks(
        self,
        body: types.ReviewUserPlaybooksRequest,
    ) -> types.ReviewReport:
        """Read the sessions that taught user playbooks once more, and say which of them would be learned today. With
`report_only` false, those that would not be are archived, and those that would be worded otherwise are replaced."""
        return cast("types.ReviewReport", self._call("POST", "/api/review_user_playbooks", body=body))

    def run_playbook_aggregation(
        self,
        body: types.RunPlaybookAggregationRequest,
    ) -> types.AggregationStarted:
        """Look now for what several people taught a version of the agent; it happens by itself after every change."""
        return cast("types.AggregationStarted", self._call("POST", "/api/run_playbook_aggregation", body=body))

    def search(
        self,
        body: types.SearchRequest,
    ) -> types.SearchResponse:
        """Search everything learned that fits a question: what an agent calls before it answers."""
        return cast("types.SearchResponse", self._call("POST", "/api/search", body=body))

    def search_agent_playbooks(
        self,
        body: types.SearchPlaybooksRequest,
    ) -> types.SearchAgentPlaybooksResponse:
        """Search the organization's playbooks."""
        return cast("types.SearchAgentPlaybooksResponse", self._call("POST", "/api/search_agent_playbooks", body=body))

    def search_interactions(
        self,
        body: types.SearchInteractionsRequest,
    ) -> types.GetInteractionsResponse:
        """Search the newest 5,000 turns of a user by their words."""
        return cast("types.GetInteractionsResponse", self._call("POST", "/api/search_interactions", body=body))

    def search_profiles(
        self,
        body: types.SearchProfilesRequest,
    ) -> types.SearchProfilesResponse:
        """Search a user's profiles."""
        return cast("types.SearchProfilesResponse", self._call("POST", "/api/search_profiles", body=body))

    def search_user_playbooks(
        self,
        body: types.SearchPlaybooksRequest,
    ) -> types.SearchUserPlaybooksResponse:
        """Search a user's playbooks."""
        return cast("types.SearchUserPlaybooksResponse", self._call("POST", "/api/search_user_playbooks", body=body))

    def session_outcome(
        self,
        body: types.SessionOutcomeRequest,
    ) -> types.SessionOutcomeResponse:
        """Report what became of a session: ground truth beside every judge."""
        return cast("types.SessionOutcomeResponse", self._call("POST", "/api/session_outcome", body=body))

    def list_sessions(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        experiment_id: Optional[str] = None,
        arm: Optional[Literal["treatment", "holdout"]] = None,
        order: Optional[Literal["newest", "oldest"]] = None,
        user_id: Optional[str] = None,
        source: Optional[str] = None,
        agent_version: Optional[str] = None,
        verdict: Optional[Literal["success", "failure", "none"]] = None,
        text: Optional[str] = None,
        session_ids: Optional[str] = None,
        cursor: Optional[str] = None,
        min_corrections: Optional[int] = None,
        max_corrections: Optional[int] = None,
        limit: Optional[int] = None,
        count: Optional[bool] = None,
    ) -> types.ListSessionsResponse:
        """Sessions, newest activity first or last, page by page."""
        return cast("types.ListSessionsResponse", self._call("GET", "/api/sessions", query={"start_time": start_time, "end_time": end_time, "experiment_id": experiment_id, "arm": arm, "order": order, "user_id": user_id, "source": source, "agent_version": agent_version, "verdict": verdict, "text": text, "session_ids": session_ids, "cursor": cursor, "min_corrections": min_corrections, "max_corrections": max_corrections, "limit": limit, "count": count}))

    def export_sessions(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        user_id: Optional[str] = None,
        source: Optional[str] = None,
        agent_version: Optional[str] = None,
    ) -> bytes:
        """Sessions with everything that was published of them, one JSON object per line. Times are those of a session's last
activity. `evenhand import jsonl` reads it."""
        return cast("bytes", self._call("GET", "/api/sessions/export", query={"start_time": start_time, "end_time": end_time, "user_id": user_id, "source": source, "agent_version": agent_version}, raw=True))

    def get_session(
        self,
        user_id: str,
        session_id: str,
    ) -> types.SessionView:
        """One session, whole."""
        return cast("types.SessionView", self._call("GET", f"/api/sessions/{quote(user_id, safe='')}/{quote(session_id, safe='')}"))

    def set_config(
        self,
        body: types.OrganizationConfig,
    ) -> types.ConfigChanged:
        """Replace the configuration. What is left out goes back to its default, except `judge`, `learning`, `governance`,
`evaluators` and `shadow_both_orders`: the public Python client cannot carry them, and they stay."""
        return cast("types.ConfigChanged", self._call("POST", "/api/set_config", body=body))

    def spending_by_day(
        self,
        *,
        days: Optional[int] = None,
    ) -> types.Spending:
        """US dollars paid for judging and for learning, day by day: the cost of what is stored. Verdicts that were replaced and
calls that failed are not in it."""
        return cast("types.Spending", self._call("GET", "/api/spending", query={"days": days}))

    def storage_stats(
        self,
        *,
        user_id: str,
    ) -> types.StorageStats:
        """Number and age of a user's learnings."""
        return cast("types.StorageStats", self._call("GET", "/api/storage_stats", query={"user_id": user_id}))

    def update_agent_playbook(
        self,
        body: types.UpdateAgentPlaybookRequest,
    ) -> types.Changed:
        """Change an agent playbook; what is absent stays."""
        return cast("types.Changed", self._call("PUT", "/api/update_agent_playbook", body=body))

    def update_agent_playbook_status(
        self,
        body: types.UpdateAgentPlaybookStatusRequest,
    ) -> types.Changed:
        """Approve an agent playbook, reject it, or put it back to pending."""
        return cast("types.Changed", self._call("PUT", "/api/update_agent_playbook_status", body=body))

    def update_config(
        self,
        body: types.OrganizationConfig,
    ) -> types.ConfigChanged:
        """Change some of the configuration; `null` puts a field back to its default."""
        return cast("types.ConfigChanged", self._call("POST", "/api/update_config", body=body))

    def update_user_playbook(
        self,
        body: types.UpdateUserPlaybookRequest,
    ) -> types.Changed:
        """Change a user playbook; what is absent stays."""
        return cast("types.Changed", self._call("PUT", "/api/update_user_playbook", body=body))

    def update_user_profile(
        self,
        body: types.ProfileChange,
    ) -> types.Changed:
        """Change a profile; what is absent stays."""
        return cast("types.Changed", self._call("PUT", "/api/update_user_profile", body=body))

    def upgrade_all_profiles(
        self,
        body: types.UpgradeProfilesRequest,
    ) -> types.UpgradedProfiles:
        """Make people's pending profiles current. Those that were current are archived, those that were archived before are
deleted."""
        return cast("types.UpgradedProfiles", self._call("POST", "/api/upgrade_all_profiles", body=body))

    def upgrade_all_user_playbooks(
        self,
        body: types.UpgradeUserPlaybooksRequest,
    ) -> types.UpgradedUserPlaybooks:
        """Make people's pending playbooks current, of those who have any. Their current ones are archived, those that were
archived before are deleted."""
        return cast("types.UpgradedUserPlaybooks", self._call("POST", "/api/upgrade_all_user_playbooks", body=body))

    def list_webhooks(
        self,
    ) -> types.WebhookList:
        """The organization's webhooks."""
        return cast("types.WebhookList", self._call("GET", "/api/webhooks"))

    def create_webhook(
        self,
        body: types.CreateWebhookRequest,
    ) -> types.CreatedWebhook:
        """Make a webhook."""
        return cast("types.CreatedWebhook", self._call("POST", "/api/webhooks", body=body))

    def delete_webhook(
        self,
        webhook_id: str,
    ) -> types.DeletedWebhook:
        """Delete a webhook with its log. Nothing that waits is sent."""
        return cast("types.DeletedWebhook", self._call("DELETE", f"/api/webhooks/{quote(webhook_id, safe='')}"))

    def update_webhook(
        self,
        webhook_id: str,
        body: types.UpdateWebhookRequest,
    ) -> types.Webhook:
        """Change a webhook; what is absent stays. Its secret stays too."""
        return cast("types.Webhook", self._call("PATCH", f"/api/webhooks/{quote(webhook_id, safe='')}", body=body))

    def list_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        state: Optional[Literal["waiting", "delivered", "failed"]] = None,
        limit: Optional[int] = None,
    ) -> types.WebhookDeliveries:
        """The log of a webhook: a month, and a thousand deliveries at most."""
        return cast("types.WebhookDeliveries", self._call("GET", f"/api/webhooks/{quote(webhook_id, safe='')}/deliveries", query={"state": state, "limit": limit}))

    def test_webhook(
        self,
        webhook_id: str,
    ) -> types.WebhookDelivery:
        """Send a test message, once. Its outcome is in the log."""
        return cast("types.WebhookDelivery", self._call("POST", f"/api/webhooks/{quote(webhook_id, safe='')}/test"))

    def whoami(
        self,
    ) -> types.Whoami:
        """The caller's organization and role, and the storage of its data."""
        return cast("types.Whoami", self._call("GET", "/api/whoami"))

    def live(
        self,
    ) -> types.Health:
        """Is the process alive?"""
        return cast("types.Health", self._call("GET", "/health/live"))

    def ready(
        self,
    ) -> types.Health:
        """Can it serve requests? Looks at the storage and the job queue, and says how the judge is."""
        return cast("types.Health", self._call("GET", "/health/ready"))

    def version(
        self,
    ) -> types.Version:
        """Name and version of this server."""
        return cast("types.Version", self._call("GET", "/meta/version"))

    def stall_state(
        self,
    ) -> types.StallState:
        """Is learning paused, and why?"""
        return cast("types.StallState", self._call("GET", "/stall_state"))

    def mark_stall_notified(
        self,
    ) -> types.StallNotified:
        """Remember that somebody was told of the stall."""
        return cast("types.StallNotified", self._call("POST", "/stall_state/notified"))


class AsyncOperations:
    """Every operation of the server, one method each; a refusal raises `ApiError`."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def add_agent_playbook(
        self,
        body: types.AddAgentPlaybookRequest,
    ) -> types.AddedPlaybooks:
        """Add agent playbooks, all or none, with the user playbooks they came from. An agent key adds pending ones; an approved
one is refused (403 `approval_needs_a_person`)."""
        return cast("types.AddedPlaybooks", await self._call("POST", "/api/add_agent_playbook", body=body))

    async def add_user_playbook(
        self,
        body: types.AddUserPlaybookRequest,
    ) -> types.AddedPlaybooks:
        """Add user playbooks, all or none. The next search finds them."""
        return cast("types.AddedPlaybooks", await self._call("POST", "/api/add_user_playbook", body=body))

    async def add_user_profile(
        self,
        body: types.AddUserProfileRequest,
    ) -> types.AddedProfiles:
        """Add profiles, all or none. The next search finds them."""
        return cast("types.AddedProfiles", await self._call("POST", "/api/add_user_profile", body=body))

    async def invalidate_cache(
        self,
        body: types.InvalidateCacheRequest,
    ) -> types.InvalidatedCache:
        """Accepted for clients that know servers with caches of configurations; this one has none."""
        return cast("types.InvalidatedCache", await self._call("POST", "/api/admin/cache/invalidate", body=body))

    async def list_alert_rules(
        self,
    ) -> types.AlertRules:
        """The organization's rules, how they stand, and their newest episodes."""
        return cast("types.AlertRules", await self._call("GET", "/api/alerts"))

    async def create_alert_rule(
        self,
        body: types.CreateAlertRuleRequest,
    ) -> types.AlertRule:
        """Make a rule: is this metric worse than in the four weeks before? It is looked at at once, and then every hour.
Webhooks that ask for `alert.raised` and `alert.cleared` are told."""
        return cast("types.AlertRule", await self._call("POST", "/api/alerts", body=body))

    async def delete_alert_rule(
        self,
        rule_id: str,
    ) -> types.DeletedAlertRule:
        """Delete a rule with its history."""
        return cast("types.DeletedAlertRule", await self._call("DELETE", f"/api/alerts/{quote(rule_id, safe='')}"))

    async def update_alert_rule(
        self,
        rule_id: str,
        body: types.UpdateAlertRuleRequest,
    ) -> types.AlertRule:
        """Change a rule; what is absent stays. A new `smallest_change` or `enabled` makes it begin anew."""
        return cast("types.AlertRule", await self._call("PATCH", f"/api/alerts/{quote(rule_id, safe='')}", body=body))

    async def clear_user_data(
        self,
        body: types.ClearUserDataRequest,
    ) -> types.ClearedUserData:
        """Delete everything stored for a user. To forget a person with proof, erase them instead."""
        return cast("types.ClearedUserData", await self._call("POST", "/api/clear_user_data", body=body))

    async def delete_agent_playbook(
        self,
        body: types.DeleteAgentPlaybookRequest,
    ) -> types.DeletedLearning:
        """Delete an agent playbook; the user playbooks it came from stay."""
        return cast("types.DeletedLearning", await self._call("DELETE", "/api/delete_agent_playbook", body=body))

    async def delete_agent_playbooks_by_ids(
        self,
        body: types.DeleteAgentPlaybooksByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several agent playbooks; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_agent_playbooks_by_ids", body=body))

    async def delete_all_agent_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all agent playbooks of the organization; the user playbooks they came from stay."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_all_agent_playbooks"))

    async def delete_all_interactions(
        self,
    ) -> types.DeletedRequests:
        """Delete all sessions of the organization, with their turns and everything that was written about them. What was
learned from them stays."""
        return cast("types.DeletedRequests", await self._call("DELETE", "/api/delete_all_interactions"))

    async def delete_all_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all playbooks of the organization: people's and its own."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_all_playbooks"))

    async def delete_all_profiles(
        self,
    ) -> types.DeletedLearnings:
        """Delete all profiles of the organization."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_all_profiles"))

    async def delete_all_user_playbooks(
        self,
    ) -> types.DeletedLearnings:
        """Delete all user playbooks of the organization; agent playbooks made from them stay."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_all_user_playbooks"))

    async def delete_interaction(
        self,
        body: types.DeleteInteractionRequest,
    ) -> types.Deleted:
        """Delete one turn."""
        return cast("types.Deleted", await self._call("DELETE", "/api/delete_interaction", body=body))

    async def delete_profile(
        self,
        body: types.DeleteProfileRequest,
    ) -> types.DeletedLearning:
        """Delete a profile."""
        return cast("types.DeletedLearning", await self._call("DELETE", "/api/delete_profile", body=body))

    async def delete_profiles_by_ids(
        self,
        body: types.DeleteProfilesByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several profiles; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_profiles_by_ids", body=body))

    async def delete_request(
        self,
        body: types.DeleteRequestRequest,
    ) -> types.Deleted:
        """Delete a request with its turns."""
        return cast("types.Deleted", await self._call("DELETE", "/api/delete_request", body=body))

    async def delete_requests_by_ids(
        self,
        body: types.DeleteRequestsByIdsRequest,
    ) -> types.DeletedRequests:
        """Delete several requests; ids that do not exist are passed over."""
        return cast("types.DeletedRequests", await self._call("DELETE", "/api/delete_requests_by_ids", body=body))

    async def delete_session(
        self,
        body: types.SessionKey,
    ) -> types.DeletedSession:
        """Delete a session with everything that hangs on it."""
        return cast("types.DeletedSession", await self._call("DELETE", "/api/delete_session", body=body))

    async def delete_user_playbook(
        self,
        body: types.DeleteUserPlaybookRequest,
    ) -> types.DeletedLearning:
        """Delete a user playbook with its source windows; agent playbooks made from it stay."""
        return cast("types.DeletedLearning", await self._call("DELETE", "/api/delete_user_playbook", body=body))

    async def delete_user_playbooks_by_ids(
        self,
        body: types.DeleteUserPlaybooksByIdsRequest,
    ) -> types.DeletedLearnings:
        """Delete several user playbooks; ids that do not exist are passed over."""
        return cast("types.DeletedLearnings", await self._call("DELETE", "/api/delete_user_playbooks_by_ids", body=body))

    async def get_agreement(
        self,
        *,
        evaluation_name: Optional[str] = None,
        from_ts: Optional[Union[float, str]] = None,
        to_ts: Optional[Union[float, str]] = None,
        agent_version: Optional[str] = None,
        prompt_version: Optional[str] = None,
        judge: Optional[str] = None,
        source: Optional[str] = None,
        ground_truth: Optional[Literal["labels", "outcomes", "both"]] = None,
    ) -> types.Agreement:
        """Agreement of the judge with people, and the success rate corrected for the judge's errors."""
        return cast("types.Agreement", await self._call("GET", "/api/evaluations/agreement", query={"evaluation_name": evaluation_name, "from_ts": from_ts, "to_ts": to_ts, "agent_version": agent_version, "prompt_version": prompt_version, "judge": judge, "source": source, "ground_truth": ground_truth}))

    async def get_decisions(
        self,
        *,
        user_id: Optional[str] = None,
        session_id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> types.DecisionsResponse:
        """Evaluation decisions: the reason for a session's verdict, or for its absence."""
        return cast("types.DecisionsResponse", await self._call("GET", "/api/evaluations/decisions", query={"user_id": user_id, "session_id": session_id, "limit": limit}))

    async def get_estimated_success(
        self,
        *,
        from_ts: Optional[Union[float, str]] = None,
        to_ts: Optional[Union[float, str]] = None,
    ) -> types.EstimatedSuccess:
        """Success rates over all sessions that were due, decided or not, by source, corrected by labels drawn at random."""
        return cast("types.EstimatedSuccess", await self._call("GET", "/api/evaluations/estimated_success", query={"from_ts": from_ts, "to_ts": to_ts}))

    async def export_evaluations(
        self,
        *,
        from_ts: Union[float, str],
        to_ts: Union[float, str],
        format: Literal["csv", "ndjson", "parquet"],
        sources: Optional[str] = None,
    ) -> bytes:
        """Download every verdict of success in a window, oldest session first."""
        return cast("bytes", await self._call("GET", "/api/evaluations/export", query={"from_ts": from_ts, "to_ts": to_ts, "sources": sources, "format": format}, raw=True))

    async def grade_on_demand(
        self,
        body: types.GradeOnDemandRequest,
    ) -> types.Grade:
        """Grade one session now. Calls for the same session at the same time share one judgement; within 24 hours the
verdict is given again."""
        return cast("types.Grade", await self._call("POST", "/api/evaluations/grade_on_demand", body=body))

    async def start_judge_diff(
        self,
        body: types.JudgeDiffRequest,
    ) -> types.Started:
        """Judge a window with another rubric or model, beside the live numbers."""
        return cast("types.Started", await self._call("POST", "/api/evaluations/judge_diffs", body=body))

    async def get_judge_diff(
        self,
        job_id: str,
    ) -> types.JudgeDiff:
        """Result of a judge diff: paired flips and McNemar's test."""
        return cast("types.JudgeDiff", await self._call("GET", f"/api/evaluations/judge_diffs/{quote(job_id, safe='')}"))

    async def promote_judge_diff(
        self,
        job_id: str,
    ) -> types.Promoted:
        """Judge with the compared rubric from now on."""
        return cast("types.Promoted", await self._call("POST", f"/api/evaluations/judge_diffs/{quote(job_id, safe='')}/promote"))

    async def get_judge_health(
        self,
    ) -> types.JudgeHealth:
        """Health of the judge: paused or not, spending, decisions of the last seven days and the reasons for missing
verdicts."""
        return cast("types.JudgeHealth", await self._call("GET", "/api/evaluations/judge_health"))

    async def get_labels(
        self,
        *,
        session_id: str,
        user_id: Optional[str] = None,
    ) -> types.SessionLabels:
        """People's labels of a session."""
        return cast("types.SessionLabels", await self._call("GET", "/api/evaluations/labels", query={"session_id": session_id, "user_id": user_id}))

    async def post_labels(
        self,
        body: types.LabelsRequest,
    ) -> types.LabelsResponse:
        """Say what really became of sessions."""
        return cast("types.LabelsResponse", await self._call("POST", "/api/evaluations/labels", body=body))

    async def get_learned_judge(
        self,
    ) -> types.LearnedJudge:
        """The learned judge: progress to its first training, and the report card of the model in use."""
        return cast("types.LearnedJudge", await self._call("GET", "/api/evaluations/learned_judge"))

    async def list_regenerations(
        self,
    ) -> types.Regenerations:
        """The newest regenerations."""
        return cast("types.Regenerations", await self._call("GET", "/api/evaluations/regenerate"))

    async def regenerate(
        self,
        body: types.RegenerateRequest,
    ) -> types.Started:
        """Judge the sessions of a window again, in the background. One at a time per organization."""
        return cast("types.Started", await self._call("POST", "/api/evaluations/regenerate", body=body))

    async def preview_regeneration(
        self,
        body: types.RegenerateRequest,
    ) -> types.RegenerationPreview:
        """Preview of a regeneration: its sessions and its cost, without starting it."""
        return cast("types.RegenerationPreview", await self._call("POST", "/api/evaluations/regenerate/preview", body=body))

    async def get_regeneration(
        self,
        job_id: str,
    ) -> types.RegenerateStatusResponse:
        """Progress of a regeneration."""
        return cast("types.RegenerateStatusResponse", await self._call("GET", f"/api/evaluations/regenerate/{quote(job_id, safe='')}"))

    async def cancel_regeneration(
        self,
        job_id: str,
    ) -> types.Cancelled:
        """Cancel a regeneration; what is judged stays."""
        return cast("types.Cancelled", await self._call("DELETE", f"/api/evaluations/regenerate/{quote(job_id, safe='')}"))

    async def regeneration_events(
        self,
        job_id: str,
    ) -> bytes:
        """Follow a regeneration: an event `progress` every second until it ends."""
        return cast("bytes", await self._call("GET", f"/api/evaluations/regenerate/{quote(job_id, safe='')}/events", raw=True))

    async def draw_reviews(
        self,
        body: types.ReviewQueueRequest,
    ) -> types.ReviewQueue:
        """Sessions for people to look at, half drawn at random and half where a label teaches most; more are drawn when fewer
are open."""
        return cast("types.ReviewQueue", await self._call("POST", "/api/evaluations/review_queue", body=body))

    async def recent_shadow_comparisons(
        self,
        *,
        limit: Optional[int] = None,
    ) -> types.RecentShadowComparisonsResponse:
        """The newest verdicts of the pinned rubric, of the last 30 days."""
        return cast("types.RecentShadowComparisonsResponse", await self._call("GET", "/api/evaluations/shadow_comparisons/recent", query={"limit": limit}))

    async def finalize_session(
        self,
        body: types.SessionKey,
    ) -> types.FinalizeResponse:
        """Declare a session finished."""
        return cast("types.FinalizeResponse", await self._call("POST", "/api/finalize_session", body=body))

    async def get_agent_playbooks(
        self,
        body: types.GetPlaybooksRequest,
    ) -> types.GetAgentPlaybooksResponse:
        """Agent playbooks with what they came from, newest first."""
        return cast("types.GetAgentPlaybooksResponse", await self._call("POST", "/api/get_agent_playbooks", body=body))

    async def get_agent_success_evaluation_results(
        self,
        body: types.GetAgentSuccessEvaluationResultsRequest,
    ) -> types.GetAgentSuccessEvaluationResultsResponse:
        """Verdicts on sessions, newest session first."""
        return cast("types.GetAgentSuccessEvaluationResultsResponse", await self._call("POST", "/api/get_agent_success_evaluation_results", body=body))

    async def get_all_interactions(
        self,
        *,
        limit: Optional[int] = None,
    ) -> types.GetInteractionsResponse:
        """The newest turns of everybody, in the order in which they happened."""
        return cast("types.GetInteractionsResponse", await self._call("GET", "/api/get_all_interactions", query={"limit": limit}))

    async def get_all_profiles(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        status_filter: Optional[Literal["current", "pending", "archived", "superseded"]] = None,
        user_id: Optional[str] = None,
        profile_id: Optional[str] = None,
        query: Optional[str] = None,
        source: Optional[str] = None,
        profile_time_to_live: Optional[Literal["one_day", "one_week", "one_month", "one_quarter", "one_year", "infinity"]] = None,
        limit: Optional[int] = None,
    ) -> types.GetAllProfilesResponse:
        """Profiles of everybody, the newest first. What has expired is not there."""
        return cast("types.GetAllProfilesResponse", await self._call("GET", "/api/get_all_profiles", query={"start_time": start_time, "end_time": end_time, "status_filter": status_filter, "user_id": user_id, "profile_id": profile_id, "query": query, "source": source, "profile_time_to_live": profile_time_to_live, "limit": limit}))

    async def get_config(
        self,
    ) -> types.ConfigView:
        """The organization's configuration, complete with defaults."""
        return cast("types.ConfigView", await self._call("GET", "/api/get_config"))

    async def get_evaluation_overview(
        self,
        body: types.GetEvaluationOverviewRequest,
    ) -> types.GetEvaluationOverviewResponse:
        """Success, corrections, escalations, rules and shadow comparisons over a window, in total and by sets of sources."""
        return cast("types.GetEvaluationOverviewResponse", await self._call("POST", "/api/get_evaluation_overview", body=body))

    async def get_interactions(
        self,
        body: types.GetInteractionsRequest,
    ) -> types.GetInteractionsResponse:
        """The newest turns of a user, in the order in which they happened."""
        return cast("types.GetInteractionsResponse", await self._call("POST", "/api/get_interactions", body=body))

    async def get_learning_provenance(
        self,
        body: types.GetLearningProvenanceRequest,
    ) -> types.LearningProvenance:
        """From which interactions, through which merges and approvals, a learning came."""
        return cast("types.LearningProvenance", await self._call("POST", "/api/get_learning_provenance", body=body))

    async def get_operation_status(
        self,
        *,
        service_name: Optional[Literal["profile_generation", "playbook_generation"]] = None,
    ) -> types.OperationStatus:
        """Status of the newest reading of a name."""
        return cast("types.OperationStatus", await self._call("GET", "/api/get_operation_status", query={"service_name": service_name}))

    async def get_profiles(
        self,
        body: types.GetProfilesRequest,
    ) -> types.GetProfilesResponse:
        """A user's profiles, newest first. What has expired is not there."""
        return cast("types.GetProfilesResponse", await self._call("POST", "/api/get_profiles", body=body))

    async def get_requests(
        self,
        body: types.GetRequestsRequest,
    ) -> types.GetRequestsResponse:
        """Requests by session, newest session first."""
        return cast("types.GetRequestsResponse", await self._call("POST", "/api/get_requests", body=body))

    async def get_retrieved_learning_evaluation_results(
        self,
        body: types.GetRetrievedLearningEvaluationResultsRequest,
    ) -> types.GetRetrievedLearningEvaluationResultsResponse:
        """Verdicts on retrieved learnings, newest turn first."""
        return cast("types.GetRetrievedLearningEvaluationResultsResponse", await self._call("POST", "/api/get_retrieved_learning_evaluation_results", body=body))

    async def get_session_outcomes(
        self,
        body: types.GetSessionOutcomesRequest,
    ) -> types.GetSessionOutcomesResponse:
        """The current outcomes of sessions, newest first."""
        return cast("types.GetSessionOutcomesResponse", await self._call("POST", "/api/get_session_outcomes", body=body))

    async def get_user_playbooks(
        self,
        body: types.GetPlaybooksRequest,
    ) -> types.GetUserPlaybooksResponse:
        """User playbooks, newest first."""
        return cast("types.GetUserPlaybooksResponse", await self._call("POST", "/api/get_user_playbooks", body=body))

    async def audit_events(
        self,
        *,
        before: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> types.AuditEvents:
        """The audit: exports, erasures, readmissions, deletions, keys made and ended, changes of the configuration, decisions
about playbooks, and refused calls. Keys and people who did it are named; the user it was about is a reference."""
        return cast("types.AuditEvents", await self._call("GET", "/api/governance/audit-events", query={"before": before, "limit": limit}))

    async def erase_user(
        self,
        body: types.GovernanceRequest,
    ) -> types.Erased:
        """Erase a person: everything stored for them, everywhere."""
        return cast("types.Erased", await self._call("POST", "/api/governance/erase-user", body=body))

    async def export_user(
        self,
        body: types.GovernanceRequest,
        *,
        format: Optional[Literal["json", "zip"]] = None,
    ) -> types.ExportBundle:
        """Everything that is stored of a person."""
        return cast("types.ExportBundle", await self._call("POST", "/api/governance/export-user", body=body, query={"format": format}))

    async def preview_user(
        self,
        body: types.PreviewRequest,
    ) -> types.Preview:
        """Row counts that an export or an erasure would touch."""
        return cast("types.Preview", await self._call("POST", "/api/governance/preview-user", body=body))

    async def public_key(
        self,
    ) -> types.PublicKeys:
        """The keys that certificates of this installation are checked with. Open to everybody."""
        return cast("types.PublicKeys", await self._call("GET", "/api/governance/public-key"))

    async def purge_operations(
        self,
    ) -> types.PurgeOperations:
        """The newest 100 erasures: references, status and times. Whom they were about is not known any more."""
        return cast("types.PurgeOperations", await self._call("GET", "/api/governance/purge-operations"))

    async def purge_operation(
        self,
        purge_id: str,
    ) -> types.PurgeOperation:
        """Progress of an erasure."""
        return cast("types.PurgeOperation", await self._call("GET", f"/api/governance/purge-operations/{quote(purge_id, safe='')}"))

    async def purge_certificate(
        self,
        purge_id: str,
    ) -> types.SignedCertificate:
        """The signed certificate of a complete erasure. `evenhand governance verify-certificate` checks it anywhere."""
        return cast("types.SignedCertificate", await self._call("GET", f"/api/governance/purge-operations/{quote(purge_id, safe='')}/certificate"))

    async def readmit_user(
        self,
        body: types.GovernanceRequest,
    ) -> types.Readmitted:
        """Let an erased person come back. What is dated before their erasure stays refused."""
        return cast("types.Readmitted", await self._call("POST", "/api/governance/readmit-user", body=body))

    async def import_score(
        self,
        body: types.ImportScoreRequest,
    ) -> types.ImportScoreResponse:
        """Import a score that another program gave to a session; partner tiles show them."""
        return cast("types.ImportScoreResponse", await self._call("POST", "/api/imported_scores", body=body))

    async def summary(
        self,
    ) -> types.JobsSummary:
        """Background work of this organization: counts by kind and state."""
        return cast("types.JobsSummary", await self._call("GET", "/api/jobs"))

    async def queue_ages(
        self,
    ) -> types.QueueAgeHistory:
        """How long due jobs waited over the last day, as this server saw it every minute."""
        return cast("types.QueueAgeHistory", await self._call("GET", "/api/jobs/ages"))

    async def dead_jobs(
        self,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> types.DeadJobs:
        """Jobs of this organization that gave up, with the reason. Those that belong to a regeneration are told of there."""
        return cast("types.DeadJobs", await self._call("GET", "/api/jobs/dead", query={"cursor": cursor, "limit": limit}))

    async def retry_job(
        self,
        job_id: str,
    ) -> types.RetriedJob:
        """Try a job that gave up again, now and with all its attempts."""
        return cast("types.RetriedJob", await self._call("POST", f"/api/jobs/{quote(job_id, safe='')}/retry"))

    async def list_keys(
        self,
    ) -> types.KeysResponse:
        """The organization's credentials."""
        return cast("types.KeysResponse", await self._call("GET", "/api/keys"))

    async def create_key(
        self,
        body: types.CreateKeyRequest,
    ) -> types.CreatedKey:
        """Make a credential. The first one ends local mode. Governance is handed on only by those who have it."""
        return cast("types.CreatedKey", await self._call("POST", "/api/keys", body=body))

    async def revoke_key(
        self,
        credential_id: str,
    ) -> types.RevokedKey:
        """End a credential: it is refused from the next request on. One that governs is ended only by those who do."""
        return cast("types.RevokedKey", await self._call("DELETE", f"/api/keys/{quote(credential_id, safe='')}"))

    async def learning_status(
        self,
        *,
        request_id: str,
    ) -> types.LearningStatusResponse:
        """Learning status of a published request."""
        return cast("types.LearningStatusResponse", await self._call("GET", "/api/learning_status", query={"request_id": request_id}))

    async def get_effects(
        self,
        *,
        agent_version: Optional[str] = None,
        source: Optional[str] = None,
        state: Optional[Literal["helps", "hurts", "no_sign_yet"]] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
    ) -> types.LearningEffects:
        """Which playbooks help, and which hurt: effects of those that are or were on trial."""
        return cast("types.LearningEffects", await self._call("GET", "/api/learnings/effects", query={"agent_version": agent_version, "source": source, "state": state, "limit": limit, "offset": offset}))

    async def export_effects(
        self,
    ) -> bytes:
        """The rows behind the effects, one JSON object per line, with references in the place of ids. What
`evenhand learnings effects` reads."""
        return cast("bytes", await self._call("GET", "/api/learnings/effects/export", raw=True))

    async def get_effect(
        self,
        agent_playbook_id: str,
    ) -> types.LearningEffectDetail:
        """One playbook's effect: by text, by epoch, and its course over time."""
        return cast("types.LearningEffectDetail", await self._call("GET", f"/api/learnings/effects/{quote(agent_playbook_id, safe='')}"))

    async def scorecard(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        kind: Optional[Literal["profile", "user_playbook", "agent_playbook"]] = None,
        learning_id: Optional[str] = None,
        agent_version: Optional[str] = None,
    ) -> types.Scorecard:
        """Scorecard of learnings: relevance, impact with its interval, verified diagnoses."""
        return cast("types.Scorecard", await self._call("GET", "/api/learnings/scorecard", query={"start_time": start_time, "end_time": end_time, "limit": limit, "kind": kind, "learning_id": learning_id, "agent_version": agent_version}))

    async def tuning_proposals(
        self,
        *,
        status: Optional[Literal["open", "accepted", "declined", "all"]] = None,
    ) -> types.TuningProposals:
        """Learnings that hurt, with what is proposed to do about them."""
        return cast("types.TuningProposals", await self._call("GET", "/api/learnings/tuning_proposals", query={"status": status}))

    async def accept_tuning_proposal(
        self,
        body: types.AcceptTuningProposalRequest,
    ) -> types.TuningDecided:
        """Carry a proposal out: archive the learning, or give it the proposed wording or one's own."""
        return cast("types.TuningDecided", await self._call("POST", "/api/learnings/tuning_proposals/accept", body=body))

    async def decline_tuning_proposal(
        self,
        body: types.DeclineTuningProposalRequest,
    ) -> types.TuningDecided:
        """Leave the learning as it is; the same text is not proposed again."""
        return cast("types.TuningDecided", await self._call("POST", "/api/learnings/tuning_proposals/decline", body=body))

    async def manual_playbook_generation(
        self,
        body: types.RerunPlaybookGenerationRequest,
    ) -> types.GenerationStarted:
        """Read the turns of a version of the agent, or of all, that wait for more to come."""
        return cast("types.GenerationStarted", await self._call("POST", "/api/manual_playbook_generation", body=body))

    async def manual_profile_generation(
        self,
        body: types.RerunProfileGenerationRequest,
    ) -> types.GenerationStarted:
        """Read the turns of a person, or of everybody, that wait for more to come."""
        return cast("types.GenerationStarted", await self._call("POST", "/api/manual_profile_generation", body=body))

    async def my_config(
        self,
    ) -> types.MyConfig:
        """The storage of the caller's data, without its credentials."""
        return cast("types.MyConfig", await self._call("GET", "/api/my_config"))

    async def list_pending_tool_calls(
        self,
        *,
        status: Optional[Literal["pending", "resolved", "expired", "superseded", "cancelled"]] = None,
        limit: Optional[int] = None,
    ) -> types.PendingToolCalls:
        """Questions that agents left, the newest first."""
        return cast("types.PendingToolCalls", await self._call("GET", "/api/pending_tool_calls", query={"status": status, "limit": limit}))

    async def ask_pending_tool_call(
        self,
        body: types.AskPendingToolCallRequest,
    ) -> types.PendingToolCall:
        """Ask the people who run the agent something. The same question of a user is asked once: while it is open, and while
its answer is valid, that one is returned."""
        return cast("types.PendingToolCall", await self._call("POST", "/api/pending_tool_calls", body=body))

    async def get_pending_tool_call(
        self,
        id: str,
    ) -> types.PendingToolCall:
        """One question, with its answer if it has one."""
        return cast("types.PendingToolCall", await self._call("GET", f"/api/pending_tool_calls/{quote(id, safe='')}"))

    async def update_pending_tool_call_answer(
        self,
        id: str,
        body: types.UpdatePendingToolCallAnswerRequest,
    ) -> types.PendingToolCall:
        """Change the answer to a question that has one."""
        return cast("types.PendingToolCall", await self._call("PATCH", f"/api/pending_tool_calls/{quote(id, safe='')}/answer", body=body))

    async def cancel_pending_tool_call(
        self,
        id: str,
    ) -> types.PendingToolCall:
        """Withdraw a question that is pending."""
        return cast("types.PendingToolCall", await self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/cancel"))

    async def mark_pending_tool_call_not_applicable(
        self,
        id: str,
        body: types.MarkPendingToolCallNotApplicableRequest,
    ) -> types.PendingToolCall:
        """Answer a question that is pending with "nobody knows"."""
        return cast("types.PendingToolCall", await self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/not_applicable", body=body))

    async def resolve_pending_tool_call(
        self,
        id: str,
        body: types.ResolvePendingToolCallRequest,
    ) -> types.PendingToolCall:
        """Answer a question that is pending."""
        return cast("types.PendingToolCall", await self._call("POST", f"/api/pending_tool_calls/{quote(id, safe='')}/resolve", body=body))

    async def profile_change_log(
        self,
    ) -> types.ProfileChangeLog:
        """Profiles that extraction added lately, and those they took the place of: the newest 200 that are still stored."""
        return cast("types.ProfileChangeLog", await self._call("GET", "/api/profile_change_log"))

    async def publish_interaction(
        self,
        body: types.PublishRequest,
        *,
        wait_for_response: Optional[bool] = None,
    ) -> types.PublishResponse:
        """Publish what happened in a session."""
        return cast("types.PublishResponse", await self._call("POST", "/api/publish_interaction", body=body, query={"wait_for_response": wait_for_response}))

    async def rerank_user_profiles(
        self,
        body: types.RerankUserProfilesRequest,
    ) -> types.GetProfilesResponse:
        """Put some of a user's profiles into the order in which they fit a question. Those that have nothing to do with it
come last, the newest first."""
        return cast("types.GetProfilesResponse", await self._call("POST", "/api/rerank_user_profiles", body=body))

    async def rerun_playbook_generation(
        self,
        body: types.RerunPlaybookGenerationRequest,
    ) -> types.GenerationStarted:
        """Read turns once more and learn from them, of a version of the agent or of all."""
        return cast("types.GenerationStarted", await self._call("POST", "/api/rerun_playbook_generation", body=body))

    async def rerun_profile_generation(
        self,
        body: types.RerunProfileGenerationRequest,
    ) -> types.GenerationStarted:
        """Read turns once more and learn from them, of a person or of everybody."""
        return cast("types.GenerationStarted", await self._call("POST", "/api/rerun_profile_generation", body=body))

    async def list_experiments(
        self,
    ) -> types.RetrievalExperimentListResponse:
        """All experiments, and the active one."""
        return cast("types.RetrievalExperimentListResponse", await self._call("GET", "/api/retrieval_experiments"))

    async def start_experiment(
        self,
        body: types.StartRetrievalExperimentRequest,
    ) -> types.RetrievalExperimentListResponse:
        """Start an experiment: from now on every user is in one of its two arms."""
        return cast("types.RetrievalExperimentListResponse", await self._call("POST", "/api/retrieval_experiments", body=body))

    async def get_plan(
        self,
        *,
        holdout_percentage: Optional[float] = None,
        effect_percentage_points: Optional[float] = None,
        power: Optional[float] = None,
        days: Optional[int] = None,
    ) -> types.RetrievalExperimentPlan:
        """Numbers of users and days an experiment needs, judging by past sessions."""
        return cast("types.RetrievalExperimentPlan", await self._call("GET", "/api/retrieval_experiments/plan", query={"holdout_percentage": holdout_percentage, "effect_percentage_points": effect_percentage_points, "power": power, "days": days}))

    async def stop_experiment(
        self,
        body: types.StopRetrievalExperimentRequest,
    ) -> types.RetrievalExperimentListResponse:
        """Stop the active experiment. What was stored stays."""
        return cast("types.RetrievalExperimentListResponse", await self._call("POST", "/api/retrieval_experiments/stop", body=body))

    async def change_about(
        self,
        experiment_id: str,
        body: types.ChangeExperimentAboutRequest,
    ) -> types.ExperimentAbout:
        """Change what an experiment is for: hypothesis, owner and notes. What is absent stays. Its design is fixed."""
        return cast("types.ExperimentAbout", await self._call("PATCH", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/about", body=body))

    async def export_rows(
        self,
        experiment_id: str,
    ) -> bytes:
        """The rows behind the results, one JSON object per line, with references in the place of ids. What
`evenhand experiments analyse` reads."""
        return cast("bytes", await self._call("GET", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/export", raw=True))

    async def get_results(
        self,
        experiment_id: str,
        *,
        ci_method: Optional[Literal["clustered_newcombe_tbm", "cr2_bell_mccaffrey", "cr1_t_clusters_minus_1", "delta_welch", "newcombe_neff"]] = None,
    ) -> types.RetrievalExperimentResultsResponse:
        """Results of an experiment so far."""
        return cast("types.RetrievalExperimentResultsResponse", await self._call("GET", f"/api/retrieval_experiments/{quote(experiment_id, safe='')}/results", query={"ci_method": ci_method}))

    async def review_user_playbooks(
        self,
        body: types.ReviewUserPlaybooksRequest,
    ) -> types.ReviewReport:
        """Read the sessions that taught user playbooks once more, and say which of them would be learned today. With
`report_only` false, those that would not be are archived, and those that would be worded otherwise are replaced."""
        return cast("types.ReviewReport", await self._call("POST", "/api/review_user_playbooks", body=body))

    async def run_playbook_aggregation(
        self,
        body: types.RunPlaybookAggregationRequest,
    ) -> types.AggregationStarted:
        """Look now for what several people taught a version of the agent; it happens by itself after every change."""
        return cast("types.AggregationStarted", await self._call("POST", "/api/run_playbook_aggregation", body=body))

    async def search(
        self,
        body: types.SearchRequest,
    ) -> types.SearchResponse:
        """Search everything learned that fits a question: what an agent calls before it answers."""
        return cast("types.SearchResponse", await self._call("POST", "/api/search", body=body))

    async def search_agent_playbooks(
        self,
        body: types.SearchPlaybooksRequest,
    ) -> types.SearchAgentPlaybooksResponse:
        """Search the organization's playbooks."""
        return cast("types.SearchAgentPlaybooksResponse", await self._call("POST", "/api/search_agent_playbooks", body=body))

    async def search_interactions(
        self,
        body: types.SearchInteractionsRequest,
    ) -> types.GetInteractionsResponse:
        """Search the newest 5,000 turns of a user by their words."""
        return cast("types.GetInteractionsResponse", await self._call("POST", "/api/search_interactions", body=body))

    async def search_profiles(
        self,
        body: types.SearchProfilesRequest,
    ) -> types.SearchProfilesResponse:
        """Search a user's profiles."""
        return cast("types.SearchProfilesResponse", await self._call("POST", "/api/search_profiles", body=body))

    async def search_user_playbooks(
        self,
        body: types.SearchPlaybooksRequest,
    ) -> types.SearchUserPlaybooksResponse:
        """Search a user's playbooks."""
        return cast("types.SearchUserPlaybooksResponse", await self._call("POST", "/api/search_user_playbooks", body=body))

    async def session_outcome(
        self,
        body: types.SessionOutcomeRequest,
    ) -> types.SessionOutcomeResponse:
        """Report what became of a session: ground truth beside every judge."""
        return cast("types.SessionOutcomeResponse", await self._call("POST", "/api/session_outcome", body=body))

    async def list_sessions(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        experiment_id: Optional[str] = None,
        arm: Optional[Literal["treatment", "holdout"]] = None,
        order: Optional[Literal["newest", "oldest"]] = None,
        user_id: Optional[str] = None,
        source: Optional[str] = None,
        agent_version: Optional[str] = None,
        verdict: Optional[Literal["success", "failure", "none"]] = None,
        text: Optional[str] = None,
        session_ids: Optional[str] = None,
        cursor: Optional[str] = None,
        min_corrections: Optional[int] = None,
        max_corrections: Optional[int] = None,
        limit: Optional[int] = None,
        count: Optional[bool] = None,
    ) -> types.ListSessionsResponse:
        """Sessions, newest activity first or last, page by page."""
        return cast("types.ListSessionsResponse", await self._call("GET", "/api/sessions", query={"start_time": start_time, "end_time": end_time, "experiment_id": experiment_id, "arm": arm, "order": order, "user_id": user_id, "source": source, "agent_version": agent_version, "verdict": verdict, "text": text, "session_ids": session_ids, "cursor": cursor, "min_corrections": min_corrections, "max_corrections": max_corrections, "limit": limit, "count": count}))

    async def export_sessions(
        self,
        *,
        start_time: Optional[Union[float, str]] = None,
        end_time: Optional[Union[float, str]] = None,
        user_id: Optional[str] = None,
        source: Optional[str] = None,
        agent_version: Optional[str] = None,
    ) -> bytes:
        """Sessions with everything that was published of them, one JSON object per line. Times are those of a session's last
activity. `evenhand import jsonl` reads it."""
        return cast("bytes", await self._call("GET", "/api/sessions/export", query={"start_time": start_time, "end_time": end_time, "user_id": user_id, "source": source, "agent_version": agent_version}, raw=True))

    async def get_session(
        self,
        user_id: str,
        session_id: str,
    ) -> types.SessionView:
        """One session, whole."""
        return cast("types.SessionView", await self._call("GET", f"/api/sessions/{quote(user_id, safe='')}/{quote(session_id, safe='')}"))

    async def set_config(
        self,
        body: types.OrganizationConfig,
    ) -> types.ConfigChanged:
        """Replace the configuration. What is left out goes back to its default, except `judge`, `learning`, `governance`,
`evaluators` and `shadow_both_orders`: the public Python client cannot carry them, and they stay."""
        return cast("types.ConfigChanged", await self._call("POST", "/api/set_config", body=body))

    async def spending_by_day(
        self,
        *,
        days: Optional[int] = None,
    ) -> types.Spending:
        """US dollars paid for judging and for learning, day by day: the cost of what is stored. Verdicts that were replaced and
calls that failed are not in it."""
        return cast("types.Spending", await self._call("GET", "/api/spending", query={"days": days}))

    async def storage_stats(
        self,
        *,
        user_id: str,
    ) -> types.StorageStats:
        """Number and age of a user's learnings."""
        return cast("types.StorageStats", await self._call("GET", "/api/storage_stats", query={"user_id": user_id}))

    async def update_agent_playbook(
        self,
        body: types.UpdateAgentPlaybookRequest,
    ) -> types.Changed:
        """Change an agent playbook; what is absent stays."""
        return cast("types.Changed", await self._call("PUT", "/api/update_agent_playbook", body=body))

    async def update_agent_playbook_status(
        self,
        body: types.UpdateAgentPlaybookStatusRequest,
    ) -> types.Changed:
        """Approve an agent playbook, reject it, or put it back to pending."""
        return cast("types.Changed", await self._call("PUT", "/api/update_agent_playbook_status", body=body))

    async def update_config(
        self,
        body: types.OrganizationConfig,
    ) -> types.ConfigChanged:
        """Change some of the configuration; `null` puts a field back to its default."""
        return cast("types.ConfigChanged", await self._call("POST", "/api/update_config", body=body))

    async def update_user_playbook(
        self,
        body: types.UpdateUserPlaybookRequest,
    ) -> types.Changed:
        """Change a user playbook; what is absent stays."""
        return cast("types.Changed", await self._call("PUT", "/api/update_user_playbook", body=body))

    async def update_user_profile(
        self,
        body: types.ProfileChange,
    ) -> types.Changed:
        """Change a profile; what is absent stays."""
        return cast("types.Changed", await self._call("PUT", "/api/update_user_profile", body=body))

    async def upgrade_all_profiles(
        self,
        body: types.UpgradeProfilesRequest,
    ) -> types.UpgradedProfiles:
        """Make people's pending profiles current. Those that were current are archived, those that were archived before are
deleted."""
        return cast("types.UpgradedProfiles", await self._call("POST", "/api/upgrade_all_profiles", body=body))

    async def upgrade_all_user_playbooks(
        self,
        body: types.UpgradeUserPlaybooksRequest,
    ) -> types.UpgradedUserPlaybooks:
        """Make people's pending playbooks current, of those who have any. Their current ones are archived, those that were
archived before are deleted."""
        return cast("types.UpgradedUserPlaybooks", await self._call("POST", "/api/upgrade_all_user_playbooks", body=body))

    async def list_webhooks(
        self,
    ) -> types.WebhookList:
        """The organization's webhooks."""
        return cast("types.WebhookList", await self._call("GET", "/api/webhooks"))

    async def create_webhook(
        self,
        body: types.CreateWebhookRequest,
    ) -> types.CreatedWebhook:
        """Make a webhook."""
        return cast("types.CreatedWebhook", await self._call("POST", "/api/webhooks", body=body))

    async def delete_webhook(
        self,
        webhook_id: str,
    ) -> types.DeletedWebhook:
        """Delete a webhook with its log. Nothing that waits is sent."""
        return cast("types.DeletedWebhook", await self._call("DELETE", f"/api/webhooks/{quote(webhook_id, safe='')}"))

    async def update_webhook(
        self,
        webhook_id: str,
        body: types.UpdateWebhookRequest,
    ) -> types.Webhook:
        """Change a webhook; what is absent stays. Its secret stays too."""
        return cast("types.Webhook", await self._call("PATCH", f"/api/webhooks/{quote(webhook_id, safe='')}", body=body))

    async def list_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        state: Optional[Literal["waiting", "delivered", "failed"]] = None,
        limit: Optional[int] = None,
    ) -> types.WebhookDeliveries:
        """The log of a webhook: a month, and a thousand deliveries at most."""
        return cast("types.WebhookDeliveries", await self._call("GET", f"/api/webhooks/{quote(webhook_id, safe='')}/deliveries", query={"state": state, "limit": limit}))

    async def test_webhook(
        self,
        webhook_id: str,
    ) -> types.WebhookDelivery:
        """Send a test message, once. Its outcome is in the log."""
        return cast("types.WebhookDelivery", await self._call("POST", f"/api/webhooks/{quote(webhook_id, safe='')}/test"))

    async def whoami(
        self,
    ) -> types.Whoami:
        """The caller's organization and role, and the storage of its data."""
        return cast("types.Whoami", await self._call("GET", "/api/whoami"))

    async def live(
        self,
    ) -> types.Health:
        """Is the process alive?"""
        return cast("types.Health", await self._call("GET", "/health/live"))

    async def ready(
        self,
    ) -> types.Health:
        """Can it serve requests? Looks at the storage and the job queue, and says how the judge is."""
        return cast("types.Health", await self._call("GET", "/health/ready"))

    async def version(
        self,
    ) -> types.Version:
        """Name and version of this server."""
        return cast("types.Version", await self._call("GET", "/meta/version"))

    async def stall_state(
        self,
    ) -> types.StallState:
        """Is learning paused, and why?"""
        return cast("types.StallState", await self._call("GET", "/stall_state"))

    async def mark_stall_notified(
        self,
    ) -> types.StallNotified:
        """Remember that somebody was told of the stall."""
        return cast("types.StallNotified", await self._call("POST", "/stall_state/notified"))
