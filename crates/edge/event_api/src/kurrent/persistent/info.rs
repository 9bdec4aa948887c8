//! What is known of a subscription, in the words of the protocol.

use daybook_competing::{Connection, Info, Rate, StartFrom};

use super::counts_in_all;
use super::messages::SubscriptionInfo;
use super::messages::subscription_info::{ConnectionInfo, Measurement};

pub(super) fn message(info: Info) -> SubscriptionInfo {
    let settings = &info.definition.settings;
    let is_all = counts_in_all(&info.definition.source);
    let place = |number: Option<u64>| number.map_or_else(String::new, |number| place(&number.to_string(), is_all));
    let start_from = match settings.start_from {
        StartFrom::Start => "0".to_owned(),
        StartFrom::End => "-1".to_owned(),
        StartFrom::At(number) => number.to_string(),
    };
    SubscriptionInfo {
        event_source: info.definition.source.name(),
        group_name: info.definition.group.clone(),
        status: status(&info),
        average_per_second: small(info.rate.per_second),
        total_items: large(info.rate.total),
        count_since_last_measurement: large(info.rate.recent),
        last_checkpointed_event_position: place(info.last_checkpointed),
        last_known_event_position: place(info.last_known),
        resolve_link_tos: settings.resolve_links,
        start_from: self::place(&start_from, is_all),
        message_timeout_milliseconds: small(settings.message_timeout_ms),
        extra_statistics: settings.extra_statistics,
        max_retry_count: small(settings.max_retry_count),
        live_buffer_size: small(settings.live_buffer_size),
        buffer_size: small(settings.history_buffer_size),
        read_batch_size: small(settings.read_batch_size),
        check_point_after_milliseconds: small(settings.checkpoint_after_ms),
        min_check_point_count: small(settings.min_checkpoint_count),
        max_check_point_count: small(settings.max_checkpoint_count),
        read_buffer_count: if info.is_live { 0 } else { small(info.buffered as u64) },
        live_buffer_count: if info.is_live { large(info.buffered as u64) } else { 0 },
        retry_buffer_count: small(info.retrying as u64),
        total_in_flight_messages: small(info.in_flight as u64),
        outstanding_messages_count: small(info.in_flight as u64),
        named_consumer_strategy: settings.strategy.as_str().to_owned(),
        max_subscriber_count: small(settings.max_subscriber_count),
        parked_message_count: large(info.parked),
        connections: info.connections.into_iter().map(connection).collect(),
    }
}

fn connection(connection: Connection) -> ConnectionInfo {
    let Rate { total, recent, per_second } = connection.rate;
    let measurement = |(key, value): (&str, u64)| Measurement { key: key.to_owned(), value: large(value) };
    ConnectionInfo {
        from: connection.profile.from,
        username: connection.profile.user,
        connection_name: connection.profile.connection_name,
        average_items_per_second: small(per_second),
        total_items: large(total),
        count_since_last_measurement: large(recent),
        observed_measurements: connection.measurements.into_iter().map(measurement).collect(),
        available_slots: small(connection.available_slots as u64),
        in_flight_messages: small(connection.in_flight as u64),
    }
}

/// The names of the protocol's flags.
fn status(info: &Info) -> String {
    let reading = if info.is_live { "Live" } else { "Behind" };
    match (info.is_replaying, info.is_live) {
        (false, _) => reading.to_owned(),
        (true, true) => format!("ReplayingParkedMessages, {reading}"),
        (true, false) => format!("{reading}, ReplayingParkedMessages"),
    }
}

fn place(number: &str, is_all: bool) -> String {
    if is_all { format!("C:{number}/P:{number}") } else { number.to_owned() }
}

fn small(number: impl Into<u64>) -> i32 {
    i32::try_from(number.into()).unwrap_or(i32::MAX)
}

fn large(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
