//! The arithmetic of the bench: a wrong share or schedule would be a wrong figure.

use std::time::{Duration, Instant};

use daybook_types::{Offset, PartitionIndex};

use crate::bench::consume::part;
use crate::bench::lanes::shares;
use crate::bench::latency::Schedule;
use crate::bench::process::{cpu_seconds, cpu_ticks, resident_bytes};
use crate::bench::report::Latencies;

#[test]
fn every_partition_has_a_connection_and_every_connection_a_partition() {
    for partitions in 1..20 {
        let all: Vec<usize> = (0..partitions).collect();
        for connections in 1..20 {
            let shares = shares(&all, connections);
            assert_eq!(shares.len(), connections);
            assert!(shares.iter().all(|share| !share.is_empty()));
            let mut taken = shares.concat();
            assert!(connections > partitions || taken.len() == partitions, "each once while there are enough");
            taken.sort();
            taken.dedup();
            assert_eq!(taken, all);
        }
    }
}

#[test]
fn parts_of_a_partition_meet_and_cover_it() {
    for (start, end) in [(0, 0), (0, 1), (5, 12), (0, i64::MAX), (1 << 40, (1 << 40) + 1001)] {
        for count in 1..9 {
            let parts: Vec<_> =
                (0..count).map(|place| part(PartitionIndex(0), Offset(start), Offset(end), place, count)).collect();
            assert_eq!((parts[0].from.0, parts[count - 1].to.0), (start, end));
            assert!(parts.windows(2).all(|pair| pair[0].to == pair[1].from));
            assert!(parts.iter().all(|part| part.from <= part.to));
        }
    }
}

#[test]
fn a_record_is_due_from_its_moment_on() {
    let schedule =
        Schedule { start: Instant::now(), rate: 4.0, warmup: Duration::from_secs(1), measured: Duration::from_secs(2) };
    assert_eq!(schedule.total(), 12);
    assert_eq!(schedule.due_count(Duration::ZERO), 1);
    assert_eq!(schedule.due_count(Duration::from_millis(249)), 1);
    assert_eq!(schedule.due_count(Duration::from_millis(250)), 2);
    assert_eq!(schedule.due_count(Duration::from_secs(60)), 12);
    assert!(!schedule.is_measured(schedule.due(3)) && schedule.is_measured(schedule.due(4)));
}

#[test]
fn a_process_with_any_name_is_read() {
    let stat = "42 (a) b) S 1 1 1 0 -1 4194560 1 2 3 4 150 25 7 8 20 0 1 0 100";
    assert_eq!(cpu_ticks(stat), Some(175));
    assert_eq!(cpu_ticks("42 (a"), None);
    assert!(cpu_seconds(std::process::id()).is_ok());
    assert!(resident_bytes(std::process::id()).is_ok_and(|bytes| bytes > 100_000));
}

#[test]
fn quantiles_are_in_milliseconds() {
    let mut latencies = Latencies::new();
    latencies.record(Duration::from_millis(1), 99);
    latencies.record(Duration::from_secs(600), 1);
    let quantiles = latencies.quantiles();
    assert_eq!(quantiles.count, 100);
    assert!((quantiles.p50 - 1.0).abs() < 0.01 && (quantiles.p99 - 1.0).abs() < 0.01);
    // Beyond what is told apart, but not left out.
    assert!(quantiles.max >= 120_000.0);
}
