//! Rust's types as values of SQLite, and back.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx_core::decode::Decode;
use sqlx_core::encode::{Encode, IsNull};
use sqlx_core::error::BoxDynError;
use sqlx_core::types::{Json, Type};
use uuid::Uuid;

use crate::Sqlite;
use crate::arguments::SqliteArgument;
use crate::row::{SqliteTypeInfo, SqliteValueRef};

type Encoded = Result<IsNull, BoxDynError>;

fn give(values: &mut Vec<SqliteArgument>, value: SqliteArgument) -> Encoded {
    values.push(value);
    Ok(IsNull::No)
}

fn unexpected(value: SqliteValueRef<'_>, wanted: &str) -> BoxDynError {
    format!("a value that is no {wanted}: {value:?}").into()
}

impl<'r> SqliteValueRef<'r> {
    fn integer(self) -> Result<i64, BoxDynError> {
        match self {
            SqliteValueRef::Integer(number) => Ok(number),
            other => Err(unexpected(other, "integer")),
        }
    }

    fn bytes(self) -> Result<&'r [u8], BoxDynError> {
        match self {
            SqliteValueRef::Text(bytes) | SqliteValueRef::Blob(bytes) => Ok(bytes),
            other => Err(unexpected(other, "text or blob")),
        }
    }

    fn text(self) -> Result<&'r str, BoxDynError> {
        Ok(std::str::from_utf8(self.bytes()?)?)
    }
}

/// Each line: type, its storage class (`or` others it is read from), the value to bind, the type from a value of a row.
macro_rules! stored {
    ($($type:ty: $kind:ident $(or $other:ident)*; |$value:ident| $bind:expr; |$found:ident| $read:expr;)+) => {$(
        impl Type<Sqlite> for $type {
            fn type_info() -> SqliteTypeInfo {
                SqliteTypeInfo::$kind
            }

            fn compatible(kind: &SqliteTypeInfo) -> bool {
                matches!(kind, SqliteTypeInfo::$kind $(| SqliteTypeInfo::$other)*)
            }
        }

        impl Encode<'_, Sqlite> for $type {
            fn encode_by_ref(&self, values: &mut Vec<SqliteArgument>) -> Encoded {
                let $value = self;
                give(values, $bind)
            }
        }

        impl Decode<'_, Sqlite> for $type {
            fn decode($found: SqliteValueRef<'_>) -> Result<Self, BoxDynError> {
                $read
            }
        }
    )+};
}

stored! {
    bool: Integer; |flag| SqliteArgument::Integer((*flag).into()); |found| Ok(found.integer()? != 0);
    i16: Integer; |number| SqliteArgument::Integer((*number).into()); |found| Ok(found.integer()?.try_into()?);
    i32: Integer; |number| SqliteArgument::Integer((*number).into()); |found| Ok(found.integer()?.try_into()?);
    i64: Integer; |number| SqliteArgument::Integer(*number); |found| found.integer();
    f64: Real or Integer; |number| SqliteArgument::Real(*number); |found| match found {
        SqliteValueRef::Real(number) => Ok(number),
        // Sums and products of integers are integers.
        other => Ok(other.integer()? as f64),
    };
}

/// Texts and bytes, which are handed over without a copy where they are given away.
macro_rules! owned {
    ($($type:ty as $kind:ident: |$value:ident| $give:expr, |$borrowed:ident| $copy:expr;)+) => {$(
        impl Encode<'_, Sqlite> for $type {
            fn encode(self, values: &mut Vec<SqliteArgument>) -> Encoded {
                let $value = self;
                give(values, SqliteArgument::$kind($give))
            }

            fn encode_by_ref(&self, values: &mut Vec<SqliteArgument>) -> Encoded {
                let $borrowed = self;
                give(values, SqliteArgument::$kind($copy))
            }
        }
    )+};
}

owned! {
    String as Text: |text| text, |text| text.clone();
    &str as Text: |text| text.to_owned(), |text| (*text).to_owned();
    Cow<'_, str> as Text: |text| text.into_owned(), |text| text.to_string();
    Arc<str> as Text: |text| text.as_ref().to_owned(), |text| text.as_ref().to_owned();
    Vec<u8> as Blob: |bytes| bytes, |bytes| bytes.clone();
    &[u8] as Blob: |bytes| bytes.to_vec(), |bytes| bytes.to_vec();
    Uuid as Blob: |uuid| uuid.into_bytes().into(), |uuid| uuid.into_bytes().into();
}

macro_rules! kind_of {
    ($($type:ty: $kind:ident $(or $other:ident)*;)+) => {$(
        impl Type<Sqlite> for $type {
            fn type_info() -> SqliteTypeInfo {
                SqliteTypeInfo::$kind
            }

            fn compatible(kind: &SqliteTypeInfo) -> bool {
                matches!(kind, SqliteTypeInfo::$kind $(| SqliteTypeInfo::$other)*)
            }
        }
    )+};
}

kind_of! {
    str: Text;
    String: Text;
    Uuid: Blob;
    [u8]: Blob or Text;
    Vec<u8>: Blob or Text;
}

impl<'r> Decode<'r, Sqlite> for &'r str {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        value.text()
    }
}

impl Decode<'_, Sqlite> for String {
    fn decode(value: SqliteValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(value.text()?.to_owned())
    }
}

impl<'r> Decode<'r, Sqlite> for &'r [u8] {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        value.bytes()
    }
}

impl Decode<'_, Sqlite> for Vec<u8> {
    fn decode(value: SqliteValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(value.bytes()?.to_vec())
    }
}

impl Decode<'_, Sqlite> for Uuid {
    fn decode(value: SqliteValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Uuid::from_slice(value.bytes()?)?)
    }
}

impl<T> Type<Sqlite> for Json<T> {
    fn type_info() -> SqliteTypeInfo {
        SqliteTypeInfo::Text
    }

    fn compatible(kind: &SqliteTypeInfo) -> bool {
        *kind == SqliteTypeInfo::Text
    }
}

impl<T: Serialize> Encode<'_, Sqlite> for Json<T> {
    fn encode_by_ref(&self, values: &mut Vec<SqliteArgument>) -> Encoded {
        give(values, SqliteArgument::Text(self.encode_to_string()?))
    }
}

impl<'r, T: Deserialize<'r> + 'r> Decode<'r, Sqlite> for Json<T> {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Self::decode_from_bytes(value.bytes()?)
    }
}

sqlx_core::impl_encode_for_option!(Sqlite);
