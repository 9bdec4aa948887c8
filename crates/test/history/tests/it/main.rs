//! Histories with power cuts, restarts and checkpoints at random.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

mod compaction;
mod retention;
mod scavenge;
mod transactional_compaction;

use std::ops::Range;

use daybook_history::{Acknowledged, Machine, Workload};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Power cuts a history; more with `DAYBOOK_HISTORY_CUTS`.
fn cuts() -> usize {
    std::env::var("DAYBOOK_HISTORY_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(12)
}

/// Histories of these seeds, one after the other.
async fn histories(seeds: Range<u64>, checkpoint_wal_bytes: u64) {
    let mut event_appends = 0;
    for seed in seeds {
        event_appends += history(seed, checkpoint_wal_bytes).await.event_appends;
    }
    assert!(event_appends > 0, "every append of events was refused");
}

async fn history(seed: u64, checkpoint_wal_bytes: u64) -> Acknowledged {
    println!("seed {seed}, checkpoint every {checkpoint_wal_bytes} bytes of log");
    let mut random = StdRng::seed_from_u64(seed);
    let mut machine = Machine::default();
    let mut workload = Workload::new(seed);
    let mut acknowledged = Acknowledged::default();
    for cut in 0..cuts() {
        let running = machine.start(checkpoint_wal_bytes).await;
        running.settle().await;
        running.check(&machine.journal, &acknowledged);
        let door = running.shard.door();
        workload.run(&door, random.random_range(0..60), &mut acknowledged).await;
        running.settle().await;
        running.check(&machine.journal, &acknowledged);
        if random.random_bool(0.2) {
            // An orderly stop, for once.
            drop(door);
            running.stop().await;
            continue;
        }
        // The power goes while commands are on their way: some answers come, some don't.
        let mut in_flight = acknowledged.clone();
        let cutting = async {
            for _ in 0..random.random_range(0..200) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = workload.run(&door, 40, &mut in_flight) => {}
            () = cutting => {}
        }
        acknowledged = in_flight;
        drop(door);
        machine.cut_power(running, seed.wrapping_mul(31).wrapping_add(cut as u64)).await;
    }
    let running = machine.start(checkpoint_wal_bytes).await;
    running.settle().await;
    running.check(&machine.journal, &acknowledged);
    assert!(machine.journal.len() > cuts());
    running.stop().await;
    acknowledged
}

#[tokio::test]
async fn nothing_is_lost_without_checkpoints() {
    histories(0..3, u64::MAX / 8).await;
}

#[tokio::test]
async fn nothing_is_lost_with_frequent_checkpoints() {
    histories(100..106, 32 * 1024).await;
}

#[tokio::test]
async fn nothing_is_lost_with_a_checkpoint_after_nearly_every_entry() {
    histories(200..203, 1).await;
}
