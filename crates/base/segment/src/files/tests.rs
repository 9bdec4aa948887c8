//! Tests of `files`.
