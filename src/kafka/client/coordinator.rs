//! Which broker coordinates a group or a transactional id (FindCoordinator, KIP-98, KIP-699).

use std::fmt;

use kafka_protocol::messages::FindCoordinatorRequest;

use super::patience::Patience;
use super::{Client, ClientError};
use crate::kafka::codec;

const FIND_COORDINATOR_VERSION: i16 = 5;
/// First version that asks for several at once.
const SEVERAL_FROM: i16 = 4;

/// What is coordinated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinated<'a> {
    /// A group, by its name.
    Group(&'a str),
    /// The transactions of a transactional id.
    Transactions(&'a str),
}

impl Coordinated<'_> {
    /// Key type on the wire (Kafka's `CoordinatorType`).
    fn key_type(self) -> i8 {
        match self {
            Self::Group(_) => 0,
            Self::Transactions(_) => 1,
        }
    }

    fn key(&self) -> &str {
        match self {
            Self::Group(key) | Self::Transactions(key) => key,
        }
    }
}

impl fmt::Display for Coordinated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => write!(f, "group {group}"),
            Self::Transactions(id) => write!(f, "transactional id {id}"),
        }
    }
}

impl Client {
    /// Makes sure that there is a coordinator, which creates the topic that it keeps its state in where that is not there yet,
    /// and says where it is: its node id and address.
    pub async fn coordinator(&mut self, of: Coordinated<'_>) -> Result<(i32, String), ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.coordinator_once(of).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn coordinator_once(
        &mut self,
        of: Coordinated<'_>,
    ) -> Result<(i32, String), ClientError> {
        let version = self.link.version_of::<FindCoordinatorRequest>(FIND_COORDINATOR_VERSION)?;
        let mut request = FindCoordinatorRequest::default().with_key_type(of.key_type());
        if version >= SEVERAL_FROM {
            request.coordinator_keys = vec![codec::text(of.key())];
        } else {
            request.key = codec::text(of.key());
        }
        let answer = self.link.call(&request, version).await?;
        let what = || format!("coordinator of {of}");
        let address = |host: &str, port: i32| format!("{host}:{port}");
        if version < SEVERAL_FROM {
            ClientError::check(answer.error_code, None, what)?;
            return Ok((answer.node_id.0, address(&answer.host, answer.port)));
        }
        let Some(found) = answer.coordinators.first() else {
            return Err(self.link.malformed("the answer names no coordinator"));
        };
        ClientError::check(found.error_code, found.error_message.as_deref(), what)?;
        Ok((found.node_id.0, address(&found.host, found.port)))
    }
}
