//! `highwater group reset-offsets`: which offsets, and setting them. What becomes of a partition is decided in `plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::csv::{self, Entry};
use super::lag::{self, Named};
use super::plan::{Place, Planned, Target, plan};
use super::scope::TopicScope;
use crate::cli::CommandError;
use crate::cli::moment::{duration, moment};
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::table::Table;
use crate::env::{Clock, Disk, FileSystem, SystemClock};
use crate::kafka::ErrorCode;
use crate::kafka::client::{Client, CommittedOffset, Coordinated, OffsetAt, Topics};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp};

/// Which group, which partitions, and where to.
#[derive(Debug, Args)]
pub struct ResetArguments {
    /// Name of the group; one that does not exist is made
    group: String,
    /// A topic, or some of its partitions; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:N,...]", conflicts_with_all = ["all_topics", "from_file"])]
    topics: Vec<TopicScope>,
    /// Everything that the group has committed offsets for
    #[arg(long, conflicts_with = "from_file")]
    all_topics: bool,
    #[command(flatten)]
    goal: Goal,
    /// Do it; without this the command only shows what it would do
    #[arg(long)]
    execute: bool,
    /// Print topic,partition,offset instead of a table, as --from-file reads it
    #[arg(long)]
    export: bool,
    #[command(flatten)]
    address: BrokerAddress,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Goal {
    /// To the first record there is
    #[arg(long)]
    to_earliest: bool,
    /// To the end
    #[arg(long)]
    to_latest: bool,
    /// To this offset
    #[arg(long, value_name = "OFFSET")]
    to_offset: Option<i64>,
    /// To the first record at or after this time (ISO 8601; UTC unless it says otherwise)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to_datetime: Option<Timestamp>,
    /// So many records on, or back
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    shift_by: Option<i64>,
    /// To the first record that is no older (ISO 8601, such as PT15M)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    by_duration: Option<Duration>,
    /// To what is committed: to pin it within the log, or to export it
    #[arg(long)]
    to_current: bool,
    /// To the offsets of a file with lines topic,partition,offset
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
}

impl Goal {
    /// The time that it names, if it names one.
    fn time(&self) -> Option<Timestamp> {
        let ago = |age: Duration| {
            let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            let now = SystemClock::default().wall().get();
            Timestamp::new(now.saturating_sub(millis).max(0))
        };
        self.to_datetime.or_else(|| self.by_duration.map(ago))
    }

    /// The target of every partition alike; `None` if it depends on the partition.
    fn target(&self) -> Option<Target> {
        if self.to_earliest {
            return Some(Target::Earliest);
        }
        if self.to_latest {
            return Some(Target::Latest);
        }
        if self.to_current {
            return Some(Target::Current);
        }
        let offset = self.to_offset.map(Target::Offset);
        offset.or_else(|| self.shift_by.map(Target::Shift))
    }
}

pub(super) async fn reset(
    arguments: &ResetArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let entries = arguments.goal.from_file.as_ref();
    let entries = entries.map(|path| read_file(path, &arguments.group)).transpose()?;
    let mut client = arguments.address.connect().await?;
    check_inactive(&mut client, &arguments.group).await?;
    let committed = client.committed(&arguments.group).await.map_err(|error| failed(&error))?;
    let committed = lag::by_partition(committed);
    let partitions = match &entries {
        Some(entries) => {
            entries.iter().map(|entry| (entry.topic.clone(), entry.partition)).collect()
        }
        None => scope(&mut client, arguments, &committed).await?,
    };
    let places = places(&mut client, partitions, &committed).await?;
    let targets = targets(&mut client, &arguments.goal, entries, &places).await?;
    let planned: Result<Vec<Planned>, _> =
        places.into_iter().zip(targets).map(|(place, target)| plan(place, target)).collect();
    let planned = planned.map_err(|refused| CommandError::Failed(refused.to_string()))?;
    if arguments.execute {
        commit(&mut client, &arguments.group, &planned).await?;
    }
    show(arguments, &planned, out)
}

fn read_file(path: &Path, group: &str) -> Result<Vec<Entry>, CommandError> {
    let name = path.display();
    let bytes = Disk.read(path).map_err(|e| CommandError::Failed(format!("{name}: {e}")))?;
    let bytes = bytes.ok_or_else(|| CommandError::Usage(format!("{name}: no such file")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CommandError::Usage(format!("{name} is no text in UTF-8")))?;
    let entries =
        csv::read(&text, group).map_err(|what| CommandError::Usage(format!("{name}: {what}")))?;
    if entries.is_empty() {
        return Err(CommandError::Usage(format!("{name} says nothing about group {group}")));
    }
    Ok(entries)
}

/// Members would overwrite what is set here with their next commit.
async fn check_inactive(client: &mut Client, group: &str) -> Result<(), CommandError> {
    // Where nobody has ever used a group, this makes the topic that the offsets go to.
    client.coordinator(Coordinated::Group(group)).await.map_err(|error| failed(&error))?;
    match client.describe_group(group).await {
        Ok(described) if described.members.is_empty() => Ok(()),
        Ok(described) => {
            let (state, count) = (described.state, described.members.len());
            let members =
                if count == 1 { "1 member".to_owned() } else { format!("{count} members") };
            Err(CommandError::Failed(format!(
                "group {group} is {state} with {members}: its offsets can be reset once they have left"
            )))
        }
        Err(error) if error.code() == Some(ErrorCode::GroupIdNotFound) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

async fn scope(
    client: &mut Client,
    arguments: &ResetArguments,
    committed: &BTreeMap<Named, Offset>,
) -> Result<BTreeSet<Named>, CommandError> {
    let group = &arguments.group;
    if arguments.all_topics {
        if committed.is_empty() {
            let text = format!("group {group} has committed no offsets: name topics with --topic");
            return Err(CommandError::Failed(text));
        }
        return Ok(committed.keys().cloned().collect());
    }
    if arguments.topics.is_empty() {
        let text = "which topics? --topic TOPIC names one, --all-topics takes all that the group has committed offsets for";
        return Err(CommandError::Usage(text.to_owned()));
    }
    let mut all = BTreeSet::new();
    for TopicScope { topic, partitions } in &arguments.topics {
        let partitions = match partitions {
            Some(partitions) => partitions.clone(),
            None => every_partition(client, topic).await?,
        };
        all.extend(partitions.into_iter().map(|index| (topic.clone(), index)));
    }
    Ok(all)
}

async fn every_partition(
    client: &mut Client,
    topic: &str,
) -> Result<Vec<PartitionIndex>, CommandError> {
    let cluster = client.describe(Topics::Named(&[topic])).await.map_err(|error| failed(&error))?;
    let partitions = cluster.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.map(|partition| PartitionIndex::new(partition.index)).collect())
}

async fn places(
    client: &mut Client,
    partitions: BTreeSet<Named>,
    committed: &BTreeMap<Named, Offset>,
) -> Result<Vec<Place>, CommandError> {
    let ends = lag::ends(client, &partitions).await?;
    let place = |named: Named| {
        let Some(ends) = ends.get(&named) else {
            let (topic, partition) = named;
            return Err(CommandError::Failed(format!("{topic}-{partition} does not exist")));
        };
        let committed = committed.get(&named).copied();
        let (topic, partition) = named;
        Ok(Place { topic, partition, first: ends.first, end: ends.end, committed })
    };
    partitions.into_iter().map(place).collect()
}

/// A target for each place.
async fn targets(
    client: &mut Client,
    goal: &Goal,
    entries: Option<Vec<Entry>>,
    places: &[Place],
) -> Result<Vec<Target>, CommandError> {
    if let Some(entries) = entries {
        let offset = |entry: Entry| ((entry.topic, entry.partition), entry.offset);
        let offsets: BTreeMap<Named, i64> = entries.into_iter().map(offset).collect();
        // Both are in the order of topics and partitions.
        return Ok(offsets.into_values().map(Target::Offset).collect());
    }
    if let Some(target) = goal.target() {
        return Ok(vec![target; places.len()]);
    }
    let time = goal.time().expect("clap wants one of the goals, and all others are done with");
    let mut targets = Vec::with_capacity(places.len());
    for run in places.chunk_by(|a, b| a.topic == b.topic) {
        let partitions: Vec<PartitionIndex> = run.iter().map(|place| place.partition).collect();
        let at = OffsetAt::Time(time);
        let found = lag::offsets(client, &run[0].topic, &partitions, at).await?;
        let first = |index| found.get(index).copied().filter(|offset| *offset > Offset::NONE);
        targets.extend(partitions.iter().map(|index| Target::FirstSince(first(index))));
    }
    Ok(targets)
}

async fn commit(client: &mut Client, group: &str, planned: &[Planned]) -> Result<(), CommandError> {
    let offset = |planned: &Planned| CommittedOffset {
        topic: planned.place.topic.clone(),
        partition: planned.place.partition,
        offset: planned.offset,
        leader_epoch: LeaderEpoch::NONE,
    };
    let offsets: Vec<CommittedOffset> = planned.iter().map(offset).collect();
    let outcomes = client.commit(group, &offsets).await.map_err(|error| failed(&error))?;
    let refused: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| {
            let (topic, partition) = (&outcome.topic, outcome.partition);
            Some(format!("{topic}-{partition}: {}", outcome.refused?.text()))
        })
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(CommandError::Failed(refused.join("\n"))) }
}

fn show(
    arguments: &ResetArguments,
    planned: &[Planned],
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    if arguments.export {
        return Ok(export(planned, out)?);
    }
    let mut table = Table::new(["topic", "partition", "committed", "new offset", ""]);
    for Planned { place, offset, warning } in planned {
        let committed = place.committed.map(|offset| offset.to_string());
        table.push([
            place.topic.clone(),
            place.partition.to_string(),
            committed.unwrap_or_default(),
            offset.to_string(),
            warning.map_or_else(|| " ".to_owned(), |warning| warning.to_string()),
        ]);
    }
    table.write(out)?;
    if !arguments.execute {
        writeln!(out, "nothing was changed; --execute does it")?;
    }
    Ok(())
}

/// Lines for --from-file; warnings go where they do not disturb them.
fn export(planned: &[Planned], out: &mut dyn Write) -> io::Result<()> {
    for Planned { place, offset, warning } in planned {
        let Place { topic, partition, .. } = place;
        if let Some(warning) = warning {
            // Whoever has closed standard error does not want to know.
            let _ = writeln!(io::stderr(), "{topic}-{partition}: {warning}");
        }
        writeln!(out, "{topic},{partition},{offset}")?;
    }
    Ok(())
}
