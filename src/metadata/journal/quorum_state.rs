//! `quorum-state`: what the node knows of its quorum's leader (Kafka's `FileQuorumStateStore`).
//!
//! One JSON object. Version 0 belongs to a static quorum (`kraft.version` 0) and names its voters, version 1 to a dynamic
//! one. What matters to a node that is the only voter: it must never lead in an epoch again.

use serde_json::Value;

use crate::types::{BrokerId, LeaderEpoch, Uuid};

/// Name of the file.
pub const FILE_NAME: &str = "quorum-state";

/// What the file says that matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumFile {
    /// The newest epoch that the node knows of.
    pub epoch: LeaderEpoch,
    /// Voters of a static quorum.
    pub voters: Vec<BrokerId>,
}

/// Reads the file; `None` if it cannot be read.
pub fn decode(bytes: &[u8]) -> Option<QuorumFile> {
    let json: Value = serde_json::from_slice(bytes).ok()?;
    let number = |json: &Value, key| i32::try_from(json.get(key)?.as_i64()?).ok();
    let epoch = number(&json, "leaderEpoch").filter(|epoch| *epoch >= 0)?;
    let voters = match number(&json, "data_version")? {
        0 => {
            let listed = json.get("currentVoters").and_then(Value::as_array);
            let voter = |voter: &Value| number(voter, "voterId").map(BrokerId::new);
            listed.map_or(Some(Vec::new()), |voters| voters.iter().map(voter).collect())?
        }
        1 => Vec::new(),
        _ => return None,
    };
    Some(QuorumFile { epoch: LeaderEpoch::new(epoch), voters })
}

/// The file of a leader that voted for nobody, as Kafka writes it.
pub fn encode(kraft_version: i16, leader: BrokerId, epoch: LeaderEpoch) -> Vec<u8> {
    let text = if kraft_version == 0 {
        format!(
            "{{\"clusterId\":\"\",\"leaderId\":{leader},\"leaderEpoch\":{epoch},\"votedId\":-1,\"appliedOffset\":0,\"currentVoters\":[{{\"voterId\":{leader}}}],\"data_version\":0}}"
        )
    } else {
        let nobody = Uuid::ZERO;
        format!(
            "{{\"leaderId\":{leader},\"leaderEpoch\":{epoch},\"votedId\":-1,\"votedDirectoryId\":\"{nobody}\",\"data_version\":1}}"
        )
    };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafkas_file_is_read_and_written_byte_for_byte() {
        let golden = br#"{"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;
        let read = QuorumFile { epoch: LeaderEpoch::new(3), voters: Vec::new() };
        assert_eq!(decode(golden), Some(read));
        assert_eq!(encode(1, BrokerId::new(1), LeaderEpoch::new(3)), golden);
    }

    #[test]
    fn a_static_quorum_names_its_voter() {
        let bytes = encode(0, BrokerId::new(7), LeaderEpoch::new(2));
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["currentVoters"][0]["voterId"], 7);
        assert_eq!(json["data_version"], 0);
        let read = QuorumFile { epoch: LeaderEpoch::new(2), voters: vec![BrokerId::new(7)] };
        assert_eq!(decode(&bytes), Some(read));
    }

    #[test]
    fn other_content_is_not_guessed_at() {
        for text in [
            "",
            "{",
            "{}",
            "[]",
            r#"{"leaderEpoch":1}"#,
            r#"{"leaderEpoch":1,"data_version":2}"#,
            r#"{"leaderEpoch":-1,"data_version":1}"#,
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
