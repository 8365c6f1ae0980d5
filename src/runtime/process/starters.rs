//! The threads that start processes.
//!
//! None of them ever ends: to the kernel the parent of a process is the thread that started it, and what asks to be killed
//! when its parent dies (`PR_SET_PDEATHSIG`; `bwrap --die-with-parent`) is killed when that thread ends.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// Threads that there are from the start of the work on. Starting a process takes milliseconds, nearly all of them in the
/// kernel, which does few at a time.
const USUAL: usize = 2;

/// When none of the threads took anything up for so long, all of them hang, and there is one more.
const HUNG: Duration = Duration::from_millis(50);

type Work = Box<dyn FnOnce() + Send>;

static STARTERS: Mutex<Starters> =
    Mutex::new(Starters { queue: VecDeque::new(), threads: 0, idle: 0, taken: 0 });
static MORE: Condvar = Condvar::new();

struct Starters {
    queue: VecDeque<Work>,
    threads: usize,
    idle: usize,
    /// How much was taken up, ever.
    taken: u64,
}

fn starters() -> MutexGuard<'static, Starters> {
    STARTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` on one of the threads, and waits for what it says.
///
/// # Errors
/// There can be no thread; or `work` came to no end.
pub(super) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, mut answered) = oneshot::channel();
    let work = move || {
        if !answer.is_closed() {
            // What nobody waits for any more is dropped, and says there what that means.
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

/// Puts `work` where it is taken up. Says how much was taken up before.
fn enqueue(work: Work) -> io::Result<u64> {
    let mut all = starters();
    if all.threads < USUAL && all.idle <= all.queue.len() {
        begin(&mut all)?;
    }
    all.queue.push_back(work);
    MORE.notify_one();
    Ok(all.taken)
}

/// Adds a thread if something waits and nothing was taken up since `seen`.
fn look_again(seen: u64) -> u64 {
    let mut all = starters();
    if !all.queue.is_empty() && all.idle == 0 && all.taken == seen {
        if let Err(reason) = begin(&mut all) {
            tracing::warn!(%reason, "no further thread to start processes with; those that there are go on");
        }
        // Whoever else waits gives it its time.
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
            // The thread outlives a panic: what it started before is running. Whoever waits is told by the closed channel.
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

    /// The thread that does something, below `/proc`.
    async fn thread() -> PathBuf {
        run(|| std::fs::read_link("/proc/thread-self")).await.expect("it is done").expect("there is a thread")
    }

    fn lives(thread: &Path) -> bool {
        Path::new("/proc").join(thread).exists()
    }

    /// All in one: the threads are the whole process's.
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
