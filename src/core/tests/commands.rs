//! Tests of people's commands in every phase.

use super::*;
use crate::event::{PauseReason, StopReason};

fn name() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

/// Returns an agent in each phase, with a second message waiting where possible.
fn every_phase() -> Vec<(&'static str, Desk)> {
    let busy = || {
        let mut desk = Desk::busy();
        desk.give(WorkKind::Message, 2, "then this");
        desk
    };
    let after = |control: Control| {
        let mut desk = busy();
        desk.ask(control);
        desk
    };
    let ended = |category: Category| {
        let mut desk = busy();
        desk.fails(category);
        desk
    };
    let mut starting = Desk::new();
    starting.give(WorkKind::Message, 1, "count the beans");
    let mut account = busy();
    account.tell(&Input::AccountBlocked { category: Category::Auth });
    let mut account_paused = Desk::new();
    account_paused.tell(&Input::AccountBlocked { category: Category::Auth });
    let mut open = busy();
    while open.agent.phase != Phase::NeedsIntervention {
        open.fails(Category::Crash);
        if open.agent.deadline().is_some() {
            open.waits();
        }
    }
    let mut degraded = busy();
    degraded.policy.breaker.count = 100;
    while degraded.agent.phase != Phase::Degraded {
        degraded.fails(Category::Crash);
        if degraded.agent.deadline().is_some() {
            degraded.waits();
        }
    }
    let mut resting =
        Desk::with(AgentSpec { looping: true, rest: Duration::from_secs(60), ..spec(Runtime::Command) });
    resting.tell(&Input::Started);
    resting.succeeds();
    let mut removed = Desk::new();
    removed.ask(Control::Remove);
    let mut pending = busy();
    pending.ask(Control::Pause { now: false });
    vec![
        ("idle", Desk::new()),
        ("starting", starting),
        ("running", busy()),
        ("pause pending", pending),
        ("stopping: pause", after(Control::Pause { now: true })),
        ("stopping: abort", after(Control::Abort)),
        ("stopping: restart", after(Control::Restart)),
        ("stopping: stop-all", after(Control::Stop)),
        ("stopping: account", account),
        ("stopping: remove", after(Control::Remove)),
        ("countdown", ended(Category::Transient)),
        ("resting", resting),
        ("paused: failure", ended(Category::Auth)),
        ("paused: account", account_paused),
        ("needs intervention", open),
        ("degraded", degraded),
        ("removed", removed),
    ]
}

fn table(control: impl Fn() -> Control) -> String {
    let mut lines = String::new();
    for (phase, mut desk) in every_phase() {
        let before = desk.agent.clone();
        let line = match desk.try_ask(control()) {
            Ok(step) => {
                let reply = step.reply.clone().expect("every accepted command is answered");
                format!("{} <- {}", unnamed(&format!("{reply:?}")), step.told())
            }
            Err(refusal) => {
                assert_eq!(desk.agent, before, "a refusal stores nothing");
                unnamed(&format!("refused: {refusal:?}"))
            }
        };
        lines.push_str(&format!("{phase}: {line}\n"));
    }
    lines
}

#[test]
fn pause_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Pause { now: false }), @r#"
    idle: Paused <- Paused(alice)
    starting: Pausing <- PausePending
    running: Pausing <- PausePending
    pause pending: refused: AlreadyPaused { why: None }
    stopping: pause: refused: AlreadyPaused { why: None }
    stopping: abort: Pausing <- PausePending
    stopping: restart: Pausing <- PausePending
    stopping: stop-all: refused: AlreadyPaused { why: None }
    stopping: account: Pausing <- PausePending
    stopping: remove: refused: Removed
    countdown: Paused <- Paused(alice)
    resting: Paused <- Paused(alice)
    paused: failure: refused: AlreadyPaused { why: Some(Paused(Failure(Auth))) }
    paused: account: Paused <- Paused(alice)
    needs intervention: refused: AlreadyPaused { why: Some(NeedsIntervention) }
    degraded: refused: AlreadyPaused { why: Some(Degraded) }
    removed: refused: Removed
    "#);
}

/// Hands a conversation off; the phases of the list have none.
fn handed_off(mut desk: Desk, now: bool) -> String {
    desk.agent.conversation = Some("c1".to_owned());
    if let Some(spec) = &mut desk.agent.spec {
        spec.runtime = Runtime::Claude;
    }
    match desk.try_ask(Control::HandOff { now, places: Box::default() }) {
        Ok(step) => match &step.reply {
            Some(Notice::HandedOff { since, .. }) => format!("{since:?} <- {}", step.told()),
            reply => panic!("{reply:?}"),
        },
        Err(refusal) => unnamed(&format!("refused: {refusal:?}")),
    }
}

#[test]
fn hand_off_in_every_phase() {
    let halted = |reason: PauseReason| {
        let mut desk = Desk::new();
        desk.agent.phase = Phase::Paused { reason };
        desk
    };
    let phases = || {
        let mut phases = every_phase();
        phases.extend([
            ("paused: call", halted(PauseReason::Escalation)),
            ("paused: stop-all", halted(PauseReason::StopAll(alice()))),
            ("paused: survivors", halted(PauseReason::Survivors)),
        ]);
        phases
    };
    let mut lines = String::new();
    for ((phase, desk), (_, other)) in phases().into_iter().zip(phases()) {
        let (after, now) = (handed_off(desk, false), handed_off(other, true));
        lines.push_str(&match after == now {
            true => format!("{phase}: {after}\n"),
            false => format!("{phase}: {after}; now: {now}\n"),
        });
    }
    insta::assert_snapshot!(lines, @r##"
    idle: Now <- Paused(alice)
    starting: Pausing <- PausePending; now: Stopping <- StopRequested(Pause)
    running: Pausing <- PausePending; now: Stopping <- StopRequested(Pause)
    pause pending: Pausing <- ; now: Stopping <- StopRequested(Pause)
    stopping: pause: Stopping <- 
    stopping: abort: Pausing <- PausePending
    stopping: restart: Pausing <- PausePending
    stopping: stop-all: Stopping <- 
    stopping: account: Pausing <- PausePending
    stopping: remove: refused: Removed
    countdown: Now <- Paused(alice)
    resting: Now <- Paused(alice)
    paused: failure: Now <- Paused(alice)
    paused: account: Now <- Paused(alice)
    needs intervention: Before <- 
    degraded: Before <- 
    removed: refused: Removed
    paused: call: Now <- Paused(alice)
    paused: stop-all: Now <- Paused(alice)
    paused: survivors: refused: AlreadyPaused { why: Some(Paused(Survivors)) }
    "##);
}

#[test]
fn what_has_no_conversation_is_not_paused_for_one() {
    let ask = |runtime, conversation: Option<&str>| {
        let mut desk = Desk::new();
        desk.agent.conversation = conversation.map(str::to_owned);
        desk.agent.spec.as_mut().expect("a spec").runtime = runtime;
        let refused = desk.try_ask(Control::HandOff { now: true, places: Box::default() });
        unnamed(&format!("{:?}", refused.expect_err("there is no line")))
    };
    let asked = [
        ask(Runtime::Claude, None),
        ask(Runtime::Command, None),
        ask(Runtime::Acp, Some("c1")),
        ask(Runtime::Claude, Some("--fork-session")),
    ];
    insta::assert_snapshot!(asked.join("\n"), @r##"
    NoConversation
    NoLine { conversation: None }
    NoLine { conversation: Some("c1") }
    NoLine { conversation: Some("--fork-session") }
    "##);
}

#[test]
fn pause_now_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Pause { now: true }), @r#"
    idle: Paused <- Paused(alice)
    starting: Stopping { reason: Pause } <- StopRequested(Pause)
    running: Stopping { reason: Pause } <- StopRequested(Pause)
    pause pending: Stopping { reason: Pause } <- StopRequested(Pause)
    stopping: pause: refused: AlreadyStopping
    stopping: abort: Pausing <- PausePending
    stopping: restart: Pausing <- PausePending
    stopping: stop-all: refused: AlreadyStopping
    stopping: account: Pausing <- PausePending
    stopping: remove: refused: Removed
    countdown: Paused <- Paused(alice)
    resting: Paused <- Paused(alice)
    paused: failure: refused: AlreadyPaused { why: Some(Paused(Failure(Auth))) }
    paused: account: Paused <- Paused(alice)
    needs intervention: refused: AlreadyPaused { why: Some(NeedsIntervention) }
    degraded: refused: AlreadyPaused { why: Some(Degraded) }
    removed: refused: Removed
    "#);
}

#[test]
fn resume_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Resume), @r#"
    idle: refused: NotPaused
    starting: refused: NotPaused
    running: refused: NotPaused
    pause pending: Resuming { trial: false } <- Resumed
    stopping: pause: Resuming { trial: false } <- Resumed
    stopping: abort: refused: NotPaused
    stopping: restart: refused: NotPaused
    stopping: stop-all: Resuming { trial: false } <- Resumed
    stopping: account: Resuming { trial: false } <- Resumed
    stopping: remove: refused: Removed
    countdown: Resuming { trial: false } <- Resumed, SessionStarted(2)
    resting: Resuming { trial: false } <- Resumed, SessionStarted(2)
    paused: failure: Resuming { trial: false } <- Resumed, SessionStarted(2)
    paused: account: Resuming { trial: false } <- Resumed
    needs intervention: Resuming { trial: true } <- Resumed, SessionStarted(7 trial)
    degraded: Resuming { trial: false } <- Resumed, SessionStarted(7)
    removed: refused: Removed
    "#);
}

#[test]
fn abort_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Abort), @r#"
    idle: refused: NothingRunning
    starting: Stopping { reason: Abort } <- StopRequested(Abort)
    running: Stopping { reason: Abort } <- StopRequested(Abort)
    pause pending: Stopping { reason: Abort } <- StopRequested(Abort)
    stopping: pause: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    stopping: abort: refused: AlreadyStopping
    stopping: restart: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    stopping: stop-all: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    stopping: account: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    stopping: remove: refused: Removed
    countdown: Aborted { work: "count the beans" } <- Discarded(1 by alice), WaitOver, SessionStarted(2)
    resting: refused: NothingRunning
    paused: failure: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    paused: account: refused: NothingRunning
    needs intervention: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    degraded: Aborted { work: "count the beans" } <- Discarded(1 by alice)
    removed: refused: Removed
    "#);
}

#[test]
fn restart_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Restart), @r#"
    idle: Restarting <- Reset
    starting: Restarting <- StopRequested(Restart), Reset
    running: Restarting <- StopRequested(Restart), Reset
    pause pending: Restarting <- StopRequested(Restart), Reset, Resumed
    stopping: pause: Restarting <- Reset, Resumed
    stopping: abort: Restarting <- Reset
    stopping: restart: refused: AlreadyStopping
    stopping: stop-all: Restarting <- Reset, Resumed
    stopping: account: Restarting <- Reset, Resumed
    stopping: remove: refused: Removed
    countdown: Restarting <- Reset, WaitOver, SessionStarted(2)
    resting: Restarting <- Reset, WaitOver, SessionStarted(2)
    paused: failure: Restarting <- Reset, Resumed, SessionStarted(2)
    paused: account: Restarting <- Reset, Resumed
    needs intervention: Restarting <- Reset, Resumed, SessionStarted(7 trial)
    degraded: Restarting <- Reset, Resumed, SessionStarted(7)
    removed: refused: Removed
    "#);
}

#[test]
fn stop_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Stop), @r#"
    idle: Paused <- Paused(stop-all by alice)
    starting: Stopping { reason: StopAll } <- StopRequested(StopAll)
    running: Stopping { reason: StopAll } <- StopRequested(StopAll)
    pause pending: Stopping { reason: StopAll } <- StopRequested(StopAll)
    stopping: pause: Stopping { reason: StopAll } <- 
    stopping: abort: Stopping { reason: StopAll } <- PausePending
    stopping: restart: Stopping { reason: StopAll } <- PausePending
    stopping: stop-all: Stopping { reason: StopAll } <- 
    stopping: account: Stopping { reason: StopAll } <- PausePending
    stopping: remove: Stopping { reason: Remove } <- 
    countdown: Paused <- Paused(stop-all by alice)
    resting: Paused <- Paused(stop-all by alice)
    paused: failure: Paused <- Paused(alice)
    paused: account: Paused <- Paused(alice)
    needs intervention: Paused <- 
    degraded: Paused <- 
    removed: refused: Removed
    "#);
}

#[test]
fn resume_all_lets_those_on_that_were_stopped_with_all() {
    insta::assert_snapshot!(table(|| Control::LetOn), @r"
    idle: refused: NotPaused
    starting: refused: NotPaused
    running: refused: NotPaused
    pause pending: refused: NotPaused
    stopping: pause: refused: NotPaused
    stopping: abort: refused: NotPaused
    stopping: restart: refused: NotPaused
    stopping: stop-all: Resuming { trial: false } <- Resumed
    stopping: account: refused: NotPaused
    stopping: remove: refused: Removed
    countdown: refused: NotPaused
    resting: refused: NotPaused
    paused: failure: refused: NotPaused
    paused: account: refused: NotPaused
    needs intervention: refused: NotPaused
    degraded: refused: NotPaused
    removed: refused: Removed
    ");
    let stopped = || {
        let mut desk = Desk::busy();
        desk.ask(Control::Stop);
        desk.fails(Category::Interrupted);
        desk
    };
    assert_eq!(stopped().ask(Control::LetOn).told(), "Resumed, SessionStarted(2)");
    let mut desk = stopped();
    desk.ask(Control::Pause { now: false });
    let refused = desk.try_ask(Control::LetOn).unwrap_err();
    assert_eq!(refused, Refusal::NotPaused { agent: name() }, "a person has paused it since");
}

#[test]
fn remove_in_every_phase() {
    insta::assert_snapshot!(table(|| Control::Remove), @r"
    idle: AgentRemoved { works: 0 } <- Removed
    starting: Stopping { reason: Remove } <- StopRequested(Remove)
    running: Stopping { reason: Remove } <- StopRequested(Remove)
    pause pending: Stopping { reason: Remove } <- StopRequested(Remove)
    stopping: pause: Stopping { reason: Remove } <- StopRequested(Remove)
    stopping: abort: Stopping { reason: Remove } <- Discarded(1 by alice), StopRequested(Remove)
    stopping: restart: Stopping { reason: Remove } <- StopRequested(Remove)
    stopping: stop-all: Stopping { reason: Remove } <- StopRequested(Remove)
    stopping: account: Stopping { reason: Remove } <- StopRequested(Remove)
    stopping: remove: refused: Removed
    countdown: AgentRemoved { works: 2 } <- Removed, Cleared
    resting: AgentRemoved { works: 0 } <- Removed
    paused: failure: AgentRemoved { works: 2 } <- Removed, Cleared
    paused: account: AgentRemoved { works: 0 } <- Removed
    needs intervention: AgentRemoved { works: 2 } <- Removed, Cleared
    degraded: AgentRemoved { works: 2 } <- Removed, Cleared
    removed: refused: Removed
    ");
}

#[test]
fn a_pause_lets_the_session_end_and_then_starts_nothing() {
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "then this");
    desk.ask(Control::Pause { now: false });
    let step = desk.succeeds();
    assert_eq!(step.told(), "SessionEnded(Success), Paused(alice)");
    assert_eq!(desk.queue(), [2]);
}

#[test]
fn pause_now_keeps_the_work_at_the_head_of_the_queue() {
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "then this");
    let step = desk.ask(Control::Pause { now: true });
    assert_eq!(step.effects, [Effect::Stop { session: SessionId(1) }]);
    let step = desk.fails(Category::Crash);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), Paused(alice)");
    assert_eq!(desk.queue(), [1, 2]);
    assert_eq!((desk.agent.crashes, desk.agent.queue[0].attempts), (0, 0), "herder ended it, not a fault");
}

#[test]
fn a_resume_while_the_pause_is_on_its_way_goes_on_afterwards() {
    let mut desk = Desk::busy();
    desk.ask(Control::Pause { now: true });
    desk.ask(Control::Resume);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
}

#[test]
fn abort_discards_the_work_and_goes_on_with_the_next() {
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "then this");
    desk.ask(Control::Abort);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Discarded(1 by alice), SessionStarted(2)");
    assert_eq!(step.recap(), None, "the next work is told nothing of the discarded one");
}

#[test]
fn whoever_wanted_a_session_ended_hears_that_it_is_gone_and_what_is_left() {
    for control in [Control::Abort, Control::Restart, Control::Pause { now: true }, Control::Stop] {
        let mut desk = Desk::busy();
        desk.ask(control);
        let step = desk.ends(Outcome { ended: 3, ..Outcome::new(Category::Interrupted, "") });
        assert!(step.said().starts_with("Ended { ended: 3, left: 0 }"), "{}", step.said());
    }
    let mut desk = Desk::busy();
    let step = desk.ends(Outcome { ended: 1, ..Outcome::new(Category::Crash, "exit code 1") });
    assert!(!step.said().contains("Ended"), "nobody asked for it: {}", step.said());
}

#[test]
fn abort_of_a_task_leaves_a_record_and_a_late_success_counts() {
    let mut desk = Desk::busy_with_task();
    desk.ask(Control::Abort);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), TaskEnded(1 Cancelled)");

    let mut desk = Desk::busy_with_task();
    desk.ask(Control::Abort);
    let step = desk.succeeds();
    assert_eq!(step.told(), "SessionEnded(Success), TaskEnded(1 Done)");
    assert!(step.said().contains("#work DONE 1"));
}

#[test]
fn abort_in_a_countdown_discards_what_it_was_for() {
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "then this");
    desk.fails(Category::Transient);
    let step = desk.ask(Control::Abort);
    assert_eq!(step.told(), "Discarded(1 by alice), WaitOver, SessionStarted(2)");
    assert_eq!(desk.agent.failures, 1, "the counter is a restart's to reset");
}

#[test]
fn abort_while_paused_discards_and_stays_paused() {
    let mut desk = Desk::busy();
    desk.fails(Category::Auth);
    let step = desk.ask(Control::Abort);
    assert_eq!(step.told(), "Discarded(1 by alice)");
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Failure(Category::Auth) });
    assert_eq!(desk.try_ask(Control::Abort).unwrap_err(), Refusal::NothingRunning { agent: name() });
}

#[test]
fn restart_is_clean_and_forgets_the_counters() {
    let mut desk = Desk::busy();
    desk.fails(Category::Transient);
    desk.waits();
    desk.ask(Control::Restart);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(3)");
    desk.fails(Category::Transient);
    assert_eq!(desk.waits().0, 10);
}

#[test]
fn stop_keeps_the_queue_and_nobody_elses_resume_starts_it() {
    let mut desk = Desk::busy();
    desk.give(WorkKind::Message, 2, "then this");
    desk.ask(Control::Stop);
    desk.fails(Category::Interrupted);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::StopAll(alice()) });
    assert_eq!(desk.queue(), [1, 2]);

    let mut desk = Desk::busy();
    desk.ask(Control::Restart);
    desk.ask(Control::Stop);
    assert!(desk.agent.is_stopped_with_all(), "resume-all is about it");
    desk.fails(Category::Interrupted);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::StopAll(alice()) });
    desk.ask(Control::LetOn);
    assert!(matches!(desk.agent.phase, Phase::Starting { .. }), "{:?}", desk.agent.phase);

    let mut desk = Desk::new();
    desk.tell(&Input::AccountBlocked { category: Category::Billing });
    desk.ask(Control::Stop);
    assert_eq!(desk.tell(&Input::AccountOpened { by: bob() }).events, []);
}

#[test]
fn removing_stops_first_and_retires_then() {
    let mut desk = Desk::busy();
    let step = desk.ask(Control::Remove);
    assert_eq!(step.effects, [Effect::Stop { session: SessionId(1) }]);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), Removed, Cleared");
    assert_eq!(step.effects, [Effect::Retire]);
    let again = Event::Added { spec: Box::new(spec(Runtime::Command)), by: bob() };
    apply(&mut desk.agent, &again, desk.now);
    assert_eq!(desk.queue(), [] as [u64; 0]);
    let step = desk.give(WorkKind::Message, 9, "hello");
    assert_eq!(step.told(), "Queued, SessionStarted(2)", "session numbers go on");
}

#[test]
fn an_edit_counts_from_the_next_session_and_cannot_rename() {
    let mut desk = Desk::new();
    let mut renamed = spec(Runtime::Command);
    renamed.name = AgentName::new("other").expect("a good name");
    assert!(matches!(
        desk.try_ask(Control::Edit { spec: Box::new(renamed), base: None }),
        Err(Refusal::NameKept { .. })
    ));
    let looping = AgentSpec { looping: true, ..spec(Runtime::Command) };
    let step = desk.ask(Control::Edit { spec: Box::new(looping), base: None });
    assert_eq!(step.told(), "Edited, SessionStarted(1)", "an agent that loops now has something to do");
}

#[test]
fn an_edit_of_what_was_changed_meanwhile_is_refused() {
    let mut desk = Desk::new();
    let base = desk.agent.spec.clone().expect("a spec");
    let edit = |spec: AgentSpec| Control::Edit { spec: Box::new(spec), base: Some(Box::new(base.clone())) };
    desk.ask(edit(AgentSpec { max_turns: 5, ..base.clone() }));
    let late = desk.try_ask(edit(AgentSpec { model: "opus".to_owned(), ..base.clone() }));
    assert!(matches!(late, Err(Refusal::EditedMeanwhile { .. })));
    assert_eq!(desk.agent.spec.as_ref().map(|spec| spec.max_turns), Some(5));
}

#[test]
fn a_loop_gives_itself_rounds_and_rests_between_them() {
    let rest = Duration::from_secs(60);
    let mut desk = Desk::with(AgentSpec { looping: true, rest, ..spec(Runtime::Command) });
    assert_eq!(desk.tell(&Input::Started).told(), "SessionStarted(1)");
    let round = desk.agent.current.clone().expect("a round");
    assert_eq!(round.kind, WorkKind::Round);
    assert_eq!(desk.succeeds().told(), "SessionEnded(Success), Waiting(60s Rest)");
    let step = desk.give(WorkKind::Message, 1, "not before you looked at this");
    assert_eq!(step.told(), "Queued, WaitOver, SessionStarted(2)");
    desk.succeeds();
    assert_eq!(desk.waits().1.told(), "WaitOver, SessionStarted(3)");
    desk.fails(Category::Transient);
    let (wait, _) = desk.waits();
    assert_eq!((wait, desk.agent.last_session), (10, SessionId(4)));
    assert_ne!(desk.agent.current.as_ref().map(|work| work.id), Some(round.id));
}

#[test]
fn the_reason_of_a_running_stop_survives_a_second_command() {
    let mut desk = Desk::busy();
    desk.ask(Control::Abort);
    desk.ask(Control::Pause { now: true });
    assert!(matches!(desk.agent.phase, Phase::Stopping { reason: StopReason::Abort, .. }));
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Discarded(1 by alice), Paused(alice)");
}
