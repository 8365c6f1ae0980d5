//! Wrappers that are told first where a command runs: in which container, on which host. What such a place is called, and
//! what their own options are given, says nothing about the command.

use super::programs::{ENDS, basename, names};
use super::words::Word;

/// Wrappers that are told the same way.
struct Kind {
    programs: &'static str,
    /// The words that the place stands behind; without any it stands behind the program.
    verbs: &'static str,
    /// Their short options that have no value.
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

/// Their long options that have no value. One that is missing here has its value taken from the command, so that less of it
/// is known to be only named.
const FLAGS: &str = "build detach init interactive no-deps no-tty privileged quiet quiet-pull \
    read-only remove-orphans rm service-ports stdin tty use-aliases";

/// The part of a command that the next word is.
enum Next {
    /// One of a command.
    Command,
    /// One before a verb.
    Verb(&'static Kind),
    /// The place, or an option before it.
    Place(&'static Kind),
    /// The value of an option.
    Value(&'static Kind),
}

/// Marks each word that is for a wrapper that is told a place, and not of the command that runs there.
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

/// Whether the word behind an option is what it is given.
fn has_value(option: &str, flags: &str) -> bool {
    match option.strip_prefix('-') {
        Some(long) => !long.contains('=') && !names(FLAGS, long),
        // What follows the letter of an option in its word is what it is given.
        None => {
            option.find(|letter| !flags.contains(letter)).is_some_and(|at| option[at..].chars().count() == 1)
        }
    }
}
