//! Peers that are slow, large, silent or many.

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// So short that a test need not wait, so long that a busy machine does not trip over it.
const SHORT: Duration = Duration::from_millis(300);

/// Far beyond any test.
const LONG: Duration = Duration::from_secs(600);

const PATIENT: Limits =
    Limits { connections: 2, head_within: LONG, kept_for: LONG, finish_within: LONG };

/// More than the buffers of a socket hold.
const LARGE: usize = 64 << 20;

async fn serve_with(limits: Limits) -> Gateway {
    let router = Router::new()
        .route("/", get(|| async { "small" }))
        .route("/large", get(|| async { "x".repeat(LARGE) }));
    let bound = BoundGateway::bind("127.0.0.1:0").await.expect("a free port");
    bound.serve_routes(router, limits)
}

async fn send(gateway: &Gateway, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address()).await.expect("the port is open");
    // The other side may have heard enough already.
    let _ = stream.write_all(bytes).await;
    stream
}

/// Everything up to the end of the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";

async fn is_served(gateway: &Gateway) -> bool {
    rest(send(gateway, ASK).await).await.ends_with("small")
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let gateway = serve_with(Limits { head_within: SHORT, ..PATIENT }).await;
    let silent = send(&gateway, b"").await;
    let slow = send(&gateway, b"GET / HTTP/1.1\r\nhost: ").await;
    let kept = b"GET / HTTP/1.1\r\nhost: t\r\n\r\n";
    assert!(!rest(silent).await.contains("small"));
    assert!(!rest(slow).await.contains("small"));
    assert!(rest(send(&gateway, kept).await).await.ends_with("small"), "then it is closed as well");
    gateway.stop().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let gateway = serve_with(PATIENT).await;
    let header = format!("GET / HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    let answer = rest(send(&gateway, header.as_bytes()).await).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    let many = "a: b\r\n".repeat(5_000);
    let answer =
        rest(send(&gateway, format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()).await).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    assert!(is_served(&gateway).await);
    gateway.stop().await;
}

#[tokio::test]
async fn a_body_is_not_taken_in() {
    let gateway = serve_with(PATIENT).await;
    let head = "POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 1000000000000\r\n\r\n";
    let answer = rest(send(&gateway, head.as_bytes()).await).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    gateway.stop().await;
}

#[tokio::test]
async fn what_is_no_http_is_closed() {
    let gateway = serve_with(PATIENT).await;
    for hello in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"\0\0\0\x0a\0\x12\0\0\r\n\r\n"]
    {
        let answer = rest(send(&gateway, hello).await).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_and_those_that_take_nothing_make_room() {
    let gateway = serve_with(Limits { kept_for: SHORT, finish_within: SHORT, ..PATIENT }).await;
    let request = b"GET /large HTTP/1.1\r\nhost: t\r\n\r\n";
    let stuck = [send(&gateway, request).await, send(&gateway, request).await];
    assert!(is_served(&gateway).await, "once the two have had their time");
    drop(stuck);
    gateway.stop().await;
}

#[tokio::test]
async fn a_stop_is_not_held_up_by_peers() {
    let gateway = serve_with(PATIENT).await;
    let request = b"GET /large HTTP/1.1\r\nhost: t\r\n\r\n";
    let stuck = [send(&gateway, request).await, send(&gateway, request).await];
    let waiting = send(&gateway, ASK).await;
    timeout(LONG / 10, gateway.stop()).await.expect("it ends while all places are taken");
    drop((stuck, waiting));
}
