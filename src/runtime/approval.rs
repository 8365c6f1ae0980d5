//! Requests of a runtime: those that the agent's permissions cover are answered by the driver, the others wait for
//! the supervisor's answer. The questions of one call are asked one after the other, and answered together.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::protocol::Happening;
use super::text::{LINE_MAX, bounded};
use crate::core::ask::{AskKey, Inquiry, Part, Told};
use crate::core::cut::excerpt;
use crate::core::danger::{AskPattern, of_command, of_text};

/// Maximum number of requests per session that wait for people: far above what runtimes ask in parallel. Further ones
/// are denied.
const WAITING_MAX: usize = 64;

/// Maximum length of a request's text that is passed on, in bytes: the core bounds the shown part, and marks that more exists.
const TEXT_MAX: usize = 32 * 1024;

/// Names of files and folders whose change affects the permissions of the agent or its tools, so that a person is asked
/// even inside the workspace.
const GUARDED: [&str; 10] = [
    ".git",
    ".herder",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".mcp.json",
    ".husky",
    ".vscode",
    ".idea",
];

/// An action for which a runtime asks permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Name of the tool.
    pub tool: String,
    /// The exact command, or a description of the action.
    pub command: String,
    /// True if the command is searched for patterns that are always asked about.
    pub shell: bool,
    /// True if only the action's name is known, and not what exactly it does.
    pub vague: bool,
}

impl Wish {
    /// Returns true if a person is asked about the action even if the agent's permissions cover it.
    #[must_use]
    pub fn is_dangerous(&self, patterns: &[AskPattern]) -> bool {
        // A longer command could not be shown in full, and takes long to parse.
        if self.shell && self.command.len() > TEXT_MAX {
            return true;
        }
        let found =
            if self.shell { of_command(&self.command, patterns) } else { of_text(&self.command, patterns) };
        found.is_some()
    }

    /// Returns the beginning of the command on one line, for the log.
    #[must_use]
    pub fn brief(&self) -> String {
        excerpt(&self.command, LINE_MAX)
    }
}

/// A request of a runtime that herder can answer, in the runtime's own protocol.
pub trait Request {
    /// Builds the line that answers a permission request with yes or no.
    fn answer(self, allow: bool) -> Vec<u8>;

    /// Builds the line that answers the request's questions, each with the words or choices given; `None` for an
    /// unanswered one.
    fn replied(self, _answers: &[Option<Vec<String>>]) -> Vec<u8>
    where
        Self: Sized,
    {
        self.answer(false)
    }

    /// Builds the line that refuses a plan. `why`: a person's words, or that no person answered.
    fn sent_back(self, _why: &str) -> Vec<u8>
    where
        Self: Sized,
    {
        self.answer(false)
    }
}

/// Text for the model as the answer to a question that no person has answered.
pub const UNANSWERED: &str =
    "Nobody answered in time. Decide by yourself what is safe, or say what you need and end your turn.";

/// Returns the text for the model about a plan that was not approved, with a person's words.
#[must_use]
pub fn not_approved(why: &str) -> String {
    format!("The plan is not approved yet. The operator says: {why}")
}

/// Text for the model about a plan that was refused without words.
pub const PLAN_REFUSED: &str = "The plan is not approved. Do not carry it out; say in one sentence what you would need, and end your turn.";

/// Text for the model about a plan that was approved, for CLIs that have no such text.
pub const PLAN_APPROVED: &str = "The plan is approved. Carry it out now.";

/// The questions of one request, which are asked one after the other.
#[derive(Debug)]
struct Call {
    /// Key of the first question, by which all of them are known to belong together.
    first: AskKey,
    answers: Vec<Option<Vec<String>>>,
    rest: VecDeque<Inquiry>,
}

/// A request that waits for an answer of people.
#[derive(Debug)]
struct Waiting<T> {
    request: T,
    /// The questions that the request asks; `None` for a permission request or a plan.
    call: Option<Call>,
    plan: bool,
}

/// Whether an action is allowed without asking, by the agent's permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Always allowed, as it uses one of herder's own tools.
    Always,
    /// Allowed, unless the command is always asked about or the exact action is unknown.
    Usually,
    /// Not covered: a person is asked.
    No,
    /// Not covered, and the request's protocol has no way to allow it.
    Never,
}

/// The requests of one session that people must answer; those that need no person are answered at once.
#[derive(Debug)]
pub struct Requests<T> {
    always_ask: Vec<AskPattern>,
    next: u64,
    waiting: BTreeMap<AskKey, Waiting<T>>,
}

impl<T: Request> Requests<T> {
    /// Creates an empty set of requests. Actions that match one of the patterns are asked about even if permissions
    /// cover them.
    #[must_use]
    pub fn new(always_ask: Vec<AskPattern>) -> Self {
        Self { always_ask, next: 1, waiting: BTreeMap::new() }
    }

    /// Answers a permission request at once, or keeps it and asks people. Returns whether it is allowed, if that is
    /// decided. A request beyond the maximum is denied.
    pub fn decide(
        &mut self,
        request: T,
        wish: Wish,
        cover: Cover,
        happened: &mut Vec<Happening>,
    ) -> Option<bool> {
        let allow = match cover {
            Cover::Always => Some(true),
            Cover::Usually if !wish.vague && !wish.is_dangerous(&self.always_ask) => Some(true),
            Cover::Usually | Cover::No if self.waiting.len() < WAITING_MAX => None,
            Cover::Usually | Cover::No | Cover::Never => Some(false),
        };
        if let Some(allow) = allow {
            let what = if allow { "allowed" } else { "denied" };
            happened.push(Happening::Note(format!("{what}: {}", wish.brief())));
            happened.push(Happening::Reply(request.answer(allow)));
            return Some(allow);
        }
        let key = self.keep(Waiting { request, call: None, plan: false });
        let Wish { tool, mut command, shell, vague } = wish;
        if command.len() > TEXT_MAX {
            command.truncate(bounded(&command, TEXT_MAX).len());
        }
        happened.push(Happening::Asked { key, tool, command, shell, vague });
        None
    }

    fn keep(&mut self, waiting: Waiting<T>) -> AskKey {
        let key = AskKey(self.next);
        self.next += 1;
        self.waiting.insert(key, waiting);
        key
    }

    /// Keeps a request that asks questions, and asks people one after the other. A request beyond the maximum, or
    /// without questions, is answered as unanswered.
    pub fn inquire(&mut self, request: T, questions: Vec<Inquiry>, happened: &mut Vec<Happening>) {
        if self.waiting.len() >= WAITING_MAX || questions.is_empty() {
            return happened.push(Happening::Reply(request.replied(&[])));
        }
        let first = AskKey(self.next);
        let call = Call { first, answers: Vec::new(), rest: questions.into() };
        self.ask_next(Waiting { request, call: Some(call), plan: false }, happened);
    }

    /// Keeps a request that submits a plan, and asks people whether it may be carried out.
    pub fn plan(&mut self, request: T, text: String, happened: &mut Vec<Happening>) {
        if self.waiting.len() >= WAITING_MAX {
            return happened.push(Happening::Reply(request.sent_back(UNANSWERED)));
        }
        let key = self.keep(Waiting { request, call: None, plan: true });
        happened.push(Happening::Inquired { key, inquiry: Box::new(Inquiry::Plan { text }), part: None });
    }

    fn ask_next(&mut self, mut waiting: Waiting<T>, happened: &mut Vec<Happening>) {
        let Some(call) = &mut waiting.call else { return };
        let Some(inquiry) = call.rest.pop_front() else {
            let line = waiting.request.replied(&call.answers);
            return happened.push(Happening::Reply(line));
        };
        let last = call.rest.is_empty();
        let part = Part { call: call.first, last };
        let part = (!(last && call.answers.is_empty())).then_some(part);
        let key = self.keep(waiting);
        happened.push(Happening::Inquired { key, inquiry: Box::new(inquiry), part });
    }

    /// Answers a waiting request by people's answer, or asks its next question. After an unanswered question the others
    /// are not asked.
    pub fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        let Some(mut waiting) = self.waiting.remove(&key) else { return };
        let Some(call) = &mut waiting.call else {
            let request = waiting.request;
            let line = match told {
                Told::Yes => request.answer(true),
                Told::Words(words) if waiting.plan => request.sent_back(&words.join("\n")),
                Told::Nobody if waiting.plan => request.sent_back(UNANSWERED),
                Told::No | Told::Words(_) | Told::Nobody => request.answer(false),
            };
            return happened.push(Happening::Reply(line));
        };
        match told {
            Told::Words(words) => call.answers.push(Some(words.clone())),
            Told::Yes | Told::No | Told::Nobody => {
                call.answers.resize(call.answers.len() + 1 + call.rest.len(), None);
                call.rest.clear();
            }
        }
        self.ask_next(waiting, happened);
    }

    /// Returns true if any request waits for people.
    #[must_use]
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns true if the waiting request with this key submits a plan.
    #[must_use]
    pub fn is_plan(&self, key: AskKey) -> bool {
        self.waiting.get(&key).is_some_and(|waiting| waiting.plan)
    }

    /// Returns the waiting request with this key; `None` if it does not wait.
    #[must_use]
    pub fn waiting(&self, key: AskKey) -> Option<&T> {
        self.waiting.get(&key).map(|waiting| &waiting.request)
    }

    /// Removes the request for which `is_it` returns true, because the runtime has withdrawn it.
    pub fn withdraw(&mut self, is_it: impl Fn(&T) -> bool, happened: &mut Vec<Happening>) {
        let found = self.waiting.iter().find(|(_, waiting)| is_it(&waiting.request)).map(|(key, _)| *key);
        if let Some(key) = found {
            self.waiting.remove(&key);
            happened.push(Happening::AskWithdrawn { key });
        }
    }
}

/// Joins words to a command line, quoted for a shell.
#[must_use]
pub fn quoted(words: &[Value]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quote = |word: &str| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    words.iter().filter_map(Value::as_str).map(quote).collect::<Vec<_>>().join(" ")
}

/// Returns true if a path is in a folder, as written and with all links resolved, and has no guarded name in it. A path
/// that cannot be resolved is not.
#[must_use]
pub fn is_plain_file_below(path: &str, folder: &Path) -> bool {
    let path = Path::new(path);
    let Ok(real) = fs::canonicalize(folder) else { return false };
    let Ok(written) = path.strip_prefix(folder).or_else(|_| path.strip_prefix(&real)) else { return false };
    is_plain(written)
        && resolved(path)
            .is_some_and(|path| path.strip_prefix(&real).is_ok_and(|inside| is_plain(inside) && inside != ""))
}

/// Resolves a path that may not exist yet: its deepest existing folder with links resolved, and the rest below it.
fn resolved(path: &Path) -> Option<PathBuf> {
    let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let (mut there, mut rest) = (path, Vec::new());
    loop {
        match fs::canonicalize(there) {
            Ok(found) => return Some(rest.iter().rev().fold(found, |path, part| path.join(part))),
            // A dangling link exists, and a write to it creates its target.
            Err(error)
                if missing(&error) && fs::symlink_metadata(there).is_err_and(|error| missing(&error)) =>
            {
                rest.push(there.file_name()?);
                there = there.parent()?;
            }
            Err(_) => return None,
        }
    }
}

fn is_plain(inside: &Path) -> bool {
    inside.components().all(|part| match part {
        Component::Normal(name) => !GUARDED.iter().any(|guarded| name.eq_ignore_ascii_case(guarded)),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_guards_the_agent_is_no_plain_file() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("spark");
        fs::create_dir_all(folder.join("src")).expect("a folder");
        for (path, plain) in [
            ("spark/a.rs", true),
            ("spark/src/./a.rs", true),
            ("spark/new/folder/a.rs", true),
            ("spark/.github/x.yml", true),
            ("spark/../else/a.rs", false),
            ("spark/src/../a.rs", false),
            ("spark", false),
            ("sparkle/a.rs", false),
            ("spark/.git/hooks/pre-commit", false),
            ("spark/.claude/settings.json", false),
            ("spark/sub/.GIT/config", false),
            ("spark/.mcp.json", false),
            ("spark/.herder/spark/context.md", false),
        ] {
            let path = place.path().join(path);
            assert_eq!(is_plain_file_below(&path.display().to_string(), &folder), plain, "{path:?}");
        }
        assert!(!is_plain_file_below("a.rs", &folder) && !is_plain_file_below("/etc/passwd", &folder));
        assert!(
            !is_plain_file_below("/nowhere/at/all/a.rs", Path::new("/nowhere/at/all")),
            "it cannot be followed"
        );
    }

    #[test]
    fn a_link_lies_where_it_leads() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().expect("a folder");
        let (folder, theirs) = (place.path().join("spark"), place.path().join("ssh"));
        for folder in [&folder.join("src"), &folder.join(".git/hooks"), &folder.join("gitdir"), &theirs] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(theirs.join("config"), "theirs").expect("written");
        for (link, target) in [
            ("docs", "../ssh"),
            ("deep/../docs2", "../ssh"),
            ("file", "../ssh/config"),
            ("new", "../ssh/not-there-yet"),
            ("hooks", ".git/hooks"),
            ("round", "round"),
            ("lib", "src"),
            ("sub", "../spark/src"),
        ] {
            fs::create_dir_all(folder.join("deep")).expect("a folder");
            symlink(target, folder.join(link)).expect("linked");
        }
        symlink(&folder, place.path().join("same")).expect("linked");
        let plain = |path: &str, folder: &Path| {
            is_plain_file_below(&place.path().join(path).display().to_string(), folder)
        };
        for (path, expected) in [
            ("spark/docs/authorized_keys", false),
            ("spark/docs2/new/authorized_keys", false),
            ("spark/file", false),
            ("spark/new", false),
            ("spark/new/below", false),
            ("spark/hooks/pre-push", false),
            ("spark/round/a", false),
            ("spark/lib/a.rs", true),
            ("spark/sub/new/a.rs", true),
        ] {
            assert_eq!(plain(path, &folder), expected, "{path}");
        }
        // The workspace itself may be a link, and an agent may name its files either way.
        let same = place.path().join("same");
        assert!(plain("same/src/a.rs", &same) && plain("spark/src/a.rs", &same));
        assert!(!plain("same/docs/a", &same) && !plain("spark/.git/config", &same));
        // A guarded name is guarded wherever it leads.
        fs::remove_dir_all(folder.join(".git")).expect("removed");
        symlink("gitdir", folder.join(".git")).expect("linked");
        assert!(!plain("spark/.git/config", &folder));
    }

    /// A request that answers with its number and the given words.
    #[derive(Debug)]
    struct Numbered(usize);

    impl Request for Numbered {
        fn answer(self, allow: bool) -> Vec<u8> {
            format!("{} {allow}", self.0).into_bytes()
        }

        fn replied(self, answers: &[Option<Vec<String>>]) -> Vec<u8> {
            format!("{} {answers:?}", self.0).into_bytes()
        }

        fn sent_back(self, why: &str) -> Vec<u8> {
            format!("{} back: {why}", self.0).into_bytes()
        }
    }

    fn wish(command: &str) -> Wish {
        Wish { tool: "Bash".to_owned(), command: command.to_owned(), shell: true, vague: false }
    }

    #[test]
    fn what_is_covered_is_answered_at_once_unless_it_is_always_asked_about() {
        let long = format!("echo {}", "x".repeat(TEXT_MAX));
        let yes = Some(Happening::Reply(b"0 true".to_vec()));
        let no = Some(Happening::Reply(b"0 false".to_vec()));
        for (command, cover, reply) in [
            ("git push", Cover::Always, &yes),
            ("ls", Cover::Usually, &yes),
            ("git push", Cover::Usually, &None),
            (long.as_str(), Cover::Usually, &None),
            ("ls", Cover::No, &None),
            ("ls", Cover::Never, &no),
            ("vague", Cover::Always, &yes),
            ("vague", Cover::Usually, &None),
            ("vague", Cover::No, &None),
        ] {
            let mut requests = Requests::new(Vec::new());
            let mut happened = Vec::new();
            let wish = Wish { vague: command == "vague", ..wish(command) };
            requests.decide(Numbered(0), wish, cover, &mut happened);
            let said = happened.pop();
            match reply {
                Some(_) => assert_eq!(&said, reply, "{command}, {cover:?}"),
                None => {
                    assert!(matches!(said, Some(Happening::Asked { .. })), "{command}, {cover:?}: {said:?}")
                }
            }
        }
    }

    #[test]
    fn requests_are_kept_until_they_are_answered_or_taken_back_and_only_so_many() {
        let mut requests = Requests::new(Vec::new());
        let mut happened = Vec::new();
        let long = "x".repeat(2 * TEXT_MAX);
        for n in 0..WAITING_MAX {
            requests.decide(Numbered(n), wish(&long), Cover::No, &mut happened);
        }
        assert!(happened.iter().all(|it| matches!(it, Happening::Asked { .. })));
        let Some(Happening::Asked { key, command, .. }) = happened.first() else { panic!("{happened:?}") };
        assert_eq!((*key, command.len()), (AskKey(1), TEXT_MAX));
        requests.decide(Numbered(99), wish("ls"), Cover::No, &mut happened);
        assert_eq!(happened.pop(), Some(Happening::Reply(b"99 false".to_vec())));
        happened.clear();
        requests.answer(AskKey(1), &Told::Yes, &mut happened);
        requests.answer(AskKey(1), &Told::Yes, &mut happened);
        assert_eq!(happened, [Happening::Reply(b"0 true".to_vec())]);
        happened.clear();
        requests.withdraw(|numbered| numbered.0 == 1, &mut happened);
        assert_eq!(happened, [Happening::AskWithdrawn { key: AskKey(2) }]);
        assert!(requests.waiting(AskKey(2)).is_none() && requests.waiting(AskKey(3)).is_some());
    }

    #[test]
    fn questions_of_one_call_are_asked_one_after_the_other_and_answered_together() {
        let question =
            |text: &str| Inquiry::Question { text: text.to_owned(), options: Vec::new(), several: false };
        let asked = |happened: &mut Vec<Happening>| match happened.pop() {
            Some(Happening::Inquired { key, inquiry, part }) => {
                (key, inquiry.about().words().to_owned(), part.map(|part| (part.call.0, part.last)))
            }
            other => panic!("{other:?}"),
        };
        let words = |text: &str| Told::Words(vec![text.to_owned()]);
        for (second, reply) in
            [(words("b"), "[Some([\"a\"]), Some([\"b\"])]"), (Told::Nobody, "[Some([\"a\"]), None]")]
        {
            let mut requests = Requests::new(Vec::new());
            let mut happened = Vec::new();
            requests.inquire(Numbered(7), vec![question("A?"), question("B?")], &mut happened);
            assert_eq!(asked(&mut happened), (AskKey(1), "A?".to_owned(), Some((1, false))));
            requests.answer(AskKey(1), &words("a"), &mut happened);
            assert_eq!(asked(&mut happened), (AskKey(2), "B?".to_owned(), Some((1, true))));
            requests.answer(AskKey(2), &second, &mut happened);
            assert_eq!(happened, [Happening::Reply(format!("7 {reply}").into_bytes())]);
        }
        let mut requests = Requests::new(Vec::new());
        let mut happened = Vec::new();
        requests.inquire(Numbered(7), vec![question("A?"), question("B?")], &mut happened);
        requests.answer(AskKey(1), &Told::Nobody, &mut happened);
        assert_eq!(
            happened.pop(),
            Some(Happening::Reply(b"7 [None, None]".to_vec())),
            "nobody is asked the rest"
        );
        happened.clear();
        requests.plan(Numbered(8), "the plan".to_owned(), &mut happened);
        assert_eq!(asked(&mut happened), (AskKey(2), "the plan".to_owned(), None));
        requests.answer(AskKey(2), &words("smaller"), &mut happened);
        assert_eq!(happened, [Happening::Reply(b"8 back: smaller".to_vec())]);
    }
}
