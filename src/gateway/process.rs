//! The metrics that every Prometheus client library exports about its process.

use super::exposition::single;
use crate::env;
use crate::observe::header;

pub(super) fn expose(out: &mut String) {
    let usage = env::process_usage();
    header(out, "process_cpu_seconds_total", "counter", "CPU time used.");
    out.push_str(&format!("process_cpu_seconds_total {}\n", usage.cpu.as_secs_f64()));
    if let Some(bytes) = usage.resident_bytes {
        single(out, "process_resident_memory_bytes", "Resident memory.", bytes);
    }
    if let Some(count) = usage.open_descriptors {
        single(out, "process_open_fds", "Open descriptors.", count);
    }
    if let Some(count) = usage.descriptors_max {
        single(out, "process_max_fds", "Most open descriptors.", count);
    }
}
