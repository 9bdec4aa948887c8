//! Tests of `compression`.
