//! Tests of outcomes and what follows them: the table of categories, the schedules, the windows.

use super::*;
use crate::agent::Breaker;
use crate::event::{PauseReason, StopReason};
use crate::policy::{Exponential, Judge};
use crate::spec::Relay;
use crate::turn::{End, Kind, Step as TurnStep, Turn};

pub(super) const EVERY_CATEGORY: [Category; 17] = [
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

/// An error page has its words anywhere.
#[test]
fn a_reason_that_nobody_knows_is_kept_whole_and_any_other_is_a_line() {
    let said = format!("status 418: {} and its end", "x".repeat(2000));
    let end = |known: Option<Category>| {
        let mut desk = Desk::busy_with_task();
        let step = desk.ends(Outcome::failed(known, said.as_str()));
        let kept = desk.agent.last_outcome.as_ref().expect("it ended").detail.to_string();
        assert!(step.said().contains(&kept), "{}", step.said());
        kept
    };
    assert_eq!(end(None), said);
    let kept = end(Some(Category::Transient));
    assert!(kept.starts_with("status 418: x") && kept.len() <= 500, "{kept}");
}

#[test]
fn every_category_has_its_response_and_its_post() {
    let mut table = String::new();
    for category in EVERY_CATEGORY {
        let mut desk = Desk::busy_with_task();
        let step = desk.fails(category);
        let said = step.said().replace('\n', "\n  ");
        table.push_str(&format!("{}\n  {said}\n", step.told()));
    }
    insta::assert_snapshot!(table, @r#"
    SessionEnded(Success), TaskEnded(1 Done)
      Completed { duration: 0ns, turns: 0, cost_usd: 0.0 }
      #work DONE 1
    SessionEnded(Transient), Requeued(1), Waiting(10s Backoff(Transient))
      Crashed { detail: "went wrong", restart_in: 10s }
    SessionEnded(RateLimit), Requeued(1), Waiting(10s RateLimit)
      RateLimited { resume_in: 10s }
    SessionEnded(Permanent), Requeued(1), Waiting(10s Backoff(Permanent))
      Permanent { detail: "went wrong", restart_in: 10s }
    SessionEnded(MaxTurns), Requeued(1), SessionStarted(2)
      
    SessionEnded(Billing), Requeued(1), Paused(Failure(Billing))
      Billing { account: AccountName("default") }
    SessionEnded(Auth), Requeued(1), Paused(Failure(Auth))
      Auth
    SessionEnded(Budget), Requeued(1), Paused(Failure(Budget))
      Budget
    SessionEnded(Quota), Requeued(1)
      QuotaReached { account: AccountName("default") }
    SessionEnded(ContextOverflow), Requeued(1), Escalated, Paused(Escalation)
      #work FAIL 1 context-overflow
      Escalated { id: WorkId(1004), work: "benchmark nemotron", why: Ended { category: ContextOverflow, detail: "its context window was full, and nobody is asked to split the task: name a model in `[evaluator]`, or use `!task split`" }, times: 1, reminder: 0, untold: false }
      #alerts Escalated { id: WorkId(1004), work: "benchmark nemotron", why: Ended { category: ContextOverflow, detail: "its context window was full, and nobody is asked to split the task: name a model in `[evaluator]`, or use `!task split`" }, times: 1, reminder: 0, untold: false }
    SessionEnded(TaskTimeout), Requeued(1), Waiting(10s Backoff(TaskTimeout))
      #work FAIL 1 timeout
      TimedOut { limit: 1800s, restart_in: 10s }
    SessionEnded(SandboxDenial), Requeued(1), Escalated, Paused(Escalation)
      #work BLOCKED 1 sandbox-denied
      Escalated { id: WorkId(1004), work: "benchmark nemotron", why: Ended { category: SandboxDenial, detail: "its sandbox denied what the task needs, and no other agent may do more: went wrong" }, times: 1, reminder: 0, untold: false }
      #alerts Escalated { id: WorkId(1004), work: "benchmark nemotron", why: Ended { category: SandboxDenial, detail: "its sandbox denied what the task needs, and no other agent may do more: went wrong" }, times: 1, reminder: 0, untold: false }
    SessionEnded(Hung), Requeued(1), Waiting(10s Backoff(Hung))
      Crashed { detail: "went wrong", restart_in: 10s }
    SessionEnded(Crash), Requeued(1), Waiting(1s Backoff(Crash))
      Crashed { detail: "went wrong", restart_in: 1s }
    SessionEnded(DoNotRestart), Requeued(1), Paused(Failure(DoNotRestart))
      DoNotRestart { detail: "went wrong" }
    SessionEnded(Interrupted), Requeued(1), SessionStarted(2)
      Started { work: "benchmark nemotron" }
    SessionEnded(OutOfMemory), Requeued(1), Waiting(10s Backoff(OutOfMemory))
      #work FAIL 1 out-of-memory
      OutOfMemory { detail: "went wrong", restart_in: 10s }
    "#);
}

#[test]
fn the_session_schedule_is_kept_for_every_failure_that_uses_it() {
    for category in [
        Category::Transient,
        Category::Permanent,
        Category::ContextOverflow,
        Category::SandboxDenial,
        Category::Hung,
        Category::RateLimit,
    ] {
        let mut desk = Desk::busy();
        let mut waits = Vec::new();
        for _ in 0..7 {
            desk.fails(category);
            let (wait, step) = desk.waits();
            assert_eq!(step.spawns(), 1);
            waits.push(wait);
        }
        assert_eq!(waits, [10, 20, 40, 80, 300, 300, 300], "{category:?}");
        desk.succeeds();
        assert_eq!(desk.agent.failures, 0, "a success resets the counter");
    }
}

#[test]
fn max_turns_resets_the_counter_and_restarts_in_silence() {
    let mut desk = Desk::busy();
    desk.fails(Category::Transient);
    desk.waits();
    let step = desk.fails(Category::MaxTurns);
    assert_eq!(step.told(), "SessionEnded(MaxTurns), Requeued(1), SessionStarted(3)");
    assert_eq!((step.said().as_str(), step.spawns()), ("", 1));
    assert_eq!(desk.agent.failures, 0);
    desk.fails(Category::Transient);
    assert_eq!(desk.waits().0, 10);
}

/// Endless work with a small `max_turns`: sessions of half a second each, one after the other.
#[test]
fn sessions_that_reach_their_limit_of_turns_and_do_nothing_new_open_the_breaker() {
    let mut desk = Desk::busy();
    let mut last = desk.fails(Category::MaxTurns);
    let mut sessions = 1;
    while desk.agent.phase != Phase::NeedsIntervention {
        assert!(sessions < 50, "{}", last.told());
        desk.runs();
        last = desk.fails(Category::MaxTurns);
        sessions += 1;
    }
    assert_eq!(sessions, 11, "five are believed, and more than five count");
    assert!(last.said().contains("NeedsIntervention"), "{}", last.said());
}

#[test]
fn sessions_that_do_something_new_each_reach_their_limit_of_turns_for_ever() {
    let mut desk = Desk::busy();
    desk.policy.evaluator.judge = Judge::Builtin;
    for n in 0..60 {
        let step = TurnStep {
            tool: "Edit".to_owned(),
            kind: Kind::Edit,
            what: "src/lib.rs".to_owned(),
            digest: n,
            end: Some(End { ok: true, said: String::new(), digest: 0 }),
            after_ms: 0,
            took_ms: 0,
        };
        let at = desk.now;
        let turn = Turn {
            session: SessionId(0),
            work: None,
            at,
            took_ms: 1,
            words: String::new(),
            steps: vec![step],
            more: 0,
        };
        desk.signal(Signal::Observed { turn: Box::new(turn) });
        let step = desk.fails(Category::MaxTurns);
        assert_eq!(step.said(), "");
        desk.runs();
    }
    assert_eq!(desk.agent.stalls, 0);
}

#[test]
fn process_crashes_double_and_the_sixth_in_a_minute_opens_the_breaker() {
    let mut desk = Desk::busy();
    let mut waits = Vec::new();
    let last = loop {
        let step = desk.fails(Category::Crash);
        if desk.agent.deadline().is_none() {
            break step;
        }
        waits.push(desk.waits().0);
    };
    assert_eq!(waits, [1, 2, 4, 8, 16]);
    // It would be degraded as well: the breaker wins, and alerts once.
    assert_eq!(last.told(), "SessionEnded(Crash), Requeued(1), BreakerOpened");
    assert_eq!(
        last.said(),
        "NeedsIntervention { failures: 6, window: 60s, trial: false, detail: \"went wrong\" }\n\
         #alerts NeedsIntervention { failures: 6, window: 60s, trial: false, detail: \"went wrong\" }"
    );
    assert_eq!(desk.agent.phase, Phase::NeedsIntervention);
    desk.pass(1_000_000);
    assert_eq!(desk.tell(&Input::Tick).events, []);
    assert_eq!(desk.tell(&Input::Started).events, []);
}

#[test]
fn the_process_schedule_ends_at_five_minutes() {
    let mut desk = Desk::busy();
    desk.policy.degraded.count = 100;
    desk.policy.breaker.count = 100;
    let mut waits = Vec::new();
    for _ in 0..11 {
        desk.fails(Category::Crash);
        waits.push(desk.waits().0);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
}

/// Crashes `n` times, `apart` seconds apart, with successes in between that keep the backoff at one second.
fn crash_apart(desk: &mut Desk, n: usize, apart: u64) {
    for _ in 0..n {
        assert!(desk.agent.session().is_some(), "it still runs: {:?}", desk.agent.phase);
        desk.pass(apart - 1);
        desk.fails(Category::Crash);
        if desk.agent.deadline().is_some() {
            desk.waits();
            desk.give(WorkKind::Message, 100 + desk.ids, "more");
            desk.succeeds();
        }
    }
}

#[test]
fn six_crashes_in_half_an_hour_degrade_and_five_do_not() {
    let mut desk = Desk::busy();
    crash_apart(&mut desk, 5, 300);
    assert!(desk.agent.session().is_some());
    crash_apart(&mut desk, 1, 300);
    assert_eq!(desk.agent.phase, Phase::Degraded);

    let mut slow = Desk::busy();
    crash_apart(&mut slow, 12, 361);
    assert!(slow.agent.session().is_some(), "no six of them within 30 minutes");
}

#[test]
fn degraded_is_left_by_a_person_alone_and_then_counts_anew() {
    let mut desk = Desk::busy();
    crash_apart(&mut desk, 6, 300);
    assert_eq!(desk.agent.phase, Phase::Degraded);
    assert_eq!(desk.tell(&Input::Started).events, []);
    let step = desk.ask(Control::Resume);
    assert_eq!(step.spawns(), 1);
    desk.fails(Category::Crash);
    assert!(desk.agent.deadline().is_some());
}

#[test]
fn the_breakers_window_slides() {
    let mut desk = Desk::busy();
    // Five failures at 0, 1, 3, 7 and 15 s; the sixth comes when the first two have left the window.
    for _ in 0..5 {
        desk.fails(Category::Crash);
        desk.waits();
    }
    desk.pass(31);
    desk.fails(Category::Crash);
    assert!(matches!(desk.agent.phase, Phase::Degraded), "six crashes in 30 minutes, but not in a minute");
    assert_eq!(desk.agent.breaker, Breaker::Closed);
}

fn open_breaker() -> Desk {
    let mut desk = Desk::busy();
    while desk.agent.phase != Phase::NeedsIntervention {
        desk.fails(Category::Crash);
        if desk.agent.deadline().is_some() {
            desk.waits();
        }
    }
    desk
}

#[test]
fn resume_half_opens_a_success_closes_and_a_failure_opens_again() {
    let mut desk = open_breaker();
    desk.pass(3600);
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "Resumed, SessionStarted(7 trial)");
    assert_eq!(step.reply, Some(Notice::Resuming { agent: desk.agent.name().unwrap().clone(), trial: true }));
    let step = desk.fails(Category::Transient);
    assert_eq!(step.told(), "SessionEnded(Transient), Requeued(1), BreakerOpened");
    assert!(step.said().contains("trial: true, detail: \"went wrong\""), "{}", step.said());

    desk.ask(Control::Resume);
    let step = desk.succeeds();
    assert_eq!(step.told(), "SessionEnded(Success), BreakerClosed");
    assert_eq!(desk.agent.breaker, Breaker::Closed);
    assert_eq!(desk.agent.failure_times.len(), 0);
}

#[test]
fn a_trial_that_herder_cut_itself_is_a_trial_again() {
    let mut desk = open_breaker();
    desk.ask(Control::Resume);
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(8 trial)");
}

#[test]
fn a_limit_is_waited_for_exactly_and_without_jitter() {
    let mut desk = Desk::busy();
    desk.jitter = Duration::from_secs(3);
    let reset = desk.now.after(Duration::from_secs(1234));
    let step = desk.ends(Outcome { resets_at: Some(reset), ..Outcome::new(Category::RateLimit, "429") });
    assert_eq!(step.said(), "RateLimited { resume_in: 1234s }");
    assert_eq!(desk.agent.deadline(), Some(reset));
    assert_eq!((desk.agent.failures, desk.agent.failure_times.len()), (0, 0));
    desk.now = Timestamp::from_millis(reset.as_millis() - 1);
    assert_eq!(desk.tell(&Input::Tick).events, []);
    desk.now = reset;
    assert_eq!(desk.tell(&Input::Tick).told(), "WaitOver, SessionStarted(2)");
}

#[test]
fn resets_in_the_past_are_believed_twice() {
    let mut desk = Desk::busy();
    let past = |desk: &Desk| Outcome {
        resets_at: Some(desk.now.before(Duration::from_secs(1))),
        ..Outcome::new(Category::RateLimit, "429")
    };
    for _ in 0..2 {
        let step = desk.ends(past(&desk));
        assert_eq!(step.spawns(), 1);
        assert!(step.said().contains("RateLimited { resume_in: 0ns }"), "{}", step.said());
    }
    let mut waits = Vec::new();
    for _ in 0..4 {
        let step = desk.ends(past(&desk));
        assert_eq!(step.spawns(), 0);
        waits.push(desk.waits().0);
    }
    assert_eq!(waits, [10, 20, 40, 80]);
    desk.succeeds();
    assert_eq!(desk.agent.past_resets, 0);
}

#[test]
fn jitter_is_added_to_restart_countdowns() {
    let mut desk = Desk::busy();
    desk.jitter = Duration::from_secs(2);
    desk.fails(Category::Transient);
    assert_eq!(desk.waits().0, 12);
    desk.fails(Category::Crash);
    assert_eq!(desk.waits().0, 2, "a short wait is not more than doubled");
}

#[test]
fn without_a_wait_the_next_session_begins_with_the_end_of_the_last() {
    let mut desk = Desk::busy();
    desk.jitter = Duration::from_secs(2);
    desk.policy.process_backoff = Exponential { base: Duration::ZERO, cap: Duration::ZERO };
    let step = desk.fails(Category::Crash);
    assert_eq!(
        step.told(),
        "SessionEnded(Crash), Requeued(1), Waiting(0s Backoff(Crash)), WaitOver, SessionStarted(2)"
    );
    assert_eq!(step.spawns(), 1);
}

#[test]
fn a_task_that_runs_out_of_time_is_tried_once_more_and_then_a_person_is_called() {
    let mut desk = Desk::busy_with_task();
    desk.give(WorkKind::Message, 2, "and then this");
    let step = desk.fails(Category::TaskTimeout);
    assert_eq!(step.said(), "#work FAIL 1 timeout\nTimedOut { limit: 1800s, restart_in: 10s }");
    let (_, step) = desk.waits();
    assert!(step.recap().is_some_and(|recap| recap.contains("choose the smallest step")));
    let step = desk.fails(Category::TaskTimeout);
    assert_eq!(step.told(), "SessionEnded(TaskTimeout), Requeued(1), Escalated, Paused(Escalation)");
    let why = "Ended { category: TaskTimeout, detail: \"it took longer than it may, twice\" }";
    let call = called(&step, why);
    assert_eq!(step.said(), format!("#work FAIL 1 timeout\n{call}\n#alerts {call}"));
    assert_eq!(desk.queue(), [1, 2], "its work is kept, and what waits with it");

    // A person resumes it: it has its two tries again.
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "EscalationAnswered, Resumed, SessionStarted(3)");
    let step = desk.fails(Category::TaskTimeout);
    assert!(step.told().ends_with("Requeued(1), Waiting(40s Backoff(TaskTimeout))"), "{}", step.told());
    desk.waits();
    let step = desk.fails(Category::TaskTimeout);
    assert!(step.said().contains("times: 2, reminder: 0"), "{}", step.said());
    let step = desk.ask(Control::Abort);
    assert_eq!(step.told(), "TaskEnded(1 Cancelled), EscalationAnswered, Resumed, SessionStarted(5)");
}

/// Returns the call among a step's notices.
fn called(step: &Step, why: &str) -> String {
    let id = step.events.iter().find_map(|event| match event {
        Event::Escalated { escalation } => Some(escalation.id),
        _ => None,
    });
    let id = id.expect("a call");
    format!(
        "Escalated {{ id: {id:?}, work: \"benchmark nemotron\", why: {why}, times: 1, reminder: 0, untold: false }}"
    )
}

#[test]
fn a_message_that_runs_out_of_time_twice_is_kept_and_has_no_line_for_machines() {
    let mut desk = Desk::busy();
    assert_eq!(desk.fails(Category::TaskTimeout).said(), "TimedOut { limit: 1800s, restart_in: 10s }");
    desk.waits();
    let step = desk.fails(Category::TaskTimeout);
    assert_eq!(step.told(), "SessionEnded(TaskTimeout), Requeued(1), Escalated, Paused(Escalation)");
    assert!(step.said().contains("#alerts Escalated"), "{}", step.said());
    assert!(!step.said().contains("#work"), "{}", step.said());
}

#[test]
fn whoever_wanted_a_pause_has_it_and_the_call_comes_with_the_next_session() {
    let mut desk = Desk::busy_with_task();
    desk.fails(Category::TaskTimeout);
    desk.waits();
    desk.ask(Control::Pause { now: false });
    let step = desk.fails(Category::TaskTimeout);
    assert_eq!(step.told(), "SessionEnded(TaskTimeout), Requeued(1), Paused(alice)");
    desk.ask(Control::Resume);
    let step = desk.fails(Category::TaskTimeout);
    assert!(step.told().ends_with("Escalated, Paused(Escalation)"), "{}", step.told());
}

#[test]
fn a_session_that_ran_out_of_time_is_followed_by_one_in_the_same_conversation() {
    let mut desk = Desk::with(spec(Runtime::Codex));
    desk.give(WorkKind::Task, 1, "benchmark nemotron");
    desk.signal(Signal::Spawned { pid: 42, started: 7 });
    desk.signal(Signal::Ready { conversation: Some("c-1".to_owned()) });
    desk.fails(Category::TaskTimeout);
    let (_, step) = desk.waits();
    let conversation = step.effects.iter().find_map(|effect| match effect {
        Effect::Spawn { conversation, .. } => Some(conversation.clone()),
        _ => None,
    });
    assert_eq!(conversation, Some(Some("c-1".to_owned())));
}

#[test]
fn another_work_has_its_own_second_try() {
    let mut desk = Desk::busy_with_task();
    desk.fails(Category::TaskTimeout);
    desk.waits();
    desk.succeeds();
    desk.give(WorkKind::Task, 2, "next");
    let step = desk.fails(Category::TaskTimeout);
    assert_eq!(step.told(), "SessionEnded(TaskTimeout), Requeued(2), Waiting(10s Backoff(TaskTimeout))");
}

#[test]
fn survivors_pause_and_alert_whatever_the_outcome() {
    for category in EVERY_CATEGORY {
        let mut desk = Desk::busy();
        desk.give(WorkKind::Message, 2, "next");
        let outcome = Box::new(Outcome::new(category, "went wrong"));
        let step = desk.signal(Signal::Ended { outcome, survivors: vec![77, 78] });
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Survivors }, "{category:?}");
        assert_eq!(step.spawns(), 0);
        assert!(step.said().contains("#alerts Survivors { pids: [77, 78] }"), "{}", step.said());
        assert_eq!(desk.tell(&Input::Started).events, []);
    }
}

#[test]
fn the_final_text_is_posted_unless_it_was_said_already_or_is_kept() {
    for (relay, said) in [(Relay::All, false), (Relay::Final, true), (Relay::None, false)] {
        let mut desk = Desk::with(AgentSpec { relay, ..spec(Runtime::Command) });
        desk.give(WorkKind::Message, 1, "count");
        let text = Some("42 beans".to_owned());
        let step = desk.ends(Outcome { text, ..Outcome::new(Category::Success, "") });
        assert_eq!(step.said().contains("says \"42 beans\""), said, "{relay:?}");
    }
}

#[test]
fn the_next_session_of_failed_work_is_told_what_it_was_doing() {
    let mut desk = Desk::busy();
    desk.signal(Signal::Turn { text: "Found 41 beans so far.".to_owned(), tools: Vec::new() });
    desk.fails(Category::Crash);
    let (_, step) = desk.waits();
    insta::assert_snapshot!(step.recap().expect("a recap"), @r#"
    You were working on this before, in a session that did not finish it: "count the beans". It ended because its process died: went wrong

    The last thing you said about it:
    Found 41 beans so far.

    herder keeps this in .herder/spark/context.md, if the workspace can be written to.

    Look at what is already there in the workspace before you go on; do not start from nothing.
    "#);
    desk.succeeds();
    let step = desk.give(WorkKind::Message, 2, "something else");
    assert_eq!(step.recap(), None);
}

#[test]
fn failures_that_no_table_knows_are_counted() {
    let mut desk = Desk::busy();
    desk.ends(Outcome::failed(None, "No coffee."));
    assert_eq!((desk.agent.totals.unknown, desk.agent.totals.failures), (1, 1));
    assert_eq!(desk.agent.last_outcome.as_ref().map(|outcome| outcome.category), Some(Category::Transient));
    let mut desk = Desk::busy();
    desk.ends(Outcome::failed(Some(Category::Transient), "API Error: 500"));
    assert_eq!((desk.agent.totals.unknown, desk.agent.totals.failures), (0, 1));
}

/// Claude Code keeps the instructions that a conversation started with.
#[test]
fn other_instructions_begin_another_conversation_where_they_would_have_no_effect() {
    let edited = |desk: &mut Desk, change: fn(&mut AgentSpec)| {
        let mut spec = desk.agent.spec.clone().expect("it was added");
        change(&mut spec);
        match desk.ask(Control::Edit { spec: Box::new(spec), base: None }).reply {
            Some(Notice::AgentEdited { anew, .. }) => anew,
            other => panic!("it is said, not {other:?}"),
        }
    };
    let kind: fn(&mut AgentSpec) = |spec| spec.instructions = "Be kind.".to_owned();
    type Change = fn(&mut AgentSpec);
    let table: [(Runtime, Change, bool); 6] = [
        (Runtime::Claude, kind, true),
        (Runtime::Codex, kind, false),
        (Runtime::Acp, kind, false),
        (Runtime::Claude, |spec: &mut AgentSpec| spec.model = "other".to_owned(), false),
        (Runtime::Claude, |spec: &mut AgentSpec| spec.runtime = Runtime::Codex, true),
        (Runtime::Codex, |spec: &mut AgentSpec| spec.workspace = "/elsewhere".into(), true),
    ];
    for (runtime, change, anew) in table {
        let mut desk = Desk::with(spec(runtime));
        desk.give(WorkKind::Message, 1, "fix it");
        desk.runs();
        desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
        desk.succeeds();
        assert_eq!(edited(&mut desk, change), anew, "{runtime:?}");
        assert_eq!(desk.agent.conversation.is_none(), anew, "{runtime:?}");
        // While a session starts, its work dates from before.
        let mut desk = Desk::with(spec(runtime));
        desk.give(WorkKind::Message, 1, "fix it");
        assert!(!edited(&mut desk, change), "there is none yet");
        desk.runs();
        desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
        assert_eq!(desk.agent.conversation.is_none(), anew, "{runtime:?}");
        desk.succeeds();
        desk.give(WorkKind::Message, 2, "fix that");
        desk.runs();
        desk.signal(Signal::Ready { conversation: Some("c2".to_owned()) });
        assert_eq!(desk.agent.conversation.as_deref(), Some("c2"), "{runtime:?}");
    }
}

#[test]
fn a_conversation_that_cannot_be_resumed_is_not_tried_again() {
    let mut desk = Desk::busy();
    desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
    desk.fails(Category::MaxTurns);
    assert_eq!(desk.signal(Signal::Ready { conversation: None }).told(), "Ready, ConversationLost");
    assert_eq!(desk.agent.conversation, None);
}

#[test]
fn a_silent_driver_is_a_hang_and_the_channel_is_told_before_the_kill() {
    let mut desk = Desk::busy();
    let session = desk.session();
    let step = desk.tell(&Input::DriverSilent { session, silent: Duration::from_secs(15) });
    assert_eq!(step.told(), "ClockRanOut, StopRequested(Hung)");
    assert_eq!(step.said(), "ClockRanOut { clock: Heartbeat, evidence: \"no heartbeat for 15s\" }");
    assert_eq!(step.effects, [Effect::Stop { session }]);
    assert_eq!(
        desk.agent.phase,
        Phase::Stopping { session, reason: StopReason::Hung },
        "still one process until it is gone"
    );
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Hung), Requeued(1), Waiting(10s Backoff(Hung))");
}

#[test]
fn what_an_agent_reports_about_money_cannot_spoil_the_sums() {
    let mut desk = Desk::busy();
    for cost_usd in [f64::NAN, f64::INFINITY, -1.0] {
        let usage = crate::outcome::Usage { cost_usd, ..Default::default() };
        desk.ends(Outcome { usage, ..Outcome::new(Category::MaxTurns, "") });
    }
    assert_eq!(desk.agent.totals.usage.cost_usd, 0.0);
}
