//! Which versions of which request a broker answers.

use crate::wire::messages::ApiVersionsResponse;
use crate::wire::protocol::{Request, VersionRange};

/// A broker's own ranges, both ends included, by API key.
#[derive(Clone, Debug, Default)]
pub struct VersionTable {
    ranges: Vec<Option<(i16, i16)>>,
}

/// Highest API key remembered; Kafka 4 has under 100.
const KEY_MAX: i16 = 1000;

impl VersionTable {
    pub(crate) fn new(answer: &ApiVersionsResponse) -> Self {
        let mut ranges = Vec::new();
        for row in &answer.api_keys {
            if !(0..=KEY_MAX).contains(&row.api_key) {
                continue;
            }
            let at = usize::try_from(row.api_key).expect("checked to be positive");
            if ranges.len() <= at {
                ranges.resize(at + 1, None);
            }
            ranges[at] = Some((row.min_version, row.max_version));
        }
        Self { ranges }
    }

    /// The broker's range for a key.
    pub fn range(&self, key: i16) -> Option<(i16, i16)> {
        usize::try_from(key).ok().and_then(|at| self.ranges.get(at).copied().flatten())
    }

    /// The newest version of `R` that both sides know, no newer than `newest`.
    pub(crate) fn newest_common<R: Request>(&self, newest: i16) -> Option<i16> {
        let (min, max) = self.range(R::KEY)?;
        let VersionRange { min: our_min, max: our_max } = R::VERSIONS;
        let version = max.min(our_max).min(newest);
        (version >= min && version >= our_min).then_some(version)
    }
}
