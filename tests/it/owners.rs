//! Owners of herder's own files: a data folder of another user is refused, and files that agents may change are named.

use std::fs;
use std::io::{BufReader, Read as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process_log::{herder, read_until, stop};

/// A user who is neither root nor logs in.
const NOBODY: u32 = 65534;

/// Returns true if the tests run as root, who alone can give a file to another user.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a folder that belongs to another user, and that user's id.
fn foreign(dir: &Path) -> (PathBuf, u32) {
    if !is_root() {
        return ("/usr".into(), 0);
    }
    let data = dir.join("data");
    fs::create_dir(&data).expect("a folder is made");
    chown(&data, Some(NOBODY), Some(NOBODY)).expect("it is given away");
    (data, NOBODY)
}

#[test]
fn a_data_folder_of_another_user_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (data, owner) = foreign(dir.path());
    fs::write(dir.path().join("bot.toml"), "[access]\nviewers = [\"*\"]\n").expect("the file is written");
    let sentence = format!(
        "{} belongs to another user (id {owner}); run herder as that user, change its owner (chown), or set another data_dir",
        data.display()
    );
    let folder = data.to_str().expect("a plain path");
    for arguments in [&["run"][..], &["check", "--offline"]] {
        let output = herder(dir.path(), &[arguments, &["--data-dir", folder]].concat()).output();
        let output = output.expect("the binary runs");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(&sentence), "{arguments:?}: {text}");
    }
    assert!(!data.join("lock").exists() && !data.join("herder.sock").exists(), "nothing is written into it");
}

/// A herder with one agent, whose program and files stand in folders of their own.
struct Installed {
    dir: tempfile::TempDir,
    user: Option<u32>,
}

impl Installed {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (path, user) = (dir.path(), is_root().then_some(NOBODY));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("others may look");
        for folder in ["bin", "etc", "data", "work"] {
            fs::create_dir(path.join(folder)).expect("a folder is made");
        }
        for folder in ["data", "work"] {
            chown(path.join(folder), user, user).expect("it is the service's");
        }
        let (built, program) = (env!("CARGO_BIN_EXE_herder"), path.join("bin/herder"));
        if fs::hard_link(built, &program).is_err() {
            fs::copy(built, &program).expect("the program is installed");
        }
        let config = format!(
            "data_dir = \"{0}/data\"\n[access]\nadmins = [\"irc:embedded:ann\"]\n\
             [[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"{0}/work\"\n",
            path.display()
        );
        fs::write(path.join("etc/bot.toml"), config).expect("the file is written");
        Self { dir, user }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let (program, config) = (self.path("bin/herder"), self.path("etc/bot.toml"));
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), format!("--regid={user}")]);
                command.arg("--clear-groups").arg(program);
                command
            }
        };
        command.args(arguments).arg("--config").arg(config).current_dir(self.dir.path());
        command.env("HOME", self.path("work")).env_remove("RUST_LOG").env_remove("HERDER_LOG");
        command.stdin(Stdio::null());
        command
    }

    /// Returns what `check` says of the agents' containment.
    fn checked(&self) -> String {
        let output = self.command(&["check", "--offline"]).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = said.lines().find(|line| line.contains("contained"));
        line.unwrap_or_else(|| panic!("{output:?}")).to_owned()
    }

    /// Returns the log of a run up to its start.
    fn log_of_a_run(&self) -> String {
        let mut child = self
            .command(&["run"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut text = read_until(&mut log, " started").concat();
        stop(child);
        log.read_to_string(&mut text).expect("the log is readable");
        text
    }
}

#[test]
fn files_of_herder_that_its_agents_may_change_are_named() {
    let installed = Installed::new();
    let (program, config) = (installed.path("bin/herder"), installed.path("etc/bot.toml"));
    let is_named = |text: &str, file: &Path| text.contains(&file.display().to_string());
    let data_dir = installed.path("data");
    let data = format!("data folder {}: agents without a sandbox (spark) can change it", data_dir.display());
    if installed.user.is_some() {
        // They are root's.
        let (checked, log) = (installed.checked(), installed.log_of_a_run());
        assert!(!checked.contains("may change"), "{checked}");
        assert!(!log.contains("may change these files"), "{log}");
        assert!(log.contains(&data), "{log}");
        // A file that its owner may not write can be made writable by the owner.
        fs::set_permissions(&config, fs::Permissions::from_mode(0o444)).expect("it is root's");
        chown(&config, installed.user, None).expect("it is given away");
        let (checked, log) = (installed.checked(), installed.log_of_a_run());
        assert!(checked.contains("they may change") && is_named(&checked, &config), "{checked}");
        assert!(log.contains("may change these files") && is_named(&log, &config), "{log}");
        assert!(!is_named(&checked, &program) && !is_named(&log, &program), "{checked}\n{log}");
        // A file in a folder that is theirs can be replaced.
        chown(&config, Some(0), None).expect("it is taken back");
        chown(installed.path("bin"), installed.user, None).expect("it is given away");
        let (checked, log) = (installed.checked(), installed.log_of_a_run());
        assert!(is_named(&checked, &program) && !is_named(&checked, &config), "{checked}");
        assert!(is_named(&log, &program), "{log}");
        chown(&config, installed.user, None).expect("it is given away");
    }
    let (checked, log) = (installed.checked(), installed.log_of_a_run());
    let both = format!("they may change {} and {}, and so who commands", config.display(), program.display());
    assert!(checked.contains(&both), "{checked}");
    assert!(is_named(&log, &config) && is_named(&log, &program) && log.contains(&data), "{log}");
}
