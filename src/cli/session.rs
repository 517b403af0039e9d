//! How the commands that talk to a broker reach it, and what they say when they cannot.

use std::future::Future;
use std::time::Duration;

use clap::Args;

use super::CommandError;
use crate::kafka::ErrorCode;
use crate::kafka::client::{Client, ClientError, Connect};

/// What the broker's logs and quotas see.
const CLIENT_ID: &str = "highwater-cli";

/// Where the broker is.
#[derive(Clone, Debug, Args)]
pub struct BrokerAddress {
    /// The broker to talk to, host:port
    #[arg(
        long,
        short,
        visible_alias = "bootstrap-server",
        value_name = "ADDRESS",
        env = "HIGHWATER_BROKER",
        hide_env_values = true,
        default_value = "127.0.0.1:9092"
    )]
    pub broker: String,
    /// How long to wait for the connection and for each answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

impl BrokerAddress {
    /// A new connection.
    pub async fn connect(&self) -> Result<Client, CommandError> {
        let timeout = Duration::from_secs(self.timeout);
        let connect = Connect { address: &self.broker, client_id: CLIENT_ID, timeout };
        Client::connect(connect).await.map_err(|error| failed(&error))
    }
}

/// Runs a command that talks to a broker, on a runtime of its own.
pub(super) fn run<F>(command: F) -> Result<(), CommandError>
where
    F: Future<Output = Result<(), CommandError>>,
{
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// The error of a command, with what to do about it where that is known.
pub(super) fn failed(error: &ClientError) -> CommandError {
    CommandError::Failed(match advice(error) {
        Some(advice) => format!("{error}\n{advice}"),
        None => error.to_string(),
    })
}

fn advice(error: &ClientError) -> Option<&'static str> {
    match error {
        ClientError::Connect { .. } => Some(
            "Is a broker running there? `highwater` starts one; --broker HOST:PORT names another.",
        ),
        ClientError::Timeout { .. } => {
            Some("It may be busy, or no Kafka broker; --timeout SECONDS waits longer.")
        }
        ClientError::Closed { .. } | ClientError::Malformed { .. } => {
            Some("Is it a Kafka listener without TLS and without authentication?")
        }
        ClientError::Broker { code, .. } => advice_on(*code),
        ClientError::Io { .. } | ClientError::Unsupported { .. } => None,
    }
}

/// Only codes that a user of these commands meets and can do something about.
fn advice_on(code: ErrorCode) -> Option<&'static str> {
    if code == ErrorCode::UnknownTopicOrPartition {
        Some("`highwater topic list` shows what there is, `highwater topic create NAME` makes one.")
    } else if code == ErrorCode::MessageTooLarge {
        Some("The topic's max.message.bytes is the limit; --codec zstd may get it below.")
    } else if code == ErrorCode::GroupIdNotFound {
        Some("`highwater group list` shows what there is.")
    } else if code == ErrorCode::TransactionalIdNotFound {
        Some("`highwater txn list` shows what there is.")
    } else if code == ErrorCode::NonEmptyGroup {
        Some("It has members; `highwater group describe GROUP --members` shows who.")
    } else if code == ErrorCode::NotCoordinator {
        Some("Another broker of the cluster is: name that one with --broker.")
    } else {
        None
    }
}
