//! The duration of bans, as far as the server states it.
//!
//! Often a server does not say whether a ban expires, and operators lift bans, so that no ban makes herder give a network up.

use std::time::Duration;

/// Maximum duration of a ban that herder believes; a longer one is cut to it.
const BELIEVED_MAX: Duration = Duration::from_secs(24 * 3600);

/// Parses the duration of a ban from the server's words, e.g. `Temporary K-line 25 min.`, `banned for 2 hours`; `None`
/// if they state none.
pub(crate) fn stated(words: &str) -> Option<Duration> {
    let lower = words.to_ascii_lowercase();
    if !["temporar", " for ", "expire"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    let mut words =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = word.split_at(digits);
        let Ok(number) = number.parse::<u32>() else { continue };
        let unit = if unit.is_empty() { words.peek().copied().unwrap_or_default() } else { unit };
        if let Some(seconds) = seconds(unit) {
            return Some((Duration::from_secs(seconds) * number).min(BELIEVED_MAX));
        }
    }
    None
}

fn seconds(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600),
        "d" | "day" | "days" => Some(24 * 3600),
        "w" | "week" | "weeks" => Some(7 * 24 * 3600),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_ban_is_what_the_server_says_or_unknown() {
        for (words, seconds) in [
            (
                "You are banned from this server- Temporary K-line 25 min. - noise (2026/11/23 10.00)",
                Some(1500),
            ),
            ("You are banned for 90 seconds", Some(90)),
            ("temporarily banned: 2h left", Some(7200)),
            ("Temporary ban, expires in 3 weeks", Some(24 * 3600)),
            ("You are banned from this server", None),
            ("Closing Link: h (K-Lined: 5 minutes of patience was all I had)", None),
            ("banned for life", None),
            ("banned for 99999999999999999999 days", None),
        ] {
            assert_eq!(stated(words), seconds.map(Duration::from_secs), "{words}");
        }
    }
}
