//! The values of a statement's parameters.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use sqlx_core::arguments::Arguments;
use sqlx_core::encode::{Encode, IsNull};
use sqlx_core::error::BoxDynError;
use sqlx_core::types::Type;

use crate::Sqlite;

/// A value as SQLite stores it.
#[derive(Debug)]
pub enum SqliteArgument {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl ToSql for SqliteArgument {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            SqliteArgument::Null => ValueRef::Null,
            SqliteArgument::Integer(number) => ValueRef::Integer(*number),
            SqliteArgument::Real(number) => ValueRef::Real(*number),
            SqliteArgument::Text(text) => ValueRef::Text(text.as_bytes()),
            SqliteArgument::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The values of `$1`, `$2` … in their order.
#[derive(Debug, Default)]
pub struct SqliteArguments(pub(crate) Vec<SqliteArgument>);

impl<const N: usize> From<[SqliteArgument; N]> for SqliteArguments {
    fn from(values: [SqliteArgument; N]) -> Self {
        SqliteArguments(values.into())
    }
}

impl Arguments for SqliteArguments {
    type Database = Sqlite;

    fn reserve(&mut self, additional: usize, _size: usize) {
        self.0.reserve(additional);
    }

    fn add<'t, T>(&mut self, value: T) -> Result<(), BoxDynError>
    where
        T: Encode<'t, Sqlite> + Type<Sqlite>,
    {
        let before = self.0.len();
        if let IsNull::Yes = value.encode(&mut self.0)? {
            self.0.truncate(before);
            self.0.push(SqliteArgument::Null);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

sqlx_core::impl_into_arguments_for_arguments!(SqliteArguments);
