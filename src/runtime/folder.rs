//! Questions about folders whose file system may not answer: a network mount whose server is gone holds up whoever asks, and
//! nothing ends that.
//!
//! Each is asked by a thread of its own and not by one of those that are there for everything else. One that hangs stays until
//! the file system answers; about one folder there are few of them at a time, so that whoever asks again adds no more.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::core::detail::{Detail, Own};

/// Questions about one folder at a time: agents can share one.
const AT_ONCE: usize = 8;

/// How many are under way, by folder.
static UNDER_WAY: Mutex<Option<HashMap<PathBuf, usize>>> = Mutex::new(None);

fn under_way() -> MutexGuard<'static, Option<HashMap<PathBuf, usize>>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One question under way, until dropped.
struct Place(PathBuf);

impl Place {
    fn of(folder: &Path) -> Option<Self> {
        let mut all = under_way();
        let count = all.get_or_insert_default().entry(folder.to_owned()).or_default();
        if *count >= AT_ONCE {
            return None;
        }
        *count += 1;
        Some(Self(folder.to_owned()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(all) = under_way().as_mut()
            && let Some(count) = all.get_mut(&self.0)
        {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.0);
            }
        }
    }
}

/// Asks `question` about a folder.
///
/// # Errors
/// No answer came for as long as `patience`.
pub(crate) async fn ask<T: Send + 'static>(
    folder: &Path,
    patience: Duration,
    question: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, Detail> {
    let silent = || Own::WorkspaceSilent { path: folder.display().to_string() };
    let place = Place::of(folder).ok_or_else(silent)?;
    let (answer, answered) = oneshot::channel();
    let asking = move || {
        // Nobody may wait for it any more.
        let _ = answer.send(question(&place.0));
    };
    std::thread::Builder::new()
        .name("folder".to_owned())
        .spawn(asking)
        .map_err(|reason| silent().with(reason.to_string()))?;
    match timeout(patience, answered).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Err(silent().into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn silent(folder: &Path) -> Detail {
        Own::WorkspaceSilent { path: folder.display().to_string() }.into()
    }

    /// One thread for all tasks, as if the others were busy.
    #[tokio::test]
    async fn a_folder_that_does_not_answer_holds_up_nobody_else() {
        let (hung, healthy) = (Path::new("/test/hung"), Path::new("/test/healthy"));
        let (release, held) = mpsc::channel::<()>();
        let hangs = ask(hung, LONG, move |_| held.recv().is_err());
        let others = async {
            for n in 0..100 {
                assert_eq!(ask(healthy, LONG, move |_| n).await, Ok(n));
            }
            drop(release);
        };
        assert_eq!(tokio::join!(hangs, others).0, Ok(true));
    }

    #[tokio::test]
    async fn who_asks_again_and_again_adds_no_threads_and_is_answered_once_there_is_an_answer() {
        let folder = Path::new("/test/again");
        let mut releases = Vec::new();
        for _ in 0..AT_ONCE {
            let ((release, held), (begun, began)) = (mpsc::channel::<()>(), mpsc::channel());
            let question = move |_: &Path| {
                begun.send(()).expect("the test is there");
                held.recv().is_err()
            };
            assert_eq!(ask(folder, SOON, question).await, Err(silent(folder)));
            began.recv().expect("it was asked");
            releases.push(release);
        }
        let never = |_: &Path| -> () { panic!("one too many") };
        assert_eq!(ask(folder, LONG, never).await, Err(silent(folder)));
        drop(releases);
        while ask(folder, LONG, |_| ()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
