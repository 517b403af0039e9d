//! From a frame to its handler: header, table row, guard.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::header::{RequestHead, ResponseHead};
use crate::broker::Broker;
use crate::kafka::api_table::{API_VERSIONS, Api, Body};
use crate::kafka::handler::{Disconnect, Outcome, Peer, Request};
use crate::kafka::handlers::api_versions;
use crate::kafka::{guard, wire::Malformed};

/// The table of APIs.
pub type FindApi = fn(i16) -> Option<&'static Api>;

/// A request whose handler has returned.
#[derive(Debug)]
pub struct Started {
    /// Its row, if there is one.
    pub api: Option<&'static Api>,
    /// That the request is in, of its API; -1 if there is no row.
    pub version: i16,
    /// What goes before the response.
    pub head: ResponseHead,
    /// When the handler was called, on the monotonic clock.
    pub read_at: Duration,
    /// What the handler said.
    pub outcome: Outcome,
}

/// Starts the requests of one connection.
#[derive(Debug)]
pub struct Dispatch {
    broker: Arc<Broker>,
    peer: Arc<Peer>,
    find: FindApi,
    /// The client id of the last request, as on the wire and as text: it hardly ever changes within a connection.
    client_id: (Vec<u8>, Arc<str>),
}

impl Dispatch {
    /// For requests of `peer`.
    pub fn new(broker: Arc<Broker>, peer: Arc<Peer>, find: FindApi) -> Self {
        Self { broker, peer, find, client_id: (Vec::new(), Arc::from("")) }
    }

    /// Finds the row of a request, checks the body and calls the handler. What Kafka answers by closing the connection is
    /// `Outcome::Close`.
    pub fn start(&mut self, frame: Bytes) -> Started {
        let read_at = self.broker.env.clock.monotonic();
        let head = match RequestHead::parse(&frame) {
            Ok(head) => head,
            Err(malformed) => return refused(read_at, format!("malformed header: {malformed}")),
        };
        let Some(api) = (self.find)(head.key) else {
            return refused(read_at, format!("API key {} is not served", head.key));
        };
        let response_head = ResponseHead {
            correlation_id: head.correlation_id,
            tagged: api.has_tagged_response_header(head.version),
        };
        let version = head.version;
        let outcome = if api.versions.contains(&version) {
            self.call(api, version, frame)
        } else if api.key == API_VERSIONS {
            // The one API that answers for versions that it does not know (KIP-511).
            api_versions::unsupported_version()
        } else {
            return refused(read_at, format!("{} v{version} is not served", api.name));
        };
        Started { api: Some(api), version, head: response_head, read_at, outcome }
    }

    fn call(&mut self, api: &'static Api, version: i16, frame: Bytes) -> Outcome {
        match self.request(api, version, frame) {
            Ok(request) => (api.handle)(request),
            Err(malformed) => {
                let text = format!("malformed {} v{version} request: {malformed}", api.name);
                Outcome::Close(Disconnect(text))
            }
        }
    }

    fn request(&mut self, api: &Api, version: i16, mut frame: Bytes) -> Result<Request, Malformed> {
        let flexible = api.is_flexible(version);
        let (client_id, body_at) = RequestHead::parse_rest(&frame, flexible)?;
        let client_id = self.client_id(client_id);
        if let Body::Guarded(fields) = api.body {
            guard::check(fields, version, flexible, &frame[body_at..])?;
        }
        Ok(Request {
            version,
            client_id,
            body: frame.split_off(body_at),
            peer: Arc::clone(&self.peer),
            broker: Arc::clone(&self.broker),
        })
    }

    /// The client id as shared text. Bytes that are not UTF-8 are replaced, as Kafka's decoder does.
    fn client_id(&mut self, bytes: &[u8]) -> Arc<str> {
        if self.client_id.0 != bytes {
            self.client_id = (bytes.to_vec(), String::from_utf8_lossy(bytes).into());
        }
        Arc::clone(&self.client_id.1)
    }
}

fn refused(read_at: Duration, why: String) -> Started {
    let head = ResponseHead { correlation_id: 0, tagged: false };
    Started { api: None, version: -1, head, read_at, outcome: Outcome::Close(Disconnect(why)) }
}
