//! What a group allows with its offsets.

use kafka_protocol::messages::{OffsetCommitRequest, TxnOffsetCommitRequest};

use super::*;
use crate::coordinator::Footprint;
use crate::coordinator::classic::{self, OffsetExpiry};
use crate::types::{Timestamp, TopicName};

fn commit_request(member: &Consumer) -> OffsetCommitRequest {
    OffsetCommitRequest::default()
        .with_group_id(text(GROUP).into())
        .with_generation_id_or_member_epoch(member.generation)
        .with_member_id(text(&member.member_id))
        .with_group_instance_id(member.instance.map(text))
}

fn nobody() -> Consumer {
    Consumer::new()
}

impl Bench {
    fn check_commit(&mut self, member: &Consumer) -> Result<(), ResponseError> {
        self.check_commit_in(9, member)
    }

    fn check_commit_in(&mut self, version: i16, member: &Consumer) -> Result<(), ResponseError> {
        let call = call(version, commit_request(member));
        self.stepper.turn(|groups, turn| classic::check_commit(groups, turn, &call))
    }

    fn is_subscribed(&self, topic: &str) -> bool {
        let topic = TopicName::new(topic).expect("a legal name");
        let (groups, hard) = (&self.stepper.machine, &self.stepper.hard);
        classic::is_subscribed(groups, hard, &GroupId::new(GROUP), &topic)
    }

    fn offset_expiry(&self) -> OffsetExpiry {
        classic::offset_expiry(&self.stepper.machine, &GroupId::new(GROUP))
    }

    fn check_delete_offsets(&self) -> Result<(), ResponseError> {
        classic::check_delete_offsets(&self.stepper.machine, &GroupId::new(GROUP))
    }

    fn delete(&mut self) -> Result<(), ResponseError> {
        self.stepper.turn(|groups, turn| classic::delete(groups, turn, &GroupId::new(GROUP)))
    }
}

#[test]
fn members_commit_in_their_generation_only() {
    let (mut bench, members) = Bench::stable(1);
    let member = &members[0];
    assert_eq!(bench.check_commit(member), Ok(()));
    let in_generation = |generation| Consumer { generation, ..member.clone() };
    for generation in [-1, 0, 2, i32::MIN] {
        let refused = bench.check_commit(&in_generation(generation));
        assert_eq!(refused, Err(ResponseError::IllegalGeneration), "{generation}");
    }
    let stranger = Consumer { generation: 1, ..nobody().as_member("stranger") };
    assert_eq!(bench.check_commit(&stranger), Err(ResponseError::UnknownMemberId));
    assert_eq!(bench.check_commit(&nobody()), Err(ResponseError::UnknownMemberId));
    let strange = Consumer { instance: Some("i"), ..member.clone() };
    assert_eq!(bench.check_commit(&strange), Err(ResponseError::UnknownMemberId));
}

#[test]
fn a_commit_with_an_instance_of_another_member_is_fenced() {
    let mut bench = Bench::new();
    let members = bench.settle(vec![Consumer::with_instance("i"), Consumer::new()]);
    let strange = Consumer { instance: Some("i"), ..members[1].clone() };
    assert_eq!(bench.check_commit(&strange), Err(ResponseError::FencedInstanceId));
}

#[test]
fn members_may_commit_before_they_join_again_but_not_before_they_sync() {
    let (mut bench, members) = Bench::stable(2);
    let token = bench.join(&members[0]);
    assert_eq!(bench.state(), "PreparingRebalance");
    assert_eq!(bench.check_commit(&members[1]), Ok(()));
    let other = bench.join(&members[1]);
    let generation = bench.joined(token).generation_id;
    bench.joined(other);
    assert_eq!(bench.state(), "CompletingRebalance");
    let member = Consumer { generation, ..members[1].clone() };
    assert_eq!(bench.check_commit(&member), Err(ResponseError::RebalanceInProgress));
    assert_eq!(bench.check_commit(&members[1]), Err(ResponseError::IllegalGeneration));
}

#[test]
fn a_commit_keeps_the_session_alive() {
    let (mut bench, members) = Bench::stable(1);
    for _ in 0..5 {
        bench.stepper.advance_ms(SESSION_MS as u64 - 1);
        assert_eq!(bench.check_commit(&members[0]), Ok(()));
    }
    assert_eq!(bench.size(), 1);
}

#[test]
fn without_a_generation_offsets_are_committed_for_an_empty_group_only() {
    let (mut bench, members) = Bench::stable(1);
    assert_eq!(bench.check_commit(&nobody()), Err(ResponseError::UnknownMemberId));
    bench.leave_one(&members[0]);
    assert_eq!(bench.check_commit(&nobody()), Ok(()));
    let named = nobody().as_member("anybody");
    assert_eq!(bench.check_commit(&named), Ok(()), "as Kafka does");
    assert_eq!(bench.check_commit(&members[0]), Err(ResponseError::UnknownMemberId));
}

#[test]
fn a_commit_for_a_group_that_does_not_exist_depends_on_generation_and_version() {
    let mut bench = Bench::new();
    assert_eq!(bench.check_commit(&nobody()), Ok(()));
    let member = Consumer { generation: 1, ..nobody().as_member("m") };
    for version in 2..9 {
        let refused = bench.check_commit_in(version, &member);
        assert_eq!(refused, Err(ResponseError::IllegalGeneration));
    }
    assert_eq!(bench.check_commit_in(9, &member), Err(ResponseError::GroupIdNotFound));
    assert_eq!(bench.state(), "Dead");
}

#[test]
fn topics_of_the_current_generation_are_subscribed() {
    let mut bench = Bench::new();
    let other = Consumer { protocols: vec![("range", topics(&["u", "v"]))], ..Consumer::new() };
    let members = bench.settle(vec![Consumer::new(), other]);
    assert!(["t", "u", "v"].iter().all(|topic| bench.is_subscribed(topic)));
    assert!(!bench.is_subscribed("w"));
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Committed);
    assert_eq!(bench.check_delete_offsets(), Ok(()));
    for member in &members {
        bench.leave_one(member);
    }
    assert!(!bench.is_subscribed("t"));
}

#[test]
fn consumers_with_a_subscription_that_cannot_be_read_may_subscribe_to_anything() {
    let mut bench = Bench::new();
    let foreign =
        Consumer { protocols: vec![("range", Bytes::from_static(b"?"))], ..Consumer::new() };
    bench.settle(vec![foreign]);
    assert!(bench.is_subscribed("anything"));
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Never);
}

#[test]
fn what_is_no_consumer_subscribes_to_nothing_and_keeps_its_offsets() {
    let mut bench = Bench::new();
    let connect = Consumer { protocol_type: "connect", version: 3, ..Consumer::new() };
    let token = bench.join(&connect);
    bench.joined(token);
    assert!(!bench.is_subscribed("t"));
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Never);
    assert_eq!(bench.check_delete_offsets(), Err(ResponseError::NonEmptyGroup));
}

#[test]
fn retention_counts_from_the_time_at_which_the_last_member_left() {
    let (mut bench, members) = Bench::stable(1);
    bench.pass_ms(60_000, &[&members[0]]);
    let left_at = bench.stepper.now.wall;
    bench.leave_one(&members[0]);
    bench.stepper.advance_ms(1_000);
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Since(left_at));
    assert_eq!(bench.check_delete_offsets(), Ok(()));
    let mut value = bench.written().expect("a group").clone();
    value.current_state_timestamp = Timestamp::new(-1);
    let old = classic::persist::restored(&GroupId::new(GROUP), &value, &Footprint::default());
    bench.stepper.machine.classic.insert(GroupId::new(GROUP), old);
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Committed, "a record that does not say");
}

#[test]
fn offsets_of_a_rebalancing_group_do_not_expire() {
    let (mut bench, members) = Bench::stable(2);
    bench.join(&members[0]);
    assert_eq!(bench.offset_expiry(), OffsetExpiry::Never);
}

#[test]
fn only_an_empty_group_is_deleted_and_nothing_of_it_is_left() {
    let (mut bench, members) = Bench::stable(1);
    assert_eq!(bench.delete(), Err(ResponseError::NonEmptyGroup));
    bench.leave_one(&members[0]);
    let pending = bench.new_member_id(&Consumer::new());
    assert_eq!(bench.delete(), Ok(()));
    assert_eq!((bench.state(), bench.written()), ("Dead", None));
    assert!(bench.stepper.log.compacted().is_empty());
    assert_eq!(bench.delete(), Err(ResponseError::GroupIdNotFound));
    let refused = bench.join_error(&Consumer::new().as_member(&pending));
    assert_eq!(refused.0, ResponseError::UnknownMemberId);
    bench.stepper.advance_ms(u64::from(u32::MAX));
}

#[test]
fn in_a_transaction_neither_the_state_nor_a_missing_name_stands_in_the_way() {
    let (mut bench, members) = Bench::stable(2);
    let check = |bench: &Bench, member: &Consumer| {
        let request = TxnOffsetCommitRequest::default()
            .with_group_id(text(GROUP).into())
            .with_generation_id(member.generation)
            .with_member_id(text(&member.member_id))
            .with_group_instance_id(member.instance.map(text));
        classic::check_commit_in_transaction(&bench.stepper.machine, &request)
    };
    let member = &members[0];
    assert_eq!(check(&bench, member), Ok(()));
    assert_eq!(check(&bench, &nobody()), Ok(()), "versions that cannot name a member");
    for generation in [-1, 1, 3] {
        let refused = check(&bench, &Consumer { generation, ..member.clone() });
        assert_eq!(refused, Err(ResponseError::IllegalGeneration), "{generation}");
    }
    for stranger in [
        Consumer { generation: 2, ..nobody() },
        Consumer { generation: 2, ..nobody().as_member("stranger") },
        Consumer { instance: Some("i"), ..member.clone() },
        nobody().as_member("stranger"),
    ] {
        assert_eq!(check(&bench, &stranger), Err(ResponseError::UnknownMemberId));
    }
    let token = bench.join(&members[0]);
    assert_eq!((bench.state(), check(&bench, &members[1])), ("PreparingRebalance", Ok(())));
    let other = bench.join(&members[1]);
    let generation = bench.joined(token).generation_id;
    bench.joined(other);
    let joined = Consumer { generation, ..members[1].clone() };
    assert_eq!((bench.state(), check(&bench, &joined)), ("CompletingRebalance", Ok(())));
}

#[test]
fn in_a_transaction_an_instance_of_another_member_is_fenced() {
    let mut bench = Bench::new();
    let members = bench.settle(vec![Consumer::with_instance("i"), Consumer::new()]);
    let request = TxnOffsetCommitRequest::default()
        .with_group_id(text(GROUP).into())
        .with_generation_id(members[1].generation)
        .with_member_id(text(&members[1].member_id))
        .with_group_instance_id(Some(text("i")));
    let refused = classic::check_commit_in_transaction(&bench.stepper.machine, &request);
    assert_eq!(refused, Err(ResponseError::FencedInstanceId));
}
