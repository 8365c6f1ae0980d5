//! Discord's error answers.

use serde_json::{Value, json};

/// An error answer, and whether it is the bot's own doing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: u64,
    pub(crate) message: String,
    /// The faults in the body and their places; for `50035`.
    pub(crate) problems: Vec<Problem>,
    /// True if the request is wrong under all circumstances. A target that a person has deleted meanwhile is a
    /// circumstance.
    pub(crate) is_violation: bool,
}

/// Something wrong with a body: the JSON pointer to it and what Discord says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: String,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn new(at: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at: at.into(), text: text.into() }
    }
}

impl Refusal {
    /// Returns a refusal that is the bot's fault.
    pub(crate) fn new(status: u16, code: u64, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), problems: Vec::new(), is_violation: true }
    }

    /// Returns a refusal because a target is no longer there.
    pub(crate) fn circumstance(status: u16, code: u64, message: &str) -> Self {
        Self { is_violation: false, ..Self::new(status, code, message) }
    }

    pub(crate) fn invalid(problems: Vec<Problem>) -> Self {
        Self { problems, ..Self::new(400, 50035, "Invalid Form Body") }
    }

    pub(crate) fn missing_access() -> Self {
        Self::new(403, 50001, "Missing Access")
    }

    pub(crate) fn missing_permissions() -> Self {
        Self::new(403, 50013, "Missing Permissions")
    }

    /// Refuses an unknown id. If it `was` there, it has been deleted, which is no violation; else the bot made it up.
    pub(crate) fn unknown(code: u64, what: &str, was: bool) -> Self {
        Self { is_violation: !was, ..Self::new(404, code, &format!("Unknown {what}")) }
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = json!({ "message": self.message, "code": self.code });
        if !self.problems.is_empty() {
            let mut errors = json!({});
            for problem in &self.problems {
                let mut place = &mut errors;
                for part in problem.at.split('/').filter(|part| !part.is_empty()) {
                    place = &mut place[part];
                }
                let error = json!({ "code": "INVALID", "message": problem.text });
                match place["_errors"].as_array_mut() {
                    Some(list) => list.push(error),
                    None => place["_errors"] = json!([error]),
                }
            }
            body["errors"] = errors;
        }
        body
    }

    /// Returns the refusal in one line, for the list of violations.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} {} {}", self.status, self.code, self.message);
        for problem in &self.problems {
            line.push_str(&format!("; {}: {}", problem.at, problem.text));
        }
        line
    }
}
