//! `__transaction_state` (Kafka's `TransactionLogKey` and `TransactionLogValue`).

use super::schema::{Field, Kind, field};
use super::{Decoded, RecordType, decoded_with};
use crate::coordinator::transactions;

const TYPES: &[RecordType] = &[RecordType {
    number: 0,
    key: &[field("transactionalId", Kind::Text)],
    value: TRANSACTION,
    newest: 1,
    first_flexible: 1,
}];

const TRANSACTION: &[Field] = &[
    field("producerId", Kind::I64),
    field("producerEpoch", Kind::I16),
    field("transactionTimeoutMs", Kind::I32),
    field("transactionStatus", Kind::TransactionState),
    field("transactionPartitions", Kind::NullableArray(&Kind::Struct(PARTITIONS))),
    field("transactionLastUpdateTimestampMs", Kind::I64),
    field("transactionStartTimestampMs", Kind::I64),
    field("previousProducerId", Kind::I64).since(1).tagged(0),
    field("nextProducerId", Kind::I64).since(1).tagged(1),
    field("clientTransactionVersion", Kind::I16).since(1).tagged(2),
    field("nextProducerEpoch", Kind::I16).since(1).tagged(3),
];

const PARTITIONS: &[Field] =
    &[field("topic", Kind::Text), field("partitionIds", Kind::Array(&Kind::I32))];

pub(super) fn decode(key: Option<&[u8]>, value: Option<&[u8]>) -> Decoded {
    decoded_with(TYPES, key, value, |key, value| transactions::decode(key, value).map(drop))
}
