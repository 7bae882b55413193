//! Errors of SQLite as errors of sqlx.

use std::borrow::Cow;
use std::fmt;

use sqlx_core::error::{DatabaseError, ErrorKind};

/// An error of SQLite with its extended code.
#[derive(Debug)]
struct SqliteError {
    code: i32,
    message: String,
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(code: {}) {}", self.code, self.message)
    }
}

impl std::error::Error for SqliteError {}

impl DatabaseError for SqliteError {
    fn message(&self) -> &str {
        &self.message
    }

    /// The extended code, as digits.
    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.to_string().into())
    }

    fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        use rusqlite::ffi;
        match self.code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
                ErrorKind::UniqueViolation
            }
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ErrorKind::ForeignKeyViolation,
            ffi::SQLITE_CONSTRAINT_NOTNULL => ErrorKind::NotNullViolation,
            ffi::SQLITE_CONSTRAINT_CHECK => ErrorKind::CheckViolation,
            _ => ErrorKind::Other,
        }
    }
}

pub(crate) fn from(error: rusqlite::Error) -> sqlx_core::Error {
    use rusqlite::Error::{SqlInputError, SqliteFailure};
    let (code, message) = match error {
        SqliteFailure(failure, message) => {
            (failure.extended_code, message.unwrap_or_else(|| failure.to_string()))
        }
        SqlInputError { error, msg, sql, offset } => {
            let near: String =
                sql.chars().skip(usize::try_from(offset).unwrap_or(0)).take(40).collect();
            (error.extended_code, format!("{msg}, near {near:?}"))
        }
        other => return sqlx_core::Error::Protocol(other.to_string()),
    };
    sqlx_core::Error::Database(Box::new(SqliteError { code, message }))
}
