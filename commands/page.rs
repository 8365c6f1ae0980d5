//! `page`: gives the author a link that logs in to the web page with their role; `page revoke` ends their sessions.

use serde_json::json;

use super::desk::{Answer, Desk, Done, Failure};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::logins::CODE_GOOD_FOR;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Page,
    name: "page",
    aliases: &[],
    args: &[Arg::Flag("revoke")],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-page",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let failed = |id| Failure::Lines(vec![desk.voice().text(id, &[])]);
    let Some(logins) = &desk.inner.page else { return Err(failed("cmd-page-none")) };
    if call.now {
        let count = logins.revoke(desk.author).await;
        let line = desk.voice().text("cmd-page-revoked", &[("count", count.into())]);
        return Ok(Answer::lines(vec![line]).with(json!({ "ended": count })));
    }
    if !desk.private {
        return Err(failed("cmd-page-private"));
    }
    let url = logins.offer(desk.author, CODE_GOOD_FOR).ok_or_else(|| failed("cmd-page-busy"))?;
    let good = ("good", CODE_GOOD_FOR.into());
    let line = desk.voice().text("cmd-page-link", &[("url", url.clone().into()), good]);
    // The code is known to this herder alone.
    Ok(Answer::lines(vec![line]).with(json!({ "url": url })).fleeting())
}
