//! The server's properties from numeric 005, with defaults for servers that send none.

/// The rule by which a server compares nicks and channel names without case (`CASEMAPPING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CaseMapping {
    /// `ascii`: the letters `A`-`Z` are folded to `a`-`z`.
    Ascii,
    /// `rfc1459`: `A`-`Z` are folded to `a`-`z`, and `[]\~` to `{}|^`.
    #[default]
    Rfc1459,
    /// `rfc1459-strict`: `A`-`Z` are folded to `a`-`z`, and `[]\` to `{}|`.
    Rfc1459Strict,
}

impl CaseMapping {
    fn fold(self, byte: u8) -> u8 {
        match (self, byte) {
            (Self::Rfc1459 | Self::Rfc1459Strict, b'[' | b']' | b'\\') => byte + 0x20,
            (Self::Rfc1459, b'~') => b'^',
            (Self::Ascii | Self::Rfc1459 | Self::Rfc1459Strict, _) => byte.to_ascii_lowercase(),
        }
    }

    /// Returns true if the server takes both names for the same.
    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| self.fold(a) == self.fold(b))
    }
}

/// The properties of an IRC server, as it states them in reply 005 (ISUPPORT).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ISupport {
    /// True if the server has sent reply 005. Servers without it take a list of channels for the name of one.
    pub(crate) known: bool,
    /// The rule by which names are compared without case.
    pub(crate) case: CaseMapping,
    /// Maximum length of a nick on the server.
    pub(crate) nick_max: usize,
    /// Maximum length of a channel's topic on the server, in bytes.
    pub(crate) topic_max: usize,
    /// True if the server supports WHOX, by which a WHO request can return accounts.
    pub(crate) whox: bool,
    /// The user mode that marks a bot; `None` if the server has none.
    pub(crate) bot_mode: Option<char>,
    /// Maximum number of history lines per request; `None` if the server sets no limit or does not say.
    pub(crate) past_max: Option<usize>,
    /// The kinds of position that a history request may name.
    pub(crate) past_by: References,
}

/// The kinds of position in a channel's history, from `MSGREFTYPES`; both if the server does not send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct References {
    /// True if a position can be a time.
    pub(crate) time: bool,
    /// True if a position can be a message id.
    pub(crate) id: bool,
}

impl Default for ISupport {
    fn default() -> Self {
        Self {
            known: false,
            case: CaseMapping::default(),
            nick_max: 30,
            // With the command, a channel name of 50 bytes and the relayed prefix, this fits into one line everywhere.
            topic_max: 300,
            whox: false,
            bot_mode: None,
            past_max: None,
            past_by: References { time: true, id: true },
        }
    }
}

impl ISupport {
    /// Reads the parameters of one reply 005: herder's nick, tokens such as `NETWORK=…`, and a sentence.
    pub(crate) fn take(&mut self, params: &[String]) {
        self.known = true;
        for token in params.iter().skip(1) {
            let (key, value) = token.split_once('=').unwrap_or((token, ""));
            match key {
                "CASEMAPPING" => {
                    self.case = match value.to_ascii_lowercase().as_str() {
                        "ascii" => CaseMapping::Ascii,
                        "rfc1459-strict" | "strict-rfc1459" => CaseMapping::Rfc1459Strict,
                        _ => CaseMapping::Rfc1459,
                    };
                }
                "NICKLEN" | "MAXNICKLEN" => self.nick_max = value.parse().unwrap_or(self.nick_max).max(1),
                "TOPICLEN" => self.topic_max = value.parse().unwrap_or(self.topic_max).min(300),
                "WHOX" => self.whox = true,
                "CHATHISTORY" | "draft/CHATHISTORY" => {
                    self.past_max = value.parse().ok().filter(|most| *most > 0);
                }
                "MSGREFTYPES" => {
                    let knows = |kind: &str| value.split(',').any(|known| known == kind);
                    self.past_by = References { time: knows("timestamp"), id: knows("msgid") };
                }
                "BOT" => self.bot_mode = value.chars().next().filter(char::is_ascii_alphabetic),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_the_server_does() {
        for (case, a, b, same) in [
            (CaseMapping::Ascii, "Spark", "sPARK", true),
            (CaseMapping::Ascii, "a[b]", "a{b}", false),
            (CaseMapping::Rfc1459, "a[b]\\~", "A{B}|^", true),
            (CaseMapping::Rfc1459Strict, "a[b]", "a{b}", true),
            (CaseMapping::Rfc1459Strict, "~", "^", false),
            (CaseMapping::Rfc1459, "a", "ab", false),
        ] {
            assert_eq!(case.same(a, b), same, "{case:?} {a} {b}");
        }
    }

    #[test]
    fn odd_tokens_change_nothing() {
        let mut server = ISupport::default();
        let params = ["me", "NICKLEN=x", "TOPICLEN=", "BOT", "CASEMAPPING=utf8", "=", "are supported"];
        server.take(&params.map(str::to_owned));
        assert_eq!(server, ISupport { known: true, ..ISupport::default() });
    }
}
