//! Record batches for tests, made field by field from Kafka's message format.

use bytes::{BufMut, Bytes, BytesMut};

/// Where fields of the header lie.
pub(crate) const MAGIC: usize = 16;
pub(crate) const CRC: usize = 17;
pub(crate) const ATTRIBUTES: usize = 21;
pub(crate) const PRODUCER: usize = 43;

/// One uncompressed batch with one record per value, null keys, timestamp 0.
pub(crate) fn batch(values: &[&[u8]]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_i16(0); // attributes
    body.put_i32(values.len() as i32 - 1); // last offset delta
    body.put_i64(0); // base timestamp
    body.put_i64(0); // max timestamp
    body.put_i64(-1); // producer id
    body.put_i16(-1); // producer epoch
    body.put_i32(-1); // base sequence
    body.put_i32(values.len() as i32);
    for (delta, value) in values.iter().enumerate() {
        let mut record = BytesMut::new();
        record.put_u8(0); // attributes
        put_varint(&mut record, 0); // timestamp delta
        put_varint(&mut record, delta as i64);
        put_varint(&mut record, -1); // null key
        put_varint(&mut record, value.len() as i64);
        record.put_slice(value);
        put_varint(&mut record, 0); // headers
        put_varint(&mut body, record.len() as i64);
        body.put_slice(&record);
    }
    let mut batch = BytesMut::new();
    batch.put_i64(0); // base offset
    batch.put_i32(body.len() as i32 + 9); // length of what follows
    batch.put_i32(-1); // leader epoch
    batch.put_u8(2); // magic
    batch.put_u32(crc32c::crc32c(&body));
    batch.put_slice(&body);
    batch.freeze()
}

/// `batch` with header fields changed and the checksum made right again.
pub(crate) fn changed(batch: &Bytes, at: usize, field: &[u8]) -> Bytes {
    let mut bytes = BytesMut::from(&batch[..]);
    bytes[at..at + field.len()].copy_from_slice(field);
    let crc = crc32c::crc32c(&bytes[ATTRIBUTES..]);
    bytes[CRC..ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    bytes.freeze()
}

/// The fields of an idempotent producer: id, epoch, base sequence.
pub(crate) fn sent_by(batch: &Bytes, id: i64, epoch: i16, sequence: i32) -> Bytes {
    let mut fields = BytesMut::new();
    fields.put_i64(id);
    fields.put_i16(epoch);
    fields.put_i32(sequence);
    changed(batch, PRODUCER, &fields)
}

fn put_varint(to: &mut BytesMut, value: i64) {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    while zigzag >= 0x80 {
        to.put_u8(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    to.put_u8(zigzag as u8);
}
