//! Groups as an administrator sees them: list, describe, delete.
//!
//! All calls go to the broker that the client is connected to. In a cluster of several it must be the group's coordinator; else
//! it answers NOT_COORDINATOR, and [`Client::coordinator`] says which one is.

use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup as DescribedConsumerGroup, Member,
};
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, DeleteGroupsRequest, DescribeGroupsRequest, GroupId,
    ListGroupsRequest,
};

use super::assignment::assigned_partitions;
use super::patience::Patience;
use super::{Client, ClientError};
use crate::kafka::{ErrorCode, codec};
use crate::types::PartitionIndex;

const LIST_GROUPS_VERSION: i16 = 5;
/// First version that knows types of groups.
const TYPES_FROM: i16 = 5;
const DESCRIBE_GROUPS_VERSION: i16 = 6;
const CONSUMER_GROUP_DESCRIBE_VERSION: i16 = 1;
const DELETE_GROUPS_VERSION: i16 = 2;

/// Kafka's name of the state of a group that does not exist.
const DEAD: &str = "Dead";
/// `protocol_type` of consumers; anything else that joins groups (Connect) has assignments of its own form.
const CONSUMER_PROTOCOL: &str = "consumer";

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its name.
    pub group: String,
    /// `consumer` for consumers; empty for a group that only has offsets.
    pub protocol_type: String,
    /// Such as `Stable`; empty from brokers that do not tell.
    pub state: String,
    /// Such as `Classic` or `Consumer`; empty from brokers that do not tell.
    pub group_type: String,
}

/// Which protocol a group speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupType {
    /// JoinGroup and SyncGroup.
    Classic,
    /// ConsumerGroupHeartbeat (KIP-848).
    Consumer,
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its name.
    pub group: String,
    /// Its protocol.
    pub group_type: GroupType,
    /// Such as `Stable`.
    pub state: String,
    /// Name of the assignor in use; empty without members.
    pub assignor: String,
    /// Epoch of the group and of its assignment; only groups of the new protocol tell.
    pub epochs: Option<(i32, i32)>,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its id.
    pub id: String,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<String>,
    /// `client.id`.
    pub client_id: String,
    /// Address as the broker saw it, `/127.0.0.1`.
    pub host: String,
    /// Its epoch; only groups of the new protocol tell.
    pub epoch: Option<i32>,
    /// What it has.
    pub assignment: Vec<(String, PartitionIndex)>,
    /// What it shall have, where that differs; only groups of the new protocol tell.
    pub target: Option<Vec<(String, PartitionIndex)>>,
}

impl Client {
    /// The groups of this broker in one of `states` and of one of `types`; empty lists stand for all.
    pub async fn list_groups(
        &mut self,
        states: &[String],
        types: &[String],
    ) -> Result<Vec<ListedGroup>, ClientError> {
        let version = self.link.version_of::<ListGroupsRequest>(LIST_GROUPS_VERSION)?;
        if version < TYPES_FROM && !types.is_empty() {
            return Err(ClientError::Unsupported { api: "ListGroups with types" });
        }
        let texts = |names: &[String]| names.iter().map(|name| codec::text(name)).collect();
        let request = ListGroupsRequest::default()
            .with_states_filter(texts(states))
            .with_types_filter(texts(types));
        let answer = self.link.call(&request, version).await?;
        ClientError::check(answer.error_code, None, || "the list of groups".to_owned())?;
        let mut groups: Vec<ListedGroup> = answer
            .groups
            .iter()
            .map(|group| ListedGroup {
                group: group.group_id.to_string(),
                protocol_type: group.protocol_type.to_string(),
                state: group.group_state.to_string(),
                group_type: group.group_type.to_string(),
            })
            .collect();
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        Ok(groups)
    }

    /// Describes a group of either protocol; GROUP_ID_NOT_FOUND if there is none.
    pub async fn describe_group(&mut self, group: &str) -> Result<GroupDescription, ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.describe_group_once(group).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn describe_group_once(&mut self, group: &str) -> Result<GroupDescription, ClientError> {
        match self.describe_consumer_group(group).await {
            Ok(description) => Ok(description),
            Err(error) if may_be_classic(&error) => self.describe_classic_group(group).await,
            Err(error) => Err(error),
        }
    }

    async fn describe_consumer_group(
        &mut self,
        group: &str,
    ) -> Result<GroupDescription, ClientError> {
        let request = ConsumerGroupDescribeRequest::default().with_group_ids(vec![group_id(group)]);
        let answer = self.link.call(&request, CONSUMER_GROUP_DESCRIBE_VERSION).await?;
        let Some(described) = answer.groups.first() else {
            return Err(self.link.malformed("the answer names no group"));
        };
        let message = described.error_message.as_deref();
        ClientError::check(described.error_code, message, || what(group))?;
        Ok(of_consumer_group(described))
    }

    async fn describe_classic_group(
        &mut self,
        group: &str,
    ) -> Result<GroupDescription, ClientError> {
        let request = DescribeGroupsRequest::default().with_groups(vec![group_id(group)]);
        let answer = self.link.call(&request, DESCRIBE_GROUPS_VERSION).await?;
        let Some(described) = answer.groups.first() else {
            return Err(self.link.malformed("the answer names no group"));
        };
        let message = described.error_message.as_deref();
        ClientError::check(described.error_code, message, || what(group))?;
        if described.group_state.as_str() == DEAD {
            // Before version 6 a group that does not exist is no error.
            let code = ErrorCode::GroupIdNotFound;
            return Err(ClientError::Broker { what: what(group), code, message: None });
        }
        of_classic_group(described).map_err(|damage| self.link.malformed(damage))
    }

    /// Deletes a group and its offsets; NON_EMPTY_GROUP while it has members.
    pub async fn delete_group(&mut self, group: &str) -> Result<(), ClientError> {
        let request = DeleteGroupsRequest::default().with_groups_names(vec![group_id(group)]);
        let answer = self.link.call(&request, DELETE_GROUPS_VERSION).await?;
        let Some(result) = answer.results.first() else {
            return Err(self.link.malformed("the answer names no group"));
        };
        ClientError::check(result.error_code, None, || what(group))
    }
}

/// A broker that does not know a group as one of the new protocol, or that protocol at all, may know it as a classic one.
fn may_be_classic(error: &ClientError) -> bool {
    matches!(error, ClientError::Unsupported { .. })
        || matches!(error.code(), Some(ErrorCode::GroupIdNotFound | ErrorCode::UnsupportedVersion))
}

pub(super) fn group_id(group: &str) -> GroupId {
    codec::text(group).into()
}

pub(super) fn what(group: &str) -> String {
    format!("group {group}")
}

fn of_consumer_group(described: &DescribedConsumerGroup) -> GroupDescription {
    GroupDescription {
        group: described.group_id.to_string(),
        group_type: GroupType::Consumer,
        state: described.group_state.to_string(),
        assignor: described.assignor_name.to_string(),
        epochs: Some((described.group_epoch, described.assignment_epoch)),
        members: described.members.iter().map(of_consumer_member).collect(),
    }
}

fn of_consumer_member(member: &Member) -> GroupMember {
    let assignment = partitions(&member.assignment);
    let target = partitions(&member.target_assignment);
    GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.instance_id.as_ref().map(ToString::to_string),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        epoch: Some(member.member_epoch),
        target: (target != assignment).then_some(target),
        assignment,
    }
}

fn partitions(assignment: &Assignment) -> Vec<(String, PartitionIndex)> {
    let mut all: Vec<_> = assignment
        .topic_partitions
        .iter()
        .flat_map(|topic| {
            let name = topic.topic_name.to_string();
            topic.partitions.iter().map(move |index| (name.clone(), PartitionIndex::new(*index)))
        })
        .collect();
    all.sort();
    all
}

fn of_classic_group(described: &DescribedGroup) -> Result<GroupDescription, String> {
    let is_consumer = described.protocol_type.as_str() == CONSUMER_PROTOCOL;
    let members = described.members.iter().map(|member| of_classic_member(member, is_consumer));
    Ok(GroupDescription {
        group: described.group_id.to_string(),
        group_type: GroupType::Classic,
        state: described.group_state.to_string(),
        assignor: described.protocol_data.to_string(),
        epochs: None,
        members: members.collect::<Result<_, _>>()?,
    })
}

fn of_classic_member(
    member: &DescribedGroupMember,
    is_consumer: bool,
) -> Result<GroupMember, String> {
    let bytes: &[u8] = if is_consumer { &member.member_assignment } else { &[] };
    let assignment = assigned_partitions(bytes)
        .map_err(|damage| format!("the assignment of member {}: {damage}", member.member_id))?;
    Ok(GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.group_instance_id.as_ref().map(ToString::to_string),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        epoch: None,
        assignment,
        target: None,
    })
}
