//! FindCoordinator (10), versions 0-6. KIP-98, KIP-482, KIP-699, KIP-890, KIP-932.
//!
//! One node coordinates every group and every transaction. Deviation: `__consumer_offsets` and `__transaction_state` are made at the
//! first question and the answer given at once, where Kafka answers COORDINATOR_NOT_AVAILABLE until they are there. There are no share
//! groups yet, so their coordinators, which version 6 can ask for, are refused like those of unknown types.

use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, codec, coordinators};

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// First version that asks for several at once.
const SEVERAL_FROM: i16 = 4;
/// First version with a message beside the code.
const MESSAGE_FROM: i16 = 1;

/// Answers a FindCoordinator request.
pub fn handle(request: Request) -> Outcome {
    let body: FindCoordinatorRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let known = matches!(body.key_type, GROUP | TRANSACTION);
    // Nobody asks for a coordinator: no reason to make its topic.
    let nothing = request.version >= SEVERAL_FROM && body.coordinator_keys.is_empty();
    if !known || nothing {
        let code = if known { ErrorCode::None } else { ErrorCode::InvalidRequest };
        return respond(&request, &body, code).into();
    }
    let step = match body.key_type {
        TRANSACTION => request.broker.ensure_transaction_topic(),
        _ => request.broker.ensure_group_topic(),
    };
    Outcome::of_step(step, move |made| {
        let code = made.map_or_else(|error| coordinators::code(&error), |()| ErrorCode::None);
        respond(&request, &body, code)
    })
}

fn respond(
    request: &Request,
    body: &FindCoordinatorRequest,
    code: ErrorCode,
) -> Result<Response, Disconnect> {
    let version = request.version;
    let node = Node::of(request, code);
    if version < SEVERAL_FROM {
        return codec::encode(&node.alone(version), version);
    }
    let coordinators = body.coordinator_keys.iter().map(|key| node.of_key(key.clone()));
    let response = FindCoordinatorResponse::default()
        .with_coordinators(coordinators.collect())
        .with_error_message(None);
    codec::encode(&response, version)
}

/// Where coordinators are, or why nobody knows.
struct Node {
    code: ErrorCode,
    id: BrokerId,
    host: StrBytes,
    port: i32,
}

impl Node {
    fn of(request: &Request, code: ErrorCode) -> Self {
        if code.is_error() {
            return Self { code, id: BrokerId(-1), host: StrBytes::default(), port: -1 };
        }
        let broker = &request.broker;
        let endpoint = broker.endpoint(request.peer.listener);
        let id = codec::broker(broker.settings.node_id);
        Self { code, id, host: codec::text(endpoint.host), port: i32::from(endpoint.port) }
    }

    /// The message of success is the name of its code, as Kafka says it.
    fn alone(&self, version: i16) -> FindCoordinatorResponse {
        let message = if self.code.is_error() { self.code.text() } else { self.code.name() };
        FindCoordinatorResponse::default()
            .with_error_code(self.code.number())
            .with_error_message((version >= MESSAGE_FROM).then(|| codec::text(message)))
            .with_node_id(self.id)
            .with_host(self.host.clone())
            .with_port(self.port)
    }

    fn of_key(&self, key: StrBytes) -> Coordinator {
        Coordinator::default()
            .with_key(key)
            .with_node_id(self.id)
            .with_host(self.host.clone())
            .with_port(self.port)
            .with_error_code(self.code.number())
            .with_error_message(Some(self.message_of_key()))
    }

    /// Kafka tells a request that makes no sense what may be wrong with it, and says nothing else in words.
    fn message_of_key(&self) -> StrBytes {
        match self.code {
            ErrorCode::InvalidRequest => codec::text(self.code.text()),
            _ => StrBytes::default(),
        }
    }
}
