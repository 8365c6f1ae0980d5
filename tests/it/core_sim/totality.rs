//! Any event in any state: whatever a journal holds, nothing panics.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use herder::core::agent::{Agent, ProcessRecord};
use herder::core::ask::{About, Ask, AskAnswer, AskKey, Asker, DecidedBy, Inquiry, Offer, Part, Rule};
use herder::core::dealings::{Cut, Onward};
use herder::core::detail::{Detail, Own};
use herder::core::event::{Event, PauseReason, StopReason, WaitReason};
use herder::core::id::{AgentName, AskId, SessionId, WorkId};
use herder::core::input::{Button, Clock, Control, Input, Signal};
use herder::core::lead::{PartOutcome, PartResult};
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::usage::{Cap, Caps, Reading, Unit, Window};
use herder::core::verdict::{Lapse, Verdict};
use herder::core::watch::{Answer, Escalation, Judgement, Mark, Why};
use herder::core::whisper::{Tone, Way, Whisper};
use herder::core::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};
use herder::core::workspace::Workspace;
use herder::core::{Context, apply, decide, posts, react};
use proptest::prelude::*;
use proptest::sample::select;

const CATEGORIES: [Category; 17] = [
    Category::Success,
    Category::Transient,
    Category::RateLimit,
    Category::Permanent,
    Category::MaxTurns,
    Category::Billing,
    Category::Auth,
    Category::Budget,
    Category::Quota,
    Category::ContextOverflow,
    Category::TaskTimeout,
    Category::SandboxDenial,
    Category::Hung,
    Category::Crash,
    Category::DoNotRestart,
    Category::Interrupted,
    Category::OutOfMemory,
];

fn by() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: None }
}

fn spec() -> Box<AgentSpec> {
    let name = AgentName::new("spark").expect("a good name");
    let caps = Caps { usd_per_hour: 5.0, tokens_per_day: 1_000_000, ..Caps::default() };
    Box::new(AgentSpec { caps, ..AgentSpec::new(name, Runtime::Codex, PathBuf::from("/srv/spark")) })
}

fn results() -> impl Strategy<Value = Vec<Arc<PartResult>>> {
    let result = (id(), text()).prop_map(|(part, note)| {
        let outcome = PartOutcome { note: note.into(), ..PartOutcome::default() };
        Arc::new(PartResult { part, end: TaskEnd::Done, agent: None, outcome })
    });
    prop::collection::vec(result, 0..3)
}

fn id() -> impl Strategy<Value = WorkId> {
    (0u64..4).prop_map(WorkId)
}

fn session() -> impl Strategy<Value = SessionId> {
    prop_oneof![(0u64..4).prop_map(SessionId), Just(SessionId(u64::MAX))]
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![any::<i64>(), 0i64..100_000].prop_map(Timestamp::from_millis)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,20}", Just("ä".repeat(5_000))]
}

fn work() -> impl Strategy<Value = Work> {
    let kind = select(vec![WorkKind::Message, WorkKind::Task, WorkKind::Round]);
    (id(), kind, text(), any::<u32>()).prop_map(|(id, kind, text, attempts)| Work {
        id,
        kind,
        text,
        by: by(),
        at: Timestamp::default(),
        attempts,
        card: None,
    })
}

fn onward() -> impl Strategy<Value = Onward> {
    let cuts = prop::collection::vec((id(), text()).prop_map(|(id, text)| Cut { id, text }), 0..4);
    prop_oneof![
        Just(Onward::To(None)),
        Just(Onward::Broader(Permissions::Full)),
        cuts.prop_map(Onward::Split)
    ]
}

fn category() -> impl Strategy<Value = Category> {
    select(CATEGORIES.to_vec())
}

fn outcome() -> impl Strategy<Value = Box<Outcome>> {
    (category(), text(), prop::option::of(time()), prop::option::of(text()), any::<u32>(), any::<f64>())
        .prop_map(|(category, detail, resets_at, text, turns, cost_usd)| {
            let mut outcome = Outcome { resets_at, text, turns, ..Outcome::new(category, detail) };
            outcome.usage.cost_usd = cost_usd;
            outcome.usage.input_tokens = u64::MAX;
            Box::new(outcome)
        })
}

fn cap() -> impl Strategy<Value = Cap> {
    let window = select(vec![Window::Session, Window::Hour, Window::Day]);
    (window, select(vec![Unit::Usd, Unit::Tokens])).prop_map(|(window, unit)| Cap { window, unit })
}

fn usage() -> impl Strategy<Value = Usage> {
    (any::<u64>(), any::<u64>(), any::<u64>(), any::<f64>(), any::<f64>()).prop_map(
        |(input_tokens, cached_tokens, output_tokens, cost_usd, estimated_usd)| Usage {
            input_tokens,
            cached_tokens,
            output_tokens,
            cost_usd,
            estimated_usd,
        },
    )
}

fn reason() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        Just(StopReason::Pause),
        Just(StopReason::Abort),
        Just(StopReason::Restart),
        Just(StopReason::StopAll),
        Just(StopReason::Cancel),
        Just(StopReason::Remove),
        Just(StopReason::Hung),
        Just(StopReason::Escalation),
        Just(StopReason::Configured),
        cap().prop_map(StopReason::Cap),
        category().prop_map(StopReason::Account),
    ]
}

fn pause() -> impl Strategy<Value = PauseReason> {
    prop_oneof![
        Just(PauseReason::Person(by())),
        Just(PauseReason::StopAll(by())),
        Just(PauseReason::Survivors),
        Just(PauseReason::Escalation),
        cap().prop_map(PauseReason::Cap),
        category().prop_map(PauseReason::Failure),
        category().prop_map(PauseReason::Account),
    ]
}

fn wait() -> impl Strategy<Value = WaitReason> {
    prop_oneof![
        Just(WaitReason::RateLimit),
        Just(WaitReason::Rest),
        Just(WaitReason::Split),
        category().prop_map(WaitReason::Backoff)
    ]
}

fn session_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (session(), work(), any::<bool>()).prop_map(|(session, work, trial)| Event::SessionStarted {
            session,
            work,
            trial
        }),
        (session(), prop::option::of(text()), any::<u32>()).prop_map(|(session, branch, changed)| {
            Event::WorkspaceSeen { session, workspace: Workspace { branch, changed, unfinished: None } }
        }),
        (session(), any::<u32>(), any::<u64>()).prop_map(|(session, pid, started)| Event::ProcessStarted {
            session,
            pid,
            started
        }),
        (session(), prop::option::of(any::<u32>()), time()).prop_map(|(session, pid, until)| {
            let process = pid.map(|pid| ProcessRecord { pid, started: 7 });
            Event::ProcessWarm { session, process, until }
        }),
        (session(), prop::collection::vec(id(), 0..3))
            .prop_map(|(session, late)| Event::Ready { session, late }),
        (session(), text())
            .prop_map(|(session, conversation)| Event::ConversationNamed { session, conversation }),
        session().prop_map(|session| Event::ConversationLost { session, why: Detail::default() }),
        (session(), text()).prop_map(|(session, text)| Event::TurnEnded { session, text, tools: Vec::new() }),
        (session(), text()).prop_map(|(session, evidence)| Event::ClockRanOut {
            session,
            clock: Clock::Tool,
            evidence: evidence.into()
        }),
        (session(), text()).prop_map(|(session, what)| Event::PermissionDenied { session, what }),
        (session(), usage(), usage()).prop_map(|(session, usage, turn)| Event::UsageRecorded {
            session,
            usage,
            turn
        }),
        (cap(), any::<i64>(), any::<f64>(), any::<f64>(), any::<u8>())
            .prop_map(|(cap, at, limit, used, percent)| Event::CapNear { cap, at, limit, used, percent }),
        (cap(), any::<i64>(), any::<f64>()).prop_map(|(cap, at, limit)| Event::CapWaived {
            cap,
            at,
            limit,
            by: by()
        }),
        any::<i64>().prop_map(|hour| Event::Spiked { hour, unit: Unit::Usd, used: 4.0, usual: 1.0 }),
        text().prop_map(|model| Event::PriceUnknown { model, assumed: true }),
        (session(), reason(), any::<bool>()).prop_map(|(session, reason, person)| Event::StopRequested {
            session,
            reason,
            by: person.then(by)
        }),
        (session(), outcome(), prop::collection::vec(any::<u32>(), 0..3))
            .prop_map(|(session, outcome, survivors)| Event::SessionEnded { session, outcome, survivors }),
        (session(), id()).prop_map(|(session, work)| Event::Steered { session, work }),
    ]
}

fn ask_id() -> impl Strategy<Value = AskId> {
    (0u64..4).prop_map(AskId)
}

fn key() -> impl Strategy<Value = AskKey> {
    (0u64..3).prop_map(AskKey)
}

fn answer() -> impl Strategy<Value = AskAnswer> {
    prop_oneof![
        any::<bool>().prop_map(|always| AskAnswer::Allow { always }),
        Just(AskAnswer::Deny),
        text().prop_map(|text| AskAnswer::Text { text }),
        text().prop_map(|label| AskAnswer::Chosen { labels: vec![label] }),
    ]
}

fn about() -> impl Strategy<Value = About> {
    prop_oneof![
        (text(), text(), any::<(bool, bool, bool)>()).prop_map(|(tool, command, (cut, vague, secret))| {
            About::Permission { tool, command, cut, vague, secret, danger: None }
        }),
        (text(), prop::collection::vec(text(), 0..3), any::<bool>()).prop_map(|(text, labels, several)| {
            let offer = |label| Offer { label, description: String::new() };
            About::Question { text, options: labels.into_iter().map(offer).collect(), several }
        }),
        text().prop_map(|text| About::Plan { text }),
    ]
}

fn asked() -> impl Strategy<Value = Ask> {
    let asker = prop::option::of((session(), prop::option::of(key())));
    let part = prop::option::of((key(), any::<bool>()).prop_map(|(call, last)| Part { call, last }));
    let more = (part, prop::option::of(time()));
    (ask_id(), about(), id(), asker, time(), time(), more).prop_map(
        |(id, about, work, asker, at, until, (part, remind_at))| {
            let asker = asker.map(|(session, key)| Asker { session, key, call: None });
            Ask { id, about, work, asker, at, until, part, remind_at, reminded: 0 }
        },
    )
}

fn ask_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        asked().prop_map(|ask| Event::Asked { ask }),
        (ask_id(), session(), prop::option::of(key())).prop_map(|(ask, session, key)| Event::AskedAgain {
            ask,
            session,
            key,
            call: None
        }),
        (ask_id(), answer()).prop_map(|(ask, answer)| Event::Answered { ask, answer, by: by() }),
        ask_id().prop_map(|ask| Event::AskExpired { ask }),
        (ask_id(), prop::option::of(time())).prop_map(|(ask, next)| Event::AskReminded { ask, next }),
        ask_id().prop_map(|ask| Event::AskDropped { ask }),
        (session(), key(), text(), any::<bool>()).prop_map(|(session, key, command, allowed)| {
            let by = DecidedBy::TooMany;
            Event::PermissionDecided { session, key, tool: String::new(), command, allowed, by }
        }),
        (ask_id(), text()).prop_map(|(id, command)| {
            let rule = Rule { id, tool: String::new(), command, by: by(), at: Timestamp::default() };
            Event::RuleAdded { rule }
        }),
        ask_id().prop_map(|rule| Event::RuleRemoved { rule, by: by() }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let step = (text(), any::<u64>(), prop::option::of(text())).prop_map(|(what, digest, said)| Step {
        tool: "shell".to_owned(),
        kind: Kind::Command,
        what,
        digest,
        end: said.map(|said| End { ok: false, said, digest }),
        after_ms: 2,
        took_ms: 3,
    });
    (session(), prop::option::of(id()), time(), text(), prop::collection::vec(step, 0..3)).prop_map(
        |(session, work, at, words, steps)| Turn { session, work, at, took_ms: 10, words, steps, more: 0 },
    )
}

fn judgement() -> impl Strategy<Value = Judgement> {
    prop_oneof![
        Just(Judgement::Verdict(Verdict::Ok)),
        text().prop_map(|text| Judgement::Verdict(Verdict::correction(&text))),
        text().prop_map(|text| Judgement::Verdict(Verdict::escalation(&text))),
        text().prop_map(|text| Judgement::Lapse(Lapse::unparsable(&text))),
        Just(Judgement::Lapse(Lapse::Busy)),
    ]
}

fn watch_event() -> impl Strategy<Value = Event> {
    let answer = select(vec![Answer::Resume, Answer::Abort, Answer::Remove, Answer::Moved]);
    let mark = select(vec![Mark::Right, Mark::Wrong]);
    let call = (id(), time(), prop::option::of(id()), text(), prop::option::of(time())).prop_map(
        |(id, at, work, text, remind_at)| Escalation {
            id,
            at,
            work,
            text: text.clone(),
            why: Why::Said(text),
            times: u32::MAX,
            untold: true,
            reminded: u32::MAX,
            remind_at,
            acked: None,
        },
    );
    prop_oneof![
        (turn(), 0..30_usize).prop_map(|(turn, keep)| Event::TurnObserved { turn: Arc::new(turn), keep }),
        any::<u32>().prop_map(|number| Event::EvaluationBegun { number, finding: None }),
        (0..4_u32, judgement(), usage(), any::<bool>()).prop_map(|(number, judgement, usage, unmetered)| {
            Event::Evaluated { number, judgement: Box::new(judgement), usage, unmetered }
        }),
        any::<u32>().prop_map(|number| Event::DetectorStoodIn { number }),
        call.prop_map(|escalation| Event::Escalated { escalation: Box::new(escalation) }),
        (id(), prop::option::of(time())).prop_map(|(id, next)| Event::EscalationReminded { id, next }),
        id().prop_map(|id| Event::EscalationAcked { id, by: by() }),
        (id(), answer).prop_map(|(id, answer)| Event::EscalationAnswered { id, answer, by: by() }),
        (id(), mark).prop_map(|(id, mark)| Event::WhisperMarked { id, mark, by: by() }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let end = select(vec![TaskEnd::Done, TaskEnd::Failed, TaskEnd::Cancelled, TaskEnd::Blocked]);
    prop_oneof![
        12 => session_event(),
        8 => ask_event(),
        4 => watch_event(),
        1 => Just(Event::Added { spec: spec(), by: by() }),
        1 => Just(Event::Edited { spec: spec(), by: by() }),
        1 => Just(Event::Removed { by: by() }),
        3 => work().prop_map(|work| Event::Queued { work }),
        1 => (any::<u64>(), work()).prop_map(|(number, work)| Event::TaskTaken { number, work }),
        1 => (id(), onward()).prop_map(|(work, onward)| Event::TaskHandedBack { work, onward, by: by() }),
        1 => (id(), 0..4_u32, time()).prop_map(|(work, number, until)| Event::SplitBegun { work, number, until }),
        1 => (0..4_u32, usage(), any::<bool>()).prop_map(|(number, usage, unmetered)| Event::SplitEnded {
            number,
            lapse: unmetered.then_some(Lapse::Busy),
            usage,
            unmetered,
        }),
        1 => any::<u64>().prop_map(|up_to| Event::BoardHeard { up_to }),
        1 => prop::collection::vec(id(), 0..3).prop_map(|works| Event::Cleared { works, by: by() }),
        1 => (id(), text()).prop_map(|(work, text)| Event::Reworded { work, text, by: by() }),
        1 => id().prop_map(|work| Event::Withdrawn { work, by: by() }),
        1 => (id(), end, text()).prop_map(|(work, end, note)| Event::TaskEnded { work, end, note: note.into() }),
        1 => (session(), id(), text()).prop_map(|(session, work, note)| Event::TaskReported {
            session,
            work,
            report: TaskReport { end: TaskEnd::Blocked, note, denied: None, opinion: None },
        }),
        1 => (session(), id(), prop::collection::vec(id(), 0..3), 0..2_u8).prop_map(|(session, work, parts, which)| {
            match which {
                0 => Event::PartsAwaited { session, work, parts },
                _ => Event::Parked { session, work, parts },
            }
        }),
        1 => (session(), id(), results()).prop_map(|(session, work, results)| {
            Event::PartsReported { session, work, results }
        }),
        1 => (id(), text(), prop::option::of(session())).prop_map(|(id, text, prompted)| Event::Whispered {
            whisper: Box::new(Whisper { id, text, by: by(), at: Timestamp::default(), prompted, tone: Tone::Person }),
        }),
        1 => (session(), prop::collection::vec(id(), 0..3)).prop_map(|(session, whispers)| {
            Event::WhispersDelivered { session, whispers, way: Way::Tool }
        }),
        1 => prop::collection::vec(id(), 0..3).prop_map(|whispers| Event::WhispersDropped { whispers, by: by() }),
        1 => id().prop_map(|work| Event::Discarded { work, by: Actor::herder() }),
        1 => id().prop_map(|work| Event::Requeued { work }),
        1 => (time(), wait()).prop_map(|(until, reason)| Event::Waiting { until, reason }),
        1 => Just(Event::WaitOver),
        1 => Just(Event::PausePending { by: by(), all: true }),
        1 => pause().prop_map(|reason| Event::Paused { reason }),
        1 => Just(Event::Resumed { by: by() }),
        1 => Just(Event::AccountOpened { by: by() }),
        1 => Just(Event::Reset { by: by() }),
        1 => any::<(u32, bool)>().prop_map(|(failures, trial)| Event::BreakerOpened { failures, trial }),
        1 => any::<i64>().prop_map(|by| Event::ClockSet { by }),
        1 => Just(Event::BreakerClosed),
        1 => any::<u32>().prop_map(|crashes| Event::Degraded { crashes }),
        1 => text().prop_map(|message| Event::SupervisorPanicked { message }),
    ]
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        any::<bool>().prop_map(|now| Control::Pause { now }),
        Just(Control::Resume),
        Just(Control::Abort),
        id().prop_map(|call| Control::AbortAnyway { call }),
        (time(), any::<bool>()).prop_map(|(at, abort)| Control::Press {
            at,
            button: if abort { Button::Abort } else { Button::Resume },
        }),
        Just(Control::Restart),
        Just(Control::Stop),
        Just(Control::LetOn),
        (id(), text()).prop_map(|(id, text)| Control::Give { id, kind: WorkKind::Message, text, card: None }),
        (id(), text()).prop_map(|(id, text)| Control::Reword { id, text }),
        id().prop_map(Control::Withdraw),
        id().prop_map(Control::CancelTask),
        id().prop_map(Control::Accept),
        (id(), text()).prop_map(|(task, why)| Control::Reject { task, why }),
        (id(), onward()).prop_map(|(task, onward)| Control::HandBack { task, onward }),
        (id(), text()).prop_map(|(id, text)| Control::Whisper { id, text }),
        prop::option::of(id()).prop_map(Control::Ack),
        id().prop_map(|id| Control::Mark { id, mark: Mark::Wrong }),
        Just(Control::Clear),
        Just(Control::Edit { spec: spec(), base: None }),
        Just(Control::Configure(Box::new(AgentSpec { model: "other".to_owned(), ..*spec() }))),
        (ask_id(), answer()).prop_map(|(ask, answer)| Control::Answer { ask, answer }),
        ask_id().prop_map(Control::RemoveRule),
        Just(Control::Remove),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let signal = prop_oneof![
        Just(Signal::Spawned { pid: 1, started: 1 }),
        prop::option::of(text()).prop_map(|conversation| Signal::Ready { conversation }),
        id().prop_map(|work| Signal::Steered { work }),
        text().prop_map(|text| Signal::Turn { text, tools: Vec::new() }),
        text().prop_map(|evidence| Signal::ClockRanOut {
            clock: Clock::Task,
            evidence: Own::TurnEndedAs { status: evidence }
        }),
        turn().prop_map(|turn| Signal::Observed { turn: Box::new(turn) }),
        (usage(), usage(), text()).prop_map(|(usage, unpriced, model)| Signal::Usage {
            reading: Box::new(Reading { usage, unpriced, model, turn: usage })
        }),
        (key(), text(), text(), prop::option::of(text()), any::<(bool, bool)>()).prop_map(
            |(key, tool, command, redacted, (shell, vague))| Signal::Asked {
                key,
                tool,
                command,
                redacted,
                shell,
                vague,
            }
        ),
        key().prop_map(|key| Signal::AskWithdrawn { key }),
        text().prop_map(|why| Signal::ConversationLost { why }),
        (key(), text(), any::<bool>()).prop_map(|(key, text, last)| Signal::Inquired {
            key,
            inquiry: Box::new(Inquiry::Question { text, options: Vec::new(), several: false }),
            part: Some(Part { call: key, last }),
        }),
        (outcome(), prop::collection::vec(any::<u32>(), 0..2))
            .prop_map(|(outcome, survivors)| Signal::Ended { outcome, survivors }),
    ];
    prop_oneof![
        1 => Just(Input::Started),
        1 => session().prop_map(|session| Input::Adopted { session }),
        1 => Just(Input::Promoted),
        1 => (session(), prop::collection::vec(id(), 0..3))
            .prop_map(|(session, parts)| Input::AwaitsParts { session, parts }),
        1 => (id(), session(), results())
            .prop_map(|(task, session, results)| Input::PartsOver { task, session, results }),
        1 => Just(Input::SurvivorsFound),
        2 => (session(), any::<u32>()).prop_map(|(session, pid)| Input::Kept {
            session,
            process: ProcessRecord { pid, started: 7 },
        }),
        1 => Just(Input::Tick),
        3 => control().prop_map(|control| Input::Control { by: by(), control }),
        1 => (0..4_u32, judgement(), prop::option::of(usage())).prop_map(|(number, judgement, usage)| Input::Evaluated {
            number,
            judgement,
            usage
        }),
        1 => (0..4_u32, onward(), prop::option::of(usage())).prop_map(|(number, onward, usage)| {
            let answer = if let Onward::Split(cuts) = onward { Ok(cuts) } else { Err(Lapse::Busy) };
            Input::Divided { number, answer, usage }
        }),
        1 => category().prop_map(|category| Input::AccountBlocked { category }),
        1 => text().prop_map(|account| Input::LeftAccountBlocked { account: account.as_str().into() }),
        1 => Just(Input::AccountOpened { by: by() }),
        1 => (any::<u64>(), work()).prop_map(|(number, work)| Input::HandedOver { number, work: Box::new(work) }),
        1 => any::<u64>().prop_map(|up_to| Input::BoardHeard { up_to }),
        3 => (session(), signal).prop_map(|(session, signal)| Input::Driver { session, signal }),
        1 => (session(), outcome(), prop::collection::vec(any::<u32>(), 0..2)).prop_map(
            |(session, outcome, survivors)| Input::EndedAtShutdown { session, outcome, survivors }
        ),
        1 => session().prop_map(|session| Input::DriverSilent { session, silent: Duration::MAX }),
        1 => (session(), text(), any::<Option<bool>>()).prop_map(|(session, note, denied)| Input::Reported {
            session,
            report: TaskReport { end: TaskEnd::Blocked, note, denied, opinion: None },
        }),
        1 => (session(), prop::collection::vec(id(), 0..3)).prop_map(|(session, whispers)| {
            Input::WhispersTaken { session, whispers }
        }),
        1 => (session(), text()).prop_map(|(session, text)| Input::Question {
            session,
            call: None,
            inquiry: Inquiry::Question { text, options: Vec::new(), several: false }
        }),
        1 => text().prop_map(|message| Input::Panicked { message }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_event_in_any_state_is_applied_and_any_input_then_decided(
        events in prop::collection::vec((event(), time()), 0..40),
        inputs in prop::collection::vec(input(), 1..4),
        now in time(),
    ) {
        let policy = Policy::default();
        let context = Context { now, policy: &policy, jitter: Duration::MAX, hold: None, closed: Some(now), broader: true, handed: None, parts: &[WorkId(3)], fresh: WorkId(u64::MAX) };
        let mut agent = Agent::default();
        let step = |agent: &mut Agent, event: &Event, at: Timestamp| {
            apply(agent, event, at);
            let _ = (react(agent, event), posts(agent, event, &context));
        };
        for (event, at) in &events {
            step(&mut agent, event, *at);
        }
        for input in &inputs {
            let Ok(decision) = decide(&agent, input, &context) else { continue };
            for event in &decision.events {
                step(&mut agent, event, now);
            }
        }
    }
}
