//! What a caller should do about an error.

use std::fmt;

/// Every error enum of the project answers `kind()` with one of these: they say what the caller does next, not what broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The request is wrong; repeating it won't help.
    Reject,
    /// Ask another node.
    Redirect,
    /// Nothing was done, or it can't be known; repeat the request later.
    RetryLater,
    /// A newer owner exists; stop.
    Fenced,
    /// Stored bytes are damaged; a person must look.
    Corrupt,
    /// The thing asked is shutting down.
    Closed,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reject => "reject",
            Self::Redirect => "redirect",
            Self::RetryLater => "retry later",
            Self::Fenced => "fenced",
            Self::Corrupt => "corrupt",
            Self::Closed => "closed",
        })
    }
}
