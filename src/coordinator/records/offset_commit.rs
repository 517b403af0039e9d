//! Types 0 and 1: a committed offset.
//!
//! Value: v0 and v2 `offset i64, metadata string, commit timestamp i64`; v1 the same and `expire timestamp i64`; v3
//! `offset i64, leader epoch i32, metadata string, commit timestamp i64`; v4 v3 in the flexible encoding, with the topic's
//! id as tag 0.
//!
//! Written as by Kafka 4.1 and later: v1 if the offset says when it expires, else v4. Every Kafka since 3.5 reads v4 and
//! skips a tag that it does not know (KIP-915), so that nothing is gained by the older v3.

use super::RecordValue;
use crate::metadata::records::wire::{Reader, TagUse, Tags, WireError, Writer};
use crate::types::{LeaderEpoch, Offset, Timestamp, TopicId};

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's OffsetCommitValue")]
pub struct OffsetCommitValue {
    pub offset: Offset,
    /// [`LeaderEpoch::NONE`] if the consumer did not say.
    pub leader_epoch: LeaderEpoch,
    pub metadata: String,
    pub commit_timestamp: Timestamp,
    /// Set by clients of OffsetCommit 2 to 4 that gave a retention time.
    pub expire_timestamp: Option<Timestamp>,
    /// Zero where the record was written before topics had ids in it.
    pub topic_id: TopicId,
}

impl RecordValue for OffsetCommitValue {
    const NEWEST: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;

    fn version(&self) -> i16 {
        if self.expire_timestamp.is_some() { 1 } else { 4 }
    }

    fn encode(&self, version: i16, w: &mut Writer) {
        w.i64(self.offset.get());
        if version >= 3 {
            w.i32(self.leader_epoch.get());
        }
        w.string(&self.metadata);
        w.i64(self.commit_timestamp.get());
        if version == 1 {
            w.i64(self.expire_timestamp.unwrap_or(Timestamp::NONE).get());
        }
        if version >= 4 {
            let mut tags = Tags::default();
            let topic_id = Some(self.topic_id).filter(|id| !id.is_zero());
            tags.put_some(0, topic_id, Writer::uuid);
            w.tags(tags);
        }
    }

    fn decode(version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let offset = Offset::new(r.i64()?);
        let leader_epoch = if version >= 3 { r.i32()? } else { LeaderEpoch::NONE.get() };
        let mut value = Self {
            offset,
            leader_epoch: LeaderEpoch::new(leader_epoch),
            metadata: r.string()?,
            commit_timestamp: Timestamp::new(r.i64()?),
            expire_timestamp: None,
            topic_id: TopicId::ZERO,
        };
        if version == 1 {
            let expires = Timestamp::new(r.i64()?);
            value.expire_timestamp = Some(expires).filter(|expires| *expires != Timestamp::NONE);
        }
        r.tags(|tag, r| match tag {
            0 => {
                value.topic_id = r.uuid()?;
                Ok(TagUse::Read)
            }
            _ => Ok(TagUse::Unknown),
        })?;
        Ok(value)
    }
}
