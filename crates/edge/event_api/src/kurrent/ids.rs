//! Ids and names as they stand in messages.

use bytes::Bytes;
use daybook_event_store::StreamName;
use tonic::Status;
use uuid::Uuid;

use super::error_code;
use crate::proto::event_store::client;
use crate::proto::event_store::client::uuid::{Structured, Value};

/// Which of the two ways to write an id the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdForm {
    Structured,
    Text,
}

/// The id that a client sent.
pub(crate) fn id_of(message: Option<&client::Uuid>) -> Result<Uuid, Status> {
    let id = match message.and_then(|message| message.value.as_ref()) {
        Some(Value::String(text)) => {
            Uuid::parse_str(text).map_err(|_| error_code::invalid(format!("'{text}' is not a UUID")))?
        }
        Some(Value::Structured(halves)) => Uuid::from_u64_pair(
            halves.most_significant_bits.cast_unsigned(),
            halves.least_significant_bits.cast_unsigned(),
        ),
        None => return Err(error_code::invalid("an id is missing; send a UUID as text or as two halves")),
    };
    if id.is_nil() {
        return Err(error_code::invalid("an id is the empty UUID; every event needs its own"));
    }
    Ok(id)
}

pub(crate) fn id_message(id: Uuid, form: IdForm) -> client::Uuid {
    let value = match form {
        IdForm::Text => Value::String(id.to_string()),
        IdForm::Structured => {
            let (most, least) = id.as_u64_pair();
            Value::Structured(Structured {
                most_significant_bits: most.cast_signed(),
                least_significant_bits: least.cast_signed(),
            })
        }
    };
    client::Uuid { value: Some(value) }
}

/// The UUID of an event's id. Ids may be any text; one that is no UUID has always the same made of it.
pub(crate) fn event_id(id: &str) -> Uuid {
    Uuid::parse_str(id).unwrap_or_else(|_| Uuid::new_v5(&Uuid::NAMESPACE_OID, id.as_bytes()))
}

pub(crate) fn stream_name(identifier: Option<&client::StreamIdentifier>) -> Result<StreamName, Status> {
    let identifier = identifier.ok_or_else(|| error_code::invalid("the stream's name is missing"))?;
    let name = std::str::from_utf8(&identifier.stream_name)
        .map_err(|_| error_code::invalid("the stream's name is not UTF-8"))?;
    StreamName::new(name).map_err(|fault| error_code::invalid(fault.to_string()))
}

pub(crate) fn stream_identifier(name: &str) -> client::StreamIdentifier {
    client::StreamIdentifier { stream_name: Bytes::copy_from_slice(name.as_bytes()) }
}
