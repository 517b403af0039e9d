//! The settings in force: those of the start, with what is changed on the running broker over them (Kafka's
//! `DynamicBrokerConfig`).
//!
//! Whoever uses a setting that can change reads it here each time. Topics have theirs from the registry, which derives
//! them from the same image.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::config::{BrokerSettings, Overrides};
use crate::metadata::{ConfigResource, Image};

/// Settings that may change, published.
#[derive(Debug)]
pub struct SettingsInForce {
    current: ArcSwap<BrokerSettings>,
    /// What `current` was made of: of this broker, of all brokers.
    overrides: Mutex<[Arc<Overrides>; 2]>,
    changed: Notify,
}

impl SettingsInForce {
    /// `settings` are those of the start, with what the image had then.
    pub fn new(settings: Arc<BrokerSettings>, image: &Image) -> Self {
        let overrides = Mutex::new(overrides_of(&settings, image));
        Self { current: ArcSwap::new(settings), overrides, changed: Notify::new() }
    }

    /// The settings now. The guard is for short use, not for keeping.
    pub fn get(&self) -> Guard<Arc<BrokerSettings>> {
        self.current.load()
    }

    /// Completes at the next change after this call.
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Puts in force what `image` says.
    pub fn apply(&self, image: &Image) {
        let mut overrides = self.overrides.lock();
        let settings = self.current.load_full();
        let now = overrides_of(&settings, image);
        if *overrides == now {
            return;
        }
        self.current.store(Arc::new(settings.with_dynamic(&now[0], &now[1])));
        *overrides = now;
        self.changed.notify_waiters();
    }
}

fn overrides_of(settings: &BrokerSettings, image: &Image) -> [Arc<Overrides>; 2] {
    let this_broker = ConfigResource::Broker(settings.node_id);
    [image.overrides(&this_broker), image.overrides(&ConfigResource::ClusterDefault)]
}
