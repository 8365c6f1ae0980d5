//! Words of commands: their comparison, and those that no agent can be named by.

/// Words that begin a command, are an argument of one, or sound like one: an agent with such a name could not be
/// addressed. A test of the commands keeps the list complete.
pub const COMMAND_WORDS: &[&str] = &[
    "abort",
    "accept",
    "ack",
    "add",
    "agent",
    "agents",
    "always",
    "answer",
    "approve",
    "audit",
    "auto",
    "cancel",
    "chart",
    "clear",
    "commands",
    "confirm",
    "deny",
    "edit",
    "events",
    "exit",
    "freeze",
    "halt",
    "handoff",
    "help",
    "history",
    "kill",
    "link",
    "list",
    "log",
    "mark",
    "now",
    "page",
    "pause",
    "queue",
    "quit",
    "reboot",
    "reject",
    "reload",
    "remove",
    "reset",
    "restart",
    "resume",
    "resume-all",
    "resumeall",
    "rule",
    "rules",
    "runner",
    "runners",
    "show",
    "status",
    "stop",
    "stop-all",
    "stopall",
    "task",
    "tasks",
    "unpause",
    "usage",
    "whisper",
    "whoami",
];

/// Returns true if herder uses a word in commands, so that no agent can have it as its name.
#[must_use]
pub fn is_command_word(word: &str) -> bool {
    COMMAND_WORDS.contains(&fold(word).as_str())
}

/// Returns true if a character is invisible: such a character must not decide whether a line is a command.
#[must_use]
pub fn unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Returns the ASCII character for a full-width one: Japanese and Chinese input methods write `！ｐａｕｓｅ`.
#[must_use]
pub fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        _ => c,
    }
}

/// Returns a word in a form for comparison: in lower case and normal width, without invisible characters.
#[must_use]
pub fn fold(word: &str) -> String {
    word.chars().filter(|c| !unseen(*c)).map(|c| narrow(c).to_ascii_lowercase()).collect()
}
