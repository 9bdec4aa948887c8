//! consumer-group
