//! Our own settings. The only ones that take units.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "highwater.cluster.id": String = "", ANY, Low, read_only, acts
        => "Cluster id for log directories that are formatted at this start; also the environment variable CLUSTER_ID. A \
            random one unless set. A directory of another cluster is refused.";
    "highwater.durability": String = "fsync", one_of(&["fsync", "interval", "os"]), High, cluster_wide, acts
        => "When an acks=all append is acknowledged. 'fsync': after the data is synced to disk. 'os': after the write to \
            the page cache, as Kafka does. 'interval': as 'os', with a sync in the background after \
            highwater.durability.interval.ms or highwater.durability.interval.bytes.";
    "highwater.durability.interval.bytes": Bytes = "64MiB", at_least(1), Medium, cluster_wide, acts
        => "With highwater.durability=interval: most bytes of a partition without a sync.";
    "highwater.durability.interval.ms": Millis = "200ms", at_least(1), Medium, cluster_wide, acts
        => "With highwater.durability=interval: longest time without a sync.";
    "highwater.http.listen": String = "", ANY, Medium, read_only, acts
        => "Address of the HTTP port with /metrics, /healthz and /readyz, such as 127.0.0.1:9644. Off unless set.";
    "highwater.log.level": String = "info", ANY, Low, read_only, acts
        => "What is logged: error, warn, info, debug or trace, or filters such as info,highwater::log=debug. \
            RUST_LOG goes first.";
    "highwater.memory.bytes": Bytes = "256MiB", at_least(1048576), High, read_only, acts
        => "The one budget of bytes for everything that grows with what clients send: request frames, decompression, \
            cached tails, responses in flight, the state of coordinators. Where the control group of the process has a \
            limit of memory, at most three eighths of that: code, stacks and what freed memory leaves in gaps come on top.";
    "highwater.validation": String = "strict", one_of(&["strict", "fast"]), Medium, read_only, acts
        => "How batches from clients are checked. 'strict': every record is walked, compressed ones within a bound. \
            'fast': header, size and checksum; records are walked only where a setting needs it (compacted topics, \
            compression.type other than producer, message.timestamp.before.max.ms, max.decompressed.message.bytes) or \
            the header looks wrong. A broken producer can then store what consumers cannot read.";
};
