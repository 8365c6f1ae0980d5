//! A line editor with a few keys. A terminal's own editing shows a half-typed line wrongly whenever something is printed.

/// Maximum number of entered lines that the console keeps and the arrow keys can bring back.
const HISTORY_MAX: usize = 100;

/// Maximum length of a draft, in bytes: a longer one could not be sent.
const DRAFT_MAX: usize = 4096;

/// The effect of a key that was typed in the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edited {
    /// The text being typed has changed to this.
    Draft(String),
    /// This line was entered.
    Line(String),
    /// The input was closed (Ctrl-D on an empty line).
    Done,
}

/// The line editor of the console: turns the bytes that a terminal sends in raw mode into drafts and lines.
#[derive(Debug, Default)]
pub(super) struct Editor {
    draft: String,
    history: Vec<String>,
    /// Position in the history of the line that is shown, counted from the newest; 0 for a line that is not from the
    /// history.
    back: usize,
    /// Bytes of a UTF-8 character that is not complete yet.
    character: Vec<u8>,
    escape: Escape,
}

/// Position in an escape sequence (an arrow key, a paste).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    Sequence,
}

impl Editor {
    /// Processes one byte and returns its effect, if it has one.
    pub(super) fn byte(&mut self, byte: u8) -> Option<Edited> {
        match (self.escape, byte) {
            (Escape::None, _) => self.plain(byte),
            (Escape::Begun, b'[' | b'O') => {
                self.escape = Escape::Sequence;
                None
            }
            (Escape::Begun, _) => {
                self.escape = Escape::None;
                None
            }
            (Escape::Sequence, 0x40..=0x7e) => {
                self.escape = Escape::None;
                match byte {
                    b'A' => self.recall(self.back + 1),
                    b'B' => self.recall(self.back.saturating_sub(1)),
                    _ => None,
                }
            }
            (Escape::Sequence, _) => None,
        }
    }

    fn plain(&mut self, byte: u8) -> Option<Edited> {
        match byte {
            b'\r' | b'\n' => Some(self.done()),
            0x04 if self.draft.is_empty() => Some(Edited::Done),
            0x08 | 0x7f => {
                self.draft.pop();
                Some(self.shown())
            }
            // Ctrl-U and Ctrl-W.
            0x15 => {
                self.draft.clear();
                Some(self.shown())
            }
            0x17 => {
                let kept = self.draft.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.draft.truncate(kept);
                Some(self.shown())
            }
            0x1b => {
                self.escape = Escape::Begun;
                None
            }
            0..=0x1f => None,
            byte => self.letter(byte),
        }
    }

    fn letter(&mut self, byte: u8) -> Option<Edited> {
        self.character.push(byte);
        match std::str::from_utf8(&self.character) {
            Ok(text) if self.draft.len() < DRAFT_MAX => {
                self.draft.push_str(text);
                self.character.clear();
                Some(self.shown())
            }
            Ok(_) => {
                self.character.clear();
                None
            }
            // The character is incomplete, or the bytes are invalid.
            Err(error) if error.error_len().is_none() && self.character.len() < 4 => None,
            Err(_) => {
                self.character.clear();
                None
            }
        }
    }

    fn done(&mut self) -> Edited {
        let line = std::mem::take(&mut self.draft);
        self.back = 0;
        if !line.trim().is_empty() && self.history.last() != Some(&line) {
            if self.history.len() == HISTORY_MAX {
                self.history.remove(0);
            }
            self.history.push(line.clone());
        }
        Edited::Line(line)
    }

    fn recall(&mut self, back: usize) -> Option<Edited> {
        if back > self.history.len() {
            return None;
        }
        self.back = back;
        self.draft = self
            .history
            .len()
            .checked_sub(back)
            .and_then(|at| self.history.get(at))
            .cloned()
            .unwrap_or_default();
        Some(self.shown())
    }

    fn shown(&self) -> Edited {
        Edited::Draft(self.draft.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(editor: &mut Editor, bytes: &[u8]) -> Option<Edited> {
        bytes.iter().map(|byte| editor.byte(*byte)).last().flatten()
    }

    #[test]
    fn keys_edit_the_draft() {
        let draft = |text: &str| Some(Edited::Draft(text.to_owned()));
        let line = |text: &str| Some(Edited::Line(text.to_owned()));
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, "@spark paüs".as_bytes()), draft("@spark paüs"));
        assert_eq!(typed(&mut editor, b"\x7f\x7f"), draft("@spark pa"));
        assert_eq!(typed(&mut editor, b"\x17"), draft("@spark "));
        assert_eq!(typed(&mut editor, b"status\r"), line("@spark status"));
        assert_eq!(typed(&mut editor, b"x\x15"), draft(""));
        assert_eq!(typed(&mut editor, b"\x1b[A"), draft("@spark status"));
        assert_eq!(typed(&mut editor, b"\x1b[B"), draft(""));
        assert_eq!(typed(&mut editor, b"\x1b[5~\x1b[D\x07"), None, "other keys do nothing");
        assert_eq!(typed(&mut editor, b"\xff\xfe"), None, "neither do bytes that are no text");
        assert_eq!(typed(&mut editor, b"\x04"), Some(Edited::Done));
    }

    proptest! {
        #[test]
        fn no_keys_break_it_and_no_control_character_gets_into_a_draft(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut editor = Editor::default();
            for byte in bytes {
                if let Some(Edited::Draft(text) | Edited::Line(text)) = editor.byte(byte) {
                    prop_assert!(!text.bytes().any(|byte| byte < 0x20 || byte == 0x7f), "{:?}", text);
                }
            }
        }
    }
}
