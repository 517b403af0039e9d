//! The runtime under a toy machine: a list of words, and callers who wait for one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc};

use super::*;
use crate::coordinator::machine::{Entry, InvalidRecord, KeyValue, LogProducer, Token, Turn};
use crate::env::ByteBudget;
use crate::types::{Offset, Timestamp};

const SHARD: PartitionIndex = PartitionIndex::new(3);

#[derive(Debug, Default)]
struct Words {
    waiting: Vec<Token>,
}

#[derive(Debug)]
enum Command {
    /// Writes a word; answered with how many there are.
    Say(String),
    /// Writes nothing; answered with all words.
    All,
    /// Answered when the next word is written, or never.
    Wait,
    /// Answered when the timer runs out.
    After(i64),
    /// Writes a word and has others told of it; answered with how many there are.
    Tell(String),
    Panic,
}

impl Machine for Words {
    type Command = Command;
    type Reply = Vec<String>;
    type Record = String;
    type Hard = Vec<String>;
    type Timer = Token;
    type Errand = String;

    fn decide(&mut self, turn: &mut Turn<'_, Self>, command: Command, token: Token) {
        match command {
            Command::Say(word) => {
                turn.write(word);
                for waiting in self.waiting.drain(..) {
                    turn.answer(waiting, turn.hard().clone());
                }
                turn.answer(token, turn.hard().clone());
            }
            Command::All => turn.answer(token, turn.hard().clone()),
            Command::Wait => self.waiting.push(token),
            Command::After(delay_ms) => turn.set_timer(token, delay_ms),
            Command::Tell(word) => {
                turn.send_out(word.clone());
                turn.write(word);
                turn.answer(token, turn.hard().clone());
            }
            Command::Panic => panic!("asked for"),
        }
    }

    fn expired(&mut self, turn: &mut Turn<'_, Self>, token: Token) {
        turn.answer(token, vec!["late".to_owned()]);
    }

    fn loaded(&mut self, _turn: &mut Turn<'_, Self>) {}

    fn image_changed(&mut self, turn: &mut Turn<'_, Self>) {
        turn.write("image".to_owned());
    }

    fn apply(hard: &mut Vec<String>, entry: &Entry<String>) {
        if let Entry::Record(word) = entry {
            hard.push(word.clone());
        }
    }

    fn state_bytes(&self, hard: &Vec<String>) -> usize {
        hard.iter().map(String::len).sum()
    }

    fn grows(&self, _hard: &Vec<String>, command: &Command) -> bool {
        matches!(command, Command::Say(_))
    }

    fn encode(word: &String) -> KeyValue {
        KeyValue { key: word.clone().into_bytes(), value: None }
    }

    fn decode(key: &[u8], _value: Option<&[u8]>) -> Result<Option<String>, InvalidRecord> {
        if key == b"unknown" {
            return Ok(None);
        }
        let word = str::from_utf8(key).map_err(|e| InvalidRecord(e.to_string()))?;
        Ok(Some(word.to_owned()))
    }
}

/// A log in memory whose disk a test can hold up or break.
#[derive(Debug)]
struct MemoryLog {
    batches: Mutex<Vec<Vec<KeyValue>>>,
    full: AtomicBool,
    unreadable: AtomicBool,
    reads: AtomicUsize,
    was_read: Notify,
    /// One permit for each answer that may leave.
    synced: Arc<Semaphore>,
    appended: Notify,
    must_sync: bool,
}

impl MemoryLog {
    fn new(must_sync: bool) -> Arc<Self> {
        Arc::new(Self {
            batches: Mutex::default(),
            full: AtomicBool::new(false),
            unreadable: AtomicBool::new(false),
            reads: AtomicUsize::new(0),
            was_read: Notify::new(),
            synced: Arc::new(Semaphore::new(0)),
            appended: Notify::new(),
            must_sync,
        })
    }

    fn with_keys(keys: &[&[u8]]) -> Arc<Self> {
        let log = Self::new(false);
        let record = |key: &&[u8]| KeyValue { key: key.to_vec(), value: None };
        log.batches.lock().push(keys.iter().map(record).collect());
        log
    }

    fn batches(&self) -> Vec<usize> {
        self.batches.lock().iter().map(Vec::len).collect()
    }
}

/// What the runtime sees of it.
#[derive(Debug)]
struct Seen(Arc<MemoryLog>);

impl ShardLog for Seen {
    fn exists(&self) -> bool {
        !self.0.batches.lock().is_empty()
    }

    fn read(&self, each: &mut dyn FnMut(LoggedEntry<'_>)) -> Result<(), ShardLogError> {
        self.0.reads.fetch_add(1, Ordering::SeqCst);
        self.0.was_read.notify_one();
        if self.0.unreadable.load(Ordering::SeqCst) {
            return Err(ShardLogError("broken".to_owned()));
        }
        for record in self.0.batches.lock().iter().flatten() {
            let value = record.value.as_deref();
            let entry = Logged::Record { key: &record.key, value, transaction: None };
            each(LoggedEntry { offset: Offset::ZERO, entry });
        }
        Ok(())
    }

    fn producers(&self) -> Result<Vec<LogProducer>, ShardLogError> {
        Ok(Vec::new())
    }

    fn append(&self, appended: Vec<LogBatch>, _now: Timestamp) -> Append {
        if self.0.full.load(Ordering::SeqCst) {
            return Append::Done(Err(ShardLogError("full".to_owned())));
        }
        let mut batches = self.0.batches.lock();
        batches.extend(appended.into_iter().map(|batch| match batch {
            LogBatch::Records(_, records) => records,
            LogBatch::Marker(_) => Vec::new(),
        }));
        self.0.appended.notify_one();
        let end = Offset::new(i64::try_from(batches.len()).unwrap());
        Append::Done(Ok(Written { end, must_sync: self.0.must_sync }))
    }

    fn durable(&self, written: Written) -> Option<LogFuture<Result<(), ShardLogError>>> {
        let synced = Arc::clone(&self.0.synced);
        written.must_sync.then(|| -> LogFuture<_> {
            Box::pin(async move {
                synced.acquire().await.unwrap().forget();
                Ok(())
            })
        })
    }
}

fn coordinator(log: &Arc<MemoryLog>) -> Arc<Coordinator<Words>> {
    within(log, &Arc::default(), &StateMemory::new(ByteBudget::new(usize::MAX)))
}

fn counted(log: &Arc<MemoryLog>, metrics: &Arc<Metrics>) -> Arc<Coordinator<Words>> {
    within(log, metrics, &StateMemory::new(ByteBudget::new(usize::MAX)))
}

fn within(
    log: &Arc<MemoryLog>,
    metrics: &Arc<Metrics>,
    memory: &Arc<StateMemory>,
) -> Arc<Coordinator<Words>> {
    let log = Arc::clone(log);
    Coordinator::new(NewCoordinator {
        env: Env::system(),
        metrics: Arc::clone(metrics),
        coordinates: CoordinatorOf::Groups,
        memory: Arc::clone(memory),
        image: Box::new(Arc::default),
        machine: Box::new(Words::default),
        log: Box::new(move |_| Arc::new(Seen(Arc::clone(&log)))),
        errands: Box::new(|_, _| ()),
    })
}

/// A coordinator and the errands that it sends out.
fn with_errands(
    log: &Arc<MemoryLog>,
) -> (Arc<Coordinator<Words>>, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let log = Arc::clone(log);
    let coordinator = Coordinator::new(NewCoordinator {
        env: Env::system(),
        metrics: Arc::default(),
        coordinates: CoordinatorOf::Groups,
        memory: StateMemory::new(ByteBudget::new(usize::MAX)),
        image: Box::new(Arc::default),
        machine: Box::new(Words::default),
        log: Box::new(move |_| Arc::new(Seen(Arc::clone(&log)))),
        errands: Box::new(move |_, word| sender.send(word).unwrap()),
    });
    (coordinator, receiver)
}

fn say(word: &str) -> Command {
    Command::Say(word.to_owned())
}

#[tokio::test]
async fn commands_that_gather_are_decided_in_order_and_appended_as_one_batch() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    let first = coordinator.call(SHARD, say("a"));
    let second = coordinator.call(SHARD, say("b"));
    let third = coordinator.call(SHARD, Command::All);
    assert_eq!(first.await.unwrap(), ["a"]);
    assert_eq!(second.await.unwrap(), ["a", "b"]);
    assert_eq!(third.await.unwrap(), ["a", "b"]);
    assert_eq!(log.batches(), [2]);
}

#[tokio::test]
async fn work_is_counted() {
    let (log, metrics) = (MemoryLog::with_keys(&[b"a"]), Arc::default());
    let coordinator = counted(&log, &metrics);
    let calls = [say("b"), Command::All, say("c")].map(|say| coordinator.call(SHARD, say));
    for call in calls {
        call.await.unwrap();
    }
    coordinator.call(SHARD, Command::All).await.unwrap();
    log.full.store(true, Ordering::SeqCst);
    coordinator.call(SHARD, say("lost")).await.unwrap_err();
    let kind = CoordinatorOf::Groups;
    assert_eq!(metrics.coordinator_commands.of(kind).get(), 5);
    assert_eq!(metrics.coordinator_bursts.of(kind).get(), 3);
    assert_eq!(metrics.coordinator_batches.of(kind).get(), 1);
    assert_eq!(metrics.coordinator_records.of(kind).get(), 2);
    assert_eq!(metrics.coordinator_append_failures.of(kind).get(), 1);
    assert_eq!(metrics.coordinator_load_seconds.of(kind).count(), 1);
}

#[tokio::test]
async fn an_answer_waits_for_the_sync_of_what_it_tells_even_if_another_command_wrote_it() {
    let log = MemoryLog::new(true);
    let coordinator = coordinator(&log);
    let written = env::spawn(coordinator.call(SHARD, say("a")));
    let told = env::spawn(coordinator.call(SHARD, Command::All));
    log.appended.notified().await;
    assert!(!written.is_finished() && !told.is_finished());
    log.synced.add_permits(2);
    assert_eq!(written.await.unwrap().unwrap(), ["a"]);
    assert_eq!(told.await.unwrap().unwrap(), ["a"]);
}

#[tokio::test]
async fn what_could_not_be_appended_never_was() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    coordinator.call(SHARD, say("a")).await.unwrap();
    let told_of_it = coordinator.call(SHARD, Command::Wait);
    let waiting_for_more = coordinator.call(SHARD, Command::After(i64::MAX));
    coordinator.call(SHARD, Command::All).await.unwrap();
    log.full.store(true, Ordering::SeqCst);
    assert_eq!(coordinator.call(SHARD, say("lost")).await, Err(CallError::NotAvailable));
    assert_eq!(told_of_it.await, Err(CallError::NotAvailable));
    assert_eq!(waiting_for_more.await, Err(CallError::GivenUp));
    log.full.store(false, Ordering::SeqCst);
    assert_eq!(coordinator.call(SHARD, say("b")).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_shard_whose_append_failed_is_read_again_although_no_command_comes() {
    let log = MemoryLog::with_keys(&[b"a"]);
    let coordinator = coordinator(&log);
    coordinator.call(SHARD, Command::All).await.unwrap();
    log.was_read.notified().await;
    log.full.store(true, Ordering::SeqCst);
    assert_eq!(coordinator.call(SHARD, say("lost")).await, Err(CallError::NotAvailable));
    log.was_read.notified().await;
    assert_eq!(log.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_shard_begins_with_what_its_log_holds() {
    let log = MemoryLog::with_keys(&[b"a", b"unknown", b"\xff", b"b"]);
    assert_eq!(coordinator(&log).call(SHARD, Command::All).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_not_asked_for_each_command() {
    let log = MemoryLog::with_keys(&[b"a"]);
    log.unreadable.store(true, Ordering::SeqCst);
    let coordinator = coordinator(&log);
    for _ in 0..10 {
        assert_eq!(coordinator.call(SHARD, Command::All).await, Err(CallError::NotAvailable));
    }
    assert_eq!(log.reads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_caller_that_waits_is_answered_by_a_later_command() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    let waiting = coordinator.call(SHARD, Command::Wait);
    coordinator.call(SHARD, say("a")).await.unwrap();
    assert_eq!(waiting.await.unwrap(), ["a"]);
}

#[tokio::test]
async fn timers_run_out_although_no_command_comes() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    let late = coordinator.call(SHARD, Command::After(20));
    let soon = coordinator.call(SHARD, Command::After(1));
    assert_eq!(soon.await.unwrap(), ["late"]);
    assert_eq!(late.await.unwrap(), ["late"]);
}

#[tokio::test]
async fn changed_metadata_reaches_the_shards_in_memory() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    coordinator.image_changed();
    coordinator.call(SHARD, say("a")).await.unwrap();
    coordinator.image_changed();
    assert_eq!(coordinator.call(SHARD, Command::All).await.unwrap(), ["a", "image"]);
}

#[tokio::test]
async fn a_panic_costs_the_shard_its_callers_and_nothing_else() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    coordinator.call(SHARD, say("a")).await.unwrap();
    let waiting = coordinator.call(SHARD, Command::Wait);
    assert_eq!(coordinator.call(SHARD, Command::Panic).await, Err(CallError::GivenUp));
    assert_eq!(waiting.await, Err(CallError::GivenUp));
    assert_eq!(coordinator.call(SHARD, Command::All).await.unwrap(), ["a"]);
}

#[tokio::test]
async fn a_full_mailbox_refuses_and_goes_on() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    let calls: Vec<_> = (0..20_000).map(|_| coordinator.call(SHARD, Command::All)).collect();
    let mut refused = 0;
    for call in calls {
        refused += usize::from(call.await == Err(CallError::Overloaded));
    }
    assert_eq!(refused, 20_000 - 16_384);
    assert!(coordinator.call(SHARD, Command::All).await.is_ok());
}

#[tokio::test]
async fn closing_sends_everyone_away() {
    let log = MemoryLog::new(false);
    let coordinator = coordinator(&log);
    let waiting = coordinator.call(SHARD, Command::Wait);
    coordinator.call(SHARD, Command::All).await.unwrap();
    coordinator.close();
    let within = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert_eq!(within.unwrap(), Err(CallError::GivenUp));
    assert_eq!(coordinator.call(SHARD, Command::All).await, Err(CallError::GivenUp));
}

#[tokio::test]
async fn without_memory_nothing_new_is_taken_and_what_is_known_goes_on() {
    let budget = ByteBudget::new(20);
    let memory = StateMemory::new(Arc::clone(&budget));
    let (log, metrics) = (MemoryLog::new(false), Arc::default());
    let coordinator = within(&log, &metrics, &memory);
    coordinator.call(SHARD, say("1234567")).await.unwrap();
    assert_eq!(memory.bytes(), 7);
    // In one burst: the second no longer finds room.
    let calls = ["890", "lost"].map(|word| coordinator.call(SHARD, say(word)));
    let [fits, refused] = calls;
    assert_eq!(fits.await.unwrap(), ["1234567", "890"]);
    assert_eq!(refused.await, Err(CallError::NoMemory));
    assert_eq!(coordinator.call(SHARD, Command::All).await.unwrap(), ["1234567", "890"]);
    assert_eq!(metrics.coordinator_refusals.of(CoordinatorOf::Groups).get(), 1);
    assert_eq!(budget.used_bytes(), 10);
}

#[tokio::test]
async fn a_state_that_is_thrown_away_gives_its_memory_back_and_one_that_is_read_takes_it() {
    let budget = ByteBudget::new(1_000);
    let memory = StateMemory::new(Arc::clone(&budget));
    let log = MemoryLog::with_keys(&[b"12345"]);
    let coordinator = within(&log, &Arc::default(), &memory);
    coordinator.call(SHARD, say("678")).await.unwrap();
    assert_eq!((memory.bytes(), budget.used_bytes()), (8, 8));
    log.full.store(true, Ordering::SeqCst);
    coordinator.call(SHARD, say("lost")).await.unwrap_err();
    assert_eq!((memory.bytes(), budget.used_bytes()), (0, 0));
    coordinator.call(SHARD, Command::All).await.unwrap();
    assert_eq!((memory.bytes(), budget.used_bytes()), (8, 8));
}

#[tokio::test]
async fn errands_leave_when_what_was_written_before_is_durable() {
    let log = MemoryLog::new(true);
    let (coordinator, mut told) = with_errands(&log);
    let answer = coordinator.call(SHARD, Command::Tell("a".to_owned()));
    log.appended.notified().await;
    assert!(told.try_recv().is_err(), "the disk has not got it yet");
    // One for the errand, one for the answer.
    log.synced.add_permits(2);
    assert_eq!(told.recv().await.unwrap(), "a");
    assert_eq!(answer.await.unwrap(), ["a"]);
}

#[tokio::test]
async fn errands_of_what_could_not_be_written_are_not_run() {
    let log = MemoryLog::new(false);
    let (coordinator, mut told) = with_errands(&log);
    log.full.store(true, Ordering::SeqCst);
    coordinator.call(SHARD, Command::Tell("lost".to_owned())).await.unwrap_err();
    log.full.store(false, Ordering::SeqCst);
    assert!(told.try_recv().is_err());
}
