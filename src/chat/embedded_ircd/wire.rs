//! Bytes to requests: bounded framing and the splitting of a line into tags, command and parameters.
//!
//! Outgoing lines are `irc::proto` messages. Incoming ones are split here, because the typed commands of that crate
//! drop data that a server needs (the fields of WHOX) and refuse lines that a server must answer (unknown modes).

use irc::proto::Message;

/// Maximum length of a line from a client, in bytes: 8191 of tags and 512 of the rest (IRCv3 message tags).
const LINE_MAX: usize = 8191 + 512;

/// Maximum number of parameters of a command (RFC 2812); further words belong to the last one.
const PARAMS_MAX: usize = 15;

/// A piece of input from a client, as split into lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Incoming {
    /// A line without its end, decoded lossily, without NUL and CR.
    Line(String),
    /// A line longer than [`LINE_MAX`], which was discarded.
    TooLong,
}

/// Splits the bytes from a client into lines; buffers at most one line.
#[derive(Debug, Default)]
pub(super) struct Framer {
    buffer: Vec<u8>,
    discarding: bool,
}

impl Framer {
    /// Takes received bytes and appends the lines that are complete to `found`.
    pub(super) fn push(&mut self, bytes: &[u8], found: &mut Vec<Incoming>) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let ended = pieces.peek().is_some();
            if !self.discarding {
                if self.buffer.len() + piece.len() > LINE_MAX {
                    self.buffer.clear();
                    self.discarding = true;
                    found.push(Incoming::TooLong);
                } else {
                    self.buffer.extend_from_slice(piece);
                }
            }
            if ended {
                self.end_line(found);
            }
        }
    }

    fn end_line(&mut self, found: &mut Vec<Incoming>) {
        if std::mem::take(&mut self.discarding) {
            return;
        }
        let line: String =
            String::from_utf8_lossy(&self.buffer).chars().filter(|c| !matches!(c, '\0' | '\r')).collect();
        self.buffer.clear();
        if !line.is_empty() {
            found.push(Incoming::Line(line));
        }
    }
}

/// One parsed line of a client: a command with its parameters and tags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Value of the tag `label`, which the answer repeats; `None` without one.
    pub(super) label: Option<String>,
    /// Client-only tags (`+…`) as key and raw value, passed on unchanged.
    pub(super) client_tags: Vec<(&'a str, Option<&'a str>)>,
    /// The command as the client wrote it.
    pub(super) verb: &'a str,
    /// Parameters of the command.
    pub(super) params: Vec<&'a str>,
}

impl<'a> Request<'a> {
    /// Parses a line of a client; `None` if it has no command. A prefix is ignored: a client speaks only for itself.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let mut rest = line.trim_start_matches(' ');
        let mut label = None;
        let mut client_tags = Vec::new();
        if let Some(tagged) = rest.strip_prefix('@') {
            let (tags, after) = tagged.split_once(' ')?;
            rest = after.trim_start_matches(' ');
            for tag in tags.split(';') {
                let (key, value) = tag.split_once('=').map_or((tag, None), |(k, v)| (k, Some(v)));
                if key.len() > 1 && key.starts_with('+') {
                    client_tags.push((key, value));
                } else if key == "label" {
                    label = value.map(unescape).filter(|text| !text.is_empty() && text.len() <= 64);
                }
            }
        }
        if rest.starts_with(':') {
            rest = rest.split_once(' ')?.1.trim_start_matches(' ');
        }
        let (verb, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if verb.is_empty() {
            return None;
        }
        let mut params = Vec::new();
        loop {
            rest = rest.trim_start_matches(' ');
            if rest.is_empty() {
                break;
            }
            if let Some(last) = rest.strip_prefix(':') {
                params.push(last);
                break;
            }
            if params.len() + 1 == PARAMS_MAX {
                params.push(rest);
                break;
            }
            let (param, after) = rest.split_once(' ').unwrap_or((rest, ""));
            params.push(param);
            rest = after;
        }
        Some(Self { label, client_tags, verb, params })
    }

    /// Returns the parameter at this index if it is present and not empty.
    pub(super) fn param(&self, index: usize) -> Option<&'a str> {
        self.params.get(index).copied().filter(|param| !param.is_empty())
    }
}

/// Unescapes the value of a tag (IRCv3 message tags).
pub(super) fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (c, false) => text.push(c),
            (_, true) => match chars.next() {
                Some(':') => text.push(';'),
                Some('s') => text.push(' '),
                Some('r' | 'n') | None => {}
                Some(other) => text.push(other),
            },
        }
    }
    text
}

/// Folds a nick or channel name for comparison, as `CASEMAPPING=ascii` announces.
pub(super) fn fold(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Cuts `text` to at most `room` bytes, at a character boundary.
pub(super) fn cut(text: &str, room: usize) -> &str {
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Formats a message as the line that is sent. Its texts contain no line end, because each comes from one line or from
/// herder; the filter guarantees that for future callers.
pub(super) fn to_line(message: &Message) -> String {
    let text = message.to_string();
    let mut line: String = text.chars().filter(|c| !matches!(c, '\0' | '\r' | '\n')).collect();
    line.push_str("\r\n");
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(chunks: &[&[u8]]) -> Vec<Incoming> {
        let mut framer = Framer::default();
        let mut found = Vec::new();
        for chunk in chunks {
            framer.push(chunk, &mut found);
        }
        found
    }

    #[test]
    fn lines_are_cut_wherever_the_reads_end() {
        let line = |text: &str| Incoming::Line(text.to_owned());
        assert_eq!(frames(&[b"NI", b"CK a\r", b"\nUSER\n\r\n\n"]), [line("NICK a"), line("USER")]);
        assert_eq!(frames(&[b"caf\xe9 \0x\ry\n"]), [line("caf\u{fffd} xy")]);
        assert_eq!(frames(&[b"unfinished"]), []);
    }

    #[test]
    fn a_line_without_end_is_thrown_away_and_the_next_one_is_read() {
        let long = vec![b'x'; 64 * 1024];
        assert_eq!(
            frames(&[&long, b"y\nPING 1\n"]),
            [Incoming::TooLong, Incoming::Line("PING 1".to_owned())]
        );
    }

    #[test]
    fn requests_are_split_into_tags_verb_and_parameters() {
        let request =
            Request::parse("@label=a\\s1;+draft/x=1;account=root :me PRIVMSG  #c :hello  you").unwrap();
        assert_eq!(request.label.as_deref(), Some("a 1"));
        assert_eq!(request.client_tags, [("+draft/x", Some("1"))]);
        assert_eq!((request.verb, request.params), ("PRIVMSG", vec!["#c", "hello  you"]));
        for nothing in ["", "   ", ":prefix", "@tags", ":prefix  ", "@a=b :p "] {
            assert_eq!(Request::parse(nothing), None, "{nothing:?}");
        }
        let many = format!("X {}", "p ".repeat(40));
        assert_eq!(Request::parse(&many).unwrap().params.len(), PARAMS_MAX);
    }

    proptest! {
        #[test]
        fn framing_does_not_depend_on_where_reads_end(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..400) {
            let at = at.min(bytes.len());
            prop_assert_eq!(frames(&[&bytes]), frames(&[&bytes[..at], &bytes[at..]]));
        }

        #[test]
        fn a_request_never_holds_a_line_end(line in any::<String>()) {
            let mut found = Vec::new();
            Framer::default().push(format!("{line}\n").as_bytes(), &mut found);
            for incoming in found {
                if let Incoming::Line(line) = incoming {
                    prop_assert!(!line.contains(['\r', '\n', '\0']));
                    let _ = Request::parse(&line);
                }
            }
        }
    }
}
