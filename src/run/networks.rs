//! One task per network that keeps its adapter running: after a panic, a return, or too many failures of its link in
//! a row a clean new one is started.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::RunError;
use crate::access::Access;
use crate::chat::discord;
use crate::chat::irc::{self, Connector, Patience};
use crate::commands::slash;
use crate::config::{Config, IrcNetwork};
use crate::core::detail::Detail;
use crate::core::id::NetworkName;
use crate::core::link::{ChannelWanted, DISCORD_NETWORK, LinkReport, LinkState};
use crate::core::places;
use crate::core::role::Role;
use crate::core::speech::Inbound;
use crate::journal::Journal;
use crate::l10n::Locale;
use crate::outbox::{Markup, NetworkQueue, Outbox, Renderer};
use crate::redact::Redactor;
use crate::supervisor::Fleet;
use crate::tools::Rooms;

/// Capacity of the channel of an adapter's link reports, which are few: one per change of its link.
const REPORTS_CAPACITY: usize = 16;

/// The task data of one network: its adapter, and the settings for restarting it.
pub(super) struct Link {
    pub(super) network: NetworkName,
    pub(super) adapter: Adapter,
    /// Wait between the end of an adapter and the start of a new one.
    pub(super) anew: Duration,
    /// Number of failed connection attempts in a row after which the adapter is replaced by a new one.
    pub(super) attempts: u32,
    pub(super) fleet: Fleet,
    pub(super) shutdown: CancellationToken,
    /// Receives the reason when the network refuses herder for good; `None` if people can still reach herder through
    /// another network.
    pub(super) refused: Option<watch::Sender<Option<Detail>>>,
}

/// The adapter of a network: IRC or Discord.
pub(super) enum Adapter {
    Irc(Box<Irc>),
    Discord(Box<discord::Ports>),
}

/// Settings and channels of an IRC adapter.
pub(super) struct Irc {
    pub(super) settings: irc::Settings,
    pub(super) queue: Arc<NetworkQueue>,
    pub(super) inbound: mpsc::Sender<Inbound>,
    pub(super) channels: watch::Receiver<Vec<ChannelWanted>>,
    pub(super) connector: Connector,
}

impl Adapter {
    /// Runs until the network is given up for good or `token` is cancelled.
    fn run(&self, reports: mpsc::Sender<LinkReport>, token: CancellationToken) -> Running {
        match self {
            Self::Irc(irc) => Box::pin(irc::run(
                irc.settings.clone(),
                irc.inbound.clone(),
                Arc::clone(&irc.queue),
                irc.channels.clone(),
                reports,
                token,
                irc.connector.clone(),
            )),
            Self::Discord(ports) => Box::pin(discord::run((**ports).clone(), reports, token)),
        }
    }
}

/// The boxed future of a running adapter.
type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Returns all networks with the markup of their posts.
pub(super) fn all(config: &Config) -> Vec<(NetworkName, Markup)> {
    let irc = config.irc.iter().map(|network| (network.name.clone(), Markup::Irc));
    let discord = config.discord.iter().map(|_| (NetworkName::from(DISCORD_NETWORK), Markup::Discord));
    irc.chain(discord).collect()
}

/// Returns each network's control channel, in which people talk with herder itself.
pub(super) fn control_channels(config: &Config) -> Vec<(NetworkName, String)> {
    let irc = config.irc.iter().map(|network| (network.name.clone(), network.control_channel.clone()));
    let discord = config
        .discord
        .iter()
        .map(|discord| (NetworkName::from(DISCORD_NETWORK), format!("#{}", discord.control_channel)));
    irc.chain(discord).collect()
}

/// Returns the names of the alerts, work and control channels of all networks.
pub(super) fn own_channels(config: &Config) -> Vec<String> {
    let irc = config.irc.iter().flat_map(|network| {
        [&network.alerts_channel, &network.work_channel, &network.control_channel].map(String::clone)
    });
    let discord = config.discord.iter().flat_map(|discord| {
        [&discord.alerts_channel, &discord.work_channel, &discord.control_channel].map(String::clone)
    });
    irc.chain(discord).collect()
}

/// Returns for each network the channels that every agent may use with its tools.
pub(super) fn places(config: &Config) -> Vec<places::Network> {
    let irc = config.irc.iter().map(|network| places::Network {
        name: network.name.clone(),
        work: network.work_channel.clone(),
        joins: true,
    });
    let discord = config.discord.iter().map(|discord| places::Network {
        name: NetworkName::from(DISCORD_NETWORK),
        work: format!("#{}", discord.work_channel),
        joins: false,
    });
    irc.chain(discord).collect()
}

/// Returns other bots to whose lines herder reacts, by network and the identity that the network confirms: nick or user
/// id.
pub(super) fn bots(config: &Config) -> Vec<(NetworkName, String)> {
    let of = |name: &NetworkName, bots: &[String]| {
        let name = name.clone();
        bots.iter().map(move |bot| (name.clone(), bot.clone())).collect::<Vec<_>>()
    };
    let irc = config.irc.iter().flat_map(|network| of(&network.name, &network.bots));
    let discord =
        config.discord.iter().flat_map(|discord| of(&NetworkName::from(DISCORD_NETWORK), &discord.bots));
    irc.chain(discord).collect()
}

/// Returns the settings of the IRC adapter for `network`.
pub(super) fn settings(
    network: &IrcNetwork,
    config: &Config,
    access: &Access,
    patience: Patience,
    rooms: &Rooms,
) -> irc::Settings {
    let (known, access) = (access.clone(), access.clone());
    let (name, on_discord) = (network.name.clone(), config.discord.is_some());
    irc::Settings {
        network: network.clone(),
        name: config.name.clone(),
        // An account may also be linked to a Discord user.
        needs_account: Arc::new(move || on_discord || known.names_accounts_of(&name)),
        is_operator: Arc::new(move |author| access.role(author) >= Some(Role::Operator)),
        patience: Patience { most: config.networks.longest_wait(), ..patience },
        memory: irc::Memory::default(),
        rooms: rooms.clone(),
        marks: irc::Marks::new(network.name.clone()),
    }
}

/// The reason why an adapter ended.
enum End {
    Shutdown,
    Refused(Detail),
    /// The adapter panicked, or returned without a final report.
    Died,
    /// The link failed too often in a row, and the adapter was ended.
    FailedOften,
}

/// Runs a network's adapter and replaces it when it ends, until shutdown or until the network refuses herder for good.
pub(super) async fn keep(link: Link) {
    loop {
        match once(&link).await {
            End::Shutdown => return,
            End::Refused(reason) => {
                if let Some(refused) = &link.refused {
                    refused.send_replace(Some(reason));
                }
                return;
            }
            // Its posts do not depend on its link, which continues with the waits of the one before.
            End::FailedOften if matches!(link.adapter, Adapter::Discord(_)) => {}
            End::Died | End::FailedOften => {
                tokio::select! {
                    () = link.shutdown.cancelled() => return,
                    () = tokio::time::sleep(link.anew) => {}
                }
            }
        }
    }
}

async fn once(link: &Link) -> End {
    let token = link.shutdown.child_token();
    let (reports, mut reported) = mpsc::channel(REPORTS_CAPACITY);
    let adapter = link.adapter.run(reports, token.clone());
    #[expect(
        clippy::disallowed_methods,
        reason = "the handle is waited for below: a panic restarts this network alone"
    )]
    let mut adapter = tokio::spawn(adapter);
    let (mut refused, mut failed_often) = (None, false);
    loop {
        tokio::select! {
            // An adapter's last report counts, so reports are read before its end.
            biased;
            report = reported.recv() => {
                let Some(report) = report else { continue_after(&mut adapter).await; break };
                if let LinkState::Refused { reason } = &report.state {
                    refused = Some(reason.clone());
                }
                failed_often = attempts(&report) >= link.attempts;
                link.fleet.report_link(report);
                if failed_often {
                    warn!(network = %link.network, "the link failed too often; the adapter is restarted clean");
                    token.cancel();
                    continue_after(&mut adapter).await;
                    break;
                }
            }
            ended = &mut adapter => {
                if let Err(reason) = ended {
                    error!(network = %link.network, %reason, "the adapter died; a new one is started");
                }
                break;
            }
        }
    }
    match refused {
        _ if link.shutdown.is_cancelled() => End::Shutdown,
        Some(reason) => End::Refused(reason),
        None if failed_often => End::FailedOften,
        None => End::Died,
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
        // A new adapter would change nothing about a ban.
        LinkState::Up { .. } | LinkState::Barred { .. } | LinkState::Refused { .. } => 0,
    }
}

/// Opens one queue per network, with its pending posts.
pub(super) async fn open_queues(
    journal: &Journal,
    networks: &[(NetworkName, Markup)],
    locale: &Locale,
    redactor: &Redactor,
    backlog_lines: u32,
) -> Result<BTreeMap<NetworkName, Arc<NetworkQueue>>, RunError> {
    let of = |name: &NetworkName| match name.as_str() {
        DISCORD_NETWORK => locale.in_form(slash::line),
        _ => locale.clone(),
    };
    let renderer = |name, markup| Renderer::new(of(name), redactor.clone(), markup);
    let networks = networks.iter().map(|(name, markup)| (name.clone(), renderer(name, *markup))).collect();
    let journal = journal.clone();
    let outbox =
        tokio::task::spawn_blocking(move || Outbox::open(&journal, networks, backlog_lines)).await??;
    Ok(outbox.queues().map(|queue| (queue.network().clone(), Arc::clone(queue))).collect())
}
