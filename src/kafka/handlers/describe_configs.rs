//! DescribeConfigs (32), versions 1-4. KIP-133, KIP-226, KIP-482, KIP-569.

use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::protocol::StrBytes;

use crate::broker::Broker;
use crate::broker::configs::{DescribeConfigError, ResourceName, ResourceToDescribe, ResourceType};
use crate::config::{DescribedConfig, Synonym};
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, blocking, codec};

/// Topics that are described on the async thread, at about 50 microseconds each.
const TOPICS_INLINE_MAX: usize = 2;

/// Longest answer, in bytes, but for one more resource; the resources behind it get POLICY_VIOLATION. A request of eight bytes a
/// resource could otherwise ask for any amount of memory. Ten thousand topics without documentation fit.
const RESPONSE_BYTES_MAX: usize = 32 << 20;

/// What a topic takes in the answer, with documentation and synonyms. A broker takes ten times as much.
const TOPIC_BYTES: usize = 16 * 1024;
const BROKER_BYTES: usize = 10 * TOPIC_BYTES;

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 4;

/// Answers a DescribeConfigs request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeConfigsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    if is_short(&body) {
        return respond(&request.broker, &body, request.version).into();
    }
    let version = request.version;
    let bytes: usize = body.resources.iter().map(bytes_of).sum();
    let bytes = bytes.min(RESPONSE_BYTES_MAX + BROKER_BYTES);
    blocking::later(request.broker, bytes, move |broker| respond(broker, &body, version))
}

fn is_short(body: &DescribeConfigsRequest) -> bool {
    body.resources.len() <= TOPICS_INLINE_MAX && !body.resources.iter().any(is_broker)
}

fn is_broker(resource: &DescribeConfigsResource) -> bool {
    ResourceType::from_code(resource.resource_type) == Some(ResourceType::Broker)
}

fn bytes_of(resource: &DescribeConfigsResource) -> usize {
    if is_broker(resource) { BROKER_BYTES } else { TOPIC_BYTES }
}

fn respond(
    broker: &Broker,
    body: &DescribeConfigsRequest,
    version: i16,
) -> Result<Response, Disconnect> {
    let asked: Option<Vec<ResourceToDescribe>> = body.resources.iter().map(asked).collect();
    let image = broker.metadata.image();
    let show = Show::of(body, version);
    codec::encode_list(version, FLEXIBLE_FROM, body.resources.len(), |number, bytes_so_far| {
        let resource = &body.resources[number];
        match &asked {
            Some(_) if bytes_so_far > RESPONSE_BYTES_MAX => too_long(resource),
            Some(asked) => match broker.describe_configs(&image, &asked[number]) {
                Ok(configs) => show.resource(resource, &configs),
                Err(error) => failed(resource, &error),
            },
            // One unknown type spoils the whole request, as in Kafka.
            None => refused(resource),
        }
    })
}

fn asked(resource: &DescribeConfigsResource) -> Option<ResourceToDescribe> {
    let kind = ResourceType::from_code(resource.resource_type)?;
    let keys = resource.configuration_keys.as_ref();
    Some(ResourceToDescribe {
        resource: ResourceName { kind, name: resource.resource_name.to_string() },
        keys: keys.map(|keys| keys.iter().map(StrBytes::to_string).collect()),
    })
}

fn refused(resource: &DescribeConfigsResource) -> DescribeConfigsResult {
    let code = ErrorCode::InvalidRequest;
    result(resource)
        .with_error_code(code.number())
        .with_error_message(Some(codec::text(code.text())))
}

fn too_long(resource: &DescribeConfigsResource) -> DescribeConfigsResult {
    let message = "The answer would be too long; ask for fewer resources in one request.";
    result(resource)
        .with_error_code(ErrorCode::PolicyViolation.number())
        .with_error_message(Some(codec::text(message)))
}

fn result(resource: &DescribeConfigsResource) -> DescribeConfigsResult {
    DescribeConfigsResult::default()
        .with_error_message(Some(StrBytes::default()))
        .with_resource_type(resource.resource_type)
        .with_resource_name(resource.resource_name.clone())
}

fn failed(
    resource: &DescribeConfigsResource,
    error: &DescribeConfigError,
) -> DescribeConfigsResult {
    let result = result(resource).with_error_code(code(error).number());
    match error {
        // Kafka sends no text with this one.
        DescribeConfigError::UnknownTopic => result,
        error => result.with_error_message(Some(codec::text(&error.to_string()))),
    }
}

/// What of a config the client asked for, and its version can say.
struct Show {
    synonyms: bool,
    kind: bool,
    documentation: bool,
}

impl Show {
    fn of(body: &DescribeConfigsRequest, version: i16) -> Self {
        Self {
            synonyms: body.include_synonyms,
            kind: version >= 3,
            documentation: body.include_documentation,
        }
    }

    fn resource(
        &self,
        asked: &DescribeConfigsResource,
        configs: &[DescribedConfig],
    ) -> DescribeConfigsResult {
        result(asked).with_configs(configs.iter().map(|config| self.config(config)).collect())
    }

    fn config(&self, config: &DescribedConfig) -> DescribeConfigsResourceResult {
        let shown = DescribeConfigsResourceResult::default()
            .with_name(StrBytes::from_static_str(config.name))
            .with_value(codec::optional_text(config.value.as_deref()))
            .with_read_only(config.read_only)
            .with_config_source(config.source.wire_code())
            .with_is_sensitive(config.sensitive);
        let shown = if self.synonyms {
            shown.with_synonyms(config.synonyms.iter().map(synonym).collect())
        } else {
            shown
        };
        let shown = if self.kind { shown.with_config_type(config.kind.wire_code()) } else { shown };
        let documentation = self.documentation.then(|| StrBytes::from_static_str(config.doc));
        shown.with_documentation(documentation)
    }
}

fn synonym(synonym: &Synonym) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym::default()
        .with_name(StrBytes::from_static_str(synonym.name))
        .with_value(codec::optional_text(synonym.value.as_deref()))
        .with_source(synonym.source.wire_code())
}

fn code(error: &DescribeConfigError) -> ErrorCode {
    match error {
        DescribeConfigError::InvalidTopicName(_) => ErrorCode::InvalidTopicException,
        DescribeConfigError::UnknownTopic => ErrorCode::UnknownTopicOrPartition,
        DescribeConfigError::BrokerNotANumber(_)
        | DescribeConfigError::AnotherBroker { .. }
        | DescribeConfigError::LoggersOfNoBroker
        | DescribeConfigError::LoggersOfAnotherBroker { .. }
        | DescribeConfigError::GroupWithoutName
        | DescribeConfigError::SubscriptionWithoutName => ErrorCode::InvalidRequest,
    }
}
