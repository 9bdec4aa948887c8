//! PushTelemetry (KIP-714): a client's metrics, which are counted and not kept.

use crate::broker::{Broker, Caller};
use crate::error_code;
use crate::telemetry::Push;
use crate::wire::messages::{PushTelemetryRequest, PushTelemetryResponse};

/// None, gzip, snappy, lz4, zstd.
const COMPRESSIONS: std::ops::RangeInclusive<i8> = 0..=4;

pub(super) async fn handle(broker: &Broker, caller: &Caller, request: PushTelemetryRequest) -> PushTelemetryResponse {
    let push = Push {
        subscription_id: request.subscription_id,
        is_terminating: request.terminating,
        is_known_compression: COMPRESSIONS.contains(&request.compression_type),
        bytes: request.metrics.len(),
    };
    let catalog = broker.reader.catalog();
    let (instance, now_ms) = (request.client_instance_id, broker.monotonic_ms());
    let judged = broker.telemetry.push(catalog.dynamic_configs(), instance, &caller.as_client(), push, now_ms);
    if judged.is_ok() {
        broker.meter.pushed(request.metrics.len());
    }
    PushTelemetryResponse::default().with_error_code(error_code::code(judged.err()))
}
