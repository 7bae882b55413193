//! SQL of the table `cited_rules`.

use crate::evaluation::results::rows::CitedTitles;
use storage::db::Changes;
use storage::subjects::SubjectWrite;

/// Puts the rules that a session cites, `(kind, rule id)` with their titles, in the place of those before. The session
/// went as its verdict says, which must be there.
pub fn replace_cited_rules<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    titles: &'a CitedTitles,
) {
    changes.add(
        "DELETE FROM cited_rules WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
    for ((kind, rule_id), title) in titles {
        changes.add(
            "INSERT INTO cited_rules
               (org_id, subject, session_id, kind, rule_id, epoch, title, source, created_at, is_success)
             SELECT v.org_id, v.subject, v.session_id, $4, $5, $6, $7, v.source, v.created_at, v.is_success
             FROM evaluation_results v
             WHERE v.org_id = $1 AND v.subject = $2 AND v.session_id = $3 AND v.is_newest",
            vec![
                subject.org_id().into(),
                subject.user_id().into(),
                session_id.into(),
                kind.as_str().into(),
                rule_id.into(),
                subject.epoch().into(),
                title.into(),
            ],
        );
    }
}
