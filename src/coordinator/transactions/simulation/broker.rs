//! The process that the coordinator and the partitions live in: logs that are synced later than they are written, errands
//! that write markers one after the other, first writes that ask the coordinator.

use std::collections::{BTreeMap, VecDeque};

use super::super::stepper::Stepper;
use super::super::{
    Partitions, TransactionCommand, TransactionReply, TransactionState, WriteMarkers,
};
use super::oracle::Oracle;
use super::partition::{Partition, Verdict};
use super::program::{Answer, Request, WriteError, Writing};
use super::{Exchange, PARTITIONS, name_of, number_of};
use crate::coordinator::TransactionalId;
use crate::coordinator::machine::Token;
use crate::env::{Random, SeededRandom};
use crate::types::{TopicPartition, TransactionVersion};

pub(super) struct Broker {
    /// Counts crashes.
    pub(super) life: u64,
    pub(super) partitions: Vec<Partition>,
    stepper: Stepper,
    /// What a crash cannot take from the coordinator's log.
    synced: usize,
    /// Who asked the coordinator.
    asked: BTreeMap<Token, Asker>,
    /// What leaves the coordinator when its log is synced up to there.
    held: VecDeque<(usize, Held)>,
    /// What leaves a partition when its log is synced up to there.
    acks: Vec<(usize, usize, Exchange)>,
    /// Each transactional id has one errand at a time, and perhaps one that waits for that.
    errands: BTreeMap<TransactionalId, Errand>,
    released: Vec<Released>,
}

/// An answer on its way to a program.
pub(super) struct Released {
    pub(super) exchange: Exchange,
    pub(super) answer: Answer,
}

enum Asker {
    Program(Exchange),
    /// A partition that wants to let a write in.
    Partition(Exchange, Writing, u64),
}

enum Held {
    Reply(Asker, TransactionReply),
    Errand(WriteMarkers),
}

struct Errand {
    asked: WriteMarkers,
    /// How many partitions have their marker.
    done: usize,
    /// What the log of the next one must be synced up to: it has its marker.
    under_way: Option<usize>,
    next: Option<WriteMarkers>,
}

impl Broker {
    pub(super) fn new(level: i16) -> Self {
        Self {
            life: 0,
            partitions: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            stepper: Stepper::new(level),
            synced: 0,
            asked: BTreeMap::new(),
            held: VecDeque::new(),
            acks: Vec::new(),
            errands: BTreeMap::new(),
            released: Vec::new(),
        }
    }

    pub(super) fn advance_ms(&mut self, step_ms: u64) {
        self.stepper.advance_ms(step_ms);
        self.collect();
    }

    pub(super) fn released(&mut self) -> Vec<Released> {
        std::mem::take(&mut self.released)
    }

    /// True if no transaction is open or being ended.
    pub(super) fn is_idle(&self) -> bool {
        let is_idle =
            |state: TransactionState| state != TransactionState::Ongoing && !state.is_ending();
        self.stepper.hard.iter().all(|(_, known)| is_idle(known.state))
    }

    /// A request comes in.
    pub(super) fn arrives(&mut self, exchange: Exchange, request: Request, oracle: &Oracle) {
        match request {
            Request::Coordinator(command) => self.ask(Asker::Program(exchange), command),
            Request::Write(writing) => self.write(exchange, writing, None, oracle),
        }
    }

    fn ask(&mut self, asker: Asker, command: TransactionCommand) {
        let token = self.stepper.send(command);
        self.asked.insert(token, asker);
        self.collect();
    }

    fn write(&mut self, exchange: Exchange, writing: Writing, guard: Option<u64>, oracle: &Oracle) {
        let log = &mut self.partitions[writing.partition];
        let error = match log.append(writing.write, guard) {
            Verdict::Appended => {
                oracle.appended(writing.write.producer);
                return self.acks.push((writing.partition, log.log.len(), exchange));
            }
            Verdict::Duplicate => {
                return self.acks.push((writing.partition, log.log.len(), exchange));
            }
            Verdict::Join(guard) => return self.join(exchange, writing, guard),
            Verdict::Fenced => WriteError::Fenced,
            Verdict::OutOfOrder => WriteError::OutOfOrder,
        };
        self.released.push(Released { exchange, answer: Answer::Written(Err(error)) });
    }

    fn join(&mut self, exchange: Exchange, writing: Writing, guard: u64) {
        let asked = Partitions {
            id: writing.id.as_str().into(),
            producer: writing.write.producer,
            partitions: vec![name_of(writing.partition)],
            version: writing.version,
        };
        let command = match writing.version {
            TransactionVersion::V1 => TransactionCommand::VerifyPartitions(asked),
            TransactionVersion::V2 => TransactionCommand::AddPartitions(asked),
        };
        self.ask(Asker::Partition(exchange, writing, guard), command);
    }

    /// Takes what the coordinator has decided; it depends on all that it has written so far.
    fn collect(&mut self) {
        let end = self.stepper.log.len();
        let tokens: Vec<_> = self.asked.keys().copied().collect();
        for token in tokens {
            let Some(reply) = self.stepper.take(token) else { continue };
            let asker = self.asked.remove(&token).expect("it is among the keys");
            self.held.push_back((end, Held::Reply(asker, reply)));
        }
        let errands = self.stepper.errands.drain(..).map(|errand| (end, Held::Errand(errand)));
        self.held.extend(errands);
    }

    /// Syncs some logs, lets go what waited for that, and goes on with errands.
    pub(super) fn work(&mut self, random: &SeededRandom, faulty: bool, oracle: &Oracle) {
        let one_in = |odds: u64| random.next_u64().is_multiple_of(odds);
        if one_in(2) {
            self.synced = self.stepper.log.len();
        }
        for partition in &mut self.partitions {
            if one_in(2) {
                partition.synced = partition.log.len();
            }
        }
        while let Some((_, held)) = self.held.pop_front_if(|(end, _)| *end <= self.synced) {
            self.let_go(held, oracle);
        }
        let partitions = &self.partitions;
        for (_, _, exchange) in
            self.acks.extract_if(.., |(partition, end, _)| partitions[*partition].synced >= *end)
        {
            self.released.push(Released { exchange, answer: Answer::Written(Ok(())) });
        }
        let ids: Vec<_> = self.errands.keys().cloned().collect();
        for id in ids {
            // A marker could not be written: tried again later.
            if !(faulty && one_in(5)) {
                self.go_on(&id, one_in(3));
            }
        }
    }

    fn let_go(&mut self, held: Held, oracle: &Oracle) {
        match held {
            Held::Errand(asked) => match self.errands.get_mut(&asked.id) {
                Some(under_way) => under_way.next = Some(asked),
                None => {
                    let id = asked.id.clone();
                    let errand = Errand { asked, done: 0, under_way: None, next: None };
                    self.errands.insert(id, errand);
                }
            },
            Held::Reply(Asker::Program(exchange), reply) => {
                self.released.push(Released { exchange, answer: Answer::Coordinator(reply) });
            }
            Held::Reply(Asker::Partition(exchange, writing, guard), reply) => {
                let verdict = match reply {
                    TransactionReply::AddPartitions(verdict) => verdict,
                    TransactionReply::VerifyPartitions(verdicts) => verdicts[0],
                    other => panic!("{other:?}"),
                };
                match verdict {
                    Ok(()) => self.write(exchange, writing, Some(guard), oracle),
                    Err(error) => {
                        let answer = Answer::Written(Err(WriteError::Refused(error)));
                        self.released.push(Released { exchange, answer });
                    }
                }
            }
        }
    }

    /// One step of an errand.
    fn go_on(&mut self, id: &TransactionalId, reports: bool) {
        let Some(errand) = self.errands.get_mut(id) else { return };
        let WriteMarkers { producer, outcome, version, partitions, .. } = &errand.asked;
        if let Some(partition) = partitions.get(errand.done) {
            let log = &mut self.partitions[number_of(partition)];
            match errand.under_way {
                // Nobody can have it if it is not taken.
                None => {
                    log.mark(*producer, *outcome, *version);
                    errand.under_way = Some(log.log.len());
                    return;
                }
                Some(end) if log.synced < end => return,
                Some(_) => {}
            }
            (errand.done, errand.under_way) = (errand.done + 1, None);
        }
        let (asked, is_done) = (errand.asked.clone(), errand.done == partitions.len());
        let written: Vec<TopicPartition> = asked.partitions[..errand.done].to_vec();
        if is_done || reports {
            self.stepper.report(&asked, written);
            self.collect();
        }
        if is_done && let Some(Errand { next: Some(asked), .. }) = self.errands.remove(id) {
            let next = Errand { asked, done: 0, under_way: None, next: None };
            self.errands.insert(id.clone(), next);
        }
    }

    /// The process dies and another one begins: of what was not synced some may be there.
    pub(super) fn crash(&mut self, random: &SeededRandom) {
        let survivors = |unsynced: usize| {
            let count = random.next_u64() % (unsynced as u64 + 1);
            usize::try_from(count).expect("it is not above a length")
        };
        let unsynced = self.stepper.log.len() - self.synced;
        self.stepper.log.truncate(self.synced + survivors(unsynced));
        self.synced = self.stepper.log.len();
        for partition in &mut self.partitions {
            let unsynced = partition.log.len() - partition.synced;
            partition.crash(survivors(unsynced));
        }
        self.acks.clear();
        self.held.clear();
        self.errands.clear();
        self.released.clear();
        self.life += 1;
        self.reload();
    }

    /// The coordinator reads its log; what is under way goes on. Who waits for an answer hears nothing.
    pub(super) fn reload(&mut self) {
        self.asked.clear();
        self.stepper.restart();
        self.collect();
    }
}
