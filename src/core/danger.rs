//! What is always asked, whatever an agent may do otherwise: `git push`, `rm -r`, `sudo`, pipes into a shell, `drop table`,
//! `truncate table`, what is configured (contract, section 9), and what has characters in it that nobody sees.
//!
//! A command is read as a shell would read it ([`words`]): quotes, backslashes, substitutions and braces resolved, wrappers
//! such as `env` and `timeout` looked through, and what `bash -c`, `eval` and the like are given read once more. A variable
//! stands for each value that the text gives it, a function that runs its arguments is a wrapper, too. That finds
//! `/bin/rm -fr`, `"r"m -r` and `bash -lc 'git  push'`, and leaves `git commit -m "no more sudo"` alone. It is no sandbox:
//! a script that is written first and run afterwards does what it likes, so that an agent's permissions stay what counts.

mod arguments;
mod groups;
mod names;
mod programs;
mod simple;
mod targets;
mod texts;
mod words;

use regex::{Regex, RegexBuilder};

use super::ask::hides;
use names::Names;
use programs::{
    Assignment, DECLARING, FILLING, PLACES, RESERVED, ShellCall, assignment, basename, has, interprets_pipe,
    is_foreign, is_from_pipe, is_interpreter, is_read, is_script_reader, is_shell, is_wrapper, may_run,
    only_named, without_searches,
};
use simple::{Simple, Word};
use texts::{loose, sql};

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
    let mut reading =
        Reading { depth: 0, left: STEPS_MAX, names: Names::new(), resolving: false, filled: false };
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
    /// What a script assigns is known in all of it, and further down.
    names: Names,
    /// Whether the value of a variable is being looked up in the value of another.
    resolving: bool,
    /// Whether it is what a program is given that puts in it what it reads: `xargs`.
    filled: bool,
}

impl Reading {
    fn text(&mut self, text: &str) -> Option<&'static str> {
        self.names = Names::new();
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
        while self.names.define(&commands) {
            let steps = commands.iter().map(|command| cost(&command.words)).sum();
            if let Some(found) = self.step(steps) {
                return Some(found);
            }
        }
        self.depth += 1;
        let interpreted = commands.iter().any(|command| has(command, is_interpreter));
        let mut known = Vec::with_capacity(commands.len());
        let found = commands.iter().find_map(|command| {
            known.push(self.names.values());
            self.command(command, interpreted).or_else(|| self.values(command))
        });
        // A function may run long after it is defined, with values that are given below it.
        let all = self.names.values();
        let mut later =
            commands.iter().zip(known).filter(|(command, known)| *known < all && command.varies());
        let found = found.or_else(|| later.find_map(|(command, _)| self.command(command, interpreted)));
        self.depth -= 1;
        found
    }

    /// What a command does, by itself and with what it is given.
    fn command(&mut self, command: &Simple, interpreted: bool) -> Option<&'static str> {
        self.simple(command).or_else(|| self.input(command, interpreted))
    }

    /// Takes in the variables that a command gives values to.
    fn values(&mut self, command: &Simple) -> Option<&'static str> {
        let (before, rest) = command.words.split_at(before_program(&command.words));
        let gives = |word: &Word| {
            let text = word.text.as_str();
            DECLARING.contains(&text) || matches!(text, "for" | "select")
        };
        if !rest.first().is_some_and(gives) && !before.iter().any(|word| assignment(&word.text).is_some()) {
            return None;
        }
        (0..self.rounds(command)).find_map(|round| {
            let words = match self.words(command, round) {
                Ok(words) => words,
                Err(found) => return Some(found),
            };
            let (before, rest) = words.split_at(before_program(&words));
            let mut assigned = before.iter().filter_map(|word| assignment(&word.text));
            assigned.find_map(|assigned| self.assign(assigned)).or_else(|| self.declared(rest))
        })
    }

    /// What a command is given in a here-document or a here-string. The commands in a here-document are read where it
    /// stands; `interpreted` says that the script has an interpreter somewhere.
    fn input(&mut self, command: &Simple, interpreted: bool) -> Option<&'static str> {
        if command.input.is_empty() {
            return None;
        }
        // A here-string is often a variable alone.
        let input = Word { text: command.input.trim_end().to_owned(), dynamic: true, quoted: true };
        let rounds = self.names.count(&input).max(1);
        (0..rounds).find_map(|round| {
            let text = self.names.expanded(&input, round).pop()?.text;
            let steps = command.words.len() + text.len() / STEP_LETTERS;
            self.step(1 + steps).or_else(|| self.given_text(command, &text, interpreted))
        })
    }

    fn given_text(&mut self, command: &Simple, text: &str, interpreted: bool) -> Option<&'static str> {
        // One for a whole group is for whatever is in it.
        let group = command.words.iter().all(|word| RESERVED.contains(&word.text.as_str()));
        if has(command, is_interpreter) || (group && interpreted) {
            return loose(text);
        }
        if without_searches(&command.words).len() < command.words.len() {
            return None;
        }
        let reads = has(command, |name| is_shell(name) || self.reads_scripts(name));
        let found = if reads { self.script(text, false) } else { None };
        found.or_else(|| sql(&[text]))
    }

    /// A command, with each value that its variables may have.
    fn simple(&mut self, command: &Simple) -> Option<&'static str> {
        (0..self.rounds(command)).find_map(|round| self.round(command, round))
    }

    /// How often a command is looked at.
    fn rounds(&self, command: &Simple) -> usize {
        command.words.iter().map(|word| self.names.count(word)).max().unwrap_or_default().max(1)
    }

    /// A command's words, each variable with one of its values.
    fn words(&mut self, command: &Simple, round: usize) -> Result<Vec<Word>, &'static str> {
        let mut words: Vec<Word> = Vec::new();
        for word in &command.words {
            let word = self.names.expanded(word, round);
            let letters: usize = word.iter().map(|word| word.text.len()).sum();
            if let Some(found) = self.step(word.len().max(1) + letters / STEP_LETTERS) {
                return Err(found);
            }
            words.extend(word);
        }
        Ok(words)
    }

    fn round(&mut self, command: &Simple, round: usize) -> Option<&'static str> {
        let words = match self.words(command, round) {
            Ok(words) => words,
            Err(found) => return Some(found),
        };
        let words = &words[before_program(&words)..];
        let place = words.first().is_some_and(|word| PLACES.contains(&word.text.as_str()));
        if self.filled && command.piped && place {
            return Some(PIPE);
        }
        sql(&without_searches(words)).or_else(|| self.program(words, command.piped))
    }

    /// Takes in the variables that a word of the shell's own gives values to.
    fn declared(&mut self, words: &[Word]) -> Option<&'static str> {
        let (first, rest) = words.split_first()?;
        match (first.text.as_str(), rest) {
            (declaring, assigned) if DECLARING.contains(&declaring) => {
                assigned.iter().find_map(|word| self.assign(assignment(&word.text)?))
            }
            ("for" | "select", [name, is_in, values @ ..]) if is_in.text == "in" => {
                let value = |word| Assignment { name: &name.text, value: word, adds: false };
                values.iter().find_map(|word| self.assign(value(&word.text)))
            }
            _ => None,
        }
    }

    fn assign(&mut self, Assignment { name, value, adds }: Assignment<'_>) -> Option<&'static str> {
        // What is added to all values each time would double them.
        let before = if adds { self.names.newest(name).to_owned() } else { String::new() };
        // A variable that is given to another hands on all of its values.
        let word = Word::of_value(value, true);
        let rounds = self.names.count(&word).max(1);
        (0..rounds).find_map(|round| {
            let text = before.clone() + &self.names.expanded(&word, round).pop()?.text;
            let values = self.names.assign(name, &text);
            self.step((values + text.len()) / STEP_LETTERS)
        })
    }

    /// Whether a program may read a script where it is given one word.
    fn reads_scripts(&self, name: &str) -> bool {
        is_script_reader(name) || self.names.is_script_runner(name)
    }

    fn is_wrapper(&self, name: &str) -> bool {
        is_wrapper(name) || self.names.is_runner(name)
    }

    /// What a program with these arguments does.
    fn program(&mut self, words: &[Word], piped: bool) -> Option<&'static str> {
        let (first, arguments) = words.split_first()?;
        let name = basename(&first.text);
        // Most programs' arguments are none of herder's business.
        let looks = first.dynamic || is_read(&name) || self.names.is_runner(&name);
        let looked_at = if looks { cost(arguments) } else { 0 };
        if let Some(found) = self.step(1 + looked_at) {
            return Some(found);
        }
        if first.dynamic && !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            return self.unknown(first, arguments, piped);
        }
        match name.as_str() {
            "sudo" | "sudoedit" | "doas" | "pkexec" | "run0" | "su" | "runuser" => Some(SUDO),
            "rm" | "grm" => removes_folders(arguments).then_some(REMOVE),
            "git" => self.git(arguments),
            "git-push" | "git-send-pack" => Some(PUSH),
            "find" | "gfind" | "fd" | "fdfind" => {
                let deletes = arguments.iter().any(|word| word.text == "-delete");
                if deletes { Some(REMOVE) } else { self.executed(arguments) }
            }
            "jj" => {
                let pushes = |pair: &[Word]| pair.iter().map(|word| word.text.as_str()).eq(["git", "push"]);
                arguments.windows(2).any(pushes).then_some(PUSH)
            }
            "eval" if arguments.first().is_some_and(|script| is_foreign(script, piped)) => Some(PIPE),
            "eval" => self.script(&joined(arguments), piped),
            "source" | "." => is_from_pipe(arguments.first(), piped).then_some(PIPE),
            "alias" => arguments.iter().find_map(|word| self.script(word.text.split_once('=')?.1, false)),
            // It says where a program is.
            "command" if arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {
                None
            }
            shell if is_shell(shell) => {
                let call = ShellCall::read(shell, arguments);
                if call.is_piped(piped) {
                    return Some(PIPE);
                }
                self.given(arguments, 0, piped && call.script)
            }
            other if is_interpreter(other) => {
                if interprets_pipe(other, arguments, piped) {
                    return Some(PIPE);
                }
                arguments.iter().filter(|word| may_run(other, &word.text)).find_map(|word| loose(&word.text))
            }
            // What it reads stands behind what it is told, unless it is told where.
            "xargs" => {
                let place = Word { text: "{}".to_owned(), ..Word::default() };
                let words: Vec<Word> = words.iter().cloned().chain([place]).collect();
                self.wrapped(&words, piped)
            }
            other if self.is_wrapper(other) => self.wrapped(words, piped),
            _ => None,
        }
    }

    /// What a wrapper and its arguments do.
    fn wrapped(&mut self, words: &[Word], piped: bool) -> Option<&'static str> {
        // What is handed on word by word has no script in it before something that reads one.
        let reads = |word: &Word| {
            let splits = word.text.starts_with("-S") || word.text.starts_with("--split-string");
            splits || self.reads_scripts(&basename(&word.text))
        };
        let scripts = words.iter().position(reads).map_or(words.len(), |at| at + 1);
        let fills = words.iter().any(|word| FILLING.contains(&basename(&word.text).as_str()));
        let around = self.filled;
        self.filled |= fills;
        let found = self.given(words, scripts, piped).or_else(|| self.suffixes(words, 1, piped));
        self.filled = around;
        found
    }

    /// A program that is only known when it runs.
    fn unknown(&mut self, program: &Word, arguments: &[Word], piped: bool) -> Option<&'static str> {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.text.as_str() {
                "-C" | "-c" => drop(words.next()),
                option if option.starts_with('-') => {}
                command if is_push(command) => return Some(PUSH),
                _ => break,
            }
        }
        if arguments.iter().any(|word| matches!(word.text.as_str(), "-rf" | "-fr" | "-Rf" | "-fR")) {
            return Some(REMOVE);
        }
        let found = self.resolved(program, arguments, piped);
        if found.is_some() {
            return found;
        }
        // A word that only has a variable in it names no program.
        if program.is_printed() || program.text.starts_with('$') {
            self.given(arguments, 0, piped)
        } else {
            None
        }
    }

    /// The same for a variable that the value of another one begins with.
    fn resolved(&mut self, program: &Word, arguments: &[Word], piped: bool) -> Option<&'static str> {
        // A value may begin with its own variable: once is enough to know what it adds to.
        if std::mem::replace(&mut self.resolving, true) {
            return None;
        }
        let found = (0..self.names.count(program)).find_map(|round| {
            let mut words = self.names.expanded(program, round);
            words.extend_from_slice(arguments);
            self.step(words.len()).or_else(|| self.program(&words, piped))
        });
        self.resolving = false;
        found
    }

    /// The commands that `find` runs.
    fn executed(&mut self, arguments: &[Word]) -> Option<&'static str> {
        const EXECUTES: [&str; 8] =
            ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        if self.depth >= DEPTH_MAX {
            return Some(UNREADABLE);
        }
        self.depth += 1;
        let mut rest = arguments;
        let mut found = None;
        while let Some(at) = rest.iter().position(|word| EXECUTES.contains(&word.text.as_str())) {
            rest = rest.get(at + 1..).unwrap_or_default();
            let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let (command, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            found = self.program(command, false);
            if found.is_some() {
                break;
            }
        }
        self.depth -= 1;
        found
    }

    /// Words that are scripts themselves, of those from the given one on: the one after `-c`, and whatever has blanks in it.
    fn given(&mut self, words: &[Word], from: usize, piped: bool) -> Option<&'static str> {
        let mut after_c = false;
        for (word, named) in only_named(words, from) {
            let value = word.text.strip_prefix("--").and_then(|option| option.split_once('='));
            let text = value.map_or(word.text.as_str(), |(_, value)| value);
            let script = after_c || text.contains(char::is_whitespace);
            after_c = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
            if script
                && !named
                && let Some(found) = self.script(text, piped)
            {
                return Some(found);
            }
        }
        None
    }

    /// A wrapper's command may begin at any of its words from the given one on.
    fn suffixes(&mut self, words: &[Word], from: usize, piped: bool) -> Option<&'static str> {
        if self.depth >= DEPTH_MAX {
            return Some(UNREADABLE);
        }
        self.depth += 1;
        let found = only_named(words, from).zip(from..).find_map(|((word, named), at)| {
            // A wrapper in a wrapper looks at what follows it itself, and so does every later one.
            let passed = named || self.is_wrapper(&basename(&word.text));
            if passed { None } else { self.program(words.get(at..)?, piped) }
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
                self.given(after, 0, false).or_else(|| self.suffixes(after, 0, false))
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

/// The number of words that stand before a command's program.
fn before_program(words: &[Word]) -> usize {
    let mut first = 0;
    while let Some(word) = words.get(first) {
        if word.text == "function" {
            // The name of what is defined.
            first += 1;
        } else if assignment(&word.text).is_none() && !RESERVED.contains(&word.text.as_str()) {
            break;
        }
        first += 1;
    }
    first.min(words.len())
}

/// Steps that looking at each of these words takes.
fn cost(words: &[Word]) -> usize {
    words.iter().map(|word| 1 + word.text.len() / STEP_LETTERS).sum()
}

fn is_push(command: &str) -> bool {
    matches!(command, "push" | "send-pack")
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn removes_folders(arguments: &[Word]) -> bool {
    arguments.iter().take_while(|word| word.text != "--").any(|word| match word.text.strip_prefix("--") {
        // GNU takes every beginning of a long option.
        Some(long) => long.starts_with('r'),
        None => word.text.starts_with('-') && word.text.contains(['r', 'R']),
    })
}

#[cfg(test)]
mod tests;
