//! Topics in the subscription of a consumer (Kafka's `ConsumerProtocolSubscription`).
//!
//! ```text
//! version i16 | count i32 | count × (length i16, name) | user data: length i32 (−1 is null), bytes | fields of later versions
//! ```
//!
//! Later versions only add fields at the end, so version 0 is read of any of them, as Kafka does.

use std::collections::BTreeSet;

use bytes::Buf;

/// The bytes are not a consumer's subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no subscription of a consumer")]
pub(super) struct Foreign;

/// Adds the topics of one member.
pub(super) fn read_topics(
    mut bytes: &[u8],
    topics: &mut BTreeSet<Box<str>>,
) -> Result<(), Foreign> {
    bytes.try_get_i16().map_err(|_| Foreign)?;
    let count = bytes.try_get_i32().map_err(|_| Foreign)?;
    if count < 0 {
        return Err(Foreign);
    }
    for _ in 0..count {
        topics.insert(read_name(&mut bytes)?.into());
    }
    let user_data = bytes.try_get_i32().map_err(|_| Foreign)?;
    match usize::try_from(user_data) {
        Ok(length) if length > bytes.len() => Err(Foreign),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn read_name<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, Foreign> {
    let length = bytes.try_get_i16().map_err(|_| Foreign)?;
    let length = usize::try_from(length).map_err(|_| Foreign)?;
    let (name, rest) = bytes.split_at_checked(length).ok_or(Foreign)?;
    *bytes = rest;
    std::str::from_utf8(name).map_err(|_| Foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sent by Kafka's Java consumer for one topic, `offsets` (version 3 with owned partitions, generation, rack).
    const JAVA: &[u8] = b"\x00\x03\x00\x00\x00\x01\x00\x07offsets\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff";

    fn topics(bytes: &[u8]) -> Result<Vec<String>, Foreign> {
        let mut topics = BTreeSet::new();
        read_topics(bytes, &mut topics)?;
        Ok(topics.iter().map(|topic| topic.to_string()).collect())
    }

    #[test]
    fn topics_of_a_consumer_are_read_whatever_its_version() {
        assert_eq!(topics(JAVA), Ok(vec!["offsets".to_owned()]));
        assert_eq!(topics(b"\x7f\xff\x00\x00\x00\x00\x00\x00\x00\x00future"), Ok(Vec::new()));
    }

    #[test]
    fn every_cut_and_every_wrong_length_is_foreign() {
        let version_0 = &JAVA[..19];
        assert!(topics(version_0).is_ok());
        for end in 0..version_0.len() {
            assert_eq!(topics(&version_0[..end]), Err(Foreign), "cut at {end}");
        }
        for bytes in [
            &b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"[..],
            b"\x00\x00\x7f\xff\xff\xff\x00\x01a",
            b"\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff",
            b"\x00\x00\x00\x00\x00\x01\x00\x01\xff\xff\xff\xff\xff",
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05abcd",
            b"{\"not\":\"a consumer\"}",
        ] {
            assert_eq!(topics(bytes), Err(Foreign), "{bytes:?}");
        }
    }
}
