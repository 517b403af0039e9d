//! Static members (KIP-345, KIP-814).

use super::*;

/// A stable group of two static members, `a` leading `b`.
fn stable() -> (Bench, Consumer, Consumer) {
    let mut bench = Bench::new();
    let members = vec![Consumer::with_instance("a"), Consumer::with_instance("b")];
    let mut members = bench.settle(members);
    let b = members.pop().expect("two");
    (bench, members.pop().expect("two"), b)
}

fn restarted(member: &Consumer) -> Consumer {
    Consumer { member_id: String::new(), generation: -1, ..member.clone() }
}

#[test]
fn a_static_member_is_admitted_at_once() {
    let mut bench = Bench::new();
    let token = bench.join(&Consumer::with_instance("a"));
    let answer = bench.joined(token);
    assert_eq!(answer.error_code, 0);
    assert!(answer.member_id.starts_with("a-"), "{}", answer.member_id);
    assert_eq!(answer.members[0].group_instance_id.as_deref(), Some("a"));
}

#[test]
fn a_restarted_member_takes_its_place_without_a_rebalance() {
    let (mut bench, a, b) = stable();
    let before = bench.stepper.log.len();
    let token = bench.join(&restarted(&b));
    let answer = bench.joined(token);
    assert_eq!((answer.error_code, answer.generation_id), (0, 2));
    assert_ne!(&*answer.member_id, b.member_id);
    assert_eq!((&*answer.leader, answer.skip_assignment), (&*a.member_id, false));
    assert_eq!(bench.stepper.log.len(), before + 1, "its new id is written down");
    assert_eq!(bench.heartbeat(&a), Ok(()), "nobody else notices");
    let again = Consumer { generation: 2, ..b.as_member(&answer.member_id) };
    let token = bench.sync(&again, &[]);
    assert_eq!(bench.synced(token).assignment, b.member_id.as_bytes(), "what it had");
    assert_eq!(bench.heartbeat(&again), Ok(()));
}

#[test]
fn a_restarted_leader_is_told_to_skip_the_assignment_since_version_9() {
    let (mut bench, a, _) = stable();
    let token = bench.join(&restarted(&a));
    let answer = bench.joined(token);
    assert!(answer.skip_assignment);
    assert_eq!((&*answer.leader, answer.members.len()), (&*answer.member_id, 2));
}

#[test]
fn before_version_9_a_restarted_leader_is_shown_its_old_id_as_the_leaders() {
    let (mut bench, a, _) = stable();
    let token = bench.join(&Consumer { version: 8, ..restarted(&a) });
    let answer = bench.joined(token);
    assert_eq!((answer.skip_assignment, answer.members.len()), (false, 0));
    assert_eq!(&*answer.leader, a.member_id);
    assert!(bench.group().is_leader(&answer.member_id));
}

#[test]
fn the_old_id_of_an_instance_is_fenced() {
    let (mut bench, _, b) = stable();
    let token = bench.join(&restarted(&b));
    bench.joined(token);
    assert_eq!(bench.join_error(&b).0, ResponseError::FencedInstanceId);
    assert_eq!(bench.heartbeat(&b), Err(ResponseError::FencedInstanceId));
    assert_eq!(bench.sync_error(sync_request(&b, &[])), ResponseError::FencedInstanceId);
    assert_eq!(bench.leave_one(&b), ResponseError::FencedInstanceId.code());
    let nameless = Consumer { instance: None, ..b };
    assert_eq!(bench.heartbeat(&nameless), Err(ResponseError::UnknownMemberId));
}

#[test]
fn an_old_request_that_waits_is_fenced_when_its_instance_restarts() {
    let (mut bench, a, b) = stable();
    let old = bench.join(&a);
    let new = bench.join(&restarted(&a));
    let answer = bench.joined(old);
    assert_eq!(error(answer.error_code), ResponseError::FencedInstanceId);
    assert_eq!(&*answer.member_id, a.member_id);
    assert!(bench.join_answer(new).is_none());
    let other = bench.join(&b);
    assert_eq!(bench.joined(new).generation_id, 3);
    assert_eq!(bench.joined(other).error_code, 0);
}

#[test]
fn a_restart_while_the_leader_assigns_begins_another_rebalance() {
    let (mut bench, a, b) = stable();
    let tokens = [bench.join(&a), bench.join(&b)];
    let _ = tokens.map(|token| bench.joined(token));
    let waiting = bench.sync(&Consumer { generation: 3, ..b.clone() }, &[]);
    let token = bench.join(&restarted(&b));
    assert_eq!(error(bench.synced(waiting).error_code), ResponseError::FencedInstanceId);
    assert_eq!(bench.state(), "PreparingRebalance");
    let leader = bench.join(&a);
    assert_eq!(bench.joined(token).generation_id, 4);
    assert_eq!(bench.joined(leader).members.len(), 2);
}

#[test]
fn a_restart_that_changes_the_vote_begins_a_rebalance() {
    let mut bench = Bench::new();
    let both = |protocols: &[&'static str]| Consumer {
        instance: Some("a"),
        ..Consumer::speaking(protocols)
    };
    let members = bench.settle(vec![both(&["range", "sticky"])]);
    let changed = Consumer { member_id: String::new(), ..both(&["sticky", "range"]) };
    let token = bench.join(&changed);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, answer.protocol_name.as_deref()), (2, Some("sticky")));
    assert_ne!(&*answer.member_id, members[0].member_id);
}

#[test]
fn a_static_member_that_does_not_join_again_keeps_its_place_until_its_session_ends() {
    let mut bench = Bench::new();
    let slow = Consumer { session_timeout_ms: 100_000, ..Consumer::with_instance("b") };
    let members = bench.settle(vec![Consumer::with_instance("a"), slow]);
    let token = bench.join(&members[0]);
    bench.stepper.advance_ms(REBALANCE_MS as u64);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, answer.members.len()), (3, 2));
    bench.pass_ms(100_000, &[&Consumer { generation: 3, ..members[0].clone() }]);
    assert_eq!(bench.size(), 0, "neither synced in time");
}

#[test]
fn if_only_static_members_are_left_and_none_joins_their_sessions_decide() {
    let mut bench = Bench::new();
    let slow = Consumer { session_timeout_ms: 100_000, ..Consumer::with_instance("b") };
    let members = bench.settle(vec![Consumer::new(), slow]);
    assert_eq!(bench.leave_one(&members[0]), 0);
    bench.pass_ms(REBALANCE_MS as u64, &[]);
    assert_eq!((bench.state(), bench.size()), ("PreparingRebalance", 1));
    bench.pass_ms(40_000, &[]);
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
}

#[test]
fn two_instances_of_one_name_fence_each_other_but_never_both_own_it() {
    let (mut bench, _, b) = stable();
    let token = bench.join(&restarted(&b));
    let first = bench.joined(token).member_id;
    let token = bench.join(&restarted(&b));
    let second = bench.joined(token).member_id;
    let as_member = |id: &str| Consumer { generation: 2, ..b.as_member(id) };
    assert_eq!(bench.heartbeat(&as_member(&first)), Err(ResponseError::FencedInstanceId));
    assert_eq!(bench.heartbeat(&as_member(&second)), Ok(()));
    assert_eq!(bench.size(), 2);
}

#[test]
fn an_administrator_takes_out_whoever_goes_by_a_name() {
    let (mut bench, a, b) = stable();
    let answer = bench.leave(LEAVE, leave_request(&[("", Some("b"))]));
    assert_eq!(answer.members[0].error_code, 0);
    assert_eq!(bench.heartbeat(&b), Err(ResponseError::UnknownMemberId));
    assert_eq!(bench.heartbeat(&a), Err(ResponseError::RebalanceInProgress));
}

#[test]
fn a_name_that_a_member_has_left_is_free_again() {
    let (mut bench, _, b) = stable();
    assert_eq!(bench.leave_one(&b), 0);
    let token = bench.join(&restarted(&b));
    assert!(bench.join_answer(token).is_none(), "it is a new member");
    assert_eq!(bench.size(), 2);
}
