//! Tests of the core by tables. A desk carries decisions out as a supervisor would.

mod accounts;
mod asks;
mod checks;
mod commands;
mod configured;
mod context;
mod conversations;
mod handing_back;
mod outcomes;
mod pulls;
mod queueing;
mod reassigning;
mod recovery;
mod reviewing;
mod reviews;
mod spending;
mod state;
mod watching;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::agent::{Agent, Phase};
use super::effect::Effect;
use super::event::Event;
use super::id::{AgentName, SessionId, WorkId};
use super::input::{Control, Input, Signal};
use super::notice::{Audience, Notice, Refusal};
use super::outcome::{Category, Outcome};
use super::policy::Policy;
use super::promotion::Hold;
use super::spec::{AgentSpec, Runtime};
use super::time::Timestamp;
use super::work::{Actor, WorkKind};
use super::{Context, Owed, OwedBody, apply, decide, owed, posts, react};

/// One decision, carried out.
#[derive(Debug, Default)]
struct Step {
    events: Vec<Event>,
    reply: Option<Notice>,
    effects: Vec<Effect>,
    /// Texts for `context.md`, `None` for its removal; empty if it is unchanged.
    kept: Vec<Option<String>>,
    posts: Vec<Owed>,
    now: Timestamp,
}

impl Step {
    /// Returns the events by name, with their essential fields.
    fn told(&self) -> String {
        self.events.iter().map(|event| brief(event, self.now)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the posts, one per line, without the agent's name.
    fn said(&self) -> String {
        let line = |owed: &Owed| {
            let body = match &owed.body {
                OwedBody::Notice(Notice::WorkLine { line }) => line.clone(),
                OwedBody::Notice(notice) => format!("{notice:?}"),
                OwedBody::Words(text) => format!("says {text:?}"),
            };
            let to = match owed.audience {
                Audience::Agent => "",
                Audience::Alerts => "#alerts ",
                Audience::Work => "#work ",
                Audience::Control => "#control ",
                Audience::Hooks => "(hooks) ",
            };
            format!("{to}{}", unnamed(&body))
        };
        self.posts.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn spawns(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::Spawn { .. })).count()
    }

    /// Returns the accounts that are opened.
    fn opens(&self) -> Vec<&str> {
        let opened = self.effects.iter().filter_map(|effect| match effect {
            Effect::OpenAccount { account, .. } => Some(account.as_str()),
            _ => None,
        });
        opened.collect()
    }

    fn recap(&self) -> Option<String> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Spawn { recap, .. } => recap.clone(),
            _ => None,
        })
    }
}

/// Formats a notice without the agent's name, which is always the same here.
fn unnamed(debug: &str) -> String {
    debug.replace(" { agent: AgentName(\"spark\") }", "").replace("agent: AgentName(\"spark\"), ", "")
}

fn brief(event: &Event, now: Timestamp) -> String {
    match event {
        Event::Waiting { until, reason } => format!("Waiting({}s {reason:?})", until.since(now).as_secs()),
        Event::Paused { reason } => match reason {
            super::event::PauseReason::Person(by) => format!("Paused({})", by.name),
            super::event::PauseReason::StopAll(by) => format!("Paused(stop-all by {})", by.name),
            other => format!("Paused({other:?})"),
        },
        Event::SessionStarted { session, trial, .. } => {
            format!("SessionStarted({session}{})", if *trial { " trial" } else { "" })
        }
        Event::SessionEnded { outcome, .. } => format!("SessionEnded({:?})", outcome.category),
        Event::TaskEnded { work, end, .. } => format!("TaskEnded({work} {end:?})"),
        Event::Discarded { work, by } => format!("Discarded({work} by {})", by.name),
        Event::Requeued { work } => format!("Requeued({work})"),
        Event::StopRequested { reason, .. } => format!("StopRequested({reason:?})"),
        other => {
            let debug = format!("{other:?}");
            debug.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

/// One agent at a desk, with its own clock.
struct Desk {
    agent: Agent,
    policy: Policy,
    now: Timestamp,
    jitter: Duration,
    /// Reason why it has no place.
    hold: Option<Hold>,
    /// See [`Context::broader`](crate::Context::broader).
    closed: Option<Timestamp>,
    broader: bool,
    /// Messages that were given to the running session.
    handed: BTreeSet<WorkId>,
    ids: u64,
}

fn alice() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: Some("alice".to_owned()) }
}

fn bob() -> Actor {
    Actor { name: "bob".to_owned(), ..alice() }
}

fn spec(runtime: Runtime) -> AgentSpec {
    let name = AgentName::new("spark").expect("a good name");
    AgentSpec::new(name, runtime, PathBuf::from("/srv/spark"))
}

impl Desk {
    /// An idle agent of a plain command.
    fn new() -> Self {
        Self::with(spec(Runtime::Command))
    }

    fn with(spec: AgentSpec) -> Self {
        let mut agent = Agent::default();
        let now = Timestamp::from_seconds(1_800_000_000);
        apply(&mut agent, &Event::Added { spec: Box::new(spec), by: alice() }, now);
        Self {
            agent,
            policy: Policy::default(),
            now,
            jitter: Duration::ZERO,
            hold: None,
            closed: None,
            broader: false,
            handed: BTreeSet::new(),
            ids: 0,
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    fn try_tell(&mut self, input: &Input) -> Result<Step, Refusal> {
        self.ids += 1;
        let fresh = WorkId(1000 + self.ids);
        let context = Context {
            now: self.now,
            policy: &self.policy,
            jitter: self.jitter,
            hold: self.hold.as_ref(),
            closed: self.closed,
            broader: self.broader,
            handed: Some(&self.handed),
            parts: &[],
            fresh,
        };
        let decision = decide(&self.agent, input, &context)?;
        let mut step = Step { reply: decision.reply, now: self.now, ..Step::default() };
        for event in decision.events {
            apply(&mut self.agent, &event, self.now);
            for effect in react(&self.agent, &event) {
                match effect {
                    Effect::Keep { context } => step.kept.push(context),
                    other => step.effects.push(other),
                }
            }
            step.posts.extend(posts(&self.agent, &event, &context));
            step.events.push(event);
        }
        Ok(step)
    }

    fn tell(&mut self, input: &Input) -> Step {
        self.try_tell(input).expect("accepted")
    }

    fn try_ask(&mut self, control: Control) -> Result<Step, Refusal> {
        self.try_tell(&Input::Control { by: alice(), control })
    }

    fn ask(&mut self, control: Control) -> Step {
        self.try_ask(control).expect("accepted")
    }

    fn give(&mut self, kind: WorkKind, id: u64, text: &str) -> Step {
        self.ask(Control::Give { id: WorkId(id), kind, text: text.to_owned(), card: None })
    }

    fn session(&self) -> SessionId {
        self.agent.session().expect("a session")
    }

    fn signal(&mut self, signal: Signal) -> Step {
        let session = self.session();
        self.tell(&Input::Driver { session, signal })
    }

    /// The process runs and is ready.
    fn runs(&mut self) {
        self.signal(Signal::Spawned { pid: 42, started: 7 });
        self.signal(Signal::Ready { conversation: None });
        assert!(matches!(self.agent.phase, Phase::Running { .. }));
    }

    fn ends(&mut self, outcome: Outcome) -> Step {
        self.signal(Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() })
    }

    fn fails(&mut self, category: Category) -> Step {
        self.ends(Outcome::new(category, "went wrong"))
    }

    fn succeeds(&mut self) -> Step {
        self.ends(Outcome::new(Category::Success, ""))
    }

    /// Waits until the countdown is over.
    fn waits(&mut self) -> (u64, Step) {
        let until = self.agent.deadline().expect("a countdown");
        let wait = until.since(self.now);
        self.now = until;
        let step = self.tell(&Input::Tick);
        (wait.as_secs(), step)
    }

    /// Returns a desk with a message in session 1.
    fn busy() -> Self {
        let mut desk = Self::new();
        desk.give(WorkKind::Message, 1, "count the beans");
        desk.runs();
        desk
    }

    /// Returns a desk with a task in session 1.
    fn busy_with_task() -> Self {
        let mut desk = Self::new();
        desk.give(WorkKind::Task, 1, "benchmark nemotron");
        desk.runs();
        desk
    }

    fn name(&self) -> AgentName {
        self.agent.name().cloned().expect("it was added")
    }

    fn queue(&self) -> Vec<u64> {
        self.agent.queue.iter().map(|work| work.id.0).collect()
    }
}
