//! A member of a group of the classic protocol, over a connection of its own.

use std::net::SocketAddr;

use bytes::Bytes;
use highwater::kafka::api_table::Api;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::{Decodable, StrBytes};

use crate::calls::call;
use crate::peer::{Peer, api, body_of, encoded, request};

pub(crate) const JOIN_GROUP: i16 = 11;
pub(crate) const HEARTBEAT: i16 = 12;
pub(crate) const LEAVE_GROUP: i16 = 13;
pub(crate) const SYNC_GROUP: i16 = 14;

const NONE: i16 = 0;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;

/// A request that waits for the other members.
const PENDING_ID: i32 = 0x0707_0707;

/// One member. Its requests have `version`, or the last version of an API that has fewer.
pub(crate) struct Member {
    pub(crate) peer: Peer,
    pub(crate) version: i16,
    pub(crate) group: GroupId,
    pub(crate) id: StrBytes,
    pub(crate) generation: i32,
    pub(crate) instance: Option<StrBytes>,
    /// What it sends as its subscription.
    pub(crate) subscription: &'static [u8],
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A JoinGroup request with the protocol `range` and a subscription of four bytes.
pub(crate) fn join_request(group: &str, version: i16) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(Bytes::from_static(b"subs"));
    let request = JoinGroupRequest::default()
        .with_group_id(text(group).into())
        .with_session_timeout_ms(30_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    if version >= 1 { request.with_rebalance_timeout_ms(60_000) } else { request }
}

impl Member {
    pub(crate) async fn new(address: SocketAddr, group: &str, version: i16) -> Self {
        let peer = Peer::connect(address).await;
        let group = text(group).into();
        let id = StrBytes::default();
        Self { peer, version, group, id, generation: -1, instance: None, subscription: b"subs" }
    }

    fn api(&self, key: i16) -> (&'static Api, i16) {
        let api = api(key);
        (api, self.version.min(*api.versions.end()))
    }

    /// Asks to join and takes an id where the version wants one first; the answer comes with [`Member::joined`].
    pub(crate) async fn join(&mut self) {
        self.send_join().await;
        if self.version >= 4 && self.id.is_empty() && self.instance.is_none() {
            let answer = self.join_answer().await;
            assert_eq!(answer.error_code, MEMBER_ID_REQUIRED, "v{}", self.version);
            assert!(!answer.member_id.is_empty());
            self.id = answer.member_id;
            self.send_join().await;
        }
    }

    async fn send_join(&mut self) {
        let (api, version) = self.api(JOIN_GROUP);
        let mut asked = join_request(&self.group, version).with_member_id(self.id.clone());
        asked.protocols[0].metadata = Bytes::from_static(self.subscription);
        if version >= 5 {
            asked.group_instance_id = self.instance.clone();
        }
        let body = encoded(&asked, version);
        self.peer.send_frame(&request(api, version, PENDING_ID, &body)).await;
    }

    async fn join_answer(&mut self) -> JoinGroupResponse {
        let (api, version) = self.api(JOIN_GROUP);
        let frame = self.peer.frame().await.expect("an answer");
        let mut body = body_of(api, version, PENDING_ID, &frame);
        let answer = JoinGroupResponse::decode(&mut body, version).expect("decodes");
        assert!(body.is_empty());
        answer
    }

    /// The answer to [`Member::join`].
    pub(crate) async fn joined(&mut self) -> JoinGroupResponse {
        let answer = self.join_answer().await;
        assert_eq!(answer.error_code, NONE, "v{}", self.version);
        self.id = answer.member_id.clone();
        self.generation = answer.generation_id;
        answer
    }

    /// Syncs; only the leader has assignments to give.
    pub(crate) async fn sync(
        &mut self,
        assignments: &[(&StrBytes, &'static [u8])],
    ) -> SyncGroupResponse {
        let (_, version) = self.api(SYNC_GROUP);
        let assignment = |(member, bytes): &(&StrBytes, &'static [u8])| {
            SyncGroupRequestAssignment::default()
                .with_member_id((*member).clone())
                .with_assignment(Bytes::from_static(bytes))
        };
        let mut asked = SyncGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_member_id(self.id.clone())
            .with_generation_id(self.generation)
            .with_assignments(assignments.iter().map(assignment).collect());
        if version >= 5 {
            asked.protocol_type = Some(text("consumer"));
            asked.protocol_name = Some(text("range"));
        }
        call(&mut self.peer, SYNC_GROUP, version, &asked).await
    }

    pub(crate) async fn heartbeat(&mut self) -> i16 {
        let (_, version) = self.api(HEARTBEAT);
        let asked = HeartbeatRequest::default()
            .with_group_id(self.group.clone())
            .with_member_id(self.id.clone())
            .with_generation_id(self.generation);
        let answer: HeartbeatResponse = call(&mut self.peer, HEARTBEAT, version, &asked).await;
        answer.error_code
    }

    /// Heartbeats, as members do, until one is answered that the group is joined anew.
    pub(crate) async fn hears_of_a_rebalance(&mut self) {
        loop {
            match self.heartbeat().await {
                NONE => {}
                REBALANCE_IN_PROGRESS => return,
                error => panic!("v{}: {error}", self.version),
            }
        }
    }

    /// Leaves; the error of this member.
    pub(crate) async fn leave(&mut self) -> i16 {
        let (_, version) = self.api(LEAVE_GROUP);
        let mut asked = LeaveGroupRequest::default().with_group_id(self.group.clone());
        if version < 3 {
            asked.member_id = self.id.clone();
        } else {
            asked.members = vec![MemberIdentity::default().with_member_id(self.id.clone())];
        }
        let answer: LeaveGroupResponse = call(&mut self.peer, LEAVE_GROUP, version, &asked).await;
        if version < 3 {
            return answer.error_code;
        }
        assert_eq!((answer.error_code, answer.members.len()), (NONE, 1), "v{version}");
        assert_eq!(answer.members[0].member_id, self.id);
        answer.members[0].error_code
    }
}
