//! Members that subscribe to a pattern.

use super::*;

#[test]
fn a_pattern_is_matched_with_the_join() {
    let mut bench = Bench::new();
    let ab = bench.stepper.topic("ab", 1);
    bench.stepper.topic("b", 1);
    let mut a = Consumer::matching("a", "a.*");
    bench.join(&mut a);
    assert_eq!((a.epoch, a.owned.clone()), (2, [(ab, 0)].into_iter().collect()));
    assert_eq!(
        bench.written(0),
        ["member a", "regex a.*", "group 2", "target a", "targets 2", "current a 2"]
    );
    let GroupRecord::RegularExpression { value: Some(value), .. } = &bench.written_since(0)[1]
    else {
        panic!("no regex");
    };
    assert_eq!(value.topics.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ab"]);
    assert_eq!(value.timestamp, bench.stepper.now.wall);
}

#[test]
fn new_topics_are_matched_ten_seconds_after_the_last_time_at_the_earliest() {
    let mut bench = Bench::new();
    bench.stepper.topic("a1", 1);
    let mut a = Consumer::matching("a", "a.*");
    bench.join(&mut a);
    bench.stepper.image.end_offset = crate::types::Offset::new(7);
    bench.stepper.topic("a2", 1);
    bench.stepper.advance_ms(10_000);
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.owned.len()), (2, 1));
    bench.stepper.advance_ms(1);
    let mark = bench.mark();
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.owned.len()), (3, 2));
    assert_eq!(bench.written(mark)[..2], ["regex a.*", "group 3"]);
    let mark = bench.mark();
    bench.stepper.advance_ms(20_000);
    bench.beat(&mut a);
    assert_eq!(bench.mark(), mark, "nothing is new");
}

#[test]
fn patterns_are_matched_again_every_ten_minutes() {
    let mut bench = Bench::new();
    bench.stepper.topic("a1", 1);
    let mut a = Consumer::matching("a", "a.*");
    bench.join(&mut a);
    let mark = bench.mark();
    for _ in 0..31 {
        bench.stepper.advance_ms(20_000);
        bench.beat(&mut a);
    }
    assert_eq!(bench.written(mark), ["regex a.*"]);
    assert_eq!(a.epoch, 2);
}

#[test]
fn a_pattern_ends_with_the_last_member_that_has_it() {
    let mut bench = Bench::new();
    bench.stepper.topic("a1", 2);
    let (mut a, mut b) = (Consumer::matching("a", "a.*"), Consumer::matching("b", "a.*"));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!((a.owned.len(), b.owned.len()), (1, 1));
    let mark = bench.mark();
    a.pattern = Some("");
    a.topics = Some(vec![]);
    let response = bench.send(a.full());
    a.hear(&response);
    assert!(!bench.written(mark).contains(&"-regex a.*".to_owned()));
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!((a.owned.len(), b.owned.len()), (0, 2));
    let mark = bench.mark();
    bench.send(Consumer { epoch: -1, ..b.clone() }.delta());
    assert_eq!(
        bench.written(mark),
        ["-current b", "-target b", "-member b", "-regex a.*", "group 5"]
    );
    assert!(!bench.group().is_subscribed(&crate::types::TopicName::new("a1").expect("a name")));
}

#[test]
fn a_member_may_change_its_pattern_and_have_names_beside_it() {
    let mut bench = Bench::new();
    for name in ["a1", "b1", "c1"] {
        bench.stepper.topic(name, 1);
    }
    let mut a = Consumer { topics: Some(vec!["c1", "a1"]), ..Consumer::matching("a", "a.*") };
    let mut b = Consumer::new("b", &["b1"]);
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!((a.owned.len(), b.owned.len()), (2, 1));
    a.pattern = Some("b.*");
    let mark = bench.mark();
    let response = bench.send(a.full());
    a.hear(&response);
    assert_eq!(bench.written(mark)[..4], ["member a", "-regex a.*", "regex b.*", "group 4"]);
    bench.stepper.restart();
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!(a.owned.len() + b.owned.len(), 3);
}

#[test]
fn a_pattern_that_matches_nothing_yet_is_a_subscription() {
    let mut bench = Bench::new();
    let mut a = Consumer::matching("a", "a.*");
    bench.join(&mut a);
    assert_eq!((a.epoch, a.owned.len()), (2, 0));
    bench.stepper.image.end_offset = crate::types::Offset::new(7);
    bench.stepper.topic("a1", 1);
    bench.stepper.advance_ms(10_001);
    bench.beat(&mut a);
    assert_eq!(a.owned.len(), 1);
}

#[test]
fn patterns_of_a_group_that_kafka_left_unmatched_are_matched() {
    let mut bench = Bench::new();
    bench.stepper.topic("a1", 1);
    let mut a = Consumer::matching("a", "a.*");
    bench.join(&mut a);
    let group = crate::coordinator::GroupId::new(GROUP);
    let end = GroupRecord::RegularExpression { group, expression: "a.*".to_owned(), value: None };
    let log = [bench.stepper.log.records(), vec![Groups::encode(&end)]].concat();
    bench.stepper.restart_with(log);
    bench.settle(&mut [&mut a]);
    assert_eq!(a.owned.len(), 1);
    assert_eq!(bench.group().resolved.len(), 1);
}
