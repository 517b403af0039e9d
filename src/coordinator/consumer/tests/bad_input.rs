//! What is not allowed is refused with Kafka's code, and leaves nothing behind.

use kafka_protocol::ResponseError as E;

use super::*;

#[test]
fn fields_that_must_be_set_are_asked_for() {
    let join = Consumer::new("a", &["t"]).full();
    let beat = Consumer { epoch: 1, ..Consumer::new("a", &["t"]) }.delta();
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    for request in [
        join.clone().with_group_id(text("").into()),
        join.clone().with_group_id(text("  ").into()),
        join.clone().with_member_id(text("")),
        join.clone().with_instance_id(Some(text(""))),
        join.clone().with_rack_id(Some(text(""))),
        join.clone().with_rebalance_timeout_ms(-1),
        join.clone().with_topic_partitions(None),
        join.clone().with_topic_partitions(Some(vec![TopicPartitions::default()])),
        join.clone().with_subscribed_topic_names(None),
        join.clone().with_member_epoch(-3),
        join.clone().with_member_epoch(i32::MIN),
        join.clone().with_member_epoch(-2),
        beat.with_member_id(text("")),
    ] {
        assert_eq!(bench.error(request.clone()), Some(E::InvalidRequest), "{request:?}");
    }
    let unknown = join.with_server_assignor(Some(text("sticky")));
    assert_eq!(bench.error(unknown), Some(E::UnsupportedAssignor));
    assert_eq!(bench.mark(), 0, "nothing was written");
    assert!(!bench.has_group());
}

#[test]
fn groups_and_members_that_do_not_exist_are_not_found() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let nobody = |epoch| Consumer { epoch, ..Consumer::new("x", &["t"]) };
    for epoch in [1, -1] {
        assert_eq!(bench.error(nobody(epoch).delta()), Some(E::GroupIdNotFound), "{epoch}");
    }
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    for epoch in [1, -1] {
        assert_eq!(bench.error(nobody(epoch).delta()), Some(E::UnknownMemberId), "{epoch}");
    }
    let somebody = Consumer { instance: Some("i"), ..nobody(1) };
    assert_eq!(bench.error(somebody.delta()), Some(E::UnknownMemberId));
    assert_eq!(bench.mark(), mark);
}

#[test]
fn patterns_that_are_none_are_refused() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let invalid = Some(E::InvalidRegularExpression);
    assert_eq!(bench.error(Consumer::matching("a", "[").full()), invalid);
    assert!(!bench.has_group());
    let mut a = Consumer::matching("a", "t");
    bench.join(&mut a);
    let mark = bench.mark();
    a.pattern = Some("(");
    assert_eq!(bench.error(a.full()), invalid);
    assert_eq!(bench.mark(), mark);
}

#[test]
fn names_that_no_topic_can_have_are_ignored() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t", "", ".", "a/b", "\u{0}"]);
    bench.join(&mut a);
    assert_eq!(a.partitions(), [0]);
    bench.stepper.restart();
    bench.beat(&mut a);
}

#[test]
fn partitions_that_do_not_exist_are_not_owned() {
    let mut bench = Bench::new();
    let t = bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.beat(&mut a);
    a.owned = [(t, -1), (t, i32::MAX), (TopicId::ZERO, 0)].into_iter().collect();
    bench.beat(&mut a);
    assert_eq!(a.epoch, 3, "it has let go of what it had to");
}

#[test]
fn the_largest_epoch_is_not_outrun() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let group = crate::coordinator::GroupId::new(GROUP);
    let value =
        Some(crate::coordinator::records::ConsumerGroupValue { epoch: i32::MAX, metadata_hash: 0 });
    Groups::apply(
        &mut bench.stepper.hard,
        &crate::coordinator::machine::Entry::Record(GroupRecord::ConsumerGroup { group, value }),
    );
    bench.join(&mut Consumer::new("b", &["t"]));
    assert_eq!(bench.group().epoch, i32::MAX);
}
