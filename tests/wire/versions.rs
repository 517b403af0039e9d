//! Every version of every API over a socket, and what is beside the versions served.

use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse, ProduceRequest};
use kafka_protocol::protocol::{Decodable, StrBytes};

use crate::broker::TestBroker;
use crate::messages;
use crate::peer::{Peer, api, body_of, encoded, request};
use crate::synthetic::{self, versions};

const API_VERSIONS: i16 = 18;

#[tokio::test(flavor = "multi_thread")]
async fn every_version_of_every_api_is_answered_in_its_own_layout() {
    let broker = TestBroker::start().await;
    for (api, version) in versions() {
        let what = format!("{} v{version}", api.name);
        let body = match api.key {
            // All zero would ask for no acknowledgement, and so for no answer.
            0 => encoded(&ProduceRequest::default().with_acks(1), version).into(),
            _ => synthetic::empty(api, version),
        };
        let mut peer = Peer::connect(broker.address).await;
        let answer =
            peer.ask(api, version, &body).await.unwrap_or_else(|| panic!("{what}: closed"));
        let decoded = messages::response(api.key, version, answer.clone()).expect(&what);
        assert_eq!(decoded.rest, 0, "{what}: {}", decoded.text);
        assert_eq!(decoded.encoded, answer, "{what}");
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_beside_those_served_close_the_connection() {
    let broker = TestBroker::start().await;
    for served in highwater::kafka::api_table::APIS {
        for version in [served.versions.start() - 1, served.versions.end() + 1, i16::MAX, -2] {
            if served.key == API_VERSIONS || served.versions.contains(&version) {
                continue;
            }
            let mut peer = Peer::connect(broker.address).await;
            peer.send_frame(&request(served, version, 1, &[0; 64])).await;
            peer.closed().await;
        }
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_not_served_close_the_connection() {
    let broker = TestBroker::start().await;
    for key in [4_i16, 5, 6, 7, 52, 58, 88, 93, 1000, i16::MAX, -1, i16::MIN] {
        let mut peer = Peer::connect(broker.address).await;
        let head = [&key.to_be_bytes()[..], &[0, 0, 0, 0, 0, 1, 0xff, 0xff]].concat();
        peer.send_frame(&head).await;
        peer.closed().await;
    }
    broker.stop().await;
}

async fn ask_versions(
    peer: &mut Peer,
    version: i16,
    name: &str,
    software: &str,
) -> ApiVersionsResponse {
    let mut asked = ApiVersionsRequest::default();
    if version >= 3 {
        asked = asked
            .with_client_software_name(StrBytes::from_string(name.to_owned()))
            .with_client_software_version(StrBytes::from_string(software.to_owned()));
    }
    let body = peer.ask(api(API_VERSIONS), version, &encoded(&asked, version)).await;
    decode(body.expect("an answer"), version)
}

fn decode(mut body: Bytes, version: i16) -> ApiVersionsResponse {
    let answer = ApiVersionsResponse::decode(&mut body, version).expect("decodes");
    assert!(body.is_empty());
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_advertised_is_what_is_served_with_produce_from_0() {
    let broker = TestBroker::start().await;
    for version in 0..=4 {
        let mut peer = Peer::connect(broker.address).await;
        let answer = ask_versions(&mut peer, version, "test", "1.0").await;
        assert_eq!(answer.error_code, 0);
        let listed: Vec<_> = answer
            .api_keys
            .iter()
            .map(|api| (api.api_key, api.min_version, api.max_version))
            .collect();
        assert!(
            listed.contains(&(0, 0, 13)),
            "librdkafka before 2.11.1 needs Produce v0: {listed:?}"
        );
        let served = highwater::kafka::api_table::APIS.iter().map(|api| {
            let first = if api.key == 0 { 0 } else { *api.versions.start() };
            (api.key, first, *api.versions.end())
        });
        assert_eq!(listed, served.collect::<Vec<_>>());
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_versions_of_api_versions_get_an_answer_in_version_0() {
    let broker = TestBroker::start().await;
    for version in [6, 99, i16::MAX, -1, i16::MIN] {
        let mut peer = Peer::connect(broker.address).await;
        peer.send_frame(&request(api(API_VERSIONS), version, 7, &[0xff; 20])).await;
        let answer = peer.frame().await.expect("an answer");
        let answer = decode(body_of(api(API_VERSIONS), 0, 7, &answer), 0);
        assert_eq!(answer.error_code, 35, "v{version}");
        assert_eq!(answer.api_keys.len(), 1);
        let own = &answer.api_keys[0];
        assert_eq!((own.api_key, own.min_version, own.max_version), (API_VERSIONS, 0, 5));
        // The client goes on with what it was told.
        assert_eq!(ask_versions(&mut peer, 4, "test", "1.0").await.error_code, 0);
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_names_that_kafka_refuses_are_invalid_requests() {
    const INVALID_REQUEST: i16 = 42;
    let broker = TestBroker::start().await;
    for (name, software) in
        [("", "1.0"), ("test", ""), ("te st", "1.0"), ("-a", "1.0"), ("a", "1_0")]
    {
        let mut peer = Peer::connect(broker.address).await;
        let answer = ask_versions(&mut peer, 3, name, software).await;
        assert_eq!(answer.error_code, INVALID_REQUEST, "{name:?} {software:?}");
        // Clients then retry with version 0 on the same connection.
        assert_eq!(ask_versions(&mut peer, 0, "", "").await.error_code, 0);
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn features_are_told_as_kafka_tells_those_that_are_served() {
    let broker = TestBroker::start().await;
    for version in 3..=4 {
        let mut peer = Peer::connect(broker.address).await;
        let answer = ask_versions(&mut peer, version, "test", "1.0").await;
        let supported: Vec<_> = answer
            .supported_features
            .iter()
            .map(|feature| (feature.name.as_str(), feature.min_version, feature.max_version))
            .collect();
        // A lowest level of 0 came with version 4.
        let all = [
            ("group.version", 0, 1),
            ("kraft.version", 0, 1),
            ("metadata.version", 7, 25),
            ("transaction.version", 0, 2),
        ];
        let told = if version >= 4 { &all[..] } else { &all[2..3] };
        assert_eq!(supported, told, "v{version}");
        let finalized: Vec<_> = answer
            .finalized_features
            .iter()
            .map(|feature| (feature.name.as_str(), feature.max_version_level))
            .collect();
        let expected = [
            ("group.version", 1),
            ("kraft.version", 1),
            ("metadata.version", 25),
            ("transaction.version", 2),
        ];
        assert_eq!(finalized, expected, "v{version}");
        assert!(answer.finalized_features_epoch >= 0, "clients look at them from 0 on");
    }
    broker.stop().await;
}
