//! The external fences: crates and parts of the standard library that only some modules may name.

use crate::paths::mentions;
use crate::source::Source;

/// A path prefix and who may name it.
struct Fence {
    /// Segments that a mention ends or starts with, see [`Fence::catches`].
    path: &'static [&'static str],
    /// Prefixes of files, below `src/`.
    inside: Inside,
    why: &'static str,
}

enum Inside {
    Only(&'static [&'static str]),
    NotIn(&'static [&'static str]),
}

use Inside::{NotIn, Only};

const ENV: Inside = Only(&["env/"]);
const HTTP: Inside = Only(&["gateway/"]);

const FENCES: &[Fence] = &[
    fence(&["kafka_protocol"], Only(&["kafka/", "coordinator/"]), "generated messages"),
    fence(&["kafka_protocol", "records"], Only(&[]), "records are the engine's own code"),
    fence(&["tokio"], NotIn(&["types/", "config/", "log/"]), "these know no runtime"),
    fence(&["etcd_client"], Only(&["metadata/"]), "agreement is a metadata store"),
    fence(&["object_store"], Only(&["storage/"]), "objects are storage"),
    fence(&["axum"], HTTP, "HTTP"),
    fence(&["hyper"], HTTP, "HTTP"),
    fence(&["tower"], HTTP, "HTTP"),
    fence(&["http"], HTTP, "HTTP"),
    fence(&["tonic"], HTTP, "gRPC"),
    fence(&["utoipa"], HTTP, "HTTP"),
    fence(&["std", "fs"], ENV, "files go through env::FileSystem"),
    fence(&["tokio", "fs"], Only(&[]), "files go through env::FileSystem"),
    fence(&["memmap2"], ENV, "files go through env::FileSystem"),
    fence(&["rustix", "fs"], ENV, "files go through env::FileSystem"),
    fence(&["getrandom"], ENV, "random bytes come from env::Random"),
    fence(&["rand"], ENV, "random bytes come from env::Random"),
    fence(&["std", "thread", "spawn"], ENV, "threads come from env"),
    fence(&["std", "thread", "Builder"], ENV, "threads come from env"),
    fence(&["thread", "spawn"], ENV, "threads come from env"),
    fence(&["tokio", "spawn"], ENV, "tasks come from env"),
    fence(&["tokio", "task", "spawn"], ENV, "tasks come from env"),
    fence(&["tokio", "task", "spawn_blocking"], ENV, "tasks come from env"),
    fence(&["task", "spawn"], ENV, "tasks come from env"),
    fence(&["task", "spawn_blocking"], ENV, "tasks come from env"),
    fence(&["Instant", "now"], ENV, "clocks are env::Clock"),
    fence(&["SystemTime", "now"], ENV, "clocks are env::Clock"),
    fence(&["std", "process", "exit"], Only(&["main.rs"]), "the composition root ends the process"),
];

const fn fence(path: &'static [&'static str], inside: Inside, why: &'static str) -> Fence {
    Fence { path, inside, why }
}

impl Fence {
    /// Crates are caught at the start of a path; `Instant::now` also at its end, however it was imported.
    fn catches(&self, segments: &[String]) -> bool {
        let starts = segments.len() >= self.path.len()
            && segments.iter().zip(self.path).all(|(a, b)| a == b);
        let ends = self.path.len() > 1
            && segments.len() >= self.path.len()
            && segments[segments.len() - self.path.len()..]
                .iter()
                .zip(self.path)
                .all(|(a, b)| a == b);
        starts || ends
    }

    fn allows(&self, path: &str) -> bool {
        let file = path.trim_start_matches("src/");
        let under = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
        match &self.inside {
            Only(folders) => under(folders),
            NotIn(folders) => !under(folders),
        }
    }
}

/// Complaints about what one file names.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for mention in mentions(source) {
        let broken = FENCES
            .iter()
            .filter(|fence| fence.catches(&mention.segments) && !fence.allows(&source.path));
        for fence in broken {
            let path = mention.segments.join("::");
            complaints.push(format!("{}:{}: {path}: {}", source.path, mention.line, fence.why));
        }
    }
    complaints.dedup();
    complaints
}

#[cfg(test)]
fn complaints(path: &str, text: &str) -> usize {
    check(&Source::parse(path, text)).len()
}

#[test]
fn what_is_fenced_is_caught_however_it_is_written() {
    assert_eq!(complaints("src/broker/x.rs", "use kafka_protocol::messages::ApiKey;"), 1);
    assert_eq!(complaints("src/kafka/x.rs", "use kafka_protocol::records::Record;"), 1);
    assert_eq!(complaints("src/log/x.rs", "use tokio::sync::Notify;"), 1);
    assert_eq!(complaints("src/log/x.rs", "use std::{fs, io};"), 1);
    assert_eq!(complaints("src/log/x.rs", "use std::time::Instant; fn f() { Instant::now(); }"), 1);
    assert_eq!(complaints("src/log/x.rs", "fn f() { std::time::SystemTime::now(); }"), 1);
    assert_eq!(complaints("src/kafka/x.rs", "use axum::Router;"), 1);
    assert_eq!(complaints("src/broker/x.rs", "fn f() { x!(tokio::spawn(g())); }"), 1);
    assert_eq!(complaints("src/broker/x.rs", "use std::thread; fn f() { thread::spawn(g); }"), 1);
    assert_eq!(complaints("src/broker/x.rs", "fn f() { getrandom::fill(b); }"), 1);
    assert_eq!(complaints("src/kafka/x.rs", "fn f() { std::process::exit(1); }"), 1);
}

#[test]
fn inside_the_fence_is_fine() {
    assert_eq!(complaints("src/env/disk.rs", "use std::fs::File; use memmap2::Mmap;"), 0);
    assert_eq!(
        complaints("src/gateway/http.rs", "use axum::Router; use tokio::net::TcpListener;"),
        0
    );
    assert_eq!(complaints("src/kafka/x.rs", "use kafka_protocol::messages::ApiKey;"), 0);
    assert_eq!(
        complaints("src/log/x.rs", "use std::time::Duration; use crate::env::FileSystem;"),
        0
    );
}
