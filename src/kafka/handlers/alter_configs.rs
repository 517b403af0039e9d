//! AlterConfigs (33), versions 0-2: replaces all overrides of a resource. KIP-133, KIP-482. Deprecated since KIP-339.

use kafka_protocol::messages::alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{AlterConfigsRequest, AlterConfigsResponse};

use super::config_changes::{self, Asked, Told};
use crate::broker::configs::KeyChange;
use crate::kafka::{Outcome, Request, blocking, codec};

/// Answers an AlterConfigs request.
pub fn handle(request: Request) -> Outcome {
    let body: AlterConfigsRequest = match codec::decode(&request) {
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
        AlterConfigsResponse::default().with_responses(responses)
    })
}

fn asked(resource: &AlterConfigsResource) -> Asked {
    let configs = resource.configs.iter();
    let values = configs.map(|c| (c.name.to_string(), c.value.as_ref().map(|v| v.to_string())));
    Asked {
        resource_type: resource.resource_type,
        name: resource.resource_name.to_string(),
        change: KeyChange::Replace(values.collect()),
    }
}

fn response(told: Told) -> AlterConfigsResourceResponse {
    AlterConfigsResourceResponse::default()
        .with_error_code(told.code.number())
        .with_error_message(codec::optional_text(told.message.as_deref()))
        .with_resource_type(told.resource_type)
        .with_resource_name(codec::text(&told.name))
}
