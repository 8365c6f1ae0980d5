//! The lines of all lives of herder, counted: each job is reported as done, then as over, and its task is reported to
//! machines. Nothing of it is missing, and nothing is repeated but the last window of a life that was cut short.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use super::Field;
use crate::stage::{PATIENCE, Person, said};

/// Lines that one window holds: what may be seen twice after a kill.
const WINDOW: usize = 4;

/// A line of herder's.
#[derive(Debug)]
pub(super) struct Line {
    /// The number of herder's life that said it.
    life: u64,
    pub(super) channel: String,
    pub(super) text: String,
}

/// The records of all people.
#[derive(Default)]
pub(super) struct Ledger {
    /// Jobs that herder acknowledged or was found to have, and the numbers of their tasks.
    pub(super) acknowledged: Mutex<BTreeMap<String, u64>>,
    /// The lines that were said, in order.
    pub(super) heard: Mutex<Vec<Line>>,
    /// Jobs that take up room until they are reported as done.
    pub(super) owed: Mutex<BTreeSet<String>>,
    /// The number of kinds of commands that were acknowledged.
    pub(super) kinds: watch::Sender<usize>,
    pub(super) over: watch::Sender<bool>,
}

impl Ledger {
    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until the kills are over.
    pub(super) async fn over(&self) {
        self.over.subscribe().wait_for(|over| *over).await.expect("the ledger has the sender");
    }

    /// Waits until so many kinds of commands were acknowledged.
    pub(super) async fn kinds(&self, enough: usize) {
        self.kinds.subscribe().wait_for(|kinds| *kinds >= enough).await.expect("the ledger has the sender");
    }

    /// Gives back the room that a job took up, once.
    pub(super) fn settle(&self, job: &str, room: &Semaphore) {
        if self.owed.lock().unwrap().remove(job) {
            room.add_permits(1);
        }
    }

    /// Returns the acknowledged jobs without a report, whether they ran, and the last lines.
    pub(super) fn unheard(&self, field: &Field) -> String {
        let heard = self.heard.lock().unwrap();
        let told = Told::of(&heard);
        let acknowledged = self.acknowledged.lock().unwrap();
        let missing: Vec<_> = acknowledged.iter().filter(|job| !told.is_complete(job)).collect();
        let is_missing = |run: &String| missing.iter().any(|(job, _)| *job == run);
        let runs: Vec<_> = field.lines("runs").into_iter().filter(is_missing).collect();
        let last = &heard[heard.len().saturating_sub(60)..];
        let collapsed: Vec<_> = heard.iter().filter(|line| line.text.contains("while away")).collect();
        format!(
            "posts are missing for {missing:?}; collapsed {collapsed:?}; runs {runs:?}; heard last: {last:#?}"
        )
    }
}

/// Writes down what herder says, and gives back the room of finished jobs.
pub(super) async fn listen(
    mut person: Person,
    ledger: Arc<Ledger>,
    rooms: BTreeMap<&'static str, Arc<Semaphore>>,
) {
    // The server says when a life is over, behind the last line of it.
    let mut life = 0;
    loop {
        let line = person.expect_forever(|line| said(line).is_some() || line.contains(" QUIT ")).await;
        let Some((_, to, text)) = said(&line) else {
            life += 1;
            continue;
        };
        let (channel, text) = (to.to_owned(), text.to_owned());
        let room = rooms.get(to.trim_start_matches('#'));
        if let (Some(job), Some(room)) = (text.strip_prefix("│ done "), room) {
            ledger.settle(job, room);
        }
        ledger.heard.lock().unwrap().push(Line { life, channel, text });
    }
}

/// The first occurrence of each line, by its subject.
#[derive(Default)]
struct Told<'a> {
    /// Jobs with their own line.
    done: BTreeSet<&'a str>,
    /// Jobs that the channel's next ✅ was about.
    over: BTreeSet<&'a str>,
    /// Numbers of tasks in #work.
    tasks: BTreeSet<u64>,
    /// Repeated lines: the place of each, and that of the first.
    again: Vec<(usize, usize)>,
}

impl<'a> Told<'a> {
    fn of(heard: &'a [Line]) -> Self {
        let mut told = Self::default();
        // The jobs of a channel as it told of them first; the one that it told of last, for whatever time, and in which life.
        let mut jobs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut current: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
        // The place of each job's ✅.
        let mut over: BTreeMap<&str, usize> = BTreeMap::new();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, line) in heard.iter().enumerate() {
            let channel = line.channel.as_str();
            if let Some(job) = line.text.strip_prefix("│ done ") {
                if told.done.insert(job) {
                    first.insert(&line.text, index);
                    jobs.entry(channel).or_default().push(job);
                } else {
                    told.again.push((index, first[line.text.as_str()]));
                }
                current.insert(channel, (job, line.life));
            } else if line.text.starts_with('✅') {
                let Some((last, life)) = current.get(channel) else { continue };
                // A life may begin with a repeat of the life before: then the following line is a repeat too, in this
                // life or, if it was cut short, in a later one.
                let next = heard[index + 1..].iter().filter(|other| other.channel == line.channel);
                let next = next.filter_map(|other| other.text.strip_prefix("│ done ")).next();
                let repeated = next.filter(|next| *life < line.life && told.done.contains(next));
                let job = match repeated {
                    Some(next) => {
                        let of_channel = &jobs[channel];
                        let at = of_channel.iter().position(|job| *job == next).expect("it was told of here");
                        // Before its first job a channel told of another worker's.
                        let Some(before) = at.checked_sub(1) else { continue };
                        of_channel[before]
                    }
                    None => last,
                };
                match over.get(job) {
                    Some(before) => told.again.push((index, *before)),
                    None => {
                        over.insert(job, index);
                        told.over.insert(job);
                    }
                }
            } else if let Some(task) = line.text.strip_prefix("DONE ") {
                let task = task.parse().expect("the number of a task");
                if told.tasks.insert(task) {
                    first.insert(&line.text, index);
                } else {
                    told.again.push((index, first[line.text.as_str()]));
                }
            }
        }
        told
    }

    fn is_complete(&self, (job, task): &(&String, &u64)) -> bool {
        self.done.contains(job.as_str()) && self.over.contains(job.as_str()) && self.tasks.contains(*task)
    }
}

/// Waits until every acknowledged job was said to be done and over, in its channel and to machines.
pub(super) async fn everything_is_heard(
    ledger: &Ledger,
    acknowledged: &BTreeMap<String, u64>,
    field: &Field,
) {
    let started = std::time::Instant::now();
    loop {
        let all_heard = {
            let heard = ledger.heard.lock().unwrap();
            let told = Told::of(&heard);
            acknowledged.iter().all(|job| told.is_complete(&job))
        };
        if all_heard {
            return;
        }
        assert!(started.elapsed() < 3 * PATIENCE, "{}\n{}", ledger.unheard(field), field.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Checks that every job that was done is reported as over, and to machines, once. A repeat must be among the last
/// lines of the life that said it before.
pub(super) fn is_accounted_for(heard: &[Line], acknowledged: &BTreeMap<String, u64>, seed: u64) {
    let told = Told::of(heard);
    let missing: Vec<_> = acknowledged.iter().filter(|job| !told.is_complete(job)).collect();
    assert!(missing.is_empty(), "seed {seed}: posts are missing for {missing:?}");
    assert_eq!(told.over, told.done, "seed {seed}: each ✅ stands behind its own job");
    assert_eq!(told.tasks.len(), told.done.len(), "seed {seed}: as many tasks are done as jobs");
    for (again, before) in told.again {
        let (again, first) = (&heard[again], &heard[before]);
        let later = heard[before + 1..].iter().take_while(|line| line.life == first.life).count();
        assert!(first.life < again.life, "seed {seed}: {again:?} was said twice in one life");
        assert!(later < WINDOW, "seed {seed}: {again:?} was repeated though {later} lines followed it");
    }
}

/// Checks that a channel was told this: once, but for a repeat of the last lines of a life that was cut short.
pub(super) fn is_said(heard: &[Line], (channel, words): (&str, &str), seed: u64) {
    let says = |line: &&(usize, &Line)| line.1.channel == channel && line.1.text.contains(words);
    let lines: Vec<_> = heard.iter().enumerate().collect();
    let mut said = lines.iter().filter(says);
    let Some((at, first)) = said.next() else { panic!("seed {seed}: {channel} was never told {words:?}") };
    for (_, again) in said {
        let later = heard[at + 1..].iter().take_while(|line| line.life == first.life);
        // Answers in other channels are sent outside of the window.
        let later = later.filter(|line| line.channel == channel).count();
        assert!(first.life < again.life, "seed {seed}: {again:?} was said twice in one life");
        assert!(later < WINDOW, "seed {seed}: {again:?} was repeated though {later} lines followed it");
    }
}

#[test]
fn a_repeat_that_was_cut_short_is_not_the_end_of_the_next_job() {
    let line =
        |life, channel: &str, text: &str| Line { life, channel: channel.to_owned(), text: text.to_owned() };
    let (one, two) = ("│ done one", "│ done two");
    let mut heard = vec![line(0, "#a", one), line(0, "#a", "✅ a"), line(0, "#a", two)];
    // The next life repeats one line of these, and is killed before it repeats the other.
    heard.push(line(1, "#a", "✅ a"));
    heard.extend((0..WINDOW).map(|_| line(1, "#b", "something else")));
    heard.extend([line(2, "#a", "✅ a"), line(2, "#a", two), line(2, "#a", "✅ a")]);
    heard.extend([line(2, "#work", "DONE 1"), line(2, "#work", "DONE 2")]);
    let told = Told::of(&heard);
    assert_eq!((&told.over, told.over.len()), (&told.done, 2));
    is_accounted_for(&heard, &[("one".to_owned(), 1), ("two".to_owned(), 2)].into(), 0);
}
