//! DescribeGroups (15), ListGroups (16), DeleteGroups (42): every version.

use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    ListGroupsRequest, ListGroupsResponse,
};

use crate::calls::Session;
use crate::consumer::Consumer;
use crate::group_offsets::commit_one;
use crate::member::{Member, text};

const DESCRIBE_GROUPS: i16 = 15;
const LIST_GROUPS: i16 = 16;
const DELETE_GROUPS: i16 = 42;

const NONE: i16 = 0;
const NON_EMPTY_GROUP: i16 = 68;
const GROUP_ID_NOT_FOUND: i16 = 69;

/// Not asked for.
const NO_OPERATIONS: i32 = i32::MIN;
/// What Kafka 4.4.0 tells without an authorizer.
const ALL_OPERATIONS: i32 = 3400;

async fn describe(
    session: &mut Session,
    version: i16,
    groups: &[&str],
    operations: bool,
) -> Vec<DescribedGroup> {
    let mut asked = DescribeGroupsRequest::default()
        .with_groups(groups.iter().map(|group| text(group).into()).collect());
    if version >= 3 {
        asked.include_authorized_operations = operations;
    }
    let answer: DescribeGroupsResponse = session.call(DESCRIBE_GROUPS, version, &asked).await;
    let named: Vec<_> = answer.groups.iter().map(|group| group.group_id.as_str()).collect();
    assert_eq!(named, groups, "in the order of the request");
    answer.groups
}

/// A group `stable` with a member, a group `empty` with an offset.
async fn two_groups() -> (Session, Member) {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    commit_one(&mut session, "empty", "t").await;
    let mut member = Member::new(session.broker.address, "stable", 9).await;
    member.instance = Some(text("instance"));
    member.join().await;
    member.joined().await;
    let id = member.id.clone();
    assert_eq!(member.sync(&[(&id, b"all")]).await.error_code, NONE);
    (session, member)
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_described_in_every_version() {
    let (mut session, member) = two_groups().await;
    for version in 0..=6 {
        let asked = ["empty", "nobodys", "stable", ""];
        let groups = describe(&mut session, version, &asked, true).await;
        let operations = if version >= 3 { ALL_OPERATIONS } else { NO_OPERATIONS };
        let [empty, nobodys, stable, nameless] = &groups[..] else { panic!("{groups:?}") };
        assert_eq!((empty.error_code, empty.group_state.as_str()), (NONE, "Empty"), "v{version}");
        assert_eq!((empty.protocol_type.as_str(), empty.members.len()), ("", 0), "v{version}");
        assert_eq!(empty.authorized_operations, operations, "v{version}");
        for dead in [nobodys, nameless] {
            let error = if version >= 6 { GROUP_ID_NOT_FOUND } else { NONE };
            assert_eq!((dead.error_code, dead.group_state.as_str()), (error, "Dead"), "v{version}");
            assert_eq!(dead.error_message.is_some(), version >= 6, "v{version}");
        }
        assert_eq!(stable.group_state.as_str(), "Stable", "v{version}");
        assert_eq!(stable.protocol_type.as_str(), "consumer", "v{version}");
        assert_eq!(stable.protocol_data.as_str(), "range", "v{version}");
        assert_eq!(stable.authorized_operations, operations, "v{version}");
        let told = &stable.members[0];
        assert_eq!((&told.member_id, told.client_id.as_str()), (&member.id, "test"), "v{version}");
        assert_eq!(told.client_host.as_str(), "/127.0.0.1", "v{version}");
        assert_eq!(told.member_metadata, &b"subs"[..], "v{version}");
        assert_eq!(told.member_assignment, &b"all"[..], "v{version}");
        let instance = (version >= 4).then_some("instance");
        assert_eq!(told.group_instance_id.as_deref(), instance, "v{version}");
    }
    let unasked = describe(&mut session, 6, &["stable"], false).await;
    assert_eq!(unasked[0].authorized_operations, NO_OPERATIONS);
    session.broker.stop().await;
}

async fn list(
    session: &mut Session,
    version: i16,
    states: &[&str],
    types: &[&str],
) -> Vec<ListedGroup> {
    let asked = ListGroupsRequest::default()
        .with_states_filter(states.iter().copied().map(text).collect())
        .with_types_filter(types.iter().copied().map(text).collect());
    let mut answer: ListGroupsResponse = session.call(LIST_GROUPS, version, &asked).await;
    assert_eq!(answer.error_code, NONE, "v{version}");
    answer.groups.sort_by(|a, b| a.group_id.cmp(&b.group_id));
    answer.groups
}

fn names(groups: &[ListedGroup]) -> Vec<&str> {
    groups.iter().map(|group| group.group_id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_listed_in_every_version() {
    let (mut session, _member) = two_groups().await;
    let mut consumer = Consumer::new(session.broker.address, "new", 1).await;
    consumer.join(&["t"]).await;
    for version in 0..=5 {
        let groups = list(&mut session, version, &[], &[]).await;
        assert_eq!(names(&groups), ["empty", "new", "stable"], "v{version}");
        let told = |group: &ListedGroup| {
            let strings = [&group.protocol_type, &group.group_state, &group.group_type];
            strings.map(ToString::to_string)
        };
        let state = |state: &'static str| if version >= 4 { state } else { "" };
        let kind = |kind: &'static str| if version >= 5 { kind } else { "" };
        assert_eq!(told(&groups[0]), ["", state("Empty"), kind("classic")], "v{version}");
        assert_eq!(told(&groups[1]), ["consumer", state("Stable"), kind("consumer")], "v{version}");
        assert_eq!(told(&groups[2]), ["consumer", state("Stable"), kind("classic")], "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_groups_are_filtered_by_state_and_type_without_regard_to_case() {
    let (mut session, _member) = two_groups().await;
    let mut consumer = Consumer::new(session.broker.address, "new", 1).await;
    consumer.join(&["t"]).await;
    type Filter = &'static [&'static str];
    let cases: [(Filter, Filter, Filter); 7] = [
        (&["Stable"], &[], &["new", "stable"]),
        (&["sTABLE", "Dead"], &[], &["new", "stable"]),
        (&["Empty"], &[], &["empty"]),
        (&["Stable"], &["Classic"], &["stable"]),
        (&[], &["CONSUMER"], &["new"]),
        (&["nonsense"], &[], &[]),
        (&[], &["nonsense"], &[]),
    ];
    for (states, types, expected) in cases {
        let groups = list(&mut session, 5, states, types).await;
        assert_eq!(names(&groups), expected, "{states:?} {types:?}");
    }
    let by_state = list(&mut session, 4, &["empty"], &[]).await;
    assert_eq!(names(&by_state), ["empty"]);
    session.broker.stop().await;
}

async fn delete(session: &mut Session, version: i16, groups: &[&str]) -> Vec<(String, i16)> {
    let asked = DeleteGroupsRequest::default()
        .with_groups_names(groups.iter().map(|group| text(group).into()).collect());
    let answer: DeleteGroupsResponse = session.call(DELETE_GROUPS, version, &asked).await;
    let results = answer.results.iter();
    results.map(|result| (result.group_id.to_string(), result.error_code)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_without_members_are_deleted_in_every_version() {
    let (mut session, _member) = two_groups().await;
    for version in 0..=2 {
        commit_one(&mut session, "empty", "t").await;
        let asked = ["stable", "empty", "nobodys", "empty", ""];
        let expected = [
            ("stable", NON_EMPTY_GROUP),
            ("empty", NONE),
            ("nobodys", GROUP_ID_NOT_FOUND),
            ("", GROUP_ID_NOT_FOUND),
        ];
        let expected = expected.map(|(group, error)| (group.to_owned(), error));
        assert_eq!(delete(&mut session, version, &asked).await, expected, "v{version}");
        let left = list(&mut session, 5, &[], &[]).await;
        assert_eq!(names(&left), ["stable"], "v{version}");
    }
    session.broker.stop().await;
}
