//! Topics come, grow and go.

use super::*;

#[test]
fn a_topic_that_grows_is_assigned_with_the_next_heartbeat() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    bench.stepper.topic("t", 3);
    let mark = bench.mark();
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.partitions()), (3, vec![0, 1, 2]));
    assert_eq!(bench.written(mark), ["group 3", "target a", "targets 3", "current a 3"]);
}

#[test]
fn a_topic_that_is_created_after_the_members_have_come_is_assigned() {
    let mut bench = Bench::new();
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    assert_eq!((a.epoch, a.partitions()), (2, vec![]));
    bench.stepper.topic("t", 2);
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.partitions()), (3, vec![0, 1]));
}

#[test]
fn a_topic_that_is_deleted_is_taken_away() {
    let mut bench = Bench::new();
    let t = bench.stepper.topic("t", 1);
    bench.stepper.topic("u", 1);
    let mut a = Consumer::new("a", &["t", "u"]);
    bench.join(&mut a);
    bench.stepper.delete_topic("u");
    bench.settle(&mut [&mut a]);
    assert_eq!((a.epoch, a.owned.clone()), (3, [(t, 0)].into_iter().collect()));
    // Under the same name, another topic.
    let u = bench.stepper.topic("u", 1);
    bench.settle(&mut [&mut a]);
    assert_eq!((a.epoch, a.owned.clone()), (4, [(t, 0), (u, 0)].into_iter().collect()));
}

#[test]
fn topics_that_nobody_subscribes_to_do_not_matter() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    bench.stepper.topic("other", 1);
    bench.stepper.topic("other", 2);
    bench.stepper.delete_topic("other");
    bench.beat(&mut a);
    assert_eq!(bench.mark(), mark);
}

#[test]
fn what_changed_while_the_broker_was_down_is_found() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    bench.stepper.topic("t", 2);
    bench.stepper.restart();
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.partitions()), (3, vec![0, 1]));
}

#[test]
fn a_group_that_subscribes_to_nothing_has_the_epoch_that_it_began_with() {
    let mut bench = Bench::new();
    let mut a = Consumer::new("a", &[]);
    bench.join(&mut a);
    assert_eq!((a.epoch, a.partitions()), (1, vec![]));
    bench.stepper.restart();
    bench.beat(&mut a);
    assert_eq!(a.epoch, 1);
}
