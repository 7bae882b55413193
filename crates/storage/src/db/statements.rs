//! Statements: bound values in, rows out, on either engine.
//!
//! The service makes some five hundred calls through [`rows!`](crate::rows), [`row!`](crate::row) and
//! [`run!`](crate::run). Only encoding a value and decoding a row depends on a type and is compiled once for each;
//! sending the statement and receiving its rows is compiled once for each engine.

use futures_util::TryStreamExt as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, Encode, FromRow, Postgres, SqlStr, Sqlite, Type};

use super::{Tx, Work};
use crate::error::{Error, Result};

/// The values of a statement's `$1`, `$2` …, encoded for the engine it will run on.
pub struct Arguments(std::result::Result<Encoded, BoxDynError>);

enum Encoded {
    Sqlite(SqliteArguments),
    Postgres(PgArguments),
}

impl Arguments {
    /// Adds the value of the next parameter. One that cannot be encoded fails the statement.
    #[must_use]
    pub fn bind<'v, T>(mut self, value: T) -> Self
    where
        T: Encode<'v, Sqlite> + Type<Sqlite> + Encode<'v, Postgres> + Type<Postgres>,
    {
        let added = match &mut self.0 {
            Ok(Encoded::Sqlite(values)) => values.add(value),
            Ok(Encoded::Postgres(values)) => values.add(value),
            Err(_) => return self,
        };
        match added {
            Ok(()) => self,
            Err(error) => Arguments(Err(error)),
        }
    }
}

/// A row that either engine found.
enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Row::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Row::Postgres(row)
    }
}

/// A type that a row of either engine is read into.
pub trait Decode:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}
impl<T> Decode for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl Row {
    fn decode<T: Decode>(&self) -> sqlx::Result<T> {
        match self {
            Row::Sqlite(row) => T::from_row(row),
            Row::Postgres(row) => T::from_row(row),
        }
    }
}

/// Runs one expression on the query and the connection of whichever engine the transaction is of.
macro_rules! with_query {
    ($tx:expr, $statement:expr, $arguments:expr, |$query:ident, $conn:ident| $body:expr) => {{
        let keeps = $tx.keeps_statements();
        match ($tx, $arguments.0.map_err(sqlx::Error::Encode)?) {
            (Tx::Sqlite(tx), Encoded::Sqlite(values)) => {
                let $query = sqlx::query_with($statement, values).persistent(keeps);
                let $conn = &mut **tx;
                $body
            }
            (Tx::Postgres(tx), Encoded::Postgres(values)) => {
                let $query = sqlx::query_with($statement, values).persistent(keeps);
                let $conn = &mut **tx;
                $body
            }
            _ => return Err(Error::Internal("values were bound for the other engine".to_owned())),
        }
    }};
}

impl Tx {
    /// No values yet.
    pub fn arguments(&self) -> Arguments {
        Arguments(Ok(match self {
            Tx::Sqlite(_) => Encoded::Sqlite(SqliteArguments::default()),
            Tx::Postgres(_) => Encoded::Postgres(PgArguments::default()),
        }))
    }

    pub async fn fetch_all<T: Decode>(
        &mut self,
        statement: SqlStr,
        arguments: Arguments,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each_row(statement, arguments, &mut |row| {
            found.push(row.decode()?);
            Ok(())
        })
        .await?;
        Ok(found)
    }

    pub async fn fetch_optional<T: Decode>(
        &mut self,
        statement: SqlStr,
        arguments: Arguments,
    ) -> Result<Option<T>> {
        match self.first_row(statement, arguments).await? {
            Some(row) => Ok(Some(row.decode()?)),
            None => Ok(None),
        }
    }

    /// Gives the number of rows that the statement touched.
    pub fn execute(&mut self, statement: SqlStr, arguments: Arguments) -> Work<'_, u64> {
        Box::pin(async move {
            Ok(with_query!(self, statement, arguments, |query, conn| {
                query.execute(conn).await?.rows_affected()
            }))
        })
    }

    fn each_row<'t>(
        &'t mut self,
        statement: SqlStr,
        arguments: Arguments,
        take: &'t mut (dyn FnMut(Row) -> sqlx::Result<()> + Send),
    ) -> Work<'t, ()> {
        Box::pin(async move {
            with_query!(self, statement, arguments, |query, conn| {
                let mut rows = query.fetch(conn);
                while let Some(row) = rows.try_next().await? {
                    take(row.into())?;
                }
            });
            Ok(())
        })
    }

    fn first_row(&mut self, statement: SqlStr, arguments: Arguments) -> Work<'_, Option<Row>> {
        Box::pin(async move {
            Ok(with_query!(self, statement, arguments, |query, conn| {
                query.fetch_optional(conn).await?.map(Row::from)
            }))
        })
    }
}

/// A statement that is kept in a variable: one with an unknown fragment does not compile.
#[macro_export]
macro_rules! statement {
    ($sql:expr) => {
        const { $crate::db::checked($sql) }
    };
}

/// All rows: `rows!(tx, Row, "SELECT …", a, b)`, or with a variable from [`statement!`](crate::statement).
#[macro_export]
macro_rules! rows {
    ($tx:expr, $row:ty, $sql:ident $(, $bind:expr)* $(,)?) => {{
        let (sql, arguments) = ($tx.sql($sql), $tx.arguments()$(.bind($bind))*);
        $tx.fetch_all::<$row>(sql, arguments).await
    }};
    ($tx:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let sql = $crate::statement!($sql);
        $crate::rows!($tx, $row, sql $(, $bind)*)
    }};
}

/// One row or none: `row!(tx, Row, "SELECT …", a, b)`.
#[macro_export]
macro_rules! row {
    ($tx:expr, $row:ty, $sql:ident $(, $bind:expr)* $(,)?) => {{
        let (sql, arguments) = ($tx.sql($sql), $tx.arguments()$(.bind($bind))*);
        $tx.fetch_optional::<$row>(sql, arguments).await
    }};
    ($tx:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let sql = $crate::statement!($sql);
        $crate::row!($tx, $row, sql $(, $bind)*)
    }};
}

/// A statement without rows; gives the number of rows it touched.
#[macro_export]
macro_rules! run {
    ($tx:expr, $sql:ident $(, $bind:expr)* $(,)?) => {{
        let (sql, arguments) = ($tx.sql($sql), $tx.arguments()$(.bind($bind))*);
        $tx.execute(sql, arguments).await
    }};
    ($tx:expr, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let sql = $crate::statement!($sql);
        $crate::run!($tx, sql $(, $bind)*)
    }};
}
