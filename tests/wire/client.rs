//! The product's own client against the product.

use std::time::Duration;

use highwater::kafka::ErrorCode;
use highwater::kafka::client::{
    Acks, Client, ClientError, Connect, FetchFrom, NewTopic, OffsetAt, ProduceTo, Topics,
};
use highwater::log::Isolation;
use highwater::types::{Offset, PartitionIndex, Timestamp};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::broker::TestBroker;
use crate::records::batch;

const PARTITION: PartitionIndex = PartitionIndex::new(0);

async fn client(broker: &TestBroker) -> Client {
    connect(&broker.address.to_string()).await.expect("a connection")
}

async fn connect(address: &str) -> Result<Client, ClientError> {
    Client::connect(Connect { address, client_id: "test", timeout: Duration::from_secs(20) }).await
}

fn new_topic(name: &str) -> NewTopic<'_> {
    NewTopic {
        name,
        partitions: Some(3),
        replication_factor: None,
        configs: &[],
        validate_only: false,
    }
}

fn from(offset: Offset) -> FetchFrom<'static> {
    FetchFrom {
        topic: "records",
        partition: PARTITION,
        offset,
        wait: Duration::ZERO,
        bytes_max: 1024 * 1024,
        isolation: Isolation::ReadUncommitted,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_created_described_and_deleted() {
    let broker = TestBroker::start().await;
    let mut client = client(&broker).await;
    client.create_topic(&new_topic("first")).await.expect("created");
    let again = client.create_topic(&new_topic("first")).await.expect_err("it exists");
    assert_eq!(again.code(), Some(ErrorCode::TopicAlreadyExists));
    assert_eq!(again.to_string(), "topic first: Topic 'first' already exists.");
    let dry = NewTopic { validate_only: true, ..new_topic("dry") };
    client.create_topic(&dry).await.expect("valid");

    let all = client.describe(Topics::All).await.expect("described");
    assert_eq!(all.topics.iter().map(|topic| &topic.name[..]).collect::<Vec<_>>(), ["first"]);
    assert_eq!(all.brokers.len(), 1);
    assert_eq!(all.brokers[0].port, i32::from(broker.address.port()));
    let partitions = &all.topics[0].partitions;
    assert_eq!(partitions.iter().map(|p| p.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(partitions.iter().all(|p| p.leader == all.brokers[0].id && p.isr == p.replicas));
    assert!(client.describe(Topics::None).await.expect("described").topics.is_empty());

    client.delete_topic("first").await.expect("deleted");
    let gone = client.describe(Topics::Named(&["first"])).await.expect_err("it is gone");
    assert_eq!(gone.code(), Some(ErrorCode::UnknownTopicOrPartition));
    let twice = client.delete_topic("first").await.expect_err("it is gone");
    assert_eq!(twice.code(), Some(ErrorCode::UnknownTopicOrPartition));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_come_back_as_they_were_sent() {
    let broker = TestBroker::start().await;
    let mut client = client(&broker).await;
    client.create_topic(&new_topic("records")).await.expect("created");
    let to = |acks| ProduceTo { topic: "records", partition: PARTITION, acks };
    let sent = batch(&[b"one", b"two"]);
    for (acks, offset) in [(Acks::All, 0), (Acks::Leader, 2), (Acks::None, -1)] {
        let base = client.produce(to(acks), sent.clone()).await.expect("appended");
        assert_eq!(base, Offset::new(offset), "{acks:?}");
    }
    // The question waits for what was appended before it.
    let end = client.list_offset("records", PARTITION, OffsetAt::Latest).await.expect("listed");
    assert_eq!(end.offset, Offset::new(6));
    let first = client.list_offset("records", PARTITION, OffsetAt::Earliest).await.expect("listed");
    assert_eq!(first.offset, Offset::ZERO);
    let at = OffsetAt::Time(Timestamp::new(1));
    let none = client.list_offset("records", PARTITION, at).await.expect("listed");
    assert_eq!(none.offset, Offset::NONE, "all records are of time 0");

    let fetched = client.fetch(from(Offset::ZERO)).await.expect("fetched");
    assert_eq!(fetched.high_watermark, Offset::new(6));
    assert_eq!(fetched.records.len(), 3 * sent.len());
    for (at, read) in fetched.records.chunks(sent.len()).enumerate() {
        assert_eq!(read[..8], (2 * at as i64).to_be_bytes());
        // Length, then what lies behind the leader epoch: as sent.
        assert_eq!((&read[8..12], &read[16..]), (&sent[8..12], &sent[16..]));
    }
    let beyond = client.fetch(from(Offset::new(7))).await.expect_err("beyond the end");
    assert_eq!(beyond.code(), Some(ErrorCode::OffsetOutOfRange));
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_no_broker_is_named_as_such() {
    let nobody = connect("127.0.0.1:1").await.expect_err("nobody listens there");
    assert!(matches!(nobody, ClientError::Connect { .. }), "{nobody}");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let answers: [&'static [u8]; 4] =
        [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", &[0, 0, 0, 2, 0, 0], &[0, 0, 0, 4, 9, 9, 9, 9]];
    let serving = tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("accepted");
            stream.write_all(answer).await.expect("sent");
            let _ = stream.shutdown().await;
        }
    });
    for answer in answers {
        let error = connect(&address).await.expect_err("no broker");
        let expected = match answer {
            b"" => matches!(error, ClientError::Closed { .. }),
            _ => matches!(error, ClientError::Malformed { .. }),
        };
        assert!(expected, "{answer:02x?}: {error}");
        assert!(error.to_string().contains(&address));
    }
    serving.await.expect("served");
}
