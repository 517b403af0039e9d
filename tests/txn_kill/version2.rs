//! A producer of version 2 (KIP-890), request by request: librdkafka does not speak it yet.
//!
//! Records and offsets join the transaction by themselves, and each end gives the producer a new epoch. What was not answered is
//! sent again as it was, in its order, as Kafka's own client does.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::{ProducerEpoch, ProducerId, Timestamp};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, ProduceRequest, TransactionalId,
    TxnOffsetCommitRequest,
};
use kafka_protocol::protocol::{Request, StrBytes};

use crate::processes::PATIENCE;
use crate::producers::{End, GROUP, Producer, SOURCE};
use crate::raw::Connection;

const FIND_COORDINATOR: i16 = 4;
const INIT_PRODUCER_ID: i16 = 5;
const PRODUCE: i16 = 12;
const TXN_OFFSET_COMMIT: i16 = 5;
const END_TXN: i16 = 5;

/// FindCoordinator's key type of transactional ids.
const TRANSACTION: i8 = 1;

/// Codes that a client answers by sending the same again: the broker is starting, the end before is not through, an earlier
/// batch was told the same.
const PASSING: [i16; 8] = [3, 6, 14, 15, 16, 45, 51, 56];

pub struct V2 {
    address: String,
    id: StrBytes,
    connection: Option<Connection>,
    producer: (i64, i16),
    sequences: HashMap<(String, i32), i32>,
    /// Records that are not acknowledged, in their order; all were sent over the connection, if there is one.
    pending: VecDeque<ProduceRequest>,
}

impl Producer for V2 {
    fn take_over(address: &str, id: &str) -> Self {
        let mut taken = Self {
            address: address.to_owned(),
            id: StrBytes::from_string(id.to_owned()),
            connection: None,
            producer: (-1, -1),
            sequences: HashMap::new(),
            pending: VecDeque::new(),
        };
        let find = FindCoordinatorRequest::default()
            .with_key_type(TRANSACTION)
            .with_coordinator_keys(vec![taken.id.clone()]);
        taken.until_passed(FIND_COORDINATOR, &find, |found| found.coordinators[0].error_code);
        let init = InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(taken.id.clone())))
            .with_transaction_timeout_ms(600_000)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        let told = taken.until_passed(INIT_PRODUCER_ID, &init, |told| told.error_code);
        assert_eq!(told.error_code, 0, "the id is ours");
        taken.producer = (told.producer_id.0, told.producer_epoch);
        taken
    }

    fn begin(&mut self) {}

    fn send(&mut self, topic: &str, partition: i32, value: &str) {
        let sequence = self.sequences.entry((topic.to_owned(), partition)).or_default();
        let mut batch = BatchBuilder::new(BatchTemplate {
            transactional: true,
            producer_id: ProducerId::new(self.producer.0),
            producer_epoch: ProducerEpoch::new(self.producer.1),
            base_sequence: *sequence,
            ..BatchTemplate::default()
        });
        *sequence += 1;
        batch.append(Timestamp::new(0), None, Some(value.as_bytes()));
        let records = PartitionProduceData::default()
            .with_index(partition)
            .with_records(Some(batch.build().expect("memory").into()));
        let topic = TopicProduceData::default()
            .with_name(StrBytes::from_string(topic.to_owned()).into())
            .with_partition_data(vec![records]);
        let request = ProduceRequest::default()
            .with_transactional_id(Some(TransactionalId(self.id.clone())))
            .with_acks(-1)
            .with_timeout_ms(60_000)
            .with_topic_data(vec![topic]);
        let sent = self.connection.as_mut().is_some_and(|to| to.send(PRODUCE, &request).is_ok());
        self.pending.push_back(request);
        if !sent {
            self.connection = None;
        }
    }

    fn flush(&mut self) {
        let limit = Instant::now() + PATIENCE;
        while !self.pending.is_empty() {
            assert!(Instant::now() < limit, "the records are not acknowledged");
            let answered = self.connected().and_then(|to| to.answer::<ProduceRequest>(PRODUCE));
            let Ok(answer) = answered else {
                self.retry_later();
                continue;
            };
            match answer.responses[0].partition_responses[0].error_code {
                0 => drop(self.pending.pop_front()),
                code if PASSING.contains(&code) => self.retry_later(),
                code => panic!("a record is refused with {code}"),
            }
        }
    }

    fn send_offset(&mut self, offset: i64) {
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_committed_offset(offset)
            .with_committed_leader_epoch(-1)
            .with_committed_metadata(Some(StrBytes::default()));
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(StrBytes::from_static_str(SOURCE).into())
            .with_partitions(vec![partition]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(TransactionalId(self.id.clone()))
            .with_group_id(StrBytes::from_static_str(GROUP).into())
            .with_producer_id(self.producer.0.into())
            .with_producer_epoch(self.producer.1)
            .with_generation_id(-1)
            .with_topics(vec![topic]);
        let answer = self.until_passed(TXN_OFFSET_COMMIT, &request, |answer| {
            answer.topics[0].partitions[0].error_code
        });
        assert_eq!(answer.topics[0].partitions[0].error_code, 0, "the offset is part of it");
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        self.flush();
        let request = self.end_request(end);
        let answer = self.until_passed(END_TXN, &request, |answer| answer.error_code);
        if answer.error_code != 0 {
            return Err(format!("code {}", answer.error_code));
        }
        let next = (answer.producer_id.0, answer.producer_epoch);
        assert_ne!(next, self.producer, "every end gives the producer a new epoch");
        self.producer = next;
        self.sequences.clear();
        Ok(())
    }

    fn commit_and_leave(&mut self) {
        let request = self.end_request(End::Commit);
        let _ = self.connected().and_then(|to| to.send(END_TXN, &request));
    }
}

impl V2 {
    fn end_request(&self, end: End) -> EndTxnRequest {
        EndTxnRequest::default()
            .with_transactional_id(TransactionalId(self.id.clone()))
            .with_producer_id(self.producer.0.into())
            .with_producer_epoch(self.producer.1)
            .with_committed(end == End::Commit)
    }

    /// Asks the same again and again until the answer is for good.
    fn until_passed<R: Request>(
        &mut self,
        version: i16,
        request: &R,
        code: impl Fn(&R::Response) -> i16,
    ) -> R::Response {
        self.flush();
        let limit = Instant::now() + PATIENCE;
        loop {
            let asked = self.connected().and_then(|to| to.call(version, request));
            if let Ok(answer) = asked
                && !PASSING.contains(&code(&answer))
            {
                return answer;
            }
            assert!(Instant::now() < limit, "no answer that is for good");
            self.retry_later();
        }
    }

    /// The connection; a new one begins with the records that are not acknowledged.
    fn connected(&mut self) -> io::Result<&mut Connection> {
        if self.connection.is_none() {
            let mut connection = Connection::open(&self.address, PATIENCE)?;
            for request in &self.pending {
                connection.send(PRODUCE, request)?;
            }
            self.connection = Some(connection);
        }
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    fn retry_later(&mut self) {
        self.connection = None;
        // A client has no way to be told when the broker is back.
        std::thread::sleep(Duration::from_millis(10));
    }
}
