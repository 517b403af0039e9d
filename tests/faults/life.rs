//! One life of a broker with a roll, retention, DeleteRecords, a deleted topic and one of the same name: everything that removes
//! something. Steps may fail; what was acknowledged is written down.

use highwater::broker::{Acks, DeleteRecords};
use highwater::env::ManualClock;
use highwater::metadata::{NewTopic, TopicRef};
use highwater::types::{Offset, Timestamp, TopicName};

use super::support::broker::{LONG, Life, NODE, Node, only};
use super::support::simulated_disk::SimulatedDisk;
use super::told::{Incarnation, SharedClock, Told, record, value};

const BEGIN: Timestamp = Timestamp::new(1_700_000_000_000);
/// Time between two passes of retention; longer than `file.delete.delay.ms` and the interval of checkpoints.
pub const PASS_MS: i64 = 300_000;

/// Three records fill a segment.
const SEGMENTS: (&str, &str) = ("internal.segment.bytes", "400");

/// A machine, and who writes down what it says.
pub struct Machine {
    pub disk: SimulatedDisk,
    pub clock: SharedClock,
    pub node: Node,
    pub told: Told,
}

impl Machine {
    pub fn new() -> Self {
        let (disk, clock) = (SimulatedDisk::new(), SharedClock::new(ManualClock::new(BEGIN)));
        let node = Node::on(&disk, &clock);
        Self { disk, clock, node, told: Told::default() }
    }

    /// Everything from the first topic to the last.
    pub async fn live(&mut self, life: &Life) {
        self.create(life, "kept", &[SEGMENTS]);
        self.send(life, "kept", 5).await;
        self.create(life, "cut", &[SEGMENTS]);
        self.send(life, "cut", 5).await;
        self.delete_records(life, "cut", 4).await;
        self.create(life, "expiring", &[SEGMENTS, ("retention.bytes", "400")]);
        self.send(life, "expiring", 7).await;
        self.create(life, "expired", &[("retention.ms", "200000")]);
        self.send(life, "expired", 2).await;
        self.create(life, "gone", &[]);
        self.send(life, "gone", 2).await;
        self.pass(life);
        self.delete(life, "gone");
        self.create(life, "gone", &[]);
        self.send(life, "gone", 1).await;
        // Each waits for the syncs that retention needs.
        self.send(life, "expiring", 1).await;
        self.pass(life);
        self.send(life, "kept", 2).await;
        self.pass(life);
    }

    /// What the broker says counts while the machine has power.
    fn hears(&self) -> bool {
        self.disk.has_power()
    }

    fn incarnation(&mut self, topic: &'static str) -> (usize, &mut Incarnation) {
        let all = self.told.0.entry(topic).or_default();
        (all.len() - 1, all.last_mut().expect("it was created before"))
    }

    fn create(&mut self, life: &Life, name: &'static str, configs: &[(&str, &str)]) {
        let topic = NewTopic {
            name: TopicName::new(name).unwrap(),
            partitions: vec![vec![NODE]],
            configs: configs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        };
        let created = only(life.broker.metadata.create_topics(vec![topic])).is_ok();
        // One that could not be created because the last one is still there is none.
        if self.hears() && !created && self.told.0.contains_key(name) {
            return;
        }
        let told_created = created && self.hears();
        let one = Incarnation { told_created, ..Incarnation::default() };
        self.told.0.entry(name).or_default().push(one);
    }

    fn delete(&mut self, life: &Life, name: &'static str) {
        self.incarnation(name).1.tried_delete = true;
        let topic = TopicRef::Name(TopicName::new(name).unwrap());
        let deleted = only(life.broker.metadata.delete_topics(vec![topic])).is_ok();
        life.broker.apply_image();
        let told_deleted = deleted && self.hears();
        self.incarnation(name).1.told_deleted = told_deleted;
    }

    async fn send(&mut self, life: &Life, topic: &'static str, count: usize) {
        for _ in 0..count {
            let timestamp = BEGIN.get();
            let (incarnation, one) = self.incarnation(topic);
            let (number, told_next) = (one.tried, one.acknowledged.len());
            one.tried += 1;
            let value = value(topic, incarnation, number);
            // A producer goes on where it was acknowledged, as long as nothing failed; then it has given up.
            let record = record(topic, &value, number, timestamp);
            let sent = life.send(topic, 0, Acks::All, &record).await;
            let hears = self.hears();
            if let (Ok(appended), true) = (sent, hears) {
                let one = self.incarnation(topic).1;
                one.acknowledged.insert(appended.base_offset.get(), value);
                assert!(one.acknowledged.len() > told_next, "an offset was given twice");
            }
        }
    }

    async fn delete_records(&mut self, life: &Life, topic: &'static str, before: i64) {
        self.incarnation(topic).1.start_tried = before;
        let asked = DeleteRecords { partition: life.find(topic, 0), before: Offset::new(before) };
        let deleted = only(life.broker.delete_records(vec![asked], LONG).finish().await);
        if deleted.is_ok() && self.hears() {
            self.incarnation(topic).1.start_told = before;
        }
    }

    /// Retention, removal of files, checkpoints.
    fn pass(&mut self, life: &Life) {
        for topic in ["expiring", "expired"] {
            let one = self.incarnation(topic).1;
            one.start_tried = one.tried as i64;
        }
        self.clock.advance_ms(PASS_MS);
        life.broker.run_due_jobs();
    }
}
