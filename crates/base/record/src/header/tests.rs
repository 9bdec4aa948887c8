//! Tests of `header`.
