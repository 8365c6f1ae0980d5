//! What is always asked, whatever an agent may do otherwise: `git push`, `rm -r`, `sudo`, pipes into a shell, `drop table`,
//! `truncate table`, what is configured (contract, section 9), and what has characters in it that nobody sees.
//!
//! A command is read as a shell would read it ([`words`]): quotes, backslashes, substitutions and braces resolved, wrappers
//! such as `env` and `timeout` looked through, and what `bash -c`, `eval` and the like are given read once more. That finds
//! `/bin/rm -fr`, `"r"m -r` and `bash -lc 'git  push'`, and leaves `git commit -m "no more sudo"` alone. It is no sandbox:
//! a script that is written first and run afterwards does what it likes, so that an agent's permissions stay what counts.

mod arguments;
mod words;

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::ask::hides;
use words::{Simple, Word};

/// What one pattern may take when it is compiled: an operator's pattern is short.
const PATTERN_SIZE_MAX: usize = 1024 * 1024;

/// How deep commands within commands are read; nobody nests so deep in good faith.
const DEPTH_MAX: usize = 12;

/// Programs and their words that are looked at for one text. What a wrapper is given is looked at again and again, so that a
/// few words could keep a reader busy for good.
const STEPS_MAX: usize = 60_000;

/// Letters that are read in about the time of a step.
const STEP_LETTERS: usize = 32;

const PUSH: &str = "git push";
const REMOVE: &str = "rm -r";
const SUDO: &str = "sudo";
const PIPE: &str = "a pipe into a shell";
const DROP: &str = "drop table";
const TRUNCATE: &str = "truncate table";
const HIDDEN: &str = "hidden characters";
const UNREADABLE: &str = "too nested to be read";

/// A configured pattern.
#[derive(Debug, Clone)]
pub struct AskPattern(Regex);

impl AskPattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty pattern matches everything; remove it".to_owned());
        }
        let built = RegexBuilder::new(text).size_limit(PATTERN_SIZE_MAX).build();
        built.map(Self).map_err(|reason| format!("\"{text}\" is no regular expression: {reason}"))
    }
}

impl PartialEq for AskPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for AskPattern {}

/// Why a command is always asked, if it is: the built-in pattern's name, or the configured one.
#[must_use]
pub fn of_command(command: &str, patterns: &[AskPattern]) -> Option<String> {
    let found = built_in(command).map(str::to_owned).or_else(|| configured(command, patterns));
    found.or_else(|| hides(command).then(|| HIDDEN.to_owned()))
}

/// The same for a text that is no command, such as the change of a file.
#[must_use]
pub fn of_text(text: &str, patterns: &[AskPattern]) -> Option<String> {
    configured(text, patterns)
}

fn configured(text: &str, patterns: &[AskPattern]) -> Option<String> {
    patterns.iter().find(|pattern| pattern.0.is_match(text)).map(|pattern| pattern.0.as_str().to_owned())
}

fn built_in(text: &str) -> Option<&'static str> {
    let mut reading = Reading { depth: 0, left: STEPS_MAX, variables: BTreeMap::new() };
    // Arguments of a tool, alone or below its title: each of them may be a command.
    let (rest, arguments) = arguments::apart(text);
    let found = arguments.iter().find_map(|argument| reading.text(argument)).or_else(|| reading.text(&rest));
    // What looks like arguments below a title may be in the middle of a script.
    found.or_else(|| if arguments.is_empty() || rest.trim().is_empty() { None } else { reading.text(text) })
}

/// One reading of a text, script by script.
struct Reading {
    depth: usize,
    /// Steps that may still be made.
    left: usize,
    /// What a script assigns is known further down in it.
    variables: BTreeMap<String, String>,
}

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
    "parallel",
    "script",
    "strace",
    "ltrace",
    "ssh",
    "docker",
    "podman",
    "kubectl",
    "tmux",
    "screen",
    "systemd-run",
    "gosu",
    "su-exec",
    "proot",
    "fakeroot",
    "firejail",
    "bwrap",
    "caffeinate",
    "entr",
    "direnv",
    "poetry",
    "uv",
    "npx",
    "pnpm",
    "yarn",
    "nix-shell",
    "nix",
    "trap",
    "coproc",
    "torsocks",
    "proxychains",
    "expect",
    "unbuffer",
    "at",
    "batch",
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

/// Programs that look for a text: naming a thing is not doing it.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "git"];

/// Other programs whose arguments are looked at.
const LOOKED_INTO: &[&str] =
    &["rm", "grm", "git", "find", "gfind", "fd", "fdfind", "eval", "source", ".", "alias"];

/// Words before a command that are none. `time` and `coproc` have words of their own before it, and are wrappers.
const RESERVED: &[&str] =
    &["do", "then", "else", "elif", "if", "while", "until", "!", "{", "}", "fi", "done", "esac"];

impl Reading {
    fn text(&mut self, text: &str) -> Option<&'static str> {
        self.variables.clear();
        self.script(text, false)
    }

    /// So many steps more; what takes too many is not read to its end.
    fn step(&mut self, steps: usize) -> Option<&'static str> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Some(UNREADABLE);
            }
        }
        None
    }

    fn script(&mut self, text: &str, piped: bool) -> Option<&'static str> {
        if self.depth >= DEPTH_MAX {
            return Some(UNREADABLE);
        }
        if let Some(found) = self.step(1 + text.len() / STEP_LETTERS) {
            return Some(found);
        }
        let Some(commands) = words::commands(text, DEPTH_MAX, piped) else { return Some(UNREADABLE) };
        self.depth += 1;
        let interpreted = commands.iter().any(|command| has(command, is_interpreter));
        let found = commands
            .iter()
            .find_map(|command| self.simple(command).or_else(|| self.input(command, interpreted)));
        self.depth -= 1;
        found
    }

    /// What a command is given in a here-document. The commands in it are read where it stands; `interpreted` says that
    /// the script has an interpreter somewhere.
    fn input(&mut self, command: &Simple, interpreted: bool) -> Option<&'static str> {
        if command.input.is_empty() {
            return None;
        }
        // One for a whole group is for whatever is in it.
        let group = command.words.iter().all(|word| RESERVED.contains(&word.text.as_str()));
        if has(command, is_interpreter) || (group && interpreted) {
            return loose(&command.input);
        }
        let found = if has(command, is_shell) { self.script(&command.input, false) } else { None };
        let words = [Word { text: command.input.clone(), ..Word::default() }];
        let searches = command.words.first().is_some_and(|word| is_search(&basename(&word.text)));
        found.or_else(|| if searches { None } else { sql(&words) })
    }

    fn simple(&mut self, command: &Simple) -> Option<&'static str> {
        let mut words: Vec<Word> = Vec::new();
        for word in &command.words {
            let word = self.expanded(word);
            if let Some(found) = self.step(word.len()) {
                return Some(found);
            }
            words.extend(word);
        }
        let mut first = 0;
        while let Some(word) = words.get(first) {
            if let Some((name, value)) = assignment(word) {
                self.variables.insert(name.to_owned(), value.to_owned());
            } else if word.text == "function" {
                // The name of what is defined.
                first += 1;
            } else if !RESERVED.contains(&word.text.as_str()) {
                break;
            }
            first += 1;
        }
        words.drain(..first.min(words.len()));
        sql(&words).or_else(|| self.program(&words, command.piped))
    }

    /// A variable whose value is known stands for its words.
    fn expanded(&self, word: &Word) -> Vec<Word> {
        let name = word.text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let name = name.or_else(|| word.text.strip_prefix('$'));
        match name.and_then(|name| self.variables.get(name)) {
            Some(value) if word.dynamic => value
                .split_whitespace()
                .map(|text| Word { text: text.to_owned(), ..Word::default() })
                .collect(),
            Some(_) | None => vec![word.clone()],
        }
    }

    /// What a program with these arguments does.
    fn program(&mut self, words: &[Word], piped: bool) -> Option<&'static str> {
        let (first, arguments) = words.split_first()?;
        let name = basename(&first.text);
        // Most programs' arguments are none of herder's business.
        let looked_at = if is_read(&name) || first.dynamic { arguments.len() } else { 0 };
        if let Some(found) = self.step(1 + looked_at) {
            return Some(found);
        }
        if first.dynamic && !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            return unknown(arguments);
        }
        match name.as_str() {
            "sudo" | "sudoedit" | "doas" | "pkexec" | "run0" | "su" | "runuser" => Some(SUDO),
            "rm" | "grm" => removes_folders(arguments).then_some(REMOVE),
            "git" => self.git(arguments),
            "git-push" | "git-send-pack" => Some(PUSH),
            "find" | "gfind" | "fd" | "fdfind" => {
                let deletes = arguments.iter().any(|word| word.text == "-delete");
                if deletes { Some(REMOVE) } else { self.suffixes(arguments, false) }
            }
            "eval" | "source" | "." => {
                if arguments.first().is_some_and(|word| word.substituted) {
                    return Some(PIPE);
                }
                if name == "eval" { self.script(&joined(arguments), piped) } else { None }
            }
            "alias" => arguments.iter().find_map(|word| self.script(word.text.split_once('=')?.1, false)),
            shell if is_shell(shell) => {
                if piped || arguments.iter().any(|word| word.substituted) {
                    return Some(PIPE);
                }
                self.given(arguments, false)
            }
            other if is_interpreter(other) => {
                let file = arguments.iter().any(|word| !word.text.starts_with('-'));
                if piped && !file && !other.contains("awk") {
                    return Some(PIPE);
                }
                let letters = arguments.iter().map(|word| word.text.len()).sum::<usize>();
                self.step(letters / STEP_LETTERS)
                    .or_else(|| arguments.iter().find_map(|word| loose(&word.text)))
            }
            other if WRAPPERS.contains(&other) => {
                self.given(arguments, piped).or_else(|| self.suffixes(arguments, piped))
            }
            _ => None,
        }
    }

    /// Arguments that are scripts themselves: the one after `-c`, and whatever has blanks in it.
    fn given(&mut self, arguments: &[Word], piped: bool) -> Option<&'static str> {
        let mut after_c = false;
        for word in arguments {
            let script = after_c || word.text.contains(char::is_whitespace);
            after_c = word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c');
            if script && let Some(found) = self.script(&word.text, piped) {
                return Some(found);
            }
        }
        None
    }

    /// A wrapper's command may begin at any of its arguments.
    fn suffixes(&mut self, arguments: &[Word], piped: bool) -> Option<&'static str> {
        if self.depth >= DEPTH_MAX {
            return Some(UNREADABLE);
        }
        self.depth += 1;
        let found = (0..arguments.len()).find_map(|at| {
            let rest = arguments.get(at..)?;
            // A wrapper in a wrapper looks at what follows it itself, and so does every later one.
            let wrapper = rest.first().is_some_and(|word| WRAPPERS.contains(&basename(&word.text).as_str()));
            if wrapper { None } else { self.program(rest, piped) }
        });
        self.depth -= 1;
        found
    }

    fn git(&mut self, arguments: &[Word]) -> Option<&'static str> {
        let mut rest = arguments.iter().enumerate();
        while let Some((at, word)) = rest.next() {
            match word.text.as_str() {
                "-c" | "--config-env" => {
                    let (_, value) = rest.next()?;
                    // An alias of the moment.
                    let command = value.text.split_once('=').map_or("", |(_, command)| command);
                    let found = self.git_alias(command);
                    if found.is_some() {
                        return found;
                    }
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--super-prefix"
                | "--attr-source" => {
                    rest.next()?;
                }
                option if option.starts_with('-') => {}
                command => {
                    let after = arguments.get(at + 1..).unwrap_or_default();
                    return self.git_command(command, word.dynamic, after);
                }
            }
        }
        None
    }

    fn git_command(&mut self, command: &str, dynamic: bool, after: &[Word]) -> Option<&'static str> {
        match command {
            _ if dynamic || is_push(command) => Some(PUSH),
            "subtree" | "lfs" => after.first().is_some_and(|word| is_push(&word.text)).then_some(PUSH),
            "submodule" | "rebase" | "bisect" | "filter-branch" => {
                self.given(after, false).or_else(|| self.suffixes(after, false))
            }
            "config" => {
                let mut is_alias = false;
                after.iter().find_map(|word| {
                    let found = if is_alias || word.text.starts_with('!') {
                        self.git_alias(&word.text)
                    } else {
                        None
                    };
                    is_alias |= word.text.to_ascii_lowercase().starts_with("alias.");
                    found
                })
            }
            _ => None,
        }
    }

    /// What a word of git's own stands for: a command of its own, or of a shell.
    fn git_alias(&mut self, command: &str) -> Option<&'static str> {
        match command.strip_prefix('!') {
            Some(shell) => self.script(shell, false),
            None => self.script(&format!("git {command}"), false),
        }
    }
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.iter().any(|known| is_version_of(name, known))
}

fn is_search(name: &str) -> bool {
    SEARCHES.contains(&name)
}

/// Whether a program's arguments are looked at.
fn is_read(name: &str) -> bool {
    LOOKED_INTO.contains(&name) || WRAPPERS.contains(&name) || is_shell(name) || is_interpreter(name)
}

/// Whether a command names such a program, itself or for a wrapper.
fn has(command: &Simple, is_such: fn(&str) -> bool) -> bool {
    command.words.iter().any(|word| is_such(&basename(&word.text)))
}

fn is_push(command: &str) -> bool {
    matches!(command, "push" | "send-pack")
}

fn basename(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name).to_ascii_lowercase()
}

/// `python3.12` is a version of `python`.
fn is_version_of(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn assignment(word: &Word) -> Option<(&str, &str)> {
    let (name, value) = word.text.split_once('=')?;
    let first = name.bytes().next()?;
    let named = (first.is_ascii_alphabetic() || first == b'_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    named.then_some((name, value))
}

fn removes_folders(arguments: &[Word]) -> bool {
    arguments.iter().take_while(|word| word.text != "--").any(|word| match word.text.strip_prefix("--") {
        // GNU takes every beginning of a long option.
        Some(long) => long.starts_with('r'),
        None => word.text.starts_with('-') && word.text.contains(['r', 'R']),
    })
}

/// A program that is only known when it runs.
fn unknown(arguments: &[Word]) -> Option<&'static str> {
    let first = arguments.iter().find(|word| !word.text.starts_with('-'));
    if first.is_some_and(|word| is_push(&word.text)) {
        return Some(PUSH);
    }
    arguments.iter().any(|word| matches!(word.text.as_str(), "-rf" | "-fr" | "-Rf" | "-fR")).then_some(REMOVE)
}

/// SQL is looked for wherever it is not just being looked for.
fn sql(words: &[Word]) -> Option<&'static str> {
    let program = words.first().map(|word| basename(&word.text)).unwrap_or_default();
    if is_search(&program) {
        return None;
    }
    let text = without_comments(&joined(words)).to_ascii_lowercase();
    let mut verb = None;
    for token in tokens(&text, "_") {
        match (token, verb) {
            ("drop", _) => verb = Some(DROP),
            ("truncate", _) => verb = Some(TRUNCATE),
            ("table", Some(found)) => return Some(found),
            ("temporary" | "foreign", _) => {}
            _ => verb = None,
        }
    }
    None
}

/// SQL's comments stand for a blank.
fn without_comments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        shown.push_str(before);
        shown.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
}

/// The words of a text in some language: letters, digits, and what else is part of one there.
fn tokens<'a>(text: &'a str, inside: &'static str) -> impl Iterator<Item = &'a str> {
    text.split(move |c: char| !c.is_alphanumeric() && !inside.contains(c)).filter(|token| !token.is_empty())
}

/// Calls that remove folders in other languages.
const REMOVERS: [&str; 5] = ["rmtree", "rmSync", "rm_rf", "rm_r", "remove_dir_all"];

/// A program in another language: whatever looks like one of the commands.
fn loose(text: &str) -> Option<&'static str> {
    let mut before = "";
    for token in tokens(text, "_-") {
        if token == "sudo" {
            return Some(SUDO);
        }
        if REMOVERS.contains(&token) {
            return Some(REMOVE);
        }
        match before {
            "git" if token == "push" => return Some(PUSH),
            "rm" if token.starts_with("--r") || (token.starts_with('-') && token.contains(['r', 'R'])) => {
                return Some(REMOVE);
            }
            // Options of theirs.
            "git" | "rm" if token.starts_with('-') => {}
            _ => before = token,
        }
    }
    None
}

#[cfg(test)]
mod tests;
