//! A story that runs on each network: its people say and hear the same on IRC and on Discord.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use herder::chat::embedded_ircd::Server;
use herder::config::{Config, Subject};
use herder::core::event::Event;
use herder::core::id::AgentName;
use herder::core::spec::AgentSpec;
use herder::journal::{Entry, Stream};
use herder::run::Options;
use herder::supervisor::View;

use crate::simulated_discord::state::Id;
use crate::simulated_discord::{Discord, User, permission};
use crate::stage::{self, Door, PATIENCE, Person, Stage};

/// The network of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Irc,
    Discord,
}

/// Makes a test for each network of every story, which is an `async fn(On)`.
macro_rules! on_each_network {
    (@$network:ident $on:ident $($story:ident)+) => {
        mod $network {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    Box::pin(super::$story(crate::on::On::$on)).await;
                }
            )+
        }
    };
    ($($story:ident),+ $(,)?) => {
        on_each_network!(@irc Irc $($story)+);
        on_each_network!(@discord Discord $($story)+);
    };
}
pub(crate) use on_each_network;

/// A network that is there, with herder or without.
pub(crate) enum Network {
    Irc(Server),
    Discord(Arc<Discord>),
}

impl Network {
    pub(crate) async fn start(on: On) -> Self {
        match on {
            On::Irc => Self::Irc(stage::server().await),
            On::Discord => {
                let sim = Discord::start().await;
                sim.role("manager", permission::MANAGE_GUILD);
                Self::Discord(Arc::new(sim))
            }
        }
    }

    /// Returns a configuration in which herder is on it alone, and alice may do everything.
    pub(crate) fn config(&self, dir: &Path, agents: Vec<AgentSpec>) -> Config {
        match self {
            Self::Irc(server) => stage::config(dir, vec![stage::embedded_network(server)], agents),
            Self::Discord(sim) => {
                let mut config = stage::config(dir, Vec::new(), agents);
                config.discord = Some(stage::discord(sim, Door::Plain));
                config.access.admins = vec![Subject::DiscordUser(sim.user("alice").id.to_string())];
                config
            }
        }
    }

    pub(crate) fn options(&self) -> Options {
        match self {
            Self::Irc(server) => stage::inside(server),
            Self::Discord(_) => Options::default(),
        }
    }

    /// Returns `alice` or `mallory`, in these rooms.
    pub(crate) async fn somebody(&self, name: &str, rooms: &[&str]) -> Somebody {
        match self {
            Self::Irc(server) => {
                Somebody(Voice::Irc(Box::new(stage::server_person(server, name, rooms).await)))
            }
            Self::Discord(sim) => {
                let user = sim.user(name).roles(["manager"]);
                Somebody(Voice::Discord(Member {
                    sim: Arc::clone(sim),
                    user,
                    heard: BTreeMap::new(),
                    barriers: 0,
                }))
            }
        }
    }
}

/// A person on one of the networks.
pub(crate) struct Somebody(Voice);

enum Voice {
    Irc(Box<Person>),
    Discord(Member),
}

/// A person on Discord, who reads each channel from where they stopped.
struct Member {
    sim: Arc<Discord>,
    user: User,
    /// The last line that was waited for, by channel: a message and a line of it.
    heard: BTreeMap<String, (Id, usize)>,
    barriers: u32,
}

impl Somebody {
    /// Waits until herder receives messages in these rooms.
    pub(crate) async fn is_heard_in(&mut self, rooms: &[&str]) {
        for room in rooms {
            match &mut self.0 {
                Voice::Irc(person) => person.reaches("herder", room).await,
                Voice::Discord(member) => member.is_heard_in(room).await,
            }
        }
    }

    pub(crate) async fn say(&mut self, room: &str, text: &str) {
        match &mut self.0 {
            Voice::Irc(person) => person.say(room, text).await,
            Voice::Discord(member) => drop(member.user.says(room, text)),
        }
    }

    /// Returns the next line of herder's in a room that says `wanted`.
    pub(crate) async fn hears(&mut self, room: &str, wanted: &str) -> String {
        match &mut self.0 {
            Voice::Irc(person) => person.hears(room, wanted).await,
            Voice::Discord(member) => member.hears(room, wanted).await,
        }
    }

    /// As [`Somebody::hears`], but lines that were said during other waits count as well.
    pub(crate) async fn hears_in_any_order(&mut self, room: &str, wanted: &str) -> String {
        match &mut self.0 {
            Voice::Irc(person) => person.hears_in_any_order(room, wanted).await,
            Voice::Discord(member) => member.line(room, wanted, None).await.1,
        }
    }

    /// Returns the lines in a room so far.
    pub(crate) fn heard_in(&self, room: &str) -> Vec<String> {
        match &self.0 {
            Voice::Irc(person) => person.heard_in(room),
            Voice::Discord(member) => {
                let posts = member.sim.posts(room);
                posts.iter().flat_map(|post| plain(post)).collect()
            }
        }
    }
}

impl Member {
    async fn is_heard_in(&mut self, room: &str) {
        /// Before herder knows the room as its own, it ignores lines there, so they are said again.
        const AGAIN: std::time::Duration = std::time::Duration::from_millis(500);
        self.sim.ready().await;
        self.sim.channel(room).await;
        for _ in 0..PATIENCE.as_millis() / AGAIN.as_millis() {
            self.barriers += 1;
            let word = format!("anybody{}", self.barriers);
            self.user.says(room, &format!("!{word}"));
            if tokio::time::timeout(AGAIN, self.hears(room, &word)).await.is_ok() {
                return;
            }
        }
        panic!("herder never listened in {room}: {:#?}", self.sim.posts(room));
    }

    async fn hears(&mut self, room: &str, wanted: &str) -> String {
        let (place, text) = self.line(room, wanted, self.heard.get(room).copied()).await;
        self.heard.insert(room.to_owned(), place);
        text
    }

    /// Returns the first line behind `after` that says `wanted`, and where it stands.
    async fn line(&self, room: &str, wanted: &str, after: Option<(Id, usize)>) -> ((Id, usize), String) {
        let what = format!("{wanted:?} in {room}");
        let found = self.sim.find(&what, |state| {
            let lines = state.posts(room).flat_map(|message| {
                let id = message.id;
                plain(&message.content).into_iter().enumerate().map(move |(at, line)| ((id, at), line))
            });
            let mut news = lines.filter(|(place, _)| after.is_none_or(|after| *place > after));
            news.find(|(_, line)| line.contains(wanted))
        });
        found.await
    }
}

/// Returns the lines of a message as they are read: without what makes them bold.
fn plain(message: &str) -> Vec<String> {
    message.replace("**", "").lines().map(str::to_owned).collect()
}

/// A herder on one network, with alice, whose messages it receives.
pub(crate) struct Story {
    pub(crate) alice: Somebody,
    pub(crate) stage: Stage,
    pub(crate) network: Network,
    pub(crate) dir: tempfile::TempDir,
}

impl Story {
    /// Opens a story: `agents` are made for its folder; `change` edits the configuration last.
    pub(crate) async fn open(
        on: On,
        rooms: &[&str],
        agents: impl FnOnce(&Path) -> Vec<AgentSpec>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let agents = agents(dir.path());
        Self::open_in(on, dir, rooms, agents, change).await
    }

    pub(crate) async fn open_in(
        on: On,
        dir: tempfile::TempDir,
        rooms: &[&str],
        agents: Vec<AgentSpec>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let network = Network::start(on).await;
        let mut config = network.config(dir.path(), agents);
        change(&mut config);
        let mut alice = network.somebody("alice", rooms).await;
        let stage = Stage::open(config, network.options()).await;
        alice.is_heard_in(rooms).await;
        Self { alice, stage, network, dir }
    }

    /// Ends herder in order and starts it again on the same data.
    pub(crate) async fn again(self, agents: Vec<AgentSpec>, change: impl FnOnce(&mut Config)) -> Self {
        let Self { mut alice, stage, network, dir } = self;
        stage.close().await;
        let mut config = network.config(dir.path(), agents);
        change(&mut config);
        let stage = Stage::open(config, network.options()).await;
        alice.is_heard_in(&["#herder"]).await;
        Self { alice, stage, network, dir }
    }

    /// Says something to herder, and gives the answer that says `wanted`.
    pub(crate) async fn says(&mut self, text: &str, wanted: &str) -> String {
        self.alice.say("#herder", text).await;
        self.alice.hears("#herder", wanted).await
    }

    /// Waits until this holds of an agent.
    pub(crate) async fn until(&self, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
        let name = AgentName::new(agent).expect("a good name");
        let seen = tokio::time::timeout(PATIENCE, self.stage.herder.fleet().wait_for(&name, condition)).await;
        seen.unwrap_or_else(|_| panic!("{agent} never gets there")).expect("it is there")
    }

    /// Returns the number of sessions of an agent that were begun.
    pub(crate) fn sessions(&self, agent: &str) -> usize {
        let stream = Stream::Agent(AgentName::new(agent).expect("a good name"));
        let starts = |entry: &Entry| matches!(entry, Entry::Agent(Event::SessionStarted { .. }));
        self.count(&stream, starts)
    }

    /// Counts the entries among the last ones of a stream that match.
    pub(crate) fn count(&self, stream: &Stream, is_one: impl Fn(&Entry) -> bool) -> usize {
        let history = self.stage.herder.fleet().journal().history(stream, 1000, None).expect("readable");
        history.iter().filter(|recorded| is_one(&recorded.entry)).count()
    }

    pub(crate) async fn close(self) {
        self.stage.close().await;
        drop(self.network);
    }
}
