//! What groups have committed, asked of a broker without front ends.

use highwater::coordinator::groups::{GroupCommand, GroupReply};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};

use super::broker::Life;
use super::group_requests::text;

impl Life {
    /// Offset and code of the first two partitions of a topic.
    pub async fn committed(
        &self,
        group: &str,
        topic: &str,
        require_stable: bool,
    ) -> [(i64, i16); 2] {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(text(topic).into())
            .with_partition_indexes(vec![0, 1]);
        let asked = OffsetFetchRequestGroup::default()
            .with_group_id(text(group).into())
            .with_member_epoch(-1)
            .with_topics(Some(vec![topic]));
        let command = GroupCommand::FetchOffsets { version: 9, group: asked, require_stable };
        let reply = self.broker.group_call(group, command).await;
        let Ok(GroupReply::FetchOffsets(answer)) = reply else { panic!("{reply:?}") };
        let at = |at: usize| &answer.topics[0].partitions[at];
        [0, 1].map(|index| (at(index).committed_offset, at(index).error_code))
    }
}
