//! Answers with long lists in them: the short parts are written at once, each list follows page by page, and no more
//! than a page is in memory at a time.
//!
//! A [`StreamedList`] is written as a mark that no text of ours can contain (texts with U+0000 are refused at the door); the
//! answer is cut at the marks, and each is replaced by its list while the client reads.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde::{Serialize, Serializer};

use super::sql::{self, AfterCitation, AfterResult};
use super::windows::Span;
use crate::app::App;
use crate::sessions::CitationKind;
use base::owner::{OrgId, UserId};
use storage::error::Result;

/// A list in an answer: empty, or the place of one that is sent later.
pub struct StreamedList(Option<usize>);

impl Serialize for StreamedList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.collect_seq(std::iter::empty::<()>()),
            Some(place) => serializer.serialize_str(&format!("\0{place}")),
        }
    }
}

/// Beginning of a mark in JSON; its place and a quote follow.
const MARK: &str = "\"\\u0000";

/// The lists of an answer, in the order of their places.
pub struct Lists {
    window: Span,
    agent_version: Option<String>,
    wanted: bool,
    specs: Vec<Spec>,
}

/// Contents of a list, and the cursor up to which it was sent.
enum Spec {
    Sessions { sources: Vec<String>, with_users: bool, after: AfterResult },
    Citing { rule: (CitationKind, String), sources: Option<Vec<String>>, after: AfterCitation },
}

impl Lists {
    /// Of one version of the agent, or of all. Without `wanted` every list stays empty.
    pub fn new(window: Span, agent_version: Option<String>, wanted: bool) -> Self {
        Lists { window, agent_version, wanted, specs: Vec::new() }
    }

    fn add(&mut self, spec: Spec) -> StreamedList {
        if !self.wanted {
            return StreamedList(None);
        }
        self.specs.push(spec);
        StreamedList(Some(self.specs.len() - 1))
    }

    /// The judged sessions of these sources: ids, or users and ids.
    pub fn sessions(&mut self, sources: &[String], with_users: bool) -> StreamedList {
        // Taken from the end.
        let sources = sources.iter().rev().cloned().collect();
        let after = sql::at_start(self.window);
        self.add(Spec::Sessions { sources, with_users, after })
    }

    /// The sessions that cite a rule, of these sources, or of all.
    pub fn citing(
        &mut self,
        kind: CitationKind,
        rule_id: &str,
        sources: Option<&[String]>,
    ) -> StreamedList {
        let rule = (kind, rule_id.to_owned());
        let after = (i64::MIN, UserId::default(), String::new());
        self.add(Spec::Citing { rule, sources: sources.map(<[String]>::to_vec), after })
    }
}

/// The answer as it is sent.
pub fn stream(app: Arc<App>, org_id: OrgId, text: String, lists: Lists) -> Body {
    if lists.specs.is_empty() {
        return Body::from(text);
    }
    let sending = OverviewStream { app, org_id, text, at: 0, lists, open: None };
    Body::from_stream(stream::unfold(Some(sending), |sending| async move {
        let mut sending = sending?;
        match sending.next().await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some(sending))),
            Ok(None) => None,
            // The status is sent already: what is left is to break off.
            Err(error) => {
                tracing::error!(%error, "an overview broke off");
                Some((Err(error), None))
            }
        }
    }))
}

struct OverviewStream {
    app: Arc<App>,
    org_id: OrgId,
    text: String,
    at: usize,
    lists: Lists,
    /// The list that is being sent, and whether some of it was.
    open: Option<(usize, bool)>,
}

impl OverviewStream {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if let Some((place, begun)) = self.open {
            return self.list(place, begun).await.map(Some);
        }
        let rest = &self.text[self.at..];
        let Some(mark) = rest.find(MARK) else {
            let bytes = Bytes::copy_from_slice(rest.as_bytes());
            self.at = self.text.len();
            return Ok((!bytes.is_empty()).then_some(bytes));
        };
        let before = Bytes::from(format!("{}[", &rest[..mark]));
        let digits: String =
            rest[mark + MARK.len()..].chars().take_while(char::is_ascii_digit).collect();
        self.at += mark + MARK.len() + digits.len() + 1;
        self.open = digits.parse().ok().map(|place| (place, false));
        Ok(Some(before))
    }

    /// The next page of a list, without the brackets of its own.
    async fn list(&mut self, place: usize, begun: bool) -> Result<Bytes> {
        let (json, ended) = self.page(place).await?;
        let items = json.trim_start_matches('[').trim_end_matches(']');
        let comma = if begun && !items.is_empty() { "," } else { "" };
        let close = if ended { "]" } else { "" };
        let bytes = Bytes::from(format!("{comma}{items}{close}"));
        self.open = (!ended).then_some((place, begun || !items.is_empty()));
        Ok(bytes)
    }

    /// The next page of a list as JSON, and whether it was the last.
    async fn page(&mut self, place: usize) -> Result<(String, bool)> {
        let (window, version) = (self.lists.window, self.lists.agent_version.clone());
        let Some(spec) = self.lists.specs.get_mut(place) else { return Ok((String::new(), true)) };
        let db = &self.app.db;
        match spec {
            Spec::Sessions { sources, with_users, after } => {
                let Some(source) = sources.last() else { return Ok((String::new(), true)) };
                let with_users = *with_users;
                let input = (self.org_id.clone(), source.clone(), version, *after);
                let page = db
                    .lookup(
                        "evaluation.list_sessions",
                        input,
                        move |tx, (org, source, version, after)| {
                            let version = version.as_deref();
                            Box::pin(sql::sessions_of_source(
                                tx, org, source, version, window, *after, with_users,
                            ))
                        },
                    )
                    .await?;
                match page.next {
                    Some(next) => *after = next,
                    None => {
                        sources.pop();
                        *after = sql::at_start(window);
                    }
                }
                Ok((page.json, sources.is_empty()))
            }
            Spec::Citing { rule, sources, after } => {
                let input =
                    (self.org_id.clone(), rule.clone(), sources.clone(), version, after.clone());
                let page = db
                    .lookup(
                        "evaluation.list_citing",
                        input,
                        move |tx, (org, rule, sources, version, after)| {
                            let rule = (rule.0, rule.1.as_str());
                            let (sources, version) = (sources.as_deref(), version.as_deref());
                            Box::pin(sql::citing_sessions(
                                tx, org, rule, sources, version, window, after,
                            ))
                        },
                    )
                    .await?;
                let ended = page.next.is_none();
                if let Some(next) = page.next {
                    *after = next;
                }
                Ok((page.json, ended))
            }
        }
    }
}
