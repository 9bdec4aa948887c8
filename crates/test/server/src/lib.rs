//! The built server as a child process, for tests that look at it from outside.
//!
//! [`Launch`] says how it is started, [`Process`] is a child of which nothing is known yet, [`Server`] one that has said
//! that it is ready. A child never outlives the test process, however that ends: each has a [`guard`] that waits for it.
//! When a test fails, the last of the child's log goes to standard error.

mod binary;
mod guard;
mod http;
mod launch;
mod output;
mod process;
mod ready;
mod wait;

pub use binary::binary;
pub use http::{HttpAnswer, http_get};
pub use launch::Launch;
pub use process::{Exit, Process, Server, StartError};
pub use ready::Ready;
pub use wait::{eventually, wait_until};
