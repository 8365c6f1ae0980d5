//! Everything that is shipped beside the binary: the unit, the manual pages, the completions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use herder::config;

fn packaging(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("packaging").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn said(output: &Output) -> String {
    (String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr)).into_owned()
}

fn systemd_analyze(args: &[&str], unit: &Path) -> String {
    let mut command = Command::new("systemd-analyze");
    let output = command.args(args).arg(unit).output().expect("systemd-analyze is there (package systemd)");
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    said(&output)
}

/// The units, and the highest exposure that `systemd-analyze security` may give them.
const UNITS: [(&str, f64); 2] = [("herder.service", 2.0), ("herder-runner.service", 3.0)];

/// A unit in a folder of its own, with the binary under test.
fn unit(dir: &Path, name: &str) -> PathBuf {
    let text = packaging(&format!("systemd/{name}"));
    let text = text.replace("/usr/bin/herder", env!("CARGO_BIN_EXE_herder"));
    let path = dir.join(name);
    fs::write(&path, text).expect("a file");
    path
}

#[test]
fn systemd_takes_the_units_and_their_drop_in() {
    let dir = tempfile::tempdir().expect("a folder");
    // The one wants the other.
    let units = UNITS.map(|(name, _)| unit(dir.path(), name));
    for path in units {
        assert_eq!(systemd_analyze(&["verify", "--man=no"], &path), "", "{}", path.display());
    }
    let drop_in = dir.path().join("herder.service.d");
    fs::create_dir(&drop_in).expect("a folder");
    // The other drop-in opens the bot's unit for agents.
    fs::write(drop_in.join("agents.conf"), packaging("systemd/examples/agents.conf")).expect("a file");
    assert_eq!(systemd_analyze(&["verify", "--man=no"], &dir.path().join("herder.service")), "");
    let text = packaging("systemd/examples/reload.conf");
    // Before 253 it is refused, which is why it is no part of the unit.
    assert!(text.contains("Type=notify-reload") && text.contains("253"), "{text}");
}

/// Agents are children of the runner, where what they need stays open; each is named in the unit.
#[test]
fn the_bots_unit_is_closed_and_the_runners_as_closed_as_agents_allow() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, most) in UNITS {
        let shown = systemd_analyze(&["security", "--offline=true", "--no-pager"], &unit(dir.path(), name));
        let level = shown.lines().find_map(|line| line.split_once(&format!("{name}: "))).expect("a level").1;
        let level: f64 = level.split(' ').next().and_then(|level| level.parse().ok()).expect("a number");
        assert!(level <= most, "{shown}");
    }
}

/// The names of the subcommands that `herder ARGS --help` lists.
fn subcommands(args: &[&str]) -> Vec<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_herder")).args(args).arg("--help").output().expect("herder runs");
    let help = String::from_utf8(output.stdout).expect("help is text");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn man_shows_every_page_without_a_warning() {
    let dir = tempfile::tempdir().expect("a folder");
    let output =
        Command::new(env!("CARGO_BIN_EXE_herder")).arg("manual").arg(dir.path()).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    let pages: BTreeSet<String> = fs::read_dir(dir.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    let mut wanted = BTreeSet::from(["herder.1".to_owned(), "bot.toml.5".to_owned()]);
    for command in subcommands(&[]) {
        wanted.insert(format!("herder-{command}.1"));
        wanted.extend(subcommands(&[&command]).iter().map(|sub| format!("herder-{command}-{sub}.1")));
    }
    assert_eq!(pages, wanted);
    for page in &pages {
        let output = Command::new("man")
            .args(["--warnings=all", "--encoding=utf8", "--local-file"])
            .arg(dir.path().join(page))
            .env("LC_ALL", "C.UTF-8")
            .env("MANWIDTH", "80")
            .env("MANROFFSEQ", "")
            .output()
            .expect("man is there (package man-db)");
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{page}: {warnings}");
        assert!(output.stdout.len() > 200, "{page} is empty");
    }
    let shown = fs::read_to_string(dir.path().join("bot.toml.5")).expect("a page");
    let key = regex::Regex::new(r#"^(?:# )?([a-z_]+) = "#).expect("a pattern");
    for found in config::EXAMPLE.lines().filter_map(|line| key.captures(line)) {
        assert!(shown.contains(&format!("\\fB{}\\fR", &found[1])), "{} is not in bot.toml(5)", &found[1]);
    }
}

#[test]
fn the_container_runs_herder_as_its_first_process_and_as_nobody_special() {
    let file = packaging("container/Containerfile");
    let last = file.rsplit("\nFROM ").next().expect("a stage");
    for wanted in ["USER herder", "ENTRYPOINT [\"/usr/bin/herder\"]", "STOPSIGNAL SIGTERM"] {
        assert!(last.contains(wanted), "{last}");
    }
    assert!(file.contains("ARG BASE="));
    // An image gets neither its builder's configuration nor the history, but a release's binary.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let left_out = fs::read_to_string(root.join(".containerignore")).expect("a list");
    for line in ["/.git", "/bot.toml", "/data", "/target/*", "!/target/dist"] {
        assert!(left_out.lines().any(|one| one == line), "{line}");
    }
}

/// In a container herder is process 1, in a process group from outside: it reaps the orphans of its agents, ends them on SIGTERM,
/// and leaves nothing.
#[test]
fn as_process_1_it_reaps_and_ends_what_agents_leave() {
    use std::os::unix::process::CommandExt as _;
    let dir = tempfile::tempdir().expect("a folder");
    let marker = format!("3600.{}", std::process::id());
    let config = format!(
        "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = \"{0}\"\nloop = true\ninstructions = \"go\"\n\
         command = [\"sh\", \"-c\", \"(sleep 0.1 & echo $! >orphan); setsid sleep {marker} & echo well >said; sleep {marker}\"]\n",
        dir.path().display()
    );
    fs::write(dir.path().join("bot.toml"), config).expect("a file");
    let log = fs::File::create(dir.path().join("log")).expect("a file");
    let mut outer = Command::new("unshare")
        .args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(env!("CARGO_BIN_EXE_herder"))
        .args(["run", "--config", "bot.toml"])
        .current_dir(dir.path())
        .process_group(0)
        .stdout(std::process::Stdio::null())
        .stderr(log)
        .spawn()
        .expect("unshare is there (package util-linux)");
    let told = || fs::read_to_string(dir.path().join("log")).unwrap_or_default();
    let until = |what: &str, is_there: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !is_there() {
            assert!(begun.elapsed() < crate::stage::PATIENCE, "{what}: {}", told());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    until("an agent", &|| dir.path().join("said").exists());
    let children = format!("/proc/{0}/task/{0}/children", outer.id());
    let first = fs::read_to_string(children).expect("a process has children");
    let herder: i32 = first.trim().parse().expect("one child");
    let of = |pid: i32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let is_zombie = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
    };
    // The orphan has ended within its tenth of a second: it becomes a child of process 1, and is gone from there.
    let orphan = fs::read_to_string(dir.path().join("orphan")).expect("its id");
    let is_there = || {
        of(herder).split(' ').any(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            inside.is_some_and(|ids| ids.split_whitespace().last() == Some(orphan.trim()))
        })
    };
    until("the orphan is reaped", &|| !is_there());
    until("no zombie is left", &|| !of(herder).split_whitespace().any(is_zombie));
    let pid = rustix::process::Pid::from_raw(herder).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    let status = outer.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", told());
    assert!(!told().contains("panic"), "{}", told());
    let left = Command::new("pgrep").args(["-f", &format!("^sleep {marker}")]).output().expect("pgrep runs");
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "processes are left");
}
