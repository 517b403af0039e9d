//! The rdkafka crate as a client under `compat/run`: writes the common records, reads them back, compares.

#![allow(clippy::print_stdout, missing_docs, reason = "a program that reports on standard output")]

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
const PARTITIONS: i32 = 64;
const RECORDS_EACH: usize = 10;
const SEQUENCE: usize = 5000;
const TIMEOUT: Duration = Duration::from_secs(60);

type Wrong = String;

#[derive(Clone, Debug, Default, PartialEq)]
struct Content {
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn content(key: Option<&str>, value: Option<&str>) -> Content {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Content { key: key.map(bytes), value: value.map(bytes), headers: Vec::new() }
}

fn records() -> Vec<Content> {
    let header = |name: &str, value: Option<&str>| (name.to_owned(), value.map(|v| v.into()));
    let headers = vec![
        header("h", Some("a")),
        header("h", Some("b")),
        header("empty", Some("")),
        header("none", None),
    ];
    let big = (0..1_000_000_u32).map(|i| b'a' + (i % 26) as u8).collect();
    vec![
        Content { headers, ..content(Some("key-0"), Some("value-0")) },
        content(None, Some("no key")),
        content(Some("no value"), None),
        content(None, None),
        content(Some(""), Some("")),
        Content { value: Some(big), ..content(Some("big"), None) },
        content(Some("ünïcode"), Some("日本 Ω")),
    ]
}

fn values(texts: impl Iterator<Item = String>) -> Vec<Content> {
    texts.map(|text| content(None, Some(&text))).collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, verb, bootstrap, prefix] = arguments.as_slice() else {
        panic!("usage: compat-rdkafka write|check BOOTSTRAP PREFIX")
    };
    let run = Run { bootstrap: bootstrap.clone(), prefix: prefix.clone() };
    match verb.as_str() {
        "write" => run.write().await,
        _ => run.check(),
    }
}

fn report(case: &str, result: Result<(), Wrong>) {
    match result {
        Ok(()) => println!("{case}\tok\t"),
        Err(wrong) => println!("{case}\tFAIL\t{}", wrong.replace(['\n', '\t'], " ")),
    }
}

struct Run {
    bootstrap: String,
    prefix: String,
}

impl Run {
    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap).set("message.max.bytes", "1048588");
        config
    }

    fn topic(&self, case: &str) -> String {
        format!("{}-{case}", self.prefix)
    }

    async fn write(&self) {
        report("topics", self.create_topics().await);
        for codec in CODECS {
            let records = records().into_iter().map(|record| (0, record)).collect();
            report(codec, self.produce(codec, records, ("compression.type", codec)).await);
        }
        let spread = (0..RECORDS_EACH).flat_map(|i| (0..PARTITIONS).map(move |p| (p, i)));
        let records = spread.map(|(p, i)| (p, content(None, Some(&format!("{p}-{i}"))))).collect();
        report("partitions", self.produce("partitions", records, ("acks", "all")).await);
        let records = values((0..SEQUENCE).map(|i| i.to_string()));
        let records = records.into_iter().map(|record| (0, record)).collect();
        let option = ("enable.idempotence", "true");
        report("idempotent", self.produce("idempotent", records, option).await);
    }

    async fn create_topics(&self) -> Result<(), Wrong> {
        let admin: AdminClient<DefaultClientContext> = self.config().create().map_err(text)?;
        let mut names: Vec<(String, i32)> =
            CODECS.iter().map(|codec| (self.topic(codec), 1)).collect();
        names.push((self.topic("partitions"), PARTITIONS));
        names.push((self.topic("idempotent"), 1));
        let topics: Vec<NewTopic<'_>> = names
            .iter()
            .map(|(name, count)| NewTopic::new(name, *count, TopicReplication::Fixed(1)))
            .collect();
        let options = AdminOptions::new().request_timeout(Some(TIMEOUT));
        for result in admin.create_topics(&topics, &options).await.map_err(text)? {
            result.map_err(|(topic, code)| format!("{topic}: {code}"))?;
        }
        Ok(())
    }

    /// Sends everything before it waits for the first acknowledgement.
    async fn produce(
        &self,
        case: &str,
        records: Vec<(i32, Content)>,
        option: (&str, &str),
    ) -> Result<(), Wrong> {
        let mut config = self.config();
        let producer: FutureProducer = config
            .set("acks", "all")
            .set("max.in.flight", "1")
            .set(option.0, option.1)
            .create()
            .map_err(text)?;
        let topic = self.topic(case);
        let mut sent = Vec::new();
        for (partition, record) in &records {
            sent.push(
                producer
                    .send_result(message(&topic, *partition, record))
                    .map_err(|(e, _)| text(e))?,
            );
        }
        for acknowledged in sent {
            acknowledged.await.map_err(|e| e.to_string())?.map_err(|(e, _)| text(e))?;
        }
        Ok(())
    }

    fn check(&self) {
        for codec in CODECS {
            report(codec, self.check_partitions(codec, 1, |_| records()));
        }
        let each = |p| values((0..RECORDS_EACH).map(move |i| format!("{p}-{i}")));
        report("partitions", self.check_partitions("partitions", PARTITIONS, each));
        let all = |_| values((0..SEQUENCE).map(|i| i.to_string()));
        report("idempotent", self.check_partitions("idempotent", 1, all));
    }

    fn check_partitions(
        &self,
        case: &str,
        count: i32,
        expected: impl Fn(i32) -> Vec<Content>,
    ) -> Result<(), Wrong> {
        let read = self.read(&self.topic(case), count)?;
        for (partition, messages) in read {
            compare(&messages, &expected(partition))
                .map_err(|wrong| format!("{partition}: {wrong}"))?;
        }
        Ok(())
    }

    /// Every partition from the beginning to its end, by direct assignment.
    fn read(&self, topic: &str, count: i32) -> Result<BTreeMap<i32, Vec<OwnedMessage>>, Wrong> {
        let mut config = self.config();
        config.set("group.id", "not-used").set("enable.auto.commit", "false");
        config.set("enable.partition.eof", "true").set("check.crcs", "true");
        let consumer: BaseConsumer = config.create().map_err(text)?;
        let mut assigned = TopicPartitionList::new();
        for partition in 0..count {
            assigned.add_partition_offset(topic, partition, Offset::Beginning).map_err(text)?;
        }
        consumer.assign(&assigned).map_err(text)?;
        let mut read: BTreeMap<i32, Vec<OwnedMessage>> =
            (0..count).map(|p| (p, Vec::new())).collect();
        let mut left = count;
        while left > 0 {
            match consumer.poll(TIMEOUT) {
                Some(Ok(message)) => {
                    read.entry(message.partition()).or_default().push(message.detach());
                }
                Some(Err(KafkaError::PartitionEOF(_))) => left -= 1,
                Some(Err(error)) => return Err(text(error)),
                None => return Err(format!("{left} partitions did not end")),
            }
        }
        Ok(read)
    }
}

fn message<'a>(
    topic: &'a str,
    partition: i32,
    record: &'a Content,
) -> FutureRecord<'a, [u8], [u8]> {
    let mut message = FutureRecord::to(topic).partition(partition);
    if let Some(key) = &record.key {
        message = message.key(key.as_slice());
    }
    if let Some(value) = &record.value {
        message = message.payload(value.as_slice());
    }
    if record.headers.is_empty() {
        return message;
    }
    let mut headers = OwnedHeaders::new();
    for (key, value) in &record.headers {
        headers = headers.insert(Header { key, value: value.as_deref() });
    }
    message.headers(headers)
}

fn compare(messages: &[OwnedMessage], expected: &[Content]) -> Result<(), Wrong> {
    if messages.len() != expected.len() {
        return Err(format!("{} records instead of {}", messages.len(), expected.len()));
    }
    for (index, (message, want)) in messages.iter().zip(expected).enumerate() {
        if message.offset() != index as i64 {
            return Err(format!("record {index} is at offset {}", message.offset()));
        }
        if message.timestamp().to_millis().is_none_or(|time| time <= 0) {
            return Err(format!("record {index} has no timestamp"));
        }
        if content_of(message) != *want {
            return Err(format!("record {index} differs"));
        }
    }
    Ok(())
}

fn content_of(message: &OwnedMessage) -> Content {
    let header = |h: Header<'_, &[u8]>| (h.key.to_owned(), h.value.map(<[u8]>::to_vec));
    let headers = message.headers().map_or_else(Vec::new, |all| all.iter().map(header).collect());
    Content {
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers,
    }
}

fn text(error: impl std::fmt::Display) -> Wrong {
    error.to_string()
}
