//! The messages of OTLP, as far as turns are made of them, out of protobuf and out of JSON.
//!
//! A small request can ask for much memory, as an empty message of two bytes is a struct of hundreds. So the messages are
//! counted before anything is decoded. The decoders themselves bound how deep messages nest.

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// More messages than a full batch of a collector has.
const MOST_MESSAGES: usize = 500_000;

/// Says nothing of the content, so that it may be logged.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the request has more than {MOST_MESSAGES} messages: export smaller batches")]
    TooManyMessages,
    #[error("the request is not an OTLP trace export in protobuf")]
    Protobuf,
    #[error("the request is not an OTLP trace export in JSON: line {line}, column {column}")]
    Json { line: usize, column: usize },
}

/// The body that an exporter posts to `/v1/traces`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_hex")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_hex")]
    pub span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_hex")]
    pub parent_span_id: Vec<u8>,
    #[prost(fixed64, tag = "7")]
    #[serde(deserialize_with = "whole")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(deserialize_with = "whole")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<Event>,
    #[prost(fixed32, tag = "16")]
    #[serde(deserialize_with = "whole")]
    pub flags: u32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Event {
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "3")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5, 6")]
    pub value: Option<Any>,
}

/// Bytes are left out: no convention keeps words in them.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Any {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
    #[prost(message, tag = "6")]
    List(KeyValueList),
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<KeyValue>,
}

impl Any {
    pub fn to_json(&self) -> Value {
        let each = |value: &Option<Any>| value.as_ref().map_or(Value::Null, Any::to_json);
        match self {
            Any::Text(text) => json!(text),
            Any::Bool(value) => json!(value),
            Any::Int(value) => json!(value),
            Any::Double(value) => json!(value),
            Any::Array(array) => array.values.iter().map(|value| each(&value.value)).collect(),
            Any::List(list) => {
                let pairs = list
                    .values
                    .iter()
                    .filter_map(|pair| Some((pair.key.clone(), each(&pair.value.as_ref()?.value))));
                Value::Object(pairs.collect())
            }
        }
    }
}

/// The body of a request with `Content-Type: application/x-protobuf`.
pub fn decode_protobuf(bytes: &[u8]) -> Result<ExportRequest, DecodeError> {
    if protobuf_messages(bytes) > MOST_MESSAGES {
        return Err(DecodeError::TooManyMessages);
    }
    ExportRequest::decode(bytes).map_err(|_| DecodeError::Protobuf)
}

/// The body of a request with `Content-Type: application/json`.
pub fn decode_json(bytes: &[u8]) -> Result<ExportRequest, DecodeError> {
    if json_messages(bytes) > MOST_MESSAGES {
        return Err(DecodeError::TooManyMessages);
    }
    serde_json::from_slice(bytes)
        .map_err(|error| DecodeError::Json { line: error.line(), column: error.column() })
}

#[derive(Clone, Copy)]
enum Kind {
    Request,
    ResourceSpans,
    ScopeSpans,
    Span,
    Attributed,
    KeyValue,
    AnyValue,
    ArrayValue,
    KeyValueList,
}

impl Kind {
    fn child(self, field: u32) -> Option<Kind> {
        Some(match (self, field) {
            (Kind::Request, 1) => Kind::ResourceSpans,
            // A resource has its attributes in field 1, an event in field 3; neither has messages in the other.
            (Kind::ResourceSpans, 1) | (Kind::Span, 11) => Kind::Attributed,
            (Kind::ResourceSpans, 2) => Kind::ScopeSpans,
            (Kind::ScopeSpans, 2) => Kind::Span,
            (Kind::Span, 9) | (Kind::Attributed, 1 | 3) | (Kind::KeyValueList, 1) => Kind::KeyValue,
            (Kind::KeyValue, 2) | (Kind::ArrayValue, 1) => Kind::AnyValue,
            (Kind::AnyValue, 5) => Kind::ArrayValue,
            (Kind::AnyValue, 6) => Kind::KeyValueList,
            _ => return None,
        })
    }
}

/// Counts until there are too many, or until the bytes make no sense, which the decoder then reports.
fn protobuf_messages(bytes: &[u8]) -> usize {
    let mut waiting = vec![(bytes, Kind::Request)];
    let mut found = 0;
    while let Some((mut rest, kind)) = waiting.pop() {
        while !rest.is_empty() && found <= MOST_MESSAGES {
            let Ok((field, wire)) = decode_key(&mut rest) else { break };
            let skipped = match wire {
                WireType::Varint => decode_varint(&mut rest).ok().map(|_| 0),
                WireType::ThirtyTwoBit => Some(4),
                WireType::SixtyFourBit => Some(8),
                WireType::StartGroup | WireType::EndGroup => Some(0),
                WireType::LengthDelimited => decode_varint(&mut rest).ok(),
            };
            let skipped = skipped.and_then(|length| usize::try_from(length).ok());
            let Some((inner, after)) = skipped.and_then(|length| rest.split_at_checked(length))
            else {
                break;
            };
            rest = after;
            if let (WireType::LengthDelimited, Some(child)) = (wire, kind.child(field)) {
                found += 1;
                waiting.push((inner, child));
            }
        }
    }
    found
}

fn json_messages(bytes: &[u8]) -> usize {
    let (mut found, mut quoted, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => found += 1,
            _ => {}
        }
    }
    found
}

fn from_hex<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(from)?.unwrap_or_default();
    hex::decode(text).map_err(|_| D::Error::custom("not hexadecimal"))
}

/// JSON has numbers of 64 bits as text; some exporters write them as numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(u64),
    Negative(i64),
    Fraction(f64),
    Text(String),
}

fn whole<'de, D: Deserializer<'de>, N: TryFrom<u64>>(from: D) -> Result<N, D::Error> {
    let number = match Option::<Number>::deserialize(from)? {
        None => Some(0),
        Some(Number::Whole(number)) => Some(number),
        Some(Number::Text(text)) => text.parse().ok(),
        Some(Number::Negative(_) | Number::Fraction(_)) => None,
    };
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| D::Error::custom("not a whole number"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonValue {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<Number>,
    double_value: Option<Number>,
    array_value: Option<ArrayValue>,
    kvlist_value: Option<KeyValueList>,
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = JsonValue::deserialize(from)?;
        let int = match json.int_value {
            None => None,
            Some(Number::Whole(number)) => i64::try_from(number).ok(),
            Some(Number::Negative(number)) => Some(number),
            Some(Number::Text(text)) => text.parse().ok(),
            Some(Number::Fraction(_)) => None,
        };
        let double = match json.double_value {
            None => None,
            Some(Number::Whole(number)) => Some(number as f64),
            Some(Number::Negative(number)) => Some(number as f64),
            Some(Number::Fraction(number)) => Some(number),
            Some(Number::Text(text)) => text.parse().ok(),
        };
        let value = json
            .string_value
            .map(Any::Text)
            .or(json.bool_value.map(Any::Bool))
            .or(int.map(Any::Int))
            .or(double.map(Any::Double))
            .or(json.array_value.map(Any::Array))
            .or(json.kvlist_value.map(Any::List));
        Ok(AnyValue { value })
    }
}

/// The answer to an exporter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    #[serde(serialize_with = "as_text")]
    pub rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

fn as_text<S: serde::Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(number)
}
