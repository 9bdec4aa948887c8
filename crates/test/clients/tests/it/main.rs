//! The server as librdkafka sees it.
//!
//! One module a theme. Most tests share one server and keep to topics and groups of their own; those that stop, starve or
//! misconfigure a server start one of their own. `DAYBOOK_TEST_BOOTSTRAP=HOST:PORT` lets the suite run against any other
//! broker: what fails there is the test's fault. Tests of our own process are passed over then.

#![expect(clippy::unwrap_used, reason = "tests say what they expect by unwrapping it")]

mod auto_creation;
mod broker;
mod cleaning;
mod codecs;
mod commits;
mod contention;
mod data_directory;
mod disk_full;
mod group_rebalance;
mod idempotence;
mod many_topics;
mod positions;
mod process;
mod proxy;
mod raw;
mod reading;
mod records;
mod restart;
mod sizes;
mod static_members;
mod strangers;
mod timestamps;
mod topics;
mod vanished_member;
mod writing;
