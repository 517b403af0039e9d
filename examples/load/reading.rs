//! Reading: from the beginning of a topic that is larger than any cache of the broker, and at the end of one that grows.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, produce_request};
use crate::broker::{Meter, Target};
use crate::fetcher::{Fetcher, read_all};
use crate::open_loop::{precise_sleep, sleep_until};
use crate::raw;
use crate::report::Report;
use crate::wire::{Connection, accept};

const PARTITIONS: i32 = 4;
const TAIL_PARTITIONS: i32 = 6;
const SIZE: usize = 1024;
const WRITE_WITHIN: Duration = Duration::from_secs(60);
const READ_WITHIN: Duration = Duration::from_secs(120);
/// Records of each millisecond and batches that they are sent in.
const TAIL_RECORDS: usize = 48;
const TAIL_BATCHES: u64 = 3;

#[derive(clap::Args)]
pub(crate) struct CatchUp {
    /// Readers, each of which reads everything.
    #[arg(long, value_delimiter = ',', default_value = "1,4")]
    readers: Vec<usize>,
    /// Bytes of the topic in MiB.
    #[arg(long, default_value_t = 1024)]
    mib: u64,
}

impl CatchUp {
    pub(crate) fn run(&self, target: &Target) -> io::Result<Report> {
        let load = raw::Load {
            size: SIZE,
            batch_bytes: 64 << 10,
            partitions: PARTITIONS,
            per_request: 1,
            connections: 2,
            in_flight: 5,
            codec: Codec::None,
            beside_bare: false,
        };
        let written = load.write(target, WRITE_WITHIN, self.mib << 20)?;
        let mut report = Report::default();
        for readers in &self.readers {
            let meter = Meter::start(target);
            let read = read_all(target, PARTITIONS, *readers, written.stored, READ_WITHIN)?;
            let usage = meter.stop();
            let gigabytes = read.iter().map(|reader| reader.bytes as f64 / 1e9).sum::<f64>();
            report = report
                .with(
                    format!("readers{readers}_broker_s_per_gb"),
                    usage.broker.as_secs_f64() / gigabytes,
                )
                .with(
                    format!("readers{readers}_gb_per_s"),
                    gigabytes / usage.elapsed.as_secs_f64(),
                );
        }
        Connection::open(&target.address)?.delete_topic(&target.topic)?;
        Ok(report.with("memory_mib", target.memory_mib()))
    }
}

#[derive(clap::Args)]
pub(crate) struct Tail {
    /// Readers of all partitions.
    #[arg(long, default_value_t = 1)]
    readers: usize,
}

impl Tail {
    /// 48,000 records of 1 KiB a second. Each reader must have all of it in the end.
    pub(crate) fn run(&self, target: &Target, seconds: f64) -> io::Result<Report> {
        Connection::open(&target.address)?.create_topic(&target.topic, TAIL_PARTITIONS)?;
        let (written, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let read = || {
            let mut fetcher = Fetcher::open(&target.address, &target.topic, TAIL_PARTITIONS)?;
            let mut limit = Instant::now() + READ_WITHIN;
            while !over.load(Ordering::Acquire) || fetcher.records < written.load(Ordering::Acquire)
            {
                fetcher.poll(|_, _| ())?;
                if !over.load(Ordering::Acquire) {
                    limit = Instant::now() + READ_WITHIN;
                }
                if Instant::now() > limit {
                    return Err(io::Error::other("a reader is missing records"));
                }
            }
            Ok(fetcher.bytes)
        };
        let (usage, bytes) = thread::scope(|scope| {
            let readers: Vec<_> = (0..self.readers).map(|_| scope.spawn(read)).collect();
            let meter = Meter::start(target);
            let records = pace(target, Duration::from_secs_f64(seconds));
            let usage = meter.stop();
            written.store(*records.as_ref().unwrap_or(&0), Ordering::Release);
            over.store(true, Ordering::Release);
            let bytes = readers
                .into_iter()
                .map(|reader| reader.join().expect("a reader does not panic"))
                .sum::<io::Result<u64>>();
            records.and(bytes).map(|bytes| (usage, bytes))
        })?;
        Connection::open(&target.address)?.delete_topic(&target.topic)?;
        Ok(Report::default()
            .with("broker_cores", usage.broker_cores())
            .with("client_cores", usage.client_cores())
            .with("read_mb_per_s", bytes as f64 / 1e6 / usage.elapsed.as_secs_f64()))
    }
}

/// Three batches each millisecond on one connection; how many records.
fn pace(target: &Target, time: Duration) -> io::Result<u64> {
    let batch = Batch::new(
        &crate::batches::Writer::NOBODY,
        TAIL_RECORDS / TAIL_BATCHES as usize,
        SIZE,
        Codec::None,
    )?;
    let requests: Vec<_> =
        (0..TAIL_PARTITIONS).map(|p| produce_request(&target.topic, &[p], &batch)).collect();
    let mut sender = Connection::open(&target.address)?;
    let mut receiver = sender.try_clone()?;
    let bursts = time.as_millis() as u64;
    thread::scope(|scope| {
        let answers = scope.spawn(move || {
            (0..bursts * TAIL_BATCHES).try_for_each(|_| accept(receiver.receive()?))
        });
        precise_sleep();
        let began = Instant::now();
        let mut turn = requests.iter().cycle();
        for burst in 0..bursts {
            sleep_until(began + Duration::from_millis(burst));
            for request in turn.by_ref().take(TAIL_BATCHES as usize) {
                sender.send(request)?;
            }
        }
        answers.join().expect("the receiver does not panic")?;
        Ok(bursts * TAIL_BATCHES * batch.records)
    })
}
