//! OpenTelemetry spans: an export request of OTLP becomes publications.
//!
//! Each call of a chat model is a span. Several conventions say how it carries the history that the model was asked with
//! and its answer:
//!
//! | convention | a call of a model | history | answer |
//! |---|---|---|---|
//! | GenAI | `gen_ai.operation.name` is `chat`, `text_completion` or `generate_content` | `gen_ai.input.messages` of the span or of its event `gen_ai.client.inference.operation.details`; else events `gen_ai.user.message`, `gen_ai.assistant.message`, `gen_ai.tool.message` | `gen_ai.output.messages`, else events `gen_ai.choice` |
//! | OpenLLMetry | `gen_ai.prompt.N.…`, or `llm.request.type` is `chat` or `completion` | `gen_ai.prompt.N.role`, `content`, `tool_calls.M.…`, `tool_call_id` | `gen_ai.completion.N.…` |
//! | OpenInference | `openinference.span.kind` is `LLM` | `llm.input_messages.N.message.…`, else `input.value` | `llm.output_messages.N.message.…`, else `output.value` |
//! | Vercel AI SDK | `ai.operationId` ends in `.doGenerate` or `.doStream` | `ai.prompt.messages` | `ai.response.text`, `ai.response.toolCalls` |
//!
//! Spans around calls (`invoke_agent`, `AGENT`, `CHAIN`) repeat what the calls say. They count only when their trace has no
//! call with content, when nothing around them counts, and when the request has everything around them: otherwise the
//! calls, which end earlier, may have come with an earlier request. Spans of tools are ignored, as the next call brings the
//! results with its history. System instructions are no turns.
//!
//! | | attributes, the first that is there |
//! |---|---|
//! | user | `user.id`, `enduser.id`, `traceloop.association.properties.user_id`, `langfuse.user.id`, `ai.telemetry.metadata.userId` |
//! | session | `gen_ai.conversation.id`, `session.id`, `traceloop.association.properties.session_id`, `langfuse.session.id`, `ai.telemetry.metadata.sessionId` |
//!
//! They are looked for on the span, on the spans around it, on any span of its trace in the request, and on the resource.
//! Without a session the trace is the session.
//!
//! The attributes with model, tokens and cost are listed in `otlp/usage.rs`; latency is the duration of the span.

mod ai_sdk;
mod attributes;
mod gen_ai;
mod messages;
mod open_inference;
mod open_llmetry;
#[cfg(test)]
mod tests;
mod usage;
mod wire;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use prost::Message as _;
use serde_json::json;

use self::attributes::Attributes;
use self::messages::Call;
pub use self::wire::{DecodeError, ExportRequest, decode_json, decode_protobuf};
use self::wire::{ExportResponse, PartialSuccess, Resource, Span};
use crate::turns::{Message, Role, add_usage, new_turns};
use crate::{Publication, Turn};

const USER: [&str; 5] = [
    "user.id",
    "enduser.id",
    "traceloop.association.properties.user_id",
    "langfuse.user.id",
    "ai.telemetry.metadata.userId",
];

const SESSION: [&str; 5] = [
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "langfuse.session.id",
    "ai.telemetry.metadata.sessionId",
];

/// Spans around a span are looked at up to here, so that long chains of them cost little.
const MOST_AROUND: usize = 100;

/// Choices of the operator.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Calls of a model that name no user belong to the user `anonymous:<trace id>`; otherwise they are rejected.
    pub anonymous: bool,
}

/// An export request, understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapped {
    pub publications: Vec<Publication>,
    /// Calls of a model that cannot be stored.
    pub rejected_spans: u64,
    /// Names no user and no content.
    pub rejected_reason: Option<String>,
    /// Spans that are no calls of a model, accepted.
    pub ignored_spans: u64,
    /// Calls of a model without any message, accepted: their instrumentation does not record content.
    pub silent_spans: u64,
}

impl Mapped {
    /// The body of the answer to a request in protobuf.
    pub fn response_protobuf(&self) -> Vec<u8> {
        ExportResponse { partial_success: self.partial_success() }.encode_to_vec()
    }

    /// The body of the answer to a request in JSON.
    pub fn response_json(&self) -> String {
        match self.partial_success() {
            Some(partial) => json!({"partialSuccess": partial}).to_string(),
            None => "{}".to_owned(),
        }
    }

    fn partial_success(&self) -> Option<PartialSuccess> {
        let error_message = self.rejected_reason.clone()?;
        let rejected_spans = i64::try_from(self.rejected_spans).unwrap_or(i64::MAX);
        Some(PartialSuccess { rejected_spans, error_message })
    }
}

/// The place of a span in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A call of a model.
    Model,
    /// Something that calls models.
    Around,
    Other,
}

struct Seen<'a> {
    span: &'a Span,
    group: usize,
    attributes: Attributes<'a>,
    kind: Kind,
    call: Call,
}

impl<'a> Seen<'a> {
    fn new(span: &'a Span, group: usize) -> Self {
        let attributes = Attributes::new(&span.attributes);
        let (kind, call) = read(&attributes, span);
        Seen { span, group, attributes, kind, call }
    }

    fn has_ids(&self) -> bool {
        let valid = |id: &[u8], length| id.len() == length && id.iter().any(|byte| *byte != 0);
        valid(&self.span.trace_id, 16) && valid(&self.span.span_id, 8)
    }

    /// Nothing of this service is around it: its parent is nobody or in another process.
    fn is_root(&self) -> bool {
        const PARENT_IS_REMOTE: u32 = 0x300;
        self.span.parent_span_id.is_empty()
            || self.span.flags & PARENT_IS_REMOTE == PARENT_IS_REMOTE
    }
}

fn read(attributes: &Attributes<'_>, span: &Span) -> (Kind, Call) {
    let of = |kind, call: &dyn Fn() -> Call| match kind {
        Kind::Other => (kind, Call::default()),
        Kind::Model | Kind::Around => (kind, call()),
    };
    if let Some(kind) = ai_sdk::kind(attributes) {
        of(kind, &|| ai_sdk::call(attributes))
    } else if let Some(kind) = open_inference::kind(attributes) {
        of(kind, &|| open_inference::call(attributes))
    } else if let Some(kind) = gen_ai::kind(attributes, &span.events) {
        of(kind, &|| gen_ai::call(attributes, &span.events))
    } else {
        (Kind::Other, Call::default())
    }
}

/// The publications of a request. The order of its spans makes no difference, nor does a span that comes twice.
pub fn publications(request: &ExportRequest, settings: &Settings) -> Mapped {
    let request = Request::new(request);
    let mut mapped = Mapped::default();
    let (mut nobody, mut unnamed) = (0, 0);
    let mut said = HashSet::new();
    for seen in &request.spans {
        let counter = match seen.kind {
            Kind::Model if !seen.has_ids() => Some(&mut unnamed),
            Kind::Model if seen.call.is_empty() => Some(&mut mapped.silent_spans),
            Kind::Model => None,
            Kind::Around if request.stands_for_calls(seen) => None,
            Kind::Around | Kind::Other => Some(&mut mapped.ignored_spans),
        };
        if let Some(counter) = counter {
            *counter += 1;
            continue;
        }
        let turns = turns(seen, &mut said);
        if turns.is_empty() {
            continue;
        }
        let trace = hex::encode(&seen.span.trace_id);
        let user = request.nearest(seen, Of::User);
        let user = user.or_else(|| settings.anonymous.then(|| format!("anonymous:{trace}")));
        match user {
            Some(user) => mapped.publications.push(request.publication(seen, trace, user, turns)),
            None => nobody += 1,
        }
    }
    mapped.rejected_spans = nobody + unnamed;
    mapped.rejected_reason = match (nobody, unnamed) {
        (0, 0) => None,
        (0, _) => Some(format!("{unnamed} calls of a model have no valid trace id and span id")),
        _ => Some(format!(
            "{nobody} calls of a model name no user: set {} on their span, a span around it or the resource",
            USER[0]
        )),
    };
    mapped
}

/// A second attempt, or another instrumentation of the same call, repeats a history within its trace: it is said once, and
/// so is the same answer to it.
fn turns(seen: &Seen<'_>, said: &mut HashSet<(Vec<u8>, u64, Option<u64>)>) -> Vec<Turn> {
    let asked_at = seconds(seen.span.start_time_unix_nano);
    let answered_at = seconds(seen.span.end_time_unix_nano).max(asked_at);
    let (mut input, mut output) = (seen.call.input.as_slice(), seen.call.output.as_slice());
    if input.iter().any(|message| message.role != Role::System) {
        let (trace, asked) = (&seen.span.trace_id, digest(input));
        if !said.insert((trace.clone(), asked, None)) {
            input = &[];
        }
        if !said.insert((trace.clone(), asked, Some(digest(output)))) {
            output = &[];
        }
    }
    let mut turns = new_turns(input, output, asked_at, answered_at);
    add_usage(&mut turns, usage::of(&seen.attributes, seen.span));
    turns
}

fn seconds(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

fn digest(messages: &[Message]) -> u64 {
    let mut made = DefaultHasher::new();
    for message in messages.iter().filter(|message| message.role != Role::System) {
        (message.role as u8, &message.text).hash(&mut made);
        for call in &message.calls {
            (&call.id, &call.name, call.arguments.to_string()).hash(&mut made);
        }
        for result in &message.results {
            (&result.id, result.value.to_string()).hash(&mut made);
        }
    }
    made.finish()
}

/// The two things that a call may have from its surroundings.
#[derive(Clone, Copy)]
enum Of {
    User,
    Session,
}

impl Of {
    fn find(self, attributes: &Attributes<'_>) -> Option<String> {
        attributes.first_id(match self {
            Of::User => &USER,
            Of::Session => &SESSION,
        })
    }
}

/// The spans of a request, each once, by their start.
struct Request<'a> {
    resources: Vec<Attributes<'a>>,
    spans: Vec<Seen<'a>>,
    places: HashMap<(&'a [u8], &'a [u8]), usize>,
    traces: HashMap<&'a [u8], Trace>,
}

/// Known of a trace as a whole.
#[derive(Default)]
struct Trace {
    user: Option<String>,
    session: Option<String>,
    has_calls: bool,
}

impl<'a> Request<'a> {
    fn new(request: &'a ExportRequest) -> Self {
        let groups = &request.resource_spans;
        let resources = groups.iter().map(|group| group.resource.as_ref());
        let order = ranks(
            &resources.clone().map(|one| one.map(Resource::encode_to_vec)).collect::<Vec<_>>(),
        );
        let mut distinct: BTreeMap<_, Candidate<'a>> = BTreeMap::new();
        for (group, rank) in order.into_iter().enumerate() {
            for span in groups[group].scope_spans.iter().flat_map(|scope| &scope.spans) {
                let key = (span.trace_id.as_slice(), span.span_id.as_slice());
                let one = Candidate { span, length: span.encoded_len(), rank, group };
                let best = distinct.entry(key).or_insert(one);
                if one.cmp(best).is_gt() {
                    *best = one;
                }
            }
        }
        let resources = resources.map(|one| {
            one.map_or_else(Attributes::default, |one| Attributes::new(&one.attributes))
        });
        let resources = resources.collect();
        let each = distinct.into_values().map(|one| Seen::new(one.span, one.group));
        let mut spans: Vec<Seen<'a>> = each.collect();
        // Stable, and by trace before.
        spans.sort_by(|a, b| {
            let key = |seen: &Seen<'a>| (seen.span.start_time_unix_nano, &seen.span.span_id);
            key(a).cmp(&key(b))
        });
        let mut places = HashMap::new();
        let mut traces: HashMap<&'a [u8], Trace> = HashMap::new();
        for (place, seen) in spans.iter().enumerate() {
            let (trace, span) = (seen.span.trace_id.as_slice(), seen.span.span_id.as_slice());
            places.insert((trace, span), place);
            let trace = traces.entry(trace).or_default();
            trace.user = trace.user.take().or_else(|| Of::User.find(&seen.attributes));
            trace.session = trace.session.take().or_else(|| Of::Session.find(&seen.attributes));
            trace.has_calls |= seen.kind == Kind::Model && !seen.call.is_empty();
        }
        Request { resources, spans, places, traces }
    }

    /// The spans around a span, the nearest first.
    fn around<'s>(&'s self, seen: &'s Seen<'a>) -> impl Iterator<Item = &'s Seen<'a>> {
        let up = |inner: &&'s Seen<'a>| {
            let (trace, parent) = (&inner.span.trace_id, &inner.span.parent_span_id);
            let place = self.places.get(&(trace.as_slice(), parent.as_slice()))?;
            self.spans.get(*place)
        };
        std::iter::successors(Some(seen), up).skip(1).take(MOST_AROUND)
    }

    fn stands_for_calls(&self, seen: &Seen<'a>) -> bool {
        let trace = self.traces.get(seen.span.trace_id.as_slice());
        let counts = |seen: &Seen<'a>| seen.kind == Kind::Around && !seen.call.is_empty();
        counts(seen)
            && seen.has_ids()
            && !trace.is_some_and(|trace| trace.has_calls)
            && !self.around(seen).any(counts)
            && self.around(seen).last().unwrap_or(seen).is_root()
    }

    fn nearest(&self, seen: &Seen<'a>, of: Of) -> Option<String> {
        let own = of.find(&seen.attributes);
        let near = own.or_else(|| self.around(seen).find_map(|outer| of.find(&outer.attributes)));
        near.or_else(|| {
            let trace = self.traces.get(seen.span.trace_id.as_slice())?;
            match of {
                Of::User => trace.user.clone(),
                Of::Session => trace.session.clone(),
            }
        })
        .or_else(|| of.find(&self.resources[seen.group]))
    }

    fn publication(
        &self,
        seen: &Seen<'a>,
        trace: String,
        user: String,
        turns: Vec<Turn>,
    ) -> Publication {
        let resource = &self.resources[seen.group];
        let version = resource.id("service.version");
        let of_trace = format!("otel:{trace}-");
        Publication {
            request_id: format!("{of_trace}{}", hex::encode(&seen.span.span_id)),
            // Its calls may have come with an earlier request.
            unless_stored: (seen.kind == Kind::Around).then_some(of_trace),
            user_id: user,
            session_id: self.nearest(seen, Of::Session).unwrap_or(trace),
            source: source(resource),
            agent_version: version.or_else(|| seen.attributes.id("gen_ai.agent.version")),
            created_at: seconds(seen.span.start_time_unix_nano),
            session_finished: false,
            interaction_data_list: turns,
        }
    }
}

/// The service, in the letters that a source may have.
fn source(resource: &Attributes<'_>) -> String {
    const LONGEST: usize = 128;
    let allowed = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.' | '_' | ':' | '-') => letter,
        _ => '-',
    };
    // SDKs give a service without a name this one.
    let name = resource.id("service.name").filter(|name| !name.starts_with("unknown_service"));
    let name = name.map(|name| name.chars().map(allowed).take(LONGEST).collect());
    name.unwrap_or_else(|| "otel".to_owned())
}

/// One of several spans with the same id. Which of them stays does not depend on their order: the one that ended later, or
/// else says more.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    span: &'a Span,
    length: usize,
    /// Of its resource.
    rank: usize,
    group: usize,
}

impl Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (one.span.end_time_unix_nano, one.length);
        let bytes = || self.span.encode_to_vec().cmp(&other.span.encode_to_vec());
        key(self).cmp(&key(other)).then_with(bytes).then(self.rank.cmp(&other.rank))
    }
}

/// The place of each in their order; equal ones have the same.
fn ranks<T: Ord>(all: &[T]) -> Vec<usize> {
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort();
    all.iter().map(|one| sorted.partition_point(|other| *other < one)).collect()
}
