//! What a partition knows of its cleaning.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::types::{Offset, Timestamp};

/// One partition's part; a few words.
#[derive(Debug)]
pub struct CleaningState {
    /// Held by whoever cleans the log or takes segments out of it, so that these do not happen together.
    busy: Mutex<()>,
    /// First dirty offset, −1 if it was never cleaned.
    cleaned_to: AtomicI64,
    /// A look is planned or listed; what happens before it need not plan another.
    planned: AtomicBool,
    /// The end of a transaction, or the next sync, calls for a look.
    waits_for_settled: AtomicBool,
    /// A look at this time is planned.
    next_look: AtomicI64,
    uncleanable: AtomicBool,
}

impl CleaningState {
    /// Of a log that was cleaned up to `cleaned_to`.
    pub fn new(cleaned_to: Option<Offset>) -> Self {
        Self {
            busy: Mutex::new(()),
            cleaned_to: AtomicI64::new(cleaned_to.unwrap_or(Offset::NONE).get()),
            planned: AtomicBool::new(false),
            waits_for_settled: AtomicBool::new(false),
            next_look: AtomicI64::new(i64::MIN),
            uncleanable: AtomicBool::new(false),
        }
    }

    /// Waits for whoever cleans the log now. Blocks; taken before the appender's lock.
    pub fn lock(&self) -> MutexGuard<'_, ()> {
        self.busy.lock()
    }

    /// `None` if the log is being cleaned.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, ()>> {
        self.busy.try_lock()
    }

    /// First dirty offset, as in `cleaner-offset-checkpoint`.
    pub fn cleaned_to(&self) -> Option<Offset> {
        let offset = Offset::new(self.cleaned_to.load(Ordering::Acquire));
        (offset >= Offset::ZERO).then_some(offset)
    }

    pub(super) fn set_cleaned_to(&self, offset: Offset) {
        self.cleaned_to.store(offset.get(), Ordering::Release);
    }

    /// True if a look must be planned now.
    pub fn plan(&self) -> bool {
        !self.planned.swap(true, Ordering::AcqRel)
    }

    /// A look begins: what happens from now on calls for another.
    pub(super) fn begin_look(&self) {
        self.planned.store(false, Ordering::Release);
    }

    /// True once after [`CleaningState::wait_for_settled`].
    pub fn take_waits_for_settled(&self) -> bool {
        // The load first: every append comes here.
        self.waits_for_settled.load(Ordering::Relaxed)
            && self.waits_for_settled.swap(false, Ordering::AcqRel)
    }

    pub(super) fn wait_for_settled(&self) {
        self.waits_for_settled.store(true, Ordering::Release);
    }

    /// True if no look is planned between `now` and `at`, so that one must be.
    pub(super) fn plan_at(&self, at: Timestamp, now: Timestamp) -> bool {
        let planned = self.next_look.load(Ordering::Acquire);
        let is_earlier = planned < now.get() || at.get() < planned;
        if is_earlier {
            self.next_look.store(at.get(), Ordering::Release);
        }
        is_earlier
    }

    /// True if its cleaning failed in this life.
    pub fn is_uncleanable(&self) -> bool {
        self.uncleanable.load(Ordering::Acquire)
    }

    /// True the first time.
    pub(super) fn mark_uncleanable(&self) -> bool {
        !self.uncleanable.swap(true, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_is_planned_at_a_time() {
        let state = CleaningState::new(None);
        assert!(state.plan());
        assert!(!state.plan());
        state.begin_look();
        assert!(state.plan());
    }

    #[test]
    fn a_look_at_a_time_is_planned_again_only_if_it_is_earlier_or_the_old_one_is_over() {
        let state = CleaningState::new(None);
        let at = Timestamp::new;
        assert!(state.plan_at(at(100), at(0)));
        assert!(!state.plan_at(at(100), at(10)));
        assert!(!state.plan_at(at(200), at(10)));
        assert!(state.plan_at(at(50), at(10)));
        assert!(state.plan_at(at(300), at(101)));
    }

    #[test]
    fn offsets_below_zero_are_none() {
        assert_eq!(CleaningState::new(None).cleaned_to(), None);
        let state = CleaningState::new(Some(Offset::ZERO));
        assert_eq!(state.cleaned_to(), Some(Offset::ZERO));
        state.set_cleaned_to(Offset::new(5));
        assert_eq!(state.cleaned_to(), Some(Offset::new(5)));
    }
}
