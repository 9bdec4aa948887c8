//! What a run found, for people and for scripts.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::bench::arguments::Load;
use crate::bench::process::Usage;
use crate::output::{Column, Table, print_json};
use crate::session::Session;
use daybook_kafka_client::Acks;

#[derive(Debug, Serialize)]
pub struct Report {
    pub bench: &'static str,
    pub bootstrap: String,
    pub record_bytes: u32,
    pub partitions: u16,
    pub connections: u16,
    pub acks: &'static str,
    pub compression: &'static str,
    pub batch_bytes: u64,
    pub in_flight: u16,
    /// Measured, without the warm-up; and so is what follows.
    pub seconds: f64,
    pub records: u64,
    pub records_per_second: f64,
    /// Of values alone, in millions of bytes.
    pub megabytes_per_second: f64,
    /// From sending to the answer; for `latency`, from the moment a record was meant to be sent.
    pub answered_ms: Option<Quantiles>,
    /// From the moment a record was meant to be sent until a consumer has it.
    pub received_ms: Option<Quantiles>,
    /// Of the whole run, warm-up and all.
    pub client_cpu_seconds: f64,
    /// Of the whole run.
    pub server_cpu_seconds: Option<f64>,
    pub server_resident_bytes_peak: Option<u64>,
}

/// In milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
    #[serde(rename = "p99.9")]
    pub p999: f64,
    pub max: f64,
}

/// What a run counted.
#[derive(Debug)]
pub struct Counted {
    pub seconds: f64,
    pub records: u64,
    pub answered: Option<Latencies>,
    pub received: Option<Latencies>,
}

/// Latencies from a microsecond to two minutes, to three digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, 120_000_000, 3).expect("the bounds are in order"))
    }

    pub fn record(&mut self, latency: Duration, count: u64) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record_n(us.max(1), count);
    }

    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    pub fn quantiles(&self) -> Quantiles {
        let ms = |us: u64| us as f64 / 1000.0;
        let at = |quantile: f64| ms(self.0.value_at_quantile(quantile));
        Quantiles {
            count: self.0.len(),
            mean: self.0.mean() / 1000.0,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: ms(self.0.max()),
        }
    }
}

impl Report {
    pub fn new(bench: &'static str, session: &Session, load: &Load, counted: &Counted, usage: Usage) -> Self {
        let per_second = |count: f64| if counted.seconds > 0.0 { count / counted.seconds } else { 0.0 };
        Self {
            bench,
            bootstrap: session.bootstrap.clone(),
            record_bytes: load.record_bytes,
            partitions: load.partitions,
            connections: load.connections,
            acks: acks_name(load.acks),
            compression: load.compression.name(),
            batch_bytes: load.batch_bytes,
            in_flight: load.in_flight,
            seconds: counted.seconds,
            records: counted.records,
            records_per_second: per_second(counted.records as f64),
            megabytes_per_second: per_second(counted.records as f64 * f64::from(load.record_bytes) / 1e6),
            answered_ms: counted.answered.as_ref().map(Latencies::quantiles),
            received_ms: counted.received.as_ref().map(Latencies::quantiles),
            client_cpu_seconds: usage.client_cpu_seconds,
            server_cpu_seconds: usage.server.map(|server| server.cpu_seconds),
            server_resident_bytes_peak: usage.server.map(|server| server.resident_bytes_peak),
        }
    }
}

fn acks_name(acks: Acks) -> &'static str {
    match acks {
        Acks::None => "0",
        Acks::Leader => "1",
        Acks::All => "all",
    }
}

/// One run is one document, several are a list.
pub fn print_reports(session: &Session, reports: &[Report]) -> anyhow::Result<()> {
    match reports {
        [report] if session.is_json => print_json(report),
        _ if session.is_json => print_json(&reports),
        _ => print_table(reports),
    }
}

fn print_table(reports: &[Report]) -> anyhow::Result<()> {
    let titles = [
        "BYTES",
        "PART",
        "CONN",
        "RECORDS/S",
        "MB/S",
        "P50 MS",
        "P99 MS",
        "P99.9 MS",
        "MAX MS",
        "CLIENT CPU",
        "SERVER CPU",
        "SERVER RSS",
    ];
    let mut columns = vec![Column::Text("BENCH")];
    columns.extend(titles.map(Column::Number));
    let mut table = Table::new(&columns);
    for report in reports {
        let latency = report.received_ms.or(report.answered_ms);
        let ms = |of: fn(&Quantiles) -> f64| {
            latency.as_ref().map_or("-".to_owned(), |latency| format!("{:.2}", of(latency)))
        };
        let seconds = |seconds: f64| format!("{seconds:.2} s");
        table.row([
            report.bench.to_owned(),
            report.record_bytes.to_string(),
            report.partitions.to_string(),
            report.connections.to_string(),
            format!("{:.0}", report.records_per_second),
            format!("{:.1}", report.megabytes_per_second),
            ms(|latency| latency.p50),
            ms(|latency| latency.p99),
            ms(|latency| latency.p999),
            ms(|latency| latency.max),
            seconds(report.client_cpu_seconds),
            report.server_cpu_seconds.map_or("-".to_owned(), seconds),
            report.server_resident_bytes_peak.map_or("-".to_owned(), |bytes| format!("{} MB", bytes / 1_000_000)),
        ]);
    }
    table.print()
}
