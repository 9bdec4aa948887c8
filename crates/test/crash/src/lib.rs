//! The server killed again and again while clients note what it promised: everything is in `tests/it`.
