//! Rubrics: `prompts/<judge>/<version>.md`, compiled in. Front matter (a JSON object with the answer's schema and
//! its room) between two lines of `---`, then the text, a minijinja template.
//!
//! A rubric that was used is never edited: numbers of two versions are never drawn as one line, and the version
//! is the file's name. Add the next file and its line in `FILES`.

use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::transcript::Context;

base::vocabulary! {
    /// The question that a rubric puts to a judge.
    pub enum Kind {
        SessionSuccess = "session_success",
        LearningRelevance = "learning_relevance",
        LearningImpact = "learning_impact",
        ShadowComparison = "shadow_comparison",
        LearningExtraction = "learning_extraction",
        LearningEdit = "learning_edit",
    }
}

macro_rules! files {
    ($($kind:ident $folder:literal $version:literal;)*) => {
        &[$((Kind::$kind, $version, include_str!(concat!("../prompts/", $folder, "/", $version, ".md"))),)*]
    };
}

/// Every rubric, oldest version first. A test compares this with the folder.
const FILES: &[(Kind, &str, &str)] = files! {
    SessionSuccess "session_success" "v1";
    LearningRelevance "learning_relevance" "v1";
    LearningImpact "learning_impact" "v1";
    ShadowComparison "shadow_comparison" "v1";
    LearningExtraction "learning_extraction" "v1";
    LearningExtraction "learning_extraction" "v2";
    LearningEdit "learning_edit" "v1";
};

/// The versions of one judge's rubric, oldest first.
pub fn known(kind: Kind) -> Vec<&'static str> {
    FILES.iter().filter(|(k, _, _)| *k == kind).map(|(_, version, _)| *version).collect()
}

/// [`FILES`], read once.
static RUBRICS: LazyLock<Vec<Rubric>> = LazyLock::new(|| {
    FILES.iter().filter_map(|(kind, version, text)| Rubric::parse(*kind, version, text)).collect()
});

/// One version of a rubric, or nothing if there is no such version.
pub fn load(kind: Kind, version: &str) -> Option<&'static Rubric> {
    RUBRICS.iter().find(|rubric| rubric.kind == kind && rubric.version == version)
}

/// The newest version of a judge's rubric.
pub fn newest(kind: Kind) -> Option<&'static Rubric> {
    load(kind, known(kind).last()?)
}

/// A rubric as its file has it.
#[derive(Clone, Debug)]
pub struct Rubric {
    pub kind: Kind,
    /// The file's name.
    pub version: &'static str,
    /// The form of the answer. The order of its fields is the order the judge answers in: reasons first.
    pub schema: Value,
    /// Room for one answer.
    pub max_output_tokens: u32,
    /// Room for each candidate on top, where there are candidates.
    pub max_output_tokens_each: u32,
    /// Knows one template, [`TEXT`].
    environment: Environment<'static>,
}

const TEXT: &str = "text";

/// A rubric filled in for one organization.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub system: String,
    /// SHA-256 of the system message and the schema, in hex: what exactly was asked.
    pub hash: String,
}

#[derive(Deserialize)]
struct FrontMatter {
    schema: Value,
    max_output_tokens: u32,
    #[serde(default)]
    max_output_tokens_each: u32,
}

impl Rubric {
    fn parse(kind: Kind, version: &'static str, text: &'static str) -> Option<Rubric> {
        let (front, template) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
        let front: FrontMatter = serde_json::from_str(front).ok()?;
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template(TEXT, template.trim()).ok()?;
        Some(Rubric {
            kind,
            version,
            schema: front.schema,
            max_output_tokens: front.max_output_tokens,
            max_output_tokens_each: front.max_output_tokens_each,
            environment,
        })
    }

    /// Fills in what the organization says about its agent.
    pub fn render(&self, context: &Context) -> Result<Rendered, minijinja::Error> {
        let system = self.environment.get_template(TEXT)?.render(context)?;
        let mut hash = Sha256::new();
        hash.update(system.as_bytes());
        hash.update(b"\n");
        hash.update(self.schema.to_string().as_bytes());
        Ok(Rendered { system, hash: hex::encode(hash.finalize()) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::transcript::Tool;
    use base::vocabulary::Vocabulary;

    #[test]
    fn every_file_is_listed_and_every_rubric_renders() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/prompts");
        let mut on_disk = BTreeSet::new();
        for folder in std::fs::read_dir(root).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let kind = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
                on_disk.insert((kind, path.file_stem().unwrap().to_str().unwrap().to_owned()));
            }
        }
        let listed: BTreeSet<_> =
            FILES.iter().map(|(k, v, _)| (k.as_str().to_owned(), (*v).to_owned())).collect();
        assert_eq!(on_disk, listed);
        let full = Context {
            agent_context: "A shop's helper.".to_owned(),
            tools: vec![Tool { name: "find".to_owned(), description: "finds".to_owned() }],
            success_definition: "The parcel is found.".to_owned(),
            escalation_means_failure: false,
            consent: None,
        };
        for kind in Kind::ALL.iter().copied() {
            for version in known(kind) {
                let rubric = load(kind, version).unwrap();
                let plain = rubric.render(&Context::default()).unwrap();
                let filled = rubric.render(&full).unwrap();
                assert_ne!(plain.hash, filled.hash, "{} {version}", kind.as_str());
                assert!(filled.system.contains("A shop's helper."), "{}", kind.as_str());
                assert_eq!(plain.hash, rubric.render(&Context::default()).unwrap().hash);
            }
            assert!(load(kind, "v0").is_none());
        }
    }

    /// Providers take only part of JSON schema: flat objects, everything required, nothing else allowed.
    #[test]
    fn schemas_stay_within_what_every_provider_takes() {
        fn check(schema: &Value, depth: usize) {
            let allowed = ["object", "array", "string", "integer", "boolean"];
            assert!(allowed.contains(&schema["type"].as_str().unwrap()), "{schema}");
            assert!(depth <= 4, "too deep: {schema}");
            if let Some(properties) = schema["properties"].as_object() {
                let names: Vec<_> = properties.keys().collect();
                let required: Vec<_> = schema["required"].as_array().unwrap().iter().collect();
                assert_eq!(serde_json::json!(names), serde_json::json!(required));
                assert_eq!(schema["additionalProperties"], false);
                properties.values().for_each(|inner| check(inner, depth + 1));
            }
            if schema["type"] == "array" {
                check(&schema["items"], depth + 1);
            }
        }
        for (kind, version, _) in FILES {
            check(&load(*kind, version).unwrap().schema, 0);
        }
    }

    #[test]
    fn reasons_come_before_the_verdicts_they_support() {
        let names = |kind, pointer: &str| -> Vec<String> {
            let schema = &newest(kind).unwrap().schema;
            schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(names(Kind::SessionSuccess, "/properties")[0], "reasoning");
        assert_eq!(names(Kind::ShadowComparison, "/properties")[0], "comparison_reason");
        for kind in [Kind::LearningRelevance, Kind::LearningImpact] {
            let names = names(kind, "/properties/verdicts/items/properties");
            assert_eq!(names[..2], ["candidate", "reason"]);
        }
        let proposal = names(Kind::LearningExtraction, "/properties/proposals/items/properties");
        assert_eq!(proposal[0], "rationale");
        assert_eq!(names(Kind::LearningEdit, "/properties")[0], "rationale");
    }
}
