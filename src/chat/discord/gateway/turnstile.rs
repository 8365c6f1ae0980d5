//! A turnstile that serenity passes before each connection attempt.
//!
//! serenity reads the gateway's address from behind a lock before it connects. That lock is held here. A waiting task
//! is let through when the turnstile is open; then it closes, and [`Turnstile::passed`] reports it. No polling is
//! needed: a task that waits for the lock lets serenity's thread park, and the park hook calls [`Turnstile::look`].

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};

use futures_util::FutureExt as _;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tokio::task::unconstrained;

/// Holds the lock of the gateway's address, which serenity needs for each connection attempt, so that herder decides
/// when an attempt is made. Clones are the same turnstile.
#[derive(Clone)]
pub(super) struct Turnstile {
    bar: Arc<StdMutex<Bar>>,
    passed: Arc<Notify>,
}

struct Bar {
    address: Arc<Mutex<String>>,
    held: Option<OwnedMutexGuard<String>>,
    /// The pending lock that follows the task which went through; `None` while the lock is held here.
    next: Option<Pin<Box<dyn Future<Output = OwnedMutexGuard<String>> + Send>>>,
    is_open: bool,
}

impl Turnstile {
    /// Creates a closed turnstile; it holds the lock unless `address` is locked already.
    pub(super) fn new(address: Arc<Mutex<String>>) -> Self {
        let held = Arc::clone(&address).try_lock_owned().ok();
        let bar = Bar { address, held, next: None, is_open: false };
        Self { bar: Arc::new(StdMutex::new(bar)), passed: Arc::default() }
    }

    /// Lets one task through to the address: the one that waits, or the next to come.
    pub(super) fn open(&self) {
        self.bar().is_open = true;
        self.look();
    }

    /// Returns true if the next task that comes will be let through.
    pub(super) fn is_open(&self) -> bool {
        self.bar().is_open
    }

    /// Lets a waiting task through if the turnstile is open, and closes the turnstile again.
    pub(super) fn look(&self) {
        if self.bar().turn() {
            self.passed.notify_one();
        }
    }

    /// Waits until a task has been let through.
    pub(super) async fn passed(&self) {
        self.passed.notified().await;
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bar {
    /// Tries to let one task through if the turnstile is open; returns true if one went through.
    fn turn(&mut self) -> bool {
        if !self.is_open {
            return false;
        }
        if let Some(next) = &mut self.next {
            // The task that went through still reads; the lock returns at once.
            let Some(held) = next.now_or_never() else { return false };
            (self.held, self.next) = (Some(held), None);
        }
        // The lock is fair: taking the next place before releasing it lets only the tasks through that waited before.
        let mut next = Box::pin(unconstrained(Arc::clone(&self.address).lock_owned()));
        let handover = Arc::new(Handover::default());
        let early = next.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&handover))));
        debug_assert!(early.is_pending(), "the lock is held here");
        drop(self.held.take());
        self.next = Some(next);
        let went = !handover.was_here();
        self.is_open = !went;
        went
    }
}

/// The thread to which the lock was passed on: this one if no task waited, otherwise that of the task that went
/// through. The lock's return alone proves nothing, since serenity's thread may be faster than this one.
#[derive(Default)]
struct Handover(OnceLock<ThreadId>);

impl Handover {
    fn was_here(&self) -> bool {
        self.0.get() == Some(&thread::current().id())
    }
}

impl Wake for Handover {
    fn wake(self: Arc<Self>) {
        self.0.get_or_init(|| thread::current().id());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turnstile() -> (Arc<Mutex<String>>, Turnstile) {
        let address = Arc::new(Mutex::new("wss://gateway".to_owned()));
        let turnstile = Turnstile::new(Arc::clone(&address));
        (address, turnstile)
    }

    #[tokio::test]
    async fn nobody_passes_while_it_is_closed_and_an_open_one_stays_open_until_somebody_does() {
        let (address, turnstile) = turnstile();
        let mut waiting = Box::pin(address.lock());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        turnstile.look();
        assert!(futures_util::poll!(&mut waiting).is_pending(), "it is closed");
        drop(waiting);
        turnstile.open();
        turnstile.look();
        assert!(turnstile.is_open() && turnstile.passed().now_or_never().is_none(), "nobody came");
        let mut late = Box::pin(address.lock());
        assert!(futures_util::poll!(&mut late).is_pending(), "it is looked first");
        turnstile.look();
        turnstile.passed().await;
        assert!(!turnstile.is_open());
        drop(late.await);
    }

    #[tokio::test]
    async fn one_goes_through_a_turn() {
        let (address, turnstile) = turnstile();
        for _ in 0..3 {
            let mut waiting = Box::pin(address.lock());
            assert!(futures_util::poll!(&mut waiting).is_pending());
            turnstile.open();
            turnstile.passed().await;
            let mut next = Box::pin(address.lock());
            assert!(futures_util::poll!(&mut next).is_pending());
            drop(waiting.await);
            turnstile.look();
            assert!(futures_util::poll!(&mut next).is_pending(), "nobody follows on the heels of another");
        }
    }

    /// Checks that a task that comes to an open turnstile later is let through by its own thread, which calls `look`
    /// before it parks.
    #[tokio::test]
    async fn who_comes_to_an_open_one_later_is_let_through_by_its_own_thread() {
        let (address, turnstile) = turnstile();
        turnstile.open();
        let before = turnstile.clone();
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.on_thread_park(move || before.look()).build().expect("a runtime");
            runtime.block_on(async { address.lock().await.clone() })
        });
        turnstile.passed().await;
        assert_eq!(thread.join().expect("it does not panic"), "wss://gateway");
    }

    type Waiting = Pin<Box<dyn Future<Output = OwnedMutexGuard<String>> + Send>>;

    /// For a test: a task on another thread that has passed and ended before this thread continues.
    struct Swift(StdMutex<Option<Waiting>>);

    impl Wake for Swift {
        fn wake(self: Arc<Self>) {
            let waiting = self.0.lock().expect("nobody panics with it").take();
            let passes = move || drop(waiting.and_then(futures_util::FutureExt::now_or_never));
            thread::spawn(passes).join().expect("it does not panic");
        }
    }

    #[tokio::test]
    async fn who_is_through_before_anybody_looks_is_counted() {
        let (address, turnstile) = turnstile();
        let swift = Arc::new(Swift(StdMutex::new(Some(Box::pin(Arc::clone(&address).lock_owned())))));
        let waker = Waker::from(Arc::clone(&swift));
        let waits = |waiting: &mut Option<Waiting>| {
            waiting.as_mut().expect("it waits").as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        };
        assert!(waits(&mut swift.0.lock().expect("nobody panics with it")));
        turnstile.open();
        assert!(turnstile.passed().now_or_never().is_some(), "it went through");
        turnstile.open();
        assert!(turnstile.passed().now_or_never().is_none(), "and is gone");
    }
}
