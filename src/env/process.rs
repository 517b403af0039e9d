//! What this process was given and what it uses: environment, host name, limits, CPU, memory.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The environment. Variables that are not UTF-8 are left out: no setting has such a name or value.
pub fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The name that this host has for itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What the process uses; `None` where the system does not tell.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// Memory that is backed by pages.
    pub resident_bytes: Option<u64>,
    /// Open descriptors.
    pub open_descriptors: Option<u64>,
    /// Most that there can be.
    pub descriptors_max: Option<u64>,
}

/// What the process uses now. Reads `/proc`, which never waits for a disk.
pub fn process_usage() -> ProcessUsage {
    ProcessUsage {
        cpu: Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default(),
        resident_bytes: resident_bytes(),
        open_descriptors: open_descriptors(),
        descriptors_max: getrlimit(Resource::Nofile).current,
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the seam that asks the system")]
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read("/proc/self/statm").ok()?;
    let pages = std::str::from_utf8(&statm).ok()?.split(' ').nth(1)?.parse::<u64>().ok()?;
    let page_bytes = u64::try_from(rustix::param::page_size()).ok()?;
    pages.checked_mul(page_bytes)
}

#[expect(clippy::disallowed_methods, reason = "this is the seam that asks the system")]
fn open_descriptors() -> Option<u64> {
    u64::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}

/// Most descriptors that this process may have open; `None` for no limit.
pub fn descriptor_limit() -> Option<usize> {
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
}

/// Times that this thread has given up the CPU by itself, to wait for something.
pub fn voluntary_switches() -> u64 {
    // SAFETY: rusage is a plain C struct for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call, which fails only for pointers and subjects that are none.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    u64::try_from(usage.ru_nvcsw).unwrap_or(0)
}

/// Raises the limit of open descriptors to the most that this user may have; the limit then in force.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(maximum)
}
