//! kafka-api
