//! ApiVersions: what is answered here, in which versions.

use tracing::debug;

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::versions::{Row, TABLE};
use crate::wire::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use crate::wire::messages::{ApiVersionsRequest, ApiVersionsResponse};
use crate::wire::{ApiKey, text};

/// Kafka's features at the level that is in force here; they can't be changed.
const FEATURES: &[(&str, i16)] = &[("group.version", 1), ("share.version", 1), ("transaction.version", 2)];

/// From this version on clients name their software (KIP-511).
const SOFTWARE_FROM: i16 = 3;
/// From this version on clients can read of a feature that its first level is 0 (KIP-1022).
const LEVEL_0_FROM: i16 = 4;
/// Features of one node never change while it runs.
const FEATURES_EPOCH: i64 = 0;

pub(super) async fn handle(_broker: &Broker, caller: &Caller, request: ApiVersionsRequest) -> ApiVersionsResponse {
    let (name, version) = (&request.client_software_name, &request.client_software_version);
    if caller.version >= SOFTWARE_FROM {
        if !(is_software_text(name) && is_software_text(version)) {
            return refusal(ErrorCode::InvalidRequest);
        }
        if let Some((name, version)) = software(name, version) {
            let _ = caller.software.set((name, version));
        }
        debug!(peer = %caller.peer, client_id = %caller.client_id, software = %name, software_version = %version, "client");
    }
    let features = FEATURES.iter();
    // Older clients take a feature whose first level is 0 for a malformed one.
    let supported_here = features.clone().filter(|_| caller.version >= LEVEL_0_FROM);
    ApiVersionsResponse::default()
        .with_api_keys(TABLE.iter().map(api_version).collect())
        .with_supported_features(supported_here.map(|(name, level)| supported(name, *level)).collect())
        .with_finalized_features(features.map(|(name, level)| finalized(name, *level)).collect())
        .with_finalized_features_epoch(FEATURES_EPOCH)
}

/// Kept for as long as the connection lasts, if they are of a sensible length.
fn software(name: &str, version: &str) -> Option<(String, String)> {
    const BYTES_MAX: usize = 256;
    (name.len().max(version.len()) <= BYTES_MAX).then(|| (name.to_owned(), version.to_owned()))
}

/// The answer to a request that can't be served. Of the table it holds what is needed to ask again.
pub(super) fn refusal(error: ErrorCode) -> ApiVersionsResponse {
    let own = TABLE.iter().filter(|row| error == ErrorCode::UnsupportedVersion && row.api == ApiKey::ApiVersions);
    ApiVersionsResponse::default()
        .with_error_code(error_code::code(Some(error)))
        .with_api_keys(own.map(api_version).collect())
        .with_finalized_features_epoch(-1)
}

fn api_version(row: &Row) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(row.key())
        .with_min_version(row.advertised_first_version)
        .with_max_version(row.last_version)
}

fn supported(name: &str, level: i16) -> SupportedFeatureKey {
    SupportedFeatureKey::default().with_name(text(name)).with_min_version(0).with_max_version(level)
}

fn finalized(name: &str, level: i16) -> FinalizedFeatureKey {
    FinalizedFeatureKey::default().with_name(text(name)).with_min_version_level(level).with_max_version_level(level)
}

/// Letters, digits, dots and hyphens, the last two not at either end.
fn is_software_text(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let is_outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(is_inner) && is_outer(text.chars().next()) && is_outer(text.chars().next_back())
}

#[cfg(test)]
mod tests;
