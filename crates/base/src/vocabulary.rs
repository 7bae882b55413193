//! Closed vocabularies: a fixed set of words as an enum, the same in Rust, in JSON, in SQL and in the specification.

/// A fixed set of words. The macro `vocabulary!` makes one.
pub trait Vocabulary: Copy + PartialEq + 'static {
    /// Every word, in the order of its declaration.
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;

    /// The word that is written so.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.as_str() == text)
    }

    /// All words as they are written, for people.
    fn listed() -> String {
        Self::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A text that is none of the words it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    pub vocabulary: &'static str,
    pub text: String,
}

impl std::fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is not a {}", self.text, self.vocabulary)
    }
}

impl std::error::Error for UnknownWord {}

/// Reads a word where it stands, without a copy of its text.
#[doc(hidden)]
pub struct Words<W> {
    vocabulary: &'static str,
    word: std::marker::PhantomData<W>,
}

impl<W> Words<W> {
    pub fn new(vocabulary: &'static str) -> Self {
        Words { vocabulary, word: std::marker::PhantomData }
    }
}

impl<W: Vocabulary> serde::de::Visitor<'_> for Words<W> {
    type Value = W;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a {}: {}", self.vocabulary, W::listed())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<W, E> {
        let unknown = || UnknownWord { vocabulary: self.vocabulary, text: text.to_owned() };
        W::parse(text).ok_or_else(|| E::custom(unknown()))
    }
}

/// Declares a vocabulary: an enum whose variants are written as the given words in JSON, in text columns and in the
/// specification, with `as_str`, `Display` and `TryFrom<String>`.
///
/// ```
/// base::vocabulary! {
///     /// How a session went.
///     pub enum Outcome {
///         Success = "success",
///         Failure = "failure",
///     }
/// }
/// assert_eq!(Outcome::Failure.as_str(), "failure");
/// assert_eq!(Outcome::try_from("success".to_owned()), Ok(Outcome::Success));
/// ```
#[macro_export]
macro_rules! vocabulary {
    (
        $(#[$($meta:tt)*])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$($meta)*])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $crate::vocabulary::Vocabulary for $name {
            const ALL: &'static [Self] = &[$($name::$variant),+];

            fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }

        impl $name {
            /// The word as it is written.
            $vis fn as_str(self) -> &'static str {
                $crate::vocabulary::Vocabulary::as_str(self)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::vocabulary::Vocabulary::as_str(*self))
            }
        }

        impl ::std::convert::TryFrom<String> for $name {
            type Error = $crate::vocabulary::UnknownWord;

            fn try_from(
                text: String,
            ) -> ::std::result::Result<Self, $crate::vocabulary::UnknownWord> {
                <Self as $crate::vocabulary::Vocabulary>::parse(&text)
                    .ok_or($crate::vocabulary::UnknownWord { vocabulary: stringify!($name), text })
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::vocabulary::Vocabulary::as_str(*self))
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let words = $crate::vocabulary::Words::<Self>::new(stringify!($name));
                deserializer.deserialize_str(words)
            }
        }

        impl<DB: $crate::sqlx_core::database::Database> $crate::sqlx_core::types::Type<DB> for $name
        where
            String: $crate::sqlx_core::types::Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <String as $crate::sqlx_core::types::Type<DB>>::type_info()
            }

            fn compatible(ty: &DB::TypeInfo) -> bool {
                <String as $crate::sqlx_core::types::Type<DB>>::compatible(ty)
            }
        }

        impl<'r, DB: $crate::sqlx_core::database::Database> $crate::sqlx_core::decode::Decode<'r, DB>
            for $name
        where
            String: $crate::sqlx_core::decode::Decode<'r, DB>,
        {
            fn decode(
                value: DB::ValueRef<'r>,
            ) -> ::std::result::Result<Self, $crate::sqlx_core::error::BoxDynError> {
                let text = <String as $crate::sqlx_core::decode::Decode<DB>>::decode(value)?;
                Ok(Self::try_from(text)?)
            }
        }

        impl<'q, DB: $crate::sqlx_core::database::Database> $crate::sqlx_core::encode::Encode<'q, DB>
            for $name
        where
            String: $crate::sqlx_core::encode::Encode<'q, DB>,
        {
            fn encode_by_ref(
                &self,
                buffer: &mut DB::ArgumentBuffer,
            ) -> ::std::result::Result<
                $crate::sqlx_core::encode::IsNull,
                $crate::sqlx_core::error::BoxDynError,
            > {
                let text = $crate::vocabulary::Vocabulary::as_str(*self).to_owned();
                <String as $crate::sqlx_core::encode::Encode<'q, DB>>::encode(text, buffer)
            }
        }

        impl $crate::utoipa::PartialSchema for $name {
            fn schema() -> $crate::utoipa::openapi::RefOr<$crate::utoipa::openapi::Schema> {
                $crate::vocabulary::schema::<$name>(concat!($($crate::doc_text!($($meta)*)),*))
            }
        }

        impl $crate::utoipa::ToSchema for $name {
            fn name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }
    };
}

/// The text of a doc comment, and nothing of other attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_text {
    (doc = $text:literal) => {
        $text
    };
    ($($other:tt)*) => {
        ""
    };
}

/// The schema of a vocabulary: its words.
#[doc(hidden)]
pub fn schema<W: Vocabulary>(
    about: &'static str,
) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    let words = W::ALL.iter().map(|word| word.as_str());
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .description(Some(about.trim()).filter(|about| !about.is_empty()))
        .enum_values(Some(words))
        .into()
}

#[cfg(test)]
mod tests {
    use super::Vocabulary;

    vocabulary! {
        /// The colour of a lamp.
        pub enum Light {
            Red = "red",
            /// Go.
            Green = "green",
            Dark = "",
        }
    }

    #[test]
    fn words_are_the_same_in_rust_json_and_text() {
        for light in Light::ALL {
            let json = serde_json::to_value(light).unwrap();
            assert_eq!(json, light.as_str());
            assert_eq!(serde_json::from_value::<Light>(json).unwrap(), *light);
            assert_eq!(Light::try_from(light.to_string()), Ok(*light));
        }
        let unknown = Light::try_from("amber".to_owned()).unwrap_err();
        assert_eq!(unknown.to_string(), "\"amber\" is not a Light");
        assert!(serde_json::from_value::<Light>(serde_json::json!("amber")).is_err());
        assert_eq!(Light::listed(), "red, green, ");
    }

    #[test]
    fn the_specification_has_the_words() {
        let schema = serde_json::to_value(<Light as utoipa::PartialSchema>::schema()).unwrap();
        let expected = serde_json::json!({"type": "string", "description": "The colour of a lamp.",
            "enum": ["red", "green", ""]});
        assert_eq!(schema, expected);
    }
}
