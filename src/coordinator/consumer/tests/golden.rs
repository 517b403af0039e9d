//! A group as Apache Kafka 4.4.0 wrote it: two librdkafka 2.16 consumers of topic `t1` with four partitions, the second with a
//! pattern, until both have their half. Offset commits are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::coordinator::machine::KeyValue;
use crate::metadata::Topic;
use crate::types::{Timestamp, TopicName};

const TOPIC: [u8; 16] = 0x729a_5ecf_4388_4d0d_aa62_4c58_7725_5dba_u128.to_be_bytes();
const A: &str = "g1R/T4TgRbe3CtXZ/Uit+w";
const B: &str = "DycQJMI9Tv2RIlgXAqrwwg";
const JOINED_AT: i64 = 1_796_030_299_045;

/// Keys and values, in order.
const KAFKAS: [(&str, &str); 15] = [
    (
        "00050002737700166731522f54345467526265334374585a2f5569742b77",
        "0000000002610b2f3132372e302e302e310203743101000493e00001000100",
    ),
    ("000300027377", "000000000002010008dfea279fbe011011"),
    (
        "00070002737700166731522f54345467526265334374585a2f5569742b77",
        "000002729a5ecf43884d0daa624c5877255dba05000000000000000100000002000000030000",
    ),
    ("000600027377", "000000000002010008000001a22bbf7ba5"),
    (
        "00080002737700166731522f54345467526265334374585a2f5569742b77",
        "000000000002000000000002729a5ecf43884d0daa624c5877255dba05000000000000000100000002000000030100110500\
         0000020000000200000002000000020100",
    ),
    (
        "0005000273770016447963514a4d493954763252496c6758417172777767",
        "0000000002620b2f3132372e302e302e310107285e742e2a29000493e00001000100",
    ),
    (
        "0008000273770016447963514a4d493954763252496c6758417172777767",
        "0000000000020000000000010100",
    ),
    ("0010000273770006285e742e2a29", "0000020374310000000000000222000001a22bbf970200"),
    ("000300027377", "000000000003010008dfea279fbe011011"),
    (
        "0007000273770016447963514a4d493954763252496c6758417172777767",
        "000002729a5ecf43884d0daa624c5877255dba0300000002000000030000",
    ),
    (
        "00070002737700166731522f54345467526265334374585a2f5569742b77",
        "000002729a5ecf43884d0daa624c5877255dba0300000000000000010000",
    ),
    ("000600027377", "000000000003010008000001a22bbfa2da"),
    (
        "00080002737700166731522f54345467526265334374585a2f5569742b77",
        "000000000002000000020102729a5ecf43884d0daa624c5877255dba03000000000000000101000903000000020000000202\
         729a5ecf43884d0daa624c5877255dba03000000020000000301000903000000020000000200",
    ),
    (
        "00080002737700166731522f54345467526265334374585a2f5569742b77",
        "000000000003000000020002729a5ecf43884d0daa624c5877255dba03000000000000000101000903000000020000000201\
         00",
    ),
    (
        "0008000273770016447963514a4d493954763252496c6758417172777767",
        "000000000003000000020002729a5ecf43884d0daa624c5877255dba03000000020000000301000903000000030000000301\
         00",
    ),
];
/// How many of them the first join wrote.
const OF_FIRST_JOIN: usize = 5;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |index: usize| u8::from_str_radix(&hex[index..index + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn kafkas() -> Vec<KeyValue> {
    KAFKAS
        .iter()
        .map(|(key, value)| KeyValue { key: bytes(key), value: Some(bytes(value)) })
        .collect()
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    let partitions = (0..4).map(|_| crate::coordinator::stepper::partition()).collect();
    let name = TopicName::new("t1").expect("a name");
    let topic = Arc::new(Topic { id: TopicId::from_bytes(TOPIC), name: name.clone(), partitions });
    let image = &mut bench.stepper.image;
    Arc::make_mut(&mut image.topics).insert(name, Arc::clone(&topic));
    Arc::make_mut(&mut image.topics_by_id).insert(topic.id, topic);
    bench.stepper.now.wall = Timestamp::new(JOINED_AT);
    bench
}

fn librdkafka(id: &str, client: &str) -> Call<ConsumerGroupHeartbeatRequest> {
    let request = Consumer::new(id, &["t1"])
        .full()
        .with_group_id(text("sw").into())
        .with_rebalance_timeout_ms(300_000);
    let client = Client { id: client.into(), host: "/127.0.0.1".into() };
    Call { version: HEARTBEAT, client, request }
}

#[test]
fn the_first_join_writes_kafkas_bytes() {
    let mut bench = bench();
    bench.stepper.ask(GroupCommand::ConsumerHeartbeat(librdkafka(A, "a")));
    assert_eq!(bench.stepper.log.records(), kafkas()[..OF_FIRST_JOIN]);
}

#[test]
fn a_group_of_kafka_goes_on_here_without_a_change() {
    let mut bench = bench();
    bench.stepper.restart_with(kafkas());
    for (id, partitions) in [(A, 0..2), (B, 2..4)] {
        let owned = partitions.map(|at| (TopicId::from_bytes(TOPIC), at)).collect::<BTreeSet<_>>();
        let member = Consumer { epoch: 3, owned, ..Consumer::new(id, &[]) };
        let client = if id == A { "a" } else { "b" };
        let mut call = librdkafka(id, client);
        call.request = member.owning().with_group_id(text("sw").into());
        let GroupReply::ConsumerHeartbeat(response) =
            bench.stepper.ask(GroupCommand::ConsumerHeartbeat(call))
        else {
            panic!("another answer");
        };
        assert_eq!((response.error_code, response.member_epoch), (0, 3), "{id}");
        assert_eq!(response.assignment, None, "{id}");
    }
    assert_eq!(bench.stepper.log.records(), kafkas(), "nothing was written");
}
