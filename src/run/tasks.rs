//! Helpers for the tasks of a run: restarting, ending, and making the evaluator.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::{Options, RunError};
use crate::config::Config;
use crate::evaluator::{self, Evaluator};
use crate::journal::Journal;
use crate::local::{BindError, Bound};
use crate::redact::Redactor;
use crate::runner::link::Link;
use crate::runtime::ProcessTrees;
use crate::runtime::grants::Grants;
use crate::traces::Traces;

/// Runs the future that `make` makes, and again whenever it panics, so that a fault does not end a task for good.
/// `what` names the task in the log.
pub(super) async fn keep_up<F: Future<Output = ()>>(what: &str, make: impl Fn() -> F) {
    /// Wait before a task that panicked is restarted, so that one that panics at once does not spin.
    const AGAIN: Duration = Duration::from_secs(60);
    while AssertUnwindSafe(make()).catch_unwind().await.is_err() {
        error!(what, "panicked; it is started again");
        tokio::time::sleep(AGAIN).await;
    }
}

/// Runs `task` until it ends or `token` is cancelled.
pub(super) async fn stop_with(token: CancellationToken, task: impl Future<Output = ()>) {
    tokio::select! {
        () = token.cancelled() => {}
        () = task => {}
    }
}

/// Creates the evaluator, even if no model is configured: it also removes what evaluators of earlier runs left.
pub(super) fn evaluator(config: &Config, trees: &ProcessTrees, redactor: &Redactor) -> Evaluator {
    Evaluator::new(evaluator::Setup {
        settings: config.evaluator.clone(),
        prices: config.policy.prices.clone(),
        redactor: redactor.clone(),
        trees: trees.clone(),
        data_dir: config.data_dir.clone(),
        withheld: config.secret_variables.clone(),
    })
}

/// Prepares the traces, if they are configured.
pub(super) async fn traces(config: &Config, journal: &Journal) -> Result<Option<Traces>, RunError> {
    let Some(settings) = config.telemetry.clone() else { return Ok(None) };
    let journal = journal.clone();
    let opened = tokio::task::spawn_blocking(move || Traces::open(&settings, journal)).await?;
    Ok(Some(opened?))
}

/// The way by which the agents' calls of tools arrive.
pub(super) enum Calls {
    /// The socket of this process.
    Here(Bound),
    /// The runner, which has the socket.
    Runner(Link),
}

/// Opens the socket to which the agents' tool servers connect. `None` if tools are disabled, or if it cannot be opened,
/// which is logged; agents then work without tools.
pub(super) async fn tool_server(
    config: &Config,
    options: &Options,
    runner: Option<Link>,
) -> Option<(Calls, Grants)> {
    if !config.tools.enabled {
        // A runner that still has the tools is told that nobody carries its calls out.
        drop(runner.and_then(|link| link.calls()));
        return None;
    }
    if let Some(link) = runner {
        return Some((Calls::Runner(link), Grants::of_runner()));
    }
    let program = options.program.clone().map_or_else(std::env::current_exe, Ok);
    let opened = match program.and_then(|program| Grants::new(program, &config.data_dir)) {
        Ok(grants) => match grants.socket() {
            Some(socket) => crate::local::bind(&socket).await.map(|bound| (bound, grants)),
            None => return None,
        },
        Err(cause) => Err(BindError::Io { path: config.data_dir.clone(), cause }),
    };
    match opened {
        Ok((bound, grants)) => Some((Calls::Here(bound), grants)),
        Err(reason) => {
            warn!(%reason, "agents have to do without herder's tools");
            None
        }
    }
}
