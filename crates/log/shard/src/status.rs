//! What a shard says of itself.

use std::sync::Arc;

use daybook_types::{Lsn, Term};
use tokio::sync::watch;

/// Changes are published when they matter to someone; numbers are as of then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardStatus {
    /// The shard applied its log and takes writes, unless `failure` says otherwise.
    pub serving: bool,
    /// Why no writes are taken any more. Reads go on.
    pub failure: Option<Arc<str>>,
    pub term: Term,
    /// LSN that the last checkpoint holds.
    pub checkpoint: Lsn,
}

pub type StatusWatch = watch::Receiver<ShardStatus>;

impl ShardStatus {
    pub fn takes_writes(&self) -> bool {
        self.serving && self.failure.is_none()
    }
}
