//! The process as an operator meets it: start, stop, refusal, crash.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

#[path = "support/data_directories.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod data_directories;
#[path = "app/process.rs"]
mod process;
#[path = "support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use data_directories::DataDirectories;
use highwater::app::{self, StartArgs};
use highwater::config::{Sources, load};
use highwater::env::Env;
use process::{Process, commanded, refused};

const CLEAN_MARK: &str = ".kafka_cleanshutdown";

/// ApiVersions v0 with correlation id 7.
const ASK_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];

fn answers(address: SocketAddr) -> bool {
    is_answered(&mut TcpStream::connect(address).expect("the listener accepts"))
}

/// Asks for versions and reads the whole answer.
fn is_answered(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&ASK_VERSIONS).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    answer.starts_with(&[0, 0, 0, 7, 0, 0])
}

fn has_clean_mark(directory: &Path) -> bool {
    directory.join(CLEAN_MARK).exists()
}

/// Starts a broker in this process.
async fn start(directory: &DataDirectories, http: &str) -> app::Running {
    let flag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let flags = vec![
        flag("listeners", "PLAINTEXT://127.0.0.1:0"),
        flag("log.dirs", directory.path().to_str().unwrap()),
        flag("highwater.http.listen", http),
    ];
    let settings = load(Sources { flags, ..Sources::default() }).unwrap().settings;
    app::start(StartArgs { env: Env::system(), settings }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_starts_serves_and_stops_inside_a_process() {
    let directory = DataDirectories::one();
    for _ in 0..2 {
        let running = start(&directory, "").await;
        let [address] = running.addresses()[..] else { panic!("{:?}", running.addresses()) };
        assert_ne!(address.port(), 0);
        assert!(tokio::task::spawn_blocking(move || answers(address)).await.unwrap());
        assert!(!has_clean_mark(directory.path()), "a crash from here on is not a clean stop");
        running.stop().await.unwrap();
        assert!(has_clean_mark(directory.path()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_http_port_answers_probes_and_metrics() {
    let directory = DataDirectories::one();
    let running = start(&directory, "127.0.0.1:0").await;
    let (kafka, http) = (running.addresses()[0], running.http_address().unwrap());
    let answered = tokio::task::spawn_blocking(move || {
        assert!(answers(kafka));
        ["/healthz", "/readyz", "/metrics", "/nothing"].map(|path| get(http, path))
    });
    let [health, ready, metrics, nothing] = answered.await.unwrap();
    assert!(
        health.starts_with("HTTP/1.1 200 OK\r\n") && health.ends_with("\r\n\r\nok\n"),
        "{health}"
    );
    assert!(ready.starts_with("HTTP/1.1 200 OK\r\n"), "{ready}");
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
    assert!(
        metrics.contains("\nhighwater_requests_total{api=\"ApiVersions\",version="),
        "{metrics}"
    );
    assert!(metrics.contains("\nkafka_brokers 1\n"), "{metrics}");
    assert!(nothing.starts_with("HTTP/1.1 404 Not Found\r\n"), "{nothing}");
    running.stop().await.unwrap();
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_first_line_says_where_the_broker_is() {
    let directory = DataDirectories::one();
    let process = Process::start(directory.path(), &[]);
    let line = process.first_line();
    let expected = format!(
        "highwater {} listening on {}, data in {}, durability fsync, ready in ",
        env!("CARGO_PKG_VERSION"),
        process.address(),
        directory.path().display()
    );
    assert!(line.starts_with(&expected) && line.ends_with(" ms"), "{line}");
}

#[test]
fn sigterm_ends_with_0_and_the_mark_of_a_clean_stop() {
    let directory = DataDirectories::one();
    let mut process = Process::start(directory.path(), &[]);
    assert!(answers(process.address()));
    process.signal(libc::SIGTERM);
    assert_eq!(process.wait(), Some(0));
    assert!(has_clean_mark(directory.path()));
}

#[test]
fn a_second_signal_ends_at_once() {
    let directory = DataDirectories::one();
    let mut process = Process::start(directory.path(), &[]);
    // Answers that nobody takes hold the stop up.
    let mut stream = TcpStream::connect(process.address()).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    while stream.write_all(&ASK_VERSIONS.repeat(1000)).is_ok() {}
    process.signal(libc::SIGTERM);
    // It has seen the first one when it accepts no longer.
    while TcpStream::connect(process.address()).is_ok() {}
    let begin = Instant::now();
    process.signal(libc::SIGTERM);
    assert_eq!(process.wait(), Some(1));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(!has_clean_mark(directory.path()));
    drop(stream);
}

/// So few descriptors that the system refuses connections before the broker has as many as it wants to take.
#[test]
fn too_few_descriptors_delay_connections_and_nothing_else() {
    let directory = DataDirectories::one();
    let process = Process::start_with_descriptors(directory.path(), 24);
    let connect = || TcpStream::connect(process.address()).expect("the backlog has room");
    let mut served: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    assert!(served.iter_mut().all(is_answered));
    let mut waiting: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
    for _ in 0..3 {
        assert!(served.iter_mut().all(is_answered), "those that were in are served on");
    }
    drop(served);
    // Each takes the place of one that has gone.
    for mut stream in waiting.drain(..) {
        assert!(is_answered(&mut stream));
    }
}

/// Half of them: a topic can be made and written with all connections taken.
#[test]
fn connections_leave_descriptors_to_the_logs() {
    let directory = DataDirectories::one();
    let process = Process::start_with_descriptors(directory.path(), 64);
    let address = process.address().to_string();
    let connect = || TcpStream::connect(process.address()).expect("the backlog has room");
    let mut taken: Vec<TcpStream> = (0..32).map(|_| connect()).collect();
    assert!(taken.iter_mut().all(is_answered));
    let mut waiting = connect();
    taken.pop();
    assert!(is_answered(&mut waiting), "in the place of the one that has gone");
    // The commands have a connection each.
    taken.pop();
    let said = commanded(&["topic", "create", "t", "--partitions", "3", "--broker", &address], "");
    assert_eq!(said, "created t\n");
    let said = commanded(&["produce", "t", "--broker", &address], "a\nb\nc\nd\n");
    assert_eq!(said, "4 records to t\n");
}

#[test]
fn a_killed_broker_starts_again_and_serves() {
    let directory = DataDirectories::one();
    let mut process = Process::start(directory.path(), &[]);
    process.signal(libc::SIGKILL);
    assert_eq!(process.wait(), None, "it did not end by itself");
    assert!(!has_clean_mark(directory.path()));
    let process = Process::start(directory.path(), &[]);
    assert!(answers(process.address()));
}

#[test]
fn a_second_process_on_the_same_directory_is_refused_with_the_reason() {
    let directory = DataDirectories::one();
    let process = Process::start(directory.path(), &[]);
    let (code, text) =
        refused(&["--listen", "127.0.0.1:0", "--data-dir", directory.path().to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    let lock = directory.path().join(".lock");
    assert!(text.contains("another process") && text.contains(lock.to_str().unwrap()), "{text}");
    assert!(text.contains(&process.id().to_string()) || !text.contains("pid"), "{text}");
    assert!(answers(process.address()), "the first one goes on");
}

#[test]
fn a_taken_port_is_refused_with_the_address() {
    let directories = [DataDirectories::one(), DataDirectories::one()];
    let process = Process::start(directories[0].path(), &[]);
    let address = process.address().to_string();
    let (code, text) =
        refused(&["--listen", &address, "--data-dir", directories[1].path().to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&address) && text.contains("in use"), "{text}");
}

#[test]
fn a_taken_http_port_ends_the_start_before_the_data_is_touched() {
    let directories = [DataDirectories::one(), DataDirectories::one()];
    let process = Process::start(directories[0].path(), &[]);
    let address = process.address().to_string();
    let data = directories[1].path().to_str().unwrap();
    let (code, text) =
        refused(&["--listen", "127.0.0.1:0", "--data-dir", data, "--http", &address]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(&format!("the HTTP port {address} cannot be bound")), "{text}");
    assert!(!directories[1].path().join("meta.properties").exists());
}

#[test]
fn a_wrong_configuration_ends_with_2_and_names_its_place() {
    let directory = DataDirectories::one();
    let file = directory.path().join("server.properties");
    std::fs::write(&file, "# a file\nnum.partitions=many\n").unwrap();
    let (code, text) = refused(&["--config", file.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(&format!("{} line 2: num.partitions", file.display())), "{text}");
    for arguments in
        [&["--set", "num.partition=3"][..], &["--config", "/nowhere"], &["--frobnicate"]]
    {
        assert_eq!(refused(arguments).0, Some(2), "{arguments:?}");
    }
}

#[test]
fn a_setting_comes_from_the_environment_unless_a_flag_says_otherwise() {
    let directory = DataDirectories::one();
    let variables = [("KAFKA_NUM_PARTITIONS", "0")];
    let (code, text) = process::refused_with(&[], &variables);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("environment variable KAFKA_NUM_PARTITIONS"), "{text}");
    let process = Process::start(directory.path(), &[("HIGHWATER_DURABILITY", "os")]);
    assert!(process.first_line().contains("durability os"), "{}", process.first_line());
}
