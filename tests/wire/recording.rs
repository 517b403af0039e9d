//! Fixed sequences of requests that were asked of Apache Kafka and are asked of us (`tests/golden/*/Capture.java`).

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use kafka_protocol::protocol::Decodable;
use serde_json::Value;

/// One request and Kafka's answer, bodies only.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) key: i16,
    pub(crate) version: i16,
    pub(crate) request: Bytes,
    /// `None` if nobody waited for it.
    pub(crate) response: Option<Bytes>,
    /// All that was recorded: there is more in some recordings.
    pub(crate) line: Value,
}

impl Step {
    pub(crate) fn theirs(&self) -> &Bytes {
        self.response.as_ref().unwrap_or_else(|| panic!("{}: Kafka has not answered", self.name))
    }
}

pub(crate) fn steps(packed: &[u8]) -> Vec<Step> {
    lines(packed).into_iter().map(step).collect()
}

fn step(line: Value) -> Step {
    Step {
        name: line["step"].as_str().expect("a name").to_owned(),
        key: number(&line, "apiKey"),
        version: number(&line, "apiVersion"),
        request: bytes(&line, "request").expect("hex"),
        response: bytes(&line, "response"),
        line,
    }
}

/// The lines of a gzipped file of JSON lines.
pub(crate) fn lines(packed: &[u8]) -> Vec<Value> {
    let mut lines = String::new();
    GzDecoder::new(packed).read_to_string(&mut lines).expect("gzip");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub(crate) fn number(line: &Value, name: &str) -> i16 {
    line[name].as_i64().expect("a number") as i16
}

pub(crate) fn bytes(line: &Value, name: &str) -> Option<Bytes> {
    line[name].as_str().map(unhex)
}

fn unhex(text: &str) -> Bytes {
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// A body, of which nothing is left.
pub(crate) fn decoded<M: Decodable>(version: i16, body: &Bytes) -> M {
    let mut body = body.clone();
    let message = M::decode(&mut body, version).expect("decodes");
    assert!(body.is_empty(), "nothing behind the message");
    message
}

/// The step, and the lines that differ.
pub(crate) fn difference(step: &Step, theirs: &str, ours: &str) -> String {
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let same = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let around = |lines: &[&str]| {
        lines[same.saturating_sub(8).min(lines.len())..(same + 8).min(lines.len())].join("\n")
    };
    let Step { name, key, version, .. } = step;
    format!("{name} ({key} v{version}):\n  Kafka:\n{}\n  we:\n{}", around(&theirs), around(&ours))
}

#[track_caller]
pub(crate) fn assert_no_step_differs(differences: &[String]) {
    let count = differences.len();
    assert!(differences.is_empty(), "{count} steps differ\n{}", differences.join("\n"));
}
