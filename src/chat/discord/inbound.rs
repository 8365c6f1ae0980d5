//! People's messages: each handled once, in order, across broken links and restarts.
//!
//! ```text
//!  gateway ─ live ──────────► intake ─► said ─► attached ─► commands ─► supervisors
//!  READY, GUILD_CREATE ─► rest ─┘ │                                        │
//!                                 └── watermark per channel ◄── done ◄─────┘  heard/discord/<id>, with the decision
//! ```
//!
//! [`intake`] selects the next message and tracks the watermark of each channel; it is a state machine without I/O. A
//! decision is stored together with the message's id, and the watermark shortly after: if herder is killed between
//! the two, it fetches the message again and recognises it.
//!
//! - [`missed`]: fetching messages that were missed
//! - [`persons`]: private conversations that began meanwhile
//! - [`lost`]: messages that came faster than they were handled
//! - [`threads`]: messages in threads that were missed
//! - [`said`]: conversion of a message to a line, and the choice of authors to listen to
//! - [`attached`]: text files
//! - [`work`]: one message, from its line to its answer
//! - [`roles`]: roles of an author, where the message lacks them
//! - [`revision`]: messages that are edited or deleted
//! - [`unsure`]: channels that may turn out to be herder's own

mod attached;
mod intake;
mod lost;
mod memory;
mod missed;
mod persons;
mod revision;
mod roles;
mod said;
mod threads;
mod unsure;
mod work;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serenity::all::{ChannelId, Guild, GuildChannel, Message, MessageId, MessageUpdateEvent};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::Bot;
use super::directory::Outlook;
use super::reactions::{self, Marks};
use super::rest::{ArchivedThreads, Direct, Page, RestError};
use crate::journal;
use intake::{Id, Intake};
pub(super) use intake::{id_at, millis_of};
pub(super) use lost::Lost;
use memory::Memory;
use missed::FETCHES;
use revision::{Edits, Revision};
use roles::Roles;
pub(super) use roles::ask as roles_of;
use said::{Ears, Names, Said};
use threads::Listing;
use work::Worked;

/// Capacity of the queue of message events: more than a busy guild sends in seconds. Messages beyond it are fetched
/// like missed ones.
pub(super) const EVENTS_CAPACITY: usize = 1024;
/// Maximum number of messages that are handled at once, each of another channel.
const UNDER_WAY: usize = 64;
/// Maximum time to wait for the server's description after READY; it tells which channels have new messages.
const GUILD_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of edits kept for messages that were not received yet.
const EARLY_MAX: usize = 256;
/// Wait before a task is changed again after its message was edited, if a file could not be fetched.
const REVISE_AGAIN: Duration = Duration::from_secs(5);
/// Delay after an event before the watermarks (the ids up to which messages are handled) are stored.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// An event about messages, on its way from the gateway to the reader.
pub(super) enum Heard {
    /// A person has written a new message.
    Said(Box<Message>),
    /// A message was edited.
    Edited(Box<MessageUpdateEvent>),
    /// Messages were deleted.
    Deleted(ChannelId, Vec<MessageId>),
    /// A new session with the gateway began: missed messages have to be fetched.
    Ready,
    /// The present state of a server: its channels, threads and roles.
    Guild(Box<Guild>),
    /// Threads in channels that became visible again.
    Threads(Vec<GuildChannel>),
    /// Discord left out events; it is unknown in which channels.
    Skipped,
    /// Events were lost because the queue was full, as recorded here.
    Missed(Box<Lost>),
    /// An event about a message could not be parsed.
    Unreadable {
        /// Id of the message's channel.
        channel: Id,
        /// Id of the message if it is a new one; `None` for an edit or deletion.
        created: Option<Id>,
        /// True if the message is in a private channel.
        direct: bool,
    },
}

/// The result of an asynchronous step of the reader.
enum Done {
    Worked {
        channel: Id,
        id: Id,
        heard: Option<journal::Heard>,
        /// True if it was a private message by a person without any role.
        is_strangers: bool,
    },
    /// The handling of a message takes longer: later messages of the channel no longer wait for it.
    Late {
        channel: Id,
        id: Id,
        is_strangers: bool,
        rest: UnderWay,
    },
    /// A message that took longer is handled.
    Decided {
        channel: Id,
        id: Id,
        heard: Option<journal::Heard>,
    },
    /// The answer to the request for the private channel with a person.
    Private {
        person: Id,
        direct: Result<Direct, RestError>,
    },
    /// A message stays unhandled until the next start, because herder shuts down.
    Unworked,
    Fetched {
        channel: Id,
        after: Id,
        page: Result<Page, RestError>,
    },
    /// A message whose task still waits was fetched again, to find edits that were missed.
    Looked {
        channel: Id,
        id: Id,
        now: Result<Option<Box<Message>>, RestError>,
    },
    /// An edit of a message that became a task was applied; the second field is set if it has to be tried again.
    Revised(Id, Option<(Id, Revision)>),
    /// The answer to the request for the server's channels: the id of the last message of each.
    News(Result<HashMap<Id, Id>, RestError>),
    /// The answer to the request for archived threads of a channel.
    Listed(Listing, Result<ArchivedThreads, RestError>),
}

type UnderWay = Pin<Box<dyn Future<Output = Done> + Send>>;

/// Handles the messages of people on Discord until intake is closed at shutdown.
pub(super) async fn run(bot: Arc<Bot>, heard: mpsc::Receiver<Heard>) {
    let marks = Arc::new(Marks::default());
    let memory = Memory::load(&bot, &marks).await;
    let hearing = bot.ports.hearing.clone();
    let mut reader = Reader::new(Arc::clone(&bot), Arc::clone(&marks), memory);
    tokio::select! {
        () = reader.run(heard, &hearing) => {}
        () = reactions::keep(&bot, &marks) => {}
    }
}

struct Reader {
    bot: Arc<Bot>,
    ears: Ears,
    names: Arc<Names>,
    roles: Arc<Roles>,
    intake: Intake<Said>,
    memory: Memory,
    marks: Arc<Marks>,
    under_way: FuturesUnordered<UnderWay>,
    working: usize,
    fetching: usize,
    to_fetch: VecDeque<(Id, Id)>,
    /// Channels whose messages are being fetched; true if more messages may have been missed since the fetching began.
    fetched: HashMap<Id, bool>,
    /// Messages, with their channels, whose task still waits and that are to be fetched again, because an edit may have
    /// been missed.
    to_look: VecDeque<(Id, Id)>,
    looking: usize,
    /// Channels that may turn out to be herder's own: their messages wait until that is known.
    unsure: HashSet<Id>,
    /// The description of the server, if it arrived before herder's own channels were known.
    unread: Option<Box<Guild>>,
    /// Time until which the description of the server is waited for.
    guild_by: Option<Instant>,
    /// Edits of messages whose handling is in progress, to be applied after it.
    revisions: Vec<(Id, Revision)>,
    /// Messages whose task is being changed, each with the latest edit that waits: edits of a message are applied one
    /// at a time.
    revising: HashMap<Id, Option<(Id, Revision)>>,
    /// Edits of messages that were not received yet, because they are being fetched or the edit was faster.
    early: BTreeMap<Id, Revision>,
    edits: Edits,
    /// All channels of the server; true if the bot can read their messages.
    readable: BTreeMap<ChannelId, bool>,
    /// Id of the newest live message, of any channel.
    newest: Id,
    /// After a new session: the id after which messages may have been missed; else `None`.
    missed_since: Option<Id>,
    /// Channels in which nobody has addressed herder yet. Messages missed there are only searched for lines that do.
    strange: HashSet<Id>,
    /// True if the server was described since the link came up: threads that were not listed then are archived.
    guild_seen: bool,
    /// Requests for archived threads that are still to be made.
    to_list: VecDeque<Listing>,
    listing: usize,
    /// After left-out events: `Some` while the channels with new messages are being requested, true if more events were
    /// left out since.
    skipped: Option<bool>,
    /// The private channel of each person.
    private: HashMap<Id, Id>,
    /// People whose private channel is being requested, each with the id after which they may have written there.
    asked: HashMap<Id, Id>,
}

impl Reader {
    fn new(bot: Arc<Bot>, marks: Arc<Marks>, memory: Memory) -> Self {
        let settings = &bot.ports.settings;
        let ears = Ears { me: bot.me, guild: settings.guild, bots: settings.bots.clone() };
        let (mut intake, newest) = (Intake::default(), memory.up_to());
        for (channel, seen, floor) in memory.watermarks() {
            intake.follow(channel, seen, floor);
        }
        Self {
            bot,
            ears,
            names: Arc::default(),
            roles: Arc::default(),
            intake,
            memory,
            marks,
            under_way: FuturesUnordered::new(),
            working: 0,
            fetching: 0,
            to_fetch: VecDeque::new(),
            fetched: HashMap::new(),
            to_look: VecDeque::new(),
            looking: 0,
            unsure: HashSet::new(),
            unread: None,
            guild_by: None,
            revisions: Vec::new(),
            revising: HashMap::new(),
            early: BTreeMap::new(),
            edits: Edits::default(),
            readable: BTreeMap::new(),
            newest,
            missed_since: None,
            strange: HashSet::new(),
            guild_seen: false,
            to_list: VecDeque::new(),
            listing: 0,
            skipped: None,
            private: HashMap::new(),
            asked: HashMap::new(),
        }
    }

    async fn run(&mut self, mut heard: mpsc::Receiver<Heard>, hearing: &tokio_util::sync::CancellationToken) {
        // Nothing has to be stored while nothing happens.
        let mut notes = Some(Instant::now());
        let (mut channels, mut readable) = (self.bot.directory.changes(), self.bot.readable.subscribe());
        loop {
            self.begin();
            let guild_by = self.guild_by;
            let marks = Arc::clone(&self.marks);
            tokio::select! {
                biased;
                () = hearing.cancelled() => break,
                Some(done) = self.under_way.next(), if !self.under_way.is_empty() => self.done(done),
                event = heard.recv() => match event {
                    Some(event) => self.heard(event),
                    None => break,
                },
                Ok(()) = channels.changed() => self.sure_of_channels(),
                Ok(()) = readable.changed() => {
                    let now = readable.borrow_and_update().clone();
                    self.may_read(now);
                }
                () = marks.ended() => {}
                () = until(notes) => {
                    // A channel's age may have passed the limit.
                    self.sure_of_channels();
                    self.note(false).await;
                    notes = (!self.unsure.is_empty()).then(|| Instant::now() + NOTE_EVERY);
                    continue;
                }
                () = until(guild_by) => {
                    debug!("the guild did not come; all channels are fetched");
                    self.fetch_all(&HashMap::new());
                }
            }
            notes.get_or_insert_with(|| Instant::now() + NOTE_EVERY);
        }
        // Messages in progress are finished; the others are fetched after the next start.
        while self.working > 0 {
            let Some(done) = self.under_way.next().await else { break };
            self.done(done);
        }
        self.note(true).await;
    }

    fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Said(message) => self.said(*message),
            Heard::Edited(event) => {
                let is_news = self.edits.is_news(event.id.get(), event.edited_timestamp);
                if let Some(said) = self.ears.edited(*event).filter(|_| is_news) {
                    self.revise(said.channel, said.id, Revision::Edited(Box::new(said)));
                }
            }
            Heard::Deleted(channel, messages) => {
                for id in messages {
                    self.edits.is_gone(id.get());
                    self.revise(channel.get(), id.get(), Revision::Deleted);
                }
            }
            Heard::Ready => {
                self.missed_since.get_or_insert(self.newest);
                self.guild_seen = false;
                self.unread = None;
                self.hold_all();
                self.guild_by = Some(Instant::now() + GUILD_WITHIN);
            }
            Heard::Guild(guild) if guild.id.get() != self.ears.guild => {}
            Heard::Guild(guild) if self.bot.directory.outlook() == Outlook::Unseen => {
                self.unread = Some(guild)
            }
            Heard::Guild(guild) => self.guild(&guild),
            Heard::Threads(threads) => self.follow_again(&threads),
            Heard::Skipped => self.skipped(),
            Heard::Missed(lost) => self.missed(*lost),
            Heard::Unreadable { channel, created, direct } => {
                if let Some(id) = created {
                    if direct {
                        self.memory.is_direct(channel);
                    }
                    self.intake.meet(channel, id);
                }
                self.fetch_channel(channel, None);
                self.look_at_waiting();
            }
        }
    }

    fn said(&mut self, message: Message) {
        let message_channel = message.channel_id;
        let (channel, id) = (message_channel.get(), message.id.get());
        self.newest = self.newest.max(id);
        let is_news = self.edits.is_news(id, message.edited_timestamp);
        let said = self.ears.message(message, None).and_then(|said| self.as_it_is_now(said, is_news));
        let Some(said) = said else { return self.intake.passed(channel, id) };
        if said.direct {
            self.memory.is_direct(channel);
        } else if self.may_be_ours(message_channel) {
            self.wait_for_its_purpose(channel, id);
        }
        self.intake.heard(channel, id, said);
    }

    fn guild(&mut self, guild: &Guild) {
        self.names = Arc::new(Names::of(guild, self.bot.me));
        // Also for a late or repeated description: the guild was unreachable meanwhile.
        let since = self.missed_since.take().unwrap_or(self.newest);
        self.follow_strange(guild, since);
        self.follow_threads(guild, since);
        self.ask_for_private_talk(since);
        self.guild_seen = true;
        let newest = guild.channels.values().chain(&guild.threads);
        let newest =
            newest.map(|channel| (channel.id.get(), channel.last_message_id.map_or(0, MessageId::get)));
        self.fetch_all(&newest.collect());
    }

    /// Starts all steps that can be started now, within the limits on their number.
    fn begin(&mut self) {
        while self.working < UNDER_WAY
            && let Some((channel, id, said)) = self.intake.next()
        {
            self.working += 1;
            if self.memory.knows(channel, id) {
                // A process that was killed before storing the watermark has decided it.
                if let Some(heard) = self.memory.unplaced(id) {
                    self.marks.restore(channel, id, &heard);
                }
                let known = Done::Worked { channel, id, heard: None, is_strangers: false };
                self.under_way.push(Box::pin(async move { known }));
                continue;
            }
            let (bot, names, roles) = self.shared();
            self.under_way.push(Box::pin(async move {
                let in_private = said.direct.then_some(said.author);
                let Ok(worked) = work::carry_out(&bot, &names, &roles, said).await else {
                    return Done::Unworked;
                };
                let is_strangers = match in_private {
                    Some(author) => roles.is_stranger(&bot, author).await,
                    None => false,
                };
                match worked {
                    Worked::Over(heard) => Done::Worked { channel, id, heard, is_strangers },
                    Worked::Late(rest) => {
                        let rest = Box::pin(async move { Done::Decided { channel, id, heard: rest.await } });
                        Done::Late { channel, id, is_strangers, rest }
                    }
                }
            }));
        }
        while self.fetching < FETCHES
            && let Some((channel, after)) = self.to_fetch.pop_front()
        {
            self.fetch(channel, after, Duration::ZERO);
        }
        while self.looking < FETCHES
            && let Some((channel, id)) = self.to_look.pop_front()
        {
            self.look(channel, id, Duration::ZERO);
        }
        while self.listing < FETCHES
            && let Some(listing) = self.to_list.pop_front()
        {
            self.list(listing, Duration::ZERO);
        }
    }

    fn shared(&self) -> (Arc<Bot>, Arc<Names>, Arc<Roles>) {
        (Arc::clone(&self.bot), Arc::clone(&self.names), Arc::clone(&self.roles))
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Worked { channel, id, heard, is_strangers } => {
                self.worked(channel, is_strangers);
                self.decided(channel, id, heard);
            }
            Done::Late { channel, id, is_strangers, rest } => {
                self.worked(channel, is_strangers);
                self.intake.late(channel, id);
                self.under_way.push(rest);
            }
            Done::Decided { channel, id, heard } => self.decided(channel, id, heard),
            Done::Fetched { channel, after, page } => {
                self.fetching -= 1;
                self.fetched_page(channel, after, page);
            }
            Done::Unworked => self.working -= 1,
            Done::Looked { channel, id, now } => {
                self.looking -= 1;
                self.looked(channel, id, now);
            }
            Done::Revised(id, again) => match (self.revising.remove(&id).flatten(), again) {
                (Some((channel, revision)), _) => self.revise(channel, id, revision),
                (None, Some((channel, revision))) => self.carry_out(channel, id, revision, REVISE_AGAIN),
                (None, None) => {}
            },
            Done::News(newest) => self.news(newest),
            Done::Private { person, direct } => self.private_talk(person, direct),
            Done::Listed(listing, archived) => {
                self.listing -= 1;
                self.listed(listing, archived);
            }
        }
    }

    /// Records that the handling of a message is over, or will take long, so that the next one of its channel can
    /// start.
    fn worked(&mut self, channel: Id, is_strangers: bool) {
        self.working -= 1;
        if self.memory.direct(channel) {
            self.memory.spoke_in_private(channel, is_strangers);
        }
    }

    /// Records that a message is done, with the stored decision about it, so that the watermark can move.
    fn decided(&mut self, channel: Id, id: Id, heard: Option<journal::Heard>) {
        if let Some(heard) = heard {
            self.strange.remove(&channel);
            if self.bot.threads.parent(ChannelId::new(channel)).is_some() {
                self.memory.is_thread(channel);
            }
            let open = self.marks.track(channel, id, &heard);
            self.memory.decided(channel, id, open);
            self.memory.became(id, heard);
        }
        self.intake.done(channel, id);
        let (now, later) = std::mem::take(&mut self.revisions).into_iter().partition(|(of, _)| *of == id);
        self.revisions = later;
        for (_, revision) in Vec::from_iter::<Vec<_>>(now) {
            self.revise(channel, id, revision);
        }
    }

    /// Returns the content of a message that is received for the first time, with an edit that arrived before it;
    /// `None` if it was deleted. `is_news` is true if no newer text is known.
    fn as_it_is_now(&mut self, said: Said, is_news: bool) -> Option<Said> {
        match self.early.remove(&said.id) {
            Some(Revision::Edited(_)) if is_news => Some(said),
            Some(revision) => revision.of_waiting(said),
            None => Some(said),
        }
    }

    /// Handles an edit or deletion of a message, whether the message was handled before, is being handled, or was not
    /// received yet.
    fn revise(&mut self, channel: Id, id: Id, revision: Revision) {
        // A decided message is not handled again, even if it is still queued.
        if !self.memory.has_decided(id) {
            if self.intake.revise(channel, id, |said| revision.of_waiting(said)) {
                return;
            }
            if self.intake.is_under_way(channel, id) {
                self.revisions.push((id, revision));
                return;
            }
            if self.intake.follows(channel) && !self.intake.has(channel, id) {
                return self.revise_early(id, revision);
            }
        }
        if let Some(waiting) = self.revising.get_mut(&id) {
            *waiting = Some((channel, revision));
            return;
        }
        self.carry_out(channel, id, revision, Duration::ZERO);
    }

    /// Applies an edit or deletion to the task that a message became, after `wait`.
    fn carry_out(&mut self, channel: Id, id: Id, revision: Revision, wait: Duration) {
        let Some(of) = self.marks.work_of(id) else { return };
        self.revising.insert(id, None);
        let (bot, names, roles) = self.shared();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let again = revision::carry_out(&bot, &names, &roles, (channel, id), revision, of).await;
            Done::Revised(id, again.map(|revision| (channel, revision)))
        }));
    }

    /// Keeps an edit or deletion of a message that was not received yet.
    fn revise_early(&mut self, id: Id, revision: Revision) {
        self.early.insert(id, revision);
        while self.early.len() > EARLY_MAX {
            self.early.pop_first();
        }
    }

    /// Stores the changed watermarks of the channels and the decisions about messages.
    async fn note(&mut self, at_last: bool) {
        self.follow_new();
        let moved = self.intake.moved();
        let kept: HashSet<Id> =
            self.bot.directory.all().into_iter().map(|(_, channel)| channel.get()).collect();
        let finished = self.marks.finished();
        let intake = &self.intake;
        let mut memos = self.memory.note(moved, finished, &kept, |channel| intake.seen(channel));
        if self.has_heard_all() {
            // Messages received and not decided have to be fetched again if herder is killed now.
            let undecided = self.intake.first_open().map_or(Id::MAX, |open| open.saturating_sub(1));
            memos.extend(self.memory.heard_up_to(self.newest.min(undecided), at_last));
        }
        for channel in self.memory.unneeded() {
            if self.intake.leave(channel) {
                memos.extend(self.memory.forget_direct(channel));
            }
        }
        memos.extend(self.forget_threads());
        if let Err(reason) = self.bot.ports.journal.remember(memos).await {
            warn!(%reason, "how far channels are done could not be noted");
        }
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
