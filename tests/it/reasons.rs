//! herder's own reasons: one of each, for the tests that need them all, and the same words in English everywhere.

use std::time::Duration;

use herder::core::detail::{DiscordReason, Distrust, GitReason, LinkReason, Own};
use herder::l10n::{Locale, SOURCE};

/// One of each kind.
pub(crate) fn every() -> Vec<Own> {
    let seconds = Duration::from_secs;
    let link = || "https://forge.example/moss/app/pull/5".to_owned();
    let (path, program, tool) = (|| "/srv/spark".to_owned(), || "codex".to_owned(), || "Bash".to_owned());
    vec![
        Own::ExitCode { code: -1 },
        GitReason::NoRepository { path: path() }.into(),
        GitReason::NoBase { base: "main".to_owned() }.into(),
        GitReason::Failed { command: "git fetch".to_owned() }.into(),
        GitReason::Late { command: "git clone".to_owned() }.into(),
        GitReason::TooMuch { command: "git diff".to_owned() }.into(),
        GitReason::Partial { base: "0a1b2c3d4e".to_owned() }.into(),
        GitReason::SetupFailed { command: "npm ci".to_owned(), code: 1 }.into(),
        GitReason::SetupKilled { command: "npm ci".to_owned(), signal: 9 }.into(),
        GitReason::SetupLate { command: "npm ci".to_owned() }.into(),
        GitReason::NoClone { path: path() }.into(),
        GitReason::Replaced { path: path() }.into(),
        GitReason::Taken { path: path(), name: "refs/herder/7/head".to_owned() }.into(),
        GitReason::OffBranch { branch: "herder/7-x".to_owned() }.into(),
        GitReason::Moved.into(),
        GitReason::Uncommitted { files: 1 }.into(),
        GitReason::Uncommitted { files: 3 }.into(),
        GitReason::NoBranch { base: "v1.0".to_owned() }.into(),
        GitReason::Behind { branch: "main".to_owned() }.into(),
        GitReason::Conflict { branch: "main".to_owned(), files: "src/lib.rs, Cargo.toml".to_owned() }.into(),
        GitReason::Red { command: "make test".to_owned(), branch: "main".to_owned() }.into(),
        GitReason::OwnWork { reviewer: "ember".to_owned() }.into(),
        GitReason::ChangedSince.into(),
        GitReason::NoVerdict { reviewer: "ember".to_owned() }.into(),
        GitReason::RejectedOften { reviewer: "ember".to_owned(), times: 1 }.into(),
        GitReason::RejectedOften { reviewer: "ember".to_owned(), times: 3 }.into(),
        GitReason::Stopped { name: "alice".to_owned() }.into(),
        GitReason::BaseMoved { branch: "main".to_owned() }.into(),
        GitReason::CheckedOut {
            branch: "main".to_owned(),
            line: "git -C /srv/app merge --ff-only refs/herder/7/merged-0a1b2c3d4e5f6071".to_owned(),
        }
        .into(),
        GitReason::Outside { link: link(), names: "test, moss".to_owned() }.into(),
        GitReason::FollowedOften { link: link(), times: 0, names: "moss".to_owned() }.into(),
        GitReason::FollowedOften { link: link(), times: 1, names: "moss".to_owned() }.into(),
        GitReason::FollowedOften { link: link(), times: 3, names: "moss".to_owned() }.into(),
        GitReason::PullClosed { link: link() }.into(),
        GitReason::NotFollowed { link: link() }.into(),
        GitReason::NoRemote { path: path() }.into(),
        GitReason::OtherHost { host: "forge.example".to_owned(), known: "github.com".to_owned() }.into(),
        GitReason::NoForge.into(),
        GitReason::BranchMoved { branch: "herder/7-x".to_owned() }.into(),
        GitReason::Forge { command: "gh api repos/moss/app/pulls".to_owned() }.into(),
        GitReason::File { path: path() }.into(),
        Own::Signal { signal: 9 },
        Own::NotWaitedFor,
        Own::NoResult,
        Own::WorkspaceMissing { path: path() },
        Own::WorkspaceNoFolder { path: path() },
        Own::WorkspaceLocked { path: path() },
        Own::WorkspaceSilent { path: path() },
        Own::StartSilent { path: path() },
        Own::NoCommand,
        Own::EmptyCommand,
        Own::ProgramMissing { path: path() },
        Own::NotInstalled { program: program(), path: "/usr/bin:/bin".to_owned() },
        Own::ArgumentsTooLong { program: program() },
        Own::NotStarted { program: program() },
        Own::StateFolder { path: path() },
        Own::CredentialMissing { path: path() },
        Own::VariableUnreadable { path: path() },
        Own::Silent { silent: seconds(300), cpu: None },
        Own::Silent { silent: seconds(330), cpu: Some(seconds(301)) },
        Own::OnlyCpu { silent: seconds(900) },
        Own::NothingYet { waited: seconds(60) },
        Own::ToolOpen { tool: tool(), open: seconds(1800) },
        Own::TakesLong { takes: seconds(7260), silent: seconds(2) },
        Own::TakesLongWithTool { takes: seconds(200_000), tool: tool(), open: seconds(99) },
        Own::NoHeartbeat { silent: seconds(15) },
        Own::NoSignOfLife,
        Own::DriverGone,
        Own::DriverFailed,
        Own::DriverOverdue,
        Own::NotEnded,
        Own::Restarted,
        Own::SupervisorPanicked,
        Own::TimeLimit,
        Own::SplitByNobody,
        Own::SplitTooDeep,
        Own::SplitNoList,
        Own::SplitTimedOut,
        Own::SplitFailed,
        Own::NobodyBroader,
        Own::LimitsNotSet,
        Own::OutOfMemory { used: 7_990_000_000, limit: 8_000_000_000, program: "cargo".to_owned() },
        Own::OutOfMemory { used: 400, limit: 512_000_000, program: String::new() },
        Own::CheckFailed { command: "make test".to_owned(), times: 3 },
        Own::By { name: "alice".to_owned() },
        Own::TurnLimit { turns: 20 },
        Own::AgentsTurnLimit,
        Own::TurnInterrupted,
        Own::TurnCancelled,
        Own::AnswerTooLong,
        Own::AnswerBrokenOff,
        Own::NothingSaid,
        Own::ModelRefused,
        Own::TurnEndedAs { status: "failed".to_owned() },
        Own::ConversationGone,
        Own::HistoryRefused,
        Own::ConversationFull,
        Own::NoConversation,
        Own::OtherProtocol { spoken: Some(2), ours: 1 },
        Own::OtherProtocol { spoken: None, ours: 1 },
        Own::ModelNotSet { model: "opus".to_owned() },
        Own::NoPlanMode,
        Own::OldRunner,
        Own::RunnerAway,
    ]
    .into_iter()
    .chain(links().into_iter().map(Own::Link))
    .chain(discord().into_iter().map(Own::Discord))
    .collect()
}

fn links() -> Vec<LinkReason> {
    let (server, within) = (|| "irc.example.org:6697".to_owned(), Duration::from_secs(15));
    vec![
        LinkReason::NotFound { server: server() },
        LinkReason::NoAddress { server: server() },
        LinkReason::NotConnected { server: server() },
        LinkReason::NotAnswered { server: server(), within },
        LinkReason::NoTlsName { server: server() },
        LinkReason::TlsFailed { server: server() },
        LinkReason::TlsNotSetUp,
        LinkReason::Certificate { server: server(), why: Distrust::Issuer, fingerprint: "0a".repeat(32) },
        LinkReason::Certificate { server: server(), why: Distrust::Other, fingerprint: "0a".repeat(32) },
        LinkReason::NotLetIn { within },
        LinkReason::LoginNotAnswered { within },
        LinkReason::NoLoginNow,
        LinkReason::LetInWithoutLogin,
        LinkReason::LoginRefused { offered: None },
        LinkReason::LoginRefused { offered: Some("PLAIN,EXTERNAL".to_owned()) },
        LinkReason::LoginBrokenOff,
        LinkReason::ServerPassword,
        LinkReason::Banned,
        LinkReason::NoServices,
        LinkReason::Barred { again: within },
        LinkReason::NoNick,
        LinkReason::Closed,
        LinkReason::EndedByServer,
        LinkReason::Broke,
        LinkReason::StoppedReading,
        LinkReason::FellSilent,
        LinkReason::LinesNotAnswered { waited: Duration::from_secs(60) },
        LinkReason::Kicked,
    ]
}

fn discord() -> Vec<DiscordReason> {
    let request = || "GET /gateway/bot".to_owned();
    vec![
        DiscordReason::Token,
        DiscordReason::Shard,
        DiscordReason::MoreShards,
        DiscordReason::Version,
        DiscordReason::IntentUnknown,
        DiscordReason::IntentRefused,
        DiscordReason::Client,
        DiscordReason::NoContent,
        DiscordReason::Logins { total: 1000, within: Duration::from_secs(3600) },
        DiscordReason::Outside,
        DiscordReason::Stuck,
        DiscordReason::NotAgain,
        DiscordReason::NotLetIn { within: Duration::from_secs(30) },
        DiscordReason::Dead { silent: Duration::from_secs(125) },
        DiscordReason::Broke,
        DiscordReason::Thread,
        DiscordReason::ThreadDied,
        DiscordReason::Refused { request: request(), status: 403, code: 50001 },
        DiscordReason::Foreign { request: request(), status: 403 },
        DiscordReason::Stopped { refused: 120 },
        DiscordReason::NotAnswered { request: request() },
        DiscordReason::Unreadable { request: request() },
        DiscordReason::Unaskable { request: request() },
    ]
}

#[test]
fn agents_and_logs_read_what_the_english_locale_says() {
    let locale = Locale::load(SOURCE).expect("the source");
    for own in every() {
        assert_eq!(locale.detail(&own.clone().into()), own.to_string());
        let said = own.with("what it said");
        assert_eq!(locale.detail(&said), said.to_string());
    }
}
