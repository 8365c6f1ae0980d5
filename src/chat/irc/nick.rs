//! The choice of a nick at registration, and regaining the configured one later.

use std::time::Duration;

use tokio::time::Instant;

/// Maximum number of nicks that are tried at registration before the link is given up.
const TRIES: u32 = 12;
/// Length of a nick that every server accepts, in characters.
const SHORT: usize = 9;
/// Interval at which herder requests its configured nick while it has another one.
const REGAIN_EVERY: Duration = Duration::from_secs(120);

/// The nick that herder requests at registration, and the alternatives if it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NickChoice {
    base: String,
    current: String,
    tries: u32,
    suffixes: u32,
    prefixed: bool,
    short: bool,
}

impl NickChoice {
    /// Starts with the configured nick `wanted`.
    pub(crate) fn new(wanted: &str) -> Self {
        Self {
            base: wanted.to_owned(),
            current: wanted.to_owned(),
            tries: 0,
            suffixes: 0,
            prefixed: false,
            short: false,
        }
    }

    /// Returns the nick that is to be requested now.
    pub(crate) fn current(&self) -> &str {
        &self.current
    }

    /// Returns the next nick to try after one that is in use: `herder_`, `herder__`, then `herder2` and so on. `None`
    /// after `TRIES`.
    pub(crate) fn taken(mut self) -> Option<Self> {
        self.tries += 1;
        if self.tries > TRIES {
            return None;
        }
        self.suffixes += 1;
        let suffix = match self.suffixes {
            1 => "_".to_owned(),
            2 => "__".to_owned(),
            n => (n - 1).to_string(),
        };
        let room = if self.short { SHORT.saturating_sub(suffix.len()) } else { usize::MAX };
        self.current = format!("{}{suffix}", clip(&self.base, room));
        Some(self)
    }

    /// Returns the next nick to try after one that the server rejects with `text`: some servers want their own name
    /// before it, some allow nine characters only.
    pub(crate) fn refused(mut self, server: &str, text: &str) -> Option<Self> {
        self.tries += 1;
        if self.tries > TRIES {
            return None;
        }
        let about_length = text.to_ascii_lowercase().contains("long");
        if !self.short && about_length && self.base.len() > SHORT {
            self.short = true;
            self.base = clip(&self.base, SHORT).to_owned();
        } else if !self.prefixed && !server.is_empty() {
            self.prefixed = true;
            self.base = format!("{server}-{}", self.base);
        } else if !self.short {
            self.short = true;
            let legal: String = self.base.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            let letters = legal.trim_start_matches(|c: char| c.is_ascii_digit());
            self.base = clip(if letters.is_empty() { "herder" } else { letters }, SHORT).to_owned();
        } else {
            return None;
        }
        self.suffixes = 0;
        self.current.clone_from(&self.base);
        Some(self)
    }
}

fn clip(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// herder's nick on a link, and the attempts to get the configured one back.
#[derive(Debug)]
pub(crate) struct OwnNick {
    wanted: String,
    current: String,
    ask_at: Instant,
}

impl OwnNick {
    /// Creates the state after the registration, with the nick that the server gave.
    pub(crate) fn new(wanted: &str, current: String, now: Instant) -> Self {
        Self { wanted: wanted.to_owned(), current, ask_at: now + REGAIN_EVERY }
    }

    /// Returns herder's present nick.
    pub(crate) fn current(&self) -> &str {
        &self.current
    }

    /// Returns the configured nick, which herder wants.
    pub(crate) fn wanted(&self) -> &str {
        &self.wanted
    }

    /// Returns true if herder's present nick is not the configured one. A server's own `<server>-nick` counts as the
    /// configured one, and so does the name cut to nine characters.
    pub(crate) fn is_foreign(&self) -> bool {
        let (current, wanted) = (self.current.to_ascii_lowercase(), self.wanted.to_ascii_lowercase());
        let clipped = current.len() == SHORT && wanted.starts_with(&current);
        !(clipped || current == wanted || current.ends_with(&format!("-{wanted}")))
    }

    /// Records that herder was renamed, by itself or by services.
    pub(crate) fn renamed(&mut self, to: &str, now: Instant) {
        to.clone_into(&mut self.current);
        self.ask_at = now + REGAIN_EVERY;
    }

    /// Records that the holder of the configured nick has left, so that it is requested at once.
    pub(crate) fn freed(&mut self, now: Instant) {
        self.ask_at = now;
    }

    /// Returns the time at which the configured nick is requested next; `None` while herder has it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.is_foreign().then_some(self.ask_at)
    }

    /// Returns the configured nick if it is to be requested now.
    pub(crate) fn due(&mut self, now: Instant) -> Option<&str> {
        if !self.is_foreign() || self.ask_at > now {
            return None;
        }
        self.ask_at = now + REGAIN_EVERY;
        Some(&self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_nick_leads_to_others_and_to_an_end() {
        let mut choice = Some(NickChoice::new("herder"));
        let mut seen = Vec::new();
        while let Some(next) = choice {
            seen.push(next.current().to_owned());
            choice = next.taken();
        }
        assert_eq!(seen[..4], ["herder", "herder_", "herder__", "herder2"]);
        let unique: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len());
    }

    #[test]
    fn a_server_that_wants_its_name_before_a_nick_gets_it() {
        let choice = NickChoice::new("herder").refused("desk", "Erroneous nickname").expect("one more");
        assert_eq!(choice.current(), "desk-herder");
        assert_eq!(choice.taken().expect("one more").current(), "desk-herder_");
    }

    #[test]
    fn nine_characters_are_enough_for_servers_that_have_no_more() {
        let choice =
            NickChoice::new("herder-of-agents").refused("irc.test", "Nickname too long, max. 9 characters");
        let choice = choice.expect("one more");
        assert_eq!(choice.current(), "herder-of");
        assert_eq!(choice.taken().expect("one more").current(), "herder-o_");
    }

    #[test]
    fn our_own_nick_is_asked_for_every_two_minutes_and_at_once_when_it_is_free() {
        let begin = Instant::now();
        let mut nick = OwnNick::new("herder", "herder_".to_owned(), begin);
        assert_eq!(nick.due(begin + Duration::from_secs(119)), None);
        assert_eq!(nick.due(begin + REGAIN_EVERY), Some("herder"));
        assert_eq!(nick.due(begin + REGAIN_EVERY), None);
        nick.freed(begin + REGAIN_EVERY);
        assert_eq!(nick.due(begin + REGAIN_EVERY), Some("herder"));
    }

    #[test]
    fn what_a_server_makes_of_our_nick_is_still_ours() {
        for (current, foreign) in [("Herder", false), ("desk-herder", false), ("herder_", true), ("x", true)]
        {
            let nick = OwnNick::new("herder", current.to_owned(), Instant::now());
            assert_eq!((nick.is_foreign(), nick.deadline().is_some()), (foreign, foreign), "{current}");
        }
        let clipped = OwnNick::new("herder-of-agents", "herder-of".to_owned(), Instant::now());
        assert!(!clipped.is_foreign());
    }
}
