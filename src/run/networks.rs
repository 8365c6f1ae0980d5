//! One task per network that keeps its adapter alive: a panic or a return is followed by a clean new one, and so is a
//! link that failed too often in a row.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::access::{Access, Role};
use crate::chat::irc::{self, Connector};
use crate::chat::{ChannelWanted, Inbound, LinkReport, LinkState};
use crate::config::{Config, IrcNetwork, Subject};
use crate::outbox::NetworkQueue;
use crate::supervisor::Fleet;

/// Reports are few: one per change of a link.
const REPORTS_CAPACITY: usize = 16;

/// Failed attempts after which the adapter is restarted clean (contract, section 6).
const ATTEMPTS_BEFORE_RESTART: u32 = 5;

/// Between the end of an adapter and its successor: the longest wait between two attempts, since there were too many.
const RESTART_DELAY: Duration = Duration::from_secs(30);

/// What an adapter is started with.
pub(super) struct Link {
    pub(super) settings: irc::Settings,
    pub(super) queue: Arc<NetworkQueue>,
    pub(super) inbound: mpsc::Sender<Inbound>,
    pub(super) channels: watch::Receiver<Vec<ChannelWanted>>,
    pub(super) connector: Connector,
    pub(super) fleet: Fleet,
    pub(super) shutdown: CancellationToken,
}

/// An adapter's settings for `network`.
pub(super) fn settings(network: &IrcNetwork, config: &Config, access: &Arc<Access>) -> irc::Settings {
    let rules = &config.access;
    let mut named = rules.admins.iter().chain(&rules.operators).chain(&rules.viewers);
    let access = Arc::clone(access);
    irc::Settings {
        network: network.clone(),
        name: config.name.clone(),
        needs_account: named
            .any(|subject| matches!(subject, Subject::IrcAccount { network: of, .. } if *of == network.name)),
        is_operator: Arc::new(move |author| access.role(author) >= Some(Role::Operator)),
        memory: irc::Memory::default(),
    }
}

/// How one adapter ended.
enum End {
    Shutdown,
    Refused,
    Restart,
}

/// Runs a network's adapter until shutdown, or for good if the network refuses herder.
pub(super) async fn keep(link: Link) {
    loop {
        match once(&link).await {
            End::Shutdown | End::Refused => return,
            End::Restart => {
                tokio::select! {
                    () = link.shutdown.cancelled() => return,
                    () = tokio::time::sleep(RESTART_DELAY) => {}
                }
            }
        }
    }
}

async fn once(link: &Link) -> End {
    let token = link.shutdown.child_token();
    let (reports, mut reported) = mpsc::channel(REPORTS_CAPACITY);
    let adapter = irc::run(
        link.settings.clone(),
        link.inbound.clone(),
        Arc::clone(&link.queue),
        link.channels.clone(),
        reports,
        token.clone(),
        link.connector.clone(),
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "the handle is waited for below: a panic restarts this network alone"
    )]
    let mut adapter = tokio::spawn(adapter);
    let mut refused = false;
    loop {
        tokio::select! {
            // What an adapter said last counts, so its reports come before its end.
            biased;
            report = reported.recv() => {
                let Some(report) = report else { continue_after(&mut adapter).await; break };
                refused |= matches!(report.state, LinkState::Refused { .. });
                let failed_often = attempts(&report) >= ATTEMPTS_BEFORE_RESTART;
                link.fleet.report_link(report);
                if failed_often {
                    warn!(network = %link.settings.network.name, "the link failed too often; the adapter is restarted clean");
                    token.cancel();
                    continue_after(&mut adapter).await;
                    break;
                }
            }
            ended = &mut adapter => {
                if let Err(reason) = ended {
                    error!(network = %link.settings.network.name, %reason, "the adapter died; a new one is started");
                }
                break;
            }
        }
    }
    if link.shutdown.is_cancelled() {
        End::Shutdown
    } else if refused {
        End::Refused
    } else {
        End::Restart
    }
}

async fn continue_after(adapter: &mut tokio::task::JoinHandle<()>) {
    if let Err(reason) = adapter.await {
        error!(%reason, "an adapter died while it was being ended");
    }
}

fn attempts(report: &LinkReport) -> u32 {
    match report.state {
        LinkState::Connecting { attempts, .. } => attempts,
        LinkState::Up { .. } | LinkState::Refused { .. } => 0,
    }
}
