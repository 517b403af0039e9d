//! A partition that takes no more records: its topic is gone, its directory is offline, or its own files cannot be used.

use std::error::Error;
use std::io;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use super::{Appender, Partition, PartitionAppendError};
use crate::env::is_of_a_name;
use crate::log::AppendError;

impl Partition {
    /// Ends every wait: the directory is offline, or the partition is gone.
    pub fn abandon(&self) {
        self.settle_waits(|_| true);
        self.fetch_interests().wake_all();
    }

    /// The topic was deleted or the broker stops: refuses further appends and ends every wait.
    pub fn retire(&self) {
        // Under the lock: an append that was let in has finished.
        let appender = self.appender.lock();
        self.retired.store(true, Ordering::Release);
        drop(appender);
        self.abandon();
    }

    pub(super) fn check_open(&self) -> Result<(), PartitionAppendError> {
        if self.is_retired() {
            return Err(PartitionAppendError::Retired);
        }
        if self.is_offline() {
            return Err(PartitionAppendError::Offline);
        }
        Ok(())
    }

    pub(super) fn append_failed(
        &self,
        appender: MutexGuard<'_, Appender>,
        error: AppendError,
    ) -> PartitionAppendError {
        drop(appender);
        match &error {
            AppendError::Io(source) => self.fail("writing", source),
            AppendError::NoRoom(source) => self.directory().append_refused(&self.name(), source),
            _ => {}
        }
        error.into()
    }

    /// Something went wrong with its files (`what` says at what): if their names alone are to blame it takes no more appends, else its
    /// directory goes offline. The topic may have been deleted, which moves files under whoever was still at work on them.
    pub fn fail(&self, what: &str, source: &io::Error) {
        if !is_of_a_name(source) {
            return self.fail_directory(what, source);
        }
        if self.is_retired() || self.broken.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::error!(partition = %self.name(), %source, "{what} failed: the partition takes no more records until the next start");
        self.appender.lock().log.end(source);
        self.abandon();
    }

    /// Its files cannot be used (`what` says for what): takes the directory offline, unless the topic was deleted, which moves
    /// them under whoever was still at work on them.
    pub fn fail_directory(&self, what: &str, source: &dyn Error) {
        if self.is_retired() {
            return;
        }
        self.directory().fail(&format!("{what} {} failed: {source}", self.name()));
        self.abandon();
    }
}
