//! `.kafka_cleanshutdown`, the last file that a clean stop writes (Kafka's `CleanShutdownFileHandler`).
//!
//! One JSON object, `{"version":0,"brokerEpoch":492}`. Its presence alone says that nothing has to be scanned; the epoch
//! tells the controller that the registration in the metadata log is the one that stopped.

/// Content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanShutdown {
    /// Epoch of the registration that stopped; `None` where an older or foreign writer left it out.
    pub broker_epoch: Option<i64>,
}

impl CleanShutdown {
    /// Name of the file in a log directory.
    pub const FILE_NAME: &'static str = ".kafka_cleanshutdown";

    /// Reads the file. Never fails: an empty or unreadable one still means that the stop was clean, as in Kafka.
    pub fn decode(bytes: &[u8]) -> Self {
        let parsed: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
        let broker_epoch = parsed.and_then(|json| {
            (json.get("version")?.as_i64()? == 0).then(|| json.get("brokerEpoch")?.as_i64())?
        });
        Self { broker_epoch }
    }

    /// Writes the file. Kafka's −1 stands for an unknown epoch.
    pub fn encode(self) -> Vec<u8> {
        let epoch = self.broker_epoch.unwrap_or(-1);
        format!("{{\"version\":0,\"brokerEpoch\":{epoch}}}").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafkas_file_is_read_and_written_byte_for_byte() {
        let golden = br#"{"version":0,"brokerEpoch":492}"#;
        let read = CleanShutdown::decode(golden);
        assert_eq!(read, CleanShutdown { broker_epoch: Some(492) });
        assert_eq!(read.encode(), golden);
    }

    #[test]
    fn a_file_without_a_usable_epoch_is_still_a_clean_stop() {
        for bytes in [&b""[..], b"{", b"{}", b"[1]", b"{\"version\":1,\"brokerEpoch\":4}", &[0xff]]
        {
            assert_eq!(CleanShutdown::decode(bytes), CleanShutdown { broker_epoch: None });
        }
    }
}
