//! Versions that the generated codec lacks, or that few clients ask in: asked of Apache Kafka 4.4.0
//! (`tests/golden/versions/Capture.java`) and of us, with the same answers.

use bytes::Bytes;
use kafka_protocol::messages::{
    CreateTopicsResponse, DescribeClusterResponse, FindCoordinatorResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::broker::TestBroker;
use crate::lifted::{API_VERSIONS, DELETE_GROUPS, DESCRIBE_LOG_DIRS, DeletedGroups, LogDirs};
use crate::messages;
use crate::peer::{Peer, api};
use crate::recording::{self, Step, assert_no_step_differs, decoded, difference};
use crate::translation::Translation;

const STEPS: &[u8] = include_bytes!("../golden/versions/steps.jsonl.gz");

const FIND_COORDINATOR: i16 = 10;
const CREATE_TOPICS: i16 = 19;
const DESCRIBE_CLUSTER: i16 = 60;
const CONSUMER_GROUP_HEARTBEAT: i16 = 68;

#[tokio::test(flavor = "multi_thread")]
async fn new_versions_are_answered_as_kafka_answers_them() {
    let broker = TestBroker::start_set(&[("node.id", "0")]).await;
    let mut peer = Peer::connect(broker.address).await;
    let mut ids = Translation::default();
    let (mut compared, mut differences) = (0, Vec::new());
    for step in recording::steps(STEPS) {
        let api = api(step.key);
        let answer = peer.ask(api, step.version, &ids.to_ours(&step.request)).await;
        let answer = answer.unwrap_or_else(|| panic!("{}: closed", step.name));
        learn(&mut ids, &step, &answer);
        let theirs = comparable(&step, ids.to_ours(step.theirs()));
        let ours = comparable(&step, answer);
        compared += usize::from(ours.is_some());
        if theirs != ours {
            let text = Option::unwrap_or_default;
            differences.push(difference(&step, &text(theirs), &text(ours)));
        }
    }
    broker.stop().await;
    assert!(compared > 60, "the recording is complete: {compared}");
    assert_no_step_differs(&differences);
}

/// Ids of the cluster and of the topic.
fn learn(ids: &mut Translation, step: &Step, ours: &Bytes) {
    let theirs = step.theirs();
    match step.key {
        DESCRIBE_CLUSTER => {
            let id = |body| decoded::<DescribeClusterResponse>(2, body).cluster_id;
            ids.add(id(theirs).as_bytes(), id(ours).as_bytes());
        }
        CREATE_TOPICS => {
            let id = |body| decoded::<CreateTopicsResponse>(7, body).topics[0].topic_id;
            ids.add(id(theirs).as_bytes(), id(ours).as_bytes());
        }
        _ => {}
    }
}

/// An answer as text, without what may differ: addresses, which APIs and features there are, the order of groups (Kafka's is that
/// of its hash tables). `None` if the step is there for what it does.
fn comparable(step: &Step, body: Bytes) -> Option<String> {
    let setting_up = [CREATE_TOPICS, DESCRIBE_CLUSTER, CONSUMER_GROUP_HEARTBEAT];
    if setting_up.contains(&step.key) || step.name.starts_with("make ") {
        return None;
    }
    match step.key {
        API_VERSIONS if body.starts_with(&[0, 0]) => Some("versions".to_owned()),
        FIND_COORDINATOR => Some(format!("{:#?}", coordinators(step.version, &body))),
        DELETE_GROUPS => {
            let mut deleted = DeletedGroups::decode(&body).expect(&step.name);
            deleted.results.sort();
            Some(format!("{deleted:#?}"))
        }
        DESCRIBE_LOG_DIRS => {
            let mut described = LogDirs::decode(&body).expect(&step.name);
            for dir in &mut described.dirs {
                dir.path.clear();
                // Of the disk.
                assert!(dir.total_bytes >= dir.usable_bytes && dir.usable_bytes > 0);
                (dir.total_bytes, dir.usable_bytes) = (0, 0);
            }
            Some(format!("{described:#?}"))
        }
        _ => Some(text_of(step, body)),
    }
}

fn text_of(step: &Step, body: Bytes) -> String {
    let decoded = messages::response(step.key, step.version, body.clone()).expect(&step.name);
    assert_eq!((decoded.rest, &decoded.encoded), (0, &body), "{}", step.name);
    decoded.text
}

fn coordinators(version: i16, body: &Bytes) -> FindCoordinatorResponse {
    let mut answer: FindCoordinatorResponse = decoded(version, body);
    for coordinator in answer.coordinators.iter_mut().filter(|found| found.port > 0) {
        (coordinator.host, coordinator.port) = (StrBytes::default(), 0);
    }
    answer
}
