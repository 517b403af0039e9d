//! DeleteTopics (20), versions 1-6. KIP-4, KIP-322, KIP-482, KIP-516, KIP-599.
//!
//! Answers stand in the order of the request; Kafka shuffles them.

use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse};

use crate::broker::topics::{DeleteTopicError, DeleteTopicOutcome, TopicToDelete};
use crate::kafka::{ErrorCode, Outcome, Request, blocking, codec};
use crate::types::Uuid;

/// Answers a DeleteTopics request.
pub fn handle(request: Request) -> Outcome {
    let body: DeleteTopicsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, body: frame, .. } = request;
    let bytes = blocking::bytes_like(frame.len());
    let doomed = doomed(&body);
    blocking::serial_reply(broker, version, bytes, move |broker| {
        let results =
            broker.delete_topics(doomed).into_iter().map(|outcome| result(outcome, version));
        DeleteTopicsResponse::default().with_responses(results.collect())
    })
}

/// Names alone before version 6.
fn doomed(body: &DeleteTopicsRequest) -> Vec<TopicToDelete> {
    let by_name = |name: String| TopicToDelete { name: Some(name), id: Uuid::ZERO };
    let named = codec::names(&body.topic_names).into_iter().map(by_name);
    let pointed_at = body.topics.iter().map(|topic| TopicToDelete {
        name: topic.name.as_ref().map(|name| name.to_string()),
        id: codec::id_from_wire(topic.topic_id),
    });
    named.chain(pointed_at).collect()
}

fn result(outcome: DeleteTopicOutcome, version: i16) -> DeletableTopicResult {
    let result = DeletableTopicResult::default()
        .with_name(outcome.name.as_deref().map(codec::topic_name))
        .with_error_message(None);
    let result =
        if version >= 6 { result.with_topic_id(codec::id_to_wire(outcome.id)) } else { result };
    let Err(error) = outcome.result else { return result };
    let result = result.with_error_code(code(&error, version).number());
    if version < 5 {
        return result;
    }
    result.with_error_message(Some(codec::text(&error.to_string())))
}

fn code(error: &DeleteTopicError, version: i16) -> ErrorCode {
    match error {
        DeleteTopicError::Disabled if version < 3 => ErrorCode::InvalidRequest,
        DeleteTopicError::Disabled => ErrorCode::TopicDeletionDisabled,
        DeleteTopicError::Neither
        | DeleteTopicError::Both
        | DeleteTopicError::DuplicateName
        | DeleteTopicError::DuplicateId
        | DeleteTopicError::NameAndIdOfOne => ErrorCode::InvalidRequest,
        DeleteTopicError::UnknownName => ErrorCode::UnknownTopicOrPartition,
        DeleteTopicError::UnknownId => ErrorCode::UnknownTopicId,
        DeleteTopicError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}
