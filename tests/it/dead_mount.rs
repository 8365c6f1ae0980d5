//! A workspace on a file system that never answers, as a network mount whose server is gone: requests about it, the
//! other agents, and the people who command them are not blocked. The real binary, on a mount without a server.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use herder::local::{self, Answer, Request};

use crate::going_down::{apart, ends_in_time};
use crate::kill::Running;
use crate::stage::{PATIENCE, appears};

/// Creates a mount on which every access waits until herder gives up.
const DEAD: &str = r#"
exec 3<>/dev/fuse && mkdir "$HERDER_TEST_GOING_DOWN/dead" &&
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 dead "$HERDER_TEST_GOING_DOWN/dead""#;

/// The longest wait; an unbounded one never ends.
const BOUND: Duration = Duration::from_secs(60);

async fn ask(dir: &Path, command: &str, args: &[&str]) -> Answer {
    let request =
        Request { command: command.to_owned(), args: args.iter().map(|arg| (*arg).to_owned()).collect() };
    let socket = dir.join("data").join(local::FILE_NAME);
    let asked = tokio::time::timeout(BOUND, local::ask(&socket, &request)).await;
    let log = || std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    let answered = asked.unwrap_or_else(|_| panic!("{command} {args:?} is not answered: {}", log()));
    answered.unwrap_or_else(|error| panic!("{command} {args:?}: {error}: {}", log()))
}

#[test]
fn a_folder_that_never_answers_keeps_nobody() {
    let device = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    device.expect("a mount that nobody serves needs /dev/fuse (`modprobe fuse`), to be read and written by whoever tests");
    apart("dead_mount::a_folder_that_never_answers_keeps_nobody", DEAD, |dir| async move {
        let (config, dead) = (dir.join("bot.toml"), dir.join("dead"));
        let agent = |name: &str, folder: &Path| {
            format!(
                "[[agent]]\nname = \"{name}\"\nruntime = \"command\"\nworkspace = {folder:?}\ncommand = [\"cat\"]\n"
            )
        };
        let text = format!(
            "data_dir = \"data\"\ndrain_timeout = \"2s\"\n{}{}",
            agent("spark", &dead),
            agent("flint", &dir)
        );
        std::fs::write(&config, &text).expect("a file");

        let asked = Instant::now();
        let mut check = Command::new(env!("CARGO_BIN_EXE_herder"));
        check.args(["check", "--offline", "--config"]).arg(&config);
        let checked = tokio::task::spawn_blocking(move || check.output());
        let checked = tokio::time::timeout(PATIENCE, checked).await.expect("it ends").unwrap().unwrap();
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(said.contains("FAIL  spark: workspace") && said.contains("does not answer"), "{said}");
        assert!(said.contains("ok    flint: workspace") && asked.elapsed() < BOUND, "{said}");

        let herder = Running::start(&dir, &config, &[]);
        appears(&dir.join("data").join(local::FILE_NAME)).await;
        // A change that does not concern the folder is made whether the folder answers or not.
        let edited = ask(&dir, "agent edit", &["spark", "max_turns=5"]).await;
        assert!(edited.ok, "{edited:?}");
        let wrong = format!("workspace={}", dead.join("x").display());
        let giving = ["flint", "work"];
        let moving = ["flint", &wrong];
        let adding = ["third", "command", dead.to_str().unwrap(), "command=cat"];
        let (moved, added, worked) = tokio::join!(
            ask(&dir, "agent edit", &moving),
            ask(&dir, "agent add", &adding),
            ask(&dir, "task add", &giving),
        );
        for refused in [moved, added] {
            assert!(!refused.ok && refused.lines.concat().contains("does not answer"), "{refused:?}");
        }
        assert!(worked.ok, "{worked:?}");

        // The file can be read again, and again.
        for name in ["ember", "slate"] {
            std::fs::write(&config, text.clone() + &agent(name, &dir)).expect("a file");
            let reloaded = ask(&dir, "reload", &[]).await;
            assert!(reloaded.ok && reloaded.lines.concat().contains(name), "{reloaded:?}");
        }
        ends_in_time(herder, &dir).await;
    });
}
