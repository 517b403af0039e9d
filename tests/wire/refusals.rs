//! Group requests that no client should send, asked of Apache Kafka 4.4.0 (`tests/golden/refusals/Capture.java`) and of us: the same
//! answers, field by field, and what groups look like afterwards is the same too.
//!
//! Every field out of its range, ids of other groups, of members that are gone and of nobody, in every state that a group of
//! either protocol can be in; members of one protocol that call the APIs of the other; foreign bytes in subscriptions.

use bytes::Bytes;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;

use crate::broker::TestBroker;
use crate::peer::{Peer, api, request};
use crate::recording::{self, Step, assert_no_step_differs, decoded, difference};
use crate::translation::Translation;

const STEPS: &[u8] = include_bytes!("../golden/refusals/steps.jsonl.gz");

/// What the recorded Kafka was started with, as far as it shows.
const SETTINGS: [(&str, &str); 5] = [
    ("node.id", "0"),
    ("auto.create.topics.enable", "false"),
    ("offsets.topic.num.partitions", "1"),
    ("group.consumer.min.assignment.interval.ms", "0"),
    ("group.consumer.assignment.interval.ms", "0"),
];

/// Kafka has made the group when it looks at the first JoinGroup, and keeps it, empty, if it then refuses that. Here a join
/// that is refused leaves nothing: the group is not there.
const LEFT_BY_REFUSED_JOINS: [&str; 2] =
    ["a join that was refused leaves no group", "groups of joins that were refused"];

const CORRELATION_ID: i32 = 0x0707_0707;

const CONSUMER_GROUP_HEARTBEAT: i16 = 68;
const UNKNOWN_MEMBER_ID: i16 = 25;
const GROUP_ID_NOT_FOUND: i16 = 69;

/// What happens on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A request and its answer.
    Ask,
    /// A request on a connection of its own, whose answer nobody waits for.
    Send,
    /// A request that is repeated until it is answered so.
    Until,
}

fn event(step: &Step) -> Event {
    match step.line["event"].as_str() {
        Some("ask") => Event::Ask,
        Some("send") => Event::Send,
        Some("until") => Event::Until,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_groups_that_no_client_should_send_are_answered_as_kafka_answers_them() {
    let broker = TestBroker::start_set(&SETTINGS).await;
    let mut peer = Peer::connect(broker.address).await;
    let mut waiting = Vec::new();
    let mut ids = Translation::default();
    let mut differences = Vec::new();
    let steps = recording::steps(STEPS);
    assert!(steps.len() > 6_000, "the recording is complete");
    let is_served = |step: &&Step| api(step.key).versions.contains(&step.version);
    for step in steps.iter().filter(is_served) {
        let body = ids.to_ours(&step.request);
        let api = api(step.key);
        let event = event(step);
        if event == Event::Send {
            let mut other = Peer::connect(broker.address).await;
            other.send_frame(&request(api, step.version, CORRELATION_ID, &body)).await;
            waiting.push(other);
            continue;
        }
        let theirs = step.theirs();
        let ours = loop {
            let answer = peer.ask(api, step.version, &body).await;
            let answer = answer.unwrap_or_else(|| panic!("{}: closed", step.name));
            if event == Event::Ask || answer == ids.to_ours(theirs) {
                break answer;
            }
        };
        learn(&mut ids, step, &ours);
        if LEFT_BY_REFUSED_JOINS.contains(&step.name.as_str()) {
            assert_eq!(first_error(step, &ours), GROUP_ID_NOT_FOUND, "{}", step.name);
            continue;
        }
        if finds_a_classic_group(step, theirs) {
            assert_eq!(first_error(step, &ours), UNKNOWN_MEMBER_ID, "{}", step.name);
            continue;
        }
        let theirs = comparable(step.key, step.version, ids.to_ours(theirs));
        let ours = comparable(step.key, step.version, ours);
        if theirs != ours {
            differences.push(difference(step, &theirs, &ours));
        }
    }
    broker.stop().await;
    assert_no_step_differs(&differences);
}

/// Ids that an answer tells: of topics, and of members that the broker has named.
fn learn(ids: &mut Translation, step: &Step, ours: &Bytes) {
    for (theirs, ours) in told(step, step.theirs()).iter().zip(told(step, ours)) {
        if !theirs.is_empty() && !ours.is_empty() {
            ids.add(theirs, &ours);
        }
    }
}

fn told(step: &Step, answer: &Bytes) -> Vec<Vec<u8>> {
    match step.key {
        11 => {
            vec![decoded::<JoinGroupResponse>(step.version, answer).member_id.as_bytes().to_vec()]
        }
        19 => {
            let created: CreateTopicsResponse = decoded(step.version, answer);
            created.topics.iter().map(|topic| topic.topic_id.as_bytes().to_vec()).collect()
        }
        68 => {
            let joined: ConsumerGroupHeartbeatResponse = decoded(step.version, answer);
            joined.member_id.iter().map(|id| id.as_bytes().to_vec()).collect()
        }
        _ => Vec::new(),
    }
}

/// An answer as text, without what may differ: the order of elements that are in no order, words for people.
fn comparable(key: i16, version: i16, body: Bytes) -> String {
    match key {
        8 => format!("{:#?}", committed(decoded(version, &body))),
        9 => format!("{:#?}", fetched(decoded(version, &body))),
        10 => format!("{:#?}", coordinators(decoded(version, &body))),
        11 => format!("{:#?}", decoded::<JoinGroupResponse>(version, &body)),
        12 => format!("{:#?}", decoded::<HeartbeatResponse>(version, &body)),
        13 => format!("{:#?}", decoded::<LeaveGroupResponse>(version, &body)),
        14 => format!("{:#?}", decoded::<SyncGroupResponse>(version, &body)),
        15 => format!("{:#?}", described(decoded(version, &body))),
        16 => format!("{:#?}", listed(decoded(version, &body))),
        19 => format!("{:#?}", created(decoded(version, &body))),
        32 => format!("{:#?}", configs(decoded(version, &body))),
        42 => format!("{:#?}", deleted(decoded(version, &body))),
        44 => format!("{:#?}", decoded::<IncrementalAlterConfigsResponse>(version, &body)),
        47 => format!("{:#?}", offsets_deleted(decoded(version, &body))),
        68 => format!("{:#?}", heard(decoded(version, &body))),
        69 => format!("{:#?}", described_consumers(decoded(version, &body))),
        other => panic!("API {other} is not recorded"),
    }
}

fn created(mut answer: CreateTopicsResponse) -> CreateTopicsResponse {
    answer.topics.iter_mut().for_each(|topic| topic.configs = None);
    answer
}

fn coordinators(mut answer: FindCoordinatorResponse) -> FindCoordinatorResponse {
    answer.port = answer.port.signum();
    answer.error_message = answer.error_message.map(|_| words());
    for found in &mut answer.coordinators {
        found.port = found.port.signum();
        found.error_message = found.error_message.take().map(|_| words());
    }
    answer
}

fn committed(mut answer: OffsetCommitResponse) -> OffsetCommitResponse {
    answer.topics.sort_by_key(|topic| (topic.name.clone(), topic.topic_id));
    for topic in &mut answer.topics {
        topic.partitions.sort_by_key(|p| (p.partition_index, p.error_code));
    }
    answer
}

fn offsets_deleted(mut answer: OffsetDeleteResponse) -> OffsetDeleteResponse {
    answer.topics.sort_by_key(|topic| topic.name.clone());
    answer.topics.iter_mut().for_each(|topic| topic.partitions.sort_by_key(|p| p.partition_index));
    answer
}

fn fetched(mut answer: OffsetFetchResponse) -> OffsetFetchResponse {
    answer.topics.sort_by_key(|topic| topic.name.clone());
    answer.topics.iter_mut().for_each(|topic| topic.partitions.sort_by_key(|p| p.partition_index));
    for group in &mut answer.groups {
        group.topics.sort_by_key(|topic| (topic.name.clone(), topic.topic_id));
        group
            .topics
            .iter_mut()
            .for_each(|topic| topic.partitions.sort_by_key(|p| p.partition_index));
    }
    answer
}

fn described(mut answer: DescribeGroupsResponse) -> DescribeGroupsResponse {
    answer.groups.iter_mut().for_each(|group| group.members.sort_by_key(|m| m.member_id.clone()));
    answer
}

fn described_consumers(mut answer: ConsumerGroupDescribeResponse) -> ConsumerGroupDescribeResponse {
    for group in &mut answer.groups {
        group.members.sort_by_key(|member| member.member_id.clone());
        group.members.iter_mut().for_each(|member| member.subscribed_topic_names.sort());
    }
    answer
}

fn listed(mut answer: ListGroupsResponse) -> ListGroupsResponse {
    answer.groups.sort_by_key(|group| group.group_id.clone());
    answer
}

fn deleted(mut answer: DeleteGroupsResponse) -> DeleteGroupsResponse {
    answer.results.sort_by_key(|result| result.group_id.clone());
    answer
}

fn configs(mut answer: DescribeConfigsResponse) -> DescribeConfigsResponse {
    answer.results.iter_mut().for_each(|resource| resource.configs.sort_by_key(|c| c.name.clone()));
    answer
}

/// The words of a refusal are for people; that there are some is compared.
fn heard(mut answer: ConsumerGroupHeartbeatResponse) -> ConsumerGroupHeartbeatResponse {
    answer.error_message = answer.error_message.map(|_| words());
    answer
}

/// A heartbeat of the new protocol for a group that is a classic one: Kafka's GROUP_ID_NOT_FOUND is the end of its own client. Here
/// a member that is no longer one hears UNKNOWN_MEMBER_ID, and joins again. In `simple` groups, which have offsets only, nobody was
/// a member.
fn finds_a_classic_group(step: &Step, theirs: &Bytes) -> bool {
    if step.key != CONSUMER_GROUP_HEARTBEAT {
        return false;
    }
    let asked: ConsumerGroupHeartbeatRequest = decoded(step.version, &step.request);
    let theirs: ConsumerGroupHeartbeatResponse = decoded(step.version, theirs);
    let is_classic = |text: StrBytes| text.ends_with("is not a consumer group.");
    asked.member_epoch > 0
        && !asked.group_id.starts_with("simple")
        && theirs.error_message.is_some_and(is_classic)
}

fn words() -> StrBytes {
    StrBytes::from_static_str("words")
}

/// Of an answer, or of its first group.
fn first_error(step: &Step, answer: &Bytes) -> i16 {
    match step.key {
        15 => decoded::<DescribeGroupsResponse>(step.version, answer).groups[0].error_code,
        42 => decoded::<DeleteGroupsResponse>(step.version, answer).results[0].error_code,
        CONSUMER_GROUP_HEARTBEAT => {
            decoded::<ConsumerGroupHeartbeatResponse>(step.version, answer).error_code
        }
        other => panic!("API {other} is not expected to differ"),
    }
}
