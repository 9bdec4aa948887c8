//! GetTelemetrySubscriptions (KIP-714): tells a client which of its metrics are wanted, and how often.

use uuid::Uuid;

use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::telemetry::{PUSH_BYTES_MAX, Subscription};
use crate::wire::messages::{GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse};
use crate::wire::text;

/// zstd, lz4, gzip, snappy: what Kafka would like best first.
const COMPRESSIONS: [i8; 4] = [4, 3, 1, 2];

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: GetTelemetrySubscriptionsRequest,
) -> GetTelemetrySubscriptionsResponse {
    let instance = if request.client_instance_id.is_nil() { Uuid::new_v4() } else { request.client_instance_id };
    let catalog = broker.reader.catalog();
    let subscribed =
        broker.telemetry.subscribe(catalog.dynamic_configs(), instance, &caller.as_client(), broker.monotonic_ms());
    match subscribed {
        Ok(Subscription { id, metrics, interval_ms }) => GetTelemetrySubscriptionsResponse::default()
            .with_client_instance_id(instance)
            .with_subscription_id(id)
            .with_accepted_compression_types(COMPRESSIONS.to_vec())
            .with_push_interval_ms(interval_ms)
            .with_telemetry_max_bytes(PUSH_BYTES_MAX as i32)
            .with_delta_temporality(true)
            .with_requested_metrics(metrics.into_iter().map(text).collect()),
        Err(error) => GetTelemetrySubscriptionsResponse::default().with_error_code(error_code::code(Some(error))),
    }
}
