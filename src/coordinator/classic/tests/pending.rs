//! Ids that were given out, and what becomes of them.

use super::super::pending::PENDING_MAX;
use super::*;

#[test]
fn a_group_waits_for_so_many_ids_and_the_oldest_makes_way() {
    let (mut bench, members) = Bench::stable(1);
    let ids: Vec<String> =
        (0..PENDING_MAX + 2).map(|_| bench.new_member_id(&Consumer::new())).collect();
    assert_eq!(bench.group().pending.iter().count(), PENDING_MAX);
    for forgotten in &ids[..2] {
        let refused = bench.join_error(&Consumer::new().as_member(forgotten));
        assert_eq!(refused, (ResponseError::UnknownMemberId, forgotten.clone()));
    }
    let newest = bench.join(&Consumer::new().as_member(&ids[PENDING_MAX + 1]));
    let first = bench.join(&members[0]);
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!(bench.joined(newest).generation_id, 2);
    assert_eq!(bench.joined(first).generation_id, 2);
    assert!(bench.group().pending.is_empty());
}

#[test]
fn abandoned_ids_cost_nothing_once_their_time_is_up() {
    let (mut bench, members) = Bench::stable(2);
    let before = bench.stepper.log.len();
    for _ in 0..500 {
        bench.new_member_id(&Consumer::new());
        bench.pass_ms(10, &[&members[0], &members[1]]);
    }
    bench.pass_ms(SESSION_MS as u64, &[&members[0], &members[1]]);
    assert!(bench.group().pending.is_empty());
    assert_eq!((bench.state(), bench.size()), ("Stable", 2));
    assert_eq!(bench.stepper.log.len(), before, "nothing was written of them");
}

#[test]
fn a_client_that_asked_twice_is_in_once_its_first_id_is_forgotten_or_has_left() {
    for leaves in [false, true] {
        let mut bench = Bench::new();
        let ghost = bench.new_member_id(&Consumer::new());
        let member = bench.new_member_id(&Consumer::new());
        if leaves {
            assert_eq!(bench.leave_one(&Consumer::new().as_member(&ghost)), 0);
        }
        // The first generation of a group waits for nobody; the next one does.
        let first = bench.join(&Consumer::new().as_member(&member));
        let generation = bench.joined(first).generation_id;
        let other = bench.join(&Consumer { version: 3, ..Consumer::new() });
        let again = bench.join(&Consumer::new().as_member(&member));
        assert_eq!(bench.join_answer(again).is_some(), leaves);
        if !leaves {
            bench.stepper.advance_ms(SESSION_MS as u64 - 1);
            assert!(bench.join_answer(other).is_none());
            bench.stepper.advance_ms(1);
        }
        assert_eq!(bench.joined(other).generation_id, generation + 1);
    }
}

#[test]
fn the_last_member_that_dies_beside_a_pending_one_leaves_an_empty_group() {
    let (mut bench, members) = Bench::stable(1);
    // Half in: it asks for an id and says nothing more, for longer than the member lives.
    let silent = Consumer { session_timeout_ms: 4 * SESSION_MS, ..Consumer::new() };
    let pending = bench.new_member_id(&silent);
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
    assert_eq!(bench.group().generation, members[0].generation + 1);
    let written = bench.written().expect("a group");
    assert_eq!((written.generation, written.members.len()), (2, 0));
    let token = bench.join(&Consumer { version: 3, ..Consumer::new() });
    let joined = bench.joined(token);
    assert_eq!((joined.error_code, joined.members.len()), (0, 1));
    assert!(bench.group().pending.get(&pending).is_some());
}

#[test]
fn who_dies_or_leaves_while_a_pending_one_holds_up_the_join_leaves_no_group_that_waits_for_ever() {
    for leaves in [false, true] {
        let (mut bench, members) = Bench::stable(2);
        let pending = bench.new_member_id(&Consumer::new());
        let waiting = bench.join(&members[0]);
        assert!(bench.join_answer(waiting).is_none(), "for the other one and the pending one");
        if leaves {
            for member in &members {
                assert_eq!(bench.leave_one(member), 0);
            }
        }
        bench.stepper.advance_ms(REBALANCE_MS as u64 * 6);
        assert_eq!(bench.join_answer(waiting).map(|it| it.error_code != 0), Some(leaves));
        assert!(bench.group().pending.get(&pending).is_none());
        assert_ne!(bench.state(), "PreparingRebalance");
        if leaves {
            assert_eq!((bench.state(), bench.size()), ("Empty", 0));
        }
    }
}
