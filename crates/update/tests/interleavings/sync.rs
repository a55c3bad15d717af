//! What stands in for the crate's own `sync` module: the same names, and a scheduler behind every call.

use shuttle::sync as scheduled;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LockResult, PoisonError};
use std::time::Duration;

pub use shuttle::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// A panic ends the whole run, so poison tells nothing more.
fn whole<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub struct Mutex<T>(scheduled::Mutex<T>);

/// The lock, and the guard unless it has been given up for a moment.
pub struct MutexGuard<'a, T>(&'a Mutex<T>, Option<scheduled::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(scheduled::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(self, Some(whole(self.0.lock())))
    }
}

impl<T> MutexGuard<'_, T> {
    pub fn unlocked<R>(guard: &mut Self, work: impl FnOnce() -> R) -> R {
        guard.1 = None;
        let result = work();
        guard.1 = Some(whole(guard.0.0.lock()));
        result
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.1.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.1.as_mut().unwrap()
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

#[derive(Default)]
pub struct Condvar(scheduled::Condvar);

impl Condvar {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.1.take().unwrap();
        guard.1 = Some(whole(self.0.wait(held)));
    }

    /// Time passes as the scheduler likes: the wait ends whenever it lets this thread go on, whether it was woken or not.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _most: Duration) {
        MutexGuard::unlocked(guard, shuttle::thread::yield_now);
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Control is handed over before each access, which is one step as in the original.
pub struct ArcSwap<T>(Mutex<Arc<T>>);

impl<T> ArcSwap<T> {
    pub fn from_pointee(value: T) -> Self {
        Self(Mutex::new(Arc::new(value)))
    }

    pub fn load_full(&self) -> Arc<T> {
        self.0.lock().clone()
    }

    pub fn store(&self, value: Arc<T>) {
        let old = std::mem::replace(&mut *self.0.lock(), value);
        drop(old);
    }
}
