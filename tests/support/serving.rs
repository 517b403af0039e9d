//! A whole broker with sockets on directories that Apache Kafka left.

use std::path::Path;

use highwater::app::{Running, StartArgs, start};
use highwater::broker::Lookup;
use highwater::config::{BrokerSettings, Sources, load};
use highwater::env::Env;
use highwater::types::PartitionIndex;

/// The settings that the golden nodes ran with, else what is old goes away.
const SETTINGS: [(&str, &str); 5] = [
    ("listeners", "PLAINTEXT://127.0.0.1:0"),
    ("log.retention.ms", "-1"),
    ("producer.id.expiration.ms", "2147483647"),
    ("offsets.retention.minutes", "2147483647"),
    ("transaction.max.timeout.ms", "2147483647"),
];

pub fn settings(directory: &Path, more: &[(&str, &str)]) -> BrokerSettings {
    let directory = ("log.dirs", directory.to_str().expect("plain text"));
    let flags = SETTINGS.into_iter().chain([directory]).chain(more.iter().copied());
    let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    load(Sources { flags, ..Sources::default() }).expect("valid settings").settings
}

pub async fn serve(directory: &Path) -> Running {
    serve_with(directory, &[]).await
}

/// With more settings.
pub async fn serve_with(directory: &Path, more: &[(&str, &str)]) -> Running {
    let settings = settings(directory, more);
    start(StartArgs { env: Env::system(), settings }).await.expect("it starts")
}

/// Opens every partition that has a directory; what could not be opened, and why.
pub fn open_all(running: &Running) -> Vec<String> {
    let broker = running.broker();
    let mut failed = Vec::new();
    for topic in broker.metadata.image().topics.values() {
        for index in (0..topic.partitions.len()).map(|index| PartitionIndex::new(index as i32)) {
            if !broker.partitions.holds(topic, index) {
                continue;
            }
            if let Lookup::Closed(closed) = broker.partitions.find(topic, index)
                && let Err(error) = closed.open()
            {
                failed.push(format!("{}-{index}: {error}", topic.name));
            }
        }
    }
    failed
}
