//! Many partitions: what creating and filling them costs, what an idle one costs, and how soon the broker serves them again.

use std::io;
use std::time::{Duration, Instant};

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};

use crate::broker::{Stop, Target};
use crate::wire::{Connection, name, produce_error, produce_request};

const METADATA: (i16, i16) = (3, 12);
const TOPICS: i32 = 10;
const PARTITIONS_EACH: i32 = 1_000;

/// Ten topics of a thousand partitions, a record in each, a clean stop, a kill.
pub(crate) fn partitions(target: &mut Target) -> io::Result<String> {
    let topics: Vec<String> = (0..TOPICS).map(|n| format!("{}-{n}", target.topic)).collect();
    let mut connection = Connection::open(&target.address)?;
    let began = Instant::now();
    for topic in &topics {
        connection.create_topic(topic, PARTITIONS_EACH)?;
    }
    let created = began.elapsed();
    let created_mib = mib(target.memory());
    let began = Instant::now();
    write_each(&mut connection, &topics)?;
    let written = began.elapsed();
    let mut report = format!(
        "{} partitions created in {:.2} s ({created_mib} MiB), a record in each in {:.2} s ({} MiB, {} descriptors, {} maps)",
        TOPICS * PARTITIONS_EACH,
        created.as_secs_f64(),
        written.as_secs_f64(),
        mib(target.memory()),
        target.descriptors(),
        target.mappings(),
    );
    drop(connection);
    for stop in [Stop::Clean, Stop::Kill] {
        let stopped = target.stop(stop)?;
        let (answer, all) = start_again(target, &topics)?;
        report.push_str(&format!(
            "; {stop:?} in {:.2} s, answers after {:.3} s, serves all after {:.3} s ({} MiB)",
            stopped.as_secs_f64(),
            answer.as_secs_f64(),
            all.as_secs_f64(),
            mib(target.memory()),
        ));
    }
    Ok(report)
}

/// Bytes in MiB.
fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

fn write_each(connection: &mut Connection, topics: &[String]) -> io::Result<()> {
    let partitions: Vec<i32> = (0..PARTITIONS_EACH).collect();
    for topic in topics {
        connection.send(&produce_request(topic, &partitions, 1, 100))?;
        // The length of a thousand partitions takes one byte more than that of one.
        let answer = &connection.receive()?[1..];
        match produce_error(answer, topic) {
            0 => {}
            code => return Err(io::Error::other(format!("Produce: error {code}"))),
        }
    }
    Ok(())
}

/// How long until the first answer, and until every partition has a leader and every record is counted.
fn start_again(target: &mut Target, topics: &[String]) -> io::Result<(Duration, Duration)> {
    let began = Instant::now();
    target.start_again();
    let mut connection = Connection::open(&target.address)?;
    let asked =
        topics.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))));
    let request = MetadataRequest::default().with_topics(Some(asked.collect()));
    let response: MetadataResponse = connection.ask(METADATA, &request)?;
    let answer = began.elapsed();
    let with_leader = response.topics.iter().flat_map(|topic| &topic.partitions);
    let leaders = with_leader.filter(|partition| partition.error_code == 0).count();
    let mut records = 0;
    for topic in topics {
        records += connection.records_in(topic, PARTITIONS_EACH)?;
    }
    let expected = u64::from((TOPICS * PARTITIONS_EACH).unsigned_abs());
    if leaders as u64 != expected || records != expected {
        return Err(io::Error::other(format!(
            "{leaders} partitions have a leader, {records} records"
        )));
    }
    Ok((answer, began.elapsed()))
}
