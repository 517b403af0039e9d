//! What producers feel of the cleaner: round trips at a fixed rate, alone and while 1 GiB of 100-byte records with a tenth of
//! distinct keys is cleaned, in turns.
//!
//! ```text
//! cargo build --release && cargo run --release --example beside_cleaning -- --mib 1024 --rounds 3 --durability fsync
//! ```
//!
//! A request is due every millisecond, whether or not the last ones were answered, and its time counts from then.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of its own, with clocks, threads and standard output"
)]

#[path = "../tests/support/raw.rs"]
mod raw;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use highwater::env::{Random, SeededRandom};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::Timestamp;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    CreateTopicsRequest, IncrementalAlterConfigsRequest, ProduceRequest,
};
use kafka_protocol::protocol::StrBytes;
use raw::Connection;

const PATIENCE: Duration = Duration::from_secs(120);
const RECORD_BYTES: usize = 100;
const KEY_BYTES: usize = 16;
const RECORDS_PER_KEY: u64 = 10;
const BATCH_RECORDS: usize = 1_000;
/// Produce requests each second, and the records in each.
const RATE: u32 = 1_000;
const BURST: usize = 20;
/// In front of each comparison, so that the writeback of what was filled in is over.
const REST: Duration = Duration::from_secs(3);

#[derive(Parser)]
struct Options {
    #[arg(long, default_value = "target/release/highwater")]
    binary: PathBuf,
    /// Where the data goes; a new temporary directory unless given.
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    #[arg(long, default_value = "fsync")]
    durability: String,
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let directory = tempfile::tempdir_in(&options.directory)?;
    let broker = Broker::start(&options, directory.path())?;
    let mut connection = broker.connect()?;
    create(&mut connection, "probe", &[])?;
    for round in 0..options.rounds {
        let topic = format!("compacted-{round}");
        let lazy = [
            ("cleanup.policy", "compact"),
            ("segment.bytes", "134217728"),
            ("min.cleanable.dirty.ratio", "1.0"),
        ];
        create(&mut connection, &topic, &lazy)?;
        fill(&mut connection, &topic, options.mib << 20)?;
        thread::sleep(REST);
        let done = broker.rounds_done()?;
        let (alone, beside) = {
            let alone = Load::during(&broker, || {
                thread::sleep(Duration::from_secs(5));
                Ok(())
            })?;
            let cpu = broker.cpu()?;
            let began = Instant::now();
            let beside = Load::during(&broker, || {
                set(&mut connection, &topic, "min.cleanable.dirty.ratio", "0.0")?;
                while broker.rounds_done()? == done {
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            })?;
            let (took, cpu) = (began.elapsed(), broker.cpu()? - cpu);
            println!(
                "round {round}: {} MiB cleaned in {:.2} s, broker CPU {cpu:.2} s",
                options.mib,
                took.as_secs_f64()
            );
            (alone, beside)
        };
        println!(
            "round {round}: alone {alone}; while it cleans {beside}; p99 {:.2} times as high",
            beside.p99.as_secs_f64() / alone.p99.as_secs_f64()
        );
    }
    Ok(())
}

/// A broker that was started for this.
struct Broker {
    process: Child,
    address: String,
    metrics: String,
}

impl Broker {
    fn start(options: &Options, directory: &std::path::Path) -> io::Result<Self> {
        let [address, metrics] = [free_address()?, free_address()?];
        let settings = [
            "log.cleaner.backoff.ms=0".to_owned(),
            format!("highwater.http.listen={metrics}"),
            format!("highwater.durability={}", options.durability),
        ];
        let process = Command::new(&options.binary)
            .arg("--data-dir")
            .arg(directory)
            .args(["--listen", &address])
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()?;
        let broker = Self { process, address, metrics };
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(&broker.address).is_err() {
            assert!(Instant::now() < end, "no broker on {}", broker.address);
            thread::sleep(Duration::from_millis(5));
        }
        Ok(broker)
    }

    fn connect(&self) -> io::Result<Connection> {
        Connection::open(&self.address, PATIENCE)
    }

    fn metric(&self, name: &str) -> io::Result<f64> {
        let mut stream = TcpStream::connect(&self.metrics)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.ok_or_else(|| io::Error::other(format!("no metric {name}")))
    }

    /// Logs cleaned so far.
    fn rounds_done(&self) -> io::Result<f64> {
        self.metric("highwater_cleaner_round_duration_seconds_count")
    }

    /// Seconds of CPU so far.
    fn cpu(&self) -> io::Result<f64> {
        self.metric("process_cpu_seconds_total")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn create(connection: &mut Connection, name: &str, configs: &[(&str, &str)]) -> io::Result<()> {
    let config = |(key, value): &(&str, &str)| {
        CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value)))
    };
    let topic = CreatableTopic::default()
        .with_name(text(name).into())
        .with_num_partitions(1)
        .with_replication_factor(1)
        .with_configs(configs.iter().map(config).collect());
    let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(60_000);
    expect_none(connection.call(5, &request)?.topics[0].error_code, "CreateTopics")
}

fn set(connection: &mut Connection, topic: &str, key: &str, value: &str) -> io::Result<()> {
    let config = AlterableConfig::default()
        .with_name(text(key))
        .with_config_operation(0)
        .with_value(Some(text(value)));
    let resource = AlterConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(text(topic))
        .with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    expect_none(connection.call(1, &request)?.responses[0].error_code, "IncrementalAlterConfigs")
}

fn expect_none(code: i16, of: &str) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::other(format!("{of}: error {code}"))) }
}

fn produce(topic: &str, batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(0).with_records(Some(batch));
    let topic =
        TopicProduceData::default().with_name(text(topic).into()).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(60_000).with_topic_data(vec![topic])
}

/// Records with a key among `keys`, or with none.
fn batch(random: &SeededRandom, records: usize, keys: Option<u64>) -> Bytes {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = Timestamp::new(now.unwrap_or_default().as_millis() as i64);
    let mut builder = BatchBuilder::new(BatchTemplate::default());
    for _ in 0..records {
        let key = keys.map(|keys| format!("{:0KEY_BYTES$}", random.next_u64() % keys));
        let mut value = [0; RECORD_BYTES - KEY_BYTES];
        value.chunks_mut(8).for_each(|word| {
            word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
        });
        builder.append(now, key.as_ref().map(String::as_bytes), Some(&value));
    }
    Bytes::from(builder.build().expect("a small batch"))
}

fn fill(connection: &mut Connection, topic: &str, bytes: u64) -> io::Result<()> {
    let random = SeededRandom::new(1);
    let keys = bytes / RECORD_BYTES as u64 / RECORDS_PER_KEY;
    for _ in 0..bytes / (RECORD_BYTES * BATCH_RECORDS) as u64 {
        let request = produce(topic, batch(&random, BATCH_RECORDS, Some(keys)));
        let answer = connection.call(9, &request)?;
        expect_none(answer.responses[0].partition_responses[0].error_code, "Produce")?;
    }
    Ok(())
}

/// The times of requests at a fixed rate.
struct Load {
    p50: Duration,
    p99: Duration,
    requests: usize,
}

impl Load {
    /// Loads the broker while `work` is done.
    fn during(broker: &Broker, work: impl FnOnce() -> io::Result<()>) -> io::Result<Self> {
        let mut stream = TcpStream::connect(&broker.address)?;
        stream.set_nodelay(true)?;
        let mut answers = stream.try_clone()?;
        let over = Arc::new(AtomicBool::new(false));
        let (tell, due_times) = mpsc::channel::<Instant>();
        let reader = thread::spawn(move || -> io::Result<Vec<Duration>> {
            let mut times = Vec::new();
            for due in due_times {
                let mut length = [0; 4];
                answers.read_exact(&mut length)?;
                let mut answer = vec![0; u32::from_be_bytes(length) as usize];
                answers.read_exact(&mut answer)?;
                times.push(due.elapsed());
            }
            Ok(times)
        });
        let sender = thread::spawn({
            let over = Arc::clone(&over);
            let frame = raw::frame(9, &produce("probe", batch(&SeededRandom::new(2), BURST, None)));
            move || -> io::Result<()> {
                let began = Instant::now();
                for number in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let due = began + Duration::from_secs(1) * number / RATE;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    tell.send(due).map_err(io::Error::other)?;
                    stream.write_all(&frame)?;
                }
                Ok(())
            }
        });
        let worked = work();
        over.store(true, Ordering::Relaxed);
        sender.join().expect("no panic")?;
        let mut times = reader.join().expect("no panic")?;
        worked?;
        times.sort_unstable();
        let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
        Ok(Self { p50: at(50), p99: at(99), requests: times.len() })
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let (p50, p99) = (millis(self.p50), millis(self.p99));
        write!(f, "p50 {p50:.2} ms, p99 {p99:.2} ms of {} requests", self.requests)
    }
}
