//! `herder run`: the parts that are started, their order, and the shutdown.
//!
//! ```text
//!  journal ─► outbox queues ─► fleet (orphans ended, supervisors) ─► networks, local socket, upkeep
//! ```
//!
//! It ends in the opposite order: no more speech is accepted, the agents' processes are ended, pending posts are
//! sent, the networks say goodbye, the journal is closed. The same happens if the journal cannot be written any more,
//! after people are told why.

mod channels;
mod elsewhere;
mod ending;
mod error;
mod first;
mod hooks;
mod lives;
mod marks;
mod networks;
mod office;
mod order;
mod page;
mod runner;
mod service;
mod speech;
mod tasks;
mod upkeep;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use crate::access::{Access, Logins};
use crate::chat::embedded_ircd::home::Home;
use crate::chat::irc::{Connector, Patience};
use crate::chat::{Silence, discord, irc};
use crate::clock::{self, running::Running};
use crate::commands::dispatch::{self, Dispatcher, Setup};
use crate::commands::slash;
use crate::config::Config;
use crate::core::detail::Detail;
use crate::core::id::NetworkName;
use crate::core::link::DISCORD_NETWORK;
use crate::core::notice::Notice;
use crate::core::post::Target;
use crate::journal::{self, Journal, Opening, Unreadable};
use crate::l10n::Locale;
use crate::local::Bound;
use crate::outbox::{Markup, NetworkQueue, absent};
use crate::reload::{self, Reloader, Source};
use crate::runner::tools as runner_tools;
use crate::runtime::ProcessTrees;
use crate::runtime::grants::Grants;
use crate::runtime::process::descent::Record;
use crate::supervisor::{self, CutShort, FaultInjection, Fleet, Runners, StartError};
use crate::tools::host::{self, Host};
use crate::tools::{self, Rooms};
pub use error::RunError;
use first::{owe_missing, urgent};
use lives::Life;
use office::InOffice;
pub use office::Leading;
use tasks::{Calls, evaluator, keep_up, stop_with, tool_server};

/// Share of `drain_timeout` for the agents' processes to end; the rest are killed.
const FOR_AGENTS: f64 = 0.5;

/// Capacity for people's lines on their way to the dispatcher. A network stops reading when it is full.
const INBOUND_CAPACITY: usize = 256;

/// Options of a run besides the configuration; most serve tests and the demo.
#[derive(Debug, Default)]
pub struct Options {
    /// Replacements for the TCP or TLS connection of networks, by network, e.g. to the embedded server.
    pub connectors: BTreeMap<NetworkName, Connector>,
    /// Timeouts and waits of the IRC adapters; shorter in tests.
    pub patience: Patience,
    /// Time after which the author of a line is told that its answer takes longer; `None` for [`dispatch::PATIENCE`].
    pub line_patience: Option<Duration>,
    /// Called with the instructions for joining the embedded IRC server, if no network is configured.
    pub welcome: Option<fn(&str)>,
    /// Path of the program that agents' CLIs start as their tool server; `None` for herder's own program.
    pub program: Option<PathBuf>,
    /// Source from which the configuration is reloaded; `None` if it cannot be.
    pub source: Option<Source>,
    /// Notified, e.g. by SIGHUP, when the configuration is to be reloaded.
    pub reload: Arc<Notify>,
    /// Injection of faults, for tests.
    pub fault: FaultInjection,
    /// The office of a bot that others can succeed, once it has it.
    pub leading: Option<Box<Leading>>,
}

/// The result of a run of herder, from which the exit code follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Number of agents' processes that could not be ended.
    pub processes_left: usize,
    /// Reason why the journal could not be written, if that ended the run.
    pub storage_failure: Option<String>,
    /// Reason why the only network refuses herder for good, if that ended the run.
    pub refused: Option<Detail>,
    /// True if another bot has come into office, which ended the run.
    pub deposed: bool,
}

/// A running herder: its tasks, and the handles that its shutdown needs.
#[derive(Debug)]
pub struct Herder {
    fleet: Fleet,
    journal: Journal,
    queues: BTreeMap<NetworkName, Arc<NetworkQueue>>,
    /// Queues of pending events, by webhook.
    hooks: BTreeMap<NetworkName, Arc<NetworkQueue>>,
    tasks: TaskTracker,
    /// Cancelled first in a shutdown: no more lines from people are accepted.
    hearing: CancellationToken,
    /// Cancelled last in a shutdown: the networks send their pending posts until then, and now disconnect.
    speaking: CancellationToken,
    trees: ProcessTrees,
    /// The stored record of this run, by which the next herder recognises processes that are left.
    life: Arc<Life>,
    /// The embedded IRC server, which runs if no network is configured; else `None`.
    home: Option<Home>,
    /// Set to the reason when the only network refuses herder for good, which ends the run.
    refused: watch::Sender<Option<Detail>>,
    /// Time for which herder was away before this start.
    away: Option<Duration>,
    /// Maximum duration of the shutdown (`drain_timeout`).
    drain: Duration,
    /// URL prefix of the web page and its logins; `None` if the page is disabled.
    page: Option<(String, Logins)>,
    /// The office; `None` for a bot alone.
    office: Option<InOffice>,
}

/// Runs until `shutdown` is cancelled, the journal cannot be written any more, or the only network refuses herder for
/// good.
///
/// # Errors
/// If it cannot be started.
pub async fn run(
    config: Config,
    mut options: Options,
    shutdown: CancellationToken,
) -> Result<Ended, RunError> {
    if config.cluster.standby {
        // A service manager takes a bot that waits for a running one.
        service::ready();
        let Some(leading) = Box::pin(office::wait(&config, &shutdown)).await? else {
            info!("going down while another bot is in office");
            return Ok(Ended { processes_left: 0, storage_failure: None, refused: None, deposed: false });
        };
        options.leading = Some(Box::new(leading));
    }
    let drain = config.drain_timeout;
    let cut = CutShort {
        asked: shutdown.clone(),
        patience: drain.mul_f64(FOR_AGENTS),
        begun: CancellationToken::new(),
    };
    // A start may hang, on a disk or on earlier processes: it is not waited for longer than a shutdown may take.
    let enough = async {
        shutdown.cancelled().await;
        if cut.begun.is_cancelled() {
            tokio::time::sleep(drain).await;
            warn!("the start did not come to its end in time; what it has begun is ended by the next one");
        }
    };
    let nothing = |processes_left| {
        info!(processes_left, "going down in the middle of the start");
        Ended { processes_left, storage_failure: None, refused: None, deposed: false }
    };
    let started = tokio::select! {
        biased;
        started = Herder::start_unless(config, options, &cut) => started,
        () = enough => return Ok(nothing(0)),
        never = service::starting() => match never {},
    };
    match started {
        Ok(herder) => Ok(herder.wait(shutdown).await),
        Err(RunError::Start(StartError::CutShort { left })) => Ok(nothing(left)),
        Err(reason) => Err(reason),
    }
}

impl Herder {
    /// Starts all parts of herder.
    ///
    /// # Errors
    /// If the journal, the fleet or the local socket cannot be started.
    pub async fn start(config: Config, options: Options) -> Result<Self, RunError> {
        Box::pin(Self::start_unless(config, options, &CutShort::default())).await
    }

    /// Starts all parts of herder, unless `cut` asks to end before an agent has started.
    async fn start_unless(
        mut config: Config,
        mut options: Options,
        cut: &CutShort,
    ) -> Result<Self, RunError> {
        let record = tokio::task::spawn_blocking(Record::own).await?;
        let reapers = record.as_ref().map(Record::reapers);
        let trees = ProcessTrees::new().map_err(RunError::Trees)?;
        // This comes first, because from here on only one herder has the folder.
        let (journal, opening, office) = match options.leading.take() {
            Some(leading) => {
                let (journal, opening, office) = leading.journal().await?;
                (journal, opening, Some(office))
            }
            None => {
                let (journal, opening) = open_journal(&config).await?;
                (journal, opening, None)
            }
        };
        let read = config.clone();
        let home = Home::of(&mut config).await?;
        if let Some(home) = &home {
            options.connectors.insert(home.network.name.clone(), home.connector());
            if let Some(welcome) = options.welcome {
                welcome(&home.how_to_join());
            }
        }
        let config = Arc::new(config);
        let locale = Locale::load(&config.locale)?;
        // The embedded server has added passwords.
        config.redactor.learn(&config.secrets);
        let redactor = config.redactor.clone();
        let networks = networks::all(&config);
        owe_missing(&journal, &networks, &opening).await;
        let mut named: Vec<NetworkName> = networks.iter().map(|(name, _)| name.clone()).collect();
        named.extend(config.webhooks.iter().map(|webhook| webhook.name.clone()));
        if let Err(reason) = absent::let_go(&journal, &named, config.history.keep, clock::now()).await {
            warn!(%reason, "posts owed to networks that are gone stay");
        }
        let all: Vec<(NetworkName, Markup)> = networks.iter().cloned().chain(hooks::all(&config)).collect();
        let mut queues =
            networks::open_queues(&journal, &all, &locale, &redactor, config.networks.backlog_lines).await?;
        if let Some(office) = &office {
            queues.values().for_each(|queue| queue.leaves_while(office.open.clone()));
        }
        let hooks = config.webhooks.iter().filter_map(|webhook| queues.remove_entry(&webhook.name)).collect();

        let marks = marks::load(&journal, &config).await?;
        // They come before any process is started: nothing after the runner's start can fail but the fleet.
        let socket = crate::local::bind(&config.data_dir.join(crate::local::FILE_NAME)).await?;
        let http = page::open(&config, &journal).await?;
        let traces = tasks::traces(&config, &journal).await?;
        let (tasks, hearing) = (TaskTracker::new(), CancellationToken::new());
        let bot = runner::bot(&config, &journal).await?;
        let open = office.as_ref().map(|office| office.open.clone());
        let elsewhere = elsewhere::open(&config, &journal, &bot, open).await?;
        let runner = runner::open(&config, &options, (&journal, &bot), (&trees, reapers)).await?;
        let link = runner.as_ref().map(|runner| runner.link.clone());
        if let Some(runner) = runner {
            tasks.spawn(runner.keep(hearing.clone()));
        }
        let calls = tool_server(&config, &options, link.clone()).await;
        let settings = supervisor::Settings {
            journal: journal.clone(),
            policy: config.policy.clone(),
            networks: networks.into_iter().map(|(name, _)| name).collect(),
            listeners: hooks::listeners(&config),
            trees: trees.clone(),
            agents: config.agents.clone(),
            withheld: config.secret_variables.clone(),
            redactor: redactor.clone(),
            tools: calls.as_ref().map(|(_, grants)| grants.clone()),
            runner: link.clone(),
            elsewhere: elsewhere.as_ref().map(|known| (known.runners.clone(), known.finds.clone())),
            evaluator: Some(evaluator(&config, &trees, &redactor)),
            attempts: config.networks.attempts,
            fault: options.fault.clone(),
        };
        // From here on agents do something.
        let life = Arc::new(Life::begin(record, &journal, &trees).await);
        let fleet = supervisor::start_unless(settings, cut).await?;
        let socket = socket.knowing(life.past(link.as_ref()).await, link.clone());
        let rooms = Rooms::default();
        let access = Access::new(&config.access).with(fleet.ties().clone());
        let reloader = Reloader::new(reload::Setup {
            source: options.source.clone(),
            config: read,
            fleet: fleet.clone(),
            access: access.clone(),
            redactor: redactor.clone(),
            certificate: http.as_ref().and_then(page::Opened::certificate),
        });
        let dispatcher = Dispatcher::new(Setup {
            fleet: fleet.clone(),
            journal: journal.clone(),
            access: access.clone(),
            locale: locale.clone(),
            redactor: redactor.clone(),
            control: networks::control_channels(&config),
            channels: networks::own_channels(&config),
            bots: networks::bots(&config),
            bot_exchanges: config.networks.bot_exchanges,
            reloader: Some(reloader.clone()),
            page: http.as_ref().map(|opened| opened.logins.clone()),
            files: config.files,
            patience: options.line_patience.unwrap_or(dispatch::PATIENCE),
        });
        let herder = Self {
            fleet,
            journal,
            queues,
            hooks,
            tasks,
            hearing,
            speaking: CancellationToken::new(),
            life: Arc::clone(&life),
            trees,
            home,
            refused: watch::Sender::default(),
            away: opening.last_commit.map(|last| clock::now().since(last)),
            drain: config.drain_timeout,
            page: http.as_ref().map(|opened| (opened.url.clone(), opened.logins.clone())),
            office,
        };
        herder.tasks.spawn(life.keep(herder.hearing.clone()));
        if let Some(link) = link {
            let told = runner::tell(link, herder.fleet.clone());
            herder.tasks.spawn(stop_with(herder.hearing.clone(), told));
        }
        if let Some(traces) = traces {
            let keep = traces.keep(herder.fleet.clone());
            herder.tasks.spawn(stop_with(herder.hearing.clone(), keep));
        }
        let around = channels::Around {
            fleet: herder.fleet.clone(),
            locale: locale.clone(),
            redactor: redactor.clone(),
            rooms,
            networks: networks::places(&config),
        };
        let elsewhere = elsewhere.map(|known| (known.runners, known.tools));
        let doors = Doors { socket, calls, elsewhere, access, marks, http };
        herder.reload_on(Arc::clone(&options.reload), reloader);
        herder.start_edges(&config, options, around, doors, dispatcher);
        herder.say_first(&config, &opening).await;
        herder.tell_the_service_manager();
        Ok(herder)
    }

    /// Returns the handle to the agents' supervisors.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Starts networks, local socket, the agents' tool server and the web page; and the periodic upkeep.
    fn start_edges(
        &self,
        config: &Arc<Config>,
        mut options: Options,
        around: channels::Around,
        doors: Doors,
        dispatcher: Dispatcher,
    ) {
        let (inbound, heard) = mpsc::channel(INBOUND_CAPACITY);
        let (channels, wanted) = watch::channel(channels::wanted(&around, &[]));
        let (locale, redactor) = (&around.locale, &around.redactor);
        let (redactor_of_hooks, locale_of_page) = (redactor.clone(), locale.clone());
        // A restarted adapter must not wait longer than the configured maximum.
        let anew = options.patience.anew.min(config.networks.reconnect_max);
        let attempts = config.networks.attempts;
        for network in &config.irc {
            let Some(queue) = self.queues.get(&network.name) else { continue };
            let Some(marks) = doors.marks.get(&network.name) else { continue };
            self.tasks.spawn(marks::keep(marks.clone(), self.journal.clone(), self.hearing.clone()));
            let settings =
                networks::settings(network, config, &doors.access, options.patience, &around.rooms);
            let irc = networks::Irc {
                settings: irc::Settings {
                    marks: marks.clone(),
                    memory: irc::Memory::after(self.away),
                    ..settings
                },
                queue: Arc::clone(queue),
                inbound: inbound.clone(),
                channels: wanted.clone(),
                connector: options.connectors.remove(&network.name).unwrap_or(Connector::Network),
            };
            self.keep(network.name.clone(), networks::Adapter::Irc(Box::new(irc)), anew, attempts);
        }
        let of_discord = NetworkName::from(DISCORD_NETWORK);
        if let (Some(settings), Some(queue)) = (&config.discord, self.queues.get(&of_discord)) {
            let ports = discord::Ports {
                settings: settings.clone(),
                name: config.name.clone(),
                fleet: self.fleet.clone(),
                dispatcher: dispatcher.clone(),
                journal: self.journal.clone(),
                queue: Arc::clone(queue),
                channels: wanted.clone(),
                locale: locale.in_form(slash::line),
                redactor: redactor.clone(),
                hearing: self.hearing.clone(),
                rooms: around.rooms.clone(),
                longest_wait: config.networks.longest_wait(),
                memory: discord::Memory::default(),
                silence: Silence::of(self.away),
            };
            self.keep(of_discord, networks::Adapter::Discord(Box::new(ports)), anew, attempts);
        }
        for queue in self.queues.values() {
            let (queue, token) = (Arc::clone(queue), self.hearing.clone());
            self.tasks.spawn(async move { stop_with(token, queue.keep_settled()).await });
        }
        let speech = speech::Speech {
            dispatcher: dispatcher.clone(),
            queues: self.queues.clone(),
            fault: options.fault,
            rooms: around.rooms.clone(),
            marks: doors.marks,
        };
        self.tasks.spawn(speech.hear(heard, self.hearing.clone()));
        if let Some((calls, grants)) = doors.calls {
            let host = Host::new(host::Setup {
                fleet: self.fleet.clone(),
                rooms: around.rooms.clone(),
                networks: around.networks.clone(),
                channels: wanted,
                redactor: redactor.clone(),
                limits: config.tools,
                files: config.files,
                links: doors.http.as_ref().and_then(|opened| opened.files.clone()),
            });
            let shutdown = self.hearing.clone();
            if let Some(elsewhere) = doors.elsewhere {
                let (fleet, host, shutdown) = (self.fleet.clone(), host.clone(), shutdown.clone());
                self.tasks.spawn(elsewhere::serve(elsewhere, fleet, Some(host), shutdown));
            }
            match calls {
                Calls::Here(bound) => {
                    let running = Running::default();
                    self.tasks.spawn(runner_tools::serve(bound.into_parts(), grants, host, running, shutdown))
                }
                Calls::Runner(link) => self.tasks.spawn(tools::desk::serve(link, grants, host, shutdown)),
            };
        } else if let Some(elsewhere) = doors.elsewhere {
            self.tasks.spawn(elsewhere::serve(elsewhere, self.fleet.clone(), None, self.hearing.clone()));
        }
        let topics = channels::follow(around, channels);
        self.tasks.spawn(stop_with(self.hearing.clone(), topics));
        let (journal, fleet) = (self.journal.clone(), self.fleet.clone());
        let upkeep = keep_up("upkeep", move || upkeep::run(journal.clone(), fleet.clone()));
        self.tasks.spawn(stop_with(self.hearing.clone(), upkeep));
        if let Some(opened) = doors.http {
            let around =
                (dispatcher.clone(), doors.access.clone(), locale_of_page, redactor_of_hooks.clone());
            self.start_page(config, opened, around);
        }
        self.tasks.spawn(doors.socket.serve(dispatcher, self.hearing.clone()));
        self.start_hooks(config, redactor_of_hooks);
    }

    /// Starts the task that reloads the configuration at every notification of `rings`.
    fn reload_on(&self, rings: Arc<Notify>, reloader: Reloader) {
        let rung = async move {
            loop {
                rings.notified().await;
                service::reloading();
                reloader.reload_for_signal().await;
                service::ready();
            }
        };
        self.tasks.spawn(stop_with(self.hearing.clone(), rung));
    }

    fn keep(&self, network: NetworkName, adapter: networks::Adapter, anew: Duration, attempts: u32) {
        let (fleet, shutdown) = (self.fleet.clone(), self.speaking.clone());
        // A final refusal needs a change of the settings; a ban is none, and is waited for.
        let is_only = self.queues.len() == 1;
        self.tasks.spawn(networks::keep(networks::Link {
            refused: is_only.then(|| self.refused.clone()),
            network,
            adapter,
            anew,
            attempts,
            fleet,
            shutdown,
        }));
    }

    /// Posts the first notices of a run: how long herder was away, and a warning if nobody may give commands.
    async fn say_first(&self, config: &Config, opening: &Opening) {
        let mut notices = Vec::new();
        if let Some(from) = opening.last_commit {
            // The time of the last sign of life: messages since then did not reach herder.
            let to = clock::now();
            let sessions = u32::try_from(self.fleet.went_on()).unwrap_or(u32::MAX);
            let notice = match sessions {
                0 => Notice::Away { from, to },
                sessions => Notice::WentOn { away: to.since(from), sessions },
            };
            notices.push((Target::Control, notice));
        }
        if Access::new(&config.access).nobody() {
            // The log has it already, from the configuration.
            notices.push((Target::Control, Notice::NobodyConfigured));
        }
        let Unreadable { events, posts, version } = self.journal.unreadable();
        if !events.is_empty() || !posts.is_empty() {
            let (events, posts) = (events.len() as u64, posts.len() as u64);
            error!(
                events,
                posts, version, "a newer herder wrote what this one cannot read; it is kept and left out"
            );
            notices.push((Target::Alerts, Notice::EntriesUnreadable { events, posts, version }));
        }
        for (to, notice) in notices {
            self.say(&to, &notice);
        }
    }

    /// Posts a notice on every network without storing it, because it is of no use after a restart.
    fn say(&self, to: &Target, notice: &Notice) {
        for (network, queue) in &self.queues {
            queue.push(urgent(network, to, notice));
        }
    }
}

/// Parts that are opened early in a start and passed to the tasks that use them.
struct Doors {
    socket: Bound,
    calls: Option<(Calls, Grants)>,
    /// Runners on other machines, with the right to herder's tools there; `None` if no servers are configured.
    elsewhere: Option<(Runners, Option<Grants>)>,
    access: Access,
    /// Read marks of the channels, by IRC network.
    marks: BTreeMap<NetworkName, irc::Marks>,
    /// The listener of the web page and the API; `None` if disabled.
    http: Option<page::Opened>,
}

async fn open_journal(config: &Config) -> Result<(Journal, Opening), RunError> {
    let settings = journal::Settings::new(config.data_dir.clone(), config.history.clone());
    Ok(tokio::task::spawn_blocking(move || Journal::open(&settings)).await??)
}
