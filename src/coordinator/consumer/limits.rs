//! Times that a group goes by: its own (resource type GROUP), else the broker's (Kafka's `GroupConfig`).

use std::collections::BTreeMap;

use crate::coordinator::groups::GroupSettings;
use crate::metadata::{ConfigResource, Image};

/// What holds for a group, in milliseconds, within the broker's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) session_timeout_ms: i32,
    pub(super) heartbeat_interval_ms: i32,
}

impl Limits {
    pub(super) fn of(settings: &GroupSettings, image: &Image, group: &str) -> Self {
        let own = image.overrides(&ConfigResource::Group(group.to_owned()));
        let session = number(&own, "consumer.session.timeout.ms");
        let heartbeat = number(&own, "consumer.heartbeat.interval.ms");
        Self {
            session_timeout_ms: bounded(
                session.unwrap_or(settings.consumer_session_timeout_ms),
                settings.consumer_min_session_timeout_ms,
                settings.consumer_max_session_timeout_ms,
            ),
            heartbeat_interval_ms: bounded(
                heartbeat.unwrap_or(settings.consumer_heartbeat_interval_ms),
                settings.consumer_min_heartbeat_interval_ms,
                settings.consumer_max_heartbeat_interval_ms,
            ),
        }
    }
}

/// Shortest time between two targets of a group. Asked when a target is due, not for every heartbeat.
pub(super) fn assignment_interval_ms(settings: &GroupSettings, image: &Image, group: &str) -> i32 {
    let own = image.overrides(&ConfigResource::Group(group.to_owned()));
    let own = number(&own, "consumer.assignment.interval.ms");
    bounded(
        own.unwrap_or_else(|| settings.assignment_interval_ms(image)),
        settings.consumer_min_assignment_interval_ms,
        settings.consumer_max_assignment_interval_ms,
    )
}

fn number(own: &BTreeMap<String, String>, name: &str) -> Option<i32> {
    own.get(name)?.trim().parse().ok()
}

/// The broker's bounds may have become narrower since the group's value was set.
fn bounded(value: i32, min: i32, max: i32) -> i32 {
    value.max(min).min(max)
}
