//! From the start of the process to its first correct answer, and what it takes when it does nothing.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, produce_request};
use crate::broker::{Meter, Stop, Target};
use crate::fetcher::Fetcher;
use crate::report::Report;
use crate::wire::{Connection, produce_error};

const ANSWER_WITHIN: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_micros(250);
/// Memory and idle CPU are looked at so long after the start.
const SETTLED: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_secs(3);

pub(crate) fn start(mut target: Target) -> io::Result<Report> {
    let began = Instant::now();
    let answer = until_it_answers(&mut target)?;
    let record = first_record(&target, began)?;
    thread::sleep(SETTLED.saturating_sub(began.elapsed()));
    let (memory, cpu) = (target.memory_mib(), target.cpu());
    let meter = Meter::start(&target);
    thread::sleep(LOOK);
    let idle = meter.stop();
    let stop = target.stop(Stop::Clean)?;
    let again = until_it_answers(&mut target)?;
    Ok(Report::default()
        .millis("answer_ms", answer)
        .millis("first_record_ms", record)
        .millis("start_cpu_ms", cpu)
        .with("memory_mib", memory)
        .with("idle_broker_ms_per_s", idle.broker_cores() * 1e3)
        .millis("stop_ms", stop)
        .millis("answer_again_ms", again))
}

/// ApiVersions and Metadata that names the port asked.
fn until_it_answers(target: &mut Target) -> io::Result<Duration> {
    let began = Instant::now();
    target.spawn()?;
    while !answers(target) {
        target.still_runs(began + ANSWER_WITHIN)?;
        thread::sleep(PAUSE);
    }
    Ok(began.elapsed())
}

fn answers(target: &Target) -> bool {
    let port = target.address.rsplit(':').next().and_then(|port| port.parse().ok());
    let ask = || -> io::Result<bool> {
        let mut connection = Connection::open(&target.address)?;
        connection.api_versions()?;
        let answer = connection.metadata(&[], false)?;
        Ok(answer.brokers.first().map(|broker| broker.port) == port)
    };
    ask().unwrap_or(false)
}

/// A record through a topic that asking for it has made.
fn first_record(target: &Target, began: Instant) -> io::Result<Duration> {
    let mut connection = Connection::open(&target.address)?;
    let batch = Batch::of_bytes(1, 100, Codec::None)?;
    let request = produce_request(&target.topic, &[0], &batch);
    loop {
        connection.metadata(&[&target.topic], true)?;
        connection.send(&request)?;
        match produce_error(connection.receive()?) {
            0 => break,
            code if began.elapsed() > ANSWER_WITHIN => {
                return Err(io::Error::other(format!("Produce: error {code}")));
            }
            _ => thread::sleep(PAUSE),
        }
    }
    let mut fetcher = Fetcher::open(&target.address, &target.topic, 1)?;
    while fetcher.records == 0 {
        fetcher.poll(|_, _| ())?;
    }
    Ok(began.elapsed())
}
