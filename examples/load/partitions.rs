//! Many partitions: what creating and filling them costs, what an idle one costs, and how soon the broker serves them again.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, produce_request};
use crate::broker::{Stop, Target};
use crate::report::Report;
use crate::wire::{Connection, accept, produce_error};

const TOPICS: i32 = 10;
const SERVED_WITHIN: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(1);

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Of ten topics together.
    #[arg(long, default_value_t = 10_000)]
    partitions: i32,
}

impl Load {
    /// Creates, writes a record to each, stops, starts, kills, starts.
    pub(crate) fn run(&self, target: &mut Target) -> io::Result<Report> {
        let each = self.partitions / TOPICS;
        let topics: Vec<String> = (0..TOPICS).map(|n| format!("{}-{n}", target.topic)).collect();
        let mut connection = Connection::open(&target.address)?;
        let began = Instant::now();
        for topic in &topics {
            connection.create_topic(topic, each)?;
        }
        let mut report = Report::default()
            .with("create_s", began.elapsed().as_secs_f64())
            .with("created_memory_mib", target.memory_mib());
        let began = Instant::now();
        write_each(&mut connection, &topics, each)?;
        report = report
            .with("first_records_s", began.elapsed().as_secs_f64())
            .with("memory_mib", target.memory_mib())
            .with("descriptors", target.descriptors() as f64);
        drop(connection);
        for (name, stop) in [("clean", Stop::Clean), ("killed", Stop::Kill)] {
            let stopped = target.stop(stop)?;
            let again = start_again(target, &topics, each)?;
            report = report
                .with(format!("{name}_stop_s"), stopped.as_secs_f64())
                .with(format!("{name}_answer_s"), again.answer.as_secs_f64())
                .with(format!("{name}_served_s"), again.served.as_secs_f64())
                .with(format!("{name}_each_asked_s"), again.asked.as_secs_f64());
        }
        Ok(report)
    }
}

fn write_each(connection: &mut Connection, topics: &[String], each: i32) -> io::Result<()> {
    let partitions: Vec<i32> = (0..each).collect();
    let batch = Batch::of_bytes(1, 100, Codec::None)?;
    for topic in topics {
        connection.send(&produce_request(topic, &partitions, &batch))?;
        accept(connection.receive()?)?;
    }
    Ok(())
}

/// How long after the start of the process.
struct Again {
    answer: Duration,
    /// Every partition has a leader, and a record is taken.
    served: Duration,
    /// Every partition has said where it ends.
    asked: Duration,
}

/// Writes one more record to the first partition of the last topic.
fn start_again(target: &mut Target, topics: &[String], each: i32) -> io::Result<Again> {
    let began = Instant::now();
    target.start_again()?;
    let mut connection = Connection::open(&target.address)?;
    connection.api_versions()?;
    let answer = began.elapsed();
    let names: Vec<&str> = topics.iter().map(String::as_str).collect();
    let late = || began.elapsed() > SERVED_WITHIN;
    while !connection.has_leaders(&names, each)? {
        if late() {
            return Err(io::Error::other("not every partition has a leader"));
        }
        thread::sleep(PAUSE);
    }
    let last = names.last().copied().unwrap_or_default();
    let request = produce_request(last, &[0], &Batch::of_bytes(1, 100, Codec::None)?);
    let mut code = -1;
    while code != 0 {
        connection.send(&request)?;
        code = produce_error(connection.receive()?);
        if late() {
            return Err(io::Error::other(format!("Produce: error {code}")));
        }
    }
    let served = began.elapsed();
    let mut records = 0;
    for topic in &names {
        records += connection.records_in(topic, each)?;
    }
    let asked = began.elapsed();
    let least = u64::from((each * TOPICS).unsigned_abs()) + 1;
    if records < least {
        return Err(io::Error::other(format!("{records} records of at least {least}")));
    }
    Ok(Again { answer, served, asked })
}
