//! The cluster image (topics, configs, producer ids, ...) and the store that changes it.
//!
//! A change is a batch of Kafka's own metadata records, appended to `__cluster_metadata-0` and synced, then applied to the
//! image by the same function that replays the log at start. Readers take the newest immutable [`Image`].

mod apply;
mod changes;
mod directory_choice;
mod image;
pub mod journal;
mod lifecycle;
mod opening;
pub mod records;
mod serving;
mod store;

pub use apply::{ApplyError, ImageBuilder, Replay};
pub use image::{ConfigResource, Image, METADATA_VERSION, PartitionState, QuorumState, Topic};
pub use journal::Voter;
pub use opening::{FoundMetadata, OpenMetadataError, Understood};
pub use records::{Endpoint, OpaqueKey, RegisterBroker as BrokerRegistration, SupportedFeature};
pub use serving::Serving;
pub use store::{
    ConfigChange, DirectoryAssignment, ImageListener, MetadataError, MetadataStore, NewTopic,
    OpenMetadata, ProducerIdBlock, TopicRef,
};
