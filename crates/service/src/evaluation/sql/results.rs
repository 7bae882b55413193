//! SQL of the table `evaluation_results`.

use std::sync::OnceLock;

use crate::evaluation::overview::group_of;
use crate::evaluation::results::rows::ResultQuery;
use crate::evaluation::verdict::verdict_columns;
use crate::evaluation::{AGENT_SUCCESS, EvaluationResult, NewResult};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows};

/// The statement of [`put_result`], for the columns of [`NewResult::columns`], with an id of its own or a given one.
fn put_statement(columns: &[(&'static str, Value<'_>)], with_id: bool) -> &'static str {
    static STATEMENTS: [OnceLock<String>; 2] = [OnceLock::new(), OnceLock::new()];
    STATEMENTS[usize::from(with_id)].get_or_init(|| {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let values: Vec<String> = (9..9 + names.len()).map(|number| format!("${number}")).collect();
        let updated = ["epoch", "created_at", "evaluated_at", "source", "is_newest", "user_group"];
        let updated: Vec<String> = updated
            .iter()
            .chain(names.iter().filter(|name| **name != "result_id"))
            .map(|name| match *name {
                // A verdict that somebody asked for takes the place of one that was drawn, and its chance.
                "chance" => "chance = CASE WHEN excluded.chance = 0 THEN evaluation_results.chance
                                           ELSE excluded.chance END"
                    .to_owned(),
                name => format!("{name} = excluded.{name}"),
            })
            .collect();
        format!(
            "INSERT INTO evaluation_results
               (org_id, subject, session_id, created_at, source, evaluation_name, agent_version, epoch,
                evaluated_at, user_group, is_newest, {})
             SELECT s.org_id, s.subject, s.session_id, s.first_request_at, s.source, $4, $5, $6, $7, $8,
                    $4 = '{AGENT_SUCCESS}', {}
             FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3
             ON CONFLICT (org_id, subject, session_id, evaluation_name, agent_version) DO UPDATE SET {}
             RETURNING result_id",
            names.join(", "),
            values.join(", "),
            updated.join(", ")
        )
    })
}

/// Writes a verdict, in the place of the one before if there is one, and returns the row's id, which stays: that of a
/// verdict that was withdrawn is given as `result_id`. Time and source are those of the session as it is now. A verdict of
/// success is marked as that of its session (`is_newest`): where there are others, on other versions of the agent,
/// [`mark_newest`] has to follow.
pub fn put_result<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    new: &'a NewResult,
    result_id: Option<i64>,
    now: i64,
) -> Result<()> {
    let mut columns = new.columns()?;
    if let Some(result_id) = result_id {
        columns.push(("result_id", result_id.into()));
    }
    let statement = put_statement(&columns, result_id.is_some());
    let mut values = vec![
        subject.org_id().into(),
        subject.user_id().into(),
        session_id.into(),
        (&new.evaluation_name).into(),
        (&new.agent_version).into(),
        subject.epoch().into(),
        now.into(),
        group_of(subject.org_id(), subject.user_id()).into(),
    ];
    values.extend(columns.into_iter().map(|(_, value)| value));
    changes.add(statement, values);
    Ok(())
}

pub fn delete_result<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    evaluation_name: &'a str,
    agent_version: &'a str,
) {
    changes.add(
        "DELETE FROM evaluation_results
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND evaluation_name = $4 AND agent_version = $5",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            evaluation_name.into(),
            agent_version.into(),
        ],
    );
}

/// Marks the verdict of the session among its verdicts of success: that on the latest version of the agent by the order
/// of the session's requests, or the last one where no request of any of these versions is left.
pub fn mark_newest<'a>(changes: &mut Changes<'a>, subject: &'a SubjectWrite, session_id: &'a str) {
    changes.add(
        "UPDATE evaluation_results SET is_newest = NOT is_newest
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND evaluation_name = 'agent_success'
           AND is_newest <> (agent_version = COALESCE((
               SELECT q.agent_version FROM requests q
               WHERE q.org_id = $1 AND q.subject = $2 AND q.session_id = $3
                 AND EXISTS (SELECT 1 FROM evaluation_results v
                      WHERE v.org_id = $1 AND v.subject = $2 AND v.session_id = $3
                        AND v.evaluation_name = 'agent_success' AND v.agent_version = q.agent_version)
               ORDER BY q.created_at DESC, q.received_at DESC, q.request_id DESC LIMIT 1), (
               SELECT v.agent_version FROM evaluation_results v
               WHERE v.org_id = $1 AND v.subject = $2 AND v.session_id = $3
                 AND v.evaluation_name = 'agent_success'
               ORDER BY v.evaluated_at DESC, v.result_id DESC LIMIT 1)))",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
}

/// Success of the session by its verdict.
pub async fn newest_success(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<Option<bool>> {
    let found = row!(
        tx,
        (bool,),
        "SELECT is_success FROM evaluation_results
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND is_newest",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(found.map(|(is_success,)| is_success))
}

/// One verdict, without what shadow comparisons say of its session.
pub async fn find_result(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    evaluation_name: &str,
    agent_version: &str,
) -> Result<Option<EvaluationResult>> {
    let found = row!(
        tx,
        EvaluationResult,
        concat!(
            "SELECT NULL AS regular_vs_shadow, ",
            verdict_columns!("'' AS user_id"),
            " FROM evaluation_results r WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3
               AND r.evaluation_name = $4 AND r.agent_version = $5"
        ),
        org_id,
        user_id,
        session_id,
        evaluation_name,
        agent_version
    )?;
    Ok(found.map(|result| EvaluationResult { user_id: user_id.clone(), ..result }))
}

/// Verdicts, newest session first, with the preference of their sessions under a rubric of shadow comparisons.
pub async fn list_results(
    tx: &mut Tx,
    org_id: &OrgId,
    query: &ResultQuery,
    shadow_version: &str,
) -> Result<Vec<EvaluationResult>> {
    macro_rules! list {
        ($of_user:literal, $plus:literal) => {
            storage::statement!(concat!(
                "SELECT ",
                "p.regular_vs_shadow, ",
                verdict_columns!("{user_of:r} AS user_id"),
                " FROM evaluation_results r
                  LEFT JOIN shadow_sessions p
                     ON p.org_id = r.org_id AND p.subject = r.subject AND p.session_id = r.session_id
                    AND p.judge_prompt_version = $9
                  WHERE r.org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR r.session_id = $3) AND ($4 IS NULL OR r.agent_version = $4)
                     AND ($5 IS NULL OR r.evaluation_name = $5) AND ($10 = 0 OR r.is_newest OR r.evaluation_name <> 'agent_success')
                     AND ",
                $plus,
                "r.created_at >= COALESCE($6, 0) AND ",
                $plus,
                "r.created_at < COALESCE($7, 9223372036854775807) ORDER BY ",
                $plus,
                "r.created_at DESC, r.result_id DESC LIMIT $8 + 0"
            ))
        };
    }
    // `+`: a person's verdicts are found by their key, not by walking everybody's in their order.
    let sql = match query.user_id {
        Some(_) => list!("r.subject = $2", "+"),
        None => list!("$2 IS NULL", ""),
    };
    rows!(
        tx,
        EvaluationResult,
        sql,
        org_id,
        query.user_id.as_ref(),
        query.session_id.as_deref(),
        query.agent_version.as_deref(),
        query.evaluation_name.as_deref(),
        query.from,
        query.to,
        query.limit,
        shadow_version,
        i64::from(query.one_each && query.agent_version.is_none())
    )
}
