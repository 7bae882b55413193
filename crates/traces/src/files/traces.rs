//! Traces of which several records say the same.
//!
//! A root record has the words that went in and came out, and the model's calls have them again. The calls are better: they
//! know the tools. So a root waits until a call of its trace comes, which replaces it, or until its trace is released. A
//! call that does not know its user or session waits in the same way for a record of its trace that does.
//!
//! At most [`OPEN`] traces and [`BYTES`] of waiting records are kept; beyond that the oldest trace is released with what is
//! known of it. A root that comes after its calls were released is still recognised for the last [`REMEMBERED`] traces.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::publish::{Draft, Identity};
use crate::turns::add_usage;
use crate::{Turn, Usage};

const OPEN: usize = 1000;
const BYTES: usize = 16 << 20;
const REMEMBERED: usize = 100_000;

#[derive(Default)]
struct Trace {
    identity: Identity,
    has_root: bool,
    has_calls: bool,
    /// Turns that were said at the same depth of the same trace: a call that was tried again, or that a second library
    /// recorded too.
    said: HashSet<u64>,
    /// Calls that wait for somebody who knows the user.
    waiting: Vec<Draft>,
    root: Option<Draft>,
    plain: Vec<Draft>,
    /// Memory that all of this takes, roughly.
    bytes: usize,
}

impl Trace {
    /// A call has come, which says more than these.
    fn forget_others(&mut self) {
        let others = self.root.take().into_iter().chain(self.plain.drain(..));
        self.bytes -= others.map(|draft| draft.bytes()).sum::<usize>();
    }

    /// Calls for which nobody needs to be waited for any more.
    fn flush(&mut self, out: &mut Vec<Draft>) {
        if self.has_root || self.identity.is_complete() {
            self.bytes -= self.waiting.iter().map(Draft::bytes).sum::<usize>();
            out.extend(self.waiting.drain(..).map(|draft| known(draft, &self.identity)));
        }
    }

    fn release(mut self, out: &mut Vec<Draft>) {
        self.has_root = true;
        self.flush(out);
        if !self.has_calls {
            match self.root {
                Some(mut root) => {
                    let calls = self.plain.iter().flat_map(|draft| &draft.turns);
                    let known_of_root = root.turns.last().and_then(|turn| turn.usage.clone());
                    let mut usage = known_of_root.unwrap_or_default();
                    usage.fill(Usage::sum(calls.filter_map(|turn| turn.usage.as_ref())));
                    add_usage(&mut root.turns, usage);
                    out.push(known(root, &self.identity));
                }
                None => {
                    out.extend(self.plain.into_iter().map(|draft| known(draft, &self.identity)));
                }
            }
        }
    }
}

fn known(mut draft: Draft, identity: &Identity) -> Draft {
    draft.identity.fill(identity);
    draft
}

#[derive(Default)]
pub struct Traces {
    open: HashMap<String, Trace>,
    /// The ids of `open`, oldest first.
    order: VecDeque<String>,
    bytes: usize,
    /// Released traces that had calls.
    called: HashSet<u64>,
    called_order: VecDeque<u64>,
}

impl Traces {
    pub fn call(&mut self, id: &str, mut draft: Draft, depth: usize, out: &mut Vec<Draft>) {
        self.change(id, out, |trace, out| {
            trace.has_calls = true;
            trace.forget_others();
            trace.identity.fill(&draft.identity);
            draft.turns.retain(|turn| trace.said.insert(fingerprint(turn, depth)));
            if !draft.turns.is_empty() {
                trace.bytes += draft.bytes() + 16 * draft.turns.len();
                trace.waiting.push(draft);
            }
            trace.flush(out);
        });
    }

    /// With `decides`, no other record of the trace knows more about its user and session.
    pub fn root(
        &mut self,
        id: &str,
        identity: Identity,
        draft: Option<Draft>,
        decides: bool,
        out: &mut Vec<Draft>,
    ) {
        self.change(id, out, |trace, out| {
            trace.has_root |= decides;
            // The root knows better than a call, which may carry the ids of a step of its own.
            let before = std::mem::replace(&mut trace.identity, identity);
            trace.identity.fill(&before);
            if !trace.has_calls && trace.root.is_none() {
                trace.bytes += draft.as_ref().map_or(0, Draft::bytes);
                trace.root = draft;
            }
            trace.flush(out);
        });
    }

    pub fn plain(&mut self, id: &str, draft: Draft, out: &mut Vec<Draft>) {
        self.change(id, out, |trace, _| {
            trace.identity.fill(&draft.identity);
            if !trace.has_calls {
                trace.bytes += draft.bytes();
                trace.plain.push(draft);
            }
        });
    }

    pub fn end(&mut self, id: &str, out: &mut Vec<Draft>) {
        if self.order.back().is_some_and(|newest| newest == id) {
            self.order.pop_back();
        } else {
            self.order.retain(|other| other != id);
        }
        self.release(id, out);
    }

    /// Releases everything.
    pub fn close(&mut self, out: &mut Vec<Draft>) {
        while let Some(id) = self.order.pop_front() {
            self.release(&id, out);
        }
    }

    fn change(
        &mut self,
        id: &str,
        out: &mut Vec<Draft>,
        step: impl FnOnce(&mut Trace, &mut Vec<Draft>),
    ) {
        let trace = match self.open.get_mut(id) {
            Some(trace) => trace,
            None => {
                self.order.push_back(id.to_owned());
                let has_calls = self.called.contains(&hash(id));
                let trace = Trace { has_calls, ..Trace::default() };
                self.open.entry(id.to_owned()).or_insert(trace)
            }
        };
        self.bytes -= trace.bytes;
        step(trace, out);
        self.bytes += trace.bytes;
        while self.open.len() > OPEN || self.bytes > BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.release(&oldest, out);
        }
    }

    fn release(&mut self, id: &str, out: &mut Vec<Draft>) {
        let Some(trace) = self.open.remove(id) else { return };
        self.bytes -= trace.bytes;
        if trace.has_calls && self.called.insert(hash(id)) {
            self.called_order.push_back(hash(id));
            if self.called_order.len() > REMEMBERED
                && let Some(oldest) = self.called_order.pop_front()
            {
                self.called.remove(&oldest);
            }
        }
        trace.release(out);
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

fn fingerprint(turn: &Turn, depth: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (depth, turn.role, &turn.content).hash(&mut hasher);
    for tool in &turn.tools_used {
        (&tool.tool_name, tool.status, tool.tool_data.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::files::{Format, Position, Unit};

    fn draft(words: &str, identity: &Identity) -> Draft {
        let position = Position { unit: Unit::Line, number: 1, offset: 0 };
        let mut draft = Draft::new(Format::Langsmith, position, &Value::Null, Some(words));
        draft.identity = identity.clone();
        let content = words.to_owned();
        draft.turns.push(Turn {
            role: "User",
            content,
            created_at: 1,
            tools_used: Vec::new(),
            usage: None,
            passed_on: serde_json::Map::new(),
        });
        draft
    }

    fn ana() -> Identity {
        Identity {
            user: Some("ana".to_owned()),
            session: Some("s1".to_owned()),
            agent_version: None,
        }
    }

    fn words(out: &[Draft]) -> Vec<&str> {
        out.iter().map(|draft| draft.turns[0].content.as_str()).collect()
    }

    #[test]
    fn the_oldest_trace_makes_room() {
        let (mut traces, mut out) = (Traces::default(), Vec::new());
        for n in 0..OPEN {
            let words = format!("root {n}");
            traces.root(&words, ana(), Some(draft(&words, &ana())), true, &mut out);
        }
        assert_eq!(words(&out), [] as [&str; 0]);
        traces.root("one more", ana(), None, true, &mut out);
        assert_eq!(words(&out), ["root 0"]);
        traces.close(&mut out);
        assert_eq!((out.len(), traces.bytes, traces.open.len()), (OPEN, 0, 0));
    }

    #[test]
    fn memory_is_counted_down_to_nothing() {
        let (mut traces, mut out) = (Traces::default(), Vec::new());
        let nobody = Identity::default();
        for n in 0..3 {
            let id = format!("t{n}");
            traces.plain(&id, draft("plain", &nobody), &mut out);
            traces.root(&id, nobody.clone(), Some(draft("root", &nobody)), false, &mut out);
            traces.call(&id, draft("call", &nobody), 0, &mut out);
            traces.call(&id, draft("call", &nobody), 0, &mut out);
            traces.plain(&id, draft("plain", &nobody), &mut out);
            assert!(traces.bytes > 0);
        }
        assert_eq!(words(&out), [] as [&str; 0]);
        traces.root("t1", ana(), Some(draft("root", &ana())), true, &mut out);
        assert_eq!(words(&out), ["call"]);
        traces.end("t0", &mut out);
        traces.close(&mut out);
        assert_eq!(words(&out), ["call", "call", "call"]);
        assert_eq!(traces.bytes, 0);
    }

    #[test]
    fn one_trace_cannot_take_all_memory() {
        let (mut traces, mut out) = (Traces::default(), Vec::new());
        let long = "x".repeat(1 << 20);
        for n in 0..40 {
            traces.call("t", draft(&format!("{long}{n}"), &Identity::default()), 0, &mut out);
            assert!(traces.bytes <= BYTES);
        }
        traces.close(&mut out);
        assert_eq!(out.len(), 40);
    }

    #[test]
    fn a_root_is_recognised_after_its_calls_were_released() {
        let (mut traces, mut out) = (Traces::default(), Vec::new());
        traces.call("t", draft("call", &ana()), 0, &mut out);
        for n in 0..2 * OPEN {
            traces.root(&n.to_string(), ana(), None, true, &mut out);
        }
        traces.root("t", ana(), Some(draft("root", &ana())), true, &mut out);
        traces.close(&mut out);
        assert_eq!(words(&out), ["call"]);
    }
}
