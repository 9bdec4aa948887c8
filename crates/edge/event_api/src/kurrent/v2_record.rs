//! Records of the second protocol as events of the store.
//!
//! A record has typed properties where an event has metadata. They become metadata as readers of the first protocol see them: a JSON
//! object, with what is known of the schema beside the record's own properties.

use std::collections::HashMap;

use daybook_event_store::NewEvent;
use prost::Message;
use prost_types::Value;
use prost_types::value::Kind;
use serde_json::{Map, Number, Value as Json};
use tonic::Status;
use uuid::Uuid;

use super::event::{JSON, OCTETS};
use super::options::{EVENT_OVERHEAD_BYTES, Options};
use super::v2_error;
use crate::proto::kurrentdb::protocol::v2::streams::{AppendRecord, SchemaFormat};

const SCHEMA_NAME_KEY: &str = "$schema.name";
const SCHEMA_FORMAT_KEY: &str = "$schema.format";
const SCHEMA_ID_KEY: &str = "$schema.id";
/// Properties may stand in one another; deeper is no sensible metadata.
const PROPERTY_DEPTH_MAX: usize = 32;

/// Sums up the records of one append.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    bytes: usize,
}

/// The event of a record to `stream`.
pub(super) fn event(
    record: AppendRecord,
    stream: &str,
    options: &Options,
    sizes: &mut Sizes,
) -> Result<NewEvent, Status> {
    let id = record_id(record.record_id.as_deref())?;
    let schema = record.schema.unwrap_or_default();
    if schema.name.is_empty() {
        return Err(v2_error::bad_request("schema.name", "Schema name must not be empty"));
    }
    let (format, content_type) = match schema.format() {
        SchemaFormat::Json => ("Json", JSON),
        SchemaFormat::Protobuf => ("Protobuf", "application/protobuf"),
        SchemaFormat::Avro => ("Avro", "application/avro"),
        SchemaFormat::Bytes => ("Bytes", OCTETS),
        SchemaFormat::Unspecified => {
            return Err(v2_error::bad_request("schema.format", "Schema format must not be Unspecified."));
        }
    };
    if let Some(schema_id) = &schema.id
        && Uuid::parse_str(schema_id).map_or(true, |id| id.is_nil())
    {
        return Err(v2_error::bad_request("schema.id", "Schema ID must be a valid and non-empty UUID"));
    }
    let properties_bytes: usize = record.properties.iter().map(|(key, value)| key.len() + value.encoded_len()).sum();
    let bytes = record.data.len() + properties_bytes + schema.name.len();
    if bytes > options.event_bytes_max {
        return Err(v2_error::record_too_large(stream, &id.to_string(), bytes, options.event_bytes_max));
    }
    sizes.bytes = sizes.bytes.saturating_add(bytes + EVENT_OVERHEAD_BYTES);
    if sizes.bytes > options.append_bytes_max {
        return Err(v2_error::append_too_large(sizes.bytes, options.append_bytes_max));
    }
    let mut metadata = properties(record.properties)?;
    metadata.insert(SCHEMA_NAME_KEY.to_owned(), Json::String(schema.name.clone()));
    metadata.insert(SCHEMA_FORMAT_KEY.to_owned(), Json::String(format.to_owned()));
    if let Some(schema_id) = schema.id {
        metadata.insert(SCHEMA_ID_KEY.to_owned(), Json::String(schema_id));
    }
    Ok(NewEvent {
        id: id.to_string(),
        event_type: schema.name,
        content_type: content_type.to_owned(),
        data: record.data,
        metadata: Some(Json::Object(metadata).to_string().into()),
        ..NewEvent::default()
    })
}

fn record_id(id: Option<&str>) -> Result<Uuid, Status> {
    let Some(id) = id else { return Ok(Uuid::new_v4()) };
    match Uuid::parse_str(id) {
        Ok(id) if !id.is_nil() => Ok(id),
        _ => Err(v2_error::bad_request("record_id", "Record ID must be a valid and non-empty UUID.")),
    }
}

fn properties(properties: HashMap<String, Value>) -> Result<Map<String, Json>, Status> {
    let mut object = Map::new();
    for (key, value) in properties {
        if key.is_empty() {
            return Err(v2_error::bad_request("properties", "Property keys must not be empty."));
        }
        let json = json(value, PROPERTY_DEPTH_MAX)
            .ok_or_else(|| v2_error::bad_request("properties", "Property values must have a type set."))?;
        object.insert(key, json);
    }
    Ok(object)
}

/// `None` if it has no type, is deeper than `depth`, or is no number that JSON knows.
fn json(value: Value, depth: usize) -> Option<Json> {
    let depth = depth.checked_sub(1)?;
    Some(match value.kind? {
        Kind::NullValue(_) => Json::Null,
        Kind::BoolValue(value) => Json::Bool(value),
        Kind::StringValue(text) => Json::String(text),
        Kind::NumberValue(number) => Json::Number(json_number(number)?),
        Kind::ListValue(list) => {
            Json::Array(list.values.into_iter().map(|value| json(value, depth)).collect::<Option<_>>()?)
        }
        Kind::StructValue(object) => Json::Object(
            object.fields.into_iter().map(|(key, value)| Some((key, json(value, depth)?))).collect::<Option<_>>()?,
        ),
    })
}

/// Whole numbers without a fraction: every number comes as a double, but few were meant so.
fn json_number(number: f64) -> Option<Number> {
    /// Above, doubles skip whole numbers.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        #[allow(clippy::cast_possible_truncation, reason = "whole and within 53 bits")]
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}
