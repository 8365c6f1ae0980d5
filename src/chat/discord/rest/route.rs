//! Which request is meant, and what may be done with it: what limits it shares, whether it may be repeated.

use reqwest::Method;

/// Where one request goes.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) method: Method,
    /// The path as Discord documents it, for logs and limits: no id and no token of an interaction is in it.
    pub(super) template: &'static str,
    /// The path below `/api/v10`.
    pub(super) path: String,
    /// The channel, guild or interaction: its limits are its own.
    pub(super) major: String,
    /// Whether the bot's token goes with it. What an interaction allows is allowed by its own token.
    pub(super) authorised: bool,
    /// Whether doing it twice is the same as doing it once.
    pub(super) repeatable: bool,
}

impl Route {
    fn new(method: Method, template: &'static str, path: String, major: impl ToString) -> Self {
        let repeatable = method != Method::POST;
        Self { method, template, path, major: major.to_string(), authorised: true, repeatable }
    }

    /// A request that reads.
    pub(super) fn get(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::GET, template, path, major)
    }

    /// A request that makes something new each time.
    pub(super) fn post(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::POST, template, path, major)
    }

    /// A request that changes something.
    pub(super) fn patch(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::PATCH, template, path, major)
    }

    /// A request that makes something as it says.
    pub(super) fn put(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::PUT, template, path, major)
    }

    /// A request that takes something away.
    pub(super) fn delete(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::DELETE, template, path, major)
    }

    /// It may be repeated although it makes something: a nonce tells Discord that it is the same, or Discord takes it only
    /// once.
    pub(super) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// It is allowed by the token of an interaction, which is in its path.
    pub(super) fn by_interaction(mut self) -> Self {
        self.authorised = false;
        self
    }

    /// Its name in logs.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    /// The limits it shares with others, as long as Discord has not told a better name.
    pub(super) fn kind(&self) -> (Method, &'static str) {
        (self.method.clone(), self.template)
    }
}

/// A part of a path that is not a number: everything but letters, digits and `-_.~` is escaped.
pub(super) fn segment(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte))
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn nothing_in_a_segment_is_path() {
        let table = [
            ("aW50ZXJhY3Rpb24", "aW50ZXJhY3Rpb24"),
            ("👀", "%F0%9F%91%80"),
            ("../users/@me?x=1#y", "..%2Fusers%2F%40me%3Fx%3D1%23y"),
        ];
        for (text, escaped) in table {
            assert_eq!(segment(text), escaped);
        }
    }
}
