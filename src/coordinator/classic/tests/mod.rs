//! The classic protocol step by step, with a manual clock. Expected values are Kafka 4.4's.

mod bad_input;
mod commit;
mod describe;
mod heartbeat;
mod join;
mod leave;
mod life;
mod many;
mod migrate;
mod pending;
mod random;
mod static_members;
mod sync;

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::GroupId;
use crate::coordinator::groups::{
    Call, Client, GroupCommand, GroupReply, GroupSettings, HardGroup,
};
use crate::coordinator::machine::Token;
use crate::coordinator::records::ClassicGroupValue;
use crate::coordinator::stepper::Stepper;

const GROUP: &str = "g";
const SESSION_MS: i32 = 10_000;
const REBALANCE_MS: i32 = 60_000;
/// Newest versions of the APIs.
const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const LEAVE: i16 = 5;

/// A shard with one group in the middle of the test.
struct Bench {
    stepper: Stepper,
}

/// What one client would send.
#[derive(Clone, Debug)]
struct Consumer {
    version: i16,
    member_id: String,
    instance: Option<&'static str>,
    protocol_type: &'static str,
    protocols: Vec<(&'static str, Bytes)>,
    session_timeout_ms: i32,
    rebalance_timeout_ms: i32,
    generation: i32,
}

impl Consumer {
    /// Unknown yet, of the protocol `range`.
    fn new() -> Self {
        Self {
            version: JOIN,
            member_id: String::new(),
            instance: None,
            protocol_type: "consumer",
            protocols: vec![("range", topics(&["t"]))],
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: REBALANCE_MS,
            generation: -1,
        }
    }

    fn with_instance(instance: &'static str) -> Self {
        Self { instance: Some(instance), ..Self::new() }
    }

    fn speaking(protocols: &[&'static str]) -> Self {
        let protocols = protocols.iter().map(|name| (*name, topics(&["t"]))).collect();
        Self { protocols, ..Self::new() }
    }

    fn as_member(&self, id: &str) -> Self {
        Self { member_id: id.to_owned(), ..self.clone() }
    }

    fn join_request(&self) -> JoinGroupRequest {
        let protocols = self.protocols.iter().map(|(name, metadata)| {
            JoinGroupRequestProtocol::default()
                .with_name(text(name))
                .with_metadata(metadata.clone())
        });
        JoinGroupRequest::default()
            .with_group_id(text(GROUP).into())
            .with_session_timeout_ms(self.session_timeout_ms)
            .with_rebalance_timeout_ms(self.rebalance_timeout_ms)
            .with_member_id(text(&self.member_id))
            .with_group_instance_id(self.instance.map(text))
            .with_protocol_type(text(self.protocol_type))
            .with_protocols(protocols.collect())
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(GroupSettings::default())
    }

    fn with(settings: GroupSettings) -> Self {
        Self { stepper: Stepper::new(settings) }
    }

    /// With members that start together, each of the protocol `range`; the first one leads. All are stable.
    fn stable(size: usize) -> (Self, Vec<Consumer>) {
        let mut bench = Self::new();
        let consumers = vec![Consumer::new(); size];
        let members = bench.settle(consumers);
        (bench, members)
    }

    /// Brings consumers into one generation and to the end of it; the first of them leads.
    fn settle(&mut self, consumers: Vec<Consumer>) -> Vec<Consumer> {
        let mut members: Vec<Consumer> = Vec::new();
        for consumer in consumers {
            let id = match consumer.member_id.is_empty() && consumer.instance.is_none() {
                true => self.new_member_id(&consumer),
                false => consumer.member_id.clone(),
            };
            members.push(consumer.as_member(&id));
        }
        // The first one alone, then all of them.
        let first = self.join(&members[0]);
        let first = self.joined(first);
        members[0].member_id = first.member_id.to_string();
        if members.len() > 1 {
            let tokens: Vec<Token> =
                members[1..].iter().chain(&members[..1]).map(|member| self.join(member)).collect();
            let rest = members.len() - 1;
            for (at, token) in tokens.into_iter().enumerate() {
                let answer = self.joined(token);
                let member = &mut members[(at + 1) % (rest + 1)];
                member.member_id = answer.member_id.to_string();
                member.generation = answer.generation_id;
            }
        } else {
            members[0].generation = first.generation_id;
        }
        self.sync_all(&members);
        members
    }

    /// SyncGroup of everyone, the leader's first; each is assigned its own member id.
    fn sync_all(&mut self, members: &[Consumer]) {
        let parts = members.iter().map(|member| (&*member.member_id, &*member.member_id));
        let parts: Vec<_> = parts.collect();
        let tokens: Vec<Token> = members.iter().map(|member| self.sync(member, &parts)).collect();
        for (member, token) in members.iter().zip(tokens) {
            let answer = self.synced(token);
            assert_eq!(answer.error_code, 0);
            assert_eq!(answer.assignment, member.member_id.as_bytes());
        }
    }

    /// JoinGroup that asks for an id.
    fn new_member_id(&mut self, consumer: &Consumer) -> String {
        let token = self.join(consumer);
        let answer = self.joined(token);
        assert_eq!(answer.error_code, ResponseError::MemberIdRequired.code());
        answer.member_id.to_string()
    }

    fn join(&mut self, consumer: &Consumer) -> Token {
        self.send_join(consumer.version, consumer.join_request())
    }

    fn send_join(&mut self, version: i16, request: JoinGroupRequest) -> Token {
        self.stepper.send(GroupCommand::Join(call(version, request)))
    }

    /// The answer to a JoinGroup, if there is one yet.
    fn join_answer(&mut self, token: Token) -> Option<JoinGroupResponse> {
        self.stepper.take(token).map(|reply| match reply {
            GroupReply::Join(answer) => answer,
            other => panic!("{other:?}"),
        })
    }

    #[track_caller]
    fn joined(&mut self, token: Token) -> JoinGroupResponse {
        self.join_answer(token).expect("JoinGroup is answered")
    }

    /// JoinGroup that is answered at once with an error.
    #[track_caller]
    fn join_error(&mut self, consumer: &Consumer) -> (ResponseError, String) {
        let token = self.join(consumer);
        let answer = self.joined(token);
        assert_eq!(answer.generation_id, -1);
        assert_eq!((answer.protocol_type, answer.protocol_name), (None, None));
        (error(answer.error_code), answer.member_id.to_string())
    }

    fn sync(&mut self, member: &Consumer, parts: &[(&str, &str)]) -> Token {
        self.send_sync(sync_request(member, parts))
    }

    fn send_sync(&mut self, request: SyncGroupRequest) -> Token {
        self.stepper.send(GroupCommand::Sync(call(SYNC, request)))
    }

    fn sync_answer(&mut self, token: Token) -> Option<SyncGroupResponse> {
        self.stepper.take(token).map(|reply| match reply {
            GroupReply::Sync(answer) => answer,
            other => panic!("{other:?}"),
        })
    }

    #[track_caller]
    fn synced(&mut self, token: Token) -> SyncGroupResponse {
        self.sync_answer(token).expect("SyncGroup is answered")
    }

    #[track_caller]
    fn sync_error(&mut self, request: SyncGroupRequest) -> ResponseError {
        let token = self.send_sync(request);
        let answer = self.synced(token);
        assert!(answer.assignment.is_empty());
        error(answer.error_code)
    }

    fn send_heartbeat(&mut self, request: HeartbeatRequest) -> i16 {
        match self.stepper.ask(GroupCommand::Heartbeat(call(HEARTBEAT, request))) {
            GroupReply::Heartbeat(answer) => answer.error_code,
            other => panic!("{other:?}"),
        }
    }

    fn heartbeat(&mut self, member: &Consumer) -> Result<(), ResponseError> {
        match self.send_heartbeat(heartbeat_request(member)) {
            0 => Ok(()),
            code => Err(error(code)),
        }
    }

    fn leave(&mut self, version: i16, request: LeaveGroupRequest) -> LeaveGroupResponse {
        match self.stepper.ask(GroupCommand::Leave(call(version, request))) {
            GroupReply::Leave(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// LeaveGroup of one member; its outcome.
    fn leave_one(&mut self, member: &Consumer) -> i16 {
        let answer = self.leave(LEAVE, leave_request(&[(&member.member_id, member.instance)]));
        assert_eq!(answer.error_code, 0);
        answer.members[0].error_code
    }

    /// Time passes, and those who live send heartbeats meanwhile.
    fn pass_ms(&mut self, ms: u64, alive: &[&Consumer]) {
        let mut left = ms;
        while left > 0 {
            let step = left.min(1_000);
            self.stepper.advance_ms(step);
            left -= step;
            for member in alive {
                let _ = self.heartbeat(member);
            }
        }
    }

    /// The group as ListGroups names its state; `Dead` if there is none.
    fn state(&self) -> &'static str {
        super::state(&self.stepper.machine, &self.stepper.hard, &GroupId::new(GROUP))
    }

    fn size(&self) -> usize {
        super::members(&self.stepper.machine, &self.stepper.hard, &GroupId::new(GROUP))
    }

    fn group(&self) -> &super::ClassicGroup {
        &self.stepper.machine.classic[GROUP]
    }

    /// What the records say.
    fn written(&self) -> Option<&ClassicGroupValue> {
        match self.stepper.hard.groups.get(GROUP)? {
            HardGroup::Classic(value) => Some(value),
            HardGroup::Consumer(group) => panic!("{group:?}"),
        }
    }
}

fn sync_request(member: &Consumer, parts: &[(&str, &str)]) -> SyncGroupRequest {
    let parts = parts.iter().map(|(id, part)| {
        SyncGroupRequestAssignment::default()
            .with_member_id(text(id))
            .with_assignment(Bytes::copy_from_slice(part.as_bytes()))
    });
    SyncGroupRequest::default()
        .with_group_id(text(GROUP).into())
        .with_generation_id(member.generation)
        .with_member_id(text(&member.member_id))
        .with_group_instance_id(member.instance.map(text))
        .with_protocol_type(Some(text("consumer")))
        .with_protocol_name(Some(text("range")))
        .with_assignments(parts.collect())
}

fn heartbeat_request(member: &Consumer) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(text(GROUP).into())
        .with_generation_id(member.generation)
        .with_member_id(text(&member.member_id))
        .with_group_instance_id(member.instance.map(text))
}

fn leave_request(members: &[(&str, Option<&str>)]) -> LeaveGroupRequest {
    let members = members.iter().map(|(id, instance)| {
        MemberIdentity::default()
            .with_member_id(text(id))
            .with_group_instance_id(instance.map(text))
    });
    LeaveGroupRequest::default().with_group_id(text(GROUP).into()).with_members(members.collect())
}

fn call<R>(version: i16, request: R) -> Call<R> {
    let client = Client { id: Arc::from("client"), host: Arc::from("/127.0.0.1") };
    Call { version, client, request }
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

#[track_caller]
fn error(code: i16) -> ResponseError {
    ResponseError::try_from_code(code).expect("an error")
}

/// A subscription of version 0.
fn topics(names: &[&str]) -> Bytes {
    let mut bytes = vec![0, 0];
    bytes.extend(u32::try_from(names.len()).expect("few").to_be_bytes());
    for name in names {
        bytes.extend(u16::try_from(name.len()).expect("short").to_be_bytes());
        bytes.extend(name.as_bytes());
    }
    bytes.extend((-1i32).to_be_bytes());
    bytes.into()
}
