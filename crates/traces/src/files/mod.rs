//! Files that other tools export, read as a stream.
//!
//! A file is JSON Lines, one JSON array, or JSON objects one after another; pages of a list (`{"data": […]}`) are opened.
//! One record of it is in memory at a time, beside a bounded buffer of traces. The same file gives the same items in the
//! same order, so a caller resumes by skipping as many as it has delivered; and since request ids come from the records,
//! delivering one again is harmless.
//!
//! A call of a model carries its history, of which only the end is new (see [`crate::turns`]), so that calls may come in
//! any order. The first record of a trace has the same words once more; it counts only if its trace has no call with
//! messages. Until that is known it waits, and so does a call that does not know its user or its session, which its root may
//! know. Records of at most a thousand traces, and of at most 16 MiB, wait; then the oldest trace is given as far as it is
//! known. A file whose traces are in one piece, or interleaved by less than that, is joined completely. In others, a call
//! far behind its root has no user but its own, and the words of a root that comes a thousand traces before its calls are
//! given twice.

mod fields;
mod jsonl;
mod langfuse;
mod langsmith;
mod messages;
mod openai;
mod phoenix;
mod publish;
mod records;
mod steps;
mod times;
mod traces;
mod words;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::io::BufRead;
use std::str::FromStr;

use serde_json::Value;

use crate::Publication;
use publish::Draft;
use records::Records;
use traces::Traces;

/// The tool that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Traces, with or without their observations, or observations.
    Langfuse,
    /// Runs.
    Langsmith,
    /// Spans with the attributes of OpenInference.
    Phoenix,
    /// Conversations as in fine-tuning, or requests with their responses as in batches.
    Openai,
    /// Turns, or bodies of `POST /api/publish_interaction`.
    Jsonl,
}

impl Format {
    pub const ALL: [Format; 5] =
        [Format::Langfuse, Format::Langsmith, Format::Phoenix, Format::Openai, Format::Jsonl];

    pub fn word(self) -> &'static str {
        match self {
            Format::Langfuse => "langfuse",
            Format::Langsmith => "langsmith",
            Format::Phoenix => "phoenix",
            Format::Openai => "openai",
            Format::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(pub String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Format::ALL.map(Format::word).join(", ");
        write!(f, "unknown format {:?}; known are {words}", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Format::ALL.into_iter().find(|format| format.word() == word);
        found.ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

/// Choices that a file cannot make.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The source of the sessions; the word of the format when absent.
    pub source: Option<String>,
    /// The user of records without one; `{session}` in it becomes the id of the session.
    pub default_user: Option<String>,
    /// Seconds since 1970, for conversations without any time: their last turn happened then.
    pub now: i64,
}

/// The way in which [`Position::number`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A line of JSON Lines; the lines of a file count from 1, empty ones too.
    Line,
    /// A value of a JSON array, or of several values one after another, from 1.
    Element,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Line => "line",
            Unit::Element => "element",
        })
    }
}

/// The place of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub unit: Unit,
    pub number: u64,
    /// Bytes before the record.
    pub offset: u64,
}

/// One publication out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub publication: Publication,
    /// The record it was made of. It can lie behind that of an earlier item: records may wait for others of their trace.
    pub position: Position,
    /// Bytes of the file read so far; never decreases.
    pub read: u64,
}

/// A record that gave nothing. The ones after it are read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub position: Position,
    pub wrong: Wrong,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.position.unit, self.position.number, self.wrong)
    }
}

impl std::error::Error for Problem {}

/// The reasons why a record gives nothing. None of them carries content of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The file could not be read on; nothing follows.
    Unreadable(String),
    NotJson(String),
    RecordTooLong,
    /// JSON, but no record of this format.
    Unknown(Format),
    NoUser,
    NoSession,
    NoTime,
    BadTime,
    NoContent,
    /// A response whose request is in another file.
    NoRequest,
    BadRole,
    /// An identifier, by its field, that the service would refuse.
    BadId(&'static str),
    ContentTooLong,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Unreadable(why) => write!(f, "the file could not be read on: {why}"),
            Wrong::NotJson(why) => write!(f, "not JSON: {why}"),
            Wrong::RecordTooLong => {
                write!(f, "longer than {} MiB", records::RECORD_BYTES >> 20)
            }
            Wrong::Unknown(format) => write!(f, "not a record of the format {format}"),
            Wrong::NoUser => f.write_str("it names no user, and no default user is given"),
            Wrong::NoSession => f.write_str("it names no session"),
            Wrong::NoTime => f.write_str("it has no time"),
            Wrong::BadTime => f.write_str("its time cannot be read, or lies before 1970"),
            Wrong::NoContent => f.write_str("nothing was said in it"),
            Wrong::NoRequest => {
                f.write_str("a response without its request; join the two files of the batch first")
            }
            Wrong::BadRole => f.write_str("its role is neither User nor Assistant"),
            Wrong::BadId(field) => write!(
                f,
                "{field} is empty, longer than 255 characters or has characters that no id may have"
            ),
            Wrong::ContentTooLong => f.write_str("a turn is longer than a million characters"),
        }
    }
}

/// Publications out of `input`, in the order in which its records allow them to be made.
pub fn read<R: BufRead>(format: Format, input: R, options: &Options) -> Reader<R> {
    Reader { records: Some(Records::new(input)), sink: Sink::new(format, options) }
}

/// The iterator that [`read`] gives.
pub struct Reader<R> {
    records: Option<Records<R>>,
    sink: Sink,
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.sink.ready.pop_front() {
                return Some(ready);
            }
            let records = self.records.as_mut()?;
            let record = records.next();
            self.sink.read = records.read();
            match record {
                Some(Ok((position, value))) => {
                    self.sink.position = position;
                    self.sink.take(&value);
                }
                Some(Err(problem)) => return Some(Err(problem)),
                None => {
                    self.records = None;
                    self.sink.release(Traces::close);
                }
            }
        }
    }
}

/// Takes what the reader of a format finds in a record.
struct Sink {
    format: Format,
    options: Options,
    position: Position,
    read: u64,
    traces: Traces,
    ready: VecDeque<Result<Item, Problem>>,
}

impl Sink {
    fn new(format: Format, options: &Options) -> Self {
        Sink {
            format,
            options: options.clone(),
            position: Position { unit: Unit::Line, number: 0, offset: 0 },
            read: 0,
            traces: Traces::default(),
            ready: VecDeque::new(),
        }
    }

    fn take(&mut self, record: &Value) {
        // A page of an interface's list: the records are inside.
        if let Some(page) = record.get("data").and_then(Value::as_array)
            && record.get("id").is_none()
        {
            page.iter().for_each(|record| self.take(record));
            return;
        }
        let taken = match self.format {
            Format::Langfuse => langfuse::take(record, self),
            Format::Langsmith => langsmith::take(record, self),
            Format::Phoenix => phoenix::take(record, self),
            Format::Openai => openai::take(record, self),
            Format::Jsonl => jsonl::take(record, self),
        };
        if let Err(wrong) = taken {
            self.problem(wrong);
        }
    }

    fn draft(&self, record: &Value, id: Option<&str>) -> Draft {
        Draft::new(self.format, self.position, record, id)
    }

    fn problem(&mut self, wrong: Wrong) {
        self.ready.push_back(Err(Problem { position: self.position, wrong }));
    }

    fn release(&mut self, step: impl FnOnce(&mut Traces, &mut Vec<Draft>)) {
        let mut out = Vec::new();
        step(&mut self.traces, &mut out);
        out.into_iter().for_each(|draft| self.publish(draft));
    }

    fn publish(&mut self, draft: Draft) {
        let position = draft.position;
        match draft.publications(self.format, &self.options) {
            Ok(publications) => {
                let read = self.read;
                let items = publications.into_iter();
                self.ready
                    .extend(items.map(|publication| Ok(Item { publication, position, read })));
            }
            Err(wrong) => self.ready.push_back(Err(Problem { position, wrong })),
        }
    }
}
