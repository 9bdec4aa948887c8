//! The event store under many writers and kills, judged by its history; and forged histories, to see the judge find fault.
//!
//! `DAYBOOK_LINEAR_WRITERS`, `…_STREAMS`, `…_REQUESTS` (between two kills) and `…_KILLS` make a run longer; `DAYBOOK_LINEAR_SEED` repeats a
//! run's dice, as far as the machine's timing lets it. A run that fails leaves its data directory and says where.
#![allow(clippy::unwrap_used)]

mod campaign;
mod forged;
mod http;
mod kafka;
mod reading;
mod recorder;
mod store;
mod writer;

/// Hundreds of writers on thousands of streams, at every door, while the server is killed.
#[test]
fn answers_are_those_of_a_store_that_does_one_thing_after_the_other() {
    campaign::Campaign::from_environment().run();
}
