//! Tests of `append`.
