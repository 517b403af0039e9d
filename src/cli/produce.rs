//! `highwater produce`: lines of standard input become records.
//!
//! What one read of the input gives is sent at once, so a person who types sees each line go out, and a file goes in batches
//! of the size of the buffer. One request is in flight at a time.

use std::io::{self, BufRead, BufReader, Write};

use bytes::Bytes;
use clap::{Args, ValueEnum};

use super::CommandError;
use super::fetched::Header;
use super::partitioner::partition_of;
use super::progress::Progress;
use super::session::{self, BrokerAddress, failed};
use crate::config::Codec;
use crate::env::{Clock, SystemClock};
use crate::kafka::client::{self, Client, ProduceTo, Topics};
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compress::Compression;
use crate::types::PartitionIndex;

/// Bytes read from the input at once.
const INPUT_BYTES: usize = 512 * 1024;

/// Uncompressed bytes at which a batch is sent, below Kafka's default limit of a batch.
const BATCH_BYTES: usize = 512 * 1024;

/// What to produce, and where to.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo hello | highwater produce orders
  highwater produce orders < lines.txt
  highwater produce orders --key-separator : --codec zstd < keyed.txt
  highwater produce orders --header source=shop --partition 0")]
pub struct ProduceArguments {
    /// Topic to write to
    topic: String,
    /// What stands between key and value in a line; lines are values only unless given
    #[arg(long, short, value_name = "TEXT")]
    key_separator: Option<String>,
    /// A key or value that reads exactly so is null
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// A header of every record; without `=` its value is null; may be repeated
    #[arg(long = "header", short = 'H', value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<Header>,
    /// Write to this partition; otherwise keys decide as in any Kafka client, and lines without key go round
    #[arg(long, short, value_name = "N")]
    partition: Option<i32>,
    /// How to compress
    #[arg(long, short, value_enum, default_value_t = CodecName::None)]
    codec: CodecName,
    /// What to wait for
    #[arg(long, short, value_enum, default_value_t = AcksName::All)]
    acks: AcksName,
    #[command(flatten)]
    address: BrokerAddress,
}

/// A codec by its Kafka name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CodecName {
    /// As it is
    None,
    /// gzip
    Gzip,
    /// Snappy
    Snappy,
    /// LZ4
    Lz4,
    /// Zstandard
    Zstd,
}

/// What a write waits for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AcksName {
    /// Until the records are as safe as the broker's durability promises
    All,
    /// Until they are appended
    #[value(name = "1")]
    One,
    /// For nothing
    #[value(name = "0")]
    Zero,
}

impl From<CodecName> for Codec {
    fn from(name: CodecName) -> Self {
        match name {
            CodecName::None => Self::None,
            CodecName::Gzip => Self::Gzip,
            CodecName::Snappy => Self::Snappy,
            CodecName::Lz4 => Self::Lz4,
            CodecName::Zstd => Self::Zstd,
        }
    }
}

impl From<AcksName> for client::Acks {
    fn from(name: AcksName) -> Self {
        match name {
            AcksName::All => Self::All,
            AcksName::One => Self::Leader,
            AcksName::Zero => Self::None,
        }
    }
}

fn header(text: &str) -> Result<Header, String> {
    match text.split_once('=') {
        Some(("", _)) | None if text.is_empty() || text.starts_with('=') => {
            Err("a header needs a name".to_owned())
        }
        Some((name, value)) => Ok((name.to_owned(), Some(value.as_bytes().to_vec()))),
        None => Ok((text.to_owned(), None)),
    }
}

pub(super) fn run(arguments: &ProduceArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut input = BufReader::with_capacity(INPUT_BYTES, io::stdin().lock());
    session::run(produce(arguments, &mut input, out))
}

/// Sends everything that `input` has and says how much it was.
pub(super) async fn produce(
    arguments: &ProduceArguments,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut sender = Sender::open(arguments).await?;
    let mut number = 0;
    let mut unfinished = Vec::new();
    loop {
        let read = input.fill_buf()?;
        if read.is_empty() {
            break;
        }
        let length = read.len();
        unfinished.extend_from_slice(read);
        input.consume(length);
        let whole = unfinished.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in unfinished[..whole].split_inclusive(|byte| *byte == b'\n') {
            number += 1;
            sender.add(&line[..line.len() - 1], number).await?;
        }
        unfinished.drain(..whole);
        sender.flush().await?;
    }
    if !unfinished.is_empty() {
        sender.add(&unfinished, number + 1).await?;
    }
    sender.flush().await?;
    sender.progress.finish();
    writeln!(out, "{} records to {}", sender.progress.records(), arguments.topic)?;
    Ok(())
}

/// Null is `None`.
type KeyValue<'l> = (Option<&'l [u8]>, Option<&'l [u8]>);

/// Batches of each partition on their way to the broker.
struct Sender<'a> {
    arguments: &'a ProduceArguments,
    client: Client,
    clock: SystemClock,
    partitions: Vec<PartitionIndex>,
    batches: Vec<BatchBuilder>,
    /// Place in `partitions` for records without a key.
    current: usize,
    progress: Progress,
}

impl<'a> Sender<'a> {
    async fn open(arguments: &'a ProduceArguments) -> Result<Self, CommandError> {
        let mut client = arguments.address.connect().await?;
        let topic = arguments.topic.as_str();
        let cluster =
            client.describe(Topics::Named(&[topic])).await.map_err(|error| failed(&error))?;
        let there: Vec<i32> =
            cluster.topics.iter().flat_map(|t| &t.partitions).map(|p| p.index).collect();
        let partitions: Vec<PartitionIndex> = match arguments.partition {
            None => there.into_iter().map(PartitionIndex::new).collect(),
            Some(one) if there.contains(&one) => vec![PartitionIndex::new(one)],
            Some(one) => {
                let count = there.len();
                let text = format!("{topic} has {count} partitions, from 0: there is no {one}");
                return Err(CommandError::Usage(text));
            }
        };
        let batches = partitions.iter().map(|_| new_batch(arguments)).collect();
        let (clock, progress) = (SystemClock::default(), Progress::new());
        Ok(Self { arguments, client, clock, partitions, batches, current: 0, progress })
    }

    async fn add(&mut self, line: &[u8], number: u64) -> Result<(), CommandError> {
        let (key, value) = self.split(line, number)?;
        let place = match key {
            Some(key) => partition_of(key, self.partitions.len()),
            None => self.current,
        };
        let Some(batch) = self.batches.get_mut(place) else { return Ok(()) };
        let headers = self.arguments.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_bytes(), value.as_deref()));
        batch.append_with_headers(self.clock.wall(), key, value, headers);
        if batch.len() >= BATCH_BYTES { self.send(place).await } else { Ok(()) }
    }

    /// Key and value of a line.
    fn split<'l>(&self, line: &'l [u8], number: u64) -> Result<KeyValue<'l>, CommandError> {
        let null = self.arguments.null.as_deref().map(str::as_bytes);
        let part = |bytes: &'l [u8]| Some(bytes).filter(|bytes| Some(*bytes) != null);
        let Some(separator) = self.arguments.key_separator.as_deref().filter(|s| !s.is_empty())
        else {
            return Ok((None, part(line)));
        };
        let mut windows = line.windows(separator.len());
        let Some(at) = windows.position(|window| window == separator.as_bytes()) else {
            let text = format!("line {number} has no '{separator}' between key and value");
            return Err(CommandError::Failed(text));
        };
        Ok((part(&line[..at]), part(&line[at + separator.len()..])))
    }

    async fn flush(&mut self) -> Result<(), CommandError> {
        for place in 0..self.batches.len() {
            if !self.batches[place].is_empty() {
                self.send(place).await?;
            }
        }
        Ok(())
    }

    async fn send(&mut self, place: usize) -> Result<(), CommandError> {
        let batch = std::mem::replace(&mut self.batches[place], new_batch(self.arguments));
        let (count, bytes) = (u64::from(batch.count().unsigned_abs()), batch.len() as u64);
        let encoded = batch.build()?;
        let to = ProduceTo {
            topic: &self.arguments.topic,
            partition: self.partitions[place],
            acks: self.arguments.acks.into(),
        };
        let sent = self.client.produce(to, Bytes::from(encoded)).await;
        sent.map_err(|error| failed(&error))?;
        self.progress.add(count, bytes);
        if place == self.current {
            self.current = (place + 1) % self.partitions.len().max(1);
        }
        Ok(())
    }
}

fn new_batch(arguments: &ProduceArguments) -> BatchBuilder {
    let compression = Compression::default_of(arguments.codec.into());
    BatchBuilder::new(BatchTemplate { compression, ..BatchTemplate::default() })
}
