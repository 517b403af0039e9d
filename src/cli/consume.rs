//! `highwater consume`: records as lines, one partition after the other up to the end that it had at the start, or on and on.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use tokio::sync::mpsc;

use super::CommandError;
use super::fetched::{self, Record};
use super::format::LineFormat;
use super::position::From;
use super::progress::Progress;
use super::session::{self, BrokerAddress, failed};
use crate::env::{self, Clock, SystemClock};
use crate::kafka::client::{Client, FetchFrom, OffsetAt, Topics};
use crate::log::Isolation;
use crate::log::scan::scan;
use crate::types::{Offset, PartitionIndex, Timestamp};

/// Most bytes asked for at once.
const FETCH_BYTES: i32 = 8 * 1024 * 1024;

/// How long the broker holds a fetch back when there is nothing new.
const FETCH_WAIT: Duration = Duration::from_secs(5);

/// Fetches that wait to be printed while following; a slow reader of the output slows the fetching.
const FETCHES_AHEAD: usize = 4;

/// What to read, and how to show it.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  highwater consume orders                         everything there is, then end
  highwater consume orders --follow                everything, then what comes
  highwater consume orders --from -10              the last ten records of each partition
  highwater consume orders --from @15m             what came in the last quarter of an hour
  highwater consume orders --partition 0 --from 4711 --max 1 --print key,offset,headers
  highwater consume orders --json | jq .value")]
pub struct ConsumeArguments {
    /// Topic to read
    topic: String,
    /// Only this partition; may be repeated
    #[arg(long = "partition", short, value_name = "N")]
    partitions: Vec<i32>,
    /// Where to begin: beginning, end, an offset, -N for the last N records of each partition, @TIME for a time in
    /// milliseconds since 1970 or as an age such as 30s, 15m, 2h, 7d
    #[arg(
        long,
        short,
        value_name = "WHERE",
        default_value = "beginning",
        allow_hyphen_values = true
    )]
    from: From,
    /// Stop after this many records
    #[arg(long, short, value_name = "N")]
    max: Option<u64>,
    /// Go on with new records as they come
    #[arg(long, short = 'F')]
    follow: bool,
    #[command(flatten)]
    format: LineFormat,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) fn run(arguments: &ConsumeArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    session::run(consume(arguments, out))
}

/// Writes the records asked for to `out`.
pub(super) async fn consume(
    arguments: &ConsumeArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let mut printer = Printer { arguments, out, left: arguments.max, progress: Progress::new() };
    let mut positions = Vec::new();
    for partition in partitions(&mut client, arguments).await? {
        let span = span(&mut client, arguments, partition).await?;
        let next = catch_up(&mut client, &mut printer, partition, span).await?;
        positions.push((partition, next));
    }
    printer.out.flush()?;
    if arguments.follow && printer.wants_more() {
        follow(&mut printer, positions).await?;
    }
    printer.progress.finish();
    Ok(printer.out.flush()?)
}

async fn partitions(
    client: &mut Client,
    arguments: &ConsumeArguments,
) -> Result<Vec<PartitionIndex>, CommandError> {
    let topic = arguments.topic.as_str();
    let cluster = client.describe(Topics::Named(&[topic])).await.map_err(|error| failed(&error))?;
    let there: Vec<i32> =
        cluster.topics.iter().flat_map(|t| &t.partitions).map(|p| p.index).collect();
    if let Some(strange) = arguments.partitions.iter().find(|p| !there.contains(p)) {
        let count = there.len();
        let text = format!("{topic} has {count} partitions, from 0: there is no {strange}");
        return Err(CommandError::Usage(text));
    }
    let chosen = if arguments.partitions.is_empty() { there } else { arguments.partitions.clone() };
    Ok(chosen.into_iter().map(PartitionIndex::new).collect())
}

/// Where to begin, and the end of the partition now.
async fn span(
    client: &mut Client,
    arguments: &ConsumeArguments,
    partition: PartitionIndex,
) -> Result<(Offset, Offset), CommandError> {
    let topic = arguments.topic.as_str();
    let now = SystemClock::default().wall();
    let mut found = async |at| {
        let listed = client.list_offset(topic, partition, at).await;
        listed.map(|listed| listed.offset.get()).map_err(|error| failed(&error))
    };
    let end = found(OffsetAt::Latest).await?;
    let first = found(OffsetAt::Earliest).await?;
    let start = match arguments.from {
        From::Beginning => first,
        From::End => end,
        From::Offset(offset) => offset.max(first),
        From::Last(count) => end.saturating_sub(count).max(first),
        From::Time(time) => found(OffsetAt::Time(time)).await?,
        From::Age(age) => {
            let time = Timestamp::new(now.get().saturating_sub(age.as_millis() as i64));
            found(OffsetAt::Time(time)).await?
        }
    };
    // No record so late: begin at the end.
    let start = if start < 0 { end } else { start };
    Ok((Offset::new(start), Offset::new(end)))
}

/// Prints from the start of the span to its end; where it stopped.
async fn catch_up(
    client: &mut Client,
    printer: &mut Printer<'_>,
    partition: PartitionIndex,
    (mut next, end): (Offset, Offset),
) -> Result<Offset, CommandError> {
    while next < end && printer.wants_more() {
        let fetched = fetch(client, &printer.arguments.topic, partition, next).await?;
        next = printer.print(partition, &fetched, end)?;
    }
    Ok(next)
}

/// What a fetch brought, decoded.
struct Decoded {
    records: Vec<Record>,
    bytes: u64,
    next: Offset,
}

async fn fetch(
    client: &mut Client,
    topic: &str,
    partition: PartitionIndex,
    offset: Offset,
) -> Result<Decoded, CommandError> {
    let from = FetchFrom {
        topic,
        partition,
        offset,
        wait: FETCH_WAIT,
        bytes_max: FETCH_BYTES,
        isolation: Isolation::ReadUncommitted,
    };
    let fetched = client.fetch(from).await.map_err(|error| failed(&error))?;
    let mut decoded = Decoded { records: Vec::new(), bytes: 0, next: offset };
    for (_, stored) in scan(&fetched.records) {
        let records = fetched::read(&stored).map_err(CommandError::Failed)?;
        decoded.records.extend(records.into_iter().filter(|record| record.offset >= offset));
        decoded.next = stored.last_offset().plus(1).max(decoded.next);
    }
    decoded.bytes = fetched.records.len() as u64;
    Ok(decoded)
}

/// Prints what comes to any of the partitions; each has a connection of its own, so that none waits for another.
async fn follow(
    printer: &mut Printer<'_>,
    positions: Vec<(PartitionIndex, Offset)>,
) -> Result<(), CommandError> {
    let (sender, mut fetches) = mpsc::channel(FETCHES_AHEAD);
    let mut tasks = Vec::new();
    for (partition, next) in positions {
        let (arguments, sender) = (printer.arguments.clone(), sender.clone());
        tasks.push(env::spawn(follow_one(arguments, partition, next, sender)));
    }
    drop(sender);
    let mut result = Ok(());
    while result.is_ok() && printer.wants_more() {
        let Some(fetched) = fetches.recv().await else { break };
        result = fetched.and_then(|(partition, decoded)| {
            printer.print(partition, &decoded, Offset::new(i64::MAX))?;
            Ok(printer.out.flush()?)
        });
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    result
}

type Followed = Result<(PartitionIndex, Decoded), CommandError>;

async fn follow_one(
    arguments: ConsumeArguments,
    partition: PartitionIndex,
    mut next: Offset,
    sender: mpsc::Sender<Followed>,
) {
    let mut client = match arguments.address.connect().await {
        Ok(client) => client,
        Err(error) => {
            // Nobody is left to be told if the printer has gone.
            let _ = sender.send(Err(error)).await;
            return;
        }
    };
    loop {
        let fetched = fetch(&mut client, &arguments.topic, partition, next).await;
        let ended = fetched.is_err();
        if let Ok(decoded) = &fetched {
            next = decoded.next;
        }
        let told = sender.send(fetched.map(|decoded| (partition, decoded))).await;
        if ended || told.is_err() {
            return;
        }
    }
}

/// The output, and how much of it is still wanted.
struct Printer<'a> {
    arguments: &'a ConsumeArguments,
    out: &'a mut dyn Write,
    left: Option<u64>,
    progress: Progress,
}

impl Printer<'_> {
    fn wants_more(&self) -> bool {
        self.left != Some(0)
    }

    /// Prints records below `end`; the offset to go on from.
    fn print(
        &mut self,
        partition: PartitionIndex,
        decoded: &Decoded,
        end: Offset,
    ) -> Result<Offset, CommandError> {
        let mut printed = 0;
        for record in &decoded.records {
            if record.offset >= end || !self.wants_more() {
                break;
            }
            self.arguments.format.write(self.out, partition, record)?;
            self.left = self.left.map(|left| left - 1);
            printed += 1;
        }
        self.progress.add(printed, decoded.bytes);
        Ok(decoded.next)
    }
}
