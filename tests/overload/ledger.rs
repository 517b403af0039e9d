//! What was acknowledged, and whether it is there.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Message, Offset, TopicPartitionList};

use crate::processes::{PATIENCE, config};

/// Values of records of transactions that are to be aborted begin with this.
pub(crate) const TO_BE_ABORTED: &[u8] = b"aborted";

/// Partition and offset of each acknowledged record, and what stands for its value.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: Mutex<HashMap<(i32, i64), u64>>,
}

pub(crate) fn digest(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Ledger {
    pub(crate) fn acknowledge(&self, partition: i32, offset: i64, digest: u64) {
        let before = self.acknowledged.lock().unwrap().insert((partition, offset), digest);
        assert_eq!(before, None, "two records at offset {offset} of partition {partition}");
    }

    /// Reads the topic as read_committed: everything acknowledged is where it was said to be, nothing aborted is seen.
    pub(crate) fn assert_kept(&self, address: &str, topic: &str, partitions: i32) {
        let consumer: BaseConsumer = config(address)
            .set("group.id", "ledger")
            .set("isolation.level", "read_committed")
            .set("enable.partition.eof", "true")
            .set("enable.auto.commit", "false")
            .set("queued.max.messages.kbytes", "16384")
            .create()
            .expect("a consumer");
        let mut all = TopicPartitionList::new();
        for partition in 0..partitions {
            all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&all).unwrap();
        let mut missing = self.acknowledged.lock().unwrap().clone();
        let mut reading: HashSet<i32> = (0..partitions).collect();
        while !reading.is_empty() {
            match consumer.poll(PATIENCE).expect("the log can be read to its end") {
                Ok(message) => {
                    let value = message.payload().unwrap_or_default();
                    assert!(!value.starts_with(TO_BE_ABORTED), "an aborted record is visible");
                    let at = (message.partition(), message.offset());
                    if let Some(acknowledged) = missing.remove(&at) {
                        assert_eq!(acknowledged, digest(value), "another record is at {at:?}");
                    }
                }
                Err(rdkafka::error::KafkaError::PartitionEOF(partition)) => {
                    reading.remove(&partition);
                }
                Err(error) => println!("reading back: {error}"),
            }
        }
        assert!(missing.is_empty(), "{} acknowledged records are lost", missing.len());
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let acknowledged = self.acknowledged.lock().unwrap().len();
        write!(f, "{acknowledged} acknowledged records are there")
    }
}
