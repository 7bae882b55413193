//! The two keys of every row that belongs to somebody: the organization and the user. Types of their own, so that one
//! is never passed for the other.

/// Declares an identifier: a text that is the same in JSON and in the rows that are read. Bound to a statement, a user
/// becomes the key of their rows: see `Arguments` in the storage crate.
macro_rules! identifier {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<&$name> for $name {
            fn eq(&self, other: &&$name) -> bool {
                self.0 == other.0
            }
        }

        /// The empty identifier, which nobody has.
        impl Default for &$name {
            fn default() -> Self {
                static EMPTY: $name = $name(String::new());
                &EMPTY
            }
        }

        impl<DB: sqlx_core::database::Database> sqlx_core::types::Type<DB> for $name
        where
            String: sqlx_core::types::Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <String as sqlx_core::types::Type<DB>>::type_info()
            }

            fn compatible(ty: &DB::TypeInfo) -> bool {
                <String as sqlx_core::types::Type<DB>>::compatible(ty)
            }
        }

        impl<'r, DB: sqlx_core::database::Database> sqlx_core::decode::Decode<'r, DB> for $name
        where
            String: sqlx_core::decode::Decode<'r, DB>,
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx_core::error::BoxDynError> {
                <String as sqlx_core::decode::Decode<DB>>::decode(value).map($name)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <String as utoipa::PartialSchema>::schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

identifier! {
    /// An organization: a tenant of the installation.
    OrgId
}

identifier! {
    /// A person whose sessions are stored, by the id that the agent's developer gave.
    UserId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_plain_texts_outside() {
        let user = UserId::from("ada");
        assert_eq!(serde_json::to_value(&user).unwrap(), "ada");
        assert_eq!(serde_json::from_str::<UserId>("\"ada\"").unwrap(), user);
        assert_eq!((user.to_string(), &*user), ("ada".to_owned(), "ada"));
    }
}
