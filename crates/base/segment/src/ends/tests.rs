//! Tests of `ends`.
