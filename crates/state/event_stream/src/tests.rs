//! The index against a plain list of all events, through checkpoints and restarts; and the rules of appending.

mod against_list;
mod rules;
