//! Consumer programs and the broker, killed with -9 in turns while a producer goes on: every record is delivered, and no
//! acknowledged commit goes back.
//!
//! The consumers are processes of their own (this test program, told so by its environment): a crash is a real one, nobody
//! leaves the group. Each prints a line for every record it has processed and for every commit that was acknowledged.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "spawns processes and threads, and talks to its parent by lines"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{Message, Offset, TopicPartitionList};

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
use processes::{
    BrokerProcess, PATIENCE, config, create_topic, free_port, group_client, seeded, send,
};

const TOPIC: &str = "shared";
const GROUP: &str = "killed-group";
const PARTITIONS: i32 = 6;
const CONSUMERS: usize = 3;
const ROUNDS: u64 = 8;
const SESSION_MS: &str = "6000";

/// Tells a consumer program where to go: address and protocol.
const CHILD: &str = "HIGHWATER_TEST_CONSUMER";

#[test]
fn classic_consumers_lose_neither_records_nor_commits_over_kills() {
    run("classic", 25_000);
}

#[test]
fn consumers_of_the_new_protocol_lose_neither_records_nor_commits_over_kills() {
    run("consumer", 28_000);
}

/// No test: the consumer program, in a process of its own.
#[test]
fn consumer_program() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (address, protocol) = told.split_once(' ').expect("address and protocol");
    let mut config = config(address);
    config.set("group.id", GROUP).set("group.protocol", protocol);
    config.set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
    if protocol == "classic" {
        config.set("session.timeout.ms", SESSION_MS).set("heartbeat.interval.ms", "500");
    }
    let consumer: BaseConsumer = config.create().expect("a consumer");
    consumer.subscribe(&[TOPIC]).expect("a subscription");
    let mut since_commit = 0;
    loop {
        // Errors are the point: connections break, the coordinator is away. The client goes on by itself.
        if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
            println!("processed {} {}", message.partition(), message.offset());
            since_commit += 1;
        }
        if since_commit >= 50 {
            since_commit = 0;
            commit(&consumer);
        }
    }
}

fn commit(consumer: &BaseConsumer) {
    let Ok(position) = consumer.position() else { return };
    let known = position.elements().into_iter().filter(|p| matches!(p.offset(), Offset::Offset(_)));
    let mut offsets = TopicPartitionList::new();
    for partition in known {
        offsets
            .add_partition_offset(partition.topic(), partition.partition(), partition.offset())
            .expect("an offset");
    }
    if offsets.count() > 0 && consumer.commit(&offsets, CommitMode::Sync).is_ok() {
        for partition in offsets.elements() {
            if let Offset::Offset(offset) = partition.offset() {
                println!("committed {} {offset}", partition.partition());
            }
        }
    }
}

fn run(protocol: &'static str, first_port: u16) {
    let random = seeded();
    let data = DataDirectories::one();
    let address = format!("127.0.0.1:{}", free_port(first_port));
    let settings = [
        format!("group.consumer.min.session.timeout.ms={SESSION_MS}"),
        format!("group.consumer.session.timeout.ms={SESSION_MS}"),
        "group.consumer.min.heartbeat.interval.ms=500".to_owned(),
        "group.consumer.heartbeat.interval.ms=500".to_owned(),
    ];
    let mut broker = BrokerProcess::start(data.path(), &address, &settings);
    create_topic(&address, TOPIC, PARTITIONS);
    let seen = Arc::new(Seen::default());
    let mut consumers: Vec<Program> =
        (0..CONSUMERS).map(|_| Program::start(&address, protocol, &seen)).collect();
    let load = Load::start(&address);
    for round in 0..ROUNDS {
        seen.wait_for_more(500 + random.next_u64() % 1_500);
        if round % 2 == 0 {
            let victim = usize::try_from(random.next_u64() % CONSUMERS as u64).expect("small");
            consumers[victim] = Program::start(&address, protocol, &seen);
        } else {
            let acknowledged = seen.committed();
            broker.kill();
            broker = BrokerProcess::start(data.path(), &address, &settings);
            assert_commits_cover(&address, &acknowledged);
        }
    }
    let sent = load.finish();
    seen.wait_for_all(&sent);
    let acknowledged = seen.committed();
    drop(consumers);
    assert_commits_cover(&address, &acknowledged);
    println!("{protocol}: {} records over {ROUNDS} kills", sent.values().sum::<i64>());
}

/// A consumer program; dropped, it is killed.
struct Program(Child);

impl Program {
    fn start(address: &str, protocol: &str, seen: &Arc<Seen>) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "consumer_program", "--nocapture"])
            .env(CHILD, format!("{address} {protocol}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the consumer starts");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let seen = Arc::clone(seen);
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| seen.take(&line)));
        Self(process)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the consumers have told.
#[derive(Default)]
struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Processed at least once, by partition: one flag for each offset.
    processed: BTreeMap<i32, Vec<bool>>,
    distinct: u64,
    committed: BTreeMap<i32, i64>,
}

impl Seen {
    fn take(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        // The test harness prints lines of its own, and a killed process may leave half of one.
        let [what, partition, offset] = words[..] else { return };
        let (Ok(partition), Ok(offset)) = (partition.parse(), offset.parse::<i64>()) else {
            return;
        };
        let mut state = self.state.lock().expect("no panic");
        match what {
            "processed" => state.process(partition, usize::try_from(offset).expect("not negative")),
            "committed" => {
                let known = state.committed.entry(partition).or_insert(0);
                *known = offset.max(*known);
            }
            _ => return,
        }
        self.changed.notify_all();
    }

    fn committed(&self) -> BTreeMap<i32, i64> {
        self.state.lock().expect("no panic").committed.clone()
    }

    /// Waits until `more` records have been processed that were not before.
    fn wait_for_more(&self, more: u64) {
        let goal = self.state.lock().expect("no panic").distinct + more;
        self.wait_until("no new record", |state| state.distinct >= goal);
    }

    /// Waits until everything that was sent has been processed.
    fn wait_for_all(&self, sent: &BTreeMap<i32, i64>) {
        let count = |state: &State, partition: &i32| {
            let flags = state.processed.get(partition);
            flags.map_or(0, |flags| flags.iter().filter(|done| **done).count())
        };
        self.wait_until("records are missing", |state| {
            sent.iter().all(|(partition, sent)| count(state, partition) as i64 >= *sent)
        });
    }

    fn wait_until(&self, complaint: &str, done: impl Fn(&State) -> bool) {
        let mut state = self.state.lock().expect("no panic");
        let mut limit = Instant::now() + PATIENCE;
        let mut last = state.distinct;
        while !done(&state) {
            assert!(Instant::now() < limit, "{complaint} for {PATIENCE:?}, {last} were processed");
            state = self.changed.wait_timeout(state, Duration::from_secs(1)).expect("no panic").0;
            if state.distinct > last {
                last = state.distinct;
                limit = Instant::now() + PATIENCE;
            }
        }
    }
}

impl State {
    fn process(&mut self, partition: i32, offset: usize) {
        let flags = self.processed.entry(partition).or_default();
        if flags.len() <= offset {
            flags.resize(offset + 1, false);
        }
        if !std::mem::replace(&mut flags[offset], true) {
            self.distinct += 1;
        }
    }
}

/// The producing thread: a few thousand records a second, for as long as it takes.
struct Load {
    stop: Arc<Mutex<bool>>,
    thread: std::thread::JoinHandle<BTreeMap<i32, i64>>,
}

impl Load {
    fn start(address: &str) -> Self {
        let producer: ThreadedProducer<DefaultProducerContext> = config(address)
            .set("enable.idempotence", "true")
            .set("linger.ms", "5")
            .set("message.timeout.ms", "300000")
            .create()
            .expect("a producer");
        let stop = Arc::new(Mutex::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || produce(&producer, &stopped));
        Self { stop, thread }
    }

    fn finish(self) -> BTreeMap<i32, i64> {
        *self.stop.lock().expect("no panic") = true;
        self.thread.join().expect("the producer did not panic")
    }
}

/// Sends records in bursts, each flushed before the next: what is acknowledged paces it.
fn produce(
    producer: &ThreadedProducer<DefaultProducerContext>,
    stop: &Mutex<bool>,
) -> BTreeMap<i32, i64> {
    let mut sent = BTreeMap::new();
    while !*stop.lock().expect("no panic") {
        for number in 0..60 {
            let partition = number % PARTITIONS;
            send(producer, TOPIC, partition, "a record");
            *sent.entry(partition).or_insert(0) += 1;
        }
        producer.flush(PATIENCE).expect("the records are acknowledged");
    }
    sent
}

/// The group's offsets are at or behind what had been acknowledged before they were asked for.
fn assert_commits_cover(address: &str, acknowledged: &BTreeMap<i32, i64>) {
    let consumer = group_client(address, GROUP);
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range(TOPIC, 0, PARTITIONS - 1);
    let committed = consumer.committed_offsets(asked, PATIENCE).expect("the committed offsets");
    for partition in committed.elements() {
        let least = acknowledged.get(&partition.partition()).copied().unwrap_or(0);
        let offset = match partition.offset() {
            Offset::Offset(offset) => offset,
            _ => 0,
        };
        assert!(
            offset >= least,
            "partition {}: {least} was acknowledged, {offset} is there",
            partition.partition()
        );
    }
}
