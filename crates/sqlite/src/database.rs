//! [`Sqlite`] as a `Database` of sqlx, which `Encode`, `Decode` and `FromRow` need.
//!
//! Its values and rows are real. Connections, transactions and statements that sqlx would manage do not exist
//! ([`Nothing`]): [`SqliteConnection`](crate::SqliteConnection) runs statements without sqlx.

use std::convert::Infallible;
use std::future::Ready;
use std::str::FromStr;
use std::time::Duration;

use log::LevelFilter;
use sqlx_core::Either;
use sqlx_core::connection::{ConnectOptions, Connection};
use sqlx_core::database::Database;
use sqlx_core::error::Error;
use sqlx_core::sql_str::SqlStr;
use sqlx_core::statement::Statement;
use sqlx_core::transaction::{Transaction, TransactionManager};
use url::Url;

use crate::arguments::{SqliteArgument, SqliteArguments};
use crate::row::{SqliteColumn, SqliteRow, SqliteTypeInfo, SqliteValue, SqliteValueRef};

/// The database as sqlx's types know it.
#[derive(Debug)]
pub struct Sqlite;

impl Database for Sqlite {
    type Connection = Nothing;
    type TransactionManager = Nothing;
    type Row = SqliteRow;
    type QueryResult = Changed;
    type Column = SqliteColumn;
    type TypeInfo = SqliteTypeInfo;
    type Value = SqliteValue;
    type ValueRef<'r> = SqliteValueRef<'r>;
    type Arguments = SqliteArguments;
    type ArgumentBuffer = Vec<SqliteArgument>;
    type Statement = Nothing;

    const NAME: &'static str = "SQLite";
    const URL_SCHEMES: &'static [&'static str] = &["sqlite"];
}

/// Number of rows that statements changed.
#[derive(Debug, Default)]
pub struct Changed(pub u64);

impl Extend<Changed> for Changed {
    fn extend<I: IntoIterator<Item = Changed>>(&mut self, others: I) {
        self.0 += others.into_iter().map(|changed| changed.0).sum::<u64>();
    }
}

/// A connection, statement or setting of sqlx, of which there is none.
#[derive(Clone, Debug)]
pub struct Nothing(Infallible);

type Done = Ready<Result<(), Error>>;

#[allow(refining_impl_trait)] // a future of nothing has to be some type
impl TransactionManager for Nothing {
    type Database = Sqlite;

    fn begin(conn: &mut Nothing, _statement: Option<SqlStr>) -> Done {
        match conn.0 {}
    }

    fn commit(conn: &mut Nothing) -> Done {
        match conn.0 {}
    }

    fn rollback(conn: &mut Nothing) -> Done {
        match conn.0 {}
    }

    fn start_rollback(conn: &mut Nothing) {
        match conn.0 {}
    }

    fn get_transaction_depth(conn: &Nothing) -> usize {
        match conn.0 {}
    }
}

#[allow(refining_impl_trait)]
impl Connection for Nothing {
    type Database = Sqlite;
    type Options = Nothing;

    fn close(self) -> Done {
        match self.0 {}
    }

    fn close_hard(self) -> Done {
        match self.0 {}
    }

    fn ping(&mut self) -> Done {
        match self.0 {}
    }

    fn begin(&mut self) -> Ready<Result<Transaction<'_, Sqlite>, Error>> {
        match self.0 {}
    }

    fn shrink_buffers(&mut self) {
        match self.0 {}
    }

    fn flush(&mut self) -> Done {
        match self.0 {}
    }

    fn should_flush(&self) -> bool {
        match self.0 {}
    }
}

impl FromStr for Nothing {
    type Err = Error;

    fn from_str(_text: &str) -> Result<Self, Error> {
        Err(Error::Configuration("SqliteOptions opens files of SQLite".into()))
    }
}

#[allow(refining_impl_trait)]
impl ConnectOptions for Nothing {
    type Connection = Nothing;

    fn from_url(url: &Url) -> Result<Self, Error> {
        url.as_str().parse()
    }

    fn connect(&self) -> Ready<Result<Nothing, Error>> {
        match self.0 {}
    }

    fn log_statements(self, _level: LevelFilter) -> Self {
        match self.0 {}
    }

    fn log_slow_statements(self, _level: LevelFilter, _duration: Duration) -> Self {
        match self.0 {}
    }
}

impl Statement for Nothing {
    type Database = Sqlite;

    fn into_sql(self) -> SqlStr {
        match self.0 {}
    }

    fn sql(&self) -> &SqlStr {
        match self.0 {}
    }

    fn parameters(&self) -> Option<Either<&[SqliteTypeInfo], usize>> {
        match self.0 {}
    }

    fn columns(&self) -> &[SqliteColumn] {
        match self.0 {}
    }

    sqlx_core::impl_statement_query!(SqliteArguments);
}
