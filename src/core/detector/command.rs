//! Classifies a command line by its text: a hash of the run, and whether it changes files, only looks, or waits.

use super::shape::{self, Hash};
use super::shell::{self, Call, base};

/// Effect of a command on the files that the agent works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// No effect: the command only reads something.
    Looks,
    /// No known effect: the command builds, tests or queries something.
    Runs,
    /// A possible effect: a script or a build, which may do anything.
    Unknown,
    /// The command writes, moves, deletes or installs files.
    Changes,
}

/// A command line in the form in which two of them are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    /// Hash of the calls that identify the run, whichever part of the output is displayed.
    pub(super) run: u64,
    /// The strongest effect on files among its program calls.
    pub(super) effect: Effect,
    /// True if a program call before the last one changes files, whatever the last one returns.
    pub(super) changes_first: bool,
    /// True if the command waits for something or asks for the progress of something.
    pub(super) waits: bool,
    /// True if the command contains a pause such as `sleep`.
    pub(super) pauses: bool,
}

impl Command {
    pub(super) fn read(line: &str) -> Self {
        let calls = shell::calls(line);
        let effects: Vec<Effect> = calls.iter().map(effect).collect();
        let before_last = effects.split_last().map_or(&[][..], |(_, before)| before);
        Self {
            run: run(&calls, line),
            effect: effects.iter().copied().max().unwrap_or(Effect::Looks),
            changes_first: before_last.contains(&Effect::Changes),
            waits: is_waiting(&calls),
            pauses: calls.iter().any(pauses),
        }
    }
}

/// Returns true if a program call only lets time pass, such as `sleep`.
fn pauses(call: &Call<'_>) -> bool {
    call.words.first().is_some_and(|word| matches!(*word, "sleep" | "until" | "while"))
}

/// Returns true if a command line waits, or only asks for the state of something: at least one program call does, and
/// all others only read.
fn is_waiting(calls: &[Call<'_>]) -> bool {
    let pausing = calls.iter().any(pauses);
    let asks = |call: &Call<'_>| {
        let fetches = program(&call.words).first().is_some_and(|name| matches!(base(name), "curl" | "wget"));
        waits(call) || (pausing && fetches)
    };
    calls.iter().any(asks) && calls.iter().all(|call| asks(call) || effect(call) == Effect::Looks)
}

/// Hashes the program calls that identify a run: without those that only wait, print or shorten the output.
fn run(calls: &[Call<'_>], line: &str) -> u64 {
    let mut hash = Hash::new();
    let mut any = false;
    for call in calls {
        let name = program(&call.words).first().map_or("", |name| base(name));
        let shortens = call.piped && matches!(name, "tail" | "head" | "cat" | "less" | "more" | "tee");
        let aside = matches!(name, "sleep" | "echo" | "printf" | "true" | ":" | "set" | "time" | "date")
            && !writes(call);
        if !shortens && !aside {
            any = true;
            call.words.iter().for_each(|word| shape::of_argument(&mut hash, word));
            hash.push(b"\x02");
            hash.push(call.fed.as_bytes());
        }
    }
    if !any {
        hash.push(line.as_bytes());
    }
    hash.end()
}

/// Returns the words of a program call without programs that only run another: `sudo`, `env A=b`, `timeout 60`, `npx`,
/// `uv run`.
fn program<'c, 'a>(words: &'c [&'a str]) -> &'c [&'a str] {
    let mut words = words;
    while let [first, rest @ ..] = words {
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        let skipped = match (base(first), rest) {
            _ if assigns => 1,
            (
                "sudo" | "env" | "time" | "nohup" | "nice" | "command" | "exec" | "npx" | "bunx" | "xargs"
                | "do" | "then" | "else" | "!" | "{",
                _,
            ) => 1,
            ("timeout", _) => 1 + rest.iter().position(|word| !word.starts_with('-')).map_or(0, |at| at + 1),
            ("uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye", ["run", ..]) => 2,
            ("bundle" | "mix" | "pnpm", ["exec", ..]) => 2,
            ("python" | "python3", ["-m", ..]) => 2,
            _ => 0,
        };
        if skipped == 0 || skipped > words.len() {
            break;
        }
        words = &words[skipped..];
    }
    words
}

/// Returns true if the program call redirects its output to a file that matters: neither a log nor temporary.
fn writes(call: &Call<'_>) -> bool {
    call.into.is_some_and(matters)
}

fn matters(file: &str) -> bool {
    let aside = ["/dev/", "/tmp/", "/var/tmp/", "$TMP", "${TMP", "&"];
    !aside.iter().any(|start| file.starts_with(start)) && !file.ends_with(".log") && !file.ends_with(".out")
}

fn effect(call: &Call<'_>) -> Effect {
    let words = program(&call.words);
    let [name, arguments @ ..] = words else {
        return if writes(call) { Effect::Changes } else { Effect::Looks };
    };
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(word));
    let scripted = matches!(base(name), "python" | "python3" | "node" | "ruby") && writes_inside(call.fed);
    if writes(call) || scripted || changes(base(name), arguments) {
        return Effect::Changes;
    }
    if has(&["--version", "--help", "-h", "-V"]) || (arguments.len() == 1 && has(&["version", "help"])) {
        return Effect::Looks;
    }
    match base(name) {
        name if LOOKS.contains(&name) => Effect::Looks,
        "git" => Effect::Looks,
        "python" | "python3" | "node" | "ruby" | "perl" | "php" | "deno" | "bun" => {
            if inline(call, arguments) { Effect::Runs } else { Effect::Unknown }
        }
        "make" | "just" | "task" | "rake" | "bash" | "sh" | "zsh" | "source" | "." => Effect::Unknown,
        "npm" | "yarn" | "pnpm" | "mvn" | "gradle" | "gradlew" | "cmake" | "ninja" | "bazel" | "docker"
            if !arguments.iter().any(|word| word.contains("test")) =>
        {
            Effect::Unknown
        }
        _ if name.starts_with("./") || name.starts_with("scripts/") || name.starts_with("bin/") => {
            Effect::Unknown
        }
        _ => Effect::Runs,
    }
}

/// Programs that only read, whatever their arguments.
const LOOKS: [&str; 58] = [
    "ls", "cat", "head", "tail", "pwd", "which", "type", "echo", "printf", "env", "printenv", "date",
    "whoami", "id", "uname", "file", "stat", "wc", "tree", "find", "grep", "egrep", "rg", "ag", "fd", "jq",
    "yq", "df", "du", "free", "ps", "top", "nproc", "hostname", "sed", "awk", "gawk", "less", "more", "diff",
    "cmp", "sort", "uniq", "cut", "nl", "xxd", "hexdump", "strings", "cd", "true", "test", "[", "sleep",
    "wait", "man", "bat", "readlink", "tr",
];

/// Returns true if the text of a script is given in the program call itself.
fn inline(call: &Call<'_>, arguments: &[&str]) -> bool {
    !call.fed.is_empty()
        || arguments.first().is_some_and(|word| matches!(*word, "-c" | "-e" | "-" | "-r" | "-p"))
}

/// Programs that write files, whatever their arguments.
const WRITES: [&str; 26] = [
    "rm",
    "mv",
    "cp",
    "mkdir",
    "touch",
    "ln",
    "chmod",
    "chown",
    "patch",
    "install",
    "dd",
    "rsync",
    "unzip",
    "truncate",
    "apply_patch",
    "black",
    "isort",
    "goimports",
    "rustfmt",
    "rmdir",
    "ed",
    "ex",
    "2to3",
    "autopep8",
    "gunzip",
    "git-apply",
];

/// Returns true if its arguments make the program `name` change files.
fn changes(name: &str, arguments: &[&str]) -> bool {
    let first = arguments.iter().copied().find(|word| !word.starts_with(['-', '+'])).unwrap_or_default();
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(word));
    if has(&["--write", "--fix", "--in-place", "-i", "-w", "--inplace"])
        && matches!(
            name,
            "sed"
                | "prettier"
                | "eslint"
                | "ruff"
                | "gofmt"
                | "goimports"
                | "clang-format"
                | "yq"
                | "biome"
                | "shfmt"
                | "stylelint"
                | "rubocop"
                | "golangci-lint"
                | "cargo"
                | "oxlint"
                | "perl"
                | "ktlint"
                | "swiftformat"
        )
    {
        return true;
    }
    match name {
        "tee" => arguments.iter().any(|word| !word.starts_with('-') && matters(word)),
        "sed" | "perl" => arguments.iter().any(|word| {
            word.strip_prefix('-').is_some_and(|flags| {
                !flags.starts_with('-') && flags.split(['.', '\'']).next().unwrap_or("").contains('i')
            })
        }),
        "black" | "isort" | "rustfmt" if has(&["--check", "--check-only", "--diff"]) => false,
        "cargo" => {
            matches!(
                first,
                "fmt" | "fix" | "add" | "remove" | "rm" | "update" | "new" | "init" | "install" | "clean"
            ) && !has(&["--check"])
        }
        "git" => git(first),
        "go" => matches!(first, "fmt" | "get" | "generate" | "mod" | "work" | "install"),
        "ruff" => first == "format" && !has(&["--check"]),
        "dart" | "mix" | "terraform" | "zig" if first == "format" || first == "fmt" => {
            !has(&["--check", "--check-formatted"])
        }
        "npm" | "pnpm" | "yarn" | "bun" => {
            matches!(
                first,
                "install"
                    | "i"
                    | "ci"
                    | "add"
                    | "remove"
                    | "uninstall"
                    | "init"
                    | "update"
                    | "upgrade"
                    | "dedupe"
            ) || (name == "yarn" && arguments.is_empty())
        }
        "pip" | "pip3" | "apt" | "apt-get" | "brew" | "dnf" | "yum" | "apk" | "gem" | "conda" | "mamba"
        | "pacman" | "opam" | "luarocks" | "cabal" | "stack" => {
            matches!(
                first,
                "install" | "uninstall" | "remove" | "upgrade" | "update" | "add" | "build-dep" | "create"
            ) || has(&["-S"])
        }
        "uv" | "poetry" | "composer" | "bundle" | "pdm" | "mix" | "pod" | "dotnet" | "nix" | "flutter" => {
            matches!(
                first,
                "add"
                    | "sync"
                    | "lock"
                    | "install"
                    | "remove"
                    | "update"
                    | "require"
                    | "deps.get"
                    | "pip"
                    | "restore"
                    | "upgrade"
                    | "pub"
            )
        }
        "terraform" | "pulumi" | "kubectl" | "helm" | "tofu" => {
            matches!(
                first,
                "apply"
                    | "destroy"
                    | "init"
                    | "up"
                    | "delete"
                    | "rollout"
                    | "install"
                    | "upgrade"
                    | "create"
                    | "patch"
                    | "scale"
                    | "import"
                    | "uninstall"
                    | "edit"
                    | "set"
            ) && !has(&["status", "history"])
        }
        "systemctl" | "service" | "supervisorctl" => {
            has(&["restart", "start", "stop", "reload", "daemon-reload", "enable"])
        }
        "docker" | "docker-compose" | "podman" => {
            has(&["build", "rm", "restart", "up", "down", "stop", "kill", "prune", "pull", "rmi"])
        }
        "alembic" | "diesel" | "sqlx" | "flyway" | "prisma" => {
            has(&["upgrade", "downgrade", "run", "migrate", "revision", "push", "revert"])
        }
        "tar" => first.contains('x') || arguments.first().is_some_and(|word| word.contains('x')),
        "wget" => true,
        "curl" => has(&["-o", "-O", "--output"]),
        "kill" | "pkill" | "killall" => true,
        "python" | "python3" | "node" | "ruby" => arguments.iter().any(|word| writes_inside(word)),
        name => WRITES.contains(&name),
    }
}

/// Returns true if the text of a script contains a call that writes files.
fn writes_inside(script: &str) -> bool {
    [
        "write_text",
        "'w'",
        "\"w\"",
        ".write(",
        "writeFile",
        "File.write",
        "os.remove",
        "shutil.",
        "'a'",
        "\"a\"",
    ]
    .iter()
    .any(|sign| script.contains(sign))
}

fn git(subcommand: &str) -> bool {
    matches!(
        subcommand,
        "apply"
            | "bisect"
            | "am"
            | "checkout"
            | "restore"
            | "reset"
            | "stash"
            | "merge"
            | "rebase"
            | "pull"
            | "cherry-pick"
            | "revert"
            | "commit"
            | "clean"
            | "switch"
            | "mv"
            | "rm"
            | "add"
            | "clone"
            | "submodule"
            | "init"
            | "push"
            | "worktree"
            | "config"
    )
}

/// Returns true if the program call waits, or asks for the state of something elsewhere.
fn waits(call: &Call<'_>) -> bool {
    let words = program(&call.words);
    let [name, arguments @ ..] = words else { return false };
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(word));
    if has(&["--watch", "--wait", "--follow"])
        || ["status", "wait", "watch", "poll"].iter().any(|sign| base(name).contains(sign))
    {
        return true;
    }
    match base(name) {
        "sleep" | "wait" | "watch" | "until" | "while" | "inotifywait" | "squeue" | "sacct"
        | "nvidia-smi" | "ps" | "pgrep" | "jobs" | "journalctl" | "pg_isready" | "ping" | "uptime"
        | "lsof" | "ss" | "netstat" | "qstat" | "top" => true,
        "gh" => has(&["run", "checks", "workflow", "status"]),
        "glab" => has(&["ci", "pipeline"]),
        "kubectl" => has(&["get", "describe", "logs", "status", "top", "wait"]),
        "helm" | "argocd" | "flux" => has(&["status", "get", "wait", "history"]),
        "docker" | "podman" | "docker-compose" => has(&["ps", "logs", "inspect", "stats", "wait"]),
        "systemctl" | "service" | "supervisorctl" => has(&["status", "is-active", "is-failed"]),
        "aws" | "gcloud" | "az" | "fly" | "flyctl" | "vercel" | "heroku" | "railway" | "eb" | "terraform" => {
            arguments.iter().any(|word| {
                ["describe", "list", "get-", "status", "wait", "logs", "ps", "show", "inspect"]
                    .iter()
                    .any(|asks| word.starts_with(asks))
            })
        }
        "tail" => {
            has(&["-f", "-F"])
                || (!call.piped
                    && arguments.iter().any(|word| word.ends_with(".log") || word.ends_with(".out")))
        }
        "nc" => has(&["-z", "-zv", "-vz"]),
        "redis-cli" | "mysqladmin" => has(&["ping", "status"]),
        "curl" => arguments.iter().any(|word| {
            ["health", "status", "ready", "/jobs", "/runs", "/builds", "/deploy", "ping", "progress", "alive"]
                .iter()
                .any(|asks| word.contains(asks))
        }),
        _ => false,
    }
}

/// Returns true if the name of a tool says that it changes something.
pub(super) fn tool_writes(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    [
        "edit", "write", "replace", "create", "patch", "insert", "delete", "rename", "move", "update",
        "apply", "remove", "commit", "save", "upload",
    ]
    .iter()
    .any(|sign| tool.contains(sign))
}

/// Returns true if the name of a tool says that it waits or asks for the state of something.
pub(super) fn tool_waits(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    [
        "wait", "status", "poll", "output", "monitor", "stdin", "logs", "sleep", "progress", "messages",
        "inbox", "watch",
    ]
    .iter()
    .any(|sign| tool.contains(sign))
}
