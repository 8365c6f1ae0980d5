//! `herder demo`: no configuration, no account.
//!
//! An embedded IRC server on loopback, a console in the terminal that is a client of it, and three scripted agents
//! ([`agent`]) that run as real child processes through the real supervisor, journal, outbox and IRC side: nothing of
//! herder is imitated here but the models. [`scene`] says what the demo consists of, [`tour`] types for a minute.
//!
//! Its data is in a temporary [`folder`] that goes with it, unless one is named.

mod act;
pub mod agent;
mod folder;
mod forks;
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

use crate::chat::LinkState;
use crate::chat::console::{self, Keyboard, Style};
use crate::chat::embedded_ircd::home::{Home, HomeError, OWNER};
use crate::run::{self, Ended, Herder, RunError};
use crate::supervisor::Fleet;

use folder::Folder;

/// herder's nick, and the name of its control channel.
const NICK: &str = "herder";

/// How long herder may take to join its own server before the demo begins all the same.
const UP_WITHIN: Duration = Duration::from_secs(10);

/// How long the printed link to the page is good.
const PAGE_GOOD_FOR: Duration = Duration::from_secs(3600);

/// How a demo is wanted.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port of the server; the next free one is taken if it is not; 0: any.
    pub port: u16,
    /// Where its data is kept; `None`: in a temporary folder that is removed at the end.
    pub data_dir: Option<PathBuf>,
    /// Whether a script types for a minute.
    pub tour: bool,
}

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The server cannot be started.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// herder itself cannot.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A folder cannot be made.
    #[error("cannot make the folder {path}: {source}", path = path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program that the agents are run with is not known, or signals cannot be listened for.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs until Ctrl-C, SIGTERM, the closing of the terminal, or `/quit`; then ends every process and says so.
///
/// # Errors
/// If something cannot be started. Nothing is left then either.
pub async fn run(options: Options) -> Result<Ended, DemoError> {
    let shutdown = on_signals()?;
    let herder = std::env::current_exe()
        .map_err(|source| DemoError::System { what: "cannot find herder's own program", source })?;
    let folder = Folder::new(options.data_dir)?;
    let channels: Vec<String> = scene::AGENTS.iter().map(|agent| format!("#{agent}")).collect();
    let home = Home::start(NICK, options.port, &channels, &[OWNER]).await?;
    let config = scene::config(&home, folder.path(), &herder)
        .map_err(|source| DemoError::Folder { path: folder.path().to_owned(), source })?;
    let connectors = BTreeMap::from([(home.network.name.clone(), home.connector())]);
    let herder = Herder::start(config, run::Options { connectors, ..run::Options::default() }).await?;
    until_up(herder.fleet()).await;

    let page = herder.page_link(OWNER, PAGE_GOOD_FOR);
    let mut out = tokio::io::stdout();
    // A reader that is gone is noticed by the console.
    let _ = out.write_all(first_lines(&home, page.as_deref(), options.tour).as_bytes()).await;
    let _ = out.flush().await;
    let stage = CancellationToken::new();
    let console = console(&home, channels, out, stage.clone(), shutdown.clone());
    let tour = async {
        if options.tour {
            tour::run(home.server.connect_internal(OWNER), stage.clone()).await;
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

/// Waits until herder hears what is said: a line from before that would be history to it, and no command.
async fn until_up(fleet: &Fleet) {
    let up = async {
        while !fleet.links().iter().any(|link| matches!(link.state, LinkState::Up { .. })) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    // Later it is heard as well, and until then the console shows what happens.
    let _ = tokio::time::timeout(UP_WITHIN, up).await;
}

/// The last line.
#[must_use]
pub fn farewell(ended: &Ended) -> String {
    let agents = scene::AGENTS.len();
    match ended.processes_left {
        0 => format!("herder has ended: {agents} agents stopped, 0 processes left."),
        left => {
            format!("herder has ended: {agents} agents stopped, but {left} processes could not be ended.")
        }
    }
}

/// Shows what happens and takes what is typed; when the person is done, so is the demo.
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
        // What is typed is on the screen already where the terminal itself shows it.
        echo: keyboard.keys || !io::stdin().is_terminal(),
    };
    let stream = home.server.connect_internal(OWNER);
    console::run(settings, stream, &mut keyboard.typed, out, stage).await;
    shutdown.cancel();
}

fn first_lines(home: &Home, page: Option<&str>, tour: bool) -> String {
    let port = home.network.port;
    let password = home.accounts().first().and_then(|(_, password)| password.as_ref());
    let password = password.map_or("", |password| password.expose_secret());
    let mut text = String::new();
    let _ = write!(
        text,
        "herder demo: an IRC server on 127.0.0.1:{port}, three scripted agents, and this console. Ctrl-C ends everything.\n\
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
    if tour {
        text.push_str("A tour begins now: \"tour\" is a script that types for a minute.\n\n");
    }
    text
}

/// Cancelled by Ctrl-C, SIGTERM, or the closing of the terminal.
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
