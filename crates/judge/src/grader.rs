//! Entry point of this crate: takes material, returns checked verdicts with their provenance.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::detector::detect;
use super::discipline::{Discipline, Limits};
use super::llm::LlmJudge;
use super::offline::{OfflineJudge, SlowOfflineJudge};
use super::prices::PriceTable;
use super::prompts::{Kind, Rubric};
use super::proposals::{self, Edit, Proposal};
use super::providers::{Keys, Selection};
use super::transcript::{Candidate, Context, Flawed, Input, Turn, Window, tokens};
use super::verdicts::{self, ImpactVerdict, RelevanceVerdict, SessionVerdict, ShadowVerdict};
use super::words::VerdictFlag;
use super::{BlockReason, Call, Judge, JudgeAnswer, JudgeError, JudgeState, Usage, fence};
use crate::settings::JudgeSettings;
use base::clock::Clock;
use base::ids::Ids;

/// Candidates in one call.
pub const BATCH: usize = 25;

/// A verdict and where it comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Graded<V> {
    pub verdict: V,
    pub provenance: Provenance,
}

/// Judge, rubric, tokens and cost, stored beside every verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// `rules`, `learned/<number>`, or provider/model as reported.
    pub judge: String,
    pub prompt_version: &'static str,
    pub rubric_hash: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Nothing if the model is unpriced.
    pub cost_usd: Option<f64>,
    pub latency_ms: u64,
    /// Calls made for this verdict.
    pub attempts: u32,
    pub flags: Vec<VerdictFlag>,
}

/// One judge, ready for use. Cheap to share; holds nothing about anybody.
pub struct Grader {
    discipline: Discipline,
    ids: Ids,
    max_transcript_tokens: usize,
}

impl Grader {
    pub fn new(
        judge: Arc<dyn Judge>,
        limits: Limits,
        prices: PriceTable,
        max_transcript_tokens: usize,
        clock: Clock,
        ids: Ids,
    ) -> Self {
        let discipline = Discipline::new(judge, limits, prices, clock, ids.clone());
        Grader { discipline, ids, max_transcript_tokens }
    }

    /// The judge that the settings and the keys ask for.
    pub fn from_settings(
        settings: &JudgeSettings,
        keys: &Keys,
        clock: Clock,
        ids: Ids,
    ) -> Result<Self, String> {
        let timeout = Duration::from_secs(settings.timeout_seconds);
        let file = &settings.prices_file;
        let prices = PriceTable::load((!file.as_os_str().is_empty()).then_some(file.as_path()))?;
        let (judge, missing): (Arc<dyn Judge>, bool) = match Selection::choose(settings, keys)? {
            Selection::Offline if settings.offline_delay_ms > 0 => {
                let delay = Duration::from_millis(settings.offline_delay_ms);
                (Arc::new(SlowOfflineJudge(delay)), false)
            }
            Selection::Offline => (Arc::new(OfflineJudge), false),
            Selection::Llm { provider, model, base_url, key, key_missing } => {
                let temperature = settings.temperature;
                let judge = LlmJudge::new(provider, &model, &base_url, key, timeout, temperature)?;
                (Arc::new(judge), key_missing)
            }
        };
        let limits = Limits {
            concurrency: settings.concurrency,
            requests_per_minute: settings.requests_per_minute,
            tokens_per_minute: settings.tokens_per_minute,
            timeout,
            attempts: settings.attempts,
            probe_after: Duration::from_secs(settings.probe_seconds),
            daily_budget_usd: settings.budget(prices.find(judge.label()).is_some()),
            ..Limits::default()
        };
        let grader = Self::new(judge, limits, prices, settings.max_transcript_tokens, clock, ids);
        if missing {
            grader.discipline.block(BlockReason::KeyMissing);
        }
        Ok(grader)
    }

    /// Rules alone, whatever judges: free and without limits.
    pub fn rules(clock: Clock, ids: Ids) -> Self {
        let limits = Limits { concurrency: 1000, ..Limits::default() };
        Self::new(Arc::new(OfflineJudge), limits, PriceTable::default(), usize::MAX, clock, ids)
    }

    /// `provider/model` as configured, or `rules`.
    pub fn label(&self) -> &str {
        self.discipline.judge().label()
    }

    /// True if verdicts come from rules instead of a model.
    pub fn is_offline(&self) -> bool {
        !self.discipline.judge().reads_text()
    }

    pub fn state(&self) -> JudgeState {
        self.discipline.state()
    }

    /// Calls under way.
    pub fn in_use(&self) -> usize {
        self.discipline.in_use()
    }

    /// US dollars this process spent today (UTC), and what it was told with [`Grader::add_spent`].
    pub fn spent_today(&self) -> f64 {
        self.discipline.budget().spent()
    }

    /// The provider's words when it last refused a call, without the key. For a person, not for a log.
    pub fn refusal(&self) -> Option<String> {
        self.discipline.judge().refusal()
    }

    /// US dollars a day; 0 is no limit.
    pub fn daily_budget_usd(&self) -> f64 {
        self.discipline.budget().limit()
    }

    /// Counts what was spent today before this process started, or elsewhere, against the budget.
    pub fn add_spent(&self, dollars: f64) {
        self.discipline.budget().add(dollars);
    }

    /// True if the model has a price.
    pub fn is_priced(&self) -> bool {
        self.discipline.cost(self.label(), Usage::default()).is_some()
    }

    /// The most that judging `turns` once may cost; nothing if the model is unpriced.
    pub fn estimate(&self, rubric: &Rubric, context: &Context, turns: &[Turn]) -> Option<f64> {
        let input = Input::Session { turns: turns.to_vec() };
        let call = self.prepare(rubric, context, input, self.max_transcript_tokens).ok()?.call;
        let output_tokens = u64::from(call.max_output_tokens);
        self.discipline.cost(self.label(), Usage { input_tokens: call.input_tokens, output_tokens })
    }

    /// Judges the success of one session. The rubric is a version of `session_success`.
    pub async fn session(
        &self,
        rubric: &Rubric,
        context: &Context,
        turns: &[Turn],
    ) -> Result<Graded<SessionVerdict>, JudgeError> {
        let input = Input::Session { turns: turns.to_vec() };
        self.grade(rubric, context, input, |answer| {
            let mut verdict = verdicts::session(&answer.json, turns)?;
            if context.escalation_means_failure {
                verdict.fail_if_escalated();
            }
            Ok(verdict)
        })
        .await
    }

    /// Judges the relevance of up to [`BATCH`] learnings to their turn: one place per candidate, in order;
    /// empty where the judge gave no usable verdict.
    pub async fn relevance(
        &self,
        rubric: &Rubric,
        context: &Context,
        turns: &[Turn],
        candidates: &[Candidate],
    ) -> Result<Graded<Vec<Option<RelevanceVerdict>>>, JudgeError> {
        let input = Input::Relevance { turns: turns.to_vec(), candidates: candidates.to_vec() };
        self.grade(rubric, context, input, |answer| verdicts::relevance(&answer.json, candidates))
            .await
    }

    /// Judges the impact of up to [`BATCH`] learnings on the responses: one place per candidate, as for
    /// relevance.
    pub async fn impact(
        &self,
        rubric: &Rubric,
        context: &Context,
        turns: &[Turn],
        candidates: &[Candidate],
    ) -> Result<Graded<Vec<Option<ImpactVerdict>>>, JudgeError> {
        let input = Input::Impact { turns: turns.to_vec(), candidates: candidates.to_vec() };
        self.grade(rubric, context, input, |answer| {
            verdicts::impact(&answer.json, candidates, turns)
        })
        .await
    }

    /// Compares two responses that follow `turns`. The caller randomizes their order.
    pub async fn shadow(
        &self,
        rubric: &Rubric,
        context: &Context,
        turns: &[Turn],
        response_1: &str,
        response_2: &str,
    ) -> Result<Graded<ShadowVerdict>, JudgeError> {
        let input = Input::Shadow {
            turns: turns.to_vec(),
            response_1: response_1.to_owned(),
            response_2: response_2.to_owned(),
        };
        self.grade(rubric, context, input, |answer| verdicts::shadow(&answer.json)).await
    }

    /// Extracts learnings from a window of one person's turns. Rubric: `learning_extraction`.
    pub async fn extraction(
        &self,
        rubric: &Rubric,
        context: &Context,
        window: &Window,
    ) -> Result<Graded<Vec<Proposal>>, JudgeError> {
        let input = Input::Extraction(window.clone());
        self.grade(rubric, context, input, |answer| proposals::extraction(&answer.json, window))
            .await
    }

    /// A better wording of a learning that hurt. Rubric: `learning_edit`.
    pub async fn edit(
        &self,
        rubric: &Rubric,
        context: &Context,
        flawed: Flawed,
    ) -> Result<Graded<Edit>, JudgeError> {
        self.grade(rubric, context, Input::Edit(flawed), |answer| proposals::edit(&answer.json))
            .await
    }

    async fn grade<V>(
        &self,
        rubric: &Rubric,
        context: &Context,
        input: Input,
        check: impl FnOnce(&JudgeAnswer) -> Result<V, JudgeError>,
    ) -> Result<Graded<V>, JudgeError> {
        let consent = context.consent.as_deref();
        let room = self.max_transcript_tokens;
        let mut prepared = self.prepare(rubric, context, input, room)?;
        let mut done = self.discipline.call(&prepared.call, consent).await;
        if matches!(done, Err(JudgeError::ContextTooLong)) {
            // Once, to a half of what it was: the provider counts other tokens than we do, or has less room.
            let shown = usize::try_from(prepared.call.input_tokens).unwrap_or(room).min(room);
            prepared = self.prepare(rubric, context, prepared.call.input, shown / 2)?;
            done = self.discipline.call(&prepared.call, consent).await;
        }
        let done = done?;
        let Prepared { rubric_hash, mut flags, .. } = prepared;
        if done.answer.usage_is_estimated {
            flags.push(VerdictFlag::UsageEstimated);
        }
        let verdict = check(&done.answer)?;
        let provenance = Provenance {
            judge: done.answer.model,
            prompt_version: rubric.version,
            rubric_hash,
            input_tokens: done.answer.usage.input_tokens,
            output_tokens: done.answer.usage.output_tokens,
            cost_usd: done.cost_usd,
            latency_ms: u64::try_from(done.answer.latency.as_millis()).unwrap_or(u64::MAX),
            attempts: done.attempts,
            flags,
        };
        Ok(Graded { verdict, provenance })
    }

    fn prepare(
        &self,
        rubric: &Rubric,
        context: &Context,
        input: Input,
        room: usize,
    ) -> Result<Prepared, JudgeError> {
        let count = match &input {
            Input::Relevance { candidates, .. } | Input::Impact { candidates, .. } => {
                candidates.len()
            }
            _ => 0,
        };
        let batched = matches!(input.kind(), Kind::LearningRelevance | Kind::LearningImpact);
        if rubric.kind != input.kind() || count > BATCH || (batched && count == 0) {
            return Err(JudgeError::Invalid);
        }
        let rendered = rubric.render(context).map_err(|error| {
            tracing::error!(kind = rubric.kind.as_str(), version = rubric.version, %error, "a rubric does not render");
            JudgeError::Invalid
        })?;
        let mut flags: BTreeSet<VerdictFlag> =
            input.texts().iter().flat_map(|text| detect(text)).collect();
        let (mut user, mut input_tokens) = (String::new(), 0);
        if self.discipline.judge().reads_text() {
            let nonce = fence::nonce(&self.ids);
            let (text, cut) = fence::message(&input, &nonce, room);
            if cut {
                flags.insert(VerdictFlag::TranscriptCut);
            }
            let counted = tokens(&rendered.system) + tokens(&text);
            input_tokens = u64::try_from(counted).unwrap_or(u64::MAX);
            user = text;
        }
        let each = u32::try_from(count).unwrap_or(0).saturating_mul(rubric.max_output_tokens_each);
        let call = Call {
            system: rendered.system,
            user,
            schema: rubric.schema.clone(),
            max_output_tokens: rubric.max_output_tokens.saturating_add(each),
            input_tokens,
            input,
        };
        Ok(Prepared { call, rubric_hash: rendered.hash, flags: flags.into_iter().collect() })
    }
}

struct Prepared {
    call: Call,
    rubric_hash: String,
    flags: Vec<VerdictFlag>,
}
