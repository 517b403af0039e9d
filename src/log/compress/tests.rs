use super::*;
use crate::log::test_bytes::from_hex;

const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    Compression::default_of(codec).compress(bytes).unwrap()
}

fn decompress(codec: Codec, bytes: &[u8]) -> Result<Vec<u8>, DecompressError> {
    Decompressor::new(codec, bytes)?.read_all(1 << 30)
}

/// Neither constant nor random, longer than a block of any codec.
fn text(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8 ^ (i / 1000) as u8).collect()
}

#[test]
fn what_is_compressed_comes_back() {
    for codec in CODECS {
        for len in [0, 1, 100, 32 * 1024, 64 * 1024, 64 * 1024 + 1, 1_000_000] {
            let bytes = text(len);
            assert_eq!(decompress(codec, &compress(codec, &bytes)), Ok(bytes), "{codec:?} {len}");
        }
    }
}

#[test]
fn every_cut_is_corrupt() {
    for codec in CODECS.into_iter().skip(1) {
        let whole = compress(codec, &text(1000));
        for cut in 1..whole.len() {
            let result = decompress(codec, &whole[..cut]);
            // A framed snappy stream has no end mark: cut behind the header it is whole.
            let ends_at_block = codec == Codec::Snappy && cut == 16;
            assert_eq!(result.is_ok(), ends_at_block, "{codec:?} cut at {cut}");
        }
    }
}

#[test]
fn no_more_than_the_limit_comes_out() {
    let zeros = vec![0; 3_000_000];
    for codec in CODECS.into_iter().skip(1) {
        let packed = compress(codec, &zeros);
        let stream = Decompressor::new(codec, &packed).unwrap();
        let error = stream.read_all(1_000_000);
        assert_eq!(error, Err(DecompressError::TooLarge { limit: 1_000_000 }), "{codec:?}");
    }
}

#[test]
fn members_and_frames_may_follow_each_other() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Zstd] {
        let twice =
            [compress(codec, b"one "), compress(codec, b""), compress(codec, b"two")].concat();
        assert_eq!(decompress(codec, &twice), Ok(b"one two".to_vec()), "{codec:?}");
    }
}

#[test]
fn snappy_without_framing_is_one_block() {
    let block = snap::raw::Encoder::new().compress_vec(b"bare block").unwrap();
    assert_eq!(decompress(Codec::Snappy, &block), Ok(b"bare block".to_vec()));
}

#[test]
fn snappy_has_the_framing_of_snappy_java() {
    let framed = compress(Codec::Snappy, &text(100_000));
    assert_eq!(
        framed[..16],
        from_hex("82534e4150505900")[..]
            .iter()
            .copied()
            .chain([0, 0, 0, 1, 0, 0, 0, 1])
            .collect::<Vec<_>>()
    );
    let (mut at, mut blocks) = (16, 0);
    while at < framed.len() {
        at += 4 + u32::from_be_bytes(framed[at..at + 4].try_into().unwrap()) as usize;
        blocks += 1;
    }
    assert_eq!((at, blocks), (framed.len(), 4));
}

#[test]
fn a_snappy_block_cannot_promise_gigabytes() {
    // varint 0xffffffff, then nothing
    let lie = [0xff, 0xff, 0xff, 0xff, 0x0f];
    assert!(matches!(decompress(Codec::Snappy, &lie), Err(DecompressError::Corrupt { .. })));
}

#[test]
fn lz4_frames_have_independent_blocks_of_64_kib() {
    let frame = compress(Codec::Lz4, &text(1000));
    assert_eq!(frame[..4], [0x04, 0x22, 0x4d, 0x18]);
    assert_eq!(frame[4], 0x60, "version 1, independent blocks, no checksums");
    assert_eq!(frame[5], 0x40, "64 KiB");
}

#[test]
fn the_lz4_header_checksum_is_checked_but_for_the_old_fault() {
    let mut frame = compress(Codec::Lz4, b"hello");
    let read = |frame: &[u8], checksum| {
        Decompressor::lz4(frame, checksum).and_then(|stream| stream.read_all(100))
    };
    assert!(read(&frame, HeaderChecksum::Right).is_ok());
    frame[6] = (twox_hash::XxHash32::oneshot(0, &frame[..6]) >> 8) as u8;
    assert!(read(&frame, HeaderChecksum::Right).is_err());
    assert_eq!(read(&frame, HeaderChecksum::RightOrWithMagic), Ok(b"hello".to_vec()));
    frame[6] ^= 1;
    assert!(read(&frame, HeaderChecksum::RightOrWithMagic).is_err());
}

#[test]
fn lz4_checksums_of_blocks_are_checked() {
    use std::io::Write as _;
    let info = lz4_flex::frame::FrameInfo::new()
        .block_mode(lz4_flex::frame::BlockMode::Independent)
        .block_checksums(true)
        .content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(b"hello hello hello hello").unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(decompress(Codec::Lz4, &frame), Ok(b"hello hello hello hello".to_vec()));
    frame[12] ^= 1;
    assert!(decompress(Codec::Lz4, &frame).is_err());
}

#[test]
fn lz4_features_that_kafka_cannot_read_are_refused() {
    let good = compress(Codec::Lz4, b"hello");
    let with = |flags: u8, block_size: u8| {
        let mut frame = good.clone();
        (frame[4], frame[5]) = (flags, block_size);
        frame[6] = (twox_hash::XxHash32::oneshot(0, &frame[4..6]) >> 8) as u8;
        decompress(Codec::Lz4, &frame).is_ok()
    };
    assert!(with(0x60, 0x40));
    assert!(!with(0x40, 0x40), "dependent blocks");
    assert!(!with(0x61, 0x40), "dictionary");
    assert!(!with(0x62, 0x40), "reserved");
    assert!(!with(0xa0, 0x40), "version 2");
    assert!(!with(0x60, 0x30), "block size");
    assert!(!with(0x60, 0xc0), "reserved");
}
