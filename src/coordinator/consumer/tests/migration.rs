//! Classic members in groups of the new protocol, and groups that change their protocol.

use bytes::Bytes;
use kafka_protocol::ResponseError as E;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
    SyncGroupResponse,
};

use super::super::embedded::{NamedPartitions, read_assignment, write_assignment};
use super::*;
use crate::coordinator::groups::Migration;

const CLASSIC_SESSION_MS: i32 = 10_000;

/// A consumer of the classic protocol, cooperative: it keeps what it has while it joins.
#[derive(Clone, Debug)]
struct Classic {
    id: String,
    instance: Option<&'static str>,
    generation: i32,
    owned: Vec<i32>,
}

impl Classic {
    fn new() -> Self {
        Self { id: String::new(), instance: None, generation: -1, owned: Vec::new() }
    }

    fn with_instance(instance: &'static str) -> Self {
        Self { instance: Some(instance), ..Self::new() }
    }

    /// Version 1: topic `t`, owned partitions.
    fn subscription(&self) -> Bytes {
        let owned = [("t".to_owned(), self.owned.clone())];
        let owned = if self.owned.is_empty() { &[][..] } else { &owned[..] };
        // An assignment is laid out like the end of a subscription, but for its version and its end.
        let tail = write_assignment(b"\x00\x01", owned);
        let mut bytes = b"\x00\x01\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff".to_vec();
        bytes.extend_from_slice(&tail[2..tail.len() - 4]);
        bytes.into()
    }

    fn join(&self) -> GroupCommand {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(text("cooperative-sticky"))
            .with_metadata(self.subscription());
        let request = JoinGroupRequest::default()
            .with_group_id(text(GROUP).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_session_timeout_ms(CLASSIC_SESSION_MS)
            .with_rebalance_timeout_ms(REBALANCE_MS)
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol]);
        GroupCommand::Join(Call { version: 9, client: client(), request })
    }

    fn sync(&self) -> SyncGroupRequest {
        SyncGroupRequest::default()
            .with_group_id(text(GROUP).into())
            .with_member_id(text(&self.id))
            .with_group_instance_id(self.instance.map(text))
            .with_generation_id(self.generation)
            .with_protocol_type(Some(text("consumer")))
            .with_protocol_name(Some(text("cooperative-sticky")))
    }
}

fn joined(reply: GroupReply) -> JoinGroupResponse {
    match reply {
        GroupReply::Join(response) => response,
        other => panic!("{other:?}"),
    }
}

fn given(response: &SyncGroupResponse) -> Vec<i32> {
    let assignment = read_assignment(&response.assignment).expect("an assignment");
    assignment.partitions.into_iter().flat_map(|(_, partitions)| partitions).collect()
}

impl Bench {
    fn heartbeat(&mut self, member: &Classic) -> Option<E> {
        let request = HeartbeatRequest::default()
            .with_group_id(text(GROUP).into())
            .with_member_id(text(&member.id))
            .with_group_instance_id(member.instance.map(text))
            .with_generation_id(member.generation);
        let call = Call { version: 4, client: client(), request };
        match self.stepper.ask(GroupCommand::Heartbeat(call)) {
            GroupReply::Heartbeat(response) => E::try_from_code(response.error_code),
            other => panic!("{other:?}"),
        }
    }

    fn ask_sync(&mut self, request: SyncGroupRequest) -> SyncGroupResponse {
        let call = Call { version: 5, client: client(), request };
        match self.stepper.ask(GroupCommand::Sync(call)) {
            GroupReply::Sync(response) => response,
            other => panic!("{other:?}"),
        }
    }

    fn leave(&mut self, member: &str, instance: Option<&str>) -> Option<E> {
        let who = MemberIdentity::default()
            .with_member_id(text(member))
            .with_group_instance_id(instance.map(text));
        let request =
            LeaveGroupRequest::default().with_group_id(text(GROUP).into()).with_members(vec![who]);
        let call = Call { version: 5, client: client(), request };
        match self.stepper.ask(GroupCommand::Leave(call)) {
            GroupReply::Leave(response) => E::try_from_code(response.members[0].error_code),
            other => panic!("{other:?}"),
        }
    }

    /// Join and sync of a member in a group of the new protocol.
    fn rejoin(&mut self, member: &mut Classic) {
        let mut response = joined(self.stepper.ask(member.join()));
        if response.error_code == E::MemberIdRequired.code() {
            member.id = response.member_id.to_string();
            response = joined(self.stepper.ask(member.join()));
        }
        assert_eq!(response.error_code, 0, "{member:?}");
        member.id = response.member_id.to_string();
        member.generation = response.generation_id;
        let synced = self.ask_sync(member.sync());
        assert_eq!(synced.error_code, 0, "{member:?}");
        member.owned = given(&synced);
    }

    /// Heartbeats, and a join whenever one says so.
    fn follow(&mut self, member: &mut Classic) {
        match self.heartbeat(member) {
            None => {}
            Some(E::RebalanceInProgress) => self.rejoin(member),
            other => panic!("{member:?}: {other:?}"),
        }
    }

    /// A classic group of one member that has all partitions.
    fn classic_group(&mut self) -> Classic {
        let mut member = Classic::new();
        let response = joined(self.stepper.ask(member.join()));
        member.id = response.member_id.to_string();
        let response = joined(self.stepper.ask(member.join()));
        assert_eq!(response.error_code, 0);
        member.generation = response.generation_id;
        let all: Vec<NamedPartitions> = vec![("t".to_owned(), vec![0, 1, 2, 3])];
        let assignment = SyncGroupRequestAssignment::default()
            .with_member_id(text(&member.id))
            .with_assignment(write_assignment(b"\x00\x01", &all));
        let synced = self.ask_sync(member.sync().with_assignments(vec![assignment]));
        member.owned = given(&synced);
        assert_eq!(member.owned, [0, 1, 2, 3]);
        member
    }
}

fn with_topic(settings: GroupSettings) -> Bench {
    let mut bench = Bench::with(settings);
    bench.stepper.topic("t", 4);
    bench
}

#[test]
fn a_group_is_rolled_over_to_the_new_protocol_and_back() {
    let mut bench = with_topic(settings());
    let mut old = bench.classic_group();
    let mark = bench.mark();
    let mut new = Consumer::new("n", &["t"]);
    bench.join(&mut new);
    let id = old.id.clone();
    assert_eq!(
        bench.written(mark),
        [
            "-classic".to_owned(),
            format!("member {id}"),
            "group 1".to_owned(),
            format!("target {id}"),
            "targets 1".to_owned(),
            format!("current {id} 1"),
            "member n".to_owned(),
            "group 2".to_owned(),
            format!("target {id}"),
            "target n".to_owned(),
            "targets 2".to_owned(),
            "current n 2".to_owned(),
        ]
    );
    assert_eq!(new.owned.len(), 0, "the old member has everything still");

    // The old member is told to join, lets go, joins again, and the new one gets its part.
    assert_eq!(bench.heartbeat(&old), Some(E::RebalanceInProgress));
    bench.rejoin(&mut old);
    assert_eq!((old.generation, old.owned.clone()), (1, vec![0, 1]));
    bench.follow(&mut old);
    assert_eq!((old.generation, old.owned.clone()), (2, vec![0, 1]));
    bench.beat(&mut new);
    assert_eq!(new.partitions(), [2, 3]);
    assert_eq!(bench.heartbeat(&old), None);
    bench.stepper.restart();
    assert_eq!(bench.heartbeat(&old), None);
    bench.settle(&mut [&mut new]);

    // The new one leaves: a classic group again, which rebalances.
    let mark = bench.mark();
    bench.send(Consumer { epoch: -1, ..new.clone() }.delta());
    assert_eq!(
        bench.written(mark),
        [
            format!("-current {id}"),
            "-current n".to_owned(),
            format!("-target {id}"),
            "-target n".to_owned(),
            "-targets".to_owned(),
            format!("-member {id}"),
            "-member n".to_owned(),
            "-partitions".to_owned(),
            "-group".to_owned(),
            "classic".to_owned(),
        ]
    );
    assert_eq!(bench.heartbeat(&old), Some(E::RebalanceInProgress));
    let response = joined(bench.stepper.ask(old.join()));
    assert_eq!((response.error_code, response.generation_id), (0, 3));
    assert_eq!(&*response.leader, id, "it leads");
}

#[test]
fn the_policy_says_which_way_a_group_may_go() {
    for (policy, upgrades, downgrades) in [
        (Migration::Disabled, false, false),
        (Migration::Upgrade, true, false),
        (Migration::Downgrade, false, true),
        (Migration::Bidirectional, true, true),
    ] {
        let mut bench = with_topic(GroupSettings { consumer_migration: policy, ..settings() });
        let old = bench.classic_group();
        let mark = bench.mark();
        let new = Consumer::new("n", &["t"]);
        let refused = (!upgrades).then_some(E::GroupIdNotFound);
        assert_eq!(bench.error(new.full()), refused, "{policy:?}");
        assert_eq!(bench.mark() == mark, !upgrades, "{policy:?}");
        if upgrades {
            bench.send(Consumer { epoch: -1, ..new }.delta());
            let is_classic =
                matches!(bench.stepper.hard.groups.get(GROUP), Some(HardGroup::Classic(_)));
            assert_eq!(is_classic, downgrades, "{policy:?}");
        }
        assert_ne!(bench.heartbeat(&old), Some(E::UnknownMemberId), "{policy:?}");
    }
}

#[test]
fn classic_members_join_a_group_of_the_new_protocol_unless_that_is_disabled() {
    let mut bench = with_topic(settings());
    let mut new = Consumer::new("n", &["t"]);
    bench.join(&mut new);
    let mut old = Classic::new();
    let first = joined(bench.stepper.ask(old.join()));
    assert_eq!(first.error_code, E::MemberIdRequired.code());
    assert!(!first.member_id.is_empty());
    bench.rejoin(&mut old);
    assert_eq!((old.generation, old.owned.len()), (3, 0));
    bench.settle(&mut [&mut new]);
    assert_eq!(bench.heartbeat(&old), Some(E::RebalanceInProgress), "its part is free now");
    bench.rejoin(&mut old);
    assert_eq!((old.generation, old.owned.len(), new.owned.len()), (3, 2, 2));

    let disabled = GroupSettings { consumer_migration: Migration::Disabled, ..settings() };
    let mut bench = with_topic(disabled);
    bench.join(&mut Consumer::new("n", &["t"]));
    let response = joined(bench.stepper.ask(Classic::new().join()));
    assert_eq!(response.error_code, E::InconsistentGroupProtocol.code());
}

#[test]
fn an_empty_group_takes_the_protocol_of_the_next_member() {
    let mut bench = with_topic(settings());
    let new = Consumer::new("n", &["t"]);
    bench.send(new.full());
    bench.send(Consumer { epoch: -1, ..new.clone() }.delta());
    let mark = bench.mark();
    let old = bench.classic_group();
    assert_eq!(bench.written(mark)[..3], ["-targets", "-partitions", "-group"]);
    bench.leave(&old.id, None);
    let mark = bench.mark();
    assert_eq!(bench.send(new.full()).error_code, 0);
    assert_eq!(bench.written(mark)[..2], ["-classic", "member n"]);
}

#[test]
fn requests_of_the_classic_protocol_are_checked() {
    let mut bench = with_topic(settings());
    let mut new = Consumer::new("n", &["t"]);
    bench.join(&mut new);
    let mut old = Classic::new();
    bench.rejoin(&mut old);
    let of_new = Classic { id: "n".to_owned(), generation: 2, ..Classic::new() };
    assert_eq!(bench.heartbeat(&of_new), Some(E::UnknownMemberId), "it does not speak classic");
    assert_eq!(bench.ask_sync(of_new.sync()).error_code, E::UnknownMemberId.code());
    let stranger = Classic { id: "x".to_owned(), ..old.clone() };
    assert_eq!(bench.heartbeat(&stranger), Some(E::UnknownMemberId));
    assert_eq!(bench.leave("x", None), Some(E::UnknownMemberId));
    let ahead = Classic { generation: 9, ..old.clone() };
    assert_eq!(bench.heartbeat(&ahead), Some(E::IllegalGeneration));
    assert_eq!(bench.ask_sync(ahead.sync()).error_code, E::IllegalGeneration.code());
    let other = old.sync().with_protocol_name(Some(text("range")));
    assert_eq!(bench.ask_sync(other).error_code, E::InconsistentGroupProtocol.code());
    let mark = bench.mark();
    for break_it in [
        |request: &mut JoinGroupRequest| request.protocol_type = text("connect"),
        |request: &mut JoinGroupRequest| request.protocols.clear(),
        |request: &mut JoinGroupRequest| request.protocols[0].metadata = Bytes::from_static(b"x"),
        |request: &mut JoinGroupRequest| request.session_timeout_ms = 1,
        |request: &mut JoinGroupRequest| request.group_instance_id = Some(text("unknown")),
    ] {
        let GroupCommand::Join(mut call) = old.join() else { panic!() };
        break_it(&mut call.request);
        let response = joined(bench.stepper.ask(GroupCommand::Join(call)));
        assert_ne!(response.error_code, 0);
    }
    assert_eq!(bench.mark(), mark);
}

#[test]
fn a_classic_member_that_is_not_heard_of_is_removed() {
    let mut bench = with_topic(settings());
    let mut new = Consumer::new("n", &["t"]);
    bench.join(&mut new);
    let mut old = Classic::new();
    bench.rejoin(&mut old);
    bench.stepper.advance_ms(9_999);
    assert!(bench.is_member(&old.id));
    bench.stepper.advance_ms(1);
    assert!(!bench.is_member(&old.id), "its own session time-out");
}

#[test]
fn a_classic_member_that_does_not_do_what_it_is_told_is_removed() {
    let mut bench = with_topic(settings());
    let (mut new, mut old) = (Consumer::new("n", &["t"]), Classic::new());
    bench.join(&mut new);
    bench.rejoin(&mut old);
    bench.settle(&mut [&mut new]);
    // It joined and does not ask for what it was given.
    joined(bench.stepper.ask(old.join()));
    let beats = |bench: &mut Bench, old: &Classic, new: &mut Consumer, count: usize| {
        for _ in 0..count {
            bench.stepper.advance_ms(5_000);
            bench.heartbeat(old);
            bench.beat(new);
        }
    };
    beats(&mut bench, &old, &mut new, 11);
    assert!(bench.is_member(&old.id));
    beats(&mut bench, &old, &mut new, 1);
    assert!(!bench.is_member(&old.id), "no SyncGroup");

    // It is told to join and does not.
    let mut old = Classic::new();
    bench.rejoin(&mut old);
    bench.settle(&mut [&mut new]);
    bench.follow(&mut old);
    bench.join(&mut Consumer::new("third", &["t"]));
    assert_eq!(bench.heartbeat(&old), Some(E::RebalanceInProgress));
    beats(&mut bench, &old, &mut new, 11);
    assert!(bench.is_member(&old.id));
    beats(&mut bench, &old, &mut new, 1);
    assert!(!bench.is_member(&old.id), "no JoinGroup");
}

#[test]
fn a_static_member_goes_over_and_comes_back_with_what_it_had() {
    let mut bench = with_topic(settings());
    let mut old = Classic::with_instance("i");
    let response = joined(bench.stepper.ask(old.join()));
    old.id = response.member_id.to_string();
    old.generation = response.generation_id;
    let all: Vec<NamedPartitions> = vec![("t".to_owned(), vec![0, 1, 2, 3])];
    let assignment = SyncGroupRequestAssignment::default()
        .with_member_id(text(&old.id))
        .with_assignment(write_assignment(b"\x00\x01", &all));
    bench.ask_sync(old.sync().with_assignments(vec![assignment]));

    let mut new = Consumer::with_instance("n", "i", &["t"]);
    bench.join(&mut new);
    assert_eq!(new.partitions(), [0, 1, 2, 3], "in one heartbeat");
    assert!(!bench.is_member(&old.id));

    let mut back = Classic::with_instance("i");
    let response = joined(bench.stepper.ask(back.join()));
    assert_eq!(response.error_code, 0);
    back.id = response.member_id.to_string();
    back.generation = response.generation_id;
    assert!(
        matches!(bench.stepper.hard.groups.get(GROUP), Some(HardGroup::Classic(_))),
        "nobody is left that speaks the new protocol"
    );
    let synced = bench.ask_sync(back.sync());
    assert_eq!((synced.error_code, given(&synced)), (0, vec![0, 1, 2, 3]));
}

#[test]
fn an_administrator_takes_out_static_members_of_either_protocol() {
    let mut bench = with_topic(settings());
    bench.join(&mut Consumer::with_instance("n", "i", &["t"]));
    bench.join(&mut Consumer::new("m", &["t"]));
    assert_eq!(bench.leave("", Some("x")), Some(E::UnknownMemberId));
    assert_eq!(bench.leave("m", Some("i")), Some(E::FencedInstanceId));
    assert_eq!(bench.leave("", Some("i")), None);
    assert!(!bench.is_member("n"));
    assert!(bench.is_member("m"));
}

#[test]
fn groups_that_are_not_consumers_or_have_data_of_their_own_stay_classic() {
    let mut bench = with_topic(settings());
    let mut member = Classic::new();
    let response = joined(bench.stepper.ask(member.join()));
    member.id = response.member_id.to_string();
    let response = joined(bench.stepper.ask(member.join()));
    member.generation = response.generation_id;
    let mut custom = write_assignment(b"\x00\x01", &[]).to_vec();
    let end = custom.len();
    custom.splice(end - 4.., *b"\x00\x00\x00\x01x");
    let assignment = SyncGroupRequestAssignment::default()
        .with_member_id(text(&member.id))
        .with_assignment(custom.into());
    bench.ask_sync(member.sync().with_assignments(vec![assignment]));
    let mark = bench.mark();
    let new = Consumer::new("n", &["t"]);
    assert_eq!(bench.error(new.full()), Some(E::GroupIdNotFound));
    assert_eq!(bench.error(Consumer { epoch: 1, ..new }.delta()), Some(E::UnknownMemberId));
    assert_eq!(bench.mark(), mark);
    assert_eq!(bench.heartbeat(&member), None, "it goes on as before");
}
