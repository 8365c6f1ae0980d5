//! The recorded output of codex's app server, and its interpretation.

mod asking;
mod failures;
mod hostile;

use herder::core::id::WorkId;
use herder::core::outcome::{Category, Exit};
use herder::core::spec::{AgentSpec, Permissions, Runtime};
use herder::core::time::Timestamp;
use herder::runtime::Launch;
use herder::runtime::protocol::{Happening, Invocation, Protocol, Steering};
use herder::runtime::text::Tail;
use serde_json::Value;

use super::replayed::{Replayed, as_line, assert_end, replies, times, tools};

fn launched(change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> (Invocation, Box<dyn Protocol>) {
    super::replayed::launched(Runtime::Codex, change)
}

/// Replays a transcript; every waiting request for permission is answered with a no.
fn replay(transcript: &str, change: impl FnOnce(&mut Launch, &mut AgentSpec)) -> Replayed {
    replay_answering(transcript, change, false)
}

fn replay_answering(
    transcript: &str,
    change: impl FnOnce(&mut Launch, &mut AgentSpec),
    allow: bool,
) -> Replayed {
    let (_, mut codex) = launched(change);
    let mut happened = Vec::new();
    let mut written: Vec<Value> = vec![as_line(&codex.prompt("say hi").bytes)];
    let mut stalled = Vec::new();
    for line in transcript.lines() {
        match line.split_at(2) {
            ("< ", line) => {
                codex.line(line.as_bytes(), &mut happened);
                stalled.push(codex.stalled(&Tail::default()));
            }
            (_, line) if line.contains("\"turn/steer\"") => {
                match codex.steer(WorkId(9), "STEER-MARK whisper") {
                    Steering::Asked(bytes) => written.push(as_line(&bytes)),
                    other => panic!("the turn runs: {other:?}"),
                }
            }
            (_, line) if line.contains("\"turn/interrupt\"") => {
                written.push(as_line(&codex.interrupt().expect("the turn runs")));
            }
            // The driver writes all other lines by itself.
            _ => {}
        }
        written.extend(super::replayed::answer_asked(&mut *codex, &happened, allow));
        written.extend(replies(&mut happened));
    }
    let outcome = codex.outcome(Some(Exit::Code(0)), &Tail::default());
    Replayed { happened, written, outcome, stalled }
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
        assert_end(name, (&happened, &outcome), category, detail);
        assert_eq!(times(&happened, &Happening::TurnEnded), 1, "{name}");
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
    assert_eq!(super::replayed::last_turn(&replayed.happened), Some((1200, 30)));
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

/// An expired login, a limit, a broken configuration or a network that is away says nothing of the conversation.
#[test]
fn a_conversation_is_given_up_only_when_the_refusal_is_about_it() {
    let refused = |error: &str| {
        let lines = format!("< {{\"id\":1,\"result\":{{}}}}\n< {{\"id\":2,\"error\":{error}}}");
        replay(&lines, |launch, _| launch.conversation = Some("c-0".to_owned()))
    };
    for (error, category) in [
        (
            r#"{"code":-32603,"message":"401 Unauthorized: run codex login; session not found"}"#,
            Category::Auth,
        ),
        (r#"{"code":-32600,"message":"x","data":{"codexErrorInfo":"unauthorized"}}"#, Category::Auth),
        (r#"{"code":-32603,"message":"402 Payment Required"}"#, Category::Billing),
        (r#"{"code":-32603,"message":"429 Too Many Requests"}"#, Category::RateLimit),
        (r#"{"code":-32603,"message":"You've hit your usage limit."}"#, Category::Quota),
        (r#"{"code":-32603,"message":"Error loading config.toml: bad value"}"#, Category::Permanent),
        (r#"{"code":-32600,"message":"failed to load configuration: bad value"}"#, Category::Transient),
        (r#"{"code":-32600,"message":"Model provider `x` not found"}"#, Category::Permanent),
        (
            r#"{"code":-32603,"message":"x","data":{"codexErrorInfo":"serverOverloaded"}}"#,
            Category::Transient,
        ),
        // Somebody has it open in a terminal.
        (r#"{"code":-32603,"message":"thread c-0 already has an active writer"}"#, Category::Transient),
        (r#"{"code":-32603,"message":"Connection refused (os error 111)"}"#, Category::Transient),
    ] {
        let Replayed { happened, outcome, .. } = refused(error);
        assert_eq!(outcome.category, category, "{error}");
        let lost = |happening: &Happening| matches!(happening, Happening::ConversationLost { .. });
        assert!(!happened.iter().any(lost), "{error}: {happened:?}");
        assert!(!refused(error).methods().contains(&"thread/start"), "{error}");
    }
    for error in [
        r#"{"code":-32600,"message":"no rollout found for thread id c-0"}"#,
        r#"{"code":-32600,"message":"thread not found: c-0"}"#,
        r#"{"code":-32600,"message":"invalid thread id: c-0"}"#,
        r#"{"code":-32603,"message":"failed to read thread: unexpected end of file"}"#,
    ] {
        assert!(refused(error).methods().contains(&"thread/start"), "{error}");
    }
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
        assert_eq!(tools(&happened), expected, "{name}");
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

/// Returns the transcript up to the first answer that contains `mark`, without it.
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
    // The part of the message that arrived is kept: the message was never whole.
    assert!(replayed.happened.contains(&Happening::Words("parti".to_owned())));
}

#[test]
fn a_limit_that_is_slept_through_is_known_while_it_is() {
    let until = lines_to("429-retry-after", "2/5");
    let replayed = replay(&until, |_, _| ());
    let last = replayed.stalled.last().cloned().flatten().expect("it waits for a limit");
    assert_eq!(last.category, Category::RateLimit);
    assert!(last.detail.to_string().contains("429 Too Many Requests"), "{}", last.detail);
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
    assert_eq!(times(&replayed.happened, &Happening::TurnEnded), 1);
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
    insta::assert_snapshot!(line(|_, spec| spec.command = ["/opt/codex", "-c", "analytics.enabled=true"].map(str::to_owned).to_vec()), @"/opt/codex -c analytics.enabled=true -c check_for_update_on_startup=false -c feedback.enabled=false app-server");
    // The words before it belong to another program.
    insta::assert_snapshot!(line(|_, spec| spec.command = ["npx", "-y", "@openai/codex"].map(str::to_owned).to_vec()), @"npx -y @openai/codex -c check_for_update_on_startup=false -c analytics.enabled=false -c feedback.enabled=false app-server");
    insta::assert_snapshot!(line(|_, spec| spec.command = ["env", "X=y", "codex", "app-server", "--listen", "stdio://"].map(str::to_owned).to_vec()), @"env X=y codex -c check_for_update_on_startup=false -c analytics.enabled=false -c feedback.enabled=false app-server --listen stdio://");
    let opened = |change: fn(&mut Launch, &mut AgentSpec)| {
        let replayed = replay("< {\"id\":1,\"result\":{}}", change);
        replayed.written[2].to_string()
    };
    insta::assert_snapshot!(opened(|_, _| ()), @r#"{"id":2,"jsonrpc":"2.0","method":"thread/start","params":{"approvalPolicy":"on-request","config":{"features":{"default_mode_request_user_input":true,"unbounded_connection_retries":false}},"cwd":"/srv/agent/work","sandbox":"workspace-write"}}"#);
    insta::assert_snapshot!(opened(|launch, spec| {
        launch.conversation = Some("c-1".to_owned());
        spec.model = "gpt-5".to_owned();
        spec.instructions = "Be kind.".to_owned();
        spec.permissions = Permissions::Full;
    }), @r#"{"id":2,"jsonrpc":"2.0","method":"thread/resume","params":{"approvalPolicy":"untrusted","config":{"features":{"default_mode_request_user_input":true,"unbounded_connection_retries":false}},"cwd":"/srv/agent/work","developerInstructions":"Be kind.","excludeTurns":true,"model":"gpt-5","sandbox":"danger-full-access","threadId":"c-1"}}"#);
    insta::assert_snapshot!(replay("", |_, _| ()).written[0].to_string(), @r#"{"id":1,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{"experimentalApi":false},"clientInfo":{"name":"herder","title":"herder","version":"0.1.0"}}}"#);
}
