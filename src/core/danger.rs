//! Commands that are always asked about, whatever an agent may do otherwise: `git push`, `rm -r`, `sudo`, pipes into
//! a shell, `drop table`, `truncate table`, configured patterns (contract, section 9), and text with invisible
//! characters.
//!
//! A command is parsed with bash's grammar ([`tree`]), its words are expanded as a shell would ([`expand`]), wrappers
//! such as `env` and `timeout` are looked through, and the text given to `bash -c`, `eval` and functions is parsed
//! again. A variable stands for each value that the text gives it. One law holds for the rest: a command that is only
//! known when it runs, such as `$x`, `"$@"`, a pattern or a substitution as the program, is asked about. That finds
//! `/bin/rm -fr`, `"r"m -r` and `$a$b push`, and leaves `git commit -m "no more sudo"` alone. It is no sandbox: a
//! script written earlier does what it likes, so an agent's permissions remain the actual boundary.

mod acts;
mod arguments;
mod documents;
mod expand;
mod names;
mod programs;
mod targets;
mod texts;
mod tree;
mod words;
mod wrappers;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::unseen::hides;
use documents::{Documents, Script};
use expand::Source;
use names::Names;
use tree::Around;
use words::{BOUNDARY, DOCUMENT, HOLE, has_marks};

/// Maximum size of one compiled pattern, in bytes; patterns of operators are short.
const PATTERN_SIZE_MAX: usize = 1024 * 1024;

/// Maximum nesting of commands within commands; deeper nesting is not in good faith.
const DEPTH_MAX: usize = 16;

/// Maximum number of steps for checking one text (a step is a program or word that is examined); beyond it the text
/// counts as unreadable and is asked about.
const STEPS_MAX: usize = 40_000;

/// Number of characters of text that count as one step.
const STEP_LETTERS: usize = 32;

/// Number of steps that each progress callback of the parser (a hundred of its operations) counts as.
const PARSE_STEPS: usize = 4;

/// Maximum progress callbacks (a hundred parser operations each) without an advance in the text; a parser that has
/// lost its way searches for long.
const STANDS_MAX: usize = 20;

/// Maximum number of `|` characters in a script; the parser's time may grow with their square.
const PIPES_MAX: usize = 1000;

/// Maximum length of a text that is checked, in bytes; a longer one is always asked about.
const TEXT_MAX: usize = 128 * 1024;

const PUSH: &str = "git push";
const REMOVE: &str = "rm -r";
const SUDO: &str = "sudo";
const PIPE: &str = "a pipe into a shell";
const DROP: &str = "drop table";
const TRUNCATE: &str = "truncate table";
const HIDDEN: &str = "hidden characters";
const UNTOLD: &str = "a command that is only known when it runs";
const UNREADABLE: &str = "too nested to be read";

/// A regular expression from `always_ask` in the configuration: a command that it matches is always asked about.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AskPattern(Regex);

impl AskPattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the pattern.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty pattern matches everything; remove it".to_owned());
        }
        let built = RegexBuilder::new(text).size_limit(PATTERN_SIZE_MAX).build();
        built.map(Self).map_err(|reason| format!("\"{text}\" is no regular expression: {reason}"))
    }
}

impl TryFrom<String> for AskPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text)
    }
}

impl From<AskPattern> for String {
    fn from(pattern: AskPattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

impl PartialEq for AskPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for AskPattern {}

/// Returns the pattern that makes a command always asked, by the built-in pattern's name or the configured pattern's
/// text; `None` if none matches.
#[must_use]
pub fn of_command(command: &str, patterns: &[AskPattern]) -> Option<String> {
    let found = built_in(command)
        .filter(|found| *found != UNREADABLE || !hides(command))
        .map(str::to_owned)
        .or_else(|| configured(command, patterns));
    found.or_else(|| hides(command).then(|| HIDDEN.to_owned()))
}

/// Returns the text of the configured pattern that makes other text than a command always asked, such as the change of
/// a file; `None` if none matches. The built-in patterns are not applied.
#[must_use]
pub fn of_text(text: &str, patterns: &[AskPattern]) -> Option<String> {
    configured(text, patterns)
}

fn configured(text: &str, patterns: &[AskPattern]) -> Option<String> {
    patterns.iter().find(|pattern| pattern.0.is_match(text)).map(|pattern| pattern.0.as_str().to_owned())
}

fn built_in(text: &str) -> Option<&'static str> {
    if has_marks(text) || text.len() > TEXT_MAX {
        return Some(UNREADABLE);
    }
    // Arguments of a tool call, alone or below its title; each of them may be a command.
    let (rest, arguments) = arguments::apart(text);
    let mut reader = Reader::new();
    let mut read = |text: &str, sure| reader.text(text, sure).err();
    let found = arguments.iter().find_map(|argument| read(argument, false));
    let found = found.or_else(|| read(&rest, arguments.is_empty()));
    // JSON below a title may also be in the middle of a script.
    found.or_else(|| if arguments.is_empty() || rest.trim().is_empty() { None } else { read(text, false) })
}

/// Result of a check: `Ok` if nothing was found, else the name of the pattern for which a person must be asked.
type Asked = Result<(), &'static str>;

/// A shell function that the text defines.
#[derive(Debug)]
struct Function {
    body: String,
    documents: Documents,
    called: bool,
}

/// State of the check of one text, including the scripts within it.
struct Reader {
    parser: Option<Parser>,
    depth: usize,
    /// Current depth in the syntax tree, limited by `NESTING_MAX`.
    nesting: usize,
    /// Number of steps that are left of [`STEPS_MAX`].
    left: usize,
    names: Names,
    functions: BTreeMap<String, Function>,
    aliases: BTreeMap<String, String>,
    /// Function calls that are being checked, with their arguments, so that a recursive call is not followed again.
    calls: Vec<(String, Vec<String>)>,
    /// Files that the text writes, with their content; `None` if that is output only known at run time.
    files: BTreeMap<String, Option<String>>,
    /// Characters besides blanks at which values are split (`IFS`).
    separators: String,
    /// True if the script being read contains output of another command, so that its content is unknown.
    fed: bool,
    /// True if the standard input of everything that follows is another command's output.
    stdin: bool,
}

impl Reader {
    fn new() -> Self {
        let mut parser = Parser::new();
        let ready = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        Self {
            parser: Some(parser).filter(|_| ready),
            depth: 0,
            nesting: 0,
            left: STEPS_MAX,
            names: Names::new(),
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            calls: Vec::new(),
            files: BTreeMap::new(),
            separators: String::new(),
            fed: false,
            stdin: false,
        }
    }

    /// Checks one text for commands that a person must be asked about. `sure`: the text is known to be a command, so
    /// that a syntax error is asked about too.
    fn text(&mut self, text: &str, sure: bool) -> Asked {
        *self = Self { left: self.left, parser: self.parser.take(), ..Self::new() };
        self.nested(text, &Around::default(), sure)?;
        self.uncalled()
    }

    /// Consumes `steps`; fails as unreadable when none are left.
    fn step(&mut self, steps: usize) -> Asked {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or_default();
        left.map(drop).ok_or(UNREADABLE)
    }

    /// Checks a script, such as the argument of `bash -c`: takes its here-documents out and parses it.
    fn nested(&mut self, text: &str, around: &Around, sure: bool) -> Asked {
        let fed = self.fed;
        self.fed |= text.contains(HOLE);
        let text = text.replace([BOUNDARY, DOCUMENT], " ");
        let script = Script::new(&text);
        let documents = Documents::from(script.documents);
        let read = self.parsed(&script.text, &documents, around, sure);
        self.fed = fed;
        read
    }

    /// Parses and checks a script whose here-documents were taken out.
    fn parsed(&mut self, text: &str, documents: &Documents, around: &Around, sure: bool) -> Asked {
        self.deeper(|reader| {
            let tree = reader.parse(text)?;
            let source = Source { text, documents };
            reader.statement(source, tree.root_node(), around)?;
            if !tree.root_node().has_error() {
                return Ok(());
            }
            // The parser found a syntax error.
            let bare = text.replace(['\'', '"', '\\'], "");
            match texts::loose(&bare, true) {
                Some(found) => Err(found),
                None if sure => Err(UNREADABLE),
                None => Ok(()),
            }
        })
    }

    fn parse(&mut self, text: &str) -> Result<Tree, &'static str> {
        self.step(5 + text.len() / STEP_LETTERS)?;
        // A script that ends in a pipe takes the parser a time that grows with the square of their number.
        if text.matches('|').count() > PIPES_MAX {
            return Err(UNREADABLE);
        }
        if crashes_the_grammar(text) {
            return Err(UNREADABLE);
        }
        let mut parser = self.parser.take().ok_or(UNREADABLE)?;
        let (mut steps, mut stands, mut before, left) = (0, 0, 0, self.left);
        let mut progress = |state: &ParseState| {
            let at = state.current_byte_offset();
            stands = if at == before { stands + 1 } else { 0 };
            before = at;
            steps += PARSE_STEPS;
            let ends = steps > left || stands > STANDS_MAX + text.len() / 100;
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(ParseOptions::new().progress_callback(&mut progress)),
        );
        parser.reset();
        self.parser = Some(parser);
        self.step(steps)?;
        tree.ok_or(UNREADABLE)
    }
}

/// Returns true if tree-sitter-bash 0.25.1 may read out of bounds: its scanner passes the character after `{` to C's
/// `isdigit`, whose table ends at 255 (tree-sitter/tree-sitter-bash#337).
fn crashes_the_grammar(text: &str) -> bool {
    let is_of_a_range = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut behind = text.split('{').skip(1).map(|rest| rest.trim_start_matches(is_of_a_range));
    behind.any(|rest| rest.starts_with(|letter: char| !letter.is_ascii()))
}

#[cfg(test)]
mod tests;
