//! A thousand members in one group.

use super::*;

const SIZE: usize = 1_000;

#[test]
fn a_thousand_members_settle_in_two_generations() {
    let (bench, members) = Bench::stable(SIZE);
    assert_eq!((bench.state(), bench.size()), ("Stable", SIZE));
    assert!(members.iter().all(|member| member.generation == 2));
}

#[test]
fn a_thousand_members_that_fall_silent_leave_an_empty_group() {
    let (mut bench, _) = Bench::stable(SIZE);
    bench.stepper.advance_ms(SESSION_MS as u64);
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
}

#[test]
fn a_thousand_members_leave_one_after_another() {
    let (mut bench, members) = Bench::stable(SIZE);
    for member in &members {
        assert_eq!(bench.leave_one(member), 0);
    }
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
}

#[test]
fn heartbeats_write_nothing() {
    let (mut bench, members) = Bench::stable(SIZE);
    let before = bench.stepper.log.len();
    for member in &members {
        assert_eq!(bench.heartbeat(member), Ok(()));
    }
    assert_eq!(bench.stepper.log.len(), before);
}
