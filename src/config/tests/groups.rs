//! Settings of groups: what a group may set for itself, and what the broker may bound it by.

use super::*;

/// The broker that Kafka's verdicts are from.
const BROKER: &str = "group.consumer.min.session.timeout.ms=500\n\
    group.consumer.min.heartbeat.interval.ms=100\n\
    group.share.min.heartbeat.interval.ms=100\n\
    group.share.min.session.timeout.ms=500\n\
    group.share.min.record.lock.duration.ms=1000\n";

type Judged = (&'static [(&'static str, &'static str)], Result<(), &'static str>);

/// Overrides of a group, and what IncrementalAlterConfigs of Apache Kafka 4.4.0 says to them.
const KAFKA_ON_GROUP_OVERRIDES: &[Judged] = &[
    (&[("consumer.session.timeout.ms", "44999")], Ok(())),
    (
        &[("consumer.session.timeout.ms", "60001")],
        Err("consumer.session.timeout.ms must be in the range 500 to 60000 inclusive."),
    ),
    (
        &[("consumer.heartbeat.interval.ms", "15001")],
        Err("consumer.heartbeat.interval.ms must be in the range 100 to 15000 inclusive."),
    ),
    (
        &[("consumer.assignment.interval.ms", "-1")],
        Err(
            "Invalid value -1 for configuration consumer.assignment.interval.ms: Value must be at least 0",
        ),
    ),
    (
        &[("consumer.assignment.interval.ms", "15001")],
        Err("consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive."),
    ),
    (
        &[("consumer.assignor.offload.enable", "maybe")],
        Err(
            "Invalid value maybe for configuration consumer.assignor.offload.enable: Expected value to be either true or false",
        ),
    ),
    (
        &[("consumer.session.timeout.ms", "abc")],
        Err(
            "Invalid value abc for configuration consumer.session.timeout.ms: Not a number of type INT",
        ),
    ),
    (&[("nonsense", "1")], Err("Unknown group config name: nonsense")),
    (
        &[("consumer.session.timeout.ms", "abc"), ("nonsense", "1")],
        Err("Unknown group config name: nonsense"),
    ),
    (
        &[("consumer.session.timeout.ms", "5000")],
        Err("consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"),
    ),
    (
        &[("consumer.heartbeat.interval.ms", "6000"), ("consumer.session.timeout.ms", "6000")],
        Err("consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"),
    ),
    (
        &[("consumer.heartbeat.interval.ms", "5999"), ("consumer.session.timeout.ms", "6000")],
        Ok(()),
    ),
    (
        &[("share.session.timeout.ms", "1")],
        Err("share.session.timeout.ms must be in the range 500 to 60000 inclusive."),
    ),
    (
        &[("share.record.lock.duration.ms", "1")],
        Err(
            "Invalid value 1 for configuration share.record.lock.duration.ms: Value must be at least 1000",
        ),
    ),
    (
        &[("share.record.lock.duration.ms", "3600001")],
        Err("share.record.lock.duration.ms must be in the range 1000 to 60000 inclusive."),
    ),
    (
        &[("share.delivery.count.limit", "11")],
        Err("share.delivery.count.limit must be in the range 2 to 10 inclusive."),
    ),
    (
        &[("share.partition.max.record.locks", "5000")],
        Err("share.partition.max.record.locks must be in the range 100 to 4000 inclusive."),
    ),
    (&[("share.auto.offset.reset", "by_duration:PT1H")], Ok(())),
    (
        &[("share.auto.offset.reset", "by_duration:xx")],
        Err(
            "Invalid value by_duration:xx for configuration share.auto.offset.reset: Invalid value `by_duration:xx` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ),
    ),
    (
        &[("share.auto.offset.reset", "Earliest")],
        Err(
            "Invalid value Earliest for configuration share.auto.offset.reset: Invalid value `Earliest` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ),
    ),
    (
        &[("share.isolation.level", "READ_COMMITTED")],
        Err(
            "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted",
        ),
    ),
    (
        &[("streams.session.timeout.ms", "1")],
        Err("streams.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
    ),
    (
        &[("streams.num.standby.replicas", "99")],
        Err("streams.num.standby.replicas must be less than or equal to 2"),
    ),
    (
        &[("streams.num.warmup.replicas", "99")],
        Err("streams.num.warmup.replicas must be less than or equal to 20"),
    ),
    (
        &[("streams.task.offset.interval.ms", "1")],
        Err("streams.task.offset.interval.ms must be greater than or equal to 15000"),
    ),
    (
        &[("streams.rack.aware.assignment.tags", "a,a")],
        Err("streams.rack.aware.assignment.tags must not contain duplicate tag keys."),
    ),
    (&[("streams.rack.aware.assignment.tags", "a,b")], Ok(())),
    (
        &[("streams.assignor.name", "foo")],
        Err(
            "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky].",
        ),
    ),
    (&[("errors.deadletterqueue.topic.name", "bad name")], Ok(())),
];

#[test]
fn group_overrides_are_judged_as_by_kafka_in_its_words() {
    let settings = settings(BROKER);
    let none = Overrides::new();
    let layers = settings.layers(&none, &none);
    for (pairs, expected) in KAFKA_ON_GROUP_OVERRIDES {
        let verdict = validate_group_overrides(layers, &overrides(pairs));
        let found = verdict.map_err(|e| e.to_string());
        assert_eq!(found.as_ref().copied().map_err(String::as_str), *expected, "{pairs:?}");
    }
}

#[test]
fn durations_are_read_as_java_reads_them() {
    let reset = table::group("share.auto.offset.reset").unwrap();
    let is_accepted = |text: &str| reset.parse(&format!("by_duration:{text}")).is_ok();
    for good in ["P2D", "PT1H", "PT90M", "PT0.5S", "P1DT2H3M4.5S", "pt1h", "PT3S"] {
        assert!(is_accepted(good), "{good}");
    }
    for bad in ["", "P", "PT", "P1DT", "1H", "P1H", "PT1D", "PT1.5M", "PT1M1H", "P-1D", "PTS"] {
        assert!(!is_accepted(bad), "{bad}");
    }
}

/// Name, value, source and synonyms of one setting of a group, as DescribeConfigs shows it.
fn described(set: &[(&str, &str)], name: &str) -> Option<(Option<String>, Source, Vec<String>)> {
    let settings = settings("group.consumer.session.timeout.ms=50000\n");
    let none = Overrides::new();
    let all = describe_group(settings.layers(&none, &none), &overrides(set));
    let entry = all.into_iter().find(|entry| entry.name == name)?;
    let synonym = |synonym: &Synonym| {
        format!("{}={}", synonym.name, synonym.value.as_deref().unwrap_or("null"))
    };
    Some((entry.value, entry.source, entry.synonyms.iter().map(synonym).collect()))
}

#[test]
fn a_groups_settings_fall_back_on_the_brokers() {
    let session = "consumer.session.timeout.ms";
    let (value, source, synonyms) = described(&[(session, "55000")], session).unwrap();
    assert_eq!((value.as_deref(), source.wire_code()), (Some("55000"), 8));
    let behind =
        ["group.consumer.session.timeout.ms=50000", "group.consumer.session.timeout.ms=45000"];
    assert_eq!(synonyms, [&["consumer.session.timeout.ms=55000"][..], &behind].concat());
    let (value, source, synonyms) = described(&[], session).unwrap();
    assert_eq!((value.as_deref(), source), (Some("50000"), Source::StaticBroker));
    assert_eq!(synonyms, behind);
    let (value, source, synonyms) = described(&[], "share.auto.offset.reset").unwrap();
    assert_eq!((value.as_deref(), source), (Some("latest"), Source::Default));
    assert_eq!(synonyms, ["share.auto.offset.reset=latest"]);
    let (value, _, synonyms) = described(&[], "streams.assignor.name").unwrap();
    assert_eq!(value.as_deref(), Some("sticky"));
    assert_eq!(synonyms, ["group.streams.assignors=sticky"]);
}

#[test]
fn kafkas_internal_settings_are_shown_only_where_they_are_set() {
    let internal = "consumer.assignor.offload.enable";
    assert_eq!(described(&[], internal), None);
    assert!(described(&[(internal, "false")], internal).is_some());
}

#[test]
fn settings_of_the_broker_that_contradict_each_other_refuse_to_start() {
    for (text, reason) in [
        (
            "group.consumer.min.session.timeout.ms=60001",
            "group.consumer.max.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            "group.consumer.heartbeat.interval.ms=4999",
            "group.consumer.heartbeat.interval.ms must be greater than or equal to group.consumer.min.heartbeat.interval.ms",
        ),
        (
            "group.share.session.timeout.ms=60001",
            "group.share.session.timeout.ms must be less than or equal to group.share.max.session.timeout.ms",
        ),
        (
            "group.consumer.min.session.timeout.ms=1\ngroup.consumer.session.timeout.ms=5000",
            "group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms",
        ),
        ("group.consumer.assignors=uniform,mine", "it must name one or more of the assignors"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(reason), "{refusal}");
    }
}
