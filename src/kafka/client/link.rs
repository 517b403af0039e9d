//! Requests and responses of one connection.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ClientError;
use crate::kafka::ErrorCode;
use crate::kafka::wire::Reader;

/// How long to wait for an answer unless told otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest answer taken, so that a stray peer cannot make the client reserve what four bytes of text happen to say.
const FRAME_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Where to connect and as whom.
#[derive(Clone, Copy, Debug)]
pub struct Connect<'a> {
    /// `host:port`.
    pub address: &'a str,
    /// What the broker's logs and quotas see.
    pub client_id: &'a str,
    /// For the connection and for each answer.
    pub timeout: Duration,
}

/// A connection that knows which versions the other side serves.
#[derive(Debug)]
pub(super) struct Link {
    address: String,
    client_id: String,
    timeout: Duration,
    stream: TcpStream,
    next_correlation_id: i32,
    /// Served versions by API key.
    versions: HashMap<i16, (i16, i16)>,
}

impl Link {
    pub(super) async fn open(args: Connect<'_>) -> Result<Self, ClientError> {
        let address = args.address.to_owned();
        let connecting = timeout(args.timeout, TcpStream::connect(args.address)).await;
        let stream = match connecting {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) => return Err(ClientError::Connect { address, source }),
            Err(_) => return Err(ClientError::Timeout { address, after: args.timeout }),
        };
        let mut link = Self {
            address,
            client_id: args.client_id.to_owned(),
            timeout: args.timeout,
            stream,
            next_correlation_id: 0,
            versions: HashMap::new(),
        };
        link.stream.set_nodelay(true).map_err(|source| link.broken(source))?;
        link.versions = link.ask_versions().await?;
        Ok(link)
    }

    /// Sends `request` in the highest version that both sides know, but at most `version_max`, and waits for the answer.
    pub(super) async fn call<R: Request>(
        &mut self,
        request: &R,
        version_max: i16,
    ) -> Result<R::Response, ClientError> {
        self.call_within(request, version_max, Duration::ZERO).await
    }

    /// As [`Link::call`], for a request that the broker itself may hold back for `held`.
    pub(super) async fn call_within<R: Request>(
        &mut self,
        request: &R,
        version_max: i16,
        held: Duration,
    ) -> Result<R::Response, ClientError> {
        let version = self.version_of::<R>(version_max)?;
        self.exchange(R::KEY, version, request, held).await
    }

    /// Sends `request` in the highest version that both sides know; no answer comes.
    pub(super) async fn send<R: Request>(
        &mut self,
        request: &R,
        version_max: i16,
    ) -> Result<(), ClientError> {
        let version = self.version_of::<R>(version_max)?;
        let frame = self.frame(R::KEY, version, request)?;
        self.write(&frame).await
    }

    /// The version that a request would be sent in.
    pub(super) fn version_of<R: Request>(&self, version_max: i16) -> Result<i16, ClientError> {
        let unsupported = || {
            let api = ApiKey::try_from(R::KEY).map_or("an API", name_of);
            ClientError::Unsupported { api }
        };
        let (first, last) = self.versions.get(&R::KEY).copied().ok_or_else(unsupported)?;
        let version = last.min(version_max).min(R::VERSIONS.max);
        (version >= first.max(R::VERSIONS.min)).then_some(version).ok_or_else(unsupported)
    }

    /// An error about an answer that cannot be right.
    pub(super) fn malformed(&self, what: impl Into<String>) -> ClientError {
        ClientError::Malformed { address: self.address.clone(), what: what.into() }
    }

    /// Asks with version 3; a broker that does not know it answers in version 0 (KIP-511).
    async fn ask_versions(&mut self) -> Result<HashMap<i16, (i16, i16)>, ClientError> {
        const VERSION: i16 = 3;
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str(env!("CARGO_PKG_NAME")))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let key = ApiVersionsRequest::KEY;
        let frame = self.frame(key, VERSION, &request)?;
        let body = self.roundtrip(&frame, 0, Duration::ZERO).await?;
        let unsupported = ErrorCode::UnsupportedVersion.number().to_be_bytes();
        let answer: ApiVersionsResponse = if body.starts_with(&unsupported) {
            self.exchange(key, 0, &ApiVersionsRequest::default(), Duration::ZERO).await?
        } else {
            self.decode(body, VERSION)?
        };
        ClientError::check(answer.error_code, None, || "asking for versions".to_owned())?;
        let entry = |api: &kafka_protocol::messages::api_versions_response::ApiVersion| {
            (api.api_key, (api.min_version, api.max_version))
        };
        Ok(answer.api_keys.iter().map(entry).collect())
    }

    async fn exchange<M: Encodable + HeaderVersion, A: Decodable + HeaderVersion>(
        &mut self,
        key: i16,
        version: i16,
        request: &M,
        held: Duration,
    ) -> Result<A, ClientError> {
        let frame = self.frame(key, version, request)?;
        let body = self.roundtrip(&frame, A::header_version(version), held).await?;
        self.decode(body, version)
    }

    fn decode<A: Decodable>(&self, mut body: Bytes, version: i16) -> Result<A, ClientError> {
        A::decode(&mut body, version).map_err(|error| self.malformed(format!("{error:#}")))
    }

    /// A request with length and header.
    fn frame<M: Encodable + HeaderVersion>(
        &mut self,
        key: i16,
        version: i16,
        message: &M,
    ) -> Result<BytesMut, ClientError> {
        self.next_correlation_id = self.next_correlation_id.wrapping_add(1);
        let mut frame = BytesMut::new();
        frame.put_i32(0);
        frame.put_i16(key);
        frame.put_i16(version);
        frame.put_i32(self.next_correlation_id);
        frame.put_i16(i16::try_from(self.client_id.len()).unwrap_or(0));
        if i16::try_from(self.client_id.len()).is_ok() {
            frame.put_slice(self.client_id.as_bytes());
        }
        if M::header_version(version) >= 2 {
            frame.put_u8(0);
        }
        message
            .encode(&mut frame, version)
            .map_err(|error| self.malformed(format!("a request cannot be encoded: {error:#}")))?;
        let length = i32::try_from(frame.len() - 4)
            .map_err(|_| self.malformed("a request of more than 2 GiB"))?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        Ok(frame)
    }

    /// Sends a frame; the body of the answer.
    async fn roundtrip(
        &mut self,
        frame: &[u8],
        header_version: i16,
        held: Duration,
    ) -> Result<Bytes, ClientError> {
        self.write(frame).await?;
        let after = self.timeout + held;
        let answer = match timeout(after, read_frame(&mut self.stream)).await {
            Ok(answer) => answer.map_err(|source| self.broken(source))?,
            Err(_) => {
                return Err(ClientError::Timeout { address: self.address.clone(), after });
            }
        };
        let mut header = Reader::new(&answer, false);
        let correlation_id = header.int32().map_err(|error| self.malformed(error.to_string()))?;
        if correlation_id != self.next_correlation_id {
            return Err(self.malformed("the answer belongs to another request"));
        }
        let mut tags = Reader::at(&answer, header.position(), header_version >= 1);
        tags.skip_tags().map_err(|error| self.malformed(error.to_string()))?;
        Ok(answer.slice(tags.position()..))
    }

    async fn write(&mut self, frame: &[u8]) -> Result<(), ClientError> {
        let after = self.timeout;
        let written = within(after, self.stream.write_all(frame)).await;
        match written {
            Some(written) => written.map_err(|source| self.broken(source)),
            None => Err(ClientError::Timeout { address: self.address.clone(), after }),
        }
    }

    fn broken(&self, source: io::Error) -> ClientError {
        let address = self.address.clone();
        match source.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                ClientError::Closed { address }
            }
            io::ErrorKind::InvalidData => {
                ClientError::Malformed { address, what: source.to_string() }
            }
            _ => ClientError::Io { address, source },
        }
    }
}

async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    timeout(limit, future).await.ok()
}

async fn read_frame(stream: &mut TcpStream) -> io::Result<Bytes> {
    let length = stream.read_i32().await?;
    let length = usize::try_from(length).ok().filter(|&length| length <= FRAME_BYTES_MAX);
    let Some(length) = length else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of impossible length"));
    };
    let mut frame = BytesMut::new();
    while frame.len() < length {
        let left = length - frame.len();
        if stream.read_buf(&mut (&mut frame).limit(left)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(frame.freeze())
}

fn name_of(key: ApiKey) -> &'static str {
    crate::kafka::api_table::Api::find(key as i16).map_or("an API", |api| api.name)
}
