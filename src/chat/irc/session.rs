//! One registered link, as a state machine without I/O: lines and time go in, [`Effect`]s come out.
//!
//! It combines the other files: our nick and the server's properties (`nick`, `isupport`), our channels (`channels`),
//! live speech (`replay`) and its authors (`identity`), posts in flight (`delivery`). `link` moves bytes and time in
//! and performs the effects; `registration` comes before.

mod census;
mod lines;
mod past;
mod posting;
mod presence;
mod roster;
mod services;
mod speech;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::channels::{Channels, Trouble};
use super::delivery::Flight;
use super::history::History;
use super::identity::Lookups;
use super::isupport::ISupport;
use super::netsplit::Netsplits;
use super::nick::OwnNick;
use super::persons::Persons;
use super::ping::{Idle, Silence};
use super::registration::{Caps, Registered};
use super::replay::{Replay, SeenIds};
use super::wire::Outgoing;
use super::{Closing, Settings};
use crate::chat;
use crate::chat::reconnect::Backoff;
use crate::core::detail::{Detail, LinkReason};
use crate::core::id::PostId;
use crate::core::link::ChannelWanted;
use crate::core::notice::Notice;
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::speech::Inbound;
use crate::core::time::Timestamp;
use crate::outbox::Window;

/// Maximum time to wait for the answers to the first JOINs before posts are sent anyway.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);
/// First wait before the login at NickServ is tried again if NickServ was absent; it doubles.
const IDENTIFY_AGAIN: Duration = Duration::from_secs(15);
/// Maximum wait before the login at NickServ is tried again, see [`IDENTIFY_AGAIN`].
const IDENTIFY_AGAIN_MAX: Duration = Duration::from_secs(600);
/// Maximum number of agents' channels in which herder's absence is announced. With more agents only the control channel
/// is told, because one line for each would delay alerts for minutes on a server that throttles.
const AWAY_CHANNELS_MAX: usize = 20;

/// The wall clock and the monotonic clock, read at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    /// Time by the wall clock, for people and the journal.
    pub(crate) wall: Timestamp,
    /// Time by the monotonic clock, for timeouts.
    pub(crate) mono: Instant,
}

/// State of a network that outlives a link to it.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    /// Ids of messages that were seen, by which repeated ones are recognised.
    pub(crate) seen: SeenIds,
    /// Time at which the last link was lost; `None` before that, or once the absence was announced.
    pub(crate) lost_at: Option<Timestamp>,
    /// Last number of a fence (PING) or label. It continues across links, so that a late answer to an earlier link
    /// matches none of this link's.
    pub(crate) numbers: u64,
    /// The services' reason for refusing herder's password; `None` unless they have refused it.
    pub(crate) unidentified: Option<Detail>,
    /// True if people were told that topics cannot be set.
    pub(crate) topic_denial_told: bool,
    /// Operators seen on the network, and the alerts that they missed in a netsplit.
    pub(crate) netsplits: Netsplits,
    /// Lines of people that the dispatcher has not taken yet.
    pub(crate) unheard: VecDeque<Inbound>,
    /// The time in which no line could be sent.
    pub(crate) silence: chat::Silence,
    /// The wait between connection attempts; a restarted adapter waits as long as one that continues.
    pub(crate) backoff: Backoff,
}

impl Lasting {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// An action that the session requests of its link.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send this line to the server.
    Send(Outgoing),
    /// Pass this line of a person to the dispatcher.
    Hear(Inbound),
    /// Queue this post, which is not stored in the journal.
    Post(Post),
    /// Report that the link is up: the channels are joined, and queued posts can be sent.
    Up,
    /// Report the state of the login again, because the services have answered.
    Known,
    /// A window has ended: the first part is confirmed by the server, the second has to be sent again.
    Landed(Window, Window),
    /// End the link, for this reason.
    Close(Closing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server sends its greeting after reply 001. Channels are joined when it ends, or when the PING numbered
    /// `fence` is answered.
    Greeting { fence: u64 },
    /// Channels are being joined, at most until this time.
    Joining { until: Instant },
    /// The channels are joined, so that posts can be sent.
    Up,
}

/// The state machine of one link after the registration. It does no I/O: effects tell the link what to do.
pub(crate) struct Session<'a> {
    settings: &'a Settings,
    lasting: &'a mut Lasting,
    wanted: Vec<ChannelWanted>,
    caps: Caps,
    logged_in: bool,
    /// Time of the next login at NickServ; `None` if none is due.
    identify_at: Option<Instant>,
    nickserv_missed: u32,
    /// True if NickServ is addressed only by its nick from now on, because `NickServ@server` did not work.
    nickserv_only_by_nick: bool,
    told: services::Told,
    server: ISupport,
    nick: OwnNick,
    /// herder's own user and host, as others see them; `None` while they are unknown.
    own: Option<(String, String)>,
    phase: Phase,
    /// True once the first fence (PING) was answered: private messages are live, not replayed, from then on.
    live: bool,
    channels: Channels,
    lookups: Lookups,
    persons: Persons,
    census: census::Census,
    replay: Replay,
    history: History,
    absences: past::Absences,
    idle: Idle,
    flight: Option<Flight>,
    unproven: posting::Unproven,
    answers: Vec<posting::BatchedAnswer>,
    setbacks: Vec<posting::Setback>,
    effects: Vec<Effect>,
}

impl<'a> Session<'a> {
    /// Starts a session after the registration.
    pub(crate) fn new(
        settings: &'a Settings,
        lasting: &'a mut Lasting,
        wanted: Vec<ChannelWanted>,
        registered: Registered,
        now: Now,
    ) -> Self {
        let server = ISupport::default();
        settings.rooms.link_began(&settings.network.name);
        if !registered.caps.tell_the_past() {
            // Without history this session does not track speech, so that a later link must not request it.
            settings.marks.keep(|_| false);
        }
        let absences = past::Absences::since(lasting.lost_at);
        let fence = lasting.number();
        let nick = OwnNick::new(&settings.network.nick, registered.nick, now.mono);
        let mut session = Self {
            channels: Channels::new(&settings.network, &wanted, &server, now.mono),
            settings,
            lasting,
            wanted,
            caps: registered.caps,
            logged_in: registered.logged_in,
            identify_at: None,
            nickserv_missed: 0,
            nickserv_only_by_nick: false,
            told: services::Told::Nothing,
            server,
            nick,
            own: None,
            phase: Phase::Greeting { fence },
            live: false,
            lookups: Lookups::default(),
            persons: Persons::default(),
            census: census::Census::default(),
            replay: Replay::default(),
            history: History::default(),
            absences,
            idle: Idle::new(settings.patience, now.mono),
            flight: None,
            unproven: posting::Unproven::default(),
            answers: Vec::new(),
            setbacks: Vec::new(),
            effects: Vec::new(),
        };
        if session.logged_in {
            session.known();
        }
        session.identify(now);
        session.fence(fence, now);
        session
    }

    /// Takes the effects that were requested since the last call.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns true if the next window of lines can be sent.
    pub(crate) fn wants_window(&self) -> bool {
        self.phase == Phase::Up && self.flight.is_none()
    }

    /// Returns true if a window of lines was sent and is not confirmed yet.
    pub(crate) fn in_flight(&self) -> bool {
        self.flight.is_some()
    }

    fn send(&mut self, line: Outgoing) {
        self.effects.push(Effect::Send(line));
    }

    fn fence(&mut self, number: u64, now: Now) {
        self.idle.asked(now.mono);
        self.send(Outgoing::new("PING").text(format!("f{number}")));
    }

    /// Returns the time at which [`Session::tick`] has to be called.
    pub(crate) fn deadline(&self) -> Instant {
        let settle = match self.phase {
            Phase::Joining { until } => Some(until),
            Phase::Greeting { .. } | Phase::Up => None,
        };
        let channels =
            if matches!(self.phase, Phase::Greeting { .. }) { None } else { self.channels.deadline() };
        let flight = self.flight.as_ref().map(Flight::deadline);
        let past = self.history.deadline();
        // The census does not run before the greeting is over.
        let census = if matches!(self.phase, Phase::Greeting { .. }) { None } else { self.census.deadline() };
        let questions = [self.lookups.deadline(), self.persons.deadline(), census];
        [settle, channels, flight, past, self.nick.deadline(), self.identify_at]
            .into_iter()
            .chain(questions)
            .flatten()
            .fold(self.idle.deadline(), Instant::min)
    }

    /// Handles the timeouts that have passed.
    pub(crate) fn tick(&mut self, now: Now) {
        if self.flight.as_ref().is_some_and(|flight| flight.deadline() <= now.mono) {
            let waited = self.settings.patience.flight;
            self.away_since_silent(now);
            self.close(Closing::Lost(LinkReason::LinesNotAnswered { waited }.into()));
            return;
        }
        match self.idle.check(now.mono) {
            Some(Silence::Dead) => {
                self.away_since_silent(now);
                self.close(Closing::Lost(LinkReason::FellSilent.into()));
            }
            Some(Silence::Ask) => self.send(Outgoing::new("PING").text("idle")),
            None => {}
        }
        for (heard, answer) in self.lookups.expired(now.mono, &self.server) {
            self.speak(heard, &answer);
        }
        self.persons.expired(now.mono);
        self.past_expired(now);
        self.go_on(now);
        if self.identify_at.take_if(|at| *at <= now.mono).is_some() {
            self.identify(now);
        }
        if let Some(nick) = self.nick.due(now.mono) {
            let line = Outgoing::new("NICK").word(nick);
            self.send(line);
        }
    }

    /// Takes the beginning of the server's silence, not the end of the timeout, as the time at which the link was lost.
    fn away_since_silent(&mut self, now: Now) {
        if self.phase == Phase::Up {
            let since = now.wall.before(self.idle.silent_for(now.mono));
            self.lasting.lost_at.get_or_insert(since);
            let heard = now.mono.checked_sub(self.idle.silent_for(now.mono));
            self.lasting.silence.begins(heard.unwrap_or(now.mono));
        }
    }

    /// Ends the time in which no line could be sent, and returns its duration.
    pub(crate) fn absence_ends(&mut self, now: Instant) -> Duration {
        self.lasting.silence.ends(now)
    }

    /// Keeps people's lines that the dispatcher has not taken yet, for the next link.
    pub(crate) fn keep_unheard(&mut self, unheard: VecDeque<Inbound>) {
        self.lasting.unheard = unheard;
    }

    /// Extends the timeouts while the link does not read from the server.
    pub(crate) fn not_listening(&mut self, now: Now) {
        self.idle.heard(now.mono);
        self.history.not_listening(now.mono);
    }

    /// Replaces the list of channels that herder wants to be in.
    pub(crate) fn want(&mut self, wanted: Vec<ChannelWanted>, now: Now) {
        if matches!(self.phase, Phase::Greeting { .. }) {
            self.channels = Channels::new(&self.settings.network, &wanted, &self.server, now.mono);
        } else {
            let leave = self.channels.want(&wanted, &self.server, now.mono);
            self.effects.extend(leave.into_iter().map(Effect::Send));
            self.follow_wanted();
        }
        self.wanted = wanted;
        self.go_on(now);
    }

    /// Sends the JOINs, topics and requests that are due; does nothing during the server's greeting.
    fn go_on(&mut self, now: Now) {
        if matches!(self.phase, Phase::Greeting { .. }) {
            return;
        }
        let due = self.channels.due(&self.server, now.mono);
        self.effects.extend(due.into_iter().map(Effect::Send));
        if self.channels.needs_fence() {
            let fence = self.lasting.number();
            self.channels.fence(fence);
            self.fence(fence, now);
        }
        let lasting = &mut *self.lasting;
        if let Some((query, fence)) = self.lookups.next_query(&self.server, now.mono, || lasting.number()) {
            self.send(query);
            self.fence(fence, now);
        }
        self.ask_for_past(now);
        self.ask_who_is_there(now);
        if let Phase::Joining { until } = self.phase
            && (until <= now.mono || self.channels.settled())
        {
            self.phase = Phase::Up;
            self.say_we_are_back(now);
            self.effects.push(Effect::Up);
        }
    }

    /// Handles the end of the server's greeting: joins the channels.
    fn greeted(&mut self, now: Now) {
        if !matches!(self.phase, Phase::Greeting { .. }) {
            return;
        }
        // Only now is the server's case mapping known.
        self.channels = Channels::new(&self.settings.network, &self.wanted, &self.server, now.mono);
        if let Some(mode) = self.server.bot_mode {
            let line = Outgoing::new("MODE").word(self.nick.current()).word(format!("+{mode}"));
            self.send(line);
        }
        self.follow_wanted();
        self.phase = Phase::Joining { until: now.mono + SETTLE_TIMEOUT };
        self.go_on(now);
    }

    /// Announces herder's return before the queued posts: a `HEARTBEAT` line for programs, and the time of the absence
    /// in channels whose missed lines cannot be fetched.
    fn say_we_are_back(&mut self, now: Now) {
        let Some(from) = self.lasting.lost_at.take() else { return };
        let beat = Notice::WorkLine { line: format!("HEARTBEAT {}", self.settings.name) };
        self.post(Target::Work, Body::Notice(beat), now);
        for target in self.told_of_absences() {
            let name = self.channels.name_of(&target);
            if !name.is_some_and(|name| self.absences.is_made_up_for(&name) || self.history.covers(&name)) {
                self.post(target, Body::Notice(Notice::Away { from, to: now.wall }), now);
            }
        }
    }

    /// Returns the targets to which herder's absence is announced: the control channel and, if there are few, the
    /// agents' channels.
    fn told_of_absences(&self) -> Vec<Target> {
        let agents = self.wanted.iter().map(|wish| wish.target.clone());
        let mut agents: Vec<Target> = agents.filter(|target| matches!(target, Target::Agent(_))).collect();
        if agents.len() > AWAY_CHANNELS_MAX {
            agents.clear();
        }
        agents.insert(0, Target::Control);
        agents
    }

    /// Queues an urgent post that is not stored in the journal, so that it precedes the queued posts that it explains.
    fn post(&mut self, to: Target, body: Body, now: Now) {
        self.effects.push(Effect::Post(Post {
            id: PostId(0),
            network: self.settings.network.name.clone(),
            to,
            lane: Lane::Urgent,
            at: now.wall,
            body,
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        }));
    }

    fn close(&mut self, closing: Closing) {
        self.effects.push(Effect::Close(closing));
    }

    /// Returns true if a nick is herder's own.
    fn is_us(&self, nick: &str) -> bool {
        self.server.case.same(nick, self.nick.current())
    }

    /// Handles reply 482: herder may not set a channel's topic. That is announced once, not for every channel and link.
    fn topic_denied(&mut self, name: &str, now: Now) {
        let denied = self.channels.topic_denied(name, &self.server);
        if let Some(channel) =
            denied.filter(|_| !std::mem::replace(&mut self.lasting.topic_denial_told, true))
        {
            let network = self.settings.network.name.clone();
            self.post(Target::Control, Body::Notice(Notice::TopicDenied { network, channel }), now);
        }
    }

    /// Announces that a channel has become unavailable; `None` announces nothing.
    fn tell(&mut self, trouble: Option<Trouble>, now: Now) {
        let Some(Trouble { channel, reason }) = trouble else { return };
        let network = self.settings.network.name.clone();
        let notice = Notice::ChannelUnavailable { network, channel, reason };
        self.post(Target::Control, Body::Notice(notice), now);
    }
}
