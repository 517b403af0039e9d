//! WriteTxnMarkers (27): version 2 tells the version of each transaction (KIP-890), for which the generated message has no field.

use bytes::Bytes;
use kafka_protocol::messages::WriteTxnMarkersRequest;
use kafka_protocol::messages::write_txn_markers_request::WritableTxnMarker;

use super::lift;
use crate::kafka::guard;
use crate::kafka::handler::Disconnect;

/// First version that tells the version of the transaction.
pub const TRANSACTION_VERSION_FROM: i16 = 2;

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
    let (request, mut new_fields) =
        lift::body::<WriteTxnMarkersRequest>(body, version, guard::WRITE_TXN_MARKERS)?;
    let with_version = |marker| {
        let transaction_version = new_fields.next(|reader| reader.byte())?.unwrap_or(0);
        Ok(WritableMarker { marker, transaction_version })
    };
    request.markers.into_iter().map(with_version).collect()
}
