//! The rules as scripts against the pure core, and the driver under a paused clock.

mod driver;
mod script;
