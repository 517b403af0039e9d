//! Two hundred clients that overload a broker, most of them rude.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use highwater::env::{Random, SeededRandom};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{FetchRequest, ProduceRequest};
use kafka_protocol::protocol::StrBytes;
use rdkafka::ClientContext;
use rdkafka::Message;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{
    BaseProducer, BaseRecord, DefaultProducerContext, Producer, ProducerContext, ThreadedProducer,
};

use crate::PARTITIONS;
use crate::batches::batch;
use crate::ledger::{Ledger, TO_BE_ABORTED, digest};
use crate::processes::{PATIENCE, config};
use crate::raw::Connection;

const IDEMPOTENT: usize = 60;
const TRANSACTIONAL: usize = 20;
/// With batches of nearly 1 MiB, which is what a broker takes at most by default.
const LARGE: usize = 40;
const LARGE_BYTES: usize = 1_000_000;
const SLOW_READERS: usize = 30;
const READ_NOTHING: usize = 30;
const BYTE_A_SECOND: usize = 20;

const CODECS: [&str; 4] = ["none", "lz4", "zstd", "snappy"];
/// Answers that make a client try again; any other is a fault.
const RETRIABLE: [i16; 4] = [5, 6, 7, 56];

/// Threads that end when they are told to.
pub(crate) struct Clients {
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

struct Shared {
    address: String,
    topic: String,
    ledger: Arc<Ledger>,
    over: AtomicBool,
    told_to_retry: AtomicU64,
    disconnected: AtomicU64,
}

type Client = fn(&Shared, usize);

impl Clients {
    pub(crate) fn start(address: &str, topic: &str, ledger: &Arc<Ledger>) -> Self {
        let all: [(Client, usize); 6] = [
            (idempotent, IDEMPOTENT),
            (transactional, TRANSACTIONAL),
            (large, LARGE),
            (slow_reader, SLOW_READERS),
            (reads_nothing, READ_NOTHING),
            (byte_a_second, BYTE_A_SECOND),
        ];
        Self::start_some(address, topic, ledger, &all)
    }

    /// Those that neither read nor send.
    pub(crate) fn start_silent(address: &str, topic: &str) -> Self {
        let silent: [(Client, usize); 2] = [(reads_nothing, 100), (byte_a_second, 100)];
        Self::start_some(address, topic, &Arc::default(), &silent)
    }

    fn start_some(
        address: &str,
        topic: &str,
        ledger: &Arc<Ledger>,
        kinds: &[(Client, usize)],
    ) -> Self {
        let shared = Arc::new(Shared {
            address: address.to_owned(),
            topic: topic.to_owned(),
            ledger: Arc::clone(ledger),
            over: AtomicBool::new(false),
            told_to_retry: AtomicU64::new(0),
            disconnected: AtomicU64::new(0),
        });
        let mut threads = Vec::new();
        for (client, count) in kinds.iter().copied() {
            for number in 0..count {
                let shared = Arc::clone(&shared);
                threads.push(std::thread::spawn(move || client(&shared, number)));
            }
        }
        Self { threads, shared }
    }

    /// Ends all of them; what they were told.
    pub(crate) fn stop(self) -> String {
        self.shared.over.store(true, Ordering::Relaxed);
        self.threads
            .into_iter()
            .for_each(|thread| thread.join().expect("a client as it should be"));
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        format!(
            "told {} times to try again, connected {} times anew",
            count(&self.shared.told_to_retry),
            count(&self.shared.disconnected),
        )
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A connection that gives up by itself, so that its thread ends.
    fn connect(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        Some(stream)
    }

    fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_over() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Bytes that no codec makes smaller.
fn noise(random: &SeededRandom, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Writes down what was acknowledged.
struct Writes(Arc<Ledger>);

impl ClientContext for Writes {}

impl ProducerContext for Writes {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Ok(message) = result {
            let value = message.payload().unwrap_or_default();
            self.0.acknowledge(message.partition(), message.offset(), digest(value));
        }
    }
}

/// librdkafka with idempotence; values of a few bytes to 60 KiB.
fn idempotent(shared: &Shared, number: usize) {
    let random = SeededRandom::new(number as u64);
    let producer: BaseProducer<Writes> = config(&shared.address)
        .set("enable.idempotence", "true")
        .set("compression.type", CODECS[number % CODECS.len()])
        .set("linger.ms", "20")
        .set("queue.buffering.max.kbytes", "2048")
        .set("message.timeout.ms", "300000")
        .create_with_context(Writes(Arc::clone(&shared.ledger)))
        .expect("a producer");
    while !shared.is_over() {
        let len = 10 + (random.next_u64() % 60_000) as usize;
        let mut value = noise(&random, len / 2);
        value.resize(len, number as u8);
        let partition = (random.next_u64() % PARTITIONS as u64) as i32;
        let record: BaseRecord<'_, (), _> =
            BaseRecord::to(&shared.topic).partition(partition).payload(&value);
        match producer.send(record) {
            Ok(()) => producer.poll(Duration::ZERO),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                producer.poll(Duration::from_millis(100))
            }
            Err((error, _)) => panic!("producer {number}: {error}"),
        };
    }
    producer.flush(5 * PATIENCE).expect("what is on its way arrives");
}

/// Transactions of a few records each; one in four is aborted.
fn transactional(shared: &Shared, number: usize) {
    let random = SeededRandom::new(1_000 + number as u64);
    // One with a thread that takes delivery reports: an abort waits for those of all records.
    let producer: ThreadedProducer<DefaultProducerContext> = config(&shared.address)
        .set("transactional.id", format!("{}-{number}", shared.topic))
        .set("transaction.timeout.ms", "600000")
        .create()
        .expect("a producer");
    until_done("init", || producer.init_transactions(PATIENCE));
    while !shared.is_over() {
        producer.begin_transaction().expect("begun");
        let aborted = random.next_u64().is_multiple_of(4);
        for _ in 0..5 {
            let mut value = if aborted { TO_BE_ABORTED.to_vec() } else { b"committed".to_vec() };
            value.extend_from_slice(&noise(&random, 2_000));
            let partition = (random.next_u64() % PARTITIONS as u64) as i32;
            let record: BaseRecord<'_, (), _> =
                BaseRecord::to(&shared.topic).partition(partition).payload(&value);
            producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
        }
        if aborted {
            until_done("abort", || producer.abort_transaction(PATIENCE));
        } else {
            until_done("commit", || producer.commit_transaction(PATIENCE));
        }
    }
}

/// Tries again as long as librdkafka says that it may.
fn until_done(what: &str, step: impl Fn() -> Result<(), KafkaError>) {
    let end = Instant::now() + 5 * PATIENCE;
    loop {
        match step() {
            Ok(()) => return,
            Err(KafkaError::Transaction(error)) if error.is_retriable() && Instant::now() < end => {
            }
            Err(KafkaError::Flush(_)) if Instant::now() < end => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

pub(crate) fn produce_request(topic: &str, partition: i32, value: Bytes) -> ProduceRequest {
    let records = batch(&[(&value, 1_700_000_000_000)], None);
    let data =
        PartitionProduceData::default().with_index(partition).with_records(Some(records.into()));
    let topic = TopicProduceData::default()
        .with_name(StrBytes::from_string(topic.to_owned()).into())
        .with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(60_000).with_topic_data(vec![topic])
}

/// One large batch after the other, each of which is answered or its connection closed.
fn large(shared: &Shared, number: usize) {
    let random = SeededRandom::new(2_000 + number as u64);
    while !shared.is_over() {
        let Ok(mut connection) = Connection::open(&shared.address, PATIENCE) else { continue };
        shared.disconnected.fetch_add(1, Ordering::Relaxed);
        while !shared.is_over() {
            let value = Bytes::from(noise(&random, LARGE_BYTES));
            let (partition, digest) = (number as i32, digest(&value));
            let request = produce_request(&shared.topic, partition, value);
            // It may have been appended all the same: nobody was told.
            let Ok(answer) = connection.call(9, &request) else { break };
            let answered = &answer.responses[0].partition_responses[0];
            match answered.error_code {
                0 => shared.ledger.acknowledge(partition, answered.base_offset, digest),
                code if RETRIABLE.contains(&code) => {
                    shared.told_to_retry.fetch_add(1, Ordering::Relaxed);
                }
                code => panic!("error {code}"),
            }
        }
    }
}

fn fetch_everything(topic: &str) -> FetchRequest {
    let partition = |index| {
        FetchPartition::default()
            .with_partition(index)
            .with_fetch_offset(0)
            .with_partition_max_bytes(8 << 20)
    };
    let asked = FetchTopic::default()
        .with_topic(StrBytes::from_string(topic.to_owned()).into())
        .with_partitions((0..PARTITIONS).map(partition).collect());
    FetchRequest::default()
        .with_max_wait_ms(500)
        .with_min_bytes(1)
        .with_max_bytes(50 << 20)
        .with_topics(vec![asked])
}

/// Asks for 50 MiB and takes them at 100 KiB a second.
fn slow_reader(shared: &Shared, _number: usize) {
    let request = crate::raw::frame(12, &fetch_everything(&shared.topic));
    let mut buffer = vec![0; 10_000];
    while !shared.is_over() {
        let Some(mut stream) = shared.connect() else { continue };
        if stream.write_all(&request).is_err() {
            continue;
        }
        while !shared.is_over() {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => shared.pause(Duration::from_millis(100)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        shared.disconnected.fetch_add(1, Ordering::Relaxed);
    }
}

/// Asks for everything as often as the broker takes it, and reads no answer.
fn reads_nothing(shared: &Shared, _number: usize) {
    let request = crate::raw::frame(12, &fetch_everything(&shared.topic));
    let Some(mut stream) = shared.connect() else { return };
    while !shared.is_over() && stream.write_all(&request).is_ok() {}
    shared.pause(Duration::from_secs(86_400));
}

/// A large request that never gets whole.
fn byte_a_second(shared: &Shared, number: usize) {
    let value = Bytes::from(vec![7; LARGE_BYTES]);
    let request =
        crate::raw::frame(9, &produce_request(&shared.topic, number as i32 % PARTITIONS, value));
    let Some(mut stream) = shared.connect() else { return };
    for byte in &request {
        if shared.is_over() || stream.write_all(&[*byte]).is_err() {
            return;
        }
        shared.pause(Duration::from_secs(1));
    }
}

/// A topic that is not needed any more: the next round has its own.
pub(crate) fn delete_topic(address: &str, topic: &str) {
    let mut connection = Connection::open(address, PATIENCE).unwrap();
    let name = StrBytes::from_string(topic.to_owned()).into();
    let request = kafka_protocol::messages::DeleteTopicsRequest::default()
        .with_topic_names(vec![name])
        .with_timeout_ms(60_000);
    let answer = connection.call(5, &request).unwrap();
    assert_eq!(answer.responses[0].error_code, 0, "{answer:?}");
}
