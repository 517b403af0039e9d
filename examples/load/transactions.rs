//! Many transactional ids with small transactions.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse,
    TransactionalId,
};
use kafka_protocol::protocol::StrBytes;

use crate::batches::{Batch, Codec, Writer, produce_as};
use crate::broker::{Meter, Target};
use crate::report::Report;
use crate::wire::{Connection, name, produce_error};

const FIND_COORDINATOR: (i16, i16) = (10, 4);
const INIT_PRODUCER_ID: (i16, i16) = (22, 4);
const ADD_PARTITIONS_TO_TXN: (i16, i16) = (24, 3);
/// FindCoordinator's key type of transactional ids.
const TRANSACTION: i8 = 1;

const IDS: usize = 10_000;
/// Transactions a second.
const RATE: usize = 1_000;
const CONNECTIONS: usize = 64;
const PARTITIONS: i32 = 6;
/// A transaction writes to two partitions, five records of 100 bytes to each.
const RECORDS_EACH: usize = 5;
/// Of the whole run, each with its CPU and memory.
const PARTS: u32 = 5;
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Markers are written behind the answer of EndTxn; after that long they must all be there.
const MARKERS_WITHIN: Duration = Duration::from_secs(20);

/// Which rules the requests choose.
#[derive(Clone, Copy)]
pub(crate) enum Version {
    /// AddPartitionsToTxn before the records; the epoch stays.
    V1,
    /// KIP-890: the records add their partitions; each end raises the epoch.
    V2,
}

impl Version {
    fn produce(self) -> (i16, i16) {
        (0, if matches!(self, Self::V1) { 9 } else { 12 })
    }

    fn end_txn(self) -> (i16, i16) {
        (26, if matches!(self, Self::V1) { 3 } else { 5 })
    }
}

/// Ten thousand ids, a thousand transactions a second of ten records each; one in ten is aborted.
pub(crate) fn transactions(target: &Target, seconds: u64, version: Version) -> io::Result<Report> {
    let mut connection = Connection::open(&target.address)?;
    connection.create_topic(&target.topic, PARTITIONS)?;
    find_coordinator(&mut connection)?;
    let (ready, stop) = (Arc::new(Barrier::new(CONNECTIONS + 1)), Arc::new(AtomicBool::new(false)));
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let worker = Worker::open(target, number, version)?;
            let (ready, stop) = (Arc::clone(&ready), Arc::clone(&stop));
            Ok(thread::spawn(move || worker.work(&ready, &stop)))
        })
        .collect::<io::Result<_>>()?;
    ready.wait();
    let over_time = watch(target, seconds);
    stop.store(true, Ordering::Relaxed);
    let mut times = Times::default();
    for worker in workers {
        times.add(worker.join().expect("a worker does not panic")?);
    }
    let count = times.ends.len();
    // A new one: the first may have been closed for being idle so long.
    check(&mut Connection::open(&target.address)?, &target.topic, count as u64)?;
    Ok(over_time
        .with("transactions_per_s", count as f64 / seconds as f64)
        .percentiles("end_", times.ends)
        .percentiles("whole_", times.whole))
}

/// CPU and memory of the broker over the run.
fn watch(target: &Target, seconds: u64) -> Report {
    let part = Duration::from_secs(seconds) / PARTS;
    let mut report = Report::default();
    for number in 0..PARTS {
        let meter = Meter::start(target);
        thread::sleep(part);
        report.add(format!("part{number}_broker_cores"), meter.stop().broker_cores());
        report.add(format!("part{number}_memory_mib"), target.memory_mib());
    }
    report
}

#[derive(Default)]
struct Times {
    /// From the request to the answer of EndTxn.
    ends: Vec<Duration>,
    /// From the time at which the transaction was due to that answer.
    whole: Vec<Duration>,
}

impl Times {
    fn add(&mut self, more: Self) {
        self.ends.extend(more.ends);
        self.whole.extend(more.whole);
    }
}

/// A connection with its share of the ids, which take turns.
struct Worker {
    connection: Connection,
    number: usize,
    version: Version,
    topic: String,
    producers: Vec<Producer>,
}

struct Producer {
    transactional_id: String,
    id: i64,
    epoch: i16,
    sequence: i32,
    /// Always the same, so that one sequence serves them.
    partitions: [i32; 2],
}

impl Worker {
    fn open(target: &Target, number: usize, version: Version) -> io::Result<Self> {
        let mut connection = Connection::open(&target.address)?;
        let ids = (number..IDS).step_by(CONNECTIONS);
        let producers = ids.map(|id| Producer::init(&mut connection, &target.topic, id));
        let producers = producers.collect::<io::Result<_>>()?;
        Ok(Self { connection, number, version, topic: target.topic.clone(), producers })
    }

    fn work(mut self, ready: &Barrier, stop: &AtomicBool) -> io::Result<Times> {
        ready.wait();
        let began = Instant::now();
        let mut times = Times::default();
        for turn in 0.. {
            let at = turn * CONNECTIONS + self.number;
            let due = began + Duration::from_secs(1).mul_f64(at as f64 / RATE as f64);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let end = self.transaction(turn).map_err(|error| {
                io::Error::other(format!(
                    "transaction {turn} of connection {}: {error}",
                    self.number
                ))
            })?;
            times.ends.push(end);
            times.whole.push(due.elapsed());
        }
        Ok(times)
    }

    /// How long its end took.
    fn transaction(&mut self, turn: usize) -> io::Result<Duration> {
        let index = turn % self.producers.len();
        let producer = &mut self.producers[index];
        let partitions = producer.partitions;
        if matches!(self.version, Version::V1) {
            producer.add(&mut self.connection, &self.topic)?;
        }
        let writer = Writer {
            transactional_id: Some(&producer.transactional_id),
            id: producer.id,
            epoch: producer.epoch,
            sequence: producer.sequence,
        };
        let api = self.version.produce();
        let batch = Batch::new(&writer, RECORDS_EACH, 100, Codec::None)?;
        let id = writer.transactional_id;
        let request = produce_as(id, api, &self.topic, &partitions, &batch);
        self.connection.send(&request)?;
        refuse("Produce", produce_error(self.connection.receive()?))?;
        let began = Instant::now();
        producer.end(&mut self.connection, self.version, turn % 10 != 9)?;
        Ok(began.elapsed())
    }
}

impl Producer {
    fn init(connection: &mut Connection, topic: &str, number: usize) -> io::Result<Self> {
        let transactional_id = format!("{topic}-{number}");
        let asked = InitProducerIdRequest::default()
            .with_transactional_id(Some(wire_id(&transactional_id)))
            .with_transaction_timeout_ms(60_000);
        let answer = until_it_is_there("InitProducerId", || {
            let answer: InitProducerIdResponse = connection.ask(INIT_PRODUCER_ID, &asked)?;
            Ok((answer.error_code, answer))
        })?;
        let (id, epoch) = (answer.producer_id.0, answer.producer_epoch);
        let first = (number % PARTITIONS as usize) as i32;
        let partitions = [first, (first + 1) % PARTITIONS];
        Ok(Self { transactional_id, id, epoch, sequence: 0, partitions })
    }

    fn add(&self, connection: &mut Connection, topic: &str) -> io::Result<()> {
        let added = AddPartitionsToTxnTopic::default()
            .with_name(name(topic))
            .with_partitions(self.partitions.to_vec());
        let asked = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(wire_id(&self.transactional_id))
            .with_v3_and_below_producer_id(self.id.into())
            .with_v3_and_below_producer_epoch(self.epoch)
            .with_v3_and_below_topics(vec![added]);
        let answer: AddPartitionsToTxnResponse = connection.ask(ADD_PARTITIONS_TO_TXN, &asked)?;
        let results = answer.results_by_topic_v3_and_below.iter();
        let mut codes = results.flat_map(|topic| &topic.results_by_partition);
        codes.try_for_each(|result| refuse("AddPartitionsToTxn", result.partition_error_code))
    }

    fn end(
        &mut self,
        connection: &mut Connection,
        version: Version,
        commits: bool,
    ) -> io::Result<()> {
        let asked = EndTxnRequest::default()
            .with_transactional_id(wire_id(&self.transactional_id))
            .with_producer_id(self.id.into())
            .with_producer_epoch(self.epoch)
            .with_committed(commits);
        let answer: EndTxnResponse = connection.ask(version.end_txn(), &asked)?;
        refuse("EndTxn", answer.error_code)?;
        match version {
            Version::V1 => self.sequence += RECORDS_EACH as i32,
            // A new epoch counts from 0.
            Version::V2 => (self.id, self.epoch) = (answer.producer_id.0, answer.producer_epoch),
        }
        Ok(())
    }
}

fn wire_id(id: &str) -> TransactionalId {
    TransactionalId(StrBytes::from_string(id.to_owned()))
}

fn refuse(api: &str, code: i16) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::other(format!("{api}: error {code}"))) }
}

/// Has the topic of transactions made.
fn find_coordinator(connection: &mut Connection) -> io::Result<()> {
    let asked = FindCoordinatorRequest::default()
        .with_key_type(TRANSACTION)
        .with_coordinator_keys(vec![StrBytes::from_static_str("load")]);
    until_it_is_there("FindCoordinator", || {
        let answer: FindCoordinatorResponse = connection.ask(FIND_COORDINATOR, &asked)?;
        let code = answer.coordinators.first().map_or(-1, |coordinator| coordinator.error_code);
        Ok((code, ()))
    })
}

/// A broker that has just made the topic of transactions asks for patience.
fn until_it_is_there<T>(api: &str, mut ask: impl FnMut() -> io::Result<(i16, T)>) -> io::Result<T> {
    const LOADING_OR_NOT_THERE: [i16; 3] = [14, 15, 16];
    let limit = Instant::now() + READY_WITHIN;
    loop {
        let (code, answer) = ask()?;
        if !LOADING_OR_NOT_THERE.contains(&code) || Instant::now() > limit {
            return refuse(api, code).map(|()| answer);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Every record is there, and a marker in each partition of each transaction.
fn check(connection: &mut Connection, topic: &str, transactions: u64) -> io::Result<()> {
    let expected = transactions * 2 * (RECORDS_EACH as u64 + 1);
    let limit = Instant::now() + MARKERS_WITHIN;
    loop {
        let stored = connection.records_in(topic, PARTITIONS)?;
        if stored == expected {
            return Ok(());
        }
        if stored > expected || Instant::now() > limit {
            return Err(io::Error::other(format!(
                "{expected} records and markers, {stored} stored"
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
