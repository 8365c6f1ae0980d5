//! Checks of the agents' folders. They need the file system, so that they run only where no caller waits: a network
//! mount whose server is gone never answers.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;

use super::problems::Problem;
use crate::clock::running::Running;
use crate::runtime::folder;

/// Maximum time for the checks of all folders together.
const ANSWERS: Duration = Duration::from_secs(6);

/// A folder that the file names for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Place in the file where the folder is named, for a report about it.
    pub(super) at: Problem,
}

impl Folder {
    /// Checks the folder; returns the problem with it, if there is one.
    async fn look(&self, running: &Running) -> Option<Problem> {
        let shown = self.path.display();
        let text = match folder::ask(running, &self.path, ANSWERS, |path| std::fs::metadata(path)).await {
            Ok(Ok(found)) if found.is_dir() => return None,
            Ok(Ok(_)) => format!("{shown} is not a folder"),
            Ok(Err(error)) => format!("{shown} cannot be used: {error}; create it (mkdir -p)"),
            Err(_) => {
                format!("{shown} does not answer; see whether the server that it is mounted from is up")
            }
        };
        Some(Problem { text, ..self.at.clone() })
    }
}

/// Returns the problems with folders that cannot be used, in the order of the file; all are checked at once.
///
/// A disk that is not mounted yet concerns that agent alone: it waits for a person, and the others work.
pub async fn unusable(folders: &[Folder]) -> Vec<Problem> {
    let running = Running::default();
    join_all(folders.iter().map(|folder| folder.look(&running))).await.into_iter().flatten().collect()
}
