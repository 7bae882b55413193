//! Was what was retrieved relevant, and did it help? Judged apart, stored as one set per session.
//!
//! Relevance and impact are different questions with different rubrics; a half that fails leaves nulls and the
//! set `degraded`. The whole set is replaced in one transaction, and only if the session's turns are still those
//! that were judged. Rows are made from our own list of candidates, never from what a judge names.

use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::types::Json;
use utoipa::ToSchema;

use super::candidates::RetrievedAt;
use super::grading::LoadedSession;
use super::sampling;
use crate::app::App;
use crate::evaluation::{RetrievedLearningStatus, sql};
use crate::judging::{Origin, rubric};
use crate::sessions::Snapshot;
use base::owner::{OrgId, UserId};
use judge::prompts::Kind;
use judge::verdicts::{Diagnosis, ImpactVerdict, RelevanceVerdict};
use judge::{
    BATCH, DiagnosisCategory, JudgeError, LearningImpact, LearningKind, Provenance, VerdictFlag,
};
use storage::db::{Changes, Tx};
use storage::error::Result;
use storage::subjects::SubjectWrite;

/// A stored verdict on one learning at one turn.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
#[schema(as = RetrievedLearningEvaluationResult)]
pub struct LearningVerdict {
    pub result_id: i64,
    pub user_id: UserId,
    pub session_id: String,
    pub agent_version: String,
    pub interaction_id: Option<i64>,
    pub interaction_created_at: Option<i64>,
    pub kind: LearningKind,
    pub learning_id: String,
    pub is_relevant: Option<bool>,
    pub relevance_reason: String,
    pub impact: Option<LearningImpact>,
    pub impact_reason: String,
    #[schema(value_type = Option<Diagnosis>)]
    pub diagnosis: Option<Json<Diagnosis>>,
    /// SHA-256 of the playbook's content and trigger as judged.
    pub evaluated_playbook_digest: Option<String>,
    /// True if the judge saw the whole session.
    pub diagnosis_evidence_complete: bool,
    pub created_at: i64,
    pub judge: String,
    /// Of the relevance rubric and the impact rubric.
    pub prompt_version: String,
    pub rubric_hash: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_usd: Option<f64>,
    pub latency_ms: i64,
    pub attempts: i64,
}

/// A verdict to be written. Tokens and cost are those of its batch, on the first row of it alone, so that sums
/// over rows are right.
#[derive(Clone, Debug)]
pub struct NewLearningVerdict {
    pub agent_version: String,
    pub candidate: RetrievedAt,
    pub relevance: Option<RelevanceVerdict>,
    pub impact: Option<ImpactVerdict>,
    pub digest: Option<String>,
    pub evidence_complete: bool,
    pub origin: Origin,
}

/// New verdicts on a session's learnings.
#[derive(Clone, Debug)]
pub struct LearningSet {
    pub status: RetrievedLearningStatus,
    /// The new set; nothing leaves the old one as it is.
    pub rows: Option<Vec<NewLearningVerdict>>,
    /// The turns that were judged.
    pub snapshot: Snapshot,
}

/// Judges a session's candidates in batches.
pub async fn judge(
    app: &App,
    material: &LoadedSession,
    agent_version: &str,
) -> Result<LearningSet> {
    let none = |status| LearningSet { status, rows: None, snapshot: material.snapshot };
    if !is_sampled(material) {
        return Ok(none(RetrievedLearningStatus::NotApplicable));
    }
    if material.candidates.is_empty() {
        let nothing = none(RetrievedLearningStatus::NotApplicable);
        return Ok(LearningSet { rows: Some(Vec::new()), ..nothing });
    }
    let pinned = &material.config.judge;
    let relevance_rubric =
        rubric(Kind::LearningRelevance, pinned.learning_relevance_prompt_version.as_deref())?;
    let impact_rubric =
        rubric(Kind::LearningImpact, pinned.learning_impact_prompt_version.as_deref())?;
    let (context, turns) = (material.context(), material.turns());
    let (mut rows, mut judged, mut later) = (Vec::new(), 0, false);
    for batch in material.candidates.chunks(BATCH) {
        let shown: Vec<judge::Candidate> = batch.iter().map(shown).collect();
        let relevance = app.judge.relevance(relevance_rubric, &context, &turns, &shown).await;
        let impact = app.judge.impact(impact_rubric, &context, &turns, &shown).await;
        later |= is_later(relevance.as_ref().err()) || is_later(impact.as_ref().err());
        let (relevance, relevance_origin) =
            split(relevance.map(|g| (g.verdict, g.provenance)), batch.len());
        let (impact, impact_origin) = split(impact.map(|g| (g.verdict, g.provenance)), batch.len());
        let cut = |origin: &Option<Origin>| {
            origin.as_ref().is_some_and(|o| o.flags.contains(&VerdictFlag::TranscriptCut))
        };
        let complete = impact_origin.is_some() && !cut(&impact_origin);
        let origin = combine(relevance_origin, impact_origin);
        for (place, candidate) in batch.iter().enumerate() {
            let (relevance, impact) = (relevance[place].clone(), impact[place].clone());
            judged += usize::from(relevance.is_some()) + usize::from(impact.is_some());
            rows.push(NewLearningVerdict {
                agent_version: agent_version.to_owned(),
                candidate: candidate.clone(),
                relevance,
                impact,
                digest: digest(candidate),
                evidence_complete: complete,
                origin: if place == 0 { origin.clone() } else { origin.without_usage() },
            });
        }
    }
    // A provider that is away now answers later: the old set stands until then.
    if later {
        return Ok(none(RetrievedLearningStatus::Pending));
    }
    let status = match judged {
        0 => return Ok(none(RetrievedLearningStatus::Failed)),
        all if all == rows.len() * 2 => RetrievedLearningStatus::Complete,
        _ => RetrievedLearningStatus::Degraded,
    };
    Ok(LearningSet { status, rows: Some(rows), snapshot: material.snapshot })
}

/// True if the session is in the sample whose learnings are judged.
pub fn is_sampled(material: &LoadedSession) -> bool {
    let session = &material.transcript.session;
    let rate = material.config.agent_success_config.retrieved_learning_sampling_rate.unwrap_or(1.0);
    let (org, user) = (&material.org_id, &session.user_id);
    sampling::is_sampled("learnings", org, user, &session.session_id, rate)
}

fn is_later(error: Option<&JudgeError>) -> bool {
    error.is_some_and(JudgeError::is_temporary)
}

fn shown(candidate: &RetrievedAt) -> judge::Candidate {
    judge::Candidate {
        turn: candidate.interaction_id,
        kind: candidate.learning.kind,
        content: candidate.learning.content.clone(),
        trigger: candidate.learning.trigger.clone(),
        diagnose: candidate.learning.kind != LearningKind::Profile,
    }
}

/// A half's verdicts, one place per candidate; all empty when the half failed.
fn split<V: Clone>(
    graded: std::result::Result<(Vec<Option<V>>, Provenance), JudgeError>,
    count: usize,
) -> (Vec<Option<V>>, Option<Origin>) {
    match graded {
        Ok((verdicts, provenance)) => (verdicts, Some(provenance.into())),
        Err(error) => {
            tracing::warn!(code = error.code(), "half of a batch of learnings was not judged");
            (vec![None; count], None)
        }
    }
}

/// One origin for both halves of a batch.
fn combine(relevance: Option<Origin>, impact: Option<Origin>) -> Origin {
    match (relevance, impact) {
        (Some(a), Some(b)) => Origin {
            judge: a.judge,
            prompt_version: format!("{}+{}", a.prompt_version, b.prompt_version),
            rubric_hash: format!("{}+{}", a.rubric_hash, b.rubric_hash),
            input_tokens: a.input_tokens + b.input_tokens,
            output_tokens: a.output_tokens + b.output_tokens,
            cost_usd: a.cost_usd.zip(b.cost_usd).map(|(a, b)| a + b),
            latency_ms: a.latency_ms + b.latency_ms,
            attempts: a.attempts + b.attempts,
            flags: a.flags,
        },
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Origin::default(),
    }
}

impl Origin {
    fn without_usage(&self) -> Origin {
        Origin {
            input_tokens: 0,
            output_tokens: 0,
            cost_usd: self.cost_usd.map(|_| 0.0),
            ..self.clone()
        }
    }
}

fn digest(candidate: &RetrievedAt) -> Option<String> {
    let learning = &candidate.learning;
    if learning.kind == LearningKind::Profile {
        return None;
    }
    Some(learning_digest(&learning.content, &learning.trigger))
}

/// SHA-256 of a learning's text as it was judged.
pub fn learning_digest(content: &str, trigger: &str) -> String {
    let mut digest = Sha256::new();
    for part in [content, trigger] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex::encode(digest.finalize())
}

/// A stored verdict, as far as it says something about the learning.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct VerdictOnLearning {
    pub kind: LearningKind,
    pub learning_id: String,
    pub user_id: UserId,
    pub session_id: String,
    pub interaction_id: i64,
    pub is_relevant: Option<bool>,
    pub impact: Option<LearningImpact>,
    pub diagnosis: Option<Json<Diagnosis>>,
    pub evaluated_playbook_digest: Option<String>,
    pub diagnosis_evidence_complete: bool,
}

impl VerdictOnLearning {
    /// The category of a diagnosis that may influence tuning: the judge saw the whole session, cites turns of it (they
    /// were checked when it was written), and names a cause.
    pub fn verified_diagnosis(&self) -> Option<DiagnosisCategory> {
        let category = self.diagnosis.as_ref()?.category;
        let supported = category == DiagnosisCategory::NoIssue || !self.evidence().is_empty();
        let is_named = category != DiagnosisCategory::Unknown;
        (self.diagnosis_evidence_complete && supported && is_named).then_some(category)
    }

    /// Turns that the diagnosis cites.
    pub fn evidence(&self) -> &[i64] {
        self.diagnosis.as_ref().map_or(&[], |diagnosis| &diagnosis.evidence_interaction_ids)
    }

    pub fn diagnosis_reason(&self) -> &str {
        self.diagnosis.as_ref().map_or("", |diagnosis| &diagnosis.reason)
    }
}

/// Puts the new set in the place of the old one. False when the session is no longer the one that was judged:
/// then nothing is changed.
pub async fn replace<'a>(
    tx: &mut Tx,
    changes: &mut Changes<'a>,
    (subject, session_id): (&'a SubjectWrite, &'a str),
    set: &'a LearningSet,
    (now_there, has_verdicts): (Snapshot, bool),
    now: i64,
) -> Result<bool> {
    let Some(rows) = &set.rows else { return Ok(true) };
    if set.snapshot != now_there {
        return Ok(rows.is_empty());
    }
    if has_verdicts {
        sql::delete_learning_verdicts(changes, subject, session_id);
    }
    let ids = match rows.len() {
        0 => None,
        count => tx.numbers_from_afar("learning_verdicts_result_id_seq", count).await?,
    };
    sql::add_learning_verdicts(changes, subject, session_id, rows, ids, now)?;
    Ok(true)
}

/// Filters of `get_retrieved_learning_evaluation_results`.
pub struct LearningQuery {
    pub user_id: Option<UserId>,
    pub session_id: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub limit: i64,
}

/// Stored verdicts, newest turn first.
pub async fn list(app: &App, org_id: &OrgId, query: LearningQuery) -> Result<Vec<LearningVerdict>> {
    app.db
        .read(
            "evaluation.list_learning_verdicts",
            (org_id.to_owned(), query),
            |tx, (org, query)| Box::pin(sql::list_learning_verdicts(tx, org, query)),
        )
        .await
}
