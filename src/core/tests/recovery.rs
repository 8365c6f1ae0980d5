//! Tests of recovery after herder was killed, and after a supervisor panicked.

use super::*;
use crate::agent::ProcessRecord;
use crate::event::PauseReason;

#[test]
fn a_cut_session_is_tried_again_at_once_and_nobody_is_blamed() {
    let mut desk = Desk::busy();
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
    assert_eq!(step.said(), "Interrupted\nStarted { work: \"count the beans\" }");
    assert_eq!((desk.agent.failures, desk.agent.crashes), (0, 0));
}

#[test]
fn nothing_is_begun_while_herder_goes_down_and_what_waits_is_begun_after_it() {
    let done = || Box::new(Outcome::new(Category::Success, ""));
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "count the peas");
    let session = desk.session();
    let ended = |session| Input::EndedAtShutdown { session, outcome: done(), survivors: Vec::new() };
    assert_eq!(desk.tell(&ended(SessionId(0))).events, [], "a session of long ago");
    let step = desk.tell(&ended(session));
    assert_eq!(step.told(), "SessionEnded(Success)");
    assert_eq!((&desk.agent.phase, desk.agent.queue.len()), (&Phase::Idle, 1));
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SessionStarted(2)");
    assert_eq!(step.said(), "Started { work: \"count the peas\" }");

    let rest = Duration::from_secs(30);
    let mut looping = Desk::with(AgentSpec { looping: true, rest, ..spec(Runtime::Command) });
    looping.tell(&Input::Started);
    let session = looping.session();
    let step = looping.tell(&ended(session));
    assert_eq!(step.told(), "SessionEnded(Success), Waiting(30s Rest)", "as after any round");
}

#[test]
fn what_was_asked_of_a_session_holds_after_a_restart_of_herder() {
    for (control, follows) in [
        (Control::Pause { now: true }, "Requeued(1), Paused(alice)"),
        (Control::Pause { now: false }, "Requeued(1), Paused(alice)"),
        (Control::Stop, "Requeued(1), Paused(stop-all by alice)"),
        (Control::Abort, "Discarded(1 by alice), SessionStarted(2)"),
        (Control::Restart, "Requeued(1), SessionStarted(2)"),
        (Control::Remove, "Requeued(1), Removed, Cleared"),
    ] {
        let mut desk = Desk::busy();
        desk.give(WorkKind::Message, 2, "next");
        desk.ask(control.clone());
        let step = desk.tell(&Input::Started);
        assert_eq!(step.told(), format!("SessionEnded(Interrupted), {follows}"), "{control:?}");
    }
}

#[test]
fn a_hang_that_was_seen_is_remembered() {
    let mut desk = Desk::busy();
    let session = desk.session();
    desk.tell(&Input::DriverSilent { session, silent: Duration::from_secs(15) });
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SessionEnded(Hung), Requeued(1), Waiting(10s Backoff(Hung))");
}

#[test]
fn countdowns_go_on_while_herder_is_down() {
    let mut desk = Desk::busy();
    desk.fails(Category::Transient);
    desk.pass(4);
    assert_eq!(desk.tell(&Input::Started).events, []);
    assert_eq!(desk.agent.deadline().map(|until| until.since(desk.now)), Some(Duration::from_secs(6)));
    desk.pass(3600);
    assert_eq!(desk.tell(&Input::Started).told(), "WaitOver, SessionStarted(2)");
}

#[test]
fn paused_stays_paused_and_work_that_was_accepted_starts() {
    let mut desk = Desk::new();
    desk.ask(Control::Pause { now: false });
    desk.give(WorkKind::Message, 1, "later");
    assert_eq!(desk.tell(&Input::Started).events, []);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Person(alice()) });

    let mut never_added = Agent::default();
    let policy = Policy::default();
    let context = Context {
        now: Timestamp::default(),
        policy: &policy,
        jitter: Duration::ZERO,
        hold: None,
        closed: None,
        broader: false,
        handed: None,
        parts: &[],
        fresh: WorkId(1),
    };
    assert_eq!(decide(&never_added, &Input::Started, &context).expect("accepted").events, []);
    let control = Input::Control { by: alice(), control: Control::Resume };
    assert!(decide(&never_added, &control, &context).is_err());
    apply(&mut never_added, &Event::WaitOver, context.now);
}

#[test]
fn a_panic_is_a_process_crash_of_its_own_agent() {
    let mut desk = Desk::busy();
    let step = desk.tell(&Input::Panicked { message: "index out of bounds".to_owned() });
    assert_eq!(
        step.told(),
        "SessionEnded(Interrupted), Requeued(1), SupervisorPanicked, Waiting(1s Backoff(Crash))"
    );
    assert_eq!(
        step.said(),
        "SupervisorPanicked { restart_in: 1s }\n#alerts SupervisorPanicked { restart_in: 1s }"
    );
    assert_eq!((desk.agent.crashes, desk.agent.failure_times.len()), (1, 1));
    assert_eq!(desk.waits().1.told(), "WaitOver, SessionStarted(2)");
}

#[test]
fn a_panic_never_shortens_a_countdown_and_starts_nothing_that_is_paused() {
    let mut desk = Desk::busy();
    desk.fails(Category::Transient);
    let until = desk.agent.deadline();
    desk.tell(&Input::Panicked { message: "boom".to_owned() });
    assert_eq!(desk.agent.deadline(), until);

    let mut paused = Desk::busy();
    paused.fails(Category::Auth);
    assert_eq!(paused.tell(&Input::Panicked { message: "boom".to_owned() }).told(), "SupervisorPanicked");

    let mut stopping = Desk::busy();
    stopping.ask(Control::Pause { now: true });
    let step = stopping.tell(&Input::Panicked { message: "boom".to_owned() });
    assert!(step.told().ends_with("SupervisorPanicked, Paused(alice)"), "{}", step.told());
}

#[test]
fn panics_open_the_breaker_like_crashes() {
    let mut desk = Desk::busy();
    for _ in 0..6 {
        desk.tell(&Input::Panicked { message: "boom".to_owned() });
        if desk.agent.deadline().is_some() {
            desk.waits();
        }
    }
    assert_eq!(desk.agent.phase, Phase::NeedsIntervention);
}

#[test]
fn a_panic_in_a_trial_opens_the_breaker_also_while_the_account_pauses_it() {
    let mut desk = Desk::busy();
    while desk.agent.phase != Phase::NeedsIntervention {
        desk.fails(Category::Crash);
        if desk.agent.deadline().is_some() {
            desk.waits();
        }
    }
    desk.ask(Control::Resume);
    desk.tell(&Input::AccountBlocked { category: Category::Billing });
    let step = desk.tell(&Input::Panicked { message: "boom".to_owned() });
    assert!(step.told().ends_with("SupervisorPanicked, BreakerOpened"), "{}", step.told());
    assert_eq!(desk.tell(&Input::AccountOpened { by: bob() }).events, []);
}

#[test]
fn signals_of_an_earlier_session_are_ignored() {
    let mut desk = Desk::busy();
    desk.fails(Category::MaxTurns);
    let before = desk.agent.clone();
    for signal in [
        Signal::Spawned { pid: 1, started: 1 },
        Signal::Ready { conversation: Some("old".to_owned()) },
        Signal::Turn { text: "late".to_owned(), tools: Vec::new() },
        Signal::Ended { outcome: Box::new(Outcome::new(Category::Crash, "late")), survivors: vec![1] },
    ] {
        let step = desk.tell(&Input::Driver { session: SessionId(1), signal });
        assert_eq!(step.events, []);
    }
    let silent = Input::DriverSilent { session: SessionId(1), silent: Duration::from_secs(15) };
    assert_eq!(desk.tell(&silent).events, []);
    assert_eq!(desk.agent, before);
}

#[test]
fn the_work_is_given_once_its_process_is_on_disk() {
    let mut desk = Desk::new();
    let step = desk.give(WorkKind::Message, 1, "hello");
    assert_eq!(step.spawns(), 1);
    let step = desk.signal(Signal::Spawned { pid: 42, started: 7 });
    assert_eq!(step.effects, [Effect::Go { session: SessionId(1) }]);
    assert_eq!(desk.agent.process.map(|process| (process.pid, process.started)), Some((42, 7)));

    let mut aborted = Desk::new();
    aborted.give(WorkKind::Message, 1, "hello");
    aborted.ask(Control::Abort);
    let step = aborted.signal(Signal::Spawned { pid: 42, started: 7 });
    assert_eq!(step.effects, [], "a session that is being stopped is given nothing");
    assert!(aborted.agent.process.is_some());
}

#[test]
fn nothing_starts_beside_what_an_earlier_session_left() {
    let mut desk = Desk::new();
    desk.give(WorkKind::Message, 1, "first");
    desk.tell(&Input::Driver { session: SessionId(1), signal: Signal::Spawned { pid: 7, started: 100 } });
    let outcome = Box::new(Outcome::new(Category::Crash, "went wrong"));
    let ended = Signal::Ended { outcome, survivors: vec![7, 8] };
    desk.tell(&Input::Driver { session: SessionId(1), signal: ended });
    assert_eq!(
        desk.agent.survivor,
        Some(ProcessRecord { pid: 7, started: 100 }),
        "the next start looks for it"
    );
    assert_eq!(desk.tell(&Input::SurvivorsFound).events, [], "it is paused for them already");
    desk.ask(Control::Resume);
    assert_eq!(desk.agent.survivor, None);

    let mut waiting = Desk::busy_with_task();
    waiting.fails(Category::Transient);
    assert_eq!(waiting.tell(&Input::SurvivorsFound).told(), "Paused(Survivors)");
    assert_eq!(waiting.tell(&Input::Started).events, []);
    assert_eq!(
        waiting.tell(&Input::AccountOpened { by: alice() }).events,
        [],
        "only a person on the spot knows"
    );
    assert_eq!(waiting.ask(Control::Resume).told(), "Resumed, SessionStarted(2)");

    let mut paused = Desk::new();
    paused.ask(Control::Pause { now: false });
    assert_eq!(paused.tell(&Input::SurvivorsFound).events, [], "a person's pause stays a person's");
}

#[test]
fn a_session_that_goes_on_is_not_over_and_is_given_what_it_may_lack() {
    let mut desk = Desk::with(spec(Runtime::Claude));
    desk.give(WorkKind::Message, 1, "first");
    let session = desk.session();
    let goes_on = Input::Adopted { session };
    desk.signal(Signal::Spawned { pid: 42, started: 7 });
    assert_eq!(desk.tell(&goes_on).events, []);
    assert_eq!(owed(&desk.agent), [Effect::Go { session }]);
    desk.signal(Signal::Ready { conversation: None });
    assert_eq!(owed(&desk.agent), []);
    desk.give(WorkKind::Message, 2, "more");
    assert_eq!(desk.tell(&goes_on).events, []);
    let steer = Effect::Steer { session, work: WorkId(2), text: "more".to_owned() };
    assert_eq!(owed(&desk.agent), [steer]);
    desk.ask(Control::Abort);
    assert_eq!(desk.tell(&goes_on).events, [], "it is still being stopped");
    assert_eq!(owed(&desk.agent), [Effect::Stop { session }]);
    assert_eq!(desk.tell(&Input::Adopted { session: SessionId(9) }).events, [], "it is another one");
}

#[test]
fn a_task_that_runs_out_of_memory_is_tried_once_more_and_then_a_person_is_called() {
    let mut desk = Desk::busy_with_task();
    desk.fails(Category::OutOfMemory);
    let (_, step) = desk.waits();
    let recap = step.recap().expect("it is told");
    assert!(recap.contains("it ran out of memory") && recap.contains("This time use less"), "{recap}");
    let step = desk.fails(Category::OutOfMemory);
    assert_eq!(step.told(), "SessionEnded(OutOfMemory), Requeued(1), Escalated, Paused(Escalation)");
    let why = "why: Ended { category: OutOfMemory, detail: \"went wrong\" }";
    let said = step.said();
    assert!(said.starts_with("#work FAIL 1 out-of-memory\n") && said.contains(why), "{said}");

    // A person resumes it: it has its two tries again.
    desk.ask(Control::Resume);
    let step = desk.fails(Category::OutOfMemory);
    assert!(step.told().ends_with("Requeued(1), Waiting(40s Backoff(OutOfMemory))"), "{}", step.told());
}
