//! Requests as bytes over a socket that blocks, for what no client library at hand sends.

#![allow(
    clippy::disallowed_methods,
    dead_code,
    reason = "opens a socket; each test uses a part of it"
)]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

/// A connection to a broker.
pub struct Connection {
    stream: TcpStream,
    correlation_id: i32,
}

impl Connection {
    /// No answer for `patience` is an error.
    pub fn open(address: &str, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// Sends a request and waits for its answer.
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> io::Result<R::Response> {
        self.send(version, request)?;
        self.answer::<R>(version)
    }

    /// Sends a request. Answers come in the order of the requests.
    pub fn send<R: Request>(&mut self, version: i16, request: &R) -> io::Result<()> {
        self.correlation_id += 1;
        self.stream.write_all(&frame_of(self.correlation_id, version, request))
    }

    /// The next answer, which is that of an `R`.
    pub fn answer<R: Request>(&mut self, version: i16) -> io::Result<R::Response> {
        let mut len = [0; 4];
        self.stream.read_exact(&mut len)?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(len)).expect("a length")];
        self.stream.read_exact(&mut frame)?;
        let mut frame = Bytes::from(frame);
        let header = R::Response::header_version(version);
        ResponseHeader::decode(&mut frame, header).expect("a header");
        let answer = R::Response::decode(&mut frame, version).expect("an answer");
        assert!(!frame.has_remaining(), "bytes are left");
        Ok(answer)
    }
}

/// A request as bytes, for who reads no answer to it.
pub fn frame<R: Request>(version: i16, request: &R) -> Vec<u8> {
    frame_of(0, version, request).to_vec()
}

fn frame_of<R: Request>(correlation_id: i32, version: i16, request: &R) -> BytesMut {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(StrBytes::from_static_str("raw")));
    let mut frame = BytesMut::zeroed(4);
    header.encode(&mut frame, R::header_version(version)).expect("a header");
    request.encode(&mut frame, version).expect("a request that has such a version");
    let len = i32::try_from(frame.len() - 4).expect("a small request");
    frame[..4].copy_from_slice(&len.to_be_bytes());
    frame
}
