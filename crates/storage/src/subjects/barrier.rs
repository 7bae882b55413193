//! The subject barrier: nobody writes for a person without passing here, inside the writing transaction.

use std::collections::BTreeMap;

use crate::db::{Subject, Tx};
use crate::error::{Code, Error, Result};
use crate::{row, rows, run};
use base::owner::{OrgId, UserId};

/// The right to write rows of one person, in the transaction that [`open`] was called in. Every function that
/// inserts or updates user-owned rows takes one, so forgetting the barrier does not compile.
pub struct SubjectWrite {
    org_id: OrgId,
    user_id: UserId,
    subject: Subject,
    epoch: i64,
    fence: Option<Fence>,
}

/// The last erasure of a person who came back.
struct Fence {
    at: i64,
    /// They came back by themselves: nobody readmitted them.
    unasked: bool,
}

impl Fence {
    fn of(fence_at: Option<i64>, policy: ReturnPolicy) -> Option<Fence> {
        fence_at.map(|at| Fence { at, unasked: policy == ReturnPolicy::Fenced })
    }
}

/// For how long after an erasure data without a time of its own may be from before it.
const UNDATED_SECONDS: i64 = 86_400;

impl SubjectWrite {
    pub fn org_id(&self) -> &OrgId {
        &self.org_id
    }

    pub fn user_id(&self) -> &UserId {
        &self.user_id
    }

    /// The key of the person's rows.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// The person's epoch: goes up with every erasure, and is stored on every row.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Refuses what was made before the person's erasure, so that a replayed buffer cannot bring the past back.
    /// Every entry for data from outside asks, with the time the data says it is from, if it says one.
    pub fn admits(&self, own_time: Option<i64>, now: i64) -> Result<()> {
        let Some(Fence { at, unasked }) = self.fence else { return Ok(()) };
        let predates = match own_time {
            Some(time) => time <= at,
            None => unasked && now < at + UNDATED_SECONDS,
        };
        if predates {
            return Err(Error::refused(
                Code::PredatesErasure,
                "This is from before the user's erasure, or does not say when it is from.",
            ));
        }
        Ok(())
    }
}

base::vocabulary! {
    /// Erasure state of a person.
    pub enum SubjectState {
        Active = "active",
        Erasing = "erasing",
        Erased = "erased",
    }
}

base::vocabulary! {
    /// Policy for writes for a person who was erased.
    pub enum ReturnPolicy {
        /// It is refused until they are readmitted.
        Blocked = "blocked",
        /// They come back with what is newer than their erasure.
        Fenced = "fenced",
        /// Somebody let them come back.
        Readmitted = "readmitted",
    }
}

#[derive(sqlx_macros::FromRow)]
struct Known {
    state: SubjectState,
    epoch: i64,
    fence_at: Option<i64>,
    return_policy: ReturnPolicy,
}

#[derive(sqlx_macros::FromRow)]
struct ActiveSubject {
    subject: Subject,
    user_id: UserId,
    epoch: i64,
    fence_at: Option<i64>,
    return_policy: ReturnPolicy,
}

impl ActiveSubject {
    fn open(self, org_id: &OrgId) -> (UserId, SubjectWrite) {
        let write = SubjectWrite {
            org_id: org_id.to_owned(),
            user_id: self.user_id.clone(),
            subject: self.subject,
            epoch: self.epoch,
            fence: Fence::of(self.fence_at, self.return_policy),
        };
        (self.user_id, write)
    }
}

/// Opens the barrier for `user_id`, or says why it is closed. On PostgreSQL the subject's row stays locked
/// (shared) until the transaction ends, so an erasure waits for writers and writers for an erasure.
pub async fn open(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, now: i64) -> Result<SubjectWrite> {
    let known = match known(tx, org_id, user_id).await? {
        Some(known) if known.comes_back() => come_back(tx, org_id, user_id, known).await?,
        Some(known) => known,
        None => admit(tx, org_id, user_id, now).await?,
    };
    match known.state {
        SubjectState::Active => Ok(known.open(tx, org_id, user_id)),
        SubjectState::Erasing => Err(Error::refused(
            Code::SubjectErasing,
            "This user is being erased; nothing is written for them until that is complete.",
        )),
        SubjectState::Erased => Err(Error::refused(
            Code::SubjectErased,
            "This user was erased; readmit them before writing for them again.",
        )),
    }
}

/// [`open`] for work that was begun under `epoch`: refused like a lost lease when the person is another by now.
pub async fn open_again(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: Option<i64>,
    now: i64,
) -> Result<SubjectWrite> {
    let subject = open(tx, org_id, user_id, now).await?;
    if epoch.is_some_and(|epoch| epoch != subject.epoch()) {
        return Err(Error::LeaseLost);
    }
    Ok(subject)
}

/// Opens the barrier for those of `users` it is open for; the others are left out.
pub async fn open_known(
    tx: &mut Tx,
    org_id: &OrgId,
    users: &[UserId],
) -> Result<BTreeMap<UserId, SubjectWrite>> {
    let mut open = BTreeMap::new();
    if tx.is_spread() {
        // One statement cannot lock rows on several servers.
        for user_id in users {
            if let Some(known) = known(tx, org_id, user_id).await?
                && known.state == SubjectState::Active
            {
                open.insert(user_id.clone(), known.open(tx, org_id, user_id));
            }
        }
        return Ok(open);
    }
    for some in users.chunks(1000) {
        let found = rows!(
            tx,
            ActiveSubject,
            "SELECT subject, user_id, epoch, fence_at, return_policy FROM subjects
             WHERE org_id = $1 AND subject IN {subjects:$2} AND state = 'active' {lock:SHARE}",
            org_id,
            tx.subjects_json(org_id, some)?
        )?;
        open.extend(found.into_iter().map(|subject| subject.open(org_id)));
    }
    Ok(open)
}

/// Opens the barrier for those of `users` who are new. Those who were erased are left out: [`open`] says why, or lets
/// them come back.
pub async fn open_new(
    tx: &mut Tx,
    org_id: &OrgId,
    users: &[&UserId],
    now: i64,
) -> Result<BTreeMap<UserId, SubjectWrite>> {
    let mut open = BTreeMap::new();
    for some in users.chunks(1000) {
        let new: Vec<_> = some.iter().map(|user| (tx.subject(org_id, user), user)).collect();
        let admitted = rows!(
            tx,
            ActiveSubject,
            "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
             SELECT $1, {subject:value ->> 0}, value ->> 1, 'active', 1, $3
               FROM {lists:$2} AS new WHERE TRUE
             ON CONFLICT DO NOTHING RETURNING subject, user_id, epoch, fence_at, return_policy",
            org_id,
            serde_json::to_string(&new).map_err(|e| Error::Internal(e.to_string()))?,
            now
        )?;
        open.extend(admitted.into_iter().map(|subject| subject.open(org_id)));
    }
    Ok(open)
}

/// Keeps all writers of a person out until the transaction ends, also those who are just bringing the person in.
pub async fn lock(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, now: i64) -> Result<()> {
    if !hold(tx, org_id, user_id).await? {
        // Waits for whoever admits them at this moment; nobody else can from here on.
        admit(tx, org_id, user_id, now).await?;
        hold(tx, org_id, user_id).await?;
    }
    Ok(())
}

async fn hold(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<bool> {
    let found = row!(
        tx,
        (i64,),
        "SELECT epoch FROM subjects WHERE org_id = $1 AND subject = $2 {lock:UPDATE}",
        org_id,
        user_id
    )?;
    Ok(found.is_some())
}

async fn known(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<Known>> {
    row!(
        tx,
        Known,
        "SELECT state, epoch, fence_at, return_policy FROM subjects
         WHERE org_id = $1 AND subject = $2 {lock:SHARE}",
        org_id,
        user_id
    )
}

/// Stores a person whom nobody has seen; if somebody else does so at this moment, waits for that.
async fn admit(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, now: i64) -> Result<Known> {
    let admitted = row!(
        tx,
        Known,
        "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
         VALUES ($1, $2, $3, 'active', 1, $4) ON CONFLICT DO NOTHING
         RETURNING state, epoch, fence_at, return_policy",
        org_id,
        user_id,
        user_id.as_str(),
        now
    )?;
    let known = match admitted {
        Some(admitted) => Some(admitted),
        None => known(tx, org_id, user_id).await?,
    };
    known.ok_or_else(|| Error::unavailable("This user is being admitted elsewhere; try again.", 1))
}

impl Known {
    /// The right to write for somebody who is active.
    fn open(&self, tx: &Tx, org_id: &OrgId, user_id: &UserId) -> SubjectWrite {
        SubjectWrite {
            org_id: org_id.to_owned(),
            user_id: user_id.to_owned(),
            subject: tx.subject(org_id, user_id),
            epoch: self.epoch,
            fence: Fence::of(self.fence_at, self.return_policy),
        }
    }

    /// True for somebody who was erased under the policy `fenced`: their first write brings them back.
    fn comes_back(&self) -> bool {
        self.state == SubjectState::Erased && self.return_policy == ReturnPolicy::Fenced
    }
}

/// Makes somebody who was erased active again, under the epoch that their erasure began.
async fn come_back(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, known: Known) -> Result<Known> {
    run!(
        tx,
        "UPDATE subjects SET state = 'active', user_id = $3
         WHERE org_id = $1 AND subject = $2 AND state = 'erased'",
        org_id,
        user_id,
        user_id.as_str()
    )?;
    Ok(Known { state: SubjectState::Active, ..known })
}

/// The epoch of a person whom the barrier is open for; nothing for anyone else.
pub async fn open_epoch(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (i64,),
        "SELECT epoch FROM subjects WHERE org_id = $1 AND subject = $2 AND state = 'active'",
        org_id,
        user_id
    )?;
    Ok(found.map(|(epoch,)| epoch))
}

/// For a statement that asks along the way: whether this person (organization and subject) is being erased.
#[macro_export]
macro_rules! erasing {
    ($org_id:literal, $subject:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM subjects WHERE org_id = ",
            $org_id,
            " AND subject = ",
            $subject,
            " AND state = 'erasing')"
        )
    };
}
pub use erasing;

/// Error for reads for somebody who is being erased right now.
pub fn is_erasing() -> Error {
    Error::refused(Code::SubjectErasing, "This user is being erased.")
}

/// Refuses to read for somebody who is being erased right now; anybody else may be asked about.
pub async fn not_erasing(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<()> {
    let found = row!(tx, (bool,), concat!("SELECT ", erasing!("$1", "$2")), org_id, user_id)?;
    match found {
        Some((true,)) => Err(is_erasing()),
        _ => Ok(()),
    }
}
