//! What Claude Code really wrote, and what is made of it.

use herder::core::id::WorkId;
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::runtime::Launch;
use herder::runtime::protocol::{Happening, Invocation, Protocol, Steering};
use herder::runtime::text::Tail;

use super::replayed::{as_line, assert_end, times, tools};

fn launched(change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> (Invocation, Box<dyn Protocol>) {
    super::replayed::launched(Runtime::Claude, change)
}

fn replay(transcript: &str) -> (Vec<Happening>, Outcome) {
    let (_, mut claude) = launched(|_, _| ());
    let mut happened = Vec::new();
    for line in transcript.lines() {
        claude.line(line.as_bytes(), &mut happened);
    }
    (happened, claude.outcome(Some(Exit::Code(1)), &Tail::default()))
}

macro_rules! transcript {
    ($name:literal) => {
        ($name, include_str!(concat!("../../fixtures/claude/", $name, ".jsonl")))
    };
}

#[test]
fn every_end_that_was_seen_has_its_class_and_its_words() {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, MaxTurns, Permanent, Quota, RateLimit, Success, Transient,
    };
    let table = [
        (transcript!("ok"), Success, ""),
        (transcript!("cut-once"), Success, ""),
        (transcript!("oauth-usage-warn"), Success, ""),
        (transcript!("401"), Auth, "Invalid API key · Fix external API key"),
        (transcript!("404-model"), Permanent, "There's an issue with the selected model (claude-opus-5-5)."),
        (transcript!("429"), RateLimit, "API Error: Request rejected (429)"),
        (transcript!("429-retry-after"), RateLimit, "API Error: Request rejected (429)"),
        (transcript!("500"), Transient, "API Error: 500 Internal server error."),
        (transcript!("529"), Transient, "API Error: 529 Overloaded."),
        (transcript!("cut"), Transient, "API Error: Connection dropped (ECONNRESET)."),
        (transcript!("credit"), Billing, "Credit balance is too low"),
        (transcript!("ctx"), ContextOverflow, "Prompt is too long"),
        (
            transcript!("max-tokens"),
            Transient,
            "API Error: Claude's response exceeded the 128000 output token maximum.",
        ),
        (transcript!("max-budget"), Budget, "Reached maximum budget ($0.2)"),
        (transcript!("max-turns"), MaxTurns, "Reached maximum number of turns (1)"),
        (transcript!("oauth-usage-limit"), Quota, "You've hit your limit · resets 9:19am (UTC)"),
    ];
    for ((name, lines), category, detail) in table {
        let (happened, outcome) = replay(lines);
        assert_end(name, (&happened, &outcome), category, detail);
        let reset = (category == Quota).then(|| Timestamp::from_seconds(1_795_252_748));
        assert_eq!(outcome.resets_at, reset, "{name}");
    }
}

#[test]
fn a_success_has_its_text_turns_tokens_and_cost() {
    let outcome = replay(transcript!("ok").1).1;
    assert_eq!(outcome.text.as_deref(), Some("Hello from the fake model."));
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens), (1, 1200, 30));
    assert!((outcome.usage.cost_usd - 0.0054).abs() < 1e-9);
}

#[test]
fn two_results_of_one_process_are_counted_once_each() {
    let outcome = replay(transcript!("stdin-multi").1).1;
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens), (2, 2400, 60));
    assert!((outcome.usage.cost_usd - 0.0108).abs() < 1e-9);
}

#[test]
fn a_message_in_mid_turn_is_answered_in_the_same_turn() {
    let (happened, outcome) = replay(transcript!("stdin-steer").1);
    assert_eq!(tools(&happened), ["Bash", "end"]);
    assert_eq!(times(&happened, &Happening::TurnEnded), 1);
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("second ok")));
}

#[test]
fn after_an_interrupt_the_next_turn_decides() {
    let (happened, outcome) = replay(transcript!("stdin-interrupt").1);
    assert_eq!(times(&happened, &Happening::TurnEnded), 2);
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("second turn ok")));
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"c-1"}"#;

fn result(fields: &str) -> String {
    format!(r#"{{"type":"result",{fields}}}"#)
}

#[test]
fn a_turn_that_began_after_a_success_and_brought_no_result_is_no_success() {
    let first = result(r#""subtype":"success","is_error":false,"result":"one""#);
    let outcome = replay(&format!("{INIT}\n{first}\n{INIT}")).1;
    assert_eq!((outcome.category, outcome.text), (Category::Crash, None));
    let second = result(r#""subtype":"success","is_error":false,"result":"two""#);
    let outcome = replay(&format!("{INIT}\n{first}\n{INIT}\n{second}")).1;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("two")));
}

#[test]
fn a_turn_that_failed_stays_failed_though_the_next_one_succeeds() {
    let second = result(r#""subtype":"success","is_error":false,"result":"two""#);
    for (fields, category) in [
        (r#""subtype":"error_max_turns","is_error":true"#, Category::MaxTurns),
        (r#""subtype":"success","is_error":true,"api_error_status":500,"result":"x""#, Category::Transient),
    ] {
        let first = result(fields);
        let outcome = replay(&format!("{INIT}\n{first}\n{INIT}\n{second}")).1;
        assert_eq!((outcome.category, outcome.text.as_deref()), (category, Some("two")), "{fields}");
        assert_eq!(replay(&format!("{INIT}\n{first}\n{INIT}")).1.category, category, "{fields}");
    }
    let good = result(r#""subtype":"success","is_error":false,"result":"one""#);
    let bad = result(r#""subtype":"error_max_turns","is_error":true"#);
    assert_eq!(replay(&format!("{INIT}\n{good}\n{INIT}\n{bad}")).1.category, Category::MaxTurns);
}

#[test]
fn a_denied_tool_does_not_make_a_success_a_failure() {
    assert_eq!(replay(transcript!("stdin-perm-deny").1).1.category, Category::Success);
}

/// What was not seen but may come: one field each, and an API that says it in words alone.
#[test]
fn failures_are_known_by_any_one_field() {
    use Category::{Auth, Billing, Budget, ContextOverflow, Permanent, Quota, RateLimit, Transient};
    let table = [
        (r#""api_error_status":402,"api_error_type":"billing_error","result":"x""#, Billing),
        (r#""api_error_status":403,"result":"Failed to authenticate. API Error: 403""#, Auth),
        (r#""api_error_status":"429","result":"x""#, Transient),
        (r#""api_error_status":429,"result":"x""#, RateLimit),
        (r#""api_error_status":429.0,"result":"x""#, RateLimit),
        (r#""api_error":"usage_limit_reached","api_error_status":429,"result":"x""#, Quota),
        (r#""api_error":"prompt_too_long","api_error_status":400,"result":"x""#, ContextOverflow),
        (r#""api_error_type":"overloaded_error","result":"x""#, Transient),
        (r#""subtype":"error_max_structured_output_retries""#, Permanent),
        (r#""subtype":"error_max_budget_usd""#, Budget),
        (r#""subtype":"error_during_execution","errors":["boom"]"#, Transient),
        (r#""result":"Not logged in · Please run /login""#, Auth),
        (r#""result":"something nobody has ever seen""#, Transient),
        (r#""result":{"an":"object"},"errors":"no list""#, Transient),
    ];
    for (fields, category) in table {
        let outcome = replay(&format!(r#"{{{fields},"is_error":true,"type":"result"}}"#)).1;
        let malformed = fields.contains("no list");
        // A field of another shape than ever costs the line; the process is then judged by its exit.
        assert_eq!(outcome.category, if malformed { Category::Crash } else { category }, "{fields}");
    }
    let unknown = replay(r#"{"type":"result","is_error":true,"result":"something\n nobody has seen"}"#).1;
    assert_eq!(unknown.detail, "something nobody has seen");
}

#[test]
fn a_rejected_limit_is_a_rate_limit_and_a_warning_is_nothing() {
    let lines = |status: &str| {
        format!(
            "{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"{status}\",\"resetsAt\":1795250578}}}}\n\
             {{\"type\":\"result\",\"is_error\":true,\"result\":\"stopped\"}}"
        )
    };
    let rejected = replay(&lines("rejected")).1;
    assert_eq!(rejected.category, Category::RateLimit);
    assert_eq!(rejected.resets_at, Some(Timestamp::from_seconds(1_795_250_578)));
    for status in ["allowed", "allowed_warning"] {
        let outcome = replay(&lines(status)).1;
        assert_eq!((outcome.category, outcome.resets_at), (Category::Transient, None), "{status}");
    }
}

#[test]
fn bad_lines_are_counted_and_nothing_else() {
    let long = format!("{{\"type\":\"new-in-version-9\",\"payload\":[{}1]}}", "1,".repeat(1000));
    let table = [
        ("not json", 1),
        ("{\"type\":\"assistant\"", 1),
        ("[1,2]", 1),
        ("{}", 1),
        ("{\"type\":\"assistant\",\"message\":\"text\"}", 1),
        ("\u{feff}{\"type\":\"system\"}", 1),
        ("   ", 0),
        ("{\"type\":\"assistant\"}", 0),
        ("{\"type\":\"assistant\",\"message\":{\"content\":null}}", 0),
        ("{\"type\":\"user\",\"message\":{\"content\":\"plain\"}}", 0),
        (long.as_str(), 0),
    ];
    for (line, bad) in table {
        let (happened, outcome) = replay(line);
        assert_eq!(times(&happened, &Happening::Malformed), bad, "{line}");
        assert_eq!(outcome.category, Category::Crash, "{line}");
    }
}

#[test]
fn the_command_line_follows_the_spec() {
    let line = |change: fn(&mut Launch, &mut AgentSpec)| {
        let (invocation, _) = launched(change);
        format!("{} {}", invocation.program, invocation.arguments.join(" "))
    };
    insta::assert_snapshot!(line(|_, _| ()), @"claude -p --input-format stream-json --output-format stream-json --verbose --permission-mode acceptEdits");
    insta::assert_snapshot!(line(|launch, spec| {
        launch.conversation = Some("c-1".to_owned());
        spec.command = vec!["/opt/claude".to_owned(), "--debug".to_owned()];
        spec.model = "opus".to_owned();
        spec.max_turns = 3;
        spec.max_budget_usd = 1.5;
        spec.instructions = "Be kind.".to_owned();
        spec.permissions = Permissions::ReadOnly;
    }), @"/opt/claude --debug -p --input-format stream-json --output-format stream-json --verbose --model opus --max-turns 3 --max-budget-usd 1.5 --append-system-prompt Be kind. --disallowedTools Edit,MultiEdit,Write,NotebookEdit --permission-mode default --resume c-1");
    let (invocation, _) = launched(|_, spec| {
        spec.permissions = Permissions::Full;
        spec.env.insert("DISABLE_TELEMETRY".to_owned(), "0".to_owned());
    });
    assert!(
        invocation.arguments.ends_with(&["--permission-mode".to_owned(), "bypassPermissions".to_owned()])
    );
    assert_eq!(invocation.environment.get("DISABLE_TELEMETRY").map(String::as_str), Some("0"));
    assert_eq!(invocation.environment.get("DISABLE_AUTOUPDATER").map(String::as_str), Some("1"));
}

#[test]
fn what_is_written_is_one_line_of_json_each() {
    let (_, mut claude) = launched(|_, _| ());
    let prompt = claude.prompt("two\nlines \u{2028} \"quoted\"");
    assert!(!prompt.close);
    let Steering::Written(steer) = claude.steer(WorkId(1), "x\r\ny") else { panic!("claude can") };
    let lines = [prompt.bytes, steer, claude.interrupt().expect("claude can")];
    for line in &lines {
        as_line(line);
    }
    insta::assert_snapshot!(String::from_utf8_lossy(&lines[2]).trim_end(), @r#"{"request":{"subtype":"interrupt"},"request_id":"herder-1","type":"control_request"}"#);
}
