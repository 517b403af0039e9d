//! The broker, killed with -9 in every state of a transaction: begun, with records, on its way to a commit or an abort,
//! between markers; with its producer still there, or gone too. After each restart the transaction ends as in Apache Kafka, in
//! both versions of transactions.
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

use std::path::Path;
use std::time::Duration;

#[path = "../support/data_directories.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod data_directories;
#[path = "../support/processes.rs"]
mod processes;
mod producers;
#[path = "../support/raw.rs"]
mod raw;
mod reader;
#[path = "../support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;
mod version2;

use data_directories::DataDirectories;
use highwater::env::{Random as _, SeededRandom};
use processes::{BrokerProcess, committed_offset, create_topic, free_port, group_client, seeded};
use producers::{End, GROUP, Producer, SOURCE, V1};
use reader::{Log, Reader};
use version2::V2;

const TOPIC: &str = "whole";
const PARTITIONS: i32 = 12;
/// Records of a transaction, spread over all partitions.
const RECORDS: i32 = 36;
const BYSTANDER: &str = "bystander";
/// Rounds over which a transaction of the bystander stays open.
const BYSTANDER_ROUNDS: usize = 5;
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

#[test]
fn a_transaction_ends_as_a_whole_wherever_the_broker_is_killed() {
    run::<V1>(23_000);
}

#[test]
fn so_does_one_of_version_2() {
    run::<V2>(25_500);
}

fn run<P: Producer>(lowest_port: u16) {
    let data = DataDirectories::one();
    let address = format!("127.0.0.1:{}", free_port(lowest_port));
    let mut run = Run::<P>::start(data.path(), address, seeded());
    for round in 0..ROUNDS {
        let moment = MOMENTS[round % MOMENTS.len()];
        println!("round {round}: {moment:?}");
        run.round(round, moment);
    }
}

struct Run<'a, P> {
    data: &'a Path,
    address: String,
    random: SeededRandom,
    broker: BrokerProcess,
    producer: P,
    bystander: Bystander<P>,
    expected: Log,
    /// What the group has committed.
    offset: Option<i64>,
}

impl<'a, P: Producer> Run<'a, P> {
    fn start(data: &'a Path, address: String, random: SeededRandom) -> Self {
        let broker = BrokerProcess::start(data, &address, &[]);
        for (topic, partitions) in [(TOPIC, PARTITIONS), (BYSTANDER, 1), (SOURCE, 1)] {
            create_topic(&address, topic, partitions);
        }
        Self {
            data,
            random,
            broker,
            producer: P::take_over(&address, "killed"),
            bystander: Bystander::begin(&address, 0),
            expected: Log::new(),
            offset: None,
            address,
        }
    }

    fn round(&mut self, round: usize, moment: Moment) {
        self.producer.begin();
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
                self.kill_during(|producer| producer.end(End::Commit)).expect("the commit");
                self.committed(round);
            }
            Moment::Abort => {
                self.send_all(round);
                self.kill_during(|producer| producer.end(End::Abort)).expect("the abort");
            }
            Moment::Left => {
                self.send_all(round);
                self.restart();
                let mut old = self.replace_producer();
                assert!(old.end(End::Commit).is_err(), "it is not its transaction any more");
            }
            Moment::LeftAtCommit => {
                self.send_all(round);
                self.kill_during(P::commit_and_leave);
                self.replace_producer();
                if self.read() != self.expected {
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
    fn kill_during<T: Send>(&mut self, end: impl FnOnce(&mut P) -> T + Send) -> T {
        let after = Duration::from_micros(self.random.next_u64() % END_MICROS_MAX);
        let (data, address) = (self.data, &self.address);
        let (producer, broker) = (&mut self.producer, &mut self.broker);
        std::thread::scope(|scope| {
            let ending = scope.spawn(move || end(producer));
            // No wait for anything: it chooses the moment.
            std::thread::sleep(after);
            broker.kill();
            *broker = BrokerProcess::start(data, address, &[]);
            ending.join().expect("no panic")
        })
    }

    fn send(&mut self, round: usize, numbers: std::ops::Range<i32>) {
        for number in numbers {
            let value = format!("{round}-{number}");
            self.producer.send(TOPIC, number % PARTITIONS, &value);
        }
    }

    /// All records and the offset, acknowledged.
    fn send_all(&mut self, round: usize) {
        self.send(round, 0..RECORDS);
        self.producer.flush();
        self.producer.send_offset(round as i64 + 1);
    }

    fn commit(&mut self, round: usize) {
        self.producer.send_offset(round as i64 + 1);
        self.producer.end(End::Commit).expect("the commit");
        self.committed(round);
    }

    fn committed(&mut self, round: usize) {
        for number in 0..RECORDS {
            let place = (TOPIC.to_owned(), number % PARTITIONS);
            self.expected.entry(place).or_default().push(format!("{round}-{number}"));
        }
        self.offset = Some(round as i64 + 1);
    }

    /// The new one has the transaction of the old one, which it gives back, ended before it begins.
    fn replace_producer(&mut self) -> P {
        let new = P::take_over(&self.address, "killed");
        std::mem::replace(&mut self.producer, new)
    }

    fn check(&mut self, round: usize) {
        assert_eq!(self.read(), self.expected, "committed records after round {round}");
        assert_eq!(self.group_offset(), self.offset, "the group's offset after round {round}");
        if round % BYSTANDER_ROUNDS == BYSTANDER_ROUNDS - 1 {
            let value = self.bystander.commit();
            self.expected.entry((BYSTANDER.to_owned(), 0)).or_default().push(value);
            self.bystander = Bystander::begin(&self.address, round + 1);
        }
    }

    fn read(&self) -> Log {
        let places: Vec<_> = (0..PARTITIONS).map(|partition| (TOPIC, partition)).collect();
        let places = [&places[..], &[(BYSTANDER, 0)]].concat();
        Reader { address: &self.address }.read((TOPIC, PARTITIONS), &places)
    }

    fn group_offset(&self) -> Option<i64> {
        committed_offset(&group_client(&self.address, GROUP), SOURCE)
    }
}

/// A transaction that nobody touches while the broker is killed again and again.
struct Bystander<P> {
    producer: P,
    round: usize,
}

impl<P: Producer> Bystander<P> {
    fn begin(address: &str, round: usize) -> Self {
        let mut producer = P::take_over(address, "bystander");
        producer.begin();
        producer.send(BYSTANDER, 0, &value_since(round));
        producer.flush();
        Self { producer, round }
    }

    /// What it has written.
    fn commit(&mut self) -> String {
        self.producer.end(End::Commit).expect("the commit after several restarts");
        value_since(self.round)
    }
}

fn value_since(round: usize) -> String {
    format!("since round {round}")
}
