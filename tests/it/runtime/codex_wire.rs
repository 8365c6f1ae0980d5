//! What codex's app server really wrote, and what is made of it.
//!
//! The transcripts hold both directions: `<` the server, `>` the client that it was recorded with.

use std::collections::BTreeMap;
use std::sync::Arc;

use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Autonomy, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::runtime::codex::classify::{Failure, NO_WINDOW, TABLE};
use herder::runtime::codex::wire;
use herder::runtime::protocol::{Happening, Invocation, Protocol, Steering, prepare};
use herder::runtime::text::Tail;
use herder::runtime::{Clocks, Launch};
use proptest::prelude::*;
use serde_json::{Value, json};

fn launched(change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> (Invocation, Box<dyn Protocol>) {
    let agent = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(agent.clone(), Runtime::Codex, "/srv/agent/work".into());
    let second = std::time::Duration::from_secs(1);
    let mut launch = Launch {
        agent,
        session: SessionId(1),
        spec: Arc::new(spec.clone()),
        prompt: String::new(),
        conversation: None,
        marker: "j/spark/1".to_owned(),
        environment: BTreeMap::new(),
        clocks: Clocks {
            startup: second,
            silence: second,
            tool: second,
            task: second,
            grace: second,
            beat: second,
        },
    };
    change(&mut launch, &mut spec);
    launch.spec = Arc::new(spec);
    prepare(&launch).expect("codex needs nothing")
}

/// A session that was replayed: what happened, what was written, how it ended.
struct Replayed {
    happened: Vec<Happening>,
    written: Vec<Value>,
    outcome: Outcome,
    stalled: Vec<Option<Outcome>>,
}

impl Replayed {
    fn methods(&self) -> Vec<&str> {
        self.written.iter().filter_map(|line| line["method"].as_str()).collect()
    }

    fn answers(&self) -> Vec<&Value> {
        self.written.iter().filter(|line| line["method"].is_null()).collect()
    }
}

fn replay(transcript: &str, change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> Replayed {
    let (_, mut codex) = launched(change);
    let mut happened = Vec::new();
    let mut written = vec![codex.prompt("say hi").bytes];
    let mut stalled = Vec::new();
    for line in transcript.lines() {
        match line.split_at(2) {
            ("< ", line) => {
                codex.line(line.as_bytes(), &mut happened);
                stalled.push(codex.stalled(&Tail::default()));
            }
            (_, line) if line.contains("\"turn/steer\"") => {
                match codex.steer(WorkId(9), "STEER-MARK whisper") {
                    Steering::Asked(bytes) => written.push(bytes),
                    other => panic!("the turn runs: {other:?}"),
                }
            }
            (_, line) if line.contains("\"turn/interrupt\"") => {
                written.push(codex.interrupt().expect("the turn runs"));
            }
            // What else was written then is what the driver writes by itself.
            _ => {}
        }
        for happening in &mut happened {
            if let Happening::Reply(bytes) = happening
                && !bytes.is_empty()
            {
                written.push(std::mem::take(bytes));
            }
        }
    }
    let written = written.iter().map(|line| as_line(line)).collect();
    let outcome = codex.outcome(Some(Exit::Code(0)), &Tail::default());
    Replayed { happened, written, outcome, stalled }
}

fn as_line(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert_eq!(text.matches('\n').count(), 1, "one line each: {text}");
    serde_json::from_str(text).expect("JSON")
}

macro_rules! transcript {
    ($name:literal) => {
        ($name, include_str!(concat!("../../fixtures/codex/", $name, ".jsonl")))
    };
}

const SEEN: [(&str, &str); 19] = [
    transcript!("401"),
    transcript!("402"),
    transcript!("404-model"),
    transcript!("429"),
    transcript!("429-retry-after"),
    transcript!("500"),
    transcript!("503"),
    transcript!("approve-exec"),
    transcript!("approve-patch"),
    transcript!("ctx"),
    transcript!("cut"),
    transcript!("cut-once"),
    transcript!("deny-exec"),
    transcript!("interrupt"),
    transcript!("mcp-tool"),
    transcript!("ok"),
    transcript!("resume"),
    transcript!("steer"),
    transcript!("usage-limit"),
];

fn seen(name: &str) -> &'static str {
    SEEN.iter().find(|(seen, _)| *seen == name).map(|(_, lines)| *lines).expect("it was recorded")
}

#[test]
fn every_end_that_was_seen_has_its_class_and_its_words() {
    use Category::{Auth, Billing, ContextOverflow, Permanent, Quota, RateLimit, Success, Transient};
    let table = [
        ("ok", Success, ""),
        ("cut-once", Success, ""),
        ("mcp-tool", Success, ""),
        ("approve-exec", Success, ""),
        ("approve-patch", Success, ""),
        ("deny-exec", Success, ""),
        ("steer", Success, ""),
        ("401", Auth, "unexpected status 401 Unauthorized: Incorrect API key provided: dummy."),
        ("402", Billing, "unexpected status 402 Payment Required: Payment required: add credits."),
        ("404-model", Permanent, "The model `nope` does not exist or you do not have access to it."),
        ("429", RateLimit, "exceeded retry limit, last status: 429 Too Many Requests"),
        ("429-retry-after", RateLimit, "exceeded retry limit, last status: 429 Too Many Requests"),
        ("500", Transient, "We’re currently experiencing high demand"),
        ("503", Transient, "Selected model is at capacity."),
        ("cut", Transient, "stream disconnected before completion: Transport error"),
        ("ctx", ContextOverflow, "Codex ran out of room in the model's context window."),
        ("usage-limit", Quota, "You’ve hit your usage limit."),
    ];
    for (name, category, detail) in table {
        let Replayed { happened, outcome, .. } = replay(seen(name), |_, _| ());
        assert_eq!(outcome.category, category, "{name}: {outcome:?}");
        assert!(outcome.detail.starts_with(detail), "{name}: {}", outcome.detail);
        assert!(!happened.contains(&Happening::Malformed), "{name}");
        assert_eq!(happened.iter().filter(|h| **h == Happening::TurnEnded).count(), 1, "{name}");
        let named = happened.iter().any(|h| matches!(h, Happening::Ready { conversation: Some(_) }));
        assert!(named, "{name} names its conversation");
        let reset = (category == Quota).then(|| Timestamp::from_seconds(1_795_252_674));
        assert_eq!(outcome.resets_at, reset, "{name}");
    }
}

#[test]
fn a_success_has_its_text_turns_and_tokens() {
    let Replayed { happened, outcome, .. } = replay(seen("ok"), |_, _| ());
    assert_eq!(outcome.text.as_deref(), Some("Hello from the fake model."));
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens), (1, 1200, 30));
    assert!(happened.contains(&Happening::Words("Hello from the fake model.".to_owned())));
}

#[test]
fn a_conversation_that_goes_on_is_resumed_and_its_earlier_tokens_are_not_counted_again() {
    let thread = "01a1fd2f-8e4d-7c91-bf85-a5d228071427";
    let replayed = replay(seen("resume"), |launch, _| launch.conversation = Some(thread.to_owned()));
    assert_eq!(replayed.methods(), ["initialize", "initialized", "thread/resume", "turn/start"]);
    assert_eq!(replayed.written[2]["params"]["threadId"], thread);
    assert!(replayed.happened.contains(&Happening::Ready { conversation: Some(thread.to_owned()) }));
    assert_eq!((replayed.outcome.turns, replayed.outcome.usage.input_tokens), (1, 1200));
}

#[test]
fn a_conversation_that_is_gone_is_begun_anew_by_the_same_process() {
    let lines = r#"< {"id":1,"result":{}}
< {"error":{"code":-32600,"message":"no rollout found for thread id c-0"},"id":2}
< {"id":3,"result":{"thread":{"id":"c-1"}}}
< {"id":4,"result":{"turn":{"id":"t-1"}}}"#;
    let replayed = replay(lines, |launch, _| launch.conversation = Some("c-0".to_owned()));
    assert_eq!(
        replayed.methods(),
        ["initialize", "initialized", "thread/resume", "thread/start", "turn/start"]
    );
    assert!(replayed.happened.contains(&Happening::Ready { conversation: Some("c-1".to_owned()) }));
    assert!(!replayed.happened.contains(&Happening::Ready { conversation: Some("c-0".to_owned()) }));
}

#[test]
fn tools_are_open_from_their_start_to_their_end() {
    let table = [
        ("steer", vec!["shell", "end"]),
        ("approve-patch", vec!["edit", "end"]),
        ("mcp-tool", vec!["sup/post", "end"]),
        ("deny-exec", vec!["shell", "end"]),
    ];
    for (name, expected) in table {
        let happened = replay(seen(name), |_, _| ()).happened;
        let tools: Vec<&str> = happened
            .iter()
            .filter_map(|happening| match happening {
                Happening::ToolStarted { name, .. } => Some(name.as_str()),
                Happening::ToolEnded { .. } => Some("end"),
                _ => None,
            })
            .collect();
        assert_eq!(tools, expected, "{name}");
    }
}

#[test]
fn a_message_in_mid_turn_is_delivered_when_the_server_says_so() {
    let replayed = replay(seen("steer"), |_, _| ());
    let steer = replayed.written.iter().find(|line| line["method"] == "turn/steer").expect("it was asked");
    assert_eq!(steer["params"]["expectedTurnId"], "01a1fd2f-73fb-79c1-9e71-4c8e59376ce4");
    assert_eq!(steer["params"]["input"][0]["text"], "STEER-MARK whisper");
    assert!(replayed.happened.contains(&Happening::Steered { work: WorkId(9) }));
    assert_eq!(replayed.outcome.text.as_deref(), Some("got it"));
}

#[test]
fn a_message_that_the_server_refuses_stays_queued() {
    let before = lines_to("steer", "\"id\":4,");
    let refused =
        format!("{before}\n< {{\"id\":4,\"error\":{{\"code\":-32600,\"message\":\"no active turn\"}}}}");
    let happened = replay(&refused, |_, _| ()).happened;
    assert!(!happened.iter().any(|happening| matches!(happening, Happening::Steered { .. })));
    let noted =
        |happening: &Happening| matches!(happening, Happening::Note(note) if note.contains("no active turn"));
    assert!(happened.iter().any(noted));
}

/// The transcript up to the first answer that contains `mark`, without it.
fn lines_to(name: &str, mark: &str) -> String {
    let lines = seen(name).lines().take_while(|line| !(line.starts_with('<') && line.contains(mark)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_message_before_the_turn_has_an_id_waits_for_it() {
    let (_, mut codex) = launched(|_, _| ());
    codex.prompt("say hi");
    assert_eq!(codex.steer(WorkId(1), "early"), Steering::Asked(Vec::new()));
    assert_eq!(codex.interrupt(), None, "there is nothing to interrupt yet");
    let mut happened = Vec::new();
    for line in [r#"{"id":1,"result":{}}"#, r#"{"id":2,"result":{"thread":{"id":"c"}}}"#] {
        codex.line(line.as_bytes(), &mut happened);
    }
    happened.clear();
    codex.line(br#"{"id":3,"result":{"turn":{"id":"t"}}}"#, &mut happened);
    let Some(Happening::Reply(steer)) = happened.last() else { panic!("{happened:?}") };
    assert_eq!(as_line(steer)["params"]["input"][0]["text"], "early");
    codex.line(br#"{"id":4,"result":{"turnId":"t"}}"#, &mut happened);
    assert_eq!(happened.last(), Some(&Happening::Steered { work: WorkId(1) }));
    codex.line(
        br#"{"method":"turn/completed","params":{"threadId":"c","turn":{"id":"t","status":"completed"}}}"#,
        &mut happened,
    );
    assert_eq!(codex.steer(WorkId(2), "late"), Steering::Refused);
}

#[test]
fn an_interrupt_ends_the_turn() {
    let replayed = replay(&lines_to("interrupt", "\"id\":5,"), |_, _| ());
    assert_eq!(replayed.methods().last(), Some(&"turn/interrupt"));
    assert_eq!(replayed.happened.last(), Some(&Happening::TurnEnded));
    assert_eq!(replayed.outcome.category, Category::Transient);
    // How far it got is kept: the message was never whole.
    assert!(replayed.happened.contains(&Happening::Words("parti".to_owned())));
}

#[test]
fn permission_is_given_or_denied_by_the_agents_autonomy() {
    let asked = |name: &str, autonomy: Autonomy| {
        let replayed = replay(seen(name), |_, spec| spec.autonomy = autonomy);
        let answers = replayed.answers();
        assert_eq!(answers.len(), 1, "{name}: one question, one answer");
        assert_eq!(answers[0]["id"], 0);
        let denied = replayed.happened.iter().find_map(|happening| match happening {
            Happening::Denied { what } => Some(what.clone()),
            _ => None,
        });
        (answers[0]["result"]["decision"].as_str().map(str::to_owned), denied)
    };
    let (accept, decline) = (Some("accept".to_owned()), Some("decline".to_owned()));
    for (name, what) in [
        ("approve-exec", "/bin/bash -lc 'touch made'"),
        ("deny-exec", "/bin/bash -lc 'touch made'"),
        ("approve-patch", "/srv/agent/work/new.txt"),
    ] {
        assert_eq!(asked(name, Autonomy::Full), (accept.clone(), None), "{name}");
        assert_eq!(asked(name, Autonomy::Strict), (decline.clone(), None), "{name}");
        assert_eq!(asked(name, Autonomy::Human), (decline.clone(), Some(what.to_owned())), "{name}");
    }
}

#[test]
fn every_question_is_answered_in_its_own_terms() {
    let table = [
        (
            r#"{"id":"a","method":"mcpServer/elicitation/request","params":{"_meta":{"codex_approval_kind":"mcp_tool_call"},"message":"Allow it?"}}"#,
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "decline" }),
        ),
        // A form that wants more than a yes.
        (
            r#"{"id":1,"method":"mcpServer/elicitation/request","params":{"message":"Your name?"}}"#,
            json!({ "action": "decline" }),
            json!({ "action": "decline" }),
        ),
        (
            r#"{"id":1,"method":"item/permissions/requestApproval","params":{"permissions":{"network":{"enabled":true}}}}"#,
            json!({ "permissions": { "network": { "enabled": true } }, "scope": "turn" }),
            json!({ "permissions": {} }),
        ),
        (
            r#"{"id":1,"method":"item/tool/requestUserInput","params":{"questions":[]}}"#,
            json!({ "answers": {} }),
            json!({ "answers": {} }),
        ),
        (
            r#"{"id":1,"method":"execCommandApproval","params":{"command":["rm","-rf","x"]}}"#,
            json!({ "decision": "approved" }),
            json!({ "decision": "denied" }),
        ),
        (
            r#"{"id":1,"method":"applyPatchApproval","params":null}"#,
            json!({ "decision": "approved" }),
            json!({ "decision": "denied" }),
        ),
    ];
    for (question, yes, no) in table {
        for (autonomy, expected) in [(Autonomy::Full, &yes), (Autonomy::Strict, &no), (Autonomy::Human, &no)]
        {
            let replayed = replay(&format!("< {question}"), |_, spec| spec.autonomy = autonomy);
            let answers = replayed.answers();
            assert_eq!((answers.len(), &answers[0]["result"]), (1, expected), "{question}");
        }
    }
    let unknown = replay(r#"< {"id":7,"method":"attestation/generate","params":{}}"#, |_, _| ());
    assert_eq!(unknown.answers()[0]["error"]["code"], -32601);
}

/// Every word that the protocol has for an error, those that were not seen in a run included.
#[test]
fn every_kind_of_error_has_its_class() {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, Permanent, Quota, RateLimit, SandboxDenial, Transient,
    };
    let words = [
        ("contextWindowExceeded", ContextOverflow),
        ("sessionBudgetExceeded", Budget),
        ("usageLimitExceeded", Quota),
        ("rateLimitExceeded", RateLimit),
        ("flexUnavailable", Transient),
        ("serverOverloaded", Transient),
        ("modelNotFound", Permanent),
        ("policyCapacityUnavailable", Transient),
        ("cyberPolicy", Permanent),
        ("misalignmentPolicyViolation", Permanent),
        ("tooManyDenials", SandboxDenial),
        ("internalServerError", Transient),
        ("unauthorized", Auth),
        ("badRequest", Permanent),
        ("threadRollbackFailed", Transient),
        ("sandboxError", SandboxDenial),
        ("inferenceHookDenied", Permanent),
    ];
    let mut table: Vec<(Value, &str, Category)> =
        words.iter().map(|(word, category)| (json!(word), "x", *category)).collect();
    for (status, category) in [
        (json!(401), Auth),
        (json!(402), Billing),
        (json!(403), Auth),
        (json!(429), RateLimit),
        (json!(400), Permanent),
        (json!(404), Permanent),
        (json!(503), Transient),
        (json!(418), Transient),
        (json!(null), Transient),
    ] {
        for kind in [
            "httpConnectionFailed",
            "responseStreamConnectionFailed",
            "responseStreamDisconnected",
            "responseTooManyFailedAttempts",
        ] {
            table.push((json!({ kind: { "httpStatusCode": status } }), "x", category));
        }
    }
    table.push((json!({ "activeTurnNotSteerable": { "turnKind": "review" } }), "x", Transient));
    table.push((
        json!("usageLimitExceeded"),
        "Quota exceeded. Check your plan and billing details.",
        Billing,
    ));
    table.push((json!("other"), "rate limit exceeded: try again in 1.5s", RateLimit));
    table.push((json!(null), "Missing environment variable: `FAKE_KEY`.", Auth));
    for (info, message, category) in table {
        let text = json!({ "message": message, "codexErrorInfo": info }).to_string();
        let error: wire::TurnError<'_> = serde_json::from_str(&text).expect("it is an error");
        let found = Failure::of(&error, "", false).category();
        assert_eq!(found, Some(category), "{text}");
    }
    let depleted: wire::TurnError<'_> =
        serde_json::from_str(r#"{"message":"x","codexErrorInfo":"usageLimitExceeded"}"#).expect("an error");
    let of_account = Failure::of(&depleted, "workspace_owner_credits_depleted", true).category();
    assert_eq!(of_account, Some(Billing));
}

#[test]
fn every_row_of_the_table_can_be_reached() {
    use herder::runtime::codex::classify::Field;
    for (field, value, category) in TABLE {
        let mut failure = Failure::default();
        match field {
            Field::Reached => failure.reached = (*value).to_owned(),
            Field::Info => failure.info = (*value).to_owned(),
            Field::Status => failure.status = (*value).to_owned(),
            Field::Text => failure.text = value.to_uppercase(),
        }
        assert_eq!(failure.category(), Some(*category), "{value}");
    }
    assert_eq!(
        Failure { info: NO_WINDOW.to_owned(), ..Failure::default() }.category(),
        Some(Category::Quota)
    );
}

#[test]
fn what_nobody_knows_is_transient_and_shown_whole() {
    let turn = |error: &str| {
        let line = format!(
            r#"< {{"method":"turn/completed","params":{{"threadId":"c","turn":{{"id":"t","status":"failed","error":{error}}}}}}}"#
        );
        let opened = "< {\"id\":1,\"result\":{}}\n< {\"id\":2,\"result\":{\"thread\":{\"id\":\"c\"}}}";
        replay(&format!("{opened}\n{line}"), |_, _| ()).outcome
    };
    let outcome = turn(
        r#"{"message":"The flux is\nlow","codexErrorInfo":{"fluxLow":{"level":3}},"additionalDetails":"see page 9"}"#,
    );
    assert_eq!(outcome.category, Category::Transient);
    assert_eq!(outcome.detail, r#"The flux is low see page 9 (codexErrorInfo: {"fluxLow":{"level":3}})"#);
    assert_eq!(turn(r#"{"message":"x","codexErrorInfo":[7]}"#).detail, "x (codexErrorInfo: [7])");
    assert_eq!(turn("null").detail, "the turn ended as \"failed\"");
    assert_eq!(turn("\"boom\"").category, Category::Transient);
}

#[test]
fn a_limit_that_is_slept_through_is_known_while_it_is() {
    let until = lines_to("429-retry-after", "2/5");
    let replayed = replay(&until, |_, _| ());
    let last = replayed.stalled.last().cloned().flatten().expect("it waits for a limit");
    assert_eq!(last.category, Category::RateLimit);
    assert!(last.detail.contains("429 Too Many Requests"), "{}", last.detail);
    // A cut that is tried again is no limit.
    assert!(replay(seen("cut"), |_, _| ()).stalled.iter().all(Option::is_none));
    assert_eq!(replay(seen("429-retry-after"), |_, _| ()).stalled.last(), Some(&None), "the turn is over");
}

#[test]
fn the_turn_limit_is_kept_by_herder() {
    let tokens = lines_to("mcp-tool", "\"total\":{\"totalTokens\":2460");
    for (max, asked) in [(0, false), (1, true), (2, false)] {
        let replayed = replay(&tokens, |_, spec| spec.max_turns = max);
        assert_eq!(replayed.methods().contains(&"turn/interrupt"), asked, "max_turns = {max}");
    }
    let ended = format!(
        "{tokens}\n< {}",
        r#"{"method":"turn/completed","params":{"threadId":"01a1fd2f-8f03-7293-8207-c02fcda56ce1","turn":{"id":"01a1fd2f-8f7b-7cc2-b321-6e996c787ff8","status":"interrupted"}}}"#
    );
    assert_eq!(replay(&ended, |_, spec| spec.max_turns = 1).outcome.category, Category::MaxTurns);
    assert_eq!(replay(seen("mcp-tool"), |_, spec| spec.max_turns = 2).outcome.category, Category::Success);
}

#[test]
fn a_turn_that_the_agent_begins_by_itself_undoes_nothing() {
    let thread = "01a1fd2e-d25c-7401-83e7-94cc8cb6826f";
    let more = format!(
        r#"< {{"method":"turn/started","params":{{"threadId":"{thread}","turn":{{"id":"t-2"}}}}}}
< {{"method":"turn/completed","params":{{"threadId":"{thread}","turn":{{"id":"t-2","status":"failed"}}}}}}"#
    );
    let replayed = replay(&format!("{}\n{more}", seen("ok").trim_end()), |_, _| ());
    assert_eq!(replayed.outcome.category, Category::Success);
    assert_eq!(replayed.happened.iter().filter(|h| **h == Happening::TurnEnded).count(), 1);
}

#[test]
fn the_conversation_of_a_helper_ends_nothing() {
    let opened = lines_to("ok", "turn/completed");
    let other =
        r#"< {"method":"turn/completed","params":{"threadId":"other","turn":{"id":"x","status":"failed"}}}"#;
    let replayed = replay(&format!("{opened}\n{other}"), |_, _| ());
    assert!(!replayed.happened.contains(&Happening::TurnEnded));
}

#[test]
fn the_command_line_and_the_opening_follow_the_spec() {
    let line = |change: fn(&mut Launch, &mut AgentSpec)| {
        let (invocation, _) = launched(change);
        format!("{} {}", invocation.program, invocation.arguments.join(" "))
    };
    insta::assert_snapshot!(line(|_, _| ()), @"codex -c check_for_update_on_startup=false -c analytics.enabled=false -c feedback.enabled=false app-server");
    insta::assert_snapshot!(line(|_, spec| spec.command = ["/opt/codex", "-c", "analytics.enabled=true"].map(str::to_owned).to_vec()), @"/opt/codex -c check_for_update_on_startup=false -c analytics.enabled=false -c feedback.enabled=false -c analytics.enabled=true app-server");
    let opened = |change: fn(&mut Launch, &mut AgentSpec)| {
        let replayed = replay("< {\"id\":1,\"result\":{}}", change);
        replayed.written[2].to_string()
    };
    insta::assert_snapshot!(opened(|_, _| ()), @r#"{"id":2,"jsonrpc":"2.0","method":"thread/start","params":{"approvalPolicy":"on-request","config":{"features":{"unbounded_connection_retries":false}},"cwd":"/srv/agent/work","sandbox":"workspace-write"}}"#);
    insta::assert_snapshot!(opened(|launch, spec| {
        launch.conversation = Some("c-1".to_owned());
        spec.model = "gpt-5".to_owned();
        spec.instructions = "Be kind.".to_owned();
        spec.permissions = Permissions::Full;
    }), @r#"{"id":2,"jsonrpc":"2.0","method":"thread/resume","params":{"approvalPolicy":"on-request","config":{"features":{"unbounded_connection_retries":false}},"cwd":"/srv/agent/work","developerInstructions":"Be kind.","excludeTurns":true,"model":"gpt-5","sandbox":"danger-full-access","threadId":"c-1"}}"#);
    insta::assert_snapshot!(replay("", |_, _| ()).written[0].to_string(), @r#"{"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"experimentalApi":false},"clientInfo":{"name":"herder","title":"herder","version":"0.1.0"}}}"#);
}

#[test]
fn bad_lines_are_counted_and_nothing_else() {
    let table = [
        ("not json", 1),
        ("{\"method\":\"turn/started\"", 1),
        ("[1,2]", 1),
        ("{}", 1),
        ("null", 1),
        ("   ", 0),
        ("{\"method\":\"new/in/version/9\",\"params\":[1]}", 0),
        ("{\"method\":\"turn/completed\",\"params\":7}", 0),
        ("{\"method\":\"turn/completed\",\"params\":{\"threadId\":null,\"turn\":\"x\"}}", 0),
        ("{\"method\":\"error\",\"params\":{\"error\":\"boom\",\"willRetry\":\"maybe\"}}", 0),
        ("{\"id\":99,\"result\":{}}", 0),
    ];
    for (line, bad) in table {
        let Replayed { happened, outcome, .. } = replay(&format!("< {line}"), |_, _| ());
        let malformed = happened.iter().filter(|happening| **happening == Happening::Malformed).count();
        assert_eq!(malformed, bad, "{line}");
        assert_eq!(outcome.category, Category::Crash, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A line that is cut or garbled anywhere costs what it said, and no more than one end of the turn is ever reported.
    #[test]
    fn cut_and_garbled_lines_never_panic(
        which in 0..SEEN.len(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut lines: Vec<Vec<u8>> = SEEN[which].1.lines().map(|line| line.as_bytes()[2..].to_vec()).collect();
        for (line, at, with) in cuts {
            let line = line.index(lines.len());
            let line = &mut lines[line];
            let at = at.index(line.len().max(1)).min(line.len());
            if with < 128 { line.truncate(at) } else if at < line.len() { line[at] = with }
        }
        let (_, mut codex) = launched(|_, spec| spec.autonomy = Autonomy::Full);
        codex.prompt("say hi");
        let mut happened = Vec::new();
        for line in &lines {
            codex.line(line, &mut happened);
        }
        codex.outcome(Some(Exit::Code(0)), &Tail::default());
        for happening in happened {
            if let Happening::Reply(bytes) = happening {
                as_line(&bytes);
            }
        }
    }

    /// Whatever stands where something else is expected, the line is read.
    #[test]
    fn any_json_is_read(params in json(), result in json()) {
        let line = json!({ "id": 1, "method": "error", "params": params, "result": result, "error": result });
        prop_assert!(wire::parse(line.to_string().as_bytes()).is_ok());
    }
}

/// JSON with the protocol's own names in it.
fn json() -> impl Strategy<Value = Value> {
    let names =
        ["thread", "turn", "item", "error", "tokenUsage", "total", "rateLimits", "primary", "id", "_meta"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let key = prop::sample::select(names.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}
