//! What is shown of a group.

use kafka_protocol::messages::describe_groups_response::DescribedGroup;

use super::*;
use crate::coordinator::classic;

impl Bench {
    fn described(&self) -> DescribedGroup {
        classic::describe(&self.stepper.machine, &self.stepper.hard, &GroupId::new(GROUP))
    }
}

#[test]
fn a_stable_group_shows_everything() {
    let mut bench = Bench::new();
    let members = bench.settle(vec![Consumer::with_instance("i"), Consumer::new()]);
    let described = bench.described();
    assert_eq!((&**described.group_id, &*described.group_state), (GROUP, "Stable"));
    assert_eq!((&*described.protocol_type, &*described.protocol_data), ("consumer", "range"));
    assert_eq!((described.error_code, described.members.len()), (0, 2));
    for member in &members {
        let shown = described.members.iter().find(|it| it.member_id == text(&member.member_id));
        let shown = shown.expect("a member");
        assert_eq!(shown.group_instance_id.as_deref(), member.instance);
        assert_eq!((&*shown.client_id, &*shown.client_host), ("client", "/127.0.0.1"));
        assert_eq!(shown.member_metadata, topics(&["t"]));
        assert_eq!(shown.member_assignment, member.member_id.as_bytes());
    }
}

#[test]
fn a_group_that_rebalances_shows_its_members_without_subscriptions() {
    let (mut bench, members) = Bench::stable(2);
    bench.join(&members[0]);
    let described = bench.described();
    assert_eq!((&*described.group_state, &*described.protocol_data), ("PreparingRebalance", ""));
    assert_eq!(described.members.len(), 2);
    assert!(described.members.iter().all(|member| member.member_metadata.is_empty()));
    assert!(described.members.iter().all(|member| !member.member_assignment.is_empty()));
}

#[test]
fn an_empty_group_shows_its_protocol_type() {
    let (mut bench, members) = Bench::stable(1);
    bench.leave_one(&members[0]);
    let described = bench.described();
    assert_eq!((&*described.group_state, &*described.protocol_type), ("Empty", "consumer"));
    assert_eq!((&*described.protocol_data, described.members.len()), ("", 0));
    assert_eq!(classic::protocol_type(&bench.stepper.machine, &GroupId::new(GROUP)), "consumer");
}

#[test]
fn a_group_that_does_not_exist_is_dead() {
    let bench = Bench::new();
    assert_eq!(&*bench.described().group_state, "Dead");
    assert_eq!(bench.size(), 0);
}
