//! `link`: proves that a Discord user and a services account are one person, by a code that is given on Discord and
//! typed on the account's network.
//!
//! A code is valid once, for ten minutes, and is used up when it is typed, whatever the result: in a channel others
//! have read it by then. It is only ever given in private. The person who types it must be logged in to services; a
//! guess has a few tries among a million million.

use std::time::Duration;

use serde_json::json;

use super::desk::{self, Answer, Desk, Done, Failure};
use super::grammar::Call;
use super::words::bounded;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::link::DISCORD_NETWORK;
use crate::core::role::Role;
use crate::core::speech::{Author, Origin};
use crate::core::tie::Tie;
use crate::core::time::Timestamp;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Link,
    name: "link",
    aliases: &[],
    args: &[Arg::Code],
    role: Role::Anybody,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-link",
};

/// Time for which a code of `link` is valid.
const GOOD_FOR: Duration = Duration::from_secs(600);

/// Length of a code of `link`, in letters and digits.
const CODE_LENGTH: usize = 8;

/// Maximum number of codes that wait to be typed: far more than people who link at the same time.
const PENDING_MAX: usize = 256;

/// The word that removes a link, in place of a code.
const REMOVE: &str = "remove";

/// The Discord user who got a code, with the time until which the code is valid.
#[derive(Debug)]
pub(super) struct Pending {
    user: String,
    name: String,
    until: Timestamp,
}

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    match call.word.as_deref() {
        Some(REMOVE) => remove(desk).await,
        Some(code) => redeem(desk, code).await,
        None => offer(desk).await,
    }
}

/// The author of a `link` command: a Discord user, the owner of a services account, or somebody with neither.
enum Who<'a> {
    User(&'a str),
    Owner(&'a str),
    Nobody,
}

fn who(author: &Author) -> Who<'_> {
    match (author.origin, author.account.as_deref()) {
        (Origin::LocalSocket | Origin::Token(_), _) | (_, None | Some("" | "*" | "0")) => Who::Nobody,
        (Origin::Network, Some(user)) if author.network.as_str() == DISCORD_NETWORK => Who::User(user),
        (Origin::Network, Some(account)) => Who::Owner(account),
    }
}

fn failed(desk: &Desk<'_>, id: &str) -> Failure {
    Failure::Lines(vec![desk.voice().text(id, &[])])
}

async fn offer(desk: &Desk<'_>) -> Done {
    let Who::User(user) = who(desk.author) else { return Err(failed(desk, "cmd-link-how")) };
    if !desk.private {
        return Err(failed(desk, "cmd-link-private"));
    }
    desk.fleet.record(&desk.asked).await?;
    let code = desk::code::<CODE_LENGTH>().ok_or_else(|| failed(desk, "cmd-link-no-code"))?;
    let pending = Pending {
        user: user.to_owned(),
        name: bounded(&desk.author.nick, 32),
        until: desk.now.after(GOOD_FOR),
    };
    if !keep(desk, code.clone(), pending) {
        return Err(failed(desk, "cmd-too-often"));
    }
    let line = desk.voice().text("cmd-link-code", &[("code", code.clone().into())]);
    // The code is known to this herder alone.
    Ok(Answer::lines(vec![line]).with(json!({ "code": code })).fleeting())
}

/// Stores a code until it is typed, in place of an earlier code of the same user. Returns false if there are too many
/// codes.
fn keep(desk: &Desk<'_>, code: String, pending: Pending) -> bool {
    let mut memory = desk.inner.memory();
    memory.links.retain(|_, known| known.until > desk.now && known.user != pending.user);
    let room = memory.links.len() < PENDING_MAX;
    if room {
        memory.links.insert(code, pending);
    }
    room
}

/// Takes back the stored code that was typed; `None` if it is unknown or expired. Each attempt counts towards a rate.
fn taken(desk: &Desk<'_>, code: &str) -> Result<Option<Pending>, Failure> {
    let mut memory = desk.inner.memory();
    if !memory.link_tries.allows(&desk.who, desk.now) {
        return Err(failed(desk, "cmd-too-often"));
    }
    Ok(memory.links.remove(code).filter(|pending| pending.until > desk.now))
}

async fn redeem(desk: &Desk<'_>, code: &str) -> Done {
    let pending = taken(desk, code)?;
    let account = match who(desk.author) {
        Who::Owner(account) => account,
        Who::User(_) => return Err(failed(desk, "cmd-link-elsewhere")),
        Who::Nobody => return Err(failed(desk, "cmd-link-no-account")),
    };
    let Some(Pending { user, name, .. }) = pending else { return Err(failed(desk, "cmd-link-wrong")) };
    let tie = Tie { user, network: desk.author.network.clone(), account: account.to_owned() };
    let data = json!(tie);
    let notice = desk.fleet.link(tie, name, desk.asked.clone()).await?;
    Ok(desk.accepted(&notice).with(data))
}

async fn remove(desk: &Desk<'_>) -> Done {
    let ties = desk.fleet.ties().all();
    let theirs: Vec<Tie> = match who(desk.author) {
        Who::User(user) => ties.into_iter().filter(|tie| tie.user == user).collect(),
        Who::Owner(account) => {
            ties.into_iter().filter(|tie| tie.is_of(&desk.author.network, account)).collect()
        }
        Who::Nobody => Vec::new(),
    };
    if theirs.is_empty() {
        return Err(failed(desk, "cmd-link-none"));
    }
    let data = json!(theirs);
    let notice = desk.fleet.unlink(theirs, desk.asked.clone()).await?;
    Ok(desk.accepted(&notice).with(data))
}
