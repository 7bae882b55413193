//! Answers with long lists in them: the short parts are written at once, each list follows page by page, and no more
//! than a few pages are in memory at a time.
//!
//! A [`StreamedList`] is written as a mark that no text of ours can contain (texts with U+0000 are refused at the door); the
//! answer is cut at the marks, and each is replaced by its list while the client reads.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde::{Serialize, Serializer};
use tokio::sync::mpsc;

use super::sql::{self, AfterCitation, AfterResult};
use super::windows::Span;
use crate::app::App;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::Subject;
use storage::error::{Error, Result};

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

    /// The lists that the text has marks of, in the order of the marks.
    fn in_order_of(self, text: &str) -> Self {
        let mut specs: Vec<_> = self.specs.into_iter().map(Some).collect();
        let places = text.split(MARK).skip(1).filter_map(|rest| digits_of(rest).parse().ok());
        let specs = places.filter_map(|place: usize| specs.get_mut(place)?.take()).collect();
        Lists { specs, ..self }
    }

    /// The sessions that cite a rule, of these sources, or of all.
    pub fn citing(
        &mut self,
        kind: CitationKind,
        rule_id: &str,
        sources: Option<&[String]>,
    ) -> StreamedList {
        let rule = (kind, rule_id.to_owned());
        let after = (i64::MIN, Subject::default(), String::new());
        self.add(Spec::Citing { rule, sources: sources.map(<[String]>::to_vec), after })
    }
}

/// The place that a mark names.
fn digits_of(after_mark: &str) -> &str {
    let end = after_mark.find(|c: char| !c.is_ascii_digit()).unwrap_or(after_mark.len());
    &after_mark[..end]
}

/// Pages that are read ahead of the client.
const AHEAD: usize = 2;

/// The answer as it is sent. A page is read while the one before is on its way.
pub fn stream(app: &Arc<App>, org_id: OrgId, text: String, lists: Lists) -> Body {
    if lists.specs.is_empty() {
        return Body::from(text);
    }
    let (pages, read) = mpsc::channel(AHEAD);
    let lists = lists.in_order_of(&text);
    let reader = PageReader { app: app.clone(), org_id, lists, pages };
    app.spawn(reader.run());
    let sending = OverviewStream { text, at: 0, read, open: None };
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

/// A page of a list as JSON.
struct ListPage {
    json: String,
    /// True if it is the last of its list.
    ended: bool,
}

/// The parts of an answer in the order in which they are sent.
struct OverviewStream {
    text: String,
    at: usize,
    /// Pages of the lists, in the order of their marks.
    read: mpsc::Receiver<Result<ListPage>>,
    /// True or false while a list is being sent: whether some of it was.
    open: Option<bool>,
}

impl OverviewStream {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if let Some(begun) = self.open {
            return self.list(begun).await.map(Some);
        }
        let rest = &self.text[self.at..];
        let Some(mark) = rest.find(MARK) else {
            let bytes = Bytes::copy_from_slice(rest.as_bytes());
            self.at = self.text.len();
            return Ok((!bytes.is_empty()).then_some(bytes));
        };
        let before = Bytes::from(format!("{}[", &rest[..mark]));
        self.at += mark + MARK.len() + digits_of(&rest[mark + MARK.len()..]).len() + 1;
        self.open = Some(false);
        Ok(Some(before))
    }

    /// The next page of a list, without the brackets of its own.
    async fn list(&mut self, begun: bool) -> Result<Bytes> {
        let stopped = || Err(Error::unavailable("The server is stopping.", 1));
        let ListPage { json, ended } = self.read.recv().await.unwrap_or_else(stopped)?;
        let items = json.trim_start_matches('[').trim_end_matches(']');
        let comma = if begun && !items.is_empty() { "," } else { "" };
        let close = if ended { "]" } else { "" };
        let bytes = Bytes::from(format!("{comma}{items}{close}"));
        self.open = (!ended).then_some(begun || !items.is_empty());
        Ok(bytes)
    }
}

/// Reads the lists one after the other, and waits while the client is slower.
struct PageReader {
    app: Arc<App>,
    org_id: OrgId,
    lists: Lists,
    pages: mpsc::Sender<Result<ListPage>>,
}

impl PageReader {
    async fn run(mut self) {
        for spec in std::mem::take(&mut self.lists.specs) {
            let mut spec = Some(spec);
            while let Some(open) = spec.take() {
                let page = self.page(open).await;
                let failed = page.is_err();
                let page = page.map(|(json, next)| {
                    spec = next;
                    ListPage { json, ended: spec.is_none() }
                });
                // The client may be gone.
                if self.pages.send(page).await.is_err() || failed {
                    return;
                }
            }
        }
    }

    /// The next page of a list as JSON, and what is left of the list.
    async fn page(&self, spec: Spec) -> Result<(String, Option<Spec>)> {
        let (window, version) = (self.lists.window, self.lists.agent_version.clone());
        let db = &self.app.db;
        match spec {
            Spec::Sessions { mut sources, with_users, after } => {
                let Some(source) = sources.last().cloned() else {
                    return Ok((String::new(), None));
                };
                let input = (self.org_id.clone(), source, version, after);
                let page = db
                    .lookup_many(
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
                if page.next.is_none() {
                    sources.pop();
                }
                let after = page.next.unwrap_or_else(|| sql::at_start(window));
                let left = !sources.is_empty();
                Ok((page.json, left.then_some(Spec::Sessions { sources, with_users, after })))
            }
            Spec::Citing { rule, sources, after } => {
                let input = (self.org_id.clone(), rule, sources, version, after);
                let page = db
                    .lookup_many(
                        "evaluation.list_citing",
                        &input,
                        move |tx, (org, rule, sources, version, after)| {
                            let rule = (rule.0, rule.1.as_str());
                            let (sources, version) = (sources.as_deref(), version.as_deref());
                            Box::pin(sql::citing_sessions(
                                tx, org, rule, sources, version, window, after,
                            ))
                        },
                    )
                    .await?;
                let (_, rule, sources, ..) = input;
                let next = page.next.map(|after| Spec::Citing { rule, sources, after });
                Ok((page.json, next))
            }
        }
    }
}
