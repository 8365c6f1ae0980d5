//! The threads that start processes.
//!
//! They never end: to the kernel, the parent of a process is the thread that started it, and a process that is to be
//! killed with its parent (`PR_SET_PDEATHSIG`; `bwrap --die-with-parent`) is killed when that thread ends.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// Usual number of threads that start processes. A start takes milliseconds, nearly all of them in the kernel, which
/// handles few in parallel.
const USUAL: usize = 2;

/// Time without any work taken after which all threads are assumed to hang; then one more is added.
const HUNG: Duration = Duration::from_millis(50);

type Work = Box<dyn FnOnce() + Send>;

static STARTERS: Mutex<Starters> =
    Mutex::new(Starters { queue: VecDeque::new(), threads: 0, idle: 0, taken: 0 });
static MORE: Condvar = Condvar::new();

struct Starters {
    queue: VecDeque<Work>,
    threads: usize,
    idle: usize,
    /// Total number of items of work that threads have taken.
    taken: u64,
}

fn starters() -> MutexGuard<'static, Starters> {
    STARTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on one of the threads, and returns its result.
///
/// # Errors
/// No thread could be started, or `work` panicked.
pub(super) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, mut answered) = oneshot::channel();
    let work = move || {
        if !answer.is_closed() {
            // Work without a receiver is dropped, and so is what it holds.
            let _ = answer.send(work());
        }
    };
    let mut seen = enqueue(Box::new(work))?;
    loop {
        if let Ok(said) = timeout(HUNG, &mut answered).await {
            return said.map_err(io::Error::other);
        }
        seen = look_again(seen);
    }
}

/// Adds `work` to the queue. Returns the total number of items taken so far, for [`look_again`].
fn enqueue(work: Work) -> io::Result<u64> {
    let mut all = starters();
    if all.threads < USUAL && all.idle <= all.queue.len() {
        begin(&mut all)?;
    }
    all.queue.push_back(work);
    MORE.notify_one();
    Ok(all.taken)
}

/// Adds a thread if work is waiting and none was taken since the number was `seen`; returns the new number.
fn look_again(seen: u64) -> u64 {
    let mut all = starters();
    if !all.queue.is_empty() && all.idle == 0 && all.taken == seen {
        if let Err(reason) = begin(&mut all) {
            tracing::warn!(%reason, "no further thread to start processes with; those that there are go on");
        }
        // Other waiting callers first give the new thread its time.
        all.taken += 1;
    }
    all.taken
}

fn begin(all: &mut Starters) -> io::Result<()> {
    std::thread::Builder::new().name("start".to_owned()).spawn(take_up)?;
    all.threads += 1;
    Ok(())
}

fn take_up() {
    let mut all = starters();
    loop {
        if let Some(work) = all.queue.pop_front() {
            all.taken += 1;
            drop(all);
            // The thread survives a panic, because processes that it started are running. The caller gets an error
            // from the closed channel.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            all = starters();
        } else {
            all.idle += 1;
            all = MORE.wait(all).unwrap_or_else(PoisonError::into_inner);
            all.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc;

    use tokio::task::JoinSet;

    use super::*;

    /// Returns the thread that runs the work, as a path below `/proc`.
    async fn thread() -> PathBuf {
        run(|| std::fs::read_link("/proc/thread-self")).await.expect("it is done").expect("there is a thread")
    }

    fn lives(thread: &Path) -> bool {
        Path::new("/proc").join(thread).exists()
    }

    /// A single test, because the threads belong to the entire process.
    #[tokio::test]
    async fn a_thread_that_started_something_never_ends_and_one_that_hangs_holds_up_nothing() {
        let mut used = BTreeSet::new();
        for _ in 0..100 {
            used.insert(thread().await);
        }
        assert!(run(|| -> () { panic!("as a bug would") }).await.is_err());
        let (mut releases, mut hanging) = (Vec::new(), JoinSet::new());
        for _ in 0..USUAL + 3 {
            let ((release, held), (begun, began)) = (mpsc::channel::<()>(), oneshot::channel());
            hanging.spawn(run(move || {
                let _ = begun.send(());
                held.recv().is_err()
            }));
            began.await.expect("it was taken up");
            used.insert(thread().await);
            releases.push(release);
        }
        drop(releases);
        for released in hanging.join_all().await {
            assert!(released.expect("it is done"));
        }
        used.extend(futures_util::future::join_all((0..1000).map(|_| thread())).await);
        assert!(used.iter().all(|thread| lives(thread)), "{used:?}");
    }
}
