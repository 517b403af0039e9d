//! The guard lets through what Kafka's clients send, and nothing that would make the generated decoder reserve memory for
//! elements that are not there.

use bytes::Bytes;
use highwater::kafka::api_table::{Api, Body};
use highwater::kafka::codec::offsets;
use highwater::kafka::codec::produce::ProduceRequest;
use highwater::kafka::guard::{self, ELEMENTS_MAX};
use highwater::kafka::wire::Malformed;

use crate::synthetic::{self, versions};
use crate::{captures, messages};

/// What stands before the decoder of an API: the guard, or the reader of its own.
fn admit(api: &Api, version: i16, body: Bytes) -> Result<(), Malformed> {
    match api.body {
        Body::Guarded(fields) => {
            guard::check(fields, version, api.is_flexible(version), &body).map(|_| ())
        }
        Body::OwnReader => ProduceRequest::parse_body(body, version).map(|_| ()),
    }
}

/// The body of a captured request.
fn body_of(api: &Api, version: i16, frame: &Bytes) -> Bytes {
    let client_id_len = i16::from_be_bytes([frame[8], frame[9]]).max(0) as usize;
    frame.slice(10 + client_id_len + usize::from(api.is_flexible(version))..)
}

#[test]
fn every_request_that_a_real_client_sent_passes_and_decodes() {
    let mut passed = 0;
    for capture in captures::all() {
        let Some(api) = Api::find(capture.key) else { continue };
        if !api.versions.contains(&capture.version) {
            continue;
        }
        let what = format!("{} v{} of {}", api.name, capture.version, capture.client);
        let body = body_of(api, capture.version, &capture.request);
        assert_eq!(admit(api, capture.version, body.clone()), Ok(()), "{what}");
        let decoded = messages::request(capture.key, capture.version, body.clone()).expect(&what);
        // librdkafka 2.16 leaves bytes behind its Metadata v13, which Kafka ignores.
        let left = if capture.client == "librdkafka" && api.name == "Metadata" { 3 } else { 0 };
        assert!(decoded.rest <= left, "{what}: {} bytes left", decoded.rest);
        assert_eq!(decoded.encoded, body[..body.len() - decoded.rest], "{what}");
        passed += 1;
    }
    assert!(passed > 200, "only {passed} captures are of a version served");
}

#[test]
fn the_layouts_are_those_of_the_generated_decoder() {
    for (api, version) in versions() {
        let what = format!("{} v{version}", api.name);
        let body = synthetic::body(api, version);
        assert_eq!(admit(api, version, body.clone()), Ok(()), "{what}");
        let decoded = messages::request(api.key, version, body.clone()).expect(&what);
        assert_eq!(decoded.rest, 0, "{what}: {}", decoded.text);
        let fields = synthetic::layout(api);
        let checked = guard::check(fields, version, api.is_flexible(version), &body);
        assert!(checked.is_ok(), "{what}: {checked:?}");
    }
}

#[test]
fn a_huge_count_is_refused_wherever_an_array_can_be() {
    let mut refused = 0;
    for (api, version) in versions() {
        for body in synthetic::bodies_with_a_huge_count(api, version) {
            let what = format!("{} v{version} {body:02x?}", api.name);
            let result = admit(api, version, body);
            assert!(matches!(result, Err(Malformed::Count { .. })), "{what}: {result:?}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_body_cut_anywhere_is_refused() {
    for (api, version) in versions() {
        let body = synthetic::body(api, version);
        for len in 0..body.len() {
            let cut = body.slice(..len);
            assert!(admit(api, version, cut).is_err(), "{} v{version} cut to {len}", api.name);
        }
    }
}

#[test]
fn bytes_behind_a_body_are_ignored_as_in_kafka() {
    for (api, version) in versions() {
        let longer = [&synthetic::body(api, version)[..], &[1, 2, 3]].concat();
        assert_eq!(admit(api, version, longer.into()), Ok(()), "{} v{version}", api.name);
    }
}

#[test]
fn the_number_of_elements_in_a_request_is_bounded() {
    let metadata = Api::find(3).expect("Metadata is served");
    let body_with = |count: usize| {
        let mut body = (count as i32).to_be_bytes().to_vec();
        body.resize(4 + 2 * count, 0);
        Bytes::from(body)
    };
    assert_eq!(admit(metadata, 1, body_with(ELEMENTS_MAX)), Ok(()));
    let limit = Malformed::TooManyElements { limit: ELEMENTS_MAX };
    assert_eq!(admit(metadata, 1, body_with(ELEMENTS_MAX + 1)), Err(limit));
}

#[test]
fn tags_count_as_elements() {
    // ApiVersions v3 with two empty names and as many tags as bytes allow.
    let tags = ELEMENTS_MAX as u32 + 1;
    let mut body = vec![1, 1];
    let mut count = tags;
    while count >= 0x80 {
        body.push(count as u8 | 0x80);
        count >>= 7;
    }
    body.push(count as u8);
    body.resize(body.len() + 2 * tags as usize, 0);
    let api = Api::find(18).expect("ApiVersions is served");
    let limit = Malformed::TooManyElements { limit: ELEMENTS_MAX };
    assert_eq!(admit(api, 3, body.into()), Err(limit));
}

#[test]
fn null_is_refused_where_a_list_must_be_in_requests_by_topic_id() {
    let all_topics = [2, 2, b'g', 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0];
    let body = Bytes::copy_from_slice(&all_topics);
    let request = offsets::fetch_request(body, 10).expect("null topics are all topics");
    assert_eq!((request.groups[0].topics.is_none(), request.require_stable), (true, true));
    let no_groups = Bytes::from_static(&[0, 1, 0]);
    assert!(offsets::fetch_request(no_groups, 10).is_err());
    let commit_without_list = Bytes::from_static(&[2, b'g', 0, 0, 0, 1, 1, 0, 0, 0]);
    assert!(offsets::commit_request(commit_without_list, 10).is_err());
}
