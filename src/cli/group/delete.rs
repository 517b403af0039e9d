//! `highwater group delete` and `delete-offsets`.

use std::io::Write;

use clap::Args;

use super::lag::Named;
use super::scope::TopicScope;
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::table::Table;
use crate::kafka::client::{Client, PartitionOutcome};

/// Which groups.
#[derive(Debug, Args)]
pub struct DeleteArguments {
    /// Names of groups
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

/// Which offsets.
#[derive(Debug, Args)]
pub struct DeleteOffsetsArguments {
    /// Name of the group
    group: String,
    /// A topic, or some of its partitions; may be repeated
    #[arg(long = "topic", value_name = "TOPIC[:N,...]", required = true)]
    topics: Vec<TopicScope>,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) async fn delete(
    arguments: &DeleteArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    for group in &arguments.groups {
        client.delete_group(group).await.map_err(|error| failed(&error))?;
        writeln!(out, "deleted {group}")?;
    }
    Ok(())
}

pub(super) async fn delete_offsets(
    arguments: &DeleteOffsetsArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let group = arguments.group.as_str();
    client.describe_group(group).await.map_err(|error| failed(&error))?;
    let partitions = partitions(&mut client, arguments).await?;
    let outcomes = client.delete_offsets(group, &partitions).await;
    let outcomes = outcomes.map_err(|error| failed(&error))?;
    let mut table = Table::new(["topic", "partition", "offset"]);
    for PartitionOutcome { topic, partition, refused } in &outcomes {
        let told = refused.map_or("deleted", |code| code.text());
        table.push([topic.clone(), partition.to_string(), told.to_owned()]);
    }
    table.write(out)?;
    if outcomes.iter().any(|outcome| outcome.refused.is_some()) {
        return Err(CommandError::Failed("not every offset was deleted".to_owned()));
    }
    Ok(())
}

/// The partitions named, or those of the topic that have an offset: the topic itself may be gone.
async fn partitions(
    client: &mut Client,
    arguments: &DeleteOffsetsArguments,
) -> Result<Vec<Named>, CommandError> {
    let committed = client.committed(&arguments.group).await.map_err(|error| failed(&error))?;
    let mut all = Vec::new();
    for TopicScope { topic, partitions } in &arguments.topics {
        let before = all.len();
        match partitions {
            Some(partitions) => all.extend(partitions.iter().map(|index| (topic.clone(), *index))),
            None => {
                let of_topic = committed.iter().filter(|entry| entry.topic == *topic);
                all.extend(of_topic.map(|entry| (topic.clone(), entry.partition)));
            }
        }
        if all.len() == before {
            let group = &arguments.group;
            let text = format!("group {group} has committed no offset for {topic}");
            return Err(CommandError::Failed(text));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}
