//! All metrics as text: the table of `observe`, the state of the broker, its topics, its process.

use super::{groups, process, topics, transactions};
use crate::broker::{Broker, GroupLags, OpenTransactions};
use crate::observe::header;

/// What has to be asked of coordinators; missing if they could not tell in time.
#[derive(Debug)]
pub(super) struct Coordinated {
    pub(super) groups: Option<GroupLags>,
    pub(super) transactions: Option<OpenTransactions>,
}

/// Prometheus' text format.
pub(super) fn text(broker: &Broker, coordinated: &Coordinated) -> String {
    let mut out = String::with_capacity(16 * 1024);
    build(&mut out);
    broker.metrics.expose(&mut out);
    memory(&mut out, broker);
    let open = broker.partitions.open_partitions().len();
    single(&mut out, "highwater_partitions_open", "Partitions whose log is open.", open);
    topics::expose(&mut out, broker);
    let now = broker.env.clock.wall();
    groups::expose(&mut out, coordinated.groups.as_ref(), now);
    transactions::expose(&mut out, coordinated.transactions.as_ref(), now);
    process::expose(&mut out);
    out
}

fn build(out: &mut String) {
    header(out, "highwater_build_info", "gauge", "The version that runs.");
    out.push_str(concat!("highwater_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n"));
}

/// The one budget of bytes: tails of partitions, the state of coordinators, long answers, and everything that requests hold. What
/// coordinators have loaded beyond their part of the budget is told all the same.
fn memory(out: &mut String, broker: &Broker) {
    let tails = broker.partitions.tail_bytes();
    let coordinators = &broker.coordinator_memory;
    let answers = broker.answer_memory.used_bytes();
    let others = tails + coordinators.counted_bytes() + answers;
    let requests = broker.budget.used_bytes().saturating_sub(others);
    header(out, "highwater_memory_used_bytes", "gauge", "Bytes of highwater.memory.bytes in use.");
    let pools = [("tails", tails), ("coordinators", coordinators.bytes()), ("requests", requests)];
    for (pool, bytes) in pools {
        out.push_str(&format!("highwater_memory_used_bytes{{pool=\"{pool}\"}} {bytes}\n"));
    }
    single(
        out,
        "highwater_memory_limit_bytes",
        "The setting highwater.memory.bytes.",
        broker.budget.limit_bytes(),
    );
}

/// A gauge without labels.
pub(super) fn single(out: &mut String, name: &str, help: &str, value: impl std::fmt::Display) {
    header(out, name, "gauge", help);
    out.push_str(&format!("{name} {value}\n"));
}
