//! `highwater topic`: create, list, describe, delete.

use std::io::Write;

use clap::{Args, Subcommand};

use super::CommandError;
use super::session::{self, BrokerAddress, failed};
use crate::kafka::ErrorCode;
use crate::kafka::client::{Client, ClientError, NewTopic, OffsetAt, TopicDescription, Topics};
use crate::types::PartitionIndex;

/// What to do with topics.
#[derive(Debug, Subcommand)]
pub enum TopicCommand {
    /// Create a topic
    #[command(after_help = "\
Examples:
  highwater topic create orders
  highwater topic create orders --partitions 6 --set retention.ms=86400000
  highwater topic create prices --set cleanup.policy=compact")]
    Create(CreateArguments),
    /// List the topics with their numbers of partitions
    #[command(after_help = "Example:\n  highwater topic list")]
    List(ListArguments),
    /// Show the partitions of topics with leaders and offsets
    #[command(after_help = "Example:\n  highwater topic describe orders")]
    Describe(NamedArguments),
    /// Delete topics with all their records
    #[command(after_help = "Example:\n  highwater topic delete orders")]
    Delete(NamedArguments),
}

/// What to create.
#[derive(Debug, Args)]
pub struct CreateArguments {
    /// Name of the topic
    name: String,
    /// Number of partitions; the broker's num.partitions unless given
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Number of replicas; the broker's default.replication.factor unless given
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(i16).range(1..))]
    replication_factor: Option<i16>,
    /// A topic setting; may be repeated
    #[arg(long = "set", short, value_name = "KEY=VALUE", value_parser = super::arguments::key_and_value)]
    set: Vec<(String, String)>,
    /// Succeed if the topic is there already
    #[arg(long)]
    if_not_exists: bool,
    /// Only check whether it could be created
    #[arg(long)]
    validate_only: bool,
    #[command(flatten)]
    address: BrokerAddress,
}

/// What to list.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Also topics of the broker's own
    #[arg(long)]
    internal: bool,
    #[command(flatten)]
    address: BrokerAddress,
}

/// Which topics.
#[derive(Debug, Args)]
pub struct NamedArguments {
    /// Names of topics
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) fn run(command: TopicCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    session::run(async {
        match command {
            TopicCommand::Create(arguments) => create(&arguments, out).await,
            TopicCommand::List(arguments) => list(&arguments, out).await,
            TopicCommand::Describe(arguments) => describe(&arguments, out).await,
            TopicCommand::Delete(arguments) => delete(&arguments, out).await,
        }
    })
}

async fn create(arguments: &CreateArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let name = &arguments.name;
    let topic = NewTopic {
        name,
        partitions: arguments.partitions,
        replication_factor: arguments.replication_factor,
        configs: &arguments.set,
        validate_only: arguments.validate_only,
    };
    let mut client = arguments.address.connect().await?;
    match client.create_topic(&topic).await {
        Ok(()) if arguments.validate_only => writeln!(out, "{name} can be created")?,
        Ok(()) => writeln!(out, "created {name}")?,
        Err(error) if arguments.if_not_exists && is_there(&error) => {
            writeln!(out, "{name} exists")?;
        }
        Err(error) => return Err(failed(&error)),
    }
    Ok(())
}

fn is_there(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::TopicAlreadyExists)
}

async fn list(arguments: &ListArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let mut cluster = client.describe(Topics::All).await.map_err(|error| failed(&error))?;
    cluster.topics.retain(|topic| arguments.internal || !topic.internal);
    cluster.topics.sort_by(|a, b| a.name.cmp(&b.name));
    let width = cluster.topics.iter().map(|topic| topic.name.len()).max().unwrap_or(0);
    for topic in &cluster.topics {
        writeln!(out, "{:width$}  {}", topic.name, partitions(topic.partitions.len()))?;
    }
    Ok(())
}

fn partitions(count: usize) -> String {
    if count == 1 { "1 partition".to_owned() } else { format!("{count} partitions") }
}

async fn describe(arguments: &NamedArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let names: Vec<&str> = arguments.names.iter().map(String::as_str).collect();
    let cluster = client.describe(Topics::Named(&names)).await.map_err(|error| failed(&error))?;
    for topic in &cluster.topics {
        describe_one(&mut client, topic, out).await?;
    }
    Ok(())
}

async fn describe_one(
    client: &mut Client,
    topic: &TopicDescription,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let count = partitions(topic.partitions.len());
    writeln!(out, "{}  id {}  {count}", topic.name, topic.id)?;
    writeln!(out, "partition  leader  replicas  in sync  first offset  end offset")?;
    for partition in &topic.partitions {
        let index = PartitionIndex::new(partition.index);
        let (mut first, mut end) = ("-".to_owned(), "-".to_owned());
        if partition.leader >= 0 {
            first = offset(client, &topic.name, index, OffsetAt::Earliest).await?;
            end = offset(client, &topic.name, index, OffsetAt::Latest).await?;
        }
        writeln!(
            out,
            "{:<9}  {:<6}  {:<8}  {:<7}  {first:<12}  {end}",
            partition.index,
            partition.leader,
            nodes(&partition.replicas),
            nodes(&partition.isr),
        )?;
    }
    Ok(())
}

async fn offset(
    client: &mut Client,
    topic: &str,
    partition: PartitionIndex,
    at: OffsetAt,
) -> Result<String, CommandError> {
    let found = client.list_offset(topic, partition, at).await.map_err(|error| failed(&error))?;
    Ok(found.offset.to_string())
}

fn nodes(ids: &[i32]) -> String {
    let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
    ids.join(",")
}

async fn delete(arguments: &NamedArguments, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    for name in &arguments.names {
        client.delete_topic(name).await.map_err(|error| failed(&error))?;
        writeln!(out, "deleted {name}")?;
    }
    Ok(())
}
