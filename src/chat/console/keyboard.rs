//! Standard input: a terminal key by key, anything else line by line.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::sync::mpsc;

use super::editor::{Edited, Editor};

/// Capacity of the channel of typed lines that are not sent yet; a pasted page fits.
const TYPED_CAPACITY: usize = 64;

/// Maximum length of a line that is read at once, in bytes. A longer one is read in pieces, each of which is refused as
/// too long for IRC.
const LINE_MAX: u64 = 64 * 1024;

/// Input from the console's keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// The text being typed has changed to this; only if input comes key by key.
    Draft(String),
    /// This line was entered.
    Line(String),
    /// The input has ended.
    Done,
}

/// The console's input from a terminal or a pipe. Its drop restores the terminal's mode.
#[derive(Debug)]
pub struct Keyboard {
    /// Receives what is typed.
    pub typed: mpsc::Receiver<Typed>,
    /// True if input comes key by key, without the terminal's own echo; false if it comes in lines.
    pub keys: bool,
    before: Option<Termios>,
}

impl Keyboard {
    /// Reads standard input on a thread of its own, because a blocking read cannot be cancelled and must not delay
    /// the end of the process.
    #[must_use]
    pub fn open() -> Self {
        let (sender, typed) = mpsc::channel(TYPED_CAPACITY);
        let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let before = if terminal { key_by_key().ok() } else { None };
        let keys = before.is_some();
        let ends = io::stdin().is_terminal();
        let read = move || {
            if keys {
                read_keys(&sender)
            } else {
                read_lines(&sender)
            }
            if ends {
                let _ = sender.blocking_send(Typed::Done);
            }
        };
        // Without the thread the console only prints, as it does without standard input.
        let _ = std::thread::Builder::new().name("console-stdin".to_owned()).spawn(read);
        Self { typed, keys, before }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Fails if the terminal is gone; then there is no mode to restore.
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Switches to input key by key without echo. Ctrl-C stays a signal; Ctrl-Z is disabled, because a stopped process
/// would not restore the mode.
fn key_by_key() -> io::Result<Termios> {
    let before = termios::tcgetattr(io::stdin())?;
    let mut mode = before.clone();
    mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
    mode.special_codes[SpecialCodeIndex::VMIN] = 1;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
    termios::tcsetattr(io::stdin(), OptionalActions::Now, &mode)?;
    Ok(before)
}

fn read_keys(sender: &mpsc::Sender<Typed>) {
    let mut editor = Editor::default();
    let mut bytes = [0; 256];
    loop {
        let length = match io::stdin().lock().read(&mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(length) => length,
        };
        let mut draft = None;
        for byte in &bytes[..length] {
            let typed = match editor.byte(*byte) {
                None => continue,
                // Only the last draft of a paste is shown.
                Some(Edited::Draft(text)) => {
                    draft = Some(text);
                    continue;
                }
                Some(Edited::Line(text)) => Typed::Line(text),
                Some(Edited::Done) => return,
            };
            draft = None;
            if sender.blocking_send(typed).is_err() {
                return;
            }
        }
        if let Some(text) = draft
            && sender.blocking_send(Typed::Draft(text)).is_err()
        {
            return;
        }
    }
}

fn read_lines(sender: &mpsc::Sender<Typed>) {
    loop {
        let mut line = Vec::new();
        match io::stdin().lock().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                if sender.blocking_send(Typed::Line(line)).is_err() {
                    return;
                }
            }
        }
    }
}
