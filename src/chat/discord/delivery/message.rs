//! One line of the queue as a message, and what a refusal of it means.

use serde_json::{Value, json};

use super::super::rest::{RestError, code};
use crate::core::id::PostId;
use crate::outbox::Line;

/// The longest nonce that Discord takes.
const NONCE_MAX: usize = 25;
/// Addresses are shown without previews: Discord would fetch what an agent names, whatever is in the address.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Quoting a message needs the permission to read older ones.
const CANNOT_QUOTE: u32 = 160_002;
/// The message was deleted between being seen and being quoted, in a channel that is not its own, and the like.
const UNKNOWN_USER: u32 = 10_013;
/// How much is left of a message that Discord did not take as it was.
const SHORTENED: usize = 500;

/// What a message is made of, the best first. What Discord does not take is tried in the next form, so that nothing that is
/// said can hold up what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is meant: with its file, what it quotes, its buttons.
    Whole,
    /// Its text alone.
    Bare,
    /// The beginning of its text, without any mark that could have a meaning.
    Shortened,
}

impl Form {
    pub(super) fn simpler(self) -> Option<Self> {
        match self {
            Self::Whole => Some(Self::Bare),
            Self::Bare => Some(Self::Shortened),
            Self::Shortened => None,
        }
    }
}

/// What a failed try means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is there, only the answer could not be read.
    Sent,
    /// Discord is not well, or does not answer: later, as it is.
    Later,
    /// The channel is not there any more.
    Gone,
    /// herder may not speak there.
    Denied,
    /// The person takes nothing from herder.
    Closed,
    /// It is not taken in this form.
    Simpler,
}

/// What a failed try means. `private`: it was for a person.
pub(super) fn verdict(error: &RestError, form: Form, private: bool) -> Verdict {
    match error {
        RestError::Unanswered { .. } => Verdict::Later,
        RestError::Unreadable { .. } => Verdict::Sent,
        RestError::Unaskable { .. } => Verdict::Simpler,
        RestError::Refused { status: 401, .. } => Verdict::Later,
        RestError::Refused { code: code::CANNOT_MESSAGE_USER | UNKNOWN_USER, .. } => Verdict::Closed,
        RestError::Refused { code: code::UNKNOWN_CHANNEL, .. } if private => Verdict::Closed,
        RestError::Refused { code: code::UNKNOWN_CHANNEL, .. } => Verdict::Gone,
        RestError::Refused { code: CANNOT_QUOTE, .. } => Verdict::Simpler,
        // Perhaps only the file or the quotation is not allowed.
        RestError::Refused { code: code::MISSING_PERMISSIONS | code::MISSING_ACCESS, .. } => {
            match (form, private) {
                (_, true) => Verdict::Closed,
                (Form::Whole, false) => Verdict::Simpler,
                (Form::Bare | Form::Shortened, false) => Verdict::Denied,
            }
        }
        RestError::Refused { .. } => Verdict::Simpler,
    }
}

/// What Discord knows a line by, so that one that is sent again is not shown again. `salt` tells this journal from others
/// of the same bot, `run` this run from others for what is not in the journal.
pub(super) fn nonce(salt: &str, run: &str, line: &Line) -> String {
    let nonce = match line.post {
        PostId(0) => format!("~{run}{}-{}", base36(line.number()), base36(u64::from(line.index))),
        PostId(id) => format!("{salt}{}-{}", base36(id), base36(u64::from(line.index))),
    };
    debug_assert!(nonce.len() <= NONCE_MAX, "{nonce}");
    nonce
}

/// The salt, from a random number: four characters.
pub(super) fn salt(random: u64) -> String {
    base36(random % 36_u64.pow(3) + 36_u64.pow(3))
}

/// As [`salt`], one shorter: it stands behind a mark.
pub(super) fn run(random: u64) -> String {
    base36(random % 36_u64.pow(2) + 36_u64.pow(2))
}

fn base36(mut number: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = Vec::new();
    loop {
        let digit = usize::try_from(number % 36).unwrap_or_default();
        digits.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'0')));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// The body of the request. `rows` are its buttons.
pub(super) fn body(line: &Line, nonce: &str, form: Form, rows: Option<Value>) -> Value {
    let content = match form {
        Form::Whole | Form::Bare => line.text.clone(),
        Form::Shortened => shortened(&line.text),
    };
    let mut body = json!({
        "content": content,
        "nonce": nonce,
        "enforce_nonce": true,
        "flags": SUPPRESS_EMBEDS,
    });
    if form == Form::Whole {
        if let Some(quoted) = line.source.quotes.as_deref().filter(|id| line.index == 0 && is_id(id)) {
            body["message_reference"] = json!({ "message_id": quoted, "fail_if_not_exists": false });
        }
        if let Some(rows) = rows {
            body["components"] = rows;
        }
    }
    body
}

fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The beginning of a text as words alone, in a block that nothing in it can end.
fn shortened(text: &str) -> String {
    let plain = |c: &char| {
        c.is_alphanumeric() || matches!(c, ' ' | '\n' | '.' | ',' | ':' | '-' | '/' | '(' | ')' | '#')
    };
    let words: String = text.chars().filter(plain).take(SHORTENED).collect();
    format!("```\n{} …\n```", words.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: u32) -> RestError {
        RestError::Refused { request: "POST".to_owned(), status, code, message: "no".to_owned() }
    }

    #[test]
    fn what_a_refusal_means() {
        let lost =
            RestError::Unanswered { request: "POST".to_owned(), reason: "slow".to_owned(), maybe_done: true };
        let odd = RestError::Unreadable { request: "POST".to_owned(), reason: "no JSON".to_owned() };
        let table = [
            (&lost, Form::Whole, false, Verdict::Later),
            (&odd, Form::Whole, false, Verdict::Sent),
            (&refused(401, 0), Form::Whole, false, Verdict::Later),
            (&refused(404, 10003), Form::Whole, false, Verdict::Gone),
            (&refused(404, 10003), Form::Whole, true, Verdict::Closed),
            (&refused(403, 50007), Form::Whole, true, Verdict::Closed),
            (&refused(403, 50013), Form::Whole, false, Verdict::Simpler),
            (&refused(403, 50013), Form::Bare, false, Verdict::Denied),
            (&refused(403, 50001), Form::Bare, false, Verdict::Denied),
            (&refused(400, 160_002), Form::Whole, false, Verdict::Simpler),
            (&refused(400, 50035), Form::Whole, false, Verdict::Simpler),
            (&refused(400, 50035), Form::Shortened, true, Verdict::Simpler),
            (&refused(413, 40005), Form::Whole, false, Verdict::Simpler),
        ];
        for (error, form, private, expected) in table {
            assert_eq!(verdict(error, form, private), expected, "{error} {form:?} {private}");
        }
    }

    #[test]
    fn numbers_are_short_and_one_to_one() {
        assert_eq!([0, 35, 36, u64::MAX].map(base36), ["0", "z", "10", "3w5e11264sgsf"]);
        assert_eq!(salt(0).len() + base36(u64::MAX).len() + 1 + base36(u64::from(u32::MAX)).len(), NONCE_MAX);
        assert_eq!(salt(u64::MAX).len(), salt(0).len());
        assert_eq!(1 + run(u64::MAX).len(), salt(0).len());
    }

    #[test]
    fn what_is_shortened_has_no_marks() {
        assert_eq!(shortened("**a** `b` @everyone <@1>\n```\nx"), "```\na b everyone 1\n\nx …\n```");
        assert!(crate::outbox::discord::units(&shortened(&"漢".repeat(5000))) < 600);
    }
}
