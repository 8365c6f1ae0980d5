//! The server's properties from numeric 005, with defaults for servers that send none.

/// The rule by which a server folds the case of nicks and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CaseMapping {
    /// Folds `A`-`Z`.
    Ascii,
    /// Folds `A`-`Z` and `[]\~` to `{}|^`.
    #[default]
    Rfc1459,
    /// Folds `A`-`Z` and `[]\` to `{}|`.
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

    /// Returns true if the server considers both names equal.
    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| self.fold(a) == self.fold(b))
    }
}

/// The properties of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ISupport {
    /// True if a 005 came. Servers without it take a list of channels for the name of one.
    pub(crate) known: bool,
    /// The rule by which names are compared.
    pub(crate) case: CaseMapping,
    /// Maximum length of a nick.
    pub(crate) nick_max: usize,
    /// Maximum length of a topic, in bytes.
    pub(crate) topic_max: usize,
    /// True if `WHO` takes fields (WHOX), so that it can return an account.
    pub(crate) whox: bool,
    /// The user mode that marks a bot.
    pub(crate) bot_mode: Option<char>,
    /// Maximum number of history lines per request; `None` if the server sets no limit or does not say.
    pub(crate) past_max: Option<usize>,
    /// The kinds of position that a history request may name.
    pub(crate) past_by: References,
}

/// The content of `MSGREFTYPES`; a server that does not send it supports both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct References {
    /// A time.
    pub(crate) time: bool,
    /// A message id.
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
    /// Reads the parameters of one 005: our nick, tokens, and a sentence.
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
