//! Programs by what they do with their arguments and with their standard input.

use super::simple::{Simple, Word};
use super::targets;

/// Programs that run what is given to them as arguments.
const WRAPPERS: &[&str] = &[
    "env",
    "nice",
    "nohup",
    "time",
    "timeout",
    "gtimeout",
    "xargs",
    "command",
    "exec",
    "builtin",
    "busybox",
    "toybox",
    "stdbuf",
    "setsid",
    "ionice",
    "chrt",
    "taskset",
    "unshare",
    "nsenter",
    "chroot",
    "flock",
    "watch",
    "watchexec",
    "parallel",
    "script",
    "strace",
    "ltrace",
    "perf",
    "valgrind",
    "hyperfine",
    "ssh",
    "sshpass",
    "mosh",
    "adb",
    "docker",
    "docker-compose",
    "podman",
    "podman-compose",
    "nerdctl",
    "kubectl",
    "oc",
    "lxc",
    "incus",
    "vagrant",
    "tmux",
    "screen",
    "systemd-run",
    "gosu",
    "su-exec",
    "proot",
    "fakeroot",
    "firejail",
    "bwrap",
    "xvfb-run",
    "caffeinate",
    "entr",
    "direnv",
    "mise",
    "poetry",
    "pipenv",
    "uv",
    "conda",
    "bundle",
    "npx",
    "bunx",
    "pnpm",
    "yarn",
    "nix-shell",
    "nix",
    "trap",
    "coproc",
    "torsocks",
    "proxychains",
    "expect",
    "spawn",
    "unbuffer",
    "at",
    "batch",
];

/// Wrappers that hand on a command word by word: what is one word to them is no script.
const WORD_BY_WORD: &[&str] = &[
    "env", "nice", "nohup", "time", "timeout", "gtimeout", "xargs", "command", "exec", "builtin", "busybox",
    "toybox", "stdbuf", "setsid", "ionice", "chrt", "taskset",
];

const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh", "nu"];

/// Programs that read a program of their own from standard input or an argument.
const INTERPRETERS: &[&str] = &[
    "python",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "php",
    "lua",
    "deno",
    "bun",
    "osascript",
    "tclsh",
    "awk",
    "gawk",
    "mawk",
];

/// Programs that look for a text in files or in what they are given: naming a thing is not doing it.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"];

/// Programs that say a text or where a program is.
const SAYS: &[&str] = &["echo", "printf", "which"];

/// Words that end a command which is given as words, to `find` or to a shell that reads it later.
pub(super) const ENDS: &[&str] = &[";", "+", "&&", "||", "|"];

/// Other programs whose arguments are looked at.
const LOOKED_INTO: &[&str] =
    &["rm", "grm", "git", "jj", "find", "gfind", "fd", "fdfind", "eval", "source", ".", "alias"];

/// Words before a command that are none. `time` and `coproc` have words of their own before it, and are wrappers.
pub(super) const RESERVED: &[&str] =
    &["do", "then", "else", "elif", "if", "while", "until", "!", "{", "}", "fi", "done", "esac"];

/// Words of a shell's own that what follows them is assigned by.
pub(super) const DECLARING: &[&str] = &["export", "local", "readonly", "declare", "typeset"];

/// Wrappers that put what they read into what they run.
pub(super) const FILLING: &[&str] = &["xargs", "parallel"];

/// What they are commonly told to replace by it.
pub(super) const PLACES: &[&str] = &["{}", "%", "@"];

pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name)
}

/// Whether a wrapper may read a script where it is given one word.
pub(super) fn is_script_reader(name: &str) -> bool {
    is_wrapper(name) && !WORD_BY_WORD.contains(&name)
}

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.iter().any(|known| is_version_of(name, known))
}

/// Whether a program's arguments are looked at.
pub(super) fn is_read(name: &str) -> bool {
    LOOKED_INTO.contains(&name) || is_wrapper(name) || is_shell(name) || is_interpreter(name)
}

/// Whether a command names such a program, itself or for a wrapper.
pub(super) fn has(command: &Simple, is_such: impl Fn(&str) -> bool) -> bool {
    command.words.iter().any(|word| is_such(&basename(&word.text)))
}

/// Each of a wrapper's words from the given one on, and whether it and what follows it is only named, by a program that
/// looks for it or says it.
pub(super) fn only_named(words: &[Word], from: usize) -> impl Iterator<Item = (&Word, bool)> {
    named_by(words, from, |word| is_search(word) || is_one_of(SAYS, word))
}

fn named_by(
    words: &[Word],
    from: usize,
    names: impl Fn(&Word) -> bool,
) -> impl Iterator<Item = (&Word, bool)> {
    let mut named = false;
    words.iter().zip(targets::taken(words)).skip(from).map(move |(word, taken)| {
        named = !ENDS.contains(&word.text.as_str()) && (named || (!taken && names(word)));
        (word, named)
    })
}

fn is_search(word: &Word) -> bool {
    is_one_of(SEARCHES, word)
}

/// Whether a word names one of these programs. A script that ends with a path does not, nor does a path that is no
/// program's.
fn is_one_of(programs: &[&str], word: &Word) -> bool {
    let folder = word.text.rsplit('/').nth(1).unwrap_or("bin");
    let program = matches!(folder, "bin" | ".bin") && !word.text.contains(char::is_whitespace);
    program && programs.contains(&basename(&word.text).as_str())
}

/// The words of a command without those that it only looks for. What git is told is mostly a message, or looked for.
pub(super) fn without_searches(words: &[Word]) -> Vec<&str> {
    let Some(first) = words.first() else { return Vec::new() };
    let program = words.iter().zip(targets::taken(words)).find(|(word, taken)| {
        let text = word.text.as_str();
        let before = is_wrapper(&basename(text)) || assignment(text).is_some() || PLACES.contains(&text);
        !taken && !before && !text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
    });
    if program.is_some_and(|(word, _)| basename(&word.text) == "git" || is_search(word)) {
        return Vec::new();
    }
    if !is_wrapper(&basename(&first.text)) {
        return words.iter().map(|word| word.text.as_str()).collect();
    }
    let acts = named_by(words, 0, is_search).filter(|(_, looking)| !looking);
    acts.map(|(word, _)| word.text.as_str()).collect()
}

/// Whether a program that such an operand names is what another command prints; `piped` says that its standard input is.
pub(super) fn is_from_pipe(operand: Option<&Word>, piped: bool) -> bool {
    match operand.map_or("-", |word| word.text.as_str()) {
        "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => piped,
        file => file.starts_with("/dev/fd/"),
    }
}

/// Whether a script is what another command prints: in place, or line by line in a loop.
pub(super) fn is_foreign(script: &Word, piped: bool) -> bool {
    script.is_printed() || (piped && script.dynamic && script.text.starts_with('$'))
}

/// What a shell is asked to run.
pub(super) struct ShellCall<'a> {
    /// Its operand is a script, not a file.
    pub(super) script: bool,
    /// Its operands are for what it reads from its standard input.
    input: bool,
    operand: Option<&'a Word>,
}

impl<'a> ShellCall<'a> {
    pub(super) fn read(shell: &str, arguments: &'a [Word]) -> Self {
        let mut call = Self { script: false, input: false, operand: None };
        // In some shells the word that closes a group needs nothing before it.
        let mut words = arguments.iter().filter(|word| !word.is_own("}"));
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if text == "--" {
                call.operand = words.next();
                break;
            }
            if let Some(option) = text.strip_prefix("--") {
                call.script |= option.starts_with("command");
                if matches!(option, "rcfile" | "init-file") {
                    words.next();
                }
                continue;
            }
            match text.strip_prefix(['-', '+']) {
                None | Some("") => {
                    call.operand = Some(word);
                    break;
                }
                Some(option) if shell == "pwsh" => {
                    call.script |= matches!(option.to_ascii_lowercase().as_str(), "c" | "command");
                }
                Some(letters) => {
                    call.script |= letters.contains('c');
                    call.input |= letters.contains('s');
                    if letters.ends_with(['o', 'O']) {
                        words.next();
                    }
                }
            }
        }
        call
    }

    /// Whether it runs what another command prints; `piped` says that its standard input is that.
    pub(super) fn is_piped(&self, piped: bool) -> bool {
        match self.operand {
            Some(script) if self.script => is_foreign(script, piped),
            // `xargs` adds one.
            None if self.script => piped,
            operand => (self.input && piped) || is_from_pipe(operand, piped),
        }
    }
}

/// Whether an interpreter runs what another command prints; `piped` says that its standard input is that.
pub(super) fn interprets_pipe(name: &str, arguments: &[Word], piped: bool) -> bool {
    // The program of an `awk` is always an argument.
    if name.contains("awk") {
        return false;
    }
    let verb = if matches!(name, "deno" | "bun") { "run" } else { "" };
    for word in arguments.iter().filter(|word| word.text != verb) {
        if word.text == "-" || !word.text.starts_with('-') {
            return is_from_pipe(Some(word), piped);
        }
        if has_program(&word.text) {
            return false;
        }
    }
    piped
}

/// Whether a program for an interpreter may run commands: one for an `awk` mostly looks for a text.
pub(super) fn may_run(name: &str, program: &str) -> bool {
    !name.contains("awk") || program.contains("system") || program.contains('|')
}

/// Whether an option has a program, or the name of one, in the same word: `-mjson.tool`, `-pes/a/b/`, `--eval=…`.
fn has_program(option: &str) -> bool {
    let long = ["--eval=", "--print=", "--execute="].iter().any(|long| option.starts_with(long));
    let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
        return long;
    };
    let leads = letters.len() > 1 && letters.starts_with(['c', 'e', 'm']);
    leads || letters.contains(|c: char| c.is_whitespace() || "/;(){}'\"$".contains(c))
}

pub(super) fn basename(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name).to_ascii_lowercase()
}

/// `python3.12` is a version of `python`.
fn is_version_of(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

/// What a word assigns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// The value is added to the one that there is.
    pub(super) adds: bool,
}

/// What a word assigns, if it does.
pub(super) fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (name, value) = word.split_once('=')?;
    let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    let first = name.bytes().next()?;
    let named = (first.is_ascii_alphabetic() || first == b'_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    named.then_some(Assignment { name, value, adds })
}
