//! Encoders against the library's decoders, the partitioner against Java's figures, and a wire against a scripted peer.

mod encode;
mod keys;
mod peer;
