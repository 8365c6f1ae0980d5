//! The variables of a script, each with all values that any branch gives it.

use std::collections::BTreeMap;

use super::words::{ARGUMENT, BOUNDARY, HOLE, PLACE};

/// Maximum number of values of a variable; one with more counts as only known at run time.
const VALUES_MAX: usize = 12;

/// Maximum length of a value, in bytes.
const VALUE_MAX: usize = 16 * 1024;

/// Variables that hold the name of a program unless the text sets them, with that name.
const KNOWN: [(&str, &str); 4] = [("SHELL", "sh"), ("BASH", "bash"), ("PYTHON", "python"), ("0", "bash")];

/// Variable name under which the arguments of a function or script are stored.
pub(super) const ARGUMENTS: &str = "@";

/// The value of a variable: the elements of an array, or one element for a plain variable.
pub(super) type Value = Vec<String>;

/// The variables of one script, each with all its possible values.
#[derive(Debug, Default)]
pub(super) struct Names {
    values: BTreeMap<String, Vec<Value>>,
    /// Index of each variable's current value.
    choice: BTreeMap<String, usize>,
}

impl Names {
    pub(super) fn new() -> Self {
        let known = KNOWN.map(|(name, program)| (name.to_owned(), vec![vec![program.to_owned()]]));
        Self { values: known.into(), ..Self::default() }
    }

    /// Adds a possible value of a variable; with too many of them it counts as only known at run time.
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        let values = self.values.entry(name.to_owned()).or_default();
        let long = value.iter().map(String::len).sum::<usize>() > VALUE_MAX || value.len() > VALUE_MAX / 16;
        if long || values.len() >= VALUES_MAX {
            *values = vec![vec![HOLE.to_string()]; VALUES_MAX];
        } else {
            values.retain(|known| *known != value);
            values.push(value);
        }
    }

    /// Appends to each value of a variable. The newest value is kept as well, since a branch may not be taken.
    pub(super) fn append(&mut self, name: &str, added: &Value, elements: bool) {
        let values = self.values.get(name).cloned().unwrap_or_default();
        if values.len() >= VALUES_MAX {
            return;
        }
        let newest = values.last().cloned();
        self.values.insert(name.to_owned(), newest.into_iter().collect());
        let values = if values.is_empty() { vec![Value::new()] } else { values };
        for mut value in values {
            match value.first_mut() {
                Some(first) if !elements => first.push_str(&added.concat()),
                Some(_) | None => value.extend(added.iter().cloned()),
            }
            self.assign(name, value);
        }
    }

    /// Replaces the values of a variable and returns the old ones, to be restored later.
    pub(super) fn replace(&mut self, name: &str, values: Option<Vec<Value>>) -> Option<Vec<Value>> {
        match values {
            Some(values) => self.values.insert(name.to_owned(), values),
            None => self.values.remove(name),
        }
    }

    pub(super) fn values(&self, name: &str) -> &[Value] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of values of a variable that are tried separately; 1 if there are too many.
    pub(super) fn count(&self, name: &str) -> usize {
        let values = self.values(name);
        if values.len() >= VALUES_MAX { 1 } else { values.len() }
    }

    /// Selects each variable's current value by index and returns the old selection. An index past the values selects
    /// the default in `${name:-default}`.
    pub(super) fn choose(&mut self, choice: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
        std::mem::replace(&mut self.choice, choice)
    }

    /// Returns true if the selection is the default in `${name:-default}`, and not a value of the variable.
    pub(super) fn is_spare(&self, name: &str) -> bool {
        let positional = name.bytes().all(|c| c.is_ascii_digit()) && name != "0";
        let key = if positional { ARGUMENTS } else { name };
        self.choice.get(key).is_some_and(|at| *at >= self.values(key).len())
    }

    /// Returns the current value of a variable; `None` if the text gives it none.
    fn value(&self, name: &str) -> Option<&Value> {
        let values = self.values(name);
        match self.choice.get(name) {
            Some(at) => values.get(*at).or(values.last()),
            None => values.last(),
        }
    }

    /// Returns the text that a variable expands to, with boundaries between its words; `None` if the text gives it no
    /// value.
    pub(super) fn text(&self, name: &str, index: Option<&str>, quoted: bool) -> Option<String> {
        let fixed = match name {
            "#" | "?" | "$" | "!" | "-" => Some('0'),
            "_" => Some(HOLE),
            "IFS" if self.values(name).is_empty() => Some(' '),
            _ => None,
        };
        if let Some(fixed) = fixed {
            return Some(fixed.to_string());
        }
        if let Some(element) = index.and_then(|index| self.value(&format!("{name}[{index}]"))) {
            return Some(element.concat());
        }
        let positional = name.parse::<usize>().ok().filter(|n| *n > 0);
        let all = matches!(name, "@" | "*") || matches!(index, Some("@" | "*"));
        let key = if positional.is_some() || name == "*" { ARGUMENTS } else { name };
        let value = self.value(key)?;
        if value.first().is_some_and(|first| first.contains(ARGUMENT)) {
            return Some(ARGUMENT.to_string());
        }
        if all {
            let spaced = quoted && (name == "*" || index == Some("*"));
            let boundary = if spaced { " ".to_owned() } else { BOUNDARY.to_string() };
            return Some(value.join(&boundary));
        }
        let at = match (positional, index) {
            (Some(n), _) => Some(n - 1),
            (None, None) => Some(0),
            (None, Some(index)) => index.parse().ok(),
        };
        match at {
            Some(at) => Some(value.get(at).cloned().unwrap_or_default()),
            None => Some(HOLE.to_string()),
        }
    }

    /// Returns the run-time mark that stands for a part or a modified form of a variable, such as `${name%.txt}`.
    pub(super) fn changed(&self, name: &str, index: Option<&str>) -> char {
        match self.text(name, index, false) {
            None => PLACE,
            Some(text) if text.starts_with(PLACE) => PLACE,
            Some(text) if text.starts_with(ARGUMENT) => ARGUMENT,
            Some(_) => HOLE,
        }
    }
}
