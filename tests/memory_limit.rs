//! The process in a hard limit of memory, under more than it can take: it slows, refuses, and lives.
//!
//! The limit is one of address space (`ulimit -v`), above which an allocation fails and the process would abort. Peers send
//! large frames that stop half-way, ask for everything and read nothing, open connections without end, and bring groups whose
//! members say as much as they may. Behind each of these short requests must be answered, and in the end everything.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/data_directories.rs"]
mod data_directories;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "support/group_requests.rs"]
mod group_requests;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "app/process.rs"]
mod process;
#[path = "support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::BytesMut;
use data_directories::DataDirectories;
use group_requests::{commit_request, join_request, offsets_with, text};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, MetadataRequest, OffsetFetchRequest,
};
use kafka_protocol::protocol::{Decodable, Encodable};
use process::Process;

/// The byte budget, and what the process may take in all: code, stacks of threads, and the arenas of the allocator count as
/// address space whether they are used or not.
const BUDGET: &str = "32MiB";
const RESIDENT_BYTES_MAX: u64 = 192 << 20;
const ADDRESS_SPACE_KIB: u64 = 3 << 19;

const TOPICS: usize = 18;
const PARTITIONS: i32 = 500;
const ROUNDS: usize = 1;
const PEERS: usize = 24;

fn frame(key: i16, version: i16, flexible: bool, body: &impl Encodable) -> Vec<u8> {
    let mut request = BytesMut::new();
    request.extend_from_slice(&key.to_be_bytes());
    request.extend_from_slice(&version.to_be_bytes());
    request.extend_from_slice(&7_i32.to_be_bytes());
    request.extend_from_slice(&(-1_i16).to_be_bytes());
    if flexible {
        request.extend_from_slice(&[0]);
    }
    body.encode(&mut request, version).expect("encodable");
    let mut frame = i32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
    frame.extend_from_slice(&request);
    frame
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the listener accepts");
    // Below the time that the broker lets anybody wait for memory.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

/// What is answered, `None` if the connection was closed instead.
fn ask(stream: &mut TcpStream, frame: &[u8]) -> Option<Vec<u8>> {
    stream.write_all(frame).ok()?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).ok()?;
    Some(answer)
}

fn versions() -> Vec<u8> {
    vec![0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]
}

fn everything() -> Vec<u8> {
    frame(3, 8, false, &MetadataRequest::default().with_topics(None))
}

fn create_topics(address: SocketAddr) {
    let topic = |number| {
        CreatableTopic::default()
            .with_name(text(&format!("topic-{number}")).into())
            .with_num_partitions(PARTITIONS)
            .with_replication_factor(1)
    };
    let request = CreateTopicsRequest::default()
        .with_topics((0..TOPICS).map(topic).collect())
        .with_timeout_ms(60_000);
    let answer = ask(&mut connect(address), &frame(19, 4, false, &request)).expect("an answer");
    let created = CreateTopicsResponse::decode(&mut &answer[4..], 4).expect("decodes");
    assert!(created.topics.iter().all(|topic| topic.error_code == 0), "{created:?}");
}

fn join(group: usize, bytes: usize) -> Vec<u8> {
    let request = join_request(&format!("group-{group}"), bytes)
        .with_session_timeout_ms(1_800_000)
        .with_rebalance_timeout_ms(600_000);
    frame(11, 3, false, &request)
}

fn commit(group: usize, topic: usize) -> Vec<u8> {
    let offsets = offsets_with(PARTITIONS, &"m".repeat(1_000));
    let (group, topic) = (format!("offsets-{group}"), format!("topic-{topic}"));
    frame(8, 6, false, &commit_request(&group, &topic, offsets))
}

fn fetch_offsets(group: usize) -> Vec<u8> {
    let request = OffsetFetchRequest::default()
        .with_group_id(text(&format!("offsets-{group}")).into())
        .with_topics(None);
    frame(9, 5, false, &request)
}

/// The most bytes of memory that the process has had in use.
fn most_resident_bytes(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it lives");
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

/// Short requests on new connections; some may be closed for want of memory, so each has a few tries.
fn assert_answers(address: SocketAddr, when: &str) {
    for _ in 0..5 {
        let answered = (0..10).any(|_| ask(&mut connect(address), &versions()).is_some());
        assert!(answered, "{when}: short requests are not answered");
    }
}

/// Frames of which half is sent, in growing numbers.
fn half_frames(address: SocketAddr) -> Vec<TcpStream> {
    let send = |_| {
        let mut stream = connect(address);
        stream.set_nonblocking(true).unwrap();
        let mut half = (8_i32 << 20).to_be_bytes().to_vec();
        half.extend_from_slice(&vec![0; 4 << 20]);
        // As much as the broker takes.
        let _ = stream.write_all(&half);
        stream
    };
    (0..PEERS).map(send).collect()
}

/// Peers that send `request` again and again and read nothing.
fn silent(address: SocketAddr, request: impl Fn(usize) -> Vec<u8>) -> Vec<TcpStream> {
    let send = |number| {
        let mut stream = connect(address);
        stream.set_nonblocking(true).unwrap();
        for round in 0..64 {
            if stream.write_all(&request(64 * number + round)).is_err() {
                break;
            }
        }
        stream
    };
    (0..PEERS).map(send).collect()
}

type Attack<'a> = Box<dyn Fn() -> Vec<TcpStream> + 'a>;

#[test]
fn a_broker_in_a_hard_limit_of_memory_outlives_more_than_it_can_take() {
    let directory = DataDirectories::one();
    let variables = [("HIGHWATER_MEMORY_BYTES", BUDGET), ("MALLOC_ARENA_MAX", "4")];
    let mut broker = Process::start_within(directory.path(), &variables, ADDRESS_SPACE_KIB);
    let address = broker.address();
    create_topics(address);
    for round in 0..ROUNDS {
        let attacks: [(&str, Attack); 5] = [
            ("everything, unread", Box::new(|| silent(address, |_| everything()))),
            ("large members", Box::new(|| silent(address, |n| join(n % 100, 100_000)))),
            ("many offsets", Box::new(|| silent(address, |n| commit(n % 200, n % TOPICS)))),
            ("offsets, unread", Box::new(|| silent(address, |n| fetch_offsets(n % 200)))),
            ("frames that stop half-way", Box::new(|| half_frames(address))),
        ];
        for (what, attack) in attacks {
            let peers = attack();
            assert_eq!(broker.ended(), None, "it ended: {what}");
            drop(peers);
            assert_answers(address, what);
            let most = most_resident_bytes(&broker);
            println!("round {round}, {what}: {} MiB", most >> 20);
            assert!(most < RESIDENT_BYTES_MAX, "{what}: {most} bytes");
        }
    }
    let answer = ask(&mut connect(address), &everything()).expect("a long answer too");
    assert!(answer.len() > TOPICS * PARTITIONS as usize * 20, "{} bytes", answer.len());
    broker.signal(libc::SIGTERM);
    assert_eq!(broker.wait(), Some(0), "a clean stop");
}
