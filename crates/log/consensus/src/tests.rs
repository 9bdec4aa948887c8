//! openraft's own conformance suite for storage, over the WAL.

use std::path::Path;
use std::sync::Arc;

use daybook_command::{Entry, Outcome};
use daybook_wal::{Options, Wal};
use daybook_world::RealDisk;
use openraft::StorageError;
use openraft::testing::log::{StoreBuilder, Suite};
use tempfile::TempDir;

use crate::config::Types;
use crate::log_store::LogStore;
use crate::machine::{At, Checkpoint, Machine, StateMachine};

/// Posts nothing: the suite is about log ids and members.
struct Nothing;

impl StateMachine for Nothing {
    fn apply(&mut self, _at: At, entry: &Entry) -> std::io::Result<Vec<Outcome>> {
        assert!(entry.commands.is_empty(), "the suite can't make commands");
        Ok(Vec::new())
    }

    fn pass(&mut self, _at: At) {}

    fn begin_checkpoint(&mut self) -> Checkpoint {
        Box::new(|_| Ok(()))
    }
}

struct OnDisk;

impl StoreBuilder<Types, LogStore, Machine<Nothing>, TempDir> for OnDisk {
    async fn build(&self) -> Result<(TempDir, LogStore, Machine<Nothing>), StorageError<Types>> {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let disk = Arc::new(RealDisk::open(dir.path()).expect("it can be opened"));
        let options = Options { segment_bytes: 64 * 1024, first_segment_bytes: 64 * 1024, ..Options::default() };
        let (wal, _) = Wal::open(disk, Path::new("wal"), options).expect("an empty WAL opens");
        let log = LogStore::open(Arc::new(wal)).expect("there is no vote yet");
        let machine = Machine::new(Nothing, None, log.clone()).expect("there is no checkpoint yet");
        Ok((dir, log, machine))
    }
}

/// `transfer_snapshot` is left out: another member's checkpoint can't be installed before there are other members.
macro_rules! suite {
    ($($name:ident),* $(,)?) => {$(
        #[tokio::test]
        async fn $name() {
            let (_dir, log, machine) = OnDisk.build().await.expect("the store builds");
            Suite::<Types, LogStore, Machine<Nothing>, OnDisk, TempDir>::$name(log, machine).await.unwrap();
        }
    )*};
}

suite! {
    last_membership_in_log_initial, last_membership_in_log, last_membership_in_log_multi_step, get_membership_initial,
    get_membership_from_log_and_empty_sm, get_membership_from_empty_log_and_sm,
    get_membership_from_log_le_sm_last_applied, get_membership_from_log_gt_sm_last_applied_1,
    get_membership_from_log_gt_sm_last_applied_2, get_initial_state_without_init,
    get_initial_state_membership_from_empty_log_and_sm, get_initial_state_membership_from_sm_inlog_is_smaller,
    get_initial_state_membership_from_log_insm_is_smaller, get_initial_state_with_state,
    get_initial_state_last_log_gt_sm, get_initial_state_last_log_lt_sm, get_initial_state_inverted_log_order,
    get_initial_state_conflict_at_same_index, get_initial_state_log_ids, get_initial_state_re_apply_committed, save_vote,
    get_log_entries, limited_get_log_entries, leader_bounded_stream, entries_stream, try_get_log_entry,
    log_reader_reads_new_entries, initial_logs, get_log_state, get_log_id, last_id_in_log, last_applied_state,
    purge_logs_upto_0, purge_logs_upto_5, purge_logs_upto_20, delete_logs_after_11, delete_logs_after_5,
    delete_logs_after_0, delete_logs_after_none, append_to_log, snapshot_meta, snapshot_meta_optional, apply_single,
    apply_multiple,
}
