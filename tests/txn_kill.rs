//! The broker, killed with -9 in every state of a transaction: begun, with records, on its way to a commit or an abort,
//! between markers; with its producer still there, or gone too. After each restart the transaction ends as in Apache Kafka.
//!
//! A transaction writes to every partition of a topic and commits an offset of a group. After each round a reader of committed
//! records must see exactly the committed transactions, whole and in order, and the group must have the offset of the last one.
//! A bystander keeps a transaction of its own open over several restarts. Whether a kill at an end comes before the decision, after it or between two markers
//! is a matter of the moment, which is random within the time that an end takes; rounds are many enough to meet them all.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "spawns the broker as a process, and threads, and says what readers were told"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{Message, Offset, TopicPartitionList};

#[path = "support/processes.rs"]
mod processes;

use highwater::env::{Random as _, SeededRandom};
use processes::{
    BrokerProcess, PATIENCE, committed_offset, config, create_topic, free_port, group_client,
    seeded, send,
};

const TOPIC: &str = "whole";
const PARTITIONS: i32 = 12;
/// Records of a transaction, spread over all partitions.
const RECORDS: i32 = 36;
const BYSTANDER: &str = "bystander";
/// Rounds over which a transaction of the bystander stays open.
const BYSTANDER_ROUNDS: usize = 5;
const SOURCE: &str = "source";
const GROUP: &str = "group";
const ROUNDS: usize = 3 * MOMENTS.len();
/// Most time from the call that ends a transaction to the kill: an end takes a few milliseconds.
const END_MICROS_MAX: u64 = 6_000;

/// When the broker is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Before the first record.
    Begun,
    /// Between two records, with some on their way.
    Adding,
    /// While it is being committed.
    Commit,
    /// While it is being aborted.
    Abort,
    /// With records, and the producer is gone for good; another one takes its id.
    Left,
    /// While it is being committed by a producer that is gone for good before it hears of the end.
    LeftAtCommit,
}

const MOMENTS: [Moment; 6] = [
    Moment::Begun,
    Moment::Adding,
    Moment::Commit,
    Moment::Abort,
    Moment::Left,
    Moment::LeftAtCommit,
];

type Instance = ThreadedProducer<DefaultProducerContext>;

#[test]
fn a_transaction_ends_as_a_whole_wherever_the_broker_is_killed() {
    let data = tempfile::tempdir().expect("a directory");
    let mut run = Run::start(data.path(), seeded());
    for round in 0..ROUNDS {
        let moment = MOMENTS[round % MOMENTS.len()];
        println!("round {round}: {moment:?}");
        run.round(round, moment);
    }
}

/// Values of the committed records, by topic and partition.
type Log = BTreeMap<(String, i32), Vec<String>>;

struct Run<'a> {
    data: &'a Path,
    address: String,
    random: SeededRandom,
    broker: BrokerProcess,
    producer: Instance,
    bystander: Bystander,
    expected: Log,
    /// What the group has committed.
    offset: Option<i64>,
}

impl<'a> Run<'a> {
    fn start(data: &'a Path, random: SeededRandom) -> Self {
        let address = format!("127.0.0.1:{}", free_port(23_000));
        let broker = BrokerProcess::start(data, &address, &[]);
        for (topic, partitions) in [(TOPIC, PARTITIONS), (BYSTANDER, 1), (SOURCE, 1)] {
            create_topic(&address, topic, partitions);
        }
        Self {
            data,
            random,
            broker,
            producer: instance(&address, "killed"),
            bystander: Bystander::begin(&address, 0),
            expected: Log::new(),
            offset: None,
            address,
        }
    }

    fn round(&mut self, round: usize, moment: Moment) {
        self.producer.begin_transaction().expect("a transaction begins");
        match moment {
            Moment::Begun => {
                self.restart();
                self.send(round, 0..RECORDS);
                self.commit(round);
            }
            Moment::Adding => {
                self.send(round, 0..RECORDS / 2);
                self.restart();
                self.send(round, RECORDS / 2..RECORDS);
                self.commit(round);
            }
            Moment::Commit => {
                self.send_all(round);
                self.kill_during(Instance::commit_transaction).expect("the commit");
                self.committed(round);
            }
            Moment::Abort => {
                self.send_all(round);
                self.kill_during(Instance::abort_transaction).expect("the abort");
            }
            Moment::Left => {
                self.send_all(round);
                self.restart();
                self.replace_producer();
            }
            Moment::LeftAtCommit => {
                self.send_all(round);
                // It does not wait for the answer, which may be either.
                let _ = self.kill_during(|producer, _| {
                    producer.commit_transaction(Duration::from_millis(5))
                });
                self.replace_producer();
                if self.reader().read() != self.expected {
                    self.committed(round);
                }
            }
        }
        self.check(round);
    }

    fn restart(&mut self) {
        self.broker.kill();
        self.broker = BrokerProcess::start(self.data, &self.address, &[]);
    }

    /// Kills the broker at a random moment of `end`, which goes on with the next one.
    fn kill_during(
        &mut self,
        end: impl FnOnce(&Instance, Duration) -> KafkaResult<()> + Send,
    ) -> KafkaResult<()> {
        let after = Duration::from_micros(self.random.next_u64() % END_MICROS_MAX);
        let (data, address) = (self.data, &self.address);
        let (producer, broker) = (&self.producer, &mut self.broker);
        std::thread::scope(|scope| {
            let ending = scope.spawn(move || end(producer, PATIENCE));
            // No wait for anything: it chooses the moment.
            std::thread::sleep(after);
            broker.kill();
            *broker = BrokerProcess::start(data, address, &[]);
            ending.join().expect("no panic")
        })
    }

    fn send(&self, round: usize, numbers: std::ops::Range<i32>) {
        for number in numbers {
            let value = format!("{round}-{number}");
            send(&self.producer, TOPIC, number % PARTITIONS, &value);
        }
    }

    /// All records and the offset, acknowledged.
    fn send_all(&self, round: usize) {
        self.send(round, 0..RECORDS);
        self.producer.flush(PATIENCE).expect("the records are acknowledged");
        self.send_offset(round);
    }

    fn send_offset(&self, round: usize) {
        let consumer = group_client(&self.address, GROUP);
        let mut offsets = TopicPartitionList::new();
        let offset = Offset::Offset(round as i64 + 1);
        offsets.add_partition_offset(SOURCE, 0, offset).expect("an offset");
        let group = consumer.group_metadata().expect("it has a group");
        let sent = self.producer.send_offsets_to_transaction(&offsets, &group, PATIENCE);
        sent.expect("the offset is part of the transaction");
    }

    fn commit(&mut self, round: usize) {
        self.send_offset(round);
        self.producer.commit_transaction(PATIENCE).expect("the commit");
        self.committed(round);
    }

    fn committed(&mut self, round: usize) {
        for number in 0..RECORDS {
            let place = (TOPIC.to_owned(), number % PARTITIONS);
            self.expected.entry(place).or_default().push(format!("{round}-{number}"));
        }
        self.offset = Some(round as i64 + 1);
    }

    /// The new one has the transaction of the old one ended before it begins.
    fn replace_producer(&mut self) {
        self.producer = instance(&self.address, "killed");
    }

    fn check(&mut self, round: usize) {
        assert_eq!(self.reader().read(), self.expected, "committed records after round {round}");
        assert_eq!(self.group_offset(), self.offset, "the group's offset after round {round}");
        if round % BYSTANDER_ROUNDS == BYSTANDER_ROUNDS - 1 {
            self.bystander.commit();
            self.expected
                .entry((BYSTANDER.to_owned(), 0))
                .or_default()
                .push(self.bystander.value());
            self.bystander = Bystander::begin(&self.address, round + 1);
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { address: &self.address }
    }

    fn group_offset(&self) -> Option<i64> {
        committed_offset(&group_client(&self.address, GROUP), SOURCE)
    }
}

fn instance(address: &str, id: &str) -> Instance {
    let producer: Instance = config(address)
        .set("transactional.id", id)
        .set("transaction.timeout.ms", "600000")
        .create()
        .expect("a producer");
    producer.init_transactions(PATIENCE).expect("the id is ours");
    producer
}

/// A transaction that nobody touches while the broker is killed again and again.
struct Bystander {
    producer: Instance,
    round: usize,
}

impl Bystander {
    fn begin(address: &str, round: usize) -> Self {
        let bystander = Self { producer: instance(address, "bystander"), round };
        let producer = &bystander.producer;
        producer.begin_transaction().expect("a transaction begins");
        send(producer, BYSTANDER, 0, &bystander.value());
        producer.flush(PATIENCE).expect("the record is acknowledged");
        bystander
    }

    fn value(&self) -> String {
        format!("since round {}", self.round)
    }

    fn commit(&self) {
        self.producer.commit_transaction(PATIENCE).expect("the commit after several restarts");
    }
}

/// What consumers of committed records see.
struct Reader<'a> {
    address: &'a str,
}

impl Reader<'_> {
    /// Everything, once no transaction holds the topic back.
    fn read(&self) -> Log {
        self.wait_until_stable();
        let consumer = self.consumer("read_committed");
        let mut assigned = TopicPartitionList::new();
        for (topic, partition) in places() {
            let place = assigned.add_partition_offset(topic, partition, Offset::Beginning);
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
    fn wait_until_stable(&self) {
        let (committed, all) = (self.consumer("read_committed"), self.consumer("read_uncommitted"));
        let end = |consumer: &BaseConsumer, partition| {
            let watermarks = consumer.fetch_watermarks(TOPIC, partition, PATIENCE);
            watermarks.expect("an answer").1
        };
        let limit = Instant::now() + PATIENCE;
        for partition in 0..PARTITIONS {
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

fn places() -> impl Iterator<Item = (&'static str, i32)> {
    (0..PARTITIONS).map(|partition| (TOPIC, partition)).chain([(BYSTANDER, 0)])
}
