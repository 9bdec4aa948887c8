#![allow(clippy::unwrap_used)]
//! Competing consumers: the core by scripts and by random histories, the whole on a store.

mod harness;
mod history;
mod parking;
mod script;
mod subscriptions;
