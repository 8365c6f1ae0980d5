//! A person who commands an agent over IRC while herder is killed again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use herder::core::agent::Agent;
use herder::core::event::Event;
use herder::core::id::AgentName;
use herder::journal::{Entry, Journal, Stream};

use super::accounts::Ledger;
use super::{Field, LONG, Moments, find};
use crate::stage::{PATIENCE, Person, plain, said};

/// Between commands, each of two lines, and before a question is asked again: the server relays ten lines a second from
/// one person, and what it holds back would reach the herder after the one it was meant for.
const PACE: Duration = Duration::from_millis(220);

/// The answers to the person who commands [`LONG`].
#[derive(Default)]
pub(super) struct Commanded {
    /// True if it is paused; `None` if unknown.
    pub(super) paused: Option<bool>,
    /// Tasks that were accepted.
    given: BTreeSet<u64>,
    /// Tasks that were cancelled, or may have been.
    cancelled: BTreeMap<u64, bool>,
    /// Commands that were acknowledged, by kind.
    pub(super) acknowledged: BTreeMap<&'static str, usize>,
    /// Those of them that were accepted, and those that stay unanswered.
    accepted: BTreeMap<&'static str, usize>,
    unanswered: BTreeMap<&'static str, usize>,
    /// The number of checks of the state after a kill.
    pub(super) compared: usize,
    /// The lines that were said and heard, for the search of a failure's cause.
    course: Vec<String>,
}

impl Commanded {
    fn course(&self) -> String {
        self.course[self.course.len().saturating_sub(30)..].join("\n")
    }
}

/// Commands [`LONG`] over IRC at random until all is over. Whatever a kill left unanswered is looked up; whatever was
/// acknowledged must hold.
pub(super) async fn command(field: Arc<Field>, ledger: Arc<Ledger>, mut moments: Moments) -> Commanded {
    let channel = format!("#{LONG}");
    let mut boss = Person::join(field.server.address(), "boss", None, &[&channel]).await;
    let mut told = Commanded::default();
    let mut asked = 0;
    while !ledger.is_over() {
        tokio::time::sleep(PACE + moments.millis(60)).await;
        let (kind, task) = match moments.millis(6).as_millis() {
            0 => ("pause now", None),
            1 => ("resume", None),
            2 => ("task add", None),
            3 => ("abort", None),
            4 => ("restart", None),
            _ => match told.given.iter().find(|task| !told.cancelled.contains_key(task)) {
                Some(task) => ("task cancel", Some(*task)),
                None => ("task add", None),
            },
        };
        let line = match (kind, task) {
            ("task add", _) => format!("!task add {LONG} go on"),
            (_, Some(task)) => format!("!task cancel #{task}"),
            _ => format!("@{LONG} {kind}"),
        };
        if let Some(task) = task {
            told.cancelled.insert(task, false);
        }
        until_a_question_is_answered(&mut boss, &channel, &mut asked, |_| false).await;
        boss.say(&channel, &line).await;
        let answer = answered(&mut boss, &ledger, &mut asked, kind, task).await;
        if let Some(answer) = &answer {
            told.course.push(format!("{line}: {answer}"));
            *told.acknowledged.entry(kind).or_default() += 1;
            ledger.kinds.send_replace(told.acknowledged.len());
            let refused =
                ["already", "not paused", "nothing to abort"].iter().any(|words| answer.contains(words));
            *told.accepted.entry(kind).or_default() += usize::from(!refused);
            match kind {
                "pause now" => {
                    let was = told.paused.replace(true);
                    assert!(
                        !answer.contains("already") || was != Some(false),
                        "{}\n{}",
                        told.course(),
                        field.log()
                    );
                }
                "resume" => {
                    let was = told.paused.replace(false);
                    assert!(
                        !answer.contains("not paused") || was != Some(true),
                        "{}\n{}",
                        told.course(),
                        field.log()
                    );
                }
                "restart" => told.paused = Some(false),
                "task add" => told.given.extend(number_of(answer)),
                _ => told.cancelled.extend(task.map(|task| (task, true))),
            }
            continue;
        }
        // herder was killed before it answered, or before it received the command.
        *told.unanswered.entry(kind).or_default() += 1;
        let paused = is_paused(&field).await;
        told.course.push(format!("{line}: not answered; paused is now {paused}"));
        if !matches!(kind, "pause now" | "resume" | "restart") {
            let known = told.paused.unwrap_or(paused);
            assert_eq!(
                paused,
                known,
                "what was acknowledged does not hold after a kill\n{}\n{}",
                told.course(),
                field.log()
            );
            told.compared += 1;
        }
        told.paused = Some(paused);
    }
    told
}

/// Asks a question that was never asked before until herder answers it, and returns the line that satisfies `or` and
/// comes first; `None` if that is the answer to the question. A herder that was killed may repeat lines of the life
/// before, and its answers look alike; the answer to a new question comes behind all of them. So a line after it is
/// no answer to an earlier command, and a command without an answer before it stays unanswered.
async fn until_a_question_is_answered(
    boss: &mut Person,
    channel: &str,
    asked: &mut u64,
    or: impl Fn(&str) -> bool,
) -> Option<String> {
    *asked += 1;
    // No task has such a number.
    let task = 1_000_000_000 + *asked;
    let answer = format!("There is no task {task}.");
    loop {
        boss.say(channel, &format!("!task cancel #{task}")).await;
        // It is lost as long as herder is away, and not obeyed until herder knows that it is no replay.
        let heard = boss.expect_forever(|line| line.contains(&answer) || or(line));
        let Ok(line) = tokio::time::timeout(PACE, heard).await else { continue };
        return (!line.contains(&answer)).then_some(line);
    }
}

/// Returns the answer to a command, `None` if herder goes away first or never received it.
async fn answered(
    boss: &mut Person,
    ledger: &Ledger,
    asked: &mut u64,
    kind: &str,
    task: Option<u64>,
) -> Option<String> {
    let any = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let fits = |text: &str| match kind {
        "pause now" => {
            !text.contains("Task") && any(text, &["stay paused", "is paused", "will pause", "already"])
        }
        "resume" => !text.contains("Task") && any(text, &["resumes", "not paused"]),
        "task add" => any(text, &["queued for", "takes up"]),
        "abort" => any(text, &["discarded", "nothing to abort", "already being stopped"]),
        "restart" => any(text, &["starts afresh", "already being stopped"]),
        // A running one is stopped, and its number is not said again.
        _ => {
            any(text, &["task was cancelled", "already being stopped"])
                || task.is_some_and(|task| text.contains(&format!("Task {task} ")))
        }
    };
    let answers = |line: &str| {
        said(line).is_some_and(|(_, _, text)| {
            let text = plain(text);
            text.starts_with("boss") && fits(&text)
        })
    };
    let ends = |line: &str| answers(line) || line.contains(" QUIT ");
    let heard = tokio::select! {
        line = boss.expect_forever(ends) => Some(line),
        () = ledger.over() => None,
    };
    let line = match heard {
        Some(line) => line,
        // Once no kill follows, no connection is lost either.
        None => until_a_question_is_answered(boss, &format!("#{LONG}"), asked, ends).await?,
    };
    said(&line).map(|(_, _, text)| plain(text))
}

/// Returns the number of a task, which is the first in an answer about one.
pub(super) fn number_of(text: &str) -> Option<u64> {
    text.split_whitespace().find_map(|word| word.trim_matches(['#', '.']).parse().ok())
}

/// Returns whether [`LONG`] is paused, or about to be, according to the current or next herder.
pub(super) async fn is_paused(field: &Field) -> bool {
    let started = std::time::Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(data) = field.ask("status", &[LONG]).await.and_then(|answer| answer.data) {
            let is = |key: &str, wanted: &str| find(&data, key).is_some_and(|value| value == wanted);
            let stopping = is("phase", "stopping") && (is("reason", "pause") || is("reason", "stop-all"));
            return is("phase", "paused") || stopping || find(&data, "pause_pending") == Some(&true.into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("herder never came back\n{}", field.log());
}

/// Every task that was accepted is there, or was given up, and the record has as many commands to give up. The record
/// has each accepted command once, and of the unanswered ones no more than there were.
pub(super) fn tasks_are_as_told(told: &Commanded, journal: &Journal, seed: u64) {
    let recorded = |stream: &Stream| journal.history(stream, usize::MAX, None).unwrap();
    let mut commands: BTreeMap<String, usize> = BTreeMap::new();
    for one in recorded(&Stream::Audit) {
        let Entry::Audit(audit) = one.entry else { continue };
        if audit.by.name == "boss" {
            *commands.entry(audit.verb).or_default() += 1;
        }
    }
    let count = |verb: &str| commands.get(verb).copied().unwrap_or_default();
    for kind in told.acknowledged.keys() {
        let known = |of: &BTreeMap<&str, usize>| of.get(kind).copied().unwrap_or_default();
        let (accepted, unanswered) = (known(&told.accepted), known(&told.unanswered));
        let on_record = count(kind.trim_end_matches(" now"));
        assert!(
            (accepted..=accepted + unanswered).contains(&on_record),
            "seed {seed}: {kind}: {accepted} were accepted, {unanswered} not answered, {on_record} are on record"
        );
    }

    let stream = Stream::Agent(AgentName::new(LONG).unwrap());
    let long = journal.load::<Agent>(&stream).unwrap().state;
    let there: BTreeSet<u64> = long.queue.iter().chain(&long.current).map(|work| work.id.0).collect();
    let ended = recorded(&stream).into_iter().filter_map(|one| match one.entry {
        Entry::Agent(Event::TaskEnded { work, .. }) => Some(work.0),
        _ => None,
    });
    let ended: Vec<u64> = ended.collect();
    for task in &told.given {
        let over = ended.iter().filter(|ended| *ended == task).count();
        assert!(
            over + usize::from(there.contains(task)) == 1,
            "seed {seed}: #{task}: {over} ends; there are {there:?}"
        );
        assert!(over == 1 || told.cancelled.get(task) != Some(&true), "seed {seed}: #{task} was cancelled");
    }
    assert_eq!(ended.len(), count("abort") + count("task cancel"), "seed {seed}: {commands:?}; {ended:?}");
}
