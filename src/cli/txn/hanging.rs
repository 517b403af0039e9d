//! `highwater txn find-hanging`: what a partition holds open against what coordinators know (KIP-664).

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use clap::Args;

use super::{index, since};
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::spoken::spoken;
use crate::cli::table::Table;
use crate::env::{Clock, SystemClock};
use crate::kafka::ErrorCode;
use crate::kafka::client::{
    ActiveProducer, Client, ClientError, Topics, TransactionDescription, TransactionFilter,
};
use crate::types::{Offset, PartitionIndex, ProducerId, Timestamp};

/// Where, and from which age on.
#[derive(Debug, Args)]
pub struct HangingArguments {
    /// Only in this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only in this partition of it
    #[arg(long, value_name = "N", value_parser = index, requires = "topic")]
    partition: Option<PartitionIndex>,
    /// Longest time that a transaction may be open, in minutes: the broker's transaction.max.timeout.ms
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(..=35_791))]
    max_transaction_timeout: u64,
    #[command(flatten)]
    address: BrokerAddress,
}

/// A transaction that is open in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    topic: String,
    partition: PartitionIndex,
    start: Offset,
    active: ActiveProducer,
}

pub(super) async fn find(
    arguments: &HangingArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let now = SystemClock::default().wall();
    let limit = Duration::from_secs(arguments.max_transaction_timeout * 60);
    let open = open_for_longer(&mut client, arguments, now, limit).await?;
    let known = known_transactions(&mut client, &open).await?;
    let heading = [
        "topic",
        "partition",
        "producer id",
        "epoch",
        "coordinator epoch",
        "start offset",
        "last write",
    ];
    let mut table = Table::new(heading);
    for open in open.into_iter().filter(|open| hangs(open, &known)) {
        let Open { topic, partition, start, active } = open;
        table.push([
            topic,
            partition.to_string(),
            active.producer.id.to_string(),
            active.producer.epoch.to_string(),
            active.coordinator_epoch.to_string(),
            start.to_string(),
            format!("{} ago", spoken(since(active.last_timestamp, now))),
        ]);
    }
    Ok(table.write(out)?)
}

/// Open transactions whose producer has not written for longer than `limit`.
async fn open_for_longer(
    client: &mut Client,
    arguments: &HangingArguments,
    now: Timestamp,
    limit: Duration,
) -> Result<Vec<Open>, CommandError> {
    let mut found = Vec::new();
    for (topic, partition) in partitions(client, arguments).await? {
        let producers = match client.describe_producers(&topic, partition).await {
            Ok(producers) => producers,
            // Another broker leads it, or it was deleted meanwhile.
            Err(error) if arguments.topic.is_none() && is_elsewhere(&error) => continue,
            Err(error) => return Err(failed(&error)),
        };
        for active in producers {
            let Some(start) = active.transaction_start else { continue };
            if since(active.last_timestamp, now) > limit {
                found.push(Open { topic: topic.clone(), partition, start, active });
            }
        }
    }
    Ok(found)
}

fn is_elsewhere(error: &ClientError) -> bool {
    matches!(
        error.code(),
        Some(ErrorCode::NotLeaderOrFollower | ErrorCode::UnknownTopicOrPartition)
    )
}

async fn partitions(
    client: &mut Client,
    arguments: &HangingArguments,
) -> Result<Vec<(String, PartitionIndex)>, CommandError> {
    if let (Some(topic), Some(partition)) = (&arguments.topic, arguments.partition) {
        return Ok(vec![(topic.clone(), partition)]);
    }
    let named: Vec<&str> = arguments.topic.iter().map(String::as_str).collect();
    let topics = if named.is_empty() { Topics::All } else { Topics::Named(&named) };
    let cluster = client.describe(topics).await.map_err(|error| failed(&error))?;
    let partitions = cluster.topics.into_iter().flat_map(|topic| {
        let indexes = topic.partitions.into_iter().map(|partition| partition.index);
        indexes.map(move |index| (topic.name.clone(), PartitionIndex::new(index)))
    });
    Ok(partitions.collect())
}

/// What coordinators know of the producers of `open`.
async fn known_transactions(
    client: &mut Client,
    open: &[Open],
) -> Result<HashMap<ProducerId, TransactionDescription>, CommandError> {
    let mut producers: Vec<ProducerId> = open.iter().map(|open| open.active.producer.id).collect();
    producers.sort();
    producers.dedup();
    if producers.is_empty() {
        return Ok(HashMap::new());
    }
    let filter = TransactionFilter { producers, ..TransactionFilter::default() };
    let mut known = HashMap::new();
    for listed in client.list_transactions(&filter).await.map_err(|error| failed(&error))? {
        match client.describe_transaction(&listed.id).await {
            Ok(described) => {
                known.insert(listed.producer, described);
            }
            Err(error) if error.code() == Some(ErrorCode::TransactionalIdNotFound) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(known)
}

/// A transaction that a coordinator knows with this partition will be ended by it, at the latest by its time-out.
fn hangs(open: &Open, known: &HashMap<ProducerId, TransactionDescription>) -> bool {
    let Some(described) = known.get(&open.active.producer.id) else { return true };
    let is_this = |(topic, index): &(String, PartitionIndex)| {
        *topic == open.topic && *index == open.partition
    };
    !described.partitions.iter().any(is_this)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ProducerEpoch, ProducerIdAndEpoch};

    fn producer(id: i64) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch { id: ProducerId::new(id), epoch: ProducerEpoch::new(0) }
    }

    fn open(id: i64, partition: i32) -> Open {
        let active = ActiveProducer {
            producer: producer(id),
            last_sequence: 0,
            last_timestamp: Timestamp::new(0),
            coordinator_epoch: 0,
            transaction_start: Some(Offset::new(3)),
        };
        let partition = PartitionIndex::new(partition);
        Open { topic: "t".to_owned(), partition, start: Offset::new(3), active }
    }

    #[test]
    fn what_its_coordinator_will_end_does_not_hang() {
        let described = TransactionDescription {
            id: "id".to_owned(),
            state: "Ongoing".to_owned(),
            producer: producer(7),
            timeout_ms: 1,
            start: Some(Timestamp::new(0)),
            partitions: vec![("t".to_owned(), PartitionIndex::new(1))],
        };
        let known = HashMap::from([(ProducerId::new(7), described)]);
        assert!(!hangs(&open(7, 1), &known));
        assert!(hangs(&open(7, 0), &known), "the coordinator does not know this partition");
        assert!(hangs(&open(8, 1), &known), "nobody knows this producer");
    }
}
