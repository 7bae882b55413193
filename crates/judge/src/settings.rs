//! Settings of the judge.

use std::path::PathBuf;

use serde::Deserialize;

/// Daily budget of a model with a price when none is set.
pub const DEFAULT_BUDGET_USD: f64 = 5.0;

#[derive(Clone, Debug, Deserialize)]
pub struct JudgeSettings {
    pub model: String,
    pub base_url: String,
    pub concurrency: usize,
    pub requests_per_minute: u64,
    pub tokens_per_minute: u64,
    pub timeout_seconds: u64,
    pub attempts: u32,
    pub probe_seconds: u64,
    pub daily_budget_usd: f64,
    pub max_transcript_tokens: usize,
    pub temperature: f64,
    pub prices_file: PathBuf,
    pub offline_delay_ms: u64,
}

impl JudgeSettings {
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        JudgeSettings {
            model: String::new(),
            base_url: String::new(),
            concurrency: 1,
            requests_per_minute: 0,
            tokens_per_minute: 0,
            timeout_seconds: 1,
            attempts: 1,
            probe_seconds: 1,
            daily_budget_usd: 0.0,
            max_transcript_tokens: 1000,
            temperature: 0.0,
            prices_file: PathBuf::new(),
            offline_delay_ms: 0,
        }
    }

    /// US dollars a day, 0 for no limit. Below 0 it is for us to say: [`DEFAULT_BUDGET_USD`] for a model with a price,
    /// and none for one without, whose cost nobody could hold against it.
    pub fn budget(&self, is_priced: bool) -> f64 {
        match self.daily_budget_usd {
            set if set >= 0.0 => set,
            _ if is_priced => DEFAULT_BUDGET_USD,
            _ => 0.0,
        }
    }

    /// Every problem with them, each with the name of its setting.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let model = self.model.trim();
        if !matches!(model, "" | "offline" | "rules")
            && let Err(problem) = crate::parse_model(model)
        {
            problems.push(problem);
        }
        let url = self.base_url.trim();
        if let Ok((provider, _)) = crate::parse_model(model)
            && !url.is_empty()
            && let Err(problem) = provider.address(url)
        {
            problems.push(format!("judge.base_url: {problem}"));
        }
        let checks = [
            (
                url.is_empty() || url.starts_with("http://") || url.starts_with("https://"),
                "judge.base_url: starts with http:// or https://",
            ),
            (self.concurrency >= 1, "judge.concurrency: at least 1"),
            (self.timeout_seconds >= 1, "judge.timeout_seconds: at least 1"),
            (self.attempts >= 1, "judge.attempts: at least 1"),
            (self.probe_seconds >= 1, "judge.probe_seconds: at least 1"),
            (
                self.daily_budget_usd.is_finite(),
                "judge.daily_budget_usd: a number; 0 is no limit, below 0 the default",
            ),
            (self.max_transcript_tokens >= 1000, "judge.max_transcript_tokens: at least 1000"),
            (self.temperature.is_finite(), "judge.temperature: a number"),
        ];
        problems.extend(checks.iter().filter(|(ok, _)| !ok).map(|(_, text)| (*text).to_owned()));
        if !self.prices_file.as_os_str().is_empty()
            && let Err(problem) = crate::PriceTable::load(Some(&self.prices_file))
        {
            problems.push(problem);
        }
        problems
    }
}
