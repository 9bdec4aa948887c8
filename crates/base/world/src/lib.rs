//! The outside, as traits: so far the disk and the clock. Only this crate touches it; tests bring a disk that loses what was not fsynced.
//!
//! Every path is relative to the disk's root, the data directory. Errors carry verb and path.

mod clock;
mod disk;
mod real;

pub use clock::{Clock, RealClock};
pub use disk::{Disk, DiskError, DiskFile, Verb};
pub use real::RealDisk;
