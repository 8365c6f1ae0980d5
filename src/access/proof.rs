//! Proof of identity: what a network confirms about a person, and the name of the person in the records.

use super::mask::mask_matches;
use crate::access::Subject;
use crate::core::link::DISCORD_NETWORK;
use crate::core::speech::Author;

/// Checks whether `author` is the `subject` of an access rule: `None` if not, else the identity that proves it, as
/// recorded (`account:alice`). The inner `None` means that the network confirms no identity, which suffices for `*`.
pub(super) fn proof(subject: &Subject, author: &Author) -> Option<Option<String>> {
    match subject {
        Subject::Everyone => Some(vouched(author)),
        Subject::DiscordUser(id) => {
            let shown = author.account.as_deref().filter(|_| on_discord(author))?;
            (shown == id).then(|| Some(format!("discord:{shown}")))
        }
        Subject::DiscordRole(id) => {
            let has = on_discord(author) && author.roles.contains(id);
            has.then(|| author.account.as_ref().map(|user| format!("discord:{user}")))
        }
        Subject::IrcAccount { network, account } => {
            let shown = author.account.as_deref()?;
            (*network == author.network && is_account(shown) && shown.eq_ignore_ascii_case(account))
                .then(|| Some(format!("account:{shown}")))
        }
        Subject::IrcMask { network, mask } => {
            let shown = author.mask.as_deref()?;
            (*network == author.network && mask_matches(mask, shown)).then(|| Some(format!("mask:{shown}")))
        }
    }
}

/// Returns true if the author speaks on Discord. Ids are valid only there: an account of that name elsewhere is
/// another person.
pub(super) fn on_discord(author: &Author) -> bool {
    author.network.as_str() == DISCORD_NETWORK
}

/// Returns the strongest identity of `author` that the network confirms, for the records: `discord:<id>`,
/// `account:<name>` or `mask:<hostmask>`. It gives no role.
pub(super) fn vouched(author: &Author) -> Option<String> {
    if on_discord(author) {
        return author.account.as_ref().map(|user| format!("discord:{user}"));
    }
    let account = author.account.as_deref().filter(|account| is_account(account));
    account.map_or_else(
        || author.mask.as_ref().map(|mask| format!("mask:{mask}")),
        |account| Some(format!("account:{account}")),
    )
}

/// Returns the author's account with its network (`libera:alice`, `discord:123`), to list the linked identities of one
/// person. `None` without an account.
pub(super) fn known_as(author: &Author) -> Option<String> {
    let account = author.account.as_deref()?;
    Some(if on_discord(author) {
        format!("discord:{account}")
    } else {
        format!("{}:{account}", author.network)
    })
}

/// Returns true if a text can be a services account. Servers write `*` and `0` for "not logged in".
pub(super) fn is_account(text: &str) -> bool {
    !matches!(text, "" | "*" | "0") && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}
