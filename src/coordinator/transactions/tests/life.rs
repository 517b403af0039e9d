//! Whole lives of transactions.

use super::*;

#[test]
fn a_transaction_of_version_1_keeps_the_epoch() {
    let mut it = Stepper::new(2);
    let me = it.init("t", None).expect("new");
    assert_eq!(me, producer(1000, 0));
    for outcome in [Commit, Abort] {
        it.add("t", me, &[at("a", 0), at("b", 1)], V1).expect("idle");
        it.add("t", me, &[at("a", 0)], V1).expect("known already");
        assert_eq!(it.end("t", me, outcome, V1), Ok(me));
        let [errand] = &it.errands[..] else { panic!("{:?}", it.errands) };
        assert_eq!((errand.producer, errand.outcome, errand.version), (me, outcome, V1));
        assert_eq!(errand.partitions, [at("a", 0), at("b", 1)]);
        it.write_markers();
        let state = if outcome == Commit { S::CompleteCommit } else { S::CompleteAbort };
        assert_eq!((it.get("t").state, it.get("t").producer), (state, me));
        assert_eq!(it.end("t", me, outcome, V1), Ok(me), "the answer may have been lost");
    }
}

#[test]
fn every_end_of_a_transaction_of_version_2_raises_the_epoch() {
    let mut it = Stepper::new(2);
    let first = it.init("t", None).expect("new");
    it.add("t", first, &[at("a", 0)], V2).expect("idle");
    let second = producer(1000, 1);
    assert_eq!(it.end("t", first, Commit, V2), Ok(second));
    assert_eq!(it.errands[0].producer, second, "the marker fences what is late");
    it.write_markers();
    assert_eq!(it.end("t", first, Commit, V2), Ok(second), "the answer may have been lost");
    it.add("t", second, &[at("a", 1)], V2).expect("complete");
    assert_eq!(it.end("t", second, Abort, V2), Ok(producer(1000, 2)));
    it.write_markers();
    assert_eq!(it.get("t").state, S::CompleteAbort);
}

#[test]
fn who_comes_while_a_transaction_ends_waits_for_it() {
    for version in [V1, V2] {
        let mut it = Stepper::new(2);
        let me = it.init("t", None).expect("new");
        it.add("t", me, &[at("a", 0)], version).expect("idle");
        let next = it.end("t", me, Commit, version).expect("open");
        let repeated = it.send(end("t", me, Commit, version));
        let added = it.send(add("t", next, &[at("a", 0)], version));
        assert!(it.take(repeated).is_none() && it.take(added).is_none());
        it.write_markers();
        assert!(matches!(it.take(repeated), Some(TransactionReply::End(Ok(who))) if who == next));
        assert!(matches!(it.take(added), Some(TransactionReply::AddPartitions(Ok(())))));
        assert_eq!((it.get("t").state, it.get("t").producer), (S::Ongoing, next));
    }
}

#[test]
fn a_rival_has_the_open_transaction_aborted_and_waits_for_that() {
    for level in [0, 2] {
        let mut it = Stepper::new(level);
        let me = it.init("t", None).expect("new");
        it.add("t", me, &[at("a", 0)], V1).expect("idle");
        let rival = it.send(init("t", None));
        assert_eq!((it.errands[0].producer, it.errands[0].outcome), (producer(1000, 1), Abort));
        it.write_markers();
        let answer = it.take(rival);
        assert!(
            matches!(answer, Some(TransactionReply::InitProducer(Ok(who))) if who == producer(1000, 2)),
            "{answer:?}"
        );
        assert_eq!(it.end("t", me, Commit, V1), Err(E::ProducerFenced));
        assert_eq!(it.add("t", me, &[at("a", 0)], V1), Err(E::ProducerFenced));
    }
}
