//! Runtime `command`: the ends of its sessions, and the environment and input of a child.

use super::*;

async fn shell(script: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    run(session(Runtime::Command, &["sh", "-c", script], folder.path())).await.0
}

#[tokio::test]
async fn a_command_that_succeeds_is_a_success_with_its_output() {
    let outcome = shell("cat; echo done >&2").await;
    assert_eq!(outcome.category, Category::Success);
    assert_eq!(outcome.text.as_deref(), Some("do it"));
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_command_that_fails_is_a_crash_with_its_last_words() {
    let outcome = shell("echo first >&2; echo out of cheese >&2; exit 7").await;
    assert_eq!(outcome.category, Category::Crash);
    assert_eq!(outcome.detail.to_string(), "exit code 7: out of cheese");
    assert_eq!(outcome.exit, Some(Exit::Code(7)));
    let outcome = shell("kill -9 $$").await;
    assert_eq!((outcome.category, outcome.exit), (Category::Crash, Some(Exit::Signal(9))));
    assert_eq!(outcome.detail.to_string(), "ended by signal 9");
    assert_eq!(shell("exit 2").await.category, Category::DoNotRestart);
}

/// Plain words on standard output are no line of a protocol, and may be all there is.
#[tokio::test]
async fn whatever_the_runtime_the_reason_for_leaving_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = "printf '%s\\n' 'throw err' '^' '' 'Error: no key' '    at f (/x.js:1:2)' '' 'Node.js v20.20.2' >&2; exit 1";
    for runtime in [Runtime::Claude, Runtime::Codex, Runtime::Acp, Runtime::Command] {
        for (script, expected) in [
            (
                "echo x-cli is no longer maintained; exit 0",
                "the process left without a result: x-cli is no longer maintained",
            ),
            ("echo log in first; exit 3", "exit code 3: log in first"),
            ("echo log in first; echo no key >&2; exit 3", "exit code 3: no key"),
            (node, "exit code 1: Error: no key"),
        ] {
            let script = if runtime == Runtime::Command {
                script.replace("exit 0", "exit 1")
            } else {
                script.to_owned()
            };
            let expected = if runtime == Runtime::Command {
                expected.replace("the process left without a result", "exit code 1")
            } else {
                expected.to_owned()
            };
            let (outcome, ..) = run(session(runtime, &["sh", "-c", &script], folder.path())).await;
            assert_eq!(
                (outcome.category, outcome.detail.to_string()),
                (Category::Crash, expected),
                "{runtime:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_program_says_that_never_comes_up_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo Open https://example.org/login to log in; exec sleep 600";
    let mut what = session(Runtime::Acp, &["sh", "-c", script], folder.path());
    what.clocks.startup = Duration::from_secs(1);
    let (outcome, ..) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    let said = outcome.detail.to_string();
    assert!(said.ends_with(": Open https://example.org/login to log in"), "{said}");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = async |what| {
        let mut running = Running::start(what);
        let outcome = running.ended().await.0;
        assert_eq!(running.signals.len(), 1, "nothing was spawned");
        assert_eq!(outcome.category, Category::Permanent);
        outcome.detail.to_string()
    };
    let mut nowhere = session(Runtime::Command, &["true"], Path::new("/nonexistent/workspace"));
    assert!(ended(nowhere.clone()).await.contains("/nonexistent/workspace"));
    edit(&mut nowhere, |spec| {
        spec.workspace = folder.path().to_owned();
        spec.command = vec!["no-such-program".to_owned()];
    });
    assert!(ended(nowhere.clone()).await.starts_with("no-such-program is not installed"));
    edit(&mut nowhere, |spec| spec.command.clear());
    assert!(ended(nowhere).await.contains("has no command"));
    let unreadable = session(Runtime::Command, &["/etc/passwd"], folder.path());
    assert!(ended(unreadable).await.starts_with("/etc/passwd cannot be started"));
}

#[tokio::test]
async fn nothing_is_given_to_the_process_before_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(session(Runtime::Command, &["sh", "-c", "cat > got"], folder.path()));
    let root = running.spawned().await;
    // The driver beats several times while it waits; by then a prompt would have been written.
    while running.beats < 3 {
        match running.driver.reports.recv().await {
            Some(Report::Beat) => running.beats += 1,
            other => panic!("only heartbeats come before Go, not {other:?}"),
        }
    }
    assert!(lives(root));
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap_or_default(), "");
    running.order(Order::Go).await;
    assert_eq!(running.ended().await.0.category, Category::Success);
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).expect("it was written"), "do it\n");
}

#[tokio::test]
async fn a_prompt_can_be_an_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["printf", "%s|", "a {prompt} b", "$(id)"], folder.path());
    edit(&mut what, |spec| spec.prompt = PromptMode::Arg);
    what.prompt = "x; rm -rf \"$HOME\" {prompt}".to_owned();
    let outcome = run(what).await.0;
    assert_eq!(outcome.text.as_deref(), Some("a x; rm -rf \"$HOME\" {prompt} b|$(id)|"));
}

#[tokio::test]
async fn patterns_say_what_a_line_on_stderr_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo 'usage limit reached, sorry' >&2; echo bye >&2; exit 1";
    let mut what = session(Runtime::Command, &["sh", "-c", script], folder.path());
    edit(&mut what, |spec| {
        spec.patterns = vec![
            Pattern { matches: "(".to_owned(), category: Category::Auth },
            Pattern { matches: "usage limit".to_owned(), category: Category::Quota },
        ];
    });
    let outcome = run(what).await.0;
    assert_eq!(
        (outcome.category, outcome.detail.to_string().as_str()),
        (Category::Quota, "usage limit reached, sorry")
    );
}

#[tokio::test]
async fn a_prompt_that_is_an_argument_never_becomes_an_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(
        Runtime::Command,
        &["printf", "%s|", "{prompt}", "a {prompt}", "--say={prompt}"],
        folder.path(),
    );
    edit(&mut what, |spec| spec.prompt = PromptMode::Arg);
    what.prompt = "--output=/etc/x".to_owned();
    let outcome = run(what).await.0;
    assert_eq!(outcome.text.as_deref(), Some(" --output=/etc/x|a --output=/etc/x|--say=--output=/etc/x|"));
}

#[tokio::test]
async fn no_pattern_outvotes_a_program_that_asks_not_to_be_restarted_or_a_signal() {
    let folder = tempfile::tempdir().expect("a folder");
    for (end, category) in
        [("exit 7", Category::RateLimit), ("exit 2", Category::DoNotRestart), ("kill -9 $$", Category::Crash)]
    {
        let script = format!("echo 'rate limit, trying again' >&2; echo well >&2; {end}");
        let mut what = session(Runtime::Command, &["sh", "-c", &script], folder.path());
        edit(&mut what, |spec| {
            spec.patterns = vec![Pattern { matches: "rate limit".to_owned(), category: Category::RateLimit }];
        });
        assert_eq!(run(what).await.0.category, category, "{end}");
    }
}

/// A server that leaves in good order when it is told to has not done its work, unless it says so.
#[tokio::test]
async fn a_program_that_leaves_well_because_it_was_told_to_has_not_finished() {
    let leaves = "touch begun; while :; do sleep 0.1; done";
    let says = "trap 'echo \"{\\\"type\\\":\\\"item.completed\\\",\\\"item\\\":{\\\"type\\\":\\\"agent_message\\\",\\\"text\\\":\\\"done\\\"}}\"; echo \"{\\\"type\\\":\\\"turn.completed\\\"}\"; exit 0' TERM";
    for (trap, output, go, category) in [
        ("trap 'exit 0' TERM", Output::Text, true, Category::Interrupted),
        ("trap 'exit 0' TERM", Output::Text, false, Category::Interrupted),
        (says, Output::Text, true, Category::Interrupted),
        (says, Output::Codex, true, Category::Success),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut what = session(Runtime::Command, &["sh", "-c", &format!("{trap}; {leaves}")], folder.path());
        edit(&mut what, |spec| spec.output = output);
        let mut running = Running::start(what);
        running.spawned().await;
        if go {
            running.order(Order::Go).await;
            crate::stage::appears(&folder.path().join("begun")).await;
        }
        running.order(Order::Stop).await;
        let (outcome, _) = running.ended().await;
        assert_eq!(
            (outcome.category, outcome.exit),
            (category, Some(if go { Exit::Code(0) } else { Exit::Signal(15) })),
            "{trap} {output:?} {go}"
        );
    }
}

#[tokio::test]
async fn a_child_gets_what_is_allowed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["env"], folder.path());
    let environment = BTreeMap::from(
        [
            ("PATH", "/usr/bin:/bin"),
            ("DISCORD_TOKEN", "secret-1"),
            ("IRC_PASSWORD", "secret-2"),
            ("HERDER_WEB_TOKEN", "secret-3"),
            ("OPENAI_API_KEY", "wanted"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    edit(&mut what, |spec| {
        spec.inherit_env =
            ["PATH", "OPENAI_API_KEY", "HERDER_WEB_TOKEN", "DISCORD_TOKEN"].map(str::to_owned).to_vec();
        spec.env.insert("RUST_LOG".to_owned(), "warn".to_owned());
    });
    let marker = what.marker.clone();
    let local = Local { environment, ..Local::default() };
    let text = run_with((what, local)).await.0.text.expect("env prints");
    assert!(!text.contains("secret"), "{text}");
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    let own: Vec<_> = names.into_iter().filter(|name| !name.starts_with("GIT_")).collect();
    assert_eq!(own, ["HERDER_AGENT", "HERDER_SESSION", "OPENAI_API_KEY", "PATH", "RUST_LOG"]);
    assert!(text.contains(&format!("HERDER_SESSION={marker}")));
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nobody() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' >&2; i=$((i+1)); done; echo fine";
    let outcome = shell(script).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("fine")));
}

/// A program that tells of no turns and does the same thing again and again is caught while it runs, by what it prints.
#[tokio::test]
async fn a_program_that_goes_round_in_circles_is_seen_within_its_one_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "while :; do echo 'I run the tests once more and see.'; echo 'error[E0308]: mismatched types in src/main.rs'; sleep 3.2; done";
    let mut running = Running::start(session(Runtime::Command, &["sh", "-c", script], folder.path()));
    running.spawned().await;
    running.order(Order::Go).await;
    let mut turns = Vec::new();
    while herder::core::detector::find(&turns).is_none() {
        let observed = running.until(|signal| matches!(signal, Signal::Observed { .. })).await;
        let Signal::Observed { turn } = observed else { unreachable!("waited for it") };
        assert!(turn.words.contains("mismatched types") && turn.took_ms >= 3000, "{turn:?}");
        turns.push(*turn);
    }
    assert!(turns.len() <= 4, "{turns:?}");
    running.order(Order::Stop).await;
    assert_eq!(running.ended().await.0.category, Category::Interrupted);
}

/// An exec that fails after the hand-over is reported like a start that fails.
#[tokio::test]
async fn a_program_that_cannot_be_started_after_all_is_said_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("agent");
    std::fs::write(&program, "#!/no/such/interpreter\n").expect("it is written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let program = program.to_str().expect("a plain path");
    let (outcome, ..) = run(session(Runtime::Command, &[program], folder.path())).await;
    assert_eq!(outcome.category, Category::Permanent, "{outcome:?}");
    assert!(outcome.detail.to_string().starts_with(&format!("{program} cannot be started")), "{outcome:?}");
}

/// The shell that waits in the program's place leaves nothing of its own to it.
#[tokio::test]
async fn a_program_has_its_own_environment_and_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["env", "-0"], folder.path());
    edit(&mut what, |spec| {
        spec.env.insert("TEXT".to_owned(), "a\nb $(id) 'c'".to_owned());
    });
    let text = run_with((what.clone(), Local::default())).await.0.text.expect("it prints");
    let mut names: Vec<&str> = text.split('\0').filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    let known = ["HERDER_AGENT", "HERDER_SESSION", "TEXT"];
    let rest: Vec<&&str> =
        names.iter().filter(|name| !known.contains(name) && !name.starts_with("GIT_")).collect();
    assert_eq!(rest, Vec::<&&str>::new(), "{text}");
    assert!(text.contains("TEXT=a\nb $(id) 'c'\0"), "{text}");
    edit(&mut what, |spec| {
        spec.env.insert("PWD".to_owned(), "/elsewhere".to_owned());
        spec.command = ["printf", "%s|", "-n", "", "a b", "*", "$HOME"].map(str::to_owned).to_vec();
    });
    let printed = run_with((what, Local::default())).await.0.text;
    assert_eq!(printed.as_deref(), Some("-n||a b|*|$HOME|"));
}

/// Work that is longer than a pipe holds reaches the program whole.
#[tokio::test]
async fn long_work_is_handed_over_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["sh", "-c", "wc -c"], folder.path());
    what.prompt = "x".repeat(3 * 1024 * 1024);
    assert_eq!(run(what).await.0.text.as_deref(), Some("3145729"));
}
