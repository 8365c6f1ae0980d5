//! One of every notice and refusal that can be on disk.

use std::time::Duration;

use herder::core::ask::Offer;
use herder::core::detail::{LinkReason, Own};
use herder::core::handoff::Since;
use herder::core::id::{AccountName, AgentName, AskId, NetworkName, RunnerName, WorkId};
use herder::core::notice::{MachineNews, Notice, Refusal};
use herder::core::outcome::Category;
use herder::core::spec::Runtime;
use herder::core::time::Timestamp;
use herder::core::usage::Unit;
use herder::core::work::{TaskEnd, WorkKind};
use herder::core::workspace::{Unfinished, Workspace};

use super::board;
use super::samples::*;
use super::watching;
use crate::journal::agent;

/// Returns the name of a machine.
pub(super) fn box4() -> RunnerName {
    RunnerName::new("box4").expect("a good name")
}

pub(super) fn notices() -> Vec<Notice> {
    let (agent, account) = (agent("spark"), AccountName::from("team"));
    let (network, kind, work) = (NetworkName::from("libera"), WorkKind::Task, WorkId(7));
    let (restart_in, window) = (Duration::from_secs(10), Duration::from_secs(60));
    let (detail, reason) = ("500: overloaded".to_owned(), "no space left on device".to_owned());
    let at = Timestamp::from_millis(1_763_700_300_000);
    let mut notices = board::notices();
    notices.extend([
        Notice::WorkspaceSeen {
            agent: agent.clone(),
            workspace: Workspace { branch: None, changed: 1, unfinished: Some(Unfinished::CherryPick) },
        },
        Notice::Started { agent: agent.clone(), work: "fix it".into() },
        Notice::Completed {
            agent: agent.clone(),
            duration: Duration::from_millis(61_500),
            turns: 7,
            cost_usd: 0.1 + 0.2,
        },
        Notice::Crashed { agent: agent.clone(), detail: detail.clone().into(), restart_in },
        Notice::Crashed {
            agent: agent.clone(),
            detail: Own::ExitCode { code: 3 }.with("no such file"),
            restart_in,
        },
        Notice::RateLimited { agent: agent.clone(), resume_in: restart_in },
        Notice::Permanent { agent: agent.clone(), detail: detail.clone().into(), restart_in },
        Notice::Overflowed { agent: agent.clone(), detail: detail.clone().into(), restart_in },
        Notice::Billing { agent: agent.clone(), account: account.clone() },
        Notice::Auth { agent: agent.clone() },
        Notice::Budget { agent: agent.clone() },
        Notice::DoNotRestart { agent: agent.clone(), detail: detail.clone().into() },
        Notice::PausedWithAccount {
            agent: agent.clone(),
            account: account.clone(),
            category: Category::Auth,
        },
        Notice::AccountBlocked {
            account: account.clone(),
            category: Category::Billing,
            agent: agent.clone(),
        },
        Notice::AccountOpened { account: account.clone(), by: "ann".into() },
        Notice::QuotaReached { agent: agent.clone(), account: account.clone() },
        Notice::AccountExhausted {
            account: account.clone(),
            agent: agent.clone(),
            resets_at: Some(at),
            probe_at: Some(at),
            ask_at: None,
        },
        Notice::AccountAsked { account: account.clone(), agent: agent.clone() },
        Notice::AccountTried { account: account.clone(), agent: agent.clone(), by: "ann".into() },
        Notice::AccountWorks { account, agent: agent.clone() },
        Notice::TimedOut { agent: agent.clone(), limit: window, restart_in },
        Notice::OutOfMemory { agent: agent.clone(), detail: detail.clone().into(), restart_in },
        Notice::TaskFailed { agent: agent.clone(), task: work, detail: detail.into() },
        Notice::NeedsIntervention {
            agent: agent.clone(),
            failures: 6,
            window,
            trial: false,
            detail: String::new().into(),
        },
        Notice::ClockSet { ahead: false, by: Duration::from_secs(10_800) },
        Notice::BreakerClosed { agent: agent.clone() },
        Notice::Degraded { agent: agent.clone(), crashes: 6, window },
        Notice::Survivors { agent: agent.clone(), pids: vec![17, 18] },
        Notice::SupervisorPanicked { agent: agent.clone(), restart_in },
        Notice::SupervisorGaveUp { agent: agent.clone(), reason: "index out of bounds".into() },
        Notice::Paused { agent: agent.clone() },
        Notice::Interrupted { agent: agent.clone() },
        Notice::ConversationLost { agent: agent.clone(), why: "gone".into() },
        Notice::WorkLine { line: "FAIL 7 timeout".into() },
        Notice::Pausing { agent: agent.clone() },
        Notice::HandedOff {
            agent: agent.clone(),
            conversation: "0a1b".into(),
            line: "cd /srv/spark && claude --resume 0a1b".into(),
            since: Since::Stopping,
        },
        Notice::Resuming { agent: agent.clone(), trial: true },
        Notice::Ended { agent: agent.clone(), ended: 3, left: 0 },
        Notice::Restarting { agent: agent.clone() },
        Notice::Aborted { agent: agent.clone(), work: "fix it".into() },
        Notice::Accepted { agent: agent.clone(), work, kind },
        Notice::Queued { agent: agent.clone(), work, kind, position: 2 },
        Notice::Steering { agent: agent.clone(), work },
        Notice::Reworded { agent: agent.clone(), work: "fix it well".into() },
        Notice::Withdrawn { agent: agent.clone(), work: "fix it".into() },
        Notice::Cleared { agent: agent.clone(), count: 3 },
        Notice::AgentAdded { agent: agent.clone(), runtime: Runtime::Claude },
        Notice::AgentEdited { agent: agent.clone(), anew: false },
        Notice::AgentEdited { agent: agent.clone(), anew: true },
        Notice::AgentRemoved { agent: agent.clone(), works: 0 },
        Notice::StoppedAll { agents: 3, processes: 1 },
        Notice::StoppedAllHeard { agents: 3, processes: 0, unheard: vec![agent.clone()] },
        Notice::Reloaded {
            added: vec![agent.clone()],
            changed: vec![agent.clone()],
            restarted: vec![agent.clone()],
            removed: vec![agent.clone()],
            replaced: vec![agent.clone()],
            stayed: vec![agent.clone()],
            failed: vec![agent.clone()],
            sections: vec!["[limits]".into()],
            later: vec!["[[irc]]".into()],
        },
        Notice::NotReloaded { problems: vec!["bot.toml:1: nam: there is no such key".into()], count: 4 },
        Notice::Away { from: Timestamp::from_millis(1_763_700_000_000), to: at },
        Notice::WentOn { away: Duration::from_secs(2), sessions: 5 },
        Notice::RunnerAway,
        Notice::RunnerBack { away: Duration::from_secs(63) },
        Notice::Machine { runner: box4(), news: MachineNews::Away },
        Notice::Machine { runner: box4(), news: MachineNews::Back { away: Duration::from_secs(63) } },
        Notice::Machine { runner: box4(), news: MachineNews::Joined },
        Notice::Machine { runner: box4(), news: MachineNews::Drained { sessions: 2 } },
        Notice::Machine { runner: box4(), news: MachineNews::Opened },
        Notice::Machine { runner: box4(), news: MachineNews::Removed },
        Notice::TooEarly { nicks: vec!["alice".into(), "bob".into()] },
        Notice::Collapsed { agent: Some(agent.clone()), count: 70 },
        Notice::Collapsed { agent: None, count: 70 },
        Notice::NetworkDown { network: network.clone(), attempts: 5, reason: "refused".into() },
        Notice::NetworkDown {
            network: network.clone(),
            attempts: 5,
            reason: LinkReason::NotFound { server: "irc.example.org".into() }.with("no such host"),
        },
        Notice::NetworkUp { network: network.clone(), down_for: window },
        Notice::NetworkRefused { network: network.clone(), reason: "banned".into() },
        Notice::WebhookDropped { webhook: "webhook:it".into(), attempts: 5, reason: "refused".into() },
        Notice::Mirrored { by: "ann".into(), network: network.clone(), text: "pause".into() },
        Notice::PermissionMissing {
            network: network.clone(),
            permission: "manage-channels".into(),
            channel: Some("#spark".into()),
        },
        Notice::NotInvited {
            network: network.clone(),
            invite: "https://discord.com/oauth2/authorize?client_id=1".into(),
        },
        Notice::CommandsRefused {
            network: network.clone(),
            invite: "https://discord.com/oauth2/authorize?client_id=1".into(),
        },
        Notice::ChannelsFull { network: network.clone(), missing: 2, max: 500 },
        Notice::TopicDenied { network: network.clone(), channel: "#spark".into() },
        Notice::ChannelUnavailable { network, channel: "#spark".into(), reason: "invite only".into() },
        Notice::Netsplit { nick: "ann".into(), count: 4 },
        Notice::PermissionDenied { agent: agent.clone(), what: "touch made".into() },
        Notice::CapReached { agent: agent.clone(), cap: CAP, limit: 5.0, used: 5.25 },
        Notice::CapNear { agent: agent.clone(), cap: CAP, limit: 5.0, used: 4.25, percent: 80 },
        Notice::CapWaived { agent: agent.clone(), cap: CAP, limit: 10.0 },
        Notice::SharedCapReached { account: None, cap: CAP, limit: 50.0, used: 50.5 },
        Notice::SharedCapNear {
            account: Some(AccountName::from("team")),
            cap: CAP,
            limit: 50.0,
            used: 42.0,
            percent: 80,
        },
        Notice::SharedCapWaived { account: None, cap: CAP, limit: 100.0 },
        Notice::Spiked { agent: agent.clone(), unit: Unit::Usd, used: 4.5, usual: 1.25 },
        Notice::PriceUnknown { agent: agent.clone(), model: "gpt-5.4".into(), assumed: false },
        Notice::PermissionAsked {
            agent: agent.clone(),
            ask: AskId(21),
            tool: "Bash".into(),
            command: "git push".into(),
            cut: false,
            vague: false,
            secret: false,
            danger: Some("git push".into()),
            within: window,
        },
        Notice::QuestionAsked {
            agent: agent.clone(),
            ask: AskId(21),
            text: "Which branch?".into(),
            within: window,
            options: Vec::new(),
            several: false,
        },
        Notice::QuestionAsked {
            agent: agent.clone(),
            ask: AskId(21),
            text: "Which ones?".into(),
            within: window,
            options: vec![Offer { label: "main".into(), description: "what is out".into() }],
            several: true,
        },
        Notice::PlanAsked { agent: agent.clone(), ask: AskId(21), within: window },
        Notice::AskOpen {
            agent: agent.clone(),
            ask: AskId(21),
            text: "Which branch?".into(),
            question: true,
            within: window,
        },
        Notice::PermissionAnswered {
            agent: agent.clone(),
            ask: AskId(21),
            allowed: true,
            always: true,
            by: "ann".into(),
            network: NetworkName::from("libera"),
        },
        Notice::QuestionAnswered {
            agent: agent.clone(),
            ask: AskId(21),
            text: "main".into(),
            by: "ann".into(),
            network: NetworkName::from("libera"),
        },
        Notice::AskExpired { agent: agent.clone(), ask: AskId(21), question: false },
        Notice::RuleRemoved { agent: agent.clone(), rule: AskId(21), command: "ls".into() },
        Notice::Linked {
            name: "Ann".into(),
            user: "112233445566778899".into(),
            account: "ann".into(),
            network: NetworkName::from("libera"),
        },
        Notice::Unlinked { count: 1 },
        Notice::AnswerTooLong,
        Notice::NobodyConfigured,
        Notice::StorageFailed { reason },
        Notice::DiskLow { free_bytes: 999_999_999 },
        Notice::UpkeepLeftOut { needed_bytes: 1_999_999_999, free_bytes: 999_999_999 },
        Notice::UpkeepFailed { reason: "the archive /data/archive/1-9.jsonl.gz cannot be read".into() },
        Notice::RevisionsMissing { stream: "agent:spark".into(), expected: 9, found: 7 },
        Notice::ArchivesAside { folder: "/data/archive/aside-1".into(), first: 1, last: 9, ends: 7 },
        Notice::EventsMissing { events: "1-9, 12".into() },
        Notice::EntriesUnreadable { events: 1, posts: 2, version: Some("0.2.0".into()) },
        Notice::ShuttingDown,
    ]);
    notices.push(Notice::NickservRefused {
        network: NetworkName::from("libera"),
        reason: "Password incorrect.".into(),
    });
    notices.push(Notice::TaskBlocked { agent: agent.clone(), task: work, detail: "no access".into() });
    notices.push(Notice::Notified { agent: agent.clone(), detail: "the disk is full".into() });
    notices.push(Notice::Whispered { agent: agent.clone() });
    notices.extend(CLOCK.map(|clock| Notice::ClockRanOut {
        agent: agent.clone(),
        clock,
        evidence: "silent".into(),
    }));
    notices.extend(STOP.map(|reason| Notice::Stopping { agent: agent.clone(), reason }));
    notices.extend(END.map(|end| Notice::TaskEnded { agent: agent.clone(), task: work, end }));
    notices.extend(halts().map(|why| Notice::QueuedWhilePaused {
        agent: agent.clone(),
        work,
        kind,
        position: 1,
        why,
    }));
    notices.extend(watching::notices());
    notices
}

pub(super) fn refusals() -> Vec<Refusal> {
    let (agent, task, ask) = (agent("spark"), WorkId(7), AskId(21));
    let (at, checked) = (Timestamp::from_millis(1_763_700_300_000), agent.clone());
    let mut refusals = board::refusals();
    refusals.extend([
        Refusal::NotReloaded { problems: vec!["bot.toml:1: nam: there is no such key".into()], count: 1 },
        Refusal::NoConfiguration,
        Refusal::GoingDown,
        Refusal::Closing,
        Refusal::AlreadyPaused { agent: agent.clone(), why: None },
        Refusal::NoConversation { agent: agent.clone() },
        Refusal::NoLine { agent: agent.clone(), conversation: Some("0a1b".into()) },
        Refusal::NotPaused { agent: agent.clone() },
        Refusal::NothingRunning { agent: agent.clone() },
        Refusal::AlreadyStopping { agent: agent.clone() },
        Refusal::NoSuchTask { task },
        Refusal::NoRunner { runner: "box4".into() },
        Refusal::TaskOver { task, end: TaskEnd::Done },
        Refusal::WorkRunning { agent: agent.clone() },
        Refusal::WorkOver { agent: agent.clone() },
        Refusal::QueueFull { agent: agent.clone(), max: 1_000 },
        Refusal::QueueEmpty { agent: agent.clone() },
        Refusal::EmptyWork { agent: agent.clone() },
        Refusal::Removed { agent: agent.clone() },
        Refusal::AgentExists { agent: agent.clone() },
        Refusal::NoSuchAgent { agent: "spork".into(), nearest: Some(agent.clone()) },
        Refusal::NoSuchAgent { agent: "zzz".into(), nearest: None },
        Refusal::NoTask { agent: agent.clone() },
        Refusal::WhispersFull { agent: agent.clone(), max: 50 },
        Refusal::NoSuchAsk { ask },
        Refusal::WrongAnswer { agent: agent.clone(), ask, question: true },
        Refusal::NothingAsked { agent: None },
        Refusal::NothingAsked { agent: Some(agent.clone()) },
        Refusal::SeveralAsked { asks: vec![ask, AskId(22)] },
        Refusal::NoSuchOffer { agent: agent.clone(), ask, offers: 3, several: true },
        Refusal::NoRule { agent: agent.clone(), ask, cut: true, vague: false, hidden: false, secret: false },
        Refusal::NoRule { agent: agent.clone(), ask, cut: false, vague: false, hidden: true, secret: false },
        Refusal::NoSuchRule { rule: ask },
        Refusal::TooManyAsks { agent: agent.clone(), max: 20 },
        Refusal::NoSession { agent: agent.clone() },
        Refusal::WorkTooLong { bytes: 40_000, max: 32_768 },
        Refusal::WhisperTooLong { bytes: 5_000, max: 4_096 },
        Refusal::NameKept { agent: agent.clone(), name: AgentName::new("flint").expect("a good name") },
        Refusal::EditedMeanwhile { agent: agent.clone() },
        Refusal::HistoryUnreadable { agent: agent.clone(), said: "damaged".into() },
        Refusal::NotRecorded { said: "the disk is full".into() },
        Refusal::Fault { agent },
        Refusal::Invalid { what: "rest".into(), why: "it is not a duration".into() },
    ]);
    refusals.extend(ask_ends().map(|end| Refusal::AskOver { ask, end, at }));
    refusals.extend(watching::refusals());
    refusals.push(Refusal::NothingToCheck { agent: checked.clone() });
    refusals.push(Refusal::AwaitsParts { agent: checked, task: WorkId(7) });
    refusals
}
