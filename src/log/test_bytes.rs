//! Bytes that Apache Kafka's own reader accepts with exactly the field values that tests assert.

/// Two records (k→v; null→w with a header h of null), timestamps 1700000000000 and one more, leader epoch 0.
pub(crate) const TWO_RECORDS: &str = "00000000000000000000004500000000027f77cf730000000000010000018bcfe568000000018bcfe56801ffffffffffffffffffffffffffff0000000210000000026b0276001400020201027702026801";

/// COMMIT marker at offset 7, leader epoch 3, producer 4000 epoch 5, coordinator epoch 2.
pub(crate) const COMMIT_MARKER: &str = "00000000000000070000004200000003027e8313070030000000000000018bcfe568000000018bcfe568000000000000000fa00005ffffffff000000012000000008000000010c00000000000200";

/// LEADER_CHANGE at offset 0, epoch 1, leader 1, voters [1].
pub(crate) const LEADER_CHANGE: &str = "00000000000000000000004f00000001021154eaf90020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000013a0000000800000002260000000000010200000001000200000001000000";

/// Bytes of lower-case hex text.
pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "whole bytes");
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex"))
        .collect()
}
