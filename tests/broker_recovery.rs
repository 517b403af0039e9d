//! Recovery after a kill goes on in the background: it says how far it is, and what is done is served meanwhile.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod support;

use std::sync::mpsc;

use highwater::config::BrokerSettings;
use support::broker::{Life, Node};

/// The numbers of logs, segments and bytes that are still to be recovered.
fn left(life: &Life) -> [i64; 3] {
    let metrics = &life.broker.metrics;
    let gauges = [
        &metrics.recovery_logs_left,
        &metrics.recovery_segments_left,
        &metrics.recovery_bytes_left,
    ];
    gauges.map(|gauge| gauge.get())
}

#[tokio::test(flavor = "multi_thread")]
async fn recovered_partitions_are_served_while_others_are_recovered() {
    let node = Node {
        settings: BrokerSettings {
            num_recovery_threads_per_data_dir: 1,
            ..BrokerSettings::default()
        },
        ..Node::new()
    };
    let life = node.start();
    life.create("slow", 1, &[]);
    life.create("quick", 1, &[]);
    life.send_value("slow", "acknowledged").await;
    life.send_value("quick", "acknowledged too").await;
    life.crash().await;

    // What recovery wrote is synced before consumers see the log.
    let (release, held) = mpsc::channel::<()>();
    node.faults.before_directory_sync("slow-0", move || held.recv().expect("released"));
    let life = node.start();
    let quick = life.values("quick", 0, 0).await;
    assert_eq!(quick, [(0, "acknowledged too".to_owned())], "it waits for nobody");
    assert!(left(&life)[0] >= 1, "the other one is told of: {:?}", left(&life));
    let mut exposed = String::new();
    life.broker.metrics.expose(&mut exposed);
    for name in ["remaininglogstorecover", "remainingsegmentstorecover"] {
        assert!(exposed.contains(&format!("kafka_log_logmanager_{name} ")), "{exposed}");
    }
    release.send(()).unwrap();
    assert_eq!(life.values("slow", 0, 0).await, [(0, "acknowledged".to_owned())]);
    while left(&life) != [0; 3] {
        // The thread that found the log open has not counted it yet.
        tokio::task::yield_now().await;
    }
    life.stop().await;
    node.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_clean_stop_nothing_is_to_be_recovered() {
    let node = Node::new();
    let life = node.start();
    life.create("t", 3, &[]);
    life.send_value("t", "acknowledged").await;
    life.stop().await;
    let life = node.start();
    assert_eq!(left(&life), [0; 3]);
    assert_eq!(life.values("t", 0, 0).await, [(0, "acknowledged".to_owned())]);
    assert_eq!(left(&life), [0; 3]);
    life.stop().await;
}
