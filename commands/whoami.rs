//! `whoami`: shows how herder identifies the author, and the entry for `[access]`.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::{Command, Effect, Scope, Strictness, Verb};
use crate::access::Access;
use crate::core::role::Role;
use crate::core::speech::Origin;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Whoami,
    name: "whoami",
    aliases: &[],
    args: &[],
    role: Role::Anybody,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-whoami",
};

pub(super) fn run(desk: &Desk<'_>) -> Done {
    let (voice, author) = (desk.voice(), desk.author);
    if author.origin != Origin::Network {
        let line = voice.text("cmd-whoami-local", &[]);
        return Ok(Answer::lines(vec![line]).with(json!({ "role": desk.role })));
    }
    // Anybody may ask, so that `desk.role` may be less than the author's role.
    let role = desk.inner.access.role(author);
    let who = [("nick", author.nick.as_str().into()), ("network", author.network.as_str().into())];
    let known = match role {
        Some(role) => {
            let [nick, network] = who;
            voice.text("cmd-whoami", &[nick, network, ("role", role.as_str().into())])
        }
        None => voice.text("cmd-whoami-no-role", &who),
    };
    let subject = Access::name_of(author);
    let named = match &subject {
        Some(subject) => voice.text("cmd-whoami-name", &[("subject", subject.as_str().into())]),
        None => voice.text("cmd-whoami-no-name", &[]),
    };
    Ok(Answer::lines(vec![known, named]).with(json!({ "role": role, "subject": subject })))
}
