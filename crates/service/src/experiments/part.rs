//! Parts of an answer as they are sent: every number that can be null stands beside its reason.
//!
//! A field of type `Defined<T>` is written twice: under its name the value or null, and under `…_null_reason` why it is
//! null. [`part!`] makes struct, JSON and specification of one declaration.

use serde::Serialize;
use serde::ser::SerializeMap;
use utoipa::PartialSchema;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{OneOfBuilder, RefOr, Schema};

use base::owner::UserId;
use stats::{Defined, Interval, NullReason};

/// Named schemas, as they are collected for the specification.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// A value that a field of a part can hold.
pub trait Shown: Serialize {
    /// Its schema; a reference if it has a name.
    fn shown() -> RefOr<Schema>;

    /// The named schemas that it refers to.
    fn named(_: &mut Schemas) {}
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(impl Shown for $type {
            fn shown() -> RefOr<Schema> {
                <$type as PartialSchema>::schema()
            }
        })+
    };
}

plain!(bool, f64, i64, u32, u64, String, UserId, &'static str);

/// Values that have a schema with a name of its own.
macro_rules! shown_by_name {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::experiments::part::Shown for $type {
            fn shown() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                let name = <$type as ::utoipa::ToSchema>::name();
                ::utoipa::openapi::Ref::from_schema_name(name).into()
            }

            fn named(list: &mut $crate::experiments::part::Schemas) {
                let name = <$type as ::utoipa::ToSchema>::name().into_owned();
                if !list.iter().any(|(known, _)| *known == name) {
                    list.push((name, <$type as ::utoipa::PartialSchema>::schema()));
                    <$type as ::utoipa::ToSchema>::schemas(list);
                }
            }
        })+
    };
}
pub(crate) use shown_by_name;

shown_by_name!(
    NullReason,
    stats::CiMethod,
    stats::decision::LiftDecision,
    stats::guardrails::GuardrailVerdict,
);

/// Lower and upper end of an interval.
pub type Pair = [f64; 2];

impl Shown for Pair {
    fn shown() -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(<f64 as PartialSchema>::schema())
            .min_items(Some(2))
            .max_items(Some(2))
            .description(Some("Lower and upper end."))
            .into()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown() -> RefOr<Schema> {
        nullable(T::shown())
    }

    fn named(list: &mut Schemas) {
        T::named(list);
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown() -> RefOr<Schema> {
        ArrayBuilder::new().items(T::shown()).into()
    }

    fn named(list: &mut Schemas) {
        T::named(list);
    }
}

fn nullable(schema: RefOr<Schema>) -> RefOr<Schema> {
    let or_null = |kind: &mut SchemaType| {
        if let SchemaType::Type(plain) = kind {
            *kind = SchemaType::from_iter([plain.clone(), Type::Null]);
        }
    };
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            or_null(&mut object.schema_type);
            object.into()
        }
        RefOr::T(Schema::Array(mut array)) => {
            or_null(&mut array.schema_type);
            array.into()
        }
        other => OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .item(other)
            .into(),
    }
}

fn described(mut schema: RefOr<Schema>, about: &str) -> RefOr<Schema> {
    let about = about.trim();
    if about.is_empty() {
        return schema;
    }
    match &mut schema {
        RefOr::Ref(reference) => about.clone_into(&mut reference.description),
        RefOr::T(Schema::Object(object)) => object.description = Some(about.to_owned()),
        RefOr::T(Schema::Array(array)) => array.description = Some(about.to_owned()),
        RefOr::T(Schema::OneOf(either)) => either.description = Some(about.to_owned()),
        RefOr::T(_) => {}
    }
    schema
}

/// A field of a part.
pub trait Field {
    fn write<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error>;

    fn describe(name: &str, about: &str, part: ObjectBuilder) -> ObjectBuilder;

    /// The named schemas that it refers to.
    fn collect(list: &mut Schemas);
}

impl<T: Shown> Field for T {
    fn write<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }

    fn describe(name: &str, about: &str, part: ObjectBuilder) -> ObjectBuilder {
        part.property(name, described(T::shown(), about)).required(name)
    }

    fn collect(list: &mut Schemas) {
        T::named(list);
    }
}

impl<T: Shown> Field for Defined<T> {
    fn write<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, &self.as_ref().ok())?;
        map.serialize_entry(&format!("{name}_null_reason"), &self.as_ref().err())
    }

    fn describe(name: &str, about: &str, part: ObjectBuilder) -> ObjectBuilder {
        let reason = format!("{name}_null_reason");
        let part = part.property(name, described(nullable(T::shown()), about)).required(name);
        part.property(&reason, <Option<NullReason>>::shown()).required(reason)
    }

    fn collect(list: &mut Schemas) {
        T::named(list);
        NullReason::named(list);
    }
}

/// A part whose fields stand among those of the part around it.
#[derive(Clone, Debug)]
pub struct Flat<T>(pub T);

impl<T: Part> Field for Flat<T> {
    fn write<M: SerializeMap>(&self, _: &'static str, map: &mut M) -> Result<(), M::Error> {
        self.0.write_fields(map)
    }

    fn describe(_: &str, _: &str, part: ObjectBuilder) -> ObjectBuilder {
        T::describe_fields(part)
    }

    fn collect(list: &mut Schemas) {
        T::collect_of_fields(list);
    }
}

/// A struct that [`part!`] declares.
pub trait Part {
    fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    fn describe_fields(part: ObjectBuilder) -> ObjectBuilder;

    fn collect_of_fields(list: &mut Schemas);
}

/// Declares a part: a struct with its JSON and its schema.
macro_rules! part {
    (
        $(#[$($meta:tt)*])*
        $vis:vis struct $name:ident {
            $($(#[$($about:tt)*])* $field_vis:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$($meta)*])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[$($about)*])* $field_vis $field: $type),+
        }

        const _: () = {
            use ::serde::ser::{Serialize, SerializeMap, Serializer};
            use ::utoipa::openapi::{ObjectBuilder, RefOr, Schema};
            use $crate::experiments::part::{Field, Part, Schemas};

            impl Part for $name {
                fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                    $(self.$field.write(stringify!($field), map)?;)+
                    Ok(())
                }

                fn describe_fields(part: ObjectBuilder) -> ObjectBuilder {
                    $(let about = concat!($(::base::doc_text!($($about)*)),*);
                    let part = <$type as Field>::describe(stringify!($field), about, part);)+
                    part
                }

                fn collect_of_fields(list: &mut Schemas) {
                    $(<$type as Field>::collect(list);)+
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    let mut map = serializer.serialize_map(None)?;
                    self.write_fields(&mut map)?;
                    map.end()
                }
            }

            impl ::utoipa::PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let about = concat!($(::base::doc_text!($($meta)*)),*).trim();
                    let part = <$name as Part>::describe_fields(ObjectBuilder::new());
                    part.description(Some(about).filter(|about| !about.is_empty())).into()
                }
            }

            impl ::utoipa::ToSchema for $name {
                fn name() -> ::std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn schemas(list: &mut Schemas) {
                    <$name as Part>::collect_of_fields(list);
                }
            }

            $crate::experiments::part::shown_by_name!($name);
        };
    };
}
pub(crate) use part;

/// A difference of rates, in percentage points.
pub fn points(value: Defined<f64>) -> Defined<f64> {
    value.map(|value| value * 100.0)
}

pub fn pair(interval: Defined<Interval>) -> Defined<Pair> {
    interval.map(|interval| [interval.lower, interval.upper])
}

/// An interval of a difference of rates, in percentage points.
pub fn pair_points(interval: Defined<Interval>) -> Defined<Pair> {
    pair(interval.map(|interval| interval.percentage_points()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    part! {
        /// A number of a kind.
        struct Inner {
            /// How large.
            size: Defined<f64>,
        }
    }

    part! {
        struct Outer {
            inner: Defined<Inner>,
            many: Flat<Inner>,
            ends: Option<Pair>,
        }
    }

    #[test]
    fn what_is_null_has_its_reason_and_the_specification_has_both() {
        let none = Inner { size: Err(NullReason::NoUsers) };
        let some = Outer { inner: Ok(Inner { size: Ok(1.5) }), many: Flat(none), ends: None };
        assert_eq!(
            serde_json::to_value(some).unwrap(),
            json!({"inner": {"size": 1.5, "size_null_reason": null}, "inner_null_reason": null,
                "size": null, "size_null_reason": "no_users", "ends": null})
        );
        let schema = serde_json::to_value(<Outer as PartialSchema>::schema()).unwrap();
        let names = ["inner", "inner_null_reason", "size", "size_null_reason", "ends"];
        assert_eq!(schema["required"], json!(names));
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let or_null = |name| json!({"oneOf": [{"type": "null"}, reference(name)]});
        assert_eq!(schema["properties"]["inner"], or_null("Inner"));
        assert_eq!(schema["properties"]["size_null_reason"], or_null("NullReason"));
        let size =
            json!({"type": ["number", "null"], "format": "double", "description": "How large."});
        assert_eq!(schema["properties"]["size"], size);
        let mut named = Schemas::new();
        <Outer as utoipa::ToSchema>::schemas(&mut named);
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Inner", "NullReason"]);
    }
}
