//! The spaces of keys.

use std::fmt;

/// A key belongs to one of these; keys of different spaces are strangers. The names are disk format: never change or reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The LSN of the checkpoint, format versions and other single values.
    Meta,
    Topics,
    Partitions,
    Producers,
    Groups,
}

impl Space {
    pub const ALL: [Self; 5] = [Self::Meta, Self::Topics, Self::Partitions, Self::Producers, Self::Groups];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Topics => "topics",
            Self::Partitions => "partitions",
            Self::Producers => "producers",
            Self::Groups => "groups",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
