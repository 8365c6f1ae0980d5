//! A dispatcher over a real fleet, and people who speak to it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use herder::access::Access;
use herder::commands::Dispatcher;
use herder::commands::dispatch::Setup;
use herder::config::{AccessRules, History, Subject};
use herder::core::agent::Phase;
use herder::core::id::{AgentName, NetworkName};
use herder::core::policy::Policy;
use herder::core::post::{Body, Post};
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::speech::{Author, Inbound, Origin, Place};
use herder::core::time::Timestamp;
use herder::files::FileRules;
use herder::journal::{self, AuditEntry, Entry, Journal, Stream};
use herder::l10n::Locale;
use herder::redact::Redactor;
use herder::runtime::ProcessTrees;
use herder::supervisor::{self, FaultInjection, Fleet, Settings, View};
use tempfile::TempDir;

/// Long enough for a loaded machine; reached only when the test has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A secret that herder was configured with.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// Reads its work, then works until it is stopped.
const BUSY: &str = "read -r work; echo \"on $work\"; exec sleep 600";

/// Reads its work, says it again, and is done.
const QUICK: &str = "cat";

pub(crate) struct Rig {
    pub(crate) dir: TempDir,
    pub(crate) fleet: Fleet,
    pub(crate) journal: Journal,
    pub(crate) dispatcher: Dispatcher,
}

impl Rig {
    /// Opens a fleet with `spark`, which works until stopped, and `quick`, which is done at once. Alice is admin,
    /// Olga operator, Vera viewer, Rob a bot and operator; Mallory has no role.
    pub(crate) async fn open() -> Self {
        Self::with_viewers(vec![account("vera")]).await
    }

    pub(crate) async fn with_viewers(viewers: Vec<Subject>) -> Self {
        Self::faulty(viewers, PATIENCE, FaultInjection::default()).await
    }

    /// Opens a rig with a fault in it, in which the sender of a line is told after `patience` that it takes longer.
    pub(crate) async fn faulty(viewers: Vec<Subject>, patience: Duration, fault: FaultInjection) -> Self {
        Self::at(tempfile::tempdir().expect("a folder"), viewers, patience, fault).await
    }

    /// Ends the herder and starts it again, with a change of its data in between.
    pub(crate) async fn started_again(self, meanwhile: impl FnOnce(&Path)) -> Self {
        let Self { dir, fleet, journal, dispatcher } = self;
        assert_eq!(fleet.drain(PATIENCE).await, 0, "processes are left");
        journal.close().await;
        drop((fleet, journal, dispatcher));
        meanwhile(dir.path());
        Self::at(dir, vec![account("vera")], PATIENCE, FaultInjection::default()).await
    }

    async fn at(dir: TempDir, viewers: Vec<Subject>, patience: Duration, fault: FaultInjection) -> Self {
        let settings = journal::Settings {
            ballast: 0,
            ..journal::Settings::new(dir.path().join("data"), History::default())
        };
        let (journal, _) =
            tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap().unwrap();
        let fleet = supervisor::start(Settings {
            redactor: herder::redact::Redactor::new(&[]),
            journal: journal.clone(),
            policy: Policy { stop_grace: Duration::from_secs(1), ..Policy::default() },
            networks: vec![NetworkName::from("net")],
            listeners: Vec::new(),
            trees: ProcessTrees::new().unwrap(),
            agents: vec![shell("spark", dir.path(), BUSY), shell("quick", dir.path(), QUICK)],
            withheld: BTreeSet::new(),
            tools: None,
            runner: None,
            elsewhere: None,
            evaluator: None,
            attempts: 5,
            fault,
        })
        .await
        .unwrap();
        let rules = rules(viewers);
        let dispatcher = Dispatcher::new(Setup {
            fleet: fleet.clone(),
            journal: journal.clone(),
            reloader: None,
            files: FileRules::default(),
            page: None,
            access: Access::new(&rules).with(fleet.ties().clone()),
            locale: Locale::load("en-US").unwrap(),
            redactor: Redactor::new(&[SECRET.to_owned().into()]),
            control: vec![(NetworkName::from("net"), "#herder".to_owned())],
            channels: vec!["#alerts".to_owned(), "#work".to_owned(), "#herder".to_owned(), "#ops".to_owned()],
            bot_exchanges: 20,
            bots: vec![(NetworkName::from("net"), "rob".to_owned())],
            patience,
        });
        Self { dir, fleet, journal, dispatcher }
    }

    /// Returns the access rules.
    #[expect(clippy::unused_self, reason = "they are the rules of this rig")]
    pub(crate) fn rules(&self) -> AccessRules {
        rules(vec![account("vera")])
    }

    pub(crate) async fn close(self) {
        assert_eq!(self.fleet.drain(PATIENCE).await, 0, "processes are left");
        self.journal.close().await;
    }

    /// Says a line at a time, as a person with the account of that name.
    pub(crate) async fn say_at(&self, who: &str, place: &str, text: &str, at: Timestamp) -> Vec<String> {
        let heard = self.dispatcher.handle_at(inbound(who, Some(who), place, text), at);
        let answer = tokio::time::timeout(PATIENCE, heard).await;
        answer.unwrap_or_else(|_| panic!("{text:?} was never answered")).unwrap_or_default()
    }

    /// Says a line now, long after the last rate was used up.
    pub(crate) async fn say(&self, who: &str, place: &str, text: &str) -> Vec<String> {
        self.say_at(who, place, text, herder::clock::now()).await
    }

    /// Says a line and returns the pending answer to `who` in the outbox.
    pub(crate) async fn do_(&self, who: &str, place: &str, text: &str) -> String {
        let before = self.answers(who).len();
        let lines = self.say(who, place, text).await;
        assert_eq!(lines, Vec::<String>::new(), "{text:?}: a change is answered through the outbox alone");
        let answers = self.answers(who);
        assert_eq!(answers.len(), before + 1, "{text:?}: {answers:?}");
        answers.into_iter().last().unwrap()
    }

    /// Returns the pending answers to a person, as they will read.
    pub(crate) fn answers(&self, who: &str) -> Vec<String> {
        let locale = Locale::load("en-US").unwrap();
        let posts: Vec<Post> = self.journal.undelivered(&NetworkName::from("net")).unwrap();
        let theirs = posts.into_iter().filter(|post| post.answers.as_deref() == Some(who));
        theirs
            .map(|post| match post.body {
                Body::Notice(notice) => format!("{:?}: {}", post.to, locale.notice(&notice)),
                other => panic!("an answer that is no notice: {other:?}"),
            })
            .collect()
    }

    /// Returns the recorded commands with their senders.
    pub(crate) async fn audit(&self) -> Vec<AuditEntry> {
        let recorded = self.journal.latest(Stream::Audit, 10_000).await.unwrap();
        recorded
            .into_iter()
            .map(|recorded| match recorded.entry {
                Entry::Audit(audit) => audit,
                Entry::Agent(_) | Entry::Fleet(_) => panic!("another stream's entry"),
            })
            .collect()
    }

    pub(crate) async fn until(&self, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
        let agent = name(agent);
        match tokio::time::timeout(PATIENCE, self.fleet.wait_for(&agent, condition)).await {
            Ok(view) => view.expect("the agent exists"),
            Err(_) => panic!("{agent} never got there: {:?}", self.fleet.view(&agent)),
        }
    }

    pub(crate) async fn until_running(&self, agent: &str) -> View {
        self.until(agent, |view| matches!(view.agent.phase, Phase::Running { .. })).await
    }
}

fn rules(viewers: Vec<Subject>) -> AccessRules {
    AccessRules { admins: vec![account("alice")], operators: vec![account("olga"), account("rob")], viewers }
}

pub(crate) fn name(agent: &str) -> AgentName {
    AgentName::new(agent).expect("a good name")
}

pub(crate) fn account(name: &str) -> Subject {
    Subject::IrcAccount { network: "net".into(), account: name.to_owned() }
}

fn shell(agent: &str, dir: &Path, script: &str) -> AgentSpec {
    let mut spec = AgentSpec::new(name(agent), Runtime::Command, dir.to_owned());
    spec.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    spec
}

/// Returns a person's line, in a channel or in private (`place` without `#`).
pub(crate) fn inbound(nick: &str, account: Option<&str>, place: &str, text: &str) -> Inbound {
    let place = match place.strip_prefix('#') {
        Some(_) => Place::Channel(place.to_owned()),
        None => Place::Direct(nick.to_owned()),
    };
    Inbound {
        author: Author {
            network: NetworkName::from("net"),
            nick: nick.to_owned(),
            account: account.map(str::to_owned),
            mask: Some(format!("{nick}!{nick}@{nick}.example.org")),
            roles: Vec::new(),
            origin: Origin::Network,
        },
        place,
        text: text.to_owned(),
        mentions: Vec::new(),
        attached: String::new(),
        files: Vec::new(),
        own_nick: "herder".to_owned(),
        message: None,
        at: Timestamp::default(),
    }
}
