//! Requests that no client should send: Kafka's error, and nothing left behind.

use super::*;

#[test]
fn a_first_join_that_is_refused_leaves_no_group_behind() {
    let nameless = |consumer: &Consumer| consumer.join_request().with_group_id(text("").into());
    let good = Consumer::new();
    let cases = [
        (nameless(&good), ResponseError::InvalidGroupId),
        (good.join_request().with_session_timeout_ms(5_999), ResponseError::InvalidSessionTimeout),
        (
            good.join_request().with_session_timeout_ms(1_800_001),
            ResponseError::InvalidSessionTimeout,
        ),
        (good.join_request().with_session_timeout_ms(-1), ResponseError::InvalidSessionTimeout),
        (
            good.join_request().with_session_timeout_ms(i32::MIN),
            ResponseError::InvalidSessionTimeout,
        ),
        (good.join_request().with_protocols(Vec::new()), ResponseError::InconsistentGroupProtocol),
        (
            good.join_request().with_protocol_type(text("")),
            ResponseError::InconsistentGroupProtocol,
        ),
        (good.join_request().with_member_id(text("stranger")), ResponseError::UnknownMemberId),
    ];
    for (request, expected) in cases {
        for version in 0..=JOIN {
            let mut bench = Bench::new();
            let token = bench.send_join(version, request.clone());
            let answer = bench.joined(token);
            assert_eq!(error(answer.error_code), expected, "{request:?}");
            assert_eq!(answer.member_id, request.member_id);
            assert_eq!(bench.state(), "Dead");
            assert!(bench.stepper.log.is_empty() && bench.stepper.machine.classic.is_empty());
        }
    }
}

#[test]
fn session_timeouts_at_the_bounds_are_in_order() {
    for session_timeout_ms in [6_000, 1_800_000] {
        let mut bench = Bench::new();
        let token = bench.join(&Consumer { version: 3, session_timeout_ms, ..Consumer::new() });
        assert_eq!(bench.joined(token).error_code, 0);
    }
}

#[test]
fn any_rebalance_timeout_is_survived() {
    for rebalance_timeout_ms in [i32::MIN, -1, 0, i32::MAX] {
        for group_initial_rebalance_delay_ms in [0, 3_000, i32::MAX] {
            let settings =
                GroupSettings { group_initial_rebalance_delay_ms, ..GroupSettings::default() };
            let mut bench = Bench::with(settings);
            let consumer = Consumer { version: 3, rebalance_timeout_ms, ..Consumer::new() };
            let tokens = [bench.join(&consumer), bench.join(&consumer)];
            bench.stepper.advance_ms(u64::from(u32::MAX) * 2);
            assert!(tokens.into_iter().all(|token| bench.join_answer(token).is_some()));
        }
    }
}

#[test]
fn a_pending_member_with_an_instance_is_refused_and_stays_pending() {
    let mut bench = Bench::new();
    let id = bench.new_member_id(&Consumer::new());
    let refused = bench.join_error(&Consumer::with_instance("i").as_member(&id));
    assert_eq!(refused.0, ResponseError::UnknownServerError);
    assert_eq!(bench.size(), 0);
    let token = bench.join(&Consumer::new().as_member(&id));
    assert_eq!(bench.joined(token).error_code, 0);
}

#[test]
fn an_unknown_instance_of_a_known_member_is_refused() {
    let (mut bench, members) = Bench::stable(2);
    let strange = Consumer { instance: Some("i"), ..members[0].clone() };
    assert_eq!(bench.join_error(&strange).0, ResponseError::UnknownMemberId);
    assert_eq!(bench.heartbeat(&strange), Err(ResponseError::UnknownMemberId));
    assert_eq!(bench.heartbeat(&members[0]), Ok(()));
}

#[test]
fn members_of_other_groups_are_strangers() {
    let (mut bench, members) = Bench::stable(1);
    let other = members[0].join_request().with_group_id(text("other").into());
    let token = bench.send_join(JOIN, other);
    assert_eq!(error(bench.joined(token).error_code), ResponseError::UnknownMemberId);
    assert_eq!(bench.stepper.machine.classic.len(), 1);
}

#[test]
fn a_protocol_that_is_named_twice_counts_once() {
    let mut bench = Bench::new();
    let twice = Consumer {
        version: 3,
        protocols: vec![("range", topics(&["t"])), ("range", topics(&["u"]))],
        ..Consumer::new()
    };
    let token = bench.join(&twice);
    let answer = bench.joined(token);
    assert_eq!(answer.protocol_name.as_deref(), Some("range"));
    assert_eq!(answer.members[0].metadata, topics(&["t"]), "the first of a name");
    let second = bench.join(&Consumer { version: 3, ..Consumer::new() });
    let first = bench.join(&twice.as_member(&answer.member_id));
    assert_eq!(bench.joined(first).error_code, 0);
    assert_eq!(bench.joined(second).error_code, 0);
}

#[test]
fn foreign_bytes_in_a_subscription_are_passed_on_unread() {
    let mut bench = Bench::new();
    let garbage = Bytes::from_static(b"\xff\xff\xff\xff\xff");
    let foreign =
        Consumer { version: 3, protocols: vec![("range", garbage.clone())], ..Consumer::new() };
    let token = bench.join(&foreign);
    assert_eq!(bench.joined(token).members[0].metadata, garbage);
}
