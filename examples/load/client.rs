//! A producer of librdkafka: what a real client sees, and what the broker spends on it.

use std::io;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::batches::{Codec, value};
use crate::broker::{Meter, Target};
use crate::report::Report;
use crate::wire::Connection;

const LINGER_MS: &str = "5";
const FLUSH_WITHIN: Duration = Duration::from_secs(60);
/// Different values, so that they compress as different records do.
const VALUES: u64 = 1024;

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    size: usize,
    #[arg(long, default_value_t = 6)]
    partitions: i32,
    #[arg(long, value_enum, default_value = "none")]
    codec: Codec,
}

impl Load {
    pub(crate) fn run(&self, target: &Target, seconds: f64) -> io::Result<Report> {
        let mut connection = Connection::open(&target.address)?;
        connection.create_topic(&target.topic, self.partitions)?;
        let producer = self.producer(&target.address).map_err(io::Error::other)?;
        let values: Vec<_> = (0..VALUES).map(|seed| value(self.size, seed)).collect();
        let meter = Meter::start(target);
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut sent: u64 = 0;
        for value in values.iter().cycle() {
            if sent.is_multiple_of(1024) && Instant::now() >= end {
                break;
            }
            send(&producer, &target.topic, value).map_err(io::Error::other)?;
            sent += 1;
        }
        producer.flush(FLUSH_WITHIN).map_err(io::Error::other)?;
        let usage = meter.stop();
        let stored = connection.records_in(&target.topic, self.partitions)?;
        if stored != sent {
            return Err(io::Error::other(format!("{sent} records sent, {stored} stored")));
        }
        connection.delete_topic(&target.topic)?;
        Ok(Report::default()
            .with("records_per_s", sent as f64 / usage.elapsed.as_secs_f64())
            .with("broker_us_per_record", usage.broker.as_secs_f64() * 1e6 / sent as f64)
            .with("broker_cores", usage.broker_cores())
            .with("client_cores", usage.client_cores()))
    }

    fn producer(&self, address: &str) -> Result<BaseProducer, KafkaError> {
        let codec = match self.codec {
            Codec::None => "none",
            Codec::Gzip => "gzip",
            Codec::Snappy => "snappy",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        };
        ClientConfig::new()
            .set("bootstrap.servers", address)
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("linger.ms", LINGER_MS)
            .set("compression.type", codec)
            .set("batch.size", "65536")
            .set("queue.buffering.max.messages", "500000")
            .create()
    }
}

/// Waits while the queue of the client is full.
fn send(producer: &BaseProducer, topic: &str, value: &[u8]) -> Result<(), KafkaError> {
    let mut record = BaseRecord::<(), [u8]>::to(topic).payload(value);
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                record = back;
                producer.poll(Duration::from_millis(10));
            }
            Err((error, _)) => return Err(error),
        }
    }
}
