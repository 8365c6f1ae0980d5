//! Wrappers, such as `docker exec` and `ssh`, whose first operand is the container or host to run in. Its name and the
//! wrapper's own options are no part of the command.

use super::programs::{ENDS, basename, names};
use super::words::Word;

/// Wrappers with the same command-line syntax, such as `docker` and `kubectl`.
struct Kind {
    programs: &'static str,
    /// Subcommands after which the container follows; empty if the host follows the program's name.
    verbs: &'static str,
    /// Short options without a value.
    flags: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        programs: "docker docker-compose podman podman-compose nerdctl kubectl oc lxc incus",
        verbs: "exec run rsh",
        flags: "ditqPT",
    },
    Kind { programs: "ssh mosh", verbs: "", flags: "46aACfgGkKMnNqstTvVxXyY" },
];

/// Long options without a value. An option missing here is assumed to have one, so that a word of the command is
/// taken for it and less of the command is known to be only named.
const FLAGS: &str = "build detach init interactive no-deps no-tty privileged quiet quiet-pull \
    read-only remove-orphans rm service-ports stdin tty use-aliases";

/// The role of the next word of a command line, found from left to right.
enum Next {
    /// The next word belongs to the command that runs, not to a wrapper such as `docker exec`.
    Command,
    /// A word before the subcommand (`exec`, `run`).
    Verb(&'static Kind),
    /// The container or host, or an option before it.
    Place(&'static Kind),
    /// The value of an option.
    Value(&'static Kind),
}

/// Returns for each word whether it belongs to such a wrapper (options, container or host), and not to the command that
/// runs there.
pub(super) fn taken(words: &[Word]) -> Vec<bool> {
    let mut next = Next::Command;
    let taken = words.iter().map(|word| {
        let taken = !matches!(next, Next::Command);
        next = if ENDS.contains(&word.text.as_str()) { Next::Command } else { next_after(&next, &word.text) };
        taken
    });
    taken.collect()
}

fn next_after(next: &Next, word: &str) -> Next {
    match *next {
        Next::Command => {
            let name = basename(word);
            match KINDS.iter().find(|kind| names(kind.programs, &name)) {
                None => Next::Command,
                Some(kind) if kind.verbs.is_empty() => Next::Place(kind),
                Some(kind) => Next::Verb(kind),
            }
        }
        Next::Verb(kind) if names(kind.verbs, word) => Next::Place(kind),
        Next::Verb(kind) => Next::Verb(kind),
        Next::Value(kind) => Next::Place(kind),
        Next::Place(kind) => match word.strip_prefix('-') {
            None | Some("-" | "") => Next::Command,
            Some(option) if has_value(option, kind.flags) => Next::Value(kind),
            Some(_) => Next::Place(kind),
        },
    }
}

/// Returns true if an option takes the next word as its value.
fn has_value(option: &str, flags: &str) -> bool {
    match option.strip_prefix('-') {
        Some(long) => !long.contains('=') && !names(FLAGS, long),
        // Text after the option's letter in the same word is its value.
        None => {
            option.find(|letter| !flags.contains(letter)).is_some_and(|at| option[at..].chars().count() == 1)
        }
    }
}
