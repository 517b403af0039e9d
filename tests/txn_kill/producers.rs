//! Transactional producers of both versions, as the test drives them.

use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::producer::{DefaultProducerContext, Producer as _, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};

use crate::processes::{PATIENCE, config, group_client, send};

/// The group whose offsets are part of the transactions, and what it reads.
pub const GROUP: &str = "group";
pub const SOURCE: &str = "source";

/// How a transaction is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    Abort,
}

/// A producer with a transactional id that goes on when the broker comes back.
pub trait Producer: Send {
    /// Takes the id over: what it had open is aborted first.
    fn take_over(address: &str, id: &str) -> Self;
    fn begin(&mut self);
    /// Hands a record over; `flush` waits for it.
    fn send(&mut self, topic: &str, partition: i32, value: &str);
    fn flush(&mut self);
    /// An offset of [`GROUP`] in [`SOURCE`] becomes part of the transaction.
    fn send_offset(&mut self, offset: i64);
    /// Ends the transaction; the error if the broker does not let it.
    fn end(&mut self, end: End) -> Result<(), String>;
    /// Begins to commit, and does not wait for the answer.
    fn commit_and_leave(&mut self);
}

/// Version 1: librdkafka.
pub struct V1 {
    address: String,
    producer: ThreadedProducer<DefaultProducerContext>,
}

impl Producer for V1 {
    fn take_over(address: &str, id: &str) -> Self {
        let producer: ThreadedProducer<DefaultProducerContext> = config(address)
            .set("transactional.id", id)
            .set("transaction.timeout.ms", "600000")
            .create()
            .expect("a producer");
        producer.init_transactions(PATIENCE).expect("the id is ours");
        Self { address: address.to_owned(), producer }
    }

    fn begin(&mut self) {
        self.producer.begin_transaction().expect("a transaction begins");
    }

    fn send(&mut self, topic: &str, partition: i32, value: &str) {
        send(&self.producer, topic, partition, value);
    }

    fn flush(&mut self) {
        self.producer.flush(PATIENCE).expect("the records are acknowledged");
    }

    fn send_offset(&mut self, offset: i64) {
        let consumer = group_client(&self.address, GROUP);
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(SOURCE, 0, Offset::Offset(offset)).expect("an offset");
        let group = consumer.group_metadata().expect("it has a group");
        let sent = self.producer.send_offsets_to_transaction(&offsets, &group, PATIENCE);
        sent.expect("the offset is part of the transaction");
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        let ended = match end {
            End::Commit => self.producer.commit_transaction(PATIENCE),
            End::Abort => self.producer.abort_transaction(PATIENCE),
        };
        ended.map_err(|error| error.to_string())
    }

    fn commit_and_leave(&mut self) {
        let _ = self.producer.commit_transaction(Duration::from_millis(5));
    }
}
