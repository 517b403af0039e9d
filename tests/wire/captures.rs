//! What real clients sent to Apache Kafka 4.4.0, and its answers (`tests/golden/README.md`).

use bytes::Bytes;
use serde_json::Value;

use crate::recording;

/// A request and its answer; frames without their length.
pub(crate) struct Capture {
    pub(crate) client: String,
    pub(crate) key: i16,
    pub(crate) version: i16,
    pub(crate) request: Bytes,
    /// `None` for acks=0.
    pub(crate) response: Option<Bytes>,
}

const FILES: [(&str, &[u8]); 10] = [
    ("aiokafka", include_bytes!("../golden/wire/aiokafka.jsonl.gz")),
    ("franz-go", include_bytes!("../golden/wire/franz-go.jsonl.gz")),
    ("java", include_bytes!("../golden/wire/java.jsonl.gz")),
    ("java-streams", include_bytes!("../golden/wire/java-streams.jsonl.gz")),
    ("kafka-python", include_bytes!("../golden/wire/kafka-python.jsonl.gz")),
    ("kafkajs", include_bytes!("../golden/wire/kafkajs.jsonl.gz")),
    ("librdkafka", include_bytes!("../golden/wire/librdkafka.jsonl.gz")),
    ("platformatic-kafka", include_bytes!("../golden/wire/platformatic-kafka.jsonl.gz")),
    ("sarama", include_bytes!("../golden/wire/sarama.jsonl.gz")),
    ("segmentio-kafka-go", include_bytes!("../golden/wire/segmentio-kafka-go.jsonl.gz")),
];

/// All of them.
pub(crate) fn all() -> Vec<Capture> {
    FILES.iter().flat_map(|(client, packed)| read(client, packed)).collect()
}

/// Those of one API.
pub(crate) fn of(key: i16) -> Vec<Capture> {
    let captures: Vec<_> = all().into_iter().filter(|capture| capture.key == key).collect();
    assert!(!captures.is_empty(), "no captures of API {key}");
    captures
}

fn read(client: &str, packed: &[u8]) -> Vec<Capture> {
    recording::lines(packed).iter().map(|line| parse(client, line)).collect()
}

fn parse(client: &str, line: &Value) -> Capture {
    Capture {
        client: client.to_owned(),
        key: recording::number(line, "apiKey"),
        version: recording::number(line, "apiVersion"),
        request: recording::bytes(line, "request").expect("hex"),
        response: recording::bytes(line, "response"),
    }
}
