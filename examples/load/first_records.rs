//! How soon the member of a group that nobody has used before has its first record. The first group of a broker also has the
//! topic of the groups made.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, produce_request};
use crate::broker::Target;
use crate::fetcher::Fetcher;
use crate::groups::Member;
use crate::report::{Report, median};
use crate::wire::{Connection, accept};

const LATER: usize = 10;
const COORDINATOR_WITHIN: Duration = Duration::from_secs(30);
/// Before a coordinator that is not there yet is looked for again.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn first_records(target: &Target) -> io::Result<Report> {
    let mut connection = Connection::open(&target.address)?;
    connection.create_topic(&target.topic, 1)?;
    let batch = Batch::of_bytes(1, 100, Codec::None)?;
    connection.send(&produce_request(&target.topic, &[0], &batch))?;
    accept(connection.receive()?)?;
    let first = first_record(target, 0)?;
    let later = (1..=LATER).map(|number| first_record(target, number));
    let later = later.collect::<io::Result<Vec<_>>>()?;
    connection.delete_topic(&target.topic)?;
    Ok(Report::default().millis("first_group_ms", first).millis("later_group_ms", median(later)))
}

fn first_record(target: &Target, number: usize) -> io::Result<Duration> {
    let began = Instant::now();
    let mut connection = Connection::open(&target.address)?;
    connection.api_versions()?;
    connection.metadata(&[&target.topic], false)?;
    let group = format!("{}-{number}", target.topic);
    let mut member = Member::new(connection, &group);
    while !member.has_coordinator()? {
        if began.elapsed() > COORDINATOR_WITHIN {
            return Err(io::Error::other("no coordinator"));
        }
        thread::sleep(PAUSE);
    }
    member.join_until_stable()?;
    member.committed(&target.topic)?;
    let mut fetcher = Fetcher::open(&target.address, &target.topic, 1)?;
    while fetcher.records == 0 {
        fetcher.poll(|_, _| ())?;
    }
    let took = began.elapsed();
    member.leave()?;
    Ok(took)
}
