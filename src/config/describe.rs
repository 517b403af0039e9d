//! Settings as DescribeConfigs shows them: value in force, where it comes from, what else there would be (Kafka's
//! `ConfigHelper`).

use super::layers::{Layers, Overrides, Source};
use super::load::shown;
use super::setting::{Kind, Setting, Status};
use super::table;
use super::value::Value;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedConfig {
    /// Its key.
    pub name: &'static str,
    /// The value in force; `None` for null and for secrets.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
    /// Only a restart changes it.
    pub read_only: bool,
    /// The value is a secret and not shown.
    pub sensitive: bool,
    /// Every value there is, the one in force first; the default only if there is one.
    pub synonyms: Vec<Synonym>,
    /// Its type.
    pub kind: Kind,
    /// One or two sentences.
    pub doc: &'static str,
}

/// A value that a setting has or would have without the ones before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The key it is set under.
    pub name: &'static str,
    /// The value; `None` for secrets.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// All settings of a topic with these overrides.
pub fn describe_topic(layers: Layers<'_>, overrides: &Overrides) -> Vec<DescribedConfig> {
    // Kafka shows its internal test setting only where it is set.
    let listed =
        |row: &&Setting| row.name != "internal.segment.bytes" || overrides.contains_key(row.name);
    table::TOPIC.iter().filter(listed).map(|row| topic_setting(layers, overrides, row)).collect()
}

fn topic_setting(
    layers: Layers<'_>,
    overrides: &Overrides,
    row: &'static Setting,
) -> DescribedConfig {
    let overridden = overrides.get(row.name).and_then(|text| row.parse(text).ok());
    let set_here = overridden.as_ref().map(|value| synonym(row, value, Source::Topic));
    let of_broker =
        row.synonyms().first().map(|name| broker_synonyms(layers, name)).unwrap_or_default();
    let synonyms = set_here.into_iter().chain(of_broker).collect();
    described(row, overridden.or_else(|| layers.topic_fallback(row)), synonyms)
}

/// All settings of a group with these overrides.
pub fn describe_group(layers: Layers<'_>, overrides: &Overrides) -> Vec<DescribedConfig> {
    let listed = |row: &&Setting| {
        !table::is_internal_group_setting(row.name) || overrides.contains_key(row.name)
    };
    table::GROUP.iter().filter(listed).map(|row| group_setting(layers, overrides, row)).collect()
}

fn group_setting(
    layers: Layers<'_>,
    overrides: &Overrides,
    row: &'static Setting,
) -> DescribedConfig {
    let overridden = overrides.get(row.name).and_then(|text| row.parse(text).ok());
    let set_here = overridden.as_ref().map(|value| synonym(row, value, Source::Group));
    let behind = match row.synonyms().first() {
        Some(name) => broker_synonyms(layers, name),
        None => {
            let default = row.default_value();
            default.iter().map(|value| synonym(row, value, Source::Default)).collect()
        }
    };
    let synonyms = set_here.into_iter().chain(behind).collect();
    described(row, overridden.or_else(|| layers.topic_fallback(row)), synonyms)
}

/// All settings of the broker.
pub fn describe_broker(layers: Layers<'_>) -> Vec<DescribedConfig> {
    table::broker_settings()
        .map(|row| described(row, layers.value(row), broker_synonyms(layers, row.name)))
        .collect()
}

/// What is set for all brokers.
pub fn describe_cluster_default(layers: Layers<'_>) -> Vec<DescribedConfig> {
    let set = table::broker_settings().filter(|row| layers.cluster.contains_key(row.name));
    set.filter_map(|row| {
        let value = row.parse(layers.cluster.get(row.name)?).ok()?;
        let synonyms = vec![synonym(row, &value, Source::DynamicDefault)];
        Some(described(row, Some(value), synonyms))
    })
    .collect()
}

fn described(
    row: &'static Setting,
    value: Option<Value>,
    synonyms: Vec<Synonym>,
) -> DescribedConfig {
    DescribedConfig {
        name: row.name,
        value: value.and_then(|value| shown(row, &value)),
        source: synonyms.first().map_or(Source::Default, |first| first.source),
        read_only: row.is_read_only(),
        sensitive: row.is_sensitive(),
        synonyms,
        kind: row.kind,
        doc: row.doc,
    }
}

/// Broker settings of several names that mean the same, the strongest first (`DynamicBrokerConfig.brokerConfigSynonyms`).
const FAMILIES: &[&[&str]] = &[
    &["log.roll.ms", "log.roll.hours"],
    &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
];

/// Every value that a broker setting has under any of its names, by source and then by name. What stands before the first
/// value under `name` itself is left out, so that a setting which is null everywhere shows nothing, even where a weaker name has
/// a value (`ConfigHelper.configSynonyms`).
fn broker_synonyms(layers: Layers<'_>, name: &str) -> Vec<Synonym> {
    let alone = [name];
    // The scheduler interval is only a fallback: what is set for it is not set for the other.
    let family = match name {
        "log.flush.interval.ms" => {
            &["log.flush.interval.ms", "log.flush.scheduler.interval.ms"][..]
        }
        _ => FAMILIES.iter().copied().find(|family| family.contains(&name)).unwrap_or(&alone),
    };
    let settings = family.iter().filter_map(|name| table::broker(name));
    let of_setting = |row: &'static Setting| {
        layers.all(row).into_iter().map(move |(value, source)| synonym(row, &value, source))
    };
    let mut all: Vec<Synonym> = settings.flat_map(of_setting).collect();
    all.sort_by_key(|synonym| synonym.source.wire_code());
    all.into_iter().skip_while(|synonym| synonym.name != name).collect()
}

fn synonym(row: &'static Setting, value: &Value, source: Source) -> Synonym {
    Synonym { name: row.name, value: shown(row, value), source }
}

/// What a setting does here, for people.
pub fn status_text(row: &Setting) -> &'static str {
    match row.status {
        Status::Acts if row.is_own() => "acts",
        Status::Acts => "acts as in Kafka",
        Status::Later => "known; what it controls is not built yet",
        Status::NotHere => "accepted; what it controls does not exist in Highwater",
    }
}
