//! Pre-encoded Produce requests as fast as the broker takes them: its ceiling, and its CPU for a record.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::bare::{self, Traffic};
use crate::batches::{Batch, Codec, produce_request};
use crate::broker::{Meter, Target, Usage};
use crate::fetcher::read_all;
use crate::report::Report;
use crate::wire::{Connection, accept};

const READ_BACK_WITHIN: Duration = Duration::from_secs(60);
/// What one case writes at most, so that it stays in the page cache.
const BYTES_MAX: u64 = 2 << 30;

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    pub(crate) size: usize,
    /// Bytes of a batch before compression; 1 makes batches of one record.
    #[arg(long, default_value_t = 64 << 10)]
    pub(crate) batch_bytes: usize,
    #[arg(long, default_value_t = 6)]
    pub(crate) partitions: i32,
    /// Partitions that each request writes to.
    #[arg(long, default_value_t = 1)]
    pub(crate) per_request: i32,
    #[arg(long, default_value_t = 4)]
    pub(crate) connections: usize,
    /// Requests on their way on each connection.
    #[arg(long, default_value_t = 5)]
    pub(crate) in_flight: usize,
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) codec: Codec,
    /// Then send the same to a program that only receives and writes it.
    #[arg(long)]
    pub(crate) beside_bare: bool,
}

/// What was written.
pub(crate) struct Written {
    /// Records in the topic.
    pub(crate) stored: u64,
    /// Of these, in the time that counts.
    pub(crate) records: u64,
    pub(crate) requests: u64,
    pub(crate) usage: Usage,
}

impl Load {
    pub(crate) fn run(
        &self,
        target: &Target,
        seconds: f64,
        directory: Option<&Path>,
    ) -> io::Result<Report> {
        let report = self.run_on(target, seconds)?;
        if !self.beside_bare {
            return Ok(report);
        }
        let bare = self.bare(&target.topic, Duration::from_secs_f64(seconds / 2.0), directory)?;
        Ok(report.with("bare_us_per_record", bare.as_secs_f64() * 1e6))
    }

    /// CPU that a record takes which is only received and written.
    fn bare(&self, topic: &str, time: Duration, directory: Option<&Path>) -> io::Result<Duration> {
        let batch = Batch::of_bytes(self.batch_bytes, self.size, self.codec)?;
        let requests = self.requests(topic, &batch);
        let traffic = Traffic {
            connections: self.connections,
            request_bytes: requests[0].len(),
            writes: self.per_request.unsigned_abs() as usize,
        };
        let (requests, cpu) = bare::serve(traffic, directory, |address| {
            self.repeat_all(address, &requests, BYTES_MAX, &batch, Instant::now() + time)
        })?;
        let records = requests * self.records_in_request(&batch);
        Ok(cpu.div_f64(records as f64))
    }

    fn run_on(&self, target: &Target, seconds: f64) -> io::Result<Report> {
        let written = self.write(target, Duration::from_secs_f64(seconds), BYTES_MAX)?;
        let meter = Meter::start(target);
        let read = read_all(target, self.partitions, 1, written.stored, READ_BACK_WITHIN)?;
        let reading = meter.stop();
        Connection::open(&target.address)?.delete_topic(&target.topic)?;
        let gigabytes = read.iter().map(|reader| reader.bytes as f64 / 1e9).sum::<f64>();
        let usage = &written.usage;
        let (records, seconds) = (written.records as f64, usage.elapsed.as_secs_f64());
        Ok(Report::default()
            .with("records_per_s", records / seconds)
            .with("mb_per_s", records * self.size as f64 / 1e6 / seconds)
            .with("broker_us_per_record", usage.broker.as_secs_f64() * 1e6 / records)
            .with(
                "broker_us_per_request",
                usage.broker.as_secs_f64() * 1e6 / written.requests as f64,
            )
            .with("broker_cores", usage.broker_cores())
            .with("client_cores", usage.client_cores())
            .with("read_back_broker_s_per_gb", reading.broker.as_secs_f64() / gigabytes)
            .with("read_back_gb_per_s", gigabytes / reading.elapsed.as_secs_f64())
            .with("memory_mib", target.memory_mib()))
    }

    /// Makes the topic and writes until the time or the bytes are over.
    pub(crate) fn write(
        &self,
        target: &Target,
        time: Duration,
        bytes_max: u64,
    ) -> io::Result<Written> {
        let batch = Batch::of_bytes(self.batch_bytes, self.size, self.codec)?;
        let requests = self.requests(&target.topic, &batch);
        let mut control = Connection::open(&target.address)?;
        control.create_topic(&target.topic, self.partitions)?;
        // A partition that nobody has written to is made on disk with its first record, which is another case.
        for request in &requests {
            control.send(request)?;
            accept(control.receive()?)?;
        }
        let touched = requests.len() as u64;
        let in_request = self.records_in_request(&batch);
        let meter = Meter::start(target);
        let end = Instant::now() + time;
        let sent = self.repeat_all(&target.address, &requests, bytes_max, &batch, end);
        let usage = meter.stop();
        let requests = sent?;
        Ok(Written {
            stored: (requests + touched) * in_request,
            records: requests * in_request,
            requests,
            usage,
        })
    }

    /// Requests that were acknowledged on all connections, until the time or the bytes are over.
    fn repeat_all(
        &self,
        address: &str,
        requests: &[Vec<u8>],
        bytes_max: u64,
        batch: &Batch,
        end: Instant,
    ) -> io::Result<u64> {
        let request_bytes = self.records_in_request(batch) * self.size as u64;
        let quota = bytes_max / request_bytes / self.connections as u64;
        thread::scope(|scope| {
            let send = |number: usize| {
                let mut requests = requests.to_vec();
                // Each connection begins with another partition.
                let first = number % requests.len();
                requests.rotate_left(first);
                scope.spawn(move || repeat(address, &requests, self.in_flight, quota.max(1), end))
            };
            let threads: Vec<_> = (0..self.connections).map(send).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a load thread does not panic"))
                .sum()
        })
    }

    fn records_in_request(&self, batch: &Batch) -> u64 {
        batch.records * u64::from(self.per_request.unsigned_abs())
    }

    fn requests(&self, topic: &str, batch: &Batch) -> Vec<Vec<u8>> {
        let partitions: Vec<i32> = (0..self.partitions).collect();
        let together = partitions.chunks(self.per_request as usize);
        together.map(|together| produce_request(topic, together, batch)).collect()
    }
}

/// Keeps `in_flight` requests on their way until `end` or until `quota` were sent; how many were acknowledged.
fn repeat(
    address: &str,
    requests: &[Vec<u8>],
    in_flight: usize,
    quota: u64,
    end: Instant,
) -> io::Result<u64> {
    let mut connection = Connection::open(address)?;
    let mut turn = requests.iter().cycle();
    let (mut sent, mut acknowledged) = (0, 0);
    loop {
        while sent - acknowledged < in_flight as u64 && sent < quota && Instant::now() < end {
            let request = turn.next().ok_or_else(|| io::Error::other("no partitions"))?;
            connection.send(request)?;
            sent += 1;
        }
        if sent == acknowledged {
            return Ok(acknowledged);
        }
        accept(connection.receive()?)?;
        acknowledged += 1;
    }
}

/// Small and large, plain and compressed, written and read, until the time is over.
pub(crate) fn warm(target: &Target, seconds: f64) -> io::Result<Report> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let plain = Load {
        size: 100,
        batch_bytes: 16 << 10,
        partitions: 6,
        per_request: 1,
        connections: 4,
        in_flight: 5,
        codec: Codec::None,
        beside_bare: false,
    };
    let kinds = [
        Load { size: 1024, batch_bytes: 64 << 10, codec: Codec::Lz4, ..plain },
        Load { batch_bytes: 1, connections: 2, ..plain },
        Load { codec: Codec::Zstd, ..plain },
        Load { batch_bytes: 4 << 10, partitions: 64, per_request: 16, ..plain },
        plain,
    ];
    let turn = Duration::from_secs_f64((seconds / kinds.len() as f64).min(1.5));
    for (number, load) in kinds.iter().cycle().enumerate() {
        if number >= kinds.len() && Instant::now() >= end {
            break;
        }
        let target = target.with_topic(format!("{}-{number}", target.topic));
        let written = load.write(&target, turn, BYTES_MAX / 8)?;
        read_all(&target, load.partitions, 1, written.stored, READ_BACK_WITHIN)?;
        Connection::open(&target.address)?.delete_topic(&target.topic)?;
    }
    Ok(Report::default())
}
