//! DescribeConfigs (32), versions 1-4. KIP-133, KIP-226, KIP-482, KIP-569.

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use kafka_protocol::protocol::StrBytes;

use crate::broker::configs::{DescribeConfigError, ResourceName, ResourceToDescribe, ResourceType};
use crate::config::{DescribedConfig, Synonym};
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};

/// Topics that are described on the async thread, at about 50 microseconds each.
const TOPICS_INLINE_MAX: usize = 2;

/// Answers a DescribeConfigs request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeConfigsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    if is_short(&body) {
        return codec::reply(&respond(&request, &body), request.version);
    }
    blocking::later_reply(request.version, move || respond(&request, &body))
}

/// A broker has ten times the settings of a topic.
fn is_short(body: &DescribeConfigsRequest) -> bool {
    let kind = |r: &DescribeConfigsResource| ResourceType::from_code(r.resource_type);
    body.resources.len() <= TOPICS_INLINE_MAX
        && body.resources.iter().all(|resource| kind(resource) != Some(ResourceType::Broker))
}

fn respond(request: &Request, body: &DescribeConfigsRequest) -> DescribeConfigsResponse {
    let asked: Option<Vec<ResourceToDescribe>> = body.resources.iter().map(asked).collect();
    let results = match asked {
        Some(asked) => described(request, body, &asked),
        // One unknown type spoils the whole request, as in Kafka.
        None => body.resources.iter().map(refused).collect(),
    };
    DescribeConfigsResponse::default().with_results(results)
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

fn described(
    request: &Request,
    body: &DescribeConfigsRequest,
    asked: &[ResourceToDescribe],
) -> Vec<DescribeConfigsResult> {
    let image = request.broker.metadata.image();
    let show = Show {
        synonyms: body.include_synonyms,
        kind: request.version >= 3,
        documentation: body.include_documentation,
    };
    let describe =
        |(resource, asked): (&DescribeConfigsResource, &ResourceToDescribe)| match request
            .broker
            .describe_configs(&image, asked)
        {
            Ok(configs) => {
                result(resource).with_configs(configs.iter().map(|c| show.config(c)).collect())
            }
            Err(error) => failed(resource, &error),
        };
    body.resources.iter().zip(asked).map(describe).collect()
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
