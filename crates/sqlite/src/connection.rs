//! A connection, and what it is opened with.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{CachedStatement, OpenFlags, Statement};
use sqlx_core::error::Error;
use sqlx_core::from_row::FromRow;

use crate::arguments::SqliteArguments;
use crate::error;
use crate::row::{SqliteRow, columns};

/// How long a statement waits for another process's lock.
const BUSY: Duration = Duration::from_secs(10);
/// Statements that a connection keeps prepared.
const KEPT_STATEMENTS: usize = 256;

/// A file, and the settings of its connections.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    path: PathBuf,
    creates: bool,
    pragmas: Vec<(&'static str, &'static str)>,
}

impl SqliteOptions {
    /// A file that must be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        SqliteOptions { path: path.into(), creates: false, pragmas: Vec::new() }
    }

    /// Makes the file if it is not there.
    #[must_use]
    pub fn or_create(self) -> Self {
        SqliteOptions { creates: true, ..self }
    }

    /// A setting of each connection, made in the order given.
    #[must_use]
    pub fn pragma(mut self, name: &'static str, value: &'static str) -> Self {
        self.pragmas.push((name, value));
        self
    }

    pub fn open(&self) -> Result<SqliteConnection, Error> {
        // A connection is used by one thread at a time; SQLite need not see to that.
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, self.creates);
        let opened = rusqlite::Connection::open_with_flags(&self.path, flags);
        let mut conn = SqliteConnection { inner: opened.map_err(error::from)? };
        conn.inner.busy_timeout(BUSY).map_err(error::from)?;
        conn.inner.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        for (name, value) in &self.pragmas {
            conn.run(&format!("PRAGMA {name} = {value}"))?;
        }
        Ok(conn)
    }
}

/// Runs statements on the thread that calls.
#[derive(Debug)]
pub struct SqliteConnection {
    inner: rusqlite::Connection,
}

impl SqliteConnection {
    /// Runs one statement without parameters; its rows are dropped.
    pub fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.execute(sql, SqliteArguments::default()).map(drop)
    }

    /// Runs statements one after the other.
    pub fn run_script(&mut self, script: &str) -> Result<(), Error> {
        self.inner.execute_batch(script).map_err(error::from)
    }

    /// Runs a statement, and gives the number of rows that it changed.
    pub fn execute(&mut self, sql: &str, arguments: SqliteArguments) -> Result<u64, Error> {
        let mut statement = self.prepare(sql, &arguments).map_err(error::from)?;
        let mut rows = statement.raw_query();
        while rows.next().map_err(error::from)?.is_some() {}
        drop(rows);
        drop(statement);
        Ok(self.inner.changes())
    }

    /// Hands the rows of a statement to `take` as they are found.
    pub fn each_row(
        &mut self,
        sql: &str,
        arguments: SqliteArguments,
        take: &mut dyn FnMut(SqliteRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = self.prepare(sql, &arguments).map_err(error::from)?;
        let columns = columns(&statement.column_names());
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(error::from)? {
            take(SqliteRow::copy(&columns, row).map_err(error::from)?)?;
        }
        Ok(())
    }

    /// The first row of a statement. All that a statement changes, it has changed before its first row.
    pub fn first_row(
        &mut self,
        sql: &str,
        arguments: SqliteArguments,
    ) -> Result<Option<SqliteRow>, Error> {
        let mut statement = self.prepare(sql, &arguments).map_err(error::from)?;
        let columns = columns(&statement.column_names());
        let mut rows = statement.raw_query();
        let row = rows.next().map_err(error::from)?;
        row.map(|row| SqliteRow::copy(&columns, row)).transpose().map_err(error::from)
    }

    /// All rows of a statement without parameters.
    pub fn fetch<T>(&mut self, sql: &str) -> Result<Vec<T>, Error>
    where
        T: for<'r> FromRow<'r, SqliteRow>,
    {
        let mut found = Vec::new();
        self.each_row(sql, SqliteArguments::default(), &mut |row| {
            found.push(T::from_row(&row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Number of rows of a statement without parameters.
    pub fn count_rows(&mut self, sql: &str) -> Result<usize, Error> {
        let mut count = 0;
        self.each_row(sql, SqliteArguments::default(), &mut |_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// Closes the connection; dropping it does so as well, without telling of errors.
    pub fn end(self) -> Result<(), Error> {
        self.inner.close().map_err(|(_, e)| error::from(e))
    }

    fn prepare(
        &self,
        sql: &str,
        arguments: &SqliteArguments,
    ) -> rusqlite::Result<CachedStatement<'_>> {
        let mut statement = self.inner.prepare_cached(sql)?;
        for place in 1..=statement.parameter_count() {
            if let Some(value) = number_of(&statement, place).and_then(|n| arguments.0.get(n - 1)) {
                statement.raw_bind_parameter(place, value)?;
            }
        }
        Ok(statement)
    }
}

/// The `N` of a parameter that is named `$N` or `?N`; of a plain `?` its place.
fn number_of(statement: &Statement<'_>, place: usize) -> Option<usize> {
    match statement.parameter_name(place) {
        Some(name) => name.get(1..)?.parse().ok().filter(|number| *number > 0),
        None => Some(place),
    }
}

#[cfg(test)]
mod tests {
    use sqlx_core::arguments::Arguments as _;
    use sqlx_core::row::Row as _;
    use sqlx_core::types::Json;
    use uuid::Uuid;

    use super::*;

    fn connection() -> (tempfile::TempDir, SqliteConnection) {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("test.db")).or_create();
        let conn = options.pragma("foreign_keys", "ON").open().unwrap();
        (folder, conn)
    }

    macro_rules! values {
        () => {
            SqliteArguments::default()
        };
        ($($value:expr),+) => {{
            let mut values = SqliteArguments::default();
            $(values.add($value).unwrap();)+
            values
        }};
    }

    #[test]
    fn values_come_back_as_they_were_given() {
        type Found = (i64, f64, String, Vec<u8>, bool, Uuid, Json<Vec<i64>>, Option<String>);
        let (_folder, mut conn) = connection();
        let uuid = Uuid::from_u128(7);
        let values =
            values!(-1, 0.5, "text", vec![0_u8, 255], true, uuid, Json([1, 2]), None::<String>);
        let row = conn.first_row("SELECT $1, $2, $3, $4, $5, $6, $7, $8", values).unwrap().unwrap();
        let found = Found::from_row(&row).unwrap();
        let given = (-1, 0.5, "text".into(), vec![0, 255], true, uuid, Json(vec![1, 2]), None);
        assert_eq!(found, given);
    }

    #[test]
    fn parameters_are_found_by_their_number_and_may_be_too_many() {
        let (_folder, mut conn) = connection();
        let row = conn.first_row("SELECT $2 AS b, $1 AS a, $2 AS c", values!(1, 2, 3)).unwrap();
        let row = row.unwrap();
        let by_name = |name| row.try_get::<i64, _>(name).unwrap();
        assert_eq!((by_name("a"), by_name("b"), by_name("c")), (1, 2, 2));
        assert!(row.try_get::<i64, _>("d").is_err());
        let row = conn.first_row("SELECT $1 IS NULL", values!()).unwrap().unwrap();
        assert!(row.try_get::<bool, _>(0).unwrap(), "a value that was not given is NULL");
    }

    #[test]
    fn a_value_of_another_kind_is_an_error() {
        let (_folder, mut conn) = connection();
        let row = conn.first_row("SELECT 'one', 1, 1.5, NULL", values!()).unwrap().unwrap();
        assert!(row.try_get::<i64, _>(0).is_err());
        assert!(row.try_get::<String, _>(1).is_err());
        assert!(row.try_get::<i64, _>(2).is_err());
        assert!(row.try_get::<i64, _>(3).is_err());
        assert_eq!(row.try_get::<f64, _>(1).unwrap(), 1.0, "whole numbers are fractions as well");
    }

    #[test]
    fn errors_have_the_code_of_sqlite_and_leave_the_connection_usable() {
        let (_folder, mut conn) = connection();
        conn.run("CREATE TABLE t (a INTEGER PRIMARY KEY)").unwrap();
        assert_eq!(conn.execute("INSERT INTO t VALUES ($1), ($2)", values!(1, 2)).unwrap(), 2);
        let error = conn.execute("INSERT INTO t VALUES (1)", values!()).unwrap_err();
        let error = error.into_database_error().unwrap();
        assert_eq!(error.code().as_deref(), Some("1555"));
        assert!(error.is_unique_violation());
        assert!(conn.run("SELECT nothing").is_err());
        assert_eq!(conn.count_rows("SELECT a FROM t").unwrap(), 2);
    }

    #[test]
    fn a_reader_that_stops_leaves_the_statement_ready_for_the_next_one() {
        let (_folder, mut conn) = connection();
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT i FROM n";
        let mut seen = 0;
        let stopped = conn.each_row(numbers, values!(), &mut |_| {
            seen += 1;
            if seen == 2 { Err(Error::RowNotFound) } else { Ok(()) }
        });
        assert!(matches!(stopped, Err(Error::RowNotFound)));
        assert_eq!(conn.fetch::<(i64,)>(numbers).unwrap().len(), 5);
    }
}
