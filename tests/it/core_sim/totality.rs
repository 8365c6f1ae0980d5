//! Any event in any state: whatever a journal holds, nothing panics.

use std::path::PathBuf;
use std::time::Duration;

use herder::core::agent::Agent;
use herder::core::event::{Event, PauseReason, StopReason, WaitReason};
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::input::{Clock, Control, Input, Signal};
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Runtime};
use herder::core::time::Timestamp;
use herder::core::usage::{Cap, Caps, Reading, Unit, Window};
use herder::core::whisper::{Way, Whisper};
use herder::core::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};
use herder::core::{Context, apply, decide, posts, react};
use proptest::prelude::*;
use proptest::sample::select;

const CATEGORIES: [Category; 16] = [
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
];

fn by() -> Actor {
    Actor { network: "libera".into(), name: "alice".to_owned(), identity: None }
}

fn spec() -> Box<AgentSpec> {
    let name = AgentName::new("spark").expect("a good name");
    let caps = Caps { usd_per_hour: 5.0, tokens_per_day: 1_000_000, ..Caps::default() };
    Box::new(AgentSpec { caps, ..AgentSpec::new(name, Runtime::Codex, PathBuf::from("/srv/spark")) })
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
    })
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
        cap().prop_map(StopReason::Cap),
        category().prop_map(StopReason::Account),
    ]
}

fn pause() -> impl Strategy<Value = PauseReason> {
    prop_oneof![
        Just(PauseReason::Person(by())),
        Just(PauseReason::Survivors),
        cap().prop_map(PauseReason::Cap),
        category().prop_map(PauseReason::Failure),
        category().prop_map(PauseReason::Account),
    ]
}

fn wait() -> impl Strategy<Value = WaitReason> {
    prop_oneof![Just(WaitReason::RateLimit), Just(WaitReason::Rest), category().prop_map(WaitReason::Backoff)]
}

fn session_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (session(), work(), any::<bool>()).prop_map(|(session, work, trial)| Event::SessionStarted {
            session,
            work,
            trial
        }),
        (session(), any::<u32>(), any::<u64>()).prop_map(|(session, pid, started)| Event::ProcessStarted {
            session,
            pid,
            started
        }),
        session().prop_map(|session| Event::Ready { session }),
        (session(), text())
            .prop_map(|(session, conversation)| Event::ConversationNamed { session, conversation }),
        session().prop_map(|session| Event::ConversationLost { session }),
        (session(), text()).prop_map(|(session, text)| Event::TurnEnded { session, text, tools: Vec::new() }),
        (session(), text()).prop_map(|(session, evidence)| Event::ClockRanOut {
            session,
            clock: Clock::Tool,
            evidence
        }),
        (session(), text()).prop_map(|(session, what)| Event::PermissionDenied { session, what }),
        (session(), usage()).prop_map(|(session, usage)| Event::UsageRecorded { session, usage }),
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

fn event() -> impl Strategy<Value = Event> {
    let end = select(vec![TaskEnd::Done, TaskEnd::Failed, TaskEnd::Cancelled, TaskEnd::Blocked]);
    prop_oneof![
        12 => session_event(),
        1 => Just(Event::Added { spec: spec(), by: by() }),
        1 => Just(Event::Edited { spec: spec(), by: by() }),
        1 => Just(Event::Removed { by: by() }),
        3 => work().prop_map(|work| Event::Queued { work }),
        1 => prop::collection::vec(id(), 0..3).prop_map(|works| Event::Cleared { works, by: by() }),
        1 => (id(), text()).prop_map(|(work, text)| Event::Reworded { work, text, by: by() }),
        1 => id().prop_map(|work| Event::Withdrawn { work, by: by() }),
        1 => (id(), end, text()).prop_map(|(work, end, note)| Event::TaskEnded { work, end, note }),
        1 => (session(), id(), text()).prop_map(|(session, work, note)| Event::TaskReported {
            session,
            work,
            report: TaskReport { end: TaskEnd::Blocked, note },
        }),
        1 => (id(), text(), prop::option::of(session())).prop_map(|(id, text, prompted)| Event::Whispered {
            whisper: Box::new(Whisper { id, text, by: by(), at: Timestamp::default(), prompted }),
        }),
        1 => (session(), prop::collection::vec(id(), 0..3)).prop_map(|(session, whispers)| {
            Event::WhispersDelivered { session, whispers, way: Way::Tool }
        }),
        1 => id().prop_map(|work| Event::Discarded { work, by: Actor::herder() }),
        1 => id().prop_map(|work| Event::Requeued { work }),
        1 => (time(), wait()).prop_map(|(until, reason)| Event::Waiting { until, reason }),
        1 => Just(Event::WaitOver),
        1 => Just(Event::PausePending { by: by() }),
        1 => pause().prop_map(|reason| Event::Paused { reason }),
        1 => Just(Event::Resumed { by: by() }),
        1 => Just(Event::AccountOpened { by: by() }),
        1 => Just(Event::Reset { by: by() }),
        1 => any::<(u32, bool)>().prop_map(|(failures, trial)| Event::BreakerOpened { failures, trial }),
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
        Just(Control::Restart),
        Just(Control::Stop),
        (id(), text()).prop_map(|(id, text)| Control::Give { id, kind: WorkKind::Message, text }),
        (id(), text()).prop_map(|(id, text)| Control::Reword { id, text }),
        id().prop_map(Control::Withdraw),
        id().prop_map(Control::CancelTask),
        (id(), text()).prop_map(|(id, text)| Control::Whisper { id, text }),
        Just(Control::Clear),
        Just(Control::Edit(spec())),
        Just(Control::Remove),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let signal = prop_oneof![
        Just(Signal::Spawned { pid: 1, started: 1 }),
        prop::option::of(text()).prop_map(|conversation| Signal::Ready { conversation }),
        id().prop_map(|work| Signal::Steered { work }),
        text().prop_map(|text| Signal::Turn { text, tools: Vec::new() }),
        text().prop_map(|evidence| Signal::ClockRanOut { clock: Clock::Task, evidence }),
        text().prop_map(|what| Signal::Denied { what }),
        (usage(), usage(), text()).prop_map(|(usage, unpriced, model)| Signal::Usage {
            reading: Box::new(Reading { usage, unpriced, model })
        }),
        (outcome(), prop::collection::vec(any::<u32>(), 0..2))
            .prop_map(|(outcome, survivors)| Signal::Ended { outcome, survivors }),
    ];
    prop_oneof![
        1 => Just(Input::Started),
        1 => Just(Input::SurvivorsFound),
        1 => Just(Input::Tick),
        3 => control().prop_map(|control| Input::Control { by: by(), control }),
        1 => category().prop_map(|category| Input::AccountBlocked { category }),
        1 => Just(Input::AccountOpened { by: by() }),
        3 => (session(), signal).prop_map(|(session, signal)| Input::Driver { session, signal }),
        1 => (session(), outcome(), prop::collection::vec(any::<u32>(), 0..2)).prop_map(
            |(session, outcome, survivors)| Input::EndedAtShutdown { session, outcome, survivors }
        ),
        1 => session().prop_map(|session| Input::DriverSilent { session, silent: Duration::MAX }),
        1 => (session(), text()).prop_map(|(session, note)| Input::Reported {
            session,
            report: TaskReport { end: TaskEnd::Failed, note },
        }),
        1 => (session(), prop::collection::vec(id(), 0..3)).prop_map(|(session, whispers)| {
            Input::WhispersTaken { session, whispers }
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
        let context = Context { now, policy: &policy, jitter: Duration::MAX, fresh: WorkId(u64::MAX) };
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
