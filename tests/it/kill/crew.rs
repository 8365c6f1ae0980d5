//! A crew: agents whose sessions stay at work while the bot is killed or stands still, with messages, whispers, calls of
//! tools and questions under way. Each session is begun once; what was acknowledged reaches it once; its calls are
//! answered, its questions asked once, and its words posted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::accounts::{Ledger, is_said};
use super::{Field, Moments, find};
use crate::stage::{PATIENCE, Person, number_of, plain, said};

/// The crew; with the agents of every field these are twenty.
const CREW: usize = 15;

/// The folder that it works in.
const FOLDER: &str = "crew";

/// Messages of each member that must be acknowledged before all is over.
const MESSAGES: usize = 2;

/// The tasks of messages. Each member is given all of them, in turn; the first one depends on the member.
const KINDS: [&str; 5] = ["go", "say", "look", "push", "ask"];

/// Pause before a barrier is said again: it is lost as long as herder is away.
const AGAIN: Duration = Duration::from_secs(1);

/// Maximum time until so many steps are done that the next kill comes, when all members wait for it.
const STEPS_WITHIN: Duration = Duration::from_secs(2);

/// Maximum wait for anything: several freezes of a minute may be in it.
const LONG_PATIENCE: Duration = Duration::from_secs(4 * PATIENCE.as_secs());

/// Pause between two looks at a file or at herder's state.
const LOOK: Duration = Duration::from_millis(25);

fn names() -> impl Iterator<Item = String> {
    (1..=CREW).map(|number| format!("crew-{number}"))
}

/// Returns the sections of the crew, and those of the rest of the load: two places for the three other agents that work.
pub(super) fn configuration(dir: &std::path::Path) -> String {
    let dir = dir.join(FOLDER);
    let mut text = String::from(
        "[runners]\nlocal = \"process\"\n[evaluator]\nkind = \"off\"\n[tools]\nsends_per_minute = 1000\n\
         [approvals]\ntimeout = \"12h\"\n",
    );
    for name in names() {
        text += &format!(
            "[[agent]]\nname = \"{name}\"\nruntime = \"claude\"\nworkspace = {dir:?}\naccount = \"crew\"\n\
             command = [\"python3\", \"crew.py\", \"{name}\"]\nrelay = \"all\"\nmax_task_duration = \"12h\"\n"
        );
    }
    text
}

/// The settings of `[supervisor]` for a field with a crew.
pub(super) fn places() -> String {
    format!("max_active = {}\ntool_timeout = \"12h\"\nsilence_timeout = \"12h\"\n", CREW + 2)
}

/// The messages and whispers that a member was told, by a person or by the shell.
#[derive(Default)]
struct Told {
    all: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
    /// Number of messages that were acknowledged.
    messages: usize,
}

/// The people who talk to the crew.
pub(super) struct Crew {
    field: Arc<Field>,
    ledger: Arc<Ledger>,
    listening: tokio::task::JoinHandle<()>,
    talking: Vec<tokio::task::JoinHandle<Told>>,
    /// Steps of all members together: the moments of kills depend on them.
    steps: Arc<watch::Sender<u64>>,
    /// Kills so far.
    lives: Arc<watch::Sender<u64>>,
    moments: Mutex<Moments>,
    /// Readings of the configuration, some of which a kill has cut short.
    reloads: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Crew {
    /// People who talk to the crew as soon as it is at work.
    pub(super) async fn of(field: &Arc<Field>, seed: u64) -> Self {
        let folder = field.dir.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("crew.py"), include_str!("crew.py")).unwrap();
        let ledger = Arc::new(Ledger::default());
        let channels: Vec<String> = names().map(|name| format!("#{name}")).collect();
        let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
        let listener = Person::join(field.server.address(), "crew-listener", None, &channels).await;
        let listening = tokio::spawn(super::listen(listener, Arc::clone(&ledger), BTreeMap::new()));
        let (steps, lives) = (Arc::new(watch::Sender::new(0)), Arc::new(watch::Sender::new(0)));
        let talking = names().enumerate().map(|(index, name)| {
            let talk = Talk {
                field: Arc::clone(field),
                ledger: Arc::clone(&ledger),
                steps: Arc::clone(&steps),
                lives: lives.subscribe(),
                channel: format!("#{name}"),
                barriers: 1_000_000_000 + 1_000_000 * index as u64,
                name,
            };
            tokio::spawn(talk.go_on(index))
        });
        let talking = talking.collect();
        let moments = Mutex::new(Moments::new(seed.wrapping_add(2)));
        Self {
            field: Arc::clone(field),
            ledger,
            listening,
            talking,
            steps,
            lives,
            moments,
            reloads: Mutex::default(),
        }
    }

    /// Waits for the moment of the next kill, which comes while the configuration is read again.
    pub(super) async fn is_at_work(&self, kill: u64) {
        if kill == 0 {
            for name in names() {
                until(&self.field, &format!("{name} begins"), || !self.notes(&name, "begun").is_empty())
                    .await;
            }
        }
        let failed = self.talking.iter().any(tokio::task::JoinHandle::is_finished);
        assert!(!failed, "a person has failed");
        let more = self.moments.lock().unwrap().millis(CREW as u64).as_millis() as u64;
        let enough = *self.steps.borrow() + more;
        let mut steps = self.steps.subscribe();
        // All members may wait for the kill.
        drop(tokio::time::timeout(STEPS_WITHIN, steps.wait_for(|steps| *steps >= enough)).await);
        let timeout = |hours| format!("tool_timeout = \"{hours}h\"");
        let (is, other) = if kill.is_multiple_of(2) { (12, 11) } else { (11, 12) };
        self.field.changes(&timeout(is), &timeout(other));
        let field = Arc::clone(&self.field);
        let reload = tokio::spawn(async move {
            let answer = field.ask("reload", &[]).await;
            assert!(answer.is_none_or(|answer| answer.ok), "the configuration was refused");
        });
        self.reloads.lock().unwrap().push(reload);
        let moment = self.moments.lock().unwrap().millis(20);
        tokio::time::sleep(moment).await;
        self.lives.send_modify(|lives| *lives += 1);
    }

    fn notes(&self, name: &str, kind: &str) -> Vec<String> {
        notes(&self.field, name, kind)
    }

    /// Ends all sessions, half of them by their own word, the others by people; then compares.
    pub(super) async fn account(self, seed: u64) {
        for name in names() {
            let begun = self.notes(&name, "begun");
            assert_eq!(begun.len(), 1, "seed {seed}: {name} is begun once: {begun:?}\n{}", self.field.log());
            let pid = begun[0].split(' ').next().expect("it has noted its number");
            let alive = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            assert!(alive.is_ok_and(|stat| !stat.contains(") Z ")), "seed {seed}: {name} works on");
        }
        assert_eq!(self.field.lines(&format!("{FOLDER}/violations")), Vec::<String>::new(), "seed {seed}");
        for reload in self.reloads.into_inner().unwrap() {
            reload.await.unwrap();
        }
        self.ledger.over.send_replace(true);
        let mut told = Vec::new();
        for talk in self.talking {
            told.push(talk.await.unwrap());
        }
        assert_eq!(self.field.lines(&format!("{FOLDER}/violations")), Vec::<String>::new(), "seed {seed}");
        self.listening.abort();
        let heard = self.ledger.heard.lock().unwrap();
        for (name, told) in names().zip(told) {
            let notes = |kind: &str| notes(&self.field, &name, kind);
            let (had, calls) = (notes("told"), notes("calls"));
            let once: BTreeSet<String> = had.iter().cloned().collect();
            assert_eq!(had.len(), once.len(), "seed {seed}: {name} was told twice: {had:?}");
            let lost: Vec<_> = told.acknowledged.difference(&once).collect();
            assert!(lost.is_empty(), "seed {seed}: {name} was never told {lost:?}: {had:?}");
            assert!(once.is_subset(&told.all), "seed {seed}: {name}: {had:?}");
            assert_eq!(notes("begun").len(), 1, "seed {seed}: {name} is begun once");
            // Messages are done one after the other, each once.
            let did = notes("did");
            let expected: Vec<&String> = had.iter().filter(|token| token.starts_with("m-")).collect();
            let done: BTreeSet<&String> = did.iter().collect();
            assert_eq!(done.len(), did.len(), "seed {seed}: {name} did something twice: {did:?}");
            assert!(did.iter().all(|did| expected.contains(&did)), "seed {seed}: {name}: {did:?} of {had:?}");
            let mut asked = 0;
            let mut questions = 0;
            let channel = format!("#{name}");
            for line in &calls {
                let [kind, number, returned] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                    panic!("seed {seed}: {name}: {line}")
                };
                match (kind, returned) {
                    ("push", "allow") => asked += 1,
                    ("ask", "answered") => questions += 1,
                    ("say", "said") => is_said(&heard, (&channel, &format!("sent {number}.")), seed),
                    ("say", "unsure") => {
                        let words = format!("sent {number}.");
                        if heard.iter().any(|line| line.channel == channel && line.text.contains(&words)) {
                            is_said(&heard, (&channel, &words), seed);
                        }
                    }
                    ("look", "seen") | ("go" | "end", "gone") => {}
                    _ => panic!("seed {seed}: {name}: {line}"),
                }
            }
            for (words, expected) in [("asks for permission", asked), ("asks question", questions)] {
                let asks = heard.iter().filter(|line| line.channel == channel && line.text.contains(words));
                let asks: Vec<_> = asks.map(|line| &line.text).collect();
                let numbers: BTreeSet<_> = asks.iter().map(|text| number_of(text)).collect();
                let log = self.field.lines("log").into_iter();
                let log: Vec<_> =
                    log.filter(|line| line.contains(&name) && line.contains("question ")).collect();
                // A call that the agent itself makes once more may ask once more, if people had answered meanwhile.
                let most = expected + notes("repeated").iter().filter(|tool| *tool == "irc_ask").count();
                let asked = expected..=if words == "asks question" { most } else { expected };
                assert!(asked.contains(&numbers.len()), "seed {seed}: {name}: {calls:?} {asks:?} {log:#?}");
            }
            for post in notes("posts") {
                is_said(&heard, (&channel, &post), seed);
            }
        }
    }
}

/// Returns the notes of this kind of a member.
fn notes(field: &Field, name: &str, kind: &str) -> Vec<String> {
    field.lines(&format!("{FOLDER}/{name}.{kind}"))
}

/// Waits until something is so.
async fn until(field: &Field, what: &str, is_so: impl Fn() -> bool) {
    let waits = async {
        while !is_so() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let waited = tokio::time::timeout(LONG_PATIENCE, waits).await;
    assert!(waited.is_ok(), "waited in vain until {what}\n{}", field.log());
}

/// The use that was made of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    AsMessage,
    /// A plain line answers the only question that is open.
    AsAnswer,
}

/// A person who talks to one member.
struct Talk {
    field: Arc<Field>,
    ledger: Arc<Ledger>,
    steps: Arc<watch::Sender<u64>>,
    lives: watch::Receiver<u64>,
    channel: String,
    barriers: u64,
    name: String,
}

impl Talk {
    /// Talks until all is over and enough was acknowledged; then the session is ended.
    async fn go_on(mut self, index: usize) -> Told {
        let nick = self.nick();
        let mut boss = Person::join(self.field.server.address(), &nick, None, &[&self.channel]).await;
        boss.sees("herder", &self.channel).await;
        self.begins().await;
        let mut told = Told::default();
        let mut number = 0;
        while !(self.ledger.is_over() && told.messages >= MESSAGES) {
            number += 1;
            let kind = KINDS[(index + number) % KINDS.len()];
            let message = format!("m-{number}");
            let taken = self.says(&mut boss, &message, kind, &mut told).await;
            self.steps.send_modify(|steps| *steps += 1);
            self.whispers(&format!("w-{number}"), &mut told).await;
            self.steps.send_modify(|steps| *steps += 1);
            if matches!(kind, "push" | "ask") && !self.ledger.is_over() {
                // A question stays open over a kill.
                self.lives.mark_unchanged();
                tokio::select! {
                    changed = self.lives.changed() => changed.expect("the crew has the sender"),
                    () = self.ledger.over() => {}
                }
            }
            if taken == Some(Taken::AsMessage) {
                self.answers_until(&message).await;
            } else {
                self.answers().await;
            }
        }
        self.ends(&mut boss, index, &mut told).await;
        told
    }

    /// Gives the member its task, once.
    async fn begins(&self) {
        let job = "work";
        let given = match self.field.ask("task add", &[&self.name, job]).await {
            Some(answer) => answer.ok,
            None => super::task_of(&self.field, &self.name, job).await.is_some(),
        };
        assert!(given, "{} was given no task\n{}", self.name, self.field.log());
        until(&self.field, "it has begun", || !self.notes("begun").is_empty()).await;
    }

    fn notes(&self, kind: &str) -> Vec<String> {
        notes(&self.field, &self.name, kind)
    }

    fn nick(&self) -> String {
        format!("boss-{}", self.name)
    }

    /// Returns the last lines of herder's log about the member.
    fn course(&self) -> String {
        let name = format!("agent=\"{}\"", self.name);
        let lines: Vec<String> =
            self.field.lines("log").into_iter().filter(|line| line.contains(&name)).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Waits until herder answers what was never asked before: every line after it is an answer to a later one.
    async fn barrier(&mut self, boss: &mut Person) {
        self.barriers += 1;
        let answer = format!("There is no task {}.", self.barriers);
        loop {
            boss.sees("herder", &self.channel).await;
            boss.say(&self.channel, &format!("!task cancel #{}", self.barriers)).await;
            let heard = boss.expect_forever(|line| line.contains(&answer));
            if tokio::time::timeout(AGAIN, heard).await.is_ok() {
                return;
            }
        }
    }

    /// Says a message; how it was acknowledged, if it was before herder went away.
    async fn says(&mut self, boss: &mut Person, message: &str, kind: &str, told: &mut Told) -> Option<Taken> {
        self.barrier(boss).await;
        told.all.insert(message.to_owned());
        boss.say(&self.channel, &format!("@{} {message} {kind}", self.name)).await;
        let nick = self.nick();
        let by_it = format!("answered by {nick} ");
        let takes = |line: &str| {
            let text = plain(said(line)?.2);
            let passed_on = text.contains("Passed on to") || text.contains("Queued for");
            match text.starts_with(&nick) && passed_on {
                true => Some(Taken::AsMessage),
                false => text.contains(&by_it).then_some(Taken::AsAnswer),
            }
        };
        let heard = boss.expect_forever(|line| takes(line).is_some() || line.contains(" QUIT ")).await;
        let taken = takes(&heard);
        if taken == Some(Taken::AsMessage) {
            told.acknowledged.insert(message.to_owned());
            told.messages += 1;
        }
        taken
    }

    async fn whispers(&self, whisper: &str, told: &mut Told) {
        told.all.insert(whisper.to_owned());
        if let Some(answer) = self.field.ask("whisper", &[&self.name, whisper]).await {
            assert!(answer.ok, "{}: {:?}", self.name, answer.lines);
            told.acknowledged.insert(whisper.to_owned());
        }
    }

    /// Answers whatever the member asks, if herder is there.
    async fn answers(&self) {
        let Some(answer) = self.field.ask("status", &[&self.name]).await else { return };
        let asks = answer.data.as_ref().and_then(|data| find(data, "asks")?.as_array()).cloned();
        for ask in asks.into_iter().flatten() {
            let id = ask["id"].to_string();
            let (command, args) = if ask["about"]["about"] == "permission" {
                ("approve", vec![id.as_str()])
            } else {
                ("answer", vec![id.as_str(), "blue"])
            };
            // The herder before may have answered already.
            self.field.ask(command, &args).await;
        }
    }

    /// Answers what the member asks until it has done what a message says.
    async fn answers_until(&self, message: &str) {
        let done = async {
            while !self.notes("did").iter().any(|did| did == message) {
                self.answers().await;
                tokio::time::sleep(LOOK).await;
            }
        };
        let done = tokio::time::timeout(LONG_PATIENCE, done).await;
        let notes = ["told", "calls"].map(|kind| self.notes(kind));
        assert!(done.is_ok(), "{}: {message} was never done: {notes:?}\n{}", self.name, self.course());
    }

    /// Answers what the member asks as long as its state is so.
    async fn answers_while(&self, is_so: impl Fn(&serde_json::Value) -> bool) {
        let mut last = None;
        let changes = async {
            loop {
                let answer = self.field.ask("status", &[&self.name]).await;
                last = answer.and_then(|answer| answer.data).or(last.take());
                if last.as_ref().is_some_and(|status| !is_so(status)) {
                    return;
                }
                self.answers().await;
                tokio::time::sleep(LOOK).await;
            }
        };
        let changed = tokio::time::timeout(LONG_PATIENCE, changes).await;
        let notes = ["told", "did"].map(|kind| self.notes(kind));
        assert!(changed.is_ok(), "{}: {last:?}, {notes:?}\n{}", self.name, self.field.log());
    }

    /// Ends the session once it has had everything.
    async fn ends(&mut self, boss: &mut Person, index: usize, told: &mut Told) {
        let has_all = || {
            let had: BTreeSet<String> = self.notes("told").into_iter().collect();
            told.acknowledged.is_subset(&had)
        };
        until(&self.field, &format!("{} has had all", self.name), has_all).await;
        let posts = || {
            let heard = self.ledger.heard.lock().unwrap();
            let is_heard = |post: &String| {
                heard.iter().any(|line| line.channel == self.channel && line.text.contains(post))
            };
            self.notes("posts").iter().all(is_heard)
        };
        until(&self.field, &format!("{}'s words are posted", self.name), posts).await;
        // A message that is still queued would begin another session.
        self.answers_while(|status| find(status, "queued").is_none_or(|queued| queued != 0)).await;
        if index.is_multiple_of(2) {
            let mut number = 1_000_000;
            // A question of a message that was not acknowledged may be open.
            while self.says(boss, &format!("m-{number}"), "end", told).await != Some(Taken::AsMessage) {
                number += 1;
            }
            self.answers_while(|status| find(status, "phase").is_none_or(|phase| phase != "idle")).await;
            boss.hears(&self.channel, "completed").await;
        } else {
            // A message without an acknowledgement may have reached it; it is done before one that is said later.
            let mut number = 2_000_000;
            while self.says(boss, &format!("m-{number}"), "go", told).await != Some(Taken::AsMessage) {
                number += 1;
            }
            self.answers_until(&format!("m-{number}")).await;
            let aborted = async {
                while self.field.ask("abort", &[&self.name]).await.is_none() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            tokio::time::timeout(LONG_PATIENCE, aborted).await.expect("herder comes back");
            self.answers_while(|status| find(status, "phase").is_none_or(|phase| phase != "idle")).await;
        }
    }
}
