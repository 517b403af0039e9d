//! What real clients sent to Kafka, sent to us: each request is answered, in a layout that the client can read.

use std::collections::BTreeSet;

use highwater::kafka::api_table::{APIS, Api};
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::protocol::Decodable;

use crate::broker::TestBroker;
use crate::captures::{self, Capture};
use crate::messages;
use crate::peer::{Peer, body_of};

const PRODUCE: i16 = 0;

/// acks=0: there is no answer.
fn is_silent(capture: &Capture, api: &Api) -> bool {
    let client_id_len = i16::from_be_bytes([capture.request[8], capture.request[9]]) as usize;
    let head = 10 + client_id_len + usize::from(api.is_flexible(capture.version));
    let mut body = capture.request.slice(head..);
    capture.key == PRODUCE
        && ProduceRequest::decode(&mut body, capture.version).expect("decodes").acks == 0
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_a_real_client_is_answered_in_a_layout_it_can_read() {
    let broker = TestBroker::start().await;
    let mut answered = BTreeSet::new();
    for capture in captures::all() {
        let Some(api) = Api::find(capture.key) else { continue };
        if !api.versions.contains(&capture.version) || is_silent(&capture, api) {
            continue;
        }
        let what = format!("{} v{} of {}", api.name, capture.version, capture.client);
        let mut peer = Peer::connect(broker.address).await;
        peer.send_frame(&capture.request).await;
        let answer = peer.frame().await.unwrap_or_else(|| panic!("{what}: closed"));
        let id = i32::from_be_bytes(*capture.request[4..].first_chunk().expect("an id"));
        let body = body_of(api, capture.version, id, &answer);
        let decoded = messages::response(capture.key, capture.version, body).expect(&what);
        assert_eq!(decoded.rest, 0, "{what}: {}", decoded.text);
        answered.insert(capture.key);
    }
    let unseen: Vec<_> =
        APIS.iter().filter(|api| !answered.contains(&api.key)).map(|api| api.name).collect();
    // No client of the captures asks these.
    assert_eq!(unseen, ["OffsetForLeaderEpoch", "WriteTxnMarkers", "AlterReplicaLogDirs"]);
    broker.stop().await;
}
