//! From an [`Invocation`] to a running child.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::{Owned, ProcessTrees};
use crate::core::detail::{Detail, Own};
use crate::runtime::protocol::Invocation;

/// Looked through when the child has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts `invocation` in `workspace`.
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
