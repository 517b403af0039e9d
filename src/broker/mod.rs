//! Use cases shared by all front ends: partitions, produce, fetch, offsets, topics, configs, housekeeping.

pub mod cluster;
pub mod configs;
pub mod topics;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::BrokerSettings;
use crate::env::{ByteBudget, Env};
use crate::metadata::MetadataStore;

/// The broker without any front end.
#[derive(Debug)]
pub struct Broker {
    /// Seams to the machine.
    pub env: Env,
    /// The settings it was started with.
    pub settings: Arc<BrokerSettings>,
    /// The cluster image and its changes.
    pub metadata: Arc<MetadataStore>,
    /// The one budget of bytes.
    pub budget: Arc<ByteBudget>,
    /// Held on blocking threads while a change of topics or configs is checked and written, so that what was checked is what
    /// is changed.
    pub changes: Mutex<()>,
}
