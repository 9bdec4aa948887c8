//! The WAL over disks that work, fail, fill up and lose power.

#![allow(clippy::unwrap_used)]

mod damage;
mod failure;
mod fixture;
mod garbage;
mod power_cut;
mod round_trip;
mod segments;
