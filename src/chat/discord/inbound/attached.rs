//! Attached text files, passed to the agent with the message as far as they fit; all files come to its inbox as well.

use super::said::File;
use crate::core::agent::WORK_TEXT_MAX;

/// Maximum number of attached files that are fetched per message.
const FILES_MAX: usize = 10;

/// Number of bytes of a task's text that are reserved for headings and fences of attached files.
const FRAME: usize = 256;

/// Number of bytes of a task's text that are reserved for the names of files that are left out.
const LEFT_OUT: usize = 4096;

/// Maximum length of an attached file's name in a text, in characters.
const NAME_MAX: usize = 80;

/// Extensions of files that count as text, whatever type Discord gives them.
const ENDINGS: [&str; 46] = [
    "bash", "c", "cc", "cfg", "clj", "conf", "cpp", "cs", "css", "csv", "diff", "ex", "go", "h", "hpp", "hs",
    "html", "ini", "java", "js", "json", "jsonl", "kt", "lock", "log", "lua", "md", "ml", "patch", "php",
    "pl", "py", "rb", "rs", "scala", "sh", "sql", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
    "zig",
];

/// Returns true if an attached file is text, by its type or its extension.
pub(super) fn is_text(file: &File) -> bool {
    let kind = file.kind.split(';').next().unwrap_or_default().trim();
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let named = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
    // Extensions come first: some systems take TypeScript for video.
    named
        || kind.starts_with("text/")
        || ["json", "xml", "yaml", "toml", "javascript", "x-sh"]
            .iter()
            .any(|name| kind.strip_prefix("application/").is_some_and(|kind| kind.ends_with(name)))
}

/// Collects the text of a message's attached files, as far as it fits into a task.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attached {
    text: String,
    /// Length of the message's own text, in bytes.
    beside: usize,
    /// Number of files that were fetched, or tried.
    asked: usize,
    /// Names of files that do not reach the agent, or not in full.
    left_out: Vec<String>,
    /// Names of files that do not reach the agent at all.
    missing: Vec<String>,
}

impl Attached {
    /// Begins with the attachments of a message whose own text is `words`.
    pub(super) fn beside(words: &str) -> Self {
        Self { beside: words.len(), ..Self::default() }
    }

    /// Returns the number of bytes that the next file may add.
    fn left(&self) -> usize {
        WORK_TEXT_MAX.saturating_sub(self.beside + self.text.len() + FRAME + LEFT_OUT)
    }

    /// Returns the number of bytes of a file that still fit; `None` if the file must not be fetched, because it is no
    /// text or there are too many.
    pub(super) fn room(&mut self, file: &File) -> Option<usize> {
        let left = self.left();
        if !is_text(file) || self.asked >= FILES_MAX || file.size > left {
            self.misses(file);
            return None;
        }
        self.asked += 1;
        Some(left)
    }

    /// Adds the content of a fetched file, as much of it as fits.
    pub(super) fn add(&mut self, file: &File, bytes: &[u8]) {
        let whole = String::from_utf8_lossy(bytes);
        let left = self.left();
        let mut end = whole.len().min(left);
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let shown = &whole[..end];
        let cut = end < whole.len() || bytes.len() < file.size;
        let heading = if cut {
            self.left_out.push(name(file));
            format!("{} (the first {end} of {} bytes)", name(file), file.size.max(bytes.len()))
        } else {
            name(file)
        };
        let fence = fence(shown);
        let gap = if self.text.is_empty() { "" } else { "\n\n" };
        self.text.push_str(&format!("{gap}{heading}:\n{fence}\n{}\n{fence}", shown.trim_end_matches('\n')));
    }

    /// Adds the content of a file that the agent gets in its inbox as well, if it is text and fits whole.
    pub(super) fn add_if_whole(&mut self, file: &File, bytes: &[u8]) {
        if is_text(file) && bytes.len() <= self.left() && std::str::from_utf8(bytes).is_ok() {
            self.add(file, bytes);
        }
    }

    /// Records a file that could not be fetched.
    pub(super) fn failed(&mut self, file: &File) {
        self.misses(file);
    }

    fn misses(&mut self, file: &File) {
        self.left_out.push(name(file));
        self.missing.push(name(file));
    }

    /// Returns the text of all files for the agent, with a note about missing ones, and the names of files that do not
    /// reach the agent in full.
    pub(super) fn finish(mut self) -> (String, Vec<String>) {
        if !self.missing.is_empty() {
            let more = self.missing.len().saturating_sub(FILES_MAX);
            self.missing.truncate(FILES_MAX);
            let names = self.missing.join(", ");
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.text.push_str(&format!("{gap}Attached, but not readable here: {names}{more}"));
        }
        (self.text, self.left_out)
    }
}

/// Returns a file's name on one line, cut to `NAME_MAX`.
pub(super) fn name(file: &File) -> String {
    let seen = file.name.chars().filter(|c| !c.is_control() && *c != '`');
    seen.take(NAME_MAX).collect()
}

/// Returns a code fence that is longer than any run of backticks in `text`.
fn fence(text: &str) -> String {
    let longest =
        text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    // Bounded, since a file of backticks alone would need a fence of its own length.
    "`".repeat(longest.unwrap_or_default().clamp(2, 60) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, kind: &str, size: usize) -> File {
        File { name: name.to_owned(), kind: kind.to_owned(), size, url: String::new() }
    }

    #[test]
    fn text_is_known_by_its_ending_or_its_kind() {
        for (name, kind, text) in [
            ("a.txt", "text/plain; charset=utf-8", true),
            ("main.rs", "", true),
            ("Main.RS", "application/octet-stream", true),
            ("app.ts", "video/mp2t", true),
            ("README", "text/plain", true),
            ("data", "application/json", true),
            ("data", "application/vnd.api+json", true),
            ("cat.png", "image/png", false),
            ("a.zip", "application/zip", false),
            ("core", "", false),
        ] {
            assert_eq!(is_text(&file(name, kind, 1)), text, "{name} {kind}");
        }
    }

    #[test]
    fn a_file_follows_the_message_in_a_fence_it_does_not_close() {
        let mut attached = Attached::beside("look");
        let log = file("log.txt", "", 22);
        assert!(attached.room(&log).is_some());
        attached.add(&log, b"one\n```\ntwo ````\nthree");
        assert_eq!(attached.finish(), ("log.txt:\n````\none\n```\ntwo ````\nthree\n````".to_owned(), vec![]));
    }

    #[test]
    fn as_many_names_as_somebody_attaches_fit() {
        let mut attached = Attached::beside("look");
        let long = "漢".repeat(200);
        for _ in 0..50 {
            assert_eq!(attached.room(&file(&long, "image/png", 1)), None);
        }
        let (text, left_out) = attached.finish();
        assert!(text.len() <= LEFT_OUT && text.ends_with(" and 40 more"), "{text}");
        assert_eq!(left_out.len(), 50);
    }

    #[test]
    fn no_more_files_are_asked_for_because_some_do_not_come() {
        let mut attached = Attached::beside("look");
        let log = file("log.txt", "", 10);
        for _ in 0..FILES_MAX {
            assert!(attached.room(&log).is_some());
            attached.failed(&log);
        }
        assert_eq!(attached.room(&log), None);
        assert_eq!(attached.finish().1.len(), FILES_MAX + 1);
    }

    #[test]
    fn what_does_not_fit_is_cut_between_characters_and_told() {
        let mut attached = Attached::beside("look");
        let liar = file("log.txt", "", 10);
        assert!(attached.room(&liar).is_some());
        attached.add(&liar, "ä".repeat(50_000).as_bytes());
        let second = file("more.txt", "", 10);
        assert_eq!(attached.room(&second), None);
        let image = file("cat.png", "image/png", 10);
        assert_eq!(attached.room(&image), None);
        let (text, left_out) = attached.finish();
        assert!(text.len() <= WORK_TEXT_MAX, "{}", text.len());
        assert!(text.contains("(the first "), "the agent is told as well");
        assert!(
            text.ends_with("\n\nAttached, but not readable here: more.txt, cat.png"),
            "{}",
            &text[text.len() - 99..]
        );
        assert_eq!(left_out, ["log.txt", "more.txt", "cat.png"]);
    }
}
