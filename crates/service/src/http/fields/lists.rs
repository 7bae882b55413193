//! Fields that hold objects and lists.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use base::vocabulary::Vocabulary;
use utoipa::ToSchema;

use super::describe::Shape;
use super::{Fields, ID_LENGTH, Read, check_id, kind, problem};

impl<'a> Fields<'a> {
    /// Any JSON object.
    pub fn object(&mut self, name: &'static str) -> Option<Map<String, Value>> {
        self.describe(name, |_| Shape::Object);
        match self.take(name)? {
            Value::Object(object) => Some(object.clone()),
            other => {
                self.refuse(name, "wrong_type", format!("expected an object, got {}", kind(other)))
            }
        }
    }

    /// The object as it is, for requests that another rule reads again.
    pub fn whole(&mut self) -> Map<String, Value> {
        self.whole = true;
        self.object.clone()
    }

    /// An object with fields of its own; absent reads as an empty one.
    pub fn nested<T: Read + ToSchema>(&mut self, name: &'static str) -> T {
        self.describe(name, |description| description.component::<T>());
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let object = match self.take(name) {
            Some(Value::Object(object)) => object,
            Some(other) => {
                let detail = format!("expected an object, got {}", kind(other));
                self.problem(name, "wrong_type", detail);
                &*EMPTY
            }
            None => &*EMPTY,
        };
        let mut fields = Fields {
            object,
            pointer: format!("{}/{name}", self.pointer),
            from_query: false,
            asked: BTreeSet::new(),
            whole: false,
            problems: &mut *self.problems,
            unknown: &mut *self.unknown,
            description: None,
        };
        let value = T::read(&mut fields);
        fields.note_unknown();
        value
    }

    /// Any JSON value.
    pub fn any(&mut self, name: &'static str) -> Option<Value> {
        self.describe(name, |_| Shape::Any);
        self.take(name).cloned()
    }

    /// A list of objects; absent reads as empty.
    pub fn list<T: Read + ToSchema>(&mut self, name: &'static str, longest: usize) -> Vec<T> {
        self.describe(name, |description| {
            let item = Box::new(description.component::<T>());
            Shape::List { item, shortest: 0, longest }
        });
        let Some(items) = self.array(name, longest) else {
            return Vec::new();
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("{}/{name}/{index}", self.pointer);
            let Some(object) = item.as_object() else {
                let detail = format!("expected an object, got {}", kind(item));
                self.problems.push(problem(&pointer, "wrong_type", detail));
                continue;
            };
            let mut fields = Fields {
                object,
                pointer,
                from_query: false,
                asked: BTreeSet::new(),
                whole: false,
                problems: &mut *self.problems,
                unknown: &mut *self.unknown,
                description: None,
            };
            read.push(T::read(&mut fields));
            fields.note_unknown();
        }
        read
    }

    /// A required list of objects with at least one item.
    pub fn required_list<T: Read + ToSchema>(
        &mut self,
        name: &'static str,
        longest: usize,
    ) -> Vec<T> {
        self.describe(name, |description| {
            let item = Box::new(description.component::<T>());
            Shape::List { item, shortest: 1, longest }
        });
        if self.is_described_as_required(name) {
            return Vec::new();
        }
        if self.is_absent(name) {
            self.problem(name, "required", "is required");
            return Vec::new();
        }
        if matches!(self.object.get(name), Some(Value::Array(items)) if items.is_empty()) {
            self.problem(name, "too_short", "must have at least one item");
        }
        self.list(name, longest)
    }

    /// A required list of identifiers with at least one item.
    pub fn required_ids(&mut self, name: &'static str, longest: usize) -> Vec<String> {
        self.required(name, |f| f.optional_ids(name, longest))
    }

    /// A list of identifiers, with at least one item if it is there.
    pub fn optional_ids(&mut self, name: &'static str, longest: usize) -> Option<Vec<String>> {
        self.describe(name, |_| {
            let item = Box::new(Shape::Text { shortest: 1, longest: ID_LENGTH });
            Shape::List { item, shortest: 1, longest }
        });
        let items = self.array(name, longest)?;
        if items.is_empty() {
            self.problem(name, "too_short", "must have at least one item");
        }
        let mut ids = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let checked = match item {
                Value::String(text) => check_id(text, ID_LENGTH),
                other => Err(("wrong_type", format!("expected text, got {}", kind(other)))),
            };
            match checked {
                Ok(id) => ids.push(id),
                Err((code, detail)) => {
                    let pointer = format!("{}/{name}/{index}", self.pointer);
                    self.problems.push(problem(&pointer, code, detail));
                }
            }
        }
        Some(ids)
    }

    /// Marks the field as required while it is described; whether that is what happens.
    fn is_described_as_required(&mut self, name: &'static str) -> bool {
        self.description.iter_mut().for_each(|description| description.require(name));
        self.description.is_some()
    }

    /// A list of texts, each at most 128 characters; absent reads as empty.
    pub fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.optional_texts(name).unwrap_or_default()
    }

    pub fn optional_texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.describe(name, |_| {
            let item = Box::new(Shape::Text { shortest: 0, longest: 128 });
            Shape::List { item, shortest: 0, longest: 1000 }
        });
        let read = |item: &Value| match item.as_str() {
            Some(text) if text.chars().count() <= 128 => Ok(text.to_owned()),
            _ => Err(("wrong_type", "expected text of at most 128 characters".to_owned())),
        };
        self.items(name, 1000, read)
    }

    /// A required list of texts, as [`Fields::texts`], with at least one item.
    pub fn required_texts(&mut self, name: &'static str) -> Vec<String> {
        self.describe(name, |_| {
            let item = Box::new(Shape::Text { shortest: 0, longest: 128 });
            Shape::List { item, shortest: 1, longest: 1000 }
        });
        self.check_required(name);
        self.texts(name)
    }

    /// Marks a list as required with at least one item, and notes the problem where it is not so.
    fn check_required(&mut self, name: &'static str) {
        if self.is_described_as_required(name) {
            return;
        }
        if self.is_absent(name) {
            self.problem(name, "required", "is required");
        } else if matches!(self.object.get(name), Some(Value::Array(items)) if items.is_empty()) {
            self.problem(name, "too_short", "must have at least one item");
        }
    }

    /// A list of plain values of one shape, each read by `read`, which says what is wrong with one.
    pub fn values<T>(
        &mut self,
        name: &'static str,
        longest: usize,
        item: Shape,
        read: impl Fn(&Value) -> Result<T, (&'static str, String)>,
    ) -> Option<Vec<T>> {
        self.describe(name, |_| Shape::List { item: Box::new(item), shortest: 0, longest });
        self.items(name, longest, read)
    }

    fn items<T>(
        &mut self,
        name: &'static str,
        longest: usize,
        read: impl Fn(&Value) -> Result<T, (&'static str, String)>,
    ) -> Option<Vec<T>> {
        let items = self.array(name, longest)?;
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read(item) {
                Ok(value) => values.push(value),
                Err((code, detail)) => {
                    let pointer = format!("{}/{name}/{index}", self.pointer);
                    self.problems.push(problem(&pointer, code, detail));
                }
            }
        }
        Some(values)
    }

    /// A list of positive integers; absent reads as empty.
    pub fn numbers(&mut self, name: &'static str, longest: usize) -> Vec<i64> {
        self.describe(name, |_| {
            let item = Box::new(Shape::Integer(1..=i64::MAX));
            Shape::List { item, shortest: 0, longest }
        });
        let read = |item: &Value| {
            item.as_i64()
                .filter(|number| *number > 0)
                .ok_or_else(|| ("wrong_type", "expected a positive integer".to_owned()))
        };
        self.items(name, longest, read).unwrap_or_default()
    }

    /// A required list of positive integers with at least one item.
    pub fn required_numbers(&mut self, name: &'static str, longest: usize) -> Vec<i64> {
        self.describe(name, |_| {
            let item = Box::new(Shape::Integer(1..=i64::MAX));
            Shape::List { item, shortest: 1, longest }
        });
        self.check_required(name);
        self.numbers(name, longest)
    }

    /// Some of a few words: one word, or a list of them.
    pub fn choices(
        &mut self,
        name: &'static str,
        words: &[&'static str],
    ) -> Option<Vec<&'static str>> {
        self.describe(name, |_| Shape::OneOrMore(Box::new(Shape::Words(words.to_vec()))));
        if matches!(self.object.get(name), Some(Value::String(_))) {
            return self.choice(name, words).map(|word| vec![word]);
        }
        let read = |item: &Value| {
            let found = words.iter().find(|word| item.as_str() == Some(**word));
            found.copied().ok_or_else(|| {
                let detail = format!("must be one of: {}", words.join(", "));
                ("not_allowed", detail)
            })
        };
        self.items(name, words.len().max(16), read)
    }

    /// Some words of a vocabulary: one word, or a list of them.
    pub fn words<W: Vocabulary + ToSchema>(&mut self, name: &'static str) -> Option<Vec<W>> {
        self.describe(name, |description| {
            Shape::OneOrMore(Box::new(description.vocabulary::<W>()))
        });
        if matches!(self.object.get(name), Some(Value::String(_))) {
            return self.word(name).map(|word| vec![word]);
        }
        let read = |item: &Value| {
            item.as_str()
                .and_then(W::parse)
                .ok_or_else(|| ("not_allowed", format!("must be one of: {}", W::listed())))
        };
        self.items(name, W::ALL.len().max(16), read)
    }

    /// A list of words of a vocabulary, in which null stands for `null`.
    pub fn words_or_null<W>(&mut self, name: &'static str, null: W) -> Option<Vec<W>>
    where
        W: Vocabulary + ToSchema,
    {
        let longest = W::ALL.len().max(16);
        self.describe(name, |description| {
            let item = Box::new(Shape::OrNull(Box::new(description.component::<W>())));
            Shape::List { item, shortest: 0, longest }
        });
        let read = |item: &Value| match item {
            Value::Null => Ok(null),
            item => item
                .as_str()
                .and_then(W::parse)
                .ok_or_else(|| ("not_allowed", format!("must be null or one of: {}", W::listed()))),
        };
        self.items(name, longest, read)
    }

    fn array(&mut self, name: &'static str, longest: usize) -> Option<&'a [Value]> {
        match self.take(name)? {
            Value::Array(items) if items.len() <= longest => Some(items),
            Value::Array(_) => {
                self.refuse(name, "too_long", format!("must have at most {longest} items"))
            }
            other => {
                self.refuse(name, "wrong_type", format!("expected a list, got {}", kind(other)))
            }
        }
    }
}
