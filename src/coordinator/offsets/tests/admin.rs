//! OffsetDelete, DeleteGroups, DescribeGroups, ConsumerGroupDescribe and ListGroups.

use super::*;

#[test]
fn offsets_are_deleted_but_for_topics_that_a_member_subscribes_to() {
    let mut stepper = stepper();
    stepper.topic("t", 2);
    stepper.topic("u", 2);
    assert_eq!(delete(&mut stepper, "g", "t", &[0]), (69, vec![]));
    let member = Member::join(&mut stepper, "g", &["t"]);
    for topic in ["t", "u"] {
        let request = member.request(&stepper, 1, topic, 5);
        assert_eq!(commit(&mut stepper, 9, request), [0]);
    }
    assert_eq!(delete(&mut stepper, "g", "t", &[0, 1]), (0, vec![86, 86]));
    // The second has none: deleted all the same.
    assert_eq!(delete(&mut stepper, "g", "u", &[0, 1]), (0, vec![0, 0]));
    assert_eq!(offset(&mut stepper, "g", "t", 0), 5);
    assert_eq!(offset(&mut stepper, "g", "u", 0), -1);
    member.leave(&mut stepper);
    assert_eq!(delete(&mut stepper, "g", "t", &[0]), (0, vec![0]));
    stepper.restart();
    assert_eq!(fetch_all(&mut stepper, "g"), []);
}

#[test]
fn a_group_is_deleted_with_its_offsets_once_it_is_empty() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    let request = member.request(&stepper, 1, "t", 5);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    commit_simple(&mut stepper, "simple", "t", 0, 5);
    assert_eq!(delete_group(&mut stepper, "g"), 68);
    assert_eq!(offset(&mut stepper, "g", "t", 0), 5);
    member.leave(&mut stepper);
    for group in ["g", "simple"] {
        assert_eq!(delete_group(&mut stepper, group), 0);
        assert_eq!(delete_group(&mut stepper, group), 69);
    }
    assert_eq!(stepper.log.compacted().len(), 0);
    stepper.restart();
    assert_eq!(list(&mut stepper, &[], &[]), []);
}

fn commit_many(stepper: &mut Stepper, group: &str, topic: &str, partitions: i32) {
    let request =
        simple(stepper, group, topic, (0..partitions).map(|index| at(index, 5)).collect());
    assert!(commit(stepper, 9, request).iter().all(|code| *code == 0));
}

/// Records that each turn has written while time passes until nothing happens any more.
fn turns(stepper: &mut Stepper) -> Vec<usize> {
    let mut turns = Vec::new();
    loop {
        let before = stepper.log.len();
        stepper.advance_ms(1);
        match stepper.log.len() - before {
            0 => return turns,
            written => turns.push(written),
        }
    }
}

#[test]
fn a_large_group_is_deleted_in_several_turns_and_answered_after_the_last() {
    let mut stepper = stepper();
    stepper.topic("t", 2_500);
    commit_many(&mut stepper, "g", "t", 2_500);
    let before = stepper.log.len();
    let token = stepper.send(GroupCommand::DeleteGroup("g".into()));
    assert_eq!(stepper.log.len() - before, 1_000);
    assert!(stepper.take(token).is_none(), "it is not deleted yet");
    commit_simple(&mut stepper, "other", "t", 0, 5);
    assert_eq!(turns(&mut stepper), [1_000, 500]);
    let Some(GroupReply::DeleteGroup(deleted)) = stepper.take(token) else {
        panic!("no answer");
    };
    assert_eq!(deleted.error_code, 0);
    assert_eq!(delete_group(&mut stepper, "g"), 69);
    stepper.restart();
    assert_eq!(fetch_all(&mut stepper, "g"), []);
    assert_eq!(offset(&mut stepper, "other", "t", 0), 5);
}

#[test]
fn a_member_that_joins_a_large_group_in_between_keeps_it() {
    let mut stepper = stepper();
    stepper.topic("t", 2_500);
    commit_many(&mut stepper, "g", "t", 2_500);
    let token = stepper.send(GroupCommand::DeleteGroup("g".into()));
    Member::join(&mut stepper, "g", &["t"]);
    turns(&mut stepper);
    let Some(GroupReply::DeleteGroup(deleted)) = stepper.take(token) else {
        panic!("no answer");
    };
    assert_eq!(deleted.error_code, 68);
    assert_eq!(fetch_all(&mut stepper, "g").len(), 1_500);
}

#[test]
fn offsets_of_a_deleted_topic_go_in_several_turns() {
    let mut stepper = stepper();
    stepper.topic("t", 900);
    stepper.topic("kept", 1);
    for group in ["a", "b", "c"] {
        commit_many(&mut stepper, group, "t", 900);
        commit_simple(&mut stepper, group, "kept", 0, 5);
    }
    let before = stepper.log.len();
    stepper.delete_topic("t");
    assert_eq!(stepper.log.len() - before, 1_000);
    // Another one takes the name in between: what is left belongs to the old one all the same.
    stepper.topic("t", 900);
    commit_simple(&mut stepper, "a", "t", 0, 9);
    assert_eq!(turns(&mut stepper).len(), 1);
    let left = |stepper: &mut Stepper, group| fetch_all(stepper, group).len();
    assert_eq!(["a", "b", "c"].map(|group| left(&mut stepper, group)), [2, 1, 1]);
    assert_eq!(offset(&mut stepper, "a", "t", 0), 9);
}

fn describe(
    stepper: &mut Stepper,
    version: i16,
    group: &str,
) -> kafka_protocol::messages::describe_groups_response::DescribedGroup {
    let command = GroupCommand::DescribeClassic { version, group: group.into() };
    let GroupReply::DescribeClassic(described) = stepper.ask(command) else {
        panic!("another reply")
    };
    described
}

#[test]
fn a_group_that_does_not_exist_is_dead_or_not_found_as_the_version_says() {
    let mut stepper = stepper();
    let old = describe(&mut stepper, 5, "g");
    assert_eq!((old.error_code, &*old.group_state, old.error_message), (0, "Dead", None));
    let new = describe(&mut stepper, 6, "g");
    assert_eq!((new.error_code, &*new.group_state), (69, "Dead"));
    assert_eq!(new.error_message.as_deref(), Some("Group g not found."));
}

#[test]
fn each_kind_of_group_is_described_by_its_own_api() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    Member::join(&mut stepper, "classic", &["t"]);
    commit_simple(&mut stepper, "simple", "t", 0, 1);
    join_new(&mut stepper, "new");

    let classic = describe(&mut stepper, 5, "classic");
    assert_eq!((&*classic.group_state, classic.members.len()), ("Stable", 1));
    let simple = describe(&mut stepper, 6, "simple");
    assert_eq!((simple.error_code, &*simple.group_state), (0, "Empty"));
    assert_eq!((&*simple.protocol_type, simple.members.len()), ("", 0));
    let other = describe(&mut stepper, 6, "new");
    assert_eq!((other.error_code, &*other.group_state), (69, "Dead"));
    assert_eq!(other.error_message.as_deref(), Some("Group new is not a classic group."));
    assert_eq!(describe(&mut stepper, 5, "new").error_code, 0);

    let mut describe_new = |group: &str| {
        let command = GroupCommand::DescribeConsumer(group.into());
        let GroupReply::DescribeConsumer(described) = stepper.ask(command) else {
            panic!("another reply")
        };
        (described.error_code, described.error_message.map(|message| message.to_string()))
    };
    assert_eq!(describe_new("new").0, 0);
    for (group, message) in [
        ("classic", "Group classic is not a consumer group."),
        ("simple", "Group simple is not a consumer group."),
        ("nobody", "Group nobody not found."),
    ] {
        assert_eq!(describe_new(group), (69, Some(message.to_owned())));
    }
}

/// A member of the new protocol.
fn join_new(stepper: &mut Stepper, group: &str) {
    let request = kafka_protocol::messages::ConsumerGroupHeartbeatRequest::default()
        .with_group_id(text(group).into())
        .with_member_id(text("m"))
        .with_member_epoch(0)
        .with_rebalance_timeout_ms(60_000)
        .with_subscribed_topic_names(Some(vec![text("t").into()]))
        .with_topic_partitions(Some(Vec::new()));
    let reply = stepper.ask(GroupCommand::ConsumerHeartbeat(call(1, request)));
    let GroupReply::ConsumerHeartbeat(joined) = reply else { panic!("{reply:?}") };
    assert_eq!(joined.error_code, 0, "{:?}", joined.error_message);
}

#[test]
fn groups_are_listed_by_state_and_type_in_any_case() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "left", &["t"]);
    member.leave(&mut stepper);
    Member::join(&mut stepper, "stable", &["t"]);
    commit_simple(&mut stepper, "simple", "t", 0, 1);
    commit_simple(&mut stepper, "left", "t", 0, 1);
    join_new(&mut stepper, "new");

    let names = |groups: Vec<(String, String, String)>| {
        groups.into_iter().map(|(name, _, _)| name).collect::<Vec<_>>()
    };
    let all = list(&mut stepper, &[], &[]);
    let expected = [
        ("left", "Empty", "classic"),
        ("new", "Stable", "consumer"),
        ("simple", "Empty", "classic"),
        ("stable", "Stable", "classic"),
    ];
    assert_eq!(all, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    assert_eq!(names(list(&mut stepper, &["empty"], &[])), ["left", "simple"]);
    assert_eq!(names(list(&mut stepper, &["stable", "nonsense"], &["CLASSIC"])), ["stable"]);
    assert_eq!(names(list(&mut stepper, &[], &["consumer"])), ["new"]);
    assert_eq!(names(list(&mut stepper, &["nonsense"], &[])), [] as [&str; 0]);
}

#[test]
fn the_overview_has_every_group_with_members_and_offsets() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    let request = member.request(&stepper, 1, "t", 5);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    let reply = stepper.ask(GroupCommand::Overview);
    let GroupReply::Overview(groups) = reply else { panic!("{reply:?}") };
    assert_eq!(groups.len(), 1);
    let group = &groups[0];
    assert_eq!((group.state, group.group_type, group.members), ("Stable", "classic", 1));
    assert_eq!(group.offsets.len(), 1);
    assert_eq!(group.offsets[0].1.get(), 5);
}
