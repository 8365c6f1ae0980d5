//! `[access]`: the people who may give commands.

use super::discord::is_id;
use super::section::{At, Section, meant};
use super::{AccessRules, IrcNetwork, Subject};
use crate::core::id::NetworkName;
use crate::core::link::EMBEDDED_NETWORK;

/// Text for error messages: the forms in which people are named in `[access]`.
const FORMS: &str = "write irc:<network>:<account>, irc-mask:<network>:<nick!user@host>, discord:<user id> or discord-role:<role id>";

/// The prefixes of names in `[access]`.
const KINDS: [&str; 4] = ["irc", "irc-mask", "discord", "discord-role"];

/// Parses `[access]`, and checks the networks in it against those of the file.
pub(super) fn rules(section: Section<'_>, discord: bool, irc: &[IrcNetwork]) -> AccessRules {
    let read = |key: &'static str| -> Vec<Subject> {
        let texts = section.texts(key).unwrap_or_default();
        texts.iter().filter_map(|text| subject(&section, key, text, (discord, irc))).collect()
    };
    let rules =
        AccessRules { admins: read("admins"), operators: read("operators"), viewers: read("viewers") };
    section.finish();
    rules
}

fn subject(
    section: &Section<'_>,
    key: &'static str,
    text: &At<String>,
    (discord, irc): (bool, &[IrcNetwork]),
) -> Option<Subject> {
    let refuse = |why: String| {
        section.problem_at(text.line, key, why);
        None
    };
    let value = text.value.as_str();
    if value == "*" {
        if key == "viewers" {
            return Some(Subject::Everyone);
        }
        return refuse(format!("\"*\" is everybody, and only viewers may be that; {FORMS}"));
    }
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    match kind {
        "irc" | "irc-mask" => {}
        "discord" | "discord-role" => {
            if !is_id(rest) {
                return refuse(format!(
                    "\"{rest}\" is not an id; switch on Developer Mode in Discord, right-click the person or role, Copy ID"
                ));
            }
            if !discord {
                section.warn(
                    key,
                    format!("\"{value}\" is nobody here: there is no [discord] section that is enabled"),
                );
            }
            return Some(if kind == "discord" {
                Subject::DiscordUser(rest.to_owned())
            } else {
                Subject::DiscordRole(rest.to_owned())
            });
        }
        _ => {
            let hint = meant(kind, &KINDS);
            return refuse(format!("\"{value}\" names nobody{hint}; a nick proves nothing, so {FORMS}"));
        }
    }
    let Some((network, who)) =
        rest.split_once(':').filter(|(network, who)| !network.is_empty() && !who.is_empty())
    else {
        return refuse(format!("\"{value}\" is not complete; {FORMS}"));
    };
    if let Some(why) = no_network(network, irc) {
        return refuse(why);
    }
    if who.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return refuse(format!("\"{value}\" has a space in it; {FORMS}"));
    }
    let network = NetworkName::from(network);
    if kind == "irc" {
        if who.contains(['*', '?', '!', '@']) {
            return refuse(format!(
                "\"{who}\" is not a services account; for a hostmask write irc-mask:{network}:{who}"
            ));
        }
        return Some(Subject::IrcAccount { network, account: who.to_owned() });
    }
    match check_mask(who) {
        Ok(()) => {
            section.warn(
                key,
                format!(
                    "\"{who}\" is whoever comes from that host; a services account, irc:{network}:NAME, proves who it is"
                ),
            );
            Some(Subject::IrcMask { network, mask: who.to_owned() })
        }
        Err(why) => refuse(why),
    }
}

/// Returns the reason why nobody can be named of an IRC network: it is not configured. `None` if it is.
pub(super) fn no_network(network: &str, irc: &[IrcNetwork]) -> Option<String> {
    let known: Vec<&str> = match irc {
        [] => vec![EMBEDDED_NETWORK],
        irc => irc.iter().map(|network| network.name.as_str()).collect(),
    };
    if known.contains(&network) {
        return None;
    }
    let hint = meant(network, &known);
    let hint = if hint.is_empty() { format!("; configured: {}", known.join(", ")) } else { hint };
    Some(format!("there is no network \"{network}\"{hint}"))
}

/// Checks that an IRC mask names a host, since nick and user name are chosen by the client.
fn check_mask(mask: &str) -> Result<(), String> {
    let parts = mask
        .split_once('!')
        .and_then(|(nick, rest)| rest.split_once('@').map(|(user, host)| (nick, user, host)));
    let Some((nick, user, host)) = parts else {
        return Err(format!(
            "\"{mask}\" is not a hostmask; write nick!user@host, e.g. *!bob@bob.example.org"
        ));
    };
    if nick.is_empty() || user.is_empty() || host.is_empty() {
        return Err(format!(
            "\"{mask}\" is not complete; write nick!user@host, with * for what may be anything"
        ));
    }
    if host.chars().all(|c| matches!(c, '*' | '?' | '.' | ':')) {
        return Err(format!(
            "\"{mask}\" fits everybody who takes that nick; name the host, e.g. *!bob@bob.example.org"
        ));
    }
    Ok(())
}
