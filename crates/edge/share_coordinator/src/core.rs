//! The pure half: no clock, no disk, no Kafka message. Times are arguments.

mod assign;
mod members;
mod sessions;
mod window;

pub use assign::{Assignment, assign};
pub use members::{Group, GroupRules, Heartbeat, HeartbeatError, Heartbeaten, Member, Topics};
pub use sessions::{ConnectionId, SessionAsk, SessionError, SessionKey, Sessions};
pub use window::{AckError, Acknowledgement, Acquired, Ask, Rules, Span, Verdict, Window};

#[cfg(test)]
mod tests;
