//! Connections that have said who they are and then nothing: their memory, and a producer beside them.

use std::io;
use std::thread;
use std::time::Duration;

use crate::broker::{Meter, Target};
use crate::report::Report;
use crate::single::round_trips;
use crate::wire::Connection;

/// Until what opening has left behind is at rest.
const REST: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub(crate) struct Load {
    /// Idle connections.
    #[arg(long, default_value_t = 5_000)]
    connections: usize,
}

impl Load {
    pub(crate) fn run(&self, target: &Target, seconds: f64) -> io::Result<Report> {
        allow_descriptors(self.connections as u64 + 100)?;
        let mut control = Connection::open(&target.address)?;
        control.create_topic(&target.topic, 1)?;
        let time = Duration::from_secs_f64(seconds);
        let alone = round_trips(target, 100, time)?;
        let before = target.memory_mib();
        let meter = Meter::start(target);
        let mut idle = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            let mut connection = Connection::open_small(&target.address)?;
            connection.api_versions()?;
            idle.push(connection);
        }
        let opening = meter.stop();
        thread::sleep(REST);
        let memory = target.memory_mib();
        let meter = Meter::start(target);
        thread::sleep(time);
        let resting = meter.stop();
        let beside = round_trips(target, 100, time)?;
        control.delete_topic(&target.topic)?;
        let each = idle.len() as f64;
        Ok(Report::default()
            .percentiles("alone_", alone)
            .percentiles("beside_", beside)
            .with("open_broker_us_each", opening.broker.as_secs_f64() * 1e6 / each)
            .with("open_us_each", opening.elapsed.as_secs_f64() * 1e6 / each)
            .with("idle_broker_ms_per_s", resting.broker_cores() * 1e3)
            .with("memory_kib_each", (memory - before) * 1024.0 / each)
            .with("memory_mib", memory))
    }
}

/// Raises the limit of this process.
fn allow_descriptors(wanted: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls use the variable passed and nothing else.
    let failed = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_cur = limit.rlim_cur.max(wanted.min(limit.rlim_max));
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}
