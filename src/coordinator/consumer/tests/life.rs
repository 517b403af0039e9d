//! Time-outs, and what survives a restart.

use super::*;

#[test]
fn a_member_that_is_not_heard_of_is_removed() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    bench.stepper.advance_ms(SESSION_MS - 1);
    bench.beat(&mut b);
    let mark = bench.mark();
    bench.stepper.advance_ms(1);
    assert_eq!(bench.written(mark), ["-current a", "-target a", "-member a", "group 4"]);
    bench.beat(&mut b);
    assert_eq!((b.epoch, b.owned.len()), (4, 2));
    assert_eq!(bench.error(a.delta()), Some(ResponseError::UnknownMemberId), "it must join again");
}

#[test]
fn a_member_that_does_not_let_go_in_time_is_removed() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.send(a.delta());
    for _ in 0..5 {
        bench.stepper.advance_ms(10_000);
        bench.send(a.delta());
        bench.beat(&mut b);
    }
    bench.stepper.advance_ms(9_999);
    assert!(bench.is_member("a"));
    bench.stepper.advance_ms(1);
    assert!(!bench.is_member("a"));
    bench.beat(&mut b);
    assert_eq!(b.owned.len(), 2);
}

#[test]
fn a_member_that_has_let_go_is_not_removed() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    for _ in 0..10 {
        bench.stepper.advance_ms(10_000);
        bench.beat(&mut a);
        bench.beat(&mut b);
    }
    assert!(bench.is_member("a") && bench.is_member("b"));
}

#[test]
fn a_group_goes_on_after_a_restart() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 4);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.stepper.restart();
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!((a.partitions(), b.partitions()), (vec![0, 1], vec![2, 3]));
    assert_eq!((a.epoch, b.epoch), (3, 3));
    let mark = bench.mark();
    bench.stepper.restart();
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!(bench.mark(), mark, "what it finds is what it wrote");
}

#[test]
fn after_a_restart_members_have_their_time_again() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.send(a.delta());
    bench.stepper.advance_ms(40_000);
    bench.stepper.restart();
    bench.stepper.advance_ms(40_000);
    bench.send(a.delta());
    bench.send(b.delta());
    assert!(bench.is_member("a") && bench.is_member("b"), "session");
    bench.stepper.advance_ms(20_000);
    assert!(!bench.is_member("a"), "it had to let go, a minute ago");
    assert!(bench.is_member("b"));
}

#[test]
fn a_group_that_kafka_was_downgraded_from_has_its_members_join_again() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let written = bench.written_since(0);
    let GroupRecord::CurrentAssignment { group, member, value: Some(mut value) } =
        written[4].clone()
    else {
        panic!("{written:?}");
    };
    value.state = 42;
    bench.stepper.log.push(Groups::encode(&GroupRecord::CurrentAssignment {
        group,
        member,
        value: Some(value),
    }));
    bench.stepper.restart();
    assert_eq!(bench.error(a.owning()), Some(ResponseError::FencedMemberEpoch));
    bench.join(&mut a);
    assert_eq!((a.epoch, a.partitions()), (2, vec![0]));
}

#[test]
fn the_record_of_an_older_kafka_is_ended_with_the_next_change() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let group = crate::coordinator::GroupId::new(GROUP);
    let old = GroupRecord::ConsumerGroupPartitions { group, is_tombstone: false };
    Groups::apply(&mut bench.stepper.hard, &crate::coordinator::machine::Entry::Record(old));
    let mark = bench.mark();
    bench.join(&mut Consumer::new("b", &["t"]));
    assert_eq!(bench.written(mark)[..3], ["member b", "group 3", "-partitions"]);
    let mark = bench.mark();
    bench.join(&mut Consumer::new("c", &["t"]));
    assert!(!bench.written(mark).contains(&"-partitions".to_owned()));
}
