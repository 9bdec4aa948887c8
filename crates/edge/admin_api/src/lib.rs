//! The one HTTP port: its listener, what it says to operators, and what is answered where nothing is served.
//!
//! `/healthz` says that the process runs; `/readyz` whether it takes writes, and if not why; `/metrics` is Prometheus'
//! text format. Whoever wires a node merges the routes of other doors with [`routes`] and hands the whole to [`HttpPort::run`], so that
//! HTTP/1.1, HTTP/2 and gRPC meet on one port.

mod nowhere;
mod operator;
mod port;

pub use operator::{OperatorOptions, ShardView, routes};
pub use port::{HttpPort, PortOptions};

#[cfg(test)]
mod tests;
