use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::types::{ProducerEpoch, ProducerId, Timestamp};

/// A file that grows while it is looked at: one length for each time it is asked, then always the last.
#[derive(Debug)]
struct Growing {
    name: &'static str,
    content: Vec<u8>,
    lengths: Mutex<Vec<usize>>,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl File for Growing {
    fn len(&self) -> io::Result<u64> {
        self.asked.lock().push(self.name);
        let mut lengths = self.lengths.lock();
        let len = if lengths.len() > 1 { lengths.remove(0) } else { lengths[0] };
        Ok(len as u64)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = self.content.get(position as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn read_resident_at(&self, _: &mut [u8], _: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        panic!("a backup only reads")
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        panic!("a backup only reads")
    }

    fn sync(&self) -> io::Result<()> {
        panic!("a backup only reads")
    }

    fn set_modified(&self, _: Timestamp) -> io::Result<()> {
        panic!("a backup only reads")
    }

    fn reserve(&self, _: u64, _: u64) -> io::Result<()> {
        panic!("a backup only reads")
    }
}

fn batch(transactional: bool) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchTemplate {
        transactional,
        producer_id: ProducerId::new(7),
        producer_epoch: ProducerEpoch::new(0),
        ..BatchTemplate::default()
    });
    builder.append(Timestamp::new(1), Some(b"k"), Some(b"v"));
    builder.build().expect("memory")
}

/// Logs that grow from one length to the next at each look: whether they belong together, their lengths, and who was asked.
fn measured(logs: &[(&'static str, Vec<u8>, &[usize])]) -> (bool, Vec<u64>, Vec<&'static str>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let open = |(name, content, lengths): &(&'static str, Vec<u8>, &[usize])| {
        let (content, lengths) = (content.clone(), Mutex::new(lengths.to_vec()));
        let file = Arc::new(Growing { name, content, lengths, asked: Arc::clone(&asked) });
        let segment = OpenSegment { name: "00000000000000000000.log".to_owned(), file, bytes: 0 };
        OpenLog { root: 0, name: (*name).to_owned(), role: role(name), segments: vec![segment] }
    };
    let mut logs: Vec<OpenLog> = logs.iter().map(open).collect();
    let together = measure(&mut logs).expect("readable");
    let lengths = logs.iter().map(|log| log.segments[0].bytes).collect();
    let asked = asked.lock().clone();
    (together, lengths, asked)
}

const RECORDS: &str = "orders-0";
const GROUPS: &str = "__consumer_offsets-3";
const TRANSACTIONS: &str = "__transaction_state-1";

#[test]
fn coordinators_are_looked_at_before_and_after_all_others() {
    let (together, lengths, asked) = measured(&[
        (RECORDS, Vec::new(), &[700]),
        (GROUPS, Vec::new(), &[50]),
        (TRANSACTIONS, Vec::new(), &[60]),
    ]);
    assert!(together);
    assert_eq!(lengths, [700, 50, 60]);
    let order = [GROUPS, TRANSACTIONS, RECORDS, GROUPS, TRANSACTIONS];
    assert_eq!(asked, order);
}

#[test]
fn a_transaction_log_that_grows_meanwhile_is_no_moment() {
    let grows = measured(&[(RECORDS, Vec::new(), &[700]), (TRANSACTIONS, Vec::new(), &[60, 61])]);
    assert!(!grows.0);
}

#[test]
fn records_may_grow_and_count_as_they_were_in_between() {
    let (together, lengths, _) =
        measured(&[(GROUPS, Vec::new(), &[50]), (RECORDS, Vec::new(), &[700, 900])]);
    assert!(together);
    assert_eq!(lengths, [50, 700]);
}

#[test]
fn plain_commits_may_come_meanwhile_and_are_left_out() {
    let old = batch(true);
    let log = [old.clone(), batch(false), batch(false)].concat();
    let lengths = [old.len(), log.len()];
    let (together, lengths, _) = measured(&[(GROUPS, log, &lengths)]);
    assert!(together, "only what is new matters");
    assert_eq!(lengths, [old.len() as u64]);
}

#[test]
fn commits_of_transactions_that_come_meanwhile_are_no_moment() {
    let old = batch(false);
    let log = [old.clone(), batch(false), batch(true)].concat();
    assert!(!measured(&[(GROUPS, log.clone(), &[old.len(), log.len()])]).0);
}

#[test]
fn half_a_batch_may_be_anything() {
    let log = [batch(false), batch(false)].concat();
    assert!(!measured(&[(GROUPS, log.clone(), &[log.len() / 2, log.len() - 5])]).0);
    assert!(!measured(&[(GROUPS, log.clone(), &[log.len() / 2 + 9, log.len()])]).0);
}
