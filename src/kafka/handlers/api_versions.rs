//! ApiVersions (18), versions 0-4. KIP-35, KIP-511, KIP-584.
//!
//! Deviations: of Kafka's features only `metadata.version` is told. The others change what clients send once they are finalized
//! (`transaction.version` 2, KIP-890), and none of them is served yet.

use kafka_protocol::messages::api_versions_response::{
    ApiVersion, FinalizedFeatureKey, SupportedFeatureKey,
};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::StrBytes;

use crate::kafka::api_table::{API_VERSIONS, APIS, Api};
use crate::kafka::{ErrorCode, Outcome, Request, codec};

/// The feature that says which metadata records may be written.
const METADATA_VERSION: &str = "metadata.version";
/// Kafka 3.3-IV3, the lowest that Kafka 4 supports.
const METADATA_VERSION_MIN: i16 = 7;
/// Kafka 4.0-IV3, the level of a directory that we format.
const METADATA_VERSION_OURS: i16 = 25;
/// First version that tells who asks.
const CLIENT_NAMES_FROM: i16 = 3;

/// Answers an ApiVersions request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let asked: ApiVersionsRequest = match codec::decode(&request) {
        Ok(asked) => asked,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let named = version >= CLIENT_NAMES_FROM;
    if named && !(is_name(&asked.client_software_name) && is_name(&asked.client_software_version)) {
        return codec::reply(&failed(ErrorCode::InvalidRequest), version);
    }
    let response = ApiVersionsResponse::default().with_api_keys(APIS.iter().map(entry).collect());
    codec::reply(&with_features(response, &request), version)
}

/// The answer to a version that is not served: version 0, so that every client can read it, with the versions of this one
/// API, so that it knows what to ask with (KIP-511).
pub fn unsupported_version() -> Outcome {
    let own = APIS.iter().filter(|api| api.key == API_VERSIONS).map(entry).collect();
    codec::reply(&failed(ErrorCode::UnsupportedVersion).with_api_keys(own), 0)
}

fn failed(error: ErrorCode) -> ApiVersionsResponse {
    ApiVersionsResponse::default().with_error_code(error.number())
}

fn entry(api: &Api) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(api.key)
        .with_min_version(api.advertised_from)
        .with_max_version(*api.versions.end())
}

fn with_features(response: ApiVersionsResponse, request: &Request) -> ApiVersionsResponse {
    let name = StrBytes::from_static_str(METADATA_VERSION);
    let image = request.broker.metadata.image();
    let Some(&level) = image.features.get(METADATA_VERSION) else { return response };
    let supported = SupportedFeatureKey::default()
        .with_name(name.clone())
        .with_min_version(METADATA_VERSION_MIN)
        .with_max_version(level.max(METADATA_VERSION_OURS));
    let finalized = FinalizedFeatureKey::default()
        .with_name(name)
        .with_min_version_level(level)
        .with_max_version_level(level);
    response
        .with_supported_features(vec![supported])
        .with_finalized_features_epoch(0)
        .with_finalized_features(vec![finalized])
}

/// Kafka's pattern for client names, `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`.
fn is_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    let outer = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().copied().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_names_are_those_that_kafka_takes() {
        for name in ["apache-kafka-java", "4.4.0", "a", "librdkafka", "v1.22.3", "a-.b"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", ".", "a b", "a_b", "caf\u{e9}", "a\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
