//! The fields of the configuration, their defaults and their bounds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::evaluators::{Evaluator, EvaluatorFields};
use super::learning::LearningConfig;
use crate::http::fields::{Fields, Read};
use crate::judge::prompts::{self, Kind};

const PROMPT_LENGTH: usize = 20_000;

/// Everything an organization can set.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct OrganizationConfig {
    /// What the agent is and does, for the judge.
    #[schema(required = false, max_length = 20000)]
    pub agent_context_prompt: String,
    /// The tools the agent has, for the judge.
    #[schema(required = false)]
    pub tool_can_use: Vec<ToolCanUse>,
    #[schema(required = false)]
    pub agent_success_config: AgentSuccessConfig,
    /// The rubric of shadow comparisons; only its verdicts are shown.
    #[schema(required = false, example = "v1")]
    pub shadow_comparison_judge_prompt_version: String,
    /// Judge each pair twice, the second time in the other order.
    #[schema(required = false)]
    pub shadow_both_orders: bool,
    /// Judgements of one regeneration at a time.
    #[schema(required = false, minimum = 1, maximum = 100)]
    pub eval_concurrency_limit: i64,
    /// Sessions of one day and source that a regeneration judges.
    #[schema(required = false, minimum = 1, maximum = 100000)]
    pub eval_sample_n_per_stratum: i64,
    #[schema(required = false)]
    pub judge: JudgeConfig,
    #[schema(required = false)]
    pub learning: LearningConfig,
    /// Whether agents are served agent playbooks that nobody has approved yet. Rejected ones are never served.
    #[schema(required = false)]
    pub serve_pending: bool,
    #[schema(required = false)]
    pub governance: GovernanceConfig,
    /// Evaluators that are rules: free, each under its own name.
    #[schema(required = false, max_items = 50, value_type = Vec<EvaluatorFields>)]
    pub evaluators: Vec<Evaluator>,
}

/// A tool the agent has.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct ToolCanUse {
    pub tool_name: String,
    #[schema(required = false)]
    pub tool_description: String,
}

/// What is judged, and how much of it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct AgentSuccessConfig {
    /// What counts as success; empty leaves it to the rubric.
    #[schema(required = false, max_length = 20000)]
    pub success_definition_prompt: String,
    /// The share of sessions that is judged, from 0 to 1.
    #[schema(required = false)]
    pub sampling_rate: f64,
    /// The same for sessions published as evaluation_only.
    #[schema(required = false)]
    pub evaluation_only_sampling_rate: f64,
    /// The share of judged sessions whose retrieved learnings are judged too.
    #[schema(required = false)]
    pub retrieved_learning_sampling_rate: f64,
    /// Sources that are evaluated; null means all of them.
    pub request_sources_enabled: Option<Vec<String>>,
}

/// Which rubrics judge. `null` means the newest this server has.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct JudgeConfig {
    /// null, or the model this server judges with: it has one for all organizations.
    pub model: Option<String>,
    #[serde(default)]
    pub session_success_prompt_version: Option<String>,
    #[serde(default)]
    pub learning_relevance_prompt_version: Option<String>,
    #[serde(default)]
    pub learning_impact_prompt_version: Option<String>,
}

/// Settings of governance; none yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct GovernanceConfig {}

impl Default for AgentSuccessConfig {
    fn default() -> Self {
        AgentSuccessConfig {
            success_definition_prompt: String::new(),
            sampling_rate: 1.0,
            evaluation_only_sampling_rate: 1.0,
            retrieved_learning_sampling_rate: 1.0,
            request_sources_enabled: None,
        }
    }
}

impl Default for OrganizationConfig {
    fn default() -> Self {
        OrganizationConfig {
            agent_context_prompt: String::new(),
            tool_can_use: Vec::new(),
            agent_success_config: AgentSuccessConfig::default(),
            shadow_comparison_judge_prompt_version: newest(Kind::ShadowComparison),
            shadow_both_orders: true,
            eval_concurrency_limit: 10,
            eval_sample_n_per_stratum: 200,
            judge: JudgeConfig::default(),
            learning: LearningConfig::default(),
            serve_pending: false,
            governance: GovernanceConfig::default(),
            evaluators: Vec::new(),
        }
    }
}

fn newest(kind: Kind) -> String {
    prompts::known(kind).last().map(|version| (*version).to_owned()).unwrap_or_default()
}

impl Read for OrganizationConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = OrganizationConfig::default();
        let config = OrganizationConfig {
            agent_context_prompt: f.text("agent_context_prompt", PROMPT_LENGTH),
            tool_can_use: f.list("tool_can_use", 500),
            agent_success_config: f.nested("agent_success_config"),
            shadow_comparison_judge_prompt_version: prompt_version(
                f,
                "shadow_comparison_judge_prompt_version",
                Kind::ShadowComparison,
            )
            .unwrap_or(default.shadow_comparison_judge_prompt_version),
            shadow_both_orders: f
                .optional_flag("shadow_both_orders")
                .unwrap_or(default.shadow_both_orders),
            eval_concurrency_limit: f
                .integer("eval_concurrency_limit", 1..=100)
                .unwrap_or(default.eval_concurrency_limit),
            eval_sample_n_per_stratum: f
                .integer("eval_sample_n_per_stratum", 1..=100_000)
                .unwrap_or(default.eval_sample_n_per_stratum),
            judge: f.nested("judge"),
            learning: f.nested("learning"),
            serve_pending: f.optional_flag("serve_pending").unwrap_or(default.serve_pending),
            governance: f.nested("governance"),
            evaluators: f.list("evaluators", 50),
        };
        let mut names = std::collections::BTreeSet::new();
        for (index, evaluator) in config.evaluators.iter().enumerate() {
            if !evaluator.evaluation_name.is_empty() && !names.insert(&evaluator.evaluation_name) {
                let place = format!("evaluators/{index}/evaluation_name");
                f.problem(&place, "duplicate", "another evaluator has this name");
            }
        }
        config
    }
}

impl Read for ToolCanUse {
    fn read(f: &mut Fields<'_>) -> Self {
        ToolCanUse {
            tool_name: f.id("tool_name"),
            tool_description: f.text("tool_description", 4000),
        }
    }
}

impl Read for AgentSuccessConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let sources =
            (!f.is_absent("request_sources_enabled")).then(|| f.texts("request_sources_enabled"));
        // Asked for either way, so that null is not unknown.
        let _ = f.any("request_sources_enabled");
        AgentSuccessConfig {
            success_definition_prompt: f.text("success_definition_prompt", PROMPT_LENGTH),
            sampling_rate: rate(f, "sampling_rate"),
            evaluation_only_sampling_rate: rate(f, "evaluation_only_sampling_rate"),
            retrieved_learning_sampling_rate: rate(f, "retrieved_learning_sampling_rate"),
            request_sources_enabled: sources,
        }
    }
}

impl Read for JudgeConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        JudgeConfig {
            model: f.optional_id("model"),
            session_success_prompt_version: prompt_version(
                f,
                "session_success_prompt_version",
                Kind::SessionSuccess,
            ),
            learning_relevance_prompt_version: prompt_version(
                f,
                "learning_relevance_prompt_version",
                Kind::LearningRelevance,
            ),
            learning_impact_prompt_version: prompt_version(
                f,
                "learning_impact_prompt_version",
                Kind::LearningImpact,
            ),
        }
    }
}

impl Read for GovernanceConfig {
    fn read(_: &mut Fields<'_>) -> Self {
        GovernanceConfig {}
    }
}

fn rate(f: &mut Fields<'_>, name: &'static str) -> f64 {
    let rate = f.number(name).unwrap_or(1.0);
    if !(0.0..=1.0).contains(&rate) {
        f.problem(name, "out_of_range", "must be from 0 to 1");
    }
    rate
}

/// The version of a rubric that this server has.
pub fn prompt_version(f: &mut Fields<'_>, name: &'static str, kind: Kind) -> Option<String> {
    let version = f.optional_id(name)?;
    let known = prompts::known(kind);
    if !known.contains(&version.as_str()) {
        let detail = format!("no such version of {}; known: {}", kind.as_str(), known.join(", "));
        f.problem(name, "unknown_prompt_version", detail);
    }
    Some(version)
}
