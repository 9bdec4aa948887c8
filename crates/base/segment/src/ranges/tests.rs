//! Tests of `ranges`.
