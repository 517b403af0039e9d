//! One open partition: its log behind a plain mutex, the view that readers take, the ends that consumers may see, and who
//! waits for either.
//!
//! # State and threads
//! - `appender`: the log. Locked for one append (microseconds: a write to the page cache), for taking and settling sync work, for
//!   retention. Never across an await, never while a file is synced. A thread hop would cost far more than the lock.
//! - `view`, `high_watermark`, `last_stable_offset`, `synced_end`: published, read without the lock. The high watermark is
//!   stored after the view that covers it, the last stable offset after the high watermark: whoever wants several loads them
//!   in the opposite order.
//! - waiting replies and fetches: small lists under locks of their own. Whoever waits registers, looks again, then waits.
//!
//! The high watermark follows the synced end where the topic's durability is `fsync`, the log end otherwise. It never
//! goes back, and nor does the last stable offset: a transaction begins at or above the high watermark, and holds it back until
//! its marker is below.

mod failing;
mod rest;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use parking_lot::{Mutex, MutexGuard};

use super::agenda::Job;
use super::cleaning::CleaningState;
use super::data_directory::DataDirectory;
use super::fetch::{FetchInterests, Gain};
use super::sync::SyncLane;
use super::sync_wait::SyncWait;
use super::topic_partitions::{Slot, TopicPartitions};
use super::topics::is_internal;
use crate::config::{Durability, TimestampType, TopicSettings};
use crate::log::batch::BatchHeader;
use crate::log::{
    AppendError, Appended, CheckedBatch, Isolation, JoinGuard, Log, LogView, Origin, SyncWork,
    build_marker,
};
use crate::types::{
    DirectoryId, LeaderEpoch, Marker, Offset, PartitionIndex, ProducerId, ProducerIdAndEpoch,
    Timestamp, TopicPartition, TransactionVersion,
};

/// Larger batches are appended on the blocking pool: writing them takes a good part of a millisecond even when all goes well.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// One open partition.
#[derive(Debug)]
pub struct Partition {
    topic: Arc<TopicPartitions>,
    slot: Arc<Slot>,
    /// Another one once it has moved, which happens under the appender's lock.
    directory: ArcSwap<DataDirectory>,
    leader_epoch: AtomicI32,
    /// Epoch that the log is prepared for: an append in it writes nothing but the page cache. Below every epoch at first.
    prepared_epoch: AtomicI32,
    appender: Mutex<Appender>,
    view: ArcSwap<LogView>,
    high_watermark: AtomicI64,
    synced_end: AtomicI64,
    /// Bytes appended in this life up to the high watermark; the difference of two is what fetches have gained.
    visible_bytes: AtomicU64,
    last_stable_offset: AtomicI64,
    sync_lane: SyncLane,
    /// Listed in the directory's sync queue; one partition is there once.
    queued: AtomicBool,
    retired: AtomicBool,
    /// Its files cannot be written to, though others on that disk can.
    broken: AtomicBool,
    cleaning: CleaningState,
    sync_waits: Mutex<Vec<(Offset, Arc<SyncWait>)>>,
}

/// What the mutex guards.
#[derive(Debug)]
pub struct Appender {
    /// The log.
    pub log: Log,
    /// Bytes appended in this life.
    appended_bytes: u64,
    /// Value of `appended_bytes` at the last sync work that was taken.
    sync_taken_bytes: u64,
    /// Value of `appended_bytes` at the last look of housekeeping.
    seen_bytes: u64,
    /// Nothing was appended since the log was put to rest.
    rests: bool,
    /// Retention has more to delete after the next sync.
    retention_waits: bool,
}

/// Why a checked batch was not appended.
#[derive(Debug, thiserror::Error)]
pub enum PartitionAppendError {
    /// The topic was deleted meanwhile.
    #[error("the topic was deleted")]
    Retired,
    /// The log directory is offline, or the partition's own files cannot be used.
    #[error("the log directory is offline")]
    Offline,
    /// The log refused.
    #[error(transparent)]
    Log(#[from] AppendError),
}

/// The ends of a partition at one moment.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The view that they belong to.
    pub view: Arc<LogView>,
    /// Exclusive end of what read_uncommitted consumers see; never above the view's end.
    pub high_watermark: Offset,
    /// Exclusive end of what read_committed consumers see.
    pub last_stable_offset: Offset,
}

impl Ends {
    /// The end that a consumer of this isolation may read to.
    pub fn visible(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable_offset,
        }
    }
}

/// How far consumers may see from now on.
#[derive(Clone, Copy, Debug)]
struct Visible {
    high_watermark: Offset,
    last_stable_offset: Offset,
}

/// Sync work that the directory's sync thread has taken from a partition.
#[derive(Debug)]
pub struct TakenSync {
    /// What to sync.
    pub work: SyncWork,
    /// Whose disk it is for.
    pub directory: Arc<DataDirectory>,
    appended_bytes: u64,
}

/// What an append calls for besides the reply, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncNeed {
    /// Nothing: the mode leaves it to the system, or everything is on disk.
    None,
    /// The sync thread shall take the partition next; no reply waits.
    Background,
    /// As `Background`, and an acks=all reply waits (`fsync`).
    AcksAll,
    /// As `Background`, and every reply waits (`flush.messages` reached: Kafka syncs before it answers).
    EveryReply,
}

impl Partition {
    /// Takes over a log that was just opened and holds nothing unsynced; `cleaned_to` is the cleaner's checkpoint.
    pub fn new(
        topic: Arc<TopicPartitions>,
        slot: Arc<Slot>,
        directory: Arc<DataDirectory>,
        leader_epoch: LeaderEpoch,
        log: Log,
        cleaned_to: Option<Offset>,
    ) -> Arc<Self> {
        let view = Arc::clone(log.view());
        let end = view.log_end;
        let stable = view.first_open.unwrap_or(end);
        let is_internal = is_internal(topic.name.as_str());
        let sync_lane = if is_internal { SyncLane::Coordinators } else { SyncLane::Clients };
        Arc::new(Self {
            topic,
            slot,
            directory: ArcSwap::new(directory),
            leader_epoch: AtomicI32::new(leader_epoch.get()),
            prepared_epoch: AtomicI32::new(i32::MIN),
            appender: Mutex::new(Appender {
                log,
                appended_bytes: 0,
                sync_taken_bytes: 0,
                seen_bytes: 0,
                rests: true,
                retention_waits: false,
            }),
            view: ArcSwap::new(view),
            high_watermark: AtomicI64::new(end.get()),
            synced_end: AtomicI64::new(end.get()),
            visible_bytes: AtomicU64::new(0),
            last_stable_offset: AtomicI64::new(stable.get()),
            sync_lane,
            queued: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            cleaning: CleaningState::new(cleaned_to),
            sync_waits: Mutex::new(Vec::new()),
        })
    }

    /// Its topic.
    pub fn topic(&self) -> &Arc<TopicPartitions> {
        &self.topic
    }

    /// Its number.
    pub fn index(&self) -> PartitionIndex {
        self.slot.index
    }

    /// Name and number.
    pub fn name(&self) -> TopicPartition {
        TopicPartition { topic: self.topic.name.clone(), partition: self.index() }
    }

    /// The log directory that it lives in. The guard is for short use, not for keeping.
    pub fn directory(&self) -> Guard<Arc<DataDirectory>> {
        self.directory.load()
    }

    /// Its place in the topic.
    pub fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Appends go by way of the blocking pool until the next one has been made: the appender is about to be locked for longer.
    pub fn unprepare(&self) {
        self.prepared_epoch.store(i32::MIN, Ordering::Release);
    }

    /// Its log lies in another directory, and all of it is on disk there. Called with the lock held.
    pub fn moved(self: &Arc<Self>, appender: &mut Appender, to: &Arc<DataDirectory>) {
        self.directory().mark_changed();
        self.change_directory(to);
        appender.sync_taken_bytes = appender.appended_bytes;
        let end = appender.log.recovery_point();
        let visible = self.visible_at(appender, end);
        self.raise_synced_end(end, visible, appender.appended_bytes);
    }

    /// Its log belongs to another directory, whatever state it is in there. Called with the lock held.
    pub fn change_directory(&self, to: &Arc<DataDirectory>) {
        self.directory.store(Arc::clone(to));
    }

    /// The epoch of its leader, which is this node.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch::new(self.leader_epoch.load(Ordering::Acquire))
    }

    /// The metadata names another epoch.
    pub fn set_leader_epoch(&self, epoch: LeaderEpoch) {
        self.leader_epoch.store(epoch.get(), Ordering::Release);
    }

    /// True if an append may happen on an async thread: what must be synced before the first one of the epoch has been.
    pub fn is_prepared(&self) -> bool {
        self.prepared_epoch.load(Ordering::Acquire) == self.leader_epoch.load(Ordering::Acquire)
    }

    /// True if an append of so many bytes is over in microseconds, and may happen on an async thread: the epoch is prepared, the
    /// bytes are few, the disk was not seen to stall just now.
    pub fn takes_inline(&self, bytes: usize, now: Duration) -> bool {
        self.is_prepared() && bytes <= INLINE_BYTES_MAX && !self.directory().is_stalled(now)
    }

    /// Exclusive end of what read_uncommitted consumers see.
    pub fn high_watermark(&self) -> Offset {
        Offset::new(self.high_watermark.load(Ordering::Acquire))
    }

    /// Everything below it is known to be on disk.
    pub fn synced_end(&self) -> Offset {
        Offset::new(self.synced_end.load(Ordering::Acquire))
    }

    /// The newest view and the ends in it. Lock-free.
    pub fn ends(&self) -> Ends {
        // The order opposite to that of publishing: neither end is beyond what the next one covers.
        let last_stable_offset = Offset::new(self.last_stable_offset.load(Ordering::Acquire));
        let high_watermark = self.high_watermark();
        Ends { high_watermark, last_stable_offset, view: self.view.load_full() }
    }

    /// True once its topic was deleted or the broker closed it.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// True if nothing can be written any more: to its directory, or to its own files.
    pub fn is_offline(&self) -> bool {
        self.broken.load(Ordering::Acquire) || self.directory().is_offline()
    }

    /// Fetches that wait for data of this partition.
    pub fn fetch_interests(&self) -> &FetchInterests {
        self.slot.fetch_interests()
    }

    /// The log, for retention, DeleteRecords and closing; whoever changes it publishes with [`Partition::publish`].
    pub fn lock(&self) -> MutexGuard<'_, Appender> {
        self.appender.lock()
    }

    /// Has on disk what must be there before an append, which does the same where nobody has before. Blocks; what fails is told
    /// by the append.
    pub fn prepare(&self) {
        let mut appender = self.appender.lock();
        let epoch = self.leader_epoch();
        if self.check_open().is_ok() && appender.log.prepare(epoch).is_ok() {
            self.prepared_epoch.store(epoch.get(), Ordering::Release);
        }
    }

    /// Appends a checked batch, publishes it and wakes whom it satisfies. Never waits for a sync: the second value says
    /// whether the caller must.
    pub fn append(
        self: &Arc<Self>,
        batch: &CheckedBatch<'_>,
        now: Timestamp,
    ) -> Result<(Appended, SyncNeed), PartitionAppendError> {
        let durability = self.topic.policy().settings.durability;
        let mut appender = self.appender.lock();
        self.check_open()?;
        let epoch = self.leader_epoch();
        let active_base = appender.log.active_base();
        let appended = match appender.log.append(batch, epoch, now) {
            Ok(appended) => appended,
            Err(error) => return Err(self.append_failed(appender, error)),
        };
        self.prepared_epoch.store(epoch.get(), Ordering::Release);
        self.directory().appended();
        if appended.duplicate {
            return Ok((appended, self.need_for_duplicate(durability, &appended)));
        }
        let first_unsynced = appender.appended_bytes == appender.sync_taken_bytes;
        appender.appended_bytes += batch.bytes.len() as u64;
        appender.rests = false;
        self.publish(&appender);
        if durability != Durability::Fsync {
            let visible = self.visible_at(&mut appender, appended.end_offset);
            self.advance(visible, appender.appended_bytes);
        }
        let unsynced_bytes = appender.appended_bytes - appender.sync_taken_bytes;
        let rolled = appender.log.active_base() != active_base;
        drop(appender);
        if rolled {
            self.consider_cleaning();
        }
        Ok((
            appended,
            self.need_after_append(durability, &appended, unsynced_bytes, first_unsynced),
        ))
    }

    /// A producer wants to write here in a transaction, beginning with this sequence number: what its first batch must show
    /// once the coordinator has agreed; `None` if its transaction is open here.
    pub fn begin_join(
        &self,
        producer: ProducerIdAndEpoch,
        sequence: i32,
        version: TransactionVersion,
        now: Timestamp,
    ) -> Result<Option<JoinGuard>, PartitionAppendError> {
        self.check_open()?;
        Ok(self.appender.lock().log.begin_join(producer, sequence, version, now))
    }

    /// The coordinator does not let the producer in that was given this guard.
    pub fn give_up_join(&self, producer: ProducerId, guard: JoinGuard) {
        self.appender.lock().log.give_up_join(producer, guard);
    }

    /// Ends a producer's transaction here: appends the control batch (Kafka's `Partition.appendRecordsToLeader` of
    /// `WriteTxnMarkers`). Never waits for a sync.
    pub fn end_transaction(
        self: &Arc<Self>,
        marker: &Marker,
        now: Timestamp,
    ) -> Result<(Appended, SyncNeed), PartitionAppendError> {
        let bytes = build_marker(marker, now).map_err(AppendError::Io)?;
        let header = BatchHeader::parse(&bytes).expect("a batch that was just built has a header");
        let (bytes, origin) = (bytes.into(), Origin::Marker(marker.version));
        let batch = CheckedBatch { header, bytes, log_append_time: None, origin };
        match self.topic().policy().rules.timestamp_type {
            TimestampType::CreateTime => self.append(&batch, now),
            TimestampType::LogAppendTime => self.append(&batch.stamped(now), now),
        }
    }

    /// The log start was raised: shows it, and that the transactions below hold back no further than it.
    pub fn log_start_raised(self: &Arc<Self>, appender: &mut Appender) {
        self.publish(appender);
        let visible = self.visible_at(appender, self.high_watermark());
        self.advance(visible, self.visible_bytes.load(Ordering::Acquire));
    }

    /// Makes the log's newest view the one that readers take. Called with the lock held.
    pub fn publish(&self, appender: &Appender) {
        self.view.store(Arc::clone(appender.log.view()));
    }

    /// Retention has more to delete once everything is synced: it comes back then. Called with the lock held.
    pub fn retain_after_sync(self: &Arc<Self>, appender: &mut Appender) {
        appender.retention_waits = true;
        self.queue_sync();
    }

    /// Lists the partition for the next sync; a no-op while it is listed already.
    pub fn queue_sync(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.directory().sync_queues().push(self.sync_lane, Arc::clone(self));
        }
    }

    /// What the cleaner knows of it.
    pub fn cleaning(&self) -> &CleaningState {
        &self.cleaning
    }

    /// Something may have become dirty: plans a look of the cleaner, unless one is planned or the topic is not compacted.
    pub fn consider_cleaning(self: &Arc<Self>) {
        if self.topic.policy().settings.cleanup_policy.compact && self.cleaning.plan() {
            self.directory().plan_cleaning(self);
        }
    }

    /// Holds `wait` up until everything below `end` is synced or the directory is offline.
    pub fn hold_until_synced(&self, end: Offset, wait: &Arc<SyncWait>) {
        if self.synced_end() >= end {
            return;
        }
        let mut waits = self.sync_waits.lock();
        // The sync thread stores the new end, then takes this lock: an end that is not there yet will find the wait.
        if self.synced_end() < end && !self.is_offline() && !self.is_retired() {
            wait.add();
            waits.push((end, Arc::clone(wait)));
        }
    }

    /// Holds `wait` up until consumers see everything that was appended so far; the sync it needs is queued.
    pub fn hold_until_visible(self: &Arc<Self>, wait: &Arc<SyncWait>) {
        let end = self.view.load().log_end;
        if self.high_watermark() < end {
            self.queue_sync();
            self.hold_until_synced(end, wait);
        }
    }

    /// Takes what must be synced; `None` if the disk has everything. For the sync thread of the directory `of`; a partition that
    /// has left it is listed with the other one.
    pub fn take_sync(self: &Arc<Self>, of: DirectoryId) -> Option<TakenSync> {
        // Before the lock: an append after this store lists the partition again, one before it is covered by this work.
        self.queued.store(false, Ordering::Release);
        let mut appender = self.appender.lock();
        let directory = self.directory.load_full();
        if directory.id() != of {
            drop(appender);
            self.queue_sync();
            return None;
        }
        let work = appender.log.take_sync_work();
        let appended_bytes = appender.appended_bytes;
        appender.sync_taken_bytes = appended_bytes;
        if work.is_none() {
            let end = appender.log.recovery_point();
            let visible = self.visible_at(&mut appender, end);
            drop(appender);
            self.raise_synced_end(end, visible, appended_bytes);
        }
        work.map(|work| TakenSync { work, directory, appended_bytes })
    }

    /// Everything of `taken` is on disk: raises the ends, lets replies and fetches go.
    pub fn synced(self: &Arc<Self>, taken: &TakenSync) {
        let end = taken.work.end;
        let mut appender = self.appender.lock();
        appender.log.synced(&taken.work);
        let visible = self.visible_at(&mut appender, end);
        if std::mem::take(&mut appender.retention_waits) {
            self.directory().plan(Job::RetentionOf(Arc::downgrade(self)));
        }
        drop(appender);
        self.raise_synced_end(end, visible, taken.appended_bytes);
    }

    /// A duplicate is answered as the original was, so its answer waits for the original's sync.
    fn need_for_duplicate(&self, durability: Durability, appended: &Appended) -> SyncNeed {
        let durable = self.synced_end() >= appended.end_offset;
        if durability == Durability::Fsync && !durable { SyncNeed::AcksAll } else { SyncNeed::None }
    }

    fn need_after_append(
        self: &Arc<Self>,
        durability: Durability,
        appended: &Appended,
        unsynced_bytes: u64,
        first_unsynced: bool,
    ) -> SyncNeed {
        let settings = &self.topic.policy().settings;
        let unsynced_records = appended.end_offset.get() - self.synced_end().get();
        if unsynced_records >= settings.flush_messages {
            return SyncNeed::EveryReply;
        }
        // A segment's worth at most is left to the system, so that recovery never scans more (Kafka syncs at each roll).
        let bytes_max = match durability {
            Durability::Fsync => return SyncNeed::AcksAll,
            Durability::Interval { bytes, .. } => bytes.min(segment_bytes(settings)),
            Durability::Os => segment_bytes(settings),
        };
        if unsynced_bytes >= bytes_max {
            return SyncNeed::Background;
        }
        if first_unsynced {
            self.directory().schedule_sync(self, settings);
        }
        SyncNeed::None
    }

    fn raise_synced_end(self: &Arc<Self>, end: Offset, visible: Visible, appended_bytes: u64) {
        let before = self.synced_end.fetch_max(end.get(), Ordering::AcqRel);
        self.advance(visible, appended_bytes);
        self.settle_waits(|waited| waited <= end);
        if before < end.get() && self.cleaning.take_waits_for_settled() {
            self.consider_cleaning();
        }
    }

    /// What consumers see once the high watermark has reached `end`.
    fn visible_at(&self, appender: &mut Appender, end: Offset) -> Visible {
        let high_watermark = self.high_watermark().max(end);
        let unstable = appender.log.first_unstable(high_watermark);
        let last_stable_offset = unstable.map_or(high_watermark, |at| at.min(high_watermark));
        Visible { high_watermark, last_stable_offset }
    }

    /// Raises the ends that consumers see and tells waiting fetches what they gained.
    fn advance(self: &Arc<Self>, to: Visible, appended_bytes: u64) {
        let watermark = to.high_watermark.get();
        let watermark_before = self.high_watermark.fetch_max(watermark, Ordering::AcqRel);
        let stable = to.last_stable_offset.get();
        let stable_before = self.last_stable_offset.fetch_max(stable, Ordering::AcqRel);
        let directory = self.directory();
        directory.mark_changed();
        directory.mark_awake();
        let before = self.visible_bytes.fetch_max(appended_bytes, Ordering::AcqRel);
        let gained = usize::try_from(appended_bytes.saturating_sub(before)).unwrap_or(usize::MAX);
        let has_moved = stable > stable_before;
        if has_moved && self.cleaning.take_waits_for_settled() {
            self.consider_cleaning();
        }
        let gain = match has_moved {
            false => Gain::Uncommitted,
            true if stable_before < watermark_before => Gain::Released,
            true => Gain::All,
        };
        self.fetch_interests().gained(gained, gain);
    }

    fn settle_waits(&self, settled: impl Fn(Offset) -> bool) {
        let mut waits = self.sync_waits.lock();
        waits.retain(|(end, wait)| {
            let settle = settled(*end);
            if settle {
                wait.settle();
            }
            !settle
        });
    }
}

fn segment_bytes(settings: &TopicSettings) -> u64 {
    u64::try_from(settings.segment_bytes).unwrap_or(u64::MAX)
}
