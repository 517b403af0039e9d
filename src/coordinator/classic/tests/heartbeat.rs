//! Heartbeat and sessions.

use super::*;

#[test]
fn heartbeats_keep_a_session_alive() {
    let (mut bench, members) = Bench::stable(1);
    for _ in 0..10 {
        bench.stepper.advance_ms(SESSION_MS as u64 - 1);
        assert_eq!(bench.heartbeat(&members[0]), Ok(()));
    }
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
    assert_eq!(bench.heartbeat(&members[0]), Err(ResponseError::UnknownMemberId));
}

#[test]
fn the_others_join_again_when_a_member_was_not_heard_of() {
    let (mut bench, members) = Bench::stable(2);
    bench.pass_ms(SESSION_MS as u64, &[&members[1]]);
    assert_eq!((bench.state(), bench.size()), ("PreparingRebalance", 1));
    assert_eq!(bench.heartbeat(&members[1]), Err(ResponseError::RebalanceInProgress));
    let token = bench.join(&members[1]);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, &*answer.leader), (3, &*members[1].member_id));
}

#[test]
fn while_members_join_a_heartbeat_keeps_the_session_and_says_so() {
    let (mut bench, members) = Bench::stable(2);
    bench.join(&members[0]);
    for _ in 0..5 {
        bench.stepper.advance_ms(SESSION_MS as u64 - 1);
        assert_eq!(bench.heartbeat(&members[1]), Err(ResponseError::RebalanceInProgress));
    }
    assert_eq!(bench.size(), 2);
}

#[test]
fn while_the_leader_assigns_heartbeats_are_in_order() {
    let mut bench = Bench::new();
    let token = bench.join(&Consumer { version: 3, ..Consumer::new() });
    let answer = bench.joined(token);
    let member = Consumer { generation: 1, ..Consumer::new().as_member(&answer.member_id) };
    for _ in 0..5 {
        bench.stepper.advance_ms(SESSION_MS as u64 - 1);
        assert_eq!(bench.heartbeat(&member), Ok(()));
    }
}

#[test]
fn a_member_that_dies_while_others_wait_to_join_does_not_hold_them_up() {
    let (mut bench, members) = Bench::stable(3);
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    bench.stepper.advance_ms(SESSION_MS as u64);
    for token in tokens {
        assert_eq!(bench.joined(token).generation_id, 3);
    }
    assert_eq!(bench.size(), 2);
}

#[test]
fn a_heartbeat_must_name_member_and_generation() {
    let (mut bench, members) = Bench::stable(1);
    let good = || heartbeat_request(&members[0]);
    let cases = [
        (good().with_member_id(text("stranger")), ResponseError::UnknownMemberId),
        (good().with_member_id(text("")), ResponseError::UnknownMemberId),
        (good().with_group_id(text("other").into()), ResponseError::UnknownMemberId),
        (good().with_group_id(text("").into()), ResponseError::InvalidGroupId),
        (good().with_generation_id(0), ResponseError::IllegalGeneration),
        (good().with_generation_id(2), ResponseError::IllegalGeneration),
        (good().with_group_instance_id(Some(text("i"))), ResponseError::UnknownMemberId),
    ];
    for (request, expected) in cases {
        assert_eq!(error(bench.send_heartbeat(request.clone())), expected, "{request:?}");
    }
    assert_eq!(bench.heartbeat(&members[0]), Ok(()));
}
