//! Tests of `handles`.
