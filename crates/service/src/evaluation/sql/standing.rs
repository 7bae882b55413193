//! State of a session when a judgement on it is written.

use crate::evaluation::{RetrievedLearningStatus, learned};
use crate::sessions::{Published, Snapshot, published};
use base::owner::{OrgId, UserId};
use storage::db::{Tx, Work};
use storage::error::{Error, Result};
use storage::row;
use storage::subjects::SubjectWrite;

/// State of a session and of its judgement on one version of the agent. It decides which of the statements
/// that write a judgement have anything to do.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Standing {
    /// State of the session's turns.
    #[sqlx(flatten)]
    pub turns: Snapshot,
    /// Id of the verdict.
    pub result_id: Option<i64>,
    /// Success by the verdict.
    pub is_success: Option<bool>,
    pub has_gap: bool,
    /// Id of the verdict that the gap took the place of.
    pub withdrawn_result_id: Option<i64>,
    /// Of the verdict, or else of the gap.
    pub learning_status: Option<RetrievedLearningStatus>,
    /// Verdicts or gaps on other versions.
    pub has_other_versions: bool,
    /// True if some job has the turn to judge the session.
    pub is_under_way: bool,
    /// True if rules are stored as cited.
    pub has_cited_rules: bool,
    /// True if a turn of the session cites something.
    pub cites: bool,
    pub has_learning_verdicts: bool,
}

impl Standing {
    /// True if a judgement finds nothing that it has to change or take away: what is written beside it is independent.
    pub fn is_clear(&self) -> bool {
        let Standing { result_id, has_gap, has_other_versions, has_cited_rules, cites, .. } = self;
        let rules = *has_cited_rules || *cites;
        result_id.is_none()
            && !has_gap
            && !has_other_versions
            && !rules
            && !self.has_learning_verdicts
    }
}

/// A session as it is before it is judged.
#[derive(sqlx_macros::FromRow)]
pub struct BeforeJudging {
    #[sqlx(flatten)]
    pub published: Published,
    /// That of its person, who is not being erased.
    pub epoch: i64,
    /// True if there is a judgement on its version of the agent, decided or not.
    pub has_judgement: bool,
    /// Number of the organization's learned judge, if there is one.
    pub model: Option<i64>,
}

/// Number of the learned judge, if there is one.
fn model_of<'t>(tx: &'t mut Tx, org_id: &'t OrgId) -> Work<'t, Option<i64>> {
    Box::pin(learned::sql::current_number(tx, org_id))
}

/// Reads a session in one statement. None if there is none, or its person is being erased.
pub async fn before_judging(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<BeforeJudging>> {
    macro_rules! session {
        ($model:literal) => {
            storage::statement!(concat!(
                "SELECT ",
                published!(),
                ", p.epoch,
                 EXISTS (SELECT 1 FROM evaluation_results v
                          WHERE v.org_id = s.org_id AND v.subject = s.subject AND v.session_id = s.session_id
                            AND v.evaluation_name = 'agent_success' AND v.agent_version = s.agent_version)
                 OR EXISTS (SELECT 1 FROM verdict_gaps g
                             WHERE g.org_id = s.org_id AND g.subject = s.subject AND g.session_id = s.session_id
                               AND g.agent_version = s.agent_version) AS has_judgement, ",
                $model,
                " AS model
                 FROM sessions s JOIN subjects p ON p.org_id = s.org_id AND p.subject = s.subject
                 WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3 AND p.state = 'active'"
            ))
        };
    }
    if !tx.is_spread() && !tx.is_at_place() {
        let sql = session!("(SELECT number FROM judge_models WHERE org_id = $1 AND is_current)");
        return row!(tx, BeforeJudging, sql, org_id, user_id, session_id);
    }
    // The organization's models are on the coordinator.
    let sql = session!("CAST(NULL AS BIGINT)");
    let found = row!(tx, BeforeJudging, sql, org_id, user_id, session_id)?;
    let Some(found) = found else { return Ok(None) };
    let model = tx.read_afar(org_id, &model_of).await?;
    Ok(Some(BeforeJudging { model, ..found }))
}

/// The session must be held.
pub async fn standing(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    agent_version: &str,
) -> Result<Standing> {
    macro_rules! of_session {
        ($table:literal) => {
            concat!("FROM ", $table, " WHERE org_id = $1 AND subject = $2 AND session_id = $3")
        };
    }
    macro_rules! of_verdict {
        ($column:literal) => {
            concat!(
                "(SELECT ",
                $column,
                " ",
                of_session!("evaluation_results"),
                " AND evaluation_name = 'agent_success' AND agent_version = $4)"
            )
        };
    }
    macro_rules! of_gap {
        ($column:literal) => {
            concat!(
                "(SELECT ",
                $column,
                " ",
                of_session!("verdict_gaps"),
                " AND agent_version = $4)"
            )
        };
    }
    let found = row!(
        tx,
        Standing,
        concat!(
            "SELECT (SELECT COUNT(*) ",
            of_session!("interactions"),
            ") AS interaction_count, (SELECT COALESCE(MAX(interaction_id), 0) ",
            of_session!("interactions"),
            ") AS last_interaction_id, ",
            of_verdict!("result_id"),
            " AS result_id, ",
            of_verdict!("is_success"),
            " AS is_success, EXISTS ",
            of_gap!("1"),
            " AS has_gap, ",
            of_gap!("result_id"),
            " AS withdrawn_result_id, COALESCE(",
            of_verdict!("learning_status"),
            ", ",
            of_gap!("learning_status"),
            ") AS learning_status, EXISTS (SELECT 1 ",
            of_session!("evaluation_results"),
            " AND evaluation_name = 'agent_success' AND agent_version <> $4) OR EXISTS (SELECT 1 ",
            of_session!("verdict_gaps"),
            " AND agent_version <> $4) AS has_other_versions, EXISTS (SELECT 1 ",
            of_session!("judgements_under_way"),
            ") AS is_under_way, EXISTS (SELECT 1 ",
            of_session!("cited_rules"),
            ") AS has_cited_rules, EXISTS (SELECT 1 ",
            of_session!("interactions"),
            " AND citations <> '[]') AS cites, EXISTS (SELECT 1 ",
            of_session!("learning_verdicts"),
            ") AS has_learning_verdicts"
        ),
        subject.org_id(),
        subject.user_id(),
        session_id,
        agent_version
    )?;
    found.ok_or_else(|| Error::Internal("a statement without a condition gave no row".to_owned()))
}
