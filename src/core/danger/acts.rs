//! Checks calls of programs, each by what it does with its arguments: `sudo`, `rm`, git, `find`, shells, interpreters
//! and others.

use super::expand::says;
use super::names::ARGUMENTS;
use super::programs::{
    basename, editor_commands, interprets_pipe, is_from_pipe, is_interpreter, is_read, is_shell, is_wrapper,
    may_run, only_named, own_program, without_searches,
};
use super::texts::{loose, sql};
use super::tree::Around;
use super::words::{ARGUMENT, HOLE, PLACE, Word};
use super::{Asked, DEPTH_MAX, PIPE, PUSH, REMOVE, Reader, SUDO, UNREADABLE, UNTOLD};

/// Returns a text quoted as one word of a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn cost(words: &[Word]) -> usize {
    words.iter().map(|word| 1 + word.text.len() / super::STEP_LETTERS).sum()
}

fn is_push(command: &str) -> bool {
    matches!(command, "push" | "send-pack")
}

fn removes_folders(arguments: &[Word]) -> bool {
    arguments.iter().take_while(|word| word.text != "--").any(|word| {
        // Arguments from another command's output may be options.
        let unknown = word.text.starts_with(HOLE) || (word.text.starts_with('-') && word.is_unknown());
        unknown
            || match word.text.strip_prefix("--") {
                // GNU accepts every unambiguous prefix of a long option.
                Some(long) => long.starts_with('r'),
                None => word.text.starts_with('-') && word.text.contains(['r', 'R']),
            }
    })
}

impl Reader {
    /// Checks a simple command: what it writes, files and functions of the text that it runs, then the program itself.
    pub(super) fn simple(&mut self, words: &[Word], around: &Around) -> Asked {
        let Some((first, arguments)) = words.split_first() else { return Ok(()) };
        self.step(1 + cost(words) / 8)?;
        let name = basename(&first.text);
        if !self.functions.contains_key(&name) {
            let text = match name.as_str() {
                "echo" | "printf" => says(words),
                "cat" if arguments.is_empty() => around.given.clone(),
                "tee" => around.given.clone(),
                _ => None,
            };
            if name == "tee" {
                for file in arguments.iter().filter(|word| !word.text.starts_with('-')) {
                    self.writes(&file.text, text.clone())?;
                }
                if text.is_some() && !around.feeds {
                    return Ok(());
                }
            }
            if let Some(file) = &around.written {
                // Text that is only written to a file is examined when something runs that file.
                let known = text.is_some();
                self.writes(file, text)?;
                if known && !file.starts_with("/dev/") {
                    return Ok(());
                }
            }
            if let Some(file) = own_program(&name, arguments) {
                self.writes(&file, None)?;
            }
        }
        let acting = without_searches(words);
        if let Some(found) = sql(&acting) {
            return Err(found);
        }
        if let Some(found) =
            around.given.as_deref().filter(|_| acting.len() == words.len()).and_then(|text| sql(&[text]))
        {
            return Err(found);
        }
        if let Some(file) = self.files.get(first.text.trim_start_matches("./")).cloned() {
            return self.file(file);
        }
        if self.functions.contains_key(&first.text) {
            let arguments = arguments.iter().map(|word| word.text.clone()).collect();
            return self.call(&first.text, arguments, around);
        }
        if let Some(alias) = self.aliases.get(&first.text).cloned() {
            let text = [alias].into_iter().chain(arguments.iter().map(|word| quoted(&word.text)));
            let text = text.collect::<Vec<_>>().join(" ");
            return self.nested(&text, around, false);
        }
        self.program(words, around)
    }

    /// Checks the content of a file that the text wrote before and now runs; `None`: output that is only known at run
    /// time.
    fn file(&mut self, text: Option<String>) -> Asked {
        match text {
            Some(text) => self.nested(&text, &Around::default(), false),
            None => Err(PIPE),
        }
    }

    /// Checks a call of a program, by its name: `sudo`, `rm`, a wrapper such as `env`, or any other.
    pub(super) fn program(&mut self, words: &[Word], around: &Around) -> Asked {
        let Some((first, arguments)) = words.split_first() else { return Ok(()) };
        let name = basename(&first.text);
        // The arguments of most programs are of no interest.
        self.step(1 + if is_read(&name) { cost(arguments) } else { 0 })?;
        if first.text.contains(ARGUMENT) && first.text.starts_with(ARGUMENT) {
            return Ok(());
        }
        let unknown = Word { text: name.clone(), ..first.clone() };
        let spread = !first.quoted && first.text.contains([HOLE]);
        if unknown.is_unknown() || spread {
            return self.unknown(first, arguments, around);
        }
        match name.as_str() {
            "sudo" | "sudoedit" | "doas" | "pkexec" | "run0" | "su" | "runuser" => Err(SUDO),
            "rm" | "grm" if removes_folders(arguments) => Err(REMOVE),
            "git" => self.git(arguments),
            "git-push" | "git-send-pack" => Err(PUSH),
            "find" | "gfind" | "fd" | "fdfind" => self.find(arguments),
            "jj" => {
                let pushes = |pair: &[Word]| pair.iter().map(|word| word.text.as_str()).eq(["git", "push"]);
                if arguments.windows(2).any(pushes) { Err(PUSH) } else { Ok(()) }
            }
            "eval" => self.nested(&joined(arguments), around, true),
            "source" | "." => match arguments.first() {
                Some(word)
                    if matches!(word.text.as_str(), "/dev/stdin" | "/dev/fd/0") && around.given.is_some() =>
                {
                    self.nested(around.given.as_deref().unwrap_or_default(), &Around::default(), true)
                }
                word if is_from_pipe(word, self.is_piped(around)) => Err(PIPE),
                Some(word) => match self.files.get(word.text.trim_start_matches("./")).cloned() {
                    Some(text) => self.file(text),
                    None => Ok(()),
                },
                None => Ok(()),
            },
            "alias" => {
                for word in arguments {
                    if let Some((name, text)) = word.text.split_once('=') {
                        self.aliases.insert(name.to_owned(), text.to_owned());
                        self.nested(text, &Around::default(), false)?;
                    }
                }
                Ok(())
            }
            "read" | "mapfile" | "readarray" | "getopts" => {
                let names = if name == "read" { "REPLY" } else { "MAPFILE" };
                for name in arguments.iter().map(|word| word.text.as_str()).chain([names]) {
                    self.names.assign(name, vec![HOLE.to_string()]);
                }
                self.given(arguments, 0, around)
            }
            "printf" if arguments.first().is_some_and(|word| word.text.starts_with("-v")) => {
                let attached = arguments[0].text.strip_prefix("-v").filter(|name| !name.is_empty());
                let name = attached.or(arguments.get(1).map(|word| word.text.as_str())).unwrap_or_default();
                self.names.assign(name.split('[').next().unwrap_or_default(), vec![HOLE.to_string()]);
                Ok(())
            }
            "set" => {
                let from =
                    arguments.iter().position(|word| !word.text.starts_with(['-', '+']) || word.text == "--");
                if let Some(from) = from {
                    let values = arguments[from..].iter().map(|word| word.text.clone());
                    let skipped = usize::from(arguments[from].text == "--");
                    self.names.assign(ARGUMENTS, values.skip(skipped).collect());
                }
                Ok(())
            }
            "shift" => {
                let most = arguments.first().and_then(|word| word.text.parse().ok()).unwrap_or(1);
                let newest = self.names.values(ARGUMENTS).last().cloned().unwrap_or_default();
                let known = !newest.iter().any(|value| value.contains([HOLE, ARGUMENT]));
                if known && !newest.is_empty() {
                    self.names.assign(ARGUMENTS, newest.into_iter().skip(most).collect());
                }
                Ok(())
            }
            "export" | "declare" | "local" | "typeset" | "readonly" => {
                self.declares(arguments);
                Ok(())
            }
            "trap" if arguments.iter().any(|word| !word.text.starts_with('-')) => {
                let script =
                    arguments.iter().find(|word| !word.text.starts_with('-') || word.text.len() == 1);
                script.map_or(Ok(()), |script| self.nested(&script.text, around, true))
            }
            "hash" if arguments.first().is_some_and(|word| word.text.starts_with("-p")) => Err(UNTOLD),
            // It only prints the location of a program.
            "command" | "type"
                if arguments.first().is_some_and(|word| {
                    matches!(word.text.as_str(), "-v" | "-V" | "-p" | "-t" | "-a" | "-P") && name == "type"
                        || matches!(word.text.as_str(), "-v" | "-V")
                }) =>
            {
                Ok(())
            }
            "exec" if arguments.is_empty() => {
                self.stdin |= around.piped;
                Ok(())
            }
            "{" | "}" | "!" | "do" | "then" | "else" => self.simple(arguments, around),
            shell if is_shell(shell) => self.shell(shell, arguments, around),
            other if is_interpreter(other) => self.interpreter(other, arguments, around),
            "xargs" | "gxargs" => self.xargs(arguments),
            "parallel" => self.parallel(words, around),
            other if is_wrapper(other) => self.wrapped(other, words, around),
            other => self.other(other, arguments, around),
        }
    }

    pub(super) fn is_piped(&self, around: &Around) -> bool {
        around.given.is_none() && (around.piped || self.stdin)
    }

    /// Checks a call of a program whose name is only known when it runs; it is always asked about.
    fn unknown(&mut self, program: &Word, arguments: &[Word], around: &Around) -> Asked {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.text.as_str() {
                "-C" | "-c" => drop(words.next()),
                option if option.starts_with('-') => {}
                command if is_push(command) => return Err(PUSH),
                _ => break,
            }
        }
        if arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "-r" | "-R" | "-rf" | "-fr" | "-Rf" | "-fR"))
        {
            return Err(REMOVE);
        }
        self.given(arguments, 0, around)?;
        Err(if self.fed && program.text.contains(HOLE) { PIPE } else { UNTOLD })
    }

    fn shell(&mut self, shell: &str, arguments: &[Word], around: &Around) -> Asked {
        let (mut script, mut input, mut checks, mut operand) = (false, false, false, None);
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let text = word.text.as_str();
            at += 1;
            if text == "--" {
                operand = Some(at).filter(|at| *at < arguments.len());
                break;
            }
            if text == "}" && !word.quoted {
                continue;
            }
            if let Some(option) = text.strip_prefix("--") {
                script |= option.starts_with("command");
                if matches!(option, "rcfile" | "init-file") {
                    if arguments.get(at).is_some_and(|file| file.text.starts_with("/dev/fd/")) {
                        return Err(PIPE);
                    }
                    at += 1;
                }
                continue;
            }
            match text.strip_prefix(['-', '+']) {
                None | Some("") => {
                    operand = Some(at - 1);
                    break;
                }
                Some(option) if shell == "pwsh" => {
                    script |= matches!(option.to_ascii_lowercase().as_str(), "c" | "command");
                }
                Some(letters) => {
                    script |= letters.contains('c');
                    input |= letters.contains('s');
                    checks |= letters.contains('n');
                    at += usize::from(letters.ends_with(['o', 'O']));
                }
            }
        }
        let word = operand.and_then(|at| arguments.get(at));
        let piped = self.is_piped(around);
        let posix = !matches!(shell, "fish" | "csh" | "tcsh" | "pwsh" | "nu");
        match word {
            Some(word) if script => {
                let rest = arguments.get(operand.unwrap_or_default() + 1..).unwrap_or_default();
                let values: Vec<String> = rest.iter().skip(1).map(|word| word.text.clone()).collect();
                let program = rest.first().map(|word| vec![vec![word.text.clone()]]);
                let outer = self.names.replace(ARGUMENTS, Some(vec![values]));
                let name = program.map(|program| self.names.replace("0", Some(program)));
                let read = self.nested(&word.text, around, posix);
                self.names.replace(ARGUMENTS, outer);
                if let Some(name) = name {
                    self.names.replace("0", name);
                }
                read
            }
            None if script => {
                if piped {
                    Err(PIPE)
                } else {
                    Ok(())
                }
            }
            Some(word)
                if !input
                    && !matches!(
                        word.text.as_str(),
                        "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"
                    ) =>
            {
                if word.text.starts_with("/dev/fd/")
                    || (word.text.starts_with(HOLE) && !word.quoted && !checks)
                {
                    return Err(PIPE);
                }
                match self.files.get(word.text.trim_start_matches("./")).cloned() {
                    Some(text) if !checks => self.file(text),
                    _ => self.given(arguments, 0, around),
                }
            }
            _ if piped => Err(PIPE),
            _ => match &around.given {
                Some(text) => self.nested(text, &Around::default(), posix),
                None => Ok(()),
            },
        }
    }

    fn interpreter(&mut self, name: &str, arguments: &[Word], around: &Around) -> Asked {
        if interprets_pipe(name, arguments, self.is_piped(around)) {
            return Err(PIPE);
        }
        let file = arguments.iter().find(|word| !word.text.starts_with('-'));
        if file.is_some_and(|file| self.files.get(file.text.trim_start_matches("./")) == Some(&None)) {
            return Err(PIPE);
        }
        let texts = arguments.iter().map(|word| word.text.as_str()).filter(|text| may_run(name, text));
        let found = texts.chain(around.given.as_deref()).find_map(|text| loose(text, false));
        found.map_or(Ok(()), Err)
    }

    /// Checks the commands that `find` runs, and its own deletions.
    fn find(&mut self, arguments: &[Word]) -> Asked {
        const EXECUTES: [&str; 8] =
            ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let is = |text: &'static str| arguments.iter().any(move |word| word.text == text);
        let files = arguments
            .windows(2)
            .any(|pair| pair[0].text == "-type" && !pair[1].text.contains('d') && !pair[1].is_unknown());
        if is("-delete") && (!files || is("-o") || is("!") || is("-not") || is(",")) {
            return Err(REMOVE);
        }
        if arguments.iter().any(|word| word.text.starts_with(HOLE)) && !is("-print0") && !is("-name") {
            return Err(UNTOLD);
        }
        self.deeper(|reader| {
            let mut rest = arguments;
            while let Some(at) = rest.iter().position(|word| EXECUTES.contains(&word.text.as_str())) {
                rest = rest.get(at + 1..).unwrap_or_default();
                let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
                let (command, after) = rest.split_at(end.unwrap_or(rest.len()));
                rest = after;
                let place =
                    |word: &Word| Word { text: word.text.replace("{}", &PLACE.to_string()), ..word.clone() };
                reader.simple(&command.iter().map(place).collect::<Vec<_>>(), &Around::default())?;
            }
            Ok(())
        })
    }

    pub(super) fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Asked) -> Asked {
        if self.depth >= DEPTH_MAX {
            return Err(UNREADABLE);
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Checks those words from index `from` on that are scripts: the one after `-c`, and each that contains blanks.
    pub(super) fn given(&mut self, words: &[Word], from: usize, around: &Around) -> Asked {
        let mut after_c = false;
        for (word, named) in only_named(words, from) {
            let value = word.text.strip_prefix("--").and_then(|option| option.split_once('='));
            let text = value.map_or(word.text.as_str(), |(_, value)| value);
            let script = after_c || text.contains(char::is_whitespace);
            after_c = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
            if script && !named {
                self.nested(text, around, false)?;
            }
        }
        Ok(())
    }

    fn git(&mut self, arguments: &[Word]) -> Asked {
        let mut rest = arguments.iter().enumerate();
        while let Some((at, word)) = rest.next() {
            match word.text.as_str() {
                "-c" | "--config-env" => {
                    let Some((_, value)) = rest.next() else { return Ok(()) };
                    if value.text.starts_with(HOLE) {
                        return Err(PUSH);
                    }
                    // An alias for this call only.
                    self.git_alias(value.text.split_once('=').map_or("", |(_, command)| command))?;
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--super-prefix"
                | "--attr-source" => drop(rest.next()),
                _ if word.is_unknown() => return Err(PUSH),
                option if option.starts_with('-') => {}
                command => {
                    let after = arguments.get(at + 1..).unwrap_or_default();
                    return self.git_command(command, after);
                }
            }
        }
        Ok(())
    }

    fn git_command(&mut self, command: &str, after: &[Word]) -> Asked {
        match command {
            _ if is_push(command) => Err(PUSH),
            "subtree" | "lfs"
                if after.first().is_some_and(|word| is_push(&word.text) || word.is_unknown()) =>
            {
                Err(PUSH)
            }
            "submodule" | "rebase" | "bisect" | "filter-branch" => {
                let around = Around::default();
                self.deeper(|reader| {
                    reader.given(after, 0, &around)?;
                    reader.suffixes(after, None, &around)?;
                    reader.program(after, &around)
                })
            }
            "config" => {
                let mut is_alias = false;
                for word in after {
                    if is_alias || word.text.starts_with('!') {
                        self.git_alias(&word.text)?;
                    }
                    is_alias |= word.text.to_ascii_lowercase().starts_with("alias.");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks the definition of a git alias: a git command, or with `!` a shell command.
    fn git_alias(&mut self, command: &str) -> Asked {
        match command.strip_prefix('!') {
            Some(shell) => self.nested(shell, &Around::default(), true),
            None if command.contains([HOLE, PLACE, ARGUMENT]) => Ok(()),
            None => self.nested(&format!("git {command}"), &Around::default(), false),
        }
    }

    /// Checks programs that are no wrappers, but run some of their arguments, such as editors.
    fn other(&mut self, name: &str, arguments: &[Word], around: &Around) -> Asked {
        if matches!(name, "make" | "gmake") {
            let reads = arguments
                .windows(2)
                .any(|pair| pair[0].text == "-f" && matches!(pair[1].text.as_str(), "-" | "/dev/stdin"));
            return if reads || arguments.iter().any(|word| word.text == "-f-") {
                Err(UNTOLD)
            } else {
                Ok(())
            };
        }
        if name.bytes().all(|c| c.is_ascii_digit()) {
            // A retry count, given to a function that acts as a wrapper.
            return self.program(arguments, around);
        }
        let lines = around.given.as_deref().unwrap_or_default().lines();
        let texts: Vec<String> =
            arguments.iter().map(|word| word.text.as_str()).chain(lines).map(str::to_owned).collect();
        for text in texts {
            if let Some(command) = editor_commands(name, &text) {
                self.nested(command, &Around::default(), false)?;
            }
        }
        Ok(())
    }
}
