//! A counting test: herder is killed with -9 at random moments while people give it work on Discord, again and again.
//! At the end all work is done once and reported once, whether herder was running when it was given or not.
//!
//! `HERDER_DISCORD_KILLS` sets how often (20); `HERDER_SEED` repeats a run.

mod attached;
mod flood;
mod owing;
mod trouble;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::config::History;
use herder::core::agent::{Agent, Phase};
use herder::core::id::AgentName;
use herder::journal::{self, Journal, Stream};
use rustix::process::Signal;

use crate::kill::{Moments, Running, number, reap, signal};
use crate::simulated_discord::state::{Id, Message};
use crate::simulated_discord::{Discord, State, User, permission};
use crate::stage::PATIENCE;

/// Jobs of one worker that are under way at once: few enough that its channel's pending posts are never collapsed.
const UNDER_WAY: usize = 3;

/// Kills after which herder may catch up, and is talked to by button.
const KILLS_IN_A_ROW: u64 = 4;

/// A job begins again each time a kill cuts it short.
const LONG: Duration = PATIENCE.saturating_mul(3);

const WORKERS: [&str; 2] = ["spark", "flint"];

/// A worker's script: a second one at the same time reports a violation; a killed one has lost the lock. The job is
/// the last line, after the notes for a job that was cut short.
const WORKER: &str = r#"
exec 9>"lock.$1"
flock -n 9 || echo "$1 runs twice" >> violations
line=$(tail -n 1)
sleep 0.01
echo "done $line"
"#;

struct Field {
    dir: tempfile::TempDir,
    sim: Discord,
    alice: User,
    config: PathBuf,
    /// The messages to each worker, in order.
    said: Mutex<BTreeMap<&'static str, Vec<(Id, String)>>>,
    over: AtomicBool,
}

impl Field {
    async fn new() -> Self {
        Self::on(Discord::start().await).await
    }

    async fn on(sim: Discord) -> Self {
        let dir = tempfile::tempdir().unwrap();
        sim.role("manager", permission::MANAGE_GUILD);
        let alice = sim.user("alice").roles(["manager"]);
        let config = dir.path().join("bot.toml");
        std::fs::write(dir.path().join("worker.sh"), WORKER).unwrap();
        let mut text = format!(
            "name = \"herder\"\ndata_dir = \"data\"\n[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\n\
             api_url = \"{}\"\n[access]\nadmins = [\"discord:{}\"]\n[supervisor]\nstop_grace = \"1s\"\n",
            sim.guild_id(),
            sim.api_url(),
            alice.id
        );
        for agent in WORKERS.into_iter().chain(["calm"]) {
            text += &format!(
                "[[agent]]\nname = \"{agent}\"\nruntime = \"command\"\nworkspace = \"{}\"\naccount = \"test\"\n\
                 command = [\"sh\", \"worker.sh\", \"{agent}\"]\n",
                dir.path().display()
            );
        }
        std::fs::write(&config, text).unwrap();
        Self { dir, sim, alice, config, said: Mutex::default(), over: AtomicBool::new(false) }
    }

    fn start(&self) -> Running {
        Running::start(self.dir.path(), &self.config, &[("DISCORD_TOKEN", &self.sim.token())])
    }

    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Waits until at most `open` of a worker's messages are not reported as done.
    async fn owes_at_most(&self, worker: &str, open: usize) {
        let said = self.said.lock().unwrap().get(worker).map_or(0, Vec::len);
        let what = format!("{worker} to have done all but {open} of {said}");
        self.sim.until_within(LONG, &what, |state| done(state, worker).count() + open >= said).await;
    }

    /// Waits until all of it is done.
    async fn caught_up(&self) {
        for worker in WORKERS {
            self.owes_at_most(worker, 0).await;
        }
    }

    /// Pauses the calm one and gives it work; the post that says so has buttons.
    async fn calms(&self, round: u64) -> Message {
        let before = self.prompts();
        self.alice.says("#calm", "pause");
        self.sim.until_within(LONG, "a post with buttons", |state| prompts(state).count() > before).await;
        self.alice.says("#calm", &format!("calm-{round}."));
        self.sim.find("the post", |state| prompts(state).last().cloned()).await
    }

    fn prompts(&self) -> usize {
        self.sim.look(|state| prompts(state).count())
    }

    /// Presses the button of a post that was made lives ago, which resumes the calm agent.
    async fn presses(&self, post: &Message, round: u64) {
        let click = self.alice.clicks(post.id, &post.button("Resume").custom_id);
        assert_eq!(click.acknowledged().await.kind, 7, "the post shows it\n{}", self.log());
        let wanted = format!("done calm-{round}.");
        self.sim.until_within(LONG, &wanted, |state| done(state, "calm").any(|text| text == wanted)).await;
        self.sim.message(post.id, |message| message.buttons().iter().any(|button| button.disabled)).await;
    }
}

/// Returns the jobs that a worker is reported to have done, in the order of its posts. Deleted posts count: people
/// saw them.
pub(crate) fn done<'a>(state: &'a State, worker: &str) -> impl Iterator<Item = &'a str> {
    let channel = state.channel(worker).map(|channel| channel.id);
    let posts = state.messages.values().filter(move |message| Some(message.channel) == channel);
    posts.flat_map(|message| message.content.lines()).filter(|line| line.starts_with("done "))
}

/// Posts with buttons in the calm one's channel.
pub(crate) fn prompts(state: &State) -> impl Iterator<Item = &Message> {
    state
        .posts("calm")
        .filter(|message| message.buttons().iter().any(|button| button.label.contains("Resume")))
}

/// Gives one worker jobs until it is over.
async fn load(field: Arc<Field>, worker: &'static str) {
    for number in 1.. {
        field.owes_at_most(worker, UNDER_WAY - 1).await;
        if field.over.load(Ordering::SeqCst) {
            return;
        }
        let job = format!("{worker}-job-{number}.");
        let id = field.alice.says(worker, &job);
        field.said.lock().unwrap().entry(worker).or_default().push((id, job));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_said_on_discord_is_lost_or_done_twice_by_kills() {
    let kills = number("HERDER_DISCORD_KILLS", 20);
    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let mut moments = Moments::new(seed);
    let field = Arc::new(Field::new().await);
    let mut herder = field.start();
    for channel in WORKERS.into_iter().chain(["calm"]) {
        field.sim.channel(channel).await;
    }
    let mut post = field.calms(0).await;
    let loads = WORKERS.map(|worker| tokio::spawn(load(Arc::clone(&field), worker)));
    for kill in 0..kills {
        if kill % KILLS_IN_A_ROW == KILLS_IN_A_ROW - 1 {
            field.presses(&post, kill / KILLS_IN_A_ROW).await;
            post = field.calms(kill / KILLS_IN_A_ROW + 1).await;
        }
        tokio::time::sleep(moments.millis(400)).await;
        signal(&herder, Signal::KILL);
        let status = reap(herder).await;
        assert_eq!(status.signal(), Some(9), "seed {seed}: it ended by itself: {status}\n{}", field.log());
        field.sim.gateway().silent().await;
        let logins = field.sim.gateway().identifies();
        herder = field.start();
        // Every fourth one dies while it is still coming up.
        if kill % KILLS_IN_A_ROW != 0 {
            field.sim.gateway().identified(logins + 1).await;
        }
    }
    field.over.store(true, Ordering::SeqCst);
    for load in loads {
        load.await.unwrap();
    }
    field.caught_up().await;
    everything_is_marked(&field).await;
    field.presses(&post, kills / KILLS_IN_A_ROW).await;
    signal(&herder, Signal::TERM);
    let status = reap(herder).await;
    assert!(status.success(), "seed {seed}: {status}\n{}", field.log());
    let violations = std::fs::read_to_string(field.dir.path().join("violations")).unwrap_or_default();
    assert_eq!(violations, "", "seed {seed}");
    everything_is_told_once_and_in_order(&field, (seed, true));
    everything_was_done_once(&field, seed).await;
}

/// Waits until every message that was work shows that it is done.
async fn everything_is_marked(field: &Field) {
    let said: Vec<Id> = field.said.lock().unwrap().values().flatten().map(|(id, _)| *id).collect();
    let is_marked = |state: &State, id: &Id| state.messages.get(id).is_some_and(|m| m.has_reaction("✅"));
    field
        .sim
        .until_within(LONG, "a ✅ on all work", |state| said.iter().all(|id| is_marked(state, id)))
        .await;
}

fn everything_is_told_once_and_in_order(field: &Field, (seed, in_order): (u64, bool)) {
    for (worker, said) in &*field.said.lock().unwrap() {
        let mut expected: Vec<String> = said.iter().map(|(_, job)| format!("done {job}")).collect();
        let mut told: Vec<String> = field.sim.look(|state| done(state, worker).map(str::to_owned).collect());
        if !in_order {
            expected.sort();
            told.sort();
        }
        assert_eq!(told, expected, "seed {seed}");
        // A run that did next to nothing would prove next to nothing.
        assert!(said.len() > 10, "seed {seed}: only {} jobs for {worker}", said.len());
    }
}

async fn everything_was_done_once(field: &Field, seed: u64) {
    let settings = journal::Settings {
        ballast: 0,
        ..journal::Settings::new(field.dir.path().join("data"), History::default())
    };
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap();
    let (journal, opening) = opened.unwrap();
    assert_eq!(opening.missing, Vec::new(), "seed {seed}");
    for (worker, said) in &*field.said.lock().unwrap() {
        let stream = Stream::Agent(AgentName::new(worker).unwrap());
        let agent = journal.load::<Agent>(&stream).unwrap().state;
        assert_eq!(agent.totals.successes, said.len() as u64, "seed {seed}: {worker}");
        assert!(agent.queue.is_empty() && agent.phase == Phase::Idle, "seed {seed}: {:?}", agent.phase);
        assert_eq!(
            (agent.failures, agent.crashes),
            (0, 0),
            "seed {seed}: a kill of herder is nobody's failure"
        );
    }
}
