//! GitHub, by its own program: `gh api` with the answer's head, so that lists that have not changed cost nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::remote::Known;
use super::{Answer, QUESTION, Reached, Wanted};
use crate::core::check::LINES_MAX;
use crate::core::detail::{Detail, GitReason};
use crate::core::pull::{FailedCheck, Look, PullRequest, PullState, Remark, RemarkKind};
use crate::runtime::git::Output;
use crate::runtime::protocol::Invocation;

/// Number of items on a page of a list, which is the most that GitHub gives.
const PAGE: usize = 100;

/// Maximum number of pages of a list that are read.
const PAGES_MAX: usize = 10;

/// Name of the part of GitHub whose checks have their output kept under their own number.
const ACTIONS: &str = "github-actions";

/// An answer with its status.
struct Said {
    status: u16,
    tag: Option<String>,
    body: Vec<u8>,
    /// The message of the program or of GitHub, for people.
    message: String,
}

#[derive(Deserialize)]
struct Pull {
    number: u32,
    html_url: String,
    state: String,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
}

#[derive(Deserialize)]
struct CheckRuns {
    check_runs: Vec<CheckRun>,
}

#[derive(Deserialize)]
struct CheckRun {
    id: u64,
    name: String,
    status: String,
    conclusion: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    output: Words,
    #[serde(default)]
    app: Option<App>,
}

#[derive(Deserialize, Default)]
struct Words {
    title: Option<String>,
    summary: Option<String>,
}

#[derive(Deserialize)]
struct App {
    slug: Option<String>,
}

impl CheckRun {
    fn has_failed(&self) -> bool {
        matches!(self.conclusion.as_deref(), Some("failure" | "timed_out" | "startup_failure"))
    }

    fn is_of_actions(&self) -> bool {
        self.app.as_ref().and_then(|app| app.slug.as_deref()) == Some(ACTIONS)
    }
}

#[derive(Deserialize)]
struct Combined {
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

/// A comment, a comment on a line, or a review.
#[derive(Deserialize)]
struct Comment {
    id: u64,
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    state: Option<String>,
}

impl Comment {
    /// Returns true if something is asked for: a review that only agrees asks for nothing.
    fn asks(&self) -> bool {
        let says = self.body.as_deref().is_some_and(|body| !body.trim().is_empty());
        says && !matches!(self.state.as_deref(), Some("APPROVED" | "DISMISSED" | "PENDING"))
    }

    fn place(&self) -> String {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.clone(),
            (None, _) => String::new(),
        }
    }
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
}

impl Reached<'_> {
    pub(super) async fn open_by_gh(&self, at: &Known, wanted: &Wanted) -> Result<(u32, String), Detail> {
        let Known { owner, name, .. } = at;
        let Wanted { branch, base, title, body } = wanted;
        let list = format!("repos/{owner}/{name}/pulls?state=open&head={owner}:{}", escaped(branch));
        if let Some(pull) = self.list::<Pull>(at, &list).await?.into_iter().next() {
            return Ok((pull.number, pull.html_url));
        }
        let asked = serde_json::json!({ "title": title, "head": branch, "base": base, "body": body });
        let path = format!("repos/{owner}/{name}/pulls");
        let asked = asked.to_string();
        let said = self.call(at, &path, &["--method", "POST", "--input", "-"], asked.as_bytes()).await?;
        if said.status != 201 {
            return Err(refused(&path, &said));
        }
        let pull: Pull = read(&path, &said.body)?;
        Ok((pull.number, pull.html_url))
    }

    pub(super) async fn look_by_gh(&self, at: &Known, pull: &PullRequest) -> Result<Look, Detail> {
        let of = format!("repos/{}/{}", at.owner, at.name);
        let (number, head) = (pull.opened.number, &pull.opened.head);
        let there: Pull = self.get(at, &format!("{of}/pulls/{number}")).await?;
        let (mut failed, mut remarks) = (Vec::new(), Vec::new());
        let state = match (there.state.as_str(), there.merged_at) {
            (_, Some(_)) => PullState::Merged { commit: there.merge_commit_sha.unwrap_or_default() },
            ("closed", None) => PullState::Closed,
            _ => {
                failed = self.failed_by_gh(at, &of, head, pull.red == *head).await?;
                remarks = self.remarks_by_gh(at, &of, pull).await?;
                PullState::Open
            }
        };
        Ok(Look { state, failed, remarks })
    }

    /// Returns the checks of a commit that have failed, once none runs any more. `known`: they were read before.
    async fn failed_by_gh(
        &self,
        at: &Known,
        repository: &str,
        head: &str,
        known: bool,
    ) -> Result<Vec<FailedCheck>, Detail> {
        if known {
            return Ok(Vec::new());
        }
        let of = format!("{repository}/commits/{head}");
        let check_runs =
            self.pages(at, &format!("{of}/check-runs"), |page: CheckRuns| page.check_runs).await?;
        let statuses = self.pages(at, &format!("{of}/status"), |page: Combined| page.statuses).await?;
        // A status may be pending for good, e.g. that of a merge queue.
        if check_runs.iter().any(|run| run.status != "completed") {
            return Ok(Vec::new());
        }
        let mut failed = Vec::new();
        for run in check_runs.into_iter().filter(CheckRun::has_failed) {
            let mut text = [run.output.title.as_deref(), run.output.summary.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n");
            if run.is_of_actions() {
                let path = format!("{repository}/actions/jobs/{}/logs", run.id);
                // Without it there is the link.
                if let Ok(said) = self.call(at, &path, &[], &[]).await
                    && said.status == 200
                {
                    text.push('\n');
                    text.push_str(&last_lines(&String::from_utf8_lossy(&said.body)));
                }
            }
            let link = run.html_url.unwrap_or_default();
            failed.push(FailedCheck { name: run.name, text: text.trim().to_owned(), link });
        }
        let is_red = |status: &Status| matches!(status.state.as_str(), "failure" | "error");
        failed.extend(statuses.into_iter().filter(is_red).map(|status| FailedCheck {
            name: status.context,
            text: status.description.unwrap_or_default(),
            link: status.target_url.unwrap_or_default(),
        }));
        Ok(failed)
    }

    /// Returns the remarks that were not read, of people who may write to the repository.
    async fn remarks_by_gh(&self, at: &Known, of: &str, pull: &PullRequest) -> Result<Vec<Remark>, Detail> {
        let number = pull.opened.number;
        let lists = [
            (RemarkKind::Comment, format!("{of}/issues/{number}/comments")),
            (RemarkKind::Line, format!("{of}/pulls/{number}/comments")),
            (RemarkKind::Review, format!("{of}/pulls/{number}/reviews")),
        ];
        let (mut remarks, mut writers) = (Vec::new(), BTreeMap::new());
        for (kind, path) in lists {
            for comment in self.list::<Comment>(at, &path).await? {
                if !comment.asks() || !pull.seen.is_unread(kind, comment.id) {
                    continue;
                }
                let place = comment.place();
                let (Some(User { login: by }), Some(text)) = (comment.user, comment.body) else { continue };
                let writes = match writers.get(&by) {
                    Some(writes) => *writes,
                    None => self.may_write(at, of, &by).await?,
                };
                writers.insert(by.clone(), writes);
                if writes {
                    remarks.push(Remark { kind, number: comment.id, by, place, text });
                }
            }
        }
        Ok(remarks)
    }

    async fn may_write(&self, at: &Known, of: &str, login: &str) -> Result<bool, Detail> {
        let path = format!("{of}/collaborators/{}/permission", escaped(login));
        let said = self.asked(at, &path).await?;
        match said.status {
            200 => {
                let Permission { permission } = read(&path, &said.body)?;
                Ok(matches!(permission.as_str(), "admin" | "write"))
            }
            404 => Ok(false),
            _ => Err(refused(&path, &said)),
        }
    }

    /// Reads a whole list.
    async fn list<T: DeserializeOwned>(&self, at: &Known, path: &str) -> Result<Vec<T>, Detail> {
        self.pages(at, path, |items: Vec<T>| items).await
    }

    /// Reads a whole list, page by page.
    async fn pages<P: DeserializeOwned, T>(
        &self,
        at: &Known,
        path: &str,
        items: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, Detail> {
        let (mut all, joint) = (Vec::new(), if path.contains('?') { '&' } else { '?' });
        for page in 1..=PAGES_MAX {
            let page: P = self.get(at, &format!("{path}{joint}per_page={PAGE}&page={page}")).await?;
            let items = items(page);
            let is_last = items.len() < PAGE;
            all.extend(items);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    async fn get<T: DeserializeOwned>(&self, at: &Known, path: &str) -> Result<T, Detail> {
        let said = self.asked(at, path).await?;
        if said.status != 200 {
            return Err(refused(path, &said));
        }
        read(path, &said.body)
    }

    /// Asks for something, with the `ETag` of the last answer.
    async fn asked(&self, at: &Known, path: &str) -> Result<Said, Detail> {
        let address = format!("{} {path}", at.host);
        let before = self.answers.of(&address);
        let condition = before.as_ref().map(|before| format!("If-None-Match: {}", before.tag));
        let options: Vec<&str> =
            condition.as_deref().map(|condition| vec!["--header", condition]).unwrap_or_default();
        let said = self.call(at, path, &options, &[]).await?;
        if let Some(Answer { body, tag }) = before.filter(|_| said.status == 304) {
            return Ok(Said { status: 200, tag: Some(tag), body, message: String::new() });
        }
        if let Some(tag) = said.tag.clone().filter(|_| said.status == 200) {
            self.answers.keep(address, Answer { tag, body: said.body.clone() });
        }
        Ok(said)
    }

    async fn call(&self, at: &Known, path: &str, options: &[&str], input: &[u8]) -> Result<Said, Detail> {
        let mut environment = self.checkouts.login().clone();
        for (name, value) in [
            ("GH_HOST", at.host.as_str()),
            ("GH_PROMPT_DISABLED", "1"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("NO_COLOR", "1"),
        ] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        let words = ["api", "--include"].iter().chain(options).chain([&path]);
        let invocation = Invocation {
            program: "gh".to_owned(),
            arguments: words.map(|word| (*word).to_owned()).collect(),
            environment,
            waits: false,
        };
        let named = named(path);
        let output =
            self.checkouts.git().run_program(invocation, (Path::new("/"), input), &named, QUESTION).await?;
        let message = output.said.trim().to_owned();
        said(output).ok_or_else(|| GitReason::Forge { command: named }.with(message))
    }
}

/// Returns the name of a question for people.
fn named(path: &str) -> String {
    format!("gh api {}", path.split('?').next().unwrap_or(path))
}

/// Returns the reason of an answer that is not the wanted one.
fn refused(path: &str, said: &Said) -> Detail {
    let message =
        if said.message.is_empty() { format!("HTTP {}", said.status) } else { said.message.clone() };
    GitReason::Forge { command: named(path) }.with(message)
}

fn read<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, Detail> {
    let unread = |error: serde_json::Error| GitReason::Forge { command: named(path) }.with(error.to_string());
    serde_json::from_slice(body).map_err(unread)
}

/// Reads the head and the body of an answer; `None` if there was none, or not the whole of it.
fn said(Output { out, cut, said, .. }: Output) -> Option<Said> {
    let (mut status, mut tag, mut rest) = (None, None, out.as_slice());
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = rest.split_at_checked(end)?;
        rest = after.get(1..)?;
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        match (status, line.split_once(':')) {
            (None, _) => status = Some(line.strip_prefix("HTTP/")?.split_whitespace().nth(1)?.parse().ok()?),
            (Some(_), Some((name, value))) if name.eq_ignore_ascii_case("etag") => {
                tag = Some(value.trim().to_owned());
            }
            (Some(_), Some(_)) => {}
            (Some(status), None) if line.is_empty() && !cut => {
                return Some(Said { status, tag, body: rest.to_vec(), message: said.trim().to_owned() });
            }
            (Some(_), None) => return None,
        }
    }
}

/// Returns the last lines of an output, without the time before each.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LINES_MAX));
    let timeless = |line: &&str| match line.split_once(' ') {
        Some((time, said)) if time.ends_with('Z') && time.contains('T') => said.to_owned(),
        _ => (*line).to_owned(),
    };
    last.map(timeless).collect::<Vec<_>>().join("\n")
}

/// Returns a word as a part of an address.
fn escaped(word: &str) -> String {
    let mut escaped = String::new();
    for byte in word.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(out: &str, said: &str) -> Output {
        Output { code: Some(1), out: out.as_bytes().to_vec(), cut: false, said: said.to_owned() }
    }

    #[test]
    fn an_answer_is_its_head_and_its_body() {
        let head = "HTTP/2.0 200 OK\nContent-Type: application/json\r\nEtag: W/\"a:b\"\r\n\r\n[]";
        let read = said(output(head, "")).expect("an answer");
        assert_eq!((read.status, read.tag.as_deref(), &read.body[..]), (200, Some("W/\"a:b\""), &b"[]"[..]));
        let same = said(output("HTTP/2.0 304 Not Modified\r\n\r\n", "gh: HTTP 304\n")).expect("an answer");
        assert_eq!((same.status, same.body.len(), same.message.as_str()), (304, 0, "gh: HTTP 304"));
        for none in
            ["", "error connecting to github.com\n", "HTTP/2.0 200 OK\r\nEtag: x\r\n", "HTTP/2.0\r\n\r\n"]
        {
            assert!(said(output(none, "")).is_none(), "{none:?}");
        }
        let cut = Output { cut: true, ..output(head, "") };
        assert!(said(cut).is_none(), "a part of an answer is none");
    }

    #[test]
    fn only_words_that_ask_for_something_go_back() {
        let comment = |state: Option<&str>, body: &str| Comment {
            id: 1,
            user: None,
            body: Some(body.to_owned()),
            path: None,
            line: None,
            state: state.map(str::to_owned),
        };
        assert!(comment(None, "mend this").asks() && comment(Some("CHANGES_REQUESTED"), "mend this").asks());
        assert!(!comment(Some("APPROVED"), "looks good").asks() && !comment(None, " \n").asks());
    }

    #[test]
    fn words_in_an_address_are_escaped() {
        assert_eq!(escaped("herder/7-a b&c#d"), "herder/7-a%20b%26c%23d");
    }

    #[test]
    fn the_end_of_an_output_has_no_times() {
        assert_eq!(last_lines("2026-11-30T10:00:00.1Z one\ntwo words"), "one\ntwo words");
    }
}
