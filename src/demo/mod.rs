//! `herder demo`: needs no configuration and no account.
//!
//! It runs an embedded IRC server on loopback, a console in the terminal that is a client of it, and scripted
//! agents ([`agent`]) as real child processes through the real supervisor, journal, outbox and IRC adapter: only the
//! models are simulated. [`scene`] defines the demo's configuration, [`tour`] types for a minute.
//!
//! Its data is in a temporary [`folder`] that is removed at the end, unless a folder is named.

mod act;
pub mod agent;
mod folder;
mod forks;
mod repository;
mod scene;
mod tour;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::io::AsyncWriteExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::chat::console::{self, Keyboard, Style};
use crate::chat::embedded_ircd::home::{Home, HomeError, OWNER};
use crate::core::link::LinkState;
use crate::run::{self, Ended, Herder, RunError};
use crate::supervisor::Fleet;

use folder::Folder;

/// herder's nick in the demo, which also names the control channel.
const NICK: &str = "herder";

/// Maximum time to wait for herder to join its own server before the demo starts anyway.
const UP_WITHIN: Duration = Duration::from_secs(10);

/// Time for which the printed link to the web page can be used.
const PAGE_GOOD_FOR: Duration = Duration::from_secs(3600);

/// Options of `herder demo`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Port of the demo's IRC server. If it is in use, the next free one is taken; 0 takes any.
    pub port: u16,
    /// Folder for the demo's data; `None` for a temporary one that is removed at the end.
    pub data_dir: Option<PathBuf>,
    /// True if a scripted tour types into the chat for the first minute.
    pub tour: bool,
}

/// The reason why the demo cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The demo's IRC server cannot be started.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// herder cannot be started in the demo.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A folder for the demo or its agents cannot be created.
    #[error("cannot make the folder {path}: {source}", path = path.display())]
    Folder {
        /// Path of the folder that cannot be created.
        path: PathBuf,
        /// The I/O error of creating the folder.
        source: io::Error,
    },
    /// The path of herder's own program is unknown, or signal handlers cannot be installed.
    #[error("{what}: {source}")]
    System {
        /// The action that failed, as text.
        what: &'static str,
        /// The system's error for the failed action.
        source: io::Error,
    },
}

/// Runs the demo until Ctrl-C, SIGTERM, the closing of the terminal, or `/quit`; then ends all its processes and
/// returns how many could not be ended.
///
/// # Errors
/// A part cannot be started. Nothing is left behind then either.
pub async fn run(options: Options) -> Result<Ended, DemoError> {
    let shutdown = on_signals()?;
    let herder = std::env::current_exe()
        .map_err(|source| DemoError::System { what: "cannot find herder's own program", source })?;
    let folder = Folder::new(options.data_dir.clone())?;
    let repository = repository::make(&folder.path().join("repositories").join("greet"));
    if let Err(error) = &repository {
        tracing::warn!(%error, "the demo goes on without work on a repository, which needs git 2.28 or later");
    }
    let names = scene::agents(repository.is_ok());
    let channels: Vec<String> = names.iter().map(|agent| format!("#{agent}")).collect();
    let home = Home::start(NICK, options.port, &channels, &[OWNER]).await?;
    let config = scene::config(&home, folder.path(), &herder, repository.ok())
        .map_err(|source| DemoError::Folder { path: folder.path().to_owned(), source })?;
    let connectors = BTreeMap::from([(home.network.name.clone(), home.connector())]);
    let starting = Herder::start(config, run::Options { connectors, ..run::Options::default() });
    let herder = Box::pin(starting).await?;
    until_up(herder.fleet()).await;

    let page = herder.page_link(OWNER, PAGE_GOOD_FOR);
    let mut out = tokio::io::stdout();
    // The console notices if the reader is gone.
    let _ = out.write_all(first_lines(&home, page.as_deref(), &options, names.len()).as_bytes()).await;
    let _ = out.flush().await;
    let stage = CancellationToken::new();
    let console = console(&home, channels, out, stage.clone(), shutdown.clone());
    let tour = async {
        if options.tour {
            tour::run(home.server.connect_internal(OWNER), names, stage.clone()).await;
        }
    };
    let end = async {
        let ended = herder.wait(shutdown).await;
        stage.cancel();
        ended
    };
    let (ended, (), ()) = tokio::join!(end, console, tour);
    home.server.stop().await;
    folder.remove();
    Ok(ended)
}

/// Waits until herder is connected to the demo's server, at most `UP_WITHIN`. It would take lines said before that for
/// history, not for commands.
async fn until_up(fleet: &Fleet) {
    let up = async {
        while !fleet.links().iter().any(|link| matches!(link.state, LinkState::Up { .. })) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // After the timeout lines are handled too, and the console shows the progress.
    let _ = tokio::time::timeout(UP_WITHIN, up).await;
}

/// Returns the demo's last line of output: how many processes are left.
#[must_use]
pub fn farewell(ended: &Ended) -> String {
    match ended.processes_left {
        0 => "herder has ended: its agents have stopped, 0 processes left.".to_owned(),
        left => {
            format!("herder has ended: its agents have stopped, but {left} processes could not be ended.")
        }
    }
}

/// Runs the demo's console in the terminal, and cancels `shutdown` when the person quits.
async fn console(
    home: &Home,
    channels: Vec<String>,
    out: tokio::io::Stdout,
    stage: CancellationToken,
    shutdown: CancellationToken,
) {
    let showing = io::stdout().is_terminal();
    let mut keyboard = Keyboard::open();
    let width = || rustix::termios::tcgetwinsize(io::stdout()).map_or(80, |size| size.ws_col);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let settings = console::Settings {
        nick: "you-here".to_owned(),
        channel: home.network.control_channel.clone(),
        alerts: home.network.alerts_channel.clone(),
        channels,
        style: Style {
            colours: showing && !plain,
            prompt: keyboard.keys.then(width),
            zone: jiff::tz::TimeZone::system(),
        },
        // A terminal that shows its own input needs no echo.
        echo: keyboard.keys || !io::stdin().is_terminal(),
    };
    let stream = home.server.connect_internal(OWNER);
    console::run(settings, stream, &mut keyboard.typed, out, stage).await;
    shutdown.cancel();
}

fn first_lines(home: &Home, page: Option<&str>, options: &Options, agents: usize) -> String {
    let port = home.network.port;
    let password = home.accounts().first().and_then(|(_, password)| password.as_ref());
    let password = password.map_or("", |password| password.expose_secret());
    let mut text = String::new();
    let _ = write!(
        text,
        "herder demo: an IRC server on 127.0.0.1:{port}, {agents} scripted agents, and this console. Ctrl-C ends everything.\n\
         \n\
         Join with any IRC client, password {password}:\n\
         {join}\
         {page}\
         \n\
         Or type here:\n\
         \x20 @spark status      what it does now; never asks the model\n\
         \x20 @spark pause       after the current session; @spark pause now: at once\n\
         \x20 @spark resume      leave any pause\n\
         \x20 @spark abort       stop the session, drop its work\n\
         \x20 @spark <anything>  work for spark; a word in it decides how it ends: crash, limit, auth, hang, fork, push\n\
         \x20 !status  !help     all agents; all commands\n\
         \x20 /channel #spark    talk in spark's channel, where plain text is work; /quit ends the demo\n\
         \n",
        join = home.how_to_join(),
        page = page.map_or_else(String::new, |link| format!(
            "\nOr look at them in a browser, by this link, once:\n  {link}\n"
        )),
    );
    if options.tour {
        text.push_str("A tour begins now: \"tour\" is a script that types for a minute.\n\n");
    }
    text
}

/// Returns a token that Ctrl-C, SIGTERM, or the closing of the terminal cancels.
fn on_signals() -> Result<CancellationToken, DemoError> {
    let listen = |kind| {
        signal(kind).map_err(|source| DemoError::System { what: "signals cannot be listened for", source })
    };
    let (mut interrupt, mut terminate, mut hangup) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
    let shutdown = CancellationToken::new();
    let cancel = shutdown.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with the runtime, which lives as long as what it ends"
    )]
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        cancel.cancel();
    });
    Ok(shutdown)
}
