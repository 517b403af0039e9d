//! The table of settings and what is made of it, held against Apache Kafka 4.4.0.

mod docs;
mod groups;
mod listeners;
mod properties;
mod stock;

use std::collections::BTreeMap;

use super::*;

fn overrides(pairs: &[(&str, &str)]) -> Overrides {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn from_file(text: &str) -> Result<Loaded, LoadError> {
    let file = PropertiesFile { path: "server.properties".into(), bytes: text.as_bytes().to_vec() };
    load(Sources { file: Some(file), host_name: "the-host".to_owned(), ..Sources::default() })
}

fn settings(text: &str) -> BrokerSettings {
    from_file(text).expect("these settings are accepted").settings
}

fn refusal(text: &str) -> String {
    from_file(text).expect_err("these settings are refused").to_string()
}

#[test]
fn every_row_has_a_doc_and_a_default_that_is_accepted() {
    for row in table::broker_settings().chain(table::TOPIC).chain(table::GROUP) {
        assert!(row.doc.ends_with('.') && row.doc.len() > 10, "{}: {:?}", row.name, row.doc);
        assert!(row.doc.is_ascii(), "{}", row.name);
        if let Some(text) = row.default {
            let value = row.parse(text).unwrap_or_else(|e| panic!("{e}"));
            let canonical = !matches!(row.kind, Kind::Bytes | Kind::Millis);
            assert!(!canonical || value.to_string() == text, "{}: {value} for {text}", row.name);
        }
        for synonym in row.synonyms() {
            assert!(table::broker(synonym).is_some(), "{} names {synonym}", row.name);
        }
    }
}

#[test]
fn names_are_unique_and_sorted_within_their_group() {
    let mut seen = BTreeMap::new();
    for (group, rows) in table::BROKER_GROUPS {
        assert!(rows.is_sorted_by_key(|row| row.name), "{group}");
        for row in *rows {
            assert_eq!(seen.insert(row.name, group), None, "{}", row.name);
        }
    }
    assert!(table::TOPIC.is_sorted_by(|a, b| a.name < b.name));
    assert!(table::GROUP.is_sorted_by(|a, b| a.name < b.name));
}

type Judged = (&'static [(&'static str, &'static str)], Result<&'static str, &'static str>);

/// Overrides, and what `LogConfig.validate` of Apache Kafka 4.4.0 makes of them: the first value in its canonical form, or the
/// message. Printed by Kafka itself.
const KAFKA_ON_TOPIC_OVERRIDES: &[Judged] = &[
    (
        &[("retention.ms", "abc")],
        Err("Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ),
    (
        &[("retention.ms", "-2")],
        Err("Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    ),
    (
        &[("retention.ms", "")],
        Err("Invalid value  for configuration retention.ms: Not a number of type LONG"),
    ),
    (&[("retention.ms", " 7 ")], Ok("7")),
    (
        &[("retention.ms", "0x10")],
        Err("Invalid value 0x10 for configuration retention.ms: Not a number of type LONG"),
    ),
    (&[("retention.ms", "+7")], Ok("7")),
    (
        &[("retention.ms", "9223372036854775808")],
        Err(
            "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG",
        ),
    ),
    (
        &[("retention.ms", "1.5")],
        Err("Invalid value 1.5 for configuration retention.ms: Not a number of type LONG"),
    ),
    (
        &[("segment.bytes", "1")],
        Err("Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"),
    ),
    (
        &[("segment.bytes", "99999999999")],
        Err("Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"),
    ),
    (
        &[("cleanup.policy", "foo")],
        Err(
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
    ),
    (&[("cleanup.policy", "")], Ok("")),
    (&[("cleanup.policy", "delete,delete")], Ok("delete")),
    (&[("cleanup.policy", "compact, delete")], Ok("compact,delete")),
    (
        &[("cleanup.policy", "delete,")],
        Err("Configuration 'cleanup.policy' values must not be empty."),
    ),
    (
        &[("cleanup.policy", "Delete")],
        Err(
            "Invalid value Delete for configuration cleanup.policy: String must be one of: compact, delete",
        ),
    ),
    (
        &[("compression.type", "bzip")],
        Err(
            "Invalid value bzip for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
    ),
    (
        &[("compression.type", "GZIP")],
        Err(
            "Invalid value GZIP for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
    ),
    (
        &[("compression.gzip.level", "0")],
        Err(
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
    ),
    (
        &[("compression.gzip.level", "10")],
        Err(
            "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
    ),
    (
        &[("compression.lz4.level", "18")],
        Err(
            "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17",
        ),
    ),
    (
        &[("compression.zstd.level", "23")],
        Err(
            "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22",
        ),
    ),
    (
        &[("min.cleanable.dirty.ratio", "1.5")],
        Err(
            "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
    ),
    (
        &[("min.cleanable.dirty.ratio", "abc")],
        Err(
            "Invalid value abc for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
        ),
    ),
    (&[("min.cleanable.dirty.ratio", "1")], Ok("1.0")),
    (&[("min.cleanable.dirty.ratio", ".5")], Ok("0.5")),
    (&[("min.cleanable.dirty.ratio", "0.00001")], Ok("1.0E-5")),
    (&[("min.cleanable.dirty.ratio", "NaN")], Ok("NaN")),
    (
        &[("preallocate", "maybe")],
        Err(
            "Invalid value maybe for configuration preallocate: Expected value to be either true or false",
        ),
    ),
    (&[("preallocate", "TRUE")], Ok("true")),
    (
        &[("message.timestamp.type", "create")],
        Err(
            "Invalid value create for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime",
        ),
    ),
    (&[("foo", "1")], Err("Unknown topic config name: foo")),
    (
        &[("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
        Err("conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"),
    ),
    (&[("leader.replication.throttled.replicas", "0:1,1:2")], Ok("0:1,1:2")),
    (&[("leader.replication.throttled.replicas", "*")], Ok("*")),
    (
        &[("leader.replication.throttled.replicas", "x")],
        Err(
            "Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ),
    (&[("leader.replication.throttled.replicas", "")], Ok("")),
    (
        &[("leader.replication.throttled.replicas", "none")],
        Err(
            "Invalid value [none] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ),
    (
        &[("min.insync.replicas", "0")],
        Err("Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    ),
    (
        &[("remote.storage.enable", "true")],
        Err(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
        ),
    ),
    (&[("local.retention.ms", "99999999999999")], Ok("99999999999999")),
    (
        &[("message.format.version", "2.0")],
        Err("Unknown topic config name: message.format.version"),
    ),
    (
        &[("message.downconversion.enable", "true")],
        Err("Unknown topic config name: message.downconversion.enable"),
    ),
    (&[("internal.segment.bytes", "100")], Ok("100")),
    (
        &[("max.message.bytes", "-1")],
        Err("Invalid value -1 for configuration max.message.bytes: Value must be at least 0"),
    ),
    (
        &[("retention.ms", "1_000")],
        Err("Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
    ),
    (&[("retention.bytes", "-5")], Ok("-5")),
    (
        &[("max.decompressed.message.bytes", "2147483647")],
        Err(
            "Invalid value 2147483647 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639",
        ),
    ),
    (&[("local.retention.ms", "5"), ("retention.ms", "3")], Ok("5")),
    (
        &[("local.retention.ms", "-3")],
        Err("Invalid value -3 for configuration local.retention.ms: Value must be at least -2"),
    ),
    (&[("remote.log.copy.disable", "true")], Ok("true")),
];

#[test]
fn topic_overrides_are_judged_as_by_kafka_in_its_words() {
    let statics = StaticValues::default();
    let layers = Layers::of_statics(&statics);
    for (pairs, expected) in KAFKA_ON_TOPIC_OVERRIDES {
        let verdict = validate_topic_overrides(layers, &overrides(pairs));
        let (key, text) = pairs[0];
        let canonical = |()| table::topic(key).unwrap().parse(text).unwrap().to_string();
        let found = verdict.map(canonical).map_err(|e| e.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), *expected, "{pairs:?}");
    }
}

#[test]
fn defaults_are_kafkas() {
    let topic = TopicSettings::default();
    assert_eq!(topic.retention_ms, 604_800_000);
    assert_eq!(topic.segment_bytes, 1_073_741_824);
    assert_eq!(topic.segment_ms, 604_800_000);
    assert_eq!((topic.flush_messages, topic.flush_ms), (i64::MAX, i64::MAX));
    assert_eq!(topic.max_message_bytes, 1_048_588);
    assert_eq!(topic.cleanup_policy, CleanupPolicy { delete: true, compact: false });
    assert_eq!(topic.compression_type, TargetCodec::Producer);
    assert_eq!(topic.durability, Durability::Fsync);
}

#[test]
fn started_with_nothing_it_listens_on_loopback_and_keeps_data_in_the_working_directory() {
    let settings = BrokerSettings::default();
    let [listener] = &settings.listeners[..] else { panic!("{:?}", settings.listeners) };
    assert_eq!(
        (listener.name.as_str(), listener.host.as_str(), listener.port),
        ("PLAINTEXT", "127.0.0.1", 9092)
    );
    assert_eq!(listener.advertised_host, "127.0.0.1");
    assert_eq!(settings.log_dirs, ["./highwater-data"].map(std::path::PathBuf::from));
    assert_eq!(settings.http_listen, None);
}

#[test]
fn with_a_file_kafkas_defaults_hold() {
    let settings = settings("");
    assert_eq!(settings.log_dirs, ["/tmp/kafka-logs"].map(std::path::PathBuf::from));
    let [listener] = &settings.listeners[..] else { panic!("{:?}", settings.listeners) };
    assert_eq!((listener.host.as_str(), listener.port), ("", 9092));
    assert_eq!(listener.advertised_host, "the-host");
}

#[test]
fn flags_beat_variables_beat_the_file() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let file = PropertiesFile {
        path: "f".into(),
        bytes: b"num.partitions=2\nbroker.rack=file\nfetch.max.bytes=2000\n".to_vec(),
    };
    let loaded = load(Sources {
        file: Some(file),
        variables: vec![
            pair("KAFKA_NUM_PARTITIONS", "3"),
            pair("KAFKA_BROKER_RACK", "variable"),
            pair("HOME", "/"),
        ],
        flags: vec![pair("num.partitions", "4"), pair("num.partitions", "5")],
        host_name: String::new(),
    })
    .unwrap();
    assert_eq!(loaded.settings.num_partitions, 5);
    assert_eq!(loaded.settings.broker_rack.as_deref(), Some("variable"));
    assert_eq!(loaded.settings.fetch_max_bytes, 2000);
    assert_eq!(loaded.notes, []);
}

#[test]
fn variables_are_named_by_the_rule_of_kafkas_image() {
    let key = |variable: &str| setting_of_variable(variable);
    assert_eq!(key("KAFKA_ADVERTISED_LISTENERS").as_deref(), Some("advertised.listeners"));
    assert_eq!(key("KAFKA_A__B___C_D").as_deref(), Some("a_b-c.d"));
    assert_eq!(key("HIGHWATER_HTTP_LISTEN").as_deref(), Some("highwater.http.listen"));
    for other in ["KAFKA_HEAP_OPTS", "PATH", "KAFKA_", "HIGHWATER_", "KAFKA"] {
        assert_eq!(key(other), None, "{other}");
    }
}

#[test]
fn a_wrong_value_names_file_line_key_and_accepted_values() {
    assert_eq!(
        refusal("\n# comment\nnum.partitions=many\n"),
        "server.properties line 3: num.partitions: Invalid value many for configuration num.partitions: \
         Not a number of type INT (accepted: an integer, 1 or more)"
    );
    assert_eq!(
        refusal("compression.type=bzip2"),
        "server.properties line 1: compression.type: Invalid value bzip2 for configuration compression.type: String must \
         be one of: uncompressed, zstd, lz4, snappy, gzip, producer (accepted: uncompressed, zstd, lz4, snappy, gzip, \
         producer)"
    );
}

#[test]
fn all_wrong_values_are_named_at_once() {
    let error =
        from_file("num.partitions=x\nlog.dirs=,\nhighwater.memory.bytes=lots\n").unwrap_err();
    let keys: Vec<&str> = error.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["num.partitions", "log.dirs", "highwater.memory.bytes"]);
}

#[test]
fn unknown_keys_warn_in_files_and_are_refused_on_the_command_line() {
    let loaded = from_file("num.partition=3\nretention.ms=5\nzookeeper.connect=x\n").unwrap();
    let found: Vec<(&str, Option<&str>)> = loaded
        .notes
        .iter()
        .map(|note| match note {
            Note::Unknown { key, similar, .. } => (key.as_str(), *similar),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("num.partition", Some("num.partitions")),
        ("retention.ms", Some("log.retention.ms")),
        ("zookeeper.connect", None),
    ];
    assert_eq!(found, expected);
    let flags = vec![("num.partition".to_owned(), "3".to_owned())];
    let error = load(Sources { flags, ..Sources::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "command line: num.partition: there is no such setting; did you mean num.partitions?"
    );
}

#[test]
fn hours_and_minutes_act_where_nothing_finer_is_set() {
    let retention = |text: &str| settings(text).topic_defaults.retention_ms;
    assert_eq!(retention("log.retention.hours=2\n"), 7_200_000);
    assert_eq!(retention("log.retention.hours=2\nlog.retention.minutes=3\n"), 180_000);
    assert_eq!(retention("log.retention.minutes=3\nlog.retention.ms=-7\n"), -1);
    assert_eq!(settings("log.roll.hours=1\n").topic_defaults.segment_ms, 3_600_000);
    assert_eq!(settings("log.flush.scheduler.interval.ms=77\n").topic_defaults.flush_ms, 77);
    let flush = "log.flush.interval.ms=9\nlog.flush.scheduler.interval.ms=77\n";
    assert_eq!(settings(flush).topic_defaults.flush_ms, 9);
    assert!(refusal("log.retention.hours=0").contains("log.retention.ms must be unlimited (-1)"));
}

#[test]
fn units_are_for_our_own_settings_only() {
    assert_eq!(settings("highwater.memory.bytes=64MiB\n").memory_bytes, 64 << 20);
    let interval = settings("highwater.durability=interval\nhighwater.durability.interval.ms=2s\n");
    let every = std::time::Duration::from_secs(2);
    assert_eq!(interval.topic_defaults.durability, Durability::Interval { every, bytes: 64 << 20 });
    assert!(refusal("log.segment.bytes=64MiB").contains("Not a number of type INT"));
    assert!(refusal("highwater.memory.bytes=9999999TiB").contains("Expected bytes"));
}

#[test]
fn dynamic_layers_go_over_what_was_given_at_start() {
    let started = settings("log.retention.hours=1\nmax.connections=10\n");
    let cluster = overrides(&[("log.retention.ms", "500"), ("max.connections", "20")]);
    let broker = overrides(&[("max.connections", "30")]);
    let now = started.with_dynamic(&broker, &cluster);
    assert_eq!((now.topic_defaults.retention_ms, now.max_connections), (500, 30));
    let layers = started.layers(&broker, &cluster);
    let topic = TopicSettings::resolve(layers, &overrides(&[("retention.ms", "7")]));
    assert_eq!(topic.retention_ms, 7);
}

#[test]
fn described_topics_show_where_each_value_comes_from() {
    let started = settings("log.retention.hours=1\n");
    let cluster = overrides(&[("log.cleanup.policy", "compact")]);
    let none = Overrides::new();
    let all = describe_topic(started.layers(&none, &cluster), &overrides(&[("flush.ms", "5")]));
    let find = |name: &str| all.iter().find(|entry| entry.name == name).unwrap();
    let sources = |name: &str| -> Vec<(&str, Source)> {
        find(name).synonyms.iter().map(|synonym| (synonym.name, synonym.source)).collect()
    };
    assert_eq!(find("flush.ms").value.as_deref(), Some("5"));
    assert_eq!(sources("flush.ms"), [("flush.ms", Source::Topic)]);
    assert_eq!(find("retention.ms").value.as_deref(), Some("3600000"));
    // As Kafka: hours are no value of log.retention.ms, so there is nothing to show and the source is "default".
    assert_eq!(sources("retention.ms"), []);
    assert_eq!(find("retention.ms").source, Source::Default);
    assert_eq!(find("cleanup.policy").source, Source::DynamicDefault);
    assert_eq!(find("segment.bytes").source, Source::Default);
    assert_eq!(find("segment.bytes").value.as_deref(), Some("1073741824"));
    assert!(all.iter().all(|entry| entry.name != "internal.segment.bytes"));
}

#[test]
fn secrets_are_never_shown() {
    let started = settings("sasl.jaas.config=hunter2\n");
    let none = Overrides::new();
    let all = describe_broker(started.layers(&none, &none));
    let entry = all.iter().find(|entry| entry.name == "sasl.jaas.config").unwrap();
    assert_eq!((entry.value.as_deref(), entry.sensitive), (None, true));
    assert_eq!(entry.source, Source::StaticBroker);
    assert!(entry.synonyms.iter().all(|synonym| synonym.value.is_none()));
}

#[test]
fn only_what_kafka_can_change_while_it_runs_can_be_changed() {
    let statics = StaticValues::default();
    let verdict = |scope, pairs: &[(&str, &str)]| {
        validate_broker_overrides(&statics, scope, &overrides(pairs)).map_err(|e| e.to_string())
    };
    assert_eq!(verdict(BrokerScope::All, &[("log.retention.ms", "5")]), Ok(()));
    assert_eq!(verdict(BrokerScope::One, &[("plug.in", "x")]), Ok(()));
    let error = verdict(BrokerScope::One, &[("num.partitions", "5")]).unwrap_err();
    assert_eq!(error, "Cannot update these configs dynamically: [num.partitions]");
    let both = verdict(BrokerScope::One, &[("num.partitions", "7"), ("node.id", "5")]);
    assert_eq!(
        both.unwrap_err(),
        "Cannot update these configs dynamically: [node.id, num.partitions]"
    );
    assert!(verdict(BrokerScope::One, &[("listeners", "PLAINTEXT://:1")]).is_ok());
    assert!(verdict(BrokerScope::All, &[("listeners", "PLAINTEXT://:1")]).is_err());
    assert!(verdict(BrokerScope::All, &[("log.retention.ms", "0")]).is_err());
    let per_ip = |text| verdict(BrokerScope::All, &[("max.connections.per.ip.overrides", text)]);
    assert_eq!(per_ip("10.0.0.1:5, [::1]:7"), Ok(()));
    let error = per_ip("10.0.0.1").unwrap_err();
    assert_eq!(
        error,
        "Invalid value for configuration max.connections.per.ip.overrides: `10.0.0.1` is no pair of an IP address and \
         a count, such as 10.0.0.1:100"
    );
    assert!(verdict(BrokerScope::All, &[("message.max.bytes", "-1")]).is_err());
}

#[test]
fn what_belongs_to_listeners_is_refused_and_not_ignored() {
    let left_by_kafka = overrides(&[("listeners", "PLAINTEXT://:1"), ("plug.in", "x")]);
    let verdict =
        |after: &Overrides| refuse_restart_only(&left_by_kafka, after).map_err(|e| e.to_string());
    let after = |pairs: &[(&str, &str)]| {
        left_by_kafka.clone().into_iter().chain(overrides(pairs)).collect::<Overrides>()
    };
    assert_eq!(verdict(&after(&[("max.connections", "7")])), Ok(()), "it may stay");
    assert_eq!(verdict(&Overrides::new()), Ok(()), "it may go");
    let moved = after(&[("listeners", "PLAINTEXT://:2"), ("ssl.keystore.location", "/k")]);
    assert_eq!(
        verdict(&moved).unwrap_err(),
        "These configs are not changed while the broker runs, set them where it is started: \
         [listeners, ssl.keystore.location]"
    );
}

#[test]
fn changes_are_checked_against_what_is_in_force_as_kafka_does() {
    // Kafka 4.4's texts.
    let statics = StaticValues::default();
    let (present, none) = (overrides(&[("log.cleaner.threads", "4")]), Overrides::new());
    let current = Layers { broker: &present, cluster: &none, statics: &statics };
    let verdict = |pairs: &[(&str, &str)]| {
        validate_changes(current, &present, &overrides(pairs)).map_err(|error| error.to_string())
    };
    let invalid = |reason: &str| {
        Err(format!(
            "Invalid value org.apache.kafka.common.config.ConfigException: {reason} for configuration Invalid dynamic configuration"
        ))
    };
    for accepted in ["2", "4", "8"] {
        assert_eq!(verdict(&[("log.cleaner.threads", accepted)]), Ok(()));
    }
    assert_eq!(
        verdict(&[("log.cleaner.threads", "9")]),
        invalid("Log cleaner threads cannot be increased to more than double the current value 4")
    );
    assert_eq!(
        verdict(&[("log.cleaner.threads", "1")]),
        invalid("Log cleaner threads cannot be reduced to less than half the current value 4")
    );
    assert!(verdict(&[("log.cleaner.threads", "0")]).is_err());
    assert_eq!(verdict(&[("max.connection.creation.rate", "10")]), Ok(()));
    assert_eq!(
        verdict(&[("max.connection.creation.rate", "0")]),
        invalid("Invalid max.connection.creation.rate 0")
    );
    let of_listener = "listener.name.plaintext.max.connection.creation.rate";
    assert_eq!(verdict(&[(of_listener, "7")]), Ok(()));
    assert!(verdict(&[(of_listener, "x")]).is_err());
}

#[test]
fn a_listener_gets_its_own_rate_of_connections_from_a_change() {
    let settings = BrokerSettings::default();
    let changed = overrides(&[
        ("listener.name.plaintext.max.connection.creation.rate", "7"),
        ("max.connection.creation.rate", "20"),
    ]);
    let settings = settings.with_dynamic(&changed, &Overrides::new());
    assert_eq!(settings.max_connection_creation_rate, 20);
    assert_eq!(settings.listener_creation_rates, [7]);
    let settings = settings.with_dynamic(&Overrides::new(), &Overrides::new());
    assert_eq!(settings.max_connection_creation_rate, UNLIMITED_CREATION_RATE);
    assert_eq!(settings.listener_creation_rates, [UNLIMITED_CREATION_RATE]);
}

#[test]
fn lists_grow_and_shrink() {
    let policy = table::topic("cleanup.policy").unwrap();
    assert_eq!(append(policy, "delete", "compact,delete").as_deref(), Ok("delete,compact"));
    assert_eq!(subtract(policy, "delete,compact", "delete").as_deref(), Ok("compact"));
    assert_eq!(subtract(policy, "delete", "delete").as_deref(), Ok(""));
    let number = table::topic("retention.ms").unwrap();
    let error = append(number, "1", "2").unwrap_err().to_string();
    assert_eq!(error, "Can't APPEND to key retention.ms because its type is not LIST.");
}
