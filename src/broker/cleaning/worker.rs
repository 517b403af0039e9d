//! A thread that cleans logs, one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::pace::{BytesLeft, RoundPace, Throttle};
use super::{CleaningQueue, choice};
use crate::broker::agenda::{Agenda, Job};
use crate::broker::partition::Partition;
use crate::broker::registry::PartitionRegistry;
use crate::config::CleanerSettings;
use crate::env::{ByteBudget, Env, lower_thread_priority};
use crate::log::compaction::{
    Assessment, CleanError, CleaningLimits, KeyMapLimits, ReplaceError, Replacement, Round,
    Standing, Tally, assess,
};
use crate::observe::{CleaningFailure, Metrics};
use crate::storage::Checkpoint;
use crate::types::Offset;

/// Share of the byte budget that the maps of all threads may take together: one in so many bytes.
const BUDGET_SHARE: usize = 4;

/// Most bytes of one read or write of a log, whatever `log.cleaner.io.buffer.size` allows: on most systems a thread that wakes up
/// meanwhile on the same processor waits until the system call is over.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// What all threads of the cleaner use.
#[derive(Debug)]
pub(in crate::broker) struct CleaningTools {
    env: Env,
    registry: Arc<PartitionRegistry>,
    agenda: Arc<Agenda>,
    budget: Arc<ByteBudget>,
    metrics: Arc<Metrics>,
    throttle: Throttle,
}

impl CleaningTools {
    pub(in crate::broker) fn new(
        env: &Env,
        registry: &Arc<PartitionRegistry>,
        agenda: &Arc<Agenda>,
        budget: &Arc<ByteBudget>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        Self {
            env: env.clone(),
            registry: Arc::clone(registry),
            agenda: Arc::clone(agenda),
            budget: Arc::clone(budget),
            metrics: Arc::clone(metrics),
            throttle: Throttle::new(Arc::clone(&env.clock)),
        }
    }

    /// The settings as they are now.
    pub(super) fn settings(&self) -> CleanerSettings {
        self.registry.cleaner_settings()
    }

    fn limits(&self, settings: &CleanerSettings) -> CleaningLimits {
        let threads = settings.threads.max(1);
        let share = self.budget.limit_bytes() / BUDGET_SHARE;
        CleaningLimits {
            keys: KeyMapLimits {
                bytes_max: settings.dedupe_buffer_bytes.min(share) / threads,
                load_factor: settings.io_buffer_load_factor,
            },
            // Half for reading, half for writing.
            buffer_bytes: (settings.io_buffer_bytes / threads / 2).min(PIECE_BYTES_MAX),
        }
    }
}

/// One thread.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Arc<CleaningQueue>,
    tools: Arc<CleaningTools>,
}

impl Worker {
    pub(super) fn new(queue: Arc<CleaningQueue>, tools: Arc<CleaningTools>) -> Self {
        Self { queue, tools }
    }

    /// Looks and cleans until the queue is closed.
    pub(super) fn run(&self) {
        // Whoever produces or consumes goes first.
        lower_thread_priority();
        while let Some(candidates) = self.queue.take_all() {
            let Some(partition) = self.choose(candidates) else { continue };
            self.clean(&partition);
        }
    }

    /// The log to clean now. Others that are due are listed again; what is not due is not.
    fn choose(&self, candidates: Vec<Arc<Partition>>) -> Option<Arc<Partition>> {
        let mut due = Vec::new();
        let mut assessments = Vec::new();
        for partition in candidates {
            if let Some(assessment) = self.look(&partition) {
                due.push(partition);
                assessments.push(assessment);
            }
        }
        let chosen = due.swap_remove(choice::first(&assessments)?);
        self.queue.add(due);
        let dirty_percent = assessments.iter().map(Assessment::dirty_ratio).fold(0.0, f64::max);
        self.tools.metrics.cleaner_max_dirty_percent.set((dirty_percent * 100.0) as i64);
        Some(chosen)
    }

    /// What there is to clean, if it is time; plans the next look where something will change by itself.
    fn look(&self, partition: &Arc<Partition>) -> Option<Assessment> {
        let state = partition.cleaning();
        state.begin_look();
        let settings = Arc::clone(&partition.topic().policy().settings);
        let is_out = partition.is_retired()
            || partition.directory().is_offline()
            || state.is_uncleanable()
            || !settings.cleanup_policy.compact;
        if is_out {
            return None;
        }
        let settled = settled_end(partition);
        match self.assess(partition, settled) {
            Ok(assessment) if assessment.is_due(&settings) => Some(assessment),
            Ok(assessment) => {
                self.plan_next_look(partition, &assessment, settled);
                None
            }
            Err(error) => {
                self.failed(partition, error);
                None
            }
        }
    }

    fn assess(&self, partition: &Partition, settled: Offset) -> Result<Assessment, CleanError> {
        let standing = Standing {
            checkpoint: partition.cleaning().cleaned_to(),
            settled,
            now: self.tools.env.clock.wall(),
        };
        let settings = Arc::clone(&partition.topic().policy().settings);
        assess(&partition.ends().view, &settings, &standing).map_err(CleanError::of_read)
    }

    /// `settled` is what the assessment went by.
    fn plan_next_look(&self, partition: &Arc<Partition>, assessment: &Assessment, settled: Offset) {
        let state = partition.cleaning();
        if assessment.waits_for_settled {
            state.wait_for_settled();
            if partition.ends().last_stable_offset > partition.synced_end() {
                // Where producers wait for no sync, one may not come for long.
                partition.queue_sync();
            }
            // It may have moved just before.
            if settled_end(partition) > settled && state.take_waits_for_settled() {
                partition.consider_cleaning();
            }
        }
        let now = self.tools.env.clock.wall();
        if let Some(at) = assessment.next_look.filter(|at| state.plan_at(*at, now)) {
            let delay_ms = at.get().saturating_sub(now.get());
            self.tools.agenda.plan(delay_ms, Job::Clean(Arc::downgrade(partition)));
        }
    }

    fn clean(&self, partition: &Arc<Partition>) {
        let began = self.tools.env.clock.monotonic();
        self.tools.metrics.cleaner_running.increment();
        // A fault of ours in one log must not end the cleaning of the others.
        let result = catch_unwind(AssertUnwindSafe(|| self.clean_round(partition)));
        self.tools.metrics.cleaner_running.decrement();
        let took = self.tools.env.clock.monotonic().saturating_sub(began);
        match result {
            Ok(Ok(())) => {
                self.tools.metrics.cleaner_round_seconds.observe(took);
                // There may be more than the map could take.
                self.queue.add([Arc::clone(partition)]);
            }
            Ok(Err(error)) => self.failed(partition, error),
            Err(_) => self.mark(partition, CleaningFailure::Panic, "the cleaner panicked"),
        }
    }

    /// One round, if it is still due.
    fn clean_round(&self, partition: &Arc<Partition>) -> Result<(), CleanError> {
        let _busy = partition.cleaning().lock();
        let began = self.tools.env.clock.monotonic();
        let assessment = self.assess(partition, settled_end(partition))?;
        let topic_settings = Arc::clone(&partition.topic().policy().settings);
        if partition.is_retired() || !assessment.is_due(&topic_settings) {
            return Ok(());
        }
        if assessment.checkpoint_invalid && !topic_settings.cleanup_policy.delete {
            let from = assessment.range.from;
            tracing::warn!(partition = %partition.name(), %from, "the cleaner's checkpoint is outside the log");
        }
        let settings = self.tools.registry.cleaner_settings();
        let pace = RoundPace {
            queue: &self.queue,
            partition,
            throttle: &self.tools.throttle,
            bytes_per_second: settings.io_max_bytes_per_second,
            moved: Mutex::new(0),
            left: BytesLeft::new(
                &self.tools.metrics.cleaner_bytes_left,
                assessment.clean_bytes + 2 * assessment.cleanable_bytes,
            ),
        };
        let source = partition.lock().log.cleaning_source();
        let limits = self.tools.limits(&settings);
        let budget = &self.tools.budget;
        let mut round = Round::begin(source, assessment.range, limits, budget, &pace)?;
        self.put_gaps_below_the_recovery_point(partition)?;
        self.replace_all(partition, &mut round, &pace)?;
        partition.cleaning().set_cleaned_to(round.end());
        self.write_checkpoint(partition);
        self.tell(partition, &assessment, &round, began);
        Ok(())
    }

    fn replace_all(
        &self,
        partition: &Arc<Partition>,
        round: &mut Round,
        pace: &RoundPace<'_>,
    ) -> Result<(), CleanError> {
        loop {
            let before = round.tally();
            let next = round.next(pace);
            self.count(before, round.tally());
            let Some(replacement) = next? else { return Ok(()) };
            self.replace(partition, &replacement)?;
        }
    }

    fn replace(
        &self,
        partition: &Arc<Partition>,
        replacement: &Replacement,
    ) -> Result<(), CleanError> {
        let mut appender = partition.lock();
        if partition.is_retired() {
            drop(appender);
            replacement.abandon();
            return Err(CleanError::Stopped);
        }
        let replaced = appender.log.replace(replacement, self.tools.env.clock.wall());
        partition.publish(&appender);
        drop(appender);
        match replaced {
            Ok(()) => {
                // The new names are in the sync work of the log.
                partition.queue_sync();
                let delay_ms = partition.topic().policy().settings.file_delete_delay_ms;
                let job = Job::RemoveDeletedFiles(Arc::downgrade(partition));
                self.tools.agenda.plan(delay_ms, job);
                Ok(())
            }
            Err(ReplaceError::Changed) => {
                replacement.abandon();
                Err(CleanError::Stopped)
            }
            Err(ReplaceError::Rename(error)) => {
                partition.fail("cleaning", &error);
                Err(CleanError::Stopped)
            }
        }
    }

    /// Recovery takes gaps above the recovery point for lost records once the policy is another one. Everything that is cleaned is on
    /// disk; before there are gaps in it the next start must know that.
    fn put_gaps_below_the_recovery_point(&self, partition: &Partition) -> Result<(), CleanError> {
        let (registry, directory) = (&self.tools.registry, partition.directory());
        let written = registry.write_checkpoint(&directory, Checkpoint::RecoveryPoint);
        written.map_err(CleanError::of_write)
    }

    fn write_checkpoint(&self, partition: &Partition) {
        let kind = Checkpoint::Cleaner;
        if let Err(error) = self.tools.registry.write_checkpoint(&partition.directory(), kind) {
            // The next start then cleans again what is clean.
            tracing::warn!(checkpoint = kind.file_name(), %error, "checkpoint not written");
        }
    }

    /// After each group of segments: a large log takes a while.
    fn count(&self, before: Tally, now: Tally) {
        let metrics = &self.tools.metrics;
        let removed = |tally: Tally| tally.records_read.saturating_sub(tally.records_kept);
        metrics.cleaner_bytes_read.add(now.bytes_read - before.bytes_read);
        metrics.cleaner_bytes_written.add(now.bytes_kept - before.bytes_kept);
        metrics.cleaner_records_removed.add(removed(now) - removed(before));
    }

    fn tell(&self, partition: &Partition, assessment: &Assessment, round: &Round, began: Duration) {
        let (tally, (keys, map_bytes)) = (round.tally(), round.map_size());
        let took = self.tools.env.clock.monotonic().saturating_sub(began);
        tracing::info!(
            partition = %partition.name(),
            from = %assessment.range.from,
            to = %round.end(),
            bytes_before = tally.bytes_read,
            bytes_after = tally.bytes_kept,
            records_before = tally.records_read,
            records_after = tally.records_kept,
            keys,
            map_bytes,
            millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "log cleaned"
        );
    }

    fn failed(&self, partition: &Arc<Partition>, error: CleanError) {
        if partition.is_retired() || partition.directory().is_offline() {
            return;
        }
        let failure = match &error {
            CleanError::Stopped => return,
            CleanError::NoMemory | CleanError::NoRoom => {
                tracing::warn!(partition = %partition.name(), %error, "the log is cleaned later");
                partition.consider_cleaning();
                return;
            }
            CleanError::Damaged { .. } => CleaningFailure::Damaged,
            CleanError::KeysDoNotFit { .. } => CleaningFailure::Keys,
            CleanError::Read(_) | CleanError::Write(_) => CleaningFailure::Disk,
        };
        self.mark(partition, failure, &error.to_string());
    }

    fn mark(&self, partition: &Partition, failure: CleaningFailure, reason: &str) {
        if partition.cleaning().mark_uncleanable() {
            self.tools.metrics.cleaner_uncleanable.of(failure).increment();
            tracing::error!(partition = %partition.name(), reason, "the log cannot be cleaned until the next start");
        }
    }
}

/// Exclusive end of what is decided and on disk.
fn settled_end(partition: &Partition) -> Offset {
    partition.ends().last_stable_offset.min(partition.synced_end())
}
