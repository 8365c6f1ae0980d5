//! The runner beside the bot: it is started, kept up and connected to; or ended, if agents run in the bot again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{Options, RunError};
use crate::config::{Config, LocalRunner};
use crate::core::notice::Notice;
use crate::journal::{Journal, Memo};
use crate::runner::link::{Bot, Link, LinkState};
use crate::runner::prefix;
use crate::runner::process::{self, JOURNAL, SOCKET};
use crate::runtime::ProcessTrees;
use crate::runtime::process::descent::Reapers;
use crate::supervisor::Fleet;

/// Key of the memo with the bot's term of office.
const EPOCH: &str = "runner/epoch";

/// Name of the runner's log in the data folder, if the bot has started it.
const LOG: &str = "runner.log";

/// Size of that log from which on the next runner begins a new one and keeps the old one, in bytes.
const LOG_MAX: u64 = 10 * 1024 * 1024;

/// First and longest wait before a runner that has ended is started again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Time for which a runner lives that was started well.
const WELL: Duration = Duration::from_secs(5);

/// Time between two looks for a runner that does not answer.
const LOOK: Duration = Duration::from_millis(500);

/// Maximum time for the runner of an earlier configuration to end, with its sessions.
const RETIRED_WITHIN: Duration = Duration::from_secs(60);

/// Time after which people are told that the runner is away.
pub(super) const AWAY: Duration = Duration::from_secs(30);

/// The runner of this bot.
pub(super) struct Runner {
    pub(super) link: Link,
    keeper: Keeper,
}

/// The part that starts the runner.
struct Keeper {
    link: Link,
    trees: ProcessTrees,
    data_dir: PathBuf,
    /// Program and arguments; `None` if the service manager starts it.
    command: Option<(PathBuf, Vec<std::ffi::OsString>)>,
}

/// Prepares the connection to the runner, if agents run in one. Otherwise ends a runner that an earlier configuration
/// has started.
pub(super) async fn open(
    config: &Config,
    options: &Options,
    (journal, bot): (&Journal, &Bot),
    (trees, reapers): (&ProcessTrees, Option<Reapers>),
) -> Result<Option<Runner>, RunError> {
    if config.runners.local == LocalRunner::Embedded {
        retire(config, journal, trees).await?;
        return Ok(None);
    }
    let link = Link::to(config.data_dir.join(SOCKET), bot.clone());
    let command = match &options.source {
        Some(source) if !is_service() => {
            let program = options.program.clone().map_or_else(std::env::current_exe, Ok);
            let mut args: Vec<std::ffi::OsString> = vec!["runner".into(), "run".into(), "--detached".into()];
            args.push(reapers.unwrap_or_default().to_string().into());
            args.extend(["--config".into(), source.file.clone().into()]);
            args.extend(["--data-dir".into(), config.data_dir.clone().into()]);
            Some((program.map_err(RunError::Runner)?, args))
        }
        Some(_) | None => None,
    };
    let keeper =
        Keeper { link: link.clone(), trees: trees.clone(), data_dir: config.data_dir.clone(), command };
    Ok(Some(Runner { link, keeper }))
}

/// Returns the identity of this bot. Its term of office is on disk, and higher than that of every bot before; it is 0
/// without a runner that could know of one.
pub(super) async fn bot(config: &Config, journal: &Journal) -> Result<Bot, RunError> {
    let runners = &config.runners;
    let has_runners = runners.local != LocalRunner::Embedded || !runners.servers.is_empty();
    let epoch = if has_runners { next_epoch(journal).await? } else { 0 };
    Ok(Bot { journal: journal.id().to_owned(), epoch })
}

async fn next_epoch(journal: &Journal) -> Result<u64, RunError> {
    let memos = journal.memos(EPOCH)?;
    let last =
        memos.into_iter().find(|(key, _)| key == EPOCH).and_then(|(_, epoch)| epoch.parse::<u64>().ok());
    let epoch = last.unwrap_or_default() + 1;
    journal.remember(vec![Memo { key: EPOCH.to_owned(), value: Some(epoch.to_string()) }]).await?;
    Ok(epoch)
}

/// Returns true if a service manager has started this process: the runner is a service beside it then.
fn is_service() -> bool {
    let own = std::process::id().to_string();
    std::env::var_os("SYSTEMD_EXEC_PID").is_some_and(|pid| pid == own.as_str())
}

/// Ends the runner of an earlier configuration, and what a killed one has left.
async fn retire(config: &Config, journal: &Journal, trees: &ProcessTrees) -> Result<(), RunError> {
    if !config.data_dir.join(JOURNAL).exists() {
        return Ok(());
    }
    let gone = async {
        while process::is_there(&config.data_dir) {
            match process::ask(&config.data_dir, process::Question::Stop).await {
                Ok(status) => {
                    let sessions = status.sessions.len();
                    info!(sessions, "the runner is told to end: agents run in this process again");
                }
                // It may be starting.
                Err(reason) => warn!(%reason, "the runner is not told to end yet"),
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(RETIRED_WITHIN, gone).await.is_err() {
        return Err(RunError::RunnerStays);
    }
    let left = trees.end_marked(&prefix(journal.id(), None), config.policy.stop_grace).await;
    if left.is_empty() { Ok(()) } else { Err(RunError::RunnerLeft(left)) }
}

impl Runner {
    /// Returns the task that keeps the runner up.
    pub(super) async fn keep(self, token: CancellationToken) {
        token.run_until_cancelled(self.keeper.keep()).await;
    }
}

impl Keeper {
    async fn keep(self) {
        let (mut state, mut wait) = (self.link.state(), AGAIN.0);
        loop {
            if state.wait_for(|state| matches!(state, LinkState::Away)).await.is_err() {
                return;
            }
            let Some((program, args)) = self.command.as_ref().filter(|_| !process::is_there(&self.data_dir))
            else {
                tokio::time::sleep(LOOK).await;
                continue;
            };
            let begun = Instant::now();
            match self.start(program, args) {
                Ok(mut child) => {
                    info!(pid = child.identity.pid, "the runner is started");
                    match child.wait().await {
                        Ok(status) => warn!(%status, log = LOG, "the runner has ended"),
                        Err(reason) => warn!(%reason, "the runner's end is not known"),
                    }
                }
                Err(reason) => error!(%reason, program = %program.display(), "the runner cannot be started"),
            }
            wait = if begun.elapsed() < WELL { (wait * 2).min(AGAIN.1) } else { AGAIN.0 };
            tokio::time::sleep(wait).await;
        }
    }

    fn start(
        &self,
        program: &Path,
        args: &[std::ffi::OsString],
    ) -> io::Result<crate::runtime::process::Owned> {
        let log = log(&self.data_dir)?;
        let mut command = Command::new(program);
        command.args(args).env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.trees.spawn_apart(&mut command)
    }
}

/// Opens the runner's log. One that is long is set aside.
fn log(data_dir: &Path) -> io::Result<File> {
    let path = data_dir.join(LOG);
    if std::fs::metadata(&path).is_ok_and(|log| log.len() > LOG_MAX) {
        std::fs::rename(&path, data_dir.join("runner.log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Tells people of a runner that is away for long, and when it is back.
pub(super) async fn tell(link: Link, fleet: Fleet) {
    let mut state = link.state();
    let is_up = |state: &LinkState| matches!(state, LinkState::Connected(_));
    loop {
        if state.wait_for(|state| !is_up(state)).await.is_err() {
            return;
        }
        let since = Instant::now();
        if tokio::time::timeout(AWAY, state.wait_for(is_up)).await.is_ok() {
            continue;
        }
        fleet.alert(Notice::RunnerAway).await;
        if state.wait_for(is_up).await.is_err() {
            return;
        }
        fleet.alert(Notice::RunnerBack { away: since.elapsed() }).await;
    }
}
