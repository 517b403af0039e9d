//! Many long answers at a time in a small byte budget.

use kafka_protocol::messages::MetadataRequest;

use crate::broker::TestBroker;
use crate::connections::ping;
use crate::peer::{Peer, api, encoded, request};
use crate::pipelining::create_topic_of;

const METADATA: i16 = 3;
const METADATA_VERSION: i16 = 12;
const BUDGET_BYTES: usize = 8 << 20;
/// Long answers may have a quarter of it.
const ANSWERS_BYTES: usize = BUDGET_BYTES / 4;
/// What is built has turned out to be a little more than was thought, three times.
const ANSWERS_BYTES_MAX: usize = ANSWERS_BYTES + ANSWERS_BYTES / 8;
const PEERS: usize = 60;

fn everything() -> Vec<u8> {
    encoded(&MetadataRequest::default().with_topics(None), METADATA_VERSION)
}

async fn broker_with_a_long_answer() -> TestBroker {
    let broker = TestBroker::start_with(|settings| settings.memory_bytes = BUDGET_BYTES).await;
    let mut peer = Peer::connect(broker.address).await;
    for number in 0..10 {
        create_topic_of(&mut peer, &format!("topic-{number}"), 1_000).await;
    }
    broker
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_ask_for_everything_take_turns_for_memory_and_all_are_answered() {
    let broker = broker_with_a_long_answer().await;
    let mut asking = Vec::new();
    for _ in 0..PEERS {
        let address = broker.address;
        asking.push(tokio::spawn(async move {
            let mut peer = Peer::connect(address).await;
            let answer = peer.ask(api(METADATA), METADATA_VERSION, &everything()).await;
            answer.expect("an answer").len()
        }));
    }
    let memory = &broker.broker().answer_memory;
    for asking in asking {
        let len = asking.await.expect("answered");
        assert!(len > 10_000 * 20, "{len} bytes");
        assert!(memory.used_bytes() <= ANSWERS_BYTES_MAX, "{}", memory.used_bytes());
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_do_not_read_cost_others_no_short_answer() {
    let broker = broker_with_a_long_answer().await;
    let mut silent = Vec::new();
    for _ in 0..PEERS {
        let mut peer = Peer::connect(broker.address).await;
        for id in 0..8 {
            peer.send_frame(&request(api(METADATA), METADATA_VERSION, id, &everything())).await;
        }
        silent.push(peer);
    }
    let memory = &broker.broker().answer_memory;
    while memory.used_bytes() < ANSWERS_BYTES / 2 {
        assert!(ping(&mut Peer::connect(broker.address).await).await);
    }
    for _ in 0..20 {
        assert!(ping(&mut Peer::connect(broker.address).await).await);
    }
    assert!(memory.used_bytes() <= ANSWERS_BYTES_MAX, "{}", memory.used_bytes());
    assert!(broker.broker().budget.used_bytes() <= BUDGET_BYTES);
    drop(silent);
    broker.stop().await;
}
