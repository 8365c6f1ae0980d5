//! The recorded output of ACP agents, and its interpretation.

mod asking;
mod staying;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use herder::core::id::WorkId;
use herder::core::outcome::{Category, Exit};
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::runtime::Launch;
use herder::runtime::acp::classify::{Failure, Field, TABLE};
use herder::runtime::acp::quirks::{KNOWN, Quirks};
use herder::runtime::protocol::{Happening, Invocation, Protocol, Steering};
use herder::runtime::text::Tail;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::replayed::{
    Replayed, as_line, assert_end, assert_rows_were_seen, damage, play_damaged, replies, stands, times, tools,
};

fn launched(change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> (Invocation, Box<dyn Protocol>) {
    super::replayed::launched(Runtime::Acp, |launch, spec| {
        spec.command = ["gemini", "--acp"].map(str::to_owned).to_vec();
        change(launch, spec);
    })
}

/// Replays what the agent wrote. Where the recording's client set no mode, herder's requests have other ids: they are
/// put in place by what they ask for.
/// Every request for permission that waits is answered with a no.
fn replay(transcript: &str, change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> Replayed {
    replay_answering(transcript, change, false)
}

fn replay_answering(
    transcript: &str,
    change: impl FnOnce(&mut Launch, &mut AgentSpec),
    allow: bool,
) -> Replayed {
    let (_, mut acp) = launched(change);
    let mut happened = Vec::new();
    let mut written = vec![as_line(&acp.prompt("say hi").bytes)];
    let mut stalled = Vec::new();
    let mut theirs: BTreeMap<i64, String> = BTreeMap::new();
    for line in transcript.lines() {
        let (direction, line) = line.split_at(2);
        let mut message: Value = serde_json::from_str(line).unwrap_or_else(|_| json!(line));
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if direction == "> " {
            if let Some(id) = message["id"].as_i64().filter(|_| !method.is_empty()) {
                theirs.insert(id, method.clone());
            }
            if method == "session/cancel" {
                written.push(as_line(&acp.interrupt().expect("the turn runs")));
            }
            continue;
        }
        if method.is_empty()
            && let Some(asked) = message["id"].as_i64().and_then(|id| theirs.get(&id))
        {
            let ours = written.iter().find(|line| line["method"] == **asked).map(|line| line["id"].clone());
            let Some(ours) = ours else { continue };
            message["id"] = ours;
        }
        let line = if message.is_string() { line.to_owned() } else { message.to_string() };
        let mut lines = VecDeque::from([line]);
        while let Some(line) = lines.pop_front() {
            acp.line(line.as_bytes(), &mut happened);
            stalled.push(acp.stalled(&Tail::default()));
            written.extend(super::replayed::answer_asked(&mut *acp, &happened, allow));
            for reply in replies(&mut happened) {
                if reply["method"] == "session/set_mode" || reply["method"] == "session/set_model" {
                    lines.push_back(json!({ "id": reply["id"], "result": {} }).to_string());
                }
                written.push(reply);
            }
        }
    }
    let outcome = acp.outcome(Some(Exit::Code(0)), &Tail::default());
    Replayed { happened, written, outcome, stalled }
}

macro_rules! transcripts {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../fixtures/acp/", $name, ".jsonl")))),*]
    };
}

const SEEN: &[(&str, &str)] = transcripts!(
    "gemini/ok" "gemini/401" "gemini/400-key" "gemini/404-model" "gemini/429" "gemini/500" "gemini/ctx" "gemini/cut"
    "gemini/cancel" "gemini/mcp-tool" "gemini/perm-deny"
    "opencode/ok" "opencode/401" "opencode/404-model" "opencode/mcp-tool"
    "claude/ok" "claude/401" "claude/404-model" "claude/ctx" "claude/oauth-usage-limit"
    "codex/ok" "codex/401" "codex/429" "codex/ctx" "codex/usage-limit"
);

fn seen(name: &str) -> &'static str {
    SEEN.iter().find(|(seen, _)| *seen == name).map(|(_, lines)| *lines).expect("it was recorded")
}

#[test]
fn every_end_that_was_seen_has_its_class_and_its_words() {
    use Category::{Auth, ContextOverflow, Permanent, Quota, RateLimit, Success, Transient};
    let table = [
        ("gemini/ok", Success, ""),
        ("gemini/mcp-tool", Success, ""),
        ("gemini/perm-deny", Success, ""),
        ("gemini/401", Auth, "{\"error\":{\"code\":401"),
        ("gemini/400-key", Auth, "{\"error\":{\"code\":400"),
        ("gemini/404-model", Permanent, "models/nope is not found for API version v1beta"),
        ("gemini/429", RateLimit, "Resource has been exhausted"),
        ("gemini/500", Transient, "{\"error\":{\"code\":500"),
        ("gemini/ctx", ContextOverflow, "{\"error\":{\"code\":400"),
        ("gemini/cut", Transient, "terminated"),
        ("opencode/ok", Success, ""),
        ("opencode/mcp-tool", Success, ""),
        ("opencode/401", Auth, "Internal error: Incorrect API key provided: dummy."),
        ("opencode/404-model", Permanent, "Internal error: The model `nope` does not exist"),
        ("claude/ok", Success, ""),
        ("claude/401", Auth, "Authentication required"),
        ("claude/404-model", Permanent, "Internal error: There's an issue with the selected model"),
        ("claude/ctx", ContextOverflow, "Internal error: Prompt is too long"),
        ("claude/oauth-usage-limit", Quota, "Internal error: You've hit your limit"),
        ("codex/ok", Success, ""),
        ("codex/401", Auth, "Authentication required"),
        // Both look like a success.
        ("codex/429", RateLimit, "exceeded retry limit, last status: 429 Too Many Requests"),
        ("codex/ctx", ContextOverflow, "{\"error\":{\"message\":\"Your input exceeds the context window"),
        ("codex/usage-limit", Quota, "Internal error: You’ve hit your usage limit."),
    ];
    for (name, category, detail) in table {
        let Replayed { happened, outcome, .. } = replay(seen(name), |_, _| ());
        assert_end(name, (&happened, &outcome), category, detail);
        assert_eq!(times(&happened, &Happening::TurnEnded), 1, "{name}");
        // An error is the outcome's reason, and not the agent's words.
        let words =
            happened.iter().any(|h| matches!(h, Happening::Words(words) if detail.contains(words.trim())));
        assert!(!words, "{name}: {happened:?}");
    }
}

/// Output that arrives only when it leaves may be old.
#[test]
fn a_limit_that_it_was_silent_over_is_one_that_it_did_not_go_on_after() {
    let (_, acp) = launched(|_, _| ());
    let mut said = Tail::default();
    said.push(b"Attempt 1 failed with status: 429 Too Many Requests");
    let stalled = |said: &Tail| acp.was_stalled(said).map(|outcome| outcome.category);
    assert_eq!(stalled(&said), Some(Category::RateLimit));
    said.outdated();
    said.push(b"    at retry (file:///gemini.js:17)");
    assert_eq!(stalled(&said), None);
}

#[test]
fn a_success_has_its_text_cost_and_the_tokens_that_the_agent_names() {
    // opencode and claude-agent-acp of a turn with a tool: opencode names those of its last call of the model alone.
    for (name, text, input, cost) in [
        ("gemini/ok", "Hello from the fake model.", 1200, 0.0),
        ("opencode/ok", "Hello from the fake model.", 1200, 0.00405),
        ("opencode/mcp-tool", "done", 1200, 0.0081),
        ("claude/ok", "Hello from the fake model.", 1200, 0.0054),
        ("codex/ok", "Hello from the fake model.", 1200, 0.0),
    ] {
        let Replayed { happened, outcome, .. } = replay(seen(name), |_, _| ());
        assert_eq!(outcome.text.as_deref(), Some(text), "{name}");
        assert_eq!(
            (outcome.turns, outcome.usage.input_tokens, outcome.usage.output_tokens),
            (1, input, 30),
            "{name}"
        );
        assert!((outcome.usage.cost_usd - cost).abs() < 1e-9, "{name}: {:?}", outcome.usage);
        assert_eq!(super::replayed::last_turn(&happened), Some((input, 30)), "{name}");
        assert!(happened.contains(&Happening::Words(text.to_owned())), "{name}");
    }
}

#[test]
fn tools_are_open_from_their_start_to_their_end() {
    let happened = replay(seen("opencode/mcp-tool"), |_, _| ()).happened;
    assert_eq!(tools(&happened), ["sup_post", "end"]);
}

/// gemini tells of a call that it asks about when it is over, and of one that is not allowed never again.
#[test]
fn a_call_that_is_asked_about_is_open() {
    let happened = replay_answering(seen("gemini/mcp-tool"), |_, _| (), true).happened;
    assert_eq!(tools(&happened), ["post (sup MCP Server)", "end"]);
    let happened = replay_answering(seen("gemini/perm-deny"), |_, _| (), false).happened;
    assert_eq!(tools(&happened), ["touch made.txt", "end"]);
}

#[test]
fn an_answer_that_broke_off_is_no_success() {
    // gemini counts nothing.
    let lines = seen("gemini/ok").replace("\"input_tokens\":1200", "\"input_tokens\":0");
    let lines = lines.replace("\"output_tokens\":30", "\"output_tokens\":0");
    assert_eq!(replay(&lines, |_, _| ()).outcome.category, Category::Transient);
    // opencode asks again for ever, also when it is told to stop.
    let (before, after): (Vec<&str>, Vec<&str>) =
        seen("opencode/ok").lines().partition(|line| !line.contains("agent_message_chunk"));
    let again =
        (0..24).map(|number| after[0].replace("\"messageId\":\"", &format!("\"messageId\":\"{number}")));
    let lines: Vec<String> =
        before[..before.len() - 2].iter().map(|line| (*line).to_owned()).chain(again).collect();
    let Replayed { happened, outcome, .. } = replay(&lines.join("\n"), |_, _| ());
    assert_eq!(outcome.category, Category::Transient, "{outcome:?}");
    assert_eq!(times(&happened, &Happening::TurnEnded), 1);
}

#[test]
fn a_cancelled_turn_is_over_and_no_success() {
    let cancelled: Vec<&str> =
        seen("gemini/cancel").lines().take_while(|line| !line.contains("second message")).collect();
    let replayed = replay(&cancelled.join("\n"), |_, _| ());
    assert_eq!(replayed.methods().last(), Some(&"session/cancel"));
    assert!(replayed.happened.contains(&Happening::TurnEnded));
    assert_eq!(replayed.outcome.category, Category::Transient);
    // opencode calls it an ordinary end if it slept through a limit.
    let lines: Vec<&str> =
        seen("opencode/ok").lines().filter(|line| !line.contains("agent_message_chunk")).collect();
    let end = lines.len() - 1;
    let lines = [&lines[..end], &["> {\"method\":\"session/cancel\"}"], &lines[end..]].concat().join("\n");
    assert_eq!(replay(&lines, |_, _| ()).outcome.category, Category::Transient);
}

#[test]
fn a_message_in_mid_turn_waits_for_the_next_session() {
    let (_, mut acp) = launched(|_, _| ());
    assert_eq!(acp.steer(WorkId(1), "now"), Steering::Refused);
}

#[test]
fn a_version_that_is_not_spoken_is_said_and_nothing_is_asked_of_it() {
    for (version, said) in
        [("2", "version 2"), ("0", "version 0"), ("\"1\"", "no version"), ("null", "no version")]
    {
        let line = format!("< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":{version}}}}}");
        let replayed = replay(&line, |_, _| ());
        assert_eq!(replayed.methods(), ["initialize"]);
        assert_eq!(replayed.outcome.category, Category::Permanent);
        let sentence = format!("the agent speaks {said} of its protocol and herder speaks version 1");
        assert!(replayed.outcome.detail.to_string().starts_with(&sentence), "{}", replayed.outcome.detail);
        assert!(replayed.happened.contains(&Happening::TurnEnded));
    }
}

const INITIALIZED: &str =
    r#"< {"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#;

#[test]
fn a_conversation_is_loaded_where_the_agent_can_and_begun_anew_where_it_is_gone() {
    let conversation = |launch: &mut Launch, _: &mut AgentSpec| launch.conversation = Some("c-0".to_owned());
    // Loading tells the past, which is not said again.
    let past = r#"< {"method":"session/update","params":{"sessionId":"c-0","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"past"}}}}"#;
    let loaded = replay(&format!("{INITIALIZED}\n{past}\n< {{\"id\":2,\"result\":null}}"), conversation);
    assert_eq!(loaded.methods(), ["initialize", "session/load", "session/prompt"]);
    assert!(loaded.happened.contains(&Happening::Ready { conversation: Some("c-0".to_owned()) }));
    assert!(!loaded.happened.iter().any(|happening| matches!(happening, Happening::Words(_))));
    let gone = format!(
        "{INITIALIZED}\n< {{\"id\":2,\"error\":{{\"code\":-32603,\"message\":\"Internal error\"}}}}\n< {{\"id\":3,\"result\":{{\"sessionId\":\"c-1\"}}}}"
    );
    let gone = replay(&gone, conversation);
    assert_eq!(gone.methods(), ["initialize", "session/load", "session/new", "session/prompt"]);
    assert!(gone.happened.contains(&Happening::Ready { conversation: Some("c-1".to_owned()) }));
    let cannot = r#"< {"id":1,"result":{"protocolVersion":1}}"#;
    assert_eq!(replay(cannot, conversation).methods(), ["initialize", "session/new"]);
}

/// An expired login, a limit, a broken configuration or a network that is away says nothing of the conversation.
#[test]
fn a_conversation_is_given_up_only_when_the_refusal_is_about_it() {
    let refused = |error: &str| {
        let lines = format!("{INITIALIZED}\n< {{\"id\":2,\"error\":{error}}}");
        replay(&lines, |launch, _| launch.conversation = Some("c-0".to_owned()))
    };
    for (error, category) in [
        (r#"{"code":-32000,"message":"Authentication required"}"#, Category::Auth),
        (r#"{"code":-32000,"message":"Authentication required: login session not found"}"#, Category::Auth),
        (r#"{"code":401,"message":"Unauthorized"}"#, Category::Auth),
        (r#"{"code":-32603,"message":"Internal error","data":{"details":"not logged in"}}"#, Category::Auth),
        (r#"{"code":402,"message":"No."}"#, Category::Billing),
        (r#"{"code":-32603,"message":"Credit balance is too low"}"#, Category::Billing),
        (r#"{"code":429,"message":"Slow down."}"#, Category::RateLimit),
        (r#"{"code":-32603,"message":"You've hit your usage limit."}"#, Category::Quota),
        (r#"{"code":-32603,"message":"x","data":{"codexErrorInfo":"usageLimitExceeded"}}"#, Category::Quota),
        (
            r#"{"code":-32603,"message":"x","data":{"codexErrorInfo":"serverOverloaded"}}"#,
            Category::Transient,
        ),
        (r#"{"code":503,"message":"x"}"#, Category::Transient),
        (r#"{"code":-32603,"message":"connect ECONNREFUSED 127.0.0.1:1"}"#, Category::Transient),
        (
            r#"{"code":-32603,"message":"Internal error","data":{"details":"TypeError: fetch failed"}}"#,
            Category::Transient,
        ),
        (r#"{"code":-32603,"message":"x","data":{"errorName":"ConfigInvalidError"}}"#, Category::Transient),
        (
            r#"{"code":404,"message":"the model `x` does not exist or you do not have access to it"}"#,
            Category::Permanent,
        ),
    ] {
        let Replayed { happened, outcome, .. } = refused(error);
        assert_eq!(outcome.category, category, "{error}");
        assert!(happened.contains(&Happening::TurnEnded), "{error}: {happened:?}");
        let lost = |happening: &Happening| matches!(happening, Happening::ConversationLost { .. });
        assert!(!happened.iter().any(lost), "{error}: {happened:?}");
        assert_eq!(refused(error).methods(), ["initialize", "session/load"], "{error}");
    }
    for error in [
        r#"{"code":-32603,"message":"Internal error"}"#,
        r#"{"code":-32603,"message":"Internal error","data":{"details":"No previous sessions found for this project."}}"#,
        r#"{"code":-32002,"message":"Resource not found"}"#,
        r#"{"code":-32000,"message":"Session not found: c-0"}"#,
        r#"{"code":404,"message":"Not Found"}"#,
        r#"{"code":500,"message":"Session not found"}"#,
        r#"{"code":-32602,"message":"Invalid params"}"#,
        r#"{"code":-32603,"message":"Prompt is too long"}"#,
    ] {
        assert_eq!(refused(error).methods(), ["initialize", "session/load", "session/new"], "{error}");
    }
}

#[test]
fn permissions_become_modes_where_the_agent_is_known_to_have_them() {
    let modes = |name: &str, permissions: Permissions| {
        let replayed = replay(seen(name), |_, spec| spec.permissions = permissions);
        let set = replayed.written.iter().find(|line| line["method"] == "session/set_mode");
        set.map(|line| line["params"]["modeId"].as_str().unwrap_or_default().to_owned())
    };
    let mode = |name: &str| Some(name.to_owned());
    assert_eq!(modes("gemini/ok", Permissions::ReadOnly), mode("default"));
    assert_eq!(modes("gemini/ok", Permissions::WorkspaceWrite), mode("default"));
    assert_eq!(modes("gemini/ok", Permissions::Full), mode("default"));
    assert_eq!(modes("codex/ok", Permissions::Full), mode("agent-full-access"));
    assert_eq!(modes("claude/ok", Permissions::WorkspaceWrite), mode("acceptEdits"));
    // Not offered there, or not known: it asks, and is answered.
    assert_eq!(modes("claude/ok", Permissions::Full), mode("default"));
    assert_eq!(modes("opencode/ok", Permissions::Full), None);
}

#[test]
fn the_model_is_set_in_the_way_the_agent_offers() {
    let set = |name: &str| {
        let replayed = replay(seen(name), |_, spec| spec.model = "m-1".to_owned());
        let line = replayed.written.iter().find(|line| {
            line["method"]
                .as_str()
                .is_some_and(|method| method.starts_with("session/set_") && method != "session/set_mode")
        });
        let line = line.expect("it is set");
        format!(
            "{} {}",
            line["method"],
            line["params"]["modelId"].as_str().or(line["params"]["value"].as_str()).unwrap_or("-")
        )
    };
    assert_eq!(set("gemini/ok"), "\"session/set_model\" m-1");
    assert_eq!(set("opencode/ok"), "\"session/set_config_option\" m-1");
    let refused = format!(
        "{INITIALIZED}\n< {{\"id\":2,\"result\":{{\"sessionId\":\"c\"}}}}\n< {{\"id\":3,\"error\":{{\"code\":-32601,\"message\":\"no such method\"}}}}"
    );
    let (_, mut acp) = launched(|_, spec| spec.model = "m-1".to_owned());
    acp.prompt("say hi");
    let mut happened = Vec::new();
    for line in refused.lines() {
        acp.line(&line.as_bytes()[2..], &mut happened);
    }
    let outcome = acp.outcome(Some(Exit::Code(0)), &Tail::default());
    assert_eq!(outcome.category, Category::Permanent);
    assert_eq!(outcome.detail.to_string(), "the model m-1 cannot be set: no such method");
}

/// Rows that no recorded run has: what they look for is the agents' own documentation and source.
const UNSEEN: &[(Field, &str)] = &[
    (Field::CodexInfo, "contextWindowExceeded"),
    (Field::CodexInfo, "rateLimitExceeded"),
    (Field::CodexInfo, "unauthorized"),
    (Field::CodexInfo, "modelNotFound"),
    (Field::CodexInfo, "badRequest"),
    (Field::CodexInfo, "serverOverloaded"),
    (Field::CodexInfo, "internalServerError"),
    (Field::Text, "exhausted your daily quota"),
    (Field::Text, "ran out of room in the model's context window"),
    (Field::Text, "session too large to compact"),
    (Field::Kind, "authentication_failed"),
    (Field::Kind, "billing_error"),
    (Field::Kind, "server_error"),
    (Field::Code, "402"),
    (Field::Code, "403"),
    (Field::Code, "503"),
    (Field::Text, "credit balance is too low"),
    (Field::Text, "resource_exhausted"),
    (Field::Text, "check your plan and billing details"),
    (Field::Text, "payment required"),
    (Field::Text, "rate limit"),
    (Field::Code, "404"),
    (Field::Text, "region, or territory not supported"),
    (Field::Text, "forbidden"),
    (Field::Kind, "APIError"),
    (Field::Code, "408"),
    (Field::Code, "413"),
    (Field::Code, "422"),
    (Field::Code, "502"),
    (Field::Code, "504"),
    (Field::Code, "529"),
];

/// gemini, on standard error.
const TRIES_AGAIN: &str = "Attempt 1 failed with status 429. Retrying with backoff...";

#[test]
fn every_row_of_the_table_was_seen_or_is_marked() {
    let runs: Vec<&str> = SEEN.iter().map(|(_, lines)| *lines).chain([TRIES_AGAIN]).collect();
    assert_rows_were_seen(TABLE, UNSEEN, &runs, |field, value, run| match field {
        Field::CodexInfo => stands(run, value, &[r#""codexErrorInfo":"{}""#]),
        Field::Kind => stands(run, value, &[r#""errorKind":"{}""#]),
        Field::Code => stands(run, value, &[r#""code":{},"#]),
        Field::Text => run.to_lowercase().contains(value),
    });
}

#[test]
fn no_row_of_the_table_is_hidden_by_one_above_it() {
    for (field, value, category) in TABLE {
        let mut failure = Failure::default();
        match field {
            Field::CodexInfo => failure.codex_info = (*value).to_owned(),
            Field::Kind => failure.kind = (*value).to_owned(),
            Field::Code => failure.code = (*value).to_owned(),
            Field::Text => failure.text = value.to_uppercase(),
        }
        assert_eq!(failure.category(), Some(*category), "{value}");
    }
}

#[test]
fn what_nobody_knows_is_transient_and_shown_whole() {
    let words = r#"{"method":"session/update","params":{"sessionId":"c","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}"#;
    let opened = format!("{INITIALIZED}\n< {{\"id\":2,\"result\":{{\"sessionId\":\"c\"}}}}\n< {words}");
    let ended = |answer: &str| replay(&format!("{opened}\n< {{\"id\":3,{answer}}}"), |_, _| ()).outcome;
    let outcome =
        ended(r#""error":{"code":-7,"message":"The flux is\nlow","data":{"details":"see page 9"}}"#);
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, true));
    assert_eq!(outcome.detail.to_string(), "code -7: The flux is low: see page 9");
    let named = |data: &str| {
        ended(&format!(r#""error":{{"code":-32603,"message":"No.","data":{data}}}"#)).detail.to_string()
    };
    assert_eq!(named(r#"{"errorKind":"new"}"#), "code -32603, kind new: No.");
    assert_eq!(named(r#"{"errorName":"NewError"}"#), "code -32603, kind NewError: No.");
    assert_eq!(named(r#"{"codexErrorInfo":"new"}"#), "code -32603, codexErrorInfo new: No.");
    for (reason, category) in [
        ("end_turn", Category::Success),
        ("max_tokens", Category::Transient),
        ("max_turn_requests", Category::MaxTurns),
        ("refusal", Category::Permanent),
        ("cancelled", Category::Transient),
        ("something_new", Category::Transient),
    ] {
        let outcome = ended(&format!(r#""result":{{"stopReason":"{reason}"}}"#));
        assert_eq!((outcome.category, outcome.unknown), (category, reason == "something_new"), "{reason}");
    }
}

#[test]
fn retries_that_are_said_on_standard_error_alone_say_what_it_waits_for() {
    let (_, acp) = launched(|_, _| ());
    let stalled = |line: &str| {
        let mut tail = Tail::default();
        tail.push(line.as_bytes());
        acp.stalled(&tail).map(|outcome| outcome.category)
    };
    assert_eq!(stalled(TRIES_AGAIN), Some(Category::RateLimit));
    // Google speaks of billing to a client that is too fast.
    let also = r#"{"error":{"code":429,"message":"Check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(stalled(&format!("{TRIES_AGAIN} _ApiError: {also}")), Some(Category::RateLimit));
    assert_eq!(stalled(also), Some(Category::RateLimit));
    assert_eq!(stalled("Attempt 1 failed with status 500. Retrying with backoff..."), None);
    assert_eq!(acp.stalled(&Tail::default()), None);
    // Another output has come since.
    let mut tail = Tail::default();
    tail.push(TRIES_AGAIN.as_bytes());
    tail.outdated();
    assert_eq!(acp.stalled(&tail), None);
}

/// Half an emoji, as programs in JavaScript write one where they cut a text.
#[test]
fn half_a_character_costs_no_line() {
    let (_, mut acp) = launched(|_, _| ());
    acp.prompt("say hi");
    let mut happened = Vec::new();
    let mut hears = |line: &str| {
        acp.line(line.as_bytes(), &mut happened);
        std::mem::take(&mut happened)
    };
    let opened = "{\"id\":2,\"result\":{\"sessionId\":\"c\"}}";
    for line in [INITIALIZED.trim_start_matches("< "), opened] {
        hears(line);
    }
    let update = |update: &str| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"c","update":{{{update},"toolCallId":"t"}}}}}}"#
        )
    };
    hears(&update(r#""sessionUpdate":"tool_call","title":"cat""#));
    let ended =
        hears(&update(r#""sessionUpdate":"tool_call_update","status":"completed","rawOutput":"so \ud83d""#));
    assert!(matches!(&ended[..], [Happening::ToolEnded { .. }]), "{ended:?}");
    let asked = hears(
        r#"{"id":7,"method":"session/request_permission","params":{"sessionId":"c","options":[],"toolCall":{"toolCallId":"u","title":"echo \udc00"}}}"#,
    );
    assert!(!asked.contains(&Happening::Malformed), "{asked:?}");
    let heard = |happening: &Happening| matches!(happening, Happening::Asked { .. } | Happening::Reply(_));
    assert!(asked.iter().any(heard), "{asked:?}");
}

#[test]
fn known_agents_have_their_quirks_and_others_none() {
    let (invocation, acp) = launched(|_, _| ());
    assert_eq!(invocation.environment.get("GEMINI_CLI_NO_RELAUNCH").map(String::as_str), Some("true"));
    assert_eq!(acp.leaves_within(), Some(Duration::from_secs(2)));
    let (invocation, _) = launched(|_, spec| spec.command = vec!["/opt/opencode".to_owned()]);
    assert!(invocation.environment.contains_key("OPENCODE_PERMISSION"), "somebody answers what it asks");
    let (invocation, acp) = launched(|_, spec| {
        spec.command = vec!["/opt/some-agent".to_owned()];
        spec.env.insert("X".to_owned(), "y".to_owned());
    });
    assert_eq!(invocation.environment.get("X").map(String::as_str), Some("y"));
    assert_eq!(acp.leaves_within(), None);
    for known in KNOWN {
        assert_eq!(Quirks::of(known.name.expect("known by its name")), known);
    }
    assert_eq!(Quirks::of("nobody").name, None);
}

/// Whom a wrapper starts is not known before it runs, and opencode does whatever it likes unless it is started to ask.
#[test]
fn an_agent_behind_another_program_is_started_to_ask_as_well() {
    let asks = r#"{"bash":"ask","edit":"ask"}"#;
    for command in [
        &["npx", "-y", "opencode-ai", "acp"][..],
        &["env", "opencode", "acp"],
        &["sh", "-c", "exec opencode acp"],
        &["/opt/run-agent"],
    ] {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let started = |own: Option<&str>| {
            let (command, own) = (command.clone(), own.map(str::to_owned));
            let (invocation, _) = launched(move |_, spec| {
                spec.command = command;
                spec.env.extend(own.map(|own| ("OPENCODE_PERMISSION".to_owned(), own)));
            });
            invocation.environment
        };
        let environment = started(None);
        let of = |name: &str| environment.get(name).map(String::as_str);
        assert_eq!(of("OPENCODE_PERMISSION"), Some(asks), "{command:?}");
        assert_eq!(of("GEMINI_CLI_TRUST_WORKSPACE"), Some("true"), "{command:?}");
        // The operator's setting takes precedence.
        assert_eq!(started(Some("{}")).get("OPENCODE_PERMISSION").map(String::as_str), Some("{}"));
    }
    let (invocation, _) = launched(|_, _| ());
    assert!(!invocation.environment.contains_key("OPENCODE_PERMISSION"), "gemini is known by its program");
}

#[test]
fn bad_lines_are_counted_and_nothing_else() {
    let table = [
        ("not json", 1),
        ("{\"method\":\"session/update\"", 1),
        ("[1,2]", 1),
        ("{}", 1),
        ("   ", 0),
        ("{\"method\":\"session/update\",\"params\":{\"update\":7}}", 0),
        ("{\"method\":\"session/update\",\"params\":{\"sessionId\":null,\"update\":{\"content\":[]}}}", 0),
        ("{\"id\":99,\"result\":{}}", 0),
    ];
    for (line, bad) in table {
        let (_, mut acp) = launched(|_, _| ());
        let mut happened = Vec::new();
        acp.line(line.as_bytes(), &mut happened);
        assert_eq!(times(&happened, &Happening::Malformed), bad, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A line that is cut or garbled anywhere costs what it said, and nothing else.
    #[test]
    fn cut_and_garbled_lines_never_panic(which in 0..SEEN.len(), damage in damage()) {
        let (_, mut acp) = launched(|_, _| ());
        play_damaged(acp.as_mut(), SEEN[which].1, damage);
    }
}
