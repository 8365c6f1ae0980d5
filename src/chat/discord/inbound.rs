//! What people write: each message once, in order, whatever the link does.
//!
//! ```text
//!  gateway ─ live ──────────► intake ─► said ─► attached ─► commands ─► supervisors
//!  READY, GUILD_CREATE ─► rest ─┘ │                                        │
//!                                 └── watermark per channel ◄── done ◄─────┘  heard/discord/<id>, with the decision
//! ```
//!
//! [`intake`] says which message is next and how far a channel is done; it is a state machine without I/O. What was decided
//! is on disk with the decision, and how far a channel is done shortly after, so that a herder that was killed between the
//! two fetches a message again and knows it.
//!
//! - [`missed`]: what is fetched because nobody heard it
//! - [`persons`]: talk in private that began meanwhile
//! - [`lost`]: what came faster than it was taken in
//! - [`threads`]: what was said in threads meanwhile
//! - [`said`]: from a message to a line, and who is heard at all
//! - [`attached`]: text files
//! - [`work`]: one message, from its line to its answer
//! - [`roles`]: what roles somebody has, where a message does not tell
//! - [`revision`]: messages that are changed or deleted
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

/// Events that wait to be looked at: more than a busy guild sends in seconds. What does not fit is fetched like what was
/// missed.
pub(super) const EVENTS_CAPACITY: usize = 1024;
/// Messages under way at once, of different channels.
const UNDER_WAY: usize = 64;
/// How long the guild is waited for after READY; it says which channels have anything new.
const GUILD_WITHIN: Duration = Duration::from_secs(5);
/// Changes that are remembered of messages that were not heard themselves yet.
const EARLY_MAX: usize = 256;
/// Between two tries to change work with its message, where a file could not be read.
const REVISE_AGAIN: Duration = Duration::from_secs(5);
/// After something happened: when it is noted how far channels are done.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// What the gateway tells of messages.
pub(super) enum Heard {
    /// Somebody wrote something.
    Said(Box<Message>),
    /// A message was changed.
    Edited(Box<MessageUpdateEvent>),
    /// Messages were deleted.
    Deleted(ChannelId, Vec<MessageId>),
    /// A new session: whatever was written meanwhile is to be fetched.
    Ready,
    /// A guild as it is now.
    Guild(Box<Guild>),
    /// Threads of channels that can be seen again.
    Threads(Vec<GuildChannel>),
    /// Discord left out events: nobody knows which.
    Skipped,
    /// Events were lost on the way here.
    Missed(Box<Lost>),
    /// Something was said or changed in a channel, and nobody can read what.
    Unreadable {
        /// Where.
        channel: Id,
        /// Which message, if it is a new one.
        created: Option<Id>,
        /// In private.
        direct: bool,
    },
}

/// Something that was under way.
enum Done {
    Worked {
        channel: Id,
        id: Id,
        heard: Option<journal::Heard>,
        /// It was said in private by somebody who may not even look.
        is_strangers: bool,
    },
    /// It takes longer: what was said after it waits for it no more.
    Late {
        channel: Id,
        id: Id,
        is_strangers: bool,
        rest: UnderWay,
    },
    /// That is over as well.
    Decided {
        channel: Id,
        id: Id,
        heard: Option<journal::Heard>,
    },
    /// The channel for talk with somebody in private.
    Private {
        person: Id,
        direct: Result<Direct, RestError>,
    },
    /// It stays as it is until the next start.
    Unworked,
    Fetched {
        channel: Id,
        after: Id,
        page: Result<Page, RestError>,
    },
    /// A message that became work which still waits was looked at: what was changed about it meanwhile.
    Looked {
        channel: Id,
        id: Id,
        now: Result<Option<Box<Message>>, RestError>,
    },
    /// A change of a message that became work was carried out, or is to be tried again.
    Revised(Id, Option<(Id, Revision)>),
    /// The server's channels, and the last message of each.
    News(Result<HashMap<Id, Id>, RestError>),
    /// Archived threads of a channel.
    Listed(Listing, Result<ArchivedThreads, RestError>),
}

type UnderWay = Pin<Box<dyn Future<Output = Done> + Send>>;

/// Takes in what people write, until no more speech is taken in.
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
    /// Channels that are being fetched, and whether something may have been missed since.
    fetched: HashMap<Id, bool>,
    /// Messages that became work which still waits: they may have been changed unheard.
    to_look: VecDeque<(Id, Id)>,
    looking: usize,
    /// Channels that may be herder's own: what is said there waits until that is known.
    unsure: HashSet<Id>,
    /// The server, as it was told before it was known which of its channels are herder's own.
    unread: Option<Box<Guild>>,
    /// Until when the guild is waited for.
    guild_by: Option<Instant>,
    /// What was changed while it was worked on.
    revisions: Vec<(Id, Revision)>,
    /// Messages whose work is being changed, and what became of each meanwhile: one change after the other, and of those that
    /// wait the last one.
    revising: HashMap<Id, Option<(Id, Revision)>>,
    /// What became of messages that were not heard themselves yet: they are being fetched, or are overtaken.
    early: BTreeMap<Id, Revision>,
    edits: Edits,
    /// The server's channels, and whether what was said there can be read.
    readable: BTreeMap<ChannelId, bool>,
    /// The newest message that was heard live, wherever it was said.
    newest: Id,
    /// The link was new: what is newer than this may not have been heard.
    missed_since: Option<Id>,
    /// Channels where nobody has spoken to herder yet. What was missed there is looked through for whoever does.
    strange: HashSet<Id>,
    /// The server was seen since the link is there: what it does not list of threads is archived.
    guild_seen: bool,
    /// Channels whose archived threads are asked for, and how far back.
    to_list: VecDeque<Listing>,
    listing: usize,
    /// Events were left out, and it is asked where there is news: whether more were left out since.
    skipped: Option<bool>,
    /// Channels for talk in private, by who is talked with.
    private: HashMap<Id, Id>,
    /// People whose channel is asked for, and after which message they may have written there.
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
        // There is nothing to note while nothing happens.
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
                    // A channel that was young may not be so any more.
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
        // What was begun is finished, and nothing else is; the rest is fetched after the next start.
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
        // Also one that comes long after READY, or once more: the guild was out of reach meanwhile.
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

    /// Begins whatever can be begun.
    fn begin(&mut self) {
        while self.working < UNDER_WAY
            && let Some((channel, id, said)) = self.intake.next()
        {
            self.working += 1;
            if self.memory.knows(channel, id) {
                // It was decided by a herder that was killed before it noted how far the channel is done.
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

    /// Somebody's message in a channel was worked on, or is for long.
    fn worked(&mut self, channel: Id, is_strangers: bool) {
        self.working -= 1;
        if self.memory.direct(channel) {
            self.memory.spoke_in_private(channel, is_strangers);
        }
    }

    /// A message is done; this is what it became.
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

    /// What a message says that is heard for the first time; `None`: it was deleted before. `is_news`: nothing newer is known
    /// of its words.
    fn as_it_is_now(&mut self, said: Said, is_news: bool) -> Option<Said> {
        match self.early.remove(&said.id) {
            Some(Revision::Edited(_)) if is_news => Some(said),
            Some(revision) => revision.of_waiting(said),
            None => Some(said),
        }
    }

    /// A message was changed or deleted: before, while or after it was worked on.
    fn revise(&mut self, channel: Id, id: Id, revision: Revision) {
        // What was decided before is not worked on again, whether or not it waits for that to be found.
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

    /// The work of a message is changed with it, after a while.
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

    /// A change of a message that was not heard yet is kept until that comes.
    fn revise_early(&mut self, id: Id, revision: Revision) {
        self.early.insert(id, revision);
        while self.early.len() > EARLY_MAX {
            self.early.pop_first();
        }
    }

    /// Notes on disk how far channels are done.
    async fn note(&mut self, at_last: bool) {
        self.follow_new();
        let moved = self.intake.moved();
        let kept: HashSet<Id> =
            self.bot.directory.all().into_iter().map(|(_, channel)| channel.get()).collect();
        let finished = self.marks.finished();
        let intake = &self.intake;
        let mut memos = self.memory.note(moved, finished, &kept, |channel| intake.seen(channel));
        if self.has_heard_all() {
            // What was heard and is not decided yet is to be heard again, if herder is killed now.
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
