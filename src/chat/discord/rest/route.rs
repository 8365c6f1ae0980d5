//! The identity of a request: its path, the limits it shares, and whether it may be repeated.

use reqwest::Method;

/// The method and path of one request to Discord's API, with its properties for limits and retries.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) method: Method,
    /// The path as Discord documents it, without ids and interaction tokens, for logs and rate limits.
    pub(super) template: &'static str,
    /// The path of the request below `/api/v10`.
    pub(super) path: String,
    /// Id of the channel, guild or interaction, which has rate limits of its own.
    pub(super) major: String,
    /// True if the bot's token is sent. Requests about interactions are authorised by the interaction's token.
    pub(super) authorised: bool,
    /// True if repeating the request has no further effect.
    pub(super) repeatable: bool,
}

impl Route {
    fn new(method: Method, template: &'static str, path: String, major: impl ToString) -> Self {
        let repeatable = method != Method::POST;
        Self { method, template, path, major: major.to_string(), authorised: true, repeatable }
    }

    /// Builds a GET request, which only reads.
    pub(super) fn get(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::GET, template, path, major)
    }

    /// Builds a POST request, which creates something each time.
    pub(super) fn post(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::POST, template, path, major)
    }

    /// Builds a PATCH request, which edits something.
    pub(super) fn patch(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::PATCH, template, path, major)
    }

    /// Builds a PUT request, which sets something.
    pub(super) fn put(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::PUT, template, path, major)
    }

    /// Builds a DELETE request.
    pub(super) fn delete(template: &'static str, path: String, major: impl ToString) -> Self {
        Self::new(Method::DELETE, template, path, major)
    }

    /// Sets whether the request may be repeated although it creates something: because of a nonce, or because Discord
    /// accepts it once only.
    pub(super) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Marks the request as authorised by the interaction's token in its path.
    pub(super) fn by_interaction(mut self) -> Self {
        self.authorised = false;
        self
    }

    /// Returns the request's name in logs: its method and documented path.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    /// Returns the method and documented path, by which rate limits are kept until Discord has sent a name for them.
    pub(super) fn kind(&self) -> (Method, &'static str) {
        (self.method.clone(), self.template)
    }
}

/// Escapes a part of a path that is not a number: everything but letters, digits and `-_.~`.
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
