//! Runtime `codex` with scripted app servers in a few lines of Python.

use super::*;

/// A scripted server: `body` runs once the turn is asked for.
pub(super) fn codex(body: &str, workspace: &Path) -> Launch {
    let script = format!(
        r#"
import json, sys, os, time, subprocess
def say(**line): print(json.dumps(line), flush=True)
def note(method, **params): say(method=method, params=dict(threadId="c-1", turnId="t-1") | params)
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
def item(kind, phase="completed", **more): note("item/" + phase, item=dict(type=kind, id="i-1") | more)
def done(status="completed", **more): note("turn/completed", turn=dict(id="t-1", status=status) | more)
def failed(info, message="x"): done("failed", error=dict(message=message, codexErrorInfo=info))
def opened():
    asked = read(); assert asked["method"] == "initialize"; say(id=asked["id"], result={{}})
    assert read()["method"] == "initialized"
    thread = read()
    while thread["method"] == "thread/resume" and thread["params"]["threadId"] != "c-1":
        say(id=thread["id"], error=dict(code=-32600, message="no rollout found")); thread = read()
    say(id=thread["id"], result=dict(thread=dict(id="c-1")))
    turn = read(); assert turn["method"] == "turn/start"
    say(id=turn["id"], result=dict(turn=dict(id="t-1", status="inProgress")))
    note("turn/started", turn=dict(id="t-1"))
    return thread, turn["params"]["input"][0]["text"]
thread, prompt = opened()
{body}
"#
    );
    program(&script, workspace)
}

/// A program of its own: what herder adds to the command line is not for Python.
fn program(script: &str, workspace: &Path) -> Launch {
    use std::os::unix::fs::PermissionsExt as _;
    let path = workspace.join("codex");
    std::fs::write(&path, format!("#!/usr/bin/env python3\n{script}")).expect("the script is written");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, executable).expect("it becomes a program");
    session(Runtime::Codex, &[path.to_str().expect("a path in UTF-8")], workspace)
}

#[tokio::test]
async fn codex_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "item('agentMessage', text='hello, ' + prompt)\n\
                note('thread/tokenUsage/updated', tokenUsage=dict(total=dict(inputTokens=7, outputTokens=3), last=dict(inputTokens=7, outputTokens=3)))\n\
                done(); read()";
    let (outcome, signals, _) = run(codex(body, folder.path())).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert_eq!(outcome.text.as_deref(), Some("hello, do it"));
    assert_eq!((outcome.turns, outcome.usage.input_tokens, outcome.exit), (1, 7, Some(Exit::Code(0))));
    assert!(signals.contains(&Signal::Ready { conversation: Some("c-1".to_owned()) }));
}

#[tokio::test]
async fn a_gone_conversation_is_begun_anew_by_the_same_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what =
        codex("item('agentMessage', text=thread['method'] + ': ' + prompt); done()", folder.path());
    (what.conversation, what.past) = (Some("c-0".to_owned()), Some("the word is heron".to_owned()));
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.text.as_deref(), Some("thread/start: the word is heron\n\ndo it"));
    assert!(
        signals.contains(&Signal::ConversationLost { why: "no rollout found".to_owned() }),
        "{signals:?}"
    );
    assert_eq!(signals.iter().filter(|signal| matches!(signal, Signal::Spawned { .. })).count(), 1);
}

#[tokio::test]
async fn a_message_is_delivered_when_the_server_took_it_and_not_when_it_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "steer = read(); say(id=steer['id'], error=dict(code=-32600, message='not now'))\n\
                steer = read(); say(id=steer['id'], result=dict(turnId='t-1'))\n\
                item('agentMessage', text=steer['params']['input'][0]['text']); done()";
    let mut running = Running::start(codex(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(1), text: "first".to_owned(), files: Vec::new() }).await;
    running.order(Order::Steer { work: WorkId(2), text: "second".to_owned(), files: Vec::new() }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("second")));
    assert!(running.signals.contains(&Signal::Steered { work: WorkId(2) }));
    assert!(!running.signals.contains(&Signal::Steered { work: WorkId(1) }));
}

#[tokio::test]
async fn an_interrupt_leaves_nothing_running_not_even_the_shell_it_forgets() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "subprocess.Popen(['setsid', 'sleep', '1000']); item('commandExecution', 'started')\n\
                stop = read(); open('asked', 'w').write(stop['method'] + ' ' + stop['params']['turnId'])\n\
                say(id=stop['id'], result={}); done('interrupted')";
    let mut running = Running::start(codex(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    let mut live = running.driver.live.clone();
    let open = tokio::time::timeout(PATIENCE, live.wait_for(|live| live.tool.is_some()));
    assert_eq!(open.await.expect("in time").expect("it runs").tool.as_deref(), Some("shell"));
    running.order(Order::Stop).await;
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Interrupted, Vec::new()));
    let asked = std::fs::read_to_string(folder.path().join("asked")).expect("it was asked");
    assert_eq!(asked, "turn/interrupt t-1");
}

#[tokio::test]
async fn every_question_waits_for_its_answer_and_no_clock_runs_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "answers = []\n\
                for n in range(3):\n    \
                    say(id=n, method='item/commandExecution/requestApproval', params=dict(command='make %d' % n))\n    \
                    answers.append(read()['result']['decision'])\n\
                item('agentMessage', text=' '.join(answers)); done()";
    for (allow, answers) in [(true, "accept accept accept"), (false, "decline decline decline")] {
        let (outcome, asked) = run_answering(codex(body, folder.path()), allow).await;
        assert_eq!(outcome.text.as_deref(), Some(answers), "{outcome:?}");
        assert_eq!(asked, ["make 0", "make 1", "make 2"]);
    }
    // Far longer than the session may be silent, or take, while a person thinks.
    let mut what = codex(body, folder.path());
    what.clocks.silence = Duration::from_millis(300);
    what.clocks.beat = Duration::from_millis(100);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    let mut asked = 0;
    let outcome = loop {
        match running.signal().await.expect("it ends with its outcome") {
            Signal::Asked { key, .. } => {
                let beats = running.beats;
                asked += 1;
                while asked == 1 && running.beats < beats + 10 {
                    let report = tokio::time::timeout(PATIENCE, running.driver.reports.recv()).await;
                    match report.expect("it beats on").expect("it lives") {
                        Report::Beat => running.beats += 1,
                        Report::Signal(signal) => panic!("nothing happens while it waits: {signal:?}"),
                        Report::Words(_) | Report::NotTaken { .. } => {}
                    }
                }
                running.order(Order::Answer { key, told: Told::Yes }).await;
            }
            Signal::Ended { outcome, .. } => break outcome,
            _ => {}
        }
    };
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
}

#[tokio::test]
async fn failures_are_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = "note('account/rateLimits/updated', rateLimits=dict(primary=dict(usedPercent=100, resetsAt=1795252674)))\n\
                  failed('usageLimitExceeded')";
    let table = [
        ("failed({'httpConnectionFailed': {'httpStatusCode': 401}})", Category::Auth),
        ("failed('contextWindowExceeded')", Category::ContextOverflow),
        ("failed({'new': 1})", Category::Transient),
        (limits, Category::Quota),
        ("sys.stderr.write('Missing environment variable: `KEY`.\\n'); sys.exit(1)", Category::Auth),
        ("sys.exit(2)", Category::DoNotRestart),
        ("sys.exit(7)", Category::Crash),
        ("sys.exit(0)", Category::Crash),
        ("os.kill(os.getpid(), 9)", Category::Crash),
    ];
    for (body, category) in table {
        let (outcome, ..) = run(codex(body, folder.path())).await;
        assert_eq!(outcome.category, category, "{body}: {outcome:?}");
        let resets_at = outcome.resets_at.map(|at| at.as_millis() / 1000);
        assert_eq!(resets_at, (category == Category::Quota).then_some(1_795_252_674), "{body}");
    }
}

#[tokio::test]
async fn a_limit_that_is_slept_through_is_a_limit_and_other_silence_is_a_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let retry = |status: &str| {
        format!(
            "note('error', error=dict(message='Reconnecting... 1/5', codexErrorInfo=dict(responseStreamDisconnected=dict(httpStatusCode={status})), additionalDetails='429 or so'), willRetry=True)\n\
             stop = read(); say(id=stop['id'], result={{}}); done('interrupted')"
        )
    };
    for (status, category) in [("429", Category::RateLimit), ("None", Category::Hung)] {
        let mut what = codex(&retry(status), folder.path());
        what.clocks.silence = Duration::from_secs(1);
        let (outcome, signals, _) = run(what).await;
        assert_eq!(outcome.category, category, "{outcome:?}");
        assert!(
            signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Silence, .. }))
        );
    }
}

/// The limit of the task's time may be what runs out first; who has just begun to wait has used up its time all the same.
#[tokio::test]
async fn a_limit_that_is_slept_through_until_the_tasks_time_is_over_is_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let retry = "def again(): note('error', error=dict(message='Reconnecting... 1/5', codexErrorInfo=dict(responseStreamDisconnected=dict(httpStatusCode=429)), additionalDetails='429 or so'), willRetry=True)\n";
    let end = "stop = read(); say(id=stop['id'], result={}); done('interrupted')";
    let busy = "import threading\ndef on():\n  while True: again(); time.sleep(0.05)\nthreading.Thread(target=on, daemon=True).start()\n";
    for (body, category) in [("again()\n", Category::RateLimit), (busy, Category::TaskTimeout)] {
        let mut what = codex(&format!("{retry}{body}{end}"), folder.path());
        edit(&mut what, |spec| spec.max_task_duration = Some(Duration::from_secs(4)));
        let (outcome, signals, _) = run(what).await;
        assert_eq!(outcome.category, category, "{outcome:?}");
        assert!(
            signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Task, .. }))
        );
    }
}

#[tokio::test]
async fn a_server_of_another_protocol_is_a_permanent_failure_with_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "import json,sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    if 'id' in asked: print(json.dumps(dict(id=asked['id'], result={})), flush=True)";
    let (outcome, ..) = run(program(script, folder.path())).await;
    assert_eq!(outcome.category, Category::Permanent);
    assert!(outcome.detail.to_string().starts_with("the agent opened no conversation"), "{}", outcome.detail);
}
