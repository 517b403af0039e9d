//! A member of a group of the consumer protocol (KIP-848), over a connection of its own.

use std::net::SocketAddr;

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use crate::calls::call;
use crate::member::text;
use crate::peer::Peer;
use crate::pipelining::topic_name;

pub(crate) const CONSUMER_GROUP_HEARTBEAT: i16 = 68;

const NONE: i16 = 0;

/// Partitions of topics, by id and index.
pub(crate) type Partitions = Vec<(uuid::Uuid, Vec<i32>)>;

/// One member and what it owns.
pub(crate) struct Consumer {
    pub(crate) peer: Peer,
    pub(crate) version: i16,
    pub(crate) group: String,
    pub(crate) id: String,
    pub(crate) epoch: i32,
    pub(crate) owned: Partitions,
}

impl Consumer {
    /// The member makes its own id.
    pub(crate) async fn new(address: SocketAddr, group: &str, version: i16) -> Self {
        let peer = Peer::connect(address).await;
        let id = uuid::Uuid::from_u128(u128::from(peer.local_port())).to_string();
        Self { peer, version, group: group.to_owned(), id, epoch: 0, owned: Vec::new() }
    }

    /// A heartbeat that says nothing but that the member is there.
    pub(crate) fn heartbeat(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(text(&self.group).into())
            .with_member_id(text(&self.id))
            .with_member_epoch(self.epoch)
            .with_subscribed_topic_names(None)
            .with_topic_partitions(None)
    }

    pub(crate) async fn send(
        &mut self,
        asked: &ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        call(&mut self.peer, CONSUMER_GROUP_HEARTBEAT, self.version, asked).await
    }

    /// What a member says when it joins.
    pub(crate) fn join_request(&self, topics: &[&str]) -> ConsumerGroupHeartbeatRequest {
        self.heartbeat()
            .with_rebalance_timeout_ms(60_000)
            .with_subscribed_topic_names(Some(topics.iter().map(|name| topic_name(name)).collect()))
            .with_topic_partitions(Some(Vec::new()))
    }

    /// Joins and takes what it is given.
    pub(crate) async fn join(&mut self, topics: &[&str]) -> ConsumerGroupHeartbeatResponse {
        let asked = self.join_request(topics);
        let answer = self.send(&asked).await;
        self.take(&answer);
        answer
    }

    /// Tells what it owns and takes what it is given.
    pub(crate) async fn beat(&mut self) -> ConsumerGroupHeartbeatResponse {
        let owned = self.owned.iter().map(|(topic, partitions)| {
            TopicPartitions::default().with_topic_id(*topic).with_partitions(partitions.clone())
        });
        let asked = self.heartbeat().with_topic_partitions(Some(owned.collect()));
        let answer = self.send(&asked).await;
        self.take(&answer);
        answer
    }

    /// Heartbeats, as members do, until it has been given so many partitions and has said so: a coordinator may let a while
    /// pass before it assigns anew (`group.consumer.assignment.interval.ms`).
    pub(crate) async fn beat_until_owning(&mut self, partitions: usize) {
        while self.partitions().len() != partitions {
            self.beat().await;
        }
        self.beat().await;
    }

    fn take(&mut self, answer: &ConsumerGroupHeartbeatResponse) {
        assert_eq!(answer.error_code, NONE, "{answer:?}");
        self.epoch = answer.member_epoch;
        if let Some(id) = &answer.member_id {
            self.id = id.to_string();
        }
        if let Some(assignment) = &answer.assignment {
            let topics = assignment.topic_partitions.iter();
            self.owned = topics.map(|topic| (topic.topic_id, topic.partitions.clone())).collect();
        }
    }

    /// Its partitions, whatever their topics.
    pub(crate) fn partitions(&self) -> Vec<i32> {
        let mut all: Vec<i32> =
            self.owned.iter().flat_map(|(_, partitions)| partitions).copied().collect();
        all.sort_unstable();
        all
    }
}
