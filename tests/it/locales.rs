//! Every locale has the same messages with the same variables, and every notice and refusal reads well in each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herder::core::agent::Phase;
use herder::core::event::{PauseReason, StopReason, WaitReason};
use herder::core::id::{AccountName, AgentName, NetworkName, SessionId, WorkId};
use herder::core::input::Clock;
use herder::core::notice::{Halt, Notice, Refusal};
use herder::core::outcome::Category;
use herder::core::spec::Runtime;
use herder::core::time::Timestamp;
use herder::core::usage::{Cap, Unit, Window};
use herder::core::work::{Actor, TaskEnd, WorkKind};
use herder::l10n::{LOCALES, Locale, Value};
use jiff::tz::TimeZone;
use regex::Regex;

/// 2026-03-01 10:20:30 UTC.
const MORNING: Timestamp = Timestamp::from_millis(1_772_360_430_000);

/// Fails to compile when a variant is missing from its list, and names those that no sample shows.
macro_rules! variants {
    ($check:ident, $kind:ident: $($variant:ident)*) => {
        fn $check(samples: &[$kind]) {
            fn name(value: &$kind) -> &'static str {
                match value { $($kind::$variant { .. } => stringify!($variant),)* }
            }
            let shown: BTreeSet<_> = samples.iter().map(name).collect();
            let all = BTreeSet::from([$(stringify!($variant)),*]);
            let missing: Vec<_> = all.difference(&shown).collect();
            assert!(missing.is_empty(), "no sample of {missing:?}");
        }
    };
}

variants!(every_notice, Notice:
    Started Completed Crashed RateLimited Permanent Billing Auth Budget CapReached CapNear CapWaived Spiked PriceUnknown SharedCapReached SharedCapNear SharedCapWaived
    DoNotRestart PausedWithAccount AccountBlocked
    AccountOpened TimedOut TaskFailed TaskBlocked Notified Whispered ClockRanOut PermissionDenied NeedsIntervention BreakerClosed Degraded Survivors SupervisorPanicked
    SupervisorGaveUp Paused Interrupted WorkLine Pausing Resuming Stopping Restarting Aborted Accepted Queued
    QueuedWhilePaused Steering Reworded Withdrawn Cleared TaskEnded AgentAdded AgentEdited AgentRemoved StoppedAll Away Collapsed NetworkDown
    NetworkUp NetworkRefused ChannelUnavailable TopicDenied Mirrored PermissionMissing ChannelsFull Netsplit NobodyConfigured StorageFailed DiskLow RevisionsMissing
    ShuttingDown
);

variants!(every_refusal, Refusal:
    AlreadyPaused NotPaused NothingRunning AlreadyStopping NoSuchTask TaskOver WorkRunning WorkOver QueueFull QueueEmpty EmptyWork NoTask WhispersFull Removed
    AgentExists NoSuchAgent Fault Invalid
);

fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

fn openai() -> AccountName {
    AccountName::from("openai")
}

fn alice() -> Actor {
    Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None }
}

fn cap(window: Window, unit: Unit) -> Cap {
    Cap { window, unit }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How sessions end, in status posts.
fn status_notices() -> Vec<Notice> {
    use Notice as N;
    let (agent, account, detail) = (spark(), openai(), "API error 500".to_owned());
    let completed = |turns, cost_usd, duration| N::Completed { agent: spark(), duration, turns, cost_usd };
    let by_account = |category| N::PausedWithAccount { agent: spark(), account: openai(), category };
    let clock = |clock| N::ClockRanOut {
        agent: spark(),
        clock,
        evidence: "no event for 5m, no tool open".to_owned(),
    };
    vec![
        N::Started { agent: agent.clone(), work: "benchmark nemotron\non every driver".to_owned() },
        completed(0, 0.0, seconds(45)),
        completed(1, 0.0, seconds(119)),
        completed(3, 0.1234, seconds(3780)),
        completed(1200, 1234.5, seconds(100_000)),
        N::Crashed { agent: agent.clone(), detail: detail.clone(), restart_in: seconds(10) },
        N::Crashed { agent: agent.clone(), detail: String::new(), restart_in: seconds(300) },
        N::RateLimited { agent: agent.clone(), resume_in: seconds(42) },
        N::Permanent { agent: agent.clone(), detail: "no such model!".to_owned(), restart_in: seconds(10) },
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
        N::DoNotRestart { agent: agent.clone(), detail: "exit code 2".to_owned() },
        by_account(Category::Billing),
        by_account(Category::Auth),
        by_account(Category::Budget),
        N::AccountBlocked { account: account.clone(), category: Category::Billing, agent: agent.clone() },
        N::AccountOpened { account, by: "alice".to_owned() },
        N::TimedOut { agent: agent.clone(), limit: seconds(1800), restart_in: seconds(10) },
        N::TaskFailed { agent: agent.clone(), task: WorkId(7), detail },
        N::TaskBlocked {
            agent: agent.clone(),
            task: WorkId(7),
            detail: "no access to the registry".to_owned(),
        },
        N::Notified { agent: agent.clone(), detail: "the disk of the test machine is full".to_owned() },
        clock(Clock::Startup),
        clock(Clock::Silence),
        clock(Clock::Tool),
        clock(Clock::Task),
        clock(Clock::Heartbeat),
        N::PermissionDenied { agent: agent.clone(), what: "/bin/bash -lc 'touch made'".to_owned() },
        intervention(false),
        intervention(true),
        N::BreakerClosed { agent: agent.clone() },
        N::Degraded { agent: agent.clone(), crashes: 1, window: seconds(1800) },
        N::Degraded { agent: agent.clone(), crashes: 6, window: seconds(1800) },
        N::Survivors { agent: agent.clone(), pids: vec![4711] },
        N::Survivors { agent: agent.clone(), pids: vec![4711, 4712] },
        N::SupervisorPanicked { agent: agent.clone(), restart_in: seconds(2) },
        N::SupervisorGaveUp { agent: agent.clone(), reason: "revision 12 is damaged".to_owned() },
        N::Paused { agent: agent.clone() },
        N::Interrupted { agent },
        N::WorkLine { line: "FAIL 7 timeout".to_owned() },
    ]
}

/// Answers to accepted commands.
fn answer_notices() -> Vec<Notice> {
    use Notice as N;
    let (agent, work) = (spark(), WorkId(7));
    let stopping = |reason| N::Stopping { agent: spark(), reason };
    let queued = |kind, why| N::QueuedWhilePaused { agent: spark(), work: WorkId(7), kind, position: 3, why };
    vec![
        N::Whispered { agent: agent.clone() },
        N::Pausing { agent: agent.clone() },
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
        stopping(StopReason::Cap(cap(Window::Day, Unit::Usd))),
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
        N::AgentEdited { agent: agent.clone() },
        N::AgentRemoved { agent: agent.clone(), works: 0 },
        N::AgentRemoved { agent: agent.clone(), works: 1 },
        N::AgentRemoved { agent, works: 4 },
        N::StoppedAll { agents: 1, processes: 1 },
        N::StoppedAll { agents: 3, processes: 0 },
    ]
}

/// What herder says of itself.
fn own_notices() -> Vec<Notice> {
    use Notice as N;
    let (network, reason) = (NetworkName::from("libera"), "connection refused".to_owned());
    vec![
        N::Away { from: MORNING, to: MORNING.after(seconds(63)) },
        N::Collapsed { agent: Some(spark()), count: 1 },
        N::Collapsed { agent: Some(spark()), count: 214 },
        N::Collapsed { agent: None, count: 1 },
        N::Collapsed { agent: None, count: 214 },
        N::NetworkDown { network: network.clone(), attempts: 1, reason: reason.clone() },
        N::NetworkDown { network: network.clone(), attempts: 5, reason: reason.clone() },
        N::NetworkUp { network: network.clone(), down_for: seconds(7200) },
        N::NetworkRefused { network: network.clone(), reason: reason.clone() },
        N::Mirrored { by: "bob".to_owned(), network: NetworkName::from("discord"), text: "pause".to_owned() },
        // Neither a name nor a text can look like somebody else's line.
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
        N::ChannelsFull { network: NetworkName::from("discord"), missing: 1, max: 500 },
        N::ChannelsFull { network: NetworkName::from("discord"), missing: 12, max: 500 },
        N::TopicDenied { network: network.clone(), channel: "#spark".to_owned() },
        N::ChannelUnavailable { network, channel: "#spark".to_owned(), reason: "invite only".to_owned() },
        N::Netsplit { nick: "alice".to_owned(), count: 1 },
        N::Netsplit { nick: "alice".to_owned(), count: 3 },
        N::NobodyConfigured,
        N::StorageFailed { reason },
        N::DiskLow { free_bytes: 912_000_000 },
        N::RevisionsMissing { stream: "agent spark".to_owned(), expected: 12, found: 9 },
        N::ShuttingDown,
    ]
}

fn notices() -> Vec<Notice> {
    [status_notices(), answer_notices(), own_notices()].concat()
}

fn intervention(trial: bool) -> Notice {
    let detail = "exit code 3".to_owned();
    Notice::NeedsIntervention { agent: spark(), failures: 6, window: Duration::from_secs(60), trial, detail }
}

fn refusals() -> Vec<Refusal> {
    use Refusal as R;
    let agent = spark();
    vec![
        R::AlreadyPaused { agent: agent.clone(), why: None },
        R::AlreadyPaused { agent: agent.clone(), why: Some(Halt::NeedsIntervention) },
        R::NotPaused { agent: agent.clone() },
        R::NothingRunning { agent: agent.clone() },
        R::AlreadyStopping { agent: agent.clone() },
        R::NoSuchTask { task: WorkId(7) },
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
        R::Fault { agent },
        R::Invalid { what: "workspace".to_owned(), why: "there is no folder /srv/spark".to_owned() },
    ]
}

fn phases() -> Vec<Phase> {
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
        paused(PauseReason::Person(alice())),
        paused(PauseReason::Failure(Category::Billing)),
        paused(PauseReason::Account(Category::Auth)),
        paused(PauseReason::Survivors),
        paused(PauseReason::Cap(cap(Window::Hour, Unit::Tokens))),
        Phase::NeedsIntervention,
        Phase::Degraded,
        Phase::Removed,
    ]
}

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

fn locale(name: &str) -> Locale {
    Locale::load_in_zone(name, TimeZone::UTC).expect("the locale exists")
}

/// Messages of a file with their variables.
fn messages(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let id = Regex::new("^([a-z][a-z0-9-]*) =").expect("a good pattern");
    let variable = Regex::new(r"\$([a-z_]+)").expect("a good pattern");
    let mut messages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        if let Some(found) = id.captures(line) {
            current = found[1].to_owned();
            let twice = messages.insert(current.clone(), BTreeSet::new());
            assert!(twice.is_none(), "{current} is there twice");
        }
        let variables = variable.captures_iter(line).map(|found| found[1].to_owned());
        messages.entry(current.clone()).or_default().extend(variables);
    }
    messages.remove("");
    messages
}

#[test]
fn every_locale_has_the_same_messages_with_the_same_variables() {
    let source = messages(LOCALES[0].1);
    assert!(source.len() > 100, "the files are not read as meant");
    for (name, text) in &LOCALES[1..] {
        let other = messages(text);
        let missing: Vec<_> = source.keys().filter(|id| !other.contains_key(*id)).collect();
        let extra: Vec<_> = other.keys().filter(|id| !source.contains_key(*id)).collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
        assert!(extra.is_empty(), "{name} has what en-US lacks: {extra:?}");
        for (id, variables) in &source {
            assert_eq!(variables, &other[id], "variables of {id} in {name}");
        }
    }
}

#[test]
fn no_message_is_left_in_english() {
    // Names, numbers, what machines read, and what consists of its variables.
    let same = ["work-line", "pause-failure", "refusal-invalid", "group-mark", "decimal-mark", "money"];
    let messages = messages(LOCALES[0].1);
    for (name, _) in &LOCALES[1..] {
        let (own, source) = (locale(name), locale("en-US"));
        for (id, variables) in messages.iter().filter(|(id, _)| !same.iter().any(|same| id.contains(same))) {
            let args: Vec<(&str, Value<'_>)> =
                variables.iter().map(|variable| (variable.as_str(), Value::from("x"))).collect();
            let (here, there) = (own.text(id, &args), source.text(id, &args));
            // A word or two can be the same in both languages, a sentence cannot.
            let sentence =
                there.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2).count() > 3;
            assert!(!sentence || here != there, "{id} is English in {name}: {here}");
        }
    }
}

#[test]
fn every_message_formats_without_a_hole() {
    for (name, text) in LOCALES {
        let locale = locale(name);
        for (id, variables) in messages(text) {
            let args: Vec<(&str, Value<'_>)> =
                variables.iter().map(|variable| (variable.as_str(), Value::from("x"))).collect();
            let said = locale.text(&id, &args);
            assert!(!said.contains("{$") && said != id, "{name}: {id} became {said}");
            assert!(!said.contains(['\u{2068}', '\u{2069}']), "{name}: {id} has isolation marks");
        }
    }
}

#[test]
fn every_notice_and_refusal_in_every_locale() {
    every_notice(&notices());
    every_refusal(&refusals());
    for (name, _) in LOCALES {
        let locale = locale(name);
        let mut said: Vec<String> = notices().iter().map(|notice| locale.notice(notice)).collect();
        said.push(String::new());
        said.extend(refusals().iter().map(|refusal| locale.refusal(refusal)));
        said.push(String::new());
        said.extend(phases().iter().map(|phase| locale.phase(phase, MORNING)));
        said.push(String::new());
        said.extend(CATEGORIES.map(|category| locale.category(category)));
        for text in &said {
            assert!(!text.contains("{$"), "a hole in {name}: {text}");
        }
        insta::assert_snapshot!(format!("said-in-{name}"), said.join("\n"));
    }
}

#[test]
fn the_words_of_the_contract_are_said_to_the_letter() {
    let en = locale("en-US");
    let agent = spark();
    let table = [
        (
            Notice::RateLimited { agent: agent.clone(), resume_in: seconds(42) },
            "⏳ **spark** is rate limited. Resuming in 42s…",
        ),
        (
            Notice::Crashed { agent: agent.clone(), detail: "boom".to_owned(), restart_in: seconds(80) },
            "❌ **spark** crashed: boom. Restarting in 80s…",
        ),
        (
            Notice::Permanent {
                agent: agent.clone(),
                detail: "bad model.".to_owned(),
                restart_in: seconds(10),
            },
            "🚫 **spark** encountered a permanent error: bad model. Restarting in 10s…",
        ),
        (
            Notice::Billing { agent: agent.clone(), account: openai() },
            "💳 **spark** has a billing error — check your openai account. Pausing until resumed.",
        ),
        (
            Notice::Auth { agent: agent.clone() },
            "🔐 **spark** failed to authenticate — check credentials. Pausing until resumed.",
        ),
        (Notice::Budget { agent }, "💰 **spark** exceeded its USD budget cap. Pausing until resumed."),
    ];
    for (notice, text) in table {
        assert_eq!(en.notice(&notice), text);
    }
}

#[test]
fn durations_numbers_and_money_follow_the_locale() {
    let millis = Duration::from_millis;
    let durations = [
        millis(0),
        millis(3),
        millis(1499),
        seconds(40),
        seconds(80),
        seconds(300),
        seconds(3780),
        seconds(187_200),
    ];
    let line = |name: &str| {
        let locale = locale(name);
        let durations = durations.map(|duration| locale.duration(duration)).join(" | ");
        let money =
            [0.0, 0.0042, 0.5, 1234.567, f64::NAN, -1.0].map(|amount| locale.money(amount)).join(" | ");
        format!(
            "{durations}\n{money}\n{}\n{} | {}",
            locale.number(1_234_567),
            locale.time(MORNING),
            locale.bytes(1_500_000)
        )
    };
    insta::assert_snapshot!(line("en-US"), @r"
    0s | 1s | 1s | 40s | 80s | 5m | 1h 3m | 2d 4h
    $0.00 | $0.0042 | $0.50 | $1,234.57 | $0.00 | $0.00
    1,234,567
    2026-03-01 10:20:30 | 1 MB
    ");
    insta::assert_snapshot!(line("de"), @r"
    0 s | 1 s | 1 s | 40 s | 80 s | 5 min | 1 h 3 min | 2 Tage 4 h
    0,00 $ | 0,0042 $ | 0,50 $ | 1.234,57 $ | 0,00 $ | 0,00 $
    1.234.567
    01.03.2026 10:20:30 | 1 MB
    ");
    insta::assert_snapshot!(line("ja"), @r"
    0秒 | 1秒 | 1秒 | 40秒 | 80秒 | 5分 | 1時間3分 | 2日4時間
    $0.00 | $0.0042 | $0.50 | $1,234.57 | $0.00 | $0.00
    1,234,567
    2026年03月01日 10:20:30 | 1 MB
    ");
}

#[test]
fn a_locale_is_found_by_its_language() {
    for (wanted, found) in [("en-US", "en-US"), ("EN", "en-US"), ("de-AT", "de"), ("ja_JP", "ja")] {
        assert_eq!(Locale::load(wanted).map(|locale| locale.name()), Ok(found));
    }
    let refused = Locale::load("tlh").expect_err("nobody wrote it");
    assert_eq!(refused.to_string(), "there is no locale \"tlh\"; there are en-US, de and ja");
    assert!(Locale::load("").is_err() && Locale::load("../../etc").is_err());
}

#[test]
fn what_is_missing_never_panics() {
    let de = locale("de");
    assert_eq!(de.text("there-is-no-such-message", &[]), "there-is-no-such-message");
    assert_eq!(de.text("unit-pair", &[("first", Value::from("1 h"))]), "1 h {$second}");
}

#[test]
fn free_text_cannot_break_out_of_its_sentence() {
    let hostile = format!("line\r\nQUIT :bye \u{1b}[31m{}", "x".repeat(1000));
    let notice = Notice::Crashed { agent: spark(), detail: hostile, restart_in: seconds(10) };
    let said = locale("en-US").notice(&notice);
    assert!(!said.contains(['\r', '\n', '\u{1b}']));
    assert!(said.ends_with("… Restarting in 10s…") && said.len() < 400, "{said}");
}
