use super::*;
use crate::log::test_bytes::from_hex as hex;
use crate::types::{LeaderEpoch, PartitionIndex, Uuid};

fn id(first: u8) -> Uuid {
    Uuid::from_bytes(std::array::from_fn(|i| first + i as u8))
}

#[test]
fn the_reference_vectors_are_read_and_written() {
    let partition = PartitionRecord {
        partition: PartitionIndex::new(0),
        topic_id: id(0),
        replicas: vec![BrokerId::new(1)],
        isr: vec![BrokerId::new(1)],
        removing_replicas: vec![],
        adding_replicas: vec![],
        leader: BrokerId::new(1),
        leader_recovery_state: 0,
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        directories: vec![id(0x10)],
        eligible_leader_replicas: None,
        last_known_elr: None,
    };
    let level = FeatureLevel { name: "metadata.version".into(), level: 25 };
    let topic = TopicRecord { name: "foo".into(), topic_id: id(0) };
    let cases = [
        ("010c00116d657461646174612e76657273696f6e001900", 0, MetadataRecord::FeatureLevel(level)),
        ("01020004666f6f000102030405060708090a0b0c0d0e0f00", 0, MetadataRecord::Topic(topic)),
        (
            "01030200000000000102030405060708090a0b0c0d0e0f02000000010200000001010100000001000000000000000002101112131415161718191a1b1c1d1e1f00",
            2,
            MetadataRecord::Partition(partition),
        ),
    ];
    for (text, version, record) in cases {
        let versioned = Versioned { version, record };
        assert_eq!(Versioned::decode(&hex(text)).as_ref(), Ok(&versioned));
        assert_eq!(versioned.encode(), hex(text));
    }
}

#[test]
fn every_cut_of_a_record_is_refused() {
    let whole = hex(
        "01030200000000000102030405060708090a0b0c0d0e0f02000000010200000001010100000001000000000000000002101112131415161718191a1b1c1d1e1f00",
    );
    for end in 0..whole.len() {
        assert!(Versioned::decode(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert_eq!(Versioned::decode(&longer), Err(RecordError::Trailing(1)));
}

#[test]
fn records_of_a_later_kafka_are_named_as_such() {
    assert_eq!(Versioned::decode(&[2, 2, 0]), Err(RecordError::Frame(2)));
    assert_eq!(Versioned::decode(&[1, 99, 0]), Err(RecordError::Unknown { kind: 99, version: 0 }));
    assert_eq!(Versioned::decode(&[1, 3, 3]), Err(RecordError::Unknown { kind: 3, version: 3 }));
}
