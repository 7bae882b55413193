//! The endpoints that read and search learnings. All of them hand over through the gate.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::gate::{self, Attribution, HandOver, Recipient};
use super::rows::Filter;
use super::search::{self, Found, Mode, Search};
use super::{
    AgentPlaybook, Kind, PLAYBOOK_STATUSES, Profile, STATUSES, UserPlaybook, reads, requests,
};
use crate::app::App;
use crate::credentials::Caller;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_profiles))
        .routes(routes!(get_user_playbooks))
        .routes(routes!(get_agent_playbooks))
        .routes(routes!(search))
        .routes(routes!(search_profiles))
        .routes(routes!(search_user_playbooks))
        .routes(routes!(search_agent_playbooks))
}

const MAX_TOP_K: i64 = 100;
const MAX_LIST: i64 = 1000;
const QUERY_LENGTH: usize = 20_000;

// ── what requests have in common ────────────────────────────────────────────────────────────────────

/// Who asks for whom, and what it is narrowed by.
struct Narrowed {
    recipient: Recipient,
    filter: Filter,
    /// The approval that was asked for, of agent playbooks.
    approval: Option<Vec<&'static str>>,
}

impl Narrowed {
    fn read(f: &mut Fields<'_>, approval: &'static str) -> Self {
        let (from, to) = f.time_range();
        let recipient = Recipient {
            user_id: f.optional_id("user_id"),
            session_id: f.optional_id("session_id"),
            request_id: f.optional_id("request_id"),
        };
        let approval = f.choices(approval, PLAYBOOK_STATUSES);
        let filter = Filter {
            org_id: String::new(),
            user_id: recipient.user_id.clone(),
            statuses: statuses(f),
            source: f.optional_text("source", 128),
            tags: requests::tags(f, "tags").filter(|t| !t.is_empty()),
            agent_version: f.blank_or_id("agent_version"),
            playbook_name: f.blank_or_id("playbook_name"),
            playbook_statuses: Vec::new(),
            from,
            to,
            now: 0,
        };
        Narrowed { recipient, filter, approval }
    }

    /// Puts in what does not come from the request alone.
    async fn of(mut self, app: &App, caller: &Caller, inspected: Inspected) -> Result<Self> {
        let served = gate::served_statuses(app, &caller.org_id).await?;
        self.filter.playbook_statuses = match (self.approval.take(), caller.inspection) {
            (Some(asked), true) => asked,
            (None, true) if inspected == Inspected::All => PLAYBOOK_STATUSES.to_vec(),
            (None, _) => served.to_vec(),
            // An agent narrows what it is served, and never widens it.
            (Some(asked), false) => asked.into_iter().filter(|s| served.contains(s)).collect(),
        };
        self.filter.org_id.clone_from(&caller.org_id);
        self.filter.now = app.clock.now();
        Ok(self)
    }
}

/// The agent playbooks that a person who inspects gets without asking for an approval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inspected {
    /// Searches: what an agent would get.
    Served,
    /// Lists: what there is to decide about.
    All,
}

/// The wanted statuses; `null` in the list means current, and so does no list.
fn statuses(f: &mut Fields<'_>) -> Vec<&'static str> {
    let read = |item: &Value| match item {
        Value::Null => Ok("current"),
        item => {
            let found = STATUSES.iter().find(|word| item.as_str() == Some(**word));
            found.copied().ok_or_else(|| {
                ("not_allowed", format!("must be null or one of: {}", STATUSES.join(", ")))
            })
        }
    };
    let wanted = f.values("status_filter", 16, read).filter(|list| !list.is_empty());
    wanted.unwrap_or_else(|| vec!["current"])
}

/// A search of any of the four endpoints.
struct Asked {
    narrowed: Narrowed,
    query: Option<String>,
    top_k: usize,
    threshold: Option<f64>,
    mode: Mode,
    kinds: Vec<Kind>,
}

impl Asked {
    fn read(f: &mut Fields<'_>, approval: &'static str, top_k: i64, kinds: &[Kind]) -> Self {
        let query = f.optional_text("query", QUERY_LENGTH);
        if query.as_ref().is_some_and(|query| query.trim().is_empty()) {
            f.problem("query", "empty", "must not be empty");
        }
        let threshold = f.number("threshold");
        if threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
            f.problem("threshold", "out_of_range", "must be from 0 to 1");
        }
        let top_k = f.integer("top_k", 1..=MAX_TOP_K).unwrap_or(top_k);
        Asked {
            narrowed: Narrowed::read(f, approval),
            query,
            top_k: usize::try_from(top_k).unwrap_or(1),
            threshold,
            mode: match f.choice("search_mode", &["hybrid", "vector", "fts"]) {
                Some("vector") => Mode::Vector,
                Some("fts") => Mode::Fts,
                _ => Mode::Hybrid,
            },
            kinds: kinds.to_vec(),
        }
    }

    /// Searches, and hands over what was found.
    async fn answer(self, app: &Arc<App>, caller: &Caller) -> Result<Answer> {
        let Narrowed { recipient, filter, .. } =
            self.narrowed.of(app, caller, Inspected::Served).await?;
        let without_user = filter.user_id.is_none() && self.kinds != [Kind::AgentPlaybook];
        let asked = Search {
            query: self.query,
            top_k: self.top_k,
            threshold: self.threshold,
            mode: self.mode,
            kinds: self.kinds,
            filter,
        };
        let Found { learnings, experiment_runs, degraded, effective, msg } =
            search::search(app, asked).await?;
        let over =
            gate::hand_over_knowing(app, caller, &recipient, learnings, experiment_runs).await?;
        let no_user = || {
            without_user
                .then(|| "Profiles and user playbooks are searched with a user_id only.".to_owned())
        };
        Ok(Answer {
            msg: over.msg.clone().or(msg).or_else(no_user),
            over,
            degraded,
            effective: effective.as_str(),
        })
    }
}

struct Answer {
    over: HandOver,
    degraded: bool,
    effective: &'static str,
    msg: Option<String>,
}

// ── searching ───────────────────────────────────────────────────────────────────────────────────────

struct UnifiedSearch(Asked);

impl Read for UnifiedSearch {
    fn read(f: &mut Fields<'_>) -> Self {
        if f.is_absent("query") {
            f.problem("query", "required", "is required");
        }
        let mut asked = Asked::read(f, "agent_playbook_status_filter", 5, Kind::ALL);
        let names = ["profiles", "user_playbooks", "agent_playbooks"];
        if let Some(wanted) = f.choices("entity_types", &names).filter(|w| !w.is_empty()) {
            let pairs = names.iter().zip(Kind::ALL);
            let kinds = pairs.filter(|(name, _)| wanted.contains(*name));
            asked.kinds = kinds.map(|(_, kind)| *kind).collect();
        }
        UnifiedSearch(asked)
    }
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of UnifiedSearch
struct SearchRequest {
    /// At most 20,000 characters; the first 32 distinct words count.
    query: String,
    /// How many of each kind; 5 when absent.
    #[schema(minimum = 1, maximum = 100)]
    top_k: Option<i64>,
    /// The least similarity (0 to 1) of a match by vectors; matches by words are not cut.
    threshold: Option<f64>,
    /// Whose profiles and user playbooks; without it only agent playbooks are searched.
    user_id: Option<String>,
    session_id: Option<String>,
    request_id: Option<String>,
    agent_version: Option<String>,
    playbook_name: Option<String>,
    source: Option<String>,
    /// Any of these.
    tags: Option<Vec<String>>,
    /// `profiles`, `user_playbooks`, `agent_playbooks`; all when absent.
    entity_types: Option<Vec<String>>,
    /// `pending`, `approved`, `rejected`; what agents are served when absent. Agents get approved ones only, whatever
    /// they ask for, and pending ones too while the organization sets `serve_pending`.
    agent_playbook_status_filter: Option<Vec<String>>,
    /// null (current), `pending`, `archived`, `superseded`; current when absent.
    status_filter: Option<Vec<Option<String>>>,
    /// `hybrid` (when absent), `vector` or `fts`.
    search_mode: Option<String>,
    /// RFC 3339 or unix seconds, included.
    start_time: Option<String>,
    /// RFC 3339 or unix seconds, not included.
    end_time: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct SearchResponse {
    success: bool,
    profiles: Vec<Profile>,
    user_playbooks: Vec<UserPlaybook>,
    agent_playbooks: Vec<AgentPlaybook>,
    msg: Option<String>,
    /// Whether a part of the search was missing.
    degraded: bool,
    /// `hybrid`, `vector` or `fts`: what was actually searched.
    search_mode_effective: &'static str,
    experiment: Option<Attribution>,
}

/// Search everything learned that fits a question: what an agent calls before it answers.
#[utoipa::path(post, path = "/api/search", tag = "learnings",
    request_body = SearchRequest, responses((status = 200, body = SearchResponse)))]
async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<UnifiedSearch>,
) -> Result<Json<SearchResponse>> {
    let answer = value.0.answer(&app, &caller).await?;
    Ok(Json(SearchResponse {
        success: true,
        profiles: answer.over.learnings.profiles,
        user_playbooks: answer.over.learnings.user_playbooks,
        agent_playbooks: answer.over.learnings.agent_playbooks,
        msg: answer.msg,
        degraded: answer.degraded,
        search_mode_effective: answer.effective,
        experiment: answer.over.experiment,
    }))
}

/// The specification's view of a search of one kind: profiles need their user.
macro_rules! search_request {
    ($name:ident, $(#[$about:meta])* $user:ty) => {
        #[derive(ToSchema)]
        #[allow(dead_code)]
        struct $name {
            /// At most 20,000 characters; without it, the newest that pass the filters.
            query: Option<String>,
            /// 10 when absent.
            #[schema(minimum = 1, maximum = 100)]
            top_k: Option<i64>,
            /// The least similarity (0 to 1) of a match by vectors; matches by words are not cut.
            threshold: Option<f64>,
            $(#[$about])*
            user_id: $user,
            session_id: Option<String>,
            request_id: Option<String>,
            agent_version: Option<String>,
            playbook_name: Option<String>,
            source: Option<String>,
            /// Any of these.
            tags: Option<Vec<String>>,
            /// null (current), `pending`, `archived`, `superseded`; current when absent.
            status_filter: Option<Vec<Option<String>>>,
            /// Of agent playbooks: `pending`, `approved`, `rejected`; what agents are served when absent. Agents get
            /// approved ones only, and pending ones too while the organization sets `serve_pending`.
            playbook_status_filter: Option<Vec<String>>,
            /// `hybrid` (when absent), `vector` or `fts`.
            search_mode: Option<String>,
            /// RFC 3339 or unix seconds, included.
            start_time: Option<String>,
            /// RFC 3339 or unix seconds, not included.
            end_time: Option<String>,
        }
    };
}

search_request!(SearchProfilesRequest, String);
search_request!(
    SearchPlaybooksRequest,
    /// User playbooks are found with it only.
    Option<String>
);

/// The request, answer and handler of a search of one kind.
macro_rules! search_of {
    ($(#[$doc:meta])* $handler:ident, $path:literal, $request:ident ($body:ident), $response:ident,
     $kind:expr, $list:ident: $item:ty = $from:ident, $user_required:literal) => {
        struct $request(Asked);

        impl Read for $request {
            fn read(f: &mut Fields<'_>) -> Self {
                if $user_required && f.is_absent("user_id") {
                    f.problem("user_id", "required", "is required");
                }
                $request(Asked::read(f, "playbook_status_filter", 10, &[$kind]))
            }
        }

        #[derive(Serialize, ToSchema)]
        struct $response {
            success: bool,
            $list: Vec<$item>,
            msg: Option<String>,
            /// Whether a part of the search was missing.
            degraded: bool,
            /// `hybrid`, `vector` or `fts`: what was actually searched.
            search_mode_effective: &'static str,
            experiment: Option<Attribution>,
        }

        $(#[$doc])*
        #[utoipa::path(post, path = $path, tag = "learnings",
            request_body = $body, responses((status = 200, body = $response)))]
        async fn $handler(
            State(app): State<Arc<App>>,
            caller: Caller,
            Input { value, .. }: Input<$request>,
        ) -> Result<Json<$response>> {
            let answer = value.0.answer(&app, &caller).await?;
            Ok(Json($response {
                success: true,
                $list: answer.over.learnings.$from,
                msg: answer.msg,
                degraded: answer.degraded,
                search_mode_effective: answer.effective,
                experiment: answer.over.experiment,
            }))
        }
    };
}

search_of!(
    /// Search a user's profiles.
    search_profiles, "/api/search_profiles", SearchProfiles (SearchProfilesRequest), SearchProfilesResponse,
    Kind::Profile, user_profiles: Profile = profiles, true
);
search_of!(
    /// Search a user's playbooks.
    search_user_playbooks, "/api/search_user_playbooks", SearchUserPlaybooks (SearchPlaybooksRequest),
    SearchUserPlaybooksResponse, Kind::UserPlaybook, user_playbooks: UserPlaybook = user_playbooks, false
);
search_of!(
    /// Search the organization's playbooks.
    search_agent_playbooks, "/api/search_agent_playbooks", SearchAgentPlaybooks (SearchPlaybooksRequest),
    SearchAgentPlaybooksResponse, Kind::AgentPlaybook, agent_playbooks: AgentPlaybook = agent_playbooks, false
);

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────

/// A list of any of the three endpoints.
struct List {
    narrowed: Narrowed,
    limit: i64,
}

impl List {
    fn read(f: &mut Fields<'_>, limit: i64) -> Self {
        let (top_k, other) = (f.integer("top_k", 1..=MAX_LIST), f.integer("limit", 1..=MAX_LIST));
        List {
            narrowed: Narrowed::read(f, "playbook_status_filter"),
            limit: top_k.or(other).unwrap_or(limit),
        }
    }
}

struct GetProfiles(List);

impl Read for GetProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        if f.is_absent("user_id") {
            f.problem("user_id", "required", "is required");
        }
        GetProfiles(List::read(f, 30))
    }
}

struct GetPlaybooks(List);

impl Read for GetPlaybooks {
    fn read(f: &mut Fields<'_>) -> Self {
        GetPlaybooks(List::read(f, 100))
    }
}

/// The specification's view of a list: profiles need their user.
macro_rules! list_request {
    ($name:ident, $(#[$about:meta])* $user:ty) => {
        #[derive(ToSchema)]
        #[allow(dead_code)]
        struct $name {
            $(#[$about])*
            user_id: $user,
            agent_version: Option<String>,
            playbook_name: Option<String>,
            source: Option<String>,
            /// Any of these.
            tags: Option<Vec<String>>,
            /// null (current), `pending`, `archived`, `superseded`; current when absent.
            status_filter: Option<Vec<Option<String>>>,
            /// Of agent playbooks: `pending`, `approved`, `rejected`; all when absent. Agents get approved ones only,
            /// and pending ones too while the organization sets `serve_pending`.
            playbook_status_filter: Option<Vec<String>>,
            /// RFC 3339 or unix seconds, included.
            start_time: Option<String>,
            /// RFC 3339 or unix seconds, not included.
            end_time: Option<String>,
            /// 30 profiles or 100 playbooks when absent; `limit` means the same.
            #[schema(minimum = 1, maximum = 1000)]
            top_k: Option<i64>,
            session_id: Option<String>,
            request_id: Option<String>,
        }
    };
}

list_request!(GetProfilesRequest, String);
list_request!(
    GetPlaybooksRequest,
    /// User playbooks are those of all users without it.
    Option<String>
);

#[derive(Serialize, ToSchema)]
struct GetProfilesResponse {
    success: bool,
    user_profiles: Vec<Profile>,
    msg: Option<String>,
    experiment: Option<Attribution>,
}

#[derive(Serialize, ToSchema)]
struct GetUserPlaybooksResponse {
    success: bool,
    user_playbooks: Vec<UserPlaybook>,
    msg: Option<String>,
    experiment: Option<Attribution>,
}

#[derive(Serialize, ToSchema)]
struct GetAgentPlaybooksResponse {
    success: bool,
    agent_playbooks: Vec<AgentPlaybook>,
    msg: Option<String>,
    experiment: Option<Attribution>,
}

/// A user's profiles, newest first. What has expired is not there.
#[utoipa::path(post, path = "/api/get_profiles", tag = "learnings",
    request_body = GetProfilesRequest, responses((status = 200, body = GetProfilesResponse)))]
async fn get_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetProfiles>,
) -> Result<Json<GetProfilesResponse>> {
    let List { narrowed, limit } = value.0;
    let Narrowed { recipient, filter, .. } = narrowed.of(&app, &caller, Inspected::All).await?;
    let found = reads::profiles(&app, filter, limit).await?;
    let over = gate::hand_over(&app, &caller, &recipient, found).await?;
    Ok(Json(GetProfilesResponse {
        success: true,
        user_profiles: over.learnings.profiles,
        msg: over.msg,
        experiment: over.experiment,
    }))
}

/// User playbooks, newest first.
#[utoipa::path(post, path = "/api/get_user_playbooks", tag = "learnings",
    request_body = GetPlaybooksRequest, responses((status = 200, body = GetUserPlaybooksResponse)))]
async fn get_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetPlaybooks>,
) -> Result<Json<GetUserPlaybooksResponse>> {
    let List { narrowed, limit } = value.0;
    let Narrowed { recipient, filter, .. } = narrowed.of(&app, &caller, Inspected::All).await?;
    let found = reads::user_playbooks(&app, filter, limit).await?;
    let over = gate::hand_over(&app, &caller, &recipient, found).await?;
    Ok(Json(GetUserPlaybooksResponse {
        success: true,
        user_playbooks: over.learnings.user_playbooks,
        msg: over.msg,
        experiment: over.experiment,
    }))
}

/// Agent playbooks with what they came from, newest first.
#[utoipa::path(post, path = "/api/get_agent_playbooks", tag = "learnings",
    request_body = GetPlaybooksRequest, responses((status = 200, body = GetAgentPlaybooksResponse)))]
async fn get_agent_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetPlaybooks>,
) -> Result<Json<GetAgentPlaybooksResponse>> {
    let List { narrowed, limit } = value.0;
    let Narrowed { recipient, filter, .. } = narrowed.of(&app, &caller, Inspected::All).await?;
    let found = reads::agent_playbooks(&app, filter, limit).await?;
    let over = gate::hand_over(&app, &caller, &recipient, found).await?;
    Ok(Json(GetAgentPlaybooksResponse {
        success: true,
        agent_playbooks: over.learnings.agent_playbooks,
        msg: over.msg,
        experiment: over.experiment,
    }))
}
