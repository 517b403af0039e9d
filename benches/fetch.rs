//! What a fetch costs before its bytes reach a socket: the plan over all its partitions, and the read of their views.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program of its own, with the support of the tests"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highwater::broker::{Acks, Fetch, FetchPartition, Step};
use highwater::log::Isolation;
use support::broker::{Life, Node, now};
use tokio::runtime::Runtime;

const PARTITIONS: [i32; 3] = [1, 64, 1000];
const VALUE_BYTES: usize = 4096;

/// A broker with a topic for each number of partitions, one batch in each of them.
async fn filled(node: &Node) -> Life {
    let life = node.start();
    let batch = support::batches::batch(&[(&[b'x'; VALUE_BYTES], now())], None);
    for count in PARTITIONS {
        let name = format!("of-{count}");
        life.create(&name, count as usize, &[("highwater.durability", "os")]);
        for partition in 0..count {
            life.send(&name, partition, Acks::Leader, &batch).await.expect("appended");
        }
    }
    life
}

fn request(partitions: Vec<FetchPartition>) -> Fetch {
    Fetch {
        wait: Duration::ZERO,
        bytes_min: 0,
        bytes_max: 50 << 20,
        isolation: Isolation::ReadUncommitted,
        partitions,
    }
}

fn fetch(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let node = Node::new();
    let life = runtime.block_on(filled(&node));
    let _inside = runtime.enter();
    for (name, offset) in [("fetch from memory", 0), ("fetch at the end", 1)] {
        let mut group = criterion.benchmark_group(name);
        for count in PARTITIONS {
            let topic = format!("of-{count}");
            let asked: Vec<_> = (0..count).map(|p| life.fetch_of(&topic, p, offset)).collect();
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(format!("{count} partitions"), |bencher| {
                bencher.iter(|| match life.broker.fetch(request(asked.clone())) {
                    Step::Now(answers) => black_box(answers),
                    _ => panic!("nothing here has to wait"),
                });
            });
        }
        group.finish();
    }
    runtime.block_on(life.stop());
}

criterion_group!(benches, fetch);
criterion_main!(benches);
