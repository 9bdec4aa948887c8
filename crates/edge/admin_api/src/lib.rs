//! The HTTP port, as far as it is for operators: `/healthz`, `/readyz`, `/metrics`.
//!
//! `/healthz` says that the process runs; `/readyz` whether it takes writes, and if not why; `/metrics` is Prometheus'
//! text format.

mod server;

pub use server::{Server, ServerOptions};
