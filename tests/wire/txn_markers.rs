//! WriteTxnMarkers of version 2, which tells the version of each transaction: the generated codec does not know it.

use bytes::Bytes;
use highwater::kafka::codec::txn_markers::{self, TRANSACTION_VERSION_FROM, WritableMarker};
use highwater::kafka::wire::Writer;

use crate::lifted::WRITE_TXN_MARKERS;
use crate::messages::Decoded;
use crate::topic_ids::recode;

/// Decodes the body of a request that only the product's own reader knows; `None` for any other.
pub(crate) fn request(key: i16, version: i16, body: &Bytes) -> Option<Result<Decoded, String>> {
    let is_own = key == WRITE_TXN_MARKERS && version >= TRANSACTION_VERSION_FROM;
    is_own.then(|| {
        recode(body, |body| txn_markers::request(body, version), |markers| encode(markers))
    })
}

/// Encodes a request (Kafka's `WriteTxnMarkersRequest.json`).
fn encode(markers: &[WritableMarker]) -> Bytes {
    let mut out = Writer::new(64, true);
    let mut body = bytes::BytesMut::new();
    out.len(Some(markers.len()));
    for WritableMarker { marker, transaction_version } in markers {
        out.int64(marker.producer_id.0);
        out.int16(marker.producer_epoch);
        body.unsplit(out.split());
        body.extend_from_slice(&[u8::from(marker.transaction_result)]);
        out.len(Some(marker.topics.len()));
        for topic in &marker.topics {
            out.text(Some(&topic.name));
            out.len(Some(topic.partition_indexes.len()));
            topic.partition_indexes.iter().for_each(|index| out.int32(*index));
            out.tag_count(0);
        }
        out.int32(marker.coordinator_epoch);
        body.unsplit(out.split());
        body.extend_from_slice(&[*transaction_version]);
        out.tag_count(0);
    }
    out.tag_count(0);
    body.unsplit(out.split());
    body.freeze()
}
