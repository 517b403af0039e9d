//! `highwater txn abort`: an abort marker written to one partition (KIP-664).

use std::io::Write;

use clap::Args;

use super::OnePartition;
use crate::cli::CommandError;
use crate::cli::session::{BrokerAddress, failed};
use crate::kafka::client::{ActiveProducer, Client};
use crate::types::{
    Marker, Offset, Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion,
};

/// Which transaction.
#[derive(Debug, Args)]
pub struct AbortArguments {
    #[command(flatten)]
    partition: OnePartition,
    /// Offset at which it begins there
    #[arg(long, value_name = "OFFSET", required_unless_present = "producer_id", conflicts_with_all = ["producer_id", "producer_epoch", "coordinator_epoch"])]
    start_offset: Option<i64>,
    /// Its producer
    #[arg(long, value_name = "ID", requires = "producer_epoch", requires = "coordinator_epoch")]
    producer_id: Option<i64>,
    /// Epoch of its producer
    #[arg(long, value_name = "EPOCH", requires = "producer_id")]
    producer_epoch: Option<i16>,
    /// Epoch of the coordinator that the partition knows; -1 counts as 0
    #[arg(long, value_name = "EPOCH", requires = "producer_id", allow_negative_numbers = true)]
    coordinator_epoch: Option<i32>,
    #[command(flatten)]
    address: BrokerAddress,
}

pub(super) async fn abort(
    arguments: &AbortArguments,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let mut client = arguments.address.connect().await?;
    let marker = match told(arguments) {
        Some(marker) => marker,
        None => found(&mut client, arguments).await?,
    };
    let OnePartition { topic, partition } = &arguments.partition;
    let written = client.write_marker(topic, *partition, &marker).await;
    written.map_err(|error| failed(&error))?;
    Ok(writeln!(out, "aborted the transaction of {} in {topic}-{partition}", marker.producer)?)
}

fn told(arguments: &AbortArguments) -> Option<Marker> {
    let producer = ProducerIdAndEpoch {
        id: ProducerId::new(arguments.producer_id?),
        epoch: ProducerEpoch::new(arguments.producer_epoch?),
    };
    Some(marker(producer, arguments.coordinator_epoch?))
}

/// The marker of a tool is of version 1: the producer's epoch is the one that the partition knows.
fn marker(producer: ProducerIdAndEpoch, coordinator_epoch: i32) -> Marker {
    // A producer without a marker so far has no coordinator epoch; the first coordinator has 0.
    let coordinator_epoch = coordinator_epoch.max(0);
    let version = TransactionVersion::V1;
    Marker { producer, outcome: Outcome::Abort, coordinator_epoch, version }
}

/// The transaction that begins where the arguments say.
async fn found(client: &mut Client, arguments: &AbortArguments) -> Result<Marker, CommandError> {
    let OnePartition { topic, partition } = &arguments.partition;
    let start = arguments.start_offset.map(Offset::new);
    let producers = client.describe_producers(topic, *partition).await;
    let producers = producers.map_err(|error| failed(&error))?;
    let begins = |active: &&ActiveProducer| start.is_some() && active.transaction_start == start;
    let Some(active) = producers.iter().find(begins) else {
        let offset = start.map(|start| start.to_string()).unwrap_or_default();
        return Err(CommandError::Failed(format!(
            "no transaction that is open in {topic}-{partition} begins at offset {offset}\n\
             `highwater txn producers --topic {topic} --partition {partition}` shows what is there."
        )));
    };
    Ok(marker(active.producer, active.coordinator_epoch))
}
