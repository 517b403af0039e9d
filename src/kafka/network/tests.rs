//! A connection with handlers that do what a test wants: order, ends, panics, records in files.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connection::{Connection, End};
use super::control::{Control, Wish};
use super::frame::READ_BYTES;
use crate::app::{Running, StartArgs, start};
use crate::broker::Broker;
use crate::config::{BrokerSettings, Listener};
use crate::env::{Cached, Disk, Env, File, FileSystem, OpenMode, spawn};
use crate::kafka::api_table::{Access, Api, Body, Throttle};
use crate::kafka::handler::{Disconnect, Outcome, Peer, Request, Response, ResponsePart};
use crate::log::{Part, Slice};
use crate::types::Timestamp;

/// What a handler does with the body it gets. The keys are those of no real API.
const READY: i16 = 100;
const LATER: i16 = 101;
const SERIAL: i16 = 102;
const SILENT: i16 = 103;
const CLOSE: i16 = 104;
const PANIC: i16 = 105;
const PANIC_LATER: i16 = 106;
const RECORDS: i16 = 107;
const STORED: i16 = 108;
const LARGE: i16 = 109;

const fn row(key: i16, handle: fn(Request) -> Outcome) -> Api {
    Api {
        key,
        name: "Test",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 1,
        access: Access::Anyone,
        throttle: Throttle::Request,
        body: Body::Guarded(&[]),
        handle,
    }
}

static ROWS: [Api; 10] = [
    row(READY, |request| Outcome::Ready(echo(&request.body))),
    row(LATER, |request| {
        let signal = started(&request.body);
        Outcome::Later(Box::pin(async move {
            signal.await.expect("the test says when");
            Ok(echo(&request.body))
        }))
    }),
    row(SERIAL, |request| {
        let signal = started(&request.body);
        Outcome::serial(async move {
            signal.await.expect("the test says when");
            Ok(echo(&request.body))
        })
    }),
    row(SILENT, |_| Outcome::NoReply),
    row(CLOSE, |_| Outcome::Close(Disconnect("as told".to_owned()))),
    row(PANIC, |_| panic!("as told")),
    row(PANIC_LATER, |_| Outcome::Later(Box::pin(async { panic!("as told") }))),
    row(RECORDS, |request| Outcome::Ready(records(&request.body))),
    row(STORED, |request| Outcome::Ready(stored(&request.body))),
    row(LARGE, |_| {
        LARGE_STARTED.fetch_add(1, Ordering::Relaxed);
        Outcome::Ready(Response::from(BytesMut::zeroed(LARGE_BYTES)))
    }),
];

fn find(key: i16) -> Option<&'static Api> {
    ROWS.iter().find(|row| row.key == key)
}

fn echo(body: &[u8]) -> Response {
    Response::from(BytesMut::from(body))
}

/// Waiting handlers by the body of their request: sender until the test uses it, receiver until the handler takes it.
#[derive(Default)]
struct Signals {
    send: HashMap<Bytes, oneshot::Sender<()>>,
    receive: HashMap<Bytes, oneshot::Receiver<()>>,
}

static SIGNALS: LazyLock<Mutex<Signals>> = LazyLock::new(Mutex::default);

/// Prepares a handler that waits; unique per test, since tests run side by side.
fn expect_wait(body: &'static [u8]) {
    let (send, receive) = oneshot::channel();
    let mut signals = SIGNALS.lock();
    signals.send.insert(Bytes::from_static(body), send);
    signals.receive.insert(Bytes::from_static(body), receive);
}

fn started(body: &Bytes) -> oneshot::Receiver<()> {
    SIGNALS.lock().receive.remove(body).expect("prepared by the test, started once")
}

fn is_started(body: &'static [u8]) -> bool {
    !SIGNALS.lock().receive.contains_key(body)
}

fn go_on(body: &'static [u8]) {
    let sender = SIGNALS.lock().send.remove(body).expect("prepared by the test");
    sender.send(()).expect("the handler waits");
}

/// A broker whose connections the test runs itself.
struct Bench {
    running: Running,
    directory: TempDir,
}

/// One connection of it.
struct Served {
    peer: TcpStream,
    control: Arc<Control>,
    end: JoinHandle<End>,
}

impl Bench {
    async fn start() -> Self {
        Self::start_with(BrokerSettings::default()).await
    }

    async fn start_with(settings: BrokerSettings) -> Self {
        let directory = TempDir::new().expect("a directory");
        let settings = BrokerSettings {
            listeners: vec![Listener {
                name: "PLAINTEXT".to_owned(),
                host: "127.0.0.1".to_owned(),
                port: 0,
                advertised_host: "127.0.0.1".to_owned(),
                advertised_port: 0,
            }],
            log_dirs: vec![directory.path().to_owned()],
            metadata_log_dir: directory.path().to_owned(),
            ..settings
        };
        let running = start(StartArgs { env: Env::system(), settings }).await.expect("a broker");
        Self { running, directory }
    }

    async fn connect(&self) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (peer, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (stream, address) = accepted.expect("accepted");
        let control = Arc::new(Control::default());
        let broker: Arc<Broker> = Arc::clone(self.running.broker());
        let peer_of = Peer { address, listener: 0 };
        let connection = Connection::new(stream, peer_of, broker, Arc::clone(&control), find);
        Served { peer: peer.expect("connected"), control, end: spawn(connection.run()) }
    }
}

impl Served {
    async fn send(&mut self, requests: &[(i16, &[u8])]) {
        let mut bytes = Vec::new();
        for (id, (key, body)) in requests.iter().enumerate() {
            let header = [&key.to_be_bytes()[..], &[0, 0, 0, 0, 0, id as u8, 0xff, 0xff]].concat();
            bytes.extend_from_slice(&((header.len() + body.len()) as i32).to_be_bytes());
            bytes.extend_from_slice(&header);
            bytes.extend_from_slice(body);
        }
        self.peer.write_all(&bytes).await.expect("sent");
    }

    /// Correlation id and body of the next response, `None` at the end.
    async fn answer(&mut self) -> Option<(i32, Vec<u8>)> {
        let length = self.peer.read_i32().await.ok()?;
        let id = self.peer.read_i32().await.expect("a correlation id");
        let mut body = vec![0; length as usize - 4];
        self.peer.read_exact(&mut body).await.expect("a whole response");
        Some((id, body))
    }

    async fn end(self) -> End {
        self.end.await.expect("a connection never panics")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_ready_waits_for_the_one_before_it() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"reply order");
    served.send(&[(LATER, b"reply order"), (READY, b"b"), (SILENT, b""), (READY, b"c")]).await;
    while !is_started(b"reply order") {
        tokio::task::yield_now().await;
    }
    let mut byte = [0];
    let early = served.peer.try_read(&mut byte);
    assert_eq!(early.map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock));
    go_on(b"reply order");
    assert_eq!(served.answer().await, Some((0, b"reply order".to_vec())));
    assert_eq!(served.answer().await, Some((1, b"b".to_vec())));
    assert_eq!(served.answer().await, Some((3, b"c".to_vec())));
}

/// The connection takes as much as it can and expects more behind it.
#[tokio::test(flavor = "multi_thread")]
async fn replies_leave_though_nothing_follows_requests_that_fill_a_read() {
    const HEAD_BYTES: usize = 14;
    let bench = Bench::start().await;
    for closes in [false, true] {
        let mut served = bench.connect().await;
        let silent = vec![7; READ_BYTES - 2 * HEAD_BYTES - b"last".len()];
        served.send(&[(SILENT, &silent), (READY, b"last")]).await;
        if closes {
            served.peer.shutdown().await.expect("still open");
        }
        // A connection that went to sleep with them would wake after the time that buffers of idle ones are kept.
        let answer = timeout(Duration::from_secs(4), served.answer()).await;
        assert_eq!(answer.expect("not kept back"), Some((1, b"last".to_vec())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_of_requests_behind_a_pending_reply_happen_meanwhile() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"first effect");
    expect_wait(b"second effect");
    served.send(&[(LATER, b"first effect"), (LATER, b"second effect")]).await;
    while !is_started(b"second effect") {
        tokio::task::yield_now().await;
    }
    go_on(b"second effect");
    go_on(b"first effect");
    assert_eq!(served.answer().await, Some((0, b"first effect".to_vec())));
    assert_eq!(served.answer().await, Some((1, b"second effect".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_while_a_serial_effect_is_under_way() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"pending before serial");
    expect_wait(b"serial");
    expect_wait(b"after serial");
    let requests: [(i16, &[u8]); 3] =
        [(LATER, b"pending before serial"), (SERIAL, b"serial"), (LATER, b"after serial")];
    served.send(&requests).await;
    while !is_started(b"serial") {
        tokio::task::yield_now().await;
    }
    // The reply before it may leave, and the connection has had its turn with it.
    go_on(b"pending before serial");
    assert_eq!(served.answer().await, Some((0, b"pending before serial".to_vec())));
    assert!(!is_started(b"after serial"));
    go_on(b"serial");
    assert_eq!(served.answer().await, Some((1, b"serial".to_vec())));
    go_on(b"after serial");
    assert_eq!(served.answer().await, Some((2, b"after serial".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_leaves_the_replies_before_it_and_nothing_behind_it() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"before close");
    served.send(&[(LATER, b"before close"), (CLOSE, b""), (READY, b"never")]).await;
    while !is_started(b"before close") {
        tokio::task::yield_now().await;
    }
    go_on(b"before close");
    assert_eq!(served.answer().await, Some((0, b"before close".to_vec())));
    assert_eq!(served.answer().await, None);
    assert!(matches!(served.end().await, End::Request(Some(_), _)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_its_connection_and_no_other() {
    let bench = Bench::start().await;
    let mut other = bench.connect().await;
    for key in [PANIC, PANIC_LATER] {
        let mut served = bench.connect().await;
        served.send(&[(READY, b"a"), (key, b"")]).await;
        // What was ready before a panic in the same turn may be lost with it.
        while served.answer().await.is_some() {}
        let end = served.end().await;
        assert!(matches!(&end, End::Panic(text) if text == "as told"), "{end}");
    }
    other.send(&[(READY, b"still here")]).await;
    assert_eq!(other.answer().await, Some((0, b"still here".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_what_is_owed_and_starts_nothing() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"owed at stop");
    served.send(&[(LATER, b"owed at stop")]).await;
    while !is_started(b"owed at stop") {
        tokio::task::yield_now().await;
    }
    served.control.ask(Wish::Finish);
    served.send(&[(READY, b"too late")]).await;
    go_on(b"owed at stop");
    assert_eq!(served.answer().await, Some((0, b"owed at stop".to_vec())));
    assert_eq!(served.answer().await, None);
    assert!(matches!(served.end().await, End::Stopped));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_does_not_wait_for_what_is_owed() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    expect_wait(b"owed at abort");
    served.send(&[(LATER, b"owed at abort")]).await;
    while !is_started(b"owed at abort") {
        tokio::task::yield_now().await;
    }
    served.control.ask(Wish::Abort);
    assert_eq!(served.answer().await, None);
    assert!(matches!(served.end().await, End::Stopped));
}

/// Peers that announce a large frame each, send half of it if it is taken, and no more.
async fn stalled(bench: &Bench, count: usize) -> Vec<Served> {
    let mut peers = Vec::new();
    for _ in 0..count {
        let mut served = bench.connect().await;
        served.peer.write_i32(LARGE_FRAME_BYTES as i32).await.expect("sent");
        let half = vec![7; LARGE_FRAME_BYTES / 2];
        let mut sent = 0;
        while let Ok(bytes) = served.peer.try_write(&half[sent..])
            && bytes > 0
        {
            sent += bytes;
        }
        peers.push(served);
    }
    peers
}

/// So much that two of them take more than [`small_budget`] has when they are whole.
const LARGE_FRAME_BYTES: usize = 2 << 20;

async fn soon(holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("soon");
}

fn small_budget() -> BrokerSettings {
    BrokerSettings { memory_bytes: 6 << 20, ..BrokerSettings::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_wait_for_memory_keep_none_from_short_requests() {
    let bench = Bench::start_with(small_budget()).await;
    let stalled = stalled(&bench, 20).await;
    let budget = &bench.running.broker().budget;
    soon(|| budget.is_wanted()).await;
    for _ in 0..20 {
        let mut served = bench.connect().await;
        served.send(&[(READY, b"short")]).await;
        let answer = timeout(Duration::from_secs(4), served.answer()).await;
        assert_eq!(answer.expect("at once"), Some((0, b"short".to_vec())));
    }
    drop(stalled);
}

/// One of them has the memory that the other needs: neither waits for the other while both send.
#[tokio::test(flavor = "multi_thread")]
async fn large_frames_that_arrive_together_all_arrive() {
    let bench = Arc::new(Bench::start_with(small_budget()).await);
    let body = Arc::new(vec![7; LARGE_FRAME_BYTES]);
    let send = |_| {
        let (bench, body) = (Arc::clone(&bench), Arc::clone(&body));
        spawn(async move {
            let mut served = bench.connect().await;
            for _ in 0..3 {
                served.send(&[(SILENT, &body), (READY, b"next")]).await;
                assert_eq!(served.answer().await, Some((1, b"next".to_vec())));
            }
        })
    };
    let sending: Vec<_> = (0..16).map(send).collect();
    for sending in sending {
        let sent = timeout(Duration::from_secs(20), sending).await;
        sent.expect("nobody waits for those who wait").expect("all are answered");
    }
}

/// Whether it sends nothing or a byte now and then.
#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_does_not_come_is_given_up_when_others_need_its_memory() {
    // Looked at each second.
    let settings = BrokerSettings { connections_max_idle_ms: 2_000, ..small_budget() };
    let bench = Bench::start_with(settings).await;
    let mut first = stalled(&bench, 1).await.remove(0);
    let budget = &bench.running.broker().budget;
    soon(|| budget.used_bytes() >= LARGE_FRAME_BYTES).await;
    let drips = async {
        let mut pause = tokio::time::interval(Duration::from_millis(100));
        while first.peer.write_all(&[7]).await.is_ok() {
            pause.tick().await;
        }
    };
    let honest = async {
        let mut served = bench.connect().await;
        served.send(&[(READY, &vec![7; LARGE_FRAME_BYTES])]).await;
        served.answer().await
    };
    let both = async { tokio::join!(honest, drips) };
    let (answer, ()) = timeout(Duration::from_secs(20), both).await.expect("given up");
    assert_eq!(answer.map(|(_, body)| body.len()), Some(LARGE_FRAME_BYTES));
    assert!(matches!(first.end().await, End::Slow));
}

/// A file of which any read may find nothing in the page cache; byte `i` is `i % 251`.
#[derive(Debug)]
struct Cold {
    len: usize,
    /// Every so many-th look into the page cache finds nothing.
    missing_each: usize,
    looks: Mutex<usize>,
}

impl File for Cold {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let from = (position as usize).min(self.len);
        let len = buffer.len().min(self.len - from);
        for (at, byte) in buffer[..len].iter_mut().enumerate() {
            *byte = ((from + at) % 251) as u8;
        }
        Ok(len)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<Option<usize>> {
        let mut looks = self.looks.lock();
        *looks += 1;
        if looks.is_multiple_of(self.missing_each) {
            return Ok(None);
        }
        // A part of it is resident.
        let part = (buffer.len() / 2).max(1);
        self.read_at(&mut buffer[..part], position).map(Some)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.len as u64)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_modified(&self, _: Timestamp) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn reserve(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Fields, records in memory, records in a file, and fields again. The body says how much of the file is there.
fn records(body: &[u8]) -> Response {
    const ANNOUNCED: usize = 3_000_000;
    let len = if body == b"cut" { ANNOUNCED - 1 } else { ANNOUNCED };
    let file = Cold { len: len + 1000, missing_each: 3, looks: Mutex::new(0) };
    let large = Bytes::from(vec![b's'; 700_000]);
    let mut slice = Slice { len: large.len() + 3 + ANNOUNCED, ..Slice::default() };
    slice.parts.push(Part::Shared(large));
    slice.parts.push(Part::Shared(Bytes::from_static(b"sml")));
    slice.parts.push(Part::File { file: Arc::new(file), position: 1000, len: ANNOUNCED });
    let mut response = Response::default();
    response.parts.push(ResponsePart::Inline(BytesMut::from(&b"head"[..])));
    response.parts.push(ResponsePart::Records(slice));
    response.parts.push(ResponsePart::Inline(BytesMut::from(&b"tail"[..])));
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn records_from_memory_and_files_arrive_whole_and_in_order() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    served.send(&[(RECORDS, b"whole"), (READY, b"next")]).await;
    let (_, body) = served.answer().await.expect("an answer");
    let file: Vec<_> = (1000..3_001_000).map(|at| (at % 251) as u8).collect();
    let expected = [b"head", &vec![b's'; 700_000][..], b"sml", &file, b"tail"].concat();
    assert!(body == expected, "{} of {} bytes", body.len(), expected.len());
    assert_eq!(served.answer().await, Some((1, b"next".to_vec())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_shorter_than_announced_ends_the_connection() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    served.send(&[(RECORDS, b"cut")]).await;
    let mut received = Vec::new();
    let _ = served.peer.read_to_end(&mut received).await;
    let end = served.end().await;
    assert!(
        matches!(&end, End::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof),
        "{end}"
    );
}

/// The body is the path of a file; all of it but the first 1000 bytes is sent, from pages of the page cache.
fn stored(path: &[u8]) -> Response {
    let path = Path::new(std::str::from_utf8(path).expect("a path"));
    let file = Disk.open(path, OpenMode::ReadOnly).expect("written by the test");
    let len = file.len().expect("a length") as usize - 1000;
    assert_eq!(file.cached(1000, len).expect("open"), Cached::All, "just written");
    let mut slice = Slice { len, ..Slice::default() };
    slice.parts.push(Part::File { file, position: 1000, len });
    let mut response = Response::from(BytesMut::from(&b"head"[..]));
    response.parts.push(ResponsePart::Records(slice));
    response.parts.push(ResponsePart::Inline(BytesMut::from(&b"tail"[..])));
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_file_are_lent_to_the_socket_in_order() {
    let bench = Bench::start().await;
    let mut served = bench.connect().await;
    let content: Vec<_> = (0..3_001_000).map(|at| (at % 251) as u8).collect();
    let path = bench.directory.path().join("stored");
    let file = Disk.open(&path, OpenMode::CreateNew).expect("a new file");
    file.write_all_at(&content, 0).expect("room");
    let path = path.to_str().expect("a path in text").as_bytes();
    served.send(&[(STORED, path), (READY, b"next")]).await;
    let (_, body) = served.answer().await.expect("an answer");
    let expected = [b"head", &content[1000..], b"tail"].concat();
    assert!(body == expected, "{} of {} bytes", body.len(), expected.len());
    assert_eq!(served.answer().await, Some((1, b"next".to_vec())));
}

const LARGE_BYTES: usize = 1 << 20;
static LARGE_STARTED: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_reads_holds_little_and_is_closed_as_idle() {
    const REQUESTS: usize = 200;
    let settings = BrokerSettings { connections_max_idle_ms: 300, ..BrokerSettings::default() };
    let bench = Bench::start_with(settings).await;
    let mut deaf = bench.connect().await;
    let mut other = bench.connect().await;
    deaf.send(&[(LARGE, &b""[..]); REQUESTS]).await;
    while LARGE_STARTED.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    other.send(&[(READY, b"not held up")]).await;
    assert_eq!(other.answer().await, Some((0, b"not held up".to_vec())));
    let Served { peer, end, .. } = deaf;
    assert!(matches!(end.await.expect("no panic"), End::Idle));
    // What the socket took, what waited in the outbox, and the one response that filled it.
    let started = LARGE_STARTED.load(Ordering::Relaxed);
    assert!(started < REQUESTS / 4, "{started} responses of 1 MiB were made for nobody");
    drop(peer);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_gives_its_buffer_back_and_serves_on() {
    let settings = BrokerSettings { connections_max_idle_ms: 2_000, ..BrokerSettings::default() };
    let bench = Bench::start_with(settings).await;
    let budget = Arc::clone(&bench.running.broker().budget);
    let before = budget.used_bytes();
    let mut served = bench.connect().await;
    served.send(&[(READY, b"a")]).await;
    assert_eq!(served.answer().await, Some((0, b"a".to_vec())));
    assert!(budget.used_bytes() > before, "the buffer counts");
    // There is room for this much only when the buffer is given back.
    drop(budget.take(budget.limit_bytes() - before).await.expect("within the limit"));
    served.send(&[(READY, b"b")]).await;
    assert_eq!(served.answer().await, Some((0, b"b".to_vec())));
}
