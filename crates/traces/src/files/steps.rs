//! Records of traces, alike in every tool: the whole of a trace, its steps, and the model's calls among them.

use serde_json::Value;

use super::messages::{answers, conversation, depth, messages};
use super::publish::{Draft, Identity};
use super::words::{Side, words};
use super::{Sink, Wrong, fields};
use crate::turns::{Message, Role, add_usage, new_turns};
use crate::{Turn, Usage};

/// The part that a record plays in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A call of a model.
    Call,
    /// The first step, with the words that went in and came out.
    Root,
    /// Anything else: a tool, a search, a step in between. The history of the next call knows about tools.
    Other,
}

pub struct Step<'a> {
    pub record: &'a Value,
    pub id: Option<String>,
    pub trace: String,
    pub part: Part,
    /// No other record of the trace knows more about its user and session.
    pub decides: bool,
    pub identity: Identity,
    /// Milliseconds since 1970.
    pub started: Result<Option<i64>, Wrong>,
    pub ended: Result<Option<i64>, Wrong>,
    /// Latency that is missing here is the time between start and end.
    pub usage: Usage,
    pub input: Option<&'a Value>,
    pub output: Option<&'a Value>,
}

impl Step<'_> {
    pub fn give(self, sink: &mut Sink) -> Result<(), Wrong> {
        let (trace, identity, decides) = (self.trace.clone(), self.identity.clone(), self.decides);
        let given = match self.part {
            Part::Call => self.call(sink),
            Part::Root => return self.root(sink),
            Part::Other => Ok(()),
        };
        if decides {
            sink.release(|traces, out| traces.root(&trace, identity, None, true, out));
        }
        given
    }

    fn call(&self, sink: &mut Sink) -> Result<(), Wrong> {
        if !fields::is_set(self.input) && !fields::is_set(self.output) {
            return Err(Wrong::NoContent);
        }
        let (asked, answered) = self.times()?;
        let Some(input) = self.input.and_then(messages) else {
            let draft = self.draft(sink, self.words(asked, answered), asked);
            if !draft.turns.is_empty() {
                sink.release(|traces, out| traces.plain(&self.trace, draft, out));
            }
            return Ok(());
        };
        let output = self.output.map(answers).unwrap_or_default();
        let turns = new_turns(&input, &output, asked, answered);
        let draft = self.draft(sink, turns, asked);
        sink.release(|traces, out| traces.call(&self.trace, draft, depth(&input), out));
        Ok(())
    }

    fn root(self, sink: &mut Sink) -> Result<(), Wrong> {
        let mut draft = None;
        let mut problem = Ok(());
        if fields::is_set(self.input) || fields::is_set(self.output) {
            match self.times() {
                Ok((asked, answered)) => {
                    let turns = self.words(asked, answered);
                    draft = (!turns.is_empty()).then(|| self.draft(sink, turns, asked));
                }
                Err(wrong) => problem = Err(wrong),
            }
        }
        let Step { trace, identity, decides, .. } = self;
        sink.release(|traces, out| traces.root(&trace, identity, draft, decides, out));
        problem
    }

    /// In seconds.
    fn times(&self) -> Result<(i64, i64), Wrong> {
        let (started, ended) = (self.started.clone()?, self.ended.clone()?);
        let asked = started.or(ended).ok_or(Wrong::NoTime)?;
        Ok((asked / 1000, ended.unwrap_or(asked).max(asked) / 1000))
    }

    fn latency(&self) -> Option<u64> {
        let (Ok(Some(started)), Ok(Some(ended))) = (&self.started, &self.ended) else {
            return None;
        };
        u64::try_from(ended - started).ok()
    }

    fn draft(&self, sink: &Sink, mut turns: Vec<Turn>, created_at: i64) -> Draft {
        let mut usage = self.usage.clone();
        usage.latency_ms = usage.latency_ms.or_else(|| self.latency());
        add_usage(&mut turns, usage);
        let mut draft = sink.draft(self.record, self.id.as_deref());
        draft.identity = self.identity.clone();
        draft.lone_session = Some(self.trace.clone());
        draft.created_at = created_at;
        draft.turns = turns;
        draft
    }

    /// Turns of a record that is not a call with messages.
    fn words(&self, asked: i64, answered: i64) -> Vec<Turn> {
        let mut all = self.input.map(asked_for).unwrap_or_default();
        let from = all.len();
        all.extend(self.output.map(answers).unwrap_or_default());
        let mut turns = conversation(&all, from);
        for turn in &mut turns {
            turn.created_at = if turn.role == "User" { asked } else { answered };
        }
        turns
    }
}

fn asked_for(input: &Value) -> Vec<Message> {
    messages(input).unwrap_or_else(|| vec![Message::new(Role::User, words(input, Side::Input))])
}
