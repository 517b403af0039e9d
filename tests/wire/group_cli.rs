//! `highwater group` and the metrics of groups, as an operator meets them.

use bytes::Bytes;
use highwater::cli::CommandError;
use highwater::env::{Clock, SystemClock};
use highwater::kafka::client::{
    Acks, Client, CommittedOffset, Connect, Coordinated, NewTopic, ProduceTo, REQUEST_TIMEOUT,
};
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp};

use crate::broker::TestBroker;
use crate::consumer::Consumer;
use crate::member::Member;
use crate::operator::{self, fields, value};

/// What the records of the tests are older than.
const AGE_MS: i64 = 90_000;

/// ConsumerProtocolAssignment of version 0: orders 0 and 1.
const BOTH: &[u8] = b"\0\0\0\0\0\x01\0\x06orders\0\0\0\x02\0\0\0\0\0\0\0\x01\xff\xff\xff\xff";

/// A broker with the topic `orders`: records 0 to 9 in partition 0, 0 to 2 in partition 1, all of them 90 seconds old.
struct Shop {
    broker: TestBroker,
    client: Client,
}

impl Shop {
    async fn open() -> Self {
        let http = Some("127.0.0.1:0".to_owned());
        let broker = TestBroker::start_with(|settings| settings.http_listen = http).await;
        let address = broker.address.to_string();
        let connect = Connect { address: &address, client_id: "test", timeout: REQUEST_TIMEOUT };
        let mut client = Client::connect(connect).await.unwrap();
        let orders = NewTopic {
            name: "orders",
            partitions: Some(2),
            replication_factor: None,
            configs: &[],
            validate_only: false,
        };
        client.create_topic(&orders).await.unwrap();
        for (index, count) in [(0, 10), (1, 3)] {
            let partition = PartitionIndex::new(index);
            let to = ProduceTo { topic: "orders", partition, acks: Acks::All };
            client.produce(to, records(count)).await.unwrap();
        }
        Self { broker, client }
    }

    /// As a consumer without a group's membership does.
    async fn commit(&mut self, group: &str, offsets: &[(i32, i64)]) {
        let entry = |(index, offset): &(i32, i64)| CommittedOffset {
            topic: "orders".to_owned(),
            partition: PartitionIndex::new(*index),
            offset: Offset::new(*offset),
            leader_epoch: LeaderEpoch::NONE,
        };
        let offsets: Vec<CommittedOffset> = offsets.iter().map(entry).collect();
        self.client.coordinator(Coordinated::Group(group)).await.unwrap();
        let outcomes = self.client.commit(group, &offsets).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.refused.is_none()), "{outcomes:?}");
    }

    async fn committed(&mut self, group: &str) -> Vec<(i32, i64)> {
        let committed = self.client.committed(group).await.unwrap();
        committed.iter().map(|entry| (entry.partition.get(), entry.offset.get())).collect()
    }

    /// Runs `highwater group ...` against the broker.
    async fn run(&self, words: &str) -> Result<String, CommandError> {
        operator::run(&self.broker, &format!("group {words}")).await
    }

    async fn metrics(&self) -> String {
        operator::metrics(&self.broker).await
    }
}

fn records(count: usize) -> Bytes {
    let time = Timestamp::new(SystemClock::default().wall().get() - AGE_MS);
    let mut builder = BatchBuilder::new(BatchTemplate::default());
    (0..count).for_each(|_| builder.append(time, None, Some(b"value")));
    Bytes::from(builder.build().unwrap())
}

/// True for 90 to 99 seconds.
fn is_the_age(spoken: &str) -> bool {
    spoken.starts_with("1m3") && spoken.ends_with('s')
}

#[tokio::test(flavor = "multi_thread")]
async fn lag_is_told_in_records_and_in_time() {
    let mut shop = Shop::open().await;
    shop.commit("shipping", &[(0, 4), (1, 3)]).await;

    let text = shop.run("describe shipping").await.unwrap();
    let rows = fields(&text);
    assert_eq!(text.lines().next(), Some("shipping  classic  Empty  no members"));
    let behind = rows[2][5].to_owned();
    assert!(is_the_age(&behind), "{text}");
    let waiting = ["orders", "0", "4", "10", "6", &behind, "-", "-", "-"];
    assert_eq!(rows[2], waiting);
    assert_eq!(rows[3], ["orders", "1", "3", "3", "0", "-", "-", "-", "-"]);
    assert_eq!(rows.len(), 4);

    let listed = shop.run("list").await.unwrap();
    assert_eq!(
        listed,
        "group     type     state  members  lag\nshipping  classic  Empty  0        6\n"
    );

    let metrics = shop.metrics().await;
    let of =
        |index| format!("{{consumergroup=\"shipping\",topic=\"orders\",partition=\"{index}\"}}");
    for (name, index, expected) in [
        ("kafka_consumergroup_current_offset", 0, 4.0),
        ("kafka_consumergroup_current_offset", 1, 3.0),
        ("kafka_consumergroup_lag", 0, 6.0),
        ("kafka_consumergroup_lag", 1, 0.0),
        ("highwater_consumergroup_lag_seconds", 1, 0.0),
    ] {
        assert_eq!(value(&metrics, &format!("{name}{}", of(index))), Some(expected), "{name}");
    }
    let seconds = value(&metrics, &format!("highwater_consumergroup_lag_seconds{}", of(0)));
    assert!(seconds.is_some_and(|seconds| (90.0..99.0).contains(&seconds)), "{seconds:?}");
    let topic = "{consumergroup=\"shipping\",topic=\"orders\"}";
    assert_eq!(value(&metrics, &format!("kafka_consumergroup_lag_sum{topic}")), Some(6.0));
    assert_eq!(
        value(&metrics, &format!("kafka_consumergroup_current_offset_sum{topic}")),
        Some(7.0)
    );
    let members = "kafka_consumergroup_members{consumergroup=\"shipping\"}";
    assert_eq!(value(&metrics, members), Some(0.0));
    let commits = "kafka_server_group_coordinator_metrics_offset_commit_count";
    assert_eq!(value(&metrics, commits), Some(2.0));
    assert_eq!(value(&metrics, "highwater_consumergroups_complete"), Some(1.0));
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_classic_group_are_shown_with_what_they_were_assigned() {
    let mut shop = Shop::open().await;
    let mut member = Member::new(shop.broker.address, "shipping", 9).await;
    member.join().await;
    member.joined().await;
    let id = member.id.clone();
    assert_eq!(member.sync(&[(&id, BOTH)]).await.error_code, 0);
    shop.commit("other", &[(0, 4)]).await;

    let text = shop.run("describe shipping").await.unwrap();
    let rows = fields(&text);
    assert_eq!(text.lines().next(), Some("shipping  classic  Stable  1 member"));
    assert_eq!(rows[2][..7], ["orders", "0", "-", "10", "-", "-", id.as_str()]);
    assert_eq!(rows[3][..7], ["orders", "1", "-", "3", "-", "-", id.as_str()]);
    assert!(rows[2][8].starts_with("/127.0.0.1"), "{text}");
    let text = shop.run("describe shipping --members").await.unwrap();
    assert_eq!(fields(&text)[2][5..], ["2", "orders:0,1", "-"]);
    let text = shop.run("describe shipping --state").await.unwrap();
    let coordinator = shop.broker.address.to_string();
    let state = ["shipping", "classic", "Stable", "1", "range", "-", "-", &coordinator];
    assert_eq!(fields(&text)[1][..8], state);
    let metrics = shop.metrics().await;
    let members = "kafka_consumergroup_members{consumergroup=\"shipping\"}";
    assert_eq!(value(&metrics, members), Some(1.0));
    let state =
        "highwater_group_state{consumergroup=\"shipping\",type=\"classic\",state=\"Stable\"}";
    assert_eq!(value(&metrics, state), Some(1.0));
    let rebalances = "kafka_server_group_coordinator_metrics_group_completed_rebalance_count";
    assert_eq!(value(&metrics, rebalances), Some(1.0));

    let listed = shop.run("list --state stable").await.unwrap();
    assert_eq!(fields(&listed)[1..], [["shipping", "classic", "Stable", "1", "-"]]);
    let listed = shop.run("list --state empty,dead --type classic").await.unwrap();
    assert_eq!(fields(&listed)[1..], [["other", "classic", "Empty", "0", "6"]]);
    assert_eq!(fields(&shop.run("list --type consumer").await.unwrap()).len(), 1);
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_group_of_the_new_protocol_are_shown_too() {
    let shop = Shop::open().await;
    let mut consumer = Consumer::new(shop.broker.address, "shipping", 1).await;
    consumer.join(&["orders"]).await;
    consumer.beat_until_owning(2).await;

    let text = shop.run("describe shipping").await.unwrap();
    assert_eq!(text.lines().next(), Some("shipping  consumer  Stable  1 member"));
    let rows = fields(&text);
    assert_eq!(rows[2][..7], ["orders", "0", "-", "10", "-", "-", &consumer.id]);
    let text = shop.run("describe shipping --members").await.unwrap();
    let epoch = consumer.epoch.to_string();
    assert_eq!(fields(&text)[2][4..], [&epoch, "2", "orders:0,1", "-"]);
    let text = shop.run("describe shipping --state").await.unwrap();
    assert_eq!(fields(&text)[1][..5], ["shipping", "consumer", "Stable", "1", "uniform"]);
    let metrics = shop.metrics().await;
    let count = "kafka_server_group_coordinator_metrics_consumer_group_count{state=\"Stable\"}";
    assert_eq!(value(&metrics, count), Some(1.0));
    let rebalances = "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count";
    assert_eq!(value(&metrics, rebalances), Some(1.0));
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_shows_what_it_would_do_and_does_it_when_told_to() {
    let mut shop = Shop::open().await;
    shop.commit("shipping", &[(0, 4), (1, 3)]).await;
    let plan = shop.run("reset-offsets shipping --all-topics --to-earliest").await.unwrap();
    let expected = "\
topic   partition  committed  new offset
orders  0          4          0
orders  1          3          0
nothing was changed; --execute does it
";
    assert_eq!(plan, expected);
    assert_eq!(shop.committed("shipping").await, [(0, 4), (1, 3)]);

    let done = "reset-offsets shipping --topic orders:0 --shift-by -100 --execute";
    let text = shop.run(done).await.unwrap();
    assert_eq!(
        text.lines().nth(1),
        Some("orders  0          4          0           -96 is before the first record")
    );
    assert_eq!(shop.committed("shipping").await, [(0, 0), (1, 3)]);
    for (goal, expected) in [
        ("--to-latest", [(0, 10), (1, 3)]),
        ("--to-offset 5", [(0, 5), (1, 3)]),
        ("--to-current", [(0, 5), (1, 3)]),
        ("--by-duration PT1M", [(0, 10), (1, 3)]),
        ("--by-duration PT1H", [(0, 0), (1, 0)]),
        ("--shift-by 2", [(0, 2), (1, 2)]),
        ("--to-datetime 2020-01-01T00:00:00Z", [(0, 0), (1, 0)]),
        ("--to-datetime 2999-12-31", [(0, 10), (1, 3)]),
    ] {
        let line = format!("reset-offsets shipping --topic orders {goal} --execute");
        shop.run(&line).await.unwrap();
        assert_eq!(shop.committed("shipping").await, expected, "{goal}");
    }
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_go_out_to_a_file_and_come_back() {
    let mut shop = Shop::open().await;
    shop.commit("shipping", &[(0, 4), (1, 1)]).await;
    let csv = shop.run("reset-offsets shipping --all-topics --to-current --export").await.unwrap();
    assert_eq!(csv, "orders,0,4\norders,1,1\n");
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("offsets.csv");
    std::fs::write(&file, csv).unwrap();
    let from_file = format!("reset-offsets billing --from-file {} --execute", file.display());
    shop.run(&from_file).await.unwrap();
    assert_eq!(shop.committed("billing").await, [(0, 4), (1, 1)]);

    std::fs::write(&file, "orders,0,99\norders,7,0\n").unwrap();
    let error = shop.run(&from_file).await.unwrap_err();
    assert_eq!((error.to_string(), error.exit_code()), ("orders-7 does not exist".to_owned(), 1));
    std::fs::write(&file, "orders,0\n").unwrap();
    assert_eq!(shop.run(&from_file).await.unwrap_err().exit_code(), 2);
    assert_eq!(shop.committed("billing").await, [(0, 4), (1, 1)]);
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_reset_or_deleted_under_the_feet_of_members() {
    let mut shop = Shop::open().await;
    shop.commit("shipping", &[(0, 4)]).await;
    let mut member = Member::new(shop.broker.address, "shipping", 9).await;
    member.join().await;
    member.joined().await;
    let id = member.id.clone();
    member.sync(&[(&id, BOTH)]).await;

    let reset = "reset-offsets shipping --all-topics --to-earliest --execute";
    let refused = shop.run(reset).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "group shipping is Stable with 1 member: its offsets can be reset once they have left"
    );
    let refused = shop.run("delete shipping").await.unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("group shipping: The group is not empty."), "{text}");
    assert_eq!(refused.exit_code(), 1);
    assert_eq!(shop.committed("shipping").await, [(0, 4)]);

    assert_eq!(member.leave().await, 0);
    shop.run(reset).await.unwrap();
    assert_eq!(shop.committed("shipping").await, [(0, 0)]);
    assert_eq!(shop.run("delete shipping").await.unwrap(), "deleted shipping\n");
    assert_eq!(shop.run("list").await.unwrap().lines().count(), 1);
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_of_a_topic_are_deleted() {
    let mut shop = Shop::open().await;
    shop.commit("shipping", &[(0, 4), (1, 1)]).await;
    let text = shop.run("delete-offsets shipping --topic orders:1").await.unwrap();
    assert_eq!(text, "topic   partition  offset\norders  1          deleted\n");
    assert_eq!(shop.committed("shipping").await, [(0, 4)]);
    let text = shop.run("delete-offsets shipping --topic returns").await.unwrap_err().to_string();
    assert_eq!(text, "group shipping has committed no offset for returns");
    shop.run("delete-offsets shipping --topic orders").await.unwrap();
    shop.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_does_not_exist_is_named() {
    let shop = Shop::open().await;
    for command in ["describe nobody", "delete nobody", "delete-offsets nobody --topic orders"] {
        let error = shop.run(command).await.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("group nobody: "), "{command}: {text}");
        assert!(text.ends_with("`highwater group list` shows what there is."), "{command}: {text}");
        assert_eq!(error.exit_code(), 1, "{command}");
    }
    let nothing = shop.run("reset-offsets nobody --all-topics --to-latest").await.unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "group nobody has committed no offsets: name topics with --topic"
    );
    for (command, exit_code) in [
        ("reset-offsets g --to-latest", 2),
        ("reset-offsets g --all-topics", 2),
        ("reset-offsets g --all-topics --to-latest --to-earliest", 2),
        ("reset-offsets g --topic orders --shift-by 1", 1),
        ("reset-offsets g --topic nothing --to-latest", 1),
        ("reset-offsets g --topic orders:5 --to-latest", 1),
        ("reset-offsets g --topic orders --by-duration 15m", 2),
        ("describe g --members --state", 2),
    ] {
        let error = shop.run(command).await.unwrap_err();
        assert_eq!(error.exit_code(), exit_code, "{command}: {error}");
    }
    shop.broker.stop().await;
}
