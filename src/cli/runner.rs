//! `herder runner`: the process that runs agents, its state and its end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use tokio_util::sync::CancellationToken;

use super::cluster::{invite, join};
use super::{
    Global, Logs, MISCONFIGURED, NOT_RUNNING, close_to_agents, complain, failed, load, runtime, say,
};
use crate::cluster::folder::FOLDER;
use crate::cluster::runner_folder::{self, RunnerFolder};
use crate::config::{LocalRunner, Runners};
use crate::core::policy::Policy;
use crate::redact::Redactor;
use crate::runner::Setup;
use crate::runner::process::{self, AskError, Question};
use crate::runner::wire::{SessionStatus, Status};
use crate::runtime::ProcessTrees;
use crate::runtime::process::descent::{Reapers, Record};
use crate::runtime::process::look;
use crate::telemetry;

/// The commands of a runner.
#[derive(Debug, Subcommand)]
pub(super) enum Runner {
    /// Run agents until it is stopped
    Run {
        #[command(flatten)]
        logs: Logs,
        /// In a session of its own, as the bot starts it; the processes that may adopt the bot's orphans
        #[arg(long, hide = true)]
        detached: Option<Reapers>,
    },
    /// Print the line with which a machine joins as a runner of this bot; it is good once, for ten minutes
    Invite {
        /// Name of the runner, e.g. box4
        name: String,
    },
    /// Join the bot that has invited this machine
    Join {
        /// The word that begins with hrj_ in what `herder runner invite` has printed; -: it is read from standard input
        invitation: String,
    },
    /// Its sessions, without the bot
    Status,
    /// End its sessions, then itself; a bot on this machine starts another one
    Stop,
    /// End its sessions, then itself; the bot or the service starts it again, as the program that is installed now
    Restart {
        /// Wait until neither a session nor a job on a clone runs
        #[arg(long)]
        when_idle: bool,
    },
}

/// Performs a command of the runner.
pub(super) fn perform(global: &Global, command: Runner) -> ExitCode {
    match command {
        Runner::Run { logs, detached } => run(global, &logs, detached),
        Runner::Invite { name } => invite(global, &name),
        Runner::Join { invitation } => join(global, &invitation),
        Runner::Status => ask(global, Question::Status),
        Runner::Stop | Runner::Restart { when_idle: false } => ask(global, Question::Stop),
        Runner::Restart { when_idle: true } => ask(global, Question::StopWhenIdle),
    }
}

fn run(global: &Global, logs: &Logs, detached: Option<Reapers>) -> ExitCode {
    if detached.is_some()
        && let Err(error) = rustix::process::setsid()
    {
        return failed(format_args!("no session of its own: {error}"));
    }
    let given = match Given::of(global) {
        Ok(given) => given,
        Err(code) => return code,
    };
    if let Err(error) = telemetry::start(logs.log_format, given.redactor.clone()) {
        complain(format_args!("herder: {error}"));
        return ExitCode::from(MISCONFIGURED);
    }
    close_to_agents();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format_args!("threads cannot be started: {error}")),
    };
    let ended = runtime.block_on(async {
        let shutdown = CancellationToken::new();
        // Only a bot starts a detached one; whoever follows it as parent is another.
        let parent = detached.as_ref().and_then(|_| rustix::process::getppid());
        let parent = parent.and_then(|pid| look(pid.as_raw_nonzero().get().unsigned_abs()));
        let parent = parent.map(|entry| entry.identity).filter(|parent| parent.pid != 1);
        // A process that adopts cannot see any more who would.
        let record =
            tokio::task::spawn_blocking(move || Record::below(detached.as_ref())).await.unwrap_or_default();
        let trees = ProcessTrees::new().map_err(process::StartError::System)?;
        let [mut terminate, mut interrupt, _] = super::signals().map_err(process::StartError::System)?;
        let Given { data_dir, redactor, withheld, has_tools, clocks, joined } = given;
        let setup = Setup { data_dir, trees, redactor, withheld, tools: None };
        let running = process::run(setup, (record, has_tools, parent), clocks, joined, shutdown.clone());
        tokio::pin!(running);
        tokio::select! {
            ended = &mut running => return ended,
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        shutdown.cancel();
        running.await
    });
    runtime.shutdown_timeout(super::LAST_WAIT);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

/// The settings of a runner.
struct Given {
    data_dir: PathBuf,
    redactor: Redactor,
    withheld: BTreeSet<String>,
    has_tools: bool,
    /// Time between SIGTERM and SIGKILL, and time without a bot after which all sessions are stopped.
    clocks: (Duration, Duration),
    /// The bot of another machine; `None` if it is on this one.
    joined: Option<RunnerFolder>,
}

impl Given {
    /// Returns the settings: those of the configuration file, without which a machine that has joined a bot does.
    fn of(global: &Global) -> Result<Self, ExitCode> {
        let folder = global.data_dir().join(FOLDER);
        let joined = runner_folder::is_there(&folder)
            .then(|| runner_folder::open_runner(&folder))
            .transpose()
            .map_err(|error| {
                complain(format_args!("herder: {error}"));
                ExitCode::from(MISCONFIGURED)
            })?;
        if joined.is_some() && !global.config.exists() {
            return Ok(Self {
                data_dir: global.data_dir(),
                redactor: Redactor::default(),
                withheld: BTreeSet::new(),
                has_tools: true,
                clocks: (Policy::default().stop_grace, Runners::default().unattended),
                joined,
            });
        }
        let config = load(global)?;
        if joined.is_none() && config.runners.local == LocalRunner::Embedded {
            complain(
                "herder: agents run in the bot's own process and not here; set local = \"process\" under [runners] to run them \
                 here, or join a bot of another machine (herder runner join)",
            );
            return Err(ExitCode::from(MISCONFIGURED));
        }
        Ok(Self {
            data_dir: config.data_dir.clone(),
            redactor: config.redactor.clone(),
            withheld: config.secret_variables.clone(),
            has_tools: config.tools.enabled,
            clocks: (config.policy.stop_grace, config.runners.unattended),
            joined,
        })
    }
}

fn ask(global: &Global, question: Question) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format_args!("threads cannot be started: {error}")),
    };
    match runtime.block_on(process::ask(&global.data_dir(), question)) {
        Ok(status) => {
            lines(&status).iter().for_each(say);
            ExitCode::SUCCESS
        }
        Err(error @ AskError::NotRunning(_)) => {
            complain(format_args!("herder: {error}"));
            ExitCode::from(NOT_RUNNING)
        }
        Err(error) => failed(error),
    }
}

/// Returns a runner's state, as people read it.
fn lines(status: &Status) -> Vec<String> {
    let bot = if status.attended { "a bot is connected" } else { "no bot is connected" };
    let head = format!("runner {}, process {}: {bot}", status.incarnation, status.pid);
    let session = |SessionStatus { of, over, kept, live }: &SessionStatus| {
        let doing = match &live.tool {
            _ if *over => "ended".to_owned(),
            Some(tool) => format!("in {tool}"),
            None => "at work".to_owned(),
        };
        format!("{} #{}: {doing}, {} turns, {kept} reports not heard", of.agent, of.session, live.turns)
    };
    let jobs = match status.jobs {
        0 => None,
        1 => Some("one job on a clone: git, a check or a merge".to_owned()),
        jobs => Some(format!("{jobs} jobs on clones: git, checks or merges")),
    };
    [head].into_iter().chain(status.sessions.iter().map(session)).chain(jobs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::{AgentName, SessionId};
    use crate::runner::wire::SessionKey;
    use crate::runtime::Live;

    #[test]
    fn a_runner_is_described_by_its_bot_and_its_sessions() {
        let session = |name: &str, over, tool: Option<&str>| SessionStatus {
            of: SessionKey { agent: AgentName::new(name).expect("a good name"), session: SessionId(7) },
            over,
            kept: 2,
            live: Live { tool: tool.map(str::to_owned), turns: 3, ..Live::default() },
        };
        let status = Status {
            pid: 4711,
            incarnation: "fedcba9876543210".to_owned(),
            journal: None,
            attended: true,
            sessions: vec![
                session("ember", true, None),
                session("flint", false, Some("Bash")),
                session("spark", false, None),
            ],
            jobs: 2,
        };
        insta::assert_snapshot!(lines(&status).join("\n"), @r"
        runner fedcba9876543210, process 4711: a bot is connected
        ember #7: ended, 3 turns, 2 reports not heard
        flint #7: in Bash, 3 turns, 2 reports not heard
        spark #7: at work, 3 turns, 2 reports not heard
        2 jobs on clones: git, checks or merges
        ");
    }
}
