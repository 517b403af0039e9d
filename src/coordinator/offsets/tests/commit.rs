//! OffsetCommit and OffsetFetch.

use super::*;
use crate::coordinator::records::{self, GroupRecord};
use crate::types::{PartitionIndex, Timestamp};

#[test]
fn what_was_committed_is_read_back_with_all_that_belongs_to_it() {
    let mut stepper = stepper();
    stepper.topic("t", 3);
    let partition =
        at(2, 1 << 40).with_committed_leader_epoch(7).with_committed_metadata(Some(text("mine")));
    let request = simple(&stepper, "g", "t", vec![partition]);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    for _ in 0..2 {
        let read = fetch(&mut stepper, "g", "t", 2);
        assert_eq!((read.committed_offset, read.committed_leader_epoch), (1 << 40, 7));
        assert_eq!(read.metadata.as_deref(), Some("mine"));
        stepper.restart();
    }
}

#[test]
fn what_does_not_exist_is_no_error() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    for (group, topic, partition) in
        [("nobody", "t", 0), ("g", "nothing", 0), ("g", "t", 1), ("g", "t", -1)]
    {
        let read = fetch(&mut stepper, group, topic, partition);
        assert_eq!((read.error_code, read.committed_offset), (0, -1));
        assert_eq!((read.committed_leader_epoch, read.metadata.as_deref()), (-1, Some("")));
    }
    assert_eq!(fetch_all(&mut stepper, "nobody"), []);
}

#[test]
fn null_topics_ask_for_all_in_order() {
    let mut stepper = stepper();
    stepper.topic("b", 2);
    stepper.topic("a", 2);
    for (topic, partition) in [("b", 1), ("a", 1), ("b", 0)] {
        commit_simple(&mut stepper, "g", topic, partition, 5);
    }
    commit_simple(&mut stepper, "other", "a", 0, 5);
    let own = [("a", 1, 5), ("b", 0, 5), ("b", 1, 5)].map(|(t, p, o)| (t.to_owned(), p, o));
    assert_eq!(fetch_all(&mut stepper, "g"), own);
}

#[test]
fn metadata_over_the_limit_fails_its_partition_only() {
    let mut stepper =
        Stepper::new(GroupSettings { offset_metadata_max_bytes: 4, ..GroupSettings::default() });
    stepper.topic("t", 3);
    let with =
        |partition, metadata: &str| at(partition, 1).with_committed_metadata(Some(text(metadata)));
    // Java counts UTF-16 units: the second is four of them in twelve bytes.
    let partitions =
        vec![with(0, "12345"), with(1, "\u{20ac}\u{20ac}\u{20ac}\u{20ac}"), with(2, "")];
    let request = simple(&stepper, "g", "t", partitions);
    assert_eq!(commit(&mut stepper, 9, request), [12, 0, 0]);
    assert_eq!(offset(&mut stepper, "g", "t", 0), -1);
    assert_eq!(offset(&mut stepper, "g", "t", 1), 1);
}

#[test]
fn a_generation_of_a_group_that_does_not_exist_is_refused_as_the_version_can_say() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    for (version, code) in [(2, 22), (8, 22), (9, 69)] {
        let request = simple(&stepper, "g", "t", vec![at(0, 1)]);
        let request = request.with_generation_id_or_member_epoch(0).with_member_id(text("m"));
        assert_eq!(commit(&mut stepper, version, request), [code]);
    }
    assert_eq!((stepper.log.len(), list(&mut stepper, &[], &[])), (0, Vec::new()));
}

#[test]
fn a_group_of_nothing_but_offsets_has_no_members() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    let request = simple(&stepper, "g", "t", vec![at(0, 2)]).with_member_id(text("m"));
    let as_member = request.clone().with_generation_id_or_member_epoch(0);
    assert_eq!(commit(&mut stepper, 9, as_member), [25]);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
}

#[test]
fn members_commit_in_their_generation_and_nobody_else_does() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let member = Member::join(&mut stepper, "g", &["t"]);
    let request = member.request(&stepper, 1, "t", 10);
    assert_eq!(commit(&mut stepper, 9, request), [0]);
    let stale = member.request(&stepper, 0, "t", 11);
    assert_eq!(commit(&mut stepper, 9, stale), [22]);
    let stranger = member.request(&stepper, 1, "t", 12).with_member_id(text("stranger"));
    assert_eq!(commit(&mut stepper, 9, stranger), [25]);
    let nobody = simple(&stepper, "g", "t", vec![at(0, 13)]);
    assert_eq!(commit(&mut stepper, 9, nobody.clone()), [25]);
    assert_eq!(offset(&mut stepper, "g", "t", 0), 10);

    member.leave(&mut stepper);
    assert_eq!(commit(&mut stepper, 9, nobody), [0]);
    assert_eq!(offset(&mut stepper, "g", "t", 0), 13);
}

#[test]
fn a_retention_of_the_request_is_written_as_the_time_of_expiry() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    let request = simple(&stepper, "g", "t", vec![at(0, 1)]).with_retention_time_ms(5_000);
    assert_eq!(commit(&mut stepper, 4, request), [0]);
    let log = stepper.log.records();
    let written = log.last().expect("a record");
    let record = records::decode(&written.key, written.value.as_deref());
    let Ok(Some(GroupRecord::OffsetCommit { value: Some(value), .. })) = record else {
        panic!("{record:?}")
    };
    let expires = Timestamp::new(stepper.now.wall.get() + 5_000);
    assert_eq!(value.expire_timestamp, Some(expires));
    assert_eq!(value.commit_timestamp, stepper.now.wall);
    let held = |stepper: &Stepper| {
        let held = stepper.hard.offsets.get("g", "t", PartitionIndex::new(0)).expect("an offset");
        (held.topic_id, held.expire_timestamp)
    };
    let live = held(&stepper);
    stepper.restart();
    assert_eq!(held(&stepper), live);
}

#[test]
fn an_offset_of_a_topic_of_the_same_name_is_not_shown_for_another_id() {
    let mut stepper = stepper();
    let id = stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 5);
    let ask = |stepper: &mut Stepper, id: [u8; 16]| {
        let asked = OffsetFetchRequestTopics::default()
            .with_name(text("t").into())
            .with_topic_id(uuid::Uuid::from_bytes(id))
            .with_partition_indexes(vec![0]);
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(text("g").into())
            .with_member_epoch(-1)
            .with_topics(Some(vec![asked]));
        fetch_with(stepper, 10, group, false).topics[0].partitions[0].committed_offset
    };
    assert_eq!(ask(&mut stepper, id.to_bytes()), 5);
    assert_eq!(ask(&mut stepper, [9; 16]), -1);
}

#[test]
fn offsets_of_a_deleted_topic_go_with_it_also_when_nobody_was_there() {
    let mut stepper = stepper();
    stepper.topic("kept", 1);
    stepper.topic("gone", 2);
    for group in ["g", "h"] {
        commit_simple(&mut stepper, group, "kept", 0, 1);
        commit_simple(&mut stepper, group, "gone", 1, 2);
    }
    stepper.delete_topic("gone");
    assert_eq!(fetch_all(&mut stepper, "g"), [("kept".to_owned(), 0, 1)]);
    stepper.topic("gone", 2);
    assert_eq!(offset(&mut stepper, "h", "gone", 1), -1);
    assert_eq!(stepper.log.compacted().len(), 2);

    // The process ends between the deletion of a topic and the end of its offsets; another topic takes the name.
    commit_simple(&mut stepper, "g", "gone", 1, 7);
    let log = stepper.log.records();
    stepper.delete_topic("gone");
    stepper.topic("gone", 2);
    stepper.restart_with(log);
    assert_eq!(offset(&mut stepper, "g", "gone", 1), -1);
    assert_eq!(stepper.log.compacted().len(), 2);
}

#[test]
fn nothing_is_written_when_no_topic_was_deleted() {
    let mut stepper = stepper();
    stepper.topic("t", 1);
    commit_simple(&mut stepper, "g", "t", 0, 1);
    let written = stepper.log.len();
    stepper.topic("u", 1);
    stepper.topic("t", 2);
    assert_eq!(stepper.log.len(), written);
}
