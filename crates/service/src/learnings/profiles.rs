//! Adding and changing profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::types::Json;

use super::requests::{NewProfile, ProfileChange};
use super::{Profile, embedding_job, scoped_terms, sql};
use crate::app::App;
use base::owner::OrgId;
use base::words;
use judge::LearningKind;
use storage::db::{Sequence, Tx};
use storage::error::{Code, Error, Result};
use storage::subjects::{SubjectWrite, barrier};

/// Adds profiles, all or none, and gives their ids.
pub async fn add(app: &Arc<App>, org_id: &OrgId, new: Vec<NewProfile>) -> Result<Vec<String>> {
    let now = app.clock.now();
    let made: Vec<(Profile, Vec<String>)> = new
        .into_iter()
        .map(|new| {
            let profile = make(app, new, now);
            let terms = terms(&profile);
            (profile, terms)
        })
        .collect();
    let ids = made.iter().map(|(p, _)| p.profile_id.clone()).collect();
    let input = (app.clone(), org_id.to_owned(), made, now);
    app.db
        .write("learnings.add_profiles", input, |tx, (app, org_id, made, now)| {
            Box::pin(store(tx, app, org_id, made, *now))
        })
        .await?;
    app.db.announce_work().await;
    Ok(ids)
}

fn make(app: &App, new: NewProfile, now: i64) -> Profile {
    let modified = new.last_modified_timestamp.unwrap_or(now);
    Profile {
        profile_no: 0,
        profile_id: new.profile_id.unwrap_or_else(|| app.ids.uuid()),
        user_id: new.user_id,
        content: new.content,
        last_modified_timestamp: modified,
        generated_from_request_id: new.generated_from_request_id,
        profile_time_to_live: new.profile_time_to_live,
        expiration_timestamp: new
            .expiration_timestamp
            .unwrap_or_else(|| new.profile_time_to_live.expiration(modified)),
        custom_features: new.custom_features.map(Json),
        source: new.source,
        status: new.status,
        tags: Json(new.tags),
        source_interaction_ids: Json(new.source_interaction_ids),
    }
}

fn terms(profile: &Profile) -> Vec<String> {
    let mut texts = vec![profile.content.as_str()];
    texts.extend(profile.tags.iter().map(String::as_str));
    words::terms_of(&texts)
}

async fn store(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    made: &[(Profile, Vec<String>)],
    now: i64,
) -> Result<()> {
    let numbers = tx.next_numbers(Sequence::Profiles, made.len()).await?;
    let mut owners = BTreeMap::new();
    // In the order of their ids: two batches that name the same people do not wait for each other in a circle.
    for user_id in made.iter().map(|(p, _)| &p.user_id).collect::<std::collections::BTreeSet<_>>() {
        let subject = barrier::open(tx, org_id, user_id, now).await?;
        subject.admits(None, now)?;
        let scope = sql::admit_scope(tx, &subject).await?;
        embedding_job::enqueue(tx, app, org_id, Some(&subject)).await?;
        owners.insert(user_id, (subject, scope));
    }
    for ((profile, terms), number) in made.iter().zip(numbers) {
        let Some((subject, scope)) = owners.get(&profile.user_id) else {
            continue;
        };
        let profile = Profile { profile_no: number, ..profile.clone() };
        let terms = scoped_terms(LearningKind::Profile, *scope, terms);
        if !sql::profiles::insert(tx, subject, &profile, &terms).await? {
            return Err(Error::refused(
                Code::LearningExists,
                format!(
                    "There is a profile {} already; change it or choose another id.",
                    profile.profile_id
                ),
            ));
        }
    }
    Ok(())
}

/// Writes one new profile in a transaction that has the right to.
pub async fn put(tx: &mut Tx, subject: &SubjectWrite, mut profile: Profile) -> Result<()> {
    let scope = sql::admit_scope(tx, subject).await?;
    profile.profile_no = tx.next_numbers(Sequence::Profiles, 1).await?[0];
    let terms = scoped_terms(LearningKind::Profile, scope, &terms(&profile));
    sql::profiles::insert(tx, subject, &profile, &terms).await.map(drop)
}

/// Changes a profile; what the change does not name stays.
pub async fn change(app: &Arc<App>, org_id: &OrgId, change: ProfileChange) -> Result<()> {
    let input = (app.clone(), org_id.to_owned(), change, app.clock.now());
    app.db
        .write("learnings.change_profile", input, |tx, (app, org_id, change, now)| {
            Box::pin(apply(tx, app, org_id, change, *now))
        })
        .await?;
    app.db.announce_work().await;
    Ok(())
}

async fn apply(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    change: &ProfileChange,
    now: i64,
) -> Result<()> {
    let ProfileChange { user_id, profile_id, .. } = change;
    let held = sql::profiles::hold(tx, org_id, user_id, profile_id).await?;
    // An expired profile is gone, even if the sweep has not been there yet.
    let held = held.filter(|profile| profile.expiration_timestamp > now);
    let mut profile = held.ok_or_else(|| Error::not_found("profile"))?;
    let subject = barrier::open(tx, org_id, user_id, now).await?;
    if let Some(content) = &change.content {
        profile.content.clone_from(content);
    }
    if let Some(features) = &change.custom_features {
        profile.custom_features = Some(Json(features.clone()));
    }
    if let Some(time_to_live) = change.profile_time_to_live {
        profile.profile_time_to_live = time_to_live;
        profile.expiration_timestamp = time_to_live.expiration(now);
    }
    if let Some(source) = &change.source {
        profile.source.clone_from(source);
    }
    if let Some(status) = change.status {
        profile.status = status;
    }
    if let Some(tags) = &change.tags {
        profile.tags = Json(tags.clone());
    }
    profile.last_modified_timestamp = now;
    let new_terms = if change.content.is_some() || change.tags.is_some() {
        let scope = sql::admit_scope(tx, &subject).await?;
        embedding_job::enqueue(tx, app, org_id, Some(&subject)).await?;
        Some(scoped_terms(LearningKind::Profile, scope, &terms(&profile)))
    } else {
        None
    };
    sql::profiles::update(tx, &subject, &profile, new_terms.as_deref()).await
}
