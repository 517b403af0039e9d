//! Members with an instance id (KIP-345).

use kafka_protocol::ResponseError as E;

use super::*;

fn leave_for_a_while(bench: &mut Bench, member: &Consumer) -> ConsumerGroupHeartbeatResponse {
    bench.send(Consumer { epoch: -2, ..member.clone() }.delta())
}

#[test]
fn a_static_member_comes_back_under_a_new_id_to_what_it_had() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 4);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    let mut b = Consumer::new("b", &["t"]);
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    let had = a.partitions();

    let mark = bench.mark();
    let response = leave_for_a_while(&mut bench, &a);
    assert_eq!((response.error_code, response.member_epoch), (0, -2));
    assert_eq!(bench.written(mark), ["current a -2"]);
    let mark = bench.mark();
    let mut a2 = Consumer::with_instance("a2", "i", &["t"]);
    bench.join(&mut a2);
    assert_eq!((a2.epoch, a2.partitions()), (3, had), "no new epoch of the group");
    assert_eq!(
        bench.written(mark),
        [
            "-current a",
            "-target a",
            "-member a",
            "member a2",
            "target a2",
            "current a2 0",
            "current a2 3"
        ]
    );
    bench.beat(&mut b);
    assert_eq!(b.epoch, 3);
    assert_eq!(bench.error(a.delta()), Some(E::FencedInstanceId), "the old one is fenced");
    let gone = Consumer { instance: None, ..a };
    assert_eq!(bench.error(gone.delta()), Some(E::UnknownMemberId));
}

#[test]
fn an_instance_that_has_not_left_is_not_replaced() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    for id in ["b", "a"] {
        let other = Consumer::with_instance(id, "i", &["t"]);
        assert_eq!(bench.error(other.full()), Some(E::UnreleasedInstanceId), "{id}");
    }
    let other = Consumer { epoch: 1, ..Consumer::with_instance("b", "i", &["t"]) };
    for epoch in [1, -1, -2] {
        let request = other.delta().with_member_epoch(epoch);
        assert_eq!(bench.error(request), Some(E::FencedInstanceId), "{epoch}");
    }
    assert_eq!(bench.mark(), mark);
}

#[test]
fn an_instance_that_does_not_come_back_in_time_is_removed() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    let mut b = Consumer::new("b", &["t"]);
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    leave_for_a_while(&mut bench, &a);
    bench.stepper.advance_ms(SESSION_MS - 1);
    bench.beat(&mut b);
    assert_eq!(b.owned.len(), 1, "its partitions wait for it");
    bench.stepper.advance_ms(1);
    bench.beat(&mut b);
    assert_eq!(b.owned.len(), 2);
}

#[test]
fn an_instance_that_leaves_for_good_is_gone() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    bench.join(&mut a);
    bench.send(Consumer { epoch: -1, ..a.clone() }.delta());
    assert!(!bench.is_member("a"));
    let mut b = Consumer::with_instance("b", "i", &["t"]);
    bench.join(&mut b);
    assert_eq!(b.partitions(), [0]);
}

#[test]
fn a_full_group_takes_an_instance_back() {
    let mut bench = Bench::with(GroupSettings { consumer_max_size: 1, ..settings() });
    bench.stepper.topic("t", 1);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    bench.join(&mut a);
    leave_for_a_while(&mut bench, &a);
    let mut b = Consumer::with_instance("b", "i", &["t"]);
    bench.join(&mut b);
    assert_eq!(b.partitions(), [0]);
}

#[test]
fn an_instance_that_comes_back_with_other_topics_begins_an_epoch() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let u = bench.stepper.topic("u", 1);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    bench.join(&mut a);
    leave_for_a_while(&mut bench, &a);
    let mut b = Consumer::with_instance("b", "i", &["u"]);
    bench.join(&mut b);
    assert_eq!(b.epoch, 3);
    assert_eq!(b.owned.into_iter().collect::<Vec<_>>(), [(u, 0)]);
}

#[test]
fn what_it_had_to_let_go_of_is_free_when_it_leaves_for_a_while() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    let mut b = Consumer::new("b", &["t"]);
    bench.join(&mut a);
    bench.join(&mut b);
    bench.send(a.delta());
    leave_for_a_while(&mut bench, &a);
    bench.beat(&mut b);
    assert_eq!(b.owned.len(), 1);
    // Not its rebalance time-out, its session ends it.
    bench.stepper.restart();
    bench.beat(&mut b);
    bench.stepper.advance_ms(SESSION_MS - 1);
    assert!(bench.is_member("a"));
}
