//! What is told of a group.

use kafka_protocol::messages::consumer_group_describe_response::{Assignment, DescribedGroup};

use super::*;
use crate::coordinator::GroupId;

fn describe(bench: &mut Bench) -> DescribedGroup {
    match bench.stepper.ask(GroupCommand::DescribeConsumer(GroupId::new(GROUP))) {
        GroupReply::DescribeConsumer(described) => described,
        other => panic!("{other:?}"),
    }
}

fn shown(assignment: &Assignment) -> Vec<(String, Vec<i32>)> {
    let topics = assignment.topic_partitions.iter();
    topics.map(|topic| (topic.topic_name.to_string(), topic.partitions.clone())).collect()
}

fn listed_state(bench: &mut Bench) -> String {
    let all = GroupCommand::List { states: Vec::new(), types: Vec::new() };
    let GroupReply::List(groups) = bench.stepper.ask(all) else { panic!() };
    assert_eq!(&*groups[0].group_type, "consumer");
    groups[0].group_state.to_string()
}

#[test]
fn a_group_is_described_with_what_members_have_and_should_have() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 2);
    let mut a = Consumer::with_instance("a", "i", &["t"]);
    let mut b = Consumer::matching("b", "t");
    bench.join(&mut a);
    bench.join(&mut b);
    let group = describe(&mut bench);
    assert_eq!(&*group.group_state, "Reconciling");
    assert_eq!((group.group_epoch, group.assignment_epoch), (3, 3));
    assert_eq!(&*group.assignor_name, "uniform");
    let [first, second] = &group.members[..] else { panic!("{group:?}") };
    assert_eq!((&*first.member_id, first.member_epoch), ("a", 2));
    assert_eq!(first.instance_id.as_deref(), Some("i"));
    assert_eq!((&*first.client_id, &*first.client_host), ("client", "/127.0.0.1"));
    assert_eq!(first.subscribed_topic_names, [topic("t")]);
    assert_eq!(shown(&first.assignment), [("t".to_owned(), vec![0, 1])]);
    assert_eq!(shown(&first.target_assignment), [("t".to_owned(), vec![0])]);
    assert_eq!((first.member_type, second.member_type), (1, 1));
    assert_eq!(second.subscribed_topic_regex.as_deref(), Some("t"));
    assert_eq!(shown(&second.assignment), []);
    assert_eq!(shown(&second.target_assignment), [("t".to_owned(), vec![1])]);

    // The first has been told and has not let go yet.
    bench.send(a.delta());
    let group = describe(&mut bench);
    assert_eq!(shown(&group.members[0].assignment), [("t".to_owned(), vec![0, 1])]);
}

#[test]
fn the_state_of_a_group_is_kafkas() {
    let mut bench = Bench::with(GroupSettings::default());
    bench.stepper.topic("t", 2);
    let (mut a, mut b) = (Consumer::new("a", &["t"]), Consumer::new("b", &["t"]));
    bench.join(&mut a);
    assert_eq!(listed_state(&mut bench), "Stable");
    bench.join(&mut b);
    assert_eq!(listed_state(&mut bench), "Assigning");
    bench.stepper.advance_ms(1_000);
    bench.beat(&mut a);
    assert_eq!(listed_state(&mut bench), "Reconciling");
    bench.settle(&mut [&mut a, &mut b]);
    assert_eq!(listed_state(&mut bench), "Stable");
    for member in [a, b] {
        bench.send(Consumer { epoch: -1, ..member }.delta());
    }
    assert_eq!(listed_state(&mut bench), "Empty");
}

#[test]
fn topics_that_are_gone_are_not_described() {
    let mut bench = Bench::new();
    bench.stepper.topic("t", 1);
    bench.stepper.topic("u", 1);
    let mut a = Consumer::new("a", &["t", "u"]);
    bench.join(&mut a);
    bench.stepper.delete_topic("u");
    let group = describe(&mut bench);
    assert_eq!(shown(&group.members[0].assignment), [("t".to_owned(), vec![0])]);
}
