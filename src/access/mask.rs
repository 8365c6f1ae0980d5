//! Masks of people on IRC, `nick!user@host` with `*` and `?`.

/// Returns the problem with a mask in `irc-mask:<network>:<mask>`: it must have the form `nick!user@host` and name a
/// part of the host, because nick and user are chosen by the client.
pub(super) fn mask_problem(mask: &str) -> Option<&'static str> {
    let Some(parts) = Mask::of(mask) else {
        return Some("a mask has the form nick!user@host, e.g. *!bob@bob.example.org");
    };
    if !parts.host.contains(|c: char| c.is_ascii_alphanumeric()) {
        return Some("the host is left open, so that anybody who takes the nick would match: name the host");
    }
    None
}

/// The three parts of `nick!user@host`, kept apart so that a `*` in one of them cannot match into the next.
struct Mask<'a> {
    nick: &'a str,
    user: &'a str,
    host: &'a str,
}

impl<'a> Mask<'a> {
    fn of(text: &'a str) -> Option<Self> {
        // A nick has no `!`, a host no `@`; odd characters can only be in the user.
        let (nick, rest) = text.split_once('!')?;
        let (user, host) = rest.rsplit_once('@')?;
        let whole = !nick.is_empty() && !user.is_empty() && !host.is_empty();
        (whole && !text.contains(|c: char| c.is_whitespace() || c.is_control())).then_some(Self {
            nick,
            user,
            host,
        })
    }
}

/// Returns true if `shown`, a full `nick!user@host` from the network, matches `mask` with its `*` and `?`.
pub(super) fn mask_matches(mask: &str, shown: &str) -> bool {
    let (Some(mask), Some(shown)) = (Mask::of(mask), Mask::of(shown)) else { return false };
    glob(mask.nick, shown.nick) && glob(mask.user, shown.user) && glob(mask.host, shown.host)
}

/// Matches a glob with `*` and `?`, ignoring ASCII case. It is greedy with a single backtracking point, so that even
/// a hostile pattern takes at most pattern times text steps.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || c.eq_ignore_ascii_case(&text[t]) => {
                p += 1;
                t += 1;
            }
            Some(_) | None => match back {
                // The last `*` takes one character more. Earlier ones never have to be tried again.
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_masks_take_no_time() {
        let pattern = format!("*!*@{}b.org", "*a".repeat(200));
        let shown = format!("n!u@{}", "a".repeat(4000));
        assert!(!mask_matches(&pattern, &shown));
    }

    /// Reference implementation of `glob` for a test: matches by trying every split.
    fn slow_glob(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|n| slow_glob(rest, &text[n..])),
            Some((c, rest)) => text
                .split_first()
                .is_some_and(|(t, tail)| (*c == '?' || c.eq_ignore_ascii_case(t)) && slow_glob(rest, tail)),
        }
    }

    proptest! {
        #[test]
        fn glob_is_what_the_obvious_way_says(pattern in "[aAb*?]{0,8}", text in "[aAb]{0,8}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(glob(&pattern, &text), slow_glob(&p, &t));
        }
    }
}
