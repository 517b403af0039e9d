//! Members join, stay and leave.

use kafka_protocol::ResponseError;

use super::*;
use crate::coordinator::GroupId;
use crate::metadata::ConfigResource;

#[test]
fn the_first_member_is_given_everything_with_its_join() {
    let mut bench = Bench::new();
    let topic = bench.stepper.topic("t", 3);
    let a = Consumer::new("a", &["t"]);
    let response = bench.send(a.full());
    assert_eq!(response.error_code, 0);
    assert_eq!(response.member_id.as_deref(), Some("a"));
    assert_eq!((response.member_epoch, response.heartbeat_interval_ms), (2, 5_000));
    assert_eq!(assigned(&response), Some((0..3).map(|at| (topic, at)).collect()));
    assert_eq!(
        bench.written(0),
        ["member a", "group 2", "target a", "targets 2", "current a 2"],
        "in the order of Kafka"
    );
}

#[test]
fn a_member_is_written_down_as_it_joined() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let request = Consumer::new("a", &["t", "gone", "t"]).full().with_rack_id(Some(text("r")));
    bench.send(request);
    let GroupRecord::ConsumerMember { value: Some(value), .. } = &bench.written_since(0)[0] else {
        panic!("no member");
    };
    let names: Vec<_> = value.subscribed_topic_names.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["gone", "t"]);
    assert_eq!(value.rack_id.as_deref(), Some("r"));
    assert_eq!(value.subscribed_topic_regex.as_deref(), Some(""));
    assert_eq!((value.client_id.as_str(), value.client_host.as_str()), ("client", "/127.0.0.1"));
    assert_eq!(value.rebalance_timeout_ms, REBALANCE_MS);
    assert_eq!((&value.server_assignor, &value.classic), (&None, &None));
}

#[test]
fn a_heartbeat_that_changes_nothing_writes_nothing_and_assigns_nothing() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 3);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    for request in [a.delta(), a.owning()] {
        let response = bench.send(request);
        assert_eq!((response.error_code, response.member_epoch), (0, 2));
        assert_eq!(response.assignment, None);
    }
    assert_eq!(bench.mark(), mark);
}

#[test]
fn a_member_that_says_everything_is_told_everything() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 3);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    let response = bench.send(a.full());
    assert_eq!(assigned(&response), Some(a.owned.clone()));
    assert_eq!(bench.mark(), mark);
}

#[test]
fn a_second_member_waits_until_the_first_has_let_go() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 4);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    let mark = bench.mark();
    bench.join(&mut b);
    assert_eq!((b.epoch, b.partitions()), (3, vec![]));
    assert_eq!(
        bench.written(mark),
        ["member b", "group 3", "target a", "target b", "targets 3", "current b 3"]
    );

    // The first is told, and stays in its epoch until it says that it has done so.
    let response = bench.send(a.delta());
    assert_eq!(response.member_epoch, 2);
    assert_eq!(assigned(&response).map(|assigned| assigned.len()), Some(2));
    let response = bench.send(a.owning());
    assert_eq!((response.member_epoch, response.assignment), (2, None), "it owns them still");
    bench.beat(&mut b);
    assert_eq!((b.epoch, b.partitions()), (3, vec![]));

    a.owned.retain(|at| at.1 < 2);
    bench.beat(&mut a);
    assert_eq!((a.epoch, a.partitions()), (3, vec![0, 1]));
    bench.beat(&mut b);
    assert_eq!((b.epoch, b.partitions()), (3, vec![2, 3]));
}

#[test]
fn a_member_whose_answer_was_lost_may_come_with_the_epoch_before() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 4);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.beat(&mut a);
    let before = a.clone();
    bench.beat(&mut a);
    assert_eq!((before.epoch, a.epoch), (2, 3));

    assert_eq!(bench.send(before.owning()).member_epoch, 3);
    let fenced = Some(ResponseError::FencedMemberEpoch);
    assert_eq!(bench.error(before.delta()), fenced, "it does not say what it owns");
    let mut greedy = before.clone();
    greedy.owned.insert((a.owned.first().expect("some").0, 3));
    assert_eq!(bench.error(greedy.owning()), fenced, "it owns what it should not");
    let older = Consumer { epoch: 7, ..a.clone() };
    assert_eq!(bench.error(older.owning()), fenced, "no such epoch yet");
    assert_eq!(bench.send(a.owning()).member_epoch, 3, "who is in its epoch goes on");
}

#[test]
fn a_member_that_joins_again_keeps_what_it_should_have() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    bench.join(&mut a);
    assert_eq!((a.epoch, a.partitions()), (2, vec![0, 1]));
    assert_eq!(bench.mark(), mark);
}

#[test]
fn a_member_that_leaves_makes_room_at_once() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 4);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    let mark = bench.mark();
    let response = bench.send(Consumer { epoch: -1, ..a.clone() }.delta());
    assert_eq!((response.error_code, response.member_epoch), (0, -1));
    assert_eq!(response.member_id.as_deref(), Some("a"));
    assert_eq!((&response.assignment, response.heartbeat_interval_ms), (&None, 0));
    assert_eq!(bench.written(mark), ["-current a", "-target a", "-member a", "group 4"]);
    bench.beat(&mut b);
    assert_eq!((b.epoch, b.partitions()), (4, vec![0, 1, 2, 3]));
}

#[test]
fn the_last_member_that_leaves_leaves_an_empty_group() {
    let mut bench = Bench::with(GroupSettings::default());
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let mark = bench.mark();
    bench.send(Consumer { epoch: -1, ..a.clone() }.delta());
    assert_eq!(
        bench.written(mark),
        ["-current a", "-target a", "-member a", "group 3", "targets 3"]
    );
    assert_eq!(bench.group().state(), "Empty");

    // Whoever comes next does not wait for the interval between assignments.
    bench.join(&mut a);
    assert_eq!((a.epoch, a.partitions()), (4, vec![0]));
}

#[test]
fn a_group_is_deleted_with_kafkas_tombstones() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let mut a = Consumer::matching("a", "t.*");
    bench.join(&mut a);
    let delete = || GroupCommand::DeleteGroup(GroupId::new(GROUP));
    let GroupReply::DeleteGroup(result) = bench.stepper.ask(delete()) else { panic!() };
    assert_eq!(result.error_code, ResponseError::NonEmptyGroup.code());
    bench.send(Consumer { epoch: -1, ..a.clone() }.delta());
    let mark = bench.mark();
    let GroupReply::DeleteGroup(result) = bench.stepper.ask(delete()) else { panic!() };
    assert_eq!(result.error_code, 0);
    assert_eq!(bench.written(mark), ["-targets", "-partitions", "-group"]);
    assert!(!bench.has_group());
    assert_eq!(bench.stepper.log.compacted().len(), 0, "nothing is left in the log");
}

#[test]
fn version_0_is_given_an_id() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let response = bench.send_version(0, Consumer::new("", &["t"]).full());
    let id = response.member_id.expect("an id").to_string();
    assert_eq!((response.error_code, id.len()), (0, 22));
    assert!(bench.is_member(&id));
}

#[test]
fn a_full_group_refuses_new_members_only() {
    let mut bench = Bench::with(GroupSettings { consumer_max_size: 1, ..settings() });
    bench.stepper.topic("t", 1);
    let mut a = Consumer::new("a", &["t"]);
    bench.join(&mut a);
    let full = Some(ResponseError::GroupMaxSizeReached);
    assert_eq!(bench.error(Consumer::new("b", &["t"]).full()), full);
    bench.beat(&mut a);
    bench.join(&mut a);
}

#[test]
fn members_vote_for_the_assignor() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 3);
    bench.stepper.topic("u", 3);
    let range = |id| Consumer { assignor: Some("range"), ..Consumer::new(id, &["t", "u"]) };
    let (mut a, mut b) = (range("a"), range("b"));
    bench.join(&mut a);
    bench.join(&mut b);
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!(a.partitions(), [0, 1, 0, 1], "range: the same of both topics");
    assert_eq!(b.partitions(), [2, 2]);

    // One goes over to the other, which is the default: still the more common of the two by order.
    let mark = bench.mark();
    let uniform = Consumer { assignor: Some("uniform"), ..a.clone() };
    let response = bench.send(uniform.full());
    a.hear(&response);
    assert!(bench.written(mark).contains(&"group 4".to_owned()), "{:?}", bench.written(mark));
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!((a.owned.len(), b.owned.len()), (3, 3));
}

#[test]
fn topics_that_a_member_no_longer_names_are_taken_from_it_at_once() {
    let mut bench = Bench::with(GroupSettings::default());
    let t = bench.stepper.topic("t", 2);
    bench.stepper.topic("u", 2);
    let mut a = Consumer::new("a", &["t", "u"]);
    bench.join(&mut a);
    assert_eq!(a.owned.len(), 4);
    // Within the interval between assignments: the target is still the old one.
    a.topics = Some(vec!["t"]);
    let response = bench.send(a.full());
    assert_eq!(assigned(&response), Some((0..2).map(|at| (t, at)).collect()));
    assert_eq!(bench.group().target.epoch, 2);
    a.hear(&response);
    bench.stepper.advance_ms(1_000);
    bench.settle(&mut [&mut a]);
    assert_eq!((a.epoch, a.owned.len()), (3, 2));
}

#[test]
fn many_members_that_come_at_once_cost_one_target_a_second() {
    let mut bench = Bench::with(GroupSettings::default());
    bench.stepper.topic("t", 6);
    let mut members: Vec<_> = (0..3).map(|n| Consumer::new(&format!("m{n}"), &["t"])).collect();
    for member in &mut members {
        bench.join(member);
    }
    assert_eq!(members[0].owned.len(), 6);
    assert_eq!((members[1].epoch, members[1].owned.len()), (2, 0), "in the epoch of the target");
    assert_eq!((bench.group().epoch, bench.group().target.epoch), (4, 2));
    bench.stepper.advance_ms(999);
    bench.beat(&mut members[0]);
    assert_eq!(bench.group().target.epoch, 2);
    bench.stepper.advance_ms(1);
    let mut members: Vec<&mut Consumer> = members.iter_mut().collect();
    bench.settle(&mut members);
    assert_eq!(bench.group().target.epoch, 4);
    assert!(members.iter().all(|member| member.owned.len() == 2));
}

#[test]
fn a_group_has_times_of_its_own_within_the_brokers_bounds() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    let own =
        [("consumer.heartbeat.interval.ms", "7000"), ("consumer.session.timeout.ms", "999999")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let resource = ConfigResource::Group(GROUP.to_owned());
    std::sync::Arc::make_mut(&mut bench.stepper.image.configs)
        .insert(resource, std::sync::Arc::new(own));
    let a = Consumer::new("a", &["t"]);
    assert_eq!(bench.send(a.full()).heartbeat_interval_ms, 7_000);
    bench.stepper.advance_ms(59_999);
    assert!(bench.is_member("a"));
    bench.stepper.advance_ms(1);
    assert!(!bench.is_member("a"), "the broker's largest is 60 seconds");
}

#[test]
fn the_interval_between_assignments_can_be_changed_at_any_time() {
    use crate::types::BrokerId;
    let mut bench = Bench::with(GroupSettings::default());
    bench.stepper.topic("t", 2);
    let (a, b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    let epoch = |bench: &Bench| (bench.group().epoch, bench.group().target.epoch);
    bench.send(a.full());
    bench.send(b.full());
    let (group, target) = epoch(&bench);
    assert!(target < group, "the interval of a second is not over");
    let mut set = |resource: ConfigResource, value: &str| {
        let key = "group.consumer.assignment.interval.ms".to_owned();
        let values = [(key, value.to_owned())].into_iter().collect();
        std::sync::Arc::make_mut(&mut bench.stepper.image.configs)
            .insert(resource, std::sync::Arc::new(values));
        bench.send(b.full());
        epoch(&bench)
    };
    assert_eq!(set(ConfigResource::ClusterDefault, "500"), (group, target));
    assert_eq!(set(ConfigResource::Broker(BrokerId::new(1)), "0"), (group, group));
}
