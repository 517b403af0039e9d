//! Life and death of connections: limits, idle time, memory, a stop.

use std::time::Duration;

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};

use crate::broker::TestBroker;
use crate::member::Member;
use crate::peer::{Peer, api, encoded, request};
use crate::pipelining::{create_topic, topic_name};

const API_VERSIONS: i16 = 18;
const FETCH: i16 = 1;

pub(crate) async fn ping(peer: &mut Peer) -> bool {
    peer.ask(api(API_VERSIONS), 0, &[]).await.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_and_busy_ones_are_not() {
    let broker = TestBroker::start_with(|settings| settings.connections_max_idle_ms = 400).await;
    let mut idle = Peer::connect(broker.address).await;
    let mut busy = Peer::connect(broker.address).await;
    assert!(ping(&mut idle).await);
    let mut closed = std::pin::pin!(idle.closed());
    let mut pings = 0;
    loop {
        tokio::select! {
            () = &mut closed => break,
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                assert!(ping(&mut busy).await, "closed after {pings} requests");
                pings += 1;
            }
        }
    }
    assert!(pings >= 4, "closed before its time");
    assert!(ping(&mut busy).await);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_gets_so_many_connections_and_no_more() {
    let broker = TestBroker::start_with(|settings| settings.max_connections_per_ip = 2).await;
    let mut first = Peer::connect(broker.address).await;
    let mut second = Peer::connect(broker.address).await;
    assert!(ping(&mut first).await && ping(&mut second).await);
    Peer::connect(broker.address).await.closed().await;
    drop(first);
    // The broker sees the end of the first in its own time.
    while !ping(&mut Peer::connect(broker.address).await).await {}
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_total_wait_for_their_turn() {
    let broker = TestBroker::start_with(|settings| settings.max_connections = 1).await;
    let mut first = Peer::connect(broker.address).await;
    assert!(ping(&mut first).await);
    let mut second = Peer::connect(broker.address).await;
    second.send_frame(&request(api(API_VERSIONS), 0, 1, &[])).await;
    assert!(ping(&mut first).await);
    drop(first);
    assert!(second.frame().await.is_some());
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_come_too_fast_wait_and_are_served() {
    let broker = TestBroker::start_with(|settings| settings.max_connection_creation_rate = 5).await;
    // Ten seconds' worth may come at once. On a slow machine more are let in meanwhile.
    let held_back = &broker.broker().metrics.connections_held_back;
    let mut served = 0;
    while held_back.get() == 0 {
        assert!(ping(&mut Peer::connect(broker.address).await).await);
        served += 1;
    }
    assert!(served > 50, "only {served}");
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_larger_than_the_byte_budget_closes_the_connection() {
    let broker = TestBroker::start_with(|settings| settings.memory_bytes = 1024 * 1024).await;
    let mut peer = Peer::connect(broker.address).await;
    peer.send(&(8_i32 * 1024 * 1024).to_be_bytes()).await;
    peer.send(&vec![0; 8 * 1024 * 1024]).await;
    peer.closed().await;
    assert!(ping(&mut Peer::connect(broker.address).await).await);
    broker.stop().await;
}

fn long_fetch(topic: &str) -> Vec<u8> {
    let partition = FetchPartition::default().with_partition_max_bytes(1024);
    let topic =
        FetchTopic::default().with_topic(topic_name(topic)).with_partitions(vec![partition]);
    let fetch = FetchRequest::default()
        .with_max_wait_ms(600_000)
        .with_min_bytes(1)
        .with_max_bytes(1024)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    encoded(&fetch, 11)
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_vanish_while_they_wait_leave_nothing_behind() {
    const PEERS: usize = 200;
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "waiting").await;
    let metrics = &broker.broker().metrics;
    let mut peers = Vec::new();
    for _ in 0..PEERS {
        let mut peer = Peer::connect(broker.address).await;
        peer.send_frame(&request(api(FETCH), 11, 1, &long_fetch("waiting"))).await;
        peers.push(peer);
    }
    while metrics.fetches_waiting.get() < PEERS as i64 {
        tokio::task::yield_now().await;
    }
    for reset in peers.drain(..PEERS / 2) {
        reset.stream.set_zero_linger().expect("a socket");
    }
    drop(peers);
    while metrics.connections.get() > 1 || metrics.fetches_waiting.get() > 0 {
        assert!(ping(&mut peer).await, "others are served");
    }
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_fetches_that_wait_for_data() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "waiting").await;
    peer.send_frame(&request(api(FETCH), 11, 1, &long_fetch("waiting"))).await;
    let mut other = Peer::connect(broker.address).await;
    assert!(ping(&mut other).await);
    let began = std::time::Instant::now();
    broker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "the stop took its whole time");
    peer.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_members_that_wait_for_others() {
    let broker = TestBroker::start().await;
    let mut first = Member::new(broker.address, "g", 9).await;
    first.join().await;
    first.joined().await;
    first.sync(&[]).await;
    // It waits for the first one, which has a minute to join again.
    let mut second = Member::new(broker.address, "g", 9).await;
    second.join().await;
    first.hears_of_a_rebalance().await;
    let began = std::time::Instant::now();
    broker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "the stop took its whole time");
    while second.peer.frame().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_behind_a_waiting_fetch_is_answered_behind_it() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    create_topic(&mut peer, "order").await;
    let short = {
        let mut fetch = long_fetch("order");
        // max_wait_ms follows the replica id.
        fetch[4..8].copy_from_slice(&300_i32.to_be_bytes());
        fetch
    };
    peer.send_frame(&request(api(FETCH), 11, 1, &short)).await;
    peer.send_frame(&request(api(API_VERSIONS), 0, 2, &[])).await;
    let ids: Vec<_> = [peer.frame().await, peer.frame().await]
        .into_iter()
        .map(|answer| answer.expect("an answer")[3])
        .collect();
    assert_eq!(ids, [1, 2]);
    broker.stop().await;
}
