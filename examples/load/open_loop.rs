//! A fixed rate, whether or not the broker keeps up: every latency counts from the time at which a burst was due, so that a
//! broker or client that stalls is charged in full.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::batches::{Batch, Codec, batch_in, produce_request, seal};
use crate::broker::{Meter, Target};
use crate::fetcher::Fetcher;
use crate::report::Report;
use crate::wire::{Connection, accept};

const PARTITIONS: i32 = 6;
const WARM: Duration = Duration::from_secs(2);
/// After the last burst, for all to be read.
const READ_WITHIN: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Records each second: a batch each millisecond, partitions in turn, on one connection.
    #[arg(long, default_value_t = 20_000)]
    rate: u64,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    size: usize,
}

/// When bursts are due.
#[derive(Clone, Copy)]
struct Schedule {
    began: Instant,
    bursts: u64,
    /// The first that counts.
    counted: u64,
}

impl Schedule {
    fn due(&self, burst: u64) -> Instant {
        self.began + Duration::from_millis(burst)
    }
}

impl Load {
    pub(crate) fn run(&self, target: &Target, seconds: f64) -> io::Result<Report> {
        let mut control = Connection::open(&target.address)?;
        control.create_topic(&target.topic, PARTITIONS)?;
        let records = (self.rate / 1000).max(1) as usize;
        let batch = Batch::new(&crate::batches::Writer::NOBODY, records, self.size, Codec::None)?;
        let counted = WARM.min(Duration::from_secs_f64(seconds)).as_millis() as u64;
        let schedule = Schedule {
            began: Instant::now() + Duration::from_millis(50),
            bursts: counted + (seconds * 1e3) as u64,
            counted,
        };
        let (acks, ends, usage) = self.play(target, &batch, schedule)?;
        control.delete_topic(&target.topic)?;
        if ends.len() != acks.len() {
            let text = format!("{} batches acknowledged, {} read", acks.len(), ends.len());
            return Err(io::Error::other(text));
        }
        let sent = (acks.len() * records) as f64;
        Ok(Report::default()
            .percentiles("ack_", acks)
            .percentiles("end_to_end_", ends)
            .with("broker_us_per_record", usage.broker.as_secs_f64() * 1e6 / sent)
            .with("broker_cores", usage.broker_cores())
            .with("client_cores", usage.client_cores()))
    }

    /// Latencies of the acknowledgements and of the reader, and what the counted bursts cost.
    fn play(
        &self,
        target: &Target,
        batch: &Batch,
        schedule: Schedule,
    ) -> io::Result<(Vec<Duration>, Vec<Duration>, crate::broker::Usage)> {
        let mut sender = Connection::open(&target.address)?;
        let receiver = sender.try_clone()?;
        let fetcher = Fetcher::open(&target.address, &target.topic, PARTITIONS)?;
        let fetcher = fetcher.with_stamp_at(batch.value_at);
        let failed = AtomicBool::new(false);
        let records = schedule.bursts * batch.records;
        let note = |result: io::Result<Vec<Duration>>| {
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        thread::scope(|scope| {
            let send = scope.spawn(|| {
                let sent = send_bursts(&mut sender, &target.topic, batch, schedule, &failed);
                note(sent.map(|()| Vec::new()))
            });
            let take = scope.spawn(|| note(take_answers(receiver, schedule, &failed)));
            let read = scope.spawn(|| note(read_stamps(fetcher, records, schedule, &failed)));
            sleep_until(schedule.due(schedule.counted));
            let meter = Meter::start(target);
            sleep_until(schedule.due(schedule.bursts));
            let usage = meter.stop();
            send.join().expect("the sender does not panic")?;
            let acks = take.join().expect("the receiver does not panic")?;
            let ends = read.join().expect("the reader does not panic")?;
            Ok((acks, ends, usage))
        })
    }
}

/// The value of the first record of each burst is the number of the burst.
fn send_bursts(
    sender: &mut Connection,
    topic: &str,
    batch: &Batch,
    schedule: Schedule,
    failed: &AtomicBool,
) -> io::Result<()> {
    precise_sleep();
    let mut requests: Vec<_> =
        (0..PARTITIONS).map(|p| produce_request(topic, &[p], batch)).collect();
    for burst in 0..schedule.bursts {
        let request = &mut requests[(burst % PARTITIONS as u64) as usize];
        let place = batch_in(request, batch);
        let bytes = &mut request[place];
        bytes[batch.value_at..batch.value_at + 8].copy_from_slice(&burst.to_be_bytes());
        seal(bytes);
        sleep_until(schedule.due(burst));
        if failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        sender.send(request)?;
    }
    Ok(())
}

fn take_answers(
    mut receiver: Connection,
    schedule: Schedule,
    failed: &AtomicBool,
) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(schedule.bursts as usize);
    for burst in 0..schedule.bursts {
        if failed.load(Ordering::Relaxed) {
            break;
        }
        accept(receiver.receive()?)?;
        if burst >= schedule.counted {
            times.push(schedule.due(burst).elapsed());
        }
    }
    Ok(times)
}

fn read_stamps(
    mut fetcher: Fetcher,
    records: u64,
    schedule: Schedule,
    failed: &AtomicBool,
) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(schedule.bursts as usize);
    let limit = schedule.due(schedule.bursts) + READ_WITHIN;
    while fetcher.records < records && Instant::now() < limit && !failed.load(Ordering::Relaxed) {
        fetcher.poll(|burst, _| {
            if burst >= schedule.counted {
                times.push(schedule.due(burst).elapsed());
            }
        })?;
    }
    Ok(times)
}

pub(crate) fn sleep_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        thread::sleep(left);
    }
}

/// Lets this thread sleep as exactly as the machine can; Linux adds up to 50 us otherwise.
pub(crate) fn precise_sleep() {
    // SAFETY: sets a number of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
