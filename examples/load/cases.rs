//! The cases: each loads one broker and says in one line what it cost.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::broker::Target;
use crate::groups;
use crate::partitions::partitions;
use crate::transactions::{Version, transactions};
use crate::wire::{Connection, produce_error, produce_request};

type Case = fn(&mut Target, u64) -> io::Result<String>;

/// Name and function of each case.
pub(crate) const CASES: &[(&str, Case)] = &[
    ("bulk100", |target, seconds| bulk(target, seconds, 100)),
    ("bulk1024", |target, seconds| bulk(target, seconds, 1024)),
    ("small", |target, seconds| small(target, seconds)),
    ("rate", |target, seconds| rate(target, seconds)),
    ("single", |target, seconds| single(target, seconds)),
    ("fetch", |target, seconds| fetch(target, seconds)),
    ("partitions", |target, _| partitions(target)),
    ("commits", |target, seconds| groups::commits(target, seconds)),
    ("members", |target, seconds| groups::members(target, seconds)),
    ("groups", |target, seconds| groups::single_member_groups(target, seconds)),
    ("transactions", |target, seconds| transactions(target, seconds, Version::V2)),
    ("transactions1", |target, seconds| transactions(target, seconds, Version::V1)),
];

const PARTITIONS: i32 = 6;
const BATCH_BYTES: usize = 64 << 10;
const IN_FLIGHT: usize = 5;
/// Requests of the open loop, each with one record for each of these.
const RATE: u64 = 20_000;
const RATE_BURST: u64 = 20;

/// One connection for each partition, batches of 64 KiB, five requests in flight on each.
fn bulk(target: &Target, seconds: u64, size: usize) -> io::Result<String> {
    let records = BATCH_BYTES / (size + 8);
    let requests =
        (0..PARTITIONS).map(|p| produce_request(&target.topic, &[p], records, size)).collect();
    let load =
        closed_loop(target, requests, IN_FLIGHT, Duration::from_secs(seconds), records as u64)?;
    let millions = load.records as f64 / 1e6;
    Ok(format!(
        "{:.2} M records/s ({:.0} MB/s), broker CPU {:.3} s per million records",
        millions / load.elapsed.as_secs_f64(),
        load.records as f64 * size as f64 / 1e6 / load.elapsed.as_secs_f64(),
        load.cpu.as_secs_f64() / millions,
    ))
}

/// One record of 100 bytes in a request, eight connections, one request in flight on each.
fn small(target: &Target, seconds: u64) -> io::Result<String> {
    let requests =
        (0..8).map(|c| produce_request(&target.topic, &[c % PARTITIONS], 1, 100)).collect();
    let load = closed_loop(target, requests, 1, Duration::from_secs(seconds), 1)?;
    Ok(format!(
        "{:.0} requests/s, broker CPU {:.1} us per request",
        load.records as f64 / load.elapsed.as_secs_f64(),
        load.cpu.as_secs_f64() * 1e6 / load.records as f64,
    ))
}

struct Load {
    records: u64,
    elapsed: Duration,
    cpu: Duration,
}

/// One thread and connection for each request, which is sent again and again.
fn closed_loop(
    target: &Target,
    requests: Vec<Vec<u8>>,
    in_flight: usize,
    time: Duration,
    records_each: u64,
) -> io::Result<Load> {
    Connection::open(&target.address)?.create_topic(&target.topic, PARTITIONS)?;
    let (cpu, began) = (target.cpu(), Instant::now());
    let threads: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let (address, topic) = (target.address.clone(), target.topic.clone());
            thread::spawn(move || repeat(&address, &topic, &request, in_flight, began + time))
        })
        .collect();
    let mut acknowledged = 0;
    for thread in threads {
        acknowledged += thread.join().expect("a load thread does not panic")?;
    }
    let load = Load {
        records: acknowledged * records_each,
        elapsed: began.elapsed(),
        cpu: target.cpu() - cpu,
    };
    let stored = Connection::open(&target.address)?.records_in(&target.topic, PARTITIONS)?;
    if stored == load.records {
        Ok(load)
    } else {
        Err(io::Error::other(format!("{} records acknowledged, {stored} stored", load.records)))
    }
}

/// Keeps `in_flight` requests on their way until `end`; how many were acknowledged.
fn repeat(
    address: &str,
    topic: &str,
    request: &[u8],
    in_flight: usize,
    end: Instant,
) -> io::Result<u64> {
    let mut connection = Connection::open(address)?;
    let mut acknowledged = 0;
    for _ in 0..in_flight {
        connection.send(request)?;
    }
    while Instant::now() < end {
        accept(connection.receive()?, topic)?;
        acknowledged += 1;
        connection.send(request)?;
    }
    for _ in 0..in_flight {
        accept(connection.receive()?, topic)?;
        acknowledged += 1;
    }
    Ok(acknowledged)
}

fn accept(answer: &[u8], topic: &str) -> io::Result<()> {
    match produce_error(answer, topic) {
        0 => Ok(()),
        code => Err(io::Error::other(format!("Produce: error {code}"))),
    }
}

/// One record in flight: the floor of the round trip.
fn single(target: &Target, seconds: u64) -> io::Result<String> {
    let mut connection = Connection::open(&target.address)?;
    let topic = &target.topic;
    connection.create_topic(topic, 1)?;
    let request = produce_request(&target.topic, &[0], 1, 100);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut times = Vec::new();
    while Instant::now() < end {
        let began = Instant::now();
        connection.send(&request)?;
        accept(connection.receive()?, topic)?;
        times.push(began.elapsed());
    }
    Ok(format!("round trip {}", percentiles(times)))
}

/// Open loop: a burst each millisecond, whether or not the last ones are answered; latency counts from the due time.
fn rate(target: &Target, seconds: u64) -> io::Result<String> {
    let mut sender = Connection::open(&target.address)?;
    sender.create_topic(&target.topic, PARTITIONS)?;
    let mut receiver = sender.try_clone()?;
    let topic = target.topic.clone();
    let (tell, due_times) = mpsc::channel::<Instant>();
    let reader = thread::spawn(move || -> io::Result<Vec<Duration>> {
        let mut times = Vec::new();
        for due in due_times {
            accept(receiver.receive()?, &topic)?;
            times.push(due.elapsed());
        }
        Ok(times)
    });
    let requests: Vec<_> = (0..PARTITIONS)
        .map(|p| produce_request(&target.topic, &[p], RATE_BURST as usize, 100))
        .collect();
    let bursts = seconds * RATE / RATE_BURST;
    let (cpu, began) = (target.cpu(), Instant::now());
    for burst in 0..bursts {
        let due =
            began + Duration::from_secs(1).mul_f64(burst as f64 * RATE_BURST as f64 / RATE as f64);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        tell.send(due).map_err(io::Error::other)?;
        sender.send(&requests[burst as usize % requests.len()])?;
    }
    drop(tell);
    let times = reader.join().expect("the reader does not panic")?;
    let cores = (target.cpu() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
    Ok(format!("{RATE} records/s, latency {}, broker {cores:.2} cores", percentiles(times)))
}

/// Reads back what bulk produce wrote: from memory while it is there, from files before that.
fn fetch(target: &Target, seconds: u64) -> io::Result<String> {
    let records = BATCH_BYTES / (1024 + 8);
    let requests =
        (0..PARTITIONS).map(|p| produce_request(&target.topic, &[p], records, 1024)).collect();
    let load = closed_loop(
        target,
        requests,
        IN_FLIGHT,
        Duration::from_secs(seconds.min(3)),
        records as u64,
    )?;
    let mut connection = Connection::open(&target.address)?;
    let (cpu, began) = (target.cpu(), Instant::now());
    let (mut bytes, mut read) = (0, 0);
    for partition in 0..PARTITIONS {
        let mut offset = 0;
        loop {
            let (got, next) = connection.fetch(&target.topic, partition, offset)?;
            bytes += got;
            read += (next - offset).unsigned_abs();
            if next == offset || read == load.records {
                break;
            }
            offset = next;
        }
    }
    if read != load.records {
        return Err(io::Error::other(format!("{read} records read, {} written", load.records)));
    }
    let gigabytes = bytes as f64 / 1e9;
    Ok(format!(
        "{:.2} GB at {:.2} GB/s, broker CPU {:.2} s per GB",
        gigabytes,
        gigabytes / began.elapsed().as_secs_f64(),
        (target.cpu() - cpu).as_secs_f64() / gigabytes,
    ))
}

pub(crate) fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(index).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    format!(
        "p50 {:.3} ms, p99 {:.3} ms, p99.9 {:.3} ms, max {:.3} ms",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}
