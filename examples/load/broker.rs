//! The broker under load: started for one case or running already, and the CPU time that it has used.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

const START_WAIT: Duration = Duration::from_secs(30);

pub(crate) struct Target {
    pub(crate) address: String,
    /// A name that no case before has used on this broker.
    pub(crate) topic: String,
    pid: Option<i32>,
    process: Option<Child>,
    started: Option<Started>,
}

/// What a broker was started with.
struct Started {
    binary: PathBuf,
    directory: tempfile::TempDir,
    durability: String,
}

/// How a broker is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    Clean,
    Kill,
}

impl Target {
    pub(crate) fn running(address: String, pid: Option<i32>) -> Self {
        Self { address, topic: topic(), pid, process: None, started: None }
    }

    pub(crate) fn start(binary: &Path, directory: Option<&Path>, durability: &str) -> Self {
        let place = match directory {
            Some(directory) => tempfile::tempdir_in(directory),
            None => tempfile::tempdir(),
        };
        let place = place.expect("a directory for the data");
        let started = Started {
            binary: binary.to_owned(),
            directory: place,
            durability: durability.to_owned(),
        };
        let mut target = Self {
            address: format!("127.0.0.1:{}", free_port()),
            topic: topic(),
            pid: None,
            process: None,
            started: Some(started),
        };
        target.start_again();
        target
    }

    /// Starts the broker on its directory and waits until it answers.
    ///
    /// # Panics
    /// If it runs already, or was not started by this program.
    pub(crate) fn start_again(&mut self) {
        let started = self.started.as_ref().expect("only of a broker that was started here");
        let durability = format!("highwater.durability={}", started.durability);
        let process = Command::new(&started.binary)
            .arg("--data-dir")
            .arg(started.directory.path())
            .args(["--listen", &self.address, "--set", &durability])
            .env("RUST_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{}: {error}; cargo build --release makes it", started.binary.display())
            });
        self.pid = i32::try_from(process.id()).ok();
        assert!(self.process.replace(process).is_none(), "it runs already");
        self.wait_until_it_answers();
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
        process.wait()?;
        Ok(began.elapsed())
    }

    fn wait_until_it_answers(&self) {
        let limit = Instant::now() + START_WAIT;
        while TcpStream::connect(&self.address).is_err() {
            assert!(Instant::now() < limit, "no broker on {}", self.address);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// CPU time of all its threads so far; zero if its process is not known.
    pub(crate) fn cpu(&self) -> Duration {
        self.pid.map_or(Duration::ZERO, process_cpu)
    }
}

impl Target {
    /// Resident memory in bytes; zero if its process is not known.
    pub(crate) fn memory(&self) -> u64 {
        let read = |pid| fs::read_to_string(format!("/proc/{pid}/statm")).ok();
        let pages = self.pid.and_then(read).and_then(|statm| {
            statm.split(' ').nth(1).and_then(|resident| resident.parse::<u64>().ok())
        });
        pages.unwrap_or(0) * 4096
    }

    /// Open file descriptors; zero if its process is not known.
    pub(crate) fn descriptors(&self) -> usize {
        let list = |pid| fs::read_dir(format!("/proc/{pid}/fd")).ok();
        self.pid.and_then(list).map_or(0, Iterator::count)
    }

    /// Mapped ranges of memory; zero if its process is not known.
    pub(crate) fn mappings(&self) -> usize {
        let read = |pid| fs::read_to_string(format!("/proc/{pid}/maps")).ok();
        self.pid.and_then(read).map_or(0, |maps| maps.lines().count())
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

fn free_port() -> u16 {
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (21_700..22_700).find(free).expect("a free port")
}
