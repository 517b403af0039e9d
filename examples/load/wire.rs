//! Just enough of the protocol to load a broker: connections, frames, answers to Produce.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use socket2::{Domain, Socket, Type};

const API_VERSIONS: i16 = 18;
/// UNKNOWN_SERVER_ERROR.
const UNKNOWN: i16 = -1;
/// A broker that does not answer for so long has failed.
const TIMEOUT: Duration = Duration::from_secs(120);

static SEGMENT_BYTES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        let stream = connect(address)?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), answer: Vec::new() })
    }

    /// For a connection that hardly says anything.
    pub(crate) fn open_small(address: &str) -> io::Result<Self> {
        let stream = connect(address)?;
        Ok(Self { stream: BufReader::with_capacity(64, stream), answer: Vec::new() })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let stream = self.stream.get_ref().try_clone()?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), answer: Vec::new() })
    }

    pub(crate) fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(frame)
    }

    /// One response without its length.
    pub(crate) fn receive(&mut self) -> io::Result<&[u8]> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        self.answer.resize(u32::from_be_bytes(length) as usize, 0);
        self.stream.read_exact(&mut self.answer)?;
        Ok(&self.answer)
    }

    /// Sends a request of a flexible version and decodes its answer.
    pub(crate) fn ask<R: Decodable>(
        &mut self,
        api: (i16, i16),
        body: &impl Encodable,
    ) -> io::Result<R> {
        self.send(&request(api, body)?)?;
        // Correlation id and the tag section of a flexible header, which the answer to ApiVersions has not.
        let head = if api.0 == API_VERSIONS { 4 } else { 5 };
        let mut answer = Bytes::copy_from_slice(&self.receive()?[head..]);
        R::decode(&mut answer, api.1).map_err(io::Error::other)
    }
}

/// Connects with segments as large as the route has them, or as [`set_segment_bytes`] says.
pub(crate) fn connect(address: &str) -> io::Result<TcpStream> {
    let address = address.parse::<SocketAddr>().map_err(io::Error::other)?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    match SEGMENT_BYTES.load(Ordering::Relaxed) {
        0 => {}
        bytes => socket.set_tcp_mss(bytes)?,
    }
    socket.connect(&address.into())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    Ok(socket.into())
}

/// Segments of all connections to come. Those of a loopback, 64 KiB, fill the receive buffers that brokers ask for by default,
/// 100 KiB, with one or two of them, and TCP then waits for its timers now and then. On an Ethernet they have 1,448 bytes.
pub(crate) fn set_segment_bytes(bytes: u32) {
    SEGMENT_BYTES.store(bytes, Ordering::Relaxed);
}

/// The frame of a request of a flexible version.
pub(crate) fn request(api: (i16, i16), body: &impl Encodable) -> io::Result<Vec<u8>> {
    let mut encoded = BytesMut::new();
    body.encode(&mut encoded, api.1).map_err(io::Error::other)?;
    Ok(frame(api, &encoded))
}

pub(crate) fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

/// Length, header of version 2 with a fixed correlation id and client id, body.
pub(crate) fn frame(api: (i16, i16), body: &[u8]) -> Vec<u8> {
    let client = b"load";
    let mut frame = Vec::with_capacity(body.len() + 32);
    frame.put_u32((2 + 2 + 4 + 2 + client.len() + 1 + body.len()) as u32);
    frame.put_i16(api.0);
    frame.put_i16(api.1);
    frame.put_i32(1);
    frame.put_i16(client.len() as i16);
    frame.put_slice(client);
    frame.put_u8(0);
    frame.put_slice(body);
    frame
}

/// The first error code in an answer to Produce 9 to 12; 0 if every partition has taken its batch.
pub(crate) fn produce_error(answer: &[u8]) -> i16 {
    first_error(answer).unwrap_or(UNKNOWN)
}

/// `None` if the answer is cut short.
fn first_error(answer: &[u8]) -> Option<i16> {
    // Correlation id and the tags of the header.
    let mut rest = answer.get(5..)?;
    for _ in 0..take_length(&mut rest)? {
        let name = take_length(&mut rest)?;
        rest = rest.get(name..)?;
        for _ in 0..take_length(&mut rest)? {
            // Index, error, base offset, time of append, log start offset.
            let code = i16::from_be_bytes(rest.get(4..6)?.try_into().ok()?);
            if code != 0 {
                return Some(code);
            }
            // No errors of single records, no message, no tags: one byte each.
            rest = rest.get(30 + 3..)?;
        }
        rest = rest.get(1..)?;
    }
    Some(0)
}

/// A compact length of a name or an array that is not null.
fn take_length(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value.checked_sub(1)
}

/// Takes one answer to Produce.
pub(crate) fn accept(answer: &[u8]) -> io::Result<()> {
    match produce_error(answer) {
        0 => Ok(()),
        code => Err(io::Error::other(format!("Produce: error {code}"))),
    }
}

/// Compact lengths are one more than what they count.
pub(crate) fn put_length(out: &mut Vec<u8>, length: usize) {
    put_unsigned(out, length as u64 + 1);
}

fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)).unsigned_abs());
}
