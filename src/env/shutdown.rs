//! The one signal that ends the broker.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells every task that the broker stops. Cheap to clone; each clone can request and observe it.
#[derive(Clone, Debug)]
pub struct Shutdown(Arc<watch::Sender<bool>>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Shutdown {
    /// Asks everything to stop. Idempotent.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// True once a stop was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes once a stop was requested. Cancel safe.
    pub async fn requested(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`, so the wait can only end by the value.
        let _ = receiver.wait_for(|&requested| requested).await;
    }
}
