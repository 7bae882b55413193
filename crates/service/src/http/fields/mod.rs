//! Reading a JSON object field by field, so that every problem is found in one go.
//!
//! A request type implements [`Read`]: it asks [`Fields`] for each of its fields with the rule that field obeys.
//! A field that breaks its rule is noted with its JSON pointer and reads as a harmless value; the collected
//! problems refuse the request before anything is done with it. `null` reads as absent. Fields nobody asked for
//! are listed beside the value.

pub mod describe;
mod lists;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use base::vocabulary::Vocabulary;
use serde_json::{Map, Value};

use describe::{Description, Shape};
use storage::error::InputProblem;

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
    /// Nothing is unknown to who takes everything.
    whole: bool,
    problems: &'a mut Vec<InputProblem>,
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
pub fn read_body<T: Read>(body: &Value) -> Result<Outcome<T>, Vec<InputProblem>> {
    let Some(object) = body.as_object() else {
        return Err(vec![problem("", "wrong_type", "expected a JSON object".to_owned())]);
    };
    read_object(object, false)
}

/// Reads query parameters.
pub fn read_query<T: Read>(object: &Map<String, Value>) -> Result<Outcome<T>, Vec<InputProblem>> {
    read_object(object, true)
}

fn read_object<T: Read>(
    object: &Map<String, Value>,
    from_query: bool,
) -> Result<Outcome<T>, Vec<InputProblem>> {
    let (mut problems, mut unknown) = (Vec::new(), Vec::new());
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
        problems: &'a mut Vec<InputProblem>,
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
    pub fn id(&mut self, name: &'static str) -> String {
        self.required(name, |f| f.optional_id(name))
    }

    pub fn optional_id(&mut self, name: &'static str) -> Option<String> {
        self.id_up_to(name, ID_LENGTH)
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

    // ── numbers, flags, times ───────────────────────────────────────────────────────────────────────

    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        self.describe(name, |_| Shape::Integer(range.clone()));
        let value = self.take(name)?;
        let number = match value {
            Value::String(text) if self.from_query => text.trim().parse().ok(),
            value => value.as_i64(),
        };
        match number {
            Some(number) if range.contains(&number) => Some(number),
            Some(_) => {
                let (low, high) = (range.start(), range.end());
                self.refuse(name, "out_of_range", format!("must be from {low} to {high}"))
            }
            None => {
                let got = kind(value);
                self.refuse(name, "wrong_type", format!("expected a 64-bit integer, got {got}"))
            }
        }
    }

    /// An integer that reads as `default` when it is absent.
    pub fn integer_or(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i64>,
        default: i64,
    ) -> i64 {
        let number = self.integer(name, range).unwrap_or(default);
        self.describe_default(name, || default.into());
        number
    }

    pub fn required_integer(&mut self, name: &'static str, range: RangeInclusive<i64>) -> i64 {
        self.required(name, |f| f.integer(name, range))
    }

    /// A finite number.
    pub fn number(&mut self, name: &'static str) -> Option<f64> {
        self.number_from(name, f64::NEG_INFINITY)
    }

    /// A finite number that is not below `least`.
    pub fn number_from(&mut self, name: &'static str, least: f64) -> Option<f64> {
        self.describe(name, |_| Shape::Number { least });
        let value = self.take(name)?;
        let number = match value {
            Value::String(text) if self.from_query => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        match number.filter(|n: &f64| n.is_finite()) {
            Some(number) if number >= least => Some(number),
            Some(_) => self.refuse(name, "out_of_range", format!("must not be below {least}")),
            None => {
                let got = kind(value);
                self.refuse(name, "wrong_type", format!("expected a number, got {got}"))
            }
        }
    }

    /// A number of a range, both ends included.
    pub fn number_within(&mut self, name: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.describe(name, |_| Shape::Within(range.clone()));
        let number = self.number(name)?;
        if range.contains(&number) {
            return Some(number);
        }
        let detail = format!("must be from {} to {}", range.start(), range.end());
        self.refuse(name, "out_of_range", detail)
    }

    /// A number greater than `above` and less than `below`.
    pub fn number_between(&mut self, name: &'static str, above: f64, below: f64) -> Option<f64> {
        self.describe(name, |_| Shape::Between { above, below });
        let number = self.number(name)?;
        if number > above && number < below {
            return Some(number);
        }
        let detail = format!("must be greater than {above} and less than {below}");
        self.refuse(name, "out_of_range", detail)
    }

    /// A number between two others that reads as `default` when it is absent.
    pub fn number_between_or(
        &mut self,
        name: &'static str,
        above: f64,
        below: f64,
        default: f64,
    ) -> f64 {
        let number = self.number_between(name, above, below).unwrap_or(default);
        self.describe_default(name, || default.into());
        number
    }

    /// True or false; absent reads as false.
    pub fn flag(&mut self, name: &'static str) -> bool {
        self.flag_or(name, false)
    }

    /// True or false; absent reads as `default`.
    pub fn flag_or(&mut self, name: &'static str, default: bool) -> bool {
        let flag = self.optional_flag(name).unwrap_or(default);
        self.describe_default(name, || default.into());
        flag
    }

    pub fn optional_flag(&mut self, name: &'static str) -> Option<bool> {
        self.describe(name, |_| Shape::Flag);
        match self.take(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) if self.from_query && matches!(text.as_str(), "true" | "1") => {
                Some(true)
            }
            Value::String(text) if self.from_query && matches!(text.as_str(), "false" | "0") => {
                Some(false)
            }
            other => {
                let got = kind(other);
                self.refuse(name, "wrong_type", format!("expected true or false, got {got}"))
            }
        }
    }

    /// A moment as unix seconds or RFC 3339 (without an offset: UTC).
    pub fn time(&mut self, name: &'static str) -> Option<i64> {
        self.describe(name, |_| Shape::Time);
        let value = self.take(name)?;
        let seconds = match value {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(whole_seconds)),
            Value::String(text) => parse_time(text.trim(), self.from_query),
            _ => None,
        };
        match seconds {
            Some(seconds) if seconds > LATEST_TIME => self.refuse(
                name,
                "out_of_range",
                "lies beyond the year 2286; unix seconds are expected, not milliseconds".to_owned(),
            ),
            Some(seconds) => Some(seconds),
            None => self.refuse(
                name,
                "not_a_time",
                "expected RFC 3339 (2026-01-31T12:00:00Z) or unix seconds".to_owned(),
            ),
        }
    }

    /// A moment that something happened at: a time from 1970 on.
    pub fn moment(&mut self, name: &'static str) -> Option<i64> {
        let seconds = self.time(name)?;
        if seconds < 0 {
            return self.refuse(name, "out_of_range", "must not lie before 1970".to_owned());
        }
        Some(seconds)
    }

    /// `start_time` and `end_time`; the end must be after the start.
    pub fn time_range(&mut self) -> (Option<i64>, Option<i64>) {
        self.time_range_of("Included.")
    }

    /// The same, with a description of the start.
    pub fn time_range_of(&mut self, start: &'static str) -> (Option<i64>, Option<i64>) {
        let start = self.about(start).time("start_time");
        let end = self.about("Not included.").time("end_time");
        if let (Some(start), Some(end)) = (start, end)
            && end <= start
        {
            self.problem("end_time", "not_after_start", "must be after start_time");
        }
        (start, end)
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

    /// Whether something at this field, or inside it, was refused.
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

/// The year 2286: times beyond it are milliseconds sent by mistake.
pub const LATEST_TIME: i64 = 9_999_999_999;

/// The second that a moment with fractions lies in.
#[allow(clippy::cast_possible_truncation)] // saturates, and what is so far away is refused
fn whole_seconds(seconds: f64) -> i64 {
    seconds.floor() as i64
}

/// Unix seconds of RFC 3339, of a civil time (UTC) or, where all is text, of a number.
pub fn parse_time(text: &str, from_query: bool) -> Option<i64> {
    if from_query && let Ok(seconds) = text.parse::<f64>() {
        return seconds.is_finite().then(|| whole_seconds(seconds));
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_second());
    }
    let local = text.parse::<jiff::civil::DateTime>().ok()?;
    local.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|moment| moment.timestamp().as_second())
}

/// PostgreSQL cannot store U+0000, and no person types it: refused wherever it stands.
fn find_nul(object: &Map<String, Value>, pointer: &str, problems: &mut Vec<InputProblem>) {
    fn walk(value: &Value, pointer: &str, problems: &mut Vec<InputProblem>) {
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
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, PartialEq)]
    struct Sample {
        user: String,
        count: Option<i64>,
        share: f64,
        rate: Option<f64>,
        items: Vec<Item>,
        at: Option<i64>,
    }
    #[derive(Debug, PartialEq)]
    struct Item {
        flag: bool,
    }
    impl Read for Item {
        fn read(f: &mut Fields<'_>) -> Self {
            Item { flag: f.flag("flag") }
        }
    }
    impl Read for Sample {
        fn read(f: &mut Fields<'_>) -> Self {
            Sample {
                user: f.id("user"),
                count: f.integer("count", 1..=10),
                share: f.number_between_or("share", 0.0, 1.0, 0.5),
                rate: f.number_within("rate", 0.0..=1.0),
                items: f.about("In order.").list("items", 2),
                at: f.time("at"),
            }
        }
    }

    crate::request_body!(Item, "Item");
    crate::request_body!(Sample, "Sample");

    #[test]
    fn the_specification_says_what_the_reader_enforces() {
        let schema = serde_json::to_value(<Sample as utoipa::PartialSchema>::schema()).unwrap();
        assert_eq!(schema["required"], json!(["user"]));
        let property = |name: &str| schema["properties"][name].clone();
        assert_eq!(property("user"), json!({"type": "string", "minLength": 1, "maxLength": 255}));
        let count =
            json!({"type": ["integer", "null"], "format": "int64", "minimum": 1, "maximum": 10});
        assert_eq!(property("count"), count);
        let share = json!({"type": ["number", "null"], "default": 0.5, "exclusiveMinimum": 0,
            "exclusiveMaximum": 1});
        assert_eq!(property("share"), share);
        let rate = json!({"type": ["number", "null"], "minimum": 0, "maximum": 1});
        assert_eq!(property("rate"), rate);
        let items = json!({"type": ["array", "null"], "description": "In order.", "maxItems": 2,
            "items": {"$ref": "#/components/schemas/Item"}});
        assert_eq!(property("items"), items);
        let mut components = Vec::new();
        <Sample as utoipa::ToSchema>::schemas(&mut components);
        let names: Vec<&str> = components.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Item"]);
    }

    fn codes(body: &Value) -> Vec<(String, String)> {
        match read_body::<Sample>(body) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.into_iter().map(|p| (p.pointer, p.code)).collect(),
        }
    }

    #[test]
    fn all_problems_come_at_once_with_their_place() {
        let body = json!({"user": 3, "count": 11, "share": 1, "rate": 1.5, "items": [{"flag": "x"}, 7], "at": "noon"});
        let expected = [
            ("/user", "wrong_type"),
            ("/count", "out_of_range"),
            ("/share", "out_of_range"),
            ("/rate", "out_of_range"),
            ("/items/0/flag", "wrong_type"),
            ("/items/1", "wrong_type"),
            ("/at", "not_a_time"),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect();
        assert_eq!(codes(&body), expected);
    }

    #[test]
    fn null_is_absent_ids_are_trimmed_and_unknown_fields_are_listed() {
        let body = json!({"user": "  ada ", "count": null, "colour": 1, "items": [{"a/b": 2}]});
        let outcome = read_body::<Sample>(&body).unwrap();
        assert_eq!(outcome.value.user, "ada");
        assert_eq!(outcome.value.count, None);
        assert_eq!(outcome.unknown, ["/items/0/a~1b", "/colour"]);
        assert_eq!(codes(&json!({})), [("/user".to_owned(), "required".to_owned())]);
        assert_eq!(codes(&json!({"user": " "})), [("/user".to_owned(), "empty".to_owned())]);
        assert_eq!(codes(&json!([])), [(String::new(), "wrong_type".to_owned())]);
    }

    base::vocabulary! {
        pub enum Light {
            Red = "red",
            Dark = "dark",
        }
    }

    base::vocabulary! {
        enum Colour {
            Red = "red",
            Blue = "blue",
            None = "",
        }
    }

    struct Bounded {
        price: Option<f64>,
        named: String,
        wanted: bool,
        colour: Option<Colour>,
        texts: Vec<String>,
    }

    impl Read for Bounded {
        fn read(f: &mut Fields<'_>) -> Self {
            Bounded {
                price: f.number_from("price", 0.0),
                named: f.id_or("named", "plain"),
                wanted: f.flag_or("wanted", true),
                colour: f.word_among("colour", &[Colour::Red, Colour::Blue]),
                texts: f.required_texts("texts"),
            }
        }
    }

    crate::request_body!(Bounded, "Bounded");

    #[test]
    fn bounds_and_defaults_are_enforced_and_described() {
        let schema = serde_json::to_value(<Bounded as utoipa::PartialSchema>::schema()).unwrap();
        assert_eq!(schema["required"], json!(["texts"]));
        let property = |name: &str| schema["properties"][name].clone();
        assert_eq!(property("price"), json!({"type": ["number", "null"], "minimum": 0}));
        assert_eq!(property("named")["default"], "plain");
        assert_eq!(property("wanted")["default"], true);
        assert_eq!(property("colour")["enum"], json!(["red", "blue", null]));
        assert_eq!(property("texts")["minItems"], 1);
        let absent = read_body::<Bounded>(&json!({"texts": [""]})).unwrap().value;
        assert_eq!((absent.price, absent.named.as_str(), absent.wanted), (None, "plain", true));
        assert_eq!((absent.colour, absent.texts), (None, vec![String::new()]));
        let pointers = |body: Value| -> Vec<String> {
            let problems = read_body::<Bounded>(&body).err().unwrap_or_default();
            problems.into_iter().map(|p| format!("{} {}", p.pointer, p.code)).collect()
        };
        let bad = json!({"price": -1, "colour": "", "texts": []});
        let expected = ["/price out_of_range", "/colour not_allowed", "/texts too_short"];
        assert_eq!(pointers(bad), expected);
        assert_eq!(pointers(json!({"texts": [3]})), ["/texts/0 wrong_type"]);
        assert_eq!(pointers(json!({})), ["/texts required"]);
    }

    struct Lists {
        words: Option<Vec<&'static str>>,
        numbers: Vec<i64>,
        lights: Option<Vec<Light>>,
    }
    impl Read for Lists {
        fn read(f: &mut Fields<'_>) -> Self {
            Lists {
                words: f.choices("words", &["red", "blue"]),
                numbers: f.required_numbers("numbers", 3),
                lights: f.words_or_null("lights", Light::Dark),
            }
        }
    }

    crate::request_body!(Lists, "Lists");

    #[test]
    fn null_in_a_list_of_words_stands_for_one_of_them() {
        let read = |body: Value| match read_body::<Lists>(&body) {
            Ok(outcome) => Ok(outcome.value.lights),
            Err(problems) => Err(problems.into_iter().map(|p| p.pointer).collect::<Vec<_>>()),
        };
        let lights = read(json!({"numbers": [1], "lights": ["red", null]}));
        assert_eq!(lights, Ok(Some(vec![Light::Red, Light::Dark])));
        let bad = read(json!({"numbers": [1], "lights": ["red", "blue", 7]}));
        assert_eq!(bad, Err(vec!["/lights/1".to_owned(), "/lights/2".to_owned()]));
        let schema = serde_json::to_value(<Lists as utoipa::PartialSchema>::schema()).unwrap();
        let item = json!({"oneOf": [{"$ref": "#/components/schemas/Light"}, {"type": "null"}]});
        assert_eq!(schema["properties"]["lights"]["items"], item);
    }

    #[test]
    fn lists_of_plain_values_name_each_bad_item() {
        let read = |body: Value| match read_body::<Lists>(&body) {
            Ok(outcome) => Ok((outcome.value.words, outcome.value.numbers)),
            Err(problems) => Err(problems.into_iter().map(|p| p.pointer).collect::<Vec<_>>()),
        };
        let list = read(json!({"words": ["red", "blue"], "numbers": [1, 2]}));
        assert_eq!(list, Ok((Some(vec!["red", "blue"]), vec![1, 2])));
        assert_eq!(read(json!({"words": "red", "numbers": [1]})), Ok((Some(vec!["red"]), vec![1])));
        assert_eq!(read(json!({"words": null, "numbers": [1]})), Ok((None, vec![1])));
        let bad = read(json!({"words": ["red", "green", 3], "numbers": [1, 0, "2"]}));
        let pointers = ["/words/1", "/words/2", "/numbers/1", "/numbers/2"];
        assert_eq!(bad, Err(pointers.map(str::to_owned).to_vec()));
        for missing in [json!({}), json!({"numbers": []}), json!({"numbers": [1, 2, 3, 4]})] {
            assert_eq!(read(missing), Err(vec!["/numbers".to_owned()]));
        }
    }

    #[test]
    fn nul_is_found_at_any_depth() {
        let body = json!({"user": "a", "extra": {"deep": [["x\0"]], "k\0": 1}});
        let found: Vec<_> = codes(&body).into_iter().map(|(pointer, _)| pointer).collect();
        assert_eq!(found, ["/extra/deep/0/0", "/extra/k\u{fffd}"]);
    }

    #[test]
    fn times_in_both_forms() {
        for (text, seconds) in [
            (json!("1970-01-02T00:00:00Z"), Some(86400)),
            (json!("1970-01-02T00:00:00"), Some(86400)),
            (json!("1970-01-02 01:00:00+01:00"), Some(86400)),
            (json!(86400), Some(86400)),
            (json!("86400"), None),
            (json!(1.5), Some(1)),
            (json!(86_400_000_000_000_i64), None),
        ] {
            let body = json!({"user": "a", "at": text});
            let at = read_body::<Sample>(&body).ok().and_then(|o| o.value.at);
            assert_eq!(at, seconds, "{text}");
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let body: Value =
            serde_json::from_str(r#"{"user":"a","count":99999999999999999999}"#).unwrap();
        assert_eq!(codes(&body), [("/count".to_owned(), "wrong_type".to_owned())]);
    }
}
