//! What clients were told and what they only tried, and whether the broker stands by it.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater::broker::{Acks, Lookup, OffsetQuery};
use highwater::env::ManualClock;

use super::support::batches::{Sender, batch};
use super::support::broker::{Life, Node, only};

/// Producers with an id, and what they write to: nothing is ever deleted of the first topic, and soon everything of the other.
const PRODUCERS: [(&str, i64); 2] = [("kept", 7), ("expired", 8)];

/// Longer than any delay of a removal.
const LATER_MS: i64 = 400_000;

/// One topic of a name, from its creation to its deletion.
#[derive(Clone, Debug, Default)]
pub struct Incarnation {
    pub told_created: bool,
    pub tried_delete: bool,
    pub told_deleted: bool,
    /// Values of records by their offsets.
    pub acknowledged: BTreeMap<i64, String>,
    /// Records sent.
    pub tried: usize,
    /// Everything below was deleted, as clients were told.
    pub start_told: i64,
    /// Nothing from here on may have been deleted.
    pub start_tried: i64,
}

/// All that is known outside of the broker.
#[derive(Clone, Debug, Default)]
pub struct Told(pub BTreeMap<&'static str, Vec<Incarnation>>);

/// The value of a record: whose it is and which.
pub fn value(topic: &str, incarnation: usize, number: usize) -> String {
    format!("{topic}/{incarnation}/{number:04}/{}", "x".repeat(40))
}

/// A record of the topic's producer, if it has one.
pub fn record(topic: &str, value: &str, sequence: usize, timestamp: i64) -> Vec<u8> {
    let producer = PRODUCERS.iter().find(|(of, _)| *of == topic);
    let sequence = sequence as i32;
    let sender =
        producer.map(|(_, id)| Sender { id: *id, epoch: 0, sequence, transactional: false });
    batch(&[(value.as_bytes(), timestamp)], sender)
}

impl Told {
    /// Starts the node and looks whether everything holds, then stops it.
    pub async fn check(&self, node: &Node, clock: &ManualClock, when: &str) {
        let life = node.begin().unwrap_or_else(|error| panic!("{when}: {error}"));
        for (topic, incarnations) in &self.0 {
            check_topic(&life, topic, incarnations, when).await;
        }
        for (topic, _) in PRODUCERS {
            self.check_producer(&life, topic, when).await;
        }
        goes_on(&life, when).await;
        clock.advance_ms(LATER_MS);
        life.broker.run_due_jobs();
        while node.names("").iter().any(|name| name.ends_with("-delete")) {
            // Housekeeping took the job before, and is at it.
            tokio::task::yield_now().await;
        }
        life.stop().await;
        node.check();
    }

    /// The producer's last batch is known again, at its offset.
    async fn check_producer(&self, life: &Life, topic: &str, when: &str) {
        let Some(one) = self.0.get(topic).and_then(|incarnations| incarnations.last()) else {
            return;
        };
        let Some((offset, value)) = one.acknowledged.last_key_value() else { return };
        let sequence: usize = value.split('/').nth(2).unwrap().parse().unwrap();
        if sequence + 1 < one.tried {
            // What came behind may be there or not.
            return;
        }
        let again = record(topic, value, sequence, 1_700_000_000_000);
        let again = life.send(topic, 0, Acks::All, &again).await;
        let again = again
            .unwrap_or_else(|error| panic!("{when}: the producer of {topic} is refused: {error}"));
        assert!(again.duplicate && again.base_offset.get() == *offset, "{when}: {again:?}");
    }
}

/// A new topic can be created and written to.
async fn goes_on(life: &Life, when: &str) {
    life.create("next", 1, &[]);
    let sent = life.send("next", 0, Acks::All, &record("next", "v", 0, 1_700_000_000_000)).await;
    assert_eq!(sent.expect(when).base_offset.get(), 0, "{when}");
}

async fn check_topic(life: &Life, topic: &str, incarnations: &[Incarnation], when: &str) {
    let must_live = incarnations.iter().rposition(|one| one.told_created && !one.tried_delete);
    if matches!(life.find(topic, 0), Lookup::Unknown) {
        assert_eq!(must_live, None, "{when}: {topic} is gone");
        return;
    }
    let earliest = only(life.list(topic, OffsetQuery::Earliest).finish().await);
    let earliest =
        earliest.unwrap_or_else(|error| panic!("{when}: {topic}: {error:?}")).offset.get();
    let values = life.values(topic, 0, earliest).await;
    let Some((_, first)) = values.first() else {
        let lost = must_live.and_then(|at| {
            let one = &incarnations[at];
            one.acknowledged.range(one.start_tried..).next()
        });
        assert_eq!(lost, None, "{when}: {topic} is empty");
        return;
    };
    let number: usize = first.split('/').nth(1).unwrap().parse().unwrap();
    let one = &incarnations[number];
    assert!(!one.told_deleted, "{when}: {topic} has records of a topic that was deleted");
    assert!(
        must_live.is_none_or(|at| at == number),
        "{when}: {topic}: {number}, not {must_live:?}"
    );
    let expected = |at: i64| one.acknowledged.get(&at).cloned();
    assert!(earliest >= one.start_told, "{when}: {topic}: deleted records are back: {earliest}");
    for (at, acknowledged) in one.acknowledged.range(one.start_tried..) {
        let found = values.iter().find(|(offset, _)| offset == at);
        assert_eq!(found.map(|(_, value)| value), Some(acknowledged), "{when}: {topic} {at}");
    }
    let mut last = None;
    for ((at, found), offset) in values.iter().zip(earliest..) {
        assert_eq!(*at, offset, "{when}: {topic}: a gap");
        assert!(expected(*at).is_none_or(|value| value == *found), "{when}: {topic} {at}: {found}");
        assert!(last.as_ref() < Some(found), "{when}: {topic}: {found} behind {last:?}");
        last = Some(found.clone());
    }
}

/// Shared by those who play the machine.
pub type SharedClock = Arc<ManualClock>;
