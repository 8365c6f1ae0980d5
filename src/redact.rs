//! Redaction of secrets in every text that leaves herder: posts, the audit trail, logs.
//!
//! Two methods: exact search for the configured secrets, in the forms in which they travel (as they are,
//! percent-encoded, in JSON, in HTML, in hex, in base64 at any offset, each line of a longer one), and patterns of
//! well-known tokens, for secrets that only an agent knew. Both also search the text as a person reads it: without
//! invisible characters, and across line ends. Redaction works on a whole text before it is cut, and in linear time
//! for any text: exact values by substring search, patterns by an engine without backtracking.

pub(crate) mod addresses;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::Regex;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::core::clean::clean;
use crate::core::unseen::{is_hidden, is_joiner};

/// The text that replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Minimum length of a configured secret that is redacted, in bytes: a shorter value would damage ordinary words.
const SECRET_MIN: usize = 4;
/// Minimum length of a searched piece of an encoded secret, in bytes: a shorter one would match innocent text by
/// chance.
const ENCODED_MIN: usize = 8;
/// Minimum length of a searched line of a secret with several lines, in bytes: the frame of a key file has short lines
/// that reveal nothing.
const LINE_MIN: usize = 16;

/// A regular expression that recognises one kind of secret, e.g. the tokens of a vendor.
struct Shape {
    /// A substring of every match, searched first: most texts contain none, so that no pattern has to be tried.
    hint: &'static str,
    pattern: Regex,
    /// The replacement for a match; it may keep a group, so that the reader sees the kind of secret.
    shown: &'static str,
    /// True if the pattern's beginning is distinctive, so that it can be searched across line ends too.
    joins: bool,
}

/// Regular expressions for tokens with a distinctive beginning. Word boundaries are ASCII: Unicode ones would disable
/// the engine's fast path for every text with an emoji.
const TOKENS: &[&str] = &[
    // Model vendors: OpenAI, Anthropic, Google, Hugging Face, Groq, xAI, Replicate, Perplexity.
    r"sk-[A-Za-z0-9_-]{20,}",
    r"AIza[A-Za-z0-9_-]{35}",
    r"(?:hf|gsk|r8)_[A-Za-z0-9]{20,}",
    r"(?:xai|pplx)-[A-Za-z0-9]{20,}",
    // Forges and registries.
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"(?:npm|dop|sbp)_[A-Za-z0-9]{20,}",
    r"pypi-[A-Za-z0-9_-]{32,}",
    // Slack, clouds, payment.
    r"xox[a-z]-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    // Signed web tokens (JWT) of any kind.
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
];

/// All patterns of secrets, in the order in which they are applied.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shape = |hint, pattern: &str, shown| {
        let pattern = Regex::new(pattern).expect("the pattern is constant and a test compiles it");
        Shape { hint, pattern, shown, joins: hint.is_empty() }
    };
    vec![
        // A key block, also one without an end.
        shape(
            "PRIVATE KEY",
            r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
            REDACTED,
        ),
        shape("", &format!(r"(?-u:\b)(?:{})", TOKENS.join("|")), REDACTED),
        shape(
            "/api/webhooks/",
            r"(discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/)[A-Za-z0-9_-]{20,}",
            "${1}[redacted]",
        ),
        // Bot tokens of Discord and Telegram.
        shape(".", r"(?-u:\b)[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", REDACTED),
        shape(":AA", r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}", REDACTED),
        // Credentials in headers and addresses.
        shape(" ", r"(?i)((?-u:\b)(?:bearer|basic)[ \t]{1,4})[A-Za-z0-9._~+/=-]{16,}", "${1}[redacted]"),
        shape(
            "://",
            r"((?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s/:@]{0,64}:)[^\s/@]{3,256}@",
            "${1}[redacted]@",
        ),
    ]
});

/// Finds and replaces secrets in texts: the configured ones, and those that match a pattern. Cheap to clone; clones
/// share the known secrets.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Arc<[String]>>>);

/// Characters of Markdown that a reader does not see where they are marks.
const MARKS: [char; 6] = ['*', '_', '~', '|', '`', '\\'];

/// A text as a person reads it, without invisible marks, with the position of each byte in the original.
struct Read {
    text: String,
    /// Positions in the original text of each byte of the read text, and of its end.
    from: Vec<usize>,
}

impl Read {
    fn without(text: &str, left_out: impl Fn(char) -> bool) -> Self {
        let mut read =
            Self { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        for (at, c) in text.char_indices().filter(|(_, c)| !left_out(*c)) {
            read.text.push(c);
            read.from.extend((0..c.len_utf8()).map(|byte| at + byte));
        }
        read.from.push(text.len());
        read
    }

    /// Converts a range in the read text to the range in the original text, from the first character to the last.
    fn origin(&self, read: Range<usize>) -> Range<usize> {
        let last = self.from[read.end - 1];
        self.from[read.start]..last + 1
    }
}

impl Read {
    /// Builds the read text in which all lines are joined, without line ends and the blanks around them.
    fn joined(text: &str) -> Self {
        let mut read =
            Self { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        let mut begun = true;
        for (at, c) in text.char_indices() {
            let blank = matches!(c, ' ' | '\t');
            if is_break(c) {
                // Blanks before it were already added.
                let kept = read.text.trim_end_matches([' ', '\t']).len();
                read.text.truncate(kept);
                read.from.truncate(kept);
                begun = true;
            } else if !(begun && blank || is_unseen(c)) {
                begun = false;
                read.text.push(c);
                read.from.extend((0..c.len_utf8()).map(|byte| at + byte));
            }
        }
        read.from.push(text.len());
        read
    }
}

impl Shape {
    /// Returns the ranges in the original text that match the pattern, without the group that is kept.
    fn found(&self, read: &Read) -> Vec<Range<usize>> {
        if !read.text.contains(self.hint) {
            return Vec::new();
        }
        let ranges = self.pattern.captures_iter(&read.text).filter_map(|captures| {
            let (whole, kept) = (captures.get(0)?, captures.get(1));
            let start = kept.map_or(whole.start(), |kept| kept.end());
            (start < whole.end()).then(|| read.origin(start..whole.end()))
        });
        ranges.collect()
    }
}

/// Returns true if a character is invisible, so that a reader sees a secret that it interrupts.
fn is_unseen(c: char) -> bool {
    !is_break(c) && (is_hidden(c) || is_joiner(c))
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// Replaces those of the `found` secrets that contain a character for which `kind` is true; the others were replaced
/// before.
fn without(text: Cow<'_, str>, mut found: Vec<Range<usize>>, kind: fn(char) -> bool) -> Cow<'_, str> {
    found.retain(|range| text[range.clone()].contains(kind));
    if found.is_empty() { text } else { Cow::Owned(masked(&text, found)) }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} forms)", self.forms().len())
    }
}

impl Redactor {
    /// Creates a redactor for these secrets; the patterns of tokens are always searched as well.
    #[must_use]
    pub fn new(secrets: &[SecretString]) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets);
        redactor
    }

    /// Adds secrets that became known while herder runs.
    pub fn learn(&self, secrets: &[SecretString]) {
        let mut added = Vec::new();
        for secret in secrets {
            add_forms(secret.expose_secret().trim(), &mut added);
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if added.iter().all(|form| known.contains(form)) {
            return;
        }
        let mut forms: Vec<String> = known.iter().cloned().chain(added).collect();
        // Longest first: a secret that contains another one is replaced as a whole.
        forms.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        *known = forms.into();
    }

    fn forms(&self) -> Arc<[String]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the text with each secret replaced.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for form in self.forms().iter() {
            if text.contains(form.as_str()) {
                text = Cow::Owned(text.replace(form.as_str(), REDACTED));
            }
        }
        for Shape { hint, pattern, shown, .. } in SHAPES.iter() {
            if text.contains(hint)
                && let Cow::Owned(replaced) = pattern.replace_all(&text, *shown)
            {
                text = Cow::Owned(replaced);
            }
        }
        // Most texts need only a scan of their bytes.
        let plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
        if !text.bytes().all(plain) && text.contains(is_unseen) {
            let found = self.found(&Read::without(&text, is_unseen), SECRET_MIN, |_| true);
            text = without(text, found, is_unseen);
        }
        if text.contains(is_break) {
            let found = self.found(&Read::joined(&text), ENCODED_MIN, |shape| shape.joins);
            text = without(text, found, is_break);
        }
        text
    }

    /// Returns a value with the secrets replaced in all of its texts, to be used before the value is cut for display.
    /// If a changed text makes the value invalid, such as a name, it is returned unchanged.
    #[must_use]
    pub fn of<'a, T: Serialize + DeserializeOwned + Clone>(&self, value: &'a T) -> Cow<'a, T> {
        let Ok(mut tree) = serde_json::to_value(value) else { return Cow::Borrowed(value) };
        if !self.redact_all(&mut tree) {
            return Cow::Borrowed(value);
        }
        serde_json::from_value(tree).map_or(Cow::Borrowed(value), Cow::Owned)
    }

    /// Replaces secrets in all texts of a JSON value; returns true if there were any.
    fn redact_all(&self, tree: &mut Json) -> bool {
        match tree {
            Json::String(text) => {
                let cleaned = clean(text);
                let Cow::Owned(redacted) = self.redact(&cleaned) else { return false };
                *text = redacted;
                true
            }
            Json::Array(items) => items.iter_mut().fold(false, |found, item| self.redact_all(item) | found),
            Json::Object(entries) => {
                entries.iter_mut().fold(false, |found, (_, entry)| self.redact_all(entry) | found)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }

    /// Returns the ranges in the original text of known secrets of at least `min` bytes, and of matches of the selected
    /// patterns.
    fn found(&self, read: &Read, min: usize, shapes: impl Fn(&Shape) -> bool) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for form in self.forms().iter() {
            let form = Read::joined(form).text;
            if form.len() >= min {
                let found_at = read.text.match_indices(&form).map(|(at, form)| at..at + form.len());
                found.extend(found_at.map(|at| read.origin(at)));
            }
        }
        for shape in SHAPES.iter().filter(|shape| shapes(shape)) {
            found.extend(shape.found(read));
        }
        found
    }

    /// Replaces secrets that a reader sees only once Markdown marks are hidden, as in `**h**unter2`. The text has to be
    /// redacted already.
    #[must_use]
    pub fn redact_shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(MARKS) {
            return Cow::Borrowed(text);
        }
        let bare = Read::without(text, |c| MARKS.contains(&c));
        let mut found = Vec::new();
        for form in self.forms().iter() {
            let form: String = form.chars().filter(|c| !MARKS.contains(c)).collect();
            if form.len() >= SECRET_MIN {
                let found_at = bare.text.match_indices(&form).map(|(at, form)| at..at + form.len());
                found.extend(found_at.map(|read| bare.origin(read)));
            }
        }
        // Discord shows `_` within a word, and tokens contain it.
        for read in [&bare, &Read::without(text, |c| c != '_' && MARKS.contains(&c))] {
            found.extend(SHAPES.iter().flat_map(|shape| shape.found(read)));
        }
        // Matches without marks were handled before.
        found.retain(|range| text[range.clone()].contains(MARKS));
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(masked(text, found))
    }
}

/// Returns the text with all of `ranges` replaced by `REDACTED`.
fn masked(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        if range.start >= end {
            masked.push_str(&text[end..range.start]);
            masked.push_str(REDACTED);
        }
        end = end.max(range.end);
    }
    masked.push_str(&text[end..]);
    masked
}

/// Adds to `forms` all forms in which `secret` may appear in a text, e.g. encoded as base64.
fn add_forms(secret: &str, forms: &mut Vec<String>) {
    if secret.len() < SECRET_MIN {
        return;
    }
    forms.push(secret.to_owned());
    forms.extend(secret.lines().map(str::trim).filter(|line| line.len() >= LINE_MIN).map(str::to_owned));
    forms.extend([percent(secret, false), percent(secret, true)]);
    let json = serde_json::Value::from(secret).to_string();
    let json = &json[1..json.len() - 1];
    forms.extend([json.to_owned(), json.replace('/', "\\/")]);
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let quotes = [("&quot;", "&#39;"), ("&#34;", "&#x27;"), ("&quot;", "&apos;"), ("\"", "'")];
    forms.extend(quotes.map(|(double, single)| html.replace('"', double).replace('\'', single)));
    if secret.len() * 2 >= ENCODED_MIN {
        let hex = secret.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        forms.extend([hex.to_uppercase(), hex]);
    }
    for offset in 0..3 {
        for encoded in
            [base64_at(&STANDARD_NO_PAD, secret, offset), base64_at(&URL_SAFE_NO_PAD, secret, offset)]
        {
            if encoded.len() >= ENCODED_MIN {
                forms.push(encoded);
            }
        }
    }
    // At the start of a base64 text all of it is matched, however short the secret.
    forms.push(STANDARD_NO_PAD.encode(secret));
}

/// Returns the base64 characters of `secret` after `offset` other bytes (`user:password`, `\0user\0password`) that
/// depend on the secret alone.
fn base64_at(engine: &impl base64::Engine, secret: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    let whole = bytes.len() * 8 / 6;
    let encoded = engine.encode(&bytes);
    let skipped = (offset * 8).div_ceil(6);
    encoded.get(skipped..whole).unwrap_or_default().to_owned()
}

fn percent(secret: &str, lower: bool) -> String {
    let mut encoded = String::with_capacity(secret.len() * 3);
    for byte in secret.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ if lower => encoded.push_str(&format!("%{byte:02x}")),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn knowing(secrets: &[&str]) -> Redactor {
        Redactor::new(&secrets.iter().map(|secret| SecretString::from(*secret)).collect::<Vec<_>>())
    }

    #[test]
    fn configured_secrets_go_in_every_form() {
        let redactor = knowing(&["hunter2 & \"co\"/ü", "abc", "", "  padded-with-space\n"]);
        let sasl = STANDARD.encode("\0bot\0hunter2 & \"co\"/ü");
        let basic = STANDARD.encode("me:hunter2 & \"co\"/ü");
        let table = [
            ("it is hunter2 & \"co\"/ü.".to_owned(), "it is [redacted].".to_owned()),
            ("q=hunter2%20%26%20%22co%22%2F%C3%BC".to_owned(), "q=[redacted]".to_owned()),
            ("q=hunter2%20%26%20%22co%22%2f%c3%bc".to_owned(), "q=[redacted]".to_owned()),
            (r#"{"p":"hunter2 & \"co\"/ü"}"#.to_owned(), r#"{"p":"[redacted]"}"#.to_owned()),
            ("abc is too short to be a secret".to_owned(), "abc is too short to be a secret".to_owned()),
            ("padded-with-space".to_owned(), REDACTED.to_owned()),
        ];
        for (text, expected) in table {
            assert_eq!(redactor.redact(&text), expected);
        }
        for encoded in [sasl, basic] {
            let redacted = redactor.redact(&encoded).into_owned();
            assert!(redacted.contains(REDACTED), "{encoded} became {redacted}");
        }
    }

    #[test]
    fn a_secret_goes_as_tools_print_it() {
        let redactor = knowing(&["Kx7/pQ&2\"vZ9'wL"]);
        for shown in [
            r#"Kx7\/pQ&2\"vZ9'wL"#,
            "Kx7/pQ&amp;2&quot;vZ9&#39;wL",
            "Kx7/pQ&amp;2\"vZ9'wL",
            "4b78372f7051263222765a3927774c",
            "4B78372F7051263222765A3927774C",
            "Kx7/pQ&2\n\"vZ9'wL",
            "Kx7/pQ \r\n    &2\"vZ9'wL",
            "Kx7\u{200b}/pQ&2\u{ad}\"vZ9\u{2060}'wL",
            "Kx7/\u{34f}pQ&2\u{fe0f}\"vZ9\u{e0041}'wL",
        ] {
            assert_eq!(redactor.redact(&format!("a {shown} b")), "a [redacted] b", "{shown:?}");
        }
        let token = "ghp_abcdefghijklm\nnopqrstuvwxyz0123456789 b";
        assert_eq!(redactor.redact(token), "[redacted] b");
        assert_eq!(redactor.redact("ghp_abcdefghijk\u{200d}lmnopqrstuvwxyz b"), "[redacted] b");
        for innocent in [
            "basic authentication\nis required for the bearer\nof this",
            "Kx7\nis no secret",
            "👨\u{200d}👩 flag \u{fe0f}\nnext line of an ordinary text\r\n  and more",
        ] {
            assert!(matches!(redactor.redact(innocent), Cow::Borrowed(_)), "{innocent}");
        }
    }

    #[test]
    fn a_value_loses_the_secrets_in_all_its_texts_before_it_is_cut() {
        let redactor = knowing(&["canary-server-password"]);
        let value = vec![("x".repeat(270) + " canary-server-password more", 7), ("calm".to_owned(), 8)];
        let redacted = redactor.of(&value).into_owned();
        assert_eq!(redacted[0].0, "x".repeat(270) + " [redacted] more");
        assert!(matches!(redactor.of(&vec!["calm".to_owned()]), Cow::Borrowed(_)));
    }

    #[test]
    fn a_secret_of_many_lines_is_known_by_each() {
        let redactor = knowing(&["first line of a long secret\nsecond line of a long secret\nend"]);
        assert_eq!(redactor.redact("> second line of a long secret <"), "> [redacted] <");
    }

    #[test]
    fn well_known_shapes_go_and_ordinary_words_stay() {
        let key =
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY----- after";
        let vendor = format!("sk-ant-api03-{} ok", "aB3_".repeat(12));
        let table = [
            (vendor.as_str(), "[redacted] ok"),
            ("OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz", "OPENAI_API_KEY=[redacted]"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
            ("xoxb-123456789012-abcdef", "[redacted]"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWsabcde", "[redacted]"),
            (
                "https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuv",
                "https://discord.com/api/webhooks/123456789012345678/[redacted]",
            ),
            ("Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: Bearer [redacted]"),
            ("git clone https://bob:s3cret@git.example/x", "git clone https://bob:[redacted]@git.example/x"),
            (key, "[redacted] after"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIcut", "[redacted]"),
            ("a risk-assessment-of-the-new-driver-model", "a risk-assessment-of-the-new-driver-model"),
            ("the bearer of bad news", "the bearer of bad news"),
            (
                "see https://example.org:8080/path and me@example.org",
                "see https://example.org:8080/path and me@example.org",
            ),
            ("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
        ];
        let redactor = Redactor::default();
        for (text, expected) in table {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn a_secret_does_not_become_whole_when_marks_are_not_seen() {
        let redactor = knowing(&[
            "hunter2",
            "my_secret_key",
            "ümlaut*stern",
            "longer line of a secret\nand another one of it",
        ]);
        let token = format!("ghp_{}", "a1".repeat(12));
        let table = [
            ("it is **h**unter2.".to_owned(), "it is **[redacted].".to_owned()),
            (
                "h_unter2_ and hun`ter`2 and hun||te||r2".to_owned(),
                "[redacted]_ and [redacted] and [redacted]".to_owned(),
            ),
            ("my\\_sec**ret**\\_key".to_owned(), "[redacted]".to_owned()),
            ("üml**aut**\\*stern".to_owned(), "[redacted]".to_owned()),
            ("~~longer line~~ of a *secret*".to_owned(), "~~[redacted]*".to_owned()),
            (format!("**{}**{}", &token[..7], &token[7..]), "**[redacted]".to_owned()),
            (
                "https://bob:s3*c*ret@git.example/x".to_owned(),
                "https://bob:[redacted]git.example/x".to_owned(),
            ),
            ("-----BEGIN **RSA** PRIVATE KEY-----\nMII`x`".to_owned(), "[redacted]`".to_owned()),
        ];
        for (text, expected) in table {
            assert_eq!(redactor.redact_shown(&text), expected, "{text}");
        }
        for innocent in
            ["**bold** and `code`", "hunt*er*s", "mysecret key", "snake_case_word", "a | b | c", "hunter2"]
        {
            assert!(matches!(redactor.redact_shown(innocent), Cow::Borrowed(_)), "{innocent}");
        }
    }

    /// A backtracking or rescanning search takes minutes for these; a linear one takes milliseconds. The bound is
    /// wide because debug builds on busy machines are slow.
    #[test]
    fn hostile_text_takes_linear_time() {
        let redactor = knowing(&["aaaaaaaaaaaaaaaaaaaab", "hunter2"]);
        let hostile = [
            "a".repeat(300_000),
            "-----BEGIN PRIVATE KEY-----".repeat(10_000),
            "sk-".repeat(100_000),
            "eyJ0000000000.".repeat(20_000),
            "a://b:".repeat(50_000),
            "MMMMMMMMMMMMMMMMMMMMMMMM.".repeat(10_000),
        ];
        #[expect(clippy::disallowed_methods, reason = "the time that is measured is the processor's")]
        let start = Instant::now();
        for text in &hostile {
            let _ = redactor.redact(text);
            let _ = redactor.redact_shown(&text.replace("00", "0*"));
        }
        assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn a_configured_secret_never_survives(
            secret in "[ -~äü]{4,40}",
            before in "[a-z ]{0,20}",
            after in "[a-z ]{0,20}",
        ) {
            let secret = secret.trim();
            prop_assume!(secret.len() >= SECRET_MIN && !REDACTED.contains(secret));
            let redactor = knowing(&[secret]);
            let text = format!("{before}{secret}{after}");
            prop_assert!(!redactor.redact(&text).contains(secret));
        }
    }
}
