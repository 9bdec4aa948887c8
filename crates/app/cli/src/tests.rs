//! What can be typed, and what it means.

mod input;
mod output;
mod typed;
