//! Every locale has the same messages with the same variables, and every notice and refusal reads well in each.

mod board;
mod reloads;
mod samples;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herder::core::detector::{Finding, Pattern};
use herder::core::id::{AccountName, AgentName, NetworkName};
use herder::core::notice::{Notice, Refusal};
use herder::core::outcome::Category;
use herder::core::time::Timestamp;
use herder::core::usage::{Cap, Unit, Window};
use herder::core::work::Actor;
use herder::l10n::{LOCALES, Locale, Value};
use jiff::tz::TimeZone;
use regex::Regex;

use samples::{notices, phases, refusals};

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
    Started WorkspaceSeen Completed Crashed RateLimited Permanent Overflowed Billing Auth Budget CapReached CapNear CapWaived Spiked PriceUnknown SharedCapReached SharedCapNear SharedCapWaived
    DoNotRestart PausedWithAccount AccountBlocked
    AccountOpened QuotaReached AccountExhausted AccountAsked AccountTried AccountWorks TimedOut OutOfMemory TaskFailed TaskBlocked TaskTaken TaskReleased CheckPassed CheckFailed TaskInReview ReviewLeft TaskAccepted TaskProposed TaskRejected TaskLanded TaskReturned CheckoutFailed TaskOpened TaskDropping TaskSplitting TaskNeedsMore PartFailed AwaitedNotDone TaskWaits NobodySuffices Boarded TaskMoved TaskSplit BoardCancelled BoardReworded Notified Whispered ClockRanOut PermissionDenied PermissionAsked QuestionAsked PlanAsked AskOpen
    PermissionAnswered QuestionAnswered AskExpired RuleRemoved NeedsIntervention ClockSet BreakerClosed Degraded Survivors SupervisorPanicked
    SupervisorGaveUp Paused Interrupted ConversationLost WorkLine Pausing HandedOff Resuming Stopping Ended Restarting Aborted Accepted Queued
    Spiraling Escalated EscalationAnswered EscalationAcked WhisperMarked EvaluatorLapsed
    QueuedWhilePaused Steering Reworded Withdrawn Cleared TaskEnded AgentAdded AgentEdited AgentRemoved Reloaded NotReloaded StoppedAll StoppedAllHeard Linked Unlinked AnswerTooLong Away WentOn RunnerAway RunnerBack Machine TooEarly Collapsed NetworkDown
    NetworkUp NetworkRefused NickservRefused WebhookDropped ChannelUnavailable TopicDenied Mirrored PermissionMissing NotInvited CommandsRefused ChannelsFull Netsplit NobodyConfigured StorageFailed DiskLow UpkeepLeftOut UpkeepFailed RevisionsMissing ArchivesAside EventsMissing EntriesUnreadable
    ShuttingDown
);

variants!(every_refusal, Refusal:
    AlreadyPaused NoConversation NoLine NotPaused NothingRunning AlreadyStopping NoSuchTask NoRunner TaskOver TaskRunning NoCheckout InReview NotInReview IsReview WorkedOn NotAsReviewed BeingMerged PullOpen TaskMoving Deserted NothingToCheck AwaitsParts TaskKept TaskIsSplit SplitParts SplitTooDeep BoardFull WorkRunning WorkOver QueueFull QueueEmpty EmptyWork NoTask WhispersFull Removed
    AgentExists NoSuchAgent Fault NoSuchAsk AskOver WrongAnswer NothingAsked SeveralAsked NoSuchOffer NoRule NoSuchRule TooManyAsks NoSession Invalid
    WorkTooLong WhisperTooLong NameKept EditedMeanwhile HistoryUnreadable NotRecorded NotReloaded NoConfiguration GoingDown Closing
    EscalationAnswered LateAbort AlreadyAcked NoEscalation NoSuchWhisper NoSuchNumber
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
    every_refusal(&[refusals(), watching::refusals()].concat());
    for (name, _) in LOCALES {
        let locale = locale(name);
        let mut said: Vec<String> = notices().iter().map(|notice| locale.notice(notice)).collect();
        said.push(String::new());
        let refusals = [refusals(), watching::refusals()].concat();
        said.extend(refusals.iter().map(|refusal| locale.refusal(refusal)));
        said.push(String::new());
        said.extend(phases().iter().map(|phase| locale.phase(phase, MORNING)));
        said.push(String::new());
        said.extend(CATEGORIES.map(|category| locale.category(category)));
        said.push(String::new());
        said.extend(crate::reasons::every().into_iter().map(|own| locale.detail(&own.into())));
        for text in &said {
            assert!(!text.contains("{$"), "a hole in {name}: {text}");
        }
        insta::assert_snapshot!(format!("said-in-{name}"), said.join("\n"));
    }
}

fn one_finding_each() -> [Finding; 7] {
    let command = "cargo bench --bench nemotron".to_owned();
    [
        Finding::SameCommand { command, times: 4, failed: true },
        Finding::SameCall { tool: "Read".to_owned(), what: "src/lib.rs".to_owned(), times: 5 },
        Finding::SameEdit { file: "src/lib.rs".to_owned(), times: 3, failed: true },
        Finding::SameError { error: "error: linker `cc` not found".to_owned(), times: 5, edited: true },
        Finding::SameWords { words: "Let me run the tests once more.".to_owned(), times: 4 },
        Finding::NoChange { turns: 14, idle: 10 },
        Finding::LongGaps { times: 3, longest_ms: 840_000 },
    ]
}

#[test]
fn every_finding_in_every_locale() {
    assert_eq!(one_finding_each().map(|finding| finding.pattern()), Pattern::ALL);
    let said = |name: &str| {
        let locale = locale(name);
        one_finding_each().map(|finding| locale.finding(&finding)).join("\n")
    };
    insta::assert_snapshot!(said("en-US"), @r"
    Retried same approach 4 times.
    Retried same approach 5 times.
    Made the same edit 3 times.
    Ran into the same error 5 times.
    Said the same 4 times without doing anything new.
    Changed no file in 14 turns, mostly repeating itself or failing.
    Fell silent 3 times in the middle of its work, once for 14m.
    ");
    insta::assert_snapshot!(said("de"), @r"
    Hat denselben Ansatz 4-mal versucht.
    Hat denselben Ansatz 5-mal versucht.
    Hat dieselbe Änderung 3-mal gemacht.
    Ist 5-mal auf denselben Fehler gestoßen.
    Hat 4-mal dasselbe gesagt, ohne etwas Neues zu tun.
    Hat in 14 Schritten keine Datei geändert und sich meist nur wiederholt oder ist gescheitert.
    Hat 3-mal mitten in der Arbeit geschwiegen, einmal 14 min lang.
    ");
    insta::assert_snapshot!(said("ja"), @r"
    同じ方法を 4 回繰り返しました。
    同じ方法を 5 回繰り返しました。
    同じ編集を 3 回繰り返しました。
    同じエラーに 5 回突き当たりました。
    新しいことをせずに同じことを 4 回言いました。
    14 ターンの間ファイルを変更せず、ほとんどが繰り返しか失敗でした。
    作業の途中で 3 回沈黙しました（最長 14分）。
    ");
}

/// The texts for the agent itself are in English, the language of the tools it works with.
#[test]
fn every_finding_as_its_agent_is_told() {
    insta::assert_snapshot!(one_finding_each().map(|finding| finding.correction()).join("\n"), @r#"
    You ran `cargo bench --bench nemotron` 4 times with the same failure and changed nothing between. It will not come out differently: find out why it does what it does, or try something else.
    You called Read with `src/lib.rs` 5 times, got the same result and changed nothing between. You have that answer already: use it, or ask another question; if you cannot go on, say what you lack.
    You tried the same edit of `src/lib.rs` 3 times, and it failed each time. Read the file as it is now, then decide once what it shall say.
    In spite of your changes the same error came 5 times: `error: linker 'cc' not found`. Step back: read the error word by word, and check the assumption that all your attempts share.
    You said nearly the same 4 times and did nothing new: "Let me run the tests once more". Do the next step now, or say plainly what keeps you from it.
    No file has changed in your last 14 turns, and 10 of them only failed or repeated what you had done. Say what you know by now and what is still open, then do the smallest step that brings you on.
    You fell silent 3 times in the middle of your work, once for 14 minutes, and no file has changed since. If something keeps you waiting, say what it is; otherwise go on.
    "#);
    insta::assert_snapshot!(one_finding_each()[0].stronger(), @"You were told, and it goes on. You ran `cargo bench --bench nemotron` 4 times with the same failure and changed nothing between. Do not do it once more: write down what you expected, what you saw instead and what could explain the difference, then take another way, or report that you are blocked. If this goes on, you are paused and a person is called.");
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
            Notice::Crashed {
                agent: agent.clone(),
                detail: "boom".to_owned().into(),
                restart_in: seconds(80),
            },
            "❌ **spark** crashed: boom. Restarting in 80s…",
        ),
        (
            Notice::Permanent {
                agent: agent.clone(),
                detail: "bad model.".to_owned().into(),
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
    let notice = Notice::Crashed { agent: spark(), detail: hostile.into(), restart_in: seconds(10) };
    let said = locale("en-US").notice(&notice);
    assert!(!said.contains(['\r', '\n', '\u{1b}']));
    assert!(said.ends_with("… Restarting in 10s…") && said.len() < 400, "{said}");
}
