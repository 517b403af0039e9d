//! A real process, killed with -9 again and again under an idempotent rdkafka producer with acks=all.
//!
//! One producer lives through all rounds. Its records carry their number within the partition, so in the end the log must
//! be exactly 0, 1, 2, … at the offsets 0, 1, 2, …: what was acknowledged is there, in order, once. A process is killed
//! when a random number of acknowledgements has come in its round, with more requests on their way.

#![allow(
    clippy::disallowed_methods,
    reason = "spawns the broker as a process and a thread that produces"
)]

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Message, Offset, TopicPartitionList};

#[path = "support/data_directories.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod data_directories;
#[path = "support/processes.rs"]
mod processes;
#[path = "support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;

use data_directories::DataDirectories;
use highwater::env::Random as _;
use processes::{BrokerProcess, PATIENCE, config, create_topic, free_port, seeded, send};

const ROUNDS: u64 = 60;
const PARTITIONS: usize = 4;
/// Most records on their way at once.
const OUTSTANDING_MAX: u64 = 2000;
const TOPIC: &str = "killed";

#[test]
fn acknowledged_records_survive_kill_9_in_order_and_once() {
    let random = seeded();
    let data = DataDirectories::one();
    let address = format!("127.0.0.1:{}", free_port(20_000));
    let mut broker = BrokerProcess::start(data.path(), &address, &[]);
    create_topic(&address, TOPIC, PARTITIONS as i32);
    let seen = Arc::new(Seen::default());
    let load = Load::start(&address, Arc::clone(&seen));
    for round in 0..ROUNDS {
        let more = 1 + random.next_u64() % 3000;
        seen.wait_for_more(more, || broker.assert_alive(round));
        broker.kill();
        broker = BrokerProcess::start(data.path(), &address, &[]);
        if round % 10 == 9 {
            seen.wait_for_more(1, || broker.assert_alive(round));
            assert_ends_cover(&address, &seen);
        }
    }
    let sent = load.finish();
    let acknowledged = seen.state.lock().expect("no panic").acknowledged.clone();
    assert_eq!(acknowledged, sent, "every record is acknowledged in the end");
    assert_log_is_exactly(&address, &sent);
    println!("{} records over {ROUNDS} kills", sent.iter().sum::<u64>());
}

/// What the producer has been told so far.
#[derive(Default)]
struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Records acknowledged in each partition.
    acknowledged: Vec<u64>,
    sent: u64,
    failures: Vec<String>,
    stopping: bool,
}

impl State {
    fn total(&self) -> u64 {
        self.acknowledged.iter().sum()
    }
}

impl Seen {
    /// Waits until `more` records have been acknowledged from now on.
    fn wait_for_more(&self, more: u64, mut while_waiting: impl FnMut()) {
        let mut state = self.state.lock().expect("no panic");
        let goal = state.total() + more;
        let mut limit = Instant::now() + PATIENCE;
        let mut last = state.total();
        while state.total() < goal {
            assert!(Instant::now() < limit, "no acknowledgement for {PATIENCE:?}");
            state = self.changed.wait_timeout(state, Duration::from_secs(1)).expect("no panic").0;
            assert!(state.failures.is_empty(), "{:?}", state.failures);
            if state.total() > last {
                last = state.total();
                limit = Instant::now() + PATIENCE;
            }
            while_waiting();
        }
    }
}

struct Reports(Arc<Seen>);

impl ClientContext for Reports {
    fn error(&self, error: KafkaError, reason: &str) {
        // Broken connections are the point of the test; a fatal error is the end of idempotence.
        if reason.to_lowercase().contains("fatal") {
            let mut state = self.0.state.lock().expect("no panic");
            state.failures.push(format!("{error}: {reason}"));
        }
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let mut state = self.0.state.lock().expect("no panic");
        match result {
            Ok(message) => {
                let count = &mut state.acknowledged[message.partition() as usize];
                let number: u64 = text(message.payload()).parse().expect("a number");
                let expected = *count;
                *count += 1;
                if number != expected || message.offset() != expected as i64 {
                    let offset = message.offset();
                    state.failures.push(format!(
                        "record {number} acknowledged at {offset}, expected {expected}"
                    ));
                }
            }
            Err((error, _)) => state.failures.push(error.to_string()),
        }
        self.0.changed.notify_all();
    }
}

/// The producing thread.
struct Load {
    thread: std::thread::JoinHandle<Vec<u64>>,
    seen: Arc<Seen>,
}

impl Load {
    fn start(address: &str, seen: Arc<Seen>) -> Self {
        seen.state.lock().expect("no panic").acknowledged = vec![0; PARTITIONS];
        let producer: ThreadedProducer<Reports> = config(address)
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("linger.ms", "1")
            .set("batch.num.messages", "100")
            .set("message.timeout.ms", "300000")
            .create_with_context(Reports(Arc::clone(&seen)))
            .expect("a producer");
        let shared = Arc::clone(&seen);
        let thread = std::thread::spawn(move || produce(&producer, &shared));
        Self { thread, seen }
    }

    /// Stops sending and waits for the acknowledgement of everything; how many records each partition got.
    fn finish(self) -> Vec<u64> {
        self.seen.state.lock().expect("no panic").stopping = true;
        self.seen.changed.notify_all();
        self.thread.join().expect("the producer did not panic")
    }
}

fn produce(producer: &ThreadedProducer<Reports>, seen: &Seen) -> Vec<u64> {
    let mut sent = vec![0_u64; PARTITIONS];
    let mut partitions = (0..PARTITIONS).cycle();
    while let Some(partition) = partitions.next().filter(|_| may_send(seen)) {
        let payload = sent[partition].to_string();
        send(producer, TOPIC, partition as i32, &payload);
        sent[partition] += 1;
    }
    producer.flush(PATIENCE).expect("the last records are acknowledged");
    sent
}

/// Waits for room; false when it is time to stop.
fn may_send(seen: &Seen) -> bool {
    let mut state = seen.state.lock().expect("no panic");
    while !state.stopping && state.sent - state.total() >= OUTSTANDING_MAX {
        state = seen.changed.wait(state).expect("no panic");
    }
    state.sent += 1;
    !state.stopping && state.failures.is_empty()
}

fn consumer(address: &str) -> BaseConsumer {
    let mut config = config(address);
    config.set("group.id", "not-used").set("enable.auto.commit", "false");
    config.set("enable.partition.eof", "true").set("check.crcs", "true");
    config.create().expect("a consumer")
}

/// The end of every partition is behind what had been acknowledged before it was asked.
fn assert_ends_cover(address: &str, seen: &Seen) {
    let acknowledged = seen.state.lock().expect("no panic").acknowledged.clone();
    let consumer = consumer(address);
    for (partition, count) in acknowledged.into_iter().enumerate() {
        let (low, high) =
            consumer.fetch_watermarks(TOPIC, partition as i32, PATIENCE).expect("watermarks");
        assert!(
            low == 0 && high >= count as i64,
            "partition {partition}: {low}..{high}, {count} acknowledged"
        );
    }
}

fn assert_log_is_exactly(address: &str, sent: &[u64]) {
    let consumer = consumer(address);
    let mut assigned = TopicPartitionList::new();
    for partition in 0..sent.len() {
        assigned
            .add_partition_offset(TOPIC, partition as i32, Offset::Beginning)
            .expect("an offset");
    }
    consumer.assign(&assigned).expect("an assignment");
    let mut read = vec![0_u64; sent.len()];
    let mut left = sent.len();
    while left > 0 {
        let message = match consumer.poll(PATIENCE).expect("an end in time") {
            Ok(message) => message,
            Err(KafkaError::PartitionEOF(_)) => {
                left -= 1;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let partition = message.partition() as usize;
        let expected = read[partition];
        assert_eq!(message.offset(), expected as i64, "partition {partition}: a gap");
        assert_eq!(text(message.payload()), expected.to_string(), "partition {partition}");
        read[partition] += 1;
    }
    assert_eq!(read, sent, "the log holds everything that was sent, once");
}

fn text(payload: Option<&[u8]>) -> &str {
    std::str::from_utf8(payload.expect("a payload")).expect("text")
}
