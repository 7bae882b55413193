//! Reading a JSON object field by field, so that every problem is found in one go.
//!
//! A request type implements [`Read`]: it asks [`Fields`] for each of its fields with the rule that field obeys.
//! A field that breaks its rule is noted with its JSON pointer and reads as a harmless value; the collected
//! problems refuse the request before anything is done with it. `null` reads as absent. Fields nobody asked for
//! are listed beside the value.

pub mod describe;
mod lists;
mod numbers;
mod times;

use std::collections::BTreeSet;

use base::vocabulary::Vocabulary;
use serde_json::{Map, Value};

use describe::{Description, Shape};
use storage::error::{InputProblem, InputProblems};

pub use times::parse_time;

/// A request type that can be read from an object.
pub trait Read: Sized {
    /// The longest body in bytes, where it is less than the server's limit.
    const BODY_LIMIT: Option<usize> = None;

    fn read(fields: &mut Fields<'_>) -> Self;
}

impl Read for () {
    fn read(_: &mut Fields<'_>) -> Self {}
}

/// The longest identifier.
pub const ID_LENGTH: usize = 255;
/// The most bytes of an identifier: three of the longest fit into one index row of PostgreSQL (2,704 bytes)
/// beside the organization. Only ids of more than 191 characters beyond U+FFFF notice.
const ID_BYTES: usize = 3 * ID_LENGTH;

pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    pointer: String,
    /// Query parameters are all text: numbers and booleans are read from it.
    from_query: bool,
    asked: BTreeSet<&'static str>,
    /// True if the object is taken whole, so that no field is unknown.
    whole: bool,
    problems: &'a mut InputProblems,
    unknown: &'a mut Vec<String>,
    /// Set while fields are described instead of read.
    description: Option<&'a mut Description>,
}

/// The result of reading: the value, and the pointers of fields that nobody asked for.
pub struct Outcome<T> {
    pub value: T,
    pub unknown: Vec<String>,
}

/// Reads a whole body.
pub fn read_body<T: Read>(body: &Value) -> Result<Outcome<T>, InputProblems> {
    let Some(object) = body.as_object() else {
        let wrong = problem("", "wrong_type", "expected a JSON object".to_owned());
        return Err(vec![wrong].into());
    };
    read_object(object, false)
}

/// Reads query parameters.
pub fn read_query<T: Read>(object: &Map<String, Value>) -> Result<Outcome<T>, InputProblems> {
    read_object(object, true)
}

fn read_object<T: Read>(
    object: &Map<String, Value>,
    from_query: bool,
) -> Result<Outcome<T>, InputProblems> {
    let (mut problems, mut unknown) = (InputProblems::default(), Vec::new());
    find_nul(object, "", &mut problems);
    let mut fields = Fields::new(object, from_query, &mut problems, &mut unknown);
    let value = T::read(&mut fields);
    fields.note_unknown();
    if problems.is_empty() { Ok(Outcome { value, unknown }) } else { Err(problems) }
}

impl<'a> Fields<'a> {
    fn new(
        object: &'a Map<String, Value>,
        from_query: bool,
        problems: &'a mut InputProblems,
        unknown: &'a mut Vec<String>,
    ) -> Self {
        Fields {
            object,
            pointer: String::new(),
            from_query,
            asked: BTreeSet::new(),
            whole: false,
            problems,
            unknown,
            description: None,
        }
    }

    // ── describing ──────────────────────────────────────────────────────────────────────────────────

    /// The description of the field that is asked for next.
    pub fn about(&mut self, text: &'static str) -> &mut Self {
        if let Some(description) = &mut self.description {
            description.explain(text);
        }
        self
    }

    fn describe(&mut self, name: &'static str, shape: impl FnOnce(&mut Description) -> Shape) {
        if let Some(description) = &mut self.description {
            let shape = shape(description);
            description.add(name, shape);
        }
    }

    // ── identifiers and text ────────────────────────────────────────────────────────────────────────

    /// A required identifier: trimmed, 1 to 255 characters, no control characters.
    pub fn id<T: From<String> + Default>(&mut self, name: &'static str) -> T {
        self.required(name, |f| f.optional_id(name))
    }

    pub fn optional_id<T: From<String>>(&mut self, name: &'static str) -> Option<T> {
        self.id_up_to(name, ID_LENGTH).map(T::from)
    }

    /// An optional identifier with a length of its own.
    pub fn id_up_to(&mut self, name: &'static str, longest: usize) -> Option<String> {
        self.describe(name, |_| Shape::Text { shortest: 1, longest });
        let text = self.string(name)?;
        match check_id(&text, longest) {
            Ok(id) => Some(id),
            Err((code, detail)) => self.refuse(name, code, detail),
        }
    }

    /// An identifier that reads as `default` when it is absent.
    pub fn id_or(&mut self, name: &'static str, default: &'static str) -> String {
        let id = self.optional_id(name).unwrap_or_else(|| default.to_owned());
        self.describe_default(name, || default.into());
        id
    }

    /// An identifier where empty text means none.
    pub fn blank_or_id(&mut self, name: &'static str) -> Option<String> {
        self.describe(name, |_| Shape::Text { shortest: 0, longest: ID_LENGTH });
        let blank = matches!(self.object.get(name), Some(Value::String(s)) if s.trim().is_empty());
        if blank {
            self.asked.insert(name);
            return None;
        }
        self.optional_id(name)
    }

    /// Text of at most `longest` characters; absent reads as empty.
    pub fn text(&mut self, name: &'static str, longest: usize) -> String {
        self.optional_text(name, longest).unwrap_or_default()
    }

    pub fn optional_text(&mut self, name: &'static str, longest: usize) -> Option<String> {
        self.describe(name, |_| Shape::Text { shortest: 0, longest });
        let text = self.string(name)?;
        // Bytes are counted first: most text is short, and counting characters of a megabyte is not free.
        if text.len() > longest && text.chars().count() > longest {
            return self.refuse(name, "too_long", format!("longer than {longest} characters"));
        }
        Some(text)
    }

    /// One of a few words.
    pub fn choice(&mut self, name: &'static str, words: &[&'static str]) -> Option<&'static str> {
        self.describe(name, |_| Shape::Words(words.to_vec()));
        let text = self.string(name)?;
        let found = words.iter().find(|word| **word == text).copied();
        match found {
            Some(word) => Some(word),
            None => {
                self.refuse(name, "not_allowed", format!("must be one of: {}", words.join(", ")))
            }
        }
    }

    pub fn required_choice(&mut self, name: &'static str, words: &[&'static str]) -> &'static str {
        self.required(name, |f| f.choice(name, words))
    }

    /// A word of a vocabulary.
    pub fn word<W: Vocabulary + utoipa::ToSchema>(&mut self, name: &'static str) -> Option<W> {
        self.describe(name, |description| description.vocabulary::<W>());
        let text = self.string(name)?;
        match W::parse(&text) {
            Some(word) => Some(word),
            None => self.refuse(name, "not_allowed", format!("must be one of: {}", W::listed())),
        }
    }

    /// One of some words of a vocabulary.
    pub fn word_among<W: Vocabulary>(&mut self, name: &'static str, words: &[W]) -> Option<W> {
        let words: Vec<&'static str> = words.iter().map(|word| word.as_str()).collect();
        self.choice(name, &words).and_then(W::parse)
    }

    pub fn required_word<W: Vocabulary + utoipa::ToSchema>(&mut self, name: &'static str) -> W {
        self.required(name, |f| f.word::<W>(name).map(Some)).unwrap_or(W::ALL[0])
    }

    /// A word that reads as `default` when it is absent.
    pub fn word_or<W>(&mut self, name: &'static str, default: W) -> W
    where
        W: Vocabulary + utoipa::ToSchema,
    {
        let word = self.word(name).unwrap_or(default);
        self.describe_default(name, || default.as_str().into());
        word
    }

    fn describe_default(&mut self, name: &'static str, default: impl FnOnce() -> Value) {
        if let Some(description) = &mut self.description {
            description.default_to(name, default());
        }
    }

    fn string(&mut self, name: &'static str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text.clone()),
            other => self.refuse(name, "wrong_type", format!("expected text, got {}", kind(other))),
        }
    }

    // ── problems ────────────────────────────────────────────────────────────────────────────────────

    /// Notes a problem that only this request's own rules can see.
    pub fn problem(&mut self, name: &str, code: &str, detail: impl Into<String>) {
        let pointer = format!("{}/{name}", self.pointer);
        self.problems.push(problem(&pointer, code, detail.into()));
    }

    /// Reads with `read`; absence is a problem.
    pub fn required<T: Default>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> T {
        if self.description.is_some() {
            let described = read(self).unwrap_or_default();
            self.description.iter_mut().for_each(|description| description.require(name));
            return described;
        }
        if self.is_absent(name) {
            self.asked.insert(name);
            self.problem(name, "required", "is required");
            return T::default();
        }
        read(self).unwrap_or_default()
    }

    fn refuse<T>(&mut self, name: &str, code: &str, detail: String) -> Option<T> {
        self.problem(name, code, detail);
        None
    }

    /// True if something at this field, or inside it, was refused.
    pub fn is_refused(&self, name: &str) -> bool {
        let field = format!("{}/{name}", self.pointer);
        let inside = |pointer: &str| {
            pointer
                .strip_prefix(&field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.problems.iter().any(|p| inside(&p.pointer))
    }

    pub fn is_absent(&self, name: &str) -> bool {
        self.object.get(name).is_none_or(Value::is_null)
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.insert(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn note_unknown(&mut self) {
        if self.whole {
            return;
        }
        for name in self.object.keys().filter(|name| !self.asked.contains(name.as_str())) {
            self.unknown.push(format!("{}/{}", self.pointer, escape(name)));
        }
    }
}

fn problem(pointer: &str, code: &str, detail: String) -> InputProblem {
    InputProblem { pointer: pointer.to_owned(), code: code.to_owned(), detail }
}

/// The rule of every identifier.
pub fn check_id(text: &str, longest: usize) -> Result<String, (&'static str, String)> {
    let id = text.trim();
    if id.is_empty() {
        return Err(("empty", "must not be empty".to_owned()));
    }
    if id.chars().count() > longest {
        return Err(("too_long", format!("longer than {longest} characters")));
    }
    if id.len() > ID_BYTES {
        return Err(("too_long", format!("longer than {ID_BYTES} bytes")));
    }
    if id.chars().any(char::is_control) {
        return Err(("control_character", "must not have control characters".to_owned()));
    }
    Ok(id.to_owned())
}

/// PostgreSQL cannot store U+0000, and no person types it: refused wherever it stands.
fn find_nul(object: &Map<String, Value>, pointer: &str, problems: &mut InputProblems) {
    fn walk(value: &Value, pointer: &str, problems: &mut InputProblems) {
        match value {
            Value::String(text) if text.contains('\0') => {
                problems.push(problem(pointer, "nul_character", "must not have U+0000".to_owned()));
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if matches!(item, Value::String(_) | Value::Array(_) | Value::Object(_)) {
                        walk(item, &format!("{pointer}/{index}"), problems);
                    }
                }
            }
            Value::Object(object) => find_nul(object, pointer, problems),
            _ => {}
        }
    }
    for (name, value) in object {
        let needs_look = match value {
            Value::String(text) => text.contains('\0'),
            Value::Array(_) | Value::Object(_) => true,
            _ => false,
        };
        if name.contains('\0') {
            let pointer = format!("{pointer}/{}", escape(&name.replace('\0', "\u{fffd}")));
            problems.push(problem(&pointer, "nul_character", "must not have U+0000".to_owned()));
        } else if needs_look {
            walk(value, &format!("{pointer}/{}", escape(name)), problems);
        }
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(n) if n.is_f64() => "a number that is no 64-bit integer",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
