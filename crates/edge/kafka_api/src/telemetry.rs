//! Clients that tell of their own metrics (KIP-714): who is asked for which, and how often each may come. What they push is counted and not
//! kept. The rules are those of Kafka's `ClientMetricsManager`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use daybook_catalog::DynamicConfigs;
use daybook_command::ResourceKind;
use parking_lot::Mutex;
use uuid::Uuid;

use crate::config_tables::client_metrics::{INTERVAL_MS, INTERVAL_MS_DEFAULT, MATCH, METRICS, patterns};
use crate::error_code::ErrorCode;

/// Clients that are remembered at once, as in Kafka; of more, the one that was silent longest is forgotten.
const CLIENTS_MAX: usize = 16_384;
/// Stands for all metrics.
const ALL_METRICS: &str = "*";

/// What is known of a client.
#[derive(Clone, Debug)]
pub(crate) struct Client<'a> {
    pub id: &'a str,
    pub software: (&'a str, &'a str),
    pub peer: SocketAddr,
}

/// What a client is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// Another one where anything of it is another.
    pub id: i32,
    pub metrics: Vec<String>,
    pub interval_ms: i32,
}

/// What a client pushes, as far as it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    pub subscription_id: i32,
    pub is_terminating: bool,
    pub is_known_compression: bool,
    pub bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    clients: Mutex<HashMap<Uuid, Known>>,
}

#[derive(Debug)]
struct Known {
    subscription_id: i32,
    got_ms: Option<u64>,
    pushed_ms: Option<u64>,
    is_terminated: bool,
    used_ms: u64,
}

/// `telemetry.max.bytes`
pub(crate) const PUSH_BYTES_MAX: usize = 1024 * 1024;

impl Telemetry {
    /// Answers a client that asks what it is to push. It may not ask again before the interval is over, unless something changed.
    pub fn subscribe(
        &self,
        configs: &DynamicConfigs,
        instance: Uuid,
        client: &Client<'_>,
        now_ms: u64,
    ) -> Result<Subscription, ErrorCode> {
        let subscription = subscription(configs, instance, client);
        let mut clients = self.clients.lock();
        let known = remember(&mut clients, instance, &subscription, now_ms);
        let last_ms = known.got_ms.max(known.pushed_ms);
        if last_ms.is_some_and(|last_ms| now_ms.saturating_sub(last_ms) < subscription.interval_ms as u64) {
            return Err(ErrorCode::ThrottlingQuotaExceeded);
        }
        known.got_ms = Some(now_ms);
        Ok(subscription)
    }

    /// Judges what a client pushes.
    pub fn push(
        &self,
        configs: &DynamicConfigs,
        instance: Uuid,
        client: &Client<'_>,
        push: Push,
        now_ms: u64,
    ) -> Result<(), ErrorCode> {
        if instance.is_nil() || instance == Uuid::from_u128(1) {
            return Err(ErrorCode::InvalidRequest);
        }
        let subscription = subscription(configs, instance, client);
        let mut clients = self.clients.lock();
        let known = remember(&mut clients, instance, &subscription, now_ms);
        if std::mem::replace(&mut known.is_terminated, push.is_terminating) {
            return Err(ErrorCode::InvalidRequest);
        }
        let is_first_since_asking = known.got_ms > known.pushed_ms;
        let is_due =
            known.pushed_ms.is_none_or(|last_ms| now_ms.saturating_sub(last_ms) >= subscription.interval_ms as u64);
        if !is_first_since_asking && !is_due && !push.is_terminating {
            return Err(ErrorCode::ThrottlingQuotaExceeded);
        }
        if is_first_since_asking || is_due {
            known.pushed_ms = Some(now_ms);
        }
        if push.subscription_id != subscription.id {
            return Err(ErrorCode::UnknownSubscriptionId);
        }
        if !push.is_known_compression {
            return Err(ErrorCode::UnsupportedCompressionType);
        }
        if push.bytes > PUSH_BYTES_MAX {
            return Err(ErrorCode::TelemetryTooLarge);
        }
        Ok(())
    }
}

/// The client as it is known, or as it comes for the first time; for another subscription it begins anew.
fn remember<'a>(
    clients: &'a mut HashMap<Uuid, Known>,
    instance: Uuid,
    subscription: &Subscription,
    now_ms: u64,
) -> &'a mut Known {
    if clients.len() >= CLIENTS_MAX && !clients.contains_key(&instance) {
        let longest = clients.iter().min_by_key(|(id, known)| (known.used_ms, **id)).map(|(id, _)| *id);
        longest.map(|id| clients.remove(&id));
    }
    let new = || Known {
        subscription_id: subscription.id,
        got_ms: None,
        pushed_ms: None,
        is_terminated: false,
        used_ms: now_ms,
    };
    let known = clients.entry(instance).or_insert_with(new);
    if known.subscription_id != subscription.id {
        *known = new();
    }
    known.used_ms = now_ms;
    known
}

/// All subscriptions that match the client, as one.
fn subscription(configs: &DynamicConfigs, instance: Uuid, client: &Client<'_>) -> Subscription {
    let mut metrics = BTreeSet::new();
    let mut interval_ms = INTERVAL_MS_DEFAULT;
    for (_, subscription) in configs.of_kind(ResourceKind::ClientMetrics) {
        if !is_match(subscription, instance, client) {
            continue;
        }
        let named = subscription.get(METRICS).map_or("", String::as_str);
        metrics.extend(named.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        let own = subscription.get(INTERVAL_MS).and_then(|interval| interval.trim().parse().ok());
        interval_ms = interval_ms.min(own.unwrap_or(INTERVAL_MS_DEFAULT));
    }
    if metrics.contains(ALL_METRICS) {
        metrics = [ALL_METRICS.to_owned()].into();
    }
    let mut id = DefaultHasher::new();
    (&metrics, interval_ms, instance).hash(&mut id);
    Subscription { id: id.finish() as i32, metrics: metrics.into_iter().collect(), interval_ms }
}

fn is_match(subscription: &BTreeMap<String, String>, instance: Uuid, client: &Client<'_>) -> bool {
    let patterns = patterns(subscription.get(MATCH).map_or("", String::as_str));
    // They were checked when they were set.
    let Ok(patterns) = patterns else { return false };
    patterns.iter().all(|(name, pattern)| match name.as_str() {
        "client_id" => pattern.is_match(client.id),
        "client_instance_id" => pattern.is_match(&kafka_uuid(instance)),
        "client_software_name" => pattern.is_match(client.software.0),
        "client_software_version" => pattern.is_match(client.software.1),
        "client_source_address" => pattern.is_match(&client.peer.ip().to_string()),
        "client_source_port" => pattern.is_match(&client.peer.port().to_string()),
        _ => false,
    })
}

/// The 22 letters in which Kafka writes a UUID: URL-safe base 64 without padding.
fn kafka_uuid(id: Uuid) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = id.as_u128();
    let letter = |at: u32| {
        // Twenty-one groups of six bits from the top; two bits are left for the last letter.
        let group = if at < 21 { (bits >> (122 - 6 * at)) & 63 } else { (bits & 3) << 4 };
        char::from(LETTERS[group as usize])
    };
    (0..22).map(letter).collect()
}

#[cfg(test)]
mod tests;
