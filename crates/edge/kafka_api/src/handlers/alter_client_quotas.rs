//! AlterClientQuotas: quotas of users, client ids and IP addresses are set and removed. The checks are those of Kafka's
//! `ClientQuotaControlManager`.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use daybook_command::{AlterConfigs, Command, ConfigResource, ResourceKind};

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::handlers::topic_change;
use crate::quota::entity::{Entity, Name};
use crate::quota::{
    CONNECTION_CREATION_RATE, CONSUMER_BYTE_RATE, CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE,
};
use crate::wire::messages::alter_client_quotas_request::{EntityData as AskedPart, EntryData as Asked, OpData};
use crate::wire::messages::alter_client_quotas_response::{EntityData, EntryData};
use crate::wire::messages::{AlterClientQuotasRequest, AlterClientQuotasResponse};

/// Longest name of a user or a client id.
const NAME_BYTES_MAX: usize = 4096;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: AlterClientQuotasRequest,
) -> AlterClientQuotasResponse {
    let mut times: HashMap<String, usize> = HashMap::new();
    let plans: Vec<(Vec<AskedPart>, Result<AlterConfigs, Refusal>)> = (request.entries.into_iter())
        .map(|asked| {
            let plan = plan(&asked);
            if let Ok(plan) = &plan {
                *times.entry(plan.resource.name.clone()).or_default() += 1;
            }
            (asked.entity, plan)
        })
        .collect();
    let once = |plan: Result<AlterConfigs, Refusal>| {
        plan.and_then(|plan| match times.get(&plan.resource.name) {
            Some(1) => Ok(plan),
            _ => Err(invalid("Ignoring duplicate entity")),
        })
    };
    let plans: Vec<_> = plans.into_iter().map(|(entity, plan)| (entity, once(plan))).collect();
    let commands = plans.iter().filter_map(|(_, plan)| plan.as_ref().ok().cloned()).map(Command::AlterConfigs);
    let commands = if request.validate_only { Vec::new() } else { commands.collect() };
    let mut results = topic_change::apply(broker, commands).await.into_iter();
    let entries = plans.into_iter().map(|(entity, plan)| {
        let outcome = plan.and_then(|_| results.next().unwrap_or(Ok(())));
        let (code, message) = code_and_text(&outcome);
        let part = |part: AskedPart| {
            EntityData::default().with_entity_type(part.entity_type).with_entity_name(part.entity_name)
        };
        EntryData::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_entity(entity.into_iter().map(part).collect())
    });
    AlterClientQuotasResponse::default().with_entries(entries.collect())
}

fn plan(asked: &Asked) -> Result<AlterConfigs, Refusal> {
    let entity = entity(&asked.entity)?;
    let mut seen = HashSet::new();
    let mut changes = Vec::new();
    for op in &asked.ops {
        if !seen.insert(&*op.key) {
            return Err(invalid(format!("Duplicate quota key {} not updating quota for this entity", op.key)));
        }
        check(&entity, op)?;
        changes.push((op.key.to_string(), (!op.remove).then(|| op.value.to_string())));
    }
    let resource = ConfigResource { kind: ResourceKind::ClientQuota, name: entity.encode() };
    Ok(AlterConfigs { resource, changes })
}

fn entity(asked: &[AskedPart]) -> Result<Entity, Refusal> {
    let mut entity = Entity::default();
    for part in asked {
        let kind = &*part.entity_type;
        let place =
            entity.part_mut(kind).ok_or_else(|| invalid(format!("Unhandled client quota entity type: {kind}")))?;
        if place.is_some() {
            return Err(invalid(format!("Invalid client quota entity, duplicate entity entry {kind}")));
        }
        *place = Some(match part.entity_name.as_deref() {
            Some("") => return Err(invalid(format!("Empty {kind} not supported"))),
            Some(name) if name.len() > NAME_BYTES_MAX => {
                return Err(invalid(format!("the name of a {kind} may have {NAME_BYTES_MAX} bytes")));
            }
            Some(name) => Name::of(name),
            None => Name::Default,
        });
    }
    match &entity {
        Entity { ip: Some(_), user, client_id } if user.is_some() || client_id.is_some() => {
            Err(invalid("Invalid quota entity combination, IP entity should not be combined with User or ClientId"))
        }
        Entity { ip: Some(Name::Of(ip)), .. } if ip.parse::<IpAddr>().is_err() => {
            Err(invalid(format!("{ip} is not a valid IP or resolvable host.")))
        }
        Entity { ip: None, user: None, client_id: None } => Err(invalid("Invalid empty client quota entity")),
        _ => Ok(entity),
    }
}

fn check(entity: &Entity, op: &OpData) -> Result<(), Refusal> {
    let key = &*op.key;
    let whole_max = match (entity.ip.is_some(), key) {
        (true, CONNECTION_CREATION_RATE) => Some(i32::MAX as f64),
        (false, PRODUCER_BYTE_RATE | CONSUMER_BYTE_RATE) => Some(i64::MAX as f64),
        (false, REQUEST_PERCENTAGE | CONTROLLER_MUTATION_RATE) => None,
        _ => return Err(invalid(format!("Invalid configuration key {key}"))),
    };
    match op.value {
        _ if op.remove => Ok(()),
        // NaN is none either.
        value if !(value > 0.0 && value.is_finite()) => Err(invalid(format!("Quota {key} must be greater than 0"))),
        value if whole_max.is_some_and(|max| value > max) => {
            Err(invalid(format!("Proposed value for {key} is too large.")))
        }
        value if whole_max.is_some() && value.fract() > 1e-6 => {
            Err(invalid(format!("{key} cannot be a fractional value.")))
        }
        _ => Ok(()),
    }
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
