//! A real process, killed with -9 again and again under an idempotent rdkafka producer with acks=all.
//!
//! One producer lives through all rounds. Its records carry their number within the partition, so in the end the log must
//! be exactly 0, 1, 2, … at the offsets 0, 1, 2, …: what was acknowledged is there, in order, once. A process is killed
//! when a random number of acknowledgements has come in its round, with more requests on their way.

#![allow(
    clippy::disallowed_methods,
    reason = "spawns the broker as a process and a thread that produces"
)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext, Message, Offset, TopicPartitionList};

const ROUNDS: u64 = 60;
const PARTITIONS: usize = 4;
/// Most records on their way at once.
const OUTSTANDING_MAX: u64 = 2000;
/// A round that shows no acknowledgement for this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const TOPIC: &str = "killed";

#[test]
fn acknowledged_records_survive_kill_9_in_order_and_once() {
    let seed =
        std::env::var("HIGHWATER_SEED").map_or(20_261, |text| text.parse().expect("a number"));
    println!("HIGHWATER_SEED={seed}");
    let mut random = Random(seed);
    let data = tempfile::tempdir().expect("a directory");
    let address = format!("127.0.0.1:{}", free_port());
    let mut broker = Broker::start(data.path(), &address);
    create_topic(&address);
    let seen = Arc::new(Seen::default());
    let load = Load::start(&address, Arc::clone(&seen));
    for round in 0..ROUNDS {
        let more = 1 + random.below(3000);
        seen.wait_for_more(more, || broker.assert_alive(round));
        broker.kill();
        broker = Broker::start(data.path(), &address);
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

/// The broker as its own process.
struct Broker {
    process: Child,
}

impl Broker {
    fn start(data: &Path, address: &str) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(["--data-dir", data.to_str().expect("plain text"), "--listen", address])
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()
            .expect("the broker starts");
        Self { process }
    }

    fn kill(&mut self) {
        self.process.kill().expect("SIGKILL");
        self.process.wait().expect("it ends");
    }

    fn assert_alive(&mut self, round: u64) {
        let ended = self.process.try_wait().expect("its state");
        assert!(ended.is_none(), "the broker ended by itself in round {round}: {ended:?}");
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
        let record: BaseRecord<'_, str, str> =
            BaseRecord::to(TOPIC).partition(partition as i32).payload(&payload);
        producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
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

fn config(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address).set("broker.address.family", "v4");
    config.set("reconnect.backoff.ms", "10").set("reconnect.backoff.max.ms", "100");
    config.set("retry.backoff.ms", "10").set("retry.backoff.max.ms", "100");
    config.set("log_level", "0");
    config
}

fn create_topic(address: &str) {
    let admin: AdminClient<DefaultClientContext> =
        config(address).create().expect("an admin client");
    let topic = NewTopic::new(TOPIC, PARTITIONS as i32, TopicReplication::Fixed(1));
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let results = runtime.block_on(admin.create_topics([&topic], &options)).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
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

/// A port below the range of outgoing connections, so that nothing takes it while the broker is down.
fn free_port() -> u16 {
    let first = 20_000 + (std::process::id() % 5_000) as u16;
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..first + 1_000).find(free).expect("a free port")
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}
