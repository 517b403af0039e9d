//! A small client for one broker: what the command line needs, on the product's own wire code.
//!
//! It speaks to the broker it is connected to and follows no leaders; requests are answered one by one. A [`Client`] belongs to
//! one task. Responses go through the generated decoder without the guard that stands before a broker: connect it to brokers
//! that you trust.

mod admin;
mod assignment;
mod committed;
mod coordinator;
mod data;
mod error;
mod groups;
mod link;
mod log_dirs;
mod patience;
mod transactions;

pub use admin::{
    BrokerAddress, ClusterDescription, NewTopic, PartitionDescription, TopicDescription, Topics,
};
pub use committed::{CommittedOffset, PartitionOutcome};
pub use coordinator::Coordinated;
pub use data::{Acks, FetchFrom, Fetched, ListedOffset, ListedPartition, OffsetAt, ProduceTo};
pub use error::ClientError;
pub use groups::{GroupDescription, GroupMember, GroupType, ListedGroup};
use link::Link;
pub use link::{Connect, REQUEST_TIMEOUT};
pub use log_dirs::{LogDirDescription, PlacedPartition};
pub use transactions::{
    ActiveProducer, ListedTransaction, TransactionDescription, TransactionFilter,
};

/// A connection to one broker whose versions are known.
#[derive(Debug)]
pub struct Client {
    link: Link,
}

impl Client {
    /// Connects and asks which versions the broker serves.
    pub async fn connect(args: Connect<'_>) -> Result<Self, ClientError> {
        Ok(Self { link: Link::open(args).await? })
    }
}
