//! Groups of the consumer protocol: ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69), in every version.

use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse};

use crate::broker::TestBroker;
use crate::calls::Session;
use crate::consumer::Consumer;
use crate::group_offsets::commit_one;
use crate::member::text;

const CONSUMER_GROUP_DESCRIBE: i16 = 69;

const NONE: i16 = 0;
const INVALID_GROUP_ID: i16 = 24;
const UNKNOWN_MEMBER_ID: i16 = 25;
const INVALID_REQUEST: i16 = 42;
const GROUP_ID_NOT_FOUND: i16 = 69;
const FENCED_MEMBER_EPOCH: i16 = 110;
const UNSUPPORTED_ASSIGNOR: i16 = 112;
const INVALID_REGULAR_EXPRESSION: i16 = 128;

async fn with_topic() -> Session {
    let mut session = Session::start().await;
    session.create("t", 4, &[]).await;
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_go_from_one_member_to_the_next_in_every_version() {
    let session = with_topic().await;
    for version in 0..=1 {
        two_members(&session.broker, version).await;
    }
    session.broker.stop().await;
}

async fn two_members(broker: &TestBroker, version: i16) {
    let group = format!("g{version}");
    let mut first = Consumer::new(broker.address, &group, version).await;
    let joined = first.join(&["t"]).await;
    assert_eq!(joined.heartbeat_interval_ms, 5000);
    assert_eq!(first.partitions(), [0, 1, 2, 3], "v{version}");

    let mut second = Consumer::new(broker.address, &group, version).await;
    second.join(&["t"]).await;
    assert_eq!(second.partitions(), [0; 0], "nothing is free yet: v{version}");
    // The first is told what to keep, keeps only that and says so; then the rest is the second's.
    first.beat_until_owning(2).await;
    second.beat_until_owning(2).await;
    let all = [first.partitions(), second.partitions()].concat();
    assert_eq!(first.epoch, second.epoch, "v{version}");
    assert_eq!(all.len(), 4, "v{version}");
    assert!((0..4).all(|index| all.contains(&index)), "v{version}: {all:?}");

    first.epoch = -1;
    let left = first.heartbeat();
    assert_eq!(first.send(&left).await.member_epoch, -1, "v{version}");
    assert_eq!(first.send(&left).await.error_code, UNKNOWN_MEMBER_ID, "v{version}");
    second.beat_until_owning(4).await;
    let ahead = second.heartbeat().with_member_epoch(second.epoch + 1);
    assert_eq!(second.send(&ahead).await.error_code, FENCED_MEMBER_EPOCH, "v{version}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_that_cannot_be_are_refused_with_kafkas_code() {
    let session = with_topic().await;
    let mut consumer = Consumer::new(session.broker.address, "g", 1).await;
    let join = consumer.join_request(&["t"]);
    let mut later = consumer.heartbeat();
    later.member_epoch = 3;
    let cases = [
        (join.clone().with_group_id(text("").into()), INVALID_REQUEST),
        (join.clone().with_member_id(text("")), INVALID_REQUEST),
        (join.clone().with_rebalance_timeout_ms(-1), INVALID_REQUEST),
        (join.clone().with_topic_partitions(None), INVALID_REQUEST),
        (join.clone().with_subscribed_topic_names(None), INVALID_REQUEST),
        (join.clone().with_member_epoch(-3), INVALID_REQUEST),
        (join.clone().with_member_epoch(-2), INVALID_REQUEST),
        (join.clone().with_instance_id(Some(text(""))), INVALID_REQUEST),
        (join.clone().with_rack_id(Some(text(""))), INVALID_REQUEST),
        (join.clone().with_server_assignor(Some(text("mine"))), UNSUPPORTED_ASSIGNOR),
        (join.with_subscribed_topic_regex(Some(text("("))), INVALID_REGULAR_EXPRESSION),
        (later, GROUP_ID_NOT_FOUND),
    ];
    for (asked, error) in cases {
        let answer = consumer.send(&asked).await;
        assert_eq!(answer.error_code, error, "{asked:?}");
        assert!(answer.error_message.is_some(), "{asked:?}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_version_0_may_be_given_its_id() {
    let session = with_topic().await;
    let mut consumer = Consumer::new(session.broker.address, "g", 0).await;
    consumer.id = String::new();
    consumer.join(&["t"]).await;
    assert!(!consumer.id.is_empty());
    assert_eq!(consumer.partitions(), [0, 1, 2, 3]);
    session.broker.stop().await;
}

async fn describe(session: &mut Session, version: i16, groups: &[&str]) -> Vec<DescribedGroup> {
    let asked = ConsumerGroupDescribeRequest::default()
        .with_group_ids(groups.iter().map(|group| text(group).into()).collect())
        .with_include_authorized_operations(true);
    let answer: ConsumerGroupDescribeResponse =
        session.call(CONSUMER_GROUP_DESCRIBE, version, &asked).await;
    let named: Vec<_> = answer.groups.iter().map(|group| group.group_id.as_str()).collect();
    assert_eq!(named, groups, "in the order of the request");
    answer.groups
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_described_in_every_version() {
    let mut session = with_topic().await;
    commit_one(&mut session, "classic", "t").await;
    let mut consumer = Consumer::new(session.broker.address, "new", 1).await;
    consumer.join(&["t"]).await;
    for version in 0..=1 {
        let groups = describe(&mut session, version, &["nobodys", "new", "", "classic"]).await;
        let errors: Vec<_> = groups.iter().map(|group| group.error_code).collect();
        let not_found = GROUP_ID_NOT_FOUND;
        assert_eq!(errors, [not_found, NONE, INVALID_GROUP_ID, not_found], "v{version}");
        assert_eq!(
            groups[3].error_message.as_deref(),
            Some("Group classic is not a consumer group."),
            "v{version}"
        );
        let group = &groups[1];
        assert_eq!(group.group_state.as_str(), "Stable", "v{version}");
        assert_eq!(group.assignor_name.as_str(), "uniform", "v{version}");
        assert_eq!((group.group_epoch, group.assignment_epoch), (consumer.epoch, consumer.epoch));
        assert_eq!(group.authorized_operations, 3400, "v{version}");
        let member = &group.members[0];
        assert_eq!((member.member_id.as_str(), member.client_id.as_str()), (&*consumer.id, "test"));
        assert_eq!(member.client_host.as_str(), "/127.0.0.1", "v{version}");
        assert_eq!(member.subscribed_topic_names[0].as_str(), "t", "v{version}");
        let assigned = &member.assignment.topic_partitions[0];
        assert_eq!(assigned.topic_name.as_str(), "t", "v{version}");
        assert_eq!(assigned.topic_id, consumer.owned[0].0, "v{version}");
        assert_eq!(member.assignment, member.target_assignment, "v{version}");
        assert_eq!(member.member_type, if version >= 1 { 1 } else { -1 }, "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_excludes_the_consumer_protocol_serves_none_of_it() {
    const UNSUPPORTED_VERSION: i16 = 35;
    let broker =
        TestBroker::start_set(&[("group.coordinator.rebalance.protocols", "classic")]).await;
    let peer = crate::peer::Peer::connect(broker.address).await;
    let mut session = Session { broker, peer };
    let mut consumer = Consumer::new(session.broker.address, "g", 1).await;
    let join = consumer.join_request(&["t"]);
    assert_eq!(consumer.send(&join).await.error_code, UNSUPPORTED_VERSION);
    let groups = describe(&mut session, 1, &["g"]).await;
    assert_eq!(groups[0].error_code, UNSUPPORTED_VERSION);
    session.broker.stop().await;
}
