//! The rdkafka crate as a consumer for `compat/run groups`: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE].

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "a program that reports on standard output and has one task of its own"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientConfig, ClientContext, Message, Offset, TopicPartitionList};

const COMMIT_EVERY: usize = 50;

/// Says what it is given.
struct Told;

impl ClientContext for Told {}

impl ConsumerContext for Told {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(given) = rebalance {
            let mut owned: Vec<i32> = given.elements().iter().map(|it| it.partition()).collect();
            owned.sort_unstable();
            let owned: Vec<String> = owned.iter().map(i32::to_string).collect();
            println!("assigned {}", owned.join(","));
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, protocol, instance @ ..] = arguments.as_slice() else {
        panic!("usage: compat-rdkafka-group BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]")
    };
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", group).set("log_level", "0");
    config.set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
    config.set("reconnect.backoff.max.ms", "200");
    if protocol == "consumer" {
        config.set("group.protocol", "consumer");
    } else {
        config.set("partition.assignment.strategy", protocol);
        let session_ms = std::env::var("SESSION_MS").expect("SESSION_MS is set");
        config.set("session.timeout.ms", session_ms).set("heartbeat.interval.ms", "500");
    }
    if let [instance] = instance {
        config.set("group.instance.id", instance);
    }
    let consumer: BaseConsumer<Told> = config.create_with_context(Told).expect("a consumer");
    consumer.subscribe(&[topic]).expect("a subscription");
    let stopped = stopped_by_a_signal();
    consume(&consumer, topic, &stopped);
}

fn stopped_by_a_signal() -> Arc<AtomicBool> {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stopped);
    let kind = tokio::signal::unix::SignalKind::terminate();
    let mut terminate = tokio::signal::unix::signal(kind).expect("a signal handler");
    tokio::spawn(async move {
        terminate.recv().await;
        flag.store(true, Ordering::Relaxed);
    });
    stopped
}

fn consume(consumer: &BaseConsumer<Told>, topic: &str, stopped: &AtomicBool) {
    let mut positions = BTreeMap::new();
    let mut uncommitted = 0;
    while !stopped.load(Ordering::Relaxed) {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                println!("processed {} {}", message.partition(), message.offset());
                positions.insert(message.partition(), message.offset() + 1);
                uncommitted += 1;
            }
            Some(Err(error)) if is_fenced(&error) => return println!("fenced"),
            // Connections break, the coordinator is away: the client goes on by itself.
            Some(Err(_)) | None => {}
        }
        if uncommitted >= COMMIT_EVERY {
            uncommitted = 0;
            commit(consumer, topic, &mut positions);
        }
    }
}

fn is_fenced(error: &KafkaError) -> bool {
    let code = error.rdkafka_error_code();
    matches!(code, Some(RDKafkaErrorCode::Fatal | RDKafkaErrorCode::FencedInstanceId))
}

/// Commits what is still assigned, and says so if it was acknowledged.
fn commit(consumer: &BaseConsumer<Told>, topic: &str, positions: &mut BTreeMap<i32, i64>) {
    let Ok(owned) = consumer.assignment() else { return };
    positions.retain(|partition, _| owned.find_partition(topic, *partition).is_some());
    let mut offsets = TopicPartitionList::new();
    for (partition, offset) in &*positions {
        let offset = Offset::Offset(*offset);
        offsets.add_partition_offset(topic, *partition, offset).expect("an offset");
    }
    if offsets.count() > 0 && consumer.commit(&offsets, CommitMode::Sync).is_ok() {
        for (partition, offset) in positions {
            println!("committed {partition} {offset}");
        }
    }
}
