//! Runtime `acp` with scripted agents in a few lines of Python.

use super::*;
use herder::core::spec::Permissions;

/// A scripted agent: `body` runs once the turn is asked for, and answers it with `end`.
fn acp(name: &str, body: &str, workspace: &Path) -> Launch {
    let script = format!(
        r#"
import json, sys, os, time, subprocess
def say(**line): print(json.dumps(dict(jsonrpc="2.0", **line)), flush=True)
def news(kind, **more): say(method="session/update", params=dict(sessionId="c-1", update=dict(sessionUpdate=kind, **more)))
def words(text): news("agent_message_chunk", content=dict(type="text", text=text))
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
def end(reason="end_turn", **more): say(id=turn["id"], result=dict(stopReason=reason, **more))
def fail(code, message, **data): say(id=turn["id"], error=dict(code=code, message=message, data=data))
asked = read(); assert asked["params"]["protocolVersion"] == 1
assert asked["params"]["clientCapabilities"] == dict(fs=dict(readTextFile=False, writeTextFile=False), terminal=False)
say(id=asked["id"], result=dict(protocolVersion=1, agentInfo=dict(name={name:?}, version="1"), agentCapabilities=dict(loadSession=True)))
opened = read()
if opened["method"] == "session/load" and opened["params"]["sessionId"] != "c-1":
    say(id=opened["id"], error=dict(code=-32603, message="Internal error")); opened = read()
say(id=opened["id"], result=dict(sessionId="c-1") if opened["method"] == "session/new" else None)
turn = read(); assert turn["method"] == "session/prompt"
prompt = turn["params"]["prompt"][0]["text"]
{body}
"#
    );
    session(Runtime::Acp, &["python3", "-c", &script], workspace)
}

#[tokio::test]
async fn acp_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let body =
        "words('hel'); words('lo, '); words(prompt); end(usage=dict(inputTokens=7, outputTokens=3)); read()";
    let (outcome, signals, _) = run(acp("x", body, folder.path())).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert_eq!(outcome.text.as_deref(), Some("hello, do it"));
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.exit), (1, 7, Some(Exit::Code(0))));
    assert!(signals.contains(&Signal::Ready { conversation: Some("c-1".to_owned()) }));
}

#[tokio::test]
async fn a_conversation_goes_on_or_is_begun_anew_by_the_same_process() {
    let folder = tempfile::tempdir().expect("a folder");
    for (conversation, method) in [("c-1", "session/load"), ("c-0", "session/new")] {
        let mut what = acp("x", "words(opened['method']); end()", folder.path());
        what.conversation = Some(conversation.to_owned());
        let (outcome, signals, _) = run(what).await;
        assert_eq!(outcome.text.as_deref(), Some(method), "{outcome:?}");
        assert_eq!(signals.iter().filter(|signal| matches!(signal, Signal::Spawned { .. })).count(), 1);
    }
}

#[tokio::test]
async fn a_cancelled_turn_leaves_nothing_running() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "subprocess.Popen(['setsid', 'sleep', '1000']); news('tool_call', toolCallId='t', title='sleep', status='pending')\n\
                stop = read(); open('asked', 'w').write(stop['method']); end('cancelled')";
    let mut running = Running::start(acp("x", body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    let mut live = running.driver.live.clone();
    let open = tokio::time::timeout(PATIENCE, live.wait_for(|live| live.tool.is_some()));
    assert_eq!(open.await.expect("in time").expect("it runs").tool.as_deref(), Some("sleep"));
    // A message would cancel the turn with some agents: it is not handed over.
    running.order(Order::Steer { work: WorkId(1), text: "and this".to_owned() }).await;
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Interrupted, Vec::new()));
    let asked = std::fs::read_to_string(folder.path().join("asked")).expect("it was asked");
    assert_eq!(asked, "session/cancel");
    assert!(!running.signals.contains(&Signal::Steered { work: WorkId(1) }));
}

#[tokio::test]
async fn a_question_is_answered_and_the_channel_hears_of_a_no_for_want_of_a_person() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "say(id=5, method='session/request_permission', params=dict(sessionId='c-1', toolCall=dict(title='rm x', kind='execute'), \
                options=[dict(optionId='y', kind='allow_once'), dict(optionId='n', kind='reject_once')]))\n\
                words(read()['result']['outcome']['optionId']); end()";
    for (permissions, answer) in [(Permissions::WorkspaceWrite, "n"), (Permissions::Full, "y")] {
        let mut what = acp("x", body, folder.path());
        edit(&mut what, |spec| spec.permissions = permissions);
        let (outcome, signals, _) = run(what).await;
        assert_eq!(outcome.text.as_deref(), Some(answer), "{outcome:?}");
        assert_eq!(signals.contains(&Signal::Denied { what: "rm x".to_owned() }), answer == "n");
    }
}

#[tokio::test]
async fn failures_are_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = "news('session_info_update', _meta=dict(codex=dict(threadStatus=dict(type='systemError'))))\n\
                  words('exceeded retry limit, last status: 429 Too Many Requests'); end()";
    let table = [
        ("gemini-cli", "fail(429, 'Slow down.')", Category::RateLimit),
        ("gemini-cli", "fail(500, 'models/x is not found for API version v1')", Category::Permanent),
        ("x", "fail(-32603, 'Internal error', errorKind='billing_error')", Category::Billing),
        ("@agentclientprotocol/codex-acp", broken, Category::RateLimit),
        // The same words of an agent that is not known to fail so are its words.
        ("x", broken, Category::Success),
        ("x", "end('max_turn_requests')", Category::MaxTurns),
        ("x", "sys.exit(2)", Category::DoNotRestart),
        ("x", "sys.exit(0)", Category::Crash),
        ("x", "sys.stderr.write('Invalid API key\\n'); sys.exit(1)", Category::Auth),
        ("x", "os.kill(os.getpid(), 9)", Category::Crash),
    ];
    for (name, body, category) in table {
        let (outcome, ..) = run(acp(name, body, folder.path())).await;
        assert_eq!(outcome.category, category, "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn an_agent_that_stays_when_its_input_ends_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "end()\nwhile True: time.sleep(1)";
    let mut what = acp("gemini-cli", body, folder.path());
    // Known not to leave: nobody waits for the whole grace.
    what.clocks.grace = PATIENCE;
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.exit), (Category::Success, Some(Exit::Signal(15))));
}

#[tokio::test]
async fn another_version_of_the_protocol_is_a_permanent_failure_with_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "import json,sys\nasked = json.loads(sys.stdin.readline())\nprint(json.dumps(dict(id=asked['id'], result=dict(protocolVersion=2))), flush=True)\nsys.stdin.read()";
    let (outcome, ..) = run(session(Runtime::Acp, &["python3", "-c", script], folder.path())).await;
    assert_eq!(outcome.category, Category::Permanent);
    assert!(
        outcome.detail.starts_with("the agent speaks version 2 of the Agent Client Protocol"),
        "{}",
        outcome.detail
    );
    let (outcome, ..) = run_unspawned(session(Runtime::Acp, &[], folder.path())).await;
    assert_eq!(outcome.category, Category::Permanent, "{outcome:?}");
}

/// A session that ends before it has a process.
async fn run_unspawned(what: Launch) -> (Outcome, Vec<u32>) {
    Running::start(what).ended().await
}
