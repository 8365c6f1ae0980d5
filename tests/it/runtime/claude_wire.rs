//! The recorded output of Claude Code, and its interpretation.

use herder::core::danger::AskPattern;
use herder::core::id::WorkId;
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::runtime::Launch;
use herder::runtime::claude::classify::{Field, TABLE};
use herder::runtime::protocol::{Happening, Invocation, Protocol, Steering};
use herder::runtime::text::Tail;
use serde_json::{Value, json};

use super::replayed::{as_line, assert_end, assert_rows_were_seen, last_turn, replies, stands, times, tools};

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
    let (happened, outcome) = replay(transcript!("ok").1);
    assert_eq!(last_turn(&happened), Some((1200, 30)));
    assert_eq!(outcome.text.as_deref(), Some("Hello from the fake model."));
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens), (1, 1200, 30));
    assert!((outcome.usage.cost_usd - 0.0054).abs() < 1e-9);
}

#[test]
fn two_results_of_one_process_are_counted_once_each() {
    let (happened, outcome) = replay(transcript!("stdin-multi").1);
    assert_eq!(last_turn(&happened), Some((1200, 30)), "the last one alone");
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens), (2, 2400, 60));
    assert!((outcome.usage.cost_usd - 0.0108).abs() < 1e-9);
}

/// Each block of a message is a line, and those of helpers that work at once take turns.
#[test]
fn messages_that_come_in_turns_are_counted_once_each() {
    let says = |id: &str, tokens: u64| {
        let usage = json!({ "input_tokens": tokens, "output_tokens": 10 });
        let message = json!({ "id": id, "model": "claude-opus-4-5", "content": [], "usage": usage });
        json!({ "type": "assistant", "parent_tool_use_id": id, "message": message }).to_string()
    };
    let models = json!({ "claude-opus-4-5": { "inputTokens": 300, "outputTokens": 20 } });
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "both are done",
        "num_turns": 2, "total_cost_usd": 0.1, "modelUsage": models
    });
    let told = [says("a", 100), says("b", 200), says("a", 100), says("b", 200)].join("\n");
    for lines in [told.clone(), format!("{told}\n{result}")] {
        let (happened, outcome) = replay(&lines);
        let usage = outcome.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (300, 20), "{lines}");
        assert_eq!(last_turn(&happened), Some((0, 0)), "what helpers answer is no turn of the agent");
    }
}

#[test]
fn a_message_in_mid_turn_is_answered_in_the_same_turn() {
    let (happened, outcome) = replay(transcript!("stdin-steer").1);
    assert_eq!(tools(&happened), ["Bash", "end"]);
    assert_eq!(times(&happened, &Happening::TurnEnded), 1);
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("second ok")));
}

/// The CLI says nothing of what it reads: it has handed it over when the model's next message follows a tool's result or a
/// turn's beginning.
#[test]
fn a_message_is_delivered_when_the_model_answers_what_it_was_part_of() {
    let lines: Vec<&str> = transcript!("stdin-steer").1.lines().collect();
    let is = |line: &str, word: &str| line.contains(&format!("\"type\":\"{word}\""));
    let result = lines.iter().position(|line| is(line, "tool_result")).expect("a tool answers");
    let call = lines.iter().position(|line| is(line, "tool_use")).expect("a tool is called");
    let answer = (result..lines.len()).find(|at| is(lines[*at], "assistant")).expect("it goes on");
    assert!(call < result && result < answer);
    let end = |written: usize, until: usize| {
        let (_, mut claude) = launched(|_, _| ());
        let mut happened = Vec::new();
        for (at, line) in lines[..until].iter().enumerate() {
            if at == written {
                claude.written(WorkId(3));
            }
            claude.line(line.as_bytes(), &mut happened);
        }
        times(&happened, &Happening::Steered { work: WorkId(3) })
    };
    assert_eq!(end(call + 1, answer), 0, "the tool's result alone says nothing of the model");
    assert_eq!(end(call + 1, answer + 1), 1);
    assert_eq!(end(call + 1, lines.len()), 1, "once");
    // It came while the model spoke: what the model says then is no answer to it.
    assert_eq!(end(answer, lines.len()), 0);
    // Another turn begins with it.
    let (_, mut claude) = launched(|_, _| ());
    let mut happened = Vec::new();
    let answer =
        r#"{"type":"assistant","message":{"id":"m-9","model":"m","content":[{"type":"text","text":"yes"}]}}"#;
    let helper = answer.replace("m-9", "m-8").replacen('{', r#"{"parent_tool_use_id":"t","#, 1);
    claude.written(WorkId(3));
    for (line, delivered) in [(INIT, 0), (helper.as_str(), 0), (answer, 1), (answer, 1)] {
        claude.line(line.as_bytes(), &mut happened);
        assert_eq!(times(&happened, &Happening::Steered { work: WorkId(3) }), delivered, "{line}");
    }
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

/// Rows that no recorded run has: what they look for is the CLI's own source and the API's documentation.
const UNSEEN: &[(Field, &str)] = &[
    (Field::Subtype, "error_max_structured_output_retries"),
    (Field::ApiError, "prompt_too_long"),
    (Field::ErrorType, "billing_error"),
    (Field::ErrorType, "permission_error"),
    (Field::Status, "402"),
    (Field::Status, "403"),
    (Field::Status, "413"),
    (Field::Status, "422"),
    (Field::Text, "not logged in"),
    (Field::Text, "failed to authenticate"),
    (Field::Text, "usage limit reached"),
    (Field::Text, "cannot be used with root/sudo privileges"),
];

#[test]
fn every_row_of_the_table_was_seen_or_is_marked() {
    let runs = [
        transcript!("401"),
        transcript!("404-model"),
        transcript!("429"),
        transcript!("500"),
        transcript!("529"),
        transcript!("cut"),
        transcript!("credit"),
        transcript!("ctx"),
        transcript!("max-tokens"),
        transcript!("max-budget"),
        transcript!("max-turns"),
        transcript!("oauth-usage-limit"),
        transcript!("stdin-interrupt"),
    ];
    assert_rows_were_seen(TABLE, UNSEEN, &runs.map(|(_, lines)| lines), |field, value, run| match field {
        Field::Subtype => stands(run, value, &[r#""subtype":"{}""#]),
        Field::TerminalReason => stands(run, value, &[r#""terminal_reason":"{}""#]),
        Field::ApiError => stands(run, value, &[r#""api_error":"{}""#]),
        Field::AssistantError => stands(run, value, &[r#""error":"{}""#]),
        Field::Status => stands(run, value, &[r#""api_error_status":{},"#, r#""api_error_status":{}}"#]),
        Field::ErrorType => stands(run, value, &[r#""api_error_type":"{}""#]),
        Field::Limit => stands(run, value, &[r#""rate_limit_info":{"status":"{}""#]),
        Field::Text => run.to_lowercase().contains(value),
    });
}

/// Failures that were not seen but may come: one field each, and an API that reports them in text alone.
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
    ];
    for (fields, category) in table {
        let outcome = replay(&format!(r#"{{{fields},"is_error":true,"type":"result"}}"#)).1;
        assert_eq!(outcome.category, category, "{fields}");
    }
    for (errors, said) in [
        (r#"["[ede_diagnostic] result_type=user","b"]"#, "b"),
        (r#"["a",7,"b"]"#, "a; b"),
        (r#""no list""#, "no list"),
        ("{}", "error_during_execution"),
    ] {
        let line = format!(
            r#"{{"type":"result","is_error":true,"subtype":"error_during_execution","errors":{errors}}}"#
        );
        assert_eq!(replay(&line).1.detail.to_string(), said, "{errors}");
    }
    let unknown = replay(r#"{"type":"result","is_error":true,"result":"something\n nobody has seen"}"#).1;
    assert_eq!((unknown.unknown, unknown.detail.to_string().as_str()), (true, "something nobody has seen"));
    let fields = r#""subtype":"success","api_error_status":418,"api_error_type":"teapot_error","api_error":"too_hot","terminal_reason":"api_error""#;
    let unknown = replay(&format!(r#"{{"type":"result","is_error":true,"result":"No coffee.",{fields}}}"#)).1;
    assert!(unknown.unknown && unknown.category == Transient);
    insta::assert_snapshot!(unknown.detail, @"status 418, type teapot_error, api_error too_hot, terminal_reason api_error, subtype success: No coffee.");
    assert!(!replay(transcript!("500").1).1.unknown, "that is a transient one, and known");
}

/// Each field of each line of sessions that were seen, as something else than ever: the session is a success all the same.
#[test]
fn a_field_of_another_shape_costs_itself_alone() {
    let odd =
        [json!(null), json!(7), json!(-1.5), json!(true), json!("text"), json!([1, {}]), json!({"a": [{}]})];
    for (name, lines) in [transcript!("ok"), transcript!("oauth-usage-warn")] {
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        let mut places: Vec<(usize, String)> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            members(line, "", &mut |at| places.push((index, at)));
        }
        assert!(places.iter().any(|(_, at)| at.starts_with("/modelUsage/")), "{name}: {places:?}");
        for (index, at) in places {
            for odd in &odd {
                let mut changed = lines.clone();
                *changed[index].pointer_mut(&at).expect("it is there") = odd.clone();
                let text: Vec<String> = changed.iter().map(Value::to_string).collect();
                let (happened, outcome) = replay(&text.join("\n"));
                // These say what the line is, and that it failed.
                if at == "/type" || (at == "/is_error" && *odd == json!(true)) {
                    continue;
                }
                assert_eq!(times(&happened, &Happening::Malformed), 0, "{name} {index}{at}: {odd}");
                assert_eq!(outcome.category, Category::Success, "{name} {index}{at}: {odd}");
            }
        }
    }
}

/// Every member of every object, as a JSON pointer.
fn members(value: &Value, at: &str, tell: &mut impl FnMut(String)) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        members(value, &at, tell);
        tell(at);
    }
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
fn a_limit_that_is_over_says_nothing_of_a_later_one() {
    let limit = |info: &str| format!("{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{{info}}}}}\n");
    let rejected = limit(r#""status":"rejected","resetsAt":1795250578"#);
    let paid = limit(r#""status":"rejected","resetsAt":1795250578,"isUsingOverage":true"#);
    let failed = r#"{"type":"result","is_error":true,"api_error_status":429,"result":"slow down"}"#;
    let refused = r#"{"type":"result","is_error":true,"result":"stopped"}"#;
    let end = |lines: &[&str]| {
        let outcome = replay(&lines.concat()).1;
        (outcome.category, outcome.resets_at.is_some())
    };
    assert_eq!(end(&[&rejected, failed]), (Category::RateLimit, true));
    for over in [limit(r#""status":"allowed""#), limit(r#""status":"allowed_warning""#)] {
        assert_eq!(end(&[&rejected, &over, failed]), (Category::RateLimit, false));
        assert_eq!(end(&[&over, &rejected, failed]), (Category::RateLimit, true));
    }
    // Usage beyond it is paid for.
    assert_eq!(end(&[&paid, refused]), (Category::Transient, false));
    assert_eq!(end(&[&paid, failed]), (Category::RateLimit, false));
}

#[test]
fn a_process_without_a_result_is_known_by_its_last_words_unless_its_code_says_more() {
    let (_, mut claude) = launched(|_, _| ());
    let mut tail = Tail::default();
    tail.push(b"Invalid API key");
    for (exit, category) in [
        (Exit::Code(1), Category::Auth),
        (Exit::Code(2), Category::DoNotRestart),
        (Exit::Code(0), Category::Crash),
        (Exit::Signal(11), Category::Crash),
    ] {
        assert_eq!(claude.outcome(Some(exit), &tail).category, category, "{exit:?}");
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
        ("{\"type\":\"assistant\",\"message\":\"text\"}", 0),
        ("{\"type\":\"user\",\"message\":{\"content\":[7,{\"type\":\"tool_result\"},null]}}", 0),
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
    insta::assert_snapshot!(line(|_, _| ()), @r#"claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits --permission-prompt-tool stdio --settings {"permissions":{"ask":["Bash(git push:*)","Bash(rm:*)","Bash(sudo:*)","Bash(doas:*)","Bash(su:*)","Bash(sh:*)","Bash(bash:*)","Bash(zsh:*)","Bash(dash:*)","Bash(xargs:*)","Bash(psql:*)","Bash(mysql:*)","Bash(mariadb:*)","Bash(sqlite3:*)"]}}"#);
    insta::assert_snapshot!(line(|launch, spec| {
        launch.conversation = Some("c-1".to_owned());
        spec.command = vec!["/opt/claude".to_owned(), "--debug".to_owned()];
        spec.model = "opus".to_owned();
        spec.max_turns = 3;
        spec.max_budget_usd = 1.5;
        spec.instructions = "Be kind.".to_owned();
        spec.permissions = Permissions::ReadOnly;
    }), @r#"/opt/claude --debug -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --model opus --max-turns 3 --max-budget-usd 1.5 --append-system-prompt Be kind. --disallowedTools Edit,MultiEdit,Write,NotebookEdit --permission-mode default --permission-prompt-tool stdio --settings {"permissions":{"ask":["Bash(git push:*)","Bash(rm:*)","Bash(sudo:*)","Bash(doas:*)","Bash(su:*)","Bash(sh:*)","Bash(bash:*)","Bash(zsh:*)","Bash(dash:*)","Bash(xargs:*)","Bash(psql:*)","Bash(mysql:*)","Bash(mariadb:*)","Bash(sqlite3:*)"]}} --resume c-1"#);
    let (invocation, _) = launched(|_, spec| {
        spec.permissions = Permissions::Full;
        spec.env.insert("DISABLE_TELEMETRY".to_owned(), "0".to_owned());
    });
    // It asks, so that what is always asked can be told apart, and is answered by herder.
    assert!(invocation.arguments.windows(2).any(|pair| pair == ["--permission-mode", "default"]));
    assert_eq!(invocation.environment.get("DISABLE_TELEMETRY").map(String::as_str), Some("0"));
    assert_eq!(invocation.environment.get("DISABLE_AUTOUPDATER").map(String::as_str), Some("1"));
}

#[test]
fn what_is_written_is_one_line_of_json_each() {
    let (_, mut claude) = launched(|_, _| ());
    let prompt = claude.prompt("two\nlines \u{2028} \"quoted\"");
    assert!(!prompt.close);
    let Steering::Written(steer) = claude.steer(WorkId(1), "x\r\ny") else { panic!("claude can") };
    let prompt = String::from_utf8(prompt.bytes).expect("UTF-8");
    let (watch, prompt) = prompt.split_once('\n').expect("two lines");
    insta::assert_snapshot!(watch, @r#"{"request":{"hooks":{"PreToolUse":[{"hookCallbackIds":["always-asked"],"matcher":"^(Bash|mcp__.*)$"}]},"subtype":"initialize"},"request_id":"herder-0","type":"control_request"}"#);
    let lines = [prompt.as_bytes().to_vec(), steer, claude.interrupt().expect("claude can")];
    for line in &lines {
        as_line(line);
    }
    insta::assert_snapshot!(String::from_utf8_lossy(&lines[2]).trim_end(), @r#"{"request":{"subtype":"interrupt"},"request_id":"herder-1","type":"control_request"}"#);
}

fn request(subtype: &str, fields: serde_json::Value) -> String {
    let mut request = fields;
    request["subtype"] = json!(subtype);
    json!({ "type": "control_request", "request_id": "r", "request": request }).to_string()
}

/// Returns the immediate answer to one request, and whether a person is asked.
fn answered(
    line: &str,
    change: impl FnOnce(&mut Launch, &mut AgentSpec),
) -> (Option<serde_json::Value>, bool) {
    let (_, mut claude) = launched(change);
    let mut happened = Vec::new();
    claude.line(line.as_bytes(), &mut happened);
    let asked = happened.iter().any(|it| matches!(it, Happening::Asked { .. }));
    (replies(&mut happened).pop().map(|mut reply| reply["response"]["response"].take()), asked)
}

#[test]
fn what_is_always_asked_is_asked_whatever_the_rules_of_the_cli_say() {
    let told = |tool: &str, input: serde_json::Value| {
        let call =
            json!({ "callback_id": "always-asked", "input": { "tool_name": tool, "tool_input": input } });
        let always_ask = vec![AskPattern::new("terraform").expect("a pattern")];
        let line = request("hook_callback", call);
        let (answer, asked) = answered(&line, |launch, _| launch.always_ask = always_ask);
        assert!(!asked, "the CLI asks, if it is to");
        answer.expect("the CLI waits for it")["hookSpecificOutput"]["permissionDecision"] == "ask"
    };
    for (command, asked) in [
        ("git -C . push", true),
        ("/bin/rm -r x", true),
        ("env git push", true),
        ("terraform apply", true),
        ("git status", false),
        ("rm x", false),
    ] {
        assert_eq!(told("Bash", json!({ "command": command })), asked, "{command}");
    }
    assert!(told("mcp__db__query", json!({ "sql": "drop table x" })));
    assert!(told("mcp__herder", json!({ "sql": "drop table x" })), "a server of another name");
    assert!(!told("mcp__herder__irc_send", json!({ "text": "sudo make me a sandwich" })));
    assert!(!told("", json!(null)));
}

#[test]
fn an_edit_is_answered_where_it_lands() {
    let place = tempfile::tempdir().expect("a folder");
    let work = place.path().join("work");
    std::fs::create_dir_all(&work).expect("a folder");
    std::os::unix::fs::symlink(place.path(), work.join("docs")).expect("linked");
    for (path, allowed) in [("a.rs", true), ("docs/authorized_keys", false), (".git/config", false)] {
        let input = json!({ "file_path": work.join(path), "content": "x" });
        let line = request("can_use_tool", json!({ "tool_name": "Write", "input": input }));
        let (answer, asked) = answered(&line, |_, spec| spec.workspace = work.clone());
        assert_eq!((answer.is_some(), asked), (allowed, !allowed), "{path}");
    }
}
