//! The tools of an agent that reviews another agent's task.

use super::{Arguments, Caller, Host, Told, act};
use crate::core::review::{Opinion, ReviewOf, WHY_MAX};
use crate::core::work::{TaskEnd, TaskReport};
use crate::runtime::git::diff::{Diff, File, Selection};
use crate::runtime::text::bounded;

/// Length of a page of the changes, in bytes: some hundred lines, which a model reads at once.
const PAGE_MAX: usize = 24 * 1024;

/// The answer to a call in a session that reviews nothing.
const NO_REVIEW: &str = "You were given no review.";

/// Returns the review that a caller was given; `None` if its work is another one.
pub(super) fn review(host: &Host, caller: Caller<'_>) -> Option<ReviewOf> {
    let view = host.fleet().view(caller.agent)?;
    let agent = &view.agent;
    let work = agent.current.as_ref().filter(|_| agent.session() == Some(caller.session))?;
    work.card().review.as_deref().cloned()
}

/// Notes the verdict of a reviewing agent.
pub(super) async fn verdict(
    host: &Host,
    caller: Caller<'_>,
    arguments: Arguments<'_>,
    accepts: bool,
) -> Told {
    if review(host, caller).is_none() {
        return Err(NO_REVIEW.to_owned());
    }
    let words = match accepts {
        true => arguments.text("summary")?.unwrap_or_default(),
        false => arguments.needed("reason")?,
    };
    if !accepts && words.trim().is_empty() {
        return Err("`reason` says nothing: name what is to be changed.".to_owned());
    }
    act(&host.0.reports, caller.agent)?;
    let words = bounded(&host.without_secrets(words), WHY_MAX).to_owned();
    let note = words.clone();
    let report =
        TaskReport { end: TaskEnd::Done, note, denied: None, opinion: Some(Opinion { accepts, words }) };
    host.reported(caller, report).await
}

/// Returns a page of the changes that are reviewed.
pub(super) async fn diff(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    let of = review(host, caller).ok_or_else(|| NO_REVIEW.to_owned())?;
    let (file, page) = (arguments.text("file")?, arguments.number("page")?.unwrap_or(1));
    let gone = || format!("The task of {} is not in review any more.", of.agent);
    let view = host.fleet().view(&of.agent).ok_or_else(gone)?;
    let checkout = view.agent.checkouts.all.get(&of.task).ok_or_else(gone)?;
    let wanted = file.map_or(Selection::Unfolded, |file| Selection::Named(file.to_owned()));
    let diff = Box::pin(host.fleet().diff_of_checkout(&of.agent, &checkout.plan, wanted)).await;
    let diff = diff.map_err(|why| format!("The changes cannot be read: {why}."))?;
    if diff.head != of.head {
        return Err(gone());
    }
    if let Some(file) = file
        && !diff.files.iter().any(|known| known.name() == file)
    {
        return Err(format!("No file of that name is changed: {}.", bounded(file, 200)));
    }
    let text = host.without_secrets(&text(&diff, file));
    let pages = pages(&text);
    let at = usize::try_from(page.max(1) - 1).unwrap_or(usize::MAX);
    match pages.get(at) {
        Some(shown) if pages.len() > 1 => Ok(format!("Page {} of {}.\n{shown}", at + 1, pages.len())),
        Some(shown) => Ok((*shown).to_owned()),
        None => Err(format!("There are {} pages.", pages.len())),
    }
}

/// Formats the changed files with their counts, and the changes in them.
fn text(diff: &Diff, file: Option<&str>) -> String {
    let mut lines = Vec::new();
    let shown = |known: &&File| file.is_none_or(|file| known.name() == file);
    for known in diff.files.iter().filter(shown) {
        let counts = known.lines.map(|(added, removed)| format!(" +{added} -{removed}")).unwrap_or_default();
        let fold = match (&known.patch, known.fold) {
            (None, Some(_)) => " (its changes are not shown here: name it as `file`)",
            (None, None) if known.lines.is_none() => " (no text)",
            (None, None) | (Some(_), _) => "",
        };
        let from = known.from().map(|from| format!(" (was {from})")).unwrap_or_default();
        lines.push(format!("{}{from}{counts}{fold}\n", known.name()));
    }
    if diff.left_out > 0 {
        lines.push(format!("{} more files are not listed.\n", diff.left_out));
    }
    let patches = diff.files.iter().filter(shown).filter_map(|known| known.patch.as_deref());
    lines.extend(patches.map(|patch| format!("\n{patch}")));
    lines.concat()
}

/// Cuts a text into pages, at the end of a line where there is one.
fn pages(text: &str) -> Vec<&str> {
    let (mut pages, mut rest) = (Vec::new(), text);
    while rest.len() > PAGE_MAX {
        let piece = bounded(rest, PAGE_MAX);
        let end = piece.rfind('\n').map_or(piece.len(), |at| at + 1);
        pages.push(&rest[..end]);
        rest = &rest[end..];
    }
    pages.push(rest);
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_the_whole_text_in_whole_lines() {
        let lines: String = (0..9000).map(|line| format!("line {line}\n")).collect();
        let all = pages(&lines);
        assert!(all.len() > 3 && all.iter().all(|page| page.len() <= PAGE_MAX && page.ends_with('\n')));
        assert_eq!(all.concat(), lines);
        let long = "ü".repeat(PAGE_MAX);
        let all = pages(&long);
        assert_eq!((all.len(), all.concat()), (2, long.clone()));
        assert_eq!(pages(""), [""]);
    }
}
