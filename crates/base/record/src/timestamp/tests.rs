//! Tests of `timestamp`.
