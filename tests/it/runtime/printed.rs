//! The recorded output of the CLIs that are asked once, and its interpretation by runtime `command`.

mod calls;
mod limits;
mod rows;
mod sessions;

use std::path::{Path, PathBuf};

use herder::core::detail::Own;
use herder::core::outcome::Usage;
use herder::core::spec::Output;
use herder::core::time::Timestamp;
use herder::runtime::command::classify::{Failure, Field, TABLE};
use herder::runtime::protocol::{Happening, Protocol};
use herder::runtime::text::Tail;
use proptest::prelude::*;

use super::replayed::{assert_rows_were_seen, damage, stands, tools};
use super::*;

macro_rules! runs {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!("../../fixtures/", $folder, "/", $name, ".jsonl")))),*]
    };
}

const CLAUDE: [(&str, &str); 6] = runs!("claude": "ok" "401" "404-model" "429" "credit" "max-turns");

const CODEX: [(&str, &str); 10] = runs!("printed/codex":
    "ok" "cut-once" "401" "404-model" "429" "500" "503" "ctx" "cut" "usage-limit");

const GEMINI: [(&str, &str); 9] = runs!("printed/gemini":
    "ok" "400-key" "401" "404-model" "429" "429-daily" "500" "ctx" "cut");

const OPENCODE: [(&str, &str); 4] = runs!("printed/opencode": "ok" "401" "404-model" "429-retry-after");

fn reader(output: Output) -> Box<dyn Protocol> {
    let change = |_: &mut Launch, spec: &mut AgentSpec| {
        spec.command = vec!["asked-once".to_owned()];
        spec.output = output;
        spec.patterns = vec![Pattern { matches: "flux is low".to_owned(), category: Category::Quota }];
    };
    super::replayed::launched(Runtime::Command, change).1
}

struct Read {
    happened: Vec<Happening>,
    outcome: Outcome,
    /// After the last line.
    stalled: Option<Outcome>,
}

impl Read {
    fn words(&self) -> Vec<&str> {
        self.happened
            .iter()
            .filter_map(|happening| match happening {
                Happening::Words(words) => Some(words.as_str()),
                _ => None,
            })
            .collect()
    }

    fn notes(&self) -> Vec<&str> {
        self.happened
            .iter()
            .filter_map(|happening| match happening {
                Happening::Note(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}

fn read_until(output: Output, lines: &str, exit: Exit) -> Read {
    let mut protocol = reader(output);
    let mut happened = Vec::new();
    for line in lines.lines() {
        protocol.line(line.as_bytes(), &mut happened);
    }
    let stalled = protocol.stalled(&Tail::default());
    Read { happened, stalled, outcome: protocol.outcome(Some(exit), &Tail::default()) }
}

/// Reads an output with an exit code of 7: the output alone decides how the run went.
fn read(output: Output, lines: &str) -> Read {
    read_until(output, lines, Exit::Code(7))
}

fn seen<'a>(runs: &[(&str, &'a str)], name: &str) -> &'a str {
    runs.iter().find(|(seen, _)| *seen == name).map(|(_, lines)| *lines).expect("it was recorded")
}

#[test]
fn every_end_that_was_seen_has_its_class_and_its_words() {
    use Category::{
        Auth, Billing, ContextOverflow, MaxTurns, Permanent, Quota, RateLimit, Success, Transient,
    };
    /// The name of a run, its end, and the text about it.
    type End = (&'static str, Category, &'static str);
    /// A format, what was recorded of it, and the ends of that.
    type Recorded = (Output, &'static [(&'static str, &'static str)], &'static [End]);
    let table: [Recorded; 4] = [
        (
            Output::Claude,
            &CLAUDE,
            &[
                ("ok", Success, ""),
                ("401", Auth, ""),
                ("404-model", Permanent, ""),
                ("429", RateLimit, ""),
                ("credit", Billing, ""),
                ("max-turns", MaxTurns, ""),
            ],
        ),
        (
            Output::Codex,
            &CODEX,
            &[
                ("ok", Success, ""),
                ("cut-once", Success, ""),
                ("401", Auth, "unexpected status 401 Unauthorized: Incorrect API key provided"),
                ("404-model", Permanent, "The model `nope` does not exist"),
                ("429", RateLimit, "exceeded retry limit, last status: 429"),
                ("500", Transient, "We’re currently experiencing high demand"),
                ("503", Transient, "Selected model is at capacity."),
                ("ctx", ContextOverflow, "Codex ran out of room"),
                ("cut", Transient, "stream disconnected before completion"),
                ("usage-limit", Quota, "You’ve hit your usage limit."),
            ],
        ),
        (
            Output::Gemini,
            &GEMINI,
            &[
                ("ok", Success, ""),
                ("400-key", Auth, "[API Error: "),
                ("401", Auth, "[API Error: "),
                ("404-model", Permanent, "[API Error: models/nope is not found"),
                ("429", RateLimit, "[API Error: Resource has been exhausted"),
                ("429-daily", Quota, "[API Error: You have exhausted your daily quota"),
                ("500", Transient, "[API Error: "),
                ("ctx", ContextOverflow, "[API Error: "),
                ("cut", Transient, "[API Error: terminated]"),
            ],
        ),
        (
            Output::Opencode,
            &OPENCODE,
            &[
                ("ok", Success, ""),
                ("401", Auth, "Incorrect API key provided"),
                ("404-model", Permanent, "The model `nope` does not exist"),
                ("429-retry-after", RateLimit, "Rate limit reached for m."),
            ],
        ),
    ];
    for (output, runs, ends) in table {
        for (name, category, detail) in ends {
            let Read { happened, outcome, .. } = read(output, seen(runs, name));
            assert_eq!((outcome.category, outcome.unknown), (*category, false), "{output:?} {name}");
            assert!(outcome.detail.to_string().starts_with(detail), "{output:?} {name}: {}", outcome.detail);
            assert!(!happened.contains(&Happening::Malformed), "{output:?} {name}");
            assert!(
                happened.contains(&Happening::TurnEnded),
                "{output:?} {name}: it is waited for no longer"
            );
        }
        assert_eq!(ends.len(), runs.len(), "{output:?}: each run that was recorded has its line");
    }
}

#[test]
fn a_success_has_its_words_its_tokens_its_dollars_and_the_name_of_its_conversation() {
    let used = |cost_usd| Usage { input_tokens: 1200, output_tokens: 30, cost_usd, ..Usage::default() };
    let said = "Hello from the fake model.";
    for (output, lines, usage, conversation) in [
        (Output::Codex, CODEX[0].1, used(0.0), "01a1fd2f-24f4-7c92-967a-36ffed002a4a"),
        (Output::Gemini, GEMINI[0].1, used(0.0), "2f8a9bb4-9118-423b-aea0-85ba43f1f44a"),
        (Output::Opencode, OPENCODE[0].1, used(0.004_05), "ses_e02cdcee4ffeHZ7aLOETXnSy6Y"),
    ] {
        let read = read(output, lines);
        assert_eq!(read.words(), [said], "{output:?}: what comes in pieces is one message");
        assert_eq!(read.outcome.text.as_deref(), Some(said), "{output:?}");
        assert_eq!((read.outcome.usage, read.outcome.turns), (usage, 1), "{output:?}");
        assert!(
            read.notes().contains(&format!("conversation {conversation}").as_str()),
            "{:?}",
            read.notes()
        );
        let mut readings = read.happened.iter().filter_map(|happening| match happening {
            Happening::Progress { reading, .. } => Some(reading),
            _ => None,
        });
        let reading = readings.next_back().expect("it is counted");
        let unpriced = if usage.cost_usd > 0.0 { Usage::default() } else { usage };
        assert_eq!((reading.usage, reading.unpriced), (usage, unpriced), "{output:?}");
        assert_eq!(reading.turn, usage, "{output:?}");
    }
    let claude = read(Output::Claude, CLAUDE[0].1);
    assert_eq!(claude.words().last().copied(), claude.outcome.text.as_deref());
    assert!(
        claude.outcome.usage.cost_usd > 0.0 && claude.outcome.usage.input_tokens > 0,
        "{:?}",
        claude.outcome
    );
    assert!(claude.notes().iter().any(|note| note.starts_with("conversation ")), "{:?}", claude.notes());
    // Asked for one object instead of lines it gives the last of them.
    let last = CLAUDE[0].1.lines().last().expect("it has a result");
    let alone = read(Output::Claude, last).outcome;
    assert_eq!((alone.category, alone.text), (Category::Success, claude.outcome.text));
    assert!(alone.usage.cost_usd > 0.0);
}

#[test]
fn errors_that_look_like_success_are_errors() {
    let init = r#"{"type":"init","session_id":"s","model":"gemini-2.5-flash"}"#;
    let error = r#"{"type":"error","severity":"error","message":"Maximum session turns exceeded"}"#;
    let done = r#"{"type":"result","status":"success","stats":{}}"#;
    let outcome = read(Output::Gemini, &format!("{init}\n{error}\n{done}")).outcome;
    assert_eq!(outcome.category, Category::MaxTurns);
    let words = r#"{"type":"message","role":"assistant","content":"Done after all.","delta":true}"#;
    let outcome = read(Output::Gemini, &format!("{init}\n{error}\n{words}\n{done}")).outcome;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("Done after all.")));

    let step = |reason: &str| {
        format!(
            r#"{{"type":"step_finish","sessionID":"s","part":{{"type":"step-finish","reason":"{reason}","cost":0}}}}"#
        )
    };
    for (reason, category) in [
        ("stop", Category::Success),
        ("length", Category::Transient),
        ("content-filter", Category::Permanent),
        ("unknown", Category::Transient),
    ] {
        let words = r#"{"type":"text","sessionID":"s","part":{"type":"text","text":"Done."}}"#;
        let said = format!("{words}\n{}", step(reason));
        assert_eq!(read(Output::Opencode, &said).outcome.category, category, "{reason}");
    }
    // Without a word and without a call nothing was done.
    for (output, silent) in [(Output::Opencode, step("stop")), (Output::Gemini, format!("{init}\n{done}"))] {
        let outcome = read(output, &silent).outcome;
        assert_eq!(
            (outcome.category, outcome.detail),
            (Category::Transient, Own::NothingSaid.into()),
            "{output:?}"
        );
    }
    // It may stay when it is done, and an end that another step follows was none.
    let went_on =
        [&step("stop"), r#"{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}"#].join("\n");
    let happened = read(Output::Opencode, &went_on).happened;
    let ended =
        happened.iter().position(|happening| *happening == Happening::TurnEnded).expect("it was over");
    assert!(happened[ended..].contains(&Happening::TurnStarted), "{happened:?}");
    assert!(!read(Output::Opencode, &step("tool-calls")).happened.contains(&Happening::TurnEnded));
    // It makes room by itself, and continues.
    let full = r#"{"type":"error","sessionID":"s","error":{"name":"ContextOverflowError","data":{"message":"full"}}}"#;
    let full = read(Output::Opencode, full);
    assert_eq!(full.outcome.category, Category::ContextOverflow);
    assert!(!full.happened.contains(&Happening::TurnEnded));
    // A step that a tool follows is no end, and a process that leaves then has none.
    let left =
        |exit| read_until(Output::Opencode, &[step("stop"), step("tool-calls")].join("\n"), exit).outcome;
    assert_eq!(left(Exit::Code(0)).category, Category::Crash);
    assert_eq!(left(Exit::Code(2)).category, Category::DoNotRestart);
    // A stream that ends too early is asked for again and again, without an end.
    let again = vec![step("unknown"); 11].join("\n");
    assert!(read(Output::Opencode, &again).happened.contains(&Happening::TurnEnded));
}

#[test]
fn what_nobody_knows_is_transient_shown_whole_and_counted_unless_a_pattern_knows_it() {
    let codex = |message: &str| {
        read(Output::Codex, &format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#)).outcome
    };
    let outcome = codex("the flow is off");
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, true));
    assert_eq!(outcome.detail.to_string(), "the flow is off");
    let outcome = codex("the flux is low");
    assert_eq!((outcome.category, outcome.unknown), (Category::Quota, false));
    let line = r#"{"type":"error","sessionID":"s","error":{"name":"FlowError","data":{"message":"off","statusCode":418,"responseBody":"{\"error\":{\"code\":\"teapot\"}}"}}}"#;
    let outcome = read(Output::Opencode, line).outcome;
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, true));
    assert_eq!(outcome.detail.to_string(), "kind FlowError, status 418, word teapot: off");
}

#[test]
fn a_process_that_printed_no_end_is_what_its_exit_says() {
    for output in [Output::Claude, Output::Codex, Output::Gemini, Output::Opencode] {
        let mut said = Tail::default();
        for (exit, category) in [
            (Exit::Code(0), Category::Crash),
            (Exit::Code(1), Category::Crash),
            (Exit::Code(2), Category::DoNotRestart),
            (Exit::Signal(9), Category::Crash),
        ] {
            let outcome = reader(output).outcome(Some(exit), &said);
            assert_eq!(outcome.category, category, "{output:?} {exit:?}");
        }
        said.push(b"it is said that the flux is low");
        assert_eq!(reader(output).outcome(Some(Exit::Code(1)), &said).category, Category::Quota);
    }
    let mut said = Tail::default();
    said.push(b"Missing environment variable: `OPENAI_API_KEY`.");
    assert_eq!(reader(Output::Codex).outcome(Some(Exit::Code(1)), &said).category, Category::Auth);
    assert_eq!(reader(Output::Codex).outcome(Some(Exit::Signal(9)), &said).category, Category::Crash);
}

/// gemini, on standard error: why it waits, and where in its own source it learnt of that.
const TRIES_AGAIN: &str = include_str!("../../fixtures/printed/gemini/429.stderr");

fn tail(said: &str) -> Tail {
    let mut tail = Tail::default();
    said.lines().for_each(|line| tail.push(line.as_bytes()));
    tail
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lines_that_are_cut_or_changed_do_no_harm(which in 0..4_usize, damage in damage()) {
        let (output, lines) = [
            (Output::Claude, CLAUDE[0].1),
            (Output::Codex, CODEX[1].1),
            (Output::Gemini, GEMINI[1].1),
            (Output::Opencode, OPENCODE[3].1),
        ][which];
        let mut protocol = reader(output);
        let marked: String = lines.lines().map(|line| format!("< {line}\n")).collect();
        super::replayed::play_damaged(&mut *protocol, &marked, damage);
    }
}

#[test]
fn prices_are_of_the_model_that_did_most() {
    let model = |models: &str| {
        let lines = format!(
            "{}\n{}",
            r#"{"type":"init","session_id":"s","model":"auto"}"#,
            r#"{"type":"result","status":"success","stats":{"total_tokens":30,"input_tokens":20,"output_tokens":10,"models":M}}"#
                .replace('M', models)
        );
        let happened = read(Output::Gemini, &lines).happened;
        let model = |happening: &Happening| match happening {
            Happening::Progress { reading, .. } => Some(reading.model.clone()),
            _ => None,
        };
        happened.iter().find_map(model).expect("it is counted")
    };
    let two = r#"{"gemini-flash-lite":{"total_tokens":10},"gemini-pro":{"total_tokens":20},"x":7}"#;
    assert_eq!(model(two), "gemini-pro");
    for nothing in ["{}", "7", "null", r#"{"gemini-pro":{"total_tokens":0}}"#] {
        assert_eq!(model(nothing), "auto", "{nothing}");
    }
}

#[test]
fn what_a_message_says_of_its_failure_is_not_lost_for_a_field_that_is_absent() {
    let line = r#"{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"it said {\"error\":{\"code\":529,\"type\":\"odd\"}}"}}}"#;
    let outcome = read(Output::Opencode, line).outcome;
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, false));
    let overloaded = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"Overloaded","responseBody":"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}"}}}"#;
    let outcome = read(Output::Opencode, overloaded).outcome;
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, false));
}

#[test]
fn of_a_long_answer_in_pieces_both_ends_are_kept() {
    let piece =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let mut lines = vec![piece("The beginning.")];
    lines.extend((0..50).map(|_| piece(&"x".repeat(5000))));
    lines.push(piece("The end."));
    lines.push(r#"{"type":"result","status":"success"}"#.to_owned());
    let text = read(Output::Gemini, &lines.join("\n")).outcome.text.expect("it has said something");
    assert!(text.starts_with("The beginning.") && text.ends_with("The end."), "{} bytes", text.len());
    assert!(text.contains(" left out …]") && text.len() <= 64 * 1024, "{} bytes", text.len());
}

#[test]
fn of_a_text_of_megabytes_the_beginning_decides() {
    let failure = |text: String| Failure { text, ..Failure::default() }.category();
    let much = "ö".repeat(4 * 1024 * 1024);
    assert_eq!(failure(format!("Rate limit. {much}")), Some(Category::RateLimit));
    assert_eq!(failure(format!("{much} Rate limit.")), None);
    let begun = std::time::Instant::now();
    let line = format!(r#"{{"type":"turn.failed","error":{{"message":"{much}"}}}}"#);
    assert!(read(Output::Codex, &line).outcome.unknown);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_folder_that_is_not_trusted_and_a_call_that_is_not_let_have_their_class() {
    let untrusted = tail("Gemini CLI is not running in a trusted directory. To proceed, use `--skip-trust`.");
    let outcome = reader(Output::Gemini).outcome(Some(Exit::Code(55)), &untrusted);
    assert_eq!(outcome.category, Category::Permanent);
    let rejected = tail("! permission requested: bash (git push); auto-rejecting");
    for code in [0, 1] {
        let outcome = reader(Output::Opencode).outcome(Some(Exit::Code(code)), &rejected);
        assert_eq!(outcome.category, Category::SandboxDenial, "exit code {code}");
    }
    // Whatever else was said, it has left without a word.
    let limited = tail("Attempt 1 failed with status 429.");
    assert_eq!(reader(Output::Gemini).outcome(Some(Exit::Code(0)), &limited).category, Category::Crash);
}

#[test]
fn what_is_known_to_be_asked_once_is_given_what_it_needs() {
    let environment = |output, set: &[(&str, &str)]| {
        let change = |_: &mut Launch, spec: &mut AgentSpec| {
            (spec.command, spec.output) = (vec!["/opt/wrapper".to_owned()], output);
            spec.env.extend(set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        };
        super::replayed::launched(Runtime::Command, change).0.environment
    };
    let gemini = environment(Output::Gemini, &[("GEMINI_CLI_NO_RELAUNCH", "false")]);
    assert_eq!(gemini["GEMINI_CLI_NO_RELAUNCH"], "false", "what is set holds");
    assert_eq!(gemini["GEMINI_CLI_TRUST_WORKSPACE"], "true");
    let opencode = environment(Output::Opencode, &[]);
    assert_eq!(opencode["OPENCODE_PRINT_LOGS"], "1");
    // No one could answer it.
    assert!(!opencode.contains_key("OPENCODE_PERMISSION"));
    assert!(
        !environment(Output::Text, &[])
            .keys()
            .any(|name| name.starts_with("OPENCODE") || name.starts_with("GEMINI"))
    );
}
