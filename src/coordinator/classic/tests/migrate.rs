//! Handing a group over to the new protocol, and taking one back.

use super::*;
use crate::coordinator::MemberId;
use crate::coordinator::classic::{self, Member, Protocols};

#[test]
fn a_group_that_is_handed_over_leaves_no_caller_waiting_and_no_timer_behind() {
    let (mut bench, members) = Bench::stable(2);
    bench.new_member_id(&Consumer::new());
    let token = bench.join(&members[0]);
    let group = GroupId::new(GROUP);
    let ended = bench.stepper.turn(|groups, turn| classic::end(groups, turn, &group));
    let ended = ended.expect("a group");
    assert_eq!(error(bench.joined(token).error_code), ResponseError::RebalanceInProgress);
    assert_eq!((bench.state(), bench.written()), ("Dead", None));
    assert_eq!((ended.generation(), ended.protocol()), (2, Some("range")));
    assert!(ended.uses_consumer_protocol() && !ended.is_empty());
    for ((id, member), consumer) in ended.members().zip(&members) {
        assert_eq!(id.as_str(), consumer.member_id);
        assert_eq!(member.session_timeout_ms, SESSION_MS);
        assert_eq!(member.protocols.subscription("range"), Some(&topics(&["t"])));
        assert_eq!(member.assignment, consumer.member_id.as_bytes());
    }
    bench.stepper.advance_ms(u64::from(u32::MAX));
    assert!(bench.stepper.machine.classic.is_empty());
}

#[test]
fn members_that_wait_for_an_assignment_are_told_of_the_hand_over() {
    let (mut bench, members) = Bench::stable(2);
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    let _ = tokens.map(|token| bench.joined(token));
    let follower = Consumer { generation: 3, ..members[1].clone() };
    let token = bench.sync(&follower, &[]);
    let group = GroupId::new(GROUP);
    bench.stepper.turn(|groups, turn| classic::end(groups, turn, &group)).expect("a group");
    assert_eq!(error(bench.synced(token).error_code), ResponseError::RebalanceInProgress);
}

#[test]
fn a_group_that_is_taken_back_is_stable_and_may_rebalance() {
    let mut bench = Bench::new();
    let group = GroupId::new(GROUP);
    let client = Client { id: Arc::from("client"), host: Arc::from("/127.0.0.1") };
    let member = |part: &'static str, names: &[&'static str]| Member {
        session_timeout_ms: SESSION_MS,
        rebalance_timeout_ms: REBALANCE_MS,
        assignment: Bytes::from_static(part.as_bytes()),
        ..Member::new(
            client.clone(),
            Protocols::new(names.iter().map(|name| (Arc::from(*name), topics(&["t"])))),
        )
    };
    let members = [
        (MemberId::new("a"), member("a", &["sticky", "range"])),
        (MemberId::new("b"), member("b", &["range"])),
    ];
    bench.stepper.turn(|groups, turn| classic::begin(groups, turn, &group, 7, members));
    assert_eq!((bench.state(), bench.size()), ("Stable", 2));
    assert_eq!(bench.written().map(|value| value.generation), Some(7));
    let of = |id: &str| Consumer { generation: 7, ..Consumer::new().as_member(id) };
    for id in ["a", "b"] {
        assert_eq!(bench.heartbeat(&of(id)), Ok(()));
        let token = bench.sync(&of(id), &[]);
        assert_eq!(bench.synced(token).assignment, id.as_bytes());
    }
    bench.stepper.restart();
    assert_eq!(bench.heartbeat(&of("a")), Ok(()));
    bench.stepper.turn(|groups, turn| classic::rebalance(groups, turn, &group, "downgraded"));
    assert_eq!(bench.heartbeat(&of("a")), Err(ResponseError::RebalanceInProgress));
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!(bench.state(), "Empty", "sessions run");
}
