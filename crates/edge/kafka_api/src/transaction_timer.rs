//! Proposes, on this node's clock, what happens to transactions without their producers: those whose time is over are aborted,
//! transactional ids that nobody uses are forgotten. Apply decides whether it is so.

use std::time::Duration;

use daybook_command::{Command, SweepTransaction};
use daybook_types::TransactionalId;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use crate::broker::{Broker, SharedBroker, now};

/// How late an abort may come. A look costs the same however many transactions are open.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Proposed at once.
const SWEEPS_MAX: usize = 256;
/// Between two walks through all transactional ids.
const FORGET_INTERVAL: Duration = Duration::from_secs(60);
/// Looked at together, so that writes don't wait long.
const IDS_LOOKED_MAX: usize = 1000;

/// Runs until dropped.
pub(crate) async fn keep_time(broker: SharedBroker) {
    let mut forget_at = Instant::now() + FORGET_INTERVAL;
    loop {
        sleep(LOOK_INTERVAL).await;
        let due = broker.reader.look_at_transactions(|all| all.timed_out(now(), SWEEPS_MAX));
        sweep(&broker, due).await;
        if Instant::now() >= forget_at {
            forget_unused(&broker).await;
            forget_at = Instant::now() + FORGET_INTERVAL;
        }
    }
}

async fn forget_unused(broker: &Broker) {
    let mut after: Option<TransactionalId> = None;
    loop {
        let unused_ms = broker.options.transactional_id_expiration_ms;
        let look = |all: &daybook_read::Transactions| all.unused(now(), unused_ms, after.as_ref(), IDS_LOOKED_MAX);
        let (unused, looked_to) = broker.reader.look_at_transactions(look);
        sweep(broker, unused).await;
        if looked_to.is_none() {
            return;
        }
        after = looked_to;
    }
}

/// A producer that ended its transaction a moment before is no fault; nor is a shard that takes no writes, which says so itself.
async fn sweep(broker: &Broker, sweeps: Vec<SweepTransaction>) {
    if sweeps.is_empty() {
        return;
    }
    for sweep in &sweeps {
        if let SweepTransaction::TimedOut { producer, .. } = sweep {
            let (id, producer, epoch) = (&producer.transactional_id, producer.id.0, producer.epoch.0);
            warn!(transactional_id = %id, producer, epoch, "aborting a transaction whose time is over");
            metrics::counter!("daybook_transactions_timed_out_total").increment(1);
        }
    }
    let commands = sweeps.into_iter().map(Command::SweepTransaction).collect();
    let applied = match broker.door.propose(commands).await {
        Ok(pending) => pending.await,
        Err(error) => Err(error),
    };
    if let Err(error) = applied {
        debug!(%error, "can't sweep transactions now; trying again");
    }
}
