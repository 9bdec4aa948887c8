//! The configs of groups, for the requests about configs of anything.

use std::collections::BTreeMap;

use daybook_catalog::ConfigKind;
use daybook_share_coordinator::config::{self, Definition, Kind};
use daybook_types::GroupId;

use crate::broker::Broker;
use crate::error_code::ErrorCode;
use crate::handlers::refusal::Refusal;

/// A config of a group as it is told.
pub(super) struct Told {
    pub definition: &'static Definition,
    /// None: by default.
    pub own: Option<String>,
    pub default: String,
    pub kind: ConfigKind,
}

/// Every config of a group; the group need not exist.
pub(super) fn describe(broker: &Broker, name: &str) -> Result<Vec<Told>, Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(ErrorCode::InvalidRequest, "a group needs a name"));
    }
    let mut own = broker.reader.group_configs(&GroupId::new(name));
    let told = |definition: &'static Definition| Told {
        definition,
        own: own.remove(definition.name),
        default: definition.default(broker.share.settings()),
        kind: match definition.kind {
            Kind::Flag => ConfigKind::Boolean,
            Kind::Int => ConfigKind::Int,
            Kind::Text => ConfigKind::String,
        },
    };
    Ok(config::TABLE.iter().map(told).collect())
}

/// Whether a group may have all of these.
pub(super) fn check(broker: &Broker, configs: &BTreeMap<String, String>) -> Result<(), Refusal> {
    configs.iter().try_for_each(|(name, value)| {
        config::check(name, value, broker.share.settings())
            .map_err(|refusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string()))
    })
}
