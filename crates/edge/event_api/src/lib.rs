//! The event door: the event store through protocols that others wrote.
//!
//! Each protocol is a thin translation of `daybook_event_store`. Nothing is decided here, and nothing kept that must survive.

pub mod http;
pub mod kurrent;
pub mod proto;
pub mod umadb;
