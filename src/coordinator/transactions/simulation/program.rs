//! A program that writes transactions as the client libraries do: what it may send when, and what it makes of the answers.

use std::collections::{BTreeSet, HashMap};

use super::super::stepper::{add, end};
use super::super::{InitProducer, TransactionCommand, TransactionError, TransactionReply};
use super::oracle::{Fate, Oracle, Seen};
use super::partition::Write;
use super::{PARTITIONS, TIMEOUT_MS, name_of};
use crate::env::{Random, SeededRandom};
use crate::types::{Outcome, ProducerIdAndEpoch, TransactionVersion};

/// One life of a program, from its start to its crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) program: usize,
    pub(super) number: u64,
}

/// What a program sends.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// To the coordinator of its transactional id.
    Coordinator(TransactionCommand),
    /// To a partition.
    Write(Writing),
}

/// A record and all that comes with it.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    pub(super) id: String,
    pub(super) version: TransactionVersion,
    pub(super) partition: usize,
    pub(super) write: Write,
}

/// What it hears.
#[derive(Debug)]
pub(super) enum Answer {
    Coordinator(TransactionReply),
    Written(Result<(), WriteError>),
}

/// Why a record was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteError {
    Fenced,
    OutOfOrder,
    Refused(TransactionError),
}

/// What it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has to be told who it is.
    Beginning,
    Idle,
    /// Record by record.
    Writing,
    Ending(Outcome),
    /// Something went wrong: it aborts, and in version 1 has its epoch raised, because what is under way may still arrive.
    Failing,
}

pub(super) struct Program {
    pub(super) life: Life,
    pub(super) id: String,
    pub(super) version: TransactionVersion,
    phase: Phase,
    me: Option<ProducerIdAndEpoch>,
    /// The next sequence number by partition.
    sequences: HashMap<usize, i32>,
    transaction: Transaction,
}

#[derive(Debug, Default)]
struct Transaction {
    number: u64,
    /// Where its records go, in order.
    plan: Vec<usize>,
    /// How many of them are written.
    done: usize,
    /// Partitions that the coordinator was told of, in version 1.
    added: BTreeSet<usize>,
}

impl Program {
    pub(super) fn new(life: Life, id: &str, version: TransactionVersion) -> Self {
        Self {
            life,
            id: id.to_owned(),
            version,
            phase: Phase::Beginning,
            me: None,
            sequences: HashMap::new(),
            transaction: Transaction::default(),
        }
    }

    /// What it sends next. `number` is that of its next transaction; it begins none when it is to stop.
    pub(super) fn next(
        &mut self,
        random: &SeededRandom,
        number: u64,
        oracle: &mut Oracle,
        stops: bool,
    ) -> Option<Request> {
        let Some(me) = self.me.filter(|_| self.phase != Phase::Beginning) else {
            return (!stops || self.me.is_some()).then(|| self.begin());
        };
        if self.phase == Phase::Idle {
            if stops {
                return None;
            }
            self.plan(random, number, oracle);
        }
        match self.phase {
            Phase::Ending(outcome) => Some(self.end(me, outcome)),
            Phase::Failing => Some(self.end(me, Outcome::Abort)),
            _ => Some(self.write(me, random, oracle)),
        }
    }

    fn begin(&self) -> Request {
        Request::Coordinator(TransactionCommand::InitProducer(InitProducer {
            id: self.id.as_str().into(),
            timeout_ms: TIMEOUT_MS,
            current: self.me,
            version: 4,
        }))
    }

    fn plan(&mut self, random: &SeededRandom, number: u64, oracle: &mut Oracle) {
        // In version 1 what was not begun cannot be ended.
        let least = if self.version == TransactionVersion::V1 { 1 } else { 0 };
        let records = least + random.next_u64() % 4;
        let plan = (0..records).map(|_| {
            usize::try_from(random.next_u64() % PARTITIONS as u64).expect("few partitions")
        });
        self.transaction = Transaction { number, plan: plan.collect(), ..Transaction::default() };
        let seen = Seen { fate: Fate::Aborted, written: HashMap::new() };
        oracle.transactions.insert(number, seen);
        self.phase = Phase::Writing;
    }

    /// The next record, or the partition that it goes to, or the end.
    fn write(
        &mut self,
        me: ProducerIdAndEpoch,
        random: &SeededRandom,
        oracle: &mut Oracle,
    ) -> Request {
        let Transaction { number, plan, done, added } = &self.transaction;
        let Some(partition) = plan.get(*done).copied() else {
            // Nothing was written: there is nothing to be committed.
            let commits = !plan.is_empty() && !random.next_u64().is_multiple_of(4);
            let outcome = if commits { Outcome::Commit } else { Outcome::Abort };
            if commits {
                oracle.transactions.get_mut(number).expect("it was planned").fate = Fate::Unknown;
            }
            self.phase = Phase::Ending(outcome);
            return self.end(me, outcome);
        };
        if self.version == TransactionVersion::V1 && !added.contains(&partition) {
            return Request::Coordinator(add(&self.id, me, &[name_of(partition)], self.version));
        }
        let sequence = self.sequences.get(&partition).copied().unwrap_or(0);
        Request::Write(Writing {
            id: self.id.clone(),
            version: self.version,
            partition,
            write: Write { producer: me, sequence, transaction: *number },
        })
    }

    fn end(&self, me: ProducerIdAndEpoch, outcome: Outcome) -> Request {
        Request::Coordinator(end(&self.id, me, outcome, self.version))
    }

    /// Takes an answer in; false if the program has to start anew.
    pub(super) fn answered(&mut self, answer: Answer, oracle: &mut Oracle) -> bool {
        match answer {
            Answer::Coordinator(TransactionReply::InitProducer(Ok(me))) => {
                self.become_producer(me);
                self.phase = Phase::Idle;
            }
            Answer::Coordinator(TransactionReply::AddPartitions(Ok(()))) => {
                let Transaction { plan, done, added, .. } = &mut self.transaction;
                added.insert(plan[*done]);
            }
            Answer::Coordinator(TransactionReply::End(Ok(me))) => self.ended(me, oracle),
            Answer::Coordinator(TransactionReply::InitProducer(Err(error)))
            | Answer::Coordinator(TransactionReply::AddPartitions(Err(error)))
            | Answer::Coordinator(TransactionReply::End(Err(error)))
            | Answer::Written(Err(WriteError::Refused(error))) => return self.refused(error),
            Answer::Written(Ok(())) => self.written(oracle),
            // Its transaction was aborted: it asks who it is now, unless it has a rival.
            Answer::Written(Err(WriteError::Fenced)) if self.version == TransactionVersion::V2 => {
                self.phase = Phase::Beginning;
            }
            Answer::Written(Err(WriteError::Fenced | WriteError::OutOfOrder)) => {
                self.phase = Phase::Failing;
            }
            Answer::Coordinator(other) => panic!("{other:?}"),
        }
        true
    }

    fn become_producer(&mut self, me: ProducerIdAndEpoch) {
        if self.me != Some(me) {
            self.sequences.clear();
        }
        self.me = Some(me);
    }

    fn written(&mut self, oracle: &mut Oracle) {
        let Transaction { number, plan, done, .. } = &mut self.transaction;
        let partition = plan[*done];
        *done += 1;
        *self.sequences.entry(partition).or_default() += 1;
        let seen = oracle.transactions.get_mut(number).expect("it was planned");
        *seen.written.entry(partition).or_default() += 1;
    }

    fn ended(&mut self, me: ProducerIdAndEpoch, oracle: &mut Oracle) {
        let seen = oracle.transactions.get_mut(&self.transaction.number);
        if self.phase == Phase::Ending(Outcome::Commit) {
            seen.expect("it was planned").fate = Fate::Committed;
        }
        let raises = self.phase == Phase::Failing && self.version == TransactionVersion::V1;
        self.become_producer(me);
        self.phase = if raises { Phase::Beginning } else { Phase::Idle };
    }

    fn refused(&mut self, error: TransactionError) -> bool {
        match error {
            TransactionError::ConcurrentTransactions | TransactionError::NotAvailable => true,
            TransactionError::Abortable if self.phase == Phase::Writing => {
                self.phase = Phase::Failing;
                true
            }
            _ => false,
        }
    }
}
