//! `highwater txn` and the metrics of transactions, as an operator meets them.

use highwater::cli::CommandError;
use highwater::env::{Clock, SystemClock};
use highwater::types::Timestamp;
use kafka_protocol::messages::{AddPartitionsToTxnResponse, EndTxnResponse, ProduceResponse};

use crate::broker::{TestBroker, given};
use crate::calls::{PRODUCE, Session};
use crate::operator::{self, fields, value};
use crate::transactional::{ADD_PARTITIONS_TO_TXN, END_TXN, Producer};

/// What the records of the tests are older than: one minute, but not two.
const AGE_MS: i64 = 90_000;

/// A broker with the topic `orders` of two partitions.
struct Shop {
    session: Session,
}

impl Shop {
    async fn open(settings: &[(&str, &str)]) -> Self {
        let http = Some("127.0.0.1:0".to_owned());
        let broker =
            TestBroker::start_from(given(settings), |settings| settings.http_listen = http).await;
        let mut session = Session::with(broker).await;
        session.create("orders", 2, &[]).await;
        Self { session }
    }

    async fn run(&self, words: &str) -> Result<String, CommandError> {
        operator::run(&self.session.broker, &format!("txn {words}")).await
    }

    async fn producer(&mut self, id: &str) -> Producer {
        Producer::begin(&mut self.session, id, 600_000).await
    }

    async fn add(&mut self, producer: &Producer, partition: i32) {
        let add = producer.add("orders", partition);
        let answer: AddPartitionsToTxnResponse =
            self.session.call(ADD_PARTITIONS_TO_TXN, 3, &add).await;
        let result = &answer.results_by_topic_v3_and_below[0].results_by_partition[0];
        assert_eq!(result.partition_error_code, 0);
    }

    /// Three records; the code of the answer.
    async fn write(&mut self, producer: &Producer, partition: i32) -> i16 {
        let time = Timestamp::new(SystemClock::default().wall().get() - AGE_MS);
        let request = producer.produce(("orders", partition), 0, &[time; 3]);
        let answer: ProduceResponse = self.session.call(PRODUCE, 11, &request).await;
        answer.responses[0].partition_responses[0].error_code
    }

    async fn end(&mut self, producer: &Producer, commits: bool) {
        let answer: EndTxnResponse = self.session.call(END_TXN, 3, &producer.end(commits)).await;
        assert_eq!(answer.error_code, 0);
    }

    async fn metric(&self, series: &str) -> Option<f64> {
        value(&operator::metrics(&self.session.broker).await, series)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_listed_described_and_counted() {
    let mut shop = Shop::open(&[]).await;
    let shipping = shop.producer("shipping").await;
    let billing = shop.producer("billing").await;
    for partition in [0, 1] {
        shop.add(&shipping, partition).await;
        assert_eq!(shop.write(&shipping, partition).await, 0);
    }
    let (id, epoch) = (shipping.id.to_string(), shipping.epoch.to_string());
    let listed = shop.run("list").await.unwrap();
    let idle = ["billing", &billing.id.to_string(), "Empty"];
    assert_eq!(fields(&listed)[1..], [idle, ["shipping", &id, "Ongoing"]]);
    for (line, rows) in [
        ("list --state ongoing", 1),
        ("list --state prepare-commit,dead", 0),
        ("list --longer-than PT1H", 0),
        ("list --pattern ship.*", 1),
        ("list --pattern ship", 0),
    ] {
        assert_eq!(shop.run(line).await.unwrap().lines().count(), 1 + rows, "{line}");
    }
    let described = shop.run("describe shipping").await.unwrap();
    let head =
        format!("shipping  Ongoing  producer {id} epoch {epoch}  timeout 10m0s\n  open one begun ");
    assert!(described.starts_with(&head), "{described}");
    assert!(described.ends_with("\n  orders:0,1\n"), "{described}");
    let producers = shop.run("producers --topic orders --partition 0").await.unwrap();
    let row = &fields(&producers)[1];
    assert_eq!(row[..4], [id.as_str(), &epoch, "-1", "2"]);
    assert!(row[4].starts_with("1m3"), "{producers}");
    assert_eq!(row[5..], ["ago", "0"]);

    let lag = "kafka_cluster_partition_laststableoffsetlag{topic=\"orders\",partition=\"0\"}";
    let ongoing = "highwater_transactions_open{state=\"ongoing\"}";
    assert_eq!(shop.metric(ongoing).await, Some(1.0));
    assert_eq!(shop.metric(lag).await, Some(3.0));
    assert_eq!(shop.metric("highwater_transactions_complete").await, Some(1.0));
    shop.end(&shipping, true).await;
    assert_eq!(shop.metric(ongoing).await, Some(0.0));
    assert_eq!(shop.metric("highwater_transactions_committed_total").await, Some(1.0));
    shop.session.broker.stop().await;
}

/// A broker that does not verify takes a batch that no coordinator knows of.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_nobody_will_end_is_found_and_ended() {
    let mut shop = Shop::open(&[("transaction.partition.verification.enable", "false")]).await;
    let lost = shop.producer("lost").await;
    assert_eq!(shop.write(&lost, 1).await, 0);
    let known = shop.producer("known").await;
    shop.add(&known, 0).await;
    assert_eq!(shop.write(&known, 0).await, 0);

    assert_eq!(
        shop.run("find-hanging").await.unwrap().lines().count(),
        1,
        "younger than 15 minutes"
    );
    for line in
        ["find-hanging", "find-hanging --topic orders", "find-hanging --topic orders --partition 1"]
    {
        let found = shop.run(&format!("{line} --max-transaction-timeout 1")).await.unwrap();
        let rows = fields(&found);
        let expected = ["orders", "1", &lost.id.to_string(), &lost.epoch.to_string(), "-1", "0"];
        assert_eq!((rows.len(), &rows[1][..6]), (2, &expected[..]), "{line}: {found}");
    }
    let refused =
        shop.run("abort --topic orders --partition 1 --start-offset 7").await.unwrap_err();
    assert_eq!(refused.exit_code(), 1, "{refused}");
    let done = shop.run("abort --topic orders --partition 1 --start-offset 0").await.unwrap();
    assert_eq!(
        done,
        format!(
            "aborted the transaction of producer {} epoch {} in orders-1\n",
            lost.id, lost.epoch
        )
    );
    let left = shop.run("find-hanging --max-transaction-timeout 1").await.unwrap();
    assert_eq!(left.lines().count(), 1, "{left}");
    let lag = "kafka_cluster_partition_laststableoffsetlag{topic=\"orders\",partition=\"1\"}";
    assert_eq!(shop.metric(lag).await, Some(0.0));
    shop.session.broker.stop().await;
}

/// Where nobody has ever used a group or a transaction, no topic keeps their state and no broker coordinates them.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_nobody_has_used_is_told_as_such_on_a_fresh_broker() {
    for (line, said) in [
        ("txn describe nobody", "transactional id nobody: "),
        ("group describe nobody", "group nobody: "),
        ("group delete nobody", "group nobody: "),
    ] {
        let session = Session::start().await;
        let refused = operator::run(&session.broker, line).await.unwrap_err();
        assert_eq!(refused.exit_code(), 1, "{line}: {refused}");
        let command = line.split(' ').next().unwrap();
        let text = refused.to_string();
        assert!(text.starts_with(said), "{line}: {text}");
        assert!(
            text.ends_with(&format!("\n`highwater {command} list` shows what there is.")),
            "{line}: {text}"
        );
        session.broker.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_and_what_is_asked_wrong_is_said() {
    let shop = Shop::open(&[]).await;
    assert_eq!(shop.run("list").await.unwrap().lines().count(), 1, "no topic of transactions yet");
    for (line, code) in [
        ("describe nobody", 1),
        ("producers --topic nothing --partition 0", 1),
        ("list --state open", 2),
        ("find-hanging --partition 0", 2),
        ("abort --topic orders --partition 0", 2),
        ("abort --topic orders --partition 0 --start-offset 1 --producer-id 1", 2),
        ("abort --topic orders --partition 0 --producer-id 1 --producer-epoch 0", 2),
    ] {
        assert_eq!(shop.run(line).await.unwrap_err().exit_code(), code, "{line}");
    }
    shop.session.broker.stop().await;
}
