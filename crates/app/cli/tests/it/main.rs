//! The built binary, used as a person uses it: a server on a fresh directory, and commands against it.

mod bench;
mod follow;
mod groups;
mod harness;
mod records;
mod serving;
mod streams;
mod topics;
