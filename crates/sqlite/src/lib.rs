//! SQLite on the thread that asks.
//!
//! A statement runs where it is called and gives its rows before the call returns: no thread stands between, as one does
//! in sqlx's own driver. Values and rows have the types that sqlx asks of a database ([`Sqlite`]), so that a type which is
//! read from a row of PostgreSQL is read from one of these by the same code.

mod arguments;
mod connection;
mod database;
mod error;
mod row;
mod types;

pub use arguments::{SqliteArgument, SqliteArguments};
pub use connection::{SqliteConnection, SqliteOptions};
pub use database::Sqlite;
pub use row::{SqliteRow, SqliteValue, SqliteValueRef};
