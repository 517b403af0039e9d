//! What is shown of transactions.

use std::time::Duration;

use super::*;
use crate::coordinator::pattern::Pattern;

fn three() -> Stepper {
    let mut it = Stepper::new(2);
    it.init("idle", None).expect("new");
    for id in ["open", "ended"] {
        let me = it.init(id, None).expect("new");
        it.add(id, me, &[at("a", 0), at("a", 1)], V1).expect("idle");
    }
    it.advance_ms(10_000);
    let me = it.get("ended").producer;
    it.end("ended", me, Commit, V1).expect("open");
    it
}

fn describe(it: &mut Stepper, id: &str) -> Result<TransactionDescription, E> {
    match it.ask(TransactionCommand::Describe(id.into())) {
        TransactionReply::Describe(verdict) => verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transaction_is_described() {
    let mut it = three();
    let began = Timestamp::new(1_700_000_000_000);
    let expected = TransactionDescription {
        state: S::Ongoing,
        timeout_ms: 60_000,
        start: began,
        producer: producer(1001, 0),
        partitions: vec![at("a", 0), at("a", 1)],
    };
    assert_eq!(describe(&mut it, "open"), Ok(expected));
    let idle = describe(&mut it, "idle").expect("known");
    assert_eq!((idle.state, idle.start, idle.partitions.len()), (S::Empty, Timestamp::NONE, 0));
    assert_eq!(describe(&mut it, "nobody"), Err(E::NotFound));
    assert_eq!(describe(&mut it, ""), Err(E::InvalidRequest));
}

#[test]
fn partitions_that_have_their_marker_are_not_shown() {
    let mut it = three();
    let errand = it.errands.remove(0);
    it.report(&errand, vec![at("a", 1)]);
    let shown = describe(&mut it, "ended").expect("known");
    assert_eq!((shown.state, shown.partitions), (S::PrepareCommit, vec![at("a", 0)]));
    it.report(&errand, vec![at("a", 0)]);
    let shown = describe(&mut it, "ended").expect("known");
    assert_eq!((shown.state, shown.partitions.len()), (S::CompleteCommit, 0));
    assert_eq!(shown.start, Timestamp::new(1_700_000_000_000), "as in Kafka, that of the last");
}

#[test]
fn lists_are_filtered() {
    let mut it = three();
    let mut list = |filter| match it.ask(TransactionCommand::List(filter)) {
        TransactionReply::List(listed) => {
            let mut names: Vec<_> = listed.iter().map(|one| one.id.as_str().to_owned()).collect();
            names.sort();
            names.join(" ")
        }
        other => panic!("{other:?}"),
    };
    let all = ListFilter::default;
    let longer = |ms| ListFilter { longer_than: Some(Duration::from_millis(ms)), ..all() };
    let ids = |ids: &[i64]| ListFilter {
        producers: ids.iter().copied().map(ProducerId::new).collect(),
        ..all()
    };
    let pattern = |text| ListFilter { pattern: Pattern::of_any_names(text).ok(), ..all() };
    assert_eq!(list(all()), "ended idle open");
    assert_eq!(list(ListFilter { states: vec![S::Ongoing], ..all() }), "open");
    assert_eq!(list(ListFilter { states: vec![S::Ongoing, S::Empty], ..all() }), "idle open");
    assert_eq!(list(ListFilter { states: vec![S::Dead], ..all() }), "");
    assert_eq!(list(ids(&[1000, 1002, 5])), "ended idle");
    assert_eq!(list(longer(9_999)), "ended idle open", "what was never begun counts as old");
    assert_eq!(list(longer(10_000)), "idle");
    assert_eq!(list(pattern("^(?:.*e.*)$")), "ended idle open");
    assert_eq!(list(pattern("^(?:o..n)$")), "open");
    let both = ListFilter { states: vec![S::Empty], ..ids(&[1001]) };
    assert_eq!(list(both), "");
}

#[test]
fn the_overview_has_what_is_open_or_being_ended() {
    let mut it = three();
    let TransactionReply::Overview(mut seen) = it.ask(TransactionCommand::Overview) else {
        panic!("answers are named as their commands");
    };
    seen.sort_by_key(|one| one.id.as_str().to_owned());
    let states: Vec<_> = seen.iter().map(|one| (one.id.as_str(), one.state)).collect();
    assert_eq!(states, [("ended", S::PrepareCommit), ("open", S::Ongoing)]);
}
