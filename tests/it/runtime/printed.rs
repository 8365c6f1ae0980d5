//! What the CLIs really print that are asked once, and what runtime `command` makes of it.

use std::path::{Path, PathBuf};

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

/// The exit codes mean nothing: whatever it is, how it went is what was printed.
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
    /// What a run is called, how it ended, and what is said of it.
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
fn tools_are_open_until_they_have_ended() {
    let codex = r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"make","aggregated_output":"no rule","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"a.rs","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"mcp_tool_call","server":"herder","tool":"notify","arguments":{},"status":"completed"}}"#;
    let gemini = r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a","parameters":{"command":"make"}}
{"type":"tool_result","tool_id":"a","status":"error","error":{"type":"x","message":"no rule"}}"#;
    let opencode = r#"{"type":"tool_use","sessionID":"s","part":{"type":"tool","callID":"a","tool":"bash","state":{"status":"completed","input":{"command":"make"},"output":"done"}}}"#;
    for (output, lines, names) in [
        (Output::Codex, codex, &["shell", "end", "edit", "end", "herder/notify", "end"][..]),
        (Output::Gemini, gemini, &["run_shell_command", "end"]),
        (Output::Opencode, opencode, &["bash", "end"]),
    ] {
        let happened = read(output, lines).happened;
        assert_eq!(tools(&happened), names, "{output:?}");
        let first = happened.iter().find_map(|happening| match happening {
            Happening::ToolStarted { call, .. } => Some(call.what.as_str()),
            _ => None,
        });
        assert_eq!(first, Some("make"), "{output:?}");
        let ok = happened.iter().find_map(|happening| match happening {
            Happening::ToolEnded { end, .. } => Some((end.ok, end.said.as_str())),
            _ => None,
        });
        let expected = if output == Output::Opencode { (true, "done") } else { (false, "no rule") };
        assert_eq!(ok, Some(expected), "{output:?}");
    }
}

#[test]
fn a_limit_that_names_its_end_is_waited_for_until_then() {
    let before = herder::clock::now();
    let outcome = read(Output::Opencode, seen(&OPENCODE, "429-retry-after")).outcome;
    let until = outcome.resets_at.expect("two seconds");
    let waits = until.since(Timestamp::from_seconds(before.as_millis() / 1000)).as_secs();
    assert!((2..60).contains(&waits), "{waits}");
    for odd in ["-5", "soon", "99999999999999999999", "9223372036854775807"] {
        let line = seen(&OPENCODE, "429-retry-after")
            .replace(r#""retry-after":"2""#, &format!(r#""retry-after":"{odd}""#));
        let outcome = read(Output::Opencode, &line).outcome;
        assert_eq!((outcome.category, outcome.resets_at), (Category::RateLimit, None), "{odd}");
    }
}

/// codex sleeps for as long as the API says, and prints nothing then.
#[test]
fn a_limit_that_it_is_silent_over_is_what_it_waits_for() {
    let retries = seen(&CODEX, "429").lines().take(3).collect::<Vec<_>>().join("\n");
    let retry = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 429 Too Many Requests: Slow down.)"}"#;
    let stalled = read(Output::Codex, &format!("{retries}\n{retry}")).stalled;
    assert_eq!(stalled.map(|outcome| outcome.category), Some(Category::RateLimit));
    let words = r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"On it."}}"#;
    assert_eq!(read(Output::Codex, &format!("{retries}\n{retry}\n{words}")).stalled, None, "it goes on");
    assert_eq!(read(Output::Codex, &retries).stalled, None);

    // gemini and any program say so on standard error, if at all; a stack trace follows it.
    let mut said = tail(TRIES_AGAIN);
    assert_eq!(said.last(), Some("}"));
    let limited = |output, said: &Tail| reader(output).stalled(said).map(|outcome| outcome.category);
    assert_eq!(limited(Output::Gemini, &said), Some(Category::RateLimit));
    assert_eq!(limited(Output::Text, &said), None);
    // What it keeps until it leaves is known then.
    let left = |output, said: &Tail| reader(output).was_stalled(said).map(|outcome| outcome.category);
    assert_eq!(left(Output::Gemini, &said), Some(Category::RateLimit));
    assert_eq!(left(Output::Codex, &said), None);
    said.outdated();
    assert_eq!(
        (limited(Output::Gemini, &said), left(Output::Gemini, &said)),
        (None, None),
        "it went on since"
    );
    // opencode says it because herder asks it to; what nobody pays for ends no more than a limit does.
    let owed = r#"ERROR service=llm error={"error":{"code":"insufficient_quota"}} stream error"#;
    assert_eq!(limited(Output::Opencode, &tail(owed)), Some(Category::Billing));
    assert_eq!(limited(Output::Opencode, &tail("ERROR service=llm error={}")), None);

    let mut said = tail("Attempt 1 failed with status 429. Retrying with backoff...");
    assert_eq!(reader(Output::Text).stalled(&said), None);
    said.push(b"the flux is low, waiting");
    assert_eq!(reader(Output::Text).stalled(&said).map(|outcome| outcome.category), Some(Category::Quota));
    said.push(b"and on");
    assert_eq!(reader(Output::Text).stalled(&said), None, "what is said last counts");
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
        assert_eq!(read(Output::Opencode, &step(reason)).outcome.category, category, "{reason}");
    }
    // It may stay when it is done, and an end that another step follows was none.
    let went_on =
        [&step("stop"), r#"{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}"#].join("\n");
    let happened = read(Output::Opencode, &went_on).happened;
    let ended =
        happened.iter().position(|happening| *happening == Happening::TurnEnded).expect("it was over");
    assert!(happened[ended..].contains(&Happening::TurnStarted), "{happened:?}");
    assert!(!read(Output::Opencode, &step("tool-calls")).happened.contains(&Happening::TurnEnded));
    // It makes room by itself, and goes on.
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
    assert_eq!(outcome.detail.to_string(), "off (kind FlowError, status 418, word teapot)");
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

/// Rows that no recorded run has: what they look for is in the source of the CLIs, or their APIs' documentation.
const UNSEEN: &[(Field, &str)] = &[
    (Field::Kind, "FatalTurnLimitedError"),
    (Field::Kind, "FatalAuthenticationError"),
    (Field::Kind, "FatalUntrustedWorkspaceError"),
    (Field::Kind, "ProviderAuthError"),
    (Field::Kind, "ContextOverflowError"),
    (Field::Kind, "MessageOutputLengthError"),
    (Field::Kind, "ProviderModelNotFoundError"),
    (Field::Word, "context_length_exceeded"),
    (Field::Word, "insufficient_quota"),
    (Field::Word, "overloaded_error"),
    (Field::Text, "exceeds the context window"),
    (Field::Text, "prompt is too long"),
    (Field::Text, "credit balance is too low"),
    (Field::Status, "402"),
    (Field::Status, "403"),
    (Field::Status, "413"),
    (Field::Status, "422"),
    (Field::Status, "502"),
    (Field::Status, "503"),
    (Field::Status, "504"),
    (Field::Status, "529"),
    (Field::Text, "not running in a trusted directory"),
    (Field::Text, "; auto-rejecting"),
    (Field::Text, "set an auth method"),
    (Field::Text, "maximum session turns exceeded"),
];

/// gemini, on standard error: why it waits, and where in its own source it learnt of that.
const TRIES_AGAIN: &str = include_str!("../../fixtures/printed/gemini/429.stderr");

fn tail(said: &str) -> Tail {
    let mut tail = Tail::default();
    said.lines().for_each(|line| tail.push(line.as_bytes()));
    tail
}

#[test]
fn every_row_of_the_table_was_seen_or_is_marked() {
    let runs: Vec<&str> =
        GEMINI.iter().chain(&OPENCODE).map(|(_, lines)| *lines).chain([TRIES_AGAIN]).collect();
    assert_rows_were_seen(TABLE, UNSEEN, &runs, |field, value, run| match field {
        Field::Kind => stands(run, value, &[r#""error":{"type":"{}""#, r#""error":{"name":"{}""#]),
        Field::Status => stands(run, value, &[r#"\"code\":{},"#, r#""statusCode":{},"#]),
        Field::Word => {
            let forms = [r#"\"code\":\"{}\""#, r#"\"status\":\"{}\""#, r#"check quota).","status":"{}""#];
            stands(run, value, &forms)
        }
        Field::Text => run.to_lowercase().contains(value),
    });
}

#[test]
fn no_row_of_the_table_is_hidden_by_one_above_it() {
    for (field, value, category) in TABLE {
        let mut failure = Failure::default();
        match field {
            Field::Kind => failure.kind = (*value).to_owned(),
            Field::Status => failure.status = (*value).to_owned(),
            Field::Word => failure.word = (*value).to_owned(),
            Field::Text => failure.text = value.to_uppercase(),
        }
        assert_eq!(failure.category(), Some(*category), "{value}");
    }
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
fn two_edits_of_one_file_are_two_and_each_is_one() {
    let edit = |kind: &str, id: &str| {
        format!(
            r#"{{"type":"item.{kind}","item":{{"id":"{id}","type":"file_change","changes":[{{"path":"a.rs","kind":"update"}}],"status":"completed"}}}}"#
        )
    };
    let digests = |thread: &str| -> Vec<u64> {
        let began = format!(r#"{{"type":"thread.started","thread_id":"{thread}"}}"#);
        let lines = [began, edit("started", "1"), edit("completed", "1"), edit("completed", "2")].join("\n");
        let happened = read(Output::Codex, &lines).happened;
        let digest = |happening: &Happening| match happening {
            Happening::ToolStarted { call, .. } => Some(call.digest),
            _ => None,
        };
        happened.iter().filter_map(digest).collect()
    };
    let all = [digests("a"), digests("b")].concat();
    assert_eq!(all.len(), 4);
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "in the next session too");
}

#[test]
fn a_helper_that_is_waited_for_is_an_open_tool() {
    let line = r#"{"type":"item.started","item":{"id":"item_1","type":"collab_tool_call","tool":"wait","prompt":null,"status":"in_progress"}}"#;
    assert_eq!(tools(&read(Output::Codex, line).happened), ["wait"]);
}

/// Google tells whoever is too fast to look at their plan, and when to come back.
#[test]
fn a_limit_that_speaks_of_billing_is_a_limit() {
    let told = |wait: &str| {
        let message = format!(
            "[API Error: You exceeded your current quota, please check your plan and billing details.\\n{wait}]\\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method"
        );
        let line = format!(
            r#"{{"type":"result","status":"error","error":{{"type":"unknown","message":"{message}"}}}}"#
        );
        read(Output::Gemini, &line).outcome
    };
    let now = Timestamp::from_seconds(herder::clock::now().as_millis() / 1000);
    for (wait, seconds) in [
        ("Please retry in 15.2s.", Some(16)),
        ("Suggested retry after 3600s.", Some(3600)),
        ("Please retry in a while, it is late.", None),
        ("Please retry in 99999999999999999999s.", None),
        ("Please retry in -5s.", None),
        ("", None),
    ] {
        let outcome = told(wait);
        assert_eq!((outcome.category, outcome.unknown), (Category::RateLimit, false), "{wait}");
        let waits = outcome.resets_at.map(|until| until.since(now).as_secs());
        assert_eq!(waits.is_some(), seconds.is_some(), "{wait}");
        let (waits, seconds) = (waits.unwrap_or_default(), seconds.unwrap_or_default());
        assert!((seconds..seconds + 60).contains(&waits), "{wait}: {waits}");
    }
    let body = |status: &str| {
        format!(
            r#"{{"error":{{"message":"You exceeded your current quota, please check your plan and billing details.",{status}}}}}"#
        )
    };
    let of = |body: &str| {
        let mut failure = Failure { status: "429".to_owned(), ..Failure::default() };
        failure.read_body(body);
        failure.category()
    };
    assert_eq!(of(&body(r#""code":429,"status":"RESOURCE_EXHAUSTED""#)), Some(Category::RateLimit));
    assert_eq!(
        of(&body(r#""code":"insufficient_quota","type":"insufficient_quota""#)),
        Some(Category::Billing)
    );
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
fn a_call_of_which_more_is_to_come_is_open() {
    let call = |status: &str| {
        format!(
            r#"{{"type":"tool_use","sessionID":"s","part":{{"type":"tool","callID":"a","tool":"bash","state":{{"status":"{status}","input":{{"command":"make"}}}}}}}}"#
        )
    };
    assert_eq!(tools(&read(Output::Opencode, &call("running")).happened), ["bash"]);
    let both = [call("running"), call("error")].join("\n");
    assert_eq!(tools(&read(Output::Opencode, &both).happened), ["bash", "end"]);
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
    // Nobody could answer it.
    assert!(!opencode.contains_key("OPENCODE_PERMISSION"));
    assert!(
        !environment(Output::Text, &[])
            .keys()
            .any(|name| name.starts_with("OPENCODE") || name.starts_with("GEMINI"))
    );
}

/// A process that prints a recorded run and leaves then, as a whole session.
async fn prints(output: Output, fixture: &str, exit: i32) -> Outcome {
    prints_and(output, fixture, &format!("exit {exit}")).await
}

async fn prints_and(output: Output, fixture: &str, then: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    let script = format!("cat > /dev/null; cat '{}'; {then}", file.display());
    let mut what = session(Runtime::Command, &["sh", "-c", &script], folder.path());
    what.clocks.grace = Duration::from_millis(300);
    what.clocks.silence = Duration::from_secs(20);
    edit(&mut what, |spec| spec.output = output);
    run(what).await.0
}

#[tokio::test]
async fn a_process_that_stays_after_its_work_is_ended_and_has_done_it() {
    let outcome = prints_and(Output::Opencode, "printed/opencode/ok.jsonl", "exec sleep 1000").await;
    assert_eq!((outcome.category, outcome.unknown), (Category::Success, false), "{}", outcome.detail);
    let outcome = prints_and(Output::Opencode, "printed/opencode/401.jsonl", "exec sleep 1000").await;
    assert_eq!(outcome.category, Category::Auth, "{}", outcome.detail);
}

#[tokio::test]
async fn a_session_ends_as_was_printed_whatever_its_exit_code() {
    let outcome = prints(Output::Gemini, "printed/gemini/ok.jsonl", 1).await;
    assert_eq!(outcome.category, Category::Success);
    assert_eq!(outcome.text.as_deref(), Some("Hello from the fake model."));
    assert_eq!(outcome.usage.tokens(), 1230);
    let outcome = prints(Output::Codex, "printed/codex/401.jsonl", 0).await;
    assert_eq!(outcome.category, Category::Auth);
    // As text it is a program that prints lines.
    let outcome = prints(Output::Text, "printed/codex/401.jsonl", 0).await;
    assert_eq!(outcome.category, Category::Success);
    assert!(outcome.text.is_some_and(|text| text.contains("turn.failed")));
}
