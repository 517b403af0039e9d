//! A shard of transactions, step by step.

mod describe;
mod ending;
mod expiry;
mod init;
mod life;
mod overflow;
mod record;
mod table;
mod waiting;

use std::sync::Arc;

use super::stepper::*;
use super::*;
use crate::coordinator::machine::Token;
use crate::types::Outcome::{Abort, Commit};
use crate::types::TransactionVersion::{V1, V2};
use crate::types::{ProducerEpoch, ProducerIdAndEpoch, Timestamp};

type E = TransactionError;
type S = TransactionState;

/// A transactional id of producer 1000 with epoch 5, in some state.
fn known(state: S, version: TransactionVersion) -> Transaction {
    let has_begun = !matches!(state, S::Empty);
    let has_partitions = state == S::Ongoing || state.is_ending();
    Transaction {
        producer: producer(1000, 5),
        previous_id: ProducerId::new(1000),
        timeout_ms: 60_000,
        state,
        partitions: if has_partitions { Arc::new([at("a", 0), at("b", 1)]) } else { Arc::new([]) },
        last_update: Timestamp::new(1_700_000_000_000),
        start: if has_begun { Timestamp::new(1_700_000_000_000) } else { Timestamp::NONE },
        version,
        ..Transaction::new(ProducerId::new(1000))
    }
}

impl Stepper {
    fn end_reply(&mut self, token: Token) -> Option<Result<ProducerIdAndEpoch, E>> {
        self.take(token).map(|reply| match reply {
            TransactionReply::End(verdict) => verdict,
            other => panic!("{other:?}"),
        })
    }

    fn init_reply(&mut self, token: Token) -> Option<Result<ProducerIdAndEpoch, E>> {
        self.take(token).map(|reply| match reply {
            TransactionReply::InitProducer(verdict) => verdict,
            other => panic!("{other:?}"),
        })
    }

    fn add_reply(&mut self, token: Token) -> Option<Result<(), E>> {
        self.take(token).map(|reply| match reply {
            TransactionReply::AddPartitions(verdict) => verdict,
            other => panic!("{other:?}"),
        })
    }
}
