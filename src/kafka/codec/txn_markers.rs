//! WriteTxnMarkers (27): the generated decoder for version 1, a reader of our own for version 2, which tells the version of the
//! transaction (KIP-890) and which the generated one does not know. Answers of both have one layout.

use bytes::Bytes;
use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{ProducerId, WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use super::arrays::array;
use super::{decode_body, malformed, text};
use crate::kafka::handler::{Disconnect, Response};
use crate::kafka::wire::{Malformed, Reader};

/// First version that tells the version of the transaction.
pub const TRANSACTION_VERSION_FROM: i16 = 2;

/// What the generated codec knows of both versions.
const GENERATED: i16 = 1;

/// Markers for one producer.
#[derive(Debug)]
pub struct WritableMarker {
    /// What all versions say.
    pub marker: WritableTxnMarker,
    /// Version of the transaction; 0 where it is not told.
    pub transaction_version: u8,
}

/// Reads a request.
pub fn request(body: Bytes, version: i16) -> Result<Vec<WritableMarker>, Disconnect> {
    if version < TRANSACTION_VERSION_FROM {
        let request: WriteTxnMarkersRequest = decode_body(body, version)?;
        let markers = request.markers.into_iter();
        return Ok(markers
            .map(|marker| WritableMarker { marker, transaction_version: 0 })
            .collect());
    }
    with_versions(&mut Reader::new(&body, true)).map_err(malformed)
}

/// Writes an answer of any version.
pub fn encode(response: &WriteTxnMarkersResponse, _version: i16) -> Result<Response, Disconnect> {
    super::encode(response, GENERATED)
}

fn with_versions(reader: &mut Reader<'_>) -> Result<Vec<WritableMarker>, Malformed> {
    let markers = array(reader, marker)?;
    reader.skip_tags()?;
    Ok(markers)
}

fn marker(reader: &mut Reader<'_>) -> Result<WritableMarker, Malformed> {
    let marker = WritableTxnMarker::default()
        .with_producer_id(ProducerId(reader.int64()?))
        .with_producer_epoch(reader.int16()?)
        .with_transaction_result(reader.byte()? != 0)
        .with_topics(array(reader, topic)?)
        .with_coordinator_epoch(reader.int32()?);
    let transaction_version = reader.byte()?;
    reader.skip_tags()?;
    Ok(WritableMarker { marker, transaction_version })
}

fn topic(reader: &mut Reader<'_>) -> Result<WritableTxnMarkerTopic, Malformed> {
    let topic = WritableTxnMarkerTopic::default()
        .with_name(text(reader.text()?).into())
        .with_partition_indexes(array(reader, Reader::int32)?);
    reader.skip_tags()?;
    Ok(topic)
}
