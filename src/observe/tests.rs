//! Metrics and health as a scraper and a probe see them.

use std::collections::HashSet;
use std::time::Duration;

use super::*;

fn exposed(metrics: &Metrics) -> String {
    let mut out = String::new();
    metrics.expose(&mut out);
    out
}

#[test]
fn every_metric_has_a_legal_unique_name_and_a_help() {
    let mut seen = HashSet::new();
    for (name, help) in Metrics::ROWS {
        assert!(seen.insert(name), "{name}");
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{name}"
        );
        assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
    }
}

#[test]
fn counters_end_in_total_and_others_do_not() {
    let text = exposed(&Metrics::default());
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        // Those of Kafka's group coordinator are called counts there, and dashboards query that name.
        let is_kafkas = name.starts_with("kafka_server_group_coordinator_metrics_");
        let is_counter = name.ends_with("_total") || is_kafkas && name.ends_with("_count");
        assert_eq!(kind == "counter", is_counter, "{line}");
    }
}

#[test]
fn counters_and_gauges_are_one_line_each() {
    let metrics = Metrics::default();
    metrics.messages_in.add(3);
    metrics.connections.increment();
    metrics.connections.increment();
    metrics.connections.decrement();
    let text = exposed(&metrics);
    let counter = "# HELP kafka_server_brokertopicmetrics_messagesin_total Records appended.\n\
                   # TYPE kafka_server_brokertopicmetrics_messagesin_total counter\n\
                   kafka_server_brokertopicmetrics_messagesin_total 3\n";
    assert!(text.contains(counter), "{text}");
    assert!(text.contains("\nkafka_server_socket_server_metrics_connection_count 1\n"), "{text}");
}

#[test]
fn only_apis_and_versions_in_use_are_exposed() {
    let metrics = Metrics::default();
    metrics.requests.of(18, 3).increment();
    metrics.requests.of(18, 4).increment();
    metrics.requests.of(18, 4).increment();
    metrics.requests.of(18, i16::MAX).increment();
    metrics.requests.of(-1, -1).increment();
    metrics.requests.of(i16::MAX, -1).increment();
    let text = exposed(&metrics);
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("highwater_requests_total")).collect();
    let expected = [
        "highwater_requests_total{api=\"ApiVersions\",version=\"3\"} 1",
        "highwater_requests_total{api=\"ApiVersions\",version=\"4\"} 2",
        "highwater_requests_total{api=\"ApiVersions\",version=\"other\"} 1",
        "highwater_requests_total{api=\"Unknown\",version=\"other\"} 2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn apis_are_named_by_their_key() {
    let known = [
        (0, "Produce"),
        (18, "ApiVersions"),
        (44, "IncrementalAlterConfigs"),
        (68, "ConsumerGroupHeartbeat"),
        (92, "DeleteShareGroupOffsets"),
    ];
    for (key, name) in known {
        let metrics = Metrics::default();
        metrics.requests.of(key, 0).increment();
        let expected = format!("{{api=\"{name}\",version=\"0\"}} 1");
        assert!(exposed(&metrics).contains(&expected), "{key}");
    }
}

#[test]
fn histograms_are_cumulative_and_bounds_belong_to_their_bucket() {
    let metrics = Metrics::default();
    for micros in [50, 51, 300, 20_000_000] {
        metrics.sync_seconds.observe(Duration::from_micros(micros));
    }
    let text = exposed(&metrics);
    let value = |labels: &str| {
        let prefix = format!("highwater_sync_duration_seconds_bucket{{le=\"{labels}\"}} ");
        text.lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .unwrap_or_else(|| panic!("{labels}: {text}"))
    };
    let found = ["0.00005", "0.0001", "0.00025", "0.0005", "10", "+Inf"].map(value);
    assert_eq!(found, ["1", "2", "2", "3", "3", "4"]);
    assert!(text.contains("\nhighwater_sync_duration_seconds_sum 20.000401\n"), "{text}");
    assert!(text.contains("\nhighwater_sync_duration_seconds_count 4\n"), "{text}");
}

#[test]
fn labels_with_few_values_are_always_exposed() {
    let metrics = Metrics::default();
    metrics.reads.of(ReadFrom::Files).add(7);
    let text = exposed(&metrics);
    assert!(text.contains("\nhighwater_fetch_reads_total{source=\"files\"} 7\n"), "{text}");
    assert!(text.contains("\nhighwater_fetch_reads_total{source=\"memory\"} 0\n"), "{text}");
}

#[test]
fn every_label_value_sits_at_its_index() {
    fn check<L: Label + PartialEq + std::fmt::Debug>() {
        for (place, label) in L::ALL.iter().enumerate() {
            assert_eq!(label.index(), place);
        }
    }
    check::<ReadFrom>();
    check::<CloseCause>();
}

#[test]
fn a_broker_is_ready_after_its_start_until_a_directory_fails_or_it_stops() {
    let health = Health::default();
    assert_eq!(health.why_not_ready().as_deref(), Some("starting"));
    health.enter(Phase::Ready);
    assert_eq!((health.why_not_ready(), health.why_unhealthy()), (None, None));
    health.directory_failed("/data".into(), "input/output error".to_owned());
    let why = "log directory /data is offline: input/output error";
    assert_eq!(health.why_unhealthy().as_deref(), Some(why));
    assert_eq!(health.why_not_ready().as_deref(), Some(why));
    health.enter(Phase::Stopping);
    health.enter(Phase::Ready);
    assert_eq!(health.why_not_ready().as_deref(), Some("stopping"));
}

#[test]
fn log_filters_are_checked() {
    for filter in ["info", "warn,highwater::log=trace", "off"] {
        assert!(check_log_filter(filter).is_ok(), "{filter}");
    }
    for filter in ["loud", "highwater=loud", "info,verbose"] {
        let error = check_log_filter(filter).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{filter}` is no log filter: ")), "{error}");
    }
}
