//! What the HTTP port answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::time::timeout;

use super::exposition::{self, Coordinated};
use crate::broker::{Broker, off_thread};

/// How long a scrape waits for coordinators whose shards are being loaded; after that it goes without them.
const COORDINATORS_WITHIN: Duration = Duration::from_secs(2);

/// Besides Kubernetes' names the ones that other Kafka-compatible brokers and bridges are already polled under.
pub(super) fn router(broker: Arc<Broker>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthy))
        .route("/healthy", get(healthy))
        .route("/readyz", get(ready))
        .route("/ready", get(ready))
        .route("/status/ready", get(ready))
        .route("/v1/status/ready", get(ready))
        .with_state(broker)
}

/// Prometheus' text format.
async fn metrics(State(broker): State<Arc<Broker>>) -> impl IntoResponse {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let groups = timeout(COORDINATORS_WITHIN, broker.group_lags());
    let transactions = timeout(COORDINATORS_WITHIN, broker.open_transactions());
    let (groups, transactions) = tokio::join!(groups, transactions);
    let coordinated = Coordinated { groups: groups.ok(), transactions: transactions.ok() };
    // Many partitions and groups make a long text.
    let text = off_thread(move || exposition::text(&broker, &coordinated)).await;
    (content_type, text)
}

/// The process lives and its log directories can be written.
async fn healthy(State(broker): State<Arc<Broker>>) -> impl IntoResponse {
    verdict(broker.health.why_unhealthy())
}

/// It serves and is not about to stop.
async fn ready(State(broker): State<Arc<Broker>>) -> impl IntoResponse {
    verdict(broker.health.why_not_ready())
}

fn verdict(objection: Option<String>) -> (StatusCode, String) {
    match objection {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}
