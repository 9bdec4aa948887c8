//! Record files as the checkpoint and the readers use them.

mod bed;
mod damage;
mod model;
mod power_cut;
mod restore;
