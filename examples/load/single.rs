//! One record in flight: the floor of the round trip.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, produce_request};
use crate::broker::{Meter, Target};
use crate::machine;
use crate::report::{Report, median};
use crate::wire::{Connection, accept};

/// Round trips before those that count.
const UNCOUNTED: usize = 200;

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Says how far the median is beyond that of a sync of the disk without a broker.
    #[arg(long)]
    beyond_sync: bool,
}

impl Load {
    pub(crate) fn run(
        &self,
        target: &Target,
        seconds: f64,
        directory: Option<&Path>,
    ) -> io::Result<Report> {
        let mut connection = Connection::open(&target.address)?;
        connection.create_topic(&target.topic, 1)?;
        let meter = Meter::start(target);
        let times = round_trips(target, self.size, Duration::from_secs_f64(seconds))?;
        let usage = meter.stop();
        let requests = times.len() + UNCOUNTED;
        let stored = connection.records_in(&target.topic, 1)?;
        if stored != requests as u64 {
            let text = format!("{requests} records acknowledged, {stored} stored");
            return Err(io::Error::other(text));
        }
        connection.delete_topic(&target.topic)?;
        let each = usage.broker.as_secs_f64() * 1e6 / requests as f64;
        let mut report = Report::default().with("broker_us_per_request", each);
        if self.beyond_sync {
            let (trip, sync) = (median(times.clone()), median(machine::syncs(directory)?));
            report = report.millis("sync_p50_ms", sync);
            report.add("beyond_sync_ms", (trip.as_secs_f64() - sync.as_secs_f64()) * 1e3);
        }
        Ok(report.percentiles("", times))
    }
}

/// Round trips of single records to partition 0 of a topic that is there.
pub(crate) fn round_trips(
    target: &Target,
    size: usize,
    time: Duration,
) -> io::Result<Vec<Duration>> {
    let mut connection = Connection::open(&target.address)?;
    let batch = Batch::of_bytes(1, size, Codec::None)?;
    let request = produce_request(&target.topic, &[0], &batch);
    let mut times = Vec::new();
    let mut end = Instant::now() + time;
    for number in 0.. {
        let began = Instant::now();
        if began > end && number > UNCOUNTED {
            break;
        }
        connection.send(&request)?;
        accept(connection.receive()?)?;
        match number {
            ..UNCOUNTED => end = Instant::now() + time,
            _ => times.push(began.elapsed()),
        }
    }
    Ok(times)
}
