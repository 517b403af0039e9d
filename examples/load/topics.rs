//! Topics: made, deleted, counted.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, ListOffsetsRequest, ListOffsetsResponse,
    MetadataRequest, MetadataResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::wire::{Connection, name};

const LIST_OFFSETS: (i16, i16) = (2, 6);
const METADATA: (i16, i16) = (3, 12);
const API_VERSIONS: (i16, i16) = (18, 3);
const CREATE_TOPICS: (i16, i16) = (19, 5);
const DELETE_TOPICS: (i16, i16) = (20, 4);
const TIMEOUT_MS: i32 = 60_000;
const LEADERS_WAIT: Duration = Duration::from_secs(60);
/// A broker that has just said that it leads a partition may still refuse to serve it.
const LEADERS_PAUSE: Duration = Duration::from_millis(2);

impl Connection {
    /// Makes a topic and waits until all of its partitions are served.
    pub(crate) fn create_topic(&mut self, topic: &str, partitions: i32) -> io::Result<()> {
        self.ask_for_topic(topic, partitions)?;
        let limit = Instant::now() + LEADERS_WAIT;
        while !self.has_leaders(&[topic], partitions)?
            || self.records_in(topic, partitions).is_err()
        {
            if Instant::now() > limit {
                return Err(io::Error::other(format!("{topic} has no leaders")));
            }
            thread::sleep(LEADERS_PAUSE);
        }
        Ok(())
    }

    /// CreateTopics, and no more.
    pub(crate) fn ask_for_topic(&mut self, topic: &str, partitions: i32) -> io::Result<()> {
        let new = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let request =
            CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(TIMEOUT_MS);
        let response: CreateTopicsResponse = self.ask(CREATE_TOPICS, &request)?;
        match response.topics.first().map_or(-1, |topic| topic.error_code) {
            0 => Ok(()),
            code => Err(io::Error::other(format!("CreateTopics: error {code}"))),
        }
    }

    pub(crate) fn delete_topic(&mut self, topic: &str) -> io::Result<()> {
        let request = DeleteTopicsRequest::default()
            .with_topic_names(vec![name(topic)])
            .with_timeout_ms(TIMEOUT_MS);
        let response: DeleteTopicsResponse = self.ask(DELETE_TOPICS, &request)?;
        match response.responses.first().map_or(-1, |topic| topic.error_code) {
            0 => Ok(()),
            code => Err(io::Error::other(format!("DeleteTopics: error {code}"))),
        }
    }

    /// True if each of the topics has so many partitions and each of these a leader.
    pub(crate) fn has_leaders(&mut self, topics: &[&str], partitions: i32) -> io::Result<bool> {
        let answer = self.metadata(topics, false)?;
        let has = |topic: &kafka_protocol::messages::metadata_response::MetadataResponseTopic| {
            topic.error_code == 0
                && topic.partitions.len() == partitions as usize
                && topic.partitions.iter().all(|p| p.error_code == 0 && p.leader_id.0 >= 0)
        };
        Ok(answer.topics.len() == topics.len() && answer.topics.iter().all(has))
    }

    pub(crate) fn metadata(
        &mut self,
        topics: &[&str],
        creates: bool,
    ) -> io::Result<MetadataResponse> {
        let asked =
            topics.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))));
        let request = MetadataRequest::default()
            .with_topics(Some(asked.collect()))
            .with_allow_auto_topic_creation(creates);
        self.ask(METADATA, &request)
    }

    pub(crate) fn api_versions(&mut self) -> io::Result<()> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("load"))
            .with_client_software_version(StrBytes::from_static_str("1"));
        let answer: ApiVersionsResponse = self.ask(API_VERSIONS, &request)?;
        match answer.error_code {
            0 => Ok(()),
            code => Err(io::Error::other(format!("ApiVersions: error {code}"))),
        }
    }

    /// Records in the topic, by the ends of its partitions.
    pub(crate) fn records_in(&mut self, topic: &str, partitions: i32) -> io::Result<u64> {
        let latest = |p| ListOffsetsPartition::default().with_partition_index(p).with_timestamp(-1);
        let asked = ListOffsetsTopic::default()
            .with_name(name(topic))
            .with_partitions((0..partitions).map(latest).collect());
        let request =
            ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![asked]);
        let response: ListOffsetsResponse = self.ask(LIST_OFFSETS, &request)?;
        let mut records = 0;
        for partition in response.topics.iter().flat_map(|topic| &topic.partitions) {
            if partition.error_code != 0 {
                let text = format!("ListOffsets: error {}", partition.error_code);
                return Err(io::Error::other(text));
            }
            records += partition.offset.max(0).unsigned_abs();
        }
        Ok(records)
    }
}
