//! Bytes that Kafka 4.4's `ConsumerProtocol` writes, and what is none of them.

use super::super::embedded::{
    Malformed, Subscription, read_assignment, read_subscription, write_assignment,
};

/// Topics `orders` and `t`, partitions 1 and 3 of `orders` owned since generation 7, rack `east`.
const SUBSCRIPTION_3: &str = "00030000000200066f7264657273000174ffffffff0000000100066f7264657273000000020000000100\
                              00000300000007000465617374";
const SUBSCRIPTION_1: &str = "00010000000200066f7264657273000174ffffffff0000000100066f726465727300000002000000010000\
                              0003";
const SUBSCRIPTION_0: &str = "00000000000200066f7264657273000174ffffffff";
/// Partitions 0 and 2 of `orders`, 1 of `t`.
const ASSIGNMENT_3: &str =
    "00030000000200066f72646572730000000200000000000000020001740000000100000001ffffffff";
const ASSIGNMENT_1: &str =
    "00010000000200066f72646572730000000200000000000000020001740000000100000001ffffffff";
const ASSIGNMENT_WITH_USER_DATA: &str = "0003000000010001740000000100000001000000020102";

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |index: usize| u8::from_str_radix(&hex[index..index + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn named(partitions: &[(&str, &[i32])]) -> Vec<(String, Vec<i32>)> {
    partitions.iter().map(|(topic, at)| ((*topic).to_owned(), at.to_vec())).collect()
}

#[test]
fn subscriptions_are_read_in_every_version() {
    let topics = vec!["orders".to_owned(), "t".to_owned()];
    let owned = named(&[("orders", &[1, 3])]);
    let all = Subscription { topics, owned, rack: Some("east".to_owned()) };
    assert_eq!(read_subscription(&bytes(SUBSCRIPTION_3)), Ok(all.clone()));
    let without_rack = Subscription { rack: None, ..all };
    assert_eq!(read_subscription(&bytes(SUBSCRIPTION_1)), Ok(without_rack.clone()));
    let names_only = Subscription { owned: Vec::new(), ..without_rack };
    assert_eq!(read_subscription(&bytes(SUBSCRIPTION_0)), Ok(names_only));
    let mut later = bytes(SUBSCRIPTION_3);
    later[1] = 9;
    later.extend_from_slice(b"new fields");
    assert_eq!(read_subscription(&later).map(|it| it.topics.len()), Ok(2));
}

#[test]
fn assignments_are_read_and_written() {
    let partitions = named(&[("orders", &[0, 2]), ("t", &[1])]);
    for assignment in [ASSIGNMENT_3, ASSIGNMENT_1] {
        let read = read_assignment(&bytes(assignment)).expect("an assignment");
        assert_eq!((&read.partitions, read.has_user_data), (&partitions, false));
    }
    assert_eq!(write_assignment(&bytes(SUBSCRIPTION_3), &partitions), bytes(ASSIGNMENT_3));
    assert_eq!(write_assignment(&bytes(SUBSCRIPTION_1), &partitions), bytes(ASSIGNMENT_1));
    let read = read_assignment(&bytes(ASSIGNMENT_WITH_USER_DATA)).expect("an assignment");
    assert!(read.has_user_data);
}

#[test]
fn every_cut_and_every_wrong_count_is_malformed() {
    let whole = bytes(SUBSCRIPTION_3);
    for end in 0..whole.len() {
        assert_eq!(read_subscription(&whole[..end]), Err(Malformed), "cut at {end}");
    }
    let whole = bytes(ASSIGNMENT_3);
    for end in 0..whole.len() {
        assert_eq!(read_assignment(&whole[..end]), Err(Malformed), "cut at {end}");
    }
    for wrong in
        [&b"\x00\x00\x7f\xff\xff\xff"[..], b"\xff\xff\x00\x00\x00\x00", b"{\"not\": \"it\"}"]
    {
        assert_eq!(read_subscription(wrong), Err(Malformed), "{wrong:?}");
        assert_eq!(read_assignment(wrong), Err(Malformed), "{wrong:?}");
    }
}
