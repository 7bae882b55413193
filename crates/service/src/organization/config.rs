//! The fields of the configuration, their defaults and their bounds.

use serde::{Deserialize, Serialize};

use super::client_config::ClientConfig;
use super::evaluators::Evaluator;
use super::learning::LearningConfig;
use super::learning_trials::LearningTrialsConfig;
use crate::http::fields::{Fields, Read};
use judge::prompts::{self, Kind};

const PROMPT_LENGTH: usize = 20_000;
/// Given out in the place of an empty definition, which the public client refuses, and read as an empty one.
const RUBRIC_DEFINES_SUCCESS: &str =
    "The user got what they came for, judged by the final outcome and not by the way there.";
/// The rubric that the public client names when nobody chose one.
const CLIENT_SHADOW_VERSION: &str = "v1.1.0";
/// Settings that the public client cannot carry: replacing the configuration without them leaves them as they are.
pub const UNKNOWN_TO_CLIENT: [&str; 7] = [
    "shadow_both_orders",
    "judge",
    "learning",
    "learning_trials",
    "serve_pending",
    "governance",
    "evaluators",
];

/// Everything an organization can set.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct OrganizationConfig {
    pub agent_context_prompt: String,
    pub tool_can_use: Vec<ToolCanUse>,
    pub agent_success_config: AgentSuccessConfig,
    pub shadow_comparison_judge_prompt_version: String,
    pub shadow_both_orders: bool,
    pub eval_concurrency_limit: i64,
    pub eval_sample_n_per_stratum: i64,
    pub judge: JudgeConfig,
    pub learning: LearningConfig,
    /// Configurations stored before there were trials have none.
    #[serde(default)]
    pub learning_trials: LearningTrialsConfig,
    pub serve_pending: bool,
    pub governance: GovernanceConfig,
    pub evaluators: Vec<Evaluator>,
    #[serde(flatten)]
    pub client: ClientConfig,
}

/// A tool the agent has.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ToolCanUse {
    pub tool_name: String,
    pub tool_description: String,
}

/// Scope and sampling rates of evaluation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct AgentSuccessConfig {
    pub success_definition_prompt: String,
    pub sampling_rate: f64,
    pub evaluation_only_sampling_rate: Option<f64>,
    pub retrieved_learning_sampling_rate: Option<f64>,
    pub request_sources_enabled: Option<Vec<String>>,
    pub evaluation_name: Option<String>,
    pub tagging_definition_prompt: Option<String>,
    pub window_size_override: Option<i64>,
    pub stride_size_override: Option<i64>,
}

base::vocabulary! {
    /// A kind of judge.
    pub enum JudgeKind {
        /// The model that this server is configured with.
        Llm = "llm",
        /// Trained on the organization's own labels and outcomes.
        Learned = "learned",
        Rules = "rules",
    }
}

/// Order of the judges, and rubric versions. `null` means the newest this server has.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct JudgeConfig {
    pub model: Option<String>,
    /// The first that is available judges.
    #[serde(default = "all_kinds")]
    pub order: Vec<JudgeKind>,
    /// A hand-over to a person is no evidence either way unless this is set.
    #[serde(default)]
    pub escalation_means_failure: bool,
    #[serde(default)]
    pub session_success_prompt_version: Option<String>,
    #[serde(default)]
    pub learning_relevance_prompt_version: Option<String>,
    #[serde(default)]
    pub learning_impact_prompt_version: Option<String>,
}

fn all_kinds() -> Vec<JudgeKind> {
    vec![JudgeKind::Llm, JudgeKind::Learned, JudgeKind::Rules]
}

impl Default for JudgeConfig {
    fn default() -> Self {
        JudgeConfig {
            model: None,
            order: all_kinds(),
            escalation_means_failure: false,
            session_success_prompt_version: None,
            learning_relevance_prompt_version: None,
            learning_impact_prompt_version: None,
        }
    }
}

/// Settings of governance; none yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct GovernanceConfig {}

impl Default for AgentSuccessConfig {
    fn default() -> Self {
        AgentSuccessConfig {
            success_definition_prompt: String::new(),
            sampling_rate: 1.0,
            evaluation_only_sampling_rate: None,
            retrieved_learning_sampling_rate: None,
            request_sources_enabled: None,
            evaluation_name: None,
            tagging_definition_prompt: None,
            window_size_override: None,
            stride_size_override: None,
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
            learning_trials: LearningTrialsConfig::default(),
            serve_pending: false,
            governance: GovernanceConfig::default(),
            evaluators: Vec::new(),
            client: ClientConfig::default(),
        }
    }
}

impl OrganizationConfig {
    /// As it is given out: the public client refuses empty texts, so each is replaced by what it means. Reading
    /// turns them back.
    pub fn shown(mut self) -> Self {
        let definition = &mut self.agent_success_config.success_definition_prompt;
        if definition.is_empty() {
            RUBRIC_DEFINES_SUCCESS.clone_into(definition);
        }
        for tool in &mut self.tool_can_use {
            if tool.tool_description.is_empty() {
                tool.tool_description.clone_from(&tool.tool_name);
            }
        }
        self
    }
}

fn newest(kind: Kind) -> String {
    prompts::known(kind).last().map(|version| (*version).to_owned()).unwrap_or_default()
}

crate::request_body!(OrganizationConfig, "OrganizationConfig");

impl Read for OrganizationConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let default = OrganizationConfig::default();
        // The version is compared when the configuration is written; here it is only described.
        f.about("Of the configuration that is changed: refused when somebody else changed something in between.")
            .integer("version", 0..=i64::MAX);
        let config = OrganizationConfig {
            agent_context_prompt: f
                .about("What the agent is and does, for the judge.")
                .text("agent_context_prompt", PROMPT_LENGTH),
            tool_can_use: f
                .about("The tools the agent has, for the judge.")
                .list("tool_can_use", 500),
            agent_success_config: f.nested("agent_success_config"),
            shadow_comparison_judge_prompt_version: shadow_version(
                f.about("The rubric of shadow comparisons; only its verdicts are shown."),
            )
            .unwrap_or(default.shadow_comparison_judge_prompt_version),
            shadow_both_orders: f
                .about("Judge each pair twice, the second time in the other order.")
                .flag_or("shadow_both_orders", default.shadow_both_orders),
            eval_concurrency_limit: f
                .about("Judgements of one regeneration at a time.")
                .integer_or("eval_concurrency_limit", 1..=100, default.eval_concurrency_limit),
            eval_sample_n_per_stratum: f
                .about("Sessions of one day and source that a regeneration judges.")
                .integer_or(
                    "eval_sample_n_per_stratum",
                    1..=100_000,
                    default.eval_sample_n_per_stratum,
                ),
            judge: f.nested("judge"),
            learning: f.nested("learning"),
            learning_trials: f.nested("learning_trials"),
            serve_pending: f
                .about(
                    "Whether agents are served agent playbooks that nobody has approved yet. Rejected ones are never \
                     served.",
                )
                .flag_or("serve_pending", default.serve_pending),
            governance: f.nested("governance"),
            evaluators: f
                .about("Evaluators that are rules: free, each under its own name.")
                .list("evaluators", 50),
            client: ClientConfig::read(f),
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

crate::request_body!(ToolCanUse, "ToolCanUse");

impl Read for ToolCanUse {
    fn read(f: &mut Fields<'_>) -> Self {
        let tool_name: String = f.id("tool_name");
        let tool_description = text_unless(f, "tool_description", 4000, &tool_name);
        ToolCanUse { tool_name, tool_description }
    }
}

crate::request_body!(AgentSuccessConfig, "AgentSuccessConfig");

impl Read for AgentSuccessConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        let kept = "Kept for the public client, without effect here.";
        AgentSuccessConfig {
            success_definition_prompt: text_unless(
                f.about(
                    "What counts as success; empty leaves it to the rubric, and reads back as what the rubric says, \
                     in short.",
                ),
                "success_definition_prompt",
                PROMPT_LENGTH,
                RUBRIC_DEFINES_SUCCESS,
            ),
            sampling_rate: f
                .about("The share of sessions that is judged; all when absent.")
                .number_within("sampling_rate", 0.0..=1.0)
                .unwrap_or(1.0),
            evaluation_only_sampling_rate: f
                .about("The same for sessions published as evaluation_only; null means the same share.")
                .number_within("evaluation_only_sampling_rate", 0.0..=1.0),
            retrieved_learning_sampling_rate: f
                .about("The share of judged sessions whose retrieved learnings are judged too; null means all of them.")
                .number_within("retrieved_learning_sampling_rate", 0.0..=1.0),
            request_sources_enabled: f
                .about("Sources that are evaluated; null means all of them.")
                .optional_texts("request_sources_enabled"),
            evaluation_name: f
                .about("Kept for the public client; verdicts are named `agent_success`.")
                .optional_id("evaluation_name"),
            tagging_definition_prompt: f
                .about(kept)
                .optional_text("tagging_definition_prompt", PROMPT_LENGTH),
            window_size_override: f.about(kept).integer("window_size_override", 1..=i64::MAX),
            stride_size_override: f.about(kept).integer("stride_size_override", 1..=i64::MAX),
        }
    }
}

crate::request_body!(JudgeConfig, "JudgeConfig");

impl Read for JudgeConfig {
    fn read(f: &mut Fields<'_>) -> Self {
        const NEWEST: &str = "null means the newest rubric this server has.";
        JudgeConfig {
            model: f
                .about(
                    "null, or the model this server judges with: it has one for all organizations.",
                )
                .optional_id("model"),
            order: order(f),
            escalation_means_failure: f
                .about("Whether a session that was handed over to a person counts as failed.")
                .flag_or("escalation_means_failure", false),
            session_success_prompt_version: prompt_version(
                f.about(NEWEST),
                "session_success_prompt_version",
                Kind::SessionSuccess,
            ),
            learning_relevance_prompt_version: prompt_version(
                f.about(NEWEST),
                "learning_relevance_prompt_version",
                Kind::LearningRelevance,
            ),
            learning_impact_prompt_version: prompt_version(
                f.about(NEWEST),
                "learning_impact_prompt_version",
                Kind::LearningImpact,
            ),
        }
    }
}

/// Each kind at most once.
fn order(f: &mut Fields<'_>) -> Vec<JudgeKind> {
    const ABOUT: &str = "The first of these that is available judges: `llm` if a model is configured, `learned` once it is \
        trained, `rules` always.";
    let order = f.about(ABOUT).words("order").unwrap_or_else(all_kinds);
    let repeats = (1..order.len()).any(|at| order[..at].contains(&order[at]));
    if order.is_empty() || repeats {
        f.problem("order", "not_allowed", "must name at least one judge, and none twice");
    }
    order
}

crate::request_body!(GovernanceConfig, "GovernanceConfig");

impl Read for GovernanceConfig {
    fn read(_: &mut Fields<'_>) -> Self {
        GovernanceConfig {}
    }
}

/// Trimmed text; what [`OrganizationConfig::shown`] puts in the place of an empty one is read as empty.
fn text_unless(f: &mut Fields<'_>, name: &'static str, longest: usize, shown: &str) -> String {
    let text = f.text(name, longest);
    let text = text.trim();
    if text == shown { String::new() } else { text.to_owned() }
}

/// The pinned rubric. What the public client names unasked is no choice.
fn shadow_version(f: &mut Fields<'_>) -> Option<String> {
    const NAME: &str = "shadow_comparison_judge_prompt_version";
    let version = f.optional_id(NAME).filter(|version| version != CLIENT_SHADOW_VERSION)?;
    Some(known_version(f, NAME, Kind::ShadowComparison, version))
}

/// The version of a rubric that this server has.
pub fn prompt_version(f: &mut Fields<'_>, name: &'static str, kind: Kind) -> Option<String> {
    let version = f.optional_id(name)?;
    Some(known_version(f, name, kind, version))
}

fn known_version(f: &mut Fields<'_>, name: &str, kind: Kind, version: String) -> String {
    let known = prompts::known(kind);
    if !known.contains(&version.as_str()) {
        let detail = format!("no such version of {}; known: {}", kind.as_str(), known.join(", "));
        f.problem(name, "unknown_prompt_version", detail);
    }
    version
}
