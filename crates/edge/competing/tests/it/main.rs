//! Competing consumers: the core by scripts and by random histories, the whole on a store.

#![allow(clippy::unwrap_used)]

mod harness;
mod history;
mod parking;
mod script;
mod storm;
mod subscriptions;
