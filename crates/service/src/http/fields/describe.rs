//! The specification of a request, taken from its reader.
//!
//! [`Read::read`] runs once over [`Fields`] that describe instead of reading: each field it asks for is noted with the
//! rule it obeys. So limits, words and what is required are written once, where they are enforced. `f.about("…")`
//! before a field gives it its description.

use std::ops::RangeInclusive;

use base::vocabulary::Vocabulary;
use serde_json::{Map, Value};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Ref, RefOr, Required, Schema};

use super::{Fields, Read};

/// The rule of a field.
#[derive(Clone)]
pub enum Shape {
    /// Text with its shortest and longest length in characters.
    Text {
        shortest: usize,
        longest: usize,
    },
    /// One of these words.
    Words(Vec<&'static str>),
    Integer(RangeInclusive<i64>),
    /// A number that is not below `least`.
    Number {
        least: f64,
    },
    /// A number of a range, both ends included.
    Within(RangeInclusive<f64>),
    /// A number between two others, both excluded.
    Between {
        above: f64,
        below: f64,
    },
    Flag,
    /// Unix seconds or RFC 3339.
    Time,
    Object,
    Any,
    /// A schema with a name of its own.
    Named(String),
    List {
        item: Box<Shape>,
        shortest: usize,
        longest: usize,
    },
    /// A value, or a list of them.
    OneOrMore(Box<Shape>),
    /// A value, or null where null means something of its own.
    OrNull(Box<Shape>),
}

/// The fields that a reader asked for.
#[derive(Default)]
pub struct Description {
    properties: Vec<Property>,
    components: Vec<(String, RefOr<Schema>)>,
    about: Option<&'static str>,
    /// Of query parameters, whose schemas cannot bring named ones along.
    of_query: bool,
}

struct Property {
    name: &'static str,
    shape: Shape,
    about: Option<&'static str>,
    default: Option<Value>,
    required: bool,
}

impl Description {
    /// Notes a field; asked for again, it keeps what was said first.
    pub(super) fn add(&mut self, name: &'static str, shape: Shape) {
        let about = self.about.take();
        if !self.properties.iter().any(|property| property.name == name) {
            self.properties.push(Property { name, shape, about, default: None, required: false });
        }
    }

    pub(super) fn explain(&mut self, about: &'static str) {
        self.about = Some(about);
    }

    pub(super) fn require(&mut self, name: &str) {
        for property in self.properties.iter_mut().filter(|property| property.name == name) {
            property.required = true;
        }
    }

    pub(super) fn default_to(&mut self, name: &str, default: Value) {
        for property in self.properties.iter_mut().filter(|property| property.name == name) {
            property.default = Some(default.clone());
        }
    }

    /// The words of a vocabulary: by its name, and in a query one by one.
    pub(super) fn vocabulary<W: Vocabulary + utoipa::ToSchema>(&mut self) -> Shape {
        match self.of_query {
            true => Shape::Words(W::ALL.iter().map(|word| word.as_str()).collect()),
            false => self.component::<W>(),
        }
    }

    /// A schema with a name, and those it names in turn.
    pub(super) fn component<T: utoipa::ToSchema>(&mut self) -> Shape {
        let name = T::name().into_owned();
        if !self.components.iter().any(|(known, _)| *known == name) {
            self.components.push((name.clone(), T::schema()));
            T::schemas(&mut self.components);
        }
        Shape::Named(name)
    }
}

fn describe<T: Read>(of_query: bool) -> Description {
    let (object, mut description) = (Map::new(), Description::default());
    description.of_query = of_query;
    let (mut problems, mut unknown) = (Default::default(), Vec::new());
    let mut fields = Fields::new(&object, false, &mut problems, &mut unknown);
    fields.description = Some(&mut description);
    let _ = T::read(&mut fields);
    description
}

/// The schema of a body.
pub fn body<T: Read>() -> RefOr<Schema> {
    let mut object = ObjectBuilder::new();
    for property in describe::<T>(false).properties {
        let schema = schema(&property.shape, !property.required, property.about, property.default);
        object = object.property(property.name, schema);
        if property.required {
            object = object.required(property.name);
        }
    }
    object.into()
}

/// The named schemas that a body uses.
pub fn components<T: Read>(list: &mut Vec<(String, RefOr<Schema>)>) {
    list.extend(describe::<T>(false).components);
}

/// The parameters of a query.
pub fn query<T: Read>() -> Vec<Parameter> {
    let parameter = |property: Property| {
        ParameterBuilder::new()
            .name(property.name)
            .parameter_in(ParameterIn::Query)
            .required(if property.required { Required::True } else { Required::False })
            .description(property.about)
            .schema(Some(schema(&property.shape, false, None, property.default)))
            .build()
    };
    describe::<T>(true).properties.into_iter().map(parameter).collect()
}

fn schema(
    shape: &Shape,
    nullable: bool,
    about: Option<&'static str>,
    default: Option<Value>,
) -> RefOr<Schema> {
    let typed = |plain: Type| match nullable {
        true => SchemaType::from_iter([plain, Type::Null]),
        false => SchemaType::Type(plain),
    };
    let plain = |kind: Type| {
        ObjectBuilder::new().schema_type(typed(kind)).description(about).default(default.clone())
    };
    match shape {
        Shape::Text { shortest, longest } => plain(Type::String)
            .min_length(Some(*shortest).filter(|n| *n > 0))
            .max_length(Some(*longest).filter(|n| *n < usize::MAX))
            .into(),
        Shape::Words(words) => {
            let words = words.iter().map(|word| Value::from(*word));
            let null = nullable.then_some(Value::Null);
            plain(Type::String).enum_values(Some(words.chain(null))).into()
        }
        Shape::Integer(range) => plain(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(*range.start()).filter(|n| *n > i64::MIN))
            .maximum(Some(*range.end()).filter(|n| *n < i64::MAX))
            .into(),
        Shape::Number { least } => {
            plain(Type::Number).minimum(Some(*least).filter(|n| n.is_finite())).into()
        }
        Shape::Within(range) => {
            plain(Type::Number).minimum(Some(*range.start())).maximum(Some(*range.end())).into()
        }
        Shape::Between { above, below } => plain(Type::Number)
            .exclusive_minimum(Some(*above))
            .exclusive_maximum(Some(*below))
            .into(),
        Shape::Flag => plain(Type::Boolean).into(),
        Shape::Time => {
            let text = ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
            let seconds = ObjectBuilder::new().schema_type(Type::Number);
            let mut either = OneOfBuilder::new().item(seconds).item(text);
            if nullable {
                either = either.item(ObjectBuilder::new().schema_type(Type::Null));
            }
            let form = "Unix seconds or RFC 3339.";
            let about = about.map_or(form.to_owned(), |about| format!("{about} {form}"));
            either.description(Some(about)).into()
        }
        Shape::Object => plain(Type::Object).into(),
        Shape::Any => ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(about)
            .default(default)
            .into(),
        Shape::Named(name) => {
            let named = Ref::from_schema_name(name);
            if !nullable && about.is_none() && default.is_none() {
                return RefOr::Ref(named);
            }
            let mut either = OneOfBuilder::new().item(named).description(about).default(default);
            if nullable {
                either = either.item(ObjectBuilder::new().schema_type(Type::Null));
            }
            either.into()
        }
        Shape::List { item, shortest, longest } => {
            let mut list = ArrayBuilder::new()
                .items(schema(item, false, None, None))
                .description(about)
                .default(default)
                .min_items(Some(*shortest).filter(|n| *n > 0))
                .max_items(Some(*longest).filter(|n| *n < usize::MAX));
            if nullable {
                list = list.schema_type(SchemaType::from_iter([Type::Array, Type::Null]));
            }
            list.into()
        }
        Shape::OrNull(value) => schema(value, true, about, default),
        Shape::OneOrMore(item) => {
            let list = Shape::List { item: item.clone(), shortest: 0, longest: usize::MAX };
            let mut either = OneOfBuilder::new()
                .item(schema(item, false, None, None))
                .item(schema(&list, false, None, None))
                .description(about);
            if nullable {
                either = either.item(ObjectBuilder::new().schema_type(Type::Null));
            }
            either.into()
        }
    }
}

/// Gives a body its name in the specification, and the schema that its reader describes.
#[macro_export]
macro_rules! request_body {
    ($type:ty, $name:literal) => {
        impl ::utoipa::PartialSchema for $type {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                $crate::http::fields::describe::body::<$type>()
            }
        }

        impl ::utoipa::ToSchema for $type {
            fn name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(
                list: &mut Vec<(String, ::utoipa::openapi::RefOr<::utoipa::openapi::Schema>)>,
            ) {
                $crate::http::fields::describe::components::<$type>(list);
            }
        }
    };
}

/// Gives query parameters the specification that their reader describes.
#[macro_export]
macro_rules! request_query {
    ($type:ty) => {
        impl ::utoipa::IntoParams for $type {
            fn into_params(
                _: impl Fn() -> Option<::utoipa::openapi::path::ParameterIn>,
            ) -> Vec<::utoipa::openapi::path::Parameter> {
                $crate::http::fields::describe::query::<$type>()
            }
        }
    };
}
