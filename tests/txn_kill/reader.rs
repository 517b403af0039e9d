//! What consumers of committed records see.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Message, Offset, TopicPartitionList};

use crate::processes::{PATIENCE, config};

/// Values of the committed records, by topic and partition.
pub type Log = BTreeMap<(String, i32), Vec<String>>;

pub struct Reader<'a> {
    pub address: &'a str,
}

impl Reader<'_> {
    /// Everything in these partitions, once no transaction holds `topic` back.
    pub fn read(&self, (topic, partitions): (&str, i32), places: &[(&str, i32)]) -> Log {
        self.wait_until_stable(topic, partitions);
        let consumer = self.consumer("read_committed");
        let mut assigned = TopicPartitionList::new();
        for (topic, partition) in places {
            let place = assigned.add_partition_offset(topic, *partition, Offset::Beginning);
            place.expect("an offset");
        }
        consumer.assign(&assigned).expect("an assignment");
        let (mut log, mut left) = (Log::new(), assigned.count());
        while left > 0 {
            match consumer.poll(PATIENCE).expect("a record or an end") {
                Ok(message) => {
                    let place = (message.topic().to_owned(), message.partition());
                    let value = message.payload_view::<str>().expect("a value").expect("text");
                    log.entry(place).or_default().push(value.to_owned());
                }
                Err(KafkaError::PartitionEOF(_)) => left -= 1,
                Err(error) => println!("the reader was told: {error}"),
            }
        }
        log
    }

    /// Until the last stable offset of each partition is its high watermark: what was decided before a kill is carried out
    /// after the restart, and clients do not wait for it.
    fn wait_until_stable(&self, topic: &str, partitions: i32) {
        let (committed, all) = (self.consumer("read_committed"), self.consumer("read_uncommitted"));
        let end = |consumer: &BaseConsumer, partition| {
            let watermarks = consumer.fetch_watermarks(topic, partition, PATIENCE);
            watermarks.expect("an answer").1
        };
        let limit = Instant::now() + PATIENCE;
        for partition in 0..partitions {
            while end(&committed, partition) < end(&all, partition) {
                assert!(Instant::now() < limit, "a transaction is open in partition {partition}");
                // A client has no way to be told.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn consumer(&self, level: &str) -> BaseConsumer {
        let mut config = config(self.address);
        config.set("group.id", "reads").set("isolation.level", level);
        config.set("enable.partition.eof", "true").set("enable.auto.commit", "false");
        config.create().expect("a consumer")
    }
}
