//! `highwater group describe`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use clap::Args;

use super::behind::behind;
use super::lag::{self, Ends, Named};
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::spoken::spoken;
use crate::cli::table::Table;
use crate::kafka::client::{Client, Coordinated, GroupDescription, GroupMember, GroupType};
use crate::types::Offset;

/// Which group, and what of it.
#[derive(Debug, Args)]
pub struct DescribeArguments {
    /// Name of the group
    group: String,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    address: BrokerAddress,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct What {
    /// Offsets and lag of each partition; the default
    #[arg(long)]
    offsets: bool,
    /// Members and what they were assigned
    #[arg(long)]
    members: bool,
    /// State, assignor, coordinator
    #[arg(long)]
    state: bool,
}

pub(super) async fn describe(
    arguments: &DescribeArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let described = client.describe_group(&arguments.group).await;
    let group = described.map_err(|error| failed(&error))?;
    if arguments.what.state {
        return state(&mut client, &group, out).await;
    }
    if arguments.what.members {
        return Ok(members(&group, out)?);
    }
    offsets(&mut client, &group, out).await
}

async fn state(
    client: &mut Client,
    group: &GroupDescription,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let coordinator = client.coordinator(Coordinated::Group(&group.group)).await;
    let (node, address) = coordinator.map_err(|error| failed(&error))?;
    let epochs =
        group.epochs.map(|(group, assignment)| (group.to_string(), assignment.to_string()));
    let (group_epoch, assignment_epoch) = epochs.unwrap_or_default();
    let mut table = Table::new([
        "group",
        "type",
        "state",
        "members",
        "assignor",
        "epoch",
        "assignment epoch",
        "coordinator",
    ]);
    table.push([
        group.group.clone(),
        type_name(group.group_type).to_owned(),
        group.state.clone(),
        group.members.len().to_string(),
        group.assignor.clone(),
        group_epoch,
        assignment_epoch,
        format!("{address} (node {node})"),
    ]);
    Ok(table.write(out)?)
}

fn type_name(group_type: GroupType) -> &'static str {
    match group_type {
        GroupType::Classic => "classic",
        GroupType::Consumer => "consumer",
    }
}

fn members(group: &GroupDescription, out: &mut dyn Write) -> io::Result<()> {
    headline(group, out)?;
    if group.members.is_empty() {
        return Ok(());
    }
    let heading =
        ["member", "instance", "client", "host", "epoch", "partitions", "assignment", "moves to"];
    let mut table = Table::new(heading);
    for member in &group.members {
        table.push([
            member.id.clone(),
            member.instance_id.clone().unwrap_or_default(),
            member.client_id.clone(),
            member.host.clone(),
            member.epoch.map(|epoch| epoch.to_string()).unwrap_or_default(),
            member.assignment.len().to_string(),
            assignment(&member.assignment),
            member.target.as_deref().map(assignment).unwrap_or_default(),
        ]);
    }
    table.write(out)
}

/// Partitions as `--topic` takes them, `orders:0,2`; those of several topics with a blank between.
fn assignment(partitions: &[Named]) -> String {
    let topics = partitions.chunk_by(|a, b| a.0 == b.0).map(|run| {
        let indexes: Vec<String> = run.iter().map(|(_, index)| index.to_string()).collect();
        format!("{}:{}", run[0].0, indexes.join(","))
    });
    topics.collect::<Vec<_>>().join(" ")
}

fn headline(group: &GroupDescription, out: &mut dyn Write) -> io::Result<()> {
    let members = match group.members.len() {
        0 => "no members".to_owned(),
        1 => "1 member".to_owned(),
        count => format!("{count} members"),
    };
    let kind = type_name(group.group_type);
    writeln!(out, "{}  {kind}  {}  {members}", group.group, group.state)
}

async fn offsets(
    client: &mut Client,
    group: &GroupDescription,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let committed = client.committed(&group.group).await.map_err(|error| failed(&error))?;
    let committed = lag::by_partition(committed);
    let owners = owners(group);
    let partitions: BTreeSet<&Named> = committed.keys().chain(owners.keys().copied()).collect();
    let ends = lag::ends(client, partitions.iter().copied()).await?;
    headline(group, out)?;
    if partitions.is_empty() {
        return Ok(writeln!(out, "no offsets are committed")?);
    }
    let heading =
        ["topic", "partition", "committed", "end", "lag", "behind", "member", "client", "host"];
    let mut table = Table::new(heading);
    for named in partitions {
        let offset = committed.get(named).copied();
        let [committed, end, lag, behind] =
            progress(client, named, offset, ends.get(named).copied()).await?;
        let owner = owners.get(named);
        let of_owner = |field: fn(&GroupMember) -> &str| {
            owner.map(|member| field(member).to_owned()).unwrap_or_default()
        };
        table.push([
            named.0.clone(),
            named.1.to_string(),
            committed,
            end,
            lag,
            behind,
            of_owner(|member| &member.id),
            of_owner(|member| &member.client_id),
            of_owner(|member| &member.host),
        ]);
    }
    Ok(table.write(out)?)
}

/// Who has which partition.
fn owners(group: &GroupDescription) -> BTreeMap<&Named, &GroupMember> {
    let members = group.members.iter();
    members.flat_map(|member| member.assignment.iter().map(move |named| (named, member))).collect()
}

/// Committed offset, end, lag in records and in time; empty where it is not known.
async fn progress(
    client: &mut Client,
    named: &Named,
    committed: Option<Offset>,
    ends: Option<Ends>,
) -> Result<[String; 4], CommandError> {
    let text = |offset: Option<Offset>| offset.map(|offset| offset.to_string()).unwrap_or_default();
    let (committed_text, end_text) = (text(committed), text(ends.map(|ends| ends.end)));
    let (Some(committed), Some(ends)) = (committed, ends) else {
        return Ok([committed_text, end_text, String::new(), String::new()]);
    };
    let lag = lag::lag(committed, ends);
    let behind = if lag > 0 { behind(client, named, committed, ends).await? } else { None };
    let behind = behind.map(spoken).unwrap_or_default();
    Ok([committed_text, end_text, lag.to_string(), behind])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PartitionIndex;

    #[test]
    fn an_assignment_reads_as_it_is_written_on_the_command_line() {
        let named = |topic: &str, index| (topic.to_owned(), PartitionIndex::new(index));
        assert_eq!(assignment(&[named("t", 0), named("t", 12), named("u", 1)]), "t:0,12 u:1");
        assert_eq!(assignment(&[]), "");
    }
}
