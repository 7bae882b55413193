//! Consent to show people's words to a judge: checked at the barrier before each call and during it.

use std::time::Duration;

use futures_util::future::BoxFuture;

use base::owner::{OrgId, UserId};
use judge::Consent;
use storage::db::Db;
use storage::subjects::barrier;

/// Polling interval of the barrier while a call is under way. Work of the process that erases is cancelled by
/// it directly; this is for the other replicas.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Holds as long as the person is active under the epoch their session was read in.
#[derive(Clone)]
pub struct SubjectConsent {
    pub db: Db,
    pub org_id: OrgId,
    pub user_id: UserId,
    pub epoch: i64,
}

impl Consent for SubjectConsent {
    fn is_given(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let input = (self.org_id.clone(), self.user_id.clone());
            let open = self
                .db
                .lookup("evaluation.consent", input, |tx, (org_id, user_id)| {
                    Box::pin(barrier::open_epoch(tx, org_id, user_id))
                })
                .await;
            // Without an answer, nothing is sent.
            matches!(open, Ok(Some(epoch)) if epoch == self.epoch)
        })
    }

    fn withdrawn(&self) -> BoxFuture<'_, ()> {
        Box::pin(watch(self))
    }
}

/// Holds as long as that of each of them does.
pub struct EveryonesConsent(pub Vec<SubjectConsent>);

impl Consent for EveryonesConsent {
    fn is_given(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            for consent in &self.0 {
                if !consent.is_given().await {
                    return false;
                }
            }
            true
        })
    }

    fn withdrawn(&self) -> BoxFuture<'_, ()> {
        Box::pin(watch(self))
    }
}

async fn watch(consent: &dyn Consent) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if !consent.is_given().await {
            return;
        }
    }
}
