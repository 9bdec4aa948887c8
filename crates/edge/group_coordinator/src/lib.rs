//! group-coordinator
