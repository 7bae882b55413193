//! The subject barrier: nobody writes for a person without passing here, inside the writing transaction.

use std::collections::BTreeMap;

use serde::Serialize;

use super::SubjectKeys;
use crate::db::Tx;
use crate::error::{Code, Error, Result};
use crate::{row, rows, run};
use base::owner::{OrgId, UserId};

/// The right to write rows of one person, in the transaction that [`open`] was called in. Every function that
/// inserts or updates user-owned rows takes one, so forgetting the barrier does not compile.
#[derive(Serialize)]
pub struct SubjectWrite {
    org_id: OrgId,
    user_id: UserId,
    epoch: i64,
    #[serde(skip)]
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
struct Subject {
    subject_ref: String,
    state: SubjectState,
    epoch: i64,
    fence_at: Option<i64>,
    return_policy: ReturnPolicy,
}

#[derive(sqlx_macros::FromRow)]
struct ActiveSubject {
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
            epoch: self.epoch,
            fence: Fence::of(self.fence_at, self.return_policy),
        };
        (self.user_id, write)
    }
}

/// Opens the barrier for `user_id`, or says why it is closed. On PostgreSQL the subject's row stays locked
/// (shared) until the transaction ends, so an erasure waits for writers and writers for an erasure.
pub async fn open(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    user_id: &UserId,
    now: i64,
) -> Result<SubjectWrite> {
    let subject = match known(tx, org_id, user_id).await? {
        Some(subject) => subject,
        None => admit(tx, keys, org_id, user_id, now).await?,
    };
    match subject.state {
        SubjectState::Active => Ok(SubjectWrite {
            org_id: org_id.to_owned(),
            user_id: user_id.to_owned(),
            epoch: subject.epoch,
            fence: Fence::of(subject.fence_at, subject.return_policy),
        }),
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
    keys: &SubjectKeys,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: Option<i64>,
    now: i64,
) -> Result<SubjectWrite> {
    let subject = open(tx, keys, org_id, user_id, now).await?;
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
    for some in users.chunks(1000) {
        let found = rows!(
            tx,
            ActiveSubject,
            "SELECT user_id, epoch, fence_at, return_policy FROM subjects
             WHERE org_id = $1 AND user_id IN {texts:$2} AND state = 'active' {lock:SHARE}",
            org_id,
            listed(some)?
        )?;
        open.extend(found.into_iter().map(|subject| subject.open(org_id)));
    }
    Ok(open)
}

/// Opens the barrier for those of `users` who are new. Those who were erased, or may have been under an older key, are
/// left out: [`open`] says why, or lets them come back.
pub async fn open_new(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    users: &[&UserId],
    now: i64,
) -> Result<BTreeMap<UserId, SubjectWrite>> {
    let new: Vec<(&UserId, Vec<String>)> = users
        .iter()
        .map(|user_id| (*user_id, keys.all_subject_refs(org_id, user_id)))
        .filter(|(_, refs)| refs.len() == 1)
        .collect();
    let mut open = BTreeMap::new();
    for some in new.chunks(1000) {
        let admitted = rows!(
            tx,
            ActiveSubject,
            "INSERT INTO subjects (org_id, subject_ref, user_id, state, epoch, created_at)
             SELECT $1, value -> 1 ->> 0, value ->> 0, 'active', 1, $3 FROM {lists:$2} AS new WHERE TRUE
             ON CONFLICT DO NOTHING RETURNING user_id, epoch, fence_at, return_policy",
            org_id,
            listed(some)?,
            now
        )?;
        open.extend(admitted.into_iter().map(|subject| subject.open(org_id)));
    }
    Ok(open)
}

fn listed(items: &[impl Serialize]) -> Result<String> {
    serde_json::to_string(items).map_err(|e| Error::Internal(e.to_string()))
}

/// Keeps all writers of a person out until the transaction ends, also those who are just bringing the person in.
pub async fn lock(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    user_id: &UserId,
    now: i64,
) -> Result<()> {
    if !hold(tx, org_id, user_id).await? {
        // Waits for whoever admits them at this moment; nobody else can from here on.
        admit(tx, keys, org_id, user_id, now).await?;
        hold(tx, org_id, user_id).await?;
    }
    Ok(())
}

async fn hold(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<bool> {
    let found = row!(
        tx,
        (i64,),
        "SELECT epoch FROM subjects WHERE org_id = $1 AND user_id = $2 {lock:UPDATE}",
        org_id,
        user_id
    )?;
    Ok(found.is_some())
}

async fn known(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<Subject>> {
    row!(
        tx,
        Subject,
        "SELECT subject_ref, state, epoch, fence_at, return_policy FROM subjects
         WHERE org_id = $1 AND user_id = $2 {lock:SHARE}",
        org_id,
        user_id
    )
}

/// A person without a row under their id is new, or erased: the references tell. Under the current key the unique
/// index tells; under older keys they are looked for first.
async fn admit(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    user_id: &UserId,
    now: i64,
) -> Result<Subject> {
    let refs = keys.all_subject_refs(org_id, user_id);
    if refs.len() > 1
        && let Some(subject) = erased(tx, org_id, &refs).await?
    {
        return come_back(tx, org_id, user_id, subject).await;
    }
    let admitted = row!(
        tx,
        Subject,
        "INSERT INTO subjects (org_id, subject_ref, user_id, state, epoch, created_at)
         VALUES ($1, $2, $3, 'active', 1, $4) ON CONFLICT DO NOTHING
         RETURNING subject_ref, state, epoch, fence_at, return_policy",
        org_id,
        &refs[0],
        user_id,
        now
    )?;
    if let Some(subject) = admitted {
        return Ok(subject);
    }
    // Somebody else admitted them just now, or they were erased.
    if let Some(subject) = known(tx, org_id, user_id).await? {
        return Ok(subject);
    }
    match erased(tx, org_id, &refs).await? {
        Some(subject) => come_back(tx, org_id, user_id, subject).await,
        None => Err(Error::unavailable("This user is being admitted elsewhere; try again.", 1)),
    }
}

/// Somebody who was erased under the policy `fenced` is active again with their first write, under the epoch that
/// their erasure began.
async fn come_back(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    mut subject: Subject,
) -> Result<Subject> {
    if subject.state == SubjectState::Erased && subject.return_policy == ReturnPolicy::Fenced {
        run!(
            tx,
            "UPDATE subjects SET state = 'active', user_id = $3
             WHERE org_id = $1 AND subject_ref = $2 AND state = 'erased'",
            org_id,
            &subject.subject_ref,
            user_id
        )?;
        subject.state = SubjectState::Active;
    }
    Ok(subject)
}

/// The epoch of a person whom the barrier is open for; nothing for anyone else.
pub async fn open_epoch(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (i64,),
        "SELECT epoch FROM subjects WHERE org_id = $1 AND user_id = $2 AND state = 'active'",
        org_id,
        user_id
    )?;
    Ok(found.map(|(epoch,)| epoch))
}

/// For a statement that asks along the way: whether one of these references is of somebody who is being erased.
#[macro_export]
macro_rules! erasing {
    ($org_id:literal, $subject_refs:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM subjects WHERE org_id = ",
            $org_id,
            " AND subject_ref IN {texts:",
            $subject_refs,
            "} AND state = 'erasing')"
        )
    };
}
pub use erasing;

/// Error for reads for somebody who is being erased right now.
pub fn is_erasing() -> Error {
    Error::refused(Code::SubjectErasing, "This user is being erased.")
}

/// Refuses to read for somebody who is being erased right now; anybody else may be asked about.
pub async fn not_erasing(
    tx: &mut Tx,
    keys: &SubjectKeys,
    org_id: &OrgId,
    user_id: &UserId,
) -> Result<()> {
    let refs = serde_json::to_string(&keys.all_subject_refs(org_id, user_id))
        .map_err(|e| Error::Internal(e.to_string()))?;
    let found = row!(tx, (bool,), concat!("SELECT ", erasing!("$1", "$2")), org_id, refs)?;
    match found {
        Some((true,)) => Err(is_erasing()),
        _ => Ok(()),
    }
}

async fn erased(tx: &mut Tx, org_id: &OrgId, refs: &[String]) -> Result<Option<Subject>> {
    let refs = serde_json::to_string(refs).map_err(|e| Error::Internal(e.to_string()))?;
    row!(
        tx,
        Subject,
        "SELECT subject_ref, state, epoch, fence_at, return_policy FROM subjects
         WHERE org_id = $1 AND subject_ref IN {texts:$2} AND user_id IS NULL {lock:SHARE}",
        org_id,
        refs
    )
}
