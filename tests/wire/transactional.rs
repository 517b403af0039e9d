//! A transactional producer, request by request.

use bytes::Bytes;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::{ProducerEpoch, ProducerId, Timestamp};
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, FindCoordinatorRequest, FindCoordinatorResponse,
    InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, TransactionalId,
};

use crate::calls::{INIT_PRODUCER_ID, Session, produce_request};
use crate::member::text;
use crate::pipelining::topic_name;

const FIND_COORDINATOR: i16 = 10;
pub(crate) const ADD_PARTITIONS_TO_TXN: i16 = 24;
pub(crate) const END_TXN: i16 = 26;

/// FindCoordinator's key type of transactional ids.
const TRANSACTION: i8 = 1;

/// What a producer knows of itself.
pub(crate) struct Producer {
    pub(crate) transactional_id: TransactionalId,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

impl Producer {
    /// The producer that has the transactional id from now on.
    pub(crate) async fn begin(session: &mut Session, name: &str, timeout_ms: i32) -> Self {
        let find = FindCoordinatorRequest::default()
            .with_key_type(TRANSACTION)
            .with_coordinator_keys(vec![text(name)]);
        let found: FindCoordinatorResponse = session.call(FIND_COORDINATOR, 4, &find).await;
        assert_eq!(found.coordinators[0].error_code, 0);
        let transactional_id = TransactionalId(text(name));
        let init = InitProducerIdRequest::default()
            .with_transactional_id(Some(transactional_id.clone()))
            .with_transaction_timeout_ms(timeout_ms)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        let told: InitProducerIdResponse = session.call(INIT_PRODUCER_ID, 5, &init).await;
        assert_eq!(told.error_code, 0);
        Self { transactional_id, id: told.producer_id.0, epoch: told.producer_epoch }
    }

    /// AddPartitionsToTxn of a version up to 3.
    pub(crate) fn add(&self, topic: &str, partition: i32) -> AddPartitionsToTxnRequest {
        let added = AddPartitionsToTxnTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(vec![partition]);
        AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.transactional_id.clone())
            .with_v3_and_below_producer_id(self.id.into())
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![added])
    }

    /// A record for each of these times; the first of which has this sequence.
    pub(crate) fn produce(
        &self,
        (topic, partition): (&str, i32),
        sequence: i32,
        times: &[Timestamp],
    ) -> ProduceRequest {
        let mut batch = BatchBuilder::new(BatchTemplate {
            transactional: true,
            producer_id: ProducerId::new(self.id),
            producer_epoch: ProducerEpoch::new(self.epoch),
            base_sequence: sequence,
            ..BatchTemplate::default()
        });
        times.iter().for_each(|time| batch.append(*time, None, Some(b"value")));
        let records = Bytes::from(batch.build().expect("memory"));
        produce_request(topic, partition, Some(records))
            .with_transactional_id(Some(self.transactional_id.clone()))
    }

    pub(crate) fn end(&self, is_commit: bool) -> EndTxnRequest {
        EndTxnRequest::default()
            .with_transactional_id(self.transactional_id.clone())
            .with_producer_id(self.id.into())
            .with_producer_epoch(self.epoch)
            .with_committed(is_commit)
    }
}
