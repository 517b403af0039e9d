//! How much memory this process may use, and what its allocator keeps of it.

use std::path::{Path, PathBuf};

/// Below this budget the allocator is held short.
const SHORT_OF_MEMORY_BYTES: usize = 128 << 20;
/// Blocks from this size on are given back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES_MIN: i32 = 256 << 10;
/// Free memory that an arena keeps at its end.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES_MAX: i32 = 256 << 10;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: i32 = 2;

/// Where control groups are found, and what the limit is called: of the first and of the second version of them.
const HIERARCHIES: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// The hard limit of memory that the control group of this process has, above which the kernel kills; `None` for no limit, and where
/// the system does not tell. Of a group within another one the least counts.
pub fn memory_limit() -> Option<u64> {
    let groups = read("/proc/self/cgroup".as_ref()).unwrap_or_default();
    let limits = HIERARCHIES.iter().flat_map(|(root, file)| {
        let paths = group_paths(&groups, root);
        paths.into_iter().filter_map(move |path| read(&path.join(file))?.trim().parse::<u64>().ok())
    });
    // The first version says "no limit" by a number that no machine has.
    limits.min().filter(|limit| *limit < 1 << 50)
}

/// The group of this process below `root`, and those that it lies in. A container sees its own group as the root.
fn group_paths(groups: &str, root: &str) -> Vec<PathBuf> {
    let is_first_version = root.ends_with("memory");
    // `number:controllers:path`
    let own = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = if is_first_version {
            controllers.split(',').any(|controller| controller == "memory")
        } else {
            controllers.is_empty()
        };
        is_it.then(|| Path::new(root).join(path.trim_start_matches('/')))
    });
    let root = Path::new(root);
    let own = own.unwrap_or_else(|| root.to_owned());
    own.ancestors().take_while(|path| path.starts_with(root)).map(Path::to_owned).collect()
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Holds the allocator short where the budget is small. By itself glibc makes up to eight arenas for each processor, and each of them
/// keeps up to twice the largest block that was ever freed: more than all that a budget of a few MiB counts.
pub fn bound_allocator(budget_bytes: usize) {
    if budget_bytes >= SHORT_OF_MEMORY_BYTES {
        return;
    }
    // Other allocators look after that themselves.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (option, value) in [
        (libc::M_ARENA_MAX, ARENAS_MAX),
        (libc::M_MMAP_THRESHOLD, MAPPED_BYTES_MIN),
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES_MAX),
    ] {
        // SAFETY: it may be called at any time; what it cannot set stays as it is.
        unsafe { libc::mallopt(option, value) };
    }
}

/// Gives the system memory that was freed and lies between what is in use: chunks of many sizes come and go, and the allocator keeps
/// the pages of the gaps. Takes milliseconds, and whoever allocates meanwhile may wait for as long.
pub fn give_memory_back() {
    // Other allocators look after that themselves.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_found_in_both_versions() {
        let groups = "12:cpu,cpuacct:/docker/a\n7:memory:/docker/a\n1:name=systemd:/\n0::/user/b\n";
        let paths = |root| -> Vec<String> {
            let paths = group_paths(groups, root);
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        let first = [
            "/sys/fs/cgroup/memory/docker/a",
            "/sys/fs/cgroup/memory/docker",
            "/sys/fs/cgroup/memory",
        ];
        assert_eq!(paths("/sys/fs/cgroup/memory"), first);
        let second = ["/sys/fs/cgroup/user/b", "/sys/fs/cgroup/user", "/sys/fs/cgroup"];
        assert_eq!(paths("/sys/fs/cgroup"), second);
        assert_eq!(group_paths("", "/sys/fs/cgroup"), [Path::new("/sys/fs/cgroup")]);
    }
}
