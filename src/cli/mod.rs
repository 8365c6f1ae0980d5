//! The command line of `herder`, and its exit codes.
//!
//! Only this module and `console` print. Everything is written with [`say`], because a reader that
//! went away (`herder status | head`) is no failure.

mod check;
mod cluster;
mod contained;
mod init;
mod manual;
mod runner;
mod shell;
mod transfer;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::{self, Config};
use crate::demo;
use crate::redact::Redactor;
use crate::reload::Source;
use crate::run::{self, Ended};
use crate::telemetry::{self, LogFormat};

/// Exit code: the command failed.
const FAILED: u8 = 1;

/// Exit code: the command was carried out, but its result is incomplete, e.g. an export that lacks events.
const LACKING: u8 = 3;

/// Exit code: herder is not running (`EX_UNAVAILABLE`).
const NOT_RUNNING: u8 = 69;

/// Exit code: the configuration is invalid (`EX_CONFIG`).
const MISCONFIGURED: u8 = 78;

/// Exit code if the log that the bots share and this machine's journal contradict one another (`EX_IOERR`).
const CONTRADICTED: u8 = 74;

/// Exit code if another bot has come into office (`EX_TEMPFAIL`).
const DEPOSED: u8 = 75;

/// Number of tokio's worker threads. Blocking work (sled, the disk, waiting for children) has threads of its own; a
/// single worker would let a burst of agents' output delay a reply in chat.
const WORKERS: usize = 2;

/// Maximum number of threads for blocking calls: reads of the journal and spawning of children, which come in bursts
/// at a start. Idle ones end by themselves.
const BLOCKING_THREADS: usize = 16;

/// A chat bot that runs AI coding agents and keeps them honest.
#[derive(Debug, Parser)]
#[command(name = "herder", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Own,
}

const AFTER_HELP: &str = "The commands from agent on are the ones of the chat; they ask the herder that runs on the same data.\n\
    To see it at work: herder demo\n\
    Exit codes: 0 done, 1 it did not work, 2 wrong usage, 3 done but something is lacking, 69 herder is not running, 78 the configuration is wrong.";

#[derive(Debug, Args)]
struct Global {
    /// The configuration file
    #[arg(long, global = true, value_name = "FILE", default_value = config::FILE)]
    config: PathBuf,
    /// The data folder, instead of the one the configuration names
    #[arg(long, global = true, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Logs {
    /// How log lines look: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    log_format: LogFormat,
}

impl Global {
    /// Returns the source of the configuration.
    fn source(&self) -> Source {
        Source { file: self.config.clone(), data_dir: self.data_dir.clone() }
    }

    /// Returns the data folder, for commands that need nothing else of the configuration.
    fn data_dir(&self) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| config::data_dir(&self.config))
    }
}

/// Services that `herder init --service` prints.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Service {
    Bot,
    Runner,
}

/// herder's own commands. The chat commands are added from their table, see [`shell`].
#[derive(Debug, Subcommand)]
enum Own {
    /// Run the bot
    Run {
        #[command(flatten)]
        logs: Logs,
    },
    /// Check the configuration, then servers, programs and folders; reports everything at once
    Check {
        /// Connect to no server
        #[arg(long)]
        offline: bool,
        /// Send a test event to every webhook
        #[arg(long, conflicts_with = "offline")]
        webhooks: bool,
    },
    /// Ask a few questions and write the configuration file
    Init {
        /// Print a systemd service that keeps agents contained instead, and ask nothing: the bot's, or the one that runs
        /// its agents beside it
        #[arg(long, value_name = "SERVICE", num_args = 0..=1, default_missing_value = "bot")]
        service: Option<Service>,
    },
    /// See it at work: a server, a console and agents, without configuration and account
    Demo {
        /// The port of the IRC server on loopback
        #[arg(long, default_value_t = 6667)]
        port: u16,
        /// No script types for a minute at the start
        #[arg(long)]
        no_tour: bool,
        #[command(flatten)]
        logs: Logs,
    },
    /// Write everything herder knows as JSON lines
    Export {
        /// The file to write; without it: standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Bring out what can be read of a database that is refused
        #[arg(long)]
        salvage: bool,
    },
    /// Restore an export into an empty data folder
    Import {
        /// The export
        file: PathBuf,
    },
    /// Print what a shell needs to complete herder's commands
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Manual {
        /// The folder
        folder: PathBuf,
    },
    /// The server that leads to runners on other machines
    Cluster {
        #[command(subcommand)]
        command: cluster::Cluster,
    },
    /// The process that runs agents, apart from the bot; on this machine or another one
    Runner {
        #[command(subcommand)]
        command: runner::Runner,
    },
    /// The tool server that agents' CLIs start
    #[command(hide = true)]
    Mcp,
    /// One of the demo's scripted agents
    #[command(hide = true)]
    DemoAgent {
        /// The script to play, and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        script: Vec<String>,
    },
}

/// Runs the command that the process was started for.
#[must_use]
pub fn main() -> ExitCode {
    // Several crates bring rustls; without this choice the first connection would panic.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let command = shell::add_to(Cli::command());
    let matches = command.get_matches();
    if let Some(typed) = shell::typed(&matches) {
        return match Global::from_arg_matches(&matches) {
            Ok(global) => shell::ask(&global, &typed),
            Err(error) => error.exit(),
        };
    }
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => perform(cli),
        Err(error) => error.exit(),
    }
}

fn perform(cli: Cli) -> ExitCode {
    let global = cli.global;
    match cli.command {
        Own::Run { logs } => run(&global, &logs),
        Own::Check { offline, webhooks } => check::check(&global, offline, webhooks),
        Own::Init { service: None } => init::init(&global.config),
        Own::Init { service: Some(service) } => init::service(service),
        Own::Demo { port, no_tour, logs } => demo(&global, port, !no_tour, &logs),
        Own::Export { output, salvage } => transfer::export(&global.data_dir(), output.as_deref(), salvage),
        Own::Import { file } => transfer::import(&file, &global.data_dir()),
        Own::Completions { shell } => completions(shell),
        Own::Manual { folder } => match manual::write(shell::add_to(Cli::command()), &folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(format_args!("{}: {error}", folder.display())),
        },
        Own::Cluster { command } => cluster::perform(&global, command),
        Own::Runner { command } => runner::perform(&global, command),
        Own::Mcp => mcp(),
        Own::DemoAgent { script } => demo_agent(&script),
    }
}

/// Prints a line to standard output, and ignores a reader that has gone away.
fn say(text: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a line about a problem to standard error.
fn complain(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn failed(what: impl Display) -> ExitCode {
    complain(format_args!("herder: {what}"));
    ExitCode::from(FAILED)
}

fn load(global: &Global) -> Result<Config, ExitCode> {
    global.source().load().map_err(|problems| {
        complain(&problems);
        ExitCode::from(MISCONFIGURED)
    })
}

/// Maximum delay of the exit by blocking threads (an export, a hanging name look-up) once everything else has ended.
const LAST_WAIT: Duration = Duration::from_millis(500);

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("herder")
        .enable_all()
        .build()
}

/// Prevents agents, which run as the same user, from reading herder's environment and memory through `/proc`, where
/// passwords may be. It is called before any agent is started.
fn close_to_agents() {
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "other processes of this user can read herder's environment and memory");
    }
}

fn run(global: &Global, logs: &Logs) -> ExitCode {
    let config = match load(global) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let file = global.config.display().to_string();
    if let Err(error) = telemetry::start(logs.log_format, config.redactor.clone()) {
        complain(format_args!("herder: {error}"));
        return ExitCode::from(MISCONFIGURED);
    }
    for warning in &config.warnings {
        tracing::warn!("{}", warning.sentence(&file));
    }
    let changeable = contained::writable(&global.config);
    if !config.agents.is_empty() && !changeable.is_empty() {
        tracing::warn!(
            files = changeable.join(", "),
            "agents that are in no sandbox may change these files, and so who commands; give them to root"
        );
    }
    let data_dir = global.data_dir.as_ref().unwrap_or(&config.data_dir);
    if let Some(exposed) = contained::exposed_data(data_dir, &config.agents) {
        tracing::warn!("{exposed}");
    }
    close_to_agents();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format_args!("threads cannot be started: {error}")),
    };
    let folders = config.folders.clone();
    let ended = runtime.block_on(async {
        #[expect(clippy::disallowed_methods, reason = "nobody waits for folders, which may never answer")]
        tokio::spawn(async move {
            for unusable in config::unusable(&folders).await {
                tracing::warn!("{}", unusable.sentence(&file));
            }
        });
        let (shutdown, reload) = (CancellationToken::new(), Arc::new(Notify::new()));
        let (signals, terminal) = (signals().map_err(|reason| (false, reason.to_string()))?, has_terminal());
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends with the runtime, which lives as long as what it ends"
        )]
        tokio::spawn(heed(signals, terminal, shutdown.clone(), Arc::clone(&reload)));
        let source = Some(global.source());
        let options = run::Options { welcome: Some(welcome), source, reload, ..run::Options::default() };
        Box::pin(run::run(config, options, shutdown)).await.map_err(|reason| {
            let contradicts = matches!(&reason, run::RunError::Office(reason) if reason.is_contradiction());
            (contradicts, reason.to_string())
        })
    });
    runtime.shutdown_timeout(LAST_WAIT);
    match ended {
        Ok(Ended { deposed: true, .. }) => {
            complain("herder: another bot is in office; started again, this one follows it");
            ExitCode::from(DEPOSED)
        }
        Ok(Ended { processes_left: 0, storage_failure: None, refused: None, .. }) => ExitCode::SUCCESS,
        Ok(Ended { storage_failure: None, refused: Some(reason), .. }) => {
            complain(format_args!("herder: {reason}"));
            ExitCode::from(MISCONFIGURED)
        }
        Ok(Ended { storage_failure: Some(reason), .. }) => {
            failed(format_args!("ended because the journal cannot be written: {reason}"))
        }
        Ok(Ended { processes_left, .. }) => {
            failed(format_args!("{processes_left} processes of agents could not be ended"))
        }
        Err((true, error)) => {
            complain(format_args!("herder: {error}"));
            ExitCode::from(CONTRADICTED)
        }
        Err((false, error)) => failed(error),
    }
}

/// Prints how to join the embedded IRC server, for a person who starts herder without a configured network.
fn welcome(how_to_join: &str) {
    say(format_args!("No network is configured; join herder's own IRC server:\n{how_to_join}"));
}

/// Installs listeners for SIGTERM, SIGINT and SIGHUP, in this order, before anything else is started.
fn signals() -> io::Result<[Signal; 3]> {
    Ok([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?])
}

/// Cancels `shutdown` at SIGTERM, SIGINT, or when the terminal is closed; a second signal changes nothing, because
/// the drain is bounded. Any other SIGHUP notifies `reload`.
async fn heed(
    [mut terminate, mut interrupt, mut hangup]: [Signal; 3],
    began_in_a_terminal: bool,
    shutdown: CancellationToken,
    reload: Arc<Notify>,
) {
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                if began_in_a_terminal && !has_terminal() {
                    break;
                }
                reload.notify_one();
            }
        }
    }
    shutdown.cancel();
}

/// Returns true if the process still has a controlling terminal. When a terminal is closed, the kernel detaches it
/// before it sends SIGHUP.
fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

fn demo(global: &Global, port: u16, tour: bool, logs: &Logs) -> ExitCode {
    // Logs would appear in the console; a person who wants them redirects them.
    if telemetry::asked_for()
        && let Err(error) = telemetry::start(logs.log_format, Redactor::new(&[]))
    {
        return failed(error);
    }
    close_to_agents();
    let options = demo::Options { port, data_dir: global.data_dir.clone(), tour };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format_args!("threads cannot be started: {error}")),
    };
    let ended = runtime.block_on(Box::pin(demo::run(options)));
    runtime.shutdown_timeout(LAST_WAIT);
    match ended {
        Ok(ended) if ended.processes_left == 0 && ended.storage_failure.is_none() => {
            say(demo::farewell(&ended));
            ExitCode::SUCCESS
        }
        Ok(ended) => failed(demo::farewell(&ended)),
        Err(error) => failed(error),
    }
}

fn demo_agent(script: &[String]) -> ExitCode {
    demo::agent::run(script)
}

fn mcp() -> ExitCode {
    match crate::tools::stdio::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shell::add_to(Cli::command()), "herder", &mut script);
    let _ = io::stdout().lock().write_all(&script);
    ExitCode::SUCCESS
}
