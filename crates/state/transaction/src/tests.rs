//! The rules as a table of small stories; what is encoded comes back; a random history against what must always hold.

mod random;
mod rules;
mod stored;
