//! The broker as a process that is killed with -9, and what tests of that kind need beside it.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    dead_code,
    reason = "spawns a process and tells its seed; each test uses a part of it"
)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use highwater::env::SeededRandom;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// No sign of life for this long is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The broker as its own process; dropped, it is killed.
pub struct BrokerProcess(Child);

impl BrokerProcess {
    /// Starts it with `settings` beside the defaults.
    pub fn start(data: &Path, address: &str, settings: &[String]) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(["--data-dir", data.to_str().expect("plain text"), "--listen", address])
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()
            .expect("the broker starts");
        Self(process)
    }

    pub fn kill(&mut self) {
        self.0.kill().expect("SIGKILL");
        self.0.wait().expect("it ends");
    }

    /// A clean stop.
    pub fn stop(&mut self) {
        let pid = i32::try_from(self.0.id()).expect("a process id is a small number");
        // SAFETY: sends a signal to a child of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
        assert!(self.0.wait().expect("it ends").success(), "a clean stop");
    }

    pub fn assert_alive(&mut self, round: u64) {
        let ended = self.0.try_wait().expect("its state");
        assert!(ended.is_none(), "the broker ended by itself in round {round}: {ended:?}");
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Clients that come back soon after the broker does.
pub fn config(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address).set("broker.address.family", "v4");
    config.set("reconnect.backoff.ms", "10").set("reconnect.backoff.max.ms", "100");
    config.set("retry.backoff.ms", "10").set("retry.backoff.max.ms", "100");
    // Else librdkafka may wait for ever for a coordinator that it has replaced (confluentinc/librdkafka#5511).
    config.set("metadata.recovery.strategy", "none");
    config.set("log_level", "0");
    config
}

/// The random numbers of a run: of `HIGHWATER_SEED`, or always the same ones.
pub fn seeded() -> SeededRandom {
    let seed =
        std::env::var("HIGHWATER_SEED").map_or(20_261, |text| text.parse().expect("a number"));
    println!("HIGHWATER_SEED={seed}");
    SeededRandom::new(seed)
}

/// Hands a record to a producer; `flush` waits for it.
pub fn send<C: ProducerContext<DeliveryOpaque = ()>>(
    producer: &ThreadedProducer<C>,
    topic: &str,
    partition: i32,
    value: &str,
) {
    let record: BaseRecord<'_, str, str> =
        BaseRecord::to(topic).partition(partition).payload(value);
    producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
}

/// Asks for what a group has committed, and commits for it, without being a member.
pub fn group_client(address: &str, group: &str) -> BaseConsumer {
    config(address).set("group.id", group).create().expect("a consumer")
}

/// What a group has committed in the first partition of a topic.
pub fn committed_offset(group: &BaseConsumer, topic: &str) -> Option<i64> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, 0);
    let found = group.committed_offsets(asked, PATIENCE).expect("the group's offset");
    match found.elements()[0].offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    }
}

pub fn create_topic(address: &str, name: &str, partitions: i32) {
    let admin: AdminClient<DefaultClientContext> =
        config(address).create().expect("an admin client");
    let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let results = runtime.block_on(admin.create_topics([&topic], &options)).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// A port from `lowest` on, below the range of outgoing connections, so that nothing takes it while the broker is down.
pub fn free_port(lowest: u16) -> u16 {
    let first = lowest + (std::process::id() % 2_000) as u16;
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..first + 1_000).find(free).expect("a free port")
}
