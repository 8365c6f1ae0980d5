//! Tables of programs by what they do with their arguments and their standard input: wrappers, shells, interpreters,
//! search programs.

use super::targets;
use super::words::Word;

/// Programs that run a command given as arguments.
const WRAPPERS: &str = "env nice nohup time timeout gtimeout xargs command exec builtin busybox toybox stdbuf setsid ionice \
    chrt taskset setpriv prlimit setarch linux64 linux32 choom numactl cpulimit eatmydata faketime \
    start-stop-daemon runcon unshare nsenter chroot flock watch watchexec parallel script strace ltrace \
    perf valgrind hyperfine ssh sshpass mosh adb docker docker-compose podman podman-compose nerdctl \
    kubectl oc lxc incus vagrant tmux screen systemd-run gosu su-exec proot fakeroot firejail bwrap \
    xvfb-run caffeinate entr direnv mise poetry pipenv uv conda bundle npx bunx pnpm yarn nix-shell nix \
    trap coproc torsocks proxychains expect spawn unbuffer at batch";

/// Wrappers that pass on a command word by word, so that one word is no script to them.
const WORD_BY_WORD: &str = "env nice nohup time timeout gtimeout xargs command exec builtin busybox toybox stdbuf setsid ionice \
    chrt taskset";

const SHELLS: &str = "sh bash zsh dash ksh mksh ash fish csh tcsh rbash pwsh nu";

/// Programs that read a script in their own language from standard input or an argument.
const INTERPRETERS: &str = "python perl ruby node nodejs php lua deno bun osascript tclsh awk gawk mawk";

/// Programs that search for a text in files or input; naming a command there does not run it.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"];

/// Programs that print a text or the location of a program.
const SAYS: &[&str] = &["echo", "printf", "which"];

/// Words that end a command within the arguments of `find` or of a wrapper.
pub(super) const ENDS: &[&str] = &[";", "+", "&&", "||", "|"];

/// Programs besides wrappers, shells and interpreters whose arguments are examined.
const LOOKED_INTO: &str = "rm grm git jj find gfind fd fdfind eval source . alias";

/// Programs whose output is meant to set up a shell, and counts as empty.
pub(super) const PRINTS_NOTHING: &str = "ssh-agent brew direnv pyenv rbenv nodenv fnm conda opam dircolors minikube luarocks mise starship \
    zoxide resize keychain cd set export";

/// Programs that print a path, a name or a number, which counts as no command.
pub(super) const PRINTS_PLACES: &str =
    "pwd dirname basename mktemp realpath readlink nproc uname whoami hostname id date tty arch seq wc";

/// Placeholders that wrappers such as `xargs` replace with an argument.
pub(super) const PLACES: &[&str] = &["{}", "%", "@"];

/// Returns true if the program `name` is in a blank-separated list.
pub(super) fn names(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

pub(super) fn is_wrapper(name: &str) -> bool {
    names(WRAPPERS, name)
}

/// Returns true if a wrapper may take a single word for a whole script, as `ssh` does.
pub(super) fn is_script_reader(name: &str) -> bool {
    is_wrapper(name) && !names(WORD_BY_WORD, name)
}

pub(super) fn is_shell(name: &str) -> bool {
    names(SHELLS, name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.split(' ').any(|known| is_version_of(name, known))
}

/// Returns true if the arguments of a program are examined.
pub(super) fn is_read(name: &str) -> bool {
    names(LOOKED_INTO, name) || is_wrapper(name) || is_shell(name) || is_interpreter(name)
}

/// Yields each of a wrapper's words from `from` on, with whether it is only named: an argument of a program that
/// searches for it or prints it.
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

/// Returns true if a word names one of these programs. A script whose text ends with a path does not, nor does a path
/// outside of a `bin` folder.
fn is_one_of(programs: &[&str], word: &Word) -> bool {
    let folder = word.text.rsplit('/').nth(1).unwrap_or("bin");
    let program = matches!(folder, "bin" | ".bin") && !word.text.contains(char::is_whitespace);
    program && programs.contains(&basename(&word.text).as_str())
}

/// Returns the words of a command without those that it only searches for; none at all for `git` and search programs,
/// whose arguments are mostly messages or search texts.
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

/// Returns true if a wrapper passes on a command word by word.
pub(super) fn is_word_by_word(name: &str) -> bool {
    names(WORD_BY_WORD, name)
}

/// Returns true if the file named by an operand, or standard input without one, holds another command's output.
/// `piped`: standard input does.
pub(super) fn is_from_pipe(operand: Option<&Word>, piped: bool) -> bool {
    match operand.map_or("-", |word| word.text.as_str()) {
        "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => piped,
        file => file.starts_with("/dev/fd/"),
    }
}

/// Returns the file that `curl` or `wget` downloads to; `None` for other programs.
pub(super) fn own_program(name: &str, arguments: &[Word]) -> Option<String> {
    let after = |option: &str| {
        let at = arguments.iter().position(|word| word.text == option)?;
        arguments.get(at + 1).map(|word| word.text.clone())
    };
    let address =
        arguments.iter().rev().find(|word| word.text.contains("://")).map(|word| word.text.as_str());
    let last = address.and_then(|address| address.rsplit('/').next()).map(str::to_owned);
    let short = |letter: char| {
        let at = arguments.iter().position(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with(letter)
        })?;
        arguments.get(at + 1).map(|word| word.text.clone())
    };
    match name {
        "curl" => short('o').or_else(|| after("--output")).or(last),
        "wget" => short('O').or_else(|| after("--output-document")).or(last),
        _ => None,
    }
}

/// Returns the command that an argument makes an editor, a debugger, `sed`, `tar` or `rsync` run, if it does.
pub(super) fn editor_commands<'a>(name: &str, argument: &'a str) -> Option<&'a str> {
    let after =
        |marks: &[&str]| marks.iter().find_map(|mark| argument.split_once(mark).map(|(_, command)| command));
    match name {
        "sed" | "gsed" => {
            let (script, end) = (argument.trim(), argument.trim_end().rsplit('/').next().unwrap_or_default());
            if script.starts_with("s") && end.contains('e') && end.len() < 4 && argument.contains('/') {
                return Some("$\u{fdd0}");
            }
            script.trim_start_matches(|c: char| c.is_ascii_digit() || "$,! ".contains(c)).strip_prefix("e ")
        }
        "ed" | "ex" | "vi" | "vim" | "nvim" | "view" => after(&["!", "system("]),
        "gdb" | "lldb" => after(&["shell ", "!", "system("]),
        "tar" | "gtar" | "bsdtar" => {
            after(&["--checkpoint-action=exec=", "--to-command=", "--use-compress-program="])
        }
        "rsync" => after(&["--rsh="]),
        _ => None,
    }
}

/// Returns true if an interpreter runs another command's output; `piped` tells whether its standard input is that.
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

/// Returns true if a script for an interpreter may run commands. A script for `awk` mostly searches a text.
pub(super) fn may_run(name: &str, program: &str) -> bool {
    !name.contains("awk") || program.contains("system") || program.contains('|')
}

/// Returns true if an option contains a script, or the name of one, in the same word: `-mjson.tool`, `-pes/a/b/`,
/// `--eval=…`.
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

/// Returns true if `name` is a version of `known`, as `python3.12` is of `python`.
fn is_version_of(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

/// An assignment in one word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// Parses a word as an assignment.
pub(super) fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let first = name.bytes().next()?;
    let named = (first.is_ascii_alphabetic() || first == b'_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    named.then_some(Assignment { name, value })
}
