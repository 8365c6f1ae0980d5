//! The task board: records of agents and the board about each other.

use std::sync::Arc;
use std::time::Duration;

use herder::core::board::BoardEvent;
use herder::core::card::{Attempt, Before, Card, ChatThread, Needs, Priority, Spent};
use herder::core::check::{Check, Evidence, Void};
use herder::core::checkout::{Act, CheckoutEvent, CloneSetup, Held, Plan, Repository};
use herder::core::dealings::{Cut, Onward};
use herder::core::detail::{GitReason, Own};
use herder::core::event::Event;
use herder::core::file::{FileKind, KeptFile};
use herder::core::id::{SessionId, WorkId};
use herder::core::notice::{Notice, Refusal};
use herder::core::outcome::{Category, Usage};
use herder::core::post::SentFile;
use herder::core::pull::{
    Client, FailedCheck, Forge, News, Numbers, Opened, PullRequest, Remark, RemarkKind, Seen,
};
use herder::core::review::{Back, Change, Landed, Landing, Method, OnAccept, Opinion, ReviewOf, Reviewer};
use herder::core::spec::Permissions;
use herder::core::time::Timestamp;
use herder::core::verdict::Lapse;
use herder::core::work::{Actor, TaskEnd, Work, WorkKind};
use herder::journal::FleetEvent;

use super::super::{agent, ann};
use super::samples::work;

const AT: Timestamp = Timestamp::from_millis(1_763_700_300_000);

fn carded() -> Work {
    let needs = Needs { permissions: Some(Permissions::Full), tags: ["rust".to_owned()].into() };
    let attempt = Attempt {
        agent: agent("spark"),
        session: SessionId(3),
        category: Category::Crash,
        detail: "exit code 3".into(),
        at: AT,
    };
    let card = Card {
        priority: Priority::High,
        needs,
        after: Vec::new(),
        check: None,
        parent: Some(WorkId(20)),
        most: None,
        depth: 1,
        attempts: vec![attempt],
        came: Some(AT),
        thread: None,
        spent: Spent::default(),
        of: None,
        checkout: None,
        review: None,
        files: Vec::new(),
    };
    Work { card: Some(Box::new(card)), ..work(21, WorkKind::Task) }
}

/// Returns a task that comes after two others, one of which is done.
fn waiting() -> Work {
    let before = |task, end| Before { task: WorkId(task), end };
    let after = vec![before(20, Some(TaskEnd::Done)), before(21, None)];
    Work { card: Some(Box::new(Card { after, ..Card::default() })), ..work(28, WorkKind::Task) }
}

/// Returns the evidence of a check that has failed.
pub(super) fn evidence() -> Evidence {
    Evidence {
        command: "make test".to_owned(),
        code: Some(2),
        signal: Some(9),
        took: Duration::from_millis(1_500),
        late: true,
        commit: "0b".repeat(20),
        tree: "0c".repeat(20),
        uncommitted: 1,
        void: None,
        output: "1 failed\n".to_owned(),
    }
}

/// Returns one of each reason why work goes back to its agent.
fn backs() -> Vec<Back> {
    let branch = || "main".to_owned();
    vec![
        Back::Uncommitted { files: 2 },
        Back::Rejected { by: ann(), why: "name the error".to_owned() },
        Back::Conflict { branch: branch(), files: vec!["src/lib.rs".to_owned()] },
        Back::Red { branch: branch(), evidence: Box::new(evidence()) },
    ]
}

/// Returns one of each event about clones, and a message about a task with one.
fn checkouts() -> Vec<Event> {
    let (task, base) = (WorkId(21), "0a".repeat(20));
    let repository = Repository {
        path: "/srv/app".into(),
        url: String::new(),
        base: "main".to_owned(),
        copy: vec![".env.local".to_owned()],
        git_name: "spark".to_owned(),
        git_email: "spark@example.org".to_owned(),
        setup: None,
        check: None,
        landing: Landing::default(),
        forge: None,
    };
    let plan = Plan {
        task,
        repository: repository.clone(),
        branch: "herder/21-port".to_owned(),
        begun: false,
        onto: None,
        worked: Vec::new(),
        check: None,
        pull: None,
    };
    let check = Check { command: "make test".to_owned(), timeout: Check::TIMEOUT, tries: Check::TRIES };
    let checked = Repository { check: Some(Box::new(check)), ..repository.clone() };
    let checked = Plan { repository: checked, begun: true, ..plan.clone() };
    let landing = Landing { review: Reviewer::Person, on_accept: OnAccept::Merge(Method::Rebase) };
    let reviewed = Repository { landing, ..repository };
    let onto = Some("main".to_owned());
    let reviewed = Plan { repository: reviewed, begun: true, onto, ..plan.clone() };
    let review = Reviewer::Agent { name: agent("flint"), rounds: 3 };
    let landing = Landing { review, on_accept: OnAccept::Keep };
    let by_agent = Repository { landing, ..reviewed.repository.clone() };
    let worked = vec![agent("spark")];
    let reviewed_by_agent = Plan { repository: by_agent, worked, ..reviewed.clone() };
    let held =
        Held { base: base.clone(), head: "0b".repeat(20), commits: 2, uncommitted: 1, ..Held::default() };
    let measured = Held { nowhere: 3, size: 12_000_000, larger: true, ..held.clone() };
    let extent = Held { files: 3, added: 40, removed: 2, ..held.clone() };
    let message = Card { of: Some(task), checkout: Some(Box::new(plan.clone())), ..Card::default() };
    let why = GitReason::Late { command: "git clone".to_owned() };
    let void = |void| {
        let evidence = Evidence { void: Some(void), ..evidence() };
        CheckoutEvent::Checked { task, evidence: Some(Box::new(evidence)) }
    };
    let mut events =
        vec![Event::Queued { work: Work { card: Some(Box::new(message)), ..work(27, WorkKind::Message) } }];
    events.extend(
        [
            CheckoutEvent::Planned { plan: plan.clone() },
            CheckoutEvent::Made { task, base: base.clone(), onto: None },
            CheckoutEvent::Made { task, base, onto: Some("main".to_owned()) },
            CheckoutEvent::Reading { task },
            CheckoutEvent::Read { task, held },
            CheckoutEvent::Removing { task, by: ann() },
            CheckoutEvent::Removed { task },
            CheckoutEvent::Failed { task, act: Act::Make, why: why.with("signal 9") },
            CheckoutEvent::Opened { task, by: ann() },
            CheckoutEvent::Read { task, held: measured },
            CheckoutEvent::Planned { plan: checked },
            CheckoutEvent::Checking { task, work: WorkId(27), note: "ported".into() },
            CheckoutEvent::Checked { task, evidence: None },
            CheckoutEvent::Checked { task, evidence: Some(Box::new(evidence())) },
            void(Void::Moved),
            void(Void::OffBranch { branch: "herder/21-port".to_owned() }),
            CheckoutEvent::Failed { task, act: Act::Check, why: Own::DriverGone.into() },
            CheckoutEvent::Planned { plan: reviewed },
            CheckoutEvent::Read { task, held: extent },
            CheckoutEvent::InReview { task, note: "ported".into(), asked: None },
            CheckoutEvent::Accepted { task, by: ann() },
            CheckoutEvent::Landed { task, landed: landed("") },
            CheckoutEvent::Failed {
                task,
                act: Act::Merge,
                why: GitReason::BaseMoved { branch: "main".to_owned() }.into(),
            },
        ]
        .map(Event::Checkout),
    );
    events.extend(backs().into_iter().flat_map(|back| {
        let sent = CheckoutEvent::SentBack { task, back: back.clone() };
        [sent, CheckoutEvent::Returned { task, back }].map(Event::Checkout)
    }));
    let command = || "npm ci".to_owned();
    let setup = CloneSetup { command: command(), timeout: CloneSetup::TIMEOUT };
    let prepared = Repository { setup: Some(Box::new(setup)), ..plan.repository.clone() };
    let not_set_up = [
        GitReason::SetupFailed { command: command(), code: 1 }.with("no registry"),
        GitReason::SetupKilled { command: command(), signal: 9 }.into(),
        GitReason::SetupLate { command: command() }.into(),
    ];
    let prepared = CheckoutEvent::Planned { plan: Plan { repository: prepared, ..plan } };
    let not_set_up = not_set_up.map(|why| CheckoutEvent::Failed { task, act: Act::Make, why });
    events.extend(not_set_up.into_iter().chain([prepared]).map(Event::Checkout));
    let why = GitReason::NoVerdict { reviewer: "flint".to_owned() }.into();
    let landing = Landing { on_accept: OnAccept::Pull { follow_ups: 3 }, ..Landing::default() };
    let by_pull = Repository {
        path: "repositories/app-0a1b.git".into(),
        url: "https://forge.example/moss/app.git".to_owned(),
        landing,
        forge: Some(Box::new(forge())),
        ..Repository::default()
    };
    let by_pull = Plan { repository: by_pull, ..reviewed_by_agent.clone() };
    let pulled = PullRequest {
        opened: pull(),
        seen: Seen { comments: Numbers { up_to: 1, read: [7].into() }, ..Seen::default() },
        red: "0b".repeat(20),
        follow_ups: 1,
    };
    let by_pull = Plan { pull: Some(Box::new(pulled)), ..by_pull };
    let checked_so = Plan { check: Some("make test".into()), ..reviewed_by_agent.clone() };
    events.extend(
        [
            CheckoutEvent::InReview { task, note: "ported".into(), asked: Some(agent("flint")) },
            CheckoutEvent::Accepted { task, by: Actor::agent(&agent("flint")) },
            CheckoutEvent::LeftToPerson { task, why },
            CheckoutEvent::Planned { plan: reviewed_by_agent },
            CheckoutEvent::Planned { plan: checked_so },
            CheckoutEvent::Planned { plan: by_pull },
            CheckoutEvent::Proposed { task, pull: pull() },
            CheckoutEvent::Heard { task, news: news() },
            CheckoutEvent::Returned {
                task,
                back: Back::Outside { link: pull().link, news: Box::new(news()) },
            },
            CheckoutEvent::Landed { task, landed: landed(&pull().link) },
        ]
        .map(Event::Checkout),
    );
    events
}

pub(super) fn events() -> Vec<Event> {
    let low = Card { priority: Priority::Low, ..Card::default() };
    let low = Work { card: Some(Box::new(low)), ..work(22, WorkKind::Task) };
    let thread = Some(ChatThread { network: "discord".into(), id: "1442000000000000000".to_owned() });
    let threaded = Card { thread, ..Card::default() };
    let threaded = Work { card: Some(Box::new(threaded)), ..work(25, WorkKind::Message) };
    let cut = |id, text: &str| Cut { id: WorkId(id), text: text.into() };
    let onwards = [
        Onward::To(None),
        Onward::To(Some(agent("flint"))),
        Onward::Split(vec![cut(23, "first"), cut(24, "second")]),
        Onward::Broader(Permissions::Full),
    ];
    let usage = Usage { input_tokens: 1200, output_tokens: 30, cost_usd: 0.5, ..Usage::default() };
    let mut events = checkouts();
    events.extend([
        Event::TaskTaken { number: 1, work: carded() },
        Event::Queued { work: low },
        Event::Queued { work: threaded },
        Event::BoardHeard { up_to: 3 },
        Event::SplitBegun { work: WorkId(21), number: 5, until: AT },
        Event::SplitEnded { number: 5, lapse: None, usage, unmetered: false },
        Event::SplitEnded {
            number: 5,
            lapse: Some(Lapse::TimedOut { after_ms: 30_000 }),
            usage: Usage::default(),
            unmetered: true,
        },
    ]);
    let back = |onward| Event::TaskHandedBack { work: WorkId(21), onward, by: ann() };
    events.extend(onwards.map(back));
    let checked = Card { check: Some("make test".into()), ..Card::default() };
    events.push(Event::Queued { work: Work { card: Some(Box::new(checked)), ..work(29, WorkKind::Task) } });
    events
}

fn file() -> KeptFile {
    let sha256 = "0f".repeat(32).parse().expect("a digest");
    KeptFile { name: "cat.png".to_owned(), size: 15, sha256, kind: FileKind::Png }
}

/// Returns files that an agent sends.
pub(super) fn files() -> [SentFile; 2] {
    let (link, first) = (Some("https://example.org/files/1/x/y/cat.png".to_owned()), String::new());
    let linked = SentFile { agent: agent("spark"), file: file(), text: "see this".to_owned(), link, first };
    let begun = SentFile { text: String::new(), link: None, first: "line 1".to_owned(), ..linked.clone() };
    [linked, begun]
}

/// Returns work that has come with a file.
pub(super) fn with_a_file() -> Event {
    let card = Card { files: vec![file()], ..Card::default() };
    Event::Queued { work: Work { card: Some(Box::new(card)), ..work(29, WorkKind::Message) } }
}

/// Returns a task that is the review of another one.
fn review() -> Work {
    let of = ReviewOf {
        agent: agent("spark"),
        task: WorkId(21),
        number: 1,
        url: String::new(),
        path: "/srv/app".into(),
        base: "0a".repeat(20),
        head: "0b".repeat(20),
    };
    Work {
        card: Some(Box::new(Card { review: Some(Box::new(of)), ..Card::default() })),
        ..work(29, WorkKind::Task)
    }
}

fn reviewed(opinion: Option<Opinion>) -> BoardEvent {
    BoardEvent::Reviewed { agent: agent("flint"), number: 4, work: WorkId(29), opinion }
}

pub(super) fn fleet() -> Vec<FleetEvent> {
    let (task, number, work) = (WorkId(21), 2, Arc::new(carded()));
    let (spark, flint) = (agent("spark"), agent("flint"));
    let end = TaskEnd::Failed;
    let events = [
        BoardEvent::Added { work: Arc::clone(&work) },
        BoardEvent::Taken {
            agent: spark.clone(),
            number,
            work: Arc::clone(&work),
            to: Some(flint.clone()),
            by: ann(),
        },
        BoardEvent::Directed { task, to: None, by: ann() },
        BoardEvent::Offered { task, to: flint, number },
        BoardEvent::Accepted { task, number },
        BoardEvent::Returned { task, number },
        BoardEvent::Split { task, parts: vec![work], to: None, by: ann() },
        BoardEvent::PartOver { agent: spark, number, part: task, parent: WorkId(20), end, outcome: None },
        BoardEvent::Cancelling { task, by: ann() },
        BoardEvent::Reopened { task, to: None, by: ann() },
        BoardEvent::Ended { task, end: TaskEnd::Cancelled, by: Some(ann()) },
        BoardEvent::Ended { task, end: TaskEnd::Done, by: None },
        BoardEvent::Reworded { task, text: "other words".into(), by: ann() },
        BoardEvent::Added { work: Arc::new(waiting()) },
        BoardEvent::AwaitedOver { task: WorkId(28), awaited: task, end },
        BoardEvent::ReviewAsked { work: Arc::new(review()), to: agent("flint") },
        reviewed(Some(Opinion { accepts: false, words: "name the error".to_owned() })),
        reviewed(None),
        BoardEvent::ReviewGivenUp { task },
        BoardEvent::ReviewClosed { task },
    ];
    events.into_iter().map(|event| FleetEvent::Board { event }).collect()
}

pub(super) fn notices() -> Vec<Notice> {
    let (task, spark) = (WorkId(21), agent("spark"));
    vec![
        Notice::Boarded { task, fits: true },
        Notice::TaskMoved { task, from: Some(spark.clone()), to: None },
        Notice::TaskSplit { task, parts: vec![WorkId(22), WorkId(23)] },
        Notice::BoardCancelled { task, parts: 2 },
        Notice::TaskTaken { agent: spark.clone(), task, work: "fix it".into() },
        Notice::TaskReleased { agent: spark.clone(), task },
        Notice::TaskSplitting { agent: spark.clone(), task },
        Notice::TaskOpened { agent: spark.clone(), task },
        Notice::TaskDropping { agent: spark.clone(), task },
        Notice::CheckPassed {
            agent: spark.clone(),
            task,
            command: "make test".to_owned(),
            took: evidence().took,
            commit: evidence().short_commit(),
        },
        Notice::CheckFailed {
            agent: spark.clone(),
            task,
            command: "make test".to_owned(),
            took: evidence().took,
            why: evidence().why(),
            again: true,
        },
        Notice::TaskInReview {
            agent: spark.clone(),
            task,
            change: Change { commits: 2, files: 3, added: 40, removed: 2, uncommitted: 1 },
            checked: Some("make test".to_owned()),
            cost_usd: 0.25,
            onto: Some("main".to_owned()),
            reviewer: None,
        },
        Notice::TaskAccepted {
            agent: spark.clone(),
            task,
            by: "ann".to_owned(),
            merges: true,
            proposes: false,
        },
        Notice::TaskRejected { agent: spark.clone(), task, by: "ann".to_owned() },
        Notice::TaskLanded {
            agent: spark.clone(),
            task,
            branch: "main".to_owned(),
            commit: "0d0d0d0d0d".to_owned(),
        },
        Notice::TaskReturned {
            agent: spark.clone(),
            task,
            why: GitReason::Conflict { branch: "main".to_owned(), files: "src/lib.rs".to_owned() }.into(),
        },
        Notice::CheckoutFailed {
            agent: spark.clone(),
            task,
            act: Act::Make,
            why: GitReason::NoRepository { path: "/srv/app".to_owned() }.into(),
        },
        Notice::TaskNeedsMore { agent: spark, task, permissions: Permissions::Full },
        Notice::PartFailed { task, part: WorkId(22), end: TaskEnd::Blocked },
        Notice::AwaitedNotDone { task, awaited: WorkId(22), end: TaskEnd::Failed },
        Notice::TaskWaits { task, after: vec![WorkId(7), WorkId(8)], to: Some(agent("spark")), fits: true },
        Notice::NobodySuffices { task, needs: "full,rust".into() },
        Notice::BoardReworded { task, work: "fix it well".into() },
        Notice::ReviewLeft {
            agent: agent("spark"),
            task,
            why: GitReason::RejectedOften { reviewer: "flint".to_owned(), times: 3 }.with("name the error"),
        },
        Notice::TaskInReview {
            agent: agent("spark"),
            task,
            change: Change::default(),
            checked: None,
            cost_usd: 0.0,
            onto: None,
            reviewer: Some(agent("flint")),
        },
        Notice::TaskAccepted {
            agent: agent("spark"),
            task,
            by: "ann".to_owned(),
            merges: false,
            proposes: true,
        },
        Notice::TaskProposed { agent: agent("spark"), task, link: pull().link },
    ]
}

fn landed(link: &str) -> Landed {
    let (branch, commit, head) = ("main".to_owned(), "0d".repeat(20), "0b".repeat(20));
    Landed { branch, commit, head, link: link.to_owned() }
}

fn forge() -> Forge {
    Forge {
        client: Client::Program("/usr/local/bin/forge".into()),
        host: "forge.example".to_owned(),
        env: [("GH_HOST".to_owned(), "forge.example".to_owned())].into(),
        inherit_env: vec!["SSH_AUTH_SOCK".to_owned()],
        env_files: [("GH_TOKEN".to_owned(), "/etc/herder/token".into())].into(),
        every: Forge::EVERY,
    }
}

fn pull() -> Opened {
    let link = "https://forge.example/moss/app/pull/5".to_owned();
    Opened { number: 5, link, branch: "main".to_owned(), head: "0b".repeat(20) }
}

fn news() -> News {
    let check = |text: &str, link: &str| FailedCheck {
        name: "test".to_owned(),
        text: text.to_owned(),
        link: link.to_owned(),
    };
    let remark = |kind, place: &str| Remark {
        kind,
        number: 9,
        by: "moss".to_owned(),
        place: place.to_owned(),
        text: "name the error".to_owned(),
    };
    News {
        failed: vec![check("1 failed", "https://forge.example/checks/1"), check("", "")],
        remarks: vec![
            remark(RemarkKind::Comment, ""),
            remark(RemarkKind::Line, "src/lib.rs:7"),
            remark(RemarkKind::Review, ""),
        ],
    }
}

pub(super) fn refusals() -> Vec<Refusal> {
    let (task, agent) = (WorkId(21), agent("spark"));
    vec![
        Refusal::TaskRunning { agent: agent.clone(), task },
        Refusal::NoCheckout { task },
        Refusal::InReview { agent: agent.clone(), task },
        Refusal::NotInReview { task },
        Refusal::WorkedOn { agent: agent.clone(), task },
        Refusal::NotAsReviewed { agent: agent.clone(), task },
        Refusal::BeingMerged { task, by: "alice".to_owned() },
        Refusal::TaskMoving { task },
        Refusal::Deserted { agent: agent.clone() },
        Refusal::TaskKept { agent, task },
        Refusal::TaskIsSplit { task },
        Refusal::SplitParts { task, parts: 1, max: 5 },
        Refusal::SplitTooDeep { task, max: 2 },
        Refusal::BoardFull { max: 1_000 },
        Refusal::IsReview { task },
        Refusal::PullOpen { task, link: pull().link },
    ]
}
