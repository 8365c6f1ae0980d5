//! Runners on other machines: the way to them, the calls of their agents, and what people are told of them.

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::RunError;
use super::runner::AWAY;
use crate::cluster::folder::{self, FOLDER};
use crate::config::Config;
use crate::core::id::RunnerName;
use crate::core::notice::{MachineNews, Notice};
use crate::journal::Journal;
use crate::runner::Finds;
use crate::runner::link::{Bot, Link, LinkState};
use crate::runtime::grants::Grants;
use crate::supervisor::{Fleet, Runners};
use crate::tools::desk;
use crate::tools::host::Host;

/// The way to runners on other machines.
pub(super) struct Elsewhere {
    pub(super) runners: Runners,
    pub(super) finds: Finds,
    /// The right to herder's tools, if they are served.
    pub(super) tools: Option<Grants>,
}

/// Begins to listen to the servers, if any are configured. `office` is true while a bot that others can succeed decides.
pub(super) async fn open(
    config: &Config,
    journal: &Journal,
    bot: &Bot,
    office: Option<watch::Receiver<bool>>,
) -> Result<Option<Elsewhere>, RunError> {
    if config.runners.servers.is_empty() {
        return Ok(None);
    }
    let (path, servers) = (config.data_dir.join(FOLDER), config.runners.servers.clone());
    let opened =
        tokio::task::spawn_blocking(move || folder::open(&path)).await.map_err(std::io::Error::other);
    let folder = opened.map_err(RunError::Runner)??.with_servers(servers);
    let tools = config.tools.enabled.then(Grants::of_runner);
    let (runners, finds) = Runners::open(folder, journal, bot.clone(), tools.clone(), office).await?;
    Ok(Some(Elsewhere { runners, finds, tools }))
}

/// Serves runners on other machines until `shutdown`. `host` carries out the calls of herder's tools.
pub(super) async fn serve(
    (runners, tools): (Runners, Option<Grants>),
    fleet: Fleet,
    host: Option<Host>,
    shutdown: CancellationToken,
) {
    let Some(mut found) = runners.found() else { return };
    let tasks = TaskTracker::new();
    let joins = (runners.clone(), fleet.clone(), shutdown.clone());
    tasks.spawn(async move {
        let (runners, fleet, shutdown) = joins;
        shutdown.run_until_cancelled(runners.serve(fleet)).await
    });
    while let Some(Some((runner, link))) = shutdown.run_until_cancelled(found.recv()).await {
        match host.clone().zip(tools.clone()) {
            Some((host, tools)) => {
                drop(tasks.spawn(desk::serve(link.clone(), tools, host, shutdown.clone())));
            }
            // It is told that nobody carries its calls out.
            None => drop(link.calls()),
        }
        let (fleet, known, shutdown) = (fleet.clone(), runners.clone(), shutdown.clone());
        tasks.spawn(async move {
            let following = async {
                tokio::join!(
                    link.stop_unknown(),
                    look(&link, &runner, &fleet),
                    tell(&link, &runner, (&fleet, &known))
                );
            };
            shutdown.run_until_cancelled(following).await
        });
    }
    tasks.close();
    tasks.wait().await;
}

/// Lets sessions begin on a machine while it answers.
async fn look(link: &Link, runner: &RunnerName, fleet: &Fleet) {
    let mut state = link.state();
    loop {
        if let LinkState::Refused(refusal) = &*state.borrow_and_update() {
            warn!(%runner, %refusal, "the runner refuses this bot");
        }
        fleet.look_at_runner(runner);
        if state.changed().await.is_err() {
            return;
        }
    }
}

/// Tells people of a machine that is away for long, and when it is back.
async fn tell(link: &Link, runner: &RunnerName, (fleet, known): (&Fleet, &Runners)) {
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
        if !known.has(runner) {
            // It was removed, or never joined: nobody waits for it until it joins.
            if state.wait_for(is_up).await.is_err() {
                return;
            }
            continue;
        }
        fleet.alert(Notice::Machine { runner: runner.clone(), news: MachineNews::Away }).await;
        if state.wait_for(is_up).await.is_err() {
            return;
        }
        fleet
            .alert(Notice::Machine {
                runner: runner.clone(),
                news: MachineNews::Back { away: since.elapsed() },
            })
            .await;
    }
}
