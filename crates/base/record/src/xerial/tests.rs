//! Tests of `xerial`.
