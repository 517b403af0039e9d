//! How many connections there may be: in all (`max.connections`) and from one address (`max.connections.per.ip`). The
//! settings in force count at each new connection; those that are open stay when a limit is lowered, as with Kafka.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::broker::SettingsInForce;

/// Counts connections.
#[derive(Debug)]
pub struct Limits {
    settings: Arc<SettingsInForce>,
    open: Mutex<Open>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    per_address: HashMap<IpAddr, usize>,
}

/// One connection that counts until this is dropped.
#[derive(Debug)]
pub struct Admission {
    limits: Arc<Limits>,
    address: IpAddr,
}

impl Limits {
    /// As the settings say.
    pub fn new(settings: Arc<SettingsInForce>) -> Arc<Self> {
        Arc::new(Self { settings, open: Mutex::default(), freed: Notify::new() })
    }

    /// Waits until one more connection may be accepted. Until then new ones stay in the backlog, as with Kafka.
    pub async fn room(&self) {
        loop {
            let (freed, changed) = (self.freed.notified(), self.settings.changed());
            tokio::pin!(freed, changed);
            // Interest first, then the look: nothing is missed in between.
            freed.as_mut().enable();
            changed.as_mut().enable();
            if self.open.lock().total < self.settings.get().max_connections {
                return;
            }
            tokio::select! {
                () = freed => {}
                () = changed => {}
            }
        }
    }

    /// Counts a connection from `address`; `None` if it has too many. Waits where another listener took the last place.
    pub async fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Admission> {
        let address = address.to_canonical();
        loop {
            match self.try_admit(address) {
                Verdict::Admitted => {
                    return Some(Admission { limits: Arc::clone(self), address });
                }
                Verdict::TooManyFromThere => return None,
                Verdict::TooMany => self.room().await,
            }
        }
    }

    fn try_admit(&self, address: IpAddr) -> Verdict {
        let settings = self.settings.get();
        let own_limit = settings.max_connections_per_ip_overrides.get(&address).copied();
        let mut open = self.open.lock();
        if open.total >= settings.max_connections {
            return Verdict::TooMany;
        }
        let from_there = open.per_address.get(&address).copied().unwrap_or(0);
        if from_there >= own_limit.unwrap_or(settings.max_connections_per_ip) {
            return Verdict::TooManyFromThere;
        }
        open.total += 1;
        open.per_address.insert(address, from_there + 1);
        Verdict::Admitted
    }
}

enum Verdict {
    Admitted,
    TooMany,
    TooManyFromThere,
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut open = self.limits.open.lock();
        open.total -= 1;
        if let Some(count) = open.per_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.per_address.remove(&self.address);
            }
        }
        drop(open);
        // One for each listener that waits.
        self.limits.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerSettings;
    use crate::metadata::Image;

    fn limits(total: usize, per_address: usize, overrides: &[(IpAddr, usize)]) -> Arc<Limits> {
        let settings = BrokerSettings {
            max_connections: total,
            max_connections_per_ip: per_address,
            max_connections_per_ip_overrides: overrides.iter().copied().collect(),
            ..BrokerSettings::default()
        };
        let in_force = SettingsInForce::new(Arc::new(settings), &Image::default());
        Limits::new(Arc::new(in_force))
    }

    #[tokio::test]
    async fn an_address_gets_its_share_and_a_closed_connection_gives_it_back() {
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let barred = IpAddr::from([10, 0, 0, 3]);
        let limits = limits(10, 2, &[(barred, 0)]);
        let (first, second) = (limits.admit(one).await, limits.admit(one).await);
        assert!(first.is_some() && second.is_some());
        assert!(limits.admit(one).await.is_none());
        assert!(limits.admit(other).await.is_some());
        assert!(limits.admit(barred).await.is_none());
        drop(first);
        assert!(limits.admit(one).await.is_some());
        drop(second);
        assert!(limits.open.lock().per_address.is_empty());
        assert_eq!(limits.open.lock().total, 0);
    }

    #[tokio::test]
    async fn listeners_that_race_for_the_last_place_take_turns() {
        let address = IpAddr::from([10, 0, 0, 1]);
        let limits = limits(1, 10, &[]);
        limits.room().await;
        limits.room().await;
        let first = limits.admit(address).await;
        let second = tokio::spawn({
            let limits = Arc::clone(&limits);
            async move { limits.admit(address).await.is_some() }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "both got in");
        drop(first);
        assert!(second.await.expect("no panic"));
    }
}
