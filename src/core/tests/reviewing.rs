//! Reviews by another agent: the board asks for them, and sees that each verdict reaches the task once, whatever message is
//! lost.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Desk, Step, spec};
use crate::agent::{Agent, Phase};
use crate::ask::AskKey;
use crate::board::{Board, BoardEvent, Door, Wish};
use crate::checkout::{Acted, Base, Held, Repository, Stage};
use crate::dealings::{Cut, Onward};
use crate::event::Event;
use crate::id::{AgentName, WorkId};
use crate::input::{Control, Input, Signal};
use crate::notice::Refusal;
use crate::outcome::{Category, Outcome};
use crate::review::{Landing, OnAccept, Opinion, Reviewer};
use crate::spec::{Autonomy, Runtime};
use crate::work::{Actor, TaskEnd, TaskReport, WorkKind};

const TASK: WorkId = WorkId(1);

/// An author whose tasks another agent reviews, that agent, and the board between them.
struct Pair {
    board: Board,
    author: Desk,
    reviewer: Desk,
    ids: u64,
    /// Number of requests, by number of the review.
    asked: BTreeMap<u32, u32>,
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).expect("a name")
}

fn held(head: &str) -> Held {
    Held { base: "base".to_owned(), head: head.to_owned(), commits: 1, ..Held::default() }
}

/// Does what the supervisor owes the agent's clones; a session left them with this commit.
fn acts(desk: &mut Desk, head: &str) {
    loop {
        let due = desk.agent.check_due();
        let all = desk.agent.checkouts.all.iter();
        let next = all.filter_map(|(task, checkout)| match checkout.stage {
            Stage::Planned => {
                Some((*task, Acted::Made(Base { commit: "base".to_owned(), onto: "main".to_owned() })))
            }
            Stage::Removing => Some((*task, Acted::Removed)),
            Stage::Made if checkout.unread => Some((*task, Acted::Read(checkout.reads, Ok(held(head))))),
            Stage::Made => {
                due.filter(|(of, _)| of == task).map(|(_, number)| (*task, Acted::Checked(number, Ok(None))))
            }
            Stage::NotMade => None,
        });
        let Some((task, acted)) = next.collect::<Vec<_>>().into_iter().next() else { return };
        desk.tell(&Input::Checkout { task, acted });
    }
}

/// The session of this agent begins, if it has work.
fn runs(desk: &mut Desk) {
    if matches!(desk.agent.phase, Phase::Starting { .. }) {
        desk.runs();
    }
}

/// The agent says so and its session ends well.
fn says(desk: &mut Desk, opinion: Option<Opinion>) -> Step {
    if opinion.is_some() {
        let report = TaskReport { end: TaskEnd::Done, note: String::new(), denied: None, opinion };
        let session = desk.session();
        desk.tell(&Input::Reported { session, report });
    }
    desk.ends(Outcome::new(Category::Success, ""))
}

fn accepts() -> Opinion {
    Opinion { accepts: true, words: "it is right".to_owned() }
}

fn rejects(words: &str) -> Opinion {
    Opinion { accepts: false, words: words.to_owned() }
}

impl Pair {
    /// An author at work on a task that the other agent reviews at most this often.
    fn new(rounds: u32) -> Self {
        let review = Reviewer::Agent { name: name("ember"), rounds };
        let landing = Landing { review, on_accept: OnAccept::Keep };
        let mut author = spec(Runtime::Claude);
        author.repository =
            Some(Box::new(Repository { path: "/srv/app".into(), landing, ..Repository::default() }));
        let mut author = Desk::with(author);
        author.give(WorkKind::Task, TASK.0, "fix the parser");
        acts(&mut author, "base");
        author.runs();
        let mut reviewer = spec(Runtime::Codex);
        reviewer.name = name("ember");
        reviewer.repository = Some(Box::new(Repository { path: "/srv/app".into(), ..Repository::default() }));
        let reviewer = Desk::with(reviewer);
        Self { board: Board::default(), author, reviewer, ids: 100, asked: BTreeMap::new() }
    }

    /// The author's session ends well with this commit.
    fn done(&mut self, head: &str) {
        self.author.succeeds();
        acts(&mut self.author, head);
        runs(&mut self.author);
    }

    fn record(&mut self, events: Vec<BoardEvent>) {
        for event in events {
            if let BoardEvent::ReviewAsked { work, .. } = &event {
                let number = work.card().review.as_ref().map_or(0, |of| of.number);
                *self.asked.entry(number).or_default() += 1;
            }
            self.board.apply(&event, self.author.now);
        }
    }

    fn desk(&mut self, of_author: bool) -> (AgentName, &mut Desk) {
        if of_author { (name("spark"), &mut self.author) } else { (name("ember"), &mut self.reviewer) }
    }

    /// The board looks at an agent, and hands out tasks.
    fn look(&mut self, of_author: bool) {
        let (now, mut ids) = (self.author.now, self.ids);
        let (agent, desk) = self.desk(of_author);
        let state = desk.agent.clone();
        let events = self.board.look(&agent, &state, now);
        self.record(events);
        let fresh = || {
            ids += 1;
            WorkId(ids)
        };
        let events = self.board.look_for_reviews(&agent, &state, now, fresh);
        self.ids = ids;
        self.record(events);
        let names = [name("ember"), name("spark")];
        let agents: [(&AgentName, &Agent); 2] =
            [(&names[0], &self.reviewer.agent), (&names[1], &self.author.agent)];
        let there = agents.into_iter().filter(|(_, agent)| agent.phase != Phase::Removed);
        let events = self.board.deal(&there.collect::<Vec<_>>(), |_, _| Door::Open, now);
        self.record(events);
    }

    /// Delivers the board's messages to an agent; true if they changed anything.
    fn deliver(&mut self, to_author: bool) -> bool {
        let board = self.board.clone();
        let (name, desk) = self.desk(to_author);
        let errands = board.errands(&name, &desk.agent);
        let before = desk.agent.clone();
        for errand in errands {
            drop(desk.try_tell(&errand));
        }
        acts(desk, "review");
        runs(desk);
        desk.agent != before
    }

    /// Every message arrives.
    fn settle(&mut self) {
        loop {
            let before = self.board.clone();
            let mut moved = false;
            for of_author in [true, false] {
                self.look(of_author);
                moved |= self.deliver(of_author);
            }
            if !moved && self.board == before {
                return;
            }
        }
    }

    /// The other agent says so at the end of its review.
    fn reviewed(&mut self, opinion: Option<Opinion>) {
        says(&mut self.reviewer, opinion);
        acts(&mut self.reviewer, "base");
        self.settle();
    }

    fn end(&self) -> Option<TaskEnd> {
        self.author.agent.finished.iter().find(|over| over.work.id == TASK).map(|over| over.end)
    }

    /// Returns true if the task waits for a person.
    fn waits_for_person(&self) -> bool {
        self.author.agent.checkouts.is_reviewed()
    }
}

#[test]
fn another_agent_accepts_a_task() {
    let mut pair = Pair::new(3);
    pair.done("a");
    assert!(!pair.waits_for_person() && !pair.author.agent.needs_a_person(pair.author.now));
    pair.settle();
    let current = pair.reviewer.agent.current.clone().expect("it reviews");
    let of = current.card().review.clone().expect("a review");
    assert_eq!((of.agent.as_str(), of.task, of.head.as_str()), ("spark", TASK, "a"));
    let checkout = pair.reviewer.agent.checkout().expect("it has a clone");
    assert_eq!(
        (checkout.plan.repository.path.to_str(), &*checkout.plan.repository.base),
        (Some("/srv/app"), "a")
    );
    assert!(current.text.contains("<task>\nfix the parser\n</task>"), "{}", current.text);
    pair.reviewed(Some(accepts()));
    assert_eq!(pair.end(), Some(TaskEnd::Done));
    let proof = pair.author.agent.finished.back().and_then(|over| over.proof.clone()).expect("it is kept");
    assert_eq!(proof.accepted.map(|by| (by.is_agent(), by.name)), Some((true, "ember".to_owned())));
    assert!(pair.board.reviews.is_empty() && pair.board.tasks.is_empty(), "{:?}", pair.board);
    assert!(pair.reviewer.agent.checkouts.all.is_empty(), "its clone is removed");
}

#[test]
fn rejections_go_back_with_their_words_and_then_to_a_person() {
    let mut pair = Pair::new(2);
    pair.done("a");
    pair.settle();
    pair.reviewed(Some(rejects("name the error")));
    assert_eq!(pair.author.agent.current.as_ref().map(|work| work.id), Some(TASK));
    let words = pair.author.agent.checkouts.all[&TASK].sent_back(TASK).expect("it is told");
    assert!(
        words.starts_with("ember has looked at your work on this and sends it back:\n\nname the error"),
        "{words}"
    );
    pair.done("b");
    pair.settle();
    let step = says(&mut pair.reviewer, Some(rejects("still none")));
    assert!(step.told().contains("TaskEnded"), "{}", step.told());
    acts(&mut pair.reviewer, "base");
    pair.look(false);
    let errands = pair.board.errands(&name("spark"), &pair.author.agent);
    let [errand] = &errands[..] else { panic!("one verdict, not {errands:?}") };
    let step = pair.author.tell(errand);
    assert_eq!(step.told(), "Checkout(LeftToPerson");
    let said = "#alerts ReviewLeft { task: WorkId(1), why: \"ember has rejected it 2 times: still none\" }";
    assert!(step.said().contains(said), "{}", step.said());
    assert!(pair.waits_for_person());
    assert_eq!(pair.author.tell(errand).told(), "", "a repeated message");
    pair.settle();
    pair.author.ask(Control::Accept(TASK));
    assert_eq!(pair.end(), Some(TaskEnd::Done));
}

#[test]
fn a_review_without_a_verdict_is_left_to_a_person() {
    let mut pair = Pair::new(3);
    pair.done("a");
    pair.settle();
    pair.reviewed(None);
    assert!(pair.waits_for_person() && pair.end().is_none());
    // A reviewer that does not exist, too.
    let mut pair = Pair::new(3);
    pair.reviewer.ask(Control::Remove);
    pair.done("a");
    pair.settle();
    assert!(pair.waits_for_person(), "{:?}", pair.board);
    // One without a repository, and one that is paused before or beside its review.
    let mut pair = Pair::new(3);
    pair.reviewer.agent.spec.as_mut().expect("it has one").repository = None;
    pair.done("a");
    pair.settle();
    assert!(pair.waits_for_person(), "{:?}", pair.board);
    let mut pair = Pair::new(3);
    pair.reviewer.ask(Control::Pause { now: false });
    pair.done("a");
    pair.settle();
    assert!(pair.waits_for_person() && pair.reviewer.agent.queue.is_empty(), "{:?}", pair.board);
    let mut pair = Pair::new(3);
    pair.done("a");
    pair.settle();
    pair.reviewer.ask(Control::Pause { now: true });
    pair.reviewer.ends(Outcome::new(Category::Interrupted, ""));
    acts(&mut pair.reviewer, "a");
    pair.settle();
    assert!(pair.waits_for_person(), "{:?}", pair.board);
    assert!(pair.reviewer.agent.queue.is_empty() && pair.reviewer.agent.checkouts.all.is_empty());
}

#[test]
fn a_review_that_cannot_be_done_ends_and_halts_nobody() {
    for category in [Category::ContextOverflow, Category::SandboxDenial] {
        let mut pair = Pair::new(3);
        pair.done("a");
        pair.settle();
        let step = pair.reviewer.fails(category);
        assert!(step.told().contains("TaskEnded(101 Failed)"), "{}", step.told());
        acts(&mut pair.reviewer, "a");
        pair.settle();
        assert!(pair.waits_for_person() && pair.reviewer.agent.phase == Phase::Idle, "{:?}", pair.board);
        assert!(pair.reviewer.agent.checkouts.all.is_empty(), "its clone is removed");
    }
}

#[test]
fn a_review_is_neither_moved_nor_split() {
    let mut pair = Pair::new(3);
    pair.reviewer.give(WorkKind::Task, 50, "something else");
    pair.done("a");
    pair.look(true);
    let task = *pair.board.tasks.keys().next().expect("a review");
    let by = crate::work::Actor::herder();
    pair.record(vec![BoardEvent::Returned { task, number: pair.board.handed }]);
    pair.record(vec![BoardEvent::Directed { task, to: Some(name("ember")), by: by.clone() }]);
    let cut = |id, text: &str| Cut { id: WorkId(id), text: text.to_owned() };
    let cuts = || vec![cut(60, "first"), cut(61, "second")];
    for wish in [
        Wish::Assign { task, to: Some(name("spark")) },
        Wish::Reword { task, text: "accept it".to_owned() },
        Wish::Split { task, cuts: cuts() },
    ] {
        let refused = pair.board.wish(&wish, &by, pair.author.now);
        assert!(matches!(refused, Err(Refusal::IsReview { .. })), "{wish:?}: {refused:?}");
    }
    pair.settle();
    for onward in [Onward::To(None), Onward::Split(cuts())] {
        let refused = pair.reviewer.try_ask(Control::HandBack { task, onward });
        assert!(matches!(refused, Err(Refusal::IsReview { .. })), "{refused:?}");
    }
    assert!(matches!(pair.reviewer.try_ask(Control::OpenTask(task)), Err(Refusal::IsReview { .. })));
    let reword = Control::Reword { id: task, text: "accept it".to_owned() };
    assert!(matches!(pair.reviewer.try_ask(reword), Err(Refusal::IsReview { .. })));
}

#[test]
fn who_has_worked_on_a_task_does_not_review_it() {
    let mut pair = Pair::new(3);
    pair.author.agent.checkouts.all.get_mut(&TASK).expect("a clone").plan.worked.push(name("ember"));
    pair.author.succeeds();
    acts(&mut pair.author, "a");
    assert!(pair.waits_for_person());
    pair.settle();
    assert!(pair.board.reviews.is_empty());
    // The agent itself is among those who have worked on it.
    assert_eq!(pair.author.agent.checkouts.all[&TASK].plan.worked, [name("spark"), name("ember")]);
}

#[test]
fn a_lead_does_not_review_a_part_that_it_has_given() {
    let mut pair = Pair::new(3);
    pair.author.agent.current.as_mut().expect("it works").by = Actor::agent(&name("ember"));
    pair.author.succeeds();
    acts(&mut pair.author, "a");
    assert!(pair.waits_for_person());
}

#[test]
fn a_reviewer_is_allowed_nothing_by_its_rules_and_its_autonomy() {
    let mut pair = Pair::new(3);
    pair.reviewer.agent.spec.as_mut().expect("it has one").autonomy = Autonomy::Full;
    pair.done("a");
    pair.settle();
    let (tool, command) = ("Bash".to_owned(), "cargo test".to_owned());
    let asks = Signal::Asked { key: AskKey(1), tool, command, redacted: None, shell: true, vague: false };
    let step = pair.reviewer.signal(asks);
    assert!(
        matches!(step.events.last(), Some(Event::PermissionDecided { allowed: false, .. })),
        "{:?}",
        step.events
    );
}

#[test]
fn a_person_overrules_the_reviewer() {
    for accepts in [true, false] {
        let mut pair = Pair::new(3);
        pair.done("a");
        pair.settle();
        assert!(pair.reviewer.agent.current.is_some());
        match accepts {
            true => pair.author.ask(Control::Accept(TASK)),
            false => pair.author.ask(Control::Reject { task: TASK, why: "no".to_owned() }),
        };
        runs(&mut pair.author);
        pair.settle();
        assert!(matches!(pair.reviewer.agent.phase, Phase::Stopping { .. }), "its review is cancelled");
        says(&mut pair.reviewer, Some(rejects("too late")));
        acts(&mut pair.reviewer, "base");
        pair.settle();
        assert_eq!(pair.end().is_some(), accepts);
        assert_eq!(pair.author.agent.current.is_some(), !accepts);
        assert!(pair.board.reviews.is_empty());
    }
}

#[test]
fn a_verdict_waits_while_its_task_is_worked_on() {
    let mut pair = Pair::new(3);
    pair.done("a");
    pair.settle();
    pair.author.give(WorkKind::Message, 2, "what is left?");
    runs(&mut pair.author);
    pair.reviewed(Some(accepts()));
    assert_eq!(pair.end(), None);
    // The message changed nothing.
    pair.done("a");
    pair.settle();
    assert_eq!(pair.end(), Some(TaskEnd::Done));
}

#[test]
fn what_changed_beside_a_review_is_accepted_by_no_agent() {
    let mut pair = Pair::new(3);
    pair.done("a");
    pair.settle();
    pair.author.give(WorkKind::Message, 2, "and rename it");
    runs(&mut pair.author);
    pair.author.ask(Control::Abort);
    pair.author.ends(Outcome::new(Category::Interrupted, ""));
    acts(&mut pair.author, "b");
    pair.reviewed(Some(accepts()));
    assert!(pair.waits_for_person() && pair.end().is_none(), "{:?}", pair.author.agent.checkouts);
}

#[test]
fn changed_work_is_reviewed_anew() {
    let mut pair = Pair::new(3);
    pair.done("a");
    pair.settle();
    pair.author.give(WorkKind::Message, 2, "and rename it");
    runs(&mut pair.author);
    pair.reviewed(Some(accepts()));
    pair.done("b");
    assert_eq!(pair.end(), None, "what was accepted is not what is there");
    pair.settle();
    let of = pair.reviewer.agent.current.as_ref().and_then(|work| work.card().review.clone());
    assert_eq!(of.map(|of| (of.number, of.head)), Some((2, "b".to_owned())));
    let (number, by, opinion) = (1, name("ember"), Some(accepts()));
    let late = Input::Reviewed { task: TASK, number, by, opinion };
    assert_eq!(pair.author.tell(&late).told(), "", "a verdict on the review before");
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Op {
    Done(u8),
    Message,
    Verdict(Option<bool>),
    Crash(bool),
    Person(bool),
    Remove,
    Look(bool),
    Deliver(bool),
    Pause(bool),
    Pass,
    Settle,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3_u8).prop_map(Op::Done),
        1 => Just(Op::Message),
        4 => prop::option::weighted(0.8, any::<bool>()).prop_map(Op::Verdict),
        1 => any::<bool>().prop_map(Op::Crash),
        1 => any::<bool>().prop_map(Op::Person),
        1 => Just(Op::Remove),
        4 => any::<bool>().prop_map(Op::Look),
        4 => any::<bool>().prop_map(Op::Deliver),
        1 => any::<bool>().prop_map(Op::Pause),
        1 => Just(Op::Pass),
        2 => Just(Op::Settle),
    ]
}

fn happens(pair: &mut Pair, op: &Op, ids: &mut u64) {
    let is_running = |desk: &Desk| matches!(desk.agent.phase, Phase::Running { .. });
    match op {
        Op::Done(head) if is_running(&pair.author) => pair.done(["a", "b", "c"][usize::from(*head)]),
        Op::Message => {
            *ids += 1;
            pair.author.give(WorkKind::Message, 1_000_000 + *ids, "and this");
            acts(&mut pair.author, "a");
            runs(&mut pair.author);
        }
        Op::Verdict(verdict) if is_running(&pair.reviewer) => {
            let opinion = verdict.map(|accepts| Opinion { accepts, words: "so".to_owned() });
            says(&mut pair.reviewer, opinion);
            acts(&mut pair.reviewer, "base");
            runs(&mut pair.reviewer);
        }
        Op::Crash(author) => {
            let (_, desk) = pair.desk(*author);
            if is_running(desk) {
                desk.fails(Category::Transient);
                acts(desk, "a");
                runs(desk);
            }
        }
        Op::Person(accepts) => {
            let control = match accepts {
                true => Control::Accept(TASK),
                false => Control::Reject { task: TASK, why: "no".to_owned() },
            };
            drop(pair.author.try_ask(control));
            acts(&mut pair.author, "a");
            runs(&mut pair.author);
        }
        Op::Remove if pair.ids.is_multiple_of(3) => drop(pair.reviewer.try_ask(Control::Remove)),
        Op::Pause(now) => {
            let control = if *now { Control::Pause { now: true } } else { Control::Resume };
            drop(pair.reviewer.try_ask(control));
            if matches!(pair.reviewer.agent.phase, Phase::Stopping { .. }) {
                pair.reviewer.ends(Outcome::new(Category::Interrupted, ""));
            }
            acts(&mut pair.reviewer, "a");
            runs(&mut pair.reviewer);
        }
        Op::Look(author) => pair.look(*author),
        Op::Deliver(author) => drop(pair.deliver(*author)),
        Op::Pass => {
            for author in [true, false] {
                let (_, desk) = pair.desk(author);
                desk.pass(3600);
                desk.tell(&Input::Tick);
                acts(desk, "a");
                runs(desk);
            }
        }
        Op::Settle => pair.settle(),
        Op::Done(_) | Op::Verdict(_) | Op::Remove => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever messages come late: each review is asked for once, no verdict is taken twice, and once all have arrived a
    /// task that waits for an agent has a review that goes on, and no review goes on that nothing waits for.
    #[test]
    fn each_review_is_asked_for_once_and_ends(ops in prop::collection::vec(op(), 1..60)) {
        let mut pair = Pair::new(2);
        let mut ids = 0;
        for op in &ops {
            happens(&mut pair, op, &mut ids);
        }
        pair.settle();
        prop_assert!(pair.asked.values().all(|times| *times == 1), "{:?}", pair.asked);
        let waiting: Vec<_> = pair.author.agent.asked_reviews().map(|(task, asked)| (task, asked.number)).collect();
        let open: Vec<_> = pair.board.reviews.iter().map(|(task, known)| (*task, known.number)).collect();
        prop_assert_eq!(&waiting, &open);
        let there = pair.reviewer.agent.all_works().chain(pair.board.tasks.values().map(|boarded| &*boarded.work));
        let going: Vec<WorkId> = there.filter(|work| work.card().review.is_some()).map(|work| work.id).collect();
        for known in pair.board.reviews.values() {
            let at_rest = pair.author.agent.is_at_rest(TASK);
            prop_assert!(going.contains(&known.work) || known.answer.is_some() && !at_rest, "{:?}", known);
            prop_assert!(known.answer.is_some() || !pair.reviewer.agent.stands_still(), "{:?}", known);
        }
        let stopping = matches!(pair.reviewer.agent.phase, Phase::Stopping { .. });
        prop_assert!(stopping || going.len() <= pair.board.reviews.len(), "{:?} {:?}", going, pair.board.reviews);
        prop_assert!(pair.author.agent.finished.iter().filter(|over| over.work.id == TASK).count() <= 1);
    }
}
