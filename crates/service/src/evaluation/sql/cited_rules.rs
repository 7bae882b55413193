//! SQL of the table `cited_rules`.

use crate::evaluation::results::rows::CitedTitles;
use storage::db::Changes;
use storage::subjects::SubjectWrite;

/// Puts the rules that a session cites, `(kind, rule id)` with their titles, in the place of those before.
pub fn replace_cited_rules<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    titles: &'a CitedTitles,
    is_success: bool,
) {
    changes.add(
        "DELETE FROM cited_rules WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
    for ((kind, rule_id), title) in titles {
        changes.add(
            "INSERT INTO cited_rules
               (org_id, user_id, session_id, kind, rule_id, epoch, title, source, created_at, is_success)
             SELECT s.org_id, s.user_id, s.session_id, $4, $5, $6, $7, s.source, s.first_request_at, $8
             FROM sessions s WHERE s.org_id = $1 AND s.user_id = $2 AND s.session_id = $3",
            vec![
                subject.org_id().into(),
                subject.user_id().into(),
                session_id.into(),
                kind.as_str().into(),
                rule_id.into(),
                subject.epoch().into(),
                title.into(),
                is_success.into(),
            ],
        );
    }
}
