//! Record files as the checkpoint and the readers use them.

#![allow(clippy::unwrap_used)] // the bed and the models are tests too

mod bed;
mod damage;
mod model;
mod power_cut;
mod restore;
mod rewrite;
mod rewrite_cut;
