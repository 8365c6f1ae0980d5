//! The clocks, with real processes.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[tokio::test]
async fn silence_without_cpu_time_is_a_hang_and_work_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Command, &["sleep", "1000"], folder.path());
    what.clocks.silence = Duration::from_millis(600);
    what.clocks.beat = Duration::from_millis(100);
    let (outcome, signals, _) = run(what.clone()).await;
    assert_eq!(outcome.category, Category::Hung);
    let ran_out = signals.iter().find_map(|signal| match signal {
        Signal::ClockRanOut { clock, .. } => Some(*clock),
        _ => None,
    });
    assert_eq!(ran_out, Some(Clock::Silence));

    // On a busy machine it gets a small share of the CPU: it is enough.
    what.clocks.silence = Duration::from_secs(2);
    // It is looked at by the clock that it serves, however seldom the driver beats.
    what.clocks.beat = Duration::from_secs(5);
    let busy =
        "import time\nend = time.monotonic() + 3.5\nwhile time.monotonic() < end: pass\nprint('counted')";
    edit(&mut what, |spec| spec.command = ["python3", "-c", busy].map(str::to_owned).to_vec());
    let (outcome, ..) = run(what).await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("counted")));
}

#[tokio::test]
async fn cpu_time_without_any_event_is_evidence_for_three_times_the_silence_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what =
        session(Runtime::Command, &["sh", "-c", "cat > /dev/null; while :; do :; done"], folder.path());
    what.clocks.silence = Duration::from_secs(1);
    what.clocks.grace = Duration::from_millis(300);
    let began = tokio::time::Instant::now();
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    let ran_out = signals.iter().find_map(|signal| match signal {
        Signal::ClockRanOut { clock, evidence } => Some((*clock, evidence.to_string())),
        _ => None,
    });
    let evidence = "no event for 3s, no tool open, only CPU time was used".to_owned();
    assert_eq!(ran_out, Some((Clock::Silence, evidence)));
}

/// A file whose reader waits until this is dropped, as on a network mount whose server is gone.
pub(crate) struct Unreadable(std::process::Child);

impl Unreadable {
    pub(crate) fn file(file: &Path) -> Self {
        // The kernel asks who has the lease by a signal, and waits for three quarters of a minute.
        let holder = "import fcntl, os, signal, sys\n\
                      signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
                      held = os.open(sys.argv[1], os.O_RDWR)\n\
                      fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
                      print('held', flush=True)\n\
                      sys.stdin.read()";
        let mut child = std::process::Command::new("python3")
            .args(["-c", holder])
            .arg(file)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut said = [0; 5];
        let held = child.stdout.take().expect("a pipe").read_exact(&mut said);
        held.expect("this file system knows leases");
        Self(child)
    }
}

impl Drop for Unreadable {
    fn drop(&mut self) {
        // It may be gone already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn program(folder: &Path, text: &str) -> String {
    let program = folder.join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a file");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("it can be run");
    program.display().to_string()
}

/// One thread for all tasks, as if the others were busy.
#[tokio::test]
async fn a_program_that_cannot_be_read_holds_up_nobody_else_and_runs_when_it_can() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let program = program(folder.path(), "cat > /dev/null; echo at last");
    let unreadable = Unreadable::file(Path::new(&program));
    let trees = ProcessTrees::new().expect("this process can adopt");
    let mut hung = Running::start_in(session(Runtime::Command, &[&program], folder.path()), trees.clone());
    while hung.beats < 2 {
        assert_eq!(hung.report().await, Some(None), "it beats, and has nothing to tell");
    }
    let mut healthy = Running::start_in(
        session(Runtime::Command, &["sh", "-c", "cat > /dev/null; echo done"], other.path()),
        trees,
    );
    healthy.spawned().await;
    healthy.order(Order::Go).await;
    let (outcome, _) = healthy.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("done")));
    assert_eq!(hung.signals, [], "the other one was not waited for");
    let work = WorkId(7);
    hung.order(Order::Steer { work, text: "is this heard?".to_owned(), files: Vec::new() }).await;
    drop(unreadable);
    hung.spawned().await;
    hung.order(Order::Go).await;
    let (outcome, _) = hung.ended().await;
    assert_eq!((outcome.category, outcome.text.as_deref()), (Category::Success, Some("at last")));
    assert_eq!(hung.not_taken, [work], "what is said before it runs is given back");
}

#[tokio::test]
async fn a_start_that_hangs_is_given_up_when_it_is_told_to_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "echo never");
    let unreadable = Unreadable::file(Path::new(&program));
    let mut hung = Running::start(session(Runtime::Command, &[&program], folder.path()));
    while hung.beats == 0 {
        assert_eq!(hung.report().await, Some(None), "it beats, and has nothing to tell");
    }
    hung.order(Order::Stop).await;
    let (outcome, survivors) = hung.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Interrupted, Vec::new()));
    assert_eq!(hung.signals.len(), 1, "nothing ran: {:?}", hung.signals);
    drop(unreadable);
}

#[tokio::test]
async fn a_start_that_comes_to_something_after_it_was_told_to_stop_ends_like_any_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "sleep 1000");
    let unreadable = Unreadable::file(Path::new(&program));
    let mut hung = Running::start(session(Runtime::Command, &[&program], folder.path()));
    while hung.beats == 0 {
        assert_eq!(hung.report().await, Some(None), "it beats, and has nothing to tell");
    }
    hung.order(Order::Stop).await;
    drop(unreadable);
    let (outcome, survivors) = hung.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Interrupted, Vec::new()));
    assert!(hung.members().await.is_empty(), "nothing of it stays");
}

#[tokio::test]
async fn a_program_that_can_be_read_too_late_is_ended_as_soon_as_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let began = folder.path().join("began");
    let program = program(folder.path(), &format!("trap '' TERM; : > '{}'; sleep 1000", began.display()));
    let unreadable = Unreadable::file(Path::new(&program));
    // Started directly: a shell that waits in a program's place is never held up.
    let mut what = session(Runtime::Claude, &[&program], folder.path());
    what.clocks.startup = Duration::from_millis(300);
    let mut late = Running::start(what);
    let (outcome, survivors) = late.ended().await;
    assert_eq!((outcome.category, survivors), (Category::Permanent, Vec::new()));
    assert!(outcome.detail.to_string().starts_with("it could not be started in time"), "{}", outcome.detail);
    // The thread that starts it is no longer held up by the kernel when it runs; what it has started then lives no longer than
    // it takes to end it.
    let held_up = || {
        let threads = std::fs::read_dir("/proc/self/task").expect("this process").flatten();
        let stats = threads.filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
        stats.filter(|stat| stat.contains("(start) D")).count()
    };
    let gone = async {
        while held_up() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(unreadable);
        while held_up() > 0 || !late.members().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("nothing of it stays");
}

#[tokio::test]
async fn a_session_that_takes_too_long_is_a_task_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what =
        session(Runtime::Command, &["sh", "-c", "while :; do echo on; sleep 0.05; done"], folder.path());
    edit(&mut what, |spec| spec.max_task_duration = Some(Duration::from_millis(400)));
    let (outcome, ..) = run(what).await;
    assert_eq!(outcome.category, Category::TaskTimeout);
    assert!(outcome.detail.to_string().starts_with("the session takes"), "{}", outcome.detail);
    assert!(outcome.text.is_some_and(|text| text.starts_with("on\non\n")), "partial output is kept");
}

#[tokio::test]
async fn a_hung_model_call_is_told_before_it_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-hang"], folder.path());
    what.clocks.silence = Duration::from_millis(500);
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    let place = |is: fn(&Signal) -> bool| signals.iter().position(is).expect("it was told");
    let told = place(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Silence, .. }));
    assert!(told < place(|signal| matches!(signal, Signal::Ended { .. })));
    assert!(outcome.detail.to_string().starts_with("no event for 1s, "), "{}", outcome.detail);
}

#[tokio::test]
async fn a_process_that_says_nothing_runs_out_of_its_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = session(Runtime::Claude, &["sh", "-c", "cat > /dev/null; sleep 1000", "-"], folder.path());
    what.clocks.startup = Duration::from_millis(300);
    what.clocks.grace = Duration::from_millis(300);
    let (outcome, signals, _) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    assert!(signals.iter().any(|signal| matches!(signal, Signal::ClockRanOut { clock: Clock::Startup, .. })));
}

#[tokio::test]
async fn a_tool_call_beyond_its_limit_is_interrupted_and_a_longer_silence_within_it_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut what = agent(&["claude-tool", "--seconds", "1.2"], folder.path());
    what.clocks.silence = Duration::from_millis(300);
    what.clocks.beat = Duration::from_millis(100);
    let (outcome, ..) = run(what.clone()).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    what.clocks.tool = Duration::from_millis(600);
    let (outcome, ..) = run(what).await;
    assert_eq!(outcome.category, Category::Hung);
    assert!(outcome.detail.to_string().starts_with("tool Bash open for 1s"), "{}", outcome.detail);
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "the interrupt was enough");
}

#[tokio::test(start_paused = true)]
async fn a_healthy_tool_call_of_25_minutes_is_never_killed_and_beats_all_the_while() {
    let folder = tempfile::tempdir().expect("a folder");
    // The tool call ends when the test says so, on the standard input that steering writes to.
    let body = "init(); say(type='assistant', message=dict(id='m0', model='m', content=[dict(type='tool_use', id='t', name='Bash')]))\n\
                read(); say(type='user', message=dict(role='user', content=[dict(type='tool_result', tool_use_id='t')])); text('ok'); result('ok')";
    let mut what = claude(body, folder.path());
    let minutes = |n: u64| Duration::from_secs(60 * n);
    what.clocks = Clocks {
        startup: minutes(1),
        silence: minutes(5),
        tool: minutes(30),
        task: minutes(30),
        grace: Duration::from_secs(10),
        beat: Duration::from_secs(5),
    };
    let Driver { orders, mut reports, mut live, .. } =
        launch(what, local(), ProcessTrees::new().expect("this process can adopt"));
    // With time paused nothing but the test moves it, as long as a blocking task is under way.
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let blocking = tokio::task::spawn_blocking(move || wait.recv());
    orders.send(Order::Go).await.expect("the driver listens");
    live.wait_for(|live| live.tool.is_some()).await.expect("the tool call begins");
    let mut beats = 0;
    for _ in 0..(25 * 12) {
        for _ in 0..10 {
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        loop {
            match reports.recv().await.expect("the driver runs") {
                Report::Beat => break beats += 1,
                Report::Signal(Signal::ClockRanOut { clock, evidence }) => panic!("{clock:?}: {evidence}"),
                Report::Signal(_) | Report::Words(_) | Report::NotTaken { .. } => {}
            }
        }
    }
    assert_eq!(beats, 25 * 12);
    orders
        .send(Order::Steer { work: WorkId(1), text: "go on".to_owned(), files: Vec::new() })
        .await
        .expect("the driver listens");
    let ended = loop {
        match reports.recv().await.expect("the end is reported") {
            Report::Signal(Signal::Ended { outcome, .. }) => break outcome,
            Report::Beat | Report::Words(_) | Report::Signal(_) | Report::NotTaken { .. } => {}
        }
    };
    assert_eq!(ended.category, Category::Success, "{ended:?}");
    drop(done);
    assert!(blocking.await.is_ok());
}
