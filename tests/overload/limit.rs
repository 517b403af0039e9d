//! A hard limit of memory for a process.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group with a limit, removed when dropped; or, where none can be made, only the number.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    group: Option<PathBuf>,
    bytes: u64,
}

/// Where groups are made and what the limit is called: of the first and of the second version of control groups.
const HIERARCHIES: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

impl MemoryLimit {
    pub(crate) fn new(bytes: u64) -> Self {
        let group = HIERARCHIES.iter().find_map(|(root, file)| make_group(root, file, bytes));
        Self { group, bytes }
    }

    /// The group to start a process in.
    pub(crate) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// What the process and its group have used.
    pub(crate) fn tell(&self, process: u32) -> String {
        let peak = peak_resident(process) >> 20;
        let read = |file: &str| {
            let group = self.group.as_deref()?;
            let text = fs::read_to_string(group.join(file)).ok()?;
            Some(format!("{file}: {}", text.trim().replace('\n', ", ")))
        };
        let of_group: Vec<String> = ["memory.failcnt", "memory.oom_control", "memory.events"]
            .into_iter()
            .filter_map(read)
            .collect();
        format!("at most {peak} MiB resident {of_group:?}")
    }

    /// The process lives, so within a group it has kept to the limit; else what was resident says so.
    pub(crate) fn assert_kept(&self, process: u32) {
        if self.group.is_none() {
            let peak = peak_resident(process);
            assert!(peak <= self.bytes, "{peak} bytes were resident, the limit is {}", self.bytes);
        }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            // Works once the process in it has ended.
            let _ = fs::remove_dir(group);
        }
    }
}

fn make_group(root: &str, limit: &str, bytes: u64) -> Option<PathBuf> {
    let root = Path::new(root);
    if !root.join("cgroup.procs").exists() {
        return None;
    }
    let group = root.join(format!("highwater-overload-{}", std::process::id()));
    fs::create_dir(&group).ok()?;
    let limited = fs::write(group.join(limit), bytes.to_string());
    if limited.is_err() {
        let _ = fs::remove_dir(&group);
        return None;
    }
    Some(group)
}

/// The most bytes that the process has had resident, without what the system can read again from files, as its code.
fn peak_resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    };
    let (most, of_files) = (field("VmHWM:").unwrap_or(0), field("RssFile:").unwrap_or(0));
    most.saturating_sub(of_files)
}
