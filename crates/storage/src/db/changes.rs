//! Several statements that change rows, handed over together.
//!
//! On PostgreSQL the way to the server and back costs more than most statements do. [`Tx::apply`] runs a list of them one
//! after the other, or on PostgreSQL as one statement with the others in its WITH clause ([`Changes::together`]). Use it
//! where throughput counts; elsewhere `run!` is simpler.
#![allow(clippy::disallowed_types)] // the texts are compiled in; only their parameters are counted on

use std::borrow::Cow;

use serde::Serialize;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, SqlSafeStr};

use super::dialect::{for_rows, rendered, renumber};
use super::{Arguments, Engine, Subject, Tx};
use crate::error::{Error, Result};
use base::owner::{OrgId, UserId};

/// A parameter of either engine. `NULL` keeps its type: PostgreSQL asks for it.
pub enum Value<'a> {
    Text(Option<&'a str>),
    /// Users that follow are users of this one.
    Organization(&'a OrgId),
    /// Bound as the user's subject.
    User(Option<&'a UserId>),
    Subject(Subject),
    Integer(Option<i64>),
    Fraction(Option<f64>),
    Flag(Option<bool>),
    Json(Option<serde_json::Value>),
    /// The parameter of `{lists:$1}`.
    Lists(String),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Some(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(Some(text))
    }
}

impl<'a> From<&'a OrgId> for Value<'a> {
    fn from(id: &'a OrgId) -> Self {
        Value::Organization(id)
    }
}

impl<'a> From<&'a UserId> for Value<'a> {
    fn from(id: &'a UserId) -> Self {
        Value::User(Some(id))
    }
}

impl From<Subject> for Value<'_> {
    fn from(subject: Subject) -> Self {
        Value::Subject(subject)
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Integer(Some(number))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Value::Integer(number)
    }
}

impl From<Option<f64>> for Value<'_> {
    fn from(number: Option<f64>) -> Self {
        Value::Fraction(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Value::Flag(Some(flag))
    }
}

impl From<Option<bool>> for Value<'_> {
    fn from(flag: Option<bool>) -> Self {
        Value::Flag(flag)
    }
}

impl Value<'_> {
    /// Anything that is stored as JSON.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        let value = serde_json::to_value(value).map_err(|e| Error::Internal(e.to_string()))?;
        Ok(Value::Json(Some(value)))
    }

    /// Rows for a statement that reads them from `{lists:$1}`. Its text is the same for any number of rows.
    pub fn lists(rows: &[impl Serialize]) -> Result<Self> {
        serde_json::to_string(rows).map(Value::Lists).map_err(|e| Error::Internal(e.to_string()))
    }
}

/// The statement of [`Changes::add_numbered`].
#[derive(Clone, Copy)]
struct Numbered {
    /// Place among the statements.
    place: usize,
    column: &'static str,
    rows: usize,
}

/// End of a statement that has to change a row. Numbers of rows are positive.
const FOUND: &str = "RETURNING CAST(-1 AS BIGINT)";
const IS_FOUND: i64 = -1;

/// Statements to be applied in order.
#[derive(Default)]
pub struct Changes<'a> {
    statements: Vec<(Cow<'static, str>, Vec<Value<'a>>)>,
    numbered: Option<Numbered>,
    /// The error of [`Changes::add_needed`].
    needed: Option<fn() -> Error>,
    /// The first of those that may run as one.
    together_from: Option<usize>,
}

impl<'a> Changes<'a> {
    /// Statements added from here on change different rows, and none looks at what another changes: they may run as
    /// one statement, in any order.
    pub fn together(&mut self) {
        self.together_from = Some(self.statements.len());
    }

    /// [`Changes::together`] for all of them.
    pub fn all_together(&mut self) {
        self.together_from = Some(0);
    }

    /// Adds a statement with its parameters `$1`, `$2`, …
    pub fn add(&mut self, sql: &'static str, values: Vec<Value<'a>>) {
        self.statements.push((Cow::Borrowed(sql), values));
    }

    /// Adds a statement that has to change a row; where it finds none, nothing is applied, and the error is `otherwise`.
    pub fn add_needed(
        &mut self,
        sql: &'static str,
        values: Vec<Value<'a>>,
        otherwise: fn() -> Error,
    ) {
        debug_assert!(self.needed.is_none(), "one statement is needed");
        self.needed = Some(otherwise);
        self.statements.push((Cow::Owned(format!("{sql} {FOUND}")), values));
    }

    /// Adds a statement that makes `rows` rows, which the engine numbers by `column`: their numbers come first in what is
    /// returned, in growing order.
    pub fn add_numbered(
        &mut self,
        sql: &'static str,
        column: &'static str,
        rows: usize,
        values: Vec<Value<'a>>,
    ) {
        debug_assert!(self.numbered.is_none(), "one statement numbers its rows");
        self.numbered = Some(Numbered { place: self.statements.len(), column, rows });
        self.add(sql, values);
    }

    /// Adds a statement with `{rows}` in it, for as many rows of `columns` parameters as there are values.
    pub fn add_rows(&mut self, sql: &'static str, columns: usize, values: Vec<Value<'a>>) {
        let sql = for_rows(sql, columns, values.len() / columns.max(1));
        self.statements.push((Cow::Owned(sql), values));
    }

    /// The statements in the engine's words.
    fn rendered(mut self, engine: Engine) -> Self {
        for (sql, _) in &mut self.statements {
            if let Cow::Borrowed(text) = sql {
                *sql = Cow::Borrowed(rendered(engine, text));
            }
        }
        if let Some(Numbered { place, column, .. }) = self.numbered
            && let Some((sql, _)) = self.statements.get_mut(place)
        {
            *sql = Cow::Owned(format!("{sql} RETURNING {column}"));
        }
        self
    }

    /// Citus does not take several changes in one statement.
    fn for_postgres(mut self, is_spread: bool) -> Vec<(Cow<'static, str>, Vec<Value<'a>>)> {
        let together = match self.together_from {
            Some(first) if self.statements.len() > first + 1 && !is_spread => {
                self.statements.split_off(first)
            }
            _ => Vec::new(),
        };
        if !together.is_empty() {
            self.statements.push(as_one(together));
        }
        self.statements
    }
}

/// `WITH c0 AS (…), c1 AS (…) SELECT * FROM c0 UNION ALL …`: what the statements return, in their order.
fn as_one<'a>(
    statements: Vec<(Cow<'static, str>, Vec<Value<'a>>)>,
) -> (Cow<'static, str>, Vec<Value<'a>>) {
    let (mut text, mut returned, mut values) = (String::from("WITH "), String::new(), Vec::new());
    for (place, (sql, parameters)) in statements.into_iter().enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        text.push_str(&format!("c{place} AS ("));
        renumber(&sql, values.len(), &mut text);
        text.push(')');
        if sql.contains("RETURNING") || sql.starts_with("SELECT") {
            returned.push_str(if returned.is_empty() { "" } else { " UNION ALL " });
            returned.push_str(&format!("SELECT * FROM c{place}"));
        }
        values.extend(parameters);
    }
    if returned.is_empty() {
        returned.push_str("SELECT 0::bigint WHERE FALSE");
    }
    text.push(' ');
    text.push_str(&returned);
    (Cow::Owned(text), values)
}

fn bind_all(arguments: Arguments, values: Vec<Value<'_>>) -> Arguments {
    values.into_iter().fold(arguments, |arguments, value| match value {
        Value::Text(text) => arguments.bind(text),
        Value::Organization(org_id) => arguments.bind_organization(org_id),
        Value::User(user_id) => arguments.bind_user(user_id),
        Value::Subject(subject) => arguments.bind(subject),
        Value::Integer(number) => arguments.bind(number),
        Value::Fraction(number) => arguments.bind(number),
        Value::Flag(flag) => arguments.bind(flag),
        Value::Json(json) => arguments.bind(json.map(Json)),
        Value::Lists(rows) => arguments.bind(rows),
    })
}

impl Tx {
    /// Applies the changes in order and gives the numbers that their queries and `RETURNING` clauses return.
    pub async fn apply(&mut self, changes: Changes<'_>) -> Result<Vec<i64>> {
        if changes.statements.is_empty() {
            return Ok(Vec::new());
        }
        let mut returned: Vec<(i64,)> = Vec::new();
        let numbered = changes.numbered;
        let needed = changes.needed;
        let changes = changes.rendered(self.engine());
        let statements = match self.engine() {
            Engine::Sqlite => changes.statements,
            Engine::Postgres => changes.for_postgres(self.is_spread()),
        };
        for (sql, values) in statements {
            let arguments = bind_all(self.arguments(), values);
            let sql = AssertSqlSafe(sql).into_sql_str();
            returned.extend(self.fetch_all::<(i64,)>(sql, arguments).await?);
        }
        let mut returned: Vec<i64> = returned.into_iter().map(|(number,)| number).collect();
        if let Some(otherwise) = needed {
            let found = returned.iter().position(|number| *number == IS_FOUND);
            returned.remove(found.ok_or_else(otherwise)?);
        }
        if let Some(Numbered { rows, .. }) = numbered {
            // RETURNING promises no order.
            returned.get_mut(..rows).unwrap_or_default().sort_unstable();
        }
        Ok(returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_statements_become_one_after_the_others() {
        let mut changes = Changes::default();
        changes.add("UPDATE t SET a = $1", vec![1.into()]);
        changes.together();
        changes.add("INSERT INTO u VALUES ($1) RETURNING id", vec![2.into()]);
        changes.add("INSERT INTO v VALUES ($1, $2)", vec![3.into(), 4.into()]);
        let texts: Vec<_> = changes
            .for_postgres(false)
            .into_iter()
            .map(|(sql, values)| (sql, values.len()))
            .collect();
        let texts: Vec<_> = texts.iter().map(|(sql, count)| (sql.as_ref(), *count)).collect();
        assert_eq!(
            texts,
            [
                ("UPDATE t SET a = $1", 1),
                (
                    "WITH c0 AS (INSERT INTO u VALUES ($1) RETURNING id), \
                     c1 AS (INSERT INTO v VALUES ($2, $3)) SELECT * FROM c0",
                    3
                ),
            ]
        );
    }
}
