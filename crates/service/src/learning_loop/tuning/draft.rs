//! Drafts for a learning that hurts: a better wording if the evidence shows its fault and a model can write
//! one, archiving otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::score::Score;
use super::{TrialFinding, TuningAction};
use crate::app::App;
use crate::judging::{self, EveryonesConsent, SubjectConsent};
use crate::learning_loop::aggregation::{People, PersonTexts};
use crate::learning_loop::sql::aggregation::known_of;
use crate::organization::OrganizationConfig;
use crate::sessions::{self, Interaction};
use base::owner::{OrgId, UserId};
use judge::prompts::Kind;
use judge::{DiagnosisCategory, Flawed, JudgeError, LearningKind};
use storage::error::Result;
use storage::subjects::barrier;

/// Diagnoses and turns that a draft is made from.
const PROBLEMS: usize = 10;
const TURNS: usize = 40;

/// Draft that a person is asked to decide on.
#[derive(Clone, Debug)]
pub struct TuningDraft {
    pub action: TuningAction,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    /// Author: `rules`, or provider/model as reported.
    pub drafted_by: String,
}

impl TuningDraft {
    fn archive(score: &Score) -> Self {
        let impact = &score.attributable_impact;
        TuningDraft {
            action: TuningAction::Archive,
            content: String::new(),
            trigger: String::new(),
            rationale: format!(
                "Of {} verdicts in {} sessions, {} were negative and {} positive.",
                impact.judged, score.sessions, impact.negative, impact.positive
            ),
            drafted_by: "rules".to_owned(),
        }
    }
}

impl TuningDraft {
    /// Rejection of a playbook that a trial found to hurt, unless there is a better wording.
    pub fn after_trial(wording: Option<TuningDraft>, found: &TrialFinding) -> Self {
        let rationale = found.sentence();
        match wording.filter(|draft| draft.action == TuningAction::Edit) {
            Some(draft) => {
                TuningDraft { rationale: format!("{rationale} {}", draft.rationale), ..draft }
            }
            None => TuningDraft {
                action: TuningAction::Reject,
                content: String::new(),
                trigger: String::new(),
                rationale,
                drafted_by: "rules".to_owned(),
            },
        }
    }
}

/// Drafts what to do about a learning. Fails when the model cannot be asked right now.
pub async fn make(
    app: &App,
    org_id: &OrgId,
    config: &OrganizationConfig,
    score: &Score,
) -> Result<TuningDraft> {
    let defects: Vec<_> = score
        .against
        .iter()
        .filter(|verdict| verdict.verified_diagnosis() == Some(DiagnosisCategory::ContentDefect))
        .take(PROBLEMS)
        .collect();
    if defects.is_empty() || score.kind == LearningKind::Profile || app.extractor.is_offline() {
        return Ok(TuningDraft::archive(score));
    }
    let problems = defects.iter().map(|verdict| verdict.diagnosis_reason().to_owned()).collect();
    let mut cited: BTreeMap<UserId, BTreeSet<i64>> = BTreeMap::new();
    for verdict in &defects {
        cited.entry(verdict.user_id.clone()).or_default().extend(verdict.evidence());
    }
    let evidence = load(app, org_id, cited).await?;
    let shown = evidence.iter().flat_map(|of| &of.turns).take(TURNS);
    let flawed = Flawed {
        content: score.content.clone(),
        trigger: score.trigger.clone(),
        problems,
        turns: shown.map(judging::as_turn).collect(),
    };
    let rubric = judging::rubric(Kind::LearningEdit, None)?;
    let consent = EveryonesConsent(evidence.iter().map(|of| of.consent.clone()).collect());
    let context = judging::context(config, Some(Arc::new(consent)));
    let graded = match app.extractor.edit(rubric, &context, flawed).await {
        Ok(graded) => graded,
        Err(error) if error.is_temporary() || error == JudgeError::Withdrawn => {
            return Err(judging::judge_error(&error));
        }
        Err(_) => return Ok(TuningDraft::archive(score)),
    };
    let mut draft = TuningDraft {
        action: TuningAction::Edit,
        content: graded.verdict.content,
        trigger: graded.verdict.trigger,
        rationale: graded.verdict.rationale,
        drafted_by: graded.provenance.judge,
    };
    if score.user_id.is_none() {
        // A shared playbook must not carry anything of the people whose sessions showed the problem.
        let people = People::new(evidence.into_iter().map(PersonEvidence::person).collect());
        let present = format!("{} {}", score.trigger, score.content);
        let may_share = |text: &str| people.is_impersonal(text, &present);
        if !may_share(&draft.content) || !may_share(&draft.trigger) {
            return Ok(TuningDraft::archive(score));
        }
        if !may_share(&draft.rationale) {
            draft.rationale = "Drafted from what verified diagnoses say.".to_owned();
        }
    }
    let unchanged = draft.content == score.content && draft.trigger == score.trigger;
    let useless = draft.content.is_empty() || unchanged;
    Ok(if useless { TuningDraft::archive(score) } else { draft })
}

/// The cited turns of one person, and the texts known about that person.
struct PersonEvidence {
    turns: Vec<Interaction>,
    known: Vec<String>,
    consent: SubjectConsent,
}

impl PersonEvidence {
    fn person(self) -> PersonTexts {
        let texts = self.turns.into_iter().map(|turn| turn.content).collect();
        PersonTexts { user_id: self.consent.user_id, texts, known: self.known }
    }
}

/// The cited turns of each person who is not being erased.
async fn load(
    app: &App,
    org_id: &OrgId,
    cited: BTreeMap<UserId, BTreeSet<i64>>,
) -> Result<Vec<PersonEvidence>> {
    let input = (app.db.clone(), org_id.to_owned(), cited);
    app.db
        .read("learnings.tuning_evidence", input, |tx, (db, org_id, cited)| {
            Box::pin(async move {
                let mut found = Vec::new();
                for (user_id, ids) in cited {
                    let epoch = barrier::open_epoch(tx, org_id, user_id).await?;
                    let Some(epoch) = epoch else { continue };
                    let ids: Vec<i64> = ids.iter().copied().collect();
                    let turns = sessions::interactions_by_ids(tx, org_id, user_id, &ids).await?;
                    let known = known_of(tx, org_id, std::slice::from_ref(user_id)).await?;
                    let known = known.into_iter().map(|(_, text)| text).collect();
                    let (db, org_id, user_id) = (db.clone(), org_id.clone(), user_id.clone());
                    let consent = SubjectConsent { db, org_id, user_id, epoch };
                    found.push(PersonEvidence { turns, known, consent });
                }
                Ok(found)
            })
        })
        .await
}
