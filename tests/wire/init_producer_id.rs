//! InitProducerId (22), every version.

use std::collections::BTreeSet;

use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse};
use kafka_protocol::protocol::StrBytes;

use crate::calls::{INIT_PRODUCER_ID, Session};

const NONE: i16 = 0;
const NOT_COORDINATOR: i16 = 16;
const INVALID_REQUEST: i16 = 42;

fn request() -> InitProducerIdRequest {
    InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_transaction_timeout_ms(60_000)
        .with_producer_id((-1).into())
        .with_producer_epoch(-1)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_gives_an_id_of_its_own() {
    let mut session = Session::start().await;
    let mut seen = BTreeSet::new();
    for version in (0..=5).cycle().take(60) {
        let answer: InitProducerIdResponse =
            session.call(INIT_PRODUCER_ID, version, &request()).await;
        assert_eq!((answer.error_code, answer.producer_epoch), (NONE, 0), "v{version}");
        assert!(seen.insert(answer.producer_id.0), "{} twice", answer.producer_id.0);
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_served_is_refused() {
    let mut session = Session::start().await;
    let with_id = |id: &'static str| {
        request().with_transactional_id(Some(StrBytes::from_static_str(id).into()))
    };
    let cases = [
        (with_id("nobody-asked-where-to-go"), NOT_COORDINATOR),
        (with_id(""), INVALID_REQUEST),
        (request().with_producer_id(5.into()), INVALID_REQUEST),
        (request().with_producer_epoch(5), INVALID_REQUEST),
    ];
    for (request, error) in cases {
        let answer: InitProducerIdResponse = session.call(INIT_PRODUCER_ID, 4, &request).await;
        let (id, epoch) = (answer.producer_id.0, answer.producer_epoch);
        assert_eq!((answer.error_code, id, epoch), (error, -1, -1));
    }
    session.broker.stop().await;
}
