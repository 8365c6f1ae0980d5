//! Tasks as they are listed and shown, wherever they are.

use std::collections::BTreeMap;

use serde_json::json;

use super::record::Record;
use crate::commands::desk::{Answer, Desk};
use crate::commands::say::{DOT, Voice, WORK_MAX, end_key, person, task};
use crate::core::agent::Agent;
use crate::core::board::{Board, Boarded, Part, Place as OnBoard};
use crate::core::card::Priority;
use crate::core::check::Evidence;
use crate::core::id::{AgentName, WorkId};
use crate::core::lead::ParkedTask;
use crate::core::review::{Landed, Proof, Review};
use crate::core::work::{Actor, FinishedTask, Work, WorkKind};
use crate::l10n::Value;
use crate::supervisor::View;

/// The states of a task in data for programs.
pub(crate) const STATES: [&str; 11] = [
    "queued",
    "running",
    "waiting",
    "checking",
    "review",
    "merging",
    "proposed",
    "blocked",
    "done",
    "failed",
    "cancelled",
];

/// The place of a task: with an agent (being worked on, or waiting), on the board, moving between them, or ended.
pub(crate) enum Place<'a> {
    Current(&'a Work),
    Queued(&'a Work),
    /// The agent says that the task is done, and a check has not confirmed it yet.
    Checking(&'a Work),
    /// The task waits for a person or for others at a forge, or is being merged.
    Reviewed(&'a Review),
    /// The task waits for parts that its agent has added.
    Parked(&'a ParkedTask),
    /// The task was handed back by its agent, and the board has not recorded it yet.
    Moving(&'a Work),
    Over(&'a FinishedTask),
    Boarded(&'a Boarded),
}

impl<'a> Place<'a> {
    fn of(agent: &Agent, work: &'a Work) -> Self {
        let current = agent.current.as_ref().is_some_and(|current| current.id == work.id);
        match agent.checkouts.is_being_checked(work.id) {
            _ if current => Self::Current(work),
            true => Self::Checking(work),
            false => Self::Queued(work),
        }
    }

    pub(super) fn work(&self) -> &'a Work {
        match self {
            Self::Current(work) | Self::Queued(work) | Self::Checking(work) | Self::Moving(work) => work,
            Self::Reviewed(review) => &review.work,
            Self::Parked(parked) => &parked.work,
            Self::Over(done) => &done.work,
            Self::Boarded(boarded) => &boarded.work,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self, Self::Over(_))
    }

    fn state(&self) -> &'static str {
        match self {
            Self::Current(_) => "running",
            Self::Checking(_) => "checking",
            Self::Reviewed(review) if review.is_being_merged() => "merging",
            Self::Reviewed(review) if review.is_outside() => "proposed",
            Self::Reviewed(_) => "review",
            Self::Parked(_) => "waiting",
            Self::Queued(_) | Self::Moving(_) => "queued",
            Self::Over(done) => end_key(done.end),
            Self::Boarded(boarded) => match &boarded.place {
                OnBoard::Queued { .. } if boarded.work.card().awaits_in_vain().is_some() => "blocked",
                OnBoard::Queued { .. } | OnBoard::Offered { .. } => "queued",
                OnBoard::Split { .. } if boarded.blocked_by().is_some() => "blocked",
                OnBoard::Split { .. } => "running",
            },
        }
    }
}

/// A task for `task list` or `task show`, with its holder and place.
pub(crate) struct Listed<'a> {
    /// The agent that has the task; `None` for the board.
    agent: Option<&'a AgentName>,
    place: Place<'a>,
}

/// Finds a task of one agent by its number: running, waiting or ended.
pub(crate) fn find(agent: &Agent, id: WorkId) -> Option<Place<'_>> {
    let open =
        agent.current.iter().chain(&agent.queue).find(|work| work.id == id && work.kind == WorkKind::Task);
    open.map(|work| Place::of(agent, work))
        .or_else(|| agent.checkouts.review(id).map(Place::Reviewed))
        .or_else(|| agent.board.parked().find(|parked| parked.work.id == id).map(Place::Parked))
        .or_else(|| agent.finished.iter().find(|done| done.work.id == id).map(Place::Over))
}

/// Finds a task of the board by its number, also an ended one.
pub(super) fn on_board(board: &Board, id: WorkId) -> Option<Listed<'_>> {
    let over = || board.finished.iter().find(|done| done.work.id == id).map(Place::Over);
    let place = board.tasks.get(&id).map(Place::Boarded).or_else(over)?;
    Some(Listed { agent: None, place })
}

/// The parts of all tasks, with their outcomes: those that they were split into, and those that their agents have added.
/// The parts of a task that is over are those that agents and board still keep.
pub(crate) struct Families(BTreeMap<WorkId, BTreeMap<WorkId, Part>>);

impl Families {
    pub(crate) fn of(views: &[View], board: &Board) -> Self {
        let mut families = Self(BTreeMap::new());
        for (id, led) in &board.leads {
            for part in &led.parts {
                families.add(*id, Part { id: part.id, end: part.result.as_ref().map(|result| result.end) });
            }
        }
        for (id, part) in
            board.tasks.keys().flat_map(|id| board.parts(*id).iter().map(move |part| (*id, *part)))
        {
            families.add(id, part);
        }
        let open = views.iter().flat_map(|view| view.agent.all_works());
        let open = open.chain(board.tasks.values().map(|boarded| &*boarded.work)).map(|work| (work, None));
        let over = views.iter().flat_map(|view| &view.agent.finished).chain(&board.finished);
        for (work, end) in open.chain(over.map(|over| (&over.work, Some(over.end)))) {
            if let Some(parent) = work.card().parent {
                families.add(parent, Part { id: work.id, end });
            }
        }
        families
    }

    fn add(&mut self, parent: WorkId, part: Part) {
        self.0.entry(parent).or_default().entry(part.id).or_insert(part);
    }

    /// Returns the parts of a task, in the order of their numbers.
    pub(crate) fn parts(&self, task: WorkId) -> Vec<Part> {
        self.0.get(&task).into_iter().flat_map(BTreeMap::values).copied().collect()
    }
}

/// Finds a task that an agent has handed back, before the board or another agent has it.
pub(super) fn moving<'a>(views: &'a [View], board: &Board, id: WorkId) -> Option<Listed<'a>> {
    let known = board.tasks.contains_key(&id) || on_board(board, id).is_some();
    if known || views.iter().any(|view| find(&view.agent, id).is_some()) {
        return None;
    }
    let work = views.iter().flat_map(|view| view.agent.board.handed_back()).find(|work| work.id == id)?;
    Some(Listed { agent: None, place: Place::Moving(work) })
}

/// Returns all tasks in the order of the list: open ones first (the board's, then the agents', in the order of work),
/// then ended ones, the latest first.
pub(crate) fn all_of<'a>(views: &'a [View], board: Option<&'a Board>) -> Vec<Listed<'a>> {
    let mut boarded: Vec<&Boarded> = board.into_iter().flat_map(|board| board.tasks.values()).collect();
    boarded.sort_by_key(|boarded| std::cmp::Reverse(boarded.work.card().priority));
    // A task that was being handed over may have arrived.
    let arrived = |boarded: &Boarded| views.iter().any(|view| find(&view.agent, boarded.work.id).is_some());
    boarded.retain(|boarded| !arrived(boarded));
    let mut open: Vec<Listed<'a>> =
        boarded.into_iter().map(|boarded| Listed { agent: None, place: Place::Boarded(boarded) }).collect();
    if let Some(board) = board {
        let handed_back = views.iter().flat_map(|view| view.agent.board.handed_back());
        open.extend(handed_back.filter_map(|work| moving(views, board, work.id)));
    }
    let mut over: Vec<Listed<'a>> = Vec::new();
    let ended = board.into_iter().flat_map(|board| &board.finished);
    over.extend(ended.map(|done| Listed { agent: None, place: Place::Over(done) }));
    for view in views {
        let (agent, name) = (&*view.agent, Some(&view.name));
        let works = agent.current.iter().chain(&agent.queue).filter(|work| work.kind == WorkKind::Task);
        open.extend(works.map(|work| Listed { agent: name, place: Place::of(agent, work) }));
        let reviews = agent.checkouts.reviews().map(Place::Reviewed);
        let parked = agent.board.parked().map(Place::Parked);
        open.extend(reviews.chain(parked).map(|place| Listed { agent: name, place }));
        over.extend(agent.finished.iter().map(|done| Listed { agent: name, place: Place::Over(done) }));
    }
    over.sort_by_key(|listed| std::cmp::Reverse(listed.place.work().id));
    open.into_iter().chain(over).collect()
}

impl<'a> Listed<'a> {
    /// Returns the agent that has the task; `None` for the board.
    pub(crate) fn agent(&self) -> Option<&'a AgentName> {
        self.agent
    }

    /// Returns the task itself.
    pub(crate) fn work(&self) -> &'a Work {
        self.place.work()
    }

    /// Returns the name of the task's state in data for programs.
    pub(crate) fn key(&self) -> &'static str {
        self.place.state()
    }

    /// Returns how the task ended; `None` if it is open.
    pub(crate) fn over(&self) -> Option<&'a FinishedTask> {
        match &self.place {
            Place::Over(done) => Some(done),
            Place::Current(_)
            | Place::Queued(_)
            | Place::Checking(_)
            | Place::Reviewed(_)
            | Place::Parked(_)
            | Place::Moving(_)
            | Place::Boarded(_) => None,
        }
    }

    /// Returns the review of the task, its merge included; `None` if it is not in review.
    pub(super) fn review(&self) -> Option<&'a Review> {
        match self.place {
            Place::Reviewed(review) => Some(review),
            Place::Current(_)
            | Place::Queued(_)
            | Place::Checking(_)
            | Place::Parked(_)
            | Place::Moving(_)
            | Place::Over(_)
            | Place::Boarded(_) => None,
        }
    }

    pub(super) fn with(agent: &'a AgentName, place: Place<'a>) -> Option<Self> {
        Some(Self { agent: Some(agent), place })
    }

    pub(crate) fn line(&self, voice: Voice<'_>) -> String {
        let work = self.place.work();
        let mark = match work.card().priority {
            Priority::High => "↑ ",
            Priority::Normal => "",
            Priority::Low => "↓ ",
        };
        let text = format!("{mark}{}", voice.short(&work.text, WORK_MAX));
        let (number, state) = (("task", task(work.id).into()), ("state", self.state(voice).into()));
        let text = ("text", text.into());
        match self.agent {
            Some(agent) => {
                voice.text("cmd-task-line", &[number, ("agent", agent.as_str().into()), state, text])
            }
            None => voice.text("cmd-task-board-line", &[number, state, text]),
        }
    }

    pub(crate) fn state(&self, voice: Voice<'_>) -> String {
        match &self.place {
            Place::Current(_) => voice.text("cmd-task-running", &[]),
            Place::Checking(_) => voice.text("cmd-task-checking", &[]),
            Place::Reviewed(review) if review.is_being_merged() => voice.text("cmd-task-merging", &[]),
            Place::Reviewed(review) if review.is_outside() => voice.text("cmd-task-proposed", &[]),
            Place::Reviewed(_) => voice.text("cmd-task-in-review", &[]),
            Place::Parked(parked) => {
                voice.text("cmd-task-waits", &[("tasks", numbers(parked.parts.iter().copied()).into())])
            }
            Place::Queued(_) | Place::Moving(_) => voice.text("cmd-task-queued", &[]),
            Place::Over(done) => voice.locale.task_end(done.end),
            Place::Boarded(boarded) => match &boarded.place {
                OnBoard::Queued { .. } if boarded.waits_for_others() => {
                    voice.text("cmd-task-waits", &[("tasks", numbers(boarded.work.card().awaited()).into())])
                }
                OnBoard::Queued { to: None } => voice.text("cmd-task-queued", &[]),
                OnBoard::Queued { to: Some(to) } | OnBoard::Offered { to, .. } => {
                    voice.text("cmd-task-queued-for", &[("agent", to.as_str().into())])
                }
                OnBoard::Split { parts, .. } => {
                    let over = parts.iter().filter(|part| part.end.is_some()).count();
                    let blocked = if boarded.blocked_by().is_some() { "yes" } else { "no" };
                    let counts =
                        [("over", over.into()), ("parts", parts.len().into()), ("blocked", blocked.into())];
                    voice.text("cmd-task-split", &counts)
                }
            },
        }
    }

    pub(super) fn data(&self, views: &[View], families: &Families) -> serde_json::Value {
        let note = match &self.place {
            Place::Over(done) => Some(done.note.to_string()),
            Place::Current(_)
            | Place::Queued(_)
            | Place::Checking(_)
            | Place::Reviewed(_)
            | Place::Parked(_)
            | Place::Moving(_)
            | Place::Boarded(_) => None,
        };
        let mut data = json!({
            "agent": self.agent, "state": self.place.state(), "work": self.place.work(), "note": note,
            "evidence": Record::of(self, views).data(), "parent": self.work().card().parent,
            "parts": families.parts(self.work().id),
        });
        if let Place::Boarded(boarded) = &self.place {
            data["board"] = json!(boarded.place);
        }
        data
    }

    /// Formats the reply of `task show`: everything about one task.
    pub(super) fn shown(&self, desk: &Desk<'_>, views: &[View], board: &Board) -> Answer {
        let voice = desk.voice();
        let work = self.place.work();
        let mut lines = vec![self.line(voice)];
        lines.push(voice.text(
            "cmd-task-given",
            &[
                ("name", person(&work.by).into()),
                ("network", work.by.network.as_str().into()),
                ("at", work.at.into()),
                ("attempts", work.attempts.into()),
            ],
        ));
        lines.extend(card(voice, work));
        lines.push(voice.short(&work.text, desk.text_max()));
        let proof = self.over().and_then(|over| over.proof.as_deref());
        lines.extend(branch(desk, views, work.id, proof));
        if let Place::Reviewed(review) = &self.place {
            let asked = review.asked();
            let since = [
                ("since", review.since.into()),
                ("task", work.id.to_string().into()),
                ("is_asked", if asked.is_some() { "yes" } else { "no" }.into()),
                ("reviewer", asked.map(|asked| asked.agent.to_string()).unwrap_or_default().into()),
            ];
            let accepted = review.accepted.as_ref();
            lines.push(match accepted.filter(|_| review.is_being_merged() || review.is_outside()) {
                Some(accepted) => voice.text("cmd-task-accepted", &[("name", person(&accepted.by).into())]),
                None => voice.text("cmd-task-reviewed", &since),
            });
            lines.extend(Record::of(self, views).pull(voice));
            lines.extend(
                review.left.as_ref().map(|why| voice.short(&voice.locale.detail(why), desk.text_max())),
            );
        }
        let over = self.over().and_then(|_| Record::of(self, views).pull(voice));
        lines.extend(over);
        lines.extend(
            proof.into_iter().flat_map(|proof| proved(voice, proof.accepted.as_ref(), proof.landed.as_ref())),
        );
        if !work.card().spent.is_none() {
            let spent = work.card().spent;
            let cost = [("cost", Value::Money(spent.dollars())), ("tokens", spent.tokens.into())];
            lines.push(voice.text("cmd-task-cost", &cost));
        }
        let before = work.card().after.iter().map(|before| Part { id: before.task, end: before.end });
        lines.extend(before.map(|before| format!("← {}", part_line(voice, &before, views, board))));
        let families = Families::of(views, board);
        let parts = families.parts(work.id);
        lines.extend(parts.iter().map(|part| format!("→ {}", part_line(voice, part, views, board))));
        let tried = work.card().attempts.iter().map(|attempt| {
            let how = voice.short(&voice.locale.detail(&attempt.detail), desk.text_max());
            let how = if how.is_empty() { how } else { format!(": {how}") };
            voice.text(
                "cmd-task-attempt",
                &[
                    ("agent", attempt.agent.as_str().into()),
                    ("session", attempt.session.to_string().into()),
                    ("at", attempt.at.into()),
                    ("category", voice.locale.category(attempt.category).into()),
                    ("detail", how.into()),
                ],
            )
        });
        lines.extend(tried);
        if let Place::Over(done) = &self.place {
            let note = voice.short(&voice.locale.detail(&done.note), desk.text_max());
            if !note.is_empty() {
                lines.push(voice.text("cmd-task-note", &[("note", note.into())]));
            }
        }
        Answer::lines(lines).with(self.data(views, &families))
    }
}

/// Formats the branch, the folder and the check of a task as lines of `task show`; none if it never had a clone.
fn branch(desk: &Desk<'_>, views: &[View], task: WorkId, proof: Option<&Proof>) -> Vec<String> {
    let voice = desk.voice();
    let Some((_, checkout)) = super::checkout(views, task) else {
        let check = proof.and_then(|proof| proof.check.as_ref());
        return check.map(|evidence| checked(voice, evidence, desk.text_max())).into_iter().collect();
    };
    let folder = desk.fleet.checkout_folder(task).to_string_lossy().into_owned();
    let held = checkout.held.clone().unwrap_or_default();
    let branch = voice.text("cmd-task-branch", &[("branch", checkout.plan.branch.as_str().into())]);
    let text = voice.text(
        "cmd-task-folder",
        &[
            ("folder", folder.into()),
            ("size", super::clones::size(voice, &held).into()),
            ("stage", super::clones::stage(checkout.stage).into()),
            ("commits", held.commits.into()),
            ("files", held.uncommitted.into()),
        ],
    );
    let evidence = checkout.evidence.as_ref().map(|evidence| checked(voice, evidence, desk.text_max()));
    [branch, text].into_iter().chain(evidence).collect()
}

/// Formats the result of a check as a line of `task show`.
pub(super) fn checked(voice: Voice<'_>, evidence: &Evidence, max: usize) -> String {
    let (took, how) = (evidence.took.into(), how(voice, evidence));
    let (command, commit) = (evidence.command.as_str().into(), evidence.short_commit().into());
    let how = voice.short(&how, max);
    let told = [("command", command), ("commit", commit), ("took", took), ("how", how.into())];
    voice.text("cmd-task-evidence", &told)
}

/// Formats who accepted the work of a task, and where it is.
pub(super) fn proved(voice: Voice<'_>, accepted: Option<&Actor>, landed: Option<&Landed>) -> Vec<String> {
    let by = accepted.filter(|by| !by.is_herder());
    let by = by.map(|by| voice.text("cmd-task-accepted", &[("name", person(by).into())]));
    let landed = landed.map(|landed| {
        let commit: String = landed.commit.chars().take(10).collect();
        let told = [("branch", landed.branch.as_str().into()), ("commit", commit.into())];
        voice.text("cmd-task-landed", &told)
    });
    by.into_iter().chain(landed).collect()
}

/// Formats how a check ended.
pub(crate) fn how(voice: Voice<'_>, evidence: &Evidence) -> String {
    match evidence.is_green() {
        true => voice.text("cmd-task-evidence-passed", &[]),
        false => voice.locale.detail(&evidence.why()),
    }
}

/// Formats a task's priority, requirements and parent task; `None` if it has none of them.
fn card(voice: Voice<'_>, work: &Work) -> Option<String> {
    let card = work.card();
    let mut pieces = Vec::new();
    if card.priority != Priority::Normal {
        pieces.push(voice.text("cmd-task-priority", &[("priority", card.priority.word().into())]));
    }
    if !card.needs.is_none() {
        pieces.push(voice.text("cmd-task-needs", &[("needs", card.needs.words().into())]));
    }
    if !card.after.is_empty() {
        let tasks = numbers(card.after.iter().map(|before| before.task));
        pieces.push(voice.text("cmd-task-after", &[("tasks", tasks.into())]));
    }
    if let Some(check) = &card.check {
        pieces.push(voice.text("cmd-task-check", &[("command", voice.short(check, WORK_MAX).into())]));
    }
    if let Some(parent) = card.parent {
        pieces.push(voice.text("cmd-task-part-of", &[("task", task(parent).into())]));
    }
    (!pieces.is_empty()).then(|| pieces.join(DOT))
}

fn numbers(tasks: impl Iterator<Item = WorkId>) -> String {
    tasks.map(task).collect::<Vec<_>>().join(", ")
}

/// Formats one part of a split task, or a task before it, as a line of `task show`.
fn part_line(voice: Voice<'_>, part: &Part, views: &[View], board: &Board) -> String {
    let with = || views.iter().find_map(|view| Listed::with(&view.name, find(&view.agent, part.id)?));
    let over = |listed: &Listed<'_>| part.end.is_none() || listed.place.is_over();
    match with().or_else(|| on_board(board, part.id)).filter(over) {
        Some(listed) => listed.line(voice),
        // Its agent does not keep it any more, or is about to get it.
        None => {
            let state =
                part.end.map_or_else(|| voice.text("cmd-task-queued", &[]), |end| voice.locale.task_end(end));
            format!("{} {state}", task(part.id))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use super::*;
    use crate::core::dealings::{Dealings, News, Numbered, Onward};
    use crate::core::id::{NetworkName, SessionId};
    use crate::core::lead::Leading;
    use crate::core::time::Timestamp;
    use crate::core::work::TaskEnd;
    use crate::runtime::Live;

    fn task_of(id: u64) -> Work {
        let by = Actor { network: NetworkName::from("net"), name: "alice".to_owned(), identity: None };
        let (text, at) = ("parser".to_owned(), Timestamp::default());
        Work { id: WorkId(id), kind: WorkKind::Task, text, by, at, attempts: 0, card: None }
    }

    fn view(name: &str, agent: Agent) -> View {
        let name = AgentName::new(name).expect("a name");
        View { name, agent: Arc::new(agent), live: Live::default(), hold: None, closed: false, runner: None }
    }

    #[test]
    fn parts_are_listed_with_their_task_while_it_waits_and_once_it_is_over() {
        let part = |id| {
            let mut part = task_of(id);
            part.card_mut().parent = Some(WorkId(7));
            part
        };
        let parked =
            ParkedTask { work: task_of(7), session: SessionId(3), parts: vec![WorkId(8), WorkId(9)] };
        let leading = Leading { parked: Some(Box::new(parked)), ..Leading::default() };
        let leads = Dealings { leads: [(WorkId(7), leading)].into(), ..Dealings::default() };
        let lead = view("spark", Agent { board: Box::new(leads), ..Agent::default() });
        let board = Board::default();
        let views = [lead, view("nova", Agent { queue: [part(8)].into(), ..Agent::default() })];
        let found = find(&views[0].agent, WorkId(7)).expect("it waits");
        assert_eq!((found.state(), found.work().id), ("waiting", WorkId(7)));
        let parts = |views: &[View]| Families::of(views, &board).parts(WorkId(7));
        assert_eq!(parts(&views), [Part { id: WorkId(8), end: None }]);
        let over = FinishedTask {
            work: part(8),
            end: TaskEnd::Done,
            at: Timestamp::default(),
            note: "built".into(),
            proof: None,
        };
        let views = [view("nova", Agent { finished: [over].into(), ..Agent::default() })];
        assert_eq!(parts(&views), [Part { id: WorkId(8), end: Some(TaskEnd::Done) }]);
    }

    #[test]
    fn a_task_that_was_handed_back_is_in_sight_before_the_board_has_it() {
        let by = task_of(7).by;
        let handed_back = News::HandedBack { work: Box::new(task_of(7)), onward: Onward::To(None), by };
        let news = VecDeque::from([Numbered { number: 1, news: handed_back }]);
        let from =
            Agent { board: Box::new(Dealings { told: 1, news, ..Dealings::default() }), ..Agent::default() };
        let views = [view("spark", from)];
        let board = Board::default();
        let states = |views: &[View]| -> Vec<(Option<String>, &'static str)> {
            let listed = all_of(views, Some(&board));
            listed.iter().map(|one| (one.agent.map(ToString::to_string), one.place.state())).collect()
        };
        assert_eq!(states(&views), [(None, "queued")]);
        assert!(moving(&views, &board, WorkId(7)).is_some() && moving(&views, &board, WorkId(8)).is_none());
        // Another agent has it before the first one knows that the board has passed it on.
        let to = Agent { queue: [task_of(7)].into(), ..Agent::default() };
        let [from] = views;
        assert_eq!(states(&[from, view("nova", to)]), [(Some("nova".to_owned()), "queued")]);
    }
}
