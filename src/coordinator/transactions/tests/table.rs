//! Every state against every request, as the tables in Kafka's `TransactionCoordinator` and `TransactionState` have it.
//!
//! The transactional id has producer 1000 with epoch 5. Who asks: `current` is that one, `before` has epoch 4, `older` 3, `newer`
//! 6, `other` another producer id. What comes of it: a state, `done` for success without a change, `waits` where Kafka sends the
//! producer away with CONCURRENT_TRANSACTIONS because markers are being written, or an error.

use super::*;

/// EndTxn of version 1: to commit, to abort.
const END_V1: &str = "
    Empty           current  InvalidState    InvalidState
    Ongoing         current  PrepareCommit   PrepareAbort
    PrepareCommit   current  waits           waits
    PrepareAbort    current  waits           waits
    CompleteCommit  current  done            InvalidState
    CompleteAbort   current  InvalidState    done
    any             before   ProducerFenced  ProducerFenced
    any             older    ProducerFenced  ProducerFenced
    any             newer    ProducerFenced  ProducerFenced
    any             other    InvalidProducerIdMapping  InvalidProducerIdMapping
";

/// EndTxn of version 2. What is aborted without partitions has ended at once.
const END_V2: &str = "
    Empty           current  InvalidState    CompleteAbort
    Ongoing         current  PrepareCommit   PrepareAbort
    PrepareCommit   current  waits           waits
    PrepareAbort    current  waits           waits
    CompleteCommit  current  InvalidState    CompleteAbort
    CompleteAbort   current  InvalidState    CompleteAbort
    Empty           before   ProducerFenced  ProducerFenced
    Ongoing         before   ProducerFenced  ProducerFenced
    PrepareCommit   before   waits           waits
    PrepareAbort    before   waits           waits
    CompleteCommit  before   done            InvalidState
    CompleteAbort   before   InvalidState    done
    any             older    ProducerFenced  ProducerFenced
    any             newer    ProducerFenced  ProducerFenced
    any             other    InvalidProducerIdMapping  InvalidProducerIdMapping
";

/// AddPartitionsToTxn with a partition that is new, with one that is part of the transaction.
const ADD: &str = "
    Empty           current  Ongoing  Ongoing
    Ongoing         current  Ongoing  done
    PrepareCommit   current  waits    waits
    PrepareAbort    current  waits    waits
    CompleteCommit  current  Ongoing  Ongoing
    CompleteAbort   current  Ongoing  Ongoing
    any             before   ProducerFenced  ProducerFenced
    any             newer    ProducerFenced  ProducerFenced
    any             other    InvalidProducerIdMapping  InvalidProducerIdMapping
";

/// The first write of version 1 to a partition that is no part of the transaction, to one that is.
const VERIFY: &str = "
    Empty           current  Abortable  Abortable
    Ongoing         current  Abortable  done
    PrepareCommit   current  ConcurrentTransactions  ConcurrentTransactions
    PrepareAbort    current  ConcurrentTransactions  ConcurrentTransactions
    CompleteCommit  current  Abortable  Abortable
    CompleteAbort   current  Abortable  Abortable
    any             before   ProducerFenced  ProducerFenced
    any             newer    ProducerFenced  ProducerFenced
    any             other    InvalidProducerIdMapping  InvalidProducerIdMapping
";

/// InitProducerId of somebody new, of who says who it is. An idle producer is given its next epoch. The epoch before the
/// current one asks again where it is known to be its own (see `init`), which it is not here.
const INIT: &str = "
    Empty           current  Empty           Empty
    Ongoing         current  waits           waits
    PrepareCommit   current  waits           waits
    PrepareAbort    current  waits           waits
    CompleteCommit  current  Empty           Empty
    CompleteAbort   current  Empty           Empty
    Empty           before   Empty           ProducerFenced
    Ongoing         before   waits           ProducerFenced
    PrepareCommit   before   waits           waits
    CompleteCommit  before   Empty           ProducerFenced
    CompleteAbort   before   Empty           ProducerFenced
    Empty           newer    Empty           ProducerFenced
    Ongoing         newer    waits           ProducerFenced
    CompleteCommit  newer    Empty           ProducerFenced
    any             other    skip            ProducerFenced
";

const WRITTEN: [S; 6] =
    [S::Empty, S::Ongoing, S::PrepareCommit, S::PrepareAbort, S::CompleteCommit, S::CompleteAbort];

fn who(name: &str) -> ProducerIdAndEpoch {
    match name {
        "current" => producer(1000, 5),
        "before" => producer(1000, 4),
        "older" => producer(1000, 3),
        "newer" => producer(1000, 6),
        "other" => producer(999, 5),
        _ => panic!("{name}"),
    }
}

/// Sends what `ask` makes of who asks and of the column, from every row's state, and compares what comes of it.
fn check(
    table: &str,
    version: TransactionVersion,
    ask: impl Fn(ProducerIdAndEpoch, usize) -> TransactionCommand,
) {
    let mut rows = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let [state, asking, left, right] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        for before in WRITTEN.into_iter().filter(|it| state == "any" || it.name() == state) {
            for (column, expected) in [left, right].into_iter().enumerate() {
                let outcome = outcome_of(before, version, ask(who(asking), column), expected);
                assert_eq!(outcome, expected, "{version:?} {line}: column {column} of {before:?}");
                rows += 1;
            }
        }
    }
    assert!(rows >= 18, "{rows}");
}

fn outcome_of(
    before: S,
    version: TransactionVersion,
    command: TransactionCommand,
    expected: &str,
) -> String {
    if expected == "skip" {
        return expected.to_owned();
    }
    let mut it = Stepper::new(2);
    it.put("t", known(before, version));
    let records = it.log.len();
    let token = it.send(command);
    let error = match it.take(token) {
        None => return "waits".to_owned(),
        Some(TransactionReply::InitProducer(verdict)) => verdict.err(),
        Some(TransactionReply::AddPartitions(verdict)) => verdict.err(),
        Some(TransactionReply::End(verdict)) => verdict.err(),
        Some(TransactionReply::VerifyPartitions(verdicts)) => verdicts[0].err(),
        Some(other) => panic!("{other:?}"),
    };
    match error {
        Some(error) => {
            assert_eq!(it.log.len(), records, "an error changes nothing");
            format!("{error:?}")
        }
        None if it.log.len() == records => "done".to_owned(),
        None => it.get("t").state.name().to_owned(),
    }
}

#[test]
fn ends_of_version_1() {
    let ask = |who, column: usize| end("t", who, [Commit, Abort][column], V1);
    check(END_V1, V1, ask);
}

#[test]
fn ends_of_version_2() {
    let ask = |who, column: usize| end("t", who, [Commit, Abort][column], V2);
    check(END_V2, V2, ask);
}

#[test]
fn partitions_are_added() {
    for version in [V1, V2] {
        let ask = |who, column: usize| {
            add("t", who, &[[at("c", 0), at("a", 0)][column].clone()], version)
        };
        check(ADD, version, ask);
    }
}

#[test]
fn partitions_are_verified() {
    for version in [V1, V2] {
        check(VERIFY, version, |who, column: usize| {
            TransactionCommand::VerifyPartitions(Partitions {
                id: "t".into(),
                producer: who,
                partitions: vec![[at("c", 0), at("a", 0)][column].clone()],
                version: V1,
            })
        });
    }
}

#[test]
fn producers_begin_and_return() {
    check(INIT, V1, |who, column: usize| init("t", [None, Some(who)][column]));
}

#[test]
fn who_is_not_known_has_no_transaction() {
    let mut it = Stepper::new(2);
    let me = producer(1000, 0);
    for version in [V1, V2] {
        assert_eq!(it.add("t", me, &[at("a", 0)], version), Err(E::InvalidProducerIdMapping));
        assert_eq!(it.end("t", me, Commit, version), Err(E::InvalidProducerIdMapping));
    }
}

#[test]
fn states_follow_each_other_as_in_kafka() {
    use TransactionState::*;
    let idle = [Empty, CompleteCommit, CompleteAbort];
    let before = |state| match state {
        Empty | Dead => idle.to_vec(),
        Ongoing => [&idle[..], &[Ongoing]].concat(),
        PrepareCommit | PrepareEpochFence => vec![Ongoing],
        PrepareAbort => [&idle[..], &[Ongoing, PrepareEpochFence]].concat(),
        CompleteCommit => vec![PrepareCommit],
        CompleteAbort => vec![PrepareAbort],
    };
    for state in S::ALL {
        for from in S::ALL {
            assert_eq!(state.may_follow(from), before(state).contains(&from), "{from:?} {state:?}");
        }
    }
}
