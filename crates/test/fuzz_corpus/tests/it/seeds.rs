//! Seeds for the fuzzers: small, made by the real encoders, and a few that are broken on purpose.

mod log;
mod request;

/// A file of the corpus.
pub struct Seed {
    pub target: &'static str,
    /// Begins with `ok-` or `bad-`.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Seed {
    fn new(target: &'static str, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { target, name: name.into(), bytes: bytes.into() }
    }
}

pub fn all() -> Vec<Seed> {
    [request::seeds(), log::record_batches(), log::entries(), log::stored(), log::wal_segments()]
        .into_iter()
        .flatten()
        .collect()
}
