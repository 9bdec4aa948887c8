//! Isolation levels as requests name them.

use daybook_read::Isolation;

const READ_COMMITTED: i8 = 1;

/// Whatever isn't Kafka's number for committed reads everything, as in Kafka.
pub(crate) fn of(level: i8) -> Isolation {
    if level == READ_COMMITTED { Isolation::Committed } else { Isolation::Uncommitted }
}
