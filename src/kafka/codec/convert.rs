//! Between the vocabulary of the broker and that of the generated messages.

use kafka_protocol::messages;
use kafka_protocol::protocol::StrBytes;

use super::text;
use crate::types::BrokerId;

/// A protocol string with a copy of `value`, or null.
pub fn optional_text(value: Option<&str>) -> Option<StrBytes> {
    value.map(text)
}

/// A topic name with a copy of `name`.
pub fn topic_name(name: &str) -> messages::TopicName {
    messages::TopicName(text(name))
}

/// Copies of topic names.
pub fn names(names: &[messages::TopicName]) -> Vec<String> {
    names.iter().map(|name| name.0.to_string()).collect()
}

/// A node id.
pub fn broker(id: BrokerId) -> messages::BrokerId {
    messages::BrokerId(id.get())
}

/// Node ids.
pub fn brokers(ids: &[BrokerId]) -> Vec<messages::BrokerId> {
    ids.iter().copied().map(broker).collect()
}
