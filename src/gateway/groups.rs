//! Groups, their offsets and how far they are behind, under the names that kafka_exporter and the JMX exporter give them.
//!
//! There are series only for groups that exist, and of offsets only for partitions that a group has committed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use super::exposition::single;
use crate::broker::{GroupLag, GroupLags, PartitionLag};
use crate::observe::header;
use crate::types::{Timestamp, TopicName};

/// States of classic groups, and what the JMX exporter calls their number in `GroupMetadataManager`.
const CLASSIC_STATES: [(&str, &str); 5] = [
    ("PreparingRebalance", "numgroupspreparingrebalance"),
    ("CompletingRebalance", "numgroupscompletingrebalance"),
    ("Stable", "numgroupsstable"),
    ("Empty", "numgroupsempty"),
    ("Dead", "numgroupsdead"),
];

/// States of groups of the new protocol.
const CONSUMER_STATES: [&str; 5] = ["Empty", "Assigning", "Reconciling", "Stable", "Dead"];

pub(super) fn expose(out: &mut String, lags: Option<&GroupLags>, now: Timestamp) {
    single(
        out,
        "highwater_consumergroups_complete",
        "1 if every shard of groups has answered this scrape.",
        u8::from(lags.is_some_and(|lags| lags.shards_failed == 0)),
    );
    let Some(lags) = lags else { return };
    shards(out, lags);
    counts(out, &lags.groups);
    members_and_states(out, &lags.groups);
    partitions(out, &lags.groups, now);
    sums(out, &lags.groups);
}

fn shards(out: &mut String, lags: &GroupLags) {
    let name = "kafka_server_group_coordinator_metrics_num_partitions";
    header(out, name, "gauge", "Shards of groups that have a log, by state.");
    line(out, name, "state=\"active\"", lags.shards_active);
    line(out, name, "state=\"failed\"", lags.shards_failed);
}

/// Numbers of groups by protocol and state.
fn counts(out: &mut String, groups: &[GroupLag]) {
    let count = |group_type: &str, state: Option<&str>| {
        let of_state = |group: &&GroupLag| state.is_none_or(|state| group.state == state);
        groups.iter().filter(|group| group.group_type == group_type).filter(of_state).count()
    };
    let name = "kafka_server_group_coordinator_metrics_group_count";
    header(out, name, "gauge", "Groups, by protocol.");
    for protocol in ["classic", "consumer"] {
        line(out, name, &format!("protocol=\"{protocol}\""), count(protocol, None));
    }
    let name = "kafka_server_group_coordinator_metrics_classic_group_count";
    header(out, name, "gauge", "Classic groups, by state.");
    for (state, _) in CLASSIC_STATES {
        line(out, name, &format!("state=\"{state}\""), count("classic", Some(state)));
    }
    let name = "kafka_server_group_coordinator_metrics_consumer_group_count";
    header(out, name, "gauge", "Groups of the consumer protocol, by state.");
    for state in CONSUMER_STATES {
        line(out, name, &format!("state=\"{state}\""), count("consumer", Some(state)));
    }
    let offsets: usize = groups.iter().map(|group| group.partitions.len()).sum();
    for name in [
        "kafka_server_group_coordinator_metrics_offset_count",
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
    ] {
        single(out, name, "Committed offsets.", offsets);
    }
    let name = "kafka_coordinator_group_groupmetadatamanager_numgroups";
    single(out, name, "Classic groups.", count("classic", None));
    for (state, key) in CLASSIC_STATES {
        let name = format!("kafka_coordinator_group_groupmetadatamanager_{key}");
        let help = format!("Classic groups in the state {state}.");
        single(out, &name, &help, count("classic", Some(state)));
    }
}

fn members_and_states(out: &mut String, groups: &[GroupLag]) {
    let name = "kafka_consumergroup_members";
    header(out, name, "gauge", "Members of the group.");
    for group in groups {
        line(out, name, &group_label(group), group.members);
    }
    let name = "highwater_group_state";
    header(out, name, "gauge", "1 for the type and the state of the group.");
    for group in groups {
        let GroupLag { group_type, state, .. } = group;
        let labels = format!("{},type=\"{group_type}\",state=\"{state}\"", group_label(group));
        line(out, name, &labels, 1);
    }
}

/// A gauge of each committed offset; `None` leaves the series out.
type OffsetGauge = (&'static str, &'static str, fn(&PartitionLag, Timestamp) -> Option<String>);

fn partitions(out: &mut String, groups: &[GroupLag], now: Timestamp) {
    let gauges: [OffsetGauge; 3] = [
        (
            "kafka_consumergroup_current_offset",
            "Offset that the group has committed.",
            |entry, _| Some(entry.committed.to_string()),
        ),
        ("kafka_consumergroup_lag", "Records that the group has still to read.", |entry, _| {
            entry.lag.map(|lag| lag.to_string())
        }),
        (
            "highwater_consumergroup_lag_seconds",
            "Age of the first record that the group has still to read, 0 without one.",
            |entry, now| age_seconds(entry, now).map(|seconds| seconds.to_string()),
        ),
    ];
    for (name, help, value) in gauges {
        header(out, name, "gauge", help);
        for group in groups {
            let group_label = group_label(group);
            for entry in &group.partitions {
                let Some(value) = value(entry, now) else { continue };
                let (topic, index) = (&entry.partition.topic, entry.partition.partition);
                let labels = format!("{group_label},topic=\"{topic}\",partition=\"{index}\"");
                line(out, name, &labels, value);
            }
        }
    }
}

/// Unknown if there are records to read whose age is not known. A record of the future is new.
#[expect(clippy::cast_precision_loss, reason = "exact up to 285,000 years")]
fn age_seconds(entry: &PartitionLag, now: Timestamp) -> Option<f64> {
    let age_ms = match (entry.lag?, entry.waiting_since) {
        (0, _) => 0,
        (_, since) => now.get().saturating_sub(since?.get()).max(0),
    };
    Some(age_ms as f64 / 1e3)
}

/// A sum over committed offsets; `None` adds nothing.
type SumGauge = (&'static str, &'static str, fn(&PartitionLag) -> Option<i64>);

/// Sums over the partitions of each topic.
fn sums(out: &mut String, groups: &[GroupLag]) {
    let gauges: [SumGauge; 2] = [
        (
            "kafka_consumergroup_current_offset_sum",
            "Sum of the offsets that the group has committed.",
            |entry| Some(entry.committed.get()),
        ),
        ("kafka_consumergroup_lag_sum", "Records that the group has still to read.", |entry| {
            entry.lag
        }),
    ];
    for (name, help, value) in gauges {
        header(out, name, "gauge", help);
        for group in groups {
            let mut topics: BTreeMap<&TopicName, i64> = BTreeMap::new();
            for entry in &group.partitions {
                if let Some(value) = value(entry) {
                    let sum = topics.entry(&entry.partition.topic).or_default();
                    *sum = sum.saturating_add(value);
                }
            }
            for (topic, sum) in topics {
                line(out, name, &format!("{},topic=\"{topic}\"", group_label(group)), sum);
            }
        }
    }
}

fn line(out: &mut String, name: &str, labels: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name}{{{labels}}} {value}");
}

fn group_label(group: &GroupLag) -> String {
    format!("consumergroup=\"{}\"", escaped(group.group.as_str()))
}

/// Names of groups may be any text; those of topics need no escape.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::GroupId;
    use crate::types::{Offset, PartitionIndex, TopicPartition};

    fn entry(topic: &str, index: i32, committed: i64, lag: Option<i64>) -> PartitionLag {
        let topic = TopicName::new(topic).unwrap();
        PartitionLag {
            partition: TopicPartition { topic, partition: PartitionIndex::new(index) },
            committed: Offset::new(committed),
            lag,
            waiting_since: None,
        }
    }

    fn group(name: &str, partitions: Vec<PartitionLag>) -> GroupLag {
        let group = GroupId::new(name);
        GroupLag { group, group_type: "classic", state: "Stable", members: 2, partitions }
    }

    fn text(groups: Vec<GroupLag>) -> String {
        let mut out = String::new();
        let lags = GroupLags { groups, shards_active: 3, shards_failed: 0 };
        expose(&mut out, Some(&lags), Timestamp::new(10_000));
        out
    }

    fn series<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let named = |line: &&str| line.starts_with(&format!("{name}{{"));
        text.lines().filter(named).map(|line| &line[name.len()..]).collect()
    }

    #[test]
    fn offsets_and_lag_of_each_partition_and_their_sums() {
        let old = PartitionLag {
            waiting_since: Some(Timestamp::new(8_500)),
            ..entry("t", 0, 5, Some(7))
        };
        let text =
            text(vec![group("g", vec![old, entry("t", 1, 4, Some(0)), entry("u", 0, 1, None)])]);
        let partition = |topic, index| {
            format!("{{consumergroup=\"g\",topic=\"{topic}\",partition=\"{index}\"}}")
        };
        let (t0, t1, u0) = (partition("t", 0), partition("t", 1), partition("u", 0));
        assert_eq!(
            series(&text, "kafka_consumergroup_current_offset"),
            [format!("{t0} 5"), format!("{t1} 4"), format!("{u0} 1")]
        );
        assert_eq!(
            series(&text, "kafka_consumergroup_lag"),
            [format!("{t0} 7"), format!("{t1} 0")]
        );
        assert_eq!(
            series(&text, "highwater_consumergroup_lag_seconds"),
            [format!("{t0} 1.5"), format!("{t1} 0")]
        );
        let topic = |topic, sum| format!("{{consumergroup=\"g\",topic=\"{topic}\"}} {sum}");
        assert_eq!(
            series(&text, "kafka_consumergroup_current_offset_sum"),
            [topic("t", 9), topic("u", 1)]
        );
        assert_eq!(series(&text, "kafka_consumergroup_lag_sum"), [topic("t", 7)]);
    }

    #[test]
    fn groups_are_counted_by_protocol_and_state() {
        let consumer =
            GroupLag { group_type: "consumer", state: "Assigning", ..group("c", Vec::new()) };
        let text = text(vec![group("a", vec![entry("t", 0, 1, None)]), consumer]);
        for line in [
            "highwater_consumergroups_complete 1",
            "kafka_server_group_coordinator_metrics_num_partitions{state=\"active\"} 3",
            "kafka_server_group_coordinator_metrics_group_count{protocol=\"classic\"} 1",
            "kafka_server_group_coordinator_metrics_group_count{protocol=\"consumer\"} 1",
            "kafka_server_group_coordinator_metrics_classic_group_count{state=\"Stable\"} 1",
            "kafka_server_group_coordinator_metrics_classic_group_count{state=\"Empty\"} 0",
            "kafka_server_group_coordinator_metrics_consumer_group_count{state=\"Assigning\"} 1",
            "kafka_server_group_coordinator_metrics_offset_count 1",
            "kafka_coordinator_group_groupmetadatamanager_numgroupsstable 1",
            "kafka_consumergroup_members{consumergroup=\"a\"} 2",
            "highwater_group_state{consumergroup=\"c\",type=\"consumer\",state=\"Assigning\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_group_may_have_any_name() {
        let text = text(vec![group("a\"b\\c\nd", Vec::new())]);
        let expected = "{consumergroup=\"a\\\"b\\\\c\\nd\"} 2";
        assert_eq!(series(&text, "kafka_consumergroup_members"), [expected]);
    }

    #[test]
    fn without_an_answer_there_are_no_groups_and_it_is_said() {
        let mut out = String::new();
        expose(&mut out, None, Timestamp::new(0));
        assert!(out.ends_with("highwater_consumergroups_complete 0\n"), "{out}");
        assert!(!out.contains("kafka_consumergroup"), "{out}");
    }
}
