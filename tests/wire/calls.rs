//! Typed questions to a broker, and what the tests of the data APIs have in common.

use bytes::Bytes;
use highwater::config::BrokerSettings;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, ProduceRequest, ProduceResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use crate::broker::TestBroker;
use crate::messages::generated;
use crate::peer::{Peer, api, encoded};
use crate::pipelining::topic_name;

pub(crate) const PRODUCE: i16 = 0;
pub(crate) const FETCH: i16 = 1;
pub(crate) const LIST_OFFSETS: i16 = 2;
pub(crate) const DELETE_RECORDS: i16 = 21;
pub(crate) const INIT_PRODUCER_ID: i16 = 22;
pub(crate) const OFFSET_FOR_LEADER_EPOCH: i16 = 23;
const CREATE_TOPICS: i16 = 19;

/// A broker and a connection to it.
pub(crate) struct Session {
    pub(crate) broker: TestBroker,
    pub(crate) peer: Peer,
}

impl Session {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// A broker with settings changed by `change`.
    pub(crate) async fn start_with(change: impl FnOnce(&mut BrokerSettings)) -> Self {
        Self::with(TestBroker::start_with(change).await).await
    }

    pub(crate) async fn with(broker: TestBroker) -> Self {
        let peer = Peer::connect(broker.address).await;
        Self { broker, peer }
    }

    /// Asks and reads the whole answer.
    pub(crate) async fn call<A: Decodable>(
        &mut self,
        key: i16,
        version: i16,
        request: &impl Encodable,
    ) -> A {
        call(&mut self.peer, key, version, request).await
    }

    /// Creates a topic; its id.
    pub(crate) async fn create(
        &mut self,
        name: &str,
        partitions: i32,
        configs: &[(&str, &str)],
    ) -> [u8; 16] {
        let text = |text: &str| StrBytes::from_string(text.to_owned());
        let config = |(key, value): &(&str, &str)| {
            CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value)))
        };
        let topic = CreatableTopic::default()
            .with_name(topic_name(name))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
            .with_configs(configs.iter().map(config).collect());
        let request =
            CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
        let answer: CreateTopicsResponse = self.call(CREATE_TOPICS, 7, &request).await;
        assert_eq!(answer.topics[0].error_code, 0);
        answer.topics[0].topic_id.into_bytes()
    }

    /// Produces one batch with acks=all to a topic by name.
    pub(crate) async fn produce(
        &mut self,
        topic: &str,
        partition: i32,
        records: Bytes,
    ) -> PartitionProduceResponse {
        let request = produce_request(topic, partition, Some(records));
        let mut answer: ProduceResponse = self.call(PRODUCE, 12, &request).await;
        answer.responses.remove(0).partition_responses.remove(0)
    }
}

/// Asks and reads the whole answer.
pub(crate) async fn call<A: Decodable>(
    peer: &mut Peer,
    key: i16,
    version: i16,
    request: &impl Encodable,
) -> A {
    let what = || format!("{} v{version}", api(key).name);
    let layout = generated(key, version);
    let answer = peer.ask(api(key), version, &encoded(request, layout)).await;
    let mut body = answer.unwrap_or_else(|| panic!("{}: closed", what()));
    let decoded = A::decode(&mut body, layout).unwrap_or_else(|e| panic!("{}: {e}", what()));
    assert!(body.is_empty(), "{}: bytes are left", what());
    decoded
}

/// acks=all, one partition.
pub(crate) fn produce_request(
    topic: &str,
    partition: i32,
    records: Option<Bytes>,
) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(partition).with_records(records);
    let topic =
        TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![topic])
}
