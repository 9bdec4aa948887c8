//! The router over a real shard: what clients send and get.

mod documents;
mod following;
mod harness;
mod reading;
mod scavenging;
mod streams;
mod writing;
