//! What members of groups sent to Kafka, sent to us: we answer, byte for byte, what Kafka answered.
//!
//! The captures of a client are sorted by API, so they are put in the order in which a member lives: join, sync, fetch, heartbeat,
//! commit, fetch again, leave.
//! Ids are made by the broker, so those of Kafka are put in the place of ours wherever one was told: member ids, which both
//! make of the client id and a UUID, and topic ids. The port is that of the coordinator.

use std::collections::BTreeSet;

use bytes::Bytes;
use highwater::kafka::api_table::Api;
use kafka_protocol::messages::{JoinGroupResponse, MetadataResponse, OffsetFetchResponse};
use kafka_protocol::protocol::Decodable;

use crate::calls::Session;
use crate::captures::{self, Capture};
use crate::peer::Peer;
use crate::translation::Translation;

const METADATA: i16 = 3;
const OFFSET_FETCH: i16 = 9;
const FIND_COORDINATOR: i16 = 10;
const JOIN_GROUP: i16 = 11;
const LIST_GROUPS: i16 = 16;

/// OffsetCommit to DescribeGroups. A list of groups would tell what other clients left behind, and of the commits of sarama
/// the captures hold the first ones only.
fn is_compared(capture: &Capture) -> bool {
    let api = Api::find(capture.key);
    (8..LIST_GROUPS).contains(&capture.key)
        && api.is_some_and(|api| api.versions.contains(&capture.version))
        && !(capture.key == OFFSET_FETCH && capture.client == "sarama" && tells_an_offset(capture))
}

/// The place of a request in the life of a member.
fn order(capture: &Capture) -> usize {
    const LIFE: [i16; 8] = [10, 11, 14, 9, 12, 8, 13, 15];
    if capture.key == OFFSET_FETCH && tells_an_offset(capture) {
        return LIFE.len();
    }
    LIFE.iter().position(|key| *key == capture.key).expect("a request of a member")
}

fn tells_an_offset(capture: &Capture) -> bool {
    let mut body = body(capture, capture.response.as_ref().expect("an answer"));
    let answer = OffsetFetchResponse::decode(&mut body, capture.version).expect("decodes");
    let alone = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let groups = answer.groups.iter().flat_map(|group| &group.topics);
    let several = groups.flat_map(|topic| &topic.partitions);
    alone.map(|p| p.committed_offset).chain(several.map(|p| p.committed_offset)).any(|o| o >= 0)
}

/// The body of an answer of Kafka.
fn body(capture: &Capture, frame: &Bytes) -> Bytes {
    let api = Api::find(capture.key).expect("served");
    frame.slice(4 + usize::from(api.has_tagged_response_header(capture.version))..)
}

/// Topics with ids that the client was told of.
fn topics(captures: &[Capture]) -> Vec<(String, [u8; 16])> {
    let mut topics = Vec::new();
    for capture in captures.iter().filter(|c| c.key == METADATA) {
        let Some(response) = &capture.response else { continue };
        let mut body = body(capture, response);
        let answer = MetadataResponse::decode(&mut body, capture.version).expect("decodes");
        for topic in answer.topics.iter().filter(|topic| topic.error_code == 0) {
            let name = topic.name.as_ref().map(|name| name.to_string()).expect("a name");
            match topics.iter_mut().find(|(known, _): &&mut (String, _)| *known == name) {
                Some((_, id)) if *id == [0; 16] => *id = topic.topic_id.into_bytes(),
                Some(_) => {}
                None => topics.push((name, topic.topic_id.into_bytes())),
            }
        }
    }
    topics
}

async fn replay(captures: &[Capture]) -> BTreeSet<(i16, i16)> {
    let mut session = Session::start().await;
    let mut translation = Translation::default();
    for (name, id) in topics(captures) {
        if !name.starts_with("__") {
            translation.add(&id, &session.create(&name, 4, &[]).await);
        }
    }
    let port = i32::from(session.broker.address.port()).to_be_bytes();
    let mut compared = BTreeSet::new();
    let mut asked: Vec<_> = captures.iter().filter(|capture| is_compared(capture)).collect();
    asked.sort_by_key(|capture| order(capture));
    for capture in asked {
        let what = format!("{} v{} of {}", capture.key, capture.version, capture.client);
        let mut peer = Peer::connect(session.broker.address).await;
        peer.send_frame(&translation.to_ours(&capture.request)).await;
        let answer = peer.frame().await.unwrap_or_else(|| panic!("{what}: closed"));
        let theirs = capture.response.clone().expect("an answer");
        match capture.key {
            FIND_COORDINATOR => {
                let at = theirs.windows(4).position(|four| four == PORT_OF_KAFKA).expect("a port");
                assert_eq!(answer[at..at + 4], port, "{what}");
                let theirs = [&theirs[..at], &port[..], &theirs[at + 4..]].concat();
                assert_eq!(answer, theirs, "{what}");
            }
            JOIN_GROUP => learn(&mut translation, capture, &theirs, &answer),
            _ => {}
        }
        if capture.key != FIND_COORDINATOR {
            assert_eq!(answer, translation.to_ours(&theirs), "{what}");
        }
        compared.insert((capture.key, capture.version));
    }
    session.broker.stop().await;
    compared
}

const PORT_OF_KAFKA: [u8; 4] = 19_392_i32.to_be_bytes();

/// The member id that each has given.
fn learn(translation: &mut Translation, capture: &Capture, theirs: &Bytes, ours: &Bytes) {
    let id = |frame: &Bytes| {
        let mut body = body(capture, frame);
        let answer = JoinGroupResponse::decode(&mut body, capture.version).expect("decodes");
        answer.member_id
    };
    translation.add(id(theirs).as_bytes(), id(ours).as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_groups_are_answered_as_kafka_answers_them() {
    let mut compared = BTreeSet::new();
    // The others were in several groups or joined one more than once, of which the captures hold a part.
    for client in
        ["aiokafka", "franz-go", "kafkajs", "platformatic-kafka", "sarama", "segmentio-kafka-go"]
    {
        let captures: Vec<_> =
            captures::all().into_iter().filter(|capture| capture.client == client).collect();
        compared.extend(replay(&captures).await);
    }
    assert!(compared.len() > 30, "{compared:?}");
}
