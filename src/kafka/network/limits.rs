//! How many connections there may be: in all (`max.connections`) and from one address (`max.connections.per.ip`).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Counts connections.
#[derive(Debug)]
pub struct Limits {
    total: Arc<Semaphore>,
    per_address_max: usize,
    /// Addresses with a limit of their own (`max.connections.per.ip.overrides`).
    overrides: HashMap<IpAddr, usize>,
    per_address: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection that counts until this is dropped.
#[derive(Debug)]
pub struct Admission {
    limits: Arc<Limits>,
    address: IpAddr,
    _total: OwnedSemaphorePermit,
}

impl Limits {
    /// So many in all and so many from each address.
    pub fn new(
        total: usize,
        per_address_max: usize,
        overrides: HashMap<IpAddr, usize>,
    ) -> Arc<Self> {
        let total = Arc::new(Semaphore::new(total.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { total, per_address_max, overrides, per_address: Mutex::default() })
    }

    /// Waits until one more connection may be accepted. Until then new ones stay in the backlog, as with Kafka.
    pub async fn room(&self) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.total).acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    /// Counts a connection from `address`; `None` if it has too many.
    pub fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        total: OwnedSemaphorePermit,
    ) -> Option<Admission> {
        let address = address.to_canonical();
        let most = self.overrides.get(&address).copied().unwrap_or(self.per_address_max);
        let mut per_address = self.per_address.lock();
        let count = per_address.entry(address).or_default();
        if *count >= most {
            if *count == 0 {
                per_address.remove(&address);
            }
            return None;
        }
        *count += 1;
        Some(Admission { limits: Arc::clone(self), address, _total: total })
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut per_address = self.limits.per_address.lock();
        if let Some(count) = per_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                per_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_gets_its_share_and_a_closed_connection_gives_it_back() {
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let barred = IpAddr::from([10, 0, 0, 3]);
        let limits = Limits::new(10, 2, HashMap::from([(barred, 0)]));
        let first = limits.admit(one, limits.room().await);
        let second = limits.admit(one, limits.room().await);
        assert!(first.is_some() && second.is_some());
        assert!(limits.admit(one, limits.room().await).is_none());
        assert!(limits.admit(other, limits.room().await).is_some());
        assert!(limits.admit(barred, limits.room().await).is_none());
        drop(first);
        assert!(limits.admit(one, limits.room().await).is_some());
        drop(second);
        assert!(limits.per_address.lock().is_empty());
        assert_eq!(limits.total.available_permits(), 10);
    }
}
