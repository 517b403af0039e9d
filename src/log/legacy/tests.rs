use super::*;
use crate::log::compress::Compression;

/// A message with its checksum left zero: reading does not look at it.
fn message(
    magic: u8,
    attributes: u8,
    offset: i64,
    timestamp: i64,
    value: Option<&[u8]>,
) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0, magic, attributes];
    if magic == 1 {
        body.extend_from_slice(&timestamp.to_be_bytes());
    }
    body.extend_from_slice(&(-1i32).to_be_bytes());
    body.extend_from_slice(&value.map_or(-1, |value| value.len() as i32).to_be_bytes());
    body.extend_from_slice(value.unwrap_or_default());
    [&offset.to_be_bytes()[..], &(body.len() as i32).to_be_bytes(), &body].concat()
}

fn wrapper(magic: u8, offset: i64, inner: &[Vec<u8>]) -> Vec<u8> {
    let packed = Compression::default_of(Codec::Gzip).compress(&inner.concat()).unwrap();
    message(magic, 1, offset, 99, Some(&packed))
}

fn read(bytes: &[u8]) -> Result<Vec<(i64, i64)>, LegacyDamage> {
    let batch = StoredBatch::first(bytes).expect("framed");
    let messages = LegacyMessages::read(&batch, 1_000_000)?;
    assert_eq!(messages.base_offset(), messages.iter().next().unwrap().offset);
    Ok(messages.iter().map(|record| (record.offset.get(), record.timestamp.get())).collect())
}

#[test]
fn a_plain_message_is_itself() {
    assert_eq!(read(&message(0, 0, 41, 5, Some(b"v"))), Ok(vec![(41, -1)]));
    assert_eq!(read(&message(1, 0, 41, 5, Some(b"v"))), Ok(vec![(41, 5)]));
    assert_eq!(read(&message(1, 0, 41, 5, None)), Ok(vec![(41, 5)]));
}

#[test]
fn offsets_in_a_wrapper_of_magic_0_are_as_stored() {
    let inner = [message(0, 0, 40, 0, None), message(0, 0, 41, 0, None)];
    assert_eq!(read(&wrapper(0, 41, &inner)), Ok(vec![(40, -1), (41, -1)]));
}

#[test]
fn offsets_in_a_wrapper_of_magic_1_are_relative() {
    let inner = [message(1, 0, 0, 7, None), message(1, 0, 2, 8, None)];
    assert_eq!(read(&wrapper(1, 42, &inner)), Ok(vec![(40, 7), (42, 8)]));
}

#[test]
fn a_wrapper_at_offset_0_begins_at_0() {
    let inner = [message(1, 0, 0, 7, None), message(1, 0, 1, 8, None)];
    assert_eq!(read(&wrapper(1, 0, &inner)), Ok(vec![(0, 7), (1, 8)]));
}

#[test]
fn the_brokers_time_of_a_wrapper_holds_for_all_in_it() {
    let packed = Compression::default_of(Codec::Gzip).compress(&message(1, 0, 0, 7, None)).unwrap();
    assert_eq!(read(&message(1, 1 | 8, 5, 99, Some(&packed))), Ok(vec![(5, 99)]));
}

#[test]
fn a_cut_message_in_a_wrapper_is_left_out() {
    let whole = message(1, 0, 0, 7, Some(b"whole"));
    let cut = message(1, 0, 1, 8, Some(b"cut"));
    let inner = [whole, cut[..cut.len() - 1].to_vec()];
    assert_eq!(read(&wrapper(1, 9, &inner)), Ok(vec![(9, 7)]));
}

#[test]
fn wrappers_that_cannot_be_are_named() {
    let plain = |magic| message(magic, 0, 0, 7, None);
    assert_eq!(read(&wrapper(1, 9, &[])), Err(LegacyDamage::Empty));
    assert_eq!(read(&message(1, 1, 9, 0, None)), Err(LegacyDamage::NullValue(1)));
    let inner_magic = LegacyDamage::InnerMagic { inner: 0, wrapper: 1 };
    assert_eq!(read(&wrapper(1, 9, &[plain(0)])), Err(inner_magic));
    assert_eq!(read(&wrapper(1, 9, &[wrapper(1, 0, &[plain(1)])])), Err(LegacyDamage::Nested));
    assert_eq!(read(&message(1, 4, 9, 0, Some(b"zstd"))), Err(LegacyDamage::Codec(4)));
    assert_eq!(read(&message(1, 7, 9, 0, Some(b"none"))), Err(LegacyDamage::Codec(7)));
    let offset = LegacyDamage::WrapperOffset { wrapper: 3, inner: 4 };
    assert_eq!(read(&wrapper(1, 3, &[message(1, 0, 4, 7, None)])), Err(offset));
    assert!(matches!(
        read(&message(1, 1, 9, 0, Some(b"no gzip"))),
        Err(LegacyDamage::Decompress(_))
    ));
}

#[test]
fn sizes_that_lie_are_refused() {
    let mut lies = message(0, 0, 1, 0, Some(b"value"));
    let at = lies.len() - 5 - 4;
    lies[at..at + 4].copy_from_slice(&6i32.to_be_bytes());
    assert_eq!(read(&lies), Err(LegacyDamage::Field(CursorError::Short)));
}

#[test]
fn a_bomb_in_a_wrapper_is_refused() {
    let bomb = wrapper(1, 5, &[message(1, 0, 0, 0, Some(&vec![0; 2_000_000]))]);
    let error = DecompressError::TooLarge { limit: 1_000_000 };
    assert_eq!(read(&bomb), Err(LegacyDamage::Decompress(error)));
}
