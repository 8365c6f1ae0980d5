//! The reader of commands, measured: against a real bash with stubs in place of the programs it asks about, and by
//! ordinary commands of coding agents.

mod generator;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use generator::{BIN, Random, STRATEGIES, Strategy};
use herder::core::danger::of_command;

/// Generated commands that did what is always asked about, and were looked at.
const RAN: usize = 2000;

/// The largest number of those that may go unasked. It may only shrink.
const MISSED_MAX: usize = 40;

/// Ordinary commands that may be asked about, of the whole table. It may only shrink.
const ASKED_MAX: usize = 30;

/// Programs that the commands may use themselves.
const PROGRAMS: &[&str] = &[
    "bash", "sh", "env", "nice", "nohup", "timeout", "stdbuf", "setsid", "setpriv", "prlimit", "setarch",
    "choom", "ionice", "flock", "xargs", "find", "cat", "rev", "sed", "tee", "script", "chrt", "taskset",
    "unshare", "linux64", "true", "sleep",
];

/// Writes down what it is run as; `curl` prints a command.
const STUB: &str = "#!/bin/sh\nprintf '%s %s %s\\n' \"$CASE\" \"${0##*/}\" \"$*\" >> \"$LOG\"\n";

/// Runs each command in a shell of its own, in an empty folder.
const DRIVER: &str = r#"
for file in "$1"/*; do
    (
        CASE=${file##*/}
        export CASE
        mkdir "$2/$CASE" && cd "$2/$CASE" || exit
        IFS= read -r -d '' text < "$file"
        set --
        eval "$text"
    ) < /dev/null > /dev/null 2>&1
done
"#;

/// Returns the numbers of the commands that did what is always asked about.
fn ran(commands: &[String]) -> BTreeSet<usize> {
    let home = tempfile::tempdir().expect("a folder");
    let bin = home.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    for stub in ["git", "rm", "sudo", "curl"] {
        let last = if stub == "curl" {
            "out=; for a; do [ \"$out\" = - ] && out=$a; [ \"$a\" = -o ] && out=-; done\n\
             if [ -n \"$out\" ]; then echo git push > \"$out\"; else echo git push; fi\n"
        } else {
            ""
        };
        let path = bin.join(stub);
        fs::write(&path, format!("{STUB}{last}")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    for program in PROGRAMS {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        if let Some(found) = found.iter().find(|path| path.exists()) {
            symlink(found, bin.join(program)).expect("linked");
        }
    }
    let log = home.path().join("log");
    let shells: Vec<_> = [0, 1]
        .into_iter()
        .map(|half| {
            let (scripts, places) =
                (home.path().join(format!("scripts{half}")), home.path().join(format!("places{half}")));
            fs::create_dir(&scripts).expect("a folder");
            fs::create_dir(&places).expect("a folder");
            for (number, command) in commands.iter().enumerate().filter(|(number, _)| number % 2 == half) {
                let text = command.replace(BIN, &bin.display().to_string());
                fs::write(scripts.join(number.to_string()), text).expect("written");
            }
            let mut shell = Command::new("/bin/bash");
            shell.args(["-c", &DRIVER.replace("mkdir", "/bin/mkdir"), "bash"]).arg(&scripts).arg(&places);
            shell.env_clear().env("PATH", &bin).env("LOG", &log);
            shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            shell.spawn().expect("a shell")
        })
        .collect();
    for mut shell in shells {
        shell.wait().expect("a shell");
    }
    let log = fs::read_to_string(&log).unwrap_or_default();
    let done = log.lines().filter_map(|line| {
        let (number, act) = line.split_once(' ')?;
        let words: Vec<&str> = act.split(' ').collect();
        let acts = match words.split_first()? {
            (&"git", rest) => rest.contains(&"push"),
            (&"rm", rest) => rest.iter().any(|word| word.starts_with('-') && word.contains(['r', 'R'])),
            (&"sudo", _) => true,
            _ => false,
        };
        number.parse().ok().filter(|_| acts)
    });
    done.collect()
}

#[test]
fn what_bash_really_does_is_asked_about() {
    let mut random = Random::new(2);
    let generated: Vec<(Strategy, String)> = (0..2500)
        .map(|number| {
            let strategy = STRATEGIES[number % STRATEGIES.len()];
            (strategy, generator::command(&mut random, strategy))
        })
        .collect();
    let commands: Vec<String> = generated.iter().map(|(_, command)| command.clone()).collect();
    let ran: Vec<usize> = ran(&commands).into_iter().take(RAN).collect();
    assert_eq!(ran.len(), RAN, "too few of them really ran");
    let mut missed: BTreeMap<Strategy, Vec<&str>> = BTreeMap::new();
    for number in ran {
        let (strategy, command) = &generated[number];
        if of_command(&command.replace(BIN, "/usr/bin"), &[]).is_none() {
            missed.entry(*strategy).or_default().push(command);
        }
    }
    let count: usize = missed.values().map(Vec::len).sum();
    assert!(count <= MISSED_MAX, "{count} missed: {missed:#?}");
}

#[test]
fn ordinary_commands_are_seldom_asked_about() {
    let table = include_str!("ordinary.txt");
    let mut commands: Vec<String> = Vec::new();
    for line in table.lines() {
        match (line.strip_prefix("| "), commands.last_mut()) {
            (Some(more), Some(command)) => *command = format!("{command}\n{more}"),
            _ => commands.push(line.to_owned()),
        }
    }
    assert!(
        commands.iter().collect::<BTreeSet<_>>().len() >= 600,
        "a table of so many is what the bound is for"
    );
    let asked: Vec<(Option<String>, &String)> = commands
        .iter()
        .map(|command| (of_command(command, &[]), command))
        .filter(|(found, _)| found.is_some())
        .collect();
    assert!(asked.len() <= ASKED_MAX, "{} asked about: {asked:#?}", asked.len());
}
