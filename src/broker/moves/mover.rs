//! Makes one move: copies, commits, switches.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::{Move, Moves};
use crate::broker::agenda::{Agenda, Job};
use crate::broker::checkpoints::CHECKPOINTS;
use crate::broker::data_directory::{DataDirectory, Incoming};
use crate::broker::partition::{Appender, Partition};
use crate::broker::registry::{Lookup, PartitionRegistry};
use crate::env::{Env, Shutdown};
use crate::log::compaction::{Pace, Stop};
use crate::log::moving::{CopyError, LogCopy};
use crate::metadata::{DirectoryAssignment, MetadataStore};
use crate::observe::Metrics;
use crate::storage::deleted_name;

/// Bytes that may be copied while the appender is locked: some milliseconds of work.
const LAST_BYTES_MAX: u64 = 1 << 20;

/// Passes that may begin anew because segments went away under them. More than that, and a file of the log is missing.
const CHANGES_MAX: usize = 100;

/// What all moves use.
#[derive(Debug)]
pub(in crate::broker) struct MoveTools {
    pub(in crate::broker) env: Env,
    pub(in crate::broker) registry: Arc<PartitionRegistry>,
    pub(in crate::broker) metadata: Arc<MetadataStore>,
    pub(in crate::broker) agenda: Arc<Agenda>,
    pub(in crate::broker) metrics: Arc<Metrics>,
    pub(in crate::broker) shutdown: Shutdown,
}

/// Why a move had no effect.
#[derive(Debug, thiserror::Error)]
enum MoveError {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("the partition cannot be opened: {0}")]
    Open(String),
    #[error("the metadata log cannot be written: {0}")]
    Metadata(String),
    /// The source could not be renamed, so the next start puts the copy in its place.
    #[error("the old directory could not be renamed: {0}")]
    SourceStays(io::Error),
    /// As above; the partition is offline until then.
    #[error("the new directory could not be renamed: {0}")]
    TargetStays(io::Error),
}

/// What one try to switch came to.
enum Switched {
    Yes,
    /// Too much was appended meanwhile, or the cleaner is at work.
    NotYet,
}

/// Asked between two pieces of the copy.
#[derive(Debug)]
struct MovePace<'m> {
    moves: &'m Moves,
    job: &'m Move,
    partition: &'m Partition,
}

impl Pace for MovePace<'_> {
    fn go_on(&self, bytes: u64) -> Result<(), Stop> {
        self.moves.tools.metrics.moved_bytes.add(bytes);
        let over = self.job.is_stopped()
            || self.partition.is_retired()
            || self.partition.directory().is_offline()
            || self.job.to.is_offline()
            || self.moves.is_closing();
        if over { Err(Stop) } else { Ok(()) }
    }
}

impl Moves {
    /// Makes a move, or leaves everything as it was.
    pub(super) fn make(&self, job: &Move) {
        let made = catch_unwind(AssertUnwindSafe(|| self.copy_and_switch(job)));
        job.to.forget_incoming(&job.name);
        let (name, to) = (&job.name, job.to.path().display());
        match made {
            Ok(Ok(())) => {
                self.tools.metrics.moves_made.increment();
                tracing::info!(partition = %name, to = %to, bytes = job.copied_bytes(), "the partition was moved");
            }
            Ok(Err(MoveError::Copy(CopyError::Stopped))) => {
                tracing::info!(partition = %name, to = %to, "the move was stopped");
                self.clear(job);
            }
            Ok(Err(error)) => {
                self.tools.metrics.moves_failed.increment();
                tracing::error!(partition = %name, to = %to, %error, "the partition was not moved");
                self.failed(job, &error);
            }
            Err(_) => {
                self.tools.metrics.moves_failed.increment();
                tracing::error!(partition = %name, to = %to, "moving a partition panicked");
            }
        }
    }

    fn failed(&self, job: &Move, error: &MoveError) {
        match error {
            MoveError::Copy(CopyError::Target(source)) => {
                job.to.fail(&format!("copying {} failed: {source}", job.name));
            }
            // What is there is complete, and the metadata says so.
            MoveError::SourceStays(_) | MoveError::TargetStays(_) => {}
            MoveError::Copy(_) | MoveError::Open(_) | MoveError::Metadata(_) => self.clear(job),
        }
    }

    /// Removes an unfinished copy, unless the broker stops, or the copy may be all that is left.
    pub(super) fn clear(&self, job: &Move) {
        let source = self.open(job).ok().map(|partition| Arc::clone(&partition.directory()));
        let source_failed = source.is_some_and(|source| source.is_offline());
        let goes_on = self.is_closing() && !job.is_called_off();
        if goes_on || source_failed || job.to.is_offline() {
            return;
        }
        if let Err(error) = LogCopy::remove(self.tools.env.files.as_ref(), &job.future) {
            tracing::warn!(directory = %job.future.display(), %error, "an unfinished copy stays behind");
        }
    }

    fn open(&self, job: &Move) -> Result<Arc<Partition>, MoveError> {
        let image = self.tools.metadata.image();
        let gone = || MoveError::Copy(CopyError::Stopped);
        let topic = image.topic_by_id(job.topic).ok_or_else(gone)?;
        match self.tools.registry.find(topic, job.name.partition) {
            Lookup::Open(partition) => Ok(partition),
            Lookup::Closed(closed) => closed.open().map_err(|e| MoveError::Open(e.to_string())),
            Lookup::Unknown => Err(gone()),
        }
    }

    fn copy_and_switch(&self, job: &Move) -> Result<(), MoveError> {
        let partition = self.open(job)?;
        let pace = MovePace { moves: self, job, partition: &partition };
        pace.go_on(0).map_err(|_| CopyError::Stopped)?;
        let mut copy = LogCopy::begin(&self.tools.env.files, &job.future, job.topic)?;
        // A log that grows faster than it is copied is let grow less: the last part is copied while it stands still.
        let mut last_bytes_max = LAST_BYTES_MAX;
        let mut changes_left = CHANGES_MAX;
        loop {
            let source = partition.lock().log.copy_source();
            let copied = match copy.catch_up(&source, &pace) {
                Err(CopyError::Changed) if changes_left > 0 && !partition.is_retired() => {
                    changes_left -= 1;
                    continue;
                }
                copied => copied?,
            };
            pace.go_on(0).map_err(|_| CopyError::Stopped)?;
            job.note(copy.end(), copy.bytes());
            if copied > last_bytes_max {
                last_bytes_max = last_bytes_max.saturating_mul(2);
                continue;
            }
            copy.sync()?;
            let incoming = self.announce(job, &partition, &copy);
            if let Switched::Yes =
                self.switch(job, &partition, &mut copy, (incoming, last_bytes_max))?
            {
                return Ok(());
            }
            last_bytes_max = last_bytes_max.saturating_mul(2);
        }
    }

    /// The checkpoints of the target know the copy before it can be the log: without the log start deleted records would come
    /// back after a crash, without the recovery point all of it would be scanned.
    fn announce(&self, job: &Move, partition: &Partition, copy: &LogCopy) -> Incoming {
        let incoming = Incoming {
            recovery_point: copy.end(),
            log_start: partition.ends().view.log_start,
            high_watermark: partition.high_watermark(),
            cleaned_to: partition.cleaning().cleaned_to(),
        };
        job.to.expect_incoming(&job.name, incoming);
        self.write_checkpoints(&job.to);
        incoming
    }

    fn write_checkpoints(&self, directory: &Arc<DataDirectory>) {
        for kind in CHECKPOINTS {
            if let Err(error) = self.tools.registry.write_checkpoint(directory, kind) {
                tracing::warn!(checkpoint = kind.file_name(), %error, "checkpoint not written");
                directory.mark_changed();
            }
        }
    }

    /// Copies the rest and switches, if little is left and nobody else changes segments.
    fn switch(
        &self,
        job: &Move,
        partition: &Arc<Partition>,
        copy: &mut LogCopy,
        (announced, last_bytes_max): (Incoming, u64),
    ) -> Result<Switched, MoveError> {
        // Waits for the cleaner without holding anything.
        drop(partition.cleaning().lock());
        let mut slot = partition.slot().lock();
        let Some(_cleaning) = partition.cleaning().try_lock() else { return Ok(Switched::NotYet) };
        let _window = job.window.lock();
        // Appends go by way of the blocking pool until it is over.
        partition.unprepare();
        let mut appender = partition.lock();
        let stands_still = self.tools.env.clock.monotonic();
        let over = job.is_stopped() || partition.is_retired() || slot.removed;
        if over || partition.directory().is_offline() || job.to.is_offline() || self.is_closing() {
            return Err(CopyError::Stopped.into());
        }
        let source = appender.log.copy_source();
        if copy.missing_bytes(&source) > last_bytes_max
            || source.log_start() != announced.log_start
            || partition.cleaning().cleaned_to() != announced.cleaned_to
        {
            return Ok(Switched::NotYet);
        }
        appender.log.complete_copy(copy)?;
        let from = Arc::clone(&partition.directory());
        let committed = self.commit(job, partition, &mut appender);
        if !matches!(committed, Err(MoveError::Metadata(_))) {
            slot.directory = Some(Arc::clone(&job.to));
        }
        job.note(copy.end(), copy.bytes());
        drop(appender);
        let still = self.tools.env.clock.monotonic().saturating_sub(stands_still);
        tracing::info!(partition = %job.name, stood_still_us = still.as_micros(), "appends go on in the copy");
        committed?;
        self.write_checkpoints(&job.to);
        self.write_checkpoints(&from);
        Ok(Switched::Yes)
    }

    /// The copy is the log and durable. From here on every crash leads to the new directory.
    fn commit(
        &self,
        job: &Move,
        partition: &Arc<Partition>,
        appender: &mut Appender,
    ) -> Result<(), MoveError> {
        let (from, to) = (Arc::clone(&partition.directory()), &job.to);
        let files = self.tools.env.files.as_ref();
        self.assign(job)?;
        let future: Arc<Path> = job.future.as_path().into();
        // Whoever reads goes on in the copy, so the source may go.
        appender.log.relocate(&future, || Ok(())).map_err(MoveError::SourceStays)?;
        let gone = from.path().join(deleted_name(&job.name, self.tools.env.random.uuid()));
        let gone: Arc<Path> = gone.into();
        let source = from.path().join(job.name.to_string());
        let renamed = appender.log.leave(&gone, || files.rename(&source, &gone));
        if let Err(error) = renamed.and_then(|()| from.sync_names()) {
            from.fail(&format!("moving {} away failed: {error}", job.name));
            return Err(MoveError::SourceStays(error));
        }
        let place: Arc<Path> = to.path().join(job.name.to_string()).into();
        let renamed = appender.log.relocate(&place, || files.rename(&future, &place));
        if let Err(error) = renamed.and_then(|()| to.sync_names()) {
            partition.change_directory(to);
            to.fail(&format!("taking {} in failed: {error}", job.name));
            return Err(MoveError::TargetStays(error));
        }
        appender.log.moved();
        partition.moved(appender, to);
        self.tools.registry.placement().moved(&job.name, to);
        let delay_ms = partition.topic().policy().settings.file_delete_delay_ms;
        self.tools.agenda.plan(delay_ms, Job::RemoveDirectory(gone.to_path_buf()));
        Ok(())
    }

    /// Nobody knows what a failed write left in the metadata log, so a copy must not be there when it is read again: the log
    /// goes on without it.
    fn assign(&self, job: &Move) -> Result<(), MoveError> {
        let assignment = DirectoryAssignment {
            topic: job.topic,
            partition: job.name.partition,
            directory: job.to.id(),
        };
        let Err(error) = self.tools.metadata.assign_directories(vec![assignment]) else {
            return Ok(());
        };
        let files = self.tools.env.files.as_ref();
        let removed = LogCopy::remove(files, &job.future).and_then(|()| job.to.sync_names());
        if let Err(error) = removed {
            job.to.fail(&format!("removing a copy of {} failed: {error}", job.name));
        }
        Err(MoveError::Metadata(error.to_string()))
    }
}
