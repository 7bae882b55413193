//! Rows that were found, independent of the statement that found them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rusqlite::types::ValueRef as Found;
use sqlx_core::column::{Column, ColumnIndex};
use sqlx_core::error::Error;
use sqlx_core::row::Row;
use sqlx_core::type_info::TypeInfo;
use sqlx_core::value::{Value, ValueRef};

use crate::Sqlite;

/// Storage class of a value: <https://sqlite.org/datatype3.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqliteTypeInfo {
    Null,
    Integer,
    Real,
    Text,
    Blob,
}

impl fmt::Display for SqliteTypeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TypeInfo for SqliteTypeInfo {
    fn is_null(&self) -> bool {
        *self == SqliteTypeInfo::Null
    }

    fn name(&self) -> &str {
        match self {
            SqliteTypeInfo::Null => "NULL",
            SqliteTypeInfo::Integer => "INTEGER",
            SqliteTypeInfo::Real => "REAL",
            SqliteTypeInfo::Text => "TEXT",
            SqliteTypeInfo::Blob => "BLOB",
        }
    }
}

#[derive(Debug)]
pub struct SqliteColumn {
    ordinal: usize,
    name: String,
}

impl Column for SqliteColumn {
    type Database = Sqlite;

    fn ordinal(&self) -> usize {
        self.ordinal
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Columns of SQLite have no type of their own: each value has.
    fn type_info(&self) -> &SqliteTypeInfo {
        &SqliteTypeInfo::Null
    }
}

/// The columns of a statement.
pub(crate) fn columns(names: &[&str]) -> Arc<[SqliteColumn]> {
    let column =
        |(ordinal, name): (usize, &&str)| SqliteColumn { ordinal, name: (*name).to_owned() };
    names.iter().enumerate().map(column).collect()
}

/// A value of a row; texts and blobs are in the row's bytes.
#[derive(Debug)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Range<usize>),
    Blob(Range<usize>),
}

#[derive(Debug)]
pub struct SqliteRow {
    columns: Arc<[SqliteColumn]>,
    cells: Box<[Cell]>,
    bytes: Vec<u8>,
}

impl SqliteRow {
    /// Copies the row that a statement stands on.
    pub(crate) fn copy(
        columns: &Arc<[SqliteColumn]>,
        found: &rusqlite::Row<'_>,
    ) -> rusqlite::Result<Self> {
        let mut bytes = Vec::new();
        let mut keep = |value: &[u8]| {
            let start = bytes.len();
            bytes.extend_from_slice(value);
            start..bytes.len()
        };
        let mut cell = |place: usize| {
            Ok(match found.get_ref(place)? {
                Found::Null => Cell::Null,
                Found::Integer(number) => Cell::Integer(number),
                Found::Real(number) => Cell::Real(number),
                Found::Text(text) => Cell::Text(keep(text)),
                Found::Blob(blob) => Cell::Blob(keep(blob)),
            })
        };
        let cells = (0..columns.len()).map(&mut cell).collect::<rusqlite::Result<_>>()?;
        Ok(SqliteRow { columns: columns.clone(), cells, bytes })
    }

    fn value(&self, place: usize) -> SqliteValueRef<'_> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        match self.cells.get(place) {
            None | Some(Cell::Null) => SqliteValueRef::Null,
            Some(Cell::Integer(number)) => SqliteValueRef::Integer(*number),
            Some(Cell::Real(number)) => SqliteValueRef::Real(*number),
            Some(Cell::Text(range)) => SqliteValueRef::Text(bytes(range)),
            Some(Cell::Blob(range)) => SqliteValueRef::Blob(bytes(range)),
        }
    }
}

impl Row for SqliteRow {
    type Database = Sqlite;

    fn columns(&self) -> &[SqliteColumn] {
        &self.columns
    }

    fn try_get_raw<I: ColumnIndex<Self>>(&self, index: I) -> Result<SqliteValueRef<'_>, Error> {
        Ok(self.value(index.index(self)?))
    }
}

sqlx_core::impl_column_index_for_row!(SqliteRow);

impl ColumnIndex<SqliteRow> for &'_ str {
    fn index(&self, row: &SqliteRow) -> Result<usize, Error> {
        row.columns
            .iter()
            .position(|column| column.name == *self)
            .ok_or_else(|| Error::ColumnNotFound((*self).to_owned()))
    }
}

/// A value in a row.
#[derive(Clone, Copy, Debug)]
pub enum SqliteValueRef<'r> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'r [u8]),
    Blob(&'r [u8]),
}

impl<'r> SqliteValueRef<'r> {
    fn kind(&self) -> SqliteTypeInfo {
        match self {
            SqliteValueRef::Null => SqliteTypeInfo::Null,
            SqliteValueRef::Integer(_) => SqliteTypeInfo::Integer,
            SqliteValueRef::Real(_) => SqliteTypeInfo::Real,
            SqliteValueRef::Text(_) => SqliteTypeInfo::Text,
            SqliteValueRef::Blob(_) => SqliteTypeInfo::Blob,
        }
    }
}

impl<'r> ValueRef<'r> for SqliteValueRef<'r> {
    type Database = Sqlite;

    fn to_owned(&self) -> SqliteValue {
        match *self {
            SqliteValueRef::Null => SqliteValue::Null,
            SqliteValueRef::Integer(number) => SqliteValue::Integer(number),
            SqliteValueRef::Real(number) => SqliteValue::Real(number),
            SqliteValueRef::Text(text) => SqliteValue::Text(text.into()),
            SqliteValueRef::Blob(blob) => SqliteValue::Blob(blob.into()),
        }
    }

    fn type_info(&self) -> Cow<'_, SqliteTypeInfo> {
        Cow::Owned(self.kind())
    }

    fn is_null(&self) -> bool {
        matches!(self, SqliteValueRef::Null)
    }
}

/// A value by itself.
#[derive(Clone, Debug)]
pub enum SqliteValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Box<[u8]>),
    Blob(Box<[u8]>),
}

impl Value for SqliteValue {
    type Database = Sqlite;

    fn as_ref(&self) -> SqliteValueRef<'_> {
        match self {
            SqliteValue::Null => SqliteValueRef::Null,
            SqliteValue::Integer(number) => SqliteValueRef::Integer(*number),
            SqliteValue::Real(number) => SqliteValueRef::Real(*number),
            SqliteValue::Text(text) => SqliteValueRef::Text(text),
            SqliteValue::Blob(blob) => SqliteValueRef::Blob(blob),
        }
    }

    fn type_info(&self) -> Cow<'_, SqliteTypeInfo> {
        Cow::Owned(self.as_ref().kind())
    }

    fn is_null(&self) -> bool {
        self.as_ref().is_null()
    }
}
