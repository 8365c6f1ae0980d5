//! From an [`Invocation`] to a running child.
//!
//! Whoever starts a process waits until the kernel has read its program, in a folder that it can enter; on a network mount
//! whose server is gone that is for ever. So each is started by a thread that is there for that alone ([`begin`]), and not by
//! one of those that everything else is done by.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::process::Command;
use tokio::runtime::Handle;

use super::{Owned, ProcessTrees, Tree, starters};
use crate::core::detail::{Detail, Own};
use crate::runtime::protocol::Invocation;

/// Looked through when the child has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// How long a start that is to be stopped is waited for, so that whoever stops it knows what has become of it. It takes
/// milliseconds, unless it hangs.
pub(crate) const STOPPED_START: Duration = Duration::from_secs(2);

/// Starts that were given up and hang still, in one folder: whoever tries again adds no more.
const HANGING_MAX: usize = 4;

/// Starts that were given up, with their folders, until they are over.
static GIVEN_UP: Mutex<Vec<(PathBuf, Weak<()>)>> = Mutex::new(Vec::new());

/// What a start came to. A child that nobody takes any more is ended.
struct Begun<T> {
    came_to: Option<Result<(Owned, T), Detail>>,
    trees: ProcessTrees,
    tree: Tree,
    runtime: Handle,
}

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        let Some(Ok((mut owned, _))) = self.came_to.take() else { return };
        let (trees, tree) = (self.trees.clone(), Tree { root: Some(owned.identity), ..self.tree.clone() });
        self.runtime.spawn(async move {
            trees.end(&tree, Duration::ZERO).await;
            // It is gone: this only takes note of it.
            let _ = owned.wait().await;
        });
    }
}

/// Has `make` start a process whose marker is `marker` in `workspace`, on one of the [`starters`], and waits for that no longer
/// than `patience`. What is started later than that, or when the future was dropped, is ended at once.
///
/// # Errors
/// What is missing; or it has not begun in time, whichever of the disks it is that does not answer.
pub(crate) async fn begin<T: Send + 'static>(
    trees: &ProcessTrees,
    workspace: &Path,
    marker: &str,
    patience: Duration,
    make: impl FnOnce(&ProcessTrees, &Path) -> Result<(Owned, T), Detail> + Send + 'static,
) -> Result<(Owned, T), Detail> {
    let silent = || Own::StartSilent { path: workspace.display().to_string() };
    let token = Arc::new(());
    {
        let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.retain(|(_, token)| token.strong_count() > 0);
        if given_up.iter().filter(|(folder, _)| folder == workspace).count() >= HANGING_MAX {
            return Err(silent().into());
        }
    }
    let hangs = GivenUp { folder: workspace.to_owned(), token: Arc::downgrade(&token) };
    let tree = Tree { root: None, marker: marker.to_owned(), workspace: workspace.to_owned() };
    let mut begun = Begun { came_to: None, trees: trees.clone(), tree, runtime: Handle::current() };
    let starting = starters::run(move || {
        let runtime = begun.runtime.clone();
        let _inside = runtime.enter();
        begun.came_to = Some(make(&begun.trees, &begun.tree.workspace));
        drop(token);
        // Where nobody waits for it any more, what it holds is ended.
        begun
    });
    let begun = trees.running().within(patience, starting).await.ok_or_else(silent)?;
    let mut begun = begun.map_err(|reason| Own::DriverFailed.with(reason.to_string()))?;
    drop(hangs);
    begun.came_to.take().unwrap_or_else(|| Err(Own::DriverFailed.into()))
}

/// Notes, when it is dropped, a start that goes on.
struct GivenUp {
    folder: PathBuf,
    token: Weak<()>,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        if self.token.strong_count() > 0 {
            let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
            given_up.push((std::mem::take(&mut self.folder), std::mem::take(&mut self.token)));
        }
    }
}

/// Starts `invocation` in `workspace`; blocks, see [`begin`].
///
/// # Errors
/// What is missing.
pub(crate) fn spawn(
    trees: &ProcessTrees,
    invocation: &Invocation,
    workspace: &Path,
    marker: &str,
) -> Result<Owned, Detail> {
    if !workspace.is_dir() {
        return Err(Own::WorkspaceMissing { path: workspace.display().to_string() }.into());
    }
    let program = locate(invocation, workspace)?;
    let mut command = Command::new(&program);
    command
        .args(&invocation.arguments)
        .env_clear()
        .envs(&invocation.environment)
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    trees.spawn(&mut command, marker).map_err(|error| {
        let program = program.display().to_string();
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::TOOBIG) => Own::ArgumentsTooLong { program }.into(),
            _ => Own::NotStarted { program }.with(error.to_string()),
        }
    })
}

/// The program's place. It is looked up here and not by the standard library, which gives up its fast way to start a child
/// when the child's `PATH` differs from its own.
///
/// # Errors
/// What is missing.
pub(crate) fn locate(invocation: &Invocation, workspace: &Path) -> Result<PathBuf, Own> {
    let program = invocation.program.as_str();
    if program.is_empty() {
        return Err(Own::EmptyCommand);
    }
    if program.contains('/') {
        let path = workspace.join(program);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(Own::ProgramMissing { path: path.display().to_string() })
        };
    }
    let path = invocation.environment.get("PATH").map_or(PATH_DEFAULT, String::as_str);
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| Own::NotInstalled { program: program.to_owned(), path: path.to_owned() })
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
