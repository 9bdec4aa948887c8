//! The spaces of keys.

use std::fmt;

/// A key belongs to one of these; keys of different spaces are strangers. The tags are disk format: never change or reuse one.
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

    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Meta => 1,
            Self::Topics => 2,
            Self::Partitions => 3,
            Self::Producers => 4,
            Self::Groups => 5,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Meta => "meta",
            Self::Topics => "topics",
            Self::Partitions => "partitions",
            Self::Producers => "producers",
            Self::Groups => "groups",
        })
    }
}
