//! The files that come with Apache Kafka are accepted as they are.

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
fn a_node_that_is_a_controller_only_is_refused_with_the_reason() {
    let error = from_file(include_str!("stock/controller.properties")).unwrap_err().to_string();
    assert_eq!(
        error,
        "server.properties line 2: process.roles: a node that is a controller only has nothing to do here: metadata lives \
         in the broker"
    );
}
