//! `task diff`: shows what a task has changed against the commit that it began from, committed or not.

use serde_json::json;

use crate::commands::desk::{Answer, Attached, Desk, Done, Failure};
use crate::commands::grammar::Call;
use crate::commands::say::{DOT, Voice};
use crate::commands::words::{bounded, nearest, repeat};
use crate::commands::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::checkout::Checkout;
use crate::core::clean::visible;
use crate::core::id::WorkId;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::outbox::split::split;
use crate::runtime::git::diff::{Change, Diff, File, Fold, Meant, Selection, meant};
use crate::supervisor::View;

use super::listed::{find, moving, on_board};

pub(in crate::commands) const DIFF: Command = Command {
    verb: Verb::TaskDiff,
    name: "task diff",
    aliases: &[],
    args: &[Arg::Task, Arg::File, Arg::Number { name: "page" }],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-diff",
};

/// Number of lines on one page in a chat: about a screen. A terminal gets all lines.
const PAGE_LINES: usize = 20;

/// Maximum length of a line of a page, in bytes: nearly a line of IRC.
const LINE_MAX: usize = 340;

/// Maximum length of a file's name, in characters.
const NAME_MAX: usize = 200;

/// Maximum length of one line of a file that is shown in a chat, in bytes: a line of a minified file is one page.
const CODE_MAX: usize = 16 * 1024;

/// Maximum number of files that a reply names, if several may be meant.
const SEVERAL_MAX: usize = 5;

/// The changes that somebody asks for.
enum Wanted {
    /// The files with their counts; with the text of those that are not folded, where there is room for it.
    All,
    /// The files with their counts alone.
    Stat,
    /// One file, by its name or a part of it.
    File(String),
}

impl Wanted {
    fn of(text: &str) -> Self {
        let name = text.trim().trim_matches(['`', '"', '\'']);
        match name {
            "" => Self::All,
            "stat" => Self::Stat,
            name => Self::File(name.strip_prefix("./").unwrap_or(name).to_owned()),
        }
    }
}

pub(in crate::commands) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let views = desk.fleet.agents();
    let Some((agent, known)) = super::checkout(&views, id) else {
        return Err(without_clone(desk, &views, id).into());
    };
    let voice = desk.voice();
    let wanted = Wanted::of(&call.text);
    let has_room = desk.long || desk.files;
    let selection = match &wanted {
        Wanted::All if has_room => Selection::Unfolded,
        Wanted::Stat if desk.long => Selection::Unfolded,
        Wanted::All | Wanted::Stat => Selection::Nothing,
        Wanted::File(name) => Selection::Named(name.clone()),
    };
    let diff = match Box::pin(desk.fleet.diff_of_checkout(agent, &known.plan, selection)).await {
        Ok(diff) => diff,
        Err(why) => {
            let why = voice.short(&voice.locale.detail(&why), desk.text_max());
            return Err(Failure::Lines(vec![voice.text("cmd-task-unread", &[("why", why.into())])]));
        }
    };
    let data = data(id, known, &diff);
    if let Wanted::File(name) = &wanted {
        let file = match meant(&diff.files, name) {
            Meant::One(file) => &diff.files[file],
            Meant::Several(files) => return Err(several(voice, &diff, name, &files)),
            Meant::Nothing => return Err(no_file(voice, &diff, id, name)),
        };
        let shown = Shown { file, name: shown(voice, &file.name()) };
        return Ok(of_file(desk, call, id, &shown)?.with(data));
    }
    let lines = stat(desk, call, id, (known, &diff))?;
    let answer = Answer::lines(lines).with(data);
    let text = text(voice, &diff);
    let is_attached = desk.files && matches!(wanted, Wanted::All) && !text.is_empty();
    Ok(if is_attached { answer.beside(Attached { name: format!("task-{id}.diff"), text }) } else { answer })
}

/// Returns the refusal about a task that has no clone.
fn without_clone(desk: &Desk<'_>, views: &[View], id: WorkId) -> Refusal {
    let board = desk.fleet.board();
    let is_known = on_board(&board, id).is_some()
        || views.iter().any(|view| find(&view.agent, id).is_some())
        || moving(views, &board, id).is_some();
    if is_known { Refusal::NoCheckout { task: id } } else { Refusal::NoSuchTask { task: id } }
}

fn several(voice: Voice<'_>, diff: &Diff, name: &str, files: &[usize]) -> Failure {
    let names = files.iter().filter_map(|file| diff.files.get(*file)).map(|file| shown(voice, &file.name()));
    let mut names: Vec<String> = names.take(SEVERAL_MAX).collect();
    if files.len() > names.len() {
        names.push("…".to_owned());
    }
    let variables = [("name", repeat(name).into()), ("files", names.join(", ").into())];
    Failure::Lines(vec![voice.text("cmd-diff-several", &variables)])
}

fn no_file(voice: Voice<'_>, diff: &Diff, id: WorkId, name: &str) -> Failure {
    let names: Vec<String> = diff.files.iter().map(File::name).collect();
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let lasts: Vec<String> = names.iter().map(|name| last(name)).collect();
    let near = nearest(name, names.iter().map(String::as_str))
        .map(str::to_owned)
        .or_else(|| {
            let near = nearest(&last(name), lasts.iter().map(String::as_str))?;
            names.iter().zip(&lasts).find(|(_, last)| *last == near).map(|(name, _)| name.clone())
        })
        .map(|near| shown(voice, &near));
    let is_near = if near.is_some() { "yes" } else { "no" };
    let variables = [
        ("task", id.to_string().into()),
        ("name", repeat(name).into()),
        ("is_near", is_near.into()),
        ("near", near.unwrap_or_default().into()),
    ];
    Failure::Lines(vec![voice.text("cmd-diff-no-file", &variables)])
}

/// A file with its name as it is shown.
struct Shown<'a> {
    file: &'a File,
    name: String,
}

/// Returns a name on one line, with every character in it that would not be seen.
fn shown(voice: Voice<'_>, name: &str) -> String {
    let name = visible(&voice.redactor.redact(name)).replace('\n', "\\n").replace('\t', "\\t");
    bounded(&voice.redactor.redact(&name), NAME_MAX)
}

/// Returns the reply with the files and their counts; in a chat one page of it.
fn stat(
    desk: &Desk<'_>,
    call: &Call,
    id: WorkId,
    (known, diff): (&Checkout, &Diff),
) -> Result<Vec<String>, Failure> {
    let voice = desk.voice();
    let number = ("task", id.to_string().into());
    let mut remarks = Vec::new();
    if diff.fetched {
        remarks.push(voice.text("cmd-diff-fetched", &[]));
    }
    let sum = |of: fn((u64, u64)) -> u64| diff.files.iter().filter_map(|file| file.lines).map(of).sum();
    let (added, removed): (u64, u64) = (sum(|(added, _)| added), sum(|(_, removed)| removed));
    let variables = [
        number.clone(),
        ("branch", voice.short(&known.plan.branch, NAME_MAX).into()),
        ("files", diff.files.len().into()),
        ("counts", counts((added, removed)).into()),
        ("commits", diff.commits.into()),
        ("uncommitted", diff.uncommitted.into()),
    ];
    let head = if diff.files.is_empty() { "cmd-diff-none" } else { "cmd-diff-head" };
    remarks.insert(0, voice.text(head, &variables));
    if diff.left_out > 0 {
        remarks.push(voice.text("cmd-diff-left-out", &[("count", diff.left_out.into())]));
    }
    let files = diff.files.iter().map(|file| line(voice, file, &shown(voice, &file.name())));
    let lines: Vec<String> = files.collect();
    let (shown, place) = page(desk, call, lines, desk.long)?;
    remarks[0].push_str(&place.words(voice));
    remarks.extend(shown);
    if let Some(next) = place.next() {
        remarks.push(voice.text("cmd-diff-stat-next", &[number, ("page", next.into())]));
    } else if !desk.long && !desk.files && !diff.files.is_empty() {
        remarks.push(voice.text("cmd-diff-more", &[number]));
    }
    Ok(remarks)
}

/// Returns the reply with the text of one file; in a chat one page of it.
fn of_file(desk: &Desk<'_>, call: &Call, id: WorkId, shown: &Shown<'_>) -> Result<Answer, Failure> {
    let voice = desk.voice();
    let code = match &shown.file.patch {
        Some(patch) => code(voice, patch).into_iter().map(|line| cut(&line)).collect(),
        None => Vec::new(),
    };
    let is_empty = code.is_empty();
    // A file beside the answer has room for all of it.
    let (page, place) = page(desk, call, code, desk.long || desk.files)?;
    let heading = format!("{}{}", line(voice, shown.file, &shown.name), place.words(voice));
    let mut lines = vec![heading];
    if is_empty {
        lines.push(voice.text("cmd-diff-no-text", &[]));
    }
    let attached = page.join("\n");
    if !desk.files {
        lines.extend(page);
    }
    if let Some(next) = place.next() {
        let variables =
            [("task", id.to_string().into()), ("file", shown.name.as_str().into()), ("page", next.into())];
        lines.push(voice.text("cmd-diff-next", &variables));
    }
    let answer = Answer::lines(lines);
    if !desk.files || is_empty {
        return Ok(answer);
    }
    Ok(answer.beside(Attached { name: format!("task-{id}.diff"), text: attached }))
}

/// The place of a page among all.
#[derive(Clone, Copy)]
struct Place {
    page: usize,
    pages: usize,
}

impl Place {
    fn words(self, voice: Voice<'_>) -> String {
        if self.pages <= 1 {
            return String::new();
        }
        let place = [("page", self.page.into()), ("pages", self.pages.into())];
        format!("{DOT}{}", voice.text("cmd-log-page", &place))
    }

    fn next(self) -> Option<usize> {
        (self.page < self.pages).then_some(self.page + 1)
    }
}

/// Returns the lines of the page that is asked for; all of them if none is and `is_whole`.
fn page(
    desk: &Desk<'_>,
    call: &Call,
    lines: Vec<String>,
    is_whole: bool,
) -> Result<(Vec<String>, Place), Failure> {
    if is_whole && call.page.is_none() {
        return Ok((lines, Place { page: 1, pages: 1 }));
    }
    let lines: Vec<String> = lines.iter().flat_map(|line| split(line, LINE_MAX)).collect();
    let pages = lines.len().div_ceil(PAGE_LINES).max(1);
    let page = call.page.map_or(1, |page| usize::try_from(page).unwrap_or(usize::MAX));
    if page > pages {
        let voice = desk.voice();
        return Err(Failure::Lines(vec![voice.text("cmd-diff-no-page", &[("pages", pages.into())])]));
    }
    let shown = lines.chunks(PAGE_LINES).nth(page - 1).unwrap_or_default().to_vec();
    Ok((shown, Place { page, pages }))
}

/// Formats a file with its counts and what is to be known about it.
fn line(voice: Voice<'_>, file: &File, name: &str) -> String {
    let mut pieces = vec![name.to_owned()];
    pieces.extend(file.lines.map(counts));
    let mark = |mark: &'static str| voice.text("cmd-diff-mark", &[("mark", mark.into())]);
    match (file.change, file.from()) {
        (Change::Renamed, Some(from)) => {
            pieces.push(voice.text("cmd-diff-renamed", &[("from", shown(voice, &from).into())]));
        }
        (Change::Added, _) => pieces.push(mark("added")),
        (Change::Removed, _) => pieces.push(mark("removed")),
        (Change::Type, _) => pieces.push(mark("type")),
        (Change::Modified | Change::Renamed, _) => {}
    }
    if let Some((before, after)) = &file.modes {
        let modes = [("before", before.as_str().into()), ("after", after.as_str().into())];
        pieces.push(voice.text("cmd-diff-mode", &modes));
    }
    let fold = file.fold.map(|fold| match fold {
        Fold::Lock => "lock",
        Fold::Generated => "generated",
        Fold::Long => "long",
    });
    let marks = [
        file.is_submodule.then_some("submodule"),
        file.is_binary().then_some("binary"),
        file.is_unread.then_some("unread"),
        fold,
        (file.is_uncommitted && !file.is_undone).then_some("uncommitted"),
        file.is_undone.then_some("undone"),
    ];
    pieces.extend(marks.into_iter().flatten().map(mark));
    pieces.join(DOT)
}

fn counts((added, removed): (u64, u64)) -> String {
    format!("+{added} −{removed}")
}

/// Returns the lines of a text without secrets, and with every character that would not be seen.
fn code(voice: Voice<'_>, text: &str) -> Vec<String> {
    // Half of a cut secret would not be recognised, so the whole is redacted first.
    let text = voice.redactor.redact(text);
    let mut content = text.split('\n').filter(|line| line.starts_with(['+', '-', ' ']) && !is_heading(line));
    let is_windows = content.all(|line| line.ends_with('\r'));
    let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n').map(|line| {
        let line = if is_windows { line.strip_suffix('\r').unwrap_or(line) } else { line };
        visible(line)
    });
    lines.collect()
}

fn is_heading(line: &str) -> bool {
    line.starts_with("+++ ") || line.starts_with("--- ")
}

/// Cuts a line that would fill pages.
fn cut(line: &str) -> String {
    match split(line, CODE_MAX).as_slice() {
        [first, _, ..] => format!("{first}…"),
        _ => line.to_owned(),
    }
}

/// Returns the text of all files that have one.
fn text(voice: Voice<'_>, diff: &Diff) -> String {
    let patches: String = diff.files.iter().filter_map(|file| file.patch.as_deref()).collect();
    if patches.is_empty() {
        return String::new();
    }
    code(voice, &patches).join("\n")
}

fn data(id: WorkId, known: &Checkout, diff: &Diff) -> serde_json::Value {
    let file = |file: &File| {
        let (added, removed) = file.lines.unzip();
        json!({
            "name": file.name(), "from": file.from(), "change": file.change,
            "added": added, "removed": removed, "modes": file.modes, "fold": file.fold,
            "binary": file.is_binary(), "submodule": file.is_submodule, "unread": file.is_unread,
            "uncommitted": file.is_uncommitted, "undone": file.is_undone, "patch": file.patch,
        })
    };
    json!({
        "task": id, "branch": known.plan.branch, "base": diff.base, "head": diff.head,
        "commits": diff.commits, "uncommitted": diff.uncommitted, "left_out": diff.left_out,
        "fetched": diff.fetched, "files": diff.files.iter().map(file).collect::<Vec<_>>(),
    })
}
