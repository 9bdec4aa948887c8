//! Encoders against the library's decoders, and a wire against a scripted peer.

mod encode;
mod peer;
