//! Export formats: one JSON document for programs, an archive of files for people.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::export::ExportHeader;
use super::zip::Zip;
use storage::error::{Error, Result};

base::vocabulary! {
    /// Export format: one document, or an archive of lists and pictures with a README.
    pub enum ExportFormat {
        Json = "json",
        Zip = "zip",
    }
}

/// Row count of a section, and the SHA-256 of its rows, each with a newline after it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SectionManifest {
    pub count: u64,
    pub sha256: String,
}

/// The document, which [`Shape`] writes piece by piece as it is read.
#[derive(ToSchema)]
pub struct ExportBundle {
    pub subject_ref: String,
    pub export_id: String,
    pub generated_at: i64,
    pub schema_version: i64,
    /// Every list by its name, with its rows.
    #[schema(value_type = BTreeMap<String, Vec<Object>>)]
    pub bundle: BTreeMap<String, Vec<Value>>,
    pub manifest: BTreeMap<String, SectionManifest>,
}

/// Manifest of each section, by its name.
pub type Sections = BTreeMap<String, SectionManifest>;

/// Writes the parts of an export in their order.
pub struct Shape {
    format: ExportFormat,
    zip: Zip,
    first_section: bool,
    first_row: bool,
}

impl Shape {
    pub fn new(format: ExportFormat) -> Self {
        Shape { format, zip: Zip::default(), first_section: true, first_row: true }
    }

    pub fn begin(&mut self, export: &ExportHeader, out: &mut Vec<u8>) -> Result<()> {
        match self.format {
            ExportFormat::Json => {
                let head = serde_json::to_string(export).map_err(unwritable)?;
                // The head without its closing brace: what follows is part of it.
                out.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
                out.extend_from_slice(b",\"bundle\":{");
            }
            ExportFormat::Zip => self.file("README.txt", README.as_bytes(), out),
        }
        Ok(())
    }

    pub fn begin_section(&mut self, target: &str, out: &mut Vec<u8>) {
        match self.format {
            ExportFormat::Json => {
                if !std::mem::replace(&mut self.first_section, false) {
                    out.push(b',');
                }
                out.extend_from_slice(format!("\"{target}\":[").as_bytes());
            }
            ExportFormat::Zip => self.zip.begin(&format!("{target}.ndjson"), out),
        }
        self.first_row = true;
    }

    pub fn row(&mut self, row: &str, out: &mut Vec<u8>) {
        match self.format {
            ExportFormat::Json => {
                if !std::mem::replace(&mut self.first_row, false) {
                    out.push(b',');
                }
                out.extend_from_slice(row.as_bytes());
            }
            ExportFormat::Zip => {
                self.zip.data(row.as_bytes(), out);
                self.zip.data(b"\n", out);
            }
        }
    }

    pub fn end_section(&mut self, out: &mut Vec<u8>) {
        match self.format {
            ExportFormat::Json => out.push(b']'),
            ExportFormat::Zip => self.zip.end(out),
        }
    }

    /// A picture that is stored with a turn, as a file of its own.
    pub fn picture(&mut self, turn: i64, url: &str, encoding: &str, out: &mut Vec<u8>) {
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
        let (kind, text) = match inline {
            Some((head, text)) if head.ends_with(";base64") => (head, text),
            _ => ("", encoding),
        };
        // An image that cannot be decoded is in interactions.ndjson as it was sent.
        let Ok(bytes) = STANDARD.decode(text.trim()) else { return };
        if bytes.is_empty() {
            return;
        }
        let subtype = kind.split(';').next().and_then(|kind| kind.strip_prefix("image/"));
        let ending: String = subtype
            .unwrap_or("bin")
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .take(10)
            .collect();
        self.file(&format!("images/{turn}.{ending}"), &bytes, out);
    }

    pub fn end(
        &mut self,
        export: &ExportHeader,
        sections: &Sections,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.format {
            ExportFormat::Json => {
                let manifest = serde_json::to_string(sections).map_err(unwritable)?;
                out.extend_from_slice(format!("}},\"manifest\":{manifest}}}").as_bytes());
            }
            ExportFormat::Zip => {
                #[derive(Serialize)]
                struct Whole<'a> {
                    #[serde(flatten)]
                    export: &'a ExportHeader,
                    manifest: &'a Sections,
                }
                let whole = Whole { export, manifest: sections };
                let whole = serde_json::to_value(whole).map_err(unwritable)?;
                self.file("manifest.json", format!("{whole:#}\n").as_bytes(), out);
                self.zip.finish(out);
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str, bytes: &[u8], out: &mut Vec<u8>) {
        self.zip.begin(name, out);
        self.zip.data(bytes, out);
        self.zip.end(out);
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::Internal(error.to_string())
}

const README: &str = "\
This archive holds everything that is stored about you here.

Each file with the ending .ndjson is a list. Every line is one entry, written in the
JSON format: names in quotes, each followed by what is stored under it. Any text
editor can open these files. A file without lines means that nothing of that kind is
stored about you.

  sessions              conversations you had: when they began, when they ended
  requests              the parts in which each conversation arrived
  interactions          every turn of every conversation, yours and the agent's
  outcomes              what was reported about how a conversation ended
  profiles              what was learned about you
  user_playbooks        what was learned from your conversations
  evaluation_results    automatic judgements of how well conversations went
  learning_verdicts     automatic judgements of whether learned things helped
  shadow_verdicts       automatic comparisons of two possible answers
  labels                what people said about how well conversations went
  experiment_exposures  which variant of a test you were shown
  imported_scores       scores that came from other programs
  agent_playbook_sources  which general learnings were drawn from yours

The other lists are technical: work in progress (jobs), reasons why conversations were
or were not judged (evaluation_decisions, verdict_gaps, candidate_verdicts,
judgements_under_way), which of them people were asked to look at (review_draws) or
a judge learned from (model_training), and numbers made from
the texts above so that they can be searched (profile_vectors, user_playbook_vectors,
learning_scopes).

  images/               pictures from your conversations, named by the turn they belong to
  manifest.json         how many entries each list has, and a checksum of each list

Times are numbers: seconds since 1 January 1970 (UTC).
";
