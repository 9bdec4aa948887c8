//! A server that is killed at any moment, and what clients may hold it to afterwards.
//!
//! Clients write while the server is killed with SIGKILL at random moments, in the middle of its work, its checkpoints and
//! its own recovery. They note every promise: an acknowledged record's offset and content, a record somebody has read, a
//! committed offset, a topic made or deleted. After each restart every promise must hold, and nothing may be there that
//! nobody sent, or twice.
//!
//! `DAYBOOK_CRASH_KILLS` is the number of kills a test, `DAYBOOK_CRASH_SEED` repeats a run's dice, as far as the machine's
//! timing lets it. A run that fails leaves its data directory and says where.

mod campaign;
mod commits;
mod content;
mod ledger;
mod network;
mod reading;
mod tearing;
mod topics;
mod writing;

use crate::campaign::{Campaign, Tail};

#[test]
fn acknowledged_is_there_after_every_kill() {
    Campaign { name: "always", sync: "always", tail: Tail::AsLeft, kills: 25 }.run();
}

/// A kill is not a power cut: what the operating system has, it has.
#[test]
fn the_same_when_the_system_syncs() {
    Campaign { name: "os", sync: "os", tail: Tail::AsLeft, kills: 15 }.run();
}

/// As if the kill had come in the middle of a write.
#[test]
fn the_same_with_garbage_behind_the_log() {
    Campaign { name: "torn", sync: "always", tail: Tail::Torn, kills: 15 }.run();
}
