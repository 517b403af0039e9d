//! IncrementalAlterConfigs (44), versions 0-1. KIP-339, KIP-482.

use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::config_changes::{self, Asked, Told};
use crate::broker::configs::{ConfigOperation, KeyChange};
use crate::kafka::{Outcome, Request, blocking, codec};

/// Answers an IncrementalAlterConfigs request.
pub fn handle(request: Request) -> Outcome {
    let body: IncrementalAlterConfigsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, body: frame, .. } = request;
    let bytes = blocking::bytes_like(frame.len());
    let mode = config_changes::mode(body.validate_only);
    let asked: Vec<Asked> = body.resources.iter().map(asked).collect();
    blocking::serial_reply(broker, version, bytes, move |broker| {
        let told = config_changes::make(broker, asked, mode);
        let responses = told.into_iter().map(response).collect();
        IncrementalAlterConfigsResponse::default().with_responses(responses)
    })
}

fn asked(resource: &AlterConfigsResource) -> Asked {
    let change = |config: &AlterableConfig| (config.name.to_string(), operation(config));
    Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name.to_string(),
        change: KeyChange::Incremental(resource.configs.iter().map(change).collect()),
    }
}

fn operation(config: &AlterableConfig) -> ConfigOperation {
    let value = config.value.as_ref().map(|value| value.to_string());
    match config.config_operation {
        0 => ConfigOperation::Set(value),
        1 => ConfigOperation::Delete,
        2 => ConfigOperation::Append(value),
        3 => ConfigOperation::Subtract(value),
        other => ConfigOperation::Unknown(other),
    }
}

fn response(told: Told) -> AlterConfigsResourceResponse {
    AlterConfigsResourceResponse::default()
        .with_error_code(told.code.number())
        .with_error_message(codec::optional_text(told.message.as_deref()))
        .with_resource_type(told.resource_type)
        .with_resource_name(codec::text(&told.name))
}
