//! Bots, a log and what lies between them, with messages that are lost, late and doubled, and machines that stand still.

use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn terms() -> Terms {
    Terms::of(Duration::from_secs(3))
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A bot that has seen the log end with the record 7, and has it.
fn follower() -> Office {
    let mut office = Office::new(terms());
    office.copied(7, false);
    assert!(!office.looked(ms(900), ms(1000), 7));
    office
}

/// Asks every 100 ms, with answers after 10 ms, and returns the time of the claim.
fn claims(office: &mut Office, times: std::ops::Range<u64>, last: u64) -> Option<u64> {
    times.step_by(100).find(|at| office.looked(ms(*at), ms(at + 10), last))
}

/// A bot that has come into office at 5 s.
fn holder() -> Office {
    let mut office = follower();
    assert_eq!(claims(&mut office, 1000..6000, 7), Some(5000));
    office.accepted(ms(5010), ms(5020));
    office
}

#[test]
fn who_waits_claims_after_the_silence_alone() {
    let mut office = follower();
    assert_eq!(claims(&mut office, 1000..4999, 7), None);
    assert!(!office.looked(ms(4999), ms(5100), 7), "it counts when it was asked");
    assert!(office.looked(ms(5000), ms(5001), 7));
    assert_eq!(office.seat(), Seat::Claiming(7));
    assert!(!office.is_in_office(ms(5001)), "nothing is accepted yet");
    office.accepted(ms(5001), ms(5020));
    assert!(office.is_in_office(ms(8000)));
    assert!(!office.is_in_office(ms(8001)));
}

#[test]
fn a_record_begins_the_silence_anew() {
    let mut office = follower();
    assert!(!office.looked(ms(2900), ms(3000), 8));
    assert!(!office.looked(ms(2950), ms(3100), 7), "an answer that was overtaken");
    office.copied(8, false);
    assert_eq!(claims(&mut office, 3000..9000, 8), Some(7000));
}

#[test]
fn who_has_another_end_than_the_log_does_not_claim() {
    for copied in [6, 8] {
        let mut office = follower();
        office.copied(copied, false);
        assert_eq!(claims(&mut office, 1000..9000, 7), None);
        office.copied(7, false);
        assert!(office.looked(ms(9000), ms(9010), 7));
    }
}

#[test]
fn a_log_that_was_away_needs_to_be_calm_alone() {
    let mut office = follower();
    assert!(!office.looked(ms(4900), ms(5000), 8), "what was written just before is seen only now");
    office.copied(8, false);
    assert_eq!(claims(&mut office, 5000..9000, 8), Some(6200));
}

#[test]
fn who_writes_after_the_log_was_away_is_in_office() {
    let mut office = follower();
    assert!(!office.looked(ms(4900), ms(5000), 7));
    assert!(!office.looked(ms(5400), ms(5500), 8));
    office.copied(8, false);
    assert_eq!(claims(&mut office, 5500..12_000, 8), Some(9500));
}

#[test]
fn whoever_resigns_is_succeeded_at_once() {
    let mut office = follower();
    office.copied(7, true);
    assert!(office.looked(ms(1100), ms(1110), 7));
}

#[test]
fn a_claim_that_is_refused_waits_anew() {
    let mut office = follower();
    assert_eq!(claims(&mut office, 1000..6000, 7), Some(5000));
    office.refused();
    assert_eq!(office.seat(), Seat::Following);
    office.copied(8, false);
    assert_eq!(claims(&mut office, 5100..12_000, 8), Some(9200));
}

#[test]
fn a_holder_is_suspended_resumes_and_is_deposed() {
    let mut office = holder();
    assert!(!office.passed(ms(8009)) && office.passed(ms(8010)));
    assert_eq!(office.seat(), Seat::Suspended);
    office.accepted(ms(9000), ms(9010));
    assert_eq!(office.seat(), Seat::Leading);
    office.accepted(ms(8500), ms(9020));
    assert!(office.is_in_office(ms(11_999)), "an older attempt shortens nothing");
    office.refused();
    assert_eq!(office.seat(), Seat::Deposed);
    office.accepted(ms(9100), ms(9110));
    assert_eq!(office.seat(), Seat::Deposed, "for good");
}

#[test]
fn an_answer_that_is_read_late_prolongs_nothing() {
    let mut office = holder();
    office.accepted(ms(5500), ms(9000));
    assert_eq!(office.seat(), Seat::Suspended);
}

/// Interval at which a bot looks at its state, in milliseconds: that of attempts that are repeated.
const TICK: u64 = 50;

/// Time after which an attempt without an answer is repeated, in milliseconds.
const PATIENCE: u64 = 250;

/// A record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    bot: usize,
    number: u64,
    is_resignation: bool,
}

/// The log, with the rules of its server.
#[derive(Debug, Default)]
struct Log {
    records: Vec<Record>,
    stored: BTreeMap<(usize, u64), u64>,
}

/// An answer of the log.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Stored,
    /// The record is there already.
    Duplicate,
    Refused,
}

impl Log {
    fn append(&mut self, record: Record, behind: u64) -> Answer {
        if self.stored.contains_key(&(record.bot, record.number)) {
            return Answer::Duplicate;
        }
        if behind != self.last() {
            return Answer::Refused;
        }
        self.records.push(record);
        self.stored.insert((record.bot, record.number), self.last());
        Answer::Stored
    }

    fn last(&self) -> u64 {
        self.records.len() as u64
    }
}

/// A fault of the plan, in milliseconds of true time.
#[derive(Debug, Clone)]
struct Fault {
    from: u64,
    lasts: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Nothing a bot sends arrives.
    Mute(usize),
    /// Nothing arrives at a bot.
    Deaf(usize),
    /// The log answers nobody.
    LogAway,
    /// The bot's machine stands still: what arrives is read afterwards.
    Frozen(usize),
    /// The bot is killed, and starts again afterwards.
    Killed(usize),
    /// Its service is stopped, and started again afterwards.
    Stopped(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Tick(usize),
    AskArrives { bot: usize, life: u64, asked: u64 },
    EndIsKnown { bot: usize, life: u64, asked: u64, last: u64 },
    AttemptArrives { bot: usize, life: u64, number: u64, behind: u64, began: u64, resigns: bool },
    ResultIsKnown { bot: usize, life: u64, number: u64, began: u64, result: u8 },
}

/// A record that is not known to be stored.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u64,
    behind: u64,
    first: u64,
    tried: u64,
}

#[derive(Debug)]
struct Bot {
    office: Office,
    /// Difference of its clock to true time, in milliseconds: machines were started at different times.
    ahead: u64,
    life: u64,
    is_up: bool,
    number: u64,
    /// Number of the last record in its copy.
    copy: u64,
    open: Option<Open>,
    asked: u64,
    wrote: u64,
    by_calm: bool,
}

struct World {
    now: u64,
    steps: BinaryHeap<std::cmp::Reverse<(u64, u64, Step)>>,
    count: u64,
    chance: u64,
    loss: u64,
    delay: u64,
    faults: Vec<Fault>,
    log: Log,
    bots: Vec<Bot>,
    /// Longest time for which two were in office at once, by which rule.
    overlap: [u64; 2],
    successions: u64,
}

impl World {
    fn new(seed: u64, loss: u64, delay: u64, faults: Vec<Fault>) -> Self {
        let bots = (0..3).map(|n| Bot::new(n * 100_000)).collect();
        let mut world = Self {
            now: 0,
            steps: BinaryHeap::new(),
            count: 0,
            chance: seed | 1,
            loss,
            delay,
            faults,
            log: Log::default(),
            bots,
            overlap: [0; 2],
            successions: 0,
        };
        for bot in 0..3 {
            world.after(bot as u64 * 7, Step::Tick(bot));
        }
        world
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance % below.max(1)
    }

    fn after(&mut self, delay: u64, step: Step) {
        self.count += 1;
        self.steps.push(std::cmp::Reverse((self.now + delay, self.count, step)));
    }

    fn has(&self, is_it: impl Fn(Kind) -> bool) -> bool {
        self.faults.iter().any(|it| (it.from..it.from + it.lasts).contains(&self.now) && is_it(it.kind))
    }

    /// Sends a message: at times it is lost, late or doubled.
    fn send(&mut self, step: Step) {
        let delay = 1 + self.draw(self.delay);
        if self.draw(100) >= self.loss {
            self.after(delay, step);
        }
        if self.draw(100) < self.loss {
            let late = delay + self.draw(4000);
            self.after(late, step);
        }
    }

    fn run(&mut self, until: u64) {
        while let Some(std::cmp::Reverse((at, _, step))) = self.steps.pop() {
            if at > until {
                break;
            }
            self.now = at;
            self.step(step);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Tick(bot) => {
                self.after(TICK, step);
                self.tick(bot);
            }
            Step::AskArrives { bot, life, asked } => {
                if !self.has(|it| matches!(it, Kind::LogAway) || matches!(it, Kind::Mute(b) if b == bot)) {
                    let last = self.log.last();
                    self.send(Step::EndIsKnown { bot, life, asked, last });
                }
            }
            Step::AttemptArrives { bot, life, number, behind, began, resigns } => {
                if self.has(|it| matches!(it, Kind::LogAway) || matches!(it, Kind::Mute(b) if b == bot)) {
                    return;
                }
                let record = Record { bot, number, is_resignation: resigns };
                let result = self.log.append(record, behind) as u8;
                self.send(Step::ResultIsKnown { bot, life, number, began, result });
            }
            Step::EndIsKnown { bot, .. } | Step::ResultIsKnown { bot, .. } => {
                if self.has(|it| matches!(it, Kind::Frozen(b) if b == bot)) {
                    return self.after(TICK, step);
                }
                if self.bots[bot].is_up && !self.has(|it| matches!(it, Kind::Deaf(b) if b == bot)) {
                    self.hear(bot, step);
                }
            }
        }
    }

    fn hear(&mut self, bot: usize, step: Step) {
        let now = self.now;
        let this = &mut self.bots[bot];
        let local = |at: u64| ms(at + this.ahead);
        match step {
            Step::EndIsKnown { life, asked, last, .. } if life == this.life => {
                let is_resigned = this.copy > 0 && self.log.records[this.copy as usize - 1].is_resignation;
                this.office.copied(this.copy, is_resigned);
                let calm = |office: &Office| match &office.state {
                    State::Following(watch) => watch.seen.is_some_and(|it| it.was_away),
                    _ => false,
                };
                let (asked, now) = (local(asked), local(now));
                let mut probe = this.office.clone();
                if this.office.looked(asked, now, last) {
                    // The claim itself tells which rule it was by: before it, the bot had seen the log come back.
                    probe.copied(u64::MAX, false);
                    probe.looked(asked, now, last);
                    this.by_calm = calm(&probe);
                    self.attempt(bot, last);
                }
            }
            Step::ResultIsKnown { life, number, began, result, .. } if life == this.life => {
                let Some(open) = this.open.filter(|it| it.number == number) else { return };
                this.open = None;
                if result == Answer::Refused as u8 {
                    return this.office.refused();
                }
                let began = if result == Answer::Stored as u8 { began } else { open.first };
                let was = this.office.seat();
                this.copy = self.log.stored[&(bot, number)];
                this.wrote = now;
                let (began, local) = (local(began), local(now));
                this.office.accepted(began, local);
                if matches!(was, Seat::Claiming(_)) && this.office.is_in_office(local) {
                    self.successions += 1;
                    self.compare(bot);
                }
            }
            _ => {}
        }
    }

    /// Notes for how long another bot believes that it is in office, which this one has just come into.
    fn compare(&mut self, successor: usize) {
        let by_calm = usize::from(self.bots[successor].by_calm);
        for other in self.bots.iter().enumerate().filter(|(n, it)| *n != successor && it.is_up).map(|it| it.1)
        {
            let until = other.office.until().map_or(0, |it| it.as_millis() as u64 - other.ahead);
            self.overlap[by_calm] = self.overlap[by_calm].max(until.saturating_sub(self.now));
        }
    }

    fn attempt(&mut self, bot: usize, behind: u64) {
        let this = &mut self.bots[bot];
        this.number += 1;
        this.open = Some(Open { number: this.number, behind, first: self.now, tried: self.now });
        self.try_again(bot);
    }

    fn try_again(&mut self, bot: usize) {
        let now = self.now;
        let this = &mut self.bots[bot];
        let Some(open) = &mut this.open else { return };
        open.tried = now;
        let (number, behind, life) = (open.number, open.behind, this.life);
        self.send(Step::AttemptArrives { bot, life, number, behind, began: now, resigns: false });
    }

    fn tick(&mut self, bot: usize) {
        if self.has(|it| matches!(it, Kind::Killed(b) | Kind::Stopped(b) if b == bot)) {
            let stops = self.has(|it| matches!(it, Kind::Stopped(b) if b == bot));
            let this = &mut self.bots[bot];
            if this.is_up && stops && this.open.is_none() && matches!(this.office.seat(), Seat::Leading) {
                this.office.leaves();
                this.number += 1;
                let (number, behind, life) = (this.number, this.copy, this.life);
                let began = self.now;
                self.send(Step::AttemptArrives { bot, life, number, behind, began, resigns: true });
            }
            self.bots[bot].is_up = false;
            return;
        }
        if self.has(|it| matches!(it, Kind::Frozen(b) if b == bot)) {
            return;
        }
        let this = &mut self.bots[bot];
        if !this.is_up || this.office.seat() == Seat::Deposed {
            this.begins_again();
        }
        let local = ms(self.now + this.ahead);
        this.office.passed(local);
        match this.office.seat() {
            Seat::Following if self.now - this.asked >= 100 => {
                this.asked = self.now;
                let (life, asked) = (this.life, self.now);
                // It follows by another connection, which is late as well.
                if !self.has(|it| matches!(it, Kind::LogAway | Kind::Deaf(_) | Kind::Mute(_))) {
                    self.bots[bot].copy = self.log.last();
                }
                self.send(Step::AskArrives { bot, life, asked });
            }
            Seat::Claiming(_) | Seat::Leading | Seat::Suspended => match this.open {
                Some(open) if self.now - open.tried >= PATIENCE => self.try_again(bot),
                None if self.now - this.wrote >= 500 => {
                    let behind = this.copy;
                    self.attempt(bot, behind);
                }
                _ => {}
            },
            Seat::Following | Seat::Deposed => {}
        }
    }
}

impl Bot {
    fn new(ahead: u64) -> Self {
        Self {
            office: Office::new(terms()),
            ahead,
            life: 0,
            is_up: true,
            number: 0,
            copy: 0,
            open: None,
            asked: 0,
            wrote: 0,
            by_calm: false,
        }
    }

    fn begins_again(&mut self) {
        let (ahead, life, number, copy) = (self.ahead, self.life + 1, self.number, self.copy);
        *self = Self { life, number, copy, ..Self::new(ahead) };
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    let bot = 0..3_usize;
    let kind = prop_oneof![
        bot.clone().prop_map(Kind::Mute),
        bot.clone().prop_map(Kind::Deaf),
        Just(Kind::LogAway),
        bot.clone().prop_map(Kind::Frozen),
        bot.clone().prop_map(Kind::Killed),
        bot.prop_map(Kind::Stopped),
    ];
    (0..60_000_u64, 50..9000_u64, kind).prop_map(|(from, lasts, kind)| Fault { from, lasts, kind })
}

proptest! {
    #[test]
    fn two_are_never_in_office_with_equal_clock_rates(
        seed in any::<u64>(),
        loss in 0..30_u64,
        delay in 1..400_u64,
        faults in proptest::collection::vec(fault(), 0..12),
    ) {
        let mut world = World::new(seed, loss, delay, faults);
        world.run(80_000);
        let [by_silence, by_calm] = world.overlap;
        prop_assert_eq!(by_silence, 0);
        let Terms { hold, calm, .. } = terms();
        prop_assert!(ms(by_calm) <= hold - calm, "{} ms", by_calm);
    }

    #[test]
    fn one_is_in_office_once_the_faults_are_over(
        seed in any::<u64>(),
        faults in proptest::collection::vec(fault(), 0..12),
    ) {
        let mut world = World::new(seed, 0, 20, faults);
        world.run(90_000);
        let holders = world.bots.iter().filter(|it| it.office.is_in_office(ms(world.now + it.ahead))).count();
        prop_assert_eq!(holders, 1);
    }
}
