//! LeaveGroup.

use super::*;

const UNKNOWN: i16 = 25;
const FENCED: i16 = 82;

#[test]
fn the_last_member_leaves_an_empty_group_that_is_written_down() {
    let (mut bench, members) = Bench::stable(1);
    let before = bench.stepper.log.len();
    assert_eq!(bench.leave_one(&members[0]), 0);
    assert_eq!(bench.state(), "Empty");
    assert_eq!(bench.stepper.log.len(), before + 1);
    let written = bench.written().expect("a group");
    assert_eq!((written.generation, written.members.len()), (2, 0));
    assert_eq!((written.protocol.as_deref(), written.leader.as_ref()), (None, None));
    assert_eq!(written.protocol_type, "consumer");
    bench.stepper.advance_ms(500_000);
    assert_eq!(bench.stepper.log.len(), before + 1, "nothing runs out any more");
}

#[test]
fn the_others_join_again_when_a_member_leaves() {
    let (mut bench, members) = Bench::stable(2);
    assert_eq!(bench.leave_one(&members[0]), 0);
    assert_eq!(bench.heartbeat(&members[1]), Err(ResponseError::RebalanceInProgress));
    let token = bench.join(&members[1]);
    assert_eq!(&*bench.joined(token).leader, members[1].member_id);
}

#[test]
fn a_member_that_leaves_while_others_wait_to_join_does_not_hold_them_up() {
    let (mut bench, members) = Bench::stable(2);
    let token = bench.join(&members[0]);
    assert_eq!(bench.leave_one(&members[1]), 0);
    assert_eq!(bench.joined(token).generation_id, 3);
}

#[test]
fn who_leaves_in_the_middle_of_a_join_or_a_sync_is_answered() {
    let (mut bench, members) = Bench::stable(3);
    let token = bench.join(&members[0]);
    assert_eq!(bench.leave_one(&members[0]), 0);
    assert_eq!(bench.joined(token).error_code, UNKNOWN);
    let tokens = [bench.join(&members[1]), bench.join(&members[2])];
    let [_, answer] = tokens.map(|token| bench.joined(token));
    let leads = |member: &&Consumer| member.member_id == *answer.leader;
    let follower = members[1..].iter().find(|member| !leads(member)).expect("two members");
    let follower = Consumer { generation: answer.generation_id, ..follower.clone() };
    let token = bench.sync(&follower, &[]);
    assert_eq!(bench.leave_one(&follower), 0);
    assert_eq!(bench.synced(token).error_code, UNKNOWN);
}

#[test]
fn several_leave_at_once_and_each_has_its_outcome() {
    let mut bench = Bench::new();
    let members =
        bench.settle(vec![Consumer::with_instance("i"), Consumer::new(), Consumer::new()]);
    let pending = bench.new_member_id(&Consumer::new());
    let request = leave_request(&[
        (&members[1].member_id, None),
        ("stranger", None),
        ("", Some("i")),
        ("", Some("j")),
        ("", None),
        (&members[2].member_id, Some("i")),
        (&members[1].member_id, None),
        (&pending, None),
    ]);
    let answer = bench.leave(LEAVE, request.clone());
    assert_eq!(answer.error_code, 0);
    let outcomes: Vec<i16> = answer.members.iter().map(|member| member.error_code).collect();
    let expected = [0, UNKNOWN, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0];
    assert_eq!(outcomes, expected);
    for (asked, told) in request.members.iter().zip(&answer.members) {
        assert_eq!(asked.member_id, told.member_id);
        assert_eq!(asked.group_instance_id, told.group_instance_id);
    }
    assert_eq!((bench.state(), bench.size()), ("PreparingRebalance", 1));
}

#[test]
fn an_instance_of_another_member_id_is_fenced() {
    let mut bench = Bench::new();
    let members = bench.settle(vec![Consumer::with_instance("i"), Consumer::new()]);
    let request = leave_request(&[(&members[1].member_id, Some("i"))]);
    assert_eq!(bench.leave(LEAVE, request).members[0].error_code, FENCED);
    assert_eq!(bench.size(), 2);
}

#[test]
fn before_version_3_one_member_leaves_and_the_answer_is_its_outcome() {
    let (mut bench, members) = Bench::stable(2);
    for version in 0..3 {
        let request = LeaveGroupRequest::default()
            .with_group_id(text(GROUP).into())
            .with_member_id(text("stranger"));
        let answer = bench.leave(version, request);
        assert_eq!((answer.error_code, answer.members.len()), (UNKNOWN, 0));
    }
    let request = LeaveGroupRequest::default()
        .with_group_id(text(GROUP).into())
        .with_member_id(text(&members[1].member_id));
    let answer = bench.leave(2, request);
    assert_eq!((answer.error_code, answer.members.len()), (0, 0));
    assert_eq!(bench.size(), 1);
}

#[test]
fn nobody_leaves_a_group_that_does_not_exist() {
    let mut bench = Bench::new();
    let answer = bench.leave(LEAVE, leave_request(&[("a", None), ("b", Some("i"))]));
    assert_eq!(answer.error_code, 0);
    let outcomes: Vec<i16> = answer.members.iter().map(|member| member.error_code).collect();
    assert_eq!(outcomes, [UNKNOWN, UNKNOWN]);
    let nameless = leave_request(&[("a", None)]).with_group_id(text("").into());
    let answer = bench.leave(LEAVE, nameless.clone());
    assert_eq!(error(answer.error_code), ResponseError::InvalidGroupId);
    let answer = bench.leave(0, nameless);
    assert_eq!(error(answer.error_code), ResponseError::InvalidGroupId);
    assert_eq!(bench.state(), "Dead");
}

#[test]
fn a_pending_member_that_leaves_does_not_hold_up_a_rebalance() {
    let (mut bench, members) = Bench::stable(1);
    let consumer = Consumer::new();
    let pending = bench.new_member_id(&consumer);
    let token = bench.join(&members[0]);
    assert!(bench.join_answer(token).is_none());
    assert_eq!(bench.leave_one(&consumer.as_member(&pending)), 0);
    assert_eq!(bench.joined(token).generation_id, 2);
}
