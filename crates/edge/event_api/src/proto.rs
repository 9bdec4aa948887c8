//! The messages and services of the protocols, made from `proto/`: a module for each package, nested as the package's name is.

#![allow(clippy::all, clippy::pedantic, rustdoc::all)]

include!(concat!(env!("OUT_DIR"), "/protocols.rs"));
