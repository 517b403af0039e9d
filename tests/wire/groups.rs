//! Groups of the classic protocol: FindCoordinator (10), JoinGroup (11), Heartbeat (12), LeaveGroup (13), SyncGroup (14), in
//! every version.

use kafka_protocol::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest,
    SyncGroupResponse,
};

use crate::broker::TestBroker;
use crate::calls::Session;
use crate::member::{HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, Member, SYNC_GROUP, join_request, text};

const FIND_COORDINATOR: i16 = 10;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

const NONE: i16 = 0;
const ILLEGAL_GENERATION: i16 = 22;
const INCONSISTENT_GROUP_PROTOCOL: i16 = 23;
const INVALID_GROUP_ID: i16 = 24;
const UNKNOWN_MEMBER_ID: i16 = 25;
const INVALID_SESSION_TIMEOUT: i16 = 26;
const INVALID_REQUEST: i16 = 42;
const FENCED_INSTANCE_ID: i16 = 82;

#[tokio::test(flavor = "multi_thread")]
async fn the_coordinator_of_groups_and_transactions_is_this_broker_in_every_version() {
    let mut session = Session::start().await;
    let port = i32::from(session.broker.address.port());
    for (key_type, versions) in [(GROUP, 0..=5), (TRANSACTION, 1..=5)] {
        for version in versions {
            for (key, node) in find(&mut session, version, key_type, &["g", ""]).await {
                let here = (NONE, 1, "127.0.0.1".to_owned(), port);
                assert_eq!(node, here, "v{version} {key_type} {key}");
            }
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_coordinator_of_unknown_things() {
    let mut session = Session::start().await;
    for version in 1..=5 {
        for key_type in [2, 3, -1, i8::MAX] {
            for (_, node) in find(&mut session, version, key_type, &["t"]).await {
                let nobody = (INVALID_REQUEST, -1, String::new(), -1);
                assert_eq!(node, nobody, "v{version} {key_type}");
            }
        }
    }
    session.broker.stop().await;
}

type Node = (i16, i32, String, i32);

/// Each key with error, node id, host and port; before version 4 for the first key alone.
async fn find(
    session: &mut Session,
    version: i16,
    key_type: i8,
    keys: &[&str],
) -> Vec<(String, Node)> {
    let mut asked = FindCoordinatorRequest::default();
    if version >= 1 {
        asked.key_type = key_type;
    }
    if version < 4 {
        asked.key = text(keys[0]);
    } else {
        asked.coordinator_keys = keys.iter().copied().map(text).collect();
    }
    let answer: FindCoordinatorResponse = session.call(FIND_COORDINATOR, version, &asked).await;
    if version < 4 {
        let message = answer.error_message.as_deref();
        // Kafka names success, from version 1.
        assert!(version < 1 || answer.error_code != NONE || message == Some("NONE"), "{message:?}");
        let node = (answer.error_code, answer.node_id.0, answer.host.to_string(), answer.port);
        return vec![(keys[0].to_owned(), node)];
    }
    let named: Vec<_> = answer.coordinators.iter().map(|node| node.key.as_str()).collect();
    assert_eq!(named, keys, "in the order of the request");
    let node = |node: &kafka_protocol::messages::find_coordinator_response::Coordinator| {
        let told = (node.error_code, node.node_id.0, node.host.to_string(), node.port);
        (node.key.to_string(), told)
    };
    answer.coordinators.iter().map(node).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_members_share_a_group_in_every_version() {
    let broker = TestBroker::start().await;
    for version in 0..=9 {
        two_members(&broker, version).await;
    }
    broker.stop().await;
}

async fn two_members(broker: &TestBroker, version: i16) {
    let group = format!("g{version}");
    let mut first = Member::new(broker.address, &group, version).await;
    first.join().await;
    let alone = first.joined().await;
    assert_eq!((alone.generation_id, alone.members.len()), (1, 1), "v{version}");
    assert_eq!(alone.leader, first.id, "v{version}");
    assert_eq!(alone.members[0].metadata, &b"subs"[..]);
    assert_eq!(alone.protocol_name.as_deref(), Some("range"));
    let its_type = (version >= 7).then_some("consumer");
    assert_eq!(alone.protocol_type.as_deref(), its_type, "v{version}");
    let id = first.id.clone();
    assert_eq!(first.sync(&[(&id, b"all")]).await.assignment, &b"all"[..], "v{version}");

    let mut second = Member::new(broker.address, &group, version).await;
    second.join().await;
    first.hears_of_a_rebalance().await;
    first.join().await;
    let (led, followed) = (first.joined().await, second.joined().await);
    assert_eq!((led.generation_id, followed.generation_id), (2, 2), "v{version}");
    assert_eq!((led.members.len(), followed.members.len()), (2, 0), "the leader alone is told");
    assert_eq!(followed.leader, first.id, "v{version}");
    let (one, other) = (first.id.clone(), second.id.clone());
    let assignments: [(_, &'static [u8]); 2] = [(&one, b"one"), (&other, b"other")];
    let (of_first, of_second) = tokio::join!(first.sync(&assignments), second.sync(&[]));
    assert_eq!((of_first.error_code, of_second.error_code), (NONE, NONE), "v{version}");
    assert_eq!((&of_first.assignment[..], &of_second.assignment[..]), (&b"one"[..], &b"other"[..]));
    let its_name = (version >= 5).then_some("range");
    assert_eq!(of_second.protocol_name.as_deref(), its_name, "v{version}");

    assert_eq!((first.heartbeat().await, second.heartbeat().await), (NONE, NONE), "v{version}");
    second.generation = 1;
    assert_eq!(second.heartbeat().await, ILLEGAL_GENERATION, "v{version}");
    assert_eq!(second.leave().await, NONE, "v{version}");
    assert_eq!(second.leave().await, UNKNOWN_MEMBER_ID, "v{version}");
    first.hears_of_a_rebalance().await;
    assert_eq!(first.leave().await, NONE, "v{version}");
    assert_eq!(first.heartbeat().await, UNKNOWN_MEMBER_ID, "v{version}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_member_that_comes_again_takes_the_place_of_its_former_self() {
    let broker = TestBroker::start().await;
    for version in 5..=9 {
        let group = format!("static{version}");
        let mut before = Member::new(broker.address, &group, version).await;
        before.instance = Some(text("instance"));
        before.join().await;
        assert_eq!(before.joined().await.generation_id, 1, "v{version}");
        let id = before.id.clone();
        assert_eq!(before.sync(&[(&id, b"all")]).await.error_code, NONE);

        let mut after = Member::new(broker.address, &group, version).await;
        after.instance = Some(text("instance"));
        after.join().await;
        let answer = after.joined().await;
        assert_ne!(answer.member_id, id, "v{version}");
        assert_eq!(answer.generation_id, 1, "no rebalance: v{version}");
        assert_eq!(after.sync(&[]).await.assignment, &b"all"[..], "v{version}");
        let heartbeat = HeartbeatRequest::default()
            .with_group_id(before.group.clone())
            .with_member_id(id)
            .with_generation_id(1)
            .with_group_instance_id(before.instance.clone());
        let answer: HeartbeatResponse =
            crate::calls::call(&mut before.peer, HEARTBEAT, 4, &heartbeat).await;
        assert_eq!(answer.error_code, FENCED_INSTANCE_ID, "v{version}");
    }
    broker.stop().await;
}

async fn join(session: &mut Session, version: i16, asked: &JoinGroupRequest) -> JoinGroupResponse {
    session.call(JOIN_GROUP, version, asked).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_cannot_be_is_refused_with_kafkas_code_in_every_version() {
    let mut session = Session::start().await;
    for version in 0..=9 {
        let good = join_request("refused", version);
        let refusals = [
            (good.clone().with_group_id(text("").into()), INVALID_GROUP_ID),
            (good.clone().with_session_timeout_ms(5_999), INVALID_SESSION_TIMEOUT),
            (good.clone().with_session_timeout_ms(i32::MAX), INVALID_SESSION_TIMEOUT),
            (good.clone().with_session_timeout_ms(-1), INVALID_SESSION_TIMEOUT),
            (good.clone().with_member_id(text("nobody")), UNKNOWN_MEMBER_ID),
            (good.clone().with_protocols(Vec::new()), INCONSISTENT_GROUP_PROTOCOL),
            (good.with_protocol_type(text("")), INCONSISTENT_GROUP_PROTOCOL),
        ];
        for (asked, error) in refusals {
            let answer = join(&mut session, version, &asked).await;
            assert_eq!(answer.error_code, error, "v{version} {asked:?}");
            assert_eq!(answer.generation_id, -1, "v{version}");
            // Null came into the protocol with version 7.
            let protocol = (version < 7).then_some("");
            assert_eq!(answer.protocol_name.as_deref(), protocol, "v{version} {asked:?}");
            assert!(answer.members.is_empty());
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_members_that_are_not_there_are_named_as_such() {
    let mut session = Session::start().await;
    for group in ["", "nobodys"] {
        let error = if group.is_empty() { INVALID_GROUP_ID } else { UNKNOWN_MEMBER_ID };
        let group = || text(group).into();
        for version in 0..=4 {
            let asked =
                HeartbeatRequest::default().with_group_id(group()).with_member_id(text("m"));
            let answer: HeartbeatResponse = session.call(HEARTBEAT, version, &asked).await;
            assert_eq!(answer.error_code, error, "v{version}");
        }
        for version in 0..=5 {
            let mut asked =
                SyncGroupRequest::default().with_group_id(group()).with_member_id(text("m"));
            if version >= 5 {
                asked.protocol_type = Some(text("consumer"));
                asked.protocol_name = Some(text("range"));
            }
            let answer: SyncGroupResponse = session.call(SYNC_GROUP, version, &asked).await;
            assert_eq!(answer.error_code, error, "v{version}");
        }
        for version in 0..=2 {
            let asked =
                LeaveGroupRequest::default().with_group_id(group()).with_member_id(text("m"));
            let answer: LeaveGroupResponse = session.call(LEAVE_GROUP, version, &asked).await;
            assert_eq!(answer.error_code, error, "v{version}");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_of_version_5_names_its_protocol() {
    let mut session = Session::start().await;
    let neither = SyncGroupRequest::default().with_group_id(text("g").into());
    let only_type = neither.clone().with_protocol_type(Some(text("consumer")));
    let only_name = neither.clone().with_protocol_name(Some(text("range")));
    // The missing protocol counts before the missing group.
    let no_group = neither.clone().with_group_id(text("").into());
    for asked in [neither, only_type, only_name, no_group] {
        let answer: SyncGroupResponse = session.call(SYNC_GROUP, 5, &asked).await;
        assert_eq!(answer.error_code, INCONSISTENT_GROUP_PROTOCOL, "{asked:?}");
    }
    session.broker.stop().await;
}
