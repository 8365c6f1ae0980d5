//! The gateway connection, run by serenity and supervised here.
//!
//! serenity's shard manager runs on a thread of its own ([`session`]), because it can enter a loop that never yields
//! and because nothing else ends all of its tasks. Its events go to the parts of the adapter ([`events`]). This room
//! decides how often it may connect ([`pace`]), since serenity has no backoff. A link that does not come up, or is
//! dead without saying so ([`watch`]), is ended and started again; one that Discord refuses for good ([`refusal`])
//! ends the adapter. Some state outlives the adapter ([`memory`]).

mod events;
mod memory;
mod overheard;
mod pace;
mod refusal;
mod session;
mod turnstile;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serenity::all::{ApplicationFlags, ApplicationId, BotGateway, GatewayIntents, UserId};
use tokio::sync::watch::Receiver;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::inbound::Heard;
use super::membership::Membership;
use super::rest::{Rest, RestError};
use super::{Bot, network, permission, report};
use crate::clock;
use crate::core::detail::{Detail, DiscordReason};
use crate::core::id::PostId;
use crate::core::link::{LinkReport, LinkState};
use crate::core::notice::Notice;
use crate::core::post::{Body, Lane, Post, Target};
use crate::journal::Memo;
use events::{Fanout, Up};
use memory::Borrowed;
pub use memory::Memory;
use session::{Ended, Session};
use turnstile::Turnstile;
use watch::Watch;

/// Interval of the checks whether serenity's thread still responds, while the link is not up.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// Interval of the checks whether serenity's thread still responds, while the link is up.
const ASK_SELDOM: Duration = Duration::from_secs(20);
/// Timeout of the request for the bot's identity and the gateway.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Number of failed connection attempts after which herder logs in by itself to learn Discord's reason: a single
/// failure may be chance.
const ASK_WHY_AFTER: u32 = 2;
/// Discord's minimum time between two logins; an earlier one is answered with an invalid session.
const LOGIN_EVERY: Duration = Duration::from_secs(5);
/// Interval of requests for the login limit while Discord allows no further login.
const LOGINS_EVERY: Duration = Duration::from_secs(15);
/// Key in the journal of the note that people were told that the Message Content intent is missing.
const TOLD: &str = "discord/told/no-content";

/// The bot's identity at Discord, and the gateway to connect to.
pub(super) struct Introduced {
    pub(super) me: UserId,
    pub(super) application: ApplicationId,
    /// True if the Message Content intent is enabled, so that the text of messages is sent.
    pub(super) content: bool,
    gateway: BotGateway,
}

/// Requests the bot's identity until Discord answers. Returns `None` if herder shuts down or Discord refuses the token.
pub(super) async fn introduce(
    rest: &Rest,
    memory: &Memory,
    longest: u32,
    reports: &mpsc::Sender<LinkReport>,
    shutdown: &CancellationToken,
) -> Option<Introduced> {
    let mut memory = memory.borrow();
    memory.pace.goes_on(longest);
    loop {
        let asked = tokio::select! {
            asked = ask(rest) => asked,
            () = shutdown.cancelled() => return None,
        };
        let reason = match asked {
            Ok(introduced) => return Some(introduced),
            Err(error) if error.is_unknown_token() => {
                let reason = Detail::from(DiscordReason::Token);
                error!(%reason, "Discord is given up for good");
                report(reports, LinkState::Refused { reason }).await;
                return None;
            }
            Err(error) => Detail::from(error),
        };
        let wait = memory.pace.failed(Instant::now(), jitter());
        warn!(%reason, ?wait, "Discord cannot be asked");
        let attempts = memory.pace.attempts();
        report(reports, LinkState::Connecting { attempts, reason: Some(reason) }).await;
        if !pause(wait, shutdown).await {
            return None;
        }
    }
}

async fn ask(rest: &Rest) -> Result<Introduced, RestError> {
    let rest = rest.within(ANSWER_WITHIN);
    let gateway = rest.gateway_bot().await?;
    let me = rest.current_user().await?.id;
    let application = rest.application().await?;
    let flags = application.flags.unwrap_or(ApplicationFlags::empty());
    let content = flags.intersects(
        ApplicationFlags::GATEWAY_MESSAGE_CONTENT | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED,
    );
    Ok(Introduced { me, application: application.id, content, gateway })
}

/// The reason why a session with the gateway ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Shutdown,
    /// The link was lost; another session may work.
    Lost(Detail),
    /// Discord refused the bot with this close code, for good.
    Refused(u16),
    /// serenity's thread hangs and has to be abandoned.
    Stuck,
}

impl End {
    fn of(ended: Ended) -> Self {
        match ended {
            Ended::GaveUp(None) => Self::Lost(DiscordReason::ThreadDied.into()),
            Ended::GaveUp(Some(error)) => match refusal::code(&error) {
                Some(code) => Self::Refused(code),
                None => Self::Lost(error.to_string().into()),
            },
            Ended::Hangs(code) if refusal::reason(code).is_some() => Self::Refused(code),
            Ended::Hangs(_) => Self::Lost(DiscordReason::Broke.into()),
        }
    }
}

/// Keeps the link to the gateway up until `shutdown`, or until Discord refuses the bot for good.
pub(super) async fn keep(
    bot: Arc<Bot>,
    introduced: Introduced,
    events: mpsc::Sender<Heard>,
    shutdown: CancellationToken,
) {
    let (fanout, ups) = Fanout::new(Arc::clone(&bot), events);
    let membership = bot.membership.subscribe();
    let memory = bot.ports.memory.borrow();
    let gateway = introduced.gateway;
    let told = Instant::now();
    let mut keeper = Keeper { bot, gateway, told, tries: 0, fanout, ups, memory, membership };
    keeper.tell_of_content().await;
    // The last adapter may have ended during a wait.
    if let Some(opens) = keeper.memory.pace.opens()
        && !pause(opens.saturating_duration_since(Instant::now()), &shutdown).await
    {
        return;
    }
    loop {
        if !keeper.may_start(&shutdown).await {
            return;
        }
        let end = keeper.session(&shutdown).await;
        let judged = tokio::select! {
            judged = keeper.judge(end) => judged,
            () = shutdown.cancelled() => return,
        };
        let Some(reason) = judged else { return };
        let now = Instant::now();
        let wait = keeper.memory.pace.failed(now, jitter());
        // The next session logs in, and the last attempt may have logged in just now.
        let wait = wait.max(
            keeper.memory.tried.map_or(wait, |tried| (tried + LOGIN_EVERY).saturating_duration_since(now)),
        );
        keeper.memory.pace.hold(now + wait);
        warn!(%reason, ?wait, "not connected to Discord");
        keeper.connecting(reason).await;
        if !pause(wait, &shutdown).await || !keeper.ask_anew(&shutdown).await {
            return;
        }
    }
}

struct Keeper {
    bot: Arc<Bot>,
    gateway: BotGateway,
    /// Time at which Discord last stated the gateway's address and the login limit.
    told: Instant,
    /// Number of connection attempts since Discord last stated the login limit.
    tries: u64,
    fanout: Arc<Fanout>,
    ups: mpsc::Receiver<Up>,
    memory: Borrowed,
    membership: Receiver<Membership>,
}

impl Keeper {
    fn shards(&self) -> u32 {
        self.gateway.shards.max(1)
    }

    fn intents(&self) -> GatewayIntents {
        let content =
            if self.bot.sees_content() { GatewayIntents::MESSAGE_CONTENT } else { GatewayIntents::empty() };
        GatewayIntents::GUILDS | GatewayIntents::GUILD_MESSAGES | GatewayIntents::DIRECT_MESSAGES | content
    }

    async fn connecting(&self, reason: Detail) {
        let attempts = self.memory.pace.attempts();
        self.bot.report(LinkState::Connecting { attempts, reason: Some(reason) }).await;
    }

    /// Waits while Discord allows no more logins today. Returns false if herder shuts down.
    async fn may_start(&mut self, shutdown: &CancellationToken) -> bool {
        let limit = &self.gateway.session_start_limit;
        if limit.remaining >= u64::from(self.shards()) {
            return true;
        }
        let wait = Duration::from_millis(limit.reset_after);
        let reason = Detail::from(DiscordReason::Logins { total: limit.total, within: wait });
        error!(%reason, "Discord has to be waited for");
        self.connecting(reason).await;
        pause(wait, shutdown).await && self.ask_anew(shutdown).await
    }

    fn learn(&mut self, gateway: BotGateway) {
        (self.gateway, self.told, self.tries) = (gateway, Instant::now(), 0);
    }

    /// Returns the time at which the login limit is requested again, while no login is allowed.
    fn asks_for_logins_at(&self, is_up: bool) -> Instant {
        self.told + if is_up { LOGINS_EVERY * 4 } else { LOGINS_EVERY }
    }

    /// Returns true if serenity may make another attempt, which may be a login: Discord revokes the token of a bot that
    /// logs in beyond the limit, and serenity does not check it. The limit is requested again when the known number is
    /// used up.
    ///
    /// While the link is up there is no hurry, and the request is made less often.
    async fn may_log_in(&mut self, is_up: bool) -> bool {
        let is_left = |keeper: &Self| keeper.gateway.session_start_limit.remaining > keeper.tries;
        if is_left(self) {
            return true;
        }
        if self.tries > 0 || self.asks_for_logins_at(is_up) <= Instant::now() {
            let was_left = self.gateway.session_start_limit.remaining > 0;
            match self.bot.rest.within(ANSWER_WITHIN).gateway_bot().await {
                Ok(gateway) => self.learn(gateway),
                Err(error) => {
                    warn!(%error, "Discord does not say how often it may be logged in to");
                    (self.told, self.tries) = (Instant::now(), 0);
                    self.gateway.session_start_limit.remaining = 0;
                }
            }
            if was_left && !is_left(self) {
                error!("Discord allows no more logins for now");
            }
        }
        is_left(self)
    }

    /// Requests the gateway's address and the login limit again. Returns false if herder shuts down.
    async fn ask_anew(&mut self, shutdown: &CancellationToken) -> bool {
        loop {
            let asked = tokio::select! {
                asked = self.bot.rest.gateway_bot() => asked,
                () = shutdown.cancelled() => return false,
            };
            match asked {
                Ok(gateway) => {
                    self.learn(gateway);
                    return true;
                }
                Err(error) => {
                    let wait = self.memory.pace.failed(Instant::now(), jitter());
                    warn!(%error, ?wait, "Discord does not say where its gateway is");
                    self.connecting(error.into()).await;
                    if !pause(wait, shutdown).await {
                        return false;
                    }
                }
            }
        }
    }

    /// Handles the end of a session. Returns the reason for another attempt, or `None` if no attempt can help.
    async fn judge(&mut self, end: End) -> Option<Detail> {
        let (code, reason) = match end {
            End::Shutdown => return None,
            End::Refused(code) => (Some(code), Detail::default()),
            End::Stuck => (self.ask_why().await, DiscordReason::Stuck.into()),
            End::Lost(reason) => {
                let why =
                    if self.memory.pace.fruitless() >= ASK_WHY_AFTER { self.ask_why().await } else { None };
                (why, reason)
            }
        };
        let Some(for_good) = code.and_then(refusal::reason) else { return Some(reason) };
        if code == Some(refusal::DISALLOWED_INTENTS) && self.bot.sees_content() {
            self.bot.content.store(false, std::sync::atomic::Ordering::Relaxed);
            self.tell_of_content().await;
            return Some(DiscordReason::NoContent.into());
        }
        error!(reason = %for_good, "Discord is given up for good");
        self.bot.report(LinkState::Refused { reason: for_good.into() }).await;
        None
    }

    /// Logs in once, if the limit allows it, to learn the close code with which Discord refuses the bot. Not called
    /// while serenity connects, since both would disturb each other.
    async fn ask_why(&mut self) -> Option<u16> {
        if !self.may_log_in(false).await {
            return None;
        }
        self.tries += 1;
        let token = self.bot.ports.settings.token.expose_secret().trim();
        let code = refusal::ask(&self.gateway.url, token, self.intents(), self.shards()).await;
        self.memory.pace.hold(Instant::now() + LOGIN_EVERY);
        code
    }

    /// Runs one session with the gateway from start to end, and returns the reason of its end.
    async fn session(&mut self, shutdown: &CancellationToken) -> End {
        let address = Arc::new(Mutex::new(self.gateway.url.clone()));
        // Closed before serenity starts, and until it has ended.
        let turnstile = Turnstile::new(Arc::clone(&address));
        let (intents, fanout) = (self.intents(), Arc::clone(&self.fanout));
        let way = (address, turnstile.clone());
        let started = Session::start(&self.bot.rest, self.shards(), way, intents, fanout);
        let mut session = match started.await {
            Ok(session) => session,
            Err(reason) => return End::Lost(DiscordReason::Thread.with(reason.to_string())),
        };
        let shards = self.shards();
        self.memory.pace.begin(shards);
        while self.ups.try_recv().is_ok() {}
        let end = self.watch(&mut session, &turnstile, shutdown).await;
        if end != End::Shutdown {
            session.unstick().await;
        }
        session.close().await;
        end
    }

    async fn watch(
        &mut self,
        session: &mut Session,
        turnstile: &Turnstile,
        shutdown: &CancellationToken,
    ) -> End {
        let mut watch = Watch::new(self.shards(), Instant::now());
        // The times at which the turnstile may open, and at which serenity's thread is checked.
        let (mut opens, mut asks) = (Instant::now(), Instant::now() + ASK_EVERY);
        let mut stopped = self.bot.rest.stopped();
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return End::Shutdown,
                ended = session.ended() => return End::of(ended),
                up = self.ups.recv() => {
                    if let Some(up) = up && watch.up(up.shard, Instant::now()) {
                        self.memory.pace.up(Instant::now());
                        info!(shards = self.shards(), "connected to Discord");
                        self.up().await;
                    }
                }
                Ok(()) = self.membership.changed() => {
                    if watch.is_up() {
                        self.up().await;
                    }
                }
                Ok(()) = stopped.changed() => {
                    let refused = *stopped.borrow_and_update();
                    self.stopped(refused, watch.is_up()).await;
                }
                () = turnstile.passed() => {
                    let now = Instant::now();
                    watch.tried(now);
                    self.tries += 1;
                    self.memory.tried = Some(now);
                    if self.memory.pace.tried(now, jitter()) {
                        self.connecting(DiscordReason::Broke.into()).await;
                    }
                    opens = self.memory.pace.opens().unwrap_or(now);
                    asks = asks.min(now + ASK_EVERY);
                }
                () = tokio::time::sleep_until(opens), if !turnstile.is_open() => {
                    let may_log_in = tokio::select! {
                        may = self.may_log_in(watch.is_up()) => may,
                        () = shutdown.cancelled() => return End::Shutdown,
                    };
                    if !may_log_in {
                        opens = self.asks_for_logins_at(watch.is_up());
                    } else if watch.may_ask(self.memory.pace.fruitless() >= ASK_WHY_AFTER) {
                        let code = tokio::select! {
                            code = self.ask_why() => code,
                            () = shutdown.cancelled() => return End::Shutdown,
                        };
                        if let Some(code) = code.filter(|code| refusal::reason(*code).is_some()) {
                            return End::Refused(code);
                        }
                        opens = self.memory.pace.opens().unwrap_or(opens);
                    } else {
                        turnstile.open();
                    }
                }
                () = tokio::time::sleep_until(asks) => {
                    if !session.answers().await {
                        return End::Stuck;
                    }
                    let (pulse, now) = (session.pulse().await, Instant::now());
                    if let Some(reason) = watch.look(self.fanout.seen(), pulse, self.memory.pace.is_open(now), now) {
                        return End::Lost(reason.into());
                    }
                    asks = now + if watch.is_well() { ASK_SELDOM } else { ASK_EVERY };
                }
            }
        }
    }

    /// Reports whether requests to Discord are stopped because many were refused: `refused` is their number, `None` if
    /// they continue.
    async fn stopped(&mut self, refused: Option<u32>, is_up: bool) {
        match refused {
            Some(refused) => {
                let reason = Detail::from(DiscordReason::Stopped { refused });
                warn!(%reason, "requests to Discord are refused");
                self.bot.report(LinkState::Connecting { attempts: 0, reason: Some(reason) }).await;
            }
            None if is_up => self.up().await,
            None => {}
        }
    }

    /// Handles that all shards are connected, or that the bot's membership of the server has changed.
    async fn up(&mut self) {
        let membership = *self.membership.borrow_and_update();
        if membership == Membership::Outside {
            return self.outside().await;
        }
        if let Some(since) = self.memory.outside.take() {
            info!("the bot is in its server again");
            let down_for = clock::now().since(since);
            let back = Notice::NetworkUp { network: network(), down_for };
            self.bot.ports.fleet.alert_elsewhere(back, &network()).await;
        }
        if std::mem::replace(&mut self.memory.was_up, true) {
            let line = format!("HEARTBEAT {}", self.bot.ports.name);
            self.say(Target::Work, Body::Notice(Notice::WorkLine { line }));
        }
        self.bot.report(LinkState::Up { since: clock::now(), unidentified: None }).await;
    }

    /// Reports a connected bot that is not a member of the server: nothing can be read or posted until somebody invites
    /// it.
    async fn outside(&mut self) {
        if self.memory.outside.is_none() {
            self.memory.outside = Some(clock::now());
            let (application, guild) = (self.bot.application.get(), self.bot.guild().get());
            let invite = permission::invite(application, guild);
            error!(guild, invite, "the bot is not in its server on Discord; let it in with this link");
            let notice = Notice::NotInvited { network: network(), invite };
            self.bot.ports.fleet.alert_elsewhere(notice, &network()).await;
        }
        let reason = Some(DiscordReason::Outside.into());
        self.bot.report(LinkState::Connecting { attempts: 0, reason }).await;
    }

    /// Announces, once, which functions do not work without the Message Content intent.
    async fn tell_of_content(&self) {
        let journal = self.bot.ports.journal.clone();
        let read = tokio::task::spawn_blocking(move || journal.memos(TOLD)).await;
        let told = matches!(read, Ok(Ok(found)) if !found.is_empty());
        let sees = self.bot.sees_content();
        if told != sees {
            return;
        }
        let value = (!sees).then(|| "true".to_owned());
        if let Err(reason) = self.bot.ports.journal.remember(vec![Memo { key: TOLD.to_owned(), value }]).await
        {
            warn!(%reason, "it could not be noted what was said of the intents");
        }
        if !sees {
            let text = self.bot.ports.locale.text("discord-no-content", &[]);
            warn!("the Message Content intent is not switched on");
            self.say(Target::Control, Body::Lines(vec![text]));
        }
    }

    /// Queues a post that is not stored in the journal.
    fn say(&self, to: Target, body: Body) {
        self.bot.ports.queue.push(Post {
            id: PostId::default(),
            network: network(),
            to,
            lane: Lane::Urgent,
            at: clock::now(),
            body,
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        });
    }
}

/// Waits for this time; returns false if herder shuts down meanwhile.
async fn pause(wait: Duration, shutdown: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = shutdown.cancelled() => false,
    }
}

/// Returns a random number between 0 and 1, or 0.5 if the system has no randomness: then only the spread is lost.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}
