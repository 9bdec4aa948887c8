//! The quotas of clients (KIP-13, KIP-55, KIP-124, KIP-612): who may produce, fetch, keep the server busy and connect how fast, and
//! how long one who goes beyond it has to wait.
//!
//! What was set is the catalog's; here is only what was measured. A client that has no quota costs nothing but the look.

pub(crate) mod entity;
mod rate;

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use daybook_catalog::{Catalog, DynamicConfigs};
use daybook_command::ResourceKind;
use parking_lot::Mutex;

use self::entity::{Entity, Name};
use self::rate::{Rate, WINDOW_MS};

pub(crate) const PRODUCER_BYTE_RATE: &str = "producer_byte_rate";
pub(crate) const CONSUMER_BYTE_RATE: &str = "consumer_byte_rate";
pub(crate) const REQUEST_PERCENTAGE: &str = "request_percentage";
pub(crate) const CONTROLLER_MUTATION_RATE: &str = "controller_mutation_rate";
pub(crate) const CONNECTION_CREATION_RATE: &str = "connection_creation_rate";

/// Who every client is, as long as none says who it is.
pub(crate) const ANONYMOUS: &str = "ANONYMOUS";

/// Clients choose their ids, so there may be any number of them.
const SENSORS_MAX: usize = 10_000;

/// What is measured of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Measure {
    /// Bytes of produce requests.
    Produce,
    /// Bytes of records in fetch answers.
    Fetch,
    /// Time in which the server was busy with its requests.
    Requests,
}

/// Who is measured together: a user, a client id, or a client id of a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Sensor {
    Client { measure: Measure, user: String, client_id: String },
    Ip(IpAddr),
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    sensors: Mutex<HashMap<Sensor, Rate>>,
}

impl Measure {
    fn key(self) -> &'static str {
        match self {
            Self::Produce => PRODUCER_BYTE_RATE,
            Self::Fetch => CONSUMER_BYTE_RATE,
            Self::Requests => REQUEST_PERCENTAGE,
        }
    }
}

impl Quotas {
    /// Notes `value` of the client, and says how many milliseconds it has to wait.
    pub fn record(&self, catalog: &Catalog, measure: Measure, client_id: &str, value: f64, now_ms: u64) -> u32 {
        let Some((sensor, bound)) = client_quota(catalog.dynamic_configs(), measure, client_id) else { return 0 };
        let throttle_ms = self.with(sensor, now_ms, |rate| {
            rate.record(value, now_ms);
            rate.throttle_ms(bound, now_ms)
        });
        // Kafka holds nobody back for longer than a window because of requests, which include those that would end the wait.
        if measure == Measure::Requests { throttle_ms.min(WINDOW_MS as u32) } else { throttle_ms }
    }

    /// Notes how long the server was busy with a request.
    pub fn record_request(&self, catalog: &Catalog, client_id: &str, busy: Duration, now_ms: u64) -> u32 {
        self.record(catalog, Measure::Requests, client_id, busy.as_secs_f64() * 100.0, now_ms)
    }

    /// Takes back what was noted: the answer wasn't sent.
    pub fn unrecord(&self, catalog: &Catalog, measure: Measure, client_id: &str, value: f64, now_ms: u64) {
        if let Some((sensor, _)) = client_quota(catalog.dynamic_configs(), measure, client_id) {
            self.with(sensor, now_ms, |rate| rate.record(-value, now_ms));
        }
    }

    /// The most that a client may get in one window of measuring: a larger answer would hold it back for long.
    pub fn window_max(&self, catalog: &Catalog, measure: Measure, client_id: &str) -> Option<usize> {
        let (_, bound) = client_quota(catalog.dynamic_configs(), measure, client_id)?;
        Some((bound * rate::WHOLE_WINDOWS as f64) as usize)
    }

    /// Notes a connection from `ip`. One that comes too soon isn't accepted, nor noted: for so many milliseconds it is held.
    pub fn record_connection(&self, catalog: &Catalog, ip: IpAddr, now_ms: u64) -> u32 {
        let Some(bound) = ip_quota(catalog.dynamic_configs(), ip) else { return 0 };
        self.with(Sensor::Ip(ip), now_ms, |rate| {
            rate.record(1.0, now_ms);
            let throttle_ms = rate.throttle_ms(bound, now_ms);
            if throttle_ms > 0 {
                rate.record(-1.0, now_ms);
            }
            throttle_ms
        })
    }

    fn with<T>(&self, sensor: Sensor, now_ms: u64, act: impl FnOnce(&mut Rate) -> T) -> T {
        let mut sensors = self.sensors.lock();
        if sensors.len() >= SENSORS_MAX && !sensors.contains_key(&sensor) {
            // One that was silent for a whole window has nothing to tell any more.
            sensors.retain(|_, rate| !rate.is_over(now_ms));
            if sensors.len() >= SENSORS_MAX {
                let longest = sensors.iter().min_by_key(|(_, rate)| rate.last_ms()).map(|(sensor, _)| sensor.clone());
                longest.map(|sensor| sensors.remove(&sensor));
            }
        }
        act(sensors.entry(sensor).or_default())
    }
}

/// The quota that holds for a client, and who shares it. The order is Kafka's: the most specific entity that has the quota.
fn client_quota(configs: &DynamicConfigs, measure: Measure, client_id: &str) -> Option<(Sensor, f64)> {
    configs.of_kind(ResourceKind::ClientQuota).next()?;
    let user = ANONYMOUS;
    let candidates = [
        (Some(Name::of(user)), Some(Name::of(client_id))),
        (Some(Name::of(user)), Some(Name::Default)),
        (Some(Name::of(user)), None),
        (Some(Name::Default), Some(Name::of(client_id))),
        (Some(Name::Default), Some(Name::Default)),
        (Some(Name::Default), None),
        (None, Some(Name::of(client_id))),
        (None, Some(Name::Default)),
    ];
    candidates.into_iter().find_map(|(of_user, of_client)| {
        let shares = |part: &Option<Name>, name: &str| if part.is_some() { name.to_owned() } else { String::new() };
        let (user, client_id) = (shares(&of_user, user), shares(&of_client, client_id));
        let entity = Entity { user: of_user, client_id: of_client, ip: None };
        let bound = bound(configs, &entity, measure.key())?;
        Some((Sensor::Client { measure, user, client_id }, bound))
    })
}

fn ip_quota(configs: &DynamicConfigs, ip: IpAddr) -> Option<f64> {
    let of = |name| bound(configs, &Entity { ip: Some(name), ..Entity::default() }, CONNECTION_CREATION_RATE);
    configs.of_kind(ResourceKind::ClientQuota).next()?;
    of(Name::Of(ip.to_string())).or_else(|| of(Name::Default))
}

fn bound(configs: &DynamicConfigs, entity: &Entity, key: &str) -> Option<f64> {
    let set = configs.of(ResourceKind::ClientQuota, &entity.encode())?;
    set.get(key)?.parse().ok().filter(|bound| *bound > 0.0)
}

#[cfg(test)]
mod tests;
