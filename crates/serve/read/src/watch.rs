//! Waiting for records.

use std::sync::Arc;

use daybook_partition::{Appearance, PartitionLog};

/// Waits for a change of any of several partitions.
#[derive(Debug, Default)]
pub struct Watch {
    appearance: Appearance,
}

impl Watch {
    pub(crate) fn new(logs: impl Iterator<Item = Arc<PartitionLog>>) -> Self {
        let watch = Self::default();
        logs.for_each(|log| log.watch(&watch.appearance));
        watch
    }

    /// Resolves when records came, or a partition went, since the watch was made. For the next change make a new watch.
    pub async fn changed(&mut self) {
        self.appearance.appeared().await;
    }
}
