//! Access to folders whose file system may hang: a network mount with an unreachable server blocks a caller without end.
//!
//! Each access runs on a thread of its own and not on the shared blocking threads. A hanging one stays until the file
//! system answers; the number per folder is bounded, so that repeated accesses add no more.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::clock::running::Running;
use crate::core::detail::{Detail, Own};

/// Maximum number of concurrent accesses to one folder: agents can share one. Others wait until their timeout.
const AT_ONCE: usize = 8;

/// The semaphore of each folder in use, which limits concurrent accesses to it.
static PLACES: Mutex<Option<HashMap<PathBuf, Weak<Semaphore>>>> = Mutex::new(None);

fn places(folder: &Path) -> Arc<Semaphore> {
    let mut all = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(places) = all.get(folder).and_then(Weak::upgrade) {
        return places;
    }
    all.retain(|_, places| places.strong_count() > 0);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    all.insert(folder.to_owned(), Arc::downgrade(&places));
    places
}

/// Runs `question` on a folder, on a thread of its own, and returns its result. `running` measures the time, so that a
/// folder is not blamed for the time in which herder itself was stopped.
///
/// # Errors
/// The folder's file system does not answer within `patience`.
pub(crate) async fn ask<T: Send + 'static>(
    running: &Running,
    folder: &Path,
    patience: Duration,
    question: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, Detail> {
    let answered = running.within(patience, ask_without_limit(folder, question));
    answered.await.unwrap_or_else(|| Err(silent(folder)))
}

/// Runs `question` on a folder as [`ask`] does, for as long as its file system takes.
///
/// # Errors
/// No thread can be started.
pub(crate) async fn ask_without_limit<T: Send + 'static>(
    folder: &Path,
    question: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, Detail> {
    let place = places(folder).acquire_owned().await.map_err(|_| silent(folder))?;
    let (answer, answered) = oneshot::channel();
    let of = folder.to_owned();
    let asking = move || {
        // The caller may be gone.
        let _ = answer.send(question(&of));
        drop(place);
    };
    std::thread::Builder::new()
        .name("folder".to_owned())
        .spawn(asking)
        .map_err(|reason| named(folder).with(reason.to_string()))?;
    answered.await.map_err(|_| silent(folder))
}

fn named(folder: &Path) -> Own {
    Own::WorkspaceSilent { path: folder.display().to_string() }
}

fn silent(folder: &Path) -> Detail {
    named(folder).into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    /// The runtime has one thread for all tasks, as if the others were busy.
    #[tokio::test]
    async fn a_folder_that_does_not_answer_holds_up_nobody_else() {
        let running = Running::default();
        let (hung, healthy) = (Path::new("/test/hung"), Path::new("/test/healthy"));
        let (release, held) = mpsc::channel::<()>();
        let hangs = ask(&running, hung, LONG, move |_| held.recv().is_err());
        let others = async {
            for n in 0..100 {
                assert_eq!(ask(&running, healthy, LONG, move |_| n).await, Ok(n));
            }
            drop(release);
        };
        assert_eq!(tokio::join!(hangs, others).0, Ok(true));
    }

    /// Models a start of herder at which many agents share one folder.
    #[tokio::test]
    async fn many_ask_about_one_folder_at_once_and_all_are_answered() {
        let (running, folder) = (Running::default(), Path::new("/test/shared"));
        let asked = (0..100).map(|n| ask(&running, folder, LONG, move |_| n));
        let answers = futures_util::future::join_all(asked).await;
        assert_eq!(answers, (0..100).map(Ok).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn who_asks_again_and_again_adds_no_threads_and_is_answered_once_there_is_an_answer() {
        let (running, folder) = (Running::default(), Path::new("/test/again"));
        let mut releases = Vec::new();
        for _ in 0..AT_ONCE {
            let ((release, held), (begun, began)) = (mpsc::channel::<()>(), mpsc::channel());
            let question = move |_: &Path| {
                begun.send(()).expect("the test is there");
                held.recv().is_err()
            };
            assert_eq!(ask(&running, folder, SOON, question).await, Err(silent(folder)));
            began.recv().expect("it was asked");
            releases.push(release);
        }
        let never = |_: &Path| -> () { panic!("one too many") };
        assert_eq!(ask(&running, folder, SOON, never).await, Err(silent(folder)));
        drop(releases);
        while ask(&running, folder, LONG, |_| ()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_herder_was_stopped_does_not_count_against_a_folder() {
        let (running, folder) = (Running::default(), Path::new("/test/stopped"));
        let (release, held) = mpsc::channel::<()>();
        let asked = ask(&running, folder, Duration::from_secs(6), move |_| held.recv().is_err());
        tokio::pin!(asked);
        tokio::select! {
            biased;
            early = &mut asked => panic!("{early:?}"),
            () = tokio::time::sleep(Duration::from_secs(3)) => {}
        }
        // The whole process is stopped: no task is polled meanwhile.
        tokio::time::advance(LONG).await;
        assert!(futures_util::poll!(&mut asked).is_pending(), "three seconds are left");
        tokio::time::resume();
        drop(release);
        assert_eq!(asked.await, Ok(true));
    }
}
