//! `highwater group list`.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;

use super::lag::{self, Ends, Named};
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::table::Table;
use crate::kafka::ErrorCode;
use crate::kafka::client::{Client, ClientError, ListedGroup};
use crate::types::Offset;

/// Types of groups that have offsets of their own; share groups and groups of Streams keep theirs elsewhere.
const WITH_OFFSETS: [&str; 3] = ["classic", "consumer", ""];

/// Which groups.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only groups in one of these states: empty, stable, dead, preparing-rebalance, completing-rebalance, assigning,
    /// reconciling
    #[arg(long, value_name = "STATE,...", value_delimiter = ',')]
    state: Vec<String>,
    /// Only groups of one of these types: classic, consumer
    #[arg(long = "type", value_name = "TYPE,...", value_delimiter = ',')]
    types: Vec<String>,
    #[command(flatten)]
    address: BrokerAddress,
}

/// A group with what was found out about it.
struct Row {
    listed: ListedGroup,
    members: Option<usize>,
    committed: BTreeMap<Named, Offset>,
}

pub(super) async fn list(
    arguments: &ListArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    // Both spellings are common: Kafka's name of a state has no hyphen.
    let states: Vec<String> = arguments.state.iter().map(|state| state.replace('-', "")).collect();
    let listed = client.list_groups(&states, &arguments.types).await;
    let mut rows = Vec::new();
    for listed in listed.map_err(|error| failed(&error))? {
        // A group that went away since it was listed is not there.
        if let Some(row) = look(&mut client, listed).await? {
            rows.push(row);
        }
    }
    let partitions = rows.iter().flat_map(|row| row.committed.keys());
    let ends = lag::ends(&mut client, partitions).await?;
    let mut table = Table::new(["group", "type", "state", "members", "lag"]);
    for row in rows {
        let lag = lag_sum(&row.committed, &ends);
        let members = row.members.map(|members| members.to_string()).unwrap_or_default();
        let ListedGroup { group, state, group_type, .. } = row.listed;
        table.push([group, group_type.to_lowercase(), state, members, lag]);
    }
    Ok(table.write(out)?)
}

async fn look(client: &mut Client, listed: ListedGroup) -> Result<Option<Row>, CommandError> {
    if !WITH_OFFSETS.contains(&listed.group_type.to_lowercase().as_str()) {
        return Ok(Some(Row { listed, members: None, committed: BTreeMap::new() }));
    }
    let described = match client.describe_group(&listed.group).await {
        Ok(described) => described,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let committed = client.committed(&listed.group).await.map_err(|error| failed(&error))?;
    let committed = lag::by_partition(committed);
    Ok(Some(Row { listed, members: Some(described.members.len()), committed }))
}

fn is_gone(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::GroupIdNotFound)
}

/// Sum over the partitions that exist; empty without any.
fn lag_sum(committed: &BTreeMap<Named, Offset>, ends: &BTreeMap<Named, Ends>) -> String {
    let lags: Vec<i64> = committed
        .iter()
        .filter_map(|(named, offset)| Some(lag::lag(*offset, *ends.get(named)?)))
        .collect();
    if lags.is_empty() {
        return String::new();
    }
    lags.iter().fold(0_i64, |sum, lag| sum.saturating_add(*lag)).to_string()
}
