//! Samples of every notice, refusal and phase.

use std::time::Duration;

use herder::core::agent::Phase;
use herder::core::ask::{AskAnswer, AskEnd, Offer};
use herder::core::detail::{Detail, DiscordReason, LinkReason, Own};
use herder::core::event::{PauseReason, StopReason, WaitReason};
use herder::core::handoff::Since;
use herder::core::id::{AgentName, AskId, NetworkName, RunnerName, SessionId, WorkId};
use herder::core::input::Clock;
use herder::core::notice::{Halt, MachineNews, Notice, Refusal};
use herder::core::outcome::Category;
use herder::core::promotion::{Hold, Shut};
use herder::core::spec::Runtime;
use herder::core::time::Timestamp;
use herder::core::usage::{Unit, Window};
use herder::core::work::{TaskEnd, WorkKind};
use herder::core::workspace::{Unfinished, Workspace};

use super::{MORNING, alice, board, cap, openai, reloads, seconds, spark, watching};

/// Returns the name of a machine.
fn box4() -> RunnerName {
    RunnerName::new("box4").expect("a good name")
}

/// Ends of sessions, in status posts.
fn status_notices() -> Vec<Notice> {
    use Notice as N;
    let (agent, account, detail) = (spark(), openai(), "API error 500".to_owned());
    let completed = |turns, cost_usd, duration| N::Completed { agent: spark(), duration, turns, cost_usd };
    let by_account = |category| N::PausedWithAccount { agent: spark(), account: openai(), category };
    let clock = |clock| N::ClockRanOut {
        agent: spark(),
        clock,
        evidence: Own::Silent { silent: seconds(300), cpu: None }.into(),
    };
    let seen = |branch: Option<&str>, changed, unfinished| N::WorkspaceSeen {
        agent: spark(),
        workspace: Workspace { branch: branch.map(str::to_owned), changed, unfinished },
    };
    vec![
        seen(Some("main"), 0, Some(Unfinished::Merge)),
        seen(Some("feature/x"), 1, None),
        seen(None, 12, Some(Unfinished::CherryPick)),
        N::Started { agent: agent.clone(), work: "benchmark nemotron\non every driver".to_owned() },
        completed(0, 0.0, seconds(45)),
        completed(1, 0.0, seconds(119)),
        completed(3, 0.1234, seconds(3780)),
        completed(1200, 1234.5, seconds(100_000)),
        N::Crashed { agent: agent.clone(), detail: detail.clone().into(), restart_in: seconds(10) },
        N::Crashed { agent: agent.clone(), detail: String::new().into(), restart_in: seconds(300) },
        N::Crashed {
            agent: agent.clone(),
            detail: Own::ExitCode { code: 3 }.with("no such file"),
            restart_in: seconds(10),
        },
        N::RateLimited { agent: agent.clone(), resume_in: seconds(42) },
        N::Permanent {
            agent: agent.clone(),
            detail: "no such model!".to_owned().into(),
            restart_in: seconds(10),
        },
        N::Overflowed {
            agent: agent.clone(),
            detail: "prompt is too long".to_owned().into(),
            restart_in: seconds(10),
        },
        N::Billing { agent: agent.clone(), account: account.clone() },
        N::Auth { agent: agent.clone() },
        N::Budget { agent: agent.clone() },
        N::CapReached { agent: agent.clone(), cap: cap(Window::Day, Unit::Usd), limit: 5.0, used: 5.25 },
        N::CapReached {
            agent: agent.clone(),
            cap: cap(Window::Session, Unit::Tokens),
            limit: 2_000_000.0,
            used: 2_000_017.0,
        },
        N::CapNear {
            agent: agent.clone(),
            cap: cap(Window::Hour, Unit::Usd),
            limit: 5.0,
            used: 4.2,
            percent: 80,
        },
        N::CapWaived { agent: agent.clone(), cap: cap(Window::Day, Unit::Tokens), limit: 10_000.0 },
        N::SharedCapReached {
            account: Some(openai()),
            cap: cap(Window::Day, Unit::Usd),
            limit: 50.0,
            used: 50.5,
        },
        N::SharedCapReached { account: None, cap: cap(Window::Hour, Unit::Usd), limit: 50.0, used: 50.5 },
        N::SharedCapNear {
            account: None,
            cap: cap(Window::Day, Unit::Tokens),
            limit: 50_000.0,
            used: 42_000.0,
            percent: 80,
        },
        N::SharedCapWaived { account: Some(openai()), cap: cap(Window::Day, Unit::Usd), limit: 100.0 },
        N::Spiked { agent: agent.clone(), unit: Unit::Usd, used: 4.5, usual: 1.25 },
        N::PriceUnknown { agent: agent.clone(), model: "gpt-5.4".to_owned(), assumed: true },
        N::PriceUnknown { agent: agent.clone(), model: String::new(), assumed: false },
        N::DoNotRestart { agent: agent.clone(), detail: "exit code 2".to_owned().into() },
        by_account(Category::Billing),
        by_account(Category::Auth),
        by_account(Category::Budget),
        N::AccountBlocked { account: account.clone(), category: Category::Billing, agent: agent.clone() },
        N::AccountOpened { account: account.clone(), by: "alice".to_owned() },
        N::QuotaReached { agent: agent.clone(), account: account.clone() },
        exhausted(true, Some(MORNING), None),
        exhausted(true, Some(MORNING.after(seconds(3600))), None),
        exhausted(false, Some(MORNING), None),
        exhausted(true, None, Some(MORNING)),
        exhausted(true, None, None),
        N::AccountAsked { account: account.clone(), agent: agent.clone() },
        N::AccountTried { account: account.clone(), agent: agent.clone(), by: "alice".to_owned() },
        N::AccountWorks { account, agent: agent.clone() },
        N::TimedOut { agent: agent.clone(), limit: seconds(1800), restart_in: seconds(10) },
        N::OutOfMemory {
            agent: agent.clone(),
            detail: Own::OutOfMemory {
                used: 7_990_000_000,
                limit: 8_000_000_000,
                program: "cargo".to_owned(),
            }
            .into(),
            restart_in: seconds(10),
        },
        N::TaskFailed { agent: agent.clone(), task: WorkId(7), detail: detail.into() },
        N::TaskBlocked {
            agent: agent.clone(),
            task: WorkId(7),
            detail: "no access to the registry".to_owned().into(),
        },
        N::Notified {
            agent: agent.clone(),
            detail: "the disk of the test machine is full".to_owned().into(),
        },
        clock(Clock::Startup),
        clock(Clock::Silence),
        clock(Clock::Tool),
        clock(Clock::Task),
        clock(Clock::Heartbeat),
        N::PermissionDenied { agent: agent.clone(), what: "/bin/bash -lc 'touch made'".to_owned() },
        intervention(false),
        intervention(true),
        N::ClockSet { ahead: true, by: seconds(86_400) },
        N::ClockSet { ahead: false, by: seconds(10_800) },
        N::BreakerClosed { agent: agent.clone() },
        N::Degraded { agent: agent.clone(), crashes: 1, window: seconds(1800) },
        N::Degraded { agent: agent.clone(), crashes: 6, window: seconds(1800) },
        N::Survivors { agent: agent.clone(), pids: vec![4711] },
        N::Survivors { agent: agent.clone(), pids: vec![4711, 4712] },
        N::SupervisorPanicked { agent: agent.clone(), restart_in: seconds(2) },
        N::SupervisorGaveUp { agent: agent.clone(), reason: "revision 12 is damaged".to_owned() },
        N::Paused { agent: agent.clone() },
        N::Interrupted { agent: agent.clone() },
        N::ConversationLost { agent, why: Own::ConversationGone.with("Session not found") },
        N::WorkLine { line: "FAIL 7 timeout".to_owned() },
    ]
}

/// Returns the notice of an exhausted account, with the way in which it continues.
fn exhausted(reset: bool, probe_at: Option<Timestamp>, ask_at: Option<Timestamp>) -> Notice {
    let resets_at = reset.then_some(MORNING);
    Notice::AccountExhausted { account: openai(), agent: spark(), resets_at, probe_at, ask_at }
}

/// Answers to accepted commands.
fn answer_notices() -> Vec<Notice> {
    use Notice as N;
    let (agent, work) = (spark(), WorkId(7));
    let stopping = |reason| N::Stopping { agent: spark(), reason };
    let handed_off = |since| N::HandedOff {
        agent: spark(),
        conversation: "0a1b".to_owned(),
        line: "cd /srv/spark && claude --resume 0a1b".to_owned(),
        since,
    };
    let held = |hold| N::QueuedWhilePaused {
        agent: spark(),
        work: WorkId(7),
        kind: WorkKind::Message,
        position: 1,
        why: Halt::Held(hold),
    };
    let queued = |kind, why| N::QueuedWhilePaused { agent: spark(), work: WorkId(7), kind, position: 3, why };
    vec![
        N::Whispered { agent: agent.clone() },
        N::Pausing { agent: agent.clone() },
        handed_off(Since::Now),
        handed_off(Since::Before),
        handed_off(Since::Pausing),
        handed_off(Since::Stopping),
        N::Resuming { agent: agent.clone(), trial: false },
        N::Resuming { agent: agent.clone(), trial: true },
        stopping(StopReason::Pause),
        stopping(StopReason::Abort),
        stopping(StopReason::Restart),
        stopping(StopReason::StopAll),
        stopping(StopReason::Cancel),
        stopping(StopReason::Remove),
        stopping(StopReason::Account(Category::Auth)),
        stopping(StopReason::Hung),
        stopping(StopReason::Escalation),
        stopping(StopReason::Configured),
        stopping(StopReason::Cap(cap(Window::Day, Unit::Usd))),
        N::Ended { agent: agent.clone(), ended: 1, left: 0 },
        N::Ended { agent: agent.clone(), ended: 12, left: 2 },
        N::Restarting { agent: agent.clone() },
        N::Aborted { agent: agent.clone(), work: "benchmark nemotron".to_owned() },
        N::Accepted { agent: agent.clone(), work, kind: WorkKind::Message },
        N::Accepted { agent: agent.clone(), work, kind: WorkKind::Task },
        N::Queued { agent: agent.clone(), work, kind: WorkKind::Message, position: 1 },
        N::Queued { agent: agent.clone(), work, kind: WorkKind::Task, position: 2 },
        queued(WorkKind::Message, Halt::Paused(PauseReason::Person(alice()))),
        queued(WorkKind::Task, Halt::Paused(PauseReason::Failure(Category::Auth))),
        queued(WorkKind::Message, Halt::NeedsIntervention),
        queued(WorkKind::Message, Halt::Degraded),
        queued(WorkKind::Task, Halt::Waiting(MORNING)),
        queued(WorkKind::Message, Halt::Waiting(MORNING)),
        queued(WorkKind::Task, Halt::Held(Hold::Turn { active: 5, max: 5 })),
        queued(WorkKind::Message, Halt::Held(Hold::Turn { active: 12, max: 0 })),
        held(Hold::Closed { account: openai(), category: Category::Quota, until: Some(MORNING) }),
        held(Hold::Closed { account: openai(), category: Category::Quota, until: None }),
        held(Hold::Closed { account: openai(), category: Category::Auth, until: None }),
        held(Hold::Tried { account: openai(), agent: spark() }),
        held(Hold::Pressure { percent: 34, max: 20 }),
        held(Hold::Memory { needs: 8_000_000_000, free: 1_500_000_000 }),
        held(Hold::Runner { runner: box4(), shut: Shut::Away }),
        held(Hold::Runner { runner: box4(), shut: Shut::Drained }),
        N::Steering { agent: agent.clone(), work },
        N::Reworded { agent: agent.clone(), work: "fix the *other* tests".to_owned() },
        N::Withdrawn { agent: agent.clone(), work: "fix the tests".to_owned() },
        N::Cleared { agent: agent.clone(), count: 1 },
        N::Cleared { agent: agent.clone(), count: 4 },
        N::TaskEnded { agent: agent.clone(), task: work, end: TaskEnd::Done },
        N::TaskEnded { agent: agent.clone(), task: work, end: TaskEnd::Failed },
        N::TaskEnded { agent: agent.clone(), task: work, end: TaskEnd::Cancelled },
        N::TaskEnded { agent: agent.clone(), task: work, end: TaskEnd::Blocked },
        N::AgentAdded { agent: agent.clone(), runtime: Runtime::Claude },
        N::AgentEdited { agent: agent.clone(), anew: false },
        N::AgentEdited { agent: agent.clone(), anew: true },
        N::AgentRemoved { agent: agent.clone(), works: 0 },
        N::AgentRemoved { agent: agent.clone(), works: 1 },
        N::AgentRemoved { agent, works: 4 },
        N::StoppedAll { agents: 1, processes: 1 },
        N::StoppedAll { agents: 3, processes: 0 },
        N::StoppedAllHeard { agents: 3, processes: 1, unheard: vec![spark()] },
    ]
    .into_iter()
    .chain(reloads::notices())
    .collect()
}

/// Notices about herder itself.
fn own_notices() -> Vec<Notice> {
    use Notice as N;
    let (network, reason) = (NetworkName::from("libera"), Detail::from("connection refused"));
    let broke = LinkReason::Broke.with("connection reset by peer");
    vec![
        N::WentOn { away: seconds(2), sessions: 5 },
        N::WentOn { away: seconds(63), sessions: 1 },
        N::RunnerAway,
        N::RunnerBack { away: seconds(63) },
        N::Machine { runner: box4(), news: MachineNews::Away },
        N::Machine { runner: box4(), news: MachineNews::Back { away: seconds(63) } },
        N::Machine { runner: box4(), news: MachineNews::Joined },
        N::Machine { runner: box4(), news: MachineNews::Drained { sessions: 2 } },
        N::Machine { runner: box4(), news: MachineNews::Opened },
        N::Machine { runner: box4(), news: MachineNews::Removed },
        N::Machine { runner: box4(), news: MachineNews::Drained { sessions: 0 } },
        N::Machine { runner: box4(), news: MachineNews::Drained { sessions: 1 } },
        N::Away { from: MORNING, to: MORNING.after(seconds(63)) },
        N::TooEarly { nicks: vec!["alice".to_owned()] },
        N::TooEarly { nicks: vec!["alice".to_owned(), "bob".to_owned()] },
        N::Collapsed { agent: Some(spark()), count: 1 },
        N::Collapsed { agent: Some(spark()), count: 214 },
        N::Collapsed { agent: None, count: 1 },
        N::Collapsed { agent: None, count: 214 },
        N::NetworkDown { network: network.clone(), attempts: 1, reason: reason.clone() },
        N::NetworkDown { network: network.clone(), attempts: 5, reason: reason.clone() },
        N::NetworkDown { network: network.clone(), attempts: 5, reason: broke },
        N::NetworkUp { network: network.clone(), down_for: seconds(7200) },
        N::NetworkDown { network: "webhook:it".into(), attempts: 5, reason: reason.clone() },
        N::NetworkUp { network: "webhook:it".into(), down_for: seconds(7200) },
        N::NetworkRefused { network: "webhook:it".into(), reason: reason.clone() },
        N::WebhookDropped { webhook: "webhook:it".into(), attempts: 5, reason: reason.clone() },
        N::NetworkRefused { network: network.clone(), reason },
        N::NetworkRefused { network: network.clone(), reason: DiscordReason::Token.into() },
        N::NickservRefused { network: network.clone(), reason: LinkReason::NoServices.into() },
        N::NickservRefused { network: network.clone(), reason: "Password incorrect.".into() },
        N::Mirrored { by: "bob".to_owned(), network: NetworkName::from("discord"), text: "pause".to_owned() },
        // Neither a name nor a text can look like another person's line.
        N::Mirrored {
            by: "alice (libera): yes".to_owned(),
            network: NetworkName::from("discord"),
            text: "one\n!stop-all\n💬 alice (libera): no".to_owned(),
        },
        N::PermissionMissing {
            network: NetworkName::from("discord"),
            permission: "manage-channels".to_owned(),
            channel: None,
        },
        N::PermissionMissing {
            network: NetworkName::from("discord"),
            permission: "send-messages".to_owned(),
            channel: Some("#spark".to_owned()),
        },
        N::NotInvited {
            network: NetworkName::from("discord"),
            invite:
                "https://discord.com/oauth2/authorize?client_id=1&scope=bot+applications.commands&guild_id=2"
                    .to_owned(),
        },
        N::CommandsRefused {
            network: NetworkName::from("discord"),
            invite: "https://discord.com/oauth2/authorize?client_id=1&guild_id=2".to_owned(),
        },
        N::ChannelsFull { network: NetworkName::from("discord"), missing: 1, max: 500 },
        N::ChannelsFull { network: NetworkName::from("discord"), missing: 12, max: 500 },
        N::TopicDenied { network: network.clone(), channel: "#spark".to_owned() },
        N::ChannelUnavailable { network, channel: "#spark".to_owned(), reason: "invite only".into() },
        N::Netsplit { nick: "alice".to_owned(), count: 1 },
        N::Netsplit { nick: "alice".to_owned(), count: 3 },
        N::Linked {
            name: "Ann".to_owned(),
            user: "112233445566778899".to_owned(),
            account: "ann".to_owned(),
            network: NetworkName::from("libera"),
        },
        N::Unlinked { count: 1 },
        N::Unlinked { count: 2 },
        N::AnswerTooLong,
        N::NobodyConfigured,
        N::StorageFailed { reason: "the disk is full".to_owned() },
        N::DiskLow { free_bytes: 912_000_000 },
        N::UpkeepLeftOut { needed_bytes: 1_400_000_000, free_bytes: 1_100_000_000 },
        N::UpkeepFailed {
            reason:
                "the archive /data/archive/1-9.jsonl.gz cannot be read: line 3: its checksum does not match"
                    .to_owned(),
        },
        N::RevisionsMissing { stream: "agent spark".to_owned(), expected: 12, found: 9 },
        N::ArchivesAside {
            folder: "/data/archive/aside-1".to_owned(),
            first: 48_001,
            last: 52_000,
            ends: 50_123,
        },
        N::EventsMissing { events: "1-5000, 7001-8000".to_owned() },
        N::EntriesUnreadable { events: 1, posts: 2, version: Some("0.2.0".to_owned()) },
        N::EntriesUnreadable { events: 0, posts: 1, version: None },
        N::ShuttingDown,
    ]
}

/// Questions of agents to people, and the answers.
fn ask_notices() -> Vec<Notice> {
    use Notice as N;
    let ask = AskId(12);
    let asked = |(cut, vague), danger: Option<&str>| N::PermissionAsked {
        agent: spark(),
        ask,
        tool: "Bash".to_owned(),
        command: "git push".to_owned(),
        cut,
        vague,
        secret: false,
        danger: danger.map(str::to_owned),
        within: seconds(1800),
    };
    let mut hidden = asked((false, false), None);
    if let N::PermissionAsked { command, .. } = &mut hidden {
        command.push('\u{7}');
    }
    let mut secret = asked((false, false), None);
    if let N::PermissionAsked { secret, .. } = &mut secret {
        *secret = true;
    }
    let question = |choose: bool, several| N::QuestionAsked {
        agent: spark(),
        ask,
        text: "Which branch?".to_owned(),
        within: seconds(1800),
        options: if choose {
            vec![Offer { label: "main".to_owned(), description: String::new() }]
        } else {
            Vec::new()
        },
        several,
    };
    let open = |question| N::AskOpen {
        agent: spark(),
        ask,
        text: "Which branch?".to_owned(),
        question,
        within: seconds(900),
    };
    let answered = |allowed, always| N::PermissionAnswered {
        agent: spark(),
        ask,
        allowed,
        always,
        by: "alice".to_owned(),
        network: NetworkName::from("libera"),
    };
    vec![
        asked((false, false), None),
        asked((false, false), Some("git push")),
        asked((false, true), None),
        asked((true, false), Some("sudo")),
        hidden,
        secret,
        question(false, false),
        question(true, false),
        question(true, true),
        N::PlanAsked { agent: spark(), ask, within: seconds(1800) },
        open(true),
        open(false),
        answered(true, false),
        answered(true, true),
        answered(false, false),
        N::QuestionAnswered {
            agent: spark(),
            ask,
            text: "main".to_owned(),
            by: "alice".to_owned(),
            network: NetworkName::from("discord"),
        },
        N::AskExpired { agent: spark(), ask, question: false },
        N::AskExpired { agent: spark(), ask, question: true },
        N::RuleRemoved { agent: spark(), rule: ask, command: "cargo test".to_owned() },
    ]
}

pub(super) fn notices() -> Vec<Notice> {
    [status_notices(), answer_notices(), ask_notices(), own_notices(), watching::notices(), board::notices()]
        .concat()
}

fn ask_over(end: AskEnd) -> Refusal {
    Refusal::AskOver { ask: AskId(12), end, at: MORNING }
}

fn intervention(trial: bool) -> Notice {
    let detail = "exit code 3".to_owned();
    Notice::NeedsIntervention {
        agent: spark(),
        failures: 6,
        window: Duration::from_secs(60),
        trial,
        detail: detail.into(),
    }
}

pub(super) fn refusals() -> Vec<Refusal> {
    use Refusal as R;
    let agent = spark();
    let no_rule = |cut, vague, (hidden, secret)| R::NoRule {
        agent: spark(),
        ask: AskId(12),
        cut,
        vague,
        hidden,
        secret,
    };
    let mut refusals = vec![
        reloads::refusal(1),
        reloads::refusal(5),
        R::NoConfiguration,
        R::GoingDown,
        R::Closing,
        R::AlreadyPaused { agent: agent.clone(), why: None },
        R::NoConversation { agent: agent.clone() },
        R::NoLine { agent: agent.clone(), conversation: None },
        R::NoLine { agent: agent.clone(), conversation: Some("0a1b".to_owned()) },
        R::AlreadyPaused { agent: agent.clone(), why: Some(Halt::NeedsIntervention) },
        R::NotPaused { agent: agent.clone() },
        R::NothingRunning { agent: agent.clone() },
        R::AlreadyStopping { agent: agent.clone() },
        R::NoSuchTask { task: WorkId(7) },
        R::NoRunner { runner: "box4".to_owned() },
        R::TaskOver { task: WorkId(7), end: TaskEnd::Cancelled },
        R::WorkRunning { agent: spark() },
        R::WorkOver { agent: spark() },
        R::QueueFull { agent: agent.clone(), max: 1000 },
        R::QueueEmpty { agent: agent.clone() },
        R::EmptyWork { agent: agent.clone() },
        R::NoTask { agent: agent.clone() },
        R::WhispersFull { agent: agent.clone(), max: 50 },
        R::Removed { agent: agent.clone() },
        R::AgentExists { agent: agent.clone() },
        R::NoSuchAgent { agent: "sparc".to_owned(), nearest: None },
        R::NoSuchAgent { agent: "sparc".to_owned(), nearest: Some(agent.clone()) },
        R::NoSuchAsk { ask: AskId(12) },
        ask_over(AskEnd::Answered { answer: AskAnswer::Allow { always: false }, by: alice() }),
        ask_over(AskEnd::Answered { answer: AskAnswer::Deny, by: alice() }),
        ask_over(AskEnd::Answered { answer: AskAnswer::Text { text: "main".to_owned() }, by: alice() }),
        ask_over(AskEnd::Expired),
        ask_over(AskEnd::Dropped),
        R::WrongAnswer { agent: agent.clone(), ask: AskId(12), question: true },
        R::WrongAnswer { agent: agent.clone(), ask: AskId(12), question: false },
        R::NothingAsked { agent: None },
        R::NothingAsked { agent: Some(agent.clone()) },
        R::SeveralAsked { asks: vec![AskId(12), AskId(13)] },
        R::NoSuchOffer { agent: agent.clone(), ask: AskId(12), offers: 3, several: false },
        R::NoSuchOffer { agent: agent.clone(), ask: AskId(12), offers: 3, several: true },
        no_rule(true, false, (false, false)),
        no_rule(false, true, (false, false)),
        no_rule(false, false, (true, false)),
        no_rule(false, false, (false, true)),
        no_rule(false, false, (false, false)),
        R::NoSuchRule { rule: AskId(12) },
        R::TooManyAsks { agent: agent.clone(), max: 20 },
        R::NoSession { agent: agent.clone() },
        R::WorkTooLong { bytes: 40_000, max: 32_768 },
        R::WhisperTooLong { bytes: 5_000, max: 4_096 },
        R::NameKept { agent: agent.clone(), name: AgentName::new("flint").expect("a good name") },
        R::EditedMeanwhile { agent: agent.clone() },
        R::HistoryUnreadable { agent: agent.clone(), said: "an archive is damaged".to_owned() },
        R::NotRecorded { said: "the disk is full".to_owned() },
        R::Fault { agent },
        R::Invalid { what: "workspace".to_owned(), why: "there is no folder /srv/spark".to_owned() },
    ];
    refusals.extend(board::refusals());
    refusals
}

pub(super) fn phases() -> Vec<Phase> {
    let session = SessionId(1);
    let until = MORNING.after(seconds(42));
    let paused = |reason| Phase::Paused { reason };
    vec![
        Phase::Idle,
        Phase::Starting { session },
        Phase::Running { session },
        Phase::Stopping { session, reason: StopReason::Abort },
        Phase::Stopping { session, reason: StopReason::Account(Category::Budget) },
        Phase::Waiting { until, reason: WaitReason::Backoff(Category::Transient) },
        Phase::Waiting { until, reason: WaitReason::RateLimit },
        Phase::Waiting { until, reason: WaitReason::Rest },
        Phase::Waiting { until, reason: WaitReason::Split },
        paused(PauseReason::Person(alice())),
        paused(PauseReason::StopAll(alice())),
        paused(PauseReason::Failure(Category::Billing)),
        paused(PauseReason::Account(Category::Auth)),
        paused(PauseReason::Survivors),
        paused(PauseReason::Escalation),
        paused(PauseReason::Cap(cap(Window::Hour, Unit::Tokens))),
        Phase::NeedsIntervention,
        Phase::Degraded,
        Phase::Removed,
    ]
}
