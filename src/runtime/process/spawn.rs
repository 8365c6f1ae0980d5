//! Starts an [`Invocation`] as a child process.
//!
//! A start blocks until the kernel has read the program and entered the folder; on a network mount whose server is
//! gone, it blocks forever. So it runs on a thread for this purpose alone ([`begin`]) instead of the runtime's own.
//!
//! A program that would start to work whatever its input is, or without any, is not started at once: a shell waits in
//! its place until it is told to become the program. So a herder that is killed in between leaves nothing that works.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::process::Command;
use tokio::runtime::Handle;

use super::{Owned, ProcessTrees, Tree, starters};
use crate::core::detail::{Detail, Own};
use crate::runtime::protocol::Invocation;
use crate::runtime::text::Tail;

/// Search path for the program if the child's environment has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Maximum wait for a start that is being stopped, so that its outcome is known. A start takes milliseconds, unless it
/// hangs.
pub(crate) const STOPPED_START: Duration = Duration::from_secs(2);

/// Maximum number of hanging starts per folder that herder no longer waits for; with that many, no further one is
/// begun.
const HANGING_MAX: usize = 4;

/// Starts that still run and that herder no longer waits for, each with its folder.
static GIVEN_UP: Mutex<Vec<(PathBuf, Weak<()>)>> = Mutex::new(Vec::new());

/// The result of a start on another thread. If it is dropped with the child still in it, the child is ended.
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
            // The child is gone; this only reaps it.
            let _ = owned.wait().await;
        });
    }
}

/// Calls `make` to start a process with `marker` in `workspace`, on one of the [`starters`], and waits for at most
/// `patience`. A process that starts later, or after the future was dropped, is ended at once.
///
/// # Errors
/// The part that is missing, or a timeout if any of the disks does not respond.
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
        // If the receiver is gone, the value is dropped, which ends its child.
        begun
    });
    let begun = trees.running().within(patience, starting).await.ok_or_else(silent)?;
    let mut begun = begun.map_err(|reason| Own::DriverFailed.with(reason.to_string()))?;
    drop(hangs);
    begun.came_to.take().unwrap_or_else(|| Err(Own::DriverFailed.into()))
}

/// Runs `work` on one of the [`starters`], and waits for at most `patience`; `None` if that is not enough.
pub(crate) async fn aside<T: Send + 'static>(
    trees: &ProcessTrees,
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    trees.running().within(patience, starters::run(work)).await?.ok()
}

/// Guard of a start: if it is dropped while the start still runs, the start is added to [`GIVEN_UP`].
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

/// Path of the shell that waits in the program's place until the process is recorded. It exists wherever agents run,
/// and reads no byte beyond its line.
const SHELL: &str = "/bin/sh";

/// Name by which the shell calls itself in its messages.
const SHELL_NAME: &str = "herder";

/// Returns the shell script that becomes the program once it reads the line [`GO`](crate::runtime::protocol::GO), and
/// exits on any other input. It leaves nothing of its own in the environment.
fn waiting(environment: &BTreeMap<String, String>) -> String {
    let own = ["PWD", "OLDPWD"].into_iter().filter(|name| !environment.contains_key(*name));
    let own: String = own.map(|name| format!(" {name}")).collect();
    format!("IFS= read -r herder_go && [ \"$herder_go\" = go ] || exit 0; unset herder_go{own}; exec \"$@\"")
}

/// Returns the shell's message if it could not start the program, by its exit code; `None` if the exit has another
/// cause.
pub(in crate::runtime) fn not_started(code: i32, stderr: &Tail) -> Option<String> {
    let said = stderr.last().filter(|_| matches!(code, 126 | 127))?;
    said.strip_prefix(SHELL_NAME)?.strip_prefix(": ").map(str::to_owned)
}

/// Starts the program of `invocation` in `workspace`. Blocks, see [`begin`].
///
/// # Errors
/// The part that is missing.
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
    let not_started = |program: &Path, error: &std::io::Error| {
        Own::NotStarted { program: program.display().to_string() }.with(error.to_string())
    };
    let mut command = if invocation.waits {
        // Known before it is the shell's to say.
        rustix::fs::access(&program, rustix::fs::Access::EXEC_OK)
            .map_err(|error| not_started(&program, &error.into()))?;
        // A program on a file system that does not answer hangs here, where it is noticed, and not in the shell. One that
        // can only be executed is not read.
        if let Ok(mut file) = std::fs::File::open(&program) {
            let _ = file.read(&mut [0]);
        }
        let mut shell = Command::new(SHELL);
        shell.args(["-c", &waiting(&invocation.environment), SHELL_NAME]).arg(&program);
        shell
    } else {
        Command::new(&program)
    };
    command
        .args(&invocation.arguments)
        .env_clear()
        .envs(&invocation.environment)
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    trees.spawn(&mut command, marker).map_err(|error| {
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::TOOBIG) => {
                Own::ArgumentsTooLong { program: program.display().to_string() }.into()
            }
            Some(rustix::io::Errno::NOENT) if invocation.waits => not_started(Path::new(SHELL), &error),
            _ => not_started(&program, &error),
        }
    })
}

/// Returns the path of the program. The search is done here because the standard library does not use its fast way to
/// start a child if the child's `PATH` differs from its own.
///
/// # Errors
/// The part that is missing.
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
