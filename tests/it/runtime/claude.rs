//! Runtime `claude` with scripted agents: short ones in Python, and those of the demo.

use super::*;

#[tokio::test]
async fn claude_succeeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let what =
        claude("init(); text('hello'); result('hello, ' + first['message']['content'])", folder.path());
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert_eq!(outcome.text.as_deref(), Some("hello, do it"));
    assert_eq!((outcome.turns, outcome.usage.cost_usd), (1, 0.5));
    assert!(signals.contains(&Signal::Ready { conversation: Some("c-1".to_owned()) }));
}

#[tokio::test]
async fn claude_takes_messages_in_mid_turn_and_the_last_result_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init(); m = read(); result('one'); init(); result('two: ' + m['message']['content'])";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running
        .order(Order::Steer { work: WorkId(9), text: "and \"this\"\n".to_owned(), files: Vec::new() })
        .await;
    running.until(|signal| *signal == Signal::Steered { work: WorkId(9) }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!(outcome.text.as_deref(), Some("two: and \"this\"\n"));
    assert_eq!(outcome.turns, 2);
}

/// A message in the queue of a CLI that never reads it was not delivered: it waits for the next session.
#[tokio::test]
async fn a_message_that_the_model_never_got_is_not_delivered() {
    let folder = tempfile::tempdir().expect("a folder");
    let body =
        "init(); text('half an ans'); m = read(); open('got', 'w').close(); text('wer'); time.sleep(1000)";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(9), text: "look left".to_owned(), files: Vec::new() }).await;
    crate::stage::appears(&folder.path().join("got")).await;
    running.order(Order::Stop).await;
    let (outcome, _) = running.ended().await;
    assert_eq!(outcome.category, Category::Interrupted);
    assert!(!running.signals.contains(&Signal::Steered { work: WorkId(9) }), "{:#?}", running.signals);
}

#[tokio::test]
async fn claude_is_interrupted_before_it_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init()\nr = read()\nopen('asked', 'w').write(r['request']['subtype'])\nresult('', subtype='error_during_execution', is_error=True, terminal_reason='aborted_streaming')\nread()";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Stop).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.exit), (Category::Interrupted, Some(Exit::Code(0))));
    assert_eq!(std::fs::read_to_string(folder.path().join("asked")).expect("it was asked"), "interrupt");
}

/// A clock that runs out in the last moment does not undo what was done.
#[tokio::test]
async fn a_turn_that_ends_well_when_it_is_interrupted_by_a_clock_has_ended_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = claude("init(); r = read(); result('written all the same')", folder.path());
    what.clocks.silence = Duration::from_millis(500);
    let (outcome, signals, _) = run(what).await;
    assert!(signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { .. })), "{signals:#?}");
    assert_eq!(
        (outcome.category, outcome.text.as_deref()),
        (Category::Success, Some("written all the same")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_result_without_an_exit_is_no_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ninit(); result('done')\nwhile True: time.sleep(1)";
    let mut what = claude(body, folder.path());
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.exit), (Category::Success, Some(Exit::Signal(9))));
}

#[tokio::test]
async fn a_failure_without_an_exit_is_what_its_result_says_once_the_grace_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    // The subtype is `success` on API errors.
    let body = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ninit()\n\
                result('Invalid API key', is_error=True, api_error_status=401)\nwhile True: time.sleep(1)";
    let mut what = claude(body, folder.path());
    what.clocks.grace = Duration::from_millis(700);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    let ready = std::time::Instant::now();
    let (outcome, survivors) = running.ended().await;
    assert_eq!((outcome.category, outcome.exit), (Category::Auth, Some(Exit::Signal(9))), "{outcome:?}");
    assert!(survivors.is_empty());
    assert!(
        ready.elapsed() >= Duration::from_millis(700),
        "it was not given its time: {:?}",
        ready.elapsed()
    );
    assert!(!running.signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { .. })));
}

#[tokio::test]
async fn a_process_that_leaves_within_the_grace_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init(); result('done'); time.sleep(0.5); open('left', 'w').close()";
    let (outcome, ..) = run(claude(body, folder.path())).await;
    assert_eq!((outcome.category, outcome.exit), (Category::Success, Some(Exit::Code(0))));
    assert!(folder.path().join("left").exists());
}

#[tokio::test]
async fn lines_that_are_no_json_cost_nothing_but_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let body =
        "print('warning: something', flush=True); print('{\"type\":7}'); print('[]'); init(); result('fine')";
    let (outcome, ..) = run(claude(body, folder.path())).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("fine")));
}

#[tokio::test]
async fn a_conversation_that_is_gone_is_begun_anew_in_the_same_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-lost", "--say", "new"], folder.path());
    (what.conversation, what.past) = (Some("c-0".to_owned()), Some("the word is heron".to_owned()));
    let mut running = Running::start(what);
    let first = running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::ConversationLost { .. })).await;
    let second = running.spawned().await;
    assert!(!lives(first) && lives(second), "one process at a time");
    running.order(Order::Go).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("new")));
    assert!(!running.signals.contains(&Signal::Ready { conversation: Some("c-0".to_owned()) }));
    let lost = |signal: &Signal| matches!(signal, Signal::ConversationLost { why } if why.contains("No conversation found"));
    assert_eq!(running.signals.iter().filter(|signal| lost(signal)).count(), 1, "{:?}", running.signals);
}

#[tokio::test]
async fn every_failing_script_is_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = [
        ("claude-ok", Category::Success, ""),
        ("claude-crash", Category::Crash, "exit code 1: panic: index out of range [7] with length 7"),
        ("claude-auth", Category::Auth, "Invalid API key · Fix external API key"),
        ("claude-billing", Category::Billing, "Credit balance is too low"),
        ("claude-budget", Category::Budget, "Reached maximum budget ($0.5)"),
        ("claude-max-turns", Category::MaxTurns, "Reached maximum number of turns (2)"),
        ("claude-server-error", Category::Transient, "API Error: 500 Internal server error."),
    ];
    for (script, category, detail) in table {
        let (outcome, ..) = run(agent(&[script], folder.path())).await;
        assert_eq!((outcome.category, outcome.detail.to_string().as_str()), (category, detail), "{script}");
    }
    let mut crash = agent(&["claude-obey"], folder.path());
    crash.prompt = "You are spark.\n\nplease crash now\n".to_owned();
    let (outcome, ..) = run(crash).await;
    assert_eq!(outcome.category, Category::Crash);
    assert_eq!(outcome.text.as_deref(), Some("I will start with the failing te"), "how far it got");
}

#[tokio::test]
async fn a_rate_limit_says_when_it_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = herder::clock::now();
    let (outcome, ..) = run(agent(&["claude-rate-limit", "--reset-in", "90"], folder.path())).await;
    assert_eq!(outcome.category, Category::Quota);
    let resets_at = outcome.resets_at.expect("it says when");
    let wait = resets_at.since(before);
    assert!((Duration::from_secs(85)..Duration::from_secs(120)).contains(&wait), "{wait:?}");
}

#[tokio::test]
async fn a_flood_of_lines_is_a_handful_of_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-flood", "--lines", "20000"], folder.path());
    edit(&mut what, |spec| spec.relay = Relay::All);
    let began = std::time::Instant::now();
    let (outcome, signals, words) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("20000 lines")));
    // A few at the beginning and the end, and a few each second, however slow the machine is.
    let most = 20 + 5 * (began.elapsed().as_secs() + 1);
    let reports = (signals.len() + words.len()) as u64;
    assert!(reports < most, "{} signals, {} words, {most}", signals.len(), words.len());
    assert!(words.iter().all(|words| words.len() < 40_000));
    assert!(words[0].starts_with("line 0 ") && words.last().is_some_and(|last| last.contains("line 19999 ")));
}

#[tokio::test]
async fn what_runs_can_be_seen_from_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(agent(&["claude-tool", "--seconds", "1000"], folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    let live = tokio::time::timeout(PATIENCE, running.driver.live.wait_for(|live| live.tool.is_some()));
    let live = live.await.expect("the tool call begins in time").expect("the driver runs").clone();
    assert_eq!(live.tool.as_deref(), Some("Bash"));
    assert_eq!((live.turns, live.usage.input_tokens), (2, 2400));
    assert!(live.last_event.is_some());
    running.order(Order::Stop).await;
    assert_eq!(running.ended().await.0.category, Category::Interrupted);
}

#[tokio::test]
async fn the_other_scripts_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = run(session(Runtime::Command, &[HERDER, "demo-agent", "echo"], folder.path())).await.0;
    assert_eq!((echo.category, echo.text.as_deref()), (Category::Success, Some("do it")));
    let exit =
        run(session(Runtime::Command, &[HERDER, "demo-agent", "exit", "--code", "3"], folder.path())).await.0;
    assert_eq!(
        (exit.category, exit.detail.to_string().as_str()),
        (Category::Crash, "exit code 3: leaving with code 3, as told")
    );
    let mut stays = agent(&["claude-no-exit"], folder.path());
    stays.clocks.grace = Duration::from_millis(200);
    let stays = run(stays).await.0;
    assert_eq!((stays.category, stays.exit), (Category::Success, Some(Exit::Signal(9))));
}

/// A message that came too late for a turn is another one, in which the CLI asks like in any other.
#[tokio::test]
async fn what_is_asked_in_a_turn_that_follows_a_result_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init(); m = read(); result('one'); init()\n\
                say(type='control_request', request_id='q-1', request=dict(subtype='can_use_tool', tool_name='Bash', input=dict(command='make')))\n\
                a = read(); result('two: ' + a['response']['response']['behavior'])\n\
                open('closed', 'w').write(str(read()))";
    let mut running = Running::start(claude(body, folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(9), text: "and this".to_owned(), files: Vec::new() }).await;
    let asked = running.until(|signal| matches!(signal, Signal::Asked { .. })).await;
    let Signal::Asked { key, .. } = asked else { unreachable!("waited for it") };
    running.order(Order::Answer { key, told: Told::Yes }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("two: allow")));
    let closed = std::fs::read_to_string(folder.path().join("closed")).expect("it left by itself");
    assert_eq!(closed, "None", "after the last result nothing more is said to it");
}

#[tokio::test]
async fn a_turn_that_should_follow_and_does_not_begin_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = claude("init(); m = read(); result('one'); read()", folder.path());
    what.clocks.grace = Duration::from_millis(300);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(9), text: "and this".to_owned(), files: Vec::new() }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.exit), (Category::Success, Some(Exit::Code(0))), "{outcome:?}");
    assert!(!running.signals.contains(&Signal::Steered { work: WorkId(9) }), "nobody has it");
}

#[tokio::test]
async fn a_turn_that_begins_after_a_result_has_all_of_its_own_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "init(); m = read(); result('one'); init(); time.sleep(1.2); result('two')";
    let mut what = claude(body, folder.path());
    what.clocks.grace = Duration::from_millis(300);
    let mut running = Running::start(what);
    running.spawned().await;
    running.order(Order::Go).await;
    running.until(|signal| matches!(signal, Signal::Ready { .. })).await;
    running.order(Order::Steer { work: WorkId(9), text: "and this".to_owned(), files: Vec::new() }).await;
    let (outcome, _) = running.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("two")));
}
