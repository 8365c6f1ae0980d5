//! Expands words as a shell does, with one of the possible values of each variable.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::documents::Documents;
use super::names::ARGUMENTS;
use super::programs::{PRINTS_NOTHING, PRINTS_PLACES, basename, names};
use super::words::{HOLE, Kind, Letter, PLACE, PRINTED_FILE, Word, ansi, split};
use super::{Asked, Reader, UNREADABLE};

/// Maximum number of combinations of variables' values that are examined for one command.
const WAYS_MAX: usize = 96;

/// The text of the script that is being checked, and its here-documents.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) documents: &'a Documents,
}

impl<'a> Source<'a> {
    pub(super) fn of(&self, node: Node<'_>) -> &'a str {
        self.between(node.start_byte(), node.end_byte())
    }

    fn between(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }
}

/// The characters of a word that is being expanded, each with its origin.
#[derive(Default)]
struct Letters {
    letters: Vec<Letter>,
    quoted: bool,
}

impl Letters {
    fn push(&mut self, text: &str, kind: Kind) {
        self.letters.extend(text.chars().map(|c| Letter { c, kind }));
    }

    /// Appends unquoted text. Characters without a backslash before them get `kind`, others count as quoted.
    fn plain(&mut self, text: &str, kind: Kind) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    let escaped = chars.next().filter(|c| *c != '\n');
                    self.letters.extend(escaped.map(|c| Letter { c, kind: Kind::Quoted }));
                }
                c => self.letters.push(Letter { c, kind }),
            }
        }
    }

    /// Appends text from within double quotes.
    fn double(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = chars.next_if(|next| c == '\\' && matches!(next, '"' | '\\' | '$' | '`' | '\n'));
            let c = escaped.unwrap_or(c);
            if escaped != Some('\n') {
                self.letters.push(Letter { c, kind: Kind::Quoted });
            }
        }
    }
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

impl Reader {
    /// Returns each combination of values that the variables in these parts of a command can have, as an index into
    /// each variable's values.
    pub(super) fn ways(&mut self, source: Source<'_>, nodes: &[Node<'_>]) -> Vec<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        for node in nodes {
            self.counts(source, *node, &mut counts);
        }
        let ways = counts
            .values()
            .try_fold(1_usize, |ways, count| ways.checked_mul(*count).filter(|ways| *ways <= WAYS_MAX));
        let Some(ways) = ways else {
            // There are too many combinations: each of these variables counts as only known at run time.
            counts.retain(|name, _| self.names.values(name).len() > 1);
            for name in counts.keys() {
                self.names.replace(name, Some(vec![vec![HOLE.to_string()]]));
            }
            return vec![BTreeMap::new()];
        };
        let way = |mut n: usize| {
            let choice = counts.iter().map(|(name, count)| {
                let at = n % count;
                n /= count;
                (name.clone(), at)
            });
            choice.collect()
        };
        (0..ways).map(way).collect()
    }

    fn counts(&self, source: Source<'_>, node: Node<'_>, counts: &mut BTreeMap<String, usize>) {
        let mut cursor = node.walk();
        loop {
            let node = cursor.node();
            let parsed = match node.kind() {
                "simple_expansion" => Some((source.of(node).trim_start_matches('$'), None, "")),
                "expansion" => parsed(source.of(node)),
                _ => None,
            };
            if let Some((name, index, rest)) = parsed {
                let element = index.map(|index| format!("{name}[{index}]"));
                let element = element.filter(|element| !self.names.values(element).is_empty());
                let positional = name == "*" || name.bytes().all(|c| c.is_ascii_digit());
                let key = if positional && name != "0" { ARGUMENTS } else { name };
                let key = element.unwrap_or_else(|| key.to_owned());
                let spare = usize::from(rest.trim_start_matches(':').starts_with(['-', '=']));
                let count = self.names.count(&key) + spare;
                if count > 1 {
                    let known = counts.entry(key).or_default();
                    *known = count.max(*known);
                }
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Expands these syntax nodes of a command to words, as a shell would.
    pub(super) fn words(
        &mut self,
        source: Source<'_>,
        nodes: &[Node<'_>],
    ) -> Result<Vec<Word>, &'static str> {
        let mut words = Vec::new();
        for node in nodes {
            let mut letters = Letters::default();
            self.letters(source, *node, false, &mut letters)?;
            self.step(1 + letters.letters.len() / super::STEP_LETTERS)?;
            // `"$@"` without arguments yields no word.
            let quoted = letters.quoted && !source.of(*node).contains('@');
            words.extend(split(&letters.letters, quoted, &self.separators));
        }
        Ok(words)
    }

    /// Expands a syntax node to one text that the shell does not split into words, such as a file name.
    pub(super) fn text_of(&mut self, source: Source<'_>, node: Node<'_>) -> Result<String, &'static str> {
        let mut letters = Letters::default();
        self.letters(source, node, true, &mut letters)?;
        self.step(1 + letters.letters.len() / super::STEP_LETTERS)?;
        let glob = |letter: &Letter| letter.kind == Kind::Plain && matches!(letter.c, '*' | '?');
        Ok(letters.letters.iter().map(|letter| if glob(letter) { PLACE } else { letter.c }).collect())
    }

    /// Expands the variables and substitutions in the body of a here-document.
    pub(super) fn document(&mut self, body: &str) -> Result<String, &'static str> {
        self.step(1 + body.len() / 4)?;
        let mut text = format!("cat <<\u{fdd5}\n{body}\n\u{fdd5}\n");
        let mut tree = self.parse(&text)?;
        let mut kind = "heredoc_body";
        if tree.root_node().has_error() {
            // The grammar does not support backticks in a here-document.
            text = format!("cat \"{}\"", body.replace('"', "\\\""));
            tree = self.parse(&text)?;
            kind = "string";
        }
        let none = Documents::from([]);
        let source = Source { text: &text, documents: &none };
        self.substitutions(source, tree.root_node(), false)?;
        let mut letters = Letters::default();
        let mut found = None;
        let mut cursor = tree.root_node().walk();
        'walk: loop {
            if cursor.node().kind() == kind {
                found = Some(cursor.node());
                break;
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    break 'walk;
                }
            }
        }
        let node = found.filter(|_| !tree.root_node().has_error()).ok_or(UNREADABLE)?;
        let quote = usize::from(kind == "string");
        self.inside(source, node, (node.start_byte() + quote, node.end_byte() - quote), true, &mut letters)?;
        Ok(letters.letters.iter().map(|letter| letter.c).collect())
    }

    fn letters(&mut self, source: Source<'_>, node: Node<'_>, quoted: bool, into: &mut Letters) -> Asked {
        let kind = if quoted { Kind::Quoted } else { Kind::Value };
        let text = source.of(node);
        let within = |skipped: usize| (node.start_byte() + skipped, node.end_byte() - skipped.min(1));
        match node.kind() {
            "string" => {
                into.quoted = true;
                self.inside(source, node, within(1), true, into)?;
            }
            "raw_string" => {
                into.quoted = true;
                into.push(text.trim_start_matches('\'').trim_end_matches('\''), Kind::Quoted);
            }
            "ansi_c_string" => {
                into.quoted = true;
                let inner = text.strip_prefix("$'").and_then(|inner| inner.strip_suffix('\''));
                into.push(&ansi(inner.unwrap_or(text)), Kind::Quoted);
            }
            "simple_expansion" => {
                let name = text.trim_start_matches('$');
                let name = if name.is_empty() { "$" } else { name };
                let value = self.names.text(name, None, quoted);
                into.push(&value.unwrap_or_else(|| PLACE.to_string()), kind);
            }
            "expansion" => self.expansion(source, node, quoted, into)?,
            "command_substitution" => {
                let printed = self.printed(source, node)?;
                into.push(printed.as_deref().unwrap_or("\u{fdd0}").trim_end_matches('\n'), kind);
            }
            "process_substitution" => into.push(PRINTED_FILE, Kind::Quoted),
            "arithmetic_expansion" => into.push("0", Kind::Quoted),
            "brace_expression" => into.push("\u{fdd1}", Kind::Quoted),
            // The grammar has taken a line break into a word.
            "word" if !quoted && text.starts_with('\n') => return Err(UNREADABLE),
            _ if node.child_count() == 0 => into.plain(text, Kind::Plain),
            _ => self.inside(source, node, within(0), false, into)?,
        }
        Ok(())
    }

    /// Expands the part of a node between two positions, including the text between its children.
    fn inside(
        &mut self,
        source: Source<'_>,
        node: Node<'_>,
        (from, to): (usize, usize),
        quoted: bool,
        into: &mut Letters,
    ) -> Asked {
        let mut at = from;
        for child in children(node) {
            let (begin, end) = (child.start_byte(), child.end_byte());
            let value = child.is_named()
                && (!quoted || child.kind().ends_with("expansion") || child.kind().ends_with("substitution"));
            if begin < at || end > to || !value {
                continue;
            }
            let between = source.between(at, begin);
            if quoted {
                into.double(between)
            } else {
                into.plain(between, Kind::Plain)
            }
            self.letters(source, child, quoted, into)?;
            at = end;
        }
        let rest = source.between(at, to);
        if quoted {
            into.double(rest)
        } else {
            into.plain(rest, Kind::Plain)
        }
        Ok(())
    }

    fn expansion(&mut self, source: Source<'_>, node: Node<'_>, quoted: bool, into: &mut Letters) -> Asked {
        let kind = if quoted { Kind::Quoted } else { Kind::Value };
        let text = source.of(node);
        let Some((name, index, rest)) = parsed(text) else {
            let length = text.starts_with("${#");
            into.push(if length { "0" } else { "\u{fdd0}" }, kind);
            return Ok(());
        };
        let value = self.names.text(name, index, quoted);
        let bare = rest.strip_prefix(':').unwrap_or(rest);
        let operator = bare.chars().next().unwrap_or('?');
        let instead = match operator {
            '-' | '=' => value.is_none() || self.names.is_spare(name),
            '+' => true,
            '?' => false,
            _ => {
                into.push(&self.names.changed(name, index).to_string(), kind);
                return Ok(());
            }
        };
        if !instead {
            into.push(&value.unwrap_or_else(|| PLACE.to_string()), kind);
        } else if operator != '+' || value.is_none_or(|value| !value.is_empty()) {
            let from = node.end_byte() - bare.len();
            let before = into.letters.len();
            self.inside(source, node, (from, node.end_byte() - 1), quoted, into)?;
            for letter in into.letters.iter_mut().skip(before).filter(|letter| letter.kind == Kind::Plain) {
                letter.kind = Kind::Value;
            }
        }
        Ok(())
    }

    /// Returns the text that a command substitution prints; `None` if it is only known at run time.
    fn printed(&mut self, source: Source<'_>, node: Node<'_>) -> Result<Option<String>, &'static str> {
        self.step(1)?;
        let mut printed = String::new();
        for child in children(node).into_iter().filter(|child| child.is_named()) {
            let Some(text) = self.prints(source, child)? else { return Ok(None) };
            printed.push_str(&text);
        }
        Ok(Some(printed))
    }

    fn prints(&mut self, source: Source<'_>, node: Node<'_>) -> Result<Option<String>, &'static str> {
        let nodes: Vec<Node<'_>> = children(node).into_iter().filter(|child| child.is_named()).collect();
        match node.kind() {
            "list" => {
                let mut printed: Option<String> = None;
                for child in nodes {
                    match (self.prints(source, child)?, &printed) {
                        (None, _) => return Ok(None),
                        (Some(text), None) => printed = Some(text),
                        (Some(text), Some(before)) if before.is_empty() => printed = Some(text),
                        (Some(text), Some(_)) if text.is_empty() => {}
                        // Either of the two may be printed.
                        (Some(_), Some(_)) => return Ok(None),
                    }
                }
                Ok(printed)
            }
            "test_command" | "comment" => Ok(Some(String::new())),
            "redirected_statement" => match nodes.split_first() {
                Some((body, redirects)) if body.kind() == "command" => {
                    if let Some(text) = self.given_by(source, redirects)? {
                        let plain = source.of(*body).trim() == "cat";
                        return Ok(plain.then_some(text));
                    }
                    self.prints(source, *body)
                }
                _ => Ok(None),
            },
            "command" => {
                let words = self.words(source, &super::tree::words_of(node))?;
                Ok(says(&words))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the text that a command such as `echo` or `pwd` prints; `None` if it is only known at run time.
pub(super) fn says(words: &[Word]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let name = basename(&program.text);
    let mut operands = rest.iter().map(|word| word.text.as_str()).skip_while(|word| word.starts_with('-'));
    match (name.as_str(), rest.first().map(|word| word.text.as_str())) {
        ("true" | ":" | "[" | "test", _) => Some(String::new()),
        ("which", _) | ("command", Some("-v")) | ("type", Some("-p" | "-P")) => {
            operands.next().map(str::to_owned)
        }
        ("echo", Some("-e")) => Some(ansi(&operands.collect::<Vec<_>>().join(" ")) + "\n"),
        ("echo", _) => Some(operands.collect::<Vec<_>>().join(" ") + "\n"),
        ("printf", Some("%s" | "%s\\n" | "%s\n")) if rest.len() == 2 => operands.nth(1).map(str::to_owned),
        ("printf", Some(format)) if rest.len() == 1 && !format.contains('%') => Some(ansi(format)),
        ("git", Some("rev-parse")) => Some(PLACE.to_string()),
        (name, _) if names(PRINTS_NOTHING, name) => Some(String::new()),
        (name, _) if names(PRINTS_PLACES, name) => Some(PLACE.to_string()),
        _ => None,
    }
}

/// Splits `${…}` into the variable's name, its array index and the rest; `None` if it does not begin with a name.
fn parsed(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let length = inner.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
    let special = inner.starts_with(['@', '*', '?', '$', '-']) || inner == "#" || inner == "!";
    let length = if length == 0 && special { 1 } else { length };
    if length == 0 {
        return None;
    }
    let (name, rest) = inner.split_at(length);
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((index, rest)) => Some((name, Some(index.trim_matches(['"', '\''])), rest)),
        None => Some((name, None, rest)),
    }
}
