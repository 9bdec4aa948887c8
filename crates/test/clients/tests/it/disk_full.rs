//! A disk that takes no more.
