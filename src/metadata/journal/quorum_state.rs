//! `quorum-state`: what the node knows of its quorum's leader (Kafka's `FileQuorumStateStore`).
//!
//! One JSON object. Version 0 belongs to a static quorum (`kraft.version` 0), version 1 to a dynamic one. Only the epoch
//! matters to a node that is the only voter: it must never lead in an epoch again.

use serde_json::Value;

use crate::types::{BrokerId, LeaderEpoch, Uuid};

/// Name of the file.
pub const FILE_NAME: &str = "quorum-state";

/// The epoch that the file names; `None` if it cannot be read.
pub fn decode_epoch(bytes: &[u8]) -> Option<LeaderEpoch> {
    let json: Value = serde_json::from_slice(bytes).ok()?;
    let version = json.get("data_version")?.as_i64()?;
    let epoch = i32::try_from(json.get("leaderEpoch")?.as_i64()?).ok()?;
    (matches!(version, 0 | 1) && epoch >= 0).then_some(LeaderEpoch::new(epoch))
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
        assert_eq!(decode_epoch(golden), Some(LeaderEpoch::new(3)));
        assert_eq!(encode(1, BrokerId::new(1), LeaderEpoch::new(3)), golden);
    }

    #[test]
    fn a_static_quorum_names_its_voter() {
        let bytes = encode(0, BrokerId::new(7), LeaderEpoch::new(2));
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["currentVoters"][0]["voterId"], 7);
        assert_eq!(json["data_version"], 0);
        assert_eq!(decode_epoch(&bytes), Some(LeaderEpoch::new(2)));
    }

    #[test]
    fn other_content_names_no_epoch() {
        for text in [
            "",
            "{",
            "{}",
            "[]",
            r#"{"leaderEpoch":1}"#,
            r#"{"leaderEpoch":1,"data_version":2}"#,
            r#"{"leaderEpoch":-1,"data_version":1}"#,
        ] {
            assert_eq!(decode_epoch(text.as_bytes()), None, "{text}");
        }
    }
}
