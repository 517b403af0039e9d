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
pub(crate) const DESCRIBE_LOG_DIRS: i16 = 35;
pub(crate) const DELETE_GROUPS: i16 = 42;

/// Decodes the body of a request with fields that the generated message lacks; `None` for any other.
pub(crate) fn request(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    ((key, version) == (API_VERSIONS, 5))
        .then(|| recode(body, AskedVersions::decode, AskedVersions::encode))
}

/// Decodes the body of an answer with such fields; `None` for any other.
pub(crate) fn response(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    match (key, version) {
        (DELETE_GROUPS, 3) => {
            Some(recode(body, |body| DeletedGroups::decode(&body), DeletedGroups::encode))
        }
        (DESCRIBE_LOG_DIRS, 5) => {
            Some(recode(body, |body| LogDirs::decode(&body), LogDirs::encode))
        }
        _ => None,
    }
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

/// A DescribeLogDirs response of version 5.
#[derive(Debug)]
pub(crate) struct LogDirs {
    throttle_ms: i32,
    error: i16,
    pub(crate) dirs: Vec<LogDir>,
}

#[derive(Debug)]
pub(crate) struct LogDir {
    error: i16,
    pub(crate) path: String,
    topics: Vec<(String, Vec<LogDirPartition>)>,
    pub(crate) total_bytes: i64,
    pub(crate) usable_bytes: i64,
    is_cordoned: u8,
}

/// Index, size, lag, whether it is a copy that will take the place of the log.
type LogDirPartition = (i32, i64, i64, u8);

impl LogDirs {
    /// Kafka's `DescribeLogDirsResponse.json`.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body, true);
        let (throttle_ms, error) = (reader.int32()?, reader.int16()?);
        let dirs: Result<_, _> =
            (0..reader.elements(1)?).map(|_| LogDir::decode(&mut reader)).collect();
        reader.skip_tags()?;
        Ok(Self { throttle_ms, error, dirs: dirs? })
    }

    fn encode(&self) -> Bytes {
        let mut out = Writer::new(64, true);
        out.int32(self.throttle_ms);
        out.int16(self.error);
        out.len(Some(self.dirs.len()));
        self.dirs.iter().for_each(|dir| dir.encode(&mut out));
        out.tag_count(0);
        out.into_inner().freeze()
    }
}

impl LogDir {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (error, path) = (reader.int16()?, reader.text()?.to_owned());
        let mut topics = Vec::new();
        for _ in 0..reader.elements(1)? {
            let name = reader.text()?.to_owned();
            let mut partitions = Vec::new();
            for _ in 0..reader.elements(1)? {
                let (index, size) = (reader.int32()?, reader.int64()?);
                partitions.push((index, size, reader.int64()?, reader.byte()?));
                reader.skip_tags()?;
            }
            reader.skip_tags()?;
            topics.push((name, partitions));
        }
        let (total_bytes, usable_bytes) = (reader.int64()?, reader.int64()?);
        let is_cordoned = reader.byte()?;
        reader.skip_tags()?;
        Ok(Self { error, path, topics, total_bytes, usable_bytes, is_cordoned })
    }

    fn encode(&self, out: &mut Writer) {
        out.int16(self.error);
        out.text(Some(&self.path));
        out.len(Some(self.topics.len()));
        for (name, partitions) in &self.topics {
            out.text(Some(name));
            out.len(Some(partitions.len()));
            for (index, size, lag, is_future) in partitions {
                out.int32(*index);
                out.int64(*size);
                out.int64(*lag);
                out.raw(&[*is_future]);
                out.tag_count(0);
            }
            out.tag_count(0);
        }
        out.int64(self.total_bytes);
        out.int64(self.usable_bytes);
        out.raw(&[self.is_cordoned]);
        out.tag_count(0);
    }
}
