#![allow(clippy::unwrap_used)]
//! Competing consumers: the core by scripts and by random histories, the whole on a store.

mod history;
mod script;
