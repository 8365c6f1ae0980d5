//! A line of the queue as a Discord message, and the meaning of a refusal.

use serde_json::{Value, json};

use super::super::rest::{RestError, code};
use crate::config::Call;
use crate::core::id::PostId;
use crate::core::post::{Body, Target};
use crate::outbox::Line;
use crate::outbox::discord::{MESSAGE_MAX, units};

/// Maximum length of a message's nonce, in characters; Discord's limit.
const NONCE_MAX: usize = 25;
/// Discord's error code for a person who does not exist any more.
const UNKNOWN_USER: u32 = 10_013;
/// Discord's error codes for a fault of the message itself: the same message would be refused again, but a simpler form
/// may be accepted.
const OF_THE_MESSAGE: [u32; 9] = [
    // The quoted message, or the emoji of a button, is gone.
    code::UNKNOWN_MESSAGE,
    10_014,
    // The request is too large; the form is invalid; the message is empty; the JSON is invalid.
    40_005,
    50_035,
    50_006,
    50_109,
    // Quoting a message requires the permission to read older ones.
    160_002,
    // The server's AutoMod, and Discord's own filter of addresses.
    200_000,
    240_000,
];
/// Maximum number of attempts with one form of a message after refusals for an unknown reason, within about four
/// minutes; then a simpler form is tried, in case the message is the cause.
const ODD_MAX: u32 = 8;
/// Maximum length of a message in its shortened form, in characters.
const SHORTENED: usize = 500;

/// The form in which a line is sent as a message, best first. After a refused form the next one is tried, so that no
/// message blocks later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The whole message: with its file, its quotation and its buttons.
    Whole,
    /// The text alone, without file, quotation and buttons.
    Bare,
    /// The beginning of the text, without markup characters.
    Shortened,
    /// A sentence of herder's that something could not be shown, in place of the text.
    Told,
}

impl Form {
    pub(super) fn simpler(self) -> Option<Self> {
        match self {
            Self::Whole => Some(Self::Bare),
            Self::Bare => Some(Self::Shortened),
            Self::Shortened => Some(Self::Told),
            Self::Told => None,
        }
    }
}

/// The meaning of a failed attempt to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The message was delivered; only Discord's answer could not be parsed.
    Sent,
    /// Discord is unreachable or faulty: the message is sent again unchanged.
    Later,
    /// The message was refused without a known fault of its own, perhaps by a proxy: it is sent again unchanged.
    Odd,
    /// The channel of the message does not exist any more.
    Gone,
    /// herder may not speak in the channel of the message.
    Denied,
    /// The recipient accepts no private messages from herder.
    Closed,
    /// This form of the message was refused: a simpler one is tried.
    Simpler,
}

/// Returns the meaning of a failed attempt. `private` is true for a message to a person; `odd` is the number of
/// earlier refusals for an unknown reason.
pub(super) fn verdict(error: &RestError, form: Form, private: bool, odd: u32) -> Verdict {
    match error {
        RestError::Unanswered { .. } => Verdict::Later,
        // An answer without JSON is not from Discord, or incomplete: the nonce ensures that the message is shown once.
        RestError::Unreadable { foreign: true, .. } => Verdict::Later,
        RestError::Unreadable { foreign: false, .. } => Verdict::Sent,
        RestError::Unaskable { .. } => Verdict::Simpler,
        RestError::Refused { status: 401, .. } => Verdict::Later,
        RestError::Refused { code: code::CANNOT_MESSAGE_USER | UNKNOWN_USER, .. } => Verdict::Closed,
        RestError::Refused { code: code::UNKNOWN_CHANNEL, .. } if private => Verdict::Closed,
        RestError::Refused { code: code::UNKNOWN_CHANNEL, .. } => Verdict::Gone,
        // Perhaps only the file or the quotation is not allowed.
        RestError::Refused { code: code::MISSING_PERMISSIONS | code::MISSING_ACCESS, .. } => {
            match (form, private) {
                (_, true) => Verdict::Closed,
                (Form::Whole, false) => Verdict::Simpler,
                (Form::Bare | Form::Shortened | Form::Told, false) => Verdict::Denied,
            }
        }
        RestError::Refused { code: code::THREAD_ARCHIVED | code::THREAD_LOCKED, .. } => Verdict::Denied,
        RestError::Refused { code, .. } if OF_THE_MESSAGE.contains(code) => Verdict::Simpler,
        // The other forms are tried, but an unknown reason never drops a message.
        RestError::Refused { .. } | RestError::Foreign { .. } => match form {
            Form::Whole | Form::Bare if odd >= ODD_MAX => Verdict::Simpler,
            Form::Whole | Form::Bare | Form::Shortened | Form::Told => Verdict::Odd,
        },
    }
}

/// Returns the nonce by which Discord recognises a repeated line. `salt` identifies the journal among others of the
/// same bot, `run` identifies the process for lines that are not in the journal.
pub(super) fn nonce(salt: &str, run: &str, line: &Line) -> String {
    let nonce = match line.post {
        PostId(0) => format!("~{run}{}-{}", base36(line.number()), base36(u64::from(line.index))),
        PostId(id) => format!("{salt}{}-{}", base36(id), base36(u64::from(line.index))),
    };
    debug_assert!(nonce.len() <= NONCE_MAX, "{nonce}");
    nonce
}

/// Makes the salt of a journal, four characters, from a random number.
pub(super) fn salt(random: u64) -> String {
    base36(random % 36_u64.pow(3) + 36_u64.pow(3))
}

/// Makes the salt of a process, five characters, from a random number; it is longer than [`salt`], because line numbers
/// restart with each process. The rest of the nonce has room for more lines than one process sends.
pub(super) fn run(random: u64) -> String {
    base36(random % (35 * 36_u64.pow(4)) + 36_u64.pow(4))
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

/// Returns the texts that the message of a line may have on Discord, apart from the sentence that replaces it.
pub(super) fn contents(line: &Line) -> [String; 2] {
    [line.text.clone(), shortened(&line.text)]
}

/// Returns true if the line is the first of an alert that calls people.
fn is_call(line: &Line) -> bool {
    let is_alert = line.target == Target::Alerts && line.index == 0;
    is_alert && matches!(&line.source.body, Body::Notice(notice) if notice.calls_people())
}

/// Returns the text of a line followed by mentions of the people to call; `None` if nobody is to be called.
pub(super) fn calling(line: &Line, call: &Call) -> Option<String> {
    let roles = call.roles.iter().map(|id| format!("<@&{id}>"));
    let named: Vec<String> = roles.chain(call.users.iter().map(|id| format!("<@{id}>"))).collect();
    let text = format!("{}\n{}", line.text, named.join(" "));
    (is_call(line) && !named.is_empty() && units(&text) <= MESSAGE_MAX).then_some(text)
}

/// Returns the field `allowed_mentions` of an alert's message; `None` if nobody is to be notified.
fn called(line: &Line, call: &Call) -> Option<Value> {
    let allowed = || json!({ "parse": [], "roles": call.roles, "users": call.users, "replied_user": false });
    (is_call(line) && *call != Call::default()).then(allowed)
}

/// Builds the JSON body of the request that sends a message. `rows` are its buttons, `told` replaces a text that cannot
/// be shown, and `call` lists the people to notify if it is an alert.
pub(super) fn body(
    line: &Line,
    nonce: &str,
    form: Form,
    rows: Option<Value>,
    told: &str,
    call: &Call,
) -> Value {
    let content = match form {
        Form::Whole | Form::Bare => line.text.clone(),
        Form::Shortened => shortened(&line.text),
        Form::Told => told.to_owned(),
    };
    let mut body = json!({ "content": content, "nonce": nonce, "enforce_nonce": true });
    if let Some(called) = called(line, call) {
        body["allowed_mentions"] = called;
    }
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

/// Returns the beginning of a text as plain words, in a code block that nothing in it can end.
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

    fn foreign(status: u16) -> RestError {
        RestError::Foreign { request: "POST".to_owned(), status }
    }

    fn refused(status: u16, code: u32) -> RestError {
        RestError::Refused { request: "POST".to_owned(), status, code, message: "no".to_owned() }
    }

    #[test]
    fn what_a_refusal_means() {
        let lost =
            RestError::Unanswered { request: "POST".to_owned(), reason: "slow".to_owned(), maybe_done: true };
        let unreadable = |foreign| RestError::Unreadable {
            request: "POST".to_owned(),
            reason: "unexpected".to_owned(),
            foreign,
        };
        let table = [
            (lost, Form::Whole, false, Verdict::Later),
            (unreadable(true), Form::Whole, false, Verdict::Later),
            (unreadable(false), Form::Whole, false, Verdict::Sent),
            (refused(401, 0), Form::Whole, false, Verdict::Later),
            (refused(404, 10003), Form::Whole, false, Verdict::Gone),
            (refused(404, 10003), Form::Whole, true, Verdict::Closed),
            (refused(403, 50007), Form::Whole, true, Verdict::Closed),
            (refused(403, 50013), Form::Whole, false, Verdict::Simpler),
            (refused(403, 50013), Form::Bare, false, Verdict::Denied),
            (refused(403, 50013), Form::Told, false, Verdict::Denied),
            (refused(403, 50001), Form::Bare, false, Verdict::Denied),
            (refused(400, 160_002), Form::Whole, false, Verdict::Simpler),
            (refused(400, 50035), Form::Whole, false, Verdict::Simpler),
            (refused(400, 50035), Form::Shortened, true, Verdict::Simpler),
            (refused(400, 200_000), Form::Told, true, Verdict::Simpler),
            (refused(413, 40005), Form::Whole, false, Verdict::Simpler),
            // From Cloudflare or a proxy, or a disabled function: not about the message.
            (foreign(403), Form::Whole, false, Verdict::Odd),
            (foreign(404), Form::Whole, true, Verdict::Odd),
            (foreign(400), Form::Bare, false, Verdict::Odd),
            (foreign(413), Form::Whole, false, Verdict::Odd),
            (refused(400, 0), Form::Bare, false, Verdict::Odd),
            (refused(403, 40_004), Form::Whole, false, Verdict::Odd),
            (refused(403, 40_333), Form::Whole, false, Verdict::Odd),
        ];
        for (error, form, private, expected) in table {
            assert_eq!(verdict(&error, form, private, 0), expected, "{error} {form:?} {private}");
        }
    }

    #[test]
    fn what_is_refused_for_no_reason_that_is_known_is_tried_in_every_form_and_never_given_up() {
        let guard = foreign(403);
        let verdicts = |odd| {
            [Form::Whole, Form::Bare, Form::Shortened, Form::Told]
                .map(|form| verdict(&guard, form, false, odd))
        };
        assert_eq!(verdicts(ODD_MAX - 1), [Verdict::Odd; 4]);
        let forms = [Verdict::Simpler, Verdict::Simpler, Verdict::Odd, Verdict::Odd];
        assert_eq!(verdicts(ODD_MAX), forms);
        assert_eq!(verdicts(u32::MAX), forms);
    }

    #[test]
    fn numbers_are_short_and_one_to_one() {
        assert_eq!([0, 35, 36, u64::MAX].map(base36), ["0", "z", "10", "3w5e11264sgsf"]);
        assert_eq!(salt(0).len() + base36(u64::MAX).len() + 1 + base36(u64::from(u32::MAX)).len(), NONCE_MAX);
        assert_eq!(salt(u64::MAX).len(), salt(0).len());
        // No process sends as many lines as have eleven digits.
        let lines = base36(36_u64.pow(11) - 1);
        assert_eq!(1 + run(0).len() + lines.len() + 1 + base36(u64::from(u32::MAX)).len(), NONCE_MAX);
        assert_eq!(run(u64::MAX).len(), run(0).len());
    }

    #[test]
    fn what_is_shortened_has_no_marks() {
        assert_eq!(shortened("**a** `b` @everyone <@1>\n```\nx"), "```\na b everyone 1\n\nx …\n```");
        assert!(crate::outbox::discord::units(&shortened(&"漢".repeat(5000))) < 600);
    }
}
