//! What is always asked, whatever an agent may do otherwise: `git push`, `rm -r`, `sudo`, pipes into a shell, `drop table`,
//! `truncate table`, what is configured (contract, section 9), and what has characters in it that nobody sees.
//!
//! A command is read by bash's grammar ([`tree`]), its words are made as a shell would make them ([`expand`]), wrappers such
//! as `env` and `timeout` are looked through, and what `bash -c`, `eval` and functions are given is read once more. A variable
//! stands for each value that the text gives it. One law holds for the rest: what cannot be told before it runs is asked
//! about, such as `$x`, `"$@"`, a pattern or a substitution as a program. That finds `/bin/rm -fr`, `"r"m -r` and `$a$b push`,
//! and leaves `git commit -m "no more sudo"` alone. It is no sandbox: a script that was written before does what it likes,
//! so that an agent's permissions stay what counts.

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
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::ask::hides;
use documents::{Documents, Script};
use expand::Source;
use names::Names;
use tree::Around;
use words::{BOUNDARY, DOCUMENT, HOLE, has_marks};

/// What one pattern may take when it is compiled: an operator's pattern is short.
const PATTERN_SIZE_MAX: usize = 1024 * 1024;

/// How deep commands within commands are read; nobody nests so deep in good faith.
const DEPTH_MAX: usize = 16;

/// Programs and their words that are looked at for one text. What a wrapper is given is looked at again and again, so that a
/// few words could keep a reader busy for good.
const STEPS_MAX: usize = 40_000;

/// Letters that are read in about the time of a step.
const STEP_LETTERS: usize = 32;

/// Steps that a hundred operations of the parser count as.
const PARSE_STEPS: usize = 4;

/// Hundreds of operations of the parser that may pass in one place: a lost one looks for its way for long.
const STANDS_MAX: usize = 20;

/// Pipes in one script that are read.
const PIPES_MAX: usize = 1000;

/// The longest text that is read, in bytes.
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

/// A configured pattern.
#[derive(Debug, Clone)]
pub struct AskPattern(Regex);

impl AskPattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty pattern matches everything; remove it".to_owned());
        }
        let built = RegexBuilder::new(text).size_limit(PATTERN_SIZE_MAX).build();
        built.map(Self).map_err(|reason| format!("\"{text}\" is no regular expression: {reason}"))
    }
}

impl PartialEq for AskPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for AskPattern {}

/// Why a command is always asked, if it is: the built-in pattern's name, or the configured one.
#[must_use]
pub fn of_command(command: &str, patterns: &[AskPattern]) -> Option<String> {
    let found = built_in(command)
        .filter(|found| *found != UNREADABLE || !hides(command))
        .map(str::to_owned)
        .or_else(|| configured(command, patterns));
    found.or_else(|| hides(command).then(|| HIDDEN.to_owned()))
}

/// The same for a text that is no command, such as the change of a file.
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
    // Arguments of a tool, alone or below its title: each of them may be a command.
    let (rest, arguments) = arguments::apart(text);
    let mut reader = Reader::new();
    let mut read = |text: &str, sure| reader.text(text, sure).err();
    let found = arguments.iter().find_map(|argument| read(argument, false));
    let found = found.or_else(|| read(&rest, arguments.is_empty()));
    // What looks like arguments below a title may be in the middle of a script.
    found.or_else(|| if arguments.is_empty() || rest.trim().is_empty() { None } else { read(text, false) })
}

/// Nothing, or the reason why a command is asked about.
type Asked = Result<(), &'static str>;

/// A function of a script.
#[derive(Debug)]
struct Function {
    body: String,
    documents: Documents,
    called: bool,
}

/// One reading of a text, script by script.
struct Reader {
    parser: Option<Parser>,
    depth: usize,
    /// Nodes within nodes that are being read.
    nesting: usize,
    /// Steps that may still be made.
    left: usize,
    names: Names,
    functions: BTreeMap<String, Function>,
    aliases: BTreeMap<String, String>,
    /// Calls of functions that are being read.
    calls: Vec<(String, Vec<String>)>,
    /// Files that the text has written, with their text if it is known.
    files: BTreeMap<String, Option<String>>,
    /// Characters besides blanks that split values.
    separators: String,
    /// What is read has something in it that another command gives.
    fed: bool,
    /// The standard input of all that follows is what another command prints.
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

    /// Reads one text. `sure` is one that is a command, and no other text that may stand in its place.
    fn text(&mut self, text: &str, sure: bool) -> Asked {
        *self = Self { left: self.left, parser: self.parser.take(), ..Self::new() };
        self.nested(text, &Around::default(), sure)?;
        self.uncalled()
    }

    /// So many steps more; a text that takes too many is not read to its end.
    fn step(&mut self, steps: usize) -> Asked {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or_default();
        left.map(drop).ok_or(UNREADABLE)
    }

    /// Reads a script in a script.
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

    /// Reads a script whose here-documents were taken out.
    fn parsed(&mut self, text: &str, documents: &Documents, around: &Around, sure: bool) -> Asked {
        self.deeper(|reader| {
            let tree = reader.parse(text)?;
            let source = Source { text, documents };
            reader.statement(source, tree.root_node(), around)?;
            if !tree.root_node().has_error() {
                return Ok(());
            }
            // The grammar has lost its way.
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
        // One that ends in a pipe takes the parser a time that grows with the square of these.
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

/// Whether tree-sitter-bash 0.25.1 may read outside its memory: its scanner gives the character behind `{` to C's
/// `isdigit`, whose table ends at 255 (tree-sitter/tree-sitter-bash#337).
fn crashes_the_grammar(text: &str) -> bool {
    let is_of_a_range = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut behind = text.split('{').skip(1).map(|rest| rest.trim_start_matches(is_of_a_range));
    behind.any(|rest| rest.starts_with(|letter: char| !letter.is_ascii()))
}

#[cfg(test)]
mod tests;
