//! How fast connections are accepted: `max.connection.creation.rate`, of the broker and of a listener (KIP-612, Kafka's
//! `ConnectionQuotas`).
//!
//! Kafka measures the rate over ten seconds and holds a connection that exceeds it back after it was accepted, so that later
//! ones stay in the backlog. Here each connection pays its part of a second; whoever is more than ten seconds behind waits.
//! The long-term rate and the burst after a quiet time are the same.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::broker::SettingsInForce;
use crate::config::UNLIMITED_CREATION_RATE;
use crate::env::Clock;

/// What may come at once after a quiet time (Kafka's ten samples of one second, `quota.window.num`).
const BURST: Duration = Duration::from_secs(10);

/// Rates of the broker and of its listeners.
#[derive(Debug)]
pub struct CreationRate {
    settings: Arc<SettingsInForce>,
    clock: Arc<dyn Clock>,
    arrivals: Mutex<Arrivals>,
}

#[derive(Debug)]
struct Arrivals {
    of_broker: Paid,
    of_listeners: Vec<Paid>,
}

/// Until when the connections so far have paid.
#[derive(Clone, Copy, Debug, Default)]
struct Paid(Duration);

impl CreationRate {
    /// Nothing has come yet.
    pub fn new(settings: Arc<SettingsInForce>, clock: Arc<dyn Clock>) -> Self {
        let listeners = settings.get().listeners.len();
        let of_listeners = vec![Paid::default(); listeners];
        let arrivals = Mutex::new(Arrivals { of_broker: Paid::default(), of_listeners });
        Self { settings, clock, arrivals }
    }

    /// A connection has come in on a listener: how long it has to wait.
    pub fn arrive(&self, listener: usize) -> Duration {
        let settings = self.settings.get();
        let of_broker = settings.max_connection_creation_rate;
        let of_listener = settings.listener_creation_rates.get(listener).copied();
        let now = self.clock.monotonic();
        let mut arrivals = self.arrivals.lock();
        let wait = arrivals.of_broker.pay(now, of_broker);
        match (arrivals.of_listeners.get_mut(listener), of_listener) {
            (Some(paid), Some(rate)) => wait.max(paid.pay(now, rate)),
            _ => wait,
        }
    }
}

impl Paid {
    fn pay(&mut self, now: Duration, per_second: u32) -> Duration {
        if per_second == UNLIMITED_CREATION_RATE {
            // What was paid at another rate is forgotten.
            *self = Self::default();
            return Duration::ZERO;
        }
        // A rate of zero lets one through in a second: Kafka refuses it where it can be refused.
        let price = Duration::from_secs(1) / per_second.max(1);
        self.0 = self.0.max(now).saturating_add(price);
        self.0.saturating_sub(now).saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerSettings;
    use crate::env::ManualClock;
    use crate::metadata::Image;
    use crate::types::Timestamp;

    fn rate(of_broker: u32, of_listeners: Vec<u32>) -> (CreationRate, Arc<ManualClock>) {
        let listener = BrokerSettings::default().listeners[0].clone();
        let settings = BrokerSettings {
            listeners: vec![listener; of_listeners.len()],
            max_connection_creation_rate: of_broker,
            listener_creation_rates: of_listeners,
            ..BrokerSettings::default()
        };
        let clock = Arc::new(ManualClock::new(Timestamp::new(0)));
        let settings = Arc::new(SettingsInForce::new(Arc::new(settings), &Image::default()));
        (CreationRate::new(settings, clock.clone()), clock)
    }

    #[test]
    fn ten_seconds_worth_may_come_at_once_and_then_one_after_the_other() {
        let (rate, clock) = rate(5, vec![UNLIMITED_CREATION_RATE]);
        for _ in 0..50 {
            assert_eq!(rate.arrive(0), Duration::ZERO);
        }
        assert_eq!(rate.arrive(0), Duration::from_millis(200));
        assert_eq!(rate.arrive(0), Duration::from_millis(400));
        clock.advance_ms(400);
        assert_eq!(rate.arrive(0), Duration::from_millis(200));
        clock.advance_ms(60_000);
        for _ in 0..50 {
            assert_eq!(rate.arrive(0), Duration::ZERO, "a quiet time gives the burst back, once");
        }
        assert_ne!(rate.arrive(0), Duration::ZERO);
    }

    #[test]
    fn a_listener_has_a_rate_of_its_own_beside_that_of_the_broker() {
        let (rate, _) = rate(4, vec![1, UNLIMITED_CREATION_RATE]);
        for _ in 0..10 {
            assert_eq!(rate.arrive(0), Duration::ZERO);
        }
        assert_eq!(rate.arrive(0), Duration::from_secs(1));
        for _ in 0..29 {
            assert_eq!(rate.arrive(1), Duration::ZERO, "only the broker's counts");
        }
        assert_eq!(rate.arrive(1), Duration::from_millis(250));
    }

    #[test]
    fn without_a_rate_nobody_waits() {
        let (rate, _) = rate(UNLIMITED_CREATION_RATE, vec![UNLIMITED_CREATION_RATE]);
        assert!((0..100_000).all(|_| rate.arrive(0).is_zero()));
    }
}
