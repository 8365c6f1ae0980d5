//! From an [`Invocation`] to a running child.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::{Owned, ProcessTrees};
use crate::runtime::protocol::Invocation;

/// Looked through when the child has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts `invocation` in `workspace`.
///
/// # Errors
/// A sentence that says what is missing.
pub(in crate::runtime) fn spawn(
    trees: &ProcessTrees,
    invocation: &Invocation,
    workspace: &Path,
    marker: &str,
) -> Result<Owned, String> {
    if !workspace.is_dir() {
        return Err(format!("the workspace {} is not there: create it or change it", workspace.display()));
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
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::TOOBIG) => {
                format!(
                    "{} cannot be started: its arguments are too long; use prompt = \"stdin\"",
                    program.display()
                )
            }
            _ => format!("{} cannot be started: {error}", program.display()),
        }
    })
}

/// The program's place. It is looked up here and not by the standard library, which gives up its fast way to start a child
/// when the child's `PATH` differs from its own.
fn locate(invocation: &Invocation, workspace: &Path) -> Result<PathBuf, String> {
    let program = invocation.program.as_str();
    if program.is_empty() {
        return Err("the command's first word is empty: name a program".to_owned());
    }
    if program.contains('/') {
        let path = workspace.join(program);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!("there is no program {}", path.display()))
        };
    }
    let path = invocation.environment.get("PATH").map_or(PATH_DEFAULT, String::as_str);
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(|| format!("{program} is not installed: no such program in {path}"))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
