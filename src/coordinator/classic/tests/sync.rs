//! SyncGroup.

use super::*;

/// Two members that have been told generation 3 and have not synced; the first leads.
fn completing() -> (Bench, Vec<Consumer>) {
    let (mut bench, mut members) = Bench::stable(2);
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    for (member, token) in members.iter_mut().zip(tokens) {
        member.generation = bench.joined(token).generation_id;
    }
    assert_eq!(bench.state(), "CompletingRebalance");
    (bench, members)
}

fn parts(members: &[Consumer]) -> Vec<(&str, &str)> {
    members.iter().map(|member| (&*member.member_id, &*member.member_id)).collect()
}

#[test]
fn followers_wait_for_the_leader_and_all_get_their_part() {
    let (mut bench, members) = completing();
    let follower = bench.sync(&members[1], &[]);
    assert!(bench.sync_answer(follower).is_none());
    let leader = bench.sync(&members[0], &parts(&members));
    assert_eq!(bench.state(), "Stable");
    for (token, member) in [(leader, &members[0]), (follower, &members[1])] {
        let answer = bench.synced(token);
        assert_eq!(answer.assignment, member.member_id.as_bytes());
        assert_eq!(answer.protocol_type.as_deref(), Some("consumer"));
        assert_eq!(answer.protocol_name.as_deref(), Some("range"));
    }
    let late = bench.sync(&members[1], &[]);
    assert_eq!(
        bench.synced(late).assignment,
        members[1].member_id.as_bytes(),
        "again, when stable"
    );
}

#[test]
fn the_assignment_is_written_in_the_turn_that_answers() {
    let (mut bench, members) = completing();
    let before = bench.stepper.log.len();
    bench.sync(&members[1], &[]);
    assert_eq!(bench.stepper.log.len(), before);
    bench.sync(&members[0], &parts(&members));
    assert_eq!(bench.stepper.log.len(), before + 1);
    let written = bench.written().expect("a group");
    assert_eq!(written.generation, 3);
    assert_eq!(written.protocol.as_deref(), Some("range"));
    assert_eq!(written.leader.as_ref().map(|id| id.as_str()), Some(&*members[0].member_id));
    assert!(written.members.iter().all(|it| it.assignment == it.member_id.as_str().as_bytes()));
}

#[test]
fn a_member_that_the_leader_leaves_out_gets_nothing_and_strangers_are_ignored() {
    let (mut bench, members) = completing();
    let follower = bench.sync(&members[1], &[]);
    let parts =
        [("stranger", "x"), (&*members[0].member_id, "first"), (&*members[0].member_id, "last")];
    let leader = bench.sync(&members[0], &parts);
    assert_eq!(bench.synced(leader).assignment, "last");
    let answer = bench.synced(follower);
    assert_eq!((answer.error_code, answer.assignment.len()), (0, 0));
}

#[test]
fn who_does_not_sync_within_the_rebalance_timeout_is_out() {
    let (mut bench, members) = completing();
    bench.sync(&members[0], &parts(&members));
    bench.pass_ms(REBALANCE_MS as u64 - 1, &[&members[0], &members[1]]);
    assert_eq!((bench.state(), bench.size()), ("Stable", 2));
    bench.pass_ms(1, &[]);
    assert_eq!((bench.state(), bench.size()), ("PreparingRebalance", 1));
    assert_eq!(bench.heartbeat(&members[1]), Err(ResponseError::UnknownMemberId));
    assert_eq!(bench.heartbeat(&members[0]), Err(ResponseError::RebalanceInProgress));
}

#[test]
fn a_leader_that_does_not_assign_in_time_is_out_and_its_followers_join_again() {
    let (mut bench, members) = completing();
    let follower = bench.sync(&members[1], &[]);
    bench.pass_ms(REBALANCE_MS as u64, &[&members[0]]);
    assert_eq!(error(bench.synced(follower).error_code), ResponseError::RebalanceInProgress);
    let token = bench.join(&members[1]);
    let answer = bench.joined(token);
    assert_eq!(&*answer.leader, members[1].member_id);
    assert_eq!(answer.members.len(), 1);
}

#[test]
fn a_group_of_which_nobody_syncs_ends_empty() {
    let (mut bench, members) = completing();
    bench.pass_ms(REBALANCE_MS as u64, &[&members[0], &members[1]]);
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
    assert_eq!(bench.written().map(|value| value.generation), Some(4));
}

#[test]
fn a_member_that_waits_for_its_assignment_is_not_expected_to_send_heartbeats() {
    let (mut bench, members) = completing();
    let follower = bench.sync(&members[1], &[]);
    bench.pass_ms(3 * SESSION_MS as u64, &[&members[0]]);
    assert!(bench.sync_answer(follower).is_none());
    let leader = bench.sync(&members[0], &parts(&members));
    assert_eq!(bench.synced(follower).error_code, 0);
    assert_eq!(bench.synced(leader).error_code, 0);
    bench.pass_ms(SESSION_MS as u64 - 1, &[&members[0]]);
    assert_eq!(bench.size(), 2);
    bench.pass_ms(1, &[&members[0]]);
    assert_eq!(bench.size(), 1, "its session began with the answer");
}

#[test]
fn a_sync_that_is_sent_again_takes_the_place_of_the_first() {
    let (mut bench, members) = completing();
    let first = bench.sync(&members[1], &[]);
    let again = bench.sync(&members[1], &[]);
    assert_eq!(error(bench.synced(first).error_code), ResponseError::RebalanceInProgress);
    bench.sync(&members[0], &parts(&members));
    assert_eq!(bench.synced(again).error_code, 0);
}

#[test]
fn while_members_join_a_sync_is_told_so() {
    let (mut bench, members) = Bench::stable(2);
    bench.join(&members[0]);
    let request = sync_request(&members[1], &[]);
    assert_eq!(bench.sync_error(request), ResponseError::RebalanceInProgress);
}

#[test]
fn a_sync_must_name_member_generation_and_protocol() {
    let (mut bench, members) = completing();
    let good = || sync_request(&members[0], &[]);
    let cases = [
        (good().with_member_id(text("stranger")), ResponseError::UnknownMemberId),
        (good().with_group_id(text("other").into()), ResponseError::UnknownMemberId),
        (good().with_group_id(text("").into()), ResponseError::InvalidGroupId),
        (good().with_generation_id(2), ResponseError::IllegalGeneration),
        (good().with_generation_id(4), ResponseError::IllegalGeneration),
        (good().with_generation_id(-1), ResponseError::IllegalGeneration),
        (
            good().with_protocol_type(Some(text("connect"))),
            ResponseError::InconsistentGroupProtocol,
        ),
        (good().with_protocol_name(Some(text("sticky"))), ResponseError::InconsistentGroupProtocol),
        (good().with_group_instance_id(Some(text("i"))), ResponseError::UnknownMemberId),
    ];
    for (request, expected) in cases {
        assert_eq!(bench.sync_error(request.clone()), expected, "{request:?}");
    }
    let old = good().with_protocol_type(None).with_protocol_name(None);
    let token = bench.send_sync(old);
    assert_eq!(bench.synced(token).error_code, 0, "before version 5 nobody names a protocol");
}
