//! The few places where the engines' SQL differs, each under a name.
//!
//! SQL texts write a fragment as `{name:$1}`, with its parameter; [`Tx::sql`] puts in the engine's
//! own words.
#![allow(clippy::disallowed_types)] // dynamic SQL lives here: the place the ban points to

use base::words::TextTerm;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;

#[allow(clippy::disallowed_types)] // the place the ban points to
use sqlx::AssertSqlSafe;
use sqlx::{SqlSafeStr, SqlStr};

use super::{Arguments, Decode, Tx};
use crate::error::{Error, Result};
use base::owner::{OrgId, UserId};

base::vocabulary! {
    /// Database engine.
    pub enum Engine {
        Sqlite = "sqlite",
        Postgres = "postgres",
    }
}

const USER_OF: &str =
    "(SELECT u.user_id FROM subjects u WHERE u.org_id = ?.org_id AND u.subject = ?.subject)";

/// `(name, SQLite, PostgreSQL)`; `?` stands for the fragment's parameter, which may hold further fragments.
pub const FRAGMENTS: &[(&str, &str, &str)] = &[
    // Row locks: `{lock:SHARE}`. Writers on SQLite are alone, so there is nothing to lock.
    ("lock", "", "FOR ?"),
    // The items of a JSON list bound as one text, in the column `value`: of texts, of integers, and of lists or
    // objects, whose items are `value ->> 0`, or `value ->> 'name'`.
    (
        "texts",
        "(SELECT value FROM json_each(?))",
        "(SELECT value FROM jsonb_array_elements_text(?::jsonb))",
    ),
    (
        "integers",
        "(SELECT value FROM json_each(?))",
        "(SELECT CAST(value AS BIGINT) AS value FROM jsonb_array_elements_text(?::jsonb))",
    ),
    (
        "lists",
        // Binary: as text, every look at an item would parse the whole of its list again.
        "(SELECT value FROM jsonb_each(?))",
        "(SELECT value FROM jsonb_array_elements(?::jsonb))",
    ),
    // Full text, by a query from `Tx::any_of`: `FROM {found_in:t} WHERE {matches:$1}` gives the rows `b` of a table t
    // that has a column of terms, and `{found:key}` their key, by which the index is sorted. CROSS JOIN: the index
    // first, then the rows.
    ("found_in", "?_index i CROSS JOIN ? b ON b.rowid = i.rowid", "? b"),
    ("matches", "i.terms MATCH ?", "b.document @@ (?)::tsquery"),
    ("found", "i.rowid", "b.?"),
    // All rows as one JSON list of lists, and all values of one column as a JSON list.
    (
        "json_rows",
        "json_group_array(json_array(?))",
        "COALESCE(json_agg(json_build_array(?)), '[]'::json)",
    ),
    ("json_values", "json_group_array(?)", "COALESCE(jsonb_agg(?), '[]'::jsonb)"),
    // Whether the row `b` has any tag of a JSON list.
    (
        "tagged",
        "EXISTS (SELECT value FROM json_each(b.tags) INTERSECT SELECT value FROM json_each(?))",
        "jsonb_exists_any(b.tags, ARRAY(SELECT value FROM jsonb_array_elements_text(?::jsonb)))",
    ),
    // The bytes of one column in all rows, one after the other; null if no row has any.
    ("joined", "CAST(group_concat(?, '') AS BLOB)", "string_agg(?, ''::bytea)"),
    // Subjects: the user id of a row of table `t` by `{user_of:t}`; a subject from its digits, all of a JSON list of
    // digits, and the digits of one.
    ("user_of", USER_OF, USER_OF),
    ("subject", "unhex(?)", "CAST(? AS UUID)"),
    (
        "subjects",
        "(SELECT unhex(value) FROM json_each(?))",
        "(SELECT CAST(value AS UUID) FROM jsonb_array_elements_text(?::jsonb))",
    ),
    ("digits", "lower(hex(?))", "replace(CAST(? AS TEXT), '-', '')"),
];

/// The statement, if all its fragments are known; else the program does not compile. `{rows}` is that of
/// [`Changes::add_rows`](super::Changes::add_rows).
pub const fn checked(statement: &'static str) -> &'static str {
    assert!(knows_fragments(statement), "a statement names a fragment that is not in FRAGMENTS");
    statement
}

/// [`checked`] for a statement that is put together when the program starts.
pub fn composed(statement: String) -> String {
    assert!(knows_fragments(&statement), "unknown fragment in {statement}");
    statement
}

const fn knows_fragments(statement: &str) -> bool {
    let bytes = statement.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{' {
            let start = at + 1;
            let mut end = start;
            while end < bytes.len() && (bytes[end].is_ascii_lowercase() || bytes[end] == b'_') {
                end += 1;
            }
            // Braces without a name are those of a JSON text.
            if end > start && !is_fragment(bytes, start, end) {
                return false;
            }
            at = end;
        } else {
            at += 1;
        }
    }
    true
}

const fn is_fragment(bytes: &[u8], start: usize, end: usize) -> bool {
    let mut index = 0;
    while index < FRAGMENTS.len() {
        let name = FRAGMENTS[index].0.as_bytes();
        let mut same = 0;
        while same < name.len() && start + same < end && name[same] == bytes[start + same] {
            same += 1;
        }
        if same == name.len() && same == end - start {
            return true;
        }
        index += 1;
    }
    false
}

impl Tx {
    pub fn engine(&self) -> Engine {
        match self {
            Tx::Sqlite(_) => Engine::Sqlite,
            Tx::Postgres(_) => Engine::Postgres,
        }
    }

    /// True if the connection may keep prepared statements for the next transaction.
    pub fn keeps_statements(&self) -> bool {
        match self {
            Tx::Sqlite(_) => true,
            Tx::Postgres(tx) => tx.keeps_statements,
        }
    }

    /// The statement in this engine's words.
    pub fn sql(&self, text: &'static str) -> SqlStr {
        rendered(self.engine(), text).into_sql_str()
    }

    /// Runs statements that are put together from compiled-in parts: migrations and generated triggers.
    pub async fn run_script(&mut self, script: String) -> Result<()> {
        match self {
            Tx::Sqlite(tx) => tx.connection()?.run_script(&script)?,
            Tx::Postgres(tx) => {
                sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut **tx).await?;
            }
        }
        Ok(())
    }

    /// Runs a statement that is put together from compiled-in names and gives how many rows it changed.
    pub async fn change(&mut self, statement: String, arguments: Arguments) -> Result<u64> {
        self.execute(AssertSqlSafe(statement).into_sql_str(), arguments).await
    }

    /// The rows that a query of compiled-in names gives.
    pub async fn list<T: Decode>(&mut self, query: String, arguments: Arguments) -> Result<Vec<T>> {
        self.fetch_all(AssertSqlSafe(query).into_sql_str(), arguments).await
    }

    /// The one number that a query of compiled-in names gives.
    pub async fn number(&mut self, query: String, arguments: Arguments) -> Result<u64> {
        let found: Option<(i64,)> =
            self.fetch_optional(AssertSqlSafe(query).into_sql_str(), arguments).await?;
        Ok(found.and_then(|(number,)| u64::try_from(number).ok()).unwrap_or(0))
    }

    /// Hands the texts that a query of compiled-in names about a person (`$1` the organization, `$2` the subject) gives
    /// to `sink` as they come, without keeping them.
    pub async fn stream_texts(
        &mut self,
        query: String,
        org_id: &OrgId,
        user_id: &UserId,
        sink: &mut dyn TextSink,
    ) -> Result<()> {
        let subject = self.subject(org_id, user_id);
        match self {
            Tx::Sqlite(tx) => tx.stream_texts(query, org_id.clone(), subject, sink).await,
            Tx::Postgres(tx) => {
                let keeps = tx.keeps_statements;
                let query = sqlx::query_as::<_, (String,)>(AssertSqlSafe(query)).persistent(keeps);
                let mut rows = query.bind(org_id.as_str()).bind(subject).fetch(&mut **tx);
                while let Some((text,)) = rows.try_next().await? {
                    sink.take(text).await?;
                }
                Ok(())
            }
        }
    }

    /// The columns of a table with their types (lower case), in order.
    pub async fn columns_of(&mut self, table: &'static str) -> Result<Vec<(String, String)>> {
        let sql = match self.engine() {
            Engine::Sqlite => "SELECT name, lower(type) FROM pragma_table_info($1) ORDER BY cid",
            Engine::Postgres => {
                "SELECT column_name::text, data_type::text FROM information_schema.columns
                 WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"
            }
        };
        crate::rows!(self, (String, String), sql, table)
    }

    /// The names of all tables, or of all triggers, in this database.
    pub async fn names_of(&mut self, kind: Objects) -> Result<Vec<String>> {
        let sql = match (self.engine(), kind) {
            (Engine::Sqlite, Objects::Tables) => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            }
            (Engine::Sqlite, Objects::Triggers) => {
                "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
            }
            (Engine::Postgres, Objects::Tables) => {
                "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
            }
            (Engine::Postgres, Objects::Triggers) => {
                "SELECT tgname::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                 WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace ORDER BY tgname"
            }
        };
        Ok(crate::rows!(self, (String,), sql)?.into_iter().map(|(name,)| name).collect())
    }

    /// A full-text query for rows that have any of these terms. Of ASCII, terms have letters and digits only.
    pub fn any_of<'q>(&self, terms: impl Iterator<Item = &'q TextTerm>) -> String {
        let mut query = String::new();
        for TextTerm { text, prefix } in terms {
            debug_assert!(text.chars().all(|c| !c.is_ascii() || c.is_ascii_alphanumeric()));
            let (or, quote, star) = match self.engine() {
                Engine::Sqlite => (" OR ", '"', "*"),
                Engine::Postgres => (" | ", '\'', ":*"),
            };
            if !query.is_empty() {
                query.push_str(or);
            }
            query.push(quote);
            query.push_str(text);
            query.push(quote);
            if *prefix {
                query.push_str(star);
            }
        }
        query
    }

    /// Takes `count` numbers of a sequence, in growing order.
    pub async fn next_numbers(&mut self, sequence: Sequence, count: usize) -> Result<Vec<i64>> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        match self.engine() {
            Engine::Sqlite => {
                let sql = "UPDATE sequences SET next = next + $2 WHERE name = $1 RETURNING next";
                let (next,) = crate::row!(self, (i64,), sql, sequence.name(), count)?
                    .ok_or_else(|| Error::Internal(format!("no sequence {}", sequence.name())))?;
                Ok((next - count..next).collect())
            }
            Engine::Postgres => {
                let sql = "SELECT nextval(($1 || '_number')::regclass) FROM generate_series(1, $2)";
                let numbers = crate::rows!(self, (i64,), sql, sequence.name(), count)?;
                Ok(numbers.into_iter().map(|(number,)| number).collect())
            }
        }
    }
}

/// The receiver of a stream of texts; the stream goes as fast as it takes them.
pub trait TextSink: Send {
    fn take(&mut self, text: String) -> BoxFuture<'_, Result<()>>;
}

/// Numbers that must be known before their rows are written: the full-text index is made of them.
#[derive(Clone, Copy)]
pub enum Sequence {
    Profiles,
    UserPlaybooks,
    AgentPlaybooks,
    Scopes,
}

impl Sequence {
    fn name(self) -> &'static str {
        match self {
            Sequence::Profiles => "profiles",
            Sequence::UserPlaybooks => "user_playbooks",
            Sequence::AgentPlaybooks => "agent_playbooks",
            Sequence::Scopes => "scopes",
        }
    }
}

#[derive(Clone, Copy)]
pub enum Objects {
    Tables,
    Triggers,
}

/// The text with `{rows}` written out for `rows` rows of `columns` parameters: `($1, $2), ($3, $4)`.
pub(super) fn for_rows(text: &str, columns: usize, rows: usize) -> String {
    let mut values = String::with_capacity(rows * columns * 6);
    for row in 0..rows {
        values.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=columns {
            values.push_str(if column == 1 { "$" } else { ", $" });
            values.push_str(&(row * columns + column).to_string());
        }
        values.push(')');
    }
    text.replace("{rows}", &values)
}

/// Appends the text to `out` with its parameters counted on from `offset`: `$1` becomes `$4` after three.
pub(super) fn renumber(text: &str, offset: usize, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        out.push('$');
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        // A dollar sign without a number is text, such as that of a JSON path.
        if let Ok(number) = after[..digits].parse::<usize>() {
            out.push_str(&(number + offset).to_string());
        }
        rest = &after[digits..];
    }
    out.push_str(rest);
}

/// The pattern for `LIKE … ESCAPE '\\'` that finds what a person typed anywhere.
pub fn like_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Texts in the words of an engine, by their place and length in the program.
type Known = BTreeMap<(usize, usize, Engine), &'static str>;

static KNOWN: RwLock<Known> = RwLock::new(BTreeMap::new());

/// The statements that this process sent so far, as tests of their plans need them.
#[must_use]
pub fn statements_sent(engine: Engine) -> Vec<&'static str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().filter(|((.., of), _)| *of == engine).map(|(_, text)| *text).collect()
}

/// [`render`], once for each text: there are as many as the program has, and they stay.
pub(super) fn rendered(engine: Engine, text: &'static str) -> &'static str {
    let key = (text.as_ptr().addr(), text.len(), engine);
    if let Some(known) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return known;
    }
    let words = match render(engine, text) {
        Cow::Borrowed(words) => words,
        Cow::Owned(words) => words.leak(),
    };
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(key, words);
    words
}

fn render(engine: Engine, text: &str) -> Cow<'_, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((fragment, after)) = split_at_end(after) else {
            break;
        };
        let (name, parameter) = fragment.split_once(':').unwrap_or((fragment, ""));
        out.push_str(before);
        match FRAGMENTS.iter().find(|(known, ..)| *known == name) {
            Some((_, sqlite, postgres)) => {
                let words = if engine == Engine::Sqlite { sqlite } else { postgres };
                let words = words.replace('?', &render(engine, parameter));
                if engine == Engine::Postgres && is_in_list(&out, name) {
                    // For a subquery PostgreSQL reads all rows that the other conditions leave; for an array it looks
                    // its items up in the index.
                    out.truncate(out.len() - "IN ".len());
                    out.push_str(&format!("= ANY (ARRAY{words})"));
                } else {
                    out.push_str(&words);
                }
            }
            None => out.push_str(&format!("{{{fragment}}}")),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// True if a list of values follows the word IN.
fn is_in_list(before: &str, name: &str) -> bool {
    matches!(name, "texts" | "integers" | "subjects")
        && before.ends_with(" IN ")
        && !before.ends_with(" NOT IN ")
}

/// A fragment up to the brace that closes it, and the text after that brace.
fn split_at_end(text: &str) -> Option<(&str, &str)> {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some((&text[..at], &text[at + 1..])),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// The message of the triggers in `governance/wall.rs`.
pub const WALL_MESSAGE: &str = "subject_wall";

pub(super) fn refused_by_wall(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|e| e.message().contains(WALL_MESSAGE))
}

pub(super) fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(e) => match e.code().as_deref() {
            // PostgreSQL: connections (08), resources such as disk and memory (53), shutdown (57P), I/O (58), and a
            // server that became a standby (25006).
            Some(code) if code.len() == 5 => {
                ["08", "53", "57P", "58", "25006"].iter().any(|class| code.starts_with(class))
            }
            // SQLite, the low byte of its extended codes: busy, locked, no memory, read-only, I/O, corrupt, full,
            // cannot open, not a database.
            Some(code) => {
                matches!(
                    code.parse::<u32>().map(|code| code & 0xff),
                    Ok(5..=8 | 10 | 11 | 13 | 14 | 26)
                )
            }
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_take_their_parameter() {
        let sql = "SELECT {json_rows:a, (SELECT {joined:b} FROM u)} FROM t {lock:SHARE}";
        assert_eq!(
            render(Engine::Sqlite, sql),
            "SELECT json_group_array(json_array(a, (SELECT CAST(group_concat(b, '') AS BLOB) FROM u))) FROM t "
        );
        assert_eq!(
            render(Engine::Postgres, sql),
            "SELECT COALESCE(json_agg(json_build_array(a, (SELECT string_agg(b, ''::bytea) FROM u))), '[]'::json) \
             FROM t FOR SHARE"
        );
        assert_eq!(
            render(Engine::Postgres, "a IN {integers:$1} AND b NOT IN {texts:$2}"),
            "a = ANY (ARRAY(SELECT CAST(value AS BIGINT) AS value FROM jsonb_array_elements_text($1::jsonb))) \
             AND b NOT IN (SELECT value FROM jsonb_array_elements_text($2::jsonb))"
        );
        assert!(matches!(render(Engine::Sqlite, "SELECT 1"), Cow::Borrowed(_)));
        assert!(knows_fragments(sql) && knows_fragments("SELECT '{}'"));
        assert!(!knows_fragments("SELECT 1 {for_ever}") && !knows_fragments("{tex:$1}"));
        assert!(FRAGMENTS.len() <= 15);
    }

    #[test]
    fn parameters_are_counted_on() {
        assert_eq!(
            for_rows("VALUES {rows} RETURNING id", 2, 2),
            "VALUES ($1, $2), ($3, $4) RETURNING id"
        );
        let mut text = String::from("A $1;");
        renumber("B $1, $2 AND $10 OR a ->> '$.b'", 1, &mut text);
        assert_eq!(text, "A $1;B $2, $3 AND $11 OR a ->> '$.b'");
    }

    #[test]
    fn typed_wildcards_are_letters() {
        assert_eq!(like_pattern("50%_a\\"), "%50\\%\\_a\\\\%");
    }
}
