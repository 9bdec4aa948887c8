//! kafka-client
