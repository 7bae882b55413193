//! Statements: bound values in, rows out, on either engine.
//!
//! The service makes some five hundred calls through [`rows!`](crate::rows), [`row!`](crate::row) and
//! [`run!`](crate::run). Only encoding a value and decoding a row depends on a type and is compiled once for each;
//! sending the statement and receiving its rows is compiled once for each engine.

use futures_util::TryStreamExt as _;
use sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, Encode, FromRow, Postgres, SqlStr, Type};

use super::{Held, Subject, SubjectHash, Tx, Work};
use crate::error::{Error, Result};
use crate::subjects::SubjectWrite;
use base::owner::{OrgId, UserId};

/// The values of a statement's `$1`, `$2` …, encoded for the engine it will run on.
///
/// A person's rows are found by their subject: where a statement is given a [`UserId`], it gets the subject of that user
/// in the organization that it was given before.
pub struct Arguments {
    encoded: std::result::Result<Encoded, BoxDynError>,
    subjects: SubjectHash,
    org_id: Option<OrgId>,
}

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
        let added = match &mut self.encoded {
            Ok(Encoded::Sqlite(values)) => values.add(value),
            Ok(Encoded::Postgres(values)) => values.add(value),
            Err(_) => return self,
        };
        if let Err(error) = added {
            self.encoded = Err(error);
        }
        self
    }

    /// [`Arguments::bind`] for an organization. Users that follow are users of this one.
    #[must_use]
    pub fn bind_organization(mut self, org_id: &OrgId) -> Self {
        self.org_id = Some(org_id.clone());
        self.bind(org_id.as_str())
    }

    /// [`Arguments::bind`] for the subject of a user, or for NULL.
    #[must_use]
    pub fn bind_user(mut self, user_id: Option<&UserId>) -> Self {
        let subject = match (user_id, &self.org_id) {
            (None, _) => None,
            (Some(user_id), Some(org_id)) => Some(self.subjects.subject(org_id, user_id)),
            (Some(_), None) => {
                self.encoded = Err("a statement names a user before the organization".into());
                None
            }
        };
        self.bind(subject)
    }
}

/// A value on its way into a statement. Which of the traits below binds it depends on its type: method resolution
/// finds those that take it by value, for users and organizations, before the one that takes it by reference.
pub struct Bound<T>(pub T);

pub trait BindUser {
    fn add_to(self, arguments: Arguments) -> Arguments;
}

pub trait BindOrganization {
    fn add_to(self, arguments: Arguments) -> Arguments;
}

pub trait BindValue {
    fn add_to(self, arguments: Arguments) -> Arguments;
}

/// Lets the macros bind every form in which a statement is given a user or an organization.
macro_rules! bind_as {
    ($trait:ident: $($form:ty, |$arguments:ident, $value:ident| $body:expr;)+) => {
        $(impl $trait for Bound<$form> {
            fn add_to(self, $arguments: Arguments) -> Arguments {
                let $value = self.0;
                $body
            }
        })+
    };
}

bind_as! { BindUser:
    UserId, |arguments, user| arguments.bind_user(Some(&user));
    &UserId, |arguments, user| arguments.bind_user(Some(user));
    &&UserId, |arguments, user| arguments.bind_user(Some(user));
    Option<UserId>, |arguments, user| arguments.bind_user(user.as_ref());
    Option<&UserId>, |arguments, user| arguments.bind_user(user);
    &Option<UserId>, |arguments, user| arguments.bind_user(user.as_ref());
    &Option<&UserId>, |arguments, user| arguments.bind_user(*user);
}

bind_as! { BindOrganization:
    OrgId, |arguments, org_id| arguments.bind_organization(&org_id);
    &OrgId, |arguments, org_id| arguments.bind_organization(org_id);
    &&OrgId, |arguments, org_id| arguments.bind_organization(org_id);
    Option<&OrgId>, |arguments, org_id| match org_id {
        Some(org_id) => arguments.bind_organization(org_id),
        None => arguments.bind(None::<&str>),
    };
}

impl<'v, T> BindValue for &'v Bound<T>
where
    &'v T: Encode<'v, Sqlite> + Type<Sqlite> + Encode<'v, Postgres> + Type<Postgres>,
{
    fn add_to(self, arguments: Arguments) -> Arguments {
        arguments.bind(&self.0)
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

/// A connection and the values of a statement for it.
enum With<'t> {
    Sqlite(&'t mut SqliteConnection, SqliteArguments),
    Postgres(&'t mut Held, PgArguments),
}

impl Tx {
    /// No values yet.
    pub fn arguments(&self) -> Arguments {
        let encoded = match self {
            Tx::Sqlite(_) => Encoded::Sqlite(SqliteArguments::default()),
            Tx::Postgres(_) => Encoded::Postgres(PgArguments::default()),
        };
        Arguments { encoded: Ok(encoded), subjects: self.subject_hash().clone(), org_id: None }
    }

    /// An organization and the subject of one of its users.
    pub fn arguments_of(&self, org_id: &OrgId, user_id: &UserId) -> Arguments {
        self.arguments().bind_organization(org_id).bind_user(Some(user_id))
    }

    pub(super) fn subject_hash(&self) -> &SubjectHash {
        match self {
            Tx::Sqlite(tx) => &tx.subjects,
            Tx::Postgres(tx) => &tx.subjects,
        }
    }

    /// The key of a person's rows.
    pub fn subject(&self, org_id: &OrgId, user_id: &UserId) -> Subject {
        self.subject_hash().subject(org_id, user_id)
    }

    /// The key of a row that is a person's, or the organization's own.
    pub fn owner(&self, org_id: &OrgId, person: Option<&SubjectWrite>) -> Subject {
        match person {
            Some(person) => person.subject(),
            None => self.subject_hash().organization(org_id),
        }
    }

    /// The keys of several people's rows as a JSON list, for `{subjects:$1}`.
    pub fn subjects_json<'u>(
        &self,
        org_id: &OrgId,
        users: impl IntoIterator<Item = &'u UserId>,
    ) -> Result<String> {
        let subjects = users.into_iter().map(|user_id| self.subject(org_id, user_id));
        serde_json::to_string(&subjects.collect::<Vec<_>>())
            .map_err(|e| Error::Internal(e.to_string()))
    }

    /// The statement as it is to be run here: at a place the tables are shards.
    pub(super) fn at_place(&self, statement: SqlStr) -> SqlStr {
        match self {
            Tx::Postgres(Held { at: Some(at), .. }) => at.shard.statement(&statement),
            _ => statement,
        }
    }

    pub async fn fetch_all<T: Decode>(
        &mut self,
        statement: SqlStr,
        arguments: Arguments,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        let statement = self.at_place(statement);
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
        let statement = self.at_place(statement);
        match self.first_row(statement, arguments).await? {
            Some(row) => Ok(Some(row.decode()?)),
            None => Ok(None),
        }
    }

    /// Gives the number of rows that the statement touched.
    pub fn execute(&mut self, statement: SqlStr, arguments: Arguments) -> Work<'_, u64> {
        let statement = self.at_place(statement);
        Box::pin(async move {
            match self.with(arguments)? {
                With::Sqlite(conn, values) => Ok(conn.execute(statement.as_str(), values)?),
                With::Postgres(held, values) => {
                    let query =
                        sqlx::query_with(statement, values).persistent(held.keeps_statements);
                    Ok(query.execute(&mut **held).await?.rows_affected())
                }
            }
        })
    }

    fn each_row<'t>(
        &'t mut self,
        statement: SqlStr,
        arguments: Arguments,
        take: &'t mut (dyn FnMut(Row) -> sqlx::Result<()> + Send),
    ) -> Work<'t, ()> {
        Box::pin(async move {
            match self.with(arguments)? {
                With::Sqlite(conn, values) => {
                    conn.each_row(statement.as_str(), values, &mut |row| take(row.into()))?;
                }
                With::Postgres(held, values) => {
                    let query =
                        sqlx::query_with(statement, values).persistent(held.keeps_statements);
                    let mut rows = query.fetch(&mut **held);
                    while let Some(row) = rows.try_next().await? {
                        take(row.into())?;
                    }
                }
            }
            Ok(())
        })
    }

    fn first_row(&mut self, statement: SqlStr, arguments: Arguments) -> Work<'_, Option<Row>> {
        Box::pin(async move {
            match self.with(arguments)? {
                With::Sqlite(conn, values) => {
                    Ok(conn.first_row(statement.as_str(), values)?.map(Row::from))
                }
                With::Postgres(held, values) => {
                    let query =
                        sqlx::query_with(statement, values).persistent(held.keeps_statements);
                    Ok(query.fetch_optional(&mut **held).await?.map(Row::from))
                }
            }
        })
    }

    /// The connection of whichever engine the transaction is of, with the values for a statement on it.
    fn with(&mut self, arguments: Arguments) -> Result<With<'_>> {
        match (self, arguments.encoded.map_err(sqlx::Error::Encode)?) {
            (Tx::Sqlite(tx), Encoded::Sqlite(values)) => Ok(With::Sqlite(tx.connection()?, values)),
            (Tx::Postgres(tx), Encoded::Postgres(values)) => Ok(With::Postgres(tx, values)),
            _ => Err(Error::Internal("values were bound for the other engine".to_owned())),
        }
    }
}

/// A statement that is kept in a variable: one with an unknown fragment does not compile.
#[macro_export]
macro_rules! statement {
    ($sql:expr) => {
        const { $crate::db::checked($sql) }
    };
}

/// The arguments with the values added in their order.
#[macro_export]
macro_rules! arguments {
    ($arguments:expr $(, $bind:expr)*) => {{
        #[allow(unused_imports)] // which of them is needed depends on the values
        use $crate::db::{BindOrganization as _, BindUser as _, BindValue as _};
        let arguments = $arguments;
        $(let arguments = $crate::db::Bound($bind).add_to(arguments);)*
        arguments
    }};
}

/// All rows: `rows!(tx, Row, "SELECT …", a, b)`, or with a variable from [`statement!`](crate::statement).
#[macro_export]
macro_rules! rows {
    ($tx:expr, $row:ty, $sql:ident $(, $bind:expr)* $(,)?) => {{
        let (sql, arguments) = ($tx.sql($sql), $crate::arguments!($tx.arguments() $(, $bind)*));
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
        let (sql, arguments) = ($tx.sql($sql), $crate::arguments!($tx.arguments() $(, $bind)*));
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
        let (sql, arguments) = ($tx.sql($sql), $crate::arguments!($tx.arguments() $(, $bind)*));
        $tx.execute(sql, arguments).await
    }};
    ($tx:expr, $sql:expr $(, $bind:expr)* $(,)?) => {{
        let sql = $crate::statement!($sql);
        $crate::run!($tx, sql $(, $bind)*)
    }};
}
