//! One of everything that can be on disk, with the lists that show it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use herder::core::agent::ProcessRecord;
use herder::core::ask::{About, Ask, AskAnswer, AskEnd, AskKey, Asker, DecidedBy, Offer, Part, Rule};
use herder::core::detail::Own;
use herder::core::event::{Event, PauseReason, StopReason, WaitReason};
use herder::core::hook::{Hook, HookEvent, HookTask};
use herder::core::id::{AccountName, AskId, NetworkName, PostId, SessionId, WorkId};
use herder::core::input::Clock;
use herder::core::notice::{Halt, Notice, Refusal};
use herder::core::outcome::{Category, Exit, Outcome, Usage};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::promotion::{Hold, Shut};
use herder::core::spec::{AgentSpec, Autonomy, Output, Pattern, Permissions, PromptMode, Relay, Runtime};
use herder::core::tie::Tie;
use herder::core::time::Timestamp;
use herder::core::usage::{Books, Cap, Unit, Waived, Warned, Window};
use herder::core::whisper::{Tone, Way, Whisper};
use herder::core::work::{Actor, TaskEnd, TaskReport, Work, WorkKind};
use herder::core::workspace::{Unfinished, Workspace};
use herder::journal::{AuditEntry, Entry, FleetEvent, Recorded, Stream};

use super::board;
use super::leading;
use super::notices::{notices, refusals};
use super::watching;
use crate::journal::{agent, ann};
use crate::reasons;

/// The names of an enum's variants, and of a value's. The match has no rest, so that a new variant is not forgotten.
macro_rules! variants {
    ($names:ident, $name:ident, $of:ident: $($variant:ident)*) => {
        pub(super) const $names: &[&str] = &[$(stringify!($variant)),*];
        pub(super) fn $name(value: &$of) -> &'static str {
            match value { $($of::$variant { .. } => stringify!($variant)),* }
        }
    };
}

variants!(EVENTS, event_name, Event: Added Edited Removed Queued TaskTaken TaskHandedBack Checkout SplitBegun SplitEnded BoardHeard Cleared Reworded Withdrawn Steered TaskEnded TaskReported PartsAwaited Parked PartsReported Whispered WhispersDelivered WhispersDropped Discarded SessionStarted
    WorkspaceSeen ProcessStarted ProcessWarm Ready ConversationNamed ConversationLost TurnEnded ClockRanOut PermissionDenied UsageRecorded CapNear CapWaived Spiked PriceUnknown
    Asked AskedAgain Answered AskReminded AskExpired AskDropped PermissionDecided RuleAdded RuleRemoved StopRequested SessionEnded Requeued Waiting WaitOver
    TurnObserved EvaluationBegun Evaluated DetectorStoodIn Escalated EscalationReminded EscalationAcked EscalationAnswered WhisperMarked
    PausePending Paused AccountOpened Resumed Reset BreakerOpened BreakerClosed Degraded ClockSet SupervisorPanicked);
variants!(FLEET, fleet_name, FleetEvent: Board AgentAdded AgentRemoved Configured LeftOut BooksKept CapNear CapWaived AccountBlocked AccountOpened
    AccountExhausted AccountAsked AccountTried AccountProved SupervisorPanicked Linked Unlinked Started ClockSet Stopped);
variants!(NOTICES, notice_name, Notice: Started WorkspaceSeen Completed Crashed RateLimited Permanent Overflowed Billing Auth Budget CapReached CapNear CapWaived Spiked PriceUnknown SharedCapReached SharedCapNear SharedCapWaived
    DoNotRestart PausedWithAccount AccountBlocked AccountOpened QuotaReached AccountExhausted AccountAsked AccountTried AccountWorks TimedOut OutOfMemory TaskFailed TaskBlocked TaskTaken TaskReleased CheckPassed CheckFailed TaskInReview ReviewLeft TaskAccepted TaskProposed TaskRejected TaskLanded TaskReturned CheckoutFailed TaskOpened TaskDropping TaskSplitting TaskNeedsMore PartFailed AwaitedNotDone TaskWaits NobodySuffices Boarded TaskMoved TaskSplit BoardCancelled BoardReworded Notified Whispered ClockRanOut PermissionDenied
    PermissionAsked QuestionAsked PlanAsked AskOpen PermissionAnswered QuestionAnswered AskExpired RuleRemoved NeedsIntervention ClockSet BreakerClosed
    Spiraling Escalated EscalationAnswered EscalationAcked WhisperMarked EvaluatorLapsed
    Degraded Survivors SupervisorPanicked SupervisorGaveUp Paused Interrupted ConversationLost WorkLine Pausing HandedOff Resuming Stopping
    Ended Restarting Aborted Accepted Queued QueuedWhilePaused Steering Reworded Withdrawn Cleared TaskEnded AgentAdded AgentEdited AgentRemoved
    Reloaded NotReloaded StoppedAll StoppedAllHeard Linked Unlinked AnswerTooLong Away WentOn RunnerAway RunnerBack Machine TooEarly Collapsed NetworkDown NetworkUp NetworkRefused NickservRefused WebhookDropped ChannelUnavailable TopicDenied Mirrored PermissionMissing NotInvited CommandsRefused ChannelsFull Netsplit NobodyConfigured
    StorageFailed DiskLow UpkeepLeftOut UpkeepFailed RevisionsMissing ArchivesAside EventsMissing EntriesUnreadable ShuttingDown);
variants!(REFUSALS, refusal_name, Refusal: AlreadyPaused NoConversation NoLine NotPaused NothingRunning AlreadyStopping NoSuchTask NoRunner TaskOver
    TaskRunning NoCheckout InReview NotInReview IsReview WorkedOn NotAsReviewed BeingMerged PullOpen TaskMoving Deserted NothingToCheck AwaitsParts TaskKept TaskIsSplit SplitParts SplitTooDeep BoardFull
    WorkRunning WorkOver QueueFull QueueEmpty EmptyWork NoTask WhispersFull Removed AgentExists NoSuchAgent Fault NoSuchAsk AskOver
    WrongAnswer NothingAsked SeveralAsked NoSuchOffer NoRule NoSuchRule TooManyAsks NoSession EscalationAnswered LateAbort AlreadyAcked NoEscalation NoSuchWhisper NoSuchNumber
    WorkTooLong WhisperTooLong NameKept EditedMeanwhile HistoryUnreadable NotRecorded NotReloaded NoConfiguration GoingDown Closing Invalid);
variants!(TARGETS, target_name, Target: Agent Alerts Work Control Channel Person);
variants!(CATEGORIES, category_name, Category: Success Transient RateLimit Permanent MaxTurns Billing Auth Budget Quota
    ContextOverflow TaskTimeout SandboxDenial Hung Crash DoNotRestart Interrupted OutOfMemory);
variants!(STOPS, stop_name, StopReason: Pause Abort Restart StopAll Cancel Remove Account Hung Cap Escalation Configured);
variants!(PAUSES, pause_name, PauseReason: Person StopAll Failure Account Survivors Cap Escalation);
variants!(WAITS, wait_name, WaitReason: Backoff RateLimit Rest Split);
variants!(CLOCKS, clock_name, Clock: Startup Silence Tool Task Heartbeat);
variants!(HALTS, halt_name, Halt: Paused NeedsIntervention Degraded Waiting Held);
variants!(ENDS, end_name, TaskEnd: Done Failed Cancelled Blocked);
variants!(KINDS, kind_name, WorkKind: Message Task Round);
variants!(RUNTIMES, runtime_name, Runtime: Claude Codex Acp Command);
variants!(PROMPTS, prompt_name, PromptMode: Stdin Arg);
variants!(RELAYS, relay_name, Relay: All Final None);
variants!(PERMISSIONS, permission_name, Permissions: ReadOnly Plan WorkspaceWrite Full);
variants!(AUTONOMIES, autonomy_name, Autonomy: Human Full Strict);
variants!(ABOUTS, about_name, About: Permission Question Plan);
variants!(ANSWERS, answer_name, AskAnswer: Allow Deny Text Chosen);
variants!(ASK_ENDS, ask_end_name, AskEnd: Answered Expired Dropped);
variants!(DECIDERS, decider_name, DecidedBy: Autonomy Rule TooMany);
variants!(OWN, own_name, Own: OnlyCpu ExitCode Signal NotWaitedFor NoResult WorkspaceMissing WorkspaceNoFolder WorkspaceLocked WorkspaceSilent StartSilent NoCommand EmptyCommand ProgramMissing NotInstalled ArgumentsTooLong NotStarted LimitsNotSet OutOfMemory StateFolder CredentialMissing VariableUnreadable Silent NothingYet ToolOpen TakesLong TakesLongWithTool NoHeartbeat NoSignOfLife DriverGone DriverFailed DriverOverdue NotEnded Restarted SupervisorPanicked TimeLimit SplitByNobody SplitTooDeep SplitNoList SplitTimedOut SplitFailed NobodyBroader CheckFailed By TurnLimit AgentsTurnLimit TurnInterrupted TurnCancelled AnswerTooLong AnswerBrokenOff NothingSaid ModelRefused TurnEndedAs ConversationGone HistoryRefused ConversationFull NoConversation OtherProtocol ModelNotSet NoPlanMode OldRunner RunnerAway Link Discord
    Git);
variants!(EXITS, exit_name, Exit: Code Signal);

pub(super) fn abouts() -> [About; 4] {
    let command = "git push origin main".to_owned();
    [
        About::Permission {
            tool: "Bash".into(),
            command,
            cut: false,
            vague: false,
            secret: false,
            danger: Some("git push".into()),
        },
        About::Question { text: "Which branch?".into(), options: Vec::new(), several: false },
        About::Question {
            text: "Which ones?".into(),
            options: vec![
                Offer { label: "main".into(), description: "what is out".into() },
                Offer { label: "next".into(), description: String::new() },
            ],
            several: true,
        },
        About::Plan { text: "1. Look. 2. Leap.".into() },
    ]
}

pub(super) fn answers() -> [AskAnswer; 5] {
    [
        AskAnswer::Allow { always: false },
        AskAnswer::Allow { always: true },
        AskAnswer::Deny,
        AskAnswer::Text { text: "main".into() },
        AskAnswer::Chosen { labels: vec!["main".into(), "next".into()] },
    ]
}

pub(super) fn ask_ends() -> [AskEnd; 3] {
    [AskEnd::Answered { answer: AskAnswer::Deny, by: ann() }, AskEnd::Expired, AskEnd::Dropped]
}

pub(super) const DECIDER: [DecidedBy; 3] =
    [DecidedBy::Autonomy, DecidedBy::Rule { rule: AskId(21) }, DecidedBy::TooMany];

/// Returns the records of an agent's questions.
fn asks(session: SessionId, until: Timestamp, by: &Actor) -> Vec<Event> {
    let (ask, at) = (AskId(21), Timestamp::from_millis(1_763_700_000_000));
    let asker = |key| Some(Asker { session, key, call: None });
    let mut events: Vec<Event> = abouts()
        .into_iter()
        .zip([asker(Some(AskKey(1))), None, asker(Some(AskKey(2))), asker(Some(AskKey(3)))])
        .map(|(about, asker)| Event::Asked {
            ask: Ask {
                id: ask,
                part: matches!(about, About::Question { several: true, .. })
                    .then_some(Part { call: AskKey(2), last: false }),
                remind_at: matches!(about, About::Plan { .. }).then_some(until),
                reminded: u32::from(matches!(about, About::Plan { .. })),
                about,
                work: WorkId(15),
                asker,
                at,
                until,
            },
        })
        .collect();
    events.push(Event::AskedAgain { ask, session, key: Some(AskKey(2)), call: None });
    events.extend(answers().map(|answer| Event::Answered { ask, answer, by: by.clone() }));
    events.extend([Some(until), None].map(|next| Event::AskReminded { ask, next }));
    events.push(Event::AskExpired { ask });
    events.push(Event::AskDropped { ask });
    events.extend(DECIDER.map(|decider| Event::PermissionDecided {
        session,
        key: AskKey(3),
        tool: "Bash".into(),
        command: "ls".into(),
        allowed: decider == DecidedBy::Autonomy,
        by: decider,
    }));
    let rule = Rule { id: ask, tool: "Bash".into(), command: "ls".into(), by: by.clone(), at };
    events.push(Event::RuleAdded { rule });
    events.push(Event::RuleRemoved { rule: ask, by: by.clone() });
    events
}

pub(super) fn assert_all<T>(all: &[&str], found: &[T], name: impl Fn(&T) -> &'static str) {
    let found: BTreeSet<&str> = found.iter().map(name).collect();
    let missing: Vec<&&str> = all.iter().filter(|name| !found.contains(**name)).collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

pub(super) const CATEGORY: [Category; 17] = [
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
pub(super) const STOP: [StopReason; 11] = [
    StopReason::Pause,
    StopReason::Abort,
    StopReason::Restart,
    StopReason::StopAll,
    StopReason::Cancel,
    StopReason::Remove,
    StopReason::Account(Category::Billing),
    StopReason::Hung,
    StopReason::Cap(CAP),
    StopReason::Escalation,
    StopReason::Configured,
];
/// A cap.
pub(super) const CAP: Cap = Cap { window: Window::Day, unit: Unit::Usd };
pub(super) const WAIT: [WaitReason; 4] =
    [WaitReason::Backoff(Category::Transient), WaitReason::RateLimit, WaitReason::Rest, WaitReason::Split];
pub(super) const CLOCK: [Clock; 5] =
    [Clock::Startup, Clock::Silence, Clock::Tool, Clock::Task, Clock::Heartbeat];
pub(super) const END: [TaskEnd; 4] = [TaskEnd::Done, TaskEnd::Failed, TaskEnd::Cancelled, TaskEnd::Blocked];
pub(super) const WAYS: [Way; 4] = [Way::Tool, Way::Turn, Way::Prompt, Way::Anew];
pub(super) const KIND: [WorkKind; 3] = [WorkKind::Message, WorkKind::Task, WorkKind::Round];

pub(super) fn pauses() -> [PauseReason; 7] {
    [
        PauseReason::Person(ann()),
        PauseReason::Failure(Category::Auth),
        PauseReason::Account(Category::Budget),
        PauseReason::StopAll(ann()),
        PauseReason::Survivors,
        PauseReason::Cap(Cap { window: Window::Session, unit: Unit::Tokens }),
        PauseReason::Escalation,
    ]
}

pub(super) fn halts() -> [Halt; 11] {
    let paused = Halt::Paused(PauseReason::Person(ann()));
    [
        paused,
        Halt::NeedsIntervention,
        Halt::Degraded,
        Halt::Waiting(Timestamp::from_millis(1_763_700_300_000)),
        Halt::Held(Hold::Turn { active: 5, max: 5 }),
        Halt::Held(Hold::Closed {
            account: AccountName::from("team"),
            category: Category::Quota,
            until: Some(Timestamp::from_millis(1_763_700_300_000)),
        }),
        Halt::Held(Hold::Tried { account: AccountName::from("team"), agent: agent("spark") }),
        Halt::Held(Hold::Pressure { percent: 34, max: 20 }),
        Halt::Held(Hold::Memory { needs: 8_000_000_000, free: 1_500_000_000 }),
        Halt::Held(Hold::Runner { runner: super::notices::box4(), shut: Shut::Away }),
        Halt::Held(Hold::Runner { runner: super::notices::box4(), shut: Shut::Drained }),
    ]
}

pub(super) fn specs() -> [AgentSpec; 7] {
    let plain = AgentSpec::new(agent("spark"), Runtime::Claude, PathBuf::from("/home/ann/spark"));
    let full = AgentSpec {
        command: vec!["codex".into(), "exec".into(), "{prompt}".into()],
        prompt: PromptMode::Arg,
        model: "large".into(),
        account: AccountName::from("team"),
        permissions: Permissions::Full,
        autonomy: Autonomy::Full,
        instructions: "Be \"brief\".\nNo emoji 🐜.".into(),
        looping: true,
        rest: Duration::from_millis(1_500),
        max_turns: 40,
        max_budget_usd: 0.1 + 0.2,
        max_task_duration: Some(Duration::from_secs(3_600)),
        relay: Relay::All,
        env: [("RUST_LOG".to_owned(), "debug".to_owned())].into(),
        inherit_env: vec!["PATH".into()],
        patterns: vec![Pattern { matches: "(?i)rate limit".into(), category: Category::RateLimit }],
        ..AgentSpec::new(agent("ember-2"), Runtime::Command, PathBuf::from("/srv/ember"))
    };
    let strict = AgentSpec {
        permissions: Permissions::ReadOnly,
        autonomy: Autonomy::Strict,
        relay: Relay::None,
        ..plain.clone()
    };
    let codex = AgentSpec::new(agent("rook"), Runtime::Codex, PathBuf::from("/srv/rook"));
    let acp = AgentSpec {
        command: vec!["gemini".into(), "--acp".into()],
        ..AgentSpec::new(agent("kite"), Runtime::Acp, PathBuf::from("/srv/kite"))
    };
    let printed = AgentSpec {
        command: vec!["codex".into(), "exec".into(), "--json".into()],
        output: Output::Codex,
        ..AgentSpec::new(agent("wren"), Runtime::Command, PathBuf::from("/srv/wren"))
    };
    let planner = AgentSpec {
        permissions: Permissions::Plan,
        ..AgentSpec::new(agent("owl"), Runtime::Claude, PathBuf::from("/srv/owl"))
    };
    [plain, full, strict, codex, acp, printed, planner]
}

pub(super) fn work(id: u64, kind: WorkKind) -> Work {
    let by = if kind == WorkKind::Round { Actor::herder() } else { ann() };
    let attempts = u32::from(kind == WorkKind::Task);
    Work {
        id: WorkId(id),
        kind,
        text: format!("work {id}: ä\n\t\"ok\""),
        by,
        at: Timestamp::from_millis(1_763_700_000_123),
        attempts,
        card: None,
    }
}

pub(super) fn outcome(category: Category) -> Outcome {
    Outcome {
        resets_at: (category == Category::RateLimit).then_some(Timestamp::from_seconds(1_763_700_600)),
        exit: match category {
            Category::Success => Some(Exit::Code(0)),
            Category::Crash => Some(Exit::Signal(9)),
            _ => None,
        },
        text: (category == Category::Success).then(|| "done\nall of it".to_owned()),
        turns: 7,
        usage: Usage { input_tokens: 123_456, output_tokens: 789, cost_usd: 1.0 / 3.0, ..Usage::default() },
        duration: Duration::new(61, 500_000_000),
        ..Outcome::new(category, "the runtime's own words")
    }
}

pub(super) fn events() -> Vec<Event> {
    let (session, by) = (SessionId(3), ann());
    let until = Timestamp::from_millis(1_763_700_300_000);
    let mut events: Vec<Event> = Vec::new();
    for spec in specs() {
        events.push(Event::Added { spec: Box::new(spec), by: by.clone() });
    }
    let [_, full, ..] = specs();
    events.push(Event::Edited { spec: Box::new(full), by: by.clone() });
    events.push(Event::Removed { by: by.clone() });
    events.extend(KIND.map(|kind| Event::Queued { work: work(11, kind) }));
    events.push(Event::Cleared { works: vec![WorkId(11), WorkId(12)], by: by.clone() });
    events.push(Event::Reworded { work: WorkId(11), text: "other words".into(), by: by.clone() });
    events.push(Event::Withdrawn { work: WorkId(12), by: by.clone() });
    events.push(Event::Steered { session, work: WorkId(12) });
    events.extend(END.map(|end| Event::TaskEnded { work: WorkId(13), end, note: "why".into() }));
    events.push(Event::Discarded { work: WorkId(14), by: by.clone() });
    events.push(Event::SessionStarted { session, work: work(15, WorkKind::Task), trial: true });
    for (branch, unfinished) in [(Some("main".to_owned()), Some(Unfinished::Rebase)), (None, None)] {
        let workspace = Workspace { branch, changed: 3, unfinished };
        events.push(Event::WorkspaceSeen { session, workspace });
    }
    events.push(Event::ProcessStarted { session, pid: 4_242, started: 9_876_543 });
    let stays = Some(ProcessRecord { pid: 4_242, started: 9_876_543 });
    events.extend([stays, None].map(|process| Event::ProcessWarm {
        session,
        process,
        until: Timestamp::from_millis(1_700_000_000_000),
    }));
    events.extend([Vec::new(), vec![WorkId(12)]].map(|late| Event::Ready { session, late }));
    events.push(Event::ConversationNamed { session, conversation: "0199-a1".into() });
    events.extend(["", "gone"].map(|why| Event::ConversationLost { session, why: why.into() }));
    let tools = vec!["Bash".into(), "Edit".into()];
    events.push(Event::TurnEnded { session, text: "I looked.".into(), tools });
    events.extend(CLOCK.map(|clock| Event::ClockRanOut {
        session,
        clock,
        evidence: "no event for 5m".into(),
    }));
    events.push(Event::PermissionDenied { session, what: "touch made".into() });
    let usage = Usage {
        input_tokens: 1200,
        cached_tokens: 800,
        output_tokens: 30,
        cost_usd: 0.5,
        estimated_usd: 0.25,
    };
    events.push(Event::UsageRecorded { session, usage, turn: Usage::default() });
    events.push(Event::CapNear { cap: CAP, at: 20_000, limit: 5.0, used: 4.25, percent: 80 });
    events.push(Event::CapWaived { cap: CAP, at: 20_000, limit: 10.0, by: by.clone() });
    events.push(Event::Spiked { hour: 480_000, unit: Unit::Tokens, used: 4000.0, usual: 1000.0 });
    events.push(Event::PriceUnknown { model: "gpt-5.4".into(), assumed: true });
    events.extend(asks(session, until, &by));
    events.extend(STOP.map(|reason| Event::StopRequested { session, reason, by: None }));
    events.push(Event::StopRequested { session, reason: StopReason::Abort, by: Some(by.clone()) });
    events.extend(CATEGORY.map(|category| {
        let survivors = if category == Category::Hung { vec![17, 18] } else { vec![] };
        Event::SessionEnded { session, outcome: Box::new(outcome(category)), survivors }
    }));
    events.extend(reasons::every().into_iter().map(|own| Event::SessionEnded {
        session,
        outcome: Box::new(Outcome::new(Category::Hung, own)),
        survivors: vec![],
    }));
    events.push(Event::SessionEnded {
        session,
        outcome: Box::new(Outcome { ended: 3, ..Outcome::new(Category::Interrupted, "") }),
        survivors: vec![],
    });
    let said = Own::ExitCode { code: 3 }.with("no such file");
    events.push(Event::TaskEnded { work: WorkId(13), end: TaskEnd::Failed, note: said });
    events.push(Event::Requeued { work: WorkId(15) });
    events.extend(WAIT.map(|reason| Event::Waiting { until, reason }));
    events.push(Event::WaitOver);
    events.extend([false, true].map(|all| Event::PausePending { by: by.clone(), all }));
    events.extend(pauses().map(|reason| Event::Paused { reason }));
    events.push(Event::AccountOpened { by: by.clone() });
    events.push(Event::Resumed { by: by.clone() });
    events.push(Event::Reset { by });
    events.push(Event::BreakerOpened { failures: 6, trial: false });
    events.push(Event::ClockSet { by: -10_800_000 });
    events.push(Event::BreakerClosed);
    events.push(Event::Degraded { crashes: 6 });
    events.push(Event::SupervisorPanicked { message: "index out of bounds".into() });
    let report = TaskReport { end: TaskEnd::Blocked, note: "no access".into(), denied: None, opinion: None };
    events.push(Event::TaskReported { session, work: WorkId(15), report });
    let whisper = Whisper {
        id: WorkId(16),
        text: "look at the cache first".into(),
        by: ann(),
        at: until,
        prompted: None,
        tone: Tone::Person,
    };
    events.push(Event::Whispered { whisper: Box::new(whisper) });
    events.extend(WAYS.map(|way| Event::WhispersDelivered { session, whispers: vec![WorkId(16)], way }));
    events.push(Event::WhispersDropped { whispers: vec![WorkId(16)], by: ann() });
    events.extend(watching::events());
    events.extend(board::events());
    let turn = Usage { input_tokens: 200, cost_usd: 0.125, ..Usage::default() };
    events.push(Event::UsageRecorded { session, usage, turn });
    events.extend([true, false].map(|denied| {
        let report = TaskReport {
            end: TaskEnd::Blocked,
            note: "no access".into(),
            denied: Some(denied),
            opinion: None,
        };
        Event::TaskReported { session, work: WorkId(15), report }
    }));
    events.push(board::with_a_file());
    events.extend(leading::events());
    events
}

fn books() -> Books {
    let mut books = Books::default();
    let usage = Usage { input_tokens: 1200, output_tokens: 30, cost_usd: 0.5, ..Usage::default() };
    books.enter(&AccountName::from("team"), usage, Timestamp::from_millis(1_763_700_300_000));
    books
}

fn tie() -> Tie {
    Tie { user: "112233445566778899".into(), network: NetworkName::from("libera"), account: "ann".into() }
}

pub(super) fn fleet() -> Vec<FleetEvent> {
    let (spark, account) = (agent("spark"), AccountName::from("team"));
    let mut events = vec![
        FleetEvent::AgentAdded { agent: spark.clone() },
        FleetEvent::AgentRemoved { agent: spark.clone() },
        FleetEvent::Configured { spec: Box::new(specs()[1].clone()) },
        FleetEvent::LeftOut { agent: spark.clone() },
        FleetEvent::AccountBlocked {
            account: account.clone(),
            category: Category::Billing,
            agent: spark.clone(),
        },
        FleetEvent::AccountOpened { account: account.clone(), by: ann() },
        FleetEvent::AccountExhausted {
            account: account.clone(),
            agent: spark.clone(),
            resets_at: Some(Timestamp::from_millis(1_763_700_300_000)),
            probe_at: Some(Timestamp::from_millis(1_763_700_301_000)),
            ask_at: None,
        },
        FleetEvent::AccountAsked { account: account.clone() },
        FleetEvent::AccountTried {
            account: account.clone(),
            category: Category::Auth,
            agent: spark.clone(),
            by: ann(),
        },
        FleetEvent::AccountProved { account, agent: spark.clone() },
        FleetEvent::SupervisorPanicked { agent: spark, message: "index out of bounds".into() },
        FleetEvent::Started { version: "0.1.0".into() },
        FleetEvent::BooksKept { agent: agent("spark"), books: Box::new(books()) },
        FleetEvent::CapNear {
            account: Some(AccountName::from("team")),
            warned: Warned { cap: CAP, at: 20_000, limit: 50.0, percent: 80 },
        },
        FleetEvent::CapWaived {
            account: None,
            waived: Waived { cap: CAP, at: 20_000, limit: 100.0 },
            by: None,
        },
        FleetEvent::ClockSet { by: -10_800_000 },
        FleetEvent::Stopped,
        FleetEvent::Linked { tie: tie(), name: "Ann".into(), by: ann() },
        FleetEvent::Unlinked { tie: tie(), by: ann() },
    ];
    events.extend(board::fleet());
    events.push(FleetEvent::CapWaived {
        account: Some(AccountName::from("team")),
        waived: Waived { cap: CAP, at: 20_000, limit: 100.0 },
        by: Some(ann()),
    });
    events.extend(leading::fleet());
    events
}

pub(super) fn audits() -> Vec<AuditEntry> {
    let entry = AuditEntry {
        by: ann(),
        place: "#spark".into(),
        agent: Some(agent("spark")),
        verb: "pause".into(),
        text: "@spark pause now".into(),
    };
    let local = Actor { network: NetworkName::from("local"), name: "ann".into(), identity: None };
    vec![
        entry.clone(),
        AuditEntry { by: local, place: "local".into(), agent: None, verb: "stop-all".into(), ..entry },
    ]
}

pub(super) fn recorded() -> Vec<Recorded> {
    let all = events()
        .into_iter()
        .map(|event| (Stream::Agent(agent("spark")), Entry::Agent(event)))
        .chain(fleet().into_iter().map(|event| (Stream::Fleet, Entry::Fleet(event))))
        .chain(audits().into_iter().map(|entry| (Stream::Audit, Entry::Audit(entry))));
    all.zip(1_u64..)
        .map(|((stream, entry), n)| Recorded {
            seq: n,
            stream,
            rev: n,
            at: Timestamp::from_millis(1_763_700_000_000 + i64::try_from(n).expect("small")),
            entry,
        })
        .collect()
}

pub(super) fn targets() -> [Target; 6] {
    let (channel, person) = (Target::Channel("#ops".into()), Target::Person("ann".into()));
    [Target::Agent(agent("spark")), Target::Alerts, Target::Work, Target::Control, channel, person]
}

pub(super) fn posts() -> Vec<Post> {
    let plain = |body| Post {
        id: PostId(9),
        network: NetworkName::from("libera"),
        to: Target::Agent(agent("spark")),
        lane: Lane::Normal,
        at: Timestamp::from_millis(1_763_700_000_123),
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    };
    let words =
        || Body::Agent { agent: agent("spark"), text: "```rust\nfn main() {}\n```".into(), is_result: false };
    let mut posts: Vec<Post> = notices().into_iter().map(|notice| plain(Body::Notice(notice))).collect();
    posts.extend(refusals().into_iter().map(|refusal| plain(Body::Refusal(refusal))));
    posts.extend(targets().map(|to| Post { to, ..plain(words()) }));
    let notice = Notice::Paused { agent: agent("spark") };
    posts.extend(HookEvent::ALL.map(|event| {
        let task = HookTask { id: WorkId(7), text: "benchmark nemotron".into() };
        let task = Some(task).filter(|_| event != HookEvent::Error);
        plain(Body::Hook(Box::new(Hook { event, agent: agent("spark"), task, notice: notice.clone() })))
    }));
    posts.push(plain(Body::Kept(vec!["one line".into(), "another".into()])));
    posts.push(plain(Body::Said { agent: agent("spark"), text: "half done".into() }));
    posts.push(Post {
        lane: Lane::Urgent,
        answers: Some("ann".into()),
        quotes: None,
        confirmed_lines: 3,
        ..plain(words())
    });
    posts.extend(board::files().map(|sent| plain(Body::File(Box::new(sent)))));
    posts
}
