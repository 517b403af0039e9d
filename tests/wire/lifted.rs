//! Versions that the generated codec knows only in part: those that the product reads and writes through `codec::lift`.

use bytes::Bytes;
use highwater::kafka::Disconnect;
use highwater::kafka::codec::lift;
use highwater::kafka::guard;
use highwater::kafka::wire::{Malformed, Reader, Writer};
use kafka_protocol::messages::ApiVersionsRequest;

use crate::messages::Decoded;
use crate::topic_ids::recode;

pub(crate) const LIST_OFFSETS: i16 = 2;
pub(crate) const API_VERSIONS: i16 = 18;
pub(crate) const WRITE_TXN_MARKERS: i16 = 27;
pub(crate) const DELETE_GROUPS: i16 = 42;

/// Decodes the body of a request with fields that the generated message lacks; `None` for any other.
pub(crate) fn request(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    ((key, version) == (API_VERSIONS, 5))
        .then(|| recode(body, AskedVersions::decode, AskedVersions::encode))
}

/// Decodes the body of an answer with such fields; `None` for any other.
pub(crate) fn response(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    ((key, version) == (DELETE_GROUPS, 3))
        .then(|| recode(body, |body| DeletedGroups::decode(&body), DeletedGroups::encode))
}

/// An ApiVersions request of version 5.
#[derive(Debug)]
struct AskedVersions {
    name: String,
    version: String,
    cluster_id: Option<String>,
    node_id: i32,
}

impl AskedVersions {
    /// As the product reads it.
    fn decode(body: Bytes) -> Result<Self, Disconnect> {
        let (known, mut new): (ApiVersionsRequest, _) = lift::body(body, 5, guard::API_VERSIONS)?;
        let cluster_id = new.next(|reader| Ok(reader.nullable_text()?.map(str::to_owned)))?;
        let node_id = new.next(|reader| reader.int32())?;
        Ok(Self {
            name: known.client_software_name.to_string(),
            version: known.client_software_version.to_string(),
            cluster_id: cluster_id.expect("version 5 has one"),
            node_id: node_id.expect("version 5 has one"),
        })
    }

    /// Kafka's `ApiVersionsRequest.json`.
    fn encode(&self) -> Bytes {
        let mut out = Writer::new(64, true);
        out.text(Some(&self.name));
        out.text(Some(&self.version));
        out.text(self.cluster_id.as_deref());
        out.int32(self.node_id);
        out.tag_count(0);
        out.into_inner().freeze()
    }
}

/// A DeleteGroups response of version 3.
#[derive(Debug)]
pub(crate) struct DeletedGroups {
    throttle_ms: i32,
    /// Name, error, message.
    pub(crate) results: Vec<(String, i16, Option<String>)>,
}

impl DeletedGroups {
    /// Kafka's `DeleteGroupsResponse.json`.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body, true);
        let throttle_ms = reader.int32()?;
        let mut results = Vec::new();
        for _ in 0..reader.elements(1)? {
            let name = reader.text()?.to_owned();
            let error = reader.int16()?;
            results.push((name, error, reader.nullable_text()?.map(str::to_owned)));
            reader.skip_tags()?;
        }
        reader.skip_tags()?;
        Ok(Self { throttle_ms, results })
    }

    fn encode(&self) -> Bytes {
        let mut out = Writer::new(64, true);
        out.int32(self.throttle_ms);
        out.len(Some(self.results.len()));
        for (name, error, message) in &self.results {
            out.text(Some(name));
            out.int16(*error);
            out.text(message.as_deref());
            out.tag_count(0);
        }
        out.tag_count(0);
        out.into_inner().freeze()
    }
}
