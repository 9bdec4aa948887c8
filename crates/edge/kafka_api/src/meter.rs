//! This door's metrics. Handles are kept, so that counting on the hot path is an addition.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use crate::versions::{Row, TABLE};

pub(crate) struct Meter {
    apis: Vec<ApiMeter>,
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub connections: Gauge,
    pub connections_refused: Counter,
    /// Clients' own metrics that were pushed here.
    telemetry_pushes: Counter,
    telemetry_bytes: Counter,
    throttles: Counter,
    /// Of requests that were read and not yet answered.
    pub in_flight_bytes: Gauge,
}

struct ApiMeter {
    requests: Counter,
    /// From the whole request read to its answer handed to the socket. A fetch's includes its wait for records.
    seconds: Histogram,
}

impl Meter {
    pub fn new() -> Self {
        let api = |row: &Row| ApiMeter {
            requests: counter!("daybook_kafka_requests_total", "api" => row.name),
            seconds: histogram!("daybook_kafka_request_seconds", "api" => row.name),
        };
        Self {
            apis: TABLE.iter().map(api).collect(),
            bytes_in: counter!("daybook_kafka_bytes_in_total"),
            bytes_out: counter!("daybook_kafka_bytes_out_total"),
            connections: gauge!("daybook_kafka_connections"),
            connections_refused: counter!("daybook_kafka_connections_refused_total"),
            telemetry_pushes: counter!("daybook_kafka_telemetry_pushes_total"),
            telemetry_bytes: counter!("daybook_kafka_telemetry_bytes_total"),
            throttles: counter!("daybook_kafka_throttles_total"),
            in_flight_bytes: gauge!("daybook_kafka_in_flight_bytes"),
        }
    }

    pub fn request(&self, row: &'static Row) {
        if let Some(meter) = self.api(row) {
            meter.requests.increment(1);
        }
    }

    pub fn answered(&self, row: &'static Row, took: Duration) {
        if let Some(meter) = self.api(row) {
            meter.seconds.record(took);
        }
    }

    pub fn pushed(&self, bytes: usize) {
        self.telemetry_pushes.increment(1);
        self.telemetry_bytes.increment(bytes as u64);
    }

    /// A client goes beyond its quota and has to wait.
    pub fn throttled(&self) {
        self.throttles.increment(1);
    }

    fn api(&self, row: &'static Row) -> Option<&ApiMeter> {
        self.apis.get(TABLE.iter().position(|candidate| candidate.key() == row.key())?)
    }
}
