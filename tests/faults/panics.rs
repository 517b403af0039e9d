//! Whether a thread of the broker panicked, which ends that thread alone and would show nowhere else.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static PANICS: AtomicUsize = AtomicUsize::new(0);
static HOOK: Once = Once::new();

/// Counts panics from now on.
pub fn watch() -> Watch {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A test that fails has a thread of its own, named after it.
            let is_test = std::thread::current().name().is_some_and(|name| name.contains("::"));
            PANICS.fetch_add(usize::from(!is_test), Ordering::SeqCst);
            before(panic);
        }));
    });
    Watch(PANICS.load(Ordering::SeqCst))
}

/// What there was before.
pub struct Watch(usize);

impl Watch {
    /// Fails if anything panicked since.
    pub fn assert_quiet(&self, when: &str) {
        assert_eq!(PANICS.load(Ordering::SeqCst), self.0, "a thread panicked: {when}");
    }
}
