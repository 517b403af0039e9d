//! The other end of a connection: sends what it is told to and reads frames.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use highwater::kafka::api_table::Api;
use kafka_protocol::protocol::Encodable;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A test that waits longer has failed. Long, because the machine may be busy; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

/// A raw connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

impl Peer {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the broker accepts");
        stream.set_nodelay(true).expect("a socket");
        Self { stream }
    }

    /// The port of this end, another one for each connection.
    pub(crate) fn local_port(&self) -> u16 {
        self.stream.local_addr().expect("an address").port()
    }

    /// Sends bytes as they are. The broker may have closed the connection already.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Sends a frame: its length, then `payload`.
    pub(crate) async fn send_frame(&mut self, payload: &[u8]) {
        self.send(&framed(payload)).await;
    }

    /// The next frame, without its length; `None` once the broker has closed the connection.
    pub(crate) async fn frame(&mut self) -> Option<Bytes> {
        timeout(PATIENCE, self.read_frame()).await.expect("an answer in time")
    }

    /// Sends a request and reads the body of its answer; `None` if the connection is closed instead.
    pub(crate) async fn ask(&mut self, api: &Api, version: i16, body: &[u8]) -> Option<Bytes> {
        const CORRELATION_ID: i32 = 0x0102_0304;
        self.send_frame(&request(api, version, CORRELATION_ID, body)).await;
        let answer = self.frame().await?;
        Some(body_of(api, version, CORRELATION_ID, &answer))
    }

    /// Waits until the broker has closed the connection without sending anything.
    pub(crate) async fn closed(&mut self) {
        let frame = self.frame().await;
        assert!(frame.is_none(), "an answer instead of an end: {frame:?}");
    }

    async fn read_frame(&mut self) -> Option<Bytes> {
        let length = self.stream.read_i32().await.ok()?;
        let mut frame = BytesMut::zeroed(usize::try_from(length).expect("a length"));
        self.stream.read_exact(&mut frame).await.expect("the rest of a frame");
        Some(frame.freeze())
    }
}

/// The API with this key.
pub(crate) fn api(key: i16) -> &'static Api {
    Api::find(key).expect("an API that is served")
}

/// `payload` with its length before it.
pub(crate) fn framed(payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as i32).to_be_bytes()[..], payload].concat()
}

/// Header and body of a request of the client `test`.
pub(crate) fn request(api: &Api, version: i16, correlation_id: i32, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.put_i16(api.key);
    frame.put_i16(version);
    frame.put_i32(correlation_id);
    frame.put_slice(&[0, 4, b't', b'e', b's', b't']);
    if api.is_flexible(version) {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    frame
}

/// The body of an answer, whose header must be the right one.
pub(crate) fn body_of(api: &Api, version: i16, correlation_id: i32, answer: &Bytes) -> Bytes {
    assert_eq!(answer[..4], correlation_id.to_be_bytes(), "{} v{version}", api.name);
    if api.has_tagged_response_header(version) {
        assert_eq!(answer[4], 0, "no tags in the header");
        return answer.slice(5..);
    }
    answer.slice(4..)
}

/// A message of the generated codec as bytes.
pub(crate) fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut body = BytesMut::new();
    message.encode(&mut body, version).expect("the generated encoder takes it");
    body.to_vec()
}
