//! `context.md` in the workspace: written and removed in the background, in order.
//!
//! The workspace belongs to the agent, and its contents are hostile: symlinks in it are not followed out of the
//! folder.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use rustix::fs::{Mode, open, openat, renameat};
use rustix::io::Errno;

use crate::core::context::{FILE, FOLDER};
use crate::core::detail::Detail;
use crate::core::id::{AgentName, WorkId};

use super::folder;
use super::inside::{BELOW, DIRECTORY, fresh, own_folder, removed};

/// Name of `context.md` while it is written. It replaces the old file by a rename, so that a reader never sees a part.
const NEW: &str = ".context.md.new";

/// A change of `context.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    /// The agent.
    pub(crate) agent: AgentName,
    /// The folder that the agent works in.
    pub(crate) workspace: PathBuf,
    /// The task whose clone that is; `None` if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<WorkId>,
    /// The text; `None` to remove the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// Writes `context.md` with this text, or removes it. There is no time limit, because an older write must not overwrite
/// a later one.
///
/// # Errors
/// It is not as it should be.
pub(crate) async fn keep(Context { agent, workspace, text, .. }: Context) -> Result<(), Detail> {
    let keep = move |workspace: &Path| match text {
        Some(text) => write(workspace, &agent, &text),
        None => remove(workspace, &agent),
    };
    let kept = folder::ask_without_limit(&workspace, keep).await?;
    kept.map_err(|reason| Detail::from(reason.to_string()))
}

/// Writes `context.md` of an agent in its workspace, in place of the old one.
///
/// # Errors
/// If the folders cannot be created, are no folders, or cannot be written to.
fn write(workspace: &Path, agent: &AgentName, text: &str) -> io::Result<()> {
    let own = own_folder(workspace, agent)?;
    // A killed herder may have left one.
    removed(&own, NEW)?;
    File::from(fresh(&own, NEW)?).write_all(text.as_bytes())?;
    Ok(renameat(&own, NEW, &own, FILE)?)
}

/// Removes `context.md` of an agent from its workspace, if it exists.
///
/// # Errors
/// If it exists and cannot be removed.
fn remove(workspace: &Path, agent: &AgentName) -> io::Result<()> {
    let folder = open(workspace, DIRECTORY, Mode::empty())
        .and_then(|workspace| openat(workspace, FOLDER, BELOW, Mode::empty()))
        .and_then(|all| openat(all, agent.as_str(), BELOW, Mode::empty()));
    match folder {
        Ok(own) => removed(&own, FILE),
        Err(Errno::NOENT) => Ok(()),
        Err(reason) => Err(reason.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    #[test]
    fn it_is_replaced_and_taken_away_and_kept_out_of_commits() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = dir.path().join(".herder/spark/context.md");
        remove(dir.path(), &spark()).expect("nothing to take away");
        assert!(!dir.path().join(".herder").exists(), "nothing is made for that");
        for text in ["one", "two"] {
            write(dir.path(), &spark(), text).expect("a folder that can be written to");
            assert_eq!(std::fs::read_to_string(&place).expect("it is there"), text);
        }
        let ignored = std::fs::read_to_string(dir.path().join(".herder/.gitignore")).expect("it is there");
        assert_eq!(ignored, "*\n");
        let left: Vec<_> = std::fs::read_dir(place.parent().expect("a folder")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        remove(dir.path(), &spark()).expect("it can be taken away");
        assert!(!place.exists());
    }

    #[test]
    fn no_link_leads_out_of_the_workspace() {
        let (dir, elsewhere) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let untouched = || {
            let precious = std::fs::read_to_string(elsewhere.path().join("precious")).expect("it is there");
            let files = std::fs::read_dir(elsewhere.path()).expect("a folder").count();
            assert_eq!((precious.as_str(), files), ("mine", 1));
        };
        std::fs::write(elsewhere.path().join("precious"), "mine").expect("a file");
        // In turn: the folder, the agent's own folder, the file, and its replacement.
        symlink(elsewhere.path(), dir.path().join(".herder")).expect("a link");
        write(dir.path(), &spark(), "text").expect_err("a link is no folder");
        remove(dir.path(), &spark()).expect_err("a link is no folder");
        untouched();
        std::fs::remove_file(dir.path().join(".herder")).expect("a link");
        std::fs::create_dir(dir.path().join(".herder")).expect("a folder");
        symlink(elsewhere.path(), dir.path().join(".herder/spark")).expect("a link");
        write(dir.path(), &spark(), "text").expect_err("a link is no folder");
        untouched();
        std::fs::remove_file(dir.path().join(".herder/spark")).expect("a link");
        std::fs::create_dir(dir.path().join(".herder/spark")).expect("a folder");
        for name in [FILE, NEW] {
            symlink(elsewhere.path().join("precious"), dir.path().join(".herder/spark").join(name))
                .expect("a link");
        }
        write(dir.path(), &spark(), "text").expect("links are replaced");
        untouched();
        let place = dir.path().join(".herder/spark/context.md");
        assert!(!place.is_symlink());
        assert_eq!(std::fs::read_to_string(place).expect("it is there"), "text");
    }
}
