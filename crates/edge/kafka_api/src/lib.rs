//! The Kafka door: accepts connections, speaks Kafka's wire protocol as Apache Kafka 4.x does, turns requests into commands and reads.
//!
//! The way of a request: [`listener`] accepts a connection, [`session`] reads its frames and answers them in order, [`frame`] says
//! what a frame is, [`versions`] whether it is answered, [`shape`] whether its lengths are true, [`handlers`] what the answer is,
//! [`transmit`] writes it. Wire codes are made in [`error_code`]; only [`wire`] names the library of message structs.
//!
//! Stated absences: no offset is assigned here, no record is decoded unless a topic's settings demand it, nothing is written but
//! through the `Door` and nothing is read but through the `Reader`. Group membership is the coordinator's.

mod answer;
mod broker;
mod busy;
mod config_tables;
mod error_code;
mod fetch_session;
pub mod frame;
mod frame_reader;
mod handlers;
mod isolation;
mod listener;
mod log_limit;
mod meter;
mod options;
mod quota;
mod session;
mod shape;
mod telemetry;
mod topic_ref;
mod transaction_timer;
mod transmit;
pub mod versions;
mod wire;

pub use handlers::decode_request;
pub use listener::Server;
pub use options::Options;

#[cfg(test)]
#[path = "../tests/it/requests.rs"]
mod sample_requests;
