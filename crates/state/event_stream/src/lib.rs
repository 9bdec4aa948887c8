//! The index of streams.
