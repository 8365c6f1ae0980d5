//! The world around one agent: its process, its journal, the people who command it.

use std::path::PathBuf;
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::ask::{AskAnswer, AskKey, Inquiry};
use herder::core::dealings::Cut;
use herder::core::detail::Own;
use herder::core::effect::Effect;
use herder::core::event::{Event, WaitReason};
use herder::core::id::{AccountName, AgentName, AskId, SessionId, WorkId};
use herder::core::input::{Control, Input, Signal};
use herder::core::notice::{Notice, Refusal};
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::policy::{Judge, Policy};
use herder::core::promotion::Hold;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::usage::{Caps, Reading};
use herder::core::verdict::{Lapse, Verdict};
use herder::core::watch::Judgement;
use herder::core::work::{Actor, TaskEnd, TaskReport, WorkKind};
use herder::core::{Context, apply, decide, posts, react};
use proptest::sample::Index;

use super::Happening;
use super::invariants::{self, Asked, Climb, Ledger, Limits, Spending};

/// A person's command; ids and texts are the world's.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Give { task: bool },
    GiveNothing,
    Pause { now: bool },
    Resume,
    Abort,
    Restart,
    Stop,
    LetOn,
    CancelTask(Index),
    Reword(Index),
    Withdraw(Index),
    Clear,
    Whisper,
    Answer { which: Index, how: u8 },
    RemoveRule(Index),
    Edit { looping: bool, claude: bool },
    Remove,
}

pub(super) struct World {
    agent: Agent,
    /// The journal on disk, each event as its bytes.
    journal: Vec<(Timestamp, Vec<u8>)>,
    policy: Policy,
    jitter: Duration,
    now: Timestamp,
    ids: u64,
    /// The session whose process is alive.
    alive: Option<SessionId>,
    /// The last session that was seen.
    last: SessionId,
    limits: Limits,
    ledger: Ledger,
    caps: Caps,
    spending: Spending,
    /// The session's meter.
    meter: Usage,
    asked: Asked,
    climb: Climb,
    keys: u64,
    /// The reason why it is not its turn.
    hold: Option<Hold>,
    /// True if another agent has broader permissions.
    broader: bool,
}

fn person() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: Some("alice".to_owned()) }
}

fn spec(runtime: Runtime, looping: bool, caps: Caps) -> AgentSpec {
    let name = AgentName::new("spark").expect("a good name");
    let rest = Duration::from_secs(30);
    AgentSpec { looping, rest, caps, ..AgentSpec::new(name, runtime, PathBuf::from("/srv/spark")) }
}

impl World {
    pub(super) fn new(runtime: Runtime, looping: bool, jitter: u64, degrades: bool, capped: bool) -> Self {
        let caps = if capped {
            Caps { usd_per_hour: 5.0, usd_per_day: 10.0, ..Caps::default() }
        } else {
            Caps::default()
        };
        let mut policy = Policy::default();
        policy.evaluator.judge = Judge::Asked;
        policy.evaluator.interval = 2;
        if !degrades {
            policy.degraded.count = 1_000_000;
        }
        let mut world = Self {
            agent: Agent::default(),
            journal: Vec::new(),
            policy,
            jitter: Duration::from_millis(jitter),
            now: Timestamp::from_seconds(1_800_000_000),
            ids: 0,
            alive: None,
            last: SessionId(0),
            limits: Limits::new(degrades),
            ledger: Ledger::default(),
            caps,
            spending: Spending::new(caps),
            meter: Usage::default(),
            asked: Asked::default(),
            climb: Climb::default(),
            keys: 0,
            hold: None,
            broader: true,
        };
        let added = Event::Added { spec: Box::new(spec(runtime, looping, caps)), by: person() };
        world.commit(&added);
        world.tell(&Input::Started);
        world
    }

    pub(super) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(super) fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Passes(millis) => self.pass(*millis),
            Happening::Countdown { early } => self.countdown(*early),
            Happening::Asks(ask) => self.ask(ask),
            Happening::AccountBlocked(category) => self.tell(&Input::AccountBlocked { category: *category }),
            Happening::AccountOpened => {
                self.limits.person_intervened();
                self.tell(&Input::AccountOpened { by: person() });
            }
            Happening::Held => self.hold = Some(Hold::Turn { active: 5, max: 5 }),
            Happening::Promoted => {
                self.hold = None;
                self.tell(&Input::Promoted);
            }
            Happening::Comes { conversation } => {
                self.signal(Signal::Spawned { pid: 42, started: self.now.as_millis().unsigned_abs() });
                let conversation = conversation.then(|| "conversation".to_owned());
                self.signal(Signal::Ready { conversation });
            }
            Happening::Steered(which) => {
                let work = WorkId(u64::try_from(which.index(self.agent.queue.len() + 2)).unwrap_or_default());
                let queued = self.agent.queue.iter().rev().find(|work| work.kind == WorkKind::Message);
                let work = queued.map_or(work, |work| work.id);
                self.signal(Signal::Steered { work });
            }
            Happening::Reports(end) => self.reports(*end),
            Happening::TakesWhispers => {
                // Those that are part of a prompt are handed over with that, and offered in no other way.
                let Some(session) = self.alive else { return };
                let waiting = self.agent.whispers.iter().filter(|whisper| whisper.prompted != Some(session));
                let whispers = waiting.map(|whisper| whisper.id).collect();
                self.tell(&Input::WhispersTaken { session, whispers });
            }
            Happening::WhisperSteered => {
                let waiting = self.agent.whispers.iter().map(|whisper| whisper.id).next_back();
                self.signal(Signal::Steered { work: waiting.unwrap_or_default() });
            }
            Happening::Observed(what) => self.observed(*what),
            Happening::Judged { how, late } => self.judged(*how, *late),
            Happening::Turn => self.signal(Signal::Turn { text: "so far".to_owned(), tools: Vec::new() }),
            Happening::Spends(quarters) => self.spend(*quarters),
            Happening::ClockRanOut(clock) => {
                self.signal(Signal::ClockRanOut {
                    clock: *clock,
                    evidence: Own::NothingYet { waited: Duration::from_secs(60) },
                });
            }
            Happening::Wants { what } => {
                self.keys += 1;
                let command = ["ls", "make", "git push", "sudo make"][usize::from(*what) % 4].to_owned();
                let (key, tool) = (AskKey(self.keys), "Bash".to_owned());
                self.signal(Signal::Asked {
                    key,
                    tool,
                    command,
                    redacted: None,
                    shell: true,
                    vague: what % 8 > 5,
                });
            }
            Happening::Unasks(which) => {
                let key = AskKey(u64::try_from(which.index(8)).unwrap_or_default());
                self.signal(Signal::AskWithdrawn { key: AskKey(self.keys.saturating_sub(key.0)) });
            }
            Happening::Questions { what } => {
                let session = self.alive.unwrap_or_default();
                let before = self.agent.clone();
                let text = format!("question {what}?");
                let inquiry = Inquiry::Question { text, options: Vec::new(), several: false };
                let asked = Input::Question { session, call: None, inquiry };
                if self.decide(&asked).is_err() {
                    assert_eq!(self.agent, before, "a refusal changed the state");
                }
            }
            Happening::Ends { category, resets_in, survivors } => self.end(*category, *resets_in, *survivors),
            Happening::Stale(category) => self.stale(*category),
            Happening::DriverSilent => {
                if let Some(session) = self.alive {
                    self.tell(&Input::DriverSilent { session, silent: Duration::from_secs(15) });
                }
            }
            Happening::Divided { how, late } => self.divided(*how, *late),
            Happening::Broader(broader) => self.broader = *broader,
            Happening::Panic => {
                self.alive = None;
                self.tell(&Input::Panicked { message: "boom".to_owned() });
            }
            Happening::GoesDown { down } => {
                self.finishes_at_shutdown();
                self.killed(*down);
            }
            Happening::Killed { down } => self.killed(*down),
        }
    }

    fn observed(&mut self, what: u8) {
        let command = ["make", "ls", "cargo test"][usize::from(what) % 3].to_owned();
        let end = Some(End { ok: false, said: "error: no such target".to_owned(), digest: 7 });
        let (tool, digest) = ("shell".to_owned(), u64::from(what));
        let step = Step { tool, kind: Kind::Command, what: command, digest, end, after_ms: 0, took_ms: 0 };
        let (session, words) = (SessionId(0), "Once more.".to_owned());
        let turn = Turn { session, work: None, at: self.now, took_ms: 5, words, steps: vec![step], more: 0 };
        self.signal(Signal::Observed { turn: Box::new(turn) });
    }

    fn judged(&mut self, how: u8, late: bool) {
        let Some(open) = self.agent.watch.open.clone() else { return };
        let judgement = match how % 5 {
            0 => Judgement::Verdict(Verdict::Ok),
            1 | 2 => Judgement::Verdict(Verdict::correction("Read the error.")),
            3 => Judgement::Lapse(match how / 5 % 4 {
                0 => Lapse::missing("codex"),
                1 => Lapse::unparsable("hm"),
                2 => Lapse::Busy,
                _ => Lapse::Overtaken,
            }),
            _ => Judgement::Verdict(Verdict::escalation("A person must look.")),
        };
        if late {
            self.overtaken(open.number.wrapping_sub(1), judgement);
        } else {
            self.tell(&Input::Evaluated { number: open.number, judgement, usage: Some(Usage::default()) });
        }
    }

    /// Checks that an evaluation that was overtaken has no effect.
    fn overtaken(&self, number: u32, judgement: Judgement) {
        let input = Input::Evaluated { number, judgement, usage: Some(Usage::default()) };
        let context = Context {
            now: self.now,
            policy: &self.policy,
            jitter: self.jitter,
            hold: None,
            closed: None,
            broader: false,
            handed: None,
            parts: &[],
            fresh: WorkId::default(),
        };
        let decision = decide(&self.agent, &input, &context).expect("nobody can refuse it");
        let mut after = self.agent.clone();
        decision.events.iter().for_each(|event| apply(&mut after, event, self.now));
        // But that it is over, and counted.
        after.watch.counts = self.agent.watch.counts;
        after.watch.overtaken.clone_from(&self.agent.watch.overtaken);
        assert_eq!(after, self.agent, "an evaluation that was overtaken changed something");
    }

    /// Answers a request to split the task, with parts or a failure; `late` answers an earlier request.
    fn divided(&mut self, how: u8, late: bool) {
        let Some(split) = self.agent.splitting.clone() else { return };
        let parts = |count: u64| -> Result<Vec<Cut>, Lapse> {
            Ok((0..count).map(|n| Cut { id: WorkId(1_000_000 + n), text: "a part".to_owned() }).collect())
        };
        let answer = match how % 6 {
            0..=2 => parts(2 + u64::from(how % 3)),
            3 => parts(1),
            4 => Err(Lapse::unparsable("hm")),
            _ => Err(Lapse::TimedOut { after_ms: 30_000 }),
        };
        let number = split.number.wrapping_sub(u32::from(late));
        let before = self.agent.clone();
        self.tell(&Input::Divided { number, answer, usage: Some(Usage::default()) });
        if late {
            assert_eq!(self.agent, before, "an answer that nobody waits for changed something");
        }
    }

    fn reports(&mut self, end: TaskEnd) {
        let before = self.agent.clone();
        let session = self.alive.unwrap_or_default();
        let report = TaskReport { end, note: "so it is".to_owned(), denied: None, opinion: None };
        if self.decide(&Input::Reported { session, report }).is_err() {
            assert_eq!(self.agent, before, "a refusal changed the state");
        }
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
        // The supervisor's timer fires by itself.
        if self.agent.deadline().is_some_and(|until| until <= self.now) {
            self.tell(&Input::Tick);
        }
    }

    fn countdown(&mut self, early: bool) {
        let Some(until) = self.agent.deadline() else { return };
        let just_before = Timestamp::from_millis(until.as_millis() - 1);
        let then = if early { just_before } else { until };
        if then < self.now {
            return;
        }
        self.now = then;
        let events = self.journal.len();
        self.tell(&Input::Tick);
        assert!(!early || self.journal.len() == events, "a countdown ended before its time");
    }

    fn ask(&mut self, ask: &Ask) {
        self.ids += 1;
        let id = WorkId(self.ids);
        let control = match ask {
            Ask::Give { task } => {
                let kind = if *task { WorkKind::Task } else { WorkKind::Message };
                Control::Give { id, kind, text: format!("work {id}"), card: None }
            }
            Ask::GiveNothing => {
                Control::Give { id, kind: WorkKind::Message, text: "  ".to_owned(), card: None }
            }
            Ask::Pause { now } => Control::Pause { now: *now },
            Ask::Resume => Control::Resume,
            Ask::Abort => Control::Abort,
            Ask::Restart => Control::Restart,
            Ask::Stop => Control::Stop,
            Ask::LetOn => Control::LetOn,
            Ask::CancelTask(index) => Control::CancelTask(self.some_work(*index)),
            Ask::Reword(index) => {
                Control::Reword { id: self.some_work(*index), text: format!("reworded {id}") }
            }
            Ask::Withdraw(index) => Control::Withdraw(self.some_work(*index)),
            Ask::Clear => Control::Clear,
            Ask::Whisper => Control::Whisper { id, text: format!("whisper {id}") },
            Ask::Answer { which, how } => Control::Answer {
                ask: self.some_ask(*which),
                answer: match how {
                    0 => AskAnswer::Allow { always: false },
                    1 => AskAnswer::Allow { always: true },
                    2 => AskAnswer::Deny,
                    _ => AskAnswer::Text { text: "so".to_owned() },
                },
            },
            Ask::RemoveRule(which) => Control::RemoveRule(self.some_ask(*which)),
            Ask::Edit { looping, claude } => {
                let runtime = if *claude { Runtime::Claude } else { Runtime::Command };
                let spec = Box::new(spec(runtime, *looping, self.caps));
                if *looping == *claude {
                    Control::Configure(spec)
                } else {
                    Control::Edit { spec, base: None }
                }
            }
            Ask::Remove => Control::Remove,
        };
        let before = self.agent.clone();
        if matches!(control, Control::Resume | Control::LetOn | Control::Restart) {
            self.spending.person_resumes(self.now);
        }
        let skips_waits = !matches!(
            control,
            Control::Give { .. }
                | Control::Whisper { .. }
                | Control::Pause { .. }
                | Control::Stop
                | Control::Edit { .. }
                | Control::Configure(_)
                | Control::Remove
        );
        // An idle agent has no countdown: new work starts it.
        let rests = matches!(before.phase, Phase::Idle | Phase::Waiting { reason: WaitReason::Rest, .. });
        if skips_waits || rests {
            self.limits.person_may_skip_the_wait();
        }
        match self.decide(&Input::Control { by: person(), control: control.clone() }) {
            // A message that answers a question is no work.
            Ok(Some(Notice::QuestionAnswered { .. })) => {}
            Ok(_) => self.ledger.accepted(&control),
            Err(_) => assert_eq!(self.agent, before, "a refusal changed the state"),
        }
    }

    /// Returns a question, mostly an open one.
    fn some_ask(&self, index: Index) -> AskId {
        let open: Vec<AskId> = self.agent.asks.iter().map(|ask| ask.id).collect();
        match open.get(index.index(open.len() + 1)) {
            Some(id) => *id,
            None => AskId(self.some_work(index).0),
        }
    }

    fn some_work(&self, index: Index) -> WorkId {
        WorkId(u64::try_from(index.index(self.journal.len())).unwrap_or_default())
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(session) = self.alive {
            self.tell(&Input::Driver { session, signal });
        }
    }

    fn outcome(&self, category: Category, resets_in: Option<i64>) -> Outcome {
        Outcome {
            resets_at: resets_in.map(|millis| Timestamp::from_millis(self.now.as_millis() + millis)),
            turns: 3,
            usage: self.one_more_call(1),
            ..Outcome::new(category, "went so")
        }
    }

    /// Returns the meter after one more call of the model, in fractions that every encoding keeps exactly.
    fn one_more_call(&self, quarters: u32) -> Usage {
        let mut usage = self.meter;
        let cost_usd = 0.25 * f64::from(quarters);
        usage.add(Usage { input_tokens: 100, output_tokens: 10, cost_usd, ..Usage::default() });
        usage
    }

    fn spend(&mut self, quarters: u32) {
        let Some(session) = self.alive else { return };
        self.meter = self.one_more_call(quarters);
        self.spending.spent(0.25 * f64::from(quarters), self.now);
        let reading = Reading { usage: self.meter, ..Reading::default() };
        let signal = Signal::Usage { reading: Box::new(reading) };
        // The same reading again changes nothing.
        self.tell(&Input::Driver { session, signal: signal.clone() });
        let before = self.agent.clone();
        self.tell(&Input::Driver { session, signal });
        assert_eq!(self.agent, before, "a reading was counted twice");
        invariants::a_session_over_its_cap_is_stopped(&self.spending, &self.agent, self.now);
    }

    fn end(&mut self, category: Category, resets_in: Option<i64>, survivors: bool) {
        let Some(session) = self.alive else { return };
        let outcome = Box::new(self.outcome(category, resets_in));
        let survivors = if survivors { vec![99] } else { Vec::new() };
        // Survivors are reported because they cannot be ended; the session's own process is gone.
        self.alive = None;
        self.spending.spent(0.25, self.now);
        if category == Category::Quota {
            let account = AccountName::default();
            self.hold = Some(Hold::Closed { account, category, until: None });
        }
        let before = self.agent.clone();
        self.tell(&Input::Driver { session, signal: Signal::Ended { outcome, survivors } });
        invariants::billing_auth_and_budget_never_increment_a_counter(category, &before, &self.agent);
    }

    fn stale(&mut self, category: Category) {
        let Some(last) = self.agent.last_session.0.checked_sub(1) else { return };
        let before = self.agent.clone();
        let outcome = Box::new(self.outcome(category, None));
        let signal = Signal::Ended { outcome, survivors: vec![1] };
        self.tell(&Input::Driver { session: SessionId(last), signal });
        assert_eq!(self.agent, before, "a signal of an earlier session changed the state");
    }

    /// Ends the session at herder's shutdown, after it has finished its work.
    fn finishes_at_shutdown(&mut self) {
        let Some(session) = self.alive.take() else { return };
        let outcome = Box::new(self.outcome(Category::Success, None));
        self.spending.spent(0.25, self.now);
        self.tell(&Input::EndedAtShutdown { session, outcome, survivors: Vec::new() });
        assert_eq!(self.alive, None, "a session was started while herder goes down");
    }

    /// Kills herder and starts it again: only the data on disk remains, and no process of the session.
    fn killed(&mut self, down: u64) {
        self.now = self.now.after(Duration::from_millis(down));
        let mut replayed = Agent::default();
        for (at, bytes) in &self.journal {
            let event: Event = serde_json::from_slice(bytes).expect("what was written can be read");
            apply(&mut replayed, &event, *at);
        }
        invariants::the_state_after_a_replay_equals_the_state_before(&self.agent, &replayed);
        let snapshot = serde_json::to_vec(&self.agent).expect("a state can be written");
        let read: Agent = serde_json::from_slice(&snapshot).expect("a snapshot can be read");
        invariants::the_state_after_a_replay_equals_the_state_before(&self.agent, &read);
        self.agent = replayed;
        self.alive = None;
        self.tell(&Input::Started);
    }

    fn tell(&mut self, input: &Input) {
        self.decide(input).expect("only a person and a question can be refused");
    }

    fn decide(&mut self, input: &Input) -> Result<Option<Notice>, Refusal> {
        self.ids += 1;
        let fresh = WorkId(self.ids);
        let policy = self.policy.clone();
        let hold = self.hold.clone();
        let hold = hold.as_ref();
        let broader = self.broader;
        let context = Context {
            now: self.now,
            policy: &policy,
            jitter: self.jitter,
            hold,
            closed: None,
            broader,
            handed: None,
            parts: &[],
            fresh,
        };
        let decision = decide(&self.agent, input, &context)?;
        invariants::every_accepted_command_is_answered(input, &decision);
        let origin = self.agent.phase.clone();
        for event in &decision.events {
            invariants::whoever_is_held_back_starts_nothing(hold, event);
            self.commit(event);
            self.ledger.after_a_pause_nothing_starts_until_somebody_resumes(input, event);
            for effect in react(&self.agent, event) {
                self.perform(&effect);
            }
            // Pending posts can be named in any state.
            let _ = posts(&self.agent, event, &context);
        }
        invariants::a_paused_agent_starts_nothing_by_itself(&origin, input, &decision);
        // Work that waits while herder goes down begins when it is back.
        if hold.is_none() && !matches!(input, Input::EndedAtShutdown { .. }) {
            invariants::nothing_lies_idle(&self.agent);
        }
        invariants::everything_spent_is_counted_once(&self.spending, &self.agent);
        invariants::accepted_work_is_somewhere(&self.ledger, &self.agent);
        invariants::a_whisper_waits_until_it_is_handed_over_once(&self.ledger, &self.agent);
        invariants::what_is_asked_belongs_to_work_at_hand(&self.agent, self.now);
        invariants::only_so_much_is_asked_at_once(&self.agent);
        Ok(decision.reply)
    }

    fn commit(&mut self, event: &Event) {
        let bytes = serde_json::to_vec(event).expect("an event can be written");
        let before = self.agent.clone();
        apply(&mut self.agent, event, self.now);
        self.journal.push((self.now, bytes));
        self.ledger.saw(&before, event);
        self.climb.a_person_is_called_after_two_findings_and_answers_once(event);
        self.climb.while_a_person_is_called_nothing_starts(event);
        invariants::a_halted_agent_is_judged_by_nobody(&self.agent);
        invariants::a_session_starts_only_from_rest(&before, event);
        invariants::session_numbers_strictly_grow(self.last, event);
        if let Event::SessionStarted { session, .. } = event {
            self.last = *session;
            invariants::no_session_starts_while_a_cap_is_reached_unless_a_person_resumed_it(
                &self.spending,
                self.now,
            );
        }
        invariants::unfinished_work_comes_first(event, &self.agent);
        invariants::what_is_split_waits_at_the_head_of_the_queue(&self.agent);
        invariants::work_is_taken_from_the_head_of_the_queue(&before, event);
        invariants::work_leaves_only_by_an_event_that_names_it(&before, event, &self.agent);
        invariants::a_limit_is_waited_for_to_the_millisecond(&before, event);
        self.asked.an_ask_is_open_once_and_over_once(event);
        self.asked.a_dangerous_command_is_decided_by_people_alone(&before, event);
        self.limits.saw(&before, event, self.now);
    }

    fn perform(&mut self, effect: &Effect) {
        match effect {
            Effect::Spawn { session, .. } => {
                invariants::at_most_one_process_per_agent(self.alive, *session);
                invariants::nothing_is_spawned_while_stopping(&self.agent.phase);
                self.alive = Some(*session);
                self.meter = Usage::default();
            }
            Effect::Whisper { session, whisper, .. } => {
                assert_eq!(self.alive, Some(*session), "a whisper goes to the process that is alive");
                assert!(self.agent.whispers.iter().any(|waiting| waiting.id == *whisper));
            }
            Effect::Go { session } | Effect::Stop { session } | Effect::Steer { session, .. } => {
                assert_eq!(self.alive, Some(*session), "an order goes to the process that is alive");
            }
            Effect::Answer { session, key, .. } => {
                assert_eq!(self.alive, Some(*session), "an answer goes to the process that is alive");
                self.asked.a_request_is_answered_once(*session, *key);
            }
            Effect::Evaluate { number } => {
                assert_eq!(self.agent.watch.open.as_ref().map(|open| open.number), Some(*number));
            }
            Effect::Split { number } => {
                assert_eq!(self.agent.splitting.as_ref().map(|split| split.number), Some(*number));
            }
            Effect::Retire => {
                assert_eq!(self.alive, None, "an agent is retired when its process is gone");
                assert_eq!(self.agent.phase, Phase::Removed);
            }
            Effect::BlockAccount { category, .. } => assert!(category.is_of_account()),
            // Bounded, whatever the agent has said.
            Effect::Keep { context } => {
                assert!(context.as_ref().is_none_or(|context| context.len() < 64 * 1024));
            }
            Effect::OpenAccount { .. }
            | Effect::Checkout { .. }
            | Effect::LookAtAccount
            | Effect::Exhausted { .. }
            | Effect::Proved { .. }
            | Effect::Spent { .. } => {}
        }
    }
}
