//! Upgrading: people's pending learnings become current, in the place of those that were.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sql::upgrade as rows;
use super::user_playbooks;
use crate::app::App;
use crate::credentials::{Deletion, note_deletion};
use base::owner::UserId;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::{SubjectWrite, barrier};

/// People whose learnings change in one transaction.
const PEOPLE: i64 = 100;

/// The learnings that are upgraded; all of them where absent.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub user_id: Option<UserId>,
    /// Of user playbooks.
    pub agent_version: Option<String>,
    /// Of user playbooks.
    pub playbook_name: Option<String>,
    /// Only people who have pending ones.
    pub only_affected: bool,
    /// Archives what was current and deletes what was archived before; otherwise pending ones join it.
    pub archive_current: bool,
}

/// Learnings that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upgraded {
    pub promoted: u64,
    pub archived: u64,
    pub deleted: u64,
}

impl Upgraded {
    fn add(&mut self, other: Upgraded) {
        self.promoted += other.promoted;
        self.archived += other.archived;
        self.deleted += other.deleted;
    }
}

/// A kind of learnings that belong to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personal {
    Profiles,
    UserPlaybooks,
}

/// Upgrades the learnings of everybody who is selected, some people at a time.
pub async fn upgrade(
    app: &Arc<App>,
    deletion: Deletion,
    kind: Personal,
    selection: Selection,
) -> Result<Upgraded> {
    let (mut upgraded, mut after) = (Upgraded::default(), None::<UserId>);
    loop {
        let input = (app.clone(), deletion.clone(), selection.clone(), after);
        let (some, last) = app
            .db
            .write("learnings.upgrade", input, move |tx, (app, deletion, selection, after)| {
                Box::pin(upgrade_some(tx, app, deletion, kind, selection, after.as_ref()))
            })
            .await?;
        upgraded.add(some);
        after = last;
        if after.is_none() {
            break;
        }
    }
    app.sign_audit_head().await;
    app.db.announce_work().await;
    Ok(upgraded)
}

/// Upgrades the next people after `after`, and gives the last of them; none when there are no more.
async fn upgrade_some(
    tx: &mut Tx,
    app: &App,
    deletion: &Deletion,
    kind: Personal,
    selection: &Selection,
    after: Option<&UserId>,
) -> Result<(Upgraded, Option<UserId>)> {
    let org_id = &deletion.org_id;
    let people = match kind {
        Personal::Profiles => rows::profiles::owners(tx, org_id, after, selection, PEOPLE).await?,
        Personal::UserPlaybooks => {
            rows::user_playbooks::owners(tx, org_id, after, selection, PEOPLE).await?
        }
    };
    let mut upgraded = Upgraded::default();
    for (_, subject) in barrier::open_known(tx, org_id, &people).await? {
        upgraded.add(upgrade_person(tx, app, &subject, kind, selection).await?);
    }
    if upgraded.deleted > 0 {
        let counts = BTreeMap::from([(kind.target().to_owned(), upgraded.deleted)]);
        note_deletion(tx, app, deletion, None, counts).await?;
    }
    Ok((upgraded, people.into_iter().next_back()))
}

async fn upgrade_person(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    kind: Personal,
    selection: &Selection,
) -> Result<Upgraded> {
    match kind {
        Personal::Profiles => rows::profiles::upgrade(tx, subject, selection).await,
        Personal::UserPlaybooks => {
            let (org_id, user_id) = (subject.org_id(), subject.user_id());
            for version in rows::agent_versions(tx, org_id, user_id).await? {
                user_playbooks::announce_change(tx, app, org_id, &version).await?;
            }
            rows::user_playbooks::upgrade(tx, subject, selection).await
        }
    }
}

impl Personal {
    /// The name under which deletions of it are counted.
    fn target(self) -> &'static str {
        match self {
            Personal::Profiles => "profiles",
            Personal::UserPlaybooks => "user_playbooks",
        }
    }
}
