//! Which program ran last on a directory, as far as its registration tells.

use crate::metadata::{Image, METADATA_VERSION};
use crate::types::BrokerId;

/// The first level of `metadata.version` of each release, newest first.
const RELEASES: [(i16, &str); 12] = [
    (34, "a version newer than 4.4"),
    (31, "4.4"),
    (30, "4.3"),
    (28, "4.2"),
    (26, "4.1"),
    (22, "4.0"),
    (21, "3.9"),
    (20, "3.8"),
    (15, "3.7"),
    (12, "3.6"),
    (10, "3.5"),
    (8, "3.4"),
];

/// A Kafka names in its registration every level that it can serve; Highwater only those that are in force.
pub(super) fn written_by(image: &Image, node: BrokerId) -> String {
    let Some(broker) = image.broker(node) else {
        return "nobody yet: it was formatted, and never started on".to_owned();
    };
    let range = |name: &str| broker.features.iter().find(|feature| feature.name == name);
    let Some(version) = range(METADATA_VERSION) else { return "Apache Kafka".to_owned() };
    if range("kraft.version").is_none() && version.min > 1 {
        return "Highwater".to_owned();
    }
    format!("Apache Kafka {}", release(version.max))
}

/// The release that a level of `metadata.version` came with.
pub(super) fn release(level: i16) -> &'static str {
    RELEASES.iter().find(|(first, _)| level >= *first).map_or("3.3 or older", |(_, name)| name)
}
