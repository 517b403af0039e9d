//! The broker under load: running already or started here, and what CPU time and memory it takes.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::Which;

const START_WAIT: Duration = Duration::from_secs(180);
const STOP_WAIT: Duration = Duration::from_secs(120);

pub(crate) struct Target {
    pub(crate) address: String,
    /// A name that no case before has used on this broker.
    pub(crate) topic: String,
    pid: Option<i32>,
    process: Option<Child>,
    command: Vec<String>,
    /// Keeps the data of a broker that was started here.
    _directory: Option<tempfile::TempDir>,
}

/// How a broker is stopped.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    Clean,
    Kill,
}

impl Target {
    /// The broker that is asked for, which runs.
    pub(crate) fn of(which: &Which) -> io::Result<Self> {
        let runs = which.broker.is_some() && which.command.is_none();
        let mut target = Self::to_start(which)?;
        if !runs {
            target.start_again()?;
        }
        Ok(target)
    }

    /// The broker that is asked for; not started yet, if it is one to start.
    pub(crate) fn to_start(which: &Which) -> io::Result<Self> {
        let address = match &which.broker {
            Some(address) => address.clone(),
            None => format!("127.0.0.1:{}", free_port()?),
        };
        let mut target = Self {
            address,
            topic: topic(),
            pid: which.pid,
            process: None,
            command: Vec::new(),
            _directory: None,
        };
        if let Some(command) = &which.command {
            target.command = command.split_whitespace().map(str::to_owned).collect();
        } else if which.broker.is_none() {
            let directory = match &which.directory {
                Some(directory) => tempfile::tempdir_in(directory),
                None => tempfile::tempdir(),
            }?;
            target.command = highwater(which, directory.path(), &target.address);
            target._directory = Some(directory);
        }
        Ok(target)
    }

    /// The same broker with another topic to use.
    pub(crate) fn with_topic(&self, topic: String) -> Self {
        Self {
            address: self.address.clone(),
            topic,
            pid: self.pid,
            process: None,
            command: Vec::new(),
            _directory: None,
        }
    }

    /// Starts the process, which may take a while until it answers.
    pub(crate) fn spawn(&mut self) -> io::Result<()> {
        let [program, arguments @ ..] = &self.command[..] else {
            return Err(io::Error::other("this case starts the broker: give its --command"));
        };
        let process = Command::new(program)
            .args(arguments)
            .env("RUST_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::other(format!("{program}: {error}")))?;
        self.pid = i32::try_from(process.id()).ok();
        self.process = Some(process);
        Ok(())
    }

    /// Starts the broker on its directory and waits until it takes connections.
    pub(crate) fn start_again(&mut self) -> io::Result<()> {
        self.spawn()?;
        let limit = Instant::now() + START_WAIT;
        while TcpStream::connect(&self.address).is_err() {
            self.still_runs(limit)?;
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    /// An error if the broker has ended or `limit` is over.
    pub(crate) fn still_runs(&mut self, limit: Instant) -> io::Result<()> {
        let ended = self.process.as_mut().map_or(Ok(None), Child::try_wait)?;
        if ended.is_some() || Instant::now() > limit {
            return Err(io::Error::other(format!("no broker on {}", self.address)));
        }
        Ok(())
    }

    /// Stops the broker and waits for its end; how long that took.
    pub(crate) fn stop(&mut self, how: Stop) -> io::Result<Duration> {
        let Some(mut process) = self.process.take() else {
            return Err(io::Error::other("only a broker that was started here is stopped"));
        };
        let began = Instant::now();
        match how {
            Stop::Kill => process.kill()?,
            Stop::Clean => {
                // SAFETY: a signal to a child that was not waited for yet.
                unsafe { libc::kill(process.id().cast_signed(), libc::SIGTERM) };
            }
        }
        while process.try_wait()?.is_none() {
            if began.elapsed() > STOP_WAIT {
                process.kill()?;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(began.elapsed())
    }

    /// CPU time of all its threads so far; zero if its process is not known.
    pub(crate) fn cpu(&self) -> Duration {
        self.pid.map_or(Duration::ZERO, process_cpu)
    }

    /// Resident memory in MiB; zero if its process is not known.
    pub(crate) fn memory_mib(&self) -> f64 {
        let read = |pid| fs::read_to_string(format!("/proc/{pid}/statm")).ok();
        let pages = self.pid.and_then(read).and_then(|statm| {
            statm.split(' ').nth(1).and_then(|resident| resident.parse::<u64>().ok())
        });
        // Pages of 4 KiB.
        pages.unwrap_or(0) as f64 / 256.0
    }

    /// Open file descriptors; zero if its process is not known.
    pub(crate) fn descriptors(&self) -> usize {
        let list = |pid| fs::read_dir(format!("/proc/{pid}/fd")).ok();
        self.pid.and_then(list).map_or(0, Iterator::count)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// What a span of time has cost.
pub(crate) struct Usage {
    pub(crate) elapsed: Duration,
    pub(crate) broker: Duration,
    pub(crate) client: Duration,
}

/// Begins a span of time.
pub(crate) struct Meter<'a>(&'a Target, Instant, Duration, Duration);

impl<'a> Meter<'a> {
    pub(crate) fn start(target: &'a Target) -> Self {
        let own = process_cpu(std::process::id().cast_signed());
        Self(target, Instant::now(), target.cpu(), own)
    }

    pub(crate) fn stop(&self) -> Usage {
        let own = process_cpu(std::process::id().cast_signed());
        Usage {
            elapsed: self.1.elapsed(),
            broker: self.0.cpu().saturating_sub(self.2),
            client: own.saturating_sub(self.3),
        }
    }
}

impl Usage {
    pub(crate) fn broker_cores(&self) -> f64 {
        self.broker.as_secs_f64() / self.elapsed.as_secs_f64()
    }

    pub(crate) fn client_cores(&self) -> f64 {
        self.client.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

fn highwater(which: &Which, directory: &Path, address: &str) -> Vec<String> {
    let durability = format!("highwater.durability={}", which.durability);
    let directory = directory.display().to_string();
    let words = ["--data-dir", &directory, "--listen", address, "--set", &durability];
    let mut command = vec![which.binary.display().to_string()];
    command.extend(words.map(str::to_owned));
    command
}

/// Linux derives the clock of a process from its id (`clock_getcpuclockid`).
fn process_cpu(pid: i32) -> Duration {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to the variables passed and nothing else.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    assert!(!failed, "no process {pid}");
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn topic() -> String {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("load-{}", now.as_nanos())
}

fn free_port() -> io::Result<u16> {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (21_800..22_000).find(free).ok_or_else(|| io::Error::other("no free port"))
}
