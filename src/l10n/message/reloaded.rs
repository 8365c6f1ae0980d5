//! Messages about a reload of the configuration.

use std::fmt::Display;

use super::{Message, NAME_MAX, WORK_MAX, one_line, say};
use crate::core::notice::Notice;
use crate::l10n::Locale;

/// Maximum number of configuration mistakes in one sentence; the log has all of them.
const MISTAKES_MAX: usize = 3;

/// Selects the Fluent message about a configuration that was not reloaded because of its mistakes.
pub(super) fn not_reloaded<'a>(problems: &[String], count: u32) -> Message<'a> {
    let first: Vec<String> =
        problems.iter().take(MISTAKES_MAX).map(|problem| one_line(problem, WORK_MAX * 2)).collect();
    let more = count.saturating_sub(u32::try_from(first.len()).unwrap_or(u32::MAX));
    let problems = ("problems", first.join(" · ").into());
    say("notice-not-reloaded", [("count", count.into()), problems, ("more", more.into())])
}

/// Selects the Fluent message about a reloaded configuration, which lists the changes part by part.
pub(super) fn reloaded<'a>(locale: &Locale, notice: &Notice) -> Message<'a> {
    /// Maximum number of names listed per part of the configuration.
    const NAMES_MAX: usize = 20;
    let Notice::Reloaded { added, changed, restarted, removed, replaced, stayed, failed, sections, later } =
        notice
    else {
        return say("notice-reloaded-nothing", []);
    };
    let list = |id, names: &[&dyn Display]| {
        if names.is_empty() {
            return None;
        }
        let told = names.iter().take(NAMES_MAX);
        let mut told: Vec<String> = told.map(|name| one_line(&name.to_string(), NAME_MAX)).collect();
        if names.len() > NAMES_MAX {
            let more = names.len() - NAMES_MAX;
            told.push(locale.text("reload-more", &[("count", more.into())]));
        }
        Some(locale.text(id, &[("names", told.join(", ").into())]))
    };
    let parts = [
        list("reload-added", &shown(added)),
        list("reload-changed", &shown(changed)),
        list("reload-restarted", &shown(restarted)),
        list("reload-removed", &shown(removed)),
        list("reload-sections", &shown(sections)),
        list("reload-replaced", &shown(replaced)),
        list("reload-stayed", &shown(stayed)),
        list("reload-failed", &shown(failed)),
        list("reload-later", &shown(later)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return say("notice-reloaded-nothing", []);
    }
    say("notice-reloaded", [("what", parts.join("; ").into())])
}

fn shown<T: Display>(names: &[T]) -> Vec<&dyn Display> {
    names.iter().map(|name| name as &dyn Display).collect()
}
