//! Parses one section of the file key by key, so that every mistake is found at once.
//!
//! A derived deserialiser stops at the first mistake. Here each key is requested by name and type; a wrong value
//! becomes a [`Problem`] with its line, the default stands in, and reading continues. A key that was never requested
//! is mistyped, and the most similar requested key is suggested.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::folders::Folder;
use super::problems::Problem;
use super::{secrets, units};
use crate::redact::addresses;

/// Minimum similarity (0 to 1) of a mistyped word to a known one, for a suggestion.
const ALIKE: f64 = 0.66;

/// The surroundings of a configuration file: a folder for relative paths, and the environment's variables.
pub(super) struct Surroundings<'a> {
    /// Path of the folder that contains the file.
    pub(super) folder: &'a Path,
    /// Function that returns the value of an environment variable.
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// The state of reading one configuration file: its text, and what was found so far.
pub(super) struct Reading<'a> {
    text: &'a str,
    pub(super) around: &'a Surroundings<'a>,
    pub(super) problems: RefCell<Vec<Problem>>,
    pub(super) warnings: RefCell<Vec<Problem>>,
    /// The folders that the file names for agents, to be checked later.
    pub(super) folders: RefCell<Vec<Folder>>,
    pub(super) secrets: RefCell<Vec<SecretString>>,
    /// Names of the environment variables that herder's own secrets come from: no agent may inherit them.
    pub(super) secret_variables: RefCell<BTreeSet<String>>,
    /// Every key that the code asked for, as `section.key`, whether or not the file has it.
    pub(super) asked: RefCell<BTreeSet<String>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(text: &'a str, around: &'a Surroundings<'a>) -> Self {
        Self {
            text,
            around,
            problems: RefCell::default(),
            warnings: RefCell::default(),
            folders: RefCell::default(),
            secrets: RefCell::default(),
            secret_variables: RefCell::default(),
            asked: RefCell::default(),
        }
    }

    /// Returns the line of the file that contains this byte offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// A value from the file with the line where it stands.
#[derive(Debug, Clone)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

/// A value that is a text, or a table that names the file with the text.
pub(super) enum TextOrFile<'a> {
    Text(String),
    File(Section<'a>),
}

/// One table of the configuration file.
pub(super) struct Section<'a> {
    pub(super) reading: &'a Reading<'a>,
    /// Name of the table in messages: `[irc.libera]`.
    place: String,
    /// Name of the table for the test of the example file: `irc`.
    path: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn top(reading: &'a Reading<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self::new(reading, String::new(), String::new(), table.get_ref(), 0..0)
    }

    fn new(
        reading: &'a Reading<'a>,
        place: String,
        path: String,
        table: &'a DeTable<'a>,
        span: Range<usize>,
    ) -> Self {
        Self { reading, place, path, table, span, asked: RefCell::default() }
    }

    /// Returns the value of a key, if the file has it; the key counts as known from then on.
    fn value(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.borrow_mut().push(key);
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.reading.asked.borrow_mut().insert(path);
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Returns true if the table has this key, with any value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.iter().any(|(name, _)| name.get_ref() == key)
    }

    /// Returns the line in which the table begins.
    pub(super) fn line(&self) -> usize {
        self.reading.line(self.span.start)
    }

    fn line_of(&self, key: &str) -> Option<usize> {
        let own = if self.place.is_empty() { None } else { Some(self.line()) };
        let found = self.table.iter().find(|(name, _)| name.get_ref() == key);
        found.map_or(own, |(name, _)| Some(self.reading.line(name.span().start)))
    }

    fn note(&self, line: Option<usize>, key: &str, text: String) -> Problem {
        Problem { line, place: self.place.clone(), key: key.to_owned(), text }
    }

    /// Records a mistake in the value of a key.
    pub(super) fn problem(&self, key: &str, text: impl Into<String>) {
        let problem = self.note(self.line_of(key), key, text.into());
        self.reading.problems.borrow_mut().push(problem);
    }

    /// Records a mistake in one of a key's values, at this line.
    pub(super) fn problem_at(&self, line: usize, key: &str, text: impl Into<String>) {
        let problem = self.note(Some(line), key, text.into());
        self.reading.problems.borrow_mut().push(problem);
    }

    /// Records a warning about a key, which does not prevent a start.
    pub(super) fn warn(&self, key: &str, text: impl Into<String>) {
        let warning = self.note(self.line_of(key), key, text.into());
        self.reading.warnings.borrow_mut().push(warning);
    }

    /// Records a key that names a folder of an agent, to be checked later.
    pub(super) fn folder(&self, key: &str, path: PathBuf) {
        let at = self.note(self.line_of(key), key, String::new());
        self.reading.folders.borrow_mut().push(Folder { path, at });
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.problem_at(
            self.reading.line(value.span().start),
            key,
            format!("this is {found}; write {wanted}"),
        );
    }

    /// Returns the value of a key that is a text, e.g. `"libera"`; a mistake is recorded.
    pub(super) fn text(&self, key: &'static str) -> Option<At<String>> {
        let value = self.value(key)?;
        let line = self.reading.line(value.span().start);
        if let Some(text) = value.get_ref().as_str() {
            return Some(At { value: text.to_owned(), line });
        }
        self.wrong_type(key, value, "a text in quotes");
        None
    }

    /// Returns the value of a key that is a text; an empty one counts as missing.
    pub(super) fn filled(&self, key: &'static str) -> Option<At<String>> {
        self.text(key).filter(|text| !text.value.is_empty())
    }

    /// Returns the value of a key that is `true` or `false`.
    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong_type(key, value, "true or false, without quotes");
        }
        flag
    }

    /// Returns the value of a key that is a whole number within bounds.
    pub(super) fn number(&self, key: &'static str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        let (low, high) = (bounds.start(), bounds.end());
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong_type(key, value, &format!("a whole number from {low} to {high}, without quotes"));
            return None;
        };
        let number = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.and_then(|n| u64::try_from(n).ok()).filter(|n| bounds.contains(n));
        if number.is_none() {
            let text = format!("{} is out of bounds; use a number from {low} to {high}", integer.as_str());
            self.problem(key, text);
        }
        number
    }

    /// Returns the value of a key that is an amount of money, 0 or more.
    pub(super) fn amount(&self, key: &'static str) -> Option<f64> {
        let value = self.value(key)?;
        let text = match value.get_ref() {
            DeValue::Integer(integer) => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                self.wrong_type(key, value, "an amount, e.g. 2.50, without quotes");
                return None;
            }
        };
        let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
        if amount.is_none() {
            self.problem(key, format!("{text} is not an amount; use 0 for no limit, or e.g. 2.50"));
        }
        amount
    }

    /// Returns the value of a key that is a duration of at least `shortest`.
    pub(super) fn duration(&self, key: &'static str, shortest: Duration) -> Option<Duration> {
        let text = self.text(key)?;
        self.read_duration(key, &text, shortest)
    }

    /// Returns the value of a key that is a list, not empty, of durations of at least `shortest`.
    pub(super) fn durations(&self, key: &'static str, shortest: Duration) -> Option<Vec<Duration>> {
        let texts = self.texts(key)?;
        if texts.is_empty() {
            self.problem(key, "the list is empty; give at least one duration, e.g. [\"10s\"]");
            return None;
        }
        texts.iter().map(|text| self.read_duration(key, text, shortest)).collect()
    }

    fn read_duration(&self, key: &str, text: &At<String>, shortest: Duration) -> Option<Duration> {
        let read = units::duration(&text.value).and_then(|duration| {
            let wrong =
                || format!("\"{}\" is too short; use at least {}", text.value, units::written(shortest));
            if duration < shortest { Err(wrong()) } else { Ok(duration) }
        });
        read.map_err(|why| self.problem_at(text.line, key, why)).ok()
    }

    /// Returns the value of a key that is a size, in bytes.
    pub(super) fn size(&self, key: &'static str) -> Option<u64> {
        let text = self.text(key)?;
        units::size(&text.value).map_err(|why| self.problem_at(text.line, key, why)).ok()
    }

    /// Returns the value of a key that is a list of texts, each with its line.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<At<String>>> {
        let value = self.value(key)?;
        let Some(list) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of texts, e.g. [\"one\", \"two\"]");
            return None;
        };
        let mut texts = Vec::new();
        for item in list.iter() {
            match item.get_ref().as_str() {
                Some(text) => {
                    let line = self.reading.line(item.span().start);
                    texts.push(At { value: text.to_owned(), line });
                }
                None => self.wrong_type(key, item, "a text in quotes"),
            }
        }
        Some(texts)
    }

    /// Returns the value of a key that is a table of texts, or of files with one text each, e.g. `{ RUST_LOG = "warn",
    /// API_KEY = { file = "key" } }`.
    pub(super) fn texts_by_name(&self, key: &'static str) -> Option<BTreeMap<String, At<TextOrFile<'a>>>> {
        let value = self.value(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table of texts, e.g. { RUST_LOG = \"warn\" }");
            return None;
        };
        let mut texts = BTreeMap::new();
        for (name, item) in table {
            let found = name.get_ref().to_string();
            let value = match item.get_ref() {
                DeValue::String(text) => TextOrFile::Text(text.to_string()),
                DeValue::Table(table) => {
                    let place = format!("{} {key} {found}", self.place);
                    let path = format!("{}.{key}", self.path);
                    TextOrFile::File(Self::new(self.reading, place, path, table, item.span()))
                }
                DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => {
                    self.wrong_type(key, item, "a text in quotes, or { file = \"path\" }");
                    continue;
                }
            };
            texts.insert(found, At { value, line: self.reading.line(name.span().start) });
        }
        Some(texts)
    }

    /// Returns what the word in a key's value stands for, out of a few choices.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = choices.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let text =
                format!("\"{}\" is not one of {}{}", text.value, listed(&words), meant(&text.value, &words));
            self.problem(key, text);
        }
        found.map(|(_, value)| *value)
    }

    /// Returns the secret that a key's value names in the environment or in a file.
    pub(super) fn secret(&self, key: &'static str) -> Option<SecretString> {
        self.value(key)?;
        let source = self.subsection(key)?;
        let secret = secrets::read(&source);
        source.finish();
        if let Some(secret) = &secret {
            let mut secrets = self.reading.secrets.borrow_mut();
            secrets.push(secret.clone());
            secrets.extend(addresses::in_text(secret.expose_secret()));
        }
        secret
    }

    /// Returns the value of a key that is an address, which may be a secret itself: a text, or the source of a secret.
    /// An address with a path is redacted in all of herder's output.
    pub(super) fn address(&self, key: &'static str) -> Option<SecretString> {
        /// Minimum length of an address's path that may be a password and is redacted, in bytes.
        const PATH_MIN: usize = 8;
        if self.value(key)?.get_ref().as_str().is_none() {
            return self.secret(key);
        }
        let text = self.filled(key)?.value;
        let secret = SecretString::from(text.clone());
        let path = text.splitn(4, '/').nth(3).unwrap_or_default();
        if path.len() >= PATH_MIN {
            self.reading.secrets.borrow_mut().push(secret.clone());
        }
        Some(secret)
    }

    /// Returns the secret that a key's value names, like [`Section::secret`]; agents may inherit its variable.
    pub(super) fn shared_secret(&self, key: &'static str) -> Option<SecretString> {
        let withheld = self.reading.secret_variables.borrow().clone();
        let secret = self.secret(key);
        *self.reading.secret_variables.borrow_mut() = withheld;
        secret
    }

    /// Marks a key as known without reading it; returns `None`.
    pub(super) fn skip<T>(&self, key: &'static str) -> Option<T> {
        let _ = self.value(key);
        None
    }

    fn subsection(&self, key: &'static str) -> Option<Self> {
        let value = self.value(key)?;
        let line = self.reading.line(value.span().start);
        match value.get_ref() {
            DeValue::Table(table) => {
                let place = format!("{} {key}", self.place).trim().to_owned();
                let path = format!("{}.{key}", self.path);
                Some(Self::new(self.reading, place, path, table, value.span()))
            }
            DeValue::String(_) => {
                self.problem_at(line, key, secrets::LITERAL);
                None
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                self.wrong_type(key, value, secrets::FORM);
                None
            }
        }
    }

    /// Returns the table inside this one under a key: `key = { … }` or `[key]`.
    pub(super) fn table(&self, key: &'static str) -> Option<Self> {
        let value = self.value(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return None;
        };
        let (place, path) = if self.path.is_empty() {
            (format!("[{key}]"), key.to_owned())
        } else {
            (format!("{} {key}", self.place), format!("{}.{key}", self.path))
        };
        Some(Self::new(self.reading, place, path, table, value.span()))
    }

    /// Returns the tables with freely chosen names under a key: `[key.name]`, or `key = { name = { … } }`.
    pub(super) fn named(&self, key: &'static str) -> Vec<(String, Self)> {
        let Some(group) = self.table(key) else { return Vec::new() };
        let mut sections = Vec::new();
        for (name, item) in group.table {
            let found = name.get_ref().as_ref();
            match item.get_ref().as_table() {
                Some(table) => {
                    let place = format!("{} {found}", group.place);
                    let span = item.span();
                    sections.push((
                        found.to_owned(),
                        Self::new(self.reading, place, group.path.clone(), table, span),
                    ));
                }
                None => group.wrong_type(found, item, "a table, e.g. { … }"),
            }
        }
        sections
    }

    /// Returns the tables of a list under a key: `[[key]]`, or `key = [ { … } ]` inside a section.
    pub(super) fn tables(&self, key: &'static str) -> Vec<Self> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let wanted = if self.path.is_empty() {
            format!("a section that starts with [[{key}]], in double brackets")
        } else {
            "a list of tables, e.g. [ { … } ]".to_owned()
        };
        let Some(list) = value.get_ref().as_array() else {
            self.wrong_type(key, value, &wanted);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, item) in list.iter().enumerate() {
            let Some(table) = item.get_ref().as_table() else {
                self.wrong_type(key, item, &wanted);
                continue;
            };
            let (place, path) = if self.path.is_empty() {
                let name = table.iter().find(|(name, _)| name.get_ref() == "name");
                let name = name.and_then(|(_, value)| value.get_ref().as_str());
                (name.map_or(format!("[[{key}]]"), |name| format!("[{key}.{name}]")), key.to_owned())
            } else {
                (format!("{} {key}[{index}]", self.place), format!("{}.{key}", self.path))
            };
            sections.push(Self::new(self.reading, place, path, table, item.span()));
        }
        sections
    }

    /// Records a mistake if the file uses a part that this version does not have; `rest` returns true if the part is
    /// switched off.
    pub(super) fn unsupported(&self, key: &'static str, what: &str, rest: impl Fn(&DeTable<'_>) -> bool) {
        self.asked.borrow_mut().push(key);
        let Some((name, value)) = self.table.iter().find(|(name, _)| name.get_ref() == key) else { return };
        let at_rest = match value.get_ref() {
            DeValue::Table(table) => rest(table),
            DeValue::Array(list) => list.is_empty(),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => false,
        };
        if !at_rest {
            let problem = Problem {
                line: Some(self.reading.line(name.span().start)),
                place: if self.path.is_empty() { format!("[{key}]") } else { self.place.clone() },
                key: if self.path.is_empty() { String::new() } else { key.to_owned() },
                text: format!("{what} not supported by this version; take this out"),
            };
            self.reading.problems.borrow_mut().push(problem);
        }
    }

    /// Returns a path from the file; a relative one starts at the file's own folder.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.reading.around.folder.join(text)
    }

    /// Records a mistake for every key of the table that the code never asked for.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for (name, _) in self.table {
            let found = name.get_ref().as_ref();
            if !asked.contains(&found) {
                let hint = meant(found, &asked);
                let hint = if hint.is_empty() { format!("; known here: {}", sorted(&asked)) } else { hint };
                let line = self.reading.line(name.span().start);
                self.problem_at(line, found, format!("there is no such key{hint}"));
            }
        }
    }
}

/// Returns `; did you mean "…"?` for the most similar word, or nothing.
pub(super) fn meant(found: &str, known: &[&str]) -> String {
    let found = found.to_lowercase();
    let alike = |word: &&str| {
        let swapped = strsim::normalized_damerau_levenshtein(&found, word);
        strsim::jaro_winkler(&found, word).max(swapped)
    };
    let best = known.iter().copied().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    best.filter(|word| alike(word) >= ALIKE)
        .map_or(String::new(), |word| format!("; did you mean \"{word}\"?"))
}

/// Formats a list: `a, b or c`.
pub(super) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn sorted(words: &[&'static str]) -> String {
    let words: BTreeSet<&str> = words.iter().copied().collect();
    words.into_iter().collect::<Vec<_>>().join(", ")
}
