//! JoinGroup.

use super::*;

fn delayed(delay_ms: i32) -> Bench {
    Bench::with(GroupSettings {
        group_initial_rebalance_delay_ms: delay_ms,
        ..GroupSettings::default()
    })
}

#[test]
fn since_version_4_a_dynamic_member_joins_with_an_id_that_it_is_given() {
    for version in 4..=JOIN {
        let mut bench = Bench::new();
        let consumer = Consumer { version, ..Consumer::new() };
        let id = bench.new_member_id(&consumer);
        assert!(id.starts_with("client-") && id.len() == "client-".len() + 36, "{id}");
        assert_eq!((bench.state(), bench.size()), ("Empty", 0));
        let token = bench.join(&consumer.as_member(&id));
        let answer = bench.joined(token);
        assert_eq!((answer.error_code, answer.generation_id), (0, 1));
        assert_eq!((&*answer.member_id, &*answer.leader), (&*id, &*id));
        assert_eq!(answer.protocol_type.as_deref(), Some("consumer"));
        assert_eq!(answer.protocol_name.as_deref(), Some("range"));
        assert_eq!(answer.members.len(), 1);
        assert_eq!(answer.members[0].metadata, topics(&["t"]));
        assert_eq!(bench.state(), "CompletingRebalance");
    }
}

#[test]
fn before_version_4_a_dynamic_member_is_admitted_at_once() {
    for version in 0..4 {
        let mut bench = Bench::new();
        let token = bench.join(&Consumer { version, ..Consumer::new() });
        let answer = bench.joined(token);
        assert_eq!((answer.error_code, answer.generation_id), (0, 1), "version {version}");
        assert!(answer.member_id.starts_with("client-"));
    }
}

#[test]
fn version_0_has_one_timeout_for_session_and_rebalance() {
    let mut bench = Bench::new();
    let token = bench.join(&Consumer { version: 0, ..Consumer::new() });
    bench.joined(token);
    assert_eq!(bench.group().rebalance_timeout_ms(), SESSION_MS);
    let mut bench = Bench::new();
    let token = bench.join(&Consumer { version: 1, ..Consumer::new() });
    bench.joined(token);
    assert_eq!(bench.group().rebalance_timeout_ms(), REBALANCE_MS);
}

#[test]
fn a_pending_member_that_does_not_come_back_is_forgotten_after_its_session_timeout() {
    let mut bench = Bench::new();
    let consumer = Consumer::new();
    let id = bench.new_member_id(&consumer);
    bench.stepper.advance_ms(SESSION_MS as u64);
    let refused = bench.join_error(&consumer.as_member(&id));
    assert_eq!(refused, (ResponseError::UnknownMemberId, id));
}

#[test]
fn a_rebalance_waits_for_pending_members_until_they_are_forgotten() {
    let (mut bench, members) = Bench::stable(1);
    bench.new_member_id(&Consumer::new());
    let token = bench.join(&members[0]);
    assert!(bench.join_answer(token).is_none());
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!(bench.joined(token).generation_id, 2);
}

#[test]
fn a_second_member_makes_the_first_one_join_again() {
    let (mut bench, members) = Bench::stable(1);
    let second = Consumer::new();
    let id = bench.new_member_id(&second);
    assert_eq!(bench.state(), "Stable", "an id alone changes nothing");
    let second = bench.join(&second.as_member(&id));
    assert_eq!(bench.state(), "PreparingRebalance");
    assert_eq!(bench.heartbeat(&members[0]), Err(ResponseError::RebalanceInProgress));
    assert!(bench.join_answer(second).is_none());
    let first = bench.join(&members[0]);
    let (first, second) = (bench.joined(first), bench.joined(second));
    assert_eq!((first.generation_id, second.generation_id), (2, 2));
    assert_eq!((&*first.leader, &*second.leader), (&*first.member_id, &*first.member_id));
    assert_eq!((first.members.len(), second.members.len()), (2, 0));
}

#[test]
fn who_does_not_join_again_within_the_rebalance_timeout_is_out() {
    let (mut bench, members) = Bench::stable(3);
    let token = bench.join(&members[0]);
    bench.pass_ms(REBALANCE_MS as u64 - 1, &[&members[1], &members[2]]);
    assert!(bench.join_answer(token).is_none());
    bench.pass_ms(1, &[]);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, answer.members.len()), (3, 1));
    assert_eq!(bench.heartbeat(&members[1]), Err(ResponseError::UnknownMemberId));
}

#[test]
fn the_longest_rebalance_timeout_counts() {
    let mut bench = Bench::new();
    let slow = Consumer { rebalance_timeout_ms: 2 * REBALANCE_MS, ..Consumer::new() };
    let members = bench.settle(vec![Consumer::new(), slow, Consumer::new()]);
    let token = bench.join(&members[0]);
    bench.pass_ms(2 * REBALANCE_MS as u64 - 1, &[&members[1], &members[2]]);
    assert!(bench.join_answer(token).is_none());
    bench.pass_ms(1, &[]);
    bench.joined(token);
}

#[test]
fn a_leader_that_does_not_join_again_is_followed_by_one_that_does() {
    let (mut bench, members) = Bench::stable(2);
    let changed = Consumer { protocols: vec![("range", topics(&["u"]))], ..members[1].clone() };
    let token = bench.join(&changed);
    bench.pass_ms(REBALANCE_MS as u64, &[&members[0]]);
    let answer = bench.joined(token);
    assert_eq!(&*answer.leader, changed.member_id);
    assert_eq!(answer.members.len(), 1);
}

#[test]
fn a_member_that_waits_to_join_is_not_expected_to_send_heartbeats() {
    let (mut bench, members) = Bench::stable(2);
    let token = bench.join(&members[0]);
    bench.pass_ms(5 * SESSION_MS as u64, &[&members[1]]);
    assert!(bench.join_answer(token).is_none());
    assert_eq!(bench.size(), 2);
}

#[test]
fn a_new_member_is_waited_for_no_longer_than_five_minutes() {
    let mut bench = Bench::new();
    let patient = || Consumer { rebalance_timeout_ms: 1_800_000, ..Consumer::new() };
    let members = bench.settle(vec![patient()]);
    let id = bench.new_member_id(&patient());
    let token = bench.join(&patient().as_member(&id));
    bench.pass_ms(300_000 - 1, &[&members[0]]);
    assert!(bench.join_answer(token).is_none());
    bench.pass_ms(1, &[&members[0]]);
    let answer = bench.joined(token);
    assert_eq!(error(answer.error_code), ResponseError::UnknownMemberId);
    assert_eq!(&*answer.member_id, "", "it begins again as an unknown member");
}

#[test]
fn a_follower_with_the_same_subscription_is_told_the_current_generation() {
    let (mut bench, members) = Bench::stable(2);
    let token = bench.join(&members[1]);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, answer.members.len()), (2, 0));
    assert_eq!(&*answer.leader, members[0].member_id);
    assert_eq!(bench.state(), "Stable");
}

#[test]
fn a_leader_that_joins_again_begins_a_rebalance() {
    let (mut bench, members) = Bench::stable(2);
    let token = bench.join(&members[0]);
    assert!(bench.join_answer(token).is_none());
    assert_eq!(bench.state(), "PreparingRebalance");
}

#[test]
fn a_changed_subscription_begins_a_rebalance() {
    let (mut bench, members) = Bench::stable(2);
    let changed =
        Consumer { protocols: vec![("range", topics(&["t", "u"]))], ..members[1].clone() };
    let token = bench.join(&changed);
    assert!(bench.join_answer(token).is_none());
    assert_eq!(bench.state(), "PreparingRebalance");
    let leader = bench.join(&members[0]);
    let seen = bench.joined(leader).members;
    assert!(seen.iter().any(|member| member.metadata == topics(&["t", "u"])), "the leader sees it");
}

#[test]
fn while_members_sync_the_same_join_is_answered_again() {
    let mut bench = Bench::new();
    let consumer = Consumer { version: 3, ..Consumer::new() };
    let first = bench.join(&consumer);
    let first = bench.joined(first);
    let again = bench.join(&consumer.as_member(&first.member_id));
    assert_eq!(bench.joined(again), first);
}

#[test]
fn while_members_sync_a_changed_join_begins_another_rebalance() {
    let (mut bench, members) = Bench::stable(2);
    let tokens = [bench.join(&members[1]), bench.join(&members[0])];
    let _ = tokens.map(|token| bench.join_answer(token));
    let rejoined = [bench.join(&members[0]), bench.join(&members[1])];
    let _ = rejoined.map(|token| bench.join_answer(token));
    assert_eq!(bench.state(), "CompletingRebalance");
    let generation = bench.group().generation;
    let member = Consumer { generation, ..members[1].clone() };
    let waiting = bench.sync(&member, &[]);
    let changed = Consumer { protocols: vec![("range", topics(&["u"]))], ..members[1].clone() };
    let token = bench.join(&changed);
    assert_eq!(bench.state(), "PreparingRebalance");
    assert_eq!(error(bench.synced(waiting).error_code), ResponseError::RebalanceInProgress);
    let leader = bench.join(&members[0]);
    assert_eq!(bench.joined(leader).generation_id, generation + 1);
    assert_eq!(bench.joined(token).generation_id, generation + 1);
}

#[test]
fn a_join_that_is_sent_again_takes_the_place_of_the_first() {
    let (mut bench, members) = Bench::stable(2);
    let first = bench.join(&members[0]);
    let again = bench.join(&members[0]);
    assert_eq!(error(bench.joined(first).error_code), ResponseError::RebalanceInProgress);
    let follower = bench.join(&members[1]);
    assert_eq!(bench.joined(again).error_code, 0);
    assert_eq!(bench.joined(follower).error_code, 0);
}

#[test]
fn the_first_rebalance_waits_for_members_and_begins_again_with_each_new_one() {
    let mut bench = delayed(3_000);
    let consumer = Consumer { version: 3, ..Consumer::new() };
    let first = bench.join(&consumer);
    bench.stepper.advance_ms(2_000);
    let second = bench.join(&consumer);
    bench.stepper.advance_ms(3_999);
    assert!(bench.join_answer(first).is_none(), "3 s from the first, 3 s more for the second");
    bench.stepper.advance_ms(1);
    assert_eq!(bench.joined(first).members.len(), 2);
    assert_eq!(bench.joined(second).generation_id, 1);
}

#[test]
fn the_first_rebalance_ends_with_its_delay_if_nobody_else_comes() {
    let mut bench = delayed(3_000);
    let token = bench.join(&Consumer { version: 3, ..Consumer::new() });
    assert_eq!(bench.state(), "PreparingRebalance");
    bench.stepper.advance_ms(2_999);
    assert!(bench.join_answer(token).is_none());
    bench.stepper.advance_ms(1);
    assert_eq!(bench.joined(token).generation_id, 1);
}

#[test]
fn the_first_rebalance_takes_no_longer_than_the_rebalance_timeout() {
    let mut bench = delayed(3_000);
    let consumer = Consumer { version: 3, rebalance_timeout_ms: 7_000, ..Consumer::new() };
    let first = bench.join(&consumer);
    for _ in 0..3 {
        bench.stepper.advance_ms(2_000);
        bench.join(&consumer);
    }
    bench.stepper.advance_ms(999);
    assert!(bench.join_answer(first).is_none());
    bench.stepper.advance_ms(1);
    assert_eq!(bench.joined(first).members.len(), 4);
}

#[test]
fn a_group_that_is_left_during_its_first_wait_becomes_empty_when_that_ends() {
    let mut bench = delayed(3_000);
    let consumer = Consumer::new();
    let id = bench.new_member_id(&consumer);
    let member = consumer.as_member(&id);
    let token = bench.join(&member);
    assert_eq!(bench.leave_one(&member), 0);
    assert_eq!(error(bench.joined(token).error_code), ResponseError::UnknownMemberId);
    bench.stepper.advance_ms(3_000);
    assert_eq!((bench.state(), bench.group().generation), ("Empty", 1));
}

#[test]
fn members_vote_for_a_protocol_that_all_of_them_speak() {
    let mut bench = Bench::new();
    let speakers = [&["b", "a", "c"][..], &["a", "b"], &["a", "b", "d"]];
    let ids: Vec<_> = speakers
        .iter()
        .map(|protocols| {
            let consumer = Consumer::speaking(protocols);
            consumer.as_member(&bench.new_member_id(&consumer))
        })
        .collect();
    let first = bench.join(&ids[0]);
    assert_eq!(bench.joined(first).protocol_name.as_deref(), Some("b"), "its own preference");
    let tokens = [1, 2, 0].map(|at| bench.join(&ids[at]));
    for token in tokens {
        assert_eq!(bench.joined(token).protocol_name.as_deref(), Some("a"), "two votes of three");
    }
}

#[test]
fn a_member_that_shares_no_protocol_or_type_is_refused() {
    let (mut bench, members) = Bench::stable(1);
    let foreign = Consumer::speaking(&["roundrobin"]);
    assert_eq!(bench.join_error(&foreign).0, ResponseError::InconsistentGroupProtocol);
    let connect = Consumer { protocol_type: "connect", ..Consumer::new() };
    assert_eq!(bench.join_error(&connect).0, ResponseError::InconsistentGroupProtocol);
    assert_eq!(bench.heartbeat(&members[0]), Ok(()), "nobody else notices");
    let changed = Consumer { protocols: foreign.protocols, ..members[0].clone() };
    let (refused, id) = bench.join_error(&changed);
    assert_eq!((refused, &id), (ResponseError::InconsistentGroupProtocol, &members[0].member_id));
}

#[test]
fn an_empty_group_may_take_another_protocol_type() {
    let (mut bench, members) = Bench::stable(1);
    assert_eq!(bench.leave_one(&members[0]), 0);
    let connect = Consumer { protocol_type: "connect", version: 3, ..Consumer::new() };
    let token = bench.join(&connect);
    assert_eq!(bench.joined(token).protocol_type.as_deref(), Some("connect"));
}

#[test]
fn a_full_group_takes_no_new_members() {
    let mut bench = Bench::with(GroupSettings { group_max_size: 2, ..GroupSettings::default() });
    let members = bench.settle(vec![Consumer::new(); 2]);
    let refused = bench.join_error(&Consumer::new());
    assert_eq!(refused, (ResponseError::GroupMaxSizeReached, String::new()));
    assert_eq!(bench.state(), "Stable");
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    for token in tokens {
        assert_eq!(bench.joined(token).error_code, 0, "its own members may");
    }
}

#[test]
fn while_members_join_a_group_that_is_too_large_loses_the_last_of_them() {
    let (mut bench, members) = Bench::stable(3);
    let settings = GroupSettings { group_max_size: 2, ..GroupSettings::default() };
    bench.stepper.machine.settings = Arc::new(settings);
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    assert_eq!(bench.join_error(&members[2]).0, ResponseError::GroupMaxSizeReached);
    for token in tokens {
        assert_eq!(bench.joined(token).generation_id, 3);
    }
    assert_eq!(bench.size(), 2);
}
