//! OffsetCommit (8), OffsetFetch (9), OffsetDelete (47): every version.

use highwater::kafka::codec::{id_to_wire, offsets::TOPIC_IDS_FROM};
use highwater::types::Uuid;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::messages::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse,
    OffsetFetchRequest, OffsetFetchResponse,
};
use kafka_protocol::protocol::Decodable;

use crate::calls::Session;
use crate::member::{Member, text};
use crate::peer::api;
use crate::pipelining::topic_name;
use crate::topic_ids;

const OFFSET_COMMIT: i16 = 8;
const OFFSET_FETCH: i16 = 9;
const OFFSET_DELETE: i16 = 47;

const NONE: i16 = 0;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const OFFSET_METADATA_TOO_LARGE: i16 = 12;
const ILLEGAL_GENERATION: i16 = 22;
const INVALID_GROUP_ID: i16 = 24;
const UNKNOWN_MEMBER_ID: i16 = 25;
const GROUP_ID_NOT_FOUND: i16 = 69;
const GROUP_SUBSCRIBED_TO_TOPIC: i16 = 86;
const UNKNOWN_TOPIC_ID: i16 = 100;

/// How a test names a topic: by its name, or where the version wants it by its id.
#[derive(Clone, Copy)]
struct Topic {
    name: &'static str,
    id: [u8; 16],
}

const MISSING: Topic = Topic { name: "missing", id: [9; 16] };

impl Topic {
    async fn create(session: &mut Session, name: &'static str, partitions: i32) -> Self {
        Self { name, id: session.create(name, partitions, &[]).await }
    }

    fn wire_id(self) -> uuid::Uuid {
        id_to_wire(Uuid::from_bytes(self.id))
    }
}

/// A commit of a consumer that is no member.
fn commit(group: &str, topics: &[(Topic, &[(i32, i64)])]) -> OffsetCommitRequest {
    let partition = |&(index, offset): &(i32, i64)| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_offset(offset)
            .with_committed_metadata(Some(text("note")))
    };
    let topic = |(topic, partitions): &(Topic, &[(i32, i64)])| {
        OffsetCommitRequestTopic::default()
            .with_name(topic_name(topic.name))
            .with_topic_id(topic.wire_id())
            .with_partitions(partitions.iter().map(partition).collect())
    };
    OffsetCommitRequest::default()
        .with_group_id(text(group).into())
        .with_topics(topics.iter().map(topic).collect())
}

/// Makes `group` one that has an offset and no members.
pub(crate) async fn commit_one(session: &mut Session, group: &str, topic: &'static str) {
    let asked = commit(group, &[(Topic { name: topic, id: [0; 16] }, &[(0, 1)])]);
    assert_eq!(committed(session, 9, asked).await, [(0, NONE)]);
}

/// Partition and error of each answer, in order; topics must be named as they were asked.
async fn committed(
    session: &mut Session,
    version: i16,
    mut asked: OffsetCommitRequest,
) -> Vec<(i32, i16)> {
    let by_id = version >= TOPIC_IDS_FROM;
    let body = if by_id {
        topic_ids::commit(&asked).to_vec()
    } else {
        asked.topics.iter_mut().for_each(|topic| topic.topic_id = uuid::Uuid::nil());
        crate::peer::encoded(&asked, version)
    };
    let answer = session.peer.ask(api(OFFSET_COMMIT), version, &body).await;
    let answer: OffsetCommitResponse = decode(answer.expect("an answer"), version);
    for (asked, told) in asked.topics.iter().zip(&answer.topics) {
        if by_id {
            assert_eq!(told.topic_id, asked.topic_id);
        } else {
            assert_eq!(told.name, asked.name);
        }
    }
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| (partition.partition_index, partition.error_code)).collect()
}

fn decode<M: Decodable>(mut body: bytes::Bytes, version: i16) -> M {
    let message = M::decode(&mut body, version).expect("decodes");
    assert!(body.is_empty(), "v{version}: bytes are left");
    message
}

/// What a fetch tells: error of the group, and of each partition index, offset, epoch, metadata, error.
type Told = (i16, Vec<(i32, i64, i32, String, i16)>);

/// Asks for one group; `None` for all its topics.
async fn fetched(
    session: &mut Session,
    version: i16,
    group: &str,
    topics: Option<&[(Topic, &[i32])]>,
) -> Told {
    let request = fetch(version, group, topics);
    let body = if version >= TOPIC_IDS_FROM {
        topic_ids::fetch(&request).to_vec()
    } else {
        crate::peer::encoded(&request, version)
    };
    let answer = session.peer.ask(api(OFFSET_FETCH), version, &body).await;
    let answer: OffsetFetchResponse = decode(answer.expect("an answer"), version);
    if version >= 8 {
        assert_eq!(answer.groups.len(), 1);
        assert_eq!(answer.groups[0].group_id.as_str(), group);
        return told(&answer.groups[0]);
    }
    let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
    let told =
        |p: kafka_protocol::messages::offset_fetch_response::OffsetFetchResponsePartition| {
            let metadata = p.metadata.unwrap_or_default().to_string();
            (
                p.partition_index,
                p.committed_offset,
                p.committed_leader_epoch,
                metadata,
                p.error_code,
            )
        };
    (answer.error_code, partitions.map(told).collect())
}

fn told(group: &OffsetFetchResponseGroup) -> Told {
    let partitions = group.topics.iter().flat_map(|topic| &topic.partitions);
    let told =
        |p: &kafka_protocol::messages::offset_fetch_response::OffsetFetchResponsePartitions| {
            let metadata = p.metadata.clone().unwrap_or_default().to_string();
            (
                p.partition_index,
                p.committed_offset,
                p.committed_leader_epoch,
                metadata,
                p.error_code,
            )
        };
    (group.error_code, partitions.map(told).collect())
}

fn fetch(version: i16, group: &str, topics: Option<&[(Topic, &[i32])]>) -> OffsetFetchRequest {
    if version >= 8 {
        let topic = |(topic, partitions): &(Topic, &[i32])| {
            let named = OffsetFetchRequestTopics::default()
                .with_partition_indexes(partitions.to_vec())
                .with_name(topic_name(topic.name));
            if version >= TOPIC_IDS_FROM { named.with_topic_id(topic.wire_id()) } else { named }
        };
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(text(group).into())
            .with_topics(topics.map(|topics| topics.iter().map(topic).collect()));
        return OffsetFetchRequest::default().with_groups(vec![group]);
    }
    let topic = |(topic, partitions): &(Topic, &[i32])| {
        OffsetFetchRequestTopic::default()
            .with_name(topic_name(topic.name))
            .with_partition_indexes(partitions.to_vec())
    };
    OffsetFetchRequest::default()
        .with_group_id(text(group).into())
        .with_topics(topics.map(|topics| topics.iter().map(topic).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_simple_consumer_commits_is_fetched_in_every_version() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 3).await;
    for version in 2..=10 {
        let group = format!("g{version}");
        let offset = 100 + i64::from(version);
        let mut asked = commit(&group, &[(topic, &[(2, offset), (0, 1)])]);
        if version >= 6 {
            asked.topics[0].partitions[0].committed_leader_epoch = 5;
        }
        assert_eq!(committed(&mut session, version, asked).await, [(2, NONE), (0, NONE)]);
        for read in 1..=10 {
            let what = format!("committed with v{version}, fetched with v{read}");
            let (error, partitions) =
                fetched(&mut session, read, &group, Some(&[(topic, &[0, 1, 2])])).await;
            let epoch = if version >= 6 && read >= 5 { 5 } else { -1 };
            let note = || "note".to_owned();
            assert_eq!(error, NONE, "{what}");
            let told = [
                (0, 1, -1, note(), NONE),
                (1, -1, -1, String::new(), NONE),
                (2, offset, epoch, note(), NONE),
            ];
            assert_eq!(partitions, told, "{what}");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn null_topics_are_all_that_the_group_has_from_version_2() {
    let mut session = Session::start().await;
    let one = Topic::create(&mut session, "one", 1).await;
    let two = Topic::create(&mut session, "two", 1).await;
    let asked = commit("g", &[(one, &[(0, 7)]), (two, &[(0, 7)])]);
    assert_eq!(committed(&mut session, 9, asked).await, [(0, NONE), (0, NONE)]);
    for version in 2..=10 {
        let (error, partitions) = fetched(&mut session, version, "g", None).await;
        let each = (0, 7, -1, "note".to_owned(), NONE);
        assert_eq!((error, partitions), (NONE, vec![each.clone(), each]), "v{version}");
        let (error, nothing) = fetched(&mut session, version, "nobody", None).await;
        assert_eq!((error, nothing.len()), (NONE, 0), "v{version}");
    }
    // Version 1 knows no null there: Kafka closes the connection.
    let asked = fetch(1, "g", None);
    let body = crate::peer::encoded(&asked, 2);
    assert!(session.peer.ask(api(OFFSET_FETCH), 1, &body).await.is_none());
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_topics_and_partitions_without_offsets_are_no_errors_to_a_fetch() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 1).await;
    for version in 1..=10 {
        let asked: [(Topic, &[i32]); 2] = [(MISSING, &[3]), (topic, &[0, 77])];
        let (error, partitions) = fetched(&mut session, version, "nobody", Some(&asked)).await;
        assert_eq!(error, NONE, "v{version}");
        let none = |index, error| (index, -1, -1, String::new(), error);
        let mut expected = vec![none(3, NONE), none(0, NONE), none(77, NONE)];
        if version >= TOPIC_IDS_FROM {
            // An id that there is not cannot be told by name, so it is an error, and comes last.
            expected.rotate_left(1);
            expected[2].4 = UNKNOWN_TOPIC_ID;
        }
        assert_eq!(partitions, expected, "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_exist_is_refused_at_its_place_and_the_rest_committed() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 2).await;
    for version in 2..=10 {
        let group = format!("g{version}");
        let asked = commit(
            &group,
            &[
                (MISSING, &[(0, 1)]),
                (topic, &[(5, 1), (1, 11), (-1, 1), (0, 10)]),
                (MISSING, &[(1, 1)]),
            ],
        );
        let unknown =
            if version >= TOPIC_IDS_FROM { UNKNOWN_TOPIC_ID } else { UNKNOWN_TOPIC_OR_PARTITION };
        let expected = [
            (0, unknown),
            (5, UNKNOWN_TOPIC_OR_PARTITION),
            (1, NONE),
            (-1, UNKNOWN_TOPIC_OR_PARTITION),
            (0, NONE),
            (1, unknown),
        ];
        assert_eq!(committed(&mut session, version, asked).await, expected, "v{version}");
        let (_, partitions) =
            fetched(&mut session, version, &group, Some(&[(topic, &[0, 1])])).await;
        let offsets: Vec<_> = partitions.iter().map(|partition| partition.1).collect();
        assert_eq!(offsets, [10, 11], "v{version}");

        // Where nothing exists, not even the group is looked at.
        let asked = commit(&group, &[(MISSING, &[(0, 1)])]).with_member_id(text("nobody"));
        assert_eq!(committed(&mut session, version, asked).await, [(0, unknown)], "v{version}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_those_who_are_no_members_are_refused_in_every_version() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 1).await;
    let mut member = Member::new(session.broker.address, "g", 9).await;
    member.join().await;
    member.joined().await;
    let id = member.id.clone();
    assert_eq!(member.sync(&[(&id, b"all")]).await.error_code, NONE);
    for version in 2..=10 {
        let asked = commit("g", &[(topic, &[(0, 3)])]);
        let mine = asked.clone().with_member_id(id.clone()).with_generation_id_or_member_epoch(1);
        let long = "x".repeat(4097);
        let mut too_large = mine.clone();
        too_large.topics[0].partitions[0].committed_metadata = Some(text(&long));
        let elsewhere = mine.clone().with_group_id(text("nobodys").into());
        let no_such_group = if version >= 9 { GROUP_ID_NOT_FOUND } else { ILLEGAL_GENERATION };
        let cases = [
            (mine.clone(), NONE),
            (asked, UNKNOWN_MEMBER_ID),
            (mine.clone().with_member_id(text("nobody")), UNKNOWN_MEMBER_ID),
            (mine.with_generation_id_or_member_epoch(7), ILLEGAL_GENERATION),
            (elsewhere, no_such_group),
            (too_large, OFFSET_METADATA_TOO_LARGE),
        ];
        for (asked, error) in cases {
            let what = format!("v{version} {asked:?}");
            assert_eq!(committed(&mut session, version, asked).await, [(0, error)], "{what}");
        }
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_groups_are_answered_in_the_order_of_the_request() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 1).await;
    let names: Vec<String> = (0..20).map(|number| format!("g{number}")).collect();
    for (name, offset) in names.iter().zip(0..) {
        let asked = commit(name, &[(topic, &[(0, offset)])]);
        assert_eq!(committed(&mut session, 9, asked).await, [(0, NONE)]);
    }
    for version in 8..=10 {
        let group = |name: &String| fetch(version, name, None).groups.remove(0);
        let asked = OffsetFetchRequest::default().with_groups(names.iter().map(group).collect());
        let body = if version >= TOPIC_IDS_FROM {
            topic_ids::fetch(&asked).to_vec()
        } else {
            crate::peer::encoded(&asked, version)
        };
        let answer = session.peer.ask(api(OFFSET_FETCH), version, &body).await;
        let answer: OffsetFetchResponse = decode(answer.expect("an answer"), version);
        let named: Vec<_> = answer.groups.iter().map(|group| group.group_id.to_string()).collect();
        assert_eq!(named, names, "v{version}");
        let offsets: Vec<i64> = answer.groups.iter().map(|group| told(group).1[0].1).collect();
        assert_eq!(offsets, (0..20).collect::<Vec<_>>(), "v{version}");
        let topic = &answer.groups[0].topics[0];
        assert_eq!(topic.topic_id.is_nil(), version < TOPIC_IDS_FROM);
        assert_eq!(topic.name.is_empty(), version >= TOPIC_IDS_FROM);
    }
    session.broker.stop().await;
}

async fn deleted(
    session: &mut Session,
    group: &str,
    topics: &[(&str, &[i32])],
) -> (i16, Vec<(i32, i16)>) {
    let partition =
        |&index: &i32| OffsetDeleteRequestPartition::default().with_partition_index(index);
    let topic = |(name, partitions): &(&str, &[i32])| {
        OffsetDeleteRequestTopic::default()
            .with_name(topic_name(name))
            .with_partitions(partitions.iter().map(partition).collect())
    };
    let asked = OffsetDeleteRequest::default()
        .with_group_id(text(group).into())
        .with_topics(topics.iter().map(topic).collect());
    let answer: OffsetDeleteResponse = session.call(OFFSET_DELETE, 0, &asked).await;
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let told = partitions.map(|partition| (partition.partition_index, partition.error_code));
    (answer.error_code, told.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_deleted_one_by_one() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 2).await;
    let asked = commit("g", &[(topic, &[(0, 1), (1, 2)])]);
    assert_eq!(committed(&mut session, 9, asked).await, [(0, NONE), (1, NONE)]);
    let answer = deleted(&mut session, "g", &[("missing", &[0]), ("t", &[9, 0])]).await;
    let unknown = UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(answer, (NONE, vec![(0, unknown), (9, unknown), (0, NONE)]));
    let (_, left) = fetched(&mut session, 9, "g", None).await;
    assert_eq!(left, [(1, 2, -1, "note".to_owned(), NONE)]);
    assert_eq!(deleted(&mut session, "", &[("t", &[0])]).await, (INVALID_GROUP_ID, vec![]));
    // An error of the group tells nothing of its partitions.
    let nobodys = deleted(&mut session, "nobodys", &[("missing", &[0]), ("t", &[0])]).await;
    assert_eq!(nobodys, (GROUP_ID_NOT_FOUND, vec![]));
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_of_a_topic_that_members_subscribe_to_stay() {
    let mut session = Session::start().await;
    let topic = Topic::create(&mut session, "t", 1).await;
    let other = Topic::create(&mut session, "other", 1).await;
    let mut member = Member::new(session.broker.address, "g", 9).await;
    member.subscription = &[0, 0, 0, 0, 0, 1, 0, 1, b't', 0xff, 0xff, 0xff, 0xff];
    member.join().await;
    member.joined().await;
    let id = member.id.clone();
    assert_eq!(member.sync(&[(&id, b"all")]).await.error_code, NONE);
    let asked = commit("g", &[(topic, &[(0, 1)]), (other, &[(0, 2)])])
        .with_member_id(id)
        .with_generation_id_or_member_epoch(1);
    assert_eq!(committed(&mut session, 9, asked).await, [(0, NONE), (0, NONE)]);
    let answer = deleted(&mut session, "g", &[("t", &[0]), ("other", &[0])]).await;
    assert_eq!(answer, (NONE, vec![(0, GROUP_SUBSCRIBED_TO_TOPIC), (0, NONE)]));
    session.broker.stop().await;
}
