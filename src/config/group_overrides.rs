//! Checks of what people want to set on a group, and of the broker's bounds for it (Kafka's `GroupConfig.validate` and
//! `GroupCoordinatorConfig`).

use super::broker_settings::Conflict;
use super::layers::{Layers, Overrides};
use super::table;
use super::value::{InvalidValue, Value};

/// Why group overrides are refused: INVALID_CONFIG with Kafka's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGroupOverride {
    /// No such group setting.
    #[error("Unknown group config name: {0}")]
    Unknown(String),
    /// The value is not accepted.
    #[error(transparent)]
    Value(#[from] InvalidValue),
    /// The broker's settings do not allow it.
    #[error("{key} must be in the range {min} to {max} inclusive.")]
    Range {
        /// The setting.
        key: &'static str,
        /// The smallest that is allowed.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// It is too large.
    #[error("{key} must be less than or equal to {max}")]
    TooLarge {
        /// The setting.
        key: &'static str,
        /// The largest that is allowed.
        max: i64,
    },
    /// It is too small.
    #[error("{key} must be greater than or equal to {min}")]
    TooSmall {
        /// The setting.
        key: &'static str,
        /// The smallest that is allowed.
        min: i64,
    },
    /// A member would be out before its first heartbeat.
    #[error("{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms")]
    SessionTooShort {
        /// Kind of the group.
        kind: &'static str,
    },
    /// `a,a`.
    #[error("{RACK_TAGS} must not contain duplicate tag keys.")]
    DuplicateTags,
    /// The broker has no such assignor.
    #[error(
        "{ASSIGNOR} '{name}' is not a registered task assignor. Registered assignors are: [{known}]."
    )]
    UnknownAssignor {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

const RACK_TAGS: &str = "streams.rack.aware.assignment.tags";
const ASSIGNOR: &str = "streams.assignor.name";

/// Kinds of groups that have a session.
const KINDS: [&str; 3] = ["consumer", "share", "streams"];

/// Settings of a group that the broker bounds: the group's, the broker's least and most.
const RANGES: &[(&str, &str, &str)] = &[
    (
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    (
        "consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    (
        "consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    (
        "share.heartbeat.interval.ms",
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    (
        "share.session.timeout.ms",
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    (
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    (
        "share.delivery.count.limit",
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    (
        "share.partition.max.record.locks",
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    (
        "share.assignment.interval.ms",
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    (
        "streams.heartbeat.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    (
        "streams.session.timeout.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    (
        "streams.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
];

/// Kafka's `group.streams.max.warmup.replicas`, an internal setting.
const WARMUP_REPLICAS_MAX: i64 = 20;

/// Kafka's `group.streams.min.task.offset.interval.ms`, an internal setting.
const TASK_OFFSET_INTERVAL_MS_MIN: i64 = 15_000;

/// Checks all overrides of a group together, as they would be after the change.
pub fn validate_group_overrides(
    layers: Layers<'_>,
    overrides: &Overrides,
) -> Result<(), InvalidGroupOverride> {
    for name in overrides.keys() {
        table::group(name).ok_or_else(|| InvalidGroupOverride::Unknown(name.clone()))?;
    }
    for (name, text) in overrides {
        table::group(name).expect("looked up above").parse(text)?;
    }
    let of = Given { layers, overrides };
    RANGES.iter().try_for_each(|(key, min, max)| of.in_range(key, min, max))?;
    let standbys_max = layers.number("group.streams.max.standby.replicas");
    of.at_most("streams.num.standby.replicas", standbys_max)?;
    of.at_most("streams.num.warmup.replicas", WARMUP_REPLICAS_MAX)?;
    of.at_least("streams.task.offset.interval.ms", TASK_OFFSET_INTERVAL_MS_MIN)?;
    KINDS.iter().try_for_each(|kind| of.session_outlasts_heartbeat(kind))?;
    of.tags_differ()?;
    of.assignor_is_known()
}

/// Overrides of a group, and the broker's settings behind them.
#[derive(Clone, Copy)]
struct Given<'a> {
    layers: Layers<'a>,
    overrides: &'a Overrides,
}

impl Given<'_> {
    /// `None` if the group does not set it.
    fn number(self, key: &str) -> Option<i64> {
        match table::group(key)?.parse(self.overrides.get(key)?) {
            Ok(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    fn in_range(self, key: &'static str, min: &str, max: &str) -> Result<(), InvalidGroupOverride> {
        let (min, max) = (self.layers.number(min), self.layers.number(max));
        match self.number(key) {
            Some(number) if number < min || number > max => {
                Err(InvalidGroupOverride::Range { key, min, max })
            }
            _ => Ok(()),
        }
    }

    fn at_most(self, key: &'static str, max: i64) -> Result<(), InvalidGroupOverride> {
        match self.number(key) {
            Some(number) if number > max => Err(InvalidGroupOverride::TooLarge { key, max }),
            _ => Ok(()),
        }
    }

    fn at_least(self, key: &'static str, min: i64) -> Result<(), InvalidGroupOverride> {
        match self.number(key) {
            Some(number) if number < min => Err(InvalidGroupOverride::TooSmall { key, min }),
            _ => Ok(()),
        }
    }

    fn session_outlasts_heartbeat(self, kind: &'static str) -> Result<(), InvalidGroupOverride> {
        let in_force = |what: &str| {
            let key = format!("{kind}.{what}");
            self.number(&key).unwrap_or_else(|| self.layers.number(&format!("group.{key}")))
        };
        if in_force("session.timeout.ms") > in_force("heartbeat.interval.ms") {
            return Ok(());
        }
        Err(InvalidGroupOverride::SessionTooShort { kind })
    }

    fn tags_differ(self) -> Result<(), InvalidGroupOverride> {
        let text = self.overrides.get(RACK_TAGS).map(String::as_str).unwrap_or_default();
        let mut tags: Vec<&str> = text.split(',').map(str::trim).collect();
        tags.sort_unstable();
        if tags.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(InvalidGroupOverride::DuplicateTags);
        }
        Ok(())
    }

    fn assignor_is_known(self) -> Result<(), InvalidGroupOverride> {
        let Some(name) = self.overrides.get(ASSIGNOR).map(|name| name.trim()) else {
            return Ok(());
        };
        let known = self.layers.list("group.streams.assignors");
        if known.iter().any(|assignor| assignor == name) {
            return Ok(());
        }
        let (name, known) = (name.to_owned(), known.join(", "));
        Err(InvalidGroupOverride::UnknownAssignor { name, known })
    }
}

/// Assignors of consumer groups that there are.
const CONSUMER_ASSIGNORS: [&str; 2] = ["uniform", "range"];

/// Checks the broker's settings of groups against each other, as Kafka does at its start.
pub(super) fn check_group_bounds(layers: Layers<'_>) -> Result<(), Conflict> {
    check_assignors(layers)?;
    for kind in KINDS {
        for what in ["heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"] {
            let [value, min, max] =
                ["", "min.", "max."].map(|bound| key_of(&format!("group.{kind}.{bound}{what}")));
            ordered(layers, max, min, "greater than or equal to", |max, min| max >= min)?;
            ordered(layers, value, min, "greater than or equal to", |value, min| value >= min)?;
            ordered(layers, value, max, "less than or equal to", |value, max| value <= max)?;
        }
        let [heartbeat, session] = ["heartbeat.interval.ms", "session.timeout.ms"]
            .map(|what| key_of(&format!("group.{kind}.{what}")));
        ordered(layers, heartbeat, session, "less than", |heartbeat, session| heartbeat < session)?;
    }
    Ok(())
}

/// Kafka also loads classes here.
fn check_assignors(layers: Layers<'_>) -> Result<(), Conflict> {
    const KEY: &str = "group.consumer.assignors";
    let assignors = layers.list(KEY);
    let is_known = |name: &String| CONSUMER_ASSIGNORS.contains(&name.as_str());
    if !assignors.is_empty() && assignors.iter().all(is_known) {
        return Ok(());
    }
    let known = CONSUMER_ASSIGNORS.join(", ");
    Err(Conflict { key: KEY, reason: format!("it must name one or more of the assignors {known}") })
}

/// The name as the table has it.
fn key_of(name: &str) -> &'static str {
    table::broker(name).expect("the kinds of groups have the same settings").name
}

fn ordered(
    layers: Layers<'_>,
    key: &'static str,
    other: &'static str,
    relation: &str,
    holds: impl Fn(i64, i64) -> bool,
) -> Result<(), Conflict> {
    if holds(layers.number(key), layers.number(other)) {
        return Ok(());
    }
    Err(Conflict { key, reason: format!("{key} must be {relation} {other}") })
}
