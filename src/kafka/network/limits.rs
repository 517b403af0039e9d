//! How many connections there may be: in all (`max.connections`) and from one address (`max.connections.per.ip`). The
//! settings in force count at each new connection; those that are open stay when a limit is lowered, as with Kafka.
//!
//! Connections take at most half of the descriptors that the process may open: the other half is for files, since a log that
//! cannot open its next segment is worse off than a client that waits.

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
    descriptors_max: usize,
    open: Mutex<Open>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    per_address: HashMap<IpAddr, usize>,
}

/// Why a new connection has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The setting allows no more.
    #[error("new connections wait: {open} are open (max.connections)")]
    Setting {
        /// Connections.
        open: usize,
    },
    /// The rest of the descriptors is for files.
    #[error(
        "new connections wait: {open} are open, half of the files that the process may open (ulimit -n)"
    )]
    Descriptors {
        /// Connections.
        open: usize,
    },
}

/// One connection that counts until this is dropped.
#[derive(Debug)]
pub struct Admission {
    limits: Arc<Limits>,
    address: IpAddr,
}

impl Limits {
    /// As the settings say, in a process that may open so many descriptors (`None` for any number).
    pub fn new(settings: Arc<SettingsInForce>, descriptor_limit: Option<usize>) -> Arc<Self> {
        let descriptors_max = descriptor_limit.map_or(usize::MAX, |limit| (limit / 2).max(1));
        Arc::new(Self { settings, descriptors_max, open: Mutex::default(), freed: Notify::new() })
    }

    /// Why no further connection is accepted now.
    pub fn full(&self) -> Option<Full> {
        let open = self.open.lock().total;
        if open >= self.settings.get().max_connections {
            Some(Full::Setting { open })
        } else if open >= self.descriptors_max {
            Some(Full::Descriptors { open })
        } else {
            None
        }
    }

    /// Waits until one more connection may be accepted. Until then new ones stay in the backlog, as with Kafka.
    pub async fn room(&self) {
        loop {
            let (freed, changed) = (self.freed.notified(), self.settings.changed());
            tokio::pin!(freed, changed);
            // Interest first, then the look: nothing is missed in between.
            freed.as_mut().enable();
            changed.as_mut().enable();
            if self.full().is_none() {
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
        if open.total >= settings.max_connections.min(self.descriptors_max) {
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
        Limits::new(Arc::new(in_force), None)
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
    async fn half_of_the_descriptors_is_left_to_files() {
        let settings = Arc::new(BrokerSettings::default());
        let in_force = Arc::new(SettingsInForce::new(settings, &Image::default()));
        let limits = Limits::new(in_force, Some(5));
        let address = IpAddr::from([10, 0, 0, 1]);
        let (first, _second) = (limits.admit(address).await, limits.admit(address).await);
        assert_eq!(limits.full(), Some(Full::Descriptors { open: 2 }));
        drop(first);
        assert_eq!(limits.full(), None);
    }

    #[tokio::test]
    async fn listeners_that_race_for_the_last_place_take_turns() {
        let address = IpAddr::from([10, 0, 0, 1]);
        let limits = limits(1, 10, &[]);
        limits.room().await;
        limits.room().await;
        let first = limits.admit(address).await;
        let second = crate::env::spawn({
            let limits = Arc::clone(&limits);
            async move { limits.admit(address).await.is_some() }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "both got in");
        drop(first);
        assert!(second.await.expect("no panic"));
    }
}
