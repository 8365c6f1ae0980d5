//! Formatting of one line as harmless Markdown.
//!
//! Outside code, regardless of the author: no person is mentioned, no emoji, time or channel of Discord's is inserted,
//! a link shows its address, nothing is hidden as a spoiler, and an unclosed code mark is a character. In herder's own
//! sentences, which contain foreign names and reasons, only `**bold**` and `` `code` `` are marks. Agents may use the
//! other marks; but a line that looks like one of herder's own is shown as a quotation, and the small print of
//! herder's own messages is disabled.

use super::super::markup::{bold_span, link_parts};
use super::compose::is_visible;
use crate::core::cut::floor;

/// The author of a line, on which its formatting depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// herder, for people: its markup is shown.
    Own,
    /// An agent: its Markdown is shown, as far as it cannot imitate herder or notify people.
    Agent,
    /// herder, for programs: all characters are shown as they are.
    Machine,
}

/// The first characters of herder's own posts in all locales. An agent's line that begins with one is shown as a
/// quotation, so that it cannot pass for herder's.
const STATUS: [char; 23] = [
    '🐜', '✅', '❌', '⏳', '🚫', '💳', '🔐', '💰', '⏸', '▶', '⚙', '🚨', '🧯', '👀', '💬', '📂', '🧱', '🔔',
    '🔄', '🤫', '⚠', '🕰', '📤',
];

/// Maximum distance of a closing mark, in bytes, so that hostile text is not searched again and again.
const SPAN_MAX: usize = 1000;

/// The zero-width space that separates characters which Discord must not read together, as in `@everyone`.
const BREAK: char = '\u{200b}';

/// Formats a line by `voice` as Discord Markdown.
pub(super) fn line(text: &str, voice: Voice) -> String {
    match voice {
        Voice::Own => own(text),
        Voice::Agent => block(text),
        Voice::Machine => text.to_owned(),
    }
}

/// Formats herder's own line as Discord Markdown: escapes headings, quotations and small print.
fn own(text: &str) -> String {
    let shown = inline(text, Voice::Own);
    let start = shown.trim_start();
    if start.starts_with(['#', '>']) || start.starts_with("-#") { format!("\\{start}") } else { shown }
}

/// Formats an agent's line as Discord Markdown: headings, quotations and lists stay.
fn block(text: &str) -> String {
    let start = text.trim_start();
    let indent = &text[..text.len() - start.len()];
    let hashes = start.bytes().take_while(|byte| *byte == b'#').count();
    let shown = if let Some(quoted) = start.strip_prefix(">>>") {
        // `>>>` would quote everything that follows.
        return format!("> {}", inline(quoted.trim_start(), Voice::Agent));
    } else if let Some(quoted) = start.strip_prefix("> ") {
        return format!("> {}", inline(quoted, Voice::Agent));
    } else if let Some(heading) = start[hashes..].strip_prefix(' ').filter(|_| (4..=6).contains(&hashes)) {
        // Discord has three levels of headings.
        format!("**{}**", inline(&heading.replace("**", ""), Voice::Agent).trim())
    } else {
        inline(text, Voice::Agent)
    };
    if looks_like_status(start) {
        return format!("> {}", shown.trim_start());
    }
    // Checked on the formatted line: a link's label can move such a mark to the front.
    let sent = shown.trim_start();
    if sent.starts_with(">>>") || sent.starts_with("-#") { format!("{indent}\\{sent}") } else { shown }
}

/// Returns true if a line begins, after any marks, like one of herder's own posts.
fn looks_like_status(text: &str) -> bool {
    let mark = |c: char| c.is_ascii_punctuation() || c.is_ascii_digit() || !is_visible(c);
    let bare = text.trim_start_matches(mark);
    bare.starts_with(STATUS) || bare.starts_with("ESCALATION]")
}

/// Formats the Markdown marks within a line.
fn inline(text: &str, voice: Voice) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut address = false;
    while let Some(c) = rest.chars().next() {
        address = if address { is_of_address(c) } else { starts_address(rest) };
        let taken = special(c, rest, voice, address, &mut shown);
        rest = &rest[taken..];
    }
    shown
}

/// Formats the character `c` at the start of `rest`, and what belongs to it, into `shown`; returns the number of bytes
/// taken from `rest`.
fn special(c: char, rest: &str, voice: Voice, address: bool, shown: &mut String) -> usize {
    match c {
        '`' => return code(rest, shown),
        '\\' => return escape(rest, voice, shown),
        '*' if voice == Voice::Own => return bold(rest, shown),
        // In an address these are no marks.
        '_' | '~' if voice == Voice::Own && !address => shown.extend(['\\', c]),
        '|' if rest.starts_with("||") => {
            shown.push_str("\\|\\|");
            return 2;
        }
        '[' => {
            if let Some(length) = link(rest, voice, shown) {
                return length;
            }
            shown.push('[');
        }
        ']' if rest.starts_with("](") => {
            shown.push_str("]\\(");
            return 2;
        }
        // An address in angle brackets is shown without a preview; anything else in them would be Discord's syntax.
        '<' if rest.starts_with("<https://") || rest.starts_with("<http://") => shown.push('<'),
        '<' => shown.push_str("\\<"),
        '@' => {
            shown.push('@');
            if mentions_all(&rest[1..]) {
                shown.push(BREAK);
            }
        }
        c => shown.push(c),
    }
    c.len_utf8()
}

fn starts_address(rest: &str) -> bool {
    rest.starts_with("https://") || rest.starts_with("http://")
}

fn is_of_address(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/?#@!$&'()+,;=%".contains(c)
}

fn mentions_all(after: &str) -> bool {
    ["everyone", "here"]
        .iter()
        .any(|word| after.get(..word.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(word)))
}

/// Formats the backticks at the start of `rest`: a code span if as many backticks close it, else characters. Returns
/// the number of bytes taken.
fn code(rest: &str, shown: &mut String) -> usize {
    let marks = rest.bytes().take_while(|byte| *byte == b'`').count();
    let near = &rest[..floor(rest, SPAN_MAX + marks)];
    // Three backticks make a block anywhere: two suffice for a span, and a shorter span that contains three is none.
    let inside = closing(&near[marks..], marks).map(|end| &near[marks..marks + end]);
    if let Some(inside) = inside.filter(|inside| marks > 2 || !inside.contains("```")) {
        let mark = if marks == 1 { "`" } else { "``" };
        shown.push_str(mark);
        if marks > 2 {
            shown.push_str(&apart(inside));
        } else {
            shown.push_str(inside);
        }
        shown.push_str(mark);
        return marks + inside.len() + marks;
    }
    shown.push_str(&"\\`".repeat(marks));
    marks
}

/// Returns the text with an invisible character between adjacent backticks.
pub(super) fn apart(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c == '`' && shown.ends_with('`') {
            shown.push(BREAK);
        }
        shown.push(c);
    }
    shown
}

/// Returns the position of the next run of exactly `marks` backticks that has something before it.
fn closing(text: &str, marks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`').map(|at| from + at) {
        let run = text[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == marks && at > 0 {
            return Some(at);
        }
        from = at + run;
    }
    None
}

/// Formats the backslash at the start of `rest`: an agent's escape stays, otherwise it is shown as a character. Returns
/// the number of bytes taken.
fn escape(rest: &str, voice: Voice, shown: &mut String) -> usize {
    let next = rest[1..].chars().next();
    if let (Voice::Agent, Some(mark)) = (voice, next.filter(|c| "`*_~|[]()<>#\\-".contains(*c))) {
        shown.extend(['\\', mark]);
        return 2;
    }
    shown.push_str("\\\\");
    1
}

fn bold(rest: &str, shown: &mut String) -> usize {
    let near = &rest[..floor(rest, SPAN_MAX)];
    if let Some(length) = near.starts_with("**").then(|| bold_span(near)).flatten() {
        shown.push_str("**");
        shown.push_str(&inline(&near[2..length - 2], Voice::Own));
        shown.push_str("**");
        return length;
    }
    shown.push_str("\\*");
    1
}

/// Formats the Markdown link at the start of `rest` with its address visible beside it. Returns the number of bytes
/// taken; `None` if there is no link.
fn link(rest: &str, voice: Voice, shown: &mut String) -> Option<usize> {
    let near = &rest[..floor(rest, SPAN_MAX)];
    let (label, address, length) = link_parts(near)?;
    let clear = starts_address(address) && address.chars().all(is_of_address) && !address.contains('@');
    if !clear || label.contains(']') {
        return None;
    }
    if label == address {
        shown.push_str(&format!("<{address}>"));
    } else {
        shown.push_str(&format!("{} (<{address}>)", inline(label, voice)));
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_markdown_stays_and_does_no_harm() {
        let table = [
            ("plain text, 2 < 3 and a_b_c", "plain text, 2 \\< 3 and a_b_c"),
            ("**bold** *it* __u__ ~~s~~ `code` ``a`b``", "**bold** *it* __u__ ~~s~~ `code` ``a`b``"),
            ("# big", "# big"),
            ("##### small", "**small**"),
            ("- item", "- item"),
            ("> quoted", "> quoted"),
            (">>> all that follows", "> all that follows"),
            (">>>", "> "),
            ("-# small print", "\\-# small print"),
            ("[>>> a label](https://x.example)", "\\>>> a label (<https://x.example>)"),
            ("[-# a label](https://x.example)", "\\-# a label (<https://x.example>)"),
            ("hi @everyone, @Here and @alice", "hi @\u{200b}everyone, @\u{200b}Here and @alice"),
            (
                "<@123> <@&5> <#7> <:x:9> <t:0:R> </a:1>",
                "\\<@123> \\<@&5> \\<#7> \\<:x:9> \\<t:0:R> \\</a:1>",
            ),
            ("\\<@123> and \\\\<@123>", "\\<@123> and \\\\\\<@123>"),
            ("\\@everyone", "\\\\@\u{200b}everyone"),
            ("||hidden|| and a | b", "\\|\\|hidden\\|\\| and a | b"),
            ("[the log](https://ci.example/7)", "the log (<https://ci.example/7>)"),
            ("[https://good.example](https://evil.example)", "https://good.example (<https://evil.example>)"),
            ("[x](javascript:alert)", "[x]\\(javascript:alert)"),
            ("[a [b](c)](https://x.example)", "[a [b]\\(c)]\\(https://x.example)"),
            ("<https://no.preview.example>", "<https://no.preview.example>"),
            ("unclosed ` here", "unclosed \\` here"),
            ("```rm``` inline", "``rm`` inline"),
            ("```` a ``` b ````", "`` a `\u{200b}`\u{200b}` b ``"),
            ("`a ```<@1>`", "\\`a \\`\\`\\`\\<@1>\\`"),
            ("`<@1> @everyone ||x||`", "`<@1> @everyone ||x||`"),
        ];
        for (text, expected) in table {
            assert_eq!(line(text, Voice::Agent), expected, "{text:?}");
        }
    }

    #[test]
    fn what_looks_like_herder_is_a_quotation() {
        for text in [
            "✅ **spark** completed",
            "# 🚨 x",
            "- **⏸️ spark** paused",
            "\u{200b}❌ x",
            "1. 🧯",
            "[ESCALATION] x",
        ] {
            assert!(line(text, Voice::Agent).starts_with("> "), "{text:?}");
        }
        assert_eq!(line("All ✅", Voice::Agent), "All ✅");
        assert_eq!(line("> ✅ **spark** completed", Voice::Agent), "> ✅ **spark** completed");
    }

    /// Checks that the first character of every notice is in `STATUS`, also where a message chooses among several
    /// texts.
    #[test]
    fn no_post_of_herders_can_be_imitated_by_its_first_character() {
        let locales = ["en-US", "de", "ja"].map(|locale| {
            let path = format!("{}/locales/{locale}.ftl", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).expect("a locale")
        });
        for text in locales.iter().flat_map(|locale| locale.lines()) {
            let Some((_, value)) = text.split_once(" = ").filter(|(id, _)| id.starts_with("notice-")) else {
                continue;
            };
            let is_emoji = |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..);
            assert!(!value.starts_with(is_emoji) || looks_like_status(value), "{value:?}");
        }
        assert!(looks_like_status("🧱 **spark** is blocked on task 7"));
        assert!(looks_like_status("🔔 **nova** says: all is well"));
    }

    #[test]
    fn what_machines_read_is_not_changed() {
        for text in ["QUOTA-EXHAUSTED team_a", "HEARTBEAT my_**herder** `1`", "TASK 7 assigned a_b~c"] {
            assert_eq!(line(text, Voice::Machine), text);
        }
    }

    #[test]
    fn in_herders_sentences_bold_and_code_are_the_only_marks() {
        let table = [
            ("**spark** is paused. `@spark resume`", "**spark** is paused. `@spark resume`"),
            ("fix *.rs and *.toml, a_b, ~x~", "fix \\*.rs and \\*.toml, a\\_b, \\~x\\~"),
            ("see https://x.example/a_b~c_d, a_b", "see https://x.example/a_b~c_d, a\\_b"),
            ("# no heading", "\\# no heading"),
            ("-# no small print", "\\-# no small print"),
            ("> no quote", "\\> no quote"),
            ("**<@1>_x**", "**\\<@1>\\_x**"),
            ("C:\\path", "C:\\\\path"),
        ];
        for (text, expected) in table {
            assert_eq!(line(text, Voice::Own), expected, "{text:?}");
        }
    }
}
