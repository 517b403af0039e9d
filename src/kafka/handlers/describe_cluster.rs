//! DescribeCluster (60), versions 0-2. KIP-700, KIP-919, KIP-1073.

use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{BrokerId, DescribeClusterRequest, DescribeClusterResponse};

use crate::broker::cluster::{CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED};
use crate::kafka::{ErrorCode, Outcome, Request, codec};

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Answers a DescribeCluster request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeClusterRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let response = match body.endpoint_type {
        BROKERS => described(&request, &body),
        CONTROLLERS => refused(
            ErrorCode::MismatchedEndpointType,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        ),
        other => refused(
            ErrorCode::UnsupportedEndpointType,
            &format!("Unsupported endpoint type {other}"),
        ),
    };
    codec::reply(&response, request.version)
}

fn described(request: &Request, body: &DescribeClusterRequest) -> DescribeClusterResponse {
    let broker = &request.broker;
    let endpoint = broker.endpoint(request.peer.listener);
    let node = DescribeClusterBroker::default()
        .with_broker_id(codec::broker(broker.settings.node_id))
        .with_host(codec::text(endpoint.host))
        .with_port(i32::from(endpoint.port))
        .with_rack(codec::optional_text(broker.settings.broker_rack.as_deref()));
    let operations = if body.include_cluster_authorized_operations {
        CLUSTER_OPERATIONS
    } else {
        OPERATIONS_NOT_ASKED
    };
    DescribeClusterResponse::default()
        .with_error_message(None)
        .with_cluster_id(codec::text(&broker.metadata.image().cluster_id))
        .with_controller_id(codec::broker(broker.settings.node_id))
        .with_brokers(vec![node])
        .with_cluster_authorized_operations(operations)
}

fn refused(code: ErrorCode, message: &str) -> DescribeClusterResponse {
    DescribeClusterResponse::default()
        .with_error_code(code.number())
        .with_error_message(Some(codec::text(message)))
        .with_controller_id(BrokerId(-1))
}
