//! Change the configs of what is neither a topic nor a group: brokers, subscriptions of client metrics, and the quotas of clients.

use std::fmt;

use thiserror::Error;

use crate::encoding::{DecodeError, Reader, Writer};

/// What configs can belong to besides topics and groups. The tags are disk format: never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A node by its id, or all nodes: the empty name.
    Broker,
    /// A subscription of client metrics (KIP-714).
    ClientMetrics,
    /// The quotas of an entity; the name is the entity's, as the door writes it.
    ClientQuota,
}

/// A thing that has configs and is neither topic nor group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    pub kind: ResourceKind,
    pub name: String,
}

/// Set (`Some`) or forget (`None`); a resource whose last config goes, goes too. Checked by the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfigs {
    pub resource: ConfigResource,
    pub changes: Vec<(String, Option<String>)>,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigsRefusal {
    #[error("{max} resources have configs already, which is as many as may be; delete some first")]
    TooManyResources { max: usize },
    #[error("the resource would have more than {max} configs; delete some first")]
    TooManyConfigs { max: usize },
}

impl ResourceKind {
    pub const ALL: [Self; 3] = [Self::Broker, Self::ClientMetrics, Self::ClientQuota];

    pub fn tag(self) -> u8 {
        match self {
            Self::Broker => 1,
            Self::ClientMetrics => 2,
            Self::ClientQuota => 3,
        }
    }

    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.tag() == tag)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broker => "broker",
            Self::ClientMetrics => "client metrics",
            Self::ClientQuota => "client quota",
        })
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}

impl AlterConfigs {
    pub(crate) fn bytes(&self) -> usize {
        let of = |(name, value): &(String, Option<String>)| name.len() + value.as_ref().map_or(0, String::len) + 10;
        self.resource.name.len() + self.changes.iter().map(of).sum::<usize>()
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u8(self.resource.kind.tag());
        out.text(&self.resource.name);
        out.count(self.changes.len());
        for (name, value) in &self.changes {
            out.text(name);
            out.optional_text(value.as_deref());
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Self, DecodeError> {
        let kind = ResourceKind::from_tag(from.u8()?).ok_or(DecodeError::Malformed)?;
        let resource = ConfigResource { kind, name: from.text()? };
        let changes = from.list(|from| Ok((from.text()?, from.optional_text()?)))?;
        Ok(Self { resource, changes })
    }
}
