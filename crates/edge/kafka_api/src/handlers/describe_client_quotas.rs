//! DescribeClientQuotas: the quotas of users, client ids and IP addresses that a filter lets through (KIP-546, KIP-612).

use std::collections::HashSet;

use daybook_command::ResourceKind;

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::quota::entity::{CLIENT_ID, Entity, IP, Name, USER};
use crate::wire::messages::describe_client_quotas_request::ComponentData;
use crate::wire::messages::describe_client_quotas_response::{EntityData, EntryData, ValueData};
use crate::wire::messages::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};
use crate::wire::text;

/// Kafka's `DescribeClientQuotasRequest.MATCH_TYPE_…`.
const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const ANY: i8 = 2;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    let outcome = check(&request.components);
    if outcome.is_err() {
        let (code, message) = code_and_text(&outcome);
        return DescribeClientQuotasResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_entries(None);
    }
    let catalog = broker.reader.catalog();
    let quotas = catalog.dynamic_configs().of_kind(ResourceKind::ClientQuota);
    let entries = quotas.filter_map(|(name, values)| {
        let entity = Entity::decode(name)?;
        matches(&entity, &request.components, request.strict).then(|| {
            let part = |(kind, name): (&'static str, &Name)| {
                EntityData::default().with_entity_type(text(kind)).with_entity_name(name.as_option().map(text))
            };
            let value = |(key, value): (&String, &String)| {
                ValueData::default().with_key(text(key.as_str())).with_value(value.parse().unwrap_or_default())
            };
            EntryData::default()
                .with_entity(entity.parts().map(part).collect())
                .with_values(values.iter().map(value).collect())
        })
    });
    DescribeClientQuotasResponse::default().with_entries(Some(entries.collect()))
}

fn check(components: &[ComponentData]) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let mut seen = HashSet::new();
    for component in components {
        let kind = &*component.entity_type;
        if !seen.insert(kind) {
            return invalid(format!("Entity type {kind} cannot appear more than once in the filter."));
        }
        if kind.is_empty() {
            return invalid("Unexpected empty entity type.".into());
        }
        if ![USER, CLIENT_ID, IP].contains(&kind) {
            return Err(Refusal::new(ErrorCode::UnsupportedVersion, format!("Unsupported entity type {kind}")));
        }
        match (component.match_type, component._match.is_some()) {
            (EXACT, false) => return invalid(format!("Exact match of {kind} without a name.")),
            (DEFAULT | ANY, true) => return invalid(format!("Match of {kind} by default or of any with a name.")),
            (EXACT | DEFAULT | ANY, _) => {}
            (other, _) => return invalid(format!("Unknown match type {other}")),
        }
    }
    if seen.contains(IP) && seen.len() > 1 {
        let message = "Invalid entity filter component combination, IP filter component should not be used with user \
                       or clientId filter component.";
        return invalid(message.into());
    }
    Ok(())
}

/// Whether the entity has every part that is asked for; if `strict`, and no other.
fn matches(entity: &Entity, components: &[ComponentData], strict: bool) -> bool {
    let is_met = |component: &ComponentData| {
        let part = entity.parts().find(|(kind, _)| *kind == &*component.entity_type);
        part.is_some_and(|(_, name)| match component.match_type {
            EXACT => name.as_option() == component._match.as_deref(),
            DEFAULT => *name == Name::Default,
            _ => true,
        })
    };
    components.iter().all(is_met) && (!strict || entity.parts().count() == components.len())
}

#[cfg(test)]
mod tests;
