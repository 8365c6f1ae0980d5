//! One registered link, as a state machine without I/O: lines and time go in, [`Effect`]s come out.
//!
//! It puts together what the other files know: who we are and what the server is (`nick`, `isupport`), where we are
//! (`channels`), what is live (`replay`) and whose it is (`identity`), what is on its way (`delivery`). `link` moves
//! bytes and time in and effects out; `registration` comes before.

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
use crate::chat::reconnect::Backoff;
use crate::chat::{ChannelWanted, Inbound};
use crate::core::detail::{Detail, LinkReason};
use crate::core::id::PostId;
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::outbox::{Body, Lane, Post, Target, Window};

/// The longest wait for the answers to our first JOINs before the rest goes on without them.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long NickServ is waited for when it is not there, at first and at most.
const IDENTIFY_AGAIN: Duration = Duration::from_secs(15);
/// See [`IDENTIFY_AGAIN`].
const IDENTIFY_AGAIN_MAX: Duration = Duration::from_secs(600);
/// In how many agents' channels it is said how long we were away. Beyond it the control channel has to do: a line for each
/// agent of a large fleet would hold up alerts for minutes on a server that brakes.
const AWAY_CHANNELS_MAX: usize = 20;

/// The two clocks of one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    /// For people and the journal.
    pub(crate) wall: Timestamp,
    /// For waiting.
    pub(crate) mono: Instant,
}

/// What outlives a link.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    /// Message ids seen.
    pub(crate) seen: SeenIds,
    /// When the last link that was up was lost, until that was said.
    pub(crate) lost_at: Option<Timestamp>,
    /// Numbers for fences and labels: an answer that an earlier link was owed cannot be taken for one of this link's.
    pub(crate) numbers: u64,
    /// What the services said when they refused our password, until they take one.
    pub(crate) unidentified: Option<Detail>,
    /// Whether it was said that topics cannot be set.
    pub(crate) topic_denial_told: bool,
    /// Who may command, and what they missed: a link that was lost is no reason to forget them.
    pub(crate) netsplits: Netsplits,
    /// Lines that the commands have not taken yet.
    pub(crate) unheard: VecDeque<Inbound>,
    /// Failed attempts in a row, and when the next one is due: whoever is started anew waits as long as who goes on.
    pub(crate) backoff: Backoff,
}

impl Lasting {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// What has to be done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Send a line.
    Send(Outgoing),
    /// Somebody said something.
    Hear(Inbound),
    /// Something has to be said that is not in the journal.
    Post(Post),
    /// The channels are joined: the backlog can go.
    Up,
    /// The services have said whether they know us.
    Known,
    /// A window came to its end: the first part is with the server, the second has to be sent again.
    Landed(Window, Window),
    /// The link is of no more use.
    Close(Closing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The burst after 001; JOINs follow its end or the answer to the first fence.
    Greeting { fence: u64 },
    /// The first JOINs are on their way.
    Joining { until: Instant },
    /// Posts can go.
    Up,
}

/// One registered link.
pub(crate) struct Session<'a> {
    settings: &'a Settings,
    lasting: &'a mut Lasting,
    wanted: Vec<ChannelWanted>,
    caps: Caps,
    logged_in: bool,
    /// When NickServ is told again who we are, and how often it was not there.
    identify_at: Option<Instant>,
    nickserv_missed: u32,
    told: services::Told,
    server: ISupport,
    nick: OwnNick,
    /// Our own user and host as others see them, once known.
    own: Option<(String, String)>,
    phase: Phase,
    /// The first fence was answered: what is said to us in private is live.
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
    /// 001 came.
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
            // What is said here from now on is not followed, so that nothing of it may be asked for later.
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

    /// What has to be done since this was last asked.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether the next window can be sent.
    pub(crate) fn wants_window(&self) -> bool {
        self.phase == Phase::Up && self.flight.is_none()
    }

    /// Whether a window is on its way.
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

    /// When [`Session::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Instant {
        let settle = match self.phase {
            Phase::Joining { until } => Some(until),
            Phase::Greeting { .. } | Phase::Up => None,
        };
        let channels =
            if matches!(self.phase, Phase::Greeting { .. }) { None } else { self.channels.deadline() };
        let flight = self.flight.as_ref().map(Flight::deadline);
        let past = self.history.deadline();
        // Nobody is counted before the greeting is over.
        let census = if matches!(self.phase, Phase::Greeting { .. }) { None } else { self.census.deadline() };
        let questions = [self.lookups.deadline(), self.persons.deadline(), census];
        [settle, channels, flight, past, self.nick.deadline(), self.identify_at]
            .into_iter()
            .chain(questions)
            .flatten()
            .fold(self.idle.deadline(), Instant::min)
    }

    /// Time has passed.
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

    /// The link is given up for its silence: it was lost when that began, not when the patience with it ended.
    fn away_since_silent(&mut self, now: Now) {
        if self.phase == Phase::Up {
            let since = now.wall.before(self.idle.silent_for(now.mono));
            self.lasting.lost_at.get_or_insert(since);
        }
    }

    /// Lines that the commands have not taken when the link is over; they are taken when there is another one.
    pub(crate) fn keep_unheard(&mut self, unheard: VecDeque<Inbound>) {
        self.lasting.unheard = unheard;
    }

    /// Nothing could come, because we were not listening.
    pub(crate) fn not_listening(&mut self, now: Now) {
        self.idle.heard(now.mono);
        self.history.not_listening(now.mono);
    }

    /// The wish list changed.
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

    /// What can be done at any time once the burst is over.
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

    /// The burst after 001 is over.
    fn greeted(&mut self, now: Now) {
        if !matches!(self.phase, Phase::Greeting { .. }) {
            return;
        }
        // Only now is it certain how this server compares names.
        self.channels = Channels::new(&self.settings.network, &self.wanted, &self.server, now.mono);
        if let Some(mode) = self.server.bot_mode {
            let line = Outgoing::new("MODE").word(self.nick.current()).word(format!("+{mode}"));
            self.send(line);
        }
        self.follow_wanted();
        self.phase = Phase::Joining { until: now.mono + SETTLE_TIMEOUT };
        self.go_on(now);
    }

    /// Before the backlog: for machines, that we are here; and where it cannot be asked what was said, how long we were away.
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

    /// Where it is said that we were away: in the control channel, and, where these are few, in the agents'.
    fn told_of_absences(&self) -> Vec<Target> {
        let agents = self.wanted.iter().map(|wish| wish.target.clone());
        let mut agents: Vec<Target> = agents.filter(|target| matches!(target, Target::Agent(_))).collect();
        if agents.len() > AWAY_CHANNELS_MAX {
            agents.clear();
        }
        agents.insert(0, Target::Control);
        agents
    }

    /// Says something that no journal holds. The urgent lane, so that it comes before the backlog it explains.
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

    /// Whether this is our own nick.
    fn is_us(&self, nick: &str) -> bool {
        self.server.case.same(nick, self.nick.current())
    }

    /// 482 answers nothing of ours but TOPIC. It is said once, not for every channel and link.
    fn topic_denied(&mut self, name: &str, now: Now) {
        let denied = self.channels.topic_denied(name, &self.server);
        if let Some(channel) =
            denied.filter(|_| !std::mem::replace(&mut self.lasting.topic_denial_told, true))
        {
            let network = self.settings.network.name.clone();
            self.post(Target::Control, Body::Notice(Notice::TopicDenied { network, channel }), now);
        }
    }

    /// Says that a channel is not to be had, if it has just come to that.
    fn tell(&mut self, trouble: Option<Trouble>, now: Now) {
        let Some(Trouble { channel, reason }) = trouble else { return };
        let network = self.settings.network.name.clone();
        let notice = Notice::ChannelUnavailable { network, channel, reason };
        self.post(Target::Control, Body::Notice(notice), now);
    }
}
