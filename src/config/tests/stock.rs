//! The files that come with Apache Kafka are accepted as they are. Those here have their settings, each compared with the original,
//! and not their comments; `highwater config check --config FILE` takes an original.

use super::from_file;
use crate::config::Note;

#[test]
fn the_stock_server_properties_start_unchanged() {
    let loaded = from_file(include_str!("stock/server.properties")).unwrap();
    let settings = loaded.settings;
    let [listener] = &settings.listeners[..] else { panic!("{:?}", settings.listeners) };
    assert_eq!(
        (listener.name.as_str(), listener.host.as_str(), listener.port),
        ("PLAINTEXT", "", 9092)
    );
    assert_eq!((listener.advertised_host.as_str(), listener.advertised_port), ("localhost", 9092));
    assert_eq!(settings.node_id.get(), 1);
    assert_eq!(settings.log_dirs, ["/tmp/kraft-combined-logs"].map(std::path::PathBuf::from));
    for note in &loaded.notes {
        assert!(!note.is_warning(), "{note}");
    }
}

#[test]
fn keys_without_meaning_here_are_listed_once_together() {
    let loaded = from_file(include_str!("stock/server.properties")).unwrap();
    let lists: Vec<&Vec<String>> = loaded
        .notes
        .iter()
        .filter_map(|note| if let Note::NotHere(keys) = note { Some(keys) } else { None })
        .collect();
    let [keys] = lists[..] else { panic!("{:?}", loaded.notes) };
    for key in ["num.network.threads", "num.io.threads", "controller.quorum.bootstrap.servers"] {
        assert!(keys.iter().any(|listed| listed == key), "{key}: {keys:?}");
    }
}

#[test]
fn a_broker_of_a_larger_cluster_is_accepted() {
    let settings = from_file(include_str!("stock/broker.properties")).unwrap().settings;
    assert_eq!((settings.node_id.get(), settings.listeners.len()), (2, 1));
}

#[test]
fn the_combined_node_of_kafka_3_is_accepted() {
    let loaded = from_file(include_str!("stock/server-3.x-kraft.properties")).unwrap();
    let settings = &loaded.settings;
    assert_eq!((settings.node_id.get(), settings.listeners.len()), (1, 1));
    for note in &loaded.notes {
        assert!(!note.is_warning(), "{note}");
    }
}

/// What only ZooKeeper brokers had is unknown here and named, as in Kafka 4.
#[test]
fn a_file_from_before_kraft_starts_and_names_what_is_gone() {
    let loaded = from_file(include_str!("stock/server-3.x-zookeeper.properties")).unwrap();
    let settings = &loaded.settings;
    assert_eq!((settings.node_id.get(), settings.listeners.len()), (0, 1));
    let warnings: Vec<String> =
        loaded.notes.iter().filter(|note| note.is_warning()).map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "server.properties line 21: there is no setting zookeeper.connect",
            "server.properties line 22: there is no setting zookeeper.connection.timeout.ms",
        ]
    );
}

#[test]
fn a_node_that_is_a_controller_only_is_refused_with_the_reason() {
    let error = from_file(include_str!("stock/controller.properties")).unwrap_err().to_string();
    assert_eq!(
        error,
        "server.properties line 2: process.roles: a node that is a controller only has nothing to do here: metadata lives \
         in the broker"
    );
}
