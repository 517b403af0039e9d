//! Rest: a log that nobody writes to holds neither descriptors nor the memory of its newest bytes. Housekeeping asks.

use std::io;
use std::sync::atomic::Ordering;

use super::{Appender, Partition};

impl Partition {
    /// Gives back what an idle log holds: the memory of its newest bytes, its descriptors. True if it rests now; else something
    /// was appended since the last call, or is not synced yet. Costs a few system calls.
    pub fn rest_if_idle(&self) -> bool {
        let mut appender = self.appender.lock();
        if appender.rests {
            return true;
        }
        // Under the lock: no move gives the files another place meanwhile.
        if let Ok(false) = appender.log.is_there() {
            drop(appender);
            self.fail("looking after its files", &io::ErrorKind::NotFound.into());
            return true;
        }
        if !appender.take_idle() {
            return false;
        }
        appender.rests = appender.log.rest();
        self.publish(&appender);
        // The next append opens files again: not on an async thread.
        self.prepared_epoch.store(i32::MIN, Ordering::Release);
        appender.rests
    }
}

impl Appender {
    /// True if nothing was appended since the log was put to rest.
    pub fn rests(&self) -> bool {
        self.rests
    }

    /// True if nothing was appended since the last call.
    fn take_idle(&mut self) -> bool {
        std::mem::replace(&mut self.seen_bytes, self.appended_bytes) == self.appended_bytes
    }
}
