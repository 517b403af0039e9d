//! ListConfigResources (74), versions 0-1. KIP-714, KIP-1000, KIP-1142.
//!
//! Version 0 asks for subscriptions to client metrics only, of which there are none.

use kafka_protocol::messages::list_config_resources_response::ConfigResource as Listed;
use kafka_protocol::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};

use crate::broker::configs::ResourceType;
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::metadata::{ConfigResource, Image};

/// First version that names types of resources.
const TYPES_FROM: i16 = 1;

/// Resources that are listed on the async thread.
const RESOURCES_INLINE_MAX: usize = 2_000;

/// What a resource takes while an answer is made, encoded and not.
const RESOURCE_BYTES: usize = 256;

/// The order of Kafka's answers.
const ALL: [ResourceType; 5] = [
    ResourceType::Group,
    ResourceType::ClientMetrics,
    ResourceType::BrokerLogger,
    ResourceType::Broker,
    ResourceType::Topic,
];

/// Answers a ListConfigResources request.
pub fn handle(request: Request) -> Outcome {
    let body: ListConfigResourcesRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let image = request.broker.metadata.image();
    let resources = image.topics.len() + image.configs.len();
    if resources <= RESOURCES_INLINE_MAX {
        return codec::reply(&respond(&body, &image, version), version);
    }
    let bytes = resources * RESOURCE_BYTES;
    blocking::later_reply(request.broker, version, bytes, move |_| respond(&body, &image, version))
}

fn respond(
    body: &ListConfigResourcesRequest,
    image: &Image,
    version: i16,
) -> ListConfigResourcesResponse {
    let response = ListConfigResourcesResponse::default();
    let Some(types) = types(body, version) else {
        return response.with_error_code(ErrorCode::UnsupportedVersion.number());
    };
    let wanted = ALL.into_iter().filter(|kind| types.contains(kind));
    let listed = wanted.flat_map(|kind| {
        names(image, kind).into_iter().map(move |name| {
            let code =
                if version >= TYPES_FROM { kind.code() } else { Listed::default().resource_type };
            Listed::default().with_resource_name(codec::text(&name)).with_resource_type(code)
        })
    });
    response.with_config_resources(listed.collect())
}

/// The types that are asked for; `None` if one of them cannot be listed.
fn types(body: &ListConfigResourcesRequest, version: i16) -> Option<Vec<ResourceType>> {
    match (version, body.resource_types.is_empty()) {
        (0, _) => Some(vec![ResourceType::ClientMetrics]),
        (_, true) => Some(ALL.to_vec()),
        (_, false) => {
            body.resource_types.iter().map(|code| ResourceType::from_code(*code)).collect()
        }
    }
}

/// Names of the resources of one type: groups that have configs, whether or not they exist; every broker and topic.
fn names(image: &Image, kind: ResourceType) -> Vec<String> {
    let mut names: Vec<String> = match kind {
        ResourceType::Group => image.configs.keys().filter_map(group).collect(),
        ResourceType::ClientMetrics => Vec::new(),
        ResourceType::BrokerLogger | ResourceType::Broker => {
            image.brokers.keys().map(ToString::to_string).collect()
        }
        ResourceType::Topic => image.topics.keys().map(ToString::to_string).collect(),
    };
    names.sort_unstable();
    names
}

fn group(resource: &ConfigResource) -> Option<String> {
    match resource {
        ConfigResource::Group(name) => Some(name.clone()),
        ConfigResource::Topic(_)
        | ConfigResource::Broker(_)
        | ConfigResource::ClusterDefault
        | ConfigResource::ClientMetrics(_)
        | ConfigResource::Other { .. } => None,
    }
}
