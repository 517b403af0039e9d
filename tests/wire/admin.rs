//! A fixed sequence of admin requests that was asked of Apache Kafka 4.4.0 (`tests/golden/admin/Capture.java`), asked of us: field by
//! field the same answers, but for what [`comparable`] names.

use std::collections::HashMap;

use bytes::Bytes;
use highwater::config::{BrokerSettings, PropertiesFile, Sources, load};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;

use crate::broker::TestBroker;
use crate::peer::{Peer, api};
use crate::recording::{self, Step, assert_no_step_differs, decoded, difference};
use crate::translation::Translation;

const STEPS: &[u8] = include_bytes!("../golden/admin/steps.jsonl.gz");

/// What the recorded Kafka was started with, as far as it shows.
const PROPERTIES: &str = "
process.roles=broker,controller
node.id=0
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://127.0.0.1:9092
controller.listener.names=CONTROLLER
num.partitions=2
offsets.topic.replication.factor=1
log.retention.check.interval.ms=5000
";

/// Steps about what is not served yet.
const NOT_SERVED: &[&str] = &[
    "configs of groups and client metrics",
    "set groups and client metrics",
    "groups and client metrics after",
];

fn settings() -> BrokerSettings {
    let file = PropertiesFile { path: "server.properties".into(), bytes: PROPERTIES.into() };
    load(Sources { file: Some(file), ..Sources::default() }).expect("settings").settings
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_requests_are_answered_as_kafka_answers_them() {
    let broker = TestBroker::start_from(settings(), |_| {}).await;
    let mut peer = Peer::connect(broker.address).await;
    let mut ids = Translation::default();
    let mut differences = Vec::new();
    let steps = recording::steps(STEPS);
    assert!(steps.len() > 200, "the recording is complete");
    for step in steps.iter().filter(|step| !NOT_SERVED.contains(&step.name.as_str())) {
        let request = ids.to_ours(&step.request);
        let answer = peer.ask(api(step.key), step.version, &request).await;
        let answer = answer.unwrap_or_else(|| panic!("{}: closed", step.name));
        learn(&mut ids, step, &answer);
        let theirs = comparable(step.key, step.version, ids.to_ours(step.theirs()));
        let ours = comparable(step.key, step.version, answer);
        if theirs != ours {
            differences.push(difference(step, &theirs, &ours));
        }
    }
    broker.stop().await;
    assert_no_step_differs(&differences);
}

/// Topics that were created are the same ones if they have the same names.
fn learn(ids: &mut Translation, step: &Step, answer: &Bytes) {
    // Older versions of CreateTopics do not tell the id: Metadata does.
    let told = match (step.key, step.version) {
        (19, 7..) => created_ids,
        (3, 10..) => metadata_ids,
        _ => return,
    };
    let ours = told(step.version, answer);
    for (name, id) in told(step.version, step.theirs()) {
        match ours.get(&name) {
            Some(ours) if *ours != [0; 16] => ids.add(&id, ours),
            _ => {}
        }
    }
}

fn created_ids(version: i16, body: &Bytes) -> HashMap<String, [u8; 16]> {
    let created: CreateTopicsResponse = decoded(version, body);
    created.topics.iter().map(|t| (t.name.to_string(), t.topic_id.into_bytes())).collect()
}

fn metadata_ids(version: i16, body: &Bytes) -> HashMap<String, [u8; 16]> {
    let metadata: MetadataResponse = decoded(version, body);
    let named = metadata
        .topics
        .iter()
        .filter_map(|t| Some((t.name.as_ref()?.to_string(), t.topic_id.into_bytes())));
    named.collect()
}

/// An answer as text, without what may differ: the order of elements (Kafka's is that of its hash tables, ours that of the
/// request), addresses and ports, cluster id, settings of our own, words of documentation, room on the disk.
fn comparable(key: i16, version: i16, body: Bytes) -> String {
    match key {
        3 => format!("{:#?}", metadata(decoded(version, &body))),
        19 => format!("{:#?}", created(decoded(version, &body))),
        20 => format!("{:#?}", deleted(decoded(version, &body))),
        32 => format!("{:#?}", configs(decoded(version, &body))),
        33 => format!("{:#?}", decoded::<AlterConfigsResponse>(version, &body)),
        35 => format!("{:#?}", log_dirs(decoded(version, &body))),
        37 => format!("{:#?}", grown(decoded(version, &body))),
        43 => format!("{:#?}", elected(decoded(version, &body))),
        44 => format!("{:#?}", decoded::<IncrementalAlterConfigsResponse>(version, &body)),
        46 => format!("{:#?}", decoded::<ListPartitionReassignmentsResponse>(version, &body)),
        60 => format!("{:#?}", cluster(decoded(version, &body))),
        75 => format!("{:#?}", decoded::<DescribeTopicPartitionsResponse>(version, &body)),
        other => panic!("API {other} is not recorded"),
    }
}

fn metadata(mut answer: MetadataResponse) -> MetadataResponse {
    answer.topics.sort_by_key(|topic| (topic.name.clone(), topic.topic_id));
    for topic in &mut answer.topics {
        topic.partitions.sort_by_key(|partition| partition.partition_index);
    }
    for broker in &mut answer.brokers {
        assert!(!broker.host.is_empty() && broker.port > 0);
        (broker.host, broker.port) = (StrBytes::default(), 0);
    }
    answer.cluster_id = answer.cluster_id.map(|_| StrBytes::default());
    answer
}

fn cluster(mut answer: DescribeClusterResponse) -> DescribeClusterResponse {
    for broker in &mut answer.brokers {
        assert!(!broker.host.is_empty() && broker.port > 0);
        (broker.host, broker.port) = (StrBytes::default(), 0);
    }
    answer.cluster_id = if answer.cluster_id.is_empty() {
        answer.cluster_id
    } else {
        StrBytes::from_static_str("some")
    };
    answer
}

fn is_ours(name: &str) -> bool {
    name.starts_with("highwater.")
}

fn created(mut answer: CreateTopicsResponse) -> CreateTopicsResponse {
    answer.topics.sort_by_key(|topic| topic.name.clone());
    for topic in &mut answer.topics {
        topic
            .configs
            .iter_mut()
            .for_each(|configs| configs.retain(|config| !is_ours(&config.name)));
    }
    answer
}

fn deleted(mut answer: DeleteTopicsResponse) -> DeleteTopicsResponse {
    answer.responses.sort_by_key(|topic| (topic.name.clone(), topic.topic_id));
    answer
}

fn grown(mut answer: CreatePartitionsResponse) -> CreatePartitionsResponse {
    answer.results.sort_by_key(|topic| topic.name.clone());
    answer
}

fn elected(mut answer: ElectLeadersResponse) -> ElectLeadersResponse {
    answer.replica_election_results.sort_by_key(|topic| topic.topic.clone());
    answer
}

fn configs(mut answer: DescribeConfigsResponse) -> DescribeConfigsResponse {
    for resource in &mut answer.results {
        resource.configs.retain(|config| !is_ours(&config.name));
        resource.configs.sort_by_key(|config| config.name.clone());
        for config in &mut resource.configs {
            let words = |text: &StrBytes| {
                StrBytes::from_static_str(if text.is_empty() { "" } else { "words" })
            };
            config.documentation = config.documentation.as_ref().map(words);
            if config.name.as_str() == "advertised.listeners" {
                config.value = None;
            }
        }
    }
    answer
}

fn log_dirs(mut answer: DescribeLogDirsResponse) -> DescribeLogDirsResponse {
    for directory in &mut answer.results {
        assert!(directory.log_dir.starts_with('/'));
        directory.log_dir = StrBytes::default();
        directory.total_bytes = directory.total_bytes.signum();
        directory.usable_bytes = directory.usable_bytes.signum();
        directory.topics.sort_by_key(|topic| topic.name.clone());
        for topic in &mut directory.topics {
            topic.partitions.sort_by_key(|partition| partition.partition_index);
        }
    }
    answer
}
