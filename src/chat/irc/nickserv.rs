//! Interpretation of NickServ's answers to a login. There is no protocol for them, only the sentences of the services.
//!
//! Known are those of Anope, Atheme, Ergo, IRC Services and DALnet. Any other sentence, or another language, is ignored.

/// The meaning of a sentence by NickServ (the service for registered nicks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// NickServ has accepted the login.
    Accepted,
    /// NickServ has refused the login: wrong password, or an account that may not be used.
    Refused,
    /// NickServ says that the nick is not registered.
    Unregistered,
}

const ACCEPTED: [&str; 7] = [
    "password accepted",
    "now identified",
    "now recognized",
    "now recognised",
    "now logged in",
    "already identified",
    "already logged in",
];

const UNREGISTERED: [&str; 5] =
    ["isn't registered", "is not registered", "not a registered", "does not exist", "not yet verified"];

const REFUSED: [&str; 6] =
    ["authentication failed", "login failed", "access denied", "invalid credentials", "suspended", "frozen"];

/// Interprets a sentence by NickServ, without colours and formatting; `None` if it is none of the known ones.
pub(crate) fn said(text: &str) -> Option<Said> {
    let text = text.to_lowercase().replace('’', "'");
    let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
    if has(&ACCEPTED) {
        return Some(Said::Accepted);
    }
    // Instructions for registering and logging in contain the word `password` as well.
    let wrong = has(&["password", "credentials"])
        && has(&["incorrect", "invalid", "wrong", "not correct", "mismatch"]);
    let code = text.split(|c: char| !c.is_alphanumeric()).next() == Some("err");
    if wrong || code {
        return Some(Said::Refused);
    }
    if has(&REFUSED) {
        return Some(Said::Refused);
    }
    has(&UNREGISTERED).then_some(Said::Unregistered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_are_understood_and_their_small_talk_is_not_taken_for_an_answer() {
        for (text, meant) in [
            ("Password accepted - you are now recognized.", Some(Said::Accepted)),
            ("You are now identified for herder.", Some(Said::Accepted)),
            ("You're now logged in as herder", Some(Said::Accepted)),
            ("You are already identified.", Some(Said::Accepted)),
            ("Password incorrect.", Some(Said::Refused)),
            ("Invalid password for herder.", Some(Said::Refused)),
            ("The password supplied for herder is incorrect.", Some(Said::Refused)),
            ("Authentication failed: Invalid account credentials", Some(Said::Refused)),
            ("ERR password", Some(Said::Refused)),
            ("You cannot log in as herder because the account has been frozen.", Some(Said::Refused)),
            ("Nick herder is currently suspended.", Some(Said::Refused)),
            ("Your nick isn't registered.", Some(Said::Unregistered)),
            ("Your nick isn’t registered.", Some(Said::Unregistered)),
            ("herder is not a registered nickname.", Some(Said::Unregistered)),
            ("Authentication failed: Account does not exist", Some(Said::Refused)),
            (
                "This nickname is registered and protected. If it is your nick, type /msg NickServ IDENTIFY password.",
                None,
            ),
            ("If you do not change within 1 minute, I will change your nick.", None),
            ("error handling is our business", None),
            ("", None),
        ] {
            assert_eq!(said(text), meant, "{text}");
        }
    }
}
