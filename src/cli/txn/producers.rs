//! `highwater txn producers`.

use std::io::Write;

use clap::Args;

use super::{OnePartition, since};
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::cli::spoken::spoken;
use crate::cli::table::Table;
use crate::env::{Clock, SystemClock};
use crate::types::Timestamp;

/// Of which partition.
#[derive(Debug, Args)]
pub struct ProducersArguments {
    #[command(flatten)]
    partition: OnePartition,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) async fn list(
    arguments: &ProducersArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let OnePartition { topic, partition } = &arguments.partition;
    let producers = client.describe_producers(topic, *partition).await;
    let now = SystemClock::default().wall();
    let age = |last: Timestamp| (last >= Timestamp::new(0)).then(|| spoken(since(last, now)));
    let heading = [
        "producer id",
        "epoch",
        "coordinator epoch",
        "last sequence",
        "last write",
        "open since offset",
    ];
    let mut table = Table::new(heading);
    for active in producers.map_err(|error| failed(&error))? {
        table.push([
            active.producer.id.to_string(),
            active.producer.epoch.to_string(),
            active.coordinator_epoch.to_string(),
            active.last_sequence.to_string(),
            age(active.last_timestamp).map(|age| format!("{age} ago")).unwrap_or_default(),
            active.transaction_start.map(|start| start.to_string()).unwrap_or_default(),
        ]);
    }
    Ok(table.write(out)?)
}
