//! Checks calls of wrappers, such as `env` and `ssh`: programs that run a command, given word by word, as a script, or
//! on their input.

use super::acts::quoted;
use super::programs::{
    ENDS, PLACES, assignment, basename, is_script_reader, is_word_by_word, is_wrapper, only_named,
    without_searches,
};
use super::tree::Around;
use super::words::{HOLE, Word};
use super::{Asked, Reader};

impl Reader {
    pub(super) fn xargs(&mut self, arguments: &[Word]) -> Asked {
        let mut place = None;
        let mut at = 0;
        while let Some(word) =
            arguments.get(at).filter(|word| word.text.starts_with('-') && word.text.len() > 1)
        {
            let text = word.text.as_str();
            at += 1;
            let next = arguments.get(at).map(|word| word.text.clone());
            if let Some(long) = text.strip_prefix("--") {
                match long.split_once('=') {
                    Some(("replace", value)) => place = Some(value.to_owned()),
                    None if long == "replace" => place = Some("{}".to_owned()),
                    None if matches!(
                        long,
                        "max-args"
                            | "max-procs"
                            | "max-lines"
                            | "delimiter"
                            | "arg-file"
                            | "max-chars"
                            | "eof"
                    ) =>
                    {
                        at += 1
                    }
                    _ => {}
                }
            } else if let Some(value) = text.strip_prefix("-I") {
                place = if value.is_empty() { next } else { Some(value.to_owned()) };
                at += usize::from(value.is_empty());
            } else if text.starts_with("-i") {
                place = Some(text.get(2..).filter(|value| !value.is_empty()).unwrap_or("{}").to_owned());
            } else if text.ends_with(['d', 'E', 'L', 'n', 's', 'P', 'a', 'J', 'R', 'S']) {
                at += 1;
            }
        }
        let mut words = arguments.get(at..).unwrap_or_default().to_vec();
        match place.filter(|place| !place.is_empty()) {
            Some(place) => words.iter_mut().filter(|word| word.text.contains(&place)).for_each(|word| {
                word.text = word.text.replace(&place, &HOLE.to_string());
                word.quoted = true;
            }),
            None if words.is_empty() => return Ok(()),
            None => words.push(Word::plain(&HOLE.to_string())),
        }
        self.simple(&words, &Around::default())
    }

    pub(super) fn parallel(&mut self, words: &[Word], around: &Around) -> Asked {
        let end = words.iter().position(|word| word.text.starts_with(":::")).unwrap_or(words.len());
        let mut words = words[..end].to_vec();
        let mut filled = false;
        for word in words.iter_mut().filter(|word| word.text.contains("{}")) {
            word.text = word.text.replace("{}", &HOLE.to_string());
            filled = true;
        }
        if !filled {
            words.push(Word::plain(&HOLE.to_string()));
        }
        self.wrapped("parallel", &words, &Around { piped: around.piped, ..Around::default() })
    }

    /// Checks a call of a wrapper (`env`, `timeout`, `ssh`, …): the command and the scripts among its arguments.
    pub(super) fn wrapped(&mut self, name: &str, words: &[Word], around: &Around) -> Asked {
        self.deeper(|reader| {
            if name == "env" {
                reader.split_string(words, around)?;
            }
            // Words that are passed on one by one contain no script before a program that reads one.
            let reads = |word: &Word| is_script_reader(&basename(&word.text));
            let scripts = words.iter().position(reads).map_or(words.len(), |at| at + 1);
            let named = without_searches(words).len() < words.len();
            if let Some(text) = around.given.as_deref().filter(|_| is_script_reader(name) && !named) {
                reader.nested(text, &Around::default(), false)?;
            }
            let candidate = candidate(name, words);
            if let Some(rest) = candidate.and_then(|at| words.get(at..)).filter(|rest| !rest.is_empty()) {
                reader.simple(rest, around)?;
            }
            reader.given(words, scripts, around)?;
            reader.suffixes(words, candidate, around)
        })
    }

    /// Checks the script in `env -S 'git push'`.
    fn split_string(&mut self, words: &[Word], around: &Around) -> Asked {
        for (at, word) in words.iter().enumerate().skip(1) {
            let text = word.text.as_str();
            let long = text.strip_prefix("--split-string");
            let short = text.strip_prefix('-').filter(|option| !option.starts_with('-')).and_then(|option| {
                let at = option.find(|c: char| !c.is_ascii_lowercase() || c == 'u')?;
                option[at..].strip_prefix('S')
            });
            let Some(value) = long.map(|long| long.trim_start_matches('=')).or(short) else { continue };
            let after = words.get(at + 1..).unwrap_or_default().iter().map(|word| quoted(&word.text));
            let script = [value.to_owned()].into_iter().chain(after.clone()).collect::<Vec<_>>().join(" ");
            let script = if value.is_empty() {
                let rest = words.get(at + 2..).unwrap_or_default().iter().map(|word| quoted(&word.text));
                let first = words.get(at + 1).map(|word| word.text.clone());
                first.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
            } else {
                script
            };
            self.nested(&format!("env {script}"), around, true)?;
        }
        Ok(())
    }

    /// Checks the command of a wrapper at each of its words but the first, since the command may begin at any of them.
    pub(super) fn suffixes(&mut self, words: &[Word], candidate: Option<usize>, around: &Around) -> Asked {
        for (at, (word, named)) in only_named(words, 1).enumerate() {
            // A wrapper within a wrapper examines the words after it itself, as does every later one.
            let passed =
                named || is_wrapper(&basename(&word.text)) || word.is_unknown() || candidate == Some(at + 1);
            if !passed {
                self.program(words.get(at + 1..).unwrap_or_default(), around)?;
            }
        }
        Ok(())
    }
}

/// Returns the index of the program that a word-by-word wrapper runs; `None` if it is not known.
fn candidate(name: &str, words: &[Word]) -> Option<usize> {
    if !is_word_by_word(name) && name != "parallel" {
        return None;
    }
    let with_value = match name {
        "env" => "uC",
        "nice" => "n",
        "timeout" | "gtimeout" => "sk",
        "stdbuf" => "ioe",
        "ionice" => "cnp",
        "exec" => "a",
        "time" => "fo",
        "parallel" => "jNnaISPL",
        _ => "",
    };
    let mut at = 1;
    let mut numbers = usize::from(matches!(name, "timeout" | "gtimeout" | "taskset" | "chrt"));
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            continue;
        }
        if let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) {
            at += 1 + usize::from(option.len() == 1 && with_value.contains(option));
        } else if (name == "env" && assignment(text).is_some()) || matches!(text, "{" | "!") {
            at += 1;
        } else if numbers > 0 && !text.starts_with(HOLE) {
            numbers -= 1;
            at += 1;
        } else if ENDS.contains(&text) || PLACES.contains(&text) && name != "parallel" {
            return None;
        } else {
            // One word with blanks is a script.
            return Some(at).filter(|_| name != "parallel" || !text.contains(char::is_whitespace));
        }
    }
    None
}
