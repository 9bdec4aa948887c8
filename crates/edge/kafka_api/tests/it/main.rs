//! The door as clients meet it: over TCP, on top of a real shard.

mod administration;
mod deleting_records;
mod fetching;
mod harness;
mod manners;
mod producing;
mod requests;
mod shapes;
mod sharing;
mod topics;
