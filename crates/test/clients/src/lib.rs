//! The server seen through librdkafka: everything is in `tests/it`.
