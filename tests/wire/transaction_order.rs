//! Whole transactions in flight on one connection: each request takes effect before the next one does.

use bytes::Bytes;
use highwater::types::Timestamp;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::calls::{LIST_OFFSETS, PRODUCE, Session};
use crate::peer::{api, body_of, encoded, framed, request};
use crate::pipelining::topic_name;
use crate::transactional::{ADD_PARTITIONS_TO_TXN, END_TXN, Producer};

const READ_COMMITTED: i8 = 1;

async fn begin(session: &mut Session) -> Producer {
    Producer::begin(session, "pipelined", 60_000).await
}

fn produce(producer: &Producer, sequence: i32) -> ProduceRequest {
    producer.produce(("t", 0), sequence, &[Timestamp::new(0)])
}

/// Requests that are sent at once.
#[derive(Default)]
struct Burst {
    sent: Vec<(i16, i16)>,
    bytes: Vec<u8>,
}

impl Burst {
    fn add(&mut self, key: i16, version: i16, message: &impl Encodable) {
        let id = self.sent.len() as i32;
        let frame = request(api(key), version, id, &encoded(message, version));
        self.bytes.extend(framed(&frame));
        self.sent.push((key, version));
    }

    /// The error code in each answer, which come in the order of the requests.
    async fn codes(self, session: &mut Session) -> Vec<i16> {
        session.peer.send(&self.bytes).await;
        let mut codes = Vec::new();
        for (id, (key, version)) in self.sent.into_iter().enumerate() {
            let frame = session.peer.frame().await.expect("an answer");
            codes.push(code(key, version, body_of(api(key), version, id as i32, &frame)));
        }
        codes
    }
}

fn code(key: i16, version: i16, mut body: Bytes) -> i16 {
    match key {
        PRODUCE => {
            let answer = ProduceResponse::decode(&mut body, version).expect("decodes");
            answer.responses[0].partition_responses[0].error_code
        }
        ADD_PARTITIONS_TO_TXN => {
            let answer = AddPartitionsToTxnResponse::decode(&mut body, version).expect("decodes");
            let topic = &answer.results_by_topic_v3_and_below[0];
            topic.results_by_partition[0].partition_error_code
        }
        _ => EndTxnResponse::decode(&mut body, version).expect("decodes").error_code,
    }
}

/// The end of what readers of committed records see, once the transaction is over.
async fn stable_end(session: &mut Session) -> i64 {
    let partition = ListOffsetsPartition::default()
        .with_partition_index(0)
        .with_current_leader_epoch(-1)
        .with_timestamp(-1);
    let topic =
        ListOffsetsTopic::default().with_name(topic_name("t")).with_partitions(vec![partition]);
    let asked = ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(READ_COMMITTED)
        .with_topics(vec![topic]);
    let answer: ListOffsetsResponse = session.call(LIST_OFFSETS, 6, &asked).await;
    answer.topics[0].partitions[0].offset
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_transaction_of_version_1_may_be_in_flight() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let mut end_offset = 0;
    for round in 0..20 {
        // A producer that begins waits for the end of its transaction before.
        let me = begin(&mut session).await;
        let mut burst = Burst::default();
        burst.add(ADD_PARTITIONS_TO_TXN, 3, &me.add("t", 0));
        burst.add(PRODUCE, 7, &produce(&me, 0));
        burst.add(PRODUCE, 7, &produce(&me, 1));
        burst.add(END_TXN, 4, &me.end(round % 2 == 0));
        assert_eq!(burst.codes(&mut session).await, [0; 4], "round {round}");
        end_offset += 3;
        begin(&mut session).await;
        assert_eq!(stable_end(&mut session).await, end_offset, "round {round}");
    }
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_transaction_of_version_2_may_be_in_flight() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let mut me = begin(&mut session).await;
    for round in 0..20 {
        let mut burst = Burst::default();
        burst.add(PRODUCE, 12, &produce(&me, 0));
        burst.add(PRODUCE, 12, &produce(&me, 1));
        burst.add(END_TXN, 5, &me.end(round % 2 == 0));
        me.epoch += 1;
        // Everybody knows what the epoch will be, so the next transaction may be in flight as well.
        burst.add(END_TXN, 5, &me.end(false));
        let codes = burst.codes(&mut session).await;
        assert_eq!(codes[..3], [0; 3], "round {round}");
        if codes[3] == 0 {
            me.epoch += 1;
        }
        assert!([0, 51].contains(&codes[3]), "round {round}: {}", codes[3]);
    }
    session.broker.stop().await;
}
