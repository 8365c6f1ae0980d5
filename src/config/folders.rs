//! Whether the agents' folders are there: the one thing about a file that is asked outside of it, and so only where nobody
//! waits for the answer. A network mount whose server is gone answers nothing.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;

use super::problems::Problem;
use crate::runtime::folder;

/// What all of them together get to answer.
const ANSWERS: Duration = Duration::from_secs(6);

/// A folder that the file names for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// Where it is written, for what there may be to say about it.
    pub(super) at: Problem,
}

impl Folder {
    /// What is wrong with it, if anything.
    async fn look(&self) -> Option<Problem> {
        let shown = self.path.display();
        let text = match folder::ask(&self.path, ANSWERS, |path| std::fs::metadata(path)).await {
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

/// What is wrong with those that cannot be worked in, in the order of the file; all are asked at once.
///
/// A disk that is not mounted yet is that agent's trouble alone: it waits for a person then, and the others work.
pub async fn unusable(folders: &[Folder]) -> Vec<Problem> {
    join_all(folders.iter().map(Folder::look)).await.into_iter().flatten().collect()
}
