//! ApiVersions (18), versions 0-5. KIP-35, KIP-511, KIP-584, KIP-1242.
//!
//! Deviations: of Kafka's features only those are told that are served. `transaction.version` tells clients whether to ask for
//! transactions of version 2 (KIP-890); those who ask for them are served whatever it says.

use kafka_protocol::messages::api_versions_response::{
    ApiVersion, FinalizedFeatureKey, SupportedFeatureKey,
};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::StrBytes;

use crate::broker::{GROUP_VERSION, TRANSACTION_VERSION};
use crate::kafka::api_table::{API_VERSIONS, APIS, Api};
use crate::kafka::codec::{self, lift};
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, guard};
use crate::types::BrokerId;

/// A feature that is served, with the levels that are (Kafka's `Feature` and `MetadataVersion`).
struct ServedFeature {
    name: &'static str,
    min: i16,
    max: i16,
}

/// In the order of their names.
const FEATURES: [ServedFeature; 4] = [
    ServedFeature { name: GROUP_VERSION, min: 0, max: 1 },
    ServedFeature { name: "kraft.version", min: 0, max: 1 },
    // From Kafka 3.3-IV3, the lowest that Kafka 4 supports, to 4.0-IV3, the level of a directory that we format.
    ServedFeature { name: "metadata.version", min: 7, max: 25 },
    ServedFeature { name: TRANSACTION_VERSION, min: 0, max: 2 },
];

/// First version whose clients understand a lowest level of 0 (KIP-1022).
const MIN_0_FROM: i16 = 4;
/// First version that tells who asks.
const CLIENT_NAMES_FROM: i16 = 3;

/// Answers an ApiVersions request.
pub fn handle(request: Request) -> Outcome {
    let version = request.version;
    let (asked, target) = match read(&request) {
        Ok(read) => read,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let named = version >= CLIENT_NAMES_FROM;
    if named && !(is_name(&asked.client_software_name) && is_name(&asked.client_software_version)) {
        return lift::reply(&failed(ErrorCode::InvalidRequest), version);
    }
    let broker = &request.broker;
    let misrouted = target.refusal(&broker.metadata.image().cluster_id, broker.settings.node_id);
    if let Some(refusal) = misrouted {
        return lift::reply(&failed(refusal), version);
    }
    let response = ApiVersionsResponse::default().with_api_keys(APIS.iter().map(entry).collect());
    lift::reply(&with_features(response, &request), version)
}

/// Which node of which cluster a client means to talk to (version 5): addresses may have been given to another one.
#[derive(Debug)]
struct Target {
    /// `None` if it does not know.
    cluster_id: Option<String>,
    /// −1 if it does not know.
    node_id: i32,
}

impl Target {
    const ANY_NODE: i32 = -1;

    /// Why a client that looks for this target must not go on here. Both are known to it or neither is.
    fn refusal(&self, cluster_id: &str, node_id: BrokerId) -> Option<ErrorCode> {
        match (self.cluster_id.as_deref(), self.node_id) {
            (None, Self::ANY_NODE) => None,
            (None, _) | (Some(_), Self::ANY_NODE) => Some(ErrorCode::InvalidRequest),
            (Some(cluster), node) if cluster == cluster_id && node == node_id.get() => None,
            (Some(_), _) => Some(ErrorCode::RebootstrapRequired),
        }
    }
}

fn read(request: &Request) -> Result<(ApiVersionsRequest, Target), Disconnect> {
    let (asked, mut new_fields) = lift::request(request, guard::API_VERSIONS)?;
    let cluster_id = new_fields.next(|reader| Ok(reader.nullable_text()?.map(str::to_owned)))?;
    let node_id = new_fields.next(|reader| reader.int32())?;
    let target =
        Target { cluster_id: cluster_id.flatten(), node_id: node_id.unwrap_or(Target::ANY_NODE) };
    Ok((asked, target))
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
    let image = request.broker.metadata.image();
    let finalized = image.finalized_features();
    let mut response = response.with_finalized_features_epoch(image.finalized_features_epoch());
    for feature in &FEATURES {
        let level = finalized.get(feature.name).copied();
        if feature.min > 0 || request.version >= MIN_0_FROM {
            response.supported_features.push(supported(feature, level));
        }
        response.finalized_features.extend(level.map(|level| at_level(feature, level)));
    }
    response
}

/// A directory may hold a level above those that we would choose; its features are kept and served.
fn supported(feature: &ServedFeature, level: Option<i16>) -> SupportedFeatureKey {
    SupportedFeatureKey::default()
        .with_name(StrBytes::from_static_str(feature.name))
        .with_min_version(feature.min)
        .with_max_version(level.unwrap_or(0).max(feature.max))
}

fn at_level(feature: &ServedFeature, level: i16) -> FinalizedFeatureKey {
    FinalizedFeatureKey::default()
        .with_name(StrBytes::from_static_str(feature.name))
        .with_min_version_level(level)
        .with_max_version_level(level)
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
