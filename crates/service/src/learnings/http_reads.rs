//! The endpoints that read and search learnings. All of them hand over through the gate.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::gate::{self, Attribution, HandOver, Recipient};
use super::rows::Filter;
use super::search::{self, Search, SearchMode, SearchResult};
use super::{
    AgentPlaybook, LearningStatus, Learnings, PlaybookStatus, Profile, UserPlaybook, reads,
    requests,
};
use crate::app::App;
use crate::credentials::{Caller, Searcher};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};
use base::owner::{OrgId, UserId};
use base::vocabulary::Vocabulary;
use judge::LearningKind;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_profiles))
        .routes(routes!(get_user_playbooks))
        .routes(routes!(get_agent_playbooks))
        .routes(routes!(search))
        .routes(routes!(search_profiles))
        .routes(routes!(rerank_user_profiles))
        .routes(routes!(search_user_playbooks))
        .routes(routes!(search_agent_playbooks))
}

const MAX_TOP_K: i64 = 100;
const MAX_LIST: i64 = 1000;
const QUERY_LENGTH: usize = 20_000;

// ── what requests have in common ────────────────────────────────────────────────────────────────────

/// Recipient and filter of a read.
struct Narrowed {
    recipient: Recipient,
    filter: Filter,
    /// The approval that was asked for, of agent playbooks.
    approval: Option<Vec<PlaybookStatus>>,
}

impl Narrowed {
    fn read(
        f: &mut Fields<'_>,
        user_id: Option<UserId>,
        approval: Option<Vec<PlaybookStatus>>,
    ) -> Self {
        let (from, to) = f.time_range();
        let recipient = Recipient {
            user_id,
            session_id: f.optional_id("session_id"),
            request_id: f.optional_id("request_id"),
        };
        let filter = Filter {
            org_id: OrgId::default(),
            user_id: recipient.user_id.clone(),
            statuses: statuses(f),
            source: f.optional_text("source", 128),
            tags: requests::tags(f.about("Any of these."), "tags").filter(|t| !t.is_empty()),
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
            (None, true) if inspected == Inspected::All => PlaybookStatus::ALL.to_vec(),
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

/// The wanted statuses; no list, or an empty one, means current.
fn statuses(f: &mut Fields<'_>) -> Vec<LearningStatus> {
    let wanted = f
        .about("Null means current; current when absent.")
        .words_or_null("status_filter", LearningStatus::Current);
    wanted.filter(|list| !list.is_empty()).unwrap_or_else(|| vec![LearningStatus::Current])
}

/// A search of any of the four endpoints.
struct SearchInput {
    narrowed: Narrowed,
    query: Option<String>,
    top_k: usize,
    threshold: Option<f64>,
    mode: SearchMode,
}

/// Words to look for, if there are any.
fn query(f: &mut Fields<'_>) -> Option<String> {
    let query = f.optional_text("query", QUERY_LENGTH)?;
    if query.trim().is_empty() {
        f.problem("query", "empty", "must not be empty");
    }
    Some(query)
}

impl SearchInput {
    /// Reads the rest of a search: besides its words, its user and the approval it asks for.
    fn read(
        f: &mut Fields<'_>,
        query: Option<String>,
        user_id: Option<UserId>,
        approval: Option<Vec<PlaybookStatus>>,
        top_k: i64,
    ) -> Self {
        let top_k = f.about("How many of each kind.").integer_or("top_k", 1..=MAX_TOP_K, top_k);
        let threshold = f
            .about("The least similarity of a match by vectors; matches by words are not cut.")
            .number_within("threshold", 0.0..=1.0);
        SearchInput {
            narrowed: Narrowed::read(f, user_id, approval),
            query,
            top_k: usize::try_from(top_k).unwrap_or(1),
            threshold,
            mode: f.word_or("search_mode", SearchMode::Hybrid),
        }
    }

    /// Searches, and hands over what was found.
    async fn answer(
        self,
        app: &Arc<App>,
        caller: &Caller,
        kinds: Vec<LearningKind>,
    ) -> Result<SearchAnswer> {
        let Narrowed { recipient, filter, .. } =
            self.narrowed.of(app, caller, Inspected::Served).await?;
        let without_user = filter.user_id.is_none() && kinds != [LearningKind::AgentPlaybook];
        let asked = Search {
            query: self.query,
            top_k: self.top_k,
            threshold: self.threshold,
            mode: self.mode,
            kinds,
            filter,
        };
        let SearchResult { learnings, experiment_runs, degraded, effective, msg } =
            search::search(app, asked).await?;
        let over =
            gate::hand_over_knowing(app, caller, &recipient, learnings, experiment_runs).await?;
        let no_user = || {
            without_user
                .then(|| "Profiles and user playbooks are searched with a user_id only.".to_owned())
        };
        let msg = over.msg.clone().or(msg).or_else(no_user);
        Ok(SearchAnswer { over, degraded, effective, msg })
    }
}

struct SearchAnswer {
    over: HandOver,
    degraded: bool,
    effective: SearchMode,
    msg: Option<String>,
}

// ── searching ───────────────────────────────────────────────────────────────────────────────────────

base::vocabulary! {
    /// The kinds of learnings as a search names them.
    pub enum EntityType {
        Profiles = "profiles",
        UserPlaybooks = "user_playbooks",
        AgentPlaybooks = "agent_playbooks",
    }
}

impl EntityType {
    fn of(kind: LearningKind) -> Self {
        match kind {
            LearningKind::Profile => EntityType::Profiles,
            LearningKind::UserPlaybook => EntityType::UserPlaybooks,
            LearningKind::AgentPlaybook => EntityType::AgentPlaybooks,
        }
    }
}

struct UnifiedSearch {
    input: SearchInput,
    kinds: Vec<LearningKind>,
}

crate::request_body!(UnifiedSearch, "SearchRequest");

impl Read for UnifiedSearch {
    fn read(f: &mut Fields<'_>) -> Self {
        let query = f.about("The first 32 distinct words count.").required("query", query);
        let user_id = f
            .about(
                "Whose profiles and user playbooks; without it only agent playbooks are searched.",
            )
            .optional_id("user_id");
        let approval = f
            .about(
                "What agents are served when absent. Agents get approved ones only, whatever they ask for, and \
                 pending ones too while the organization sets `serve_pending`.",
            )
            .words("agent_playbook_status_filter");
        let wanted: Vec<EntityType> =
            f.about("All when absent.").words("entity_types").unwrap_or_default();
        let is_wanted =
            |kind: &LearningKind| wanted.is_empty() || wanted.contains(&EntityType::of(*kind));
        UnifiedSearch {
            kinds: LearningKind::ALL.iter().copied().filter(is_wanted).collect(),
            input: SearchInput::read(f, Some(query), user_id, approval, 5),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct SearchResponse {
    success: bool,
    profiles: Vec<Profile>,
    user_playbooks: Vec<UserPlaybook>,
    agent_playbooks: Vec<AgentPlaybook>,
    msg: Option<String>,
    /// True if a part of the search was missing.
    degraded: bool,
    /// Search mode that was actually used.
    search_mode_effective: SearchMode,
    experiment: Option<Attribution>,
}

/// Search everything learned that fits a question: what an agent calls before it answers.
#[utoipa::path(post, path = "/api/search", tag = "learnings",
    request_body = UnifiedSearch, responses((status = 200, body = SearchResponse)))]
async fn search(
    State(app): State<Arc<App>>,
    Searcher(caller): Searcher,
    Input { value, .. }: Input<UnifiedSearch>,
) -> Result<Json<SearchResponse>> {
    let answer = value.input.answer(&app, &caller, value.kinds).await?;
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

const QUERY: &str = "Without it, the newest that pass the filters.";
const SERVED_APPROVAL: &str = "Of agent playbooks; what agents are served when absent. Agents get approved ones only, \
                               and pending ones too while the organization sets `serve_pending`.";
const LISTED_APPROVAL: &str = "Of agent playbooks; all when absent. Agents get approved ones only, and pending ones \
                               too while the organization sets `serve_pending`.";

/// A search of a user's profiles.
struct SearchProfiles(SearchInput);

crate::request_body!(SearchProfiles, "SearchProfilesRequest");

impl Read for SearchProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        let (query, user_id) = (query(f.about(QUERY)), f.id("user_id"));
        let approval = f.about(SERVED_APPROVAL).words("playbook_status_filter");
        SearchProfiles(SearchInput::read(f, query, Some(user_id), approval, 10))
    }
}

/// A search of user playbooks or agent playbooks.
struct SearchPlaybooks(SearchInput);

crate::request_body!(SearchPlaybooks, "SearchPlaybooksRequest");

impl Read for SearchPlaybooks {
    fn read(f: &mut Fields<'_>) -> Self {
        let query = query(f.about(QUERY));
        let user_id = f.about("User playbooks are found with it only.").optional_id("user_id");
        let approval = f.about(SERVED_APPROVAL).words("playbook_status_filter");
        SearchPlaybooks(SearchInput::read(f, query, user_id, approval, 10))
    }
}

/// The answer and handler of a search of one kind.
macro_rules! search_of {
    ($(#[$doc:meta])* $handler:ident, $path:literal, $request:ident, $response:ident,
     $kind:expr, $list:ident: $item:ty = $from:ident) => {
        #[derive(Serialize, ToSchema)]
        struct $response {
            success: bool,
            $list: Vec<$item>,
            msg: Option<String>,
            /// True if a part of the search was missing.
            degraded: bool,
            /// Search mode that was actually used.
            search_mode_effective: SearchMode,
            experiment: Option<Attribution>,
        }

        $(#[$doc])*
        #[utoipa::path(post, path = $path, tag = "learnings",
            request_body = $request, responses((status = 200, body = $response)))]
        async fn $handler(
            State(app): State<Arc<App>>,
            Searcher(caller): Searcher,
            Input { value, .. }: Input<$request>,
        ) -> Result<Json<$response>> {
            let answer = value.0.answer(&app, &caller, vec![$kind]).await?;
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
    search_profiles, "/api/search_profiles", SearchProfiles, SearchProfilesResponse,
    LearningKind::Profile, user_profiles: Profile = profiles
);
search_of!(
    /// Search a user's playbooks.
    search_user_playbooks, "/api/search_user_playbooks", SearchPlaybooks, SearchUserPlaybooksResponse,
    LearningKind::UserPlaybook, user_playbooks: UserPlaybook = user_playbooks
);
search_of!(
    /// Search the organization's playbooks.
    search_agent_playbooks, "/api/search_agent_playbooks", SearchPlaybooks, SearchAgentPlaybooksResponse,
    LearningKind::AgentPlaybook, agent_playbooks: AgentPlaybook = agent_playbooks
);

/// Some of a user's profiles, to be put into the order in which they fit a question.
struct RerankProfiles {
    recipient: Recipient,
    query: String,
    profile_ids: Vec<String>,
    top_k: usize,
}

crate::request_body!(RerankProfiles, "RerankUserProfilesRequest");

impl Read for RerankProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        let user_id = Some(f.id("user_id"));
        let session_id = f.optional_id("session_id");
        let top_k = f.integer_or("top_k", 1..=MAX_LIST, 10);
        RerankProfiles {
            recipient: Recipient { user_id, session_id, request_id: f.optional_id("request_id") },
            query: f.required("query", query),
            profile_ids: f
                .about("Those the user does not have are passed over.")
                .required_ids("profile_ids", 1000),
            top_k: usize::try_from(top_k).unwrap_or(1),
        }
    }
}

/// Put some of a user's profiles into the order in which they fit a question. Those that have nothing to do with it
/// come last, the newest first.
#[utoipa::path(post, path = "/api/rerank_user_profiles", tag = "learnings",
    request_body = RerankProfiles, responses((status = 200, body = GetProfilesResponse)))]
async fn rerank_user_profiles(
    State(app): State<Arc<App>>,
    Searcher(caller): Searcher,
    Input { value, .. }: Input<RerankProfiles>,
) -> Result<Json<GetProfilesResponse>> {
    let filter = Filter {
        org_id: caller.org_id.clone(),
        user_id: value.recipient.user_id.clone(),
        statuses: LearningStatus::ALL.to_vec(),
        now: app.clock.now(),
        ..Filter::default()
    };
    let asked = Search {
        query: Some(value.query),
        top_k: usize::try_from(MAX_LIST).unwrap_or(usize::MAX),
        threshold: None,
        mode: SearchMode::Hybrid,
        kinds: vec![LearningKind::Profile],
        filter: filter.clone(),
    };
    let mut profiles = search::search(&app, asked).await?.learnings.profiles;
    let found: HashSet<String> = profiles.iter().map(|p| p.profile_id.clone()).collect();
    let others = reads::profiles(&app, filter, MAX_LIST).await?.profiles;
    profiles.extend(others.into_iter().filter(|profile| !found.contains(&profile.profile_id)));
    profiles.retain(|profile| value.profile_ids.contains(&profile.profile_id));
    profiles.truncate(value.top_k);
    let learnings = Learnings { profiles, ..Learnings::default() };
    let over = gate::hand_over(&app, &caller, &value.recipient, learnings).await?;
    Ok(Json(GetProfilesResponse {
        success: true,
        user_profiles: over.learnings.profiles,
        msg: over.msg,
        experiment: over.experiment,
    }))
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────

/// A list of any of the three endpoints.
struct ListRequest {
    narrowed: Narrowed,
    limit: i64,
}

impl ListRequest {
    /// Reads the rest of a list: besides its user.
    fn read(f: &mut Fields<'_>, user_id: Option<UserId>, limit: i64) -> Self {
        let other = f.about("The same as `top_k`.").integer("limit", 1..=MAX_LIST);
        let limit = f.integer_or("top_k", 1..=MAX_LIST, other.unwrap_or(limit));
        let approval = f.about(LISTED_APPROVAL).words("playbook_status_filter");
        ListRequest { narrowed: Narrowed::read(f, user_id, approval), limit }
    }
}

struct GetProfiles(ListRequest);

crate::request_body!(GetProfiles, "GetProfilesRequest");

impl Read for GetProfiles {
    fn read(f: &mut Fields<'_>) -> Self {
        let user_id = f.id("user_id");
        GetProfiles(ListRequest::read(f, Some(user_id), 30))
    }
}

struct GetPlaybooks(ListRequest);

crate::request_body!(GetPlaybooks, "GetPlaybooksRequest");

impl Read for GetPlaybooks {
    fn read(f: &mut Fields<'_>) -> Self {
        let about = "User playbooks are those of all users without it.";
        let user_id = f.about(about).optional_id("user_id");
        GetPlaybooks(ListRequest::read(f, user_id, 100))
    }
}

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
    request_body = GetProfiles, responses((status = 200, body = GetProfilesResponse)))]
async fn get_profiles(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetProfiles>,
) -> Result<Json<GetProfilesResponse>> {
    let ListRequest { narrowed, limit } = value.0;
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
    request_body = GetPlaybooks, responses((status = 200, body = GetUserPlaybooksResponse)))]
async fn get_user_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetPlaybooks>,
) -> Result<Json<GetUserPlaybooksResponse>> {
    let ListRequest { narrowed, limit } = value.0;
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
    request_body = GetPlaybooks, responses((status = 200, body = GetAgentPlaybooksResponse)))]
async fn get_agent_playbooks(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetPlaybooks>,
) -> Result<Json<GetAgentPlaybooksResponse>> {
    let ListRequest { narrowed, limit } = value.0;
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
