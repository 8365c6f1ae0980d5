//! `handoff`: pauses an agent and names the line that takes its conversation up in a terminal.

use std::path::{Path, PathBuf};

use super::desk::{Desk, Done};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::checkout;
use crate::core::handoff::{FOLDERS, Places, of};
use crate::core::id::AgentName;
use crate::core::input::Control;
use crate::core::role::Role;
use crate::runtime::isolation;
use crate::supervisor::View;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Handoff,
    name: "handoff",
    aliases: &[],
    args: &[Arg::Agent, Arg::Flag("now")],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-handoff",
};

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let places = Box::new(places(desk.inner.journal.data_dir(), desk.agent(call)?));
    desk.control(call, Control::HandOff { now: call.now, places }).await
}

/// Returns the folders that the line for an agent depends on.
pub(super) fn places(data_dir: &Path, agent: &AgentName) -> Places {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let state = absolute(data_dir.join(isolation::FOLDER).join(agent.as_str()));
    let tasks = absolute(data_dir.join(checkout::FOLDER));
    let inherited = FOLDERS.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    Places { state, tasks, inherited: inherited.collect() }
}

/// Returns the line that takes up an agent's conversation; `None` if there is none.
pub(super) fn line(data_dir: &Path, view: &View) -> Option<String> {
    of(&view.agent, &view.name, &places(data_dir, &view.name)).ok().map(|(_, line)| line)
}
