//! Bytes that no client should send: the broker closes the connection or names the error, goes on, and holds no more memory
//! than what arrived.

use std::collections::HashMap;

use highwater::env::{Random, SeededRandom, SystemRandom};
use highwater::kafka::api_table::{APIS, Api};
use tokio::io::AsyncWriteExt;

use crate::allocations::{largest_bytes, live_bytes};
use crate::broker::TestBroker;
use crate::captures;
use crate::peer::{Peer, api, framed, request};
use crate::synthetic::{self, versions};

const METADATA: i16 = 3;
const MEBIBYTE: usize = 1024 * 1024;

/// The broker still answers.
async fn assert_alive(broker: &TestBroker) {
    let mut peer = Peer::connect(broker.address).await;
    assert!(peer.ask(api(18), 0, &[]).await.is_some(), "the broker answers no more");
}

/// The connection ends, or the request is answered with an error; both are fine.
async fn answered_or_closed(peer: &mut Peer) {
    // Says that no more is coming, so that a frame that the broker takes for unfinished ends as well.
    let _ = peer.stream.shutdown().await;
    while peer.frame().await.is_some() {}
}

/// The shortest capture of each (API, version) served.
fn shortest_captures() -> Vec<captures::Capture> {
    let mut shortest = HashMap::new();
    for capture in captures::all() {
        if Api::find(capture.key).is_none_or(|api| !api.versions.contains(&capture.version)) {
            continue;
        }
        let key = (capture.key, capture.version);
        let held: &mut Option<captures::Capture> = shortest.entry(key).or_default();
        if held.as_ref().is_none_or(|held| capture.request.len() < held.request.len()) {
            *held = Some(capture);
        }
    }
    shortest.into_values().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_cut_at_every_byte_leave_the_broker_standing() {
    let broker = TestBroker::start().await;
    for capture in shortest_captures() {
        for len in 0..capture.request.len() {
            // As a frame of its own, with a length that fits, and as a frame whose rest never comes.
            let mut whole = Peer::connect(broker.address).await;
            whole.send_frame(&capture.request[..len]).await;
            answered_or_closed(&mut whole).await;
            let mut partial = Peer::connect(broker.address).await;
            partial.send(&framed(&capture.request)[..len]).await;
            drop(partial);
        }
    }
    assert_alive(&broker).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_frames_leave_the_broker_standing() {
    let seed = SystemRandom.next_u64();
    println!("random frames: seed {seed}");
    let dice = SeededRandom::new(seed);
    let broker = TestBroker::start().await;
    for round in 0..3000 {
        let len = (dice.next_u64() % 200) as usize;
        let noise: Vec<_> = (0..len).map(|_| dice.next_u64() as u8).collect();
        let payload = if round % 3 == 0 {
            noise
        } else {
            let api = &APIS[dice.next_u64() as usize % APIS.len()];
            let count = u64::from(api.versions.end().abs_diff(*api.versions.start())) + 1;
            let version = api.versions.start() + (dice.next_u64() % count) as i16;
            request(api, version, round, &damaged(&dice, api, version, noise))
        };
        let mut peer = Peer::connect(broker.address).await;
        peer.send_frame(&payload).await;
        answered_or_closed(&mut peer).await;
    }
    assert_alive(&broker).await;
    broker.stop().await;
}

/// Noise, or a sound body with one byte changed.
fn damaged(dice: &SeededRandom, api: &Api, version: i16, noise: Vec<u8>) -> Vec<u8> {
    let mut body = synthetic::body(api, version).to_vec();
    if body.is_empty() || dice.next_u64().is_multiple_of(2) {
        return noise;
    }
    let at = dice.next_u64() as usize % body.len();
    body[at] = dice.next_u64() as u8;
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_that_nobody_can_send_close_the_connection_and_reserve_nothing() {
    let broker = TestBroker::start().await;
    for (api, version) in versions() {
        for body in synthetic::bodies_with_a_huge_count(api, version) {
            let mut peer = Peer::connect(broker.address).await;
            peer.send_frame(&request(api, version, 1, &body)).await;
            peer.closed().await;
        }
    }
    // The generated decoder alone would have asked for more than a hundred GB and ended the process.
    assert!(largest_bytes() < 64 * MEBIBYTE, "an allocation of {}", largest_bytes());
    assert_alive(&broker).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_none_close_the_connection() {
    let broker = TestBroker::start().await;
    let limit = broker.broker().settings.socket_request_max_bytes as i32;
    let too_long = (limit + 1).to_be_bytes();
    let lengths: [&[u8]; 6] = [
        &[0, 0, 0, 0],
        &[0, 0, 0, 7, 0, 3, 0, 1, 0, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0x80, 0, 0, 0],
        &[0x7f, 0xff, 0xff, 0xff],
        &too_long,
    ];
    let strangers: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /topics HTTP/1.1\r\n\r\n",
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for bytes in lengths.into_iter().chain(strangers) {
        let mut peer = Peer::connect(broker.address).await;
        peer.send(bytes).await;
        peer.closed().await;
    }
    assert_alive(&broker).await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_sound_requests_leave_before_a_bad_one_closes_the_connection() {
    let broker = TestBroker::start().await;
    let mut peer = Peer::connect(broker.address).await;
    let sound = framed(&request(api(METADATA), 1, 1, &[0, 0, 0, 0]));
    let bad = framed(&request(api(METADATA), 1, 2, &[0x7f, 0xff, 0xff, 0xff]));
    peer.send(&[sound.clone(), sound, bad].concat()).await;
    assert!(peer.frame().await.is_some());
    assert!(peer.frame().await.is_some());
    peer.closed().await;
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn announced_frames_cost_what_has_arrived_of_them() {
    const PEERS: usize = 200;
    let broker = TestBroker::start().await;
    assert_alive(&broker).await;
    let before = live_bytes();
    let mut peers = Vec::new();
    for _ in 0..PEERS {
        let mut peer = Peer::connect(broker.address).await;
        peer.send(&(100 * MEBIBYTE as i32).to_be_bytes()).await;
        peers.push(peer);
    }
    assert_alive(&broker).await;
    let each = live_bytes().saturating_sub(before) / PEERS;
    assert!(each < 64 * 1024, "{each} bytes for each connection");
    drop(peers);
    broker.stop().await;
}
