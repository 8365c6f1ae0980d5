//! `reload`: reads the configuration again and reports the changes.

use super::desk::{Desk, Done, Failure};
use super::{Command, Effect, Scope, Strictness, Verb};
use crate::core::notice::Refusal;
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Reload,
    name: "reload",
    aliases: &[],
    args: &[],
    role: Role::Admin,
    scope: Scope::WholeFleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-reload",
};

pub(super) async fn run(desk: &Desk<'_>) -> Done {
    let Some(reloader) = &desk.inner.reloader else { return Err(Refusal::NoConfiguration.into()) };
    match reloader.reload_for(&desk.asked).await {
        Ok(notice) => Ok(desk.accepted(&notice)),
        // A terminal has room for all of them, one per line.
        Err(Refusal::NotReloaded { problems, count }) if desk.long && count > 1 => {
            let mut lines = vec![desk.voice().text("cmd-not-reloaded", &[("count", count.into())])];
            lines.extend(problems);
            Err(Failure::Lines(lines))
        }
        Err(refusal) => Err(refusal.into()),
    }
}
