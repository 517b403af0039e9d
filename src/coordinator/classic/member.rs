//! A member of a group, and the protocols it can speak.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;

use crate::coordinator::InstanceId;
use crate::coordinator::groups::Client;
use crate::coordinator::machine::Token;

/// A member (Kafka's `ClassicGroupMember`). Its id is the key under which the group keeps it.
#[derive(Debug)]
pub struct Member {
    pub instance: Option<InstanceId>,
    pub client: Client,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    pub protocols: Protocols,
    /// What the leader gave it in this generation; empty until then.
    pub assignment: Bytes,
    /// Came in this rebalance: nobody expects heartbeats of it yet, but it is not waited for without end either.
    pub(super) is_new: bool,
    pub(super) waiting: Waiting,
}

/// What a member has asked for and not been answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    No,
    /// JoinGroup: for the other members to join.
    Join(Token),
    /// SyncGroup: for the leader to say who gets what.
    Sync(Token),
}

impl Waiting {
    pub(super) fn is_for_sync(self) -> bool {
        matches!(self, Self::Sync(_))
    }

    pub(super) fn is_for_anything(self) -> bool {
        self != Self::No
    }
}

impl Member {
    /// A member that waits for nothing.
    pub fn new(client: Client, protocols: Protocols) -> Self {
        Self {
            instance: None,
            client,
            rebalance_timeout_ms: 0,
            session_timeout_ms: 0,
            protocols,
            assignment: Bytes::new(),
            is_new: false,
            waiting: Waiting::No,
        }
    }

    /// True for a member that keeps its place when it restarts (KIP-345).
    pub fn is_static(&self) -> bool {
        self.instance.is_some()
    }

    pub(super) fn is_joining(&self) -> bool {
        matches!(self.waiting, Waiting::Join(_))
    }

    /// A member that waits for an answer sends no heartbeats meanwhile; a new one is given up in the end all the same.
    pub(super) fn is_excused(&self) -> bool {
        !self.is_new && self.waiting != Waiting::No
    }
}

/// Names of protocols with the member's subscription in each, the preferred one first. Each name is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocols(Box<[(Arc<str>, Bytes)]>);

impl Protocols {
    /// Takes the first of each name. The bytes must not be slices of a request's frame.
    pub fn new(protocols: impl IntoIterator<Item = (Arc<str>, Bytes)>) -> Self {
        let mut known = HashSet::new();
        let is_first = |(name, _): &(Arc<str>, Bytes)| known.insert(Arc::clone(name));
        Self(protocols.into_iter().filter(is_first).collect())
    }

    /// Copies what a JoinGroup says out of its frame.
    pub(super) fn copied(protocols: &[JoinGroupRequestProtocol]) -> Self {
        let copied = |protocol: &JoinGroupRequestProtocol| {
            (Arc::from(protocol.name.as_str()), Bytes::copy_from_slice(&protocol.metadata))
        };
        Self::new(protocols.iter().map(copied))
    }

    /// In the order of preference.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Bytes)> {
        self.0.iter().map(|(name, subscription)| (name, subscription))
    }

    /// In the order of preference.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().map(|(name, _)| name)
    }

    /// What the member says in a protocol, if it speaks it.
    pub fn subscription(&self, protocol: &str) -> Option<&Bytes> {
        self.0.iter().find(|(name, _)| &**name == protocol).map(|(_, subscription)| subscription)
    }
}
