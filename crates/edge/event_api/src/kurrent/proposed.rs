//! Events that clients propose: judged, measured and made the store's.

use std::collections::HashMap;

use bytes::Bytes;
use daybook_event_store::NewEvent;
use tonic::Status;
use uuid::Uuid;

use super::error_code;
use super::event::{CONTENT_TYPE_KEY, TYPE_KEY};
use super::ids;
use super::options::{EVENT_OVERHEAD_BYTES, Options};
use crate::proto::event_store::client;

/// The events of one append, as they come in.
#[derive(Debug, Default)]
pub(super) struct Proposed {
    pub(super) events: Vec<NewEvent>,
    bytes: usize,
}

/// Why an event is refused.
#[derive(Debug)]
pub(super) enum Refused {
    Event { id: Uuid, bytes: usize },
    Append,
    Malformed(Status),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Malformed(status)
    }
}

impl Proposed {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(
        &mut self,
        options: &Options,
        id: Option<&client::Uuid>,
        mut metadata: HashMap<String, String>,
        custom_metadata: Bytes,
        data: Bytes,
    ) -> Result<(), Refused> {
        let id = ids::id_of(id)?;
        let mut take = |key: &str| metadata.remove(key).ok_or_else(|| error_code::metadata_missing(key));
        let event_type = take(TYPE_KEY)?;
        let content_type = take(CONTENT_TYPE_KEY)?;
        let bytes = event_type.len() + data.len() + custom_metadata.len();
        if bytes > options.event_bytes_max {
            return Err(Refused::Event { id, bytes });
        }
        self.bytes = self.bytes.saturating_add(bytes + EVENT_OVERHEAD_BYTES);
        if self.bytes > options.append_bytes_max {
            return Err(Refused::Append);
        }
        self.events.push(NewEvent {
            id: id.to_string(),
            event_type,
            content_type,
            data,
            metadata: Some(custom_metadata).filter(|metadata| !metadata.is_empty()),
            ..NewEvent::default()
        });
        Ok(())
    }
}

impl Refused {
    pub(super) fn status(self, options: &Options) -> Status {
        match self {
            Self::Event { id, bytes } => error_code::event_too_large(&id.to_string(), bytes, options.event_bytes_max),
            Self::Append => error_code::append_too_large(options.append_bytes_max),
            Self::Malformed(status) => status,
        }
    }
}
