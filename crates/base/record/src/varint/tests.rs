//! Tests of `varint`.
