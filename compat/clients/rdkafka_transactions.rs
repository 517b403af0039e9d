//! The rdkafka crate under `compat/run transactions`: `write BOOTSTRAP TOPIC`, see `compat/clients/python/txn_spec.py`.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a program that lets time pass and reports on standard output"
)]

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const PARTITIONS: i32 = 3;
const RECORDS: i32 = 10;
const TIMEOUT: Duration = Duration::from_secs(60);
/// `LATE_TIMEOUT_MS` and `LATE_SECONDS` of the specification.
const LATE_TIMEOUT_MS: &str = "4000";
const LATE: Duration = Duration::from_secs(15);

type Instance = ThreadedProducer<DefaultProducerContext>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut cases = Cases { bootstrap: arguments[2].clone(), topic: arguments[3].clone() };
    let producer = cases.instance().expect("a first instance");
    report("two in a row", cases.commit(&producer, &["first", "second"]).map(|()| String::new()));
    report("abort", cases.abort(&producer).map(|()| String::new()));
    report("offsets", cases.offsets(&producer).map(|()| String::new()));
    report("fencing", cases.fence(&producer));
    report("timeout", cases.outlive());
}

fn report(name: &str, result: Result<String, KafkaError>) {
    match result {
        Ok(detail) => println!("{name}\tok\t{detail}"),
        Err(error) => println!("{name}\tFAIL\t{error}"),
    }
}

struct Cases {
    bootstrap: String,
    topic: String,
}

impl Cases {
    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap).set("log_level", "0");
        config.set("reconnect.backoff.max.ms", "200");
        config
    }

    fn instance(&self) -> Result<Instance, KafkaError> {
        let id = format!("{}-id", self.topic);
        let producer: Instance = self.config().set("transactional.id", id).create()?;
        producer.init_transactions(TIMEOUT)?;
        Ok(producer)
    }

    fn late_instance(&self) -> Result<Instance, KafkaError> {
        let mut config = self.config();
        config.set("transactional.id", format!("{}-late", self.topic));
        let producer: Instance = config.set("transaction.timeout.ms", LATE_TIMEOUT_MS).create()?;
        producer.init_transactions(TIMEOUT)?;
        Ok(producer)
    }

    fn send(&self, producer: &Instance, phase: &str) -> Result<(), KafkaError> {
        for number in 0..RECORDS {
            let value = format!("{phase}-{number}");
            let record: BaseRecord<'_, str, str> =
                BaseRecord::to(&self.topic).partition(number % PARTITIONS).payload(&value);
            producer.send(record).map_err(|(error, _)| error)?;
        }
        producer.flush(TIMEOUT)
    }

    fn commit(&self, producer: &Instance, phases: &[&str]) -> Result<(), KafkaError> {
        for phase in phases {
            producer.begin_transaction()?;
            self.send(producer, phase)?;
            producer.commit_transaction(TIMEOUT)?;
        }
        Ok(())
    }

    fn abort(&self, producer: &Instance) -> Result<(), KafkaError> {
        producer.begin_transaction()?;
        self.send(producer, "aborted")?;
        producer.abort_transaction(TIMEOUT)?;
        self.commit(producer, &["after"])
    }

    fn offsets(&self, producer: &Instance) -> Result<(), KafkaError> {
        self.send_with_offset(producer, "offsets", 5)?;
        producer.commit_transaction(TIMEOUT)?;
        self.send_with_offset(producer, "no-offsets", 8)?;
        producer.abort_transaction(TIMEOUT)
    }

    fn send_with_offset(
        &self,
        producer: &Instance,
        phase: &str,
        offset: i64,
    ) -> Result<(), KafkaError> {
        producer.begin_transaction()?;
        self.send(producer, phase)?;
        let group = format!("{}-group", self.topic);
        let consumer: BaseConsumer = self.config().set("group.id", group).create()?;
        let mut next = TopicPartitionList::new();
        next.add_partition_offset(&format!("{}-in", self.topic), 0, Offset::Offset(offset))?;
        let group = consumer.group_metadata().expect("it has a group");
        producer.send_offsets_to_transaction(&next, &group, TIMEOUT)
    }

    /// The error that the first instance gets.
    fn fence(&mut self, first: &Instance) -> Result<String, KafkaError> {
        first.begin_transaction()?;
        self.send(first, "zombie")?;
        let second = self.instance()?;
        self.commit(&second, &["heir"])?;
        refused(first.commit_transaction(TIMEOUT))
    }

    /// The error of a commit that comes after its time.
    fn outlive(&self) -> Result<String, KafkaError> {
        let late = self.late_instance()?;
        late.begin_transaction()?;
        self.send(&late, "late")?;
        std::thread::sleep(LATE);
        let refused = refused(late.commit_transaction(TIMEOUT))?;
        self.commit(&self.late_instance()?, &["in-time"])?;
        Ok(refused)
    }
}

fn refused(commit: Result<(), KafkaError>) -> Result<String, KafkaError> {
    match commit {
        Err(KafkaError::Transaction(error)) => Ok(format!("{:?}", error.code())),
        Err(error) => Err(error),
        Ok(()) => panic!("it committed"),
    }
}
