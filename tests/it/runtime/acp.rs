//! Runtime `acp` with scripted agents in a few lines of Python.

use super::*;
use herder::core::outcome::Usage;
use herder::core::spec::Permissions;

/// A scripted agent: `body` runs once the turn is asked for, and answers it with `end`.
pub(super) fn acp(name: &str, body: &str, workspace: &Path) -> Launch {
    let script = format!(
        r#"
import json, sys, os, select, time, subprocess
def say(**line): print(json.dumps(dict(jsonrpc="2.0", **line)), flush=True)
def news(update, **more): say(method="session/update", params=dict(sessionId="c-1", update=dict(sessionUpdate=update, **more)))
def words(text): news("agent_message_chunk", content=dict(type="text", text=text))
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
def end(reason="end_turn", **more): say(id=turn["id"], result=dict(stopReason=reason, **more))
def fail(code, message, **data): say(id=turn["id"], error=dict(code=code, message=message, data=data))
asked = read(); assert asked["params"]["protocolVersion"] == 1
assert asked["params"]["clientCapabilities"] == dict(fs=dict(readTextFile=False, writeTextFile=False), terminal=False, elicitation=dict(form=dict()))
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

/// Some programs write a mark of UTF-8 before their first line, which is no part of it.
#[tokio::test]
async fn a_byte_order_mark_costs_no_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = acp("x", "words('hello'); end(); read()", folder.path());
    edit(&mut what, |spec| {
        let script = spec.command.last_mut().expect("a script");
        *script =
            format!("import sys; sys.stdout.buffer.write(b'\\xef\\xbb\\xbf'); sys.stdout.flush()\n{script}");
    });
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("hello")));
}

#[tokio::test]
async fn a_conversation_goes_on_or_is_begun_anew_by_the_same_process() {
    let folder = tempfile::tempdir().expect("a folder");
    for (conversation, said) in
        [("c-1", "session/load: do it"), ("c-0", "session/new: the word is heron\n\ndo it")]
    {
        let mut what = acp("x", "words(opened['method'] + ': ' + prompt); end()", folder.path());
        what.conversation = Some(conversation.to_owned());
        what.past = Some("the word is heron".to_owned());
        let (outcome, signals, _) = run(what).await;
        assert_eq!(outcome.text.as_deref(), Some(said), "{outcome:?}");
        let lost = Signal::ConversationLost { why: "Internal error".to_owned() };
        assert_eq!(signals.contains(&lost), conversation == "c-0", "{signals:?}");
        assert_eq!(signals.iter().filter(|signal| matches!(signal, Signal::Spawned { .. })).count(), 1);
    }
}

/// Agents report the cost of the whole conversation: a session that continues it is charged for its own part alone.
#[tokio::test]
async fn what_a_conversation_cost_before_is_not_charged_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |amounts: &[f64]| {
        let told = amounts
            .iter()
            .map(|amount| format!("news('usage_update', cost=dict(amount={amount:?}, currency='USD')); "));
        told.collect::<String>()
    };
    let opens = "say(id=opened[\"id\"], result=";
    for (conversation, while_loaded, amounts, own) in [
        // As opencode does: it says nothing of it until the turn has cost something.
        (Some("c-1"), &[][..], &[2.5, 3.0][..], 1.0),
        (Some("c-1"), &[], &[], 0.0),
        // It says for itself what was before.
        (Some("c-1"), &[2.25], &[2.5, 3.0], 0.75),
        // A lower amount gives nothing back, and later increases count.
        (Some("c-1"), &[], &[1.5, 1.75], 0.25),
        // A conversation that is gone has cost nothing, nor has a new one.
        (Some("c-0"), &[], &[2.5, 3.0], 3.0),
        (None, &[], &[0.5, 1.0], 1.0),
    ] {
        let body =
            format!("{}words('done'); end(usage=dict(inputTokens=7, outputTokens=3)); read()", told(amounts));
        let mut what = acp("OpenCode", &body, folder.path());
        edit(&mut what, |spec| {
            let script = spec.command.last_mut().expect("a script");
            assert!(script.contains(opens));
            *script = script.replacen(opens, &format!("{}{opens}", told(while_loaded)), 1);
        });
        what.conversation = conversation.map(str::to_owned);
        what.conversed = Usage { input_tokens: 20, cost_usd: 2.0, ..Usage::default() };
        let (outcome, ..) = run(what).await;
        assert_eq!(outcome.category, Category::Success, "{outcome:?}");
        assert!((outcome.usage.cost_usd - own).abs() < 1e-9, "{conversation:?} {amounts:?}: {outcome:?}");
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
    assert_eq!(running.has_a_tool_open().await, "sleep");
    // A message would cancel the turn with some agents: it is not handed over.
    running.order(Order::Steer { work: WorkId(1), text: "and this".to_owned(), files: Vec::new() }).await;
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Interrupted, Vec::new()));
    let asked = std::fs::read_to_string(folder.path().join("asked")).expect("it was asked");
    assert_eq!(asked, "session/cancel");
    assert!(!running.signals.contains(&Signal::Steered { work: WorkId(1) }));
}

/// A tool runs until it is said that everything was ordered: it is not broken off. Then the turn is cut short.
const CUT: &str = "news('tool_call', toolCallId='t', title='sleep', status='pending')\n\
                   while not os.path.exists('ordered'): time.sleep(0.01)\n\
                   assert not select.select([sys.stdin], [], [], 0)[0], 'it was asked for something while its tool ran'\n\
                   news('tool_call_update', toolCallId='t', status='completed')\n\
                   assert read()['method'] == 'session/cancel'\n\
                   say(id=7, method='session/request_permission', params=dict(sessionId='c-1', toolCall=dict(title='x', kind='execute'), options=[dict(optionId='y', kind='allow_once')]))\n\
                   assert read()['result']['outcome']['outcome'] == 'cancelled'\n";

/// Delivers messages in the middle of a session: both arrive, with one cancelled turn.
async fn insists(name: &str, body: &str, folder: &Path) -> (Outcome, Running) {
    let mut what = acp(name, body, folder);
    edit(&mut what, |spec| spec.permissions = Permissions::Full);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.has_a_tool_open().await;
    running
        .order(Order::Insist { work: WorkId(1), text: "mind the gap".to_owned(), files: Vec::new() })
        .await;
    running
        .order(Order::Insist { work: WorkId(2), text: "and the door".to_owned(), files: Vec::new() })
        .await;
    running.has_taken_orders().await;
    std::fs::write(folder.join("ordered"), "").expect("it is said");
    let (outcome, survivors) = running.ended().await;
    assert_eq!(survivors, Vec::<u32>::new());
    (outcome, running)
}

fn steered(running: &Running) -> Vec<WorkId> {
    let works = running.signals.iter().filter_map(|signal| match signal {
        Signal::Steered { work } => Some(*work),
        _ => None,
    });
    works.collect()
}

#[tokio::test]
async fn what_cannot_wait_cuts_the_turn_short_and_begins_the_next() {
    let again = "turn = read(); words(turn['params']['prompt'][0]['text']); end(usage=dict(inputTokens=5, outputTokens=2)); read()";
    let table = [
        ("x", "end('cancelled', usage=dict(inputTokens=7, outputTokens=3))"),
        // These come back as if they had done their work, or had failed.
        ("OpenCode", "end(usage=dict(inputTokens=7, outputTokens=3))"),
        ("z", "end(usage=dict(inputTokens=7, outputTokens=3))"),
        ("y", "fail(-32603, 'Aborted')"),
    ];
    for (name, cut) in table {
        let folder = tempfile::tempdir().expect("a folder");
        let (outcome, running) = insists(name, &format!("{CUT}{cut}\n{again}"), folder.path()).await;
        assert_eq!(outcome.category, Category::Success, "{name}: {outcome:?}");
        assert_eq!(
            outcome.text.as_deref(),
            Some(
                "mind the gap\n\nand the door\n\n\
                 You were interrupted to be told this. Bear it in mind and go on with your work."
            )
        );
        assert_eq!(steered(&running), [WorkId(1), WorkId(2)], "{name}");
        let used = if name == "y" { (5, 2) } else { (12, 5) };
        assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), used, "{name}");
        assert!(running.not_taken.is_empty());
    }
}

#[tokio::test]
async fn a_turn_that_is_over_before_it_is_cut_short_ends_the_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "news('tool_call', toolCallId='t', title='sleep', status='pending')\n\
                while not os.path.exists('ordered'): time.sleep(0.01)\n\
                words('done'); end(); read()";
    let (outcome, running) = insists("x", body, folder.path()).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("done")));
    assert_eq!(steered(&running), [], "it waits for the next session");
}

#[tokio::test]
async fn an_agent_that_goes_on_although_its_turn_is_cancelled_is_told_in_another_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let deaf = "for n in range(5):\n    news('tool_call', toolCallId=str(n), title='ls', status='pending')\n    \
                news('tool_call_update', toolCallId=str(n), status='completed')\n\
                words('done'); end(); turn = read(); words(turn['params']['prompt'][0]['text']); end(); read()";
    let (outcome, running) = insists("x", &format!("{CUT}{deaf}"), folder.path()).await;
    assert_eq!(running.not_taken, [WorkId(1), WorkId(2)]);
    assert_eq!(steered(&running), []);
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert_eq!(outcome.text.as_deref(), Some("Go on with your work."), "its turn was cancelled after all");
}

#[tokio::test]
async fn an_agent_that_is_gone_before_it_said_anything_was_not_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (outcome, running) =
        insists("x", &format!("{CUT}end('cancelled'); read(); sys.exit(1)"), folder.path()).await;
    assert_eq!(outcome.category, Category::Crash, "{outcome:?}");
    assert_eq!(steered(&running), []);
}

#[tokio::test]
async fn where_it_was_not_seen_to_go_on_the_turn_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "@agentclientprotocol/codex-acp";
    let body = "news('tool_call', toolCallId='t', title='sleep', status='pending')\n\
                while not os.path.exists('ordered'): time.sleep(0.01)\n\
                words('done'); end('end_turn')";
    let mut running = Running::start(acp(name, body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.has_a_tool_open().await;
    running
        .order(Order::Insist { work: WorkId(1), text: "mind the gap".to_owned(), files: Vec::new() })
        .await;
    running.has_taken_orders().await;
    std::fs::write(folder.path().join("ordered"), "").expect("it is said");
    let (outcome, _) = running.ended().await;
    assert_eq!(outcome.category, Category::Success);
    assert_eq!((running.not_taken.as_slice(), steered(&running)), (&[WorkId(1)][..], Vec::new()));
}

#[tokio::test]
async fn a_question_waits_for_its_answer_unless_it_is_covered_and_harmless() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = |command: &str| {
        format!(
            "news('tool_call', toolCallId='t', title='bash', kind='execute', rawInput=dict(command='{command}'))\n\
             say(id=5, method='session/request_permission', params=dict(sessionId='c-1', toolCall=dict(toolCallId='t'), \
             options=[dict(optionId='y', kind='allow_once'), dict(optionId='n', kind='reject_once')]))\n\
             words(read()['result']['outcome']['optionId']); end()"
        )
    };
    let table = [
        (Permissions::WorkspaceWrite, "make", Some(true), "y"),
        (Permissions::WorkspaceWrite, "make", Some(false), "n"),
        (Permissions::Full, "make", None, "y"),
        (Permissions::Full, "rm -r x", Some(false), "n"),
    ];
    for (permissions, command, answer, expected) in table {
        let mut what = acp("x", &body(command), folder.path());
        edit(&mut what, |spec| spec.permissions = permissions);
        let (outcome, asked) = run_answering(what, answer.unwrap_or_default()).await;
        assert_eq!(outcome.text.as_deref(), Some(expected), "{outcome:?}");
        assert_eq!(!asked.is_empty(), answer.is_some(), "{permissions:?} {command}");
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
        // An ordinary end without a word and without a call, as Kimi Code's and gemini's for an answer that was blocked.
        ("x", "end()", Category::Transient),
        (
            "x",
            "end(_meta=dict(quota=dict(token_count=dict(input_tokens=9, output_tokens=0))))",
            Category::Transient,
        ),
        ("x", "sys.stderr.write('402 Payment Required\\n'); end()", Category::Billing),
        (
            "x",
            "news('agent_thought_chunk', content=dict(type='text', text='hm')); end()",
            Category::Transient,
        ),
        ("x", "news('tool_call', toolCallId='t', title='ls', status='completed'); end()", Category::Success),
        // An error that is said as if it were the answer, as Copilot CLI does.
        (
            "x",
            "words('Error: Authentication failed with provider \"x\" (HTTP 401)'); end(usage=dict(inputTokens=0, outputTokens=0))",
            Category::Auth,
        ),
        ("x", "words('Error: Authentication failed with provider \"x\" (HTTP 403)'); end()", Category::Auth),
        (
            "x",
            "words('**Error:** model y: status code 404'); end(usage=dict(inputTokens=0, outputTokens=0))",
            Category::Permanent,
        ),
        (
            "x",
            "words('Error: it broke'); end(usage=dict(inputTokens=0, outputTokens=0))",
            Category::Transient,
        ),
        ("x", "words('Error: it broke'); end()", Category::Success),
        (
            "x",
            "words('Info: Request failed due to a transient API error. Retrying...'); words('Error: Authentication failed with provider at http://127.0.0.1:8099/v1 (HTTP 401).'); end()",
            Category::Auth,
        ),
        // A model that has answered may speak of errors, and so may one that has done something.
        ("x", "words('HTTP 429 means too many requests.'); end()", Category::Success),
        (
            "x",
            "words('Error: HTTP 401 is what it says.'); end(usage=dict(inputTokens=9, outputTokens=9))",
            Category::Success,
        ),
        (
            "x",
            "news('tool_call', toolCallId='t', title='ls', status='completed'); words('Error: HTTP 401 is in the log.'); end()",
            Category::Success,
        ),
        // As fast-agent says it.
        ("x", "words('Error: unauthorized, status=401'); end('refusal')", Category::Auth),
        ("x", "words('Error code: 429 - slow down'); end('refusal')", Category::RateLimit),
        ("x", "words('I cannot help with that.'); end('refusal')", Category::Permanent),
        (
            "x",
            "fail(-32603, 'Forbidden: Country, region, or territory not supported (status 403)')",
            Category::Auth,
        ),
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

/// Whatever stands where an answer is due is shown as text.
#[tokio::test]
async fn pictures_links_files_and_plans_are_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let piece = |piece: &str| format!("news('agent_message_chunk', content=dict({piece})); end(); read()");
    let plan = "news('plan', entries=[dict(content='read', status='completed'), dict(content='write', status='pending')]); end(); read()";
    let table = [
        (piece("type='image', mimeType='image/png', data='AAAA'"), "[image/png: 1 kB]"),
        (
            piece("type='image', mimeType='image/png', uri='file:///x.png', data=''"),
            "[image/png: file:///x.png]",
        ),
        (
            piece("type='resource_link', name='report', uri='https://example.org/r'"),
            "report https://example.org/r",
        ),
        (piece("type='resource', resource=dict(uri='file:///a', text='all of it')"), "file:///a\nall of it"),
        (piece("type='resource', resource=dict(uri='file:///a', blob='AAAA')"), "[file: file:///a]"),
        (plan.to_owned(), "✓ read\n· write"),
    ];
    for (body, shown) in table {
        let (outcome, ..) = run(acp("x", &body, folder.path())).await;
        assert_eq!(outcome.category, Category::Success, "{body}: {outcome:?}");
        assert_eq!(outcome.text.as_deref().map(str::trim), Some(shown), "{body}");
    }
}

/// An agent that cannot open an earlier conversation is told its last messages each time.
#[tokio::test]
async fn an_agent_that_cannot_load_conversations_is_told_what_was_said_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = acp("x", "words(prompt); end()", folder.path());
    edit(&mut what, |spec| {
        let script = spec.command.last_mut().expect("a script");
        *script = script.replace("loadSession=True", "loadSession=False");
    });
    (what.conversation, what.past) = (Some("c-0".to_owned()), Some("the word is heron".to_owned()));
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.text.as_deref(), Some("the word is heron\n\ndo it"));
    assert!(!signals.iter().any(|signal| matches!(signal, Signal::ConversationLost { .. })), "{signals:?}");
}

/// A history that the model refuses is refused again; a bad parameter or a model that is not there is none.
#[tokio::test]
async fn a_refusal_of_the_history_is_told_from_others() {
    let folder = tempfile::tempdir().expect("a folder");
    for (said, history) in [
        ("messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: t1", true),
        ("Invalid 'input[3].call_id': string too long", true),
        ("No tool output found for function call call_1.", true),
        ("max_tokens: 999999 > 128000, which is the maximum allowed number of output tokens", false),
        ("model: no-such-model", false),
        ("temperature: range: 0..1", false),
    ] {
        let body = format!("fail(400, {said:?})");
        let (outcome, ..) = run(acp("x", &body, folder.path())).await;
        assert_eq!((outcome.category, outcome.history_refused), (Category::Permanent, history), "{said}");
    }
}

/// opencode asks again and again both when its stream breaks off and when its context window stays full.
#[tokio::test]
async fn a_context_that_stays_full_is_told_from_a_stream_that_breaks_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |count: usize, text: &str| {
        format!(
            "for n in range({count}): news('agent_message_chunk', messageId=str(n), content=dict(type='text', text={text}))\n"
        )
    };
    let again = format!("{}assert read()['method'] == 'session/cancel'\n", says(12, "'hm'"));
    let paid = "news('usage_update', cost=dict(amount=2.0, currency='USD')); ";
    let call = "news('tool_call', toolCallId='t', title='ls', status='completed')\n";
    let sums_up = "'## Objective\\n- x\\n\\n## Next Move\\n1. y' if n % 2 else 'hm'";
    let table = [
        (format!("{again}end('cancelled'); read()"), Category::Transient),
        (format!("{again}{paid}end('cancelled'); read()"), Category::ContextOverflow),
        (format!("{call}{again}{paid}end('cancelled'); read()"), Category::Transient),
        (format!("{again}{}read()", says(12, "'still'")), Category::Transient),
        (format!("{}read()", says(5, sums_up)), Category::ContextOverflow),
        (format!("{}end(); read()", says(3, sums_up)), Category::Success),
    ];
    for (body, category) in table {
        let (outcome, ..) = run(acp("OpenCode", &body, folder.path())).await;
        assert_eq!(outcome.category, category, "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_limit_is_why_it_was_silent_although_it_answers_that_its_turn_is_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit =
        "sys.stderr.write('status: 429 Too Many Requests\\n  at retry (cli.js:17)\\n'); sys.stderr.flush()";
    let table = [
        (format!("{limit}\nread(); end('cancelled'); read()"), Category::RateLimit),
        // It keeps what it says until it leaves.
        (format!("read(); end('cancelled')\n{limit}\nread()"), Category::RateLimit),
        ("read(); end('cancelled'); read()".to_owned(), Category::Hung),
    ];
    for (body, category) in table {
        let mut what = acp("gemini-cli", &body, folder.path());
        what.clocks.silence = Duration::from_millis(500);
        let (outcome, ..) = run(what).await;
        assert_eq!(outcome.category, category, "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn an_agent_that_stays_when_its_input_ends_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "words('done'); end()\nwhile True: time.sleep(1)";
    let mut what = acp("gemini-cli", body, folder.path());
    // Known not to leave: the whole grace is not waited for.
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
        outcome.detail.to_string().starts_with("the agent speaks version 2 of its protocol"),
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
