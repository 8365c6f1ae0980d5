//! Tests that each message is handled once and in order, whatever the gateway and the network do.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const CHANNEL: Id = 7;

fn work_all(intake: &mut Intake<Id>) -> Vec<Id> {
    let mut worked = Vec::new();
    while let Some((channel, id, message)) = intake.next() {
        assert_eq!(id, message);
        worked.push(id);
        intake.done(channel, id);
    }
    worked
}

#[test]
fn live_messages_are_worked_on_once_and_in_order() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    for id in [11, 12, 12, 11, 13] {
        intake.heard(CHANNEL, id, id);
    }
    assert_eq!(work_all(&mut intake), [11, 12, 13]);
    intake.heard(CHANNEL, 12, 12);
    assert!(work_all(&mut intake).is_empty());
    assert_eq!(intake.moved(), [(CHANNEL, 13)]);
    assert_eq!(intake.moved(), []);
}

#[test]
fn what_is_heard_and_not_worked_on_is_known_until_it_is() {
    let mut intake = Intake::default();
    assert_eq!(intake.first_open(), None);
    intake.heard(CHANNEL, 12, 12);
    intake.heard(8, 11, 11);
    intake.passed(CHANNEL, 13);
    assert_eq!(intake.first_open(), Some(11));
    let (channel, id, _) =
        std::iter::from_fn(|| intake.next()).find(|(_, id, _)| *id == 11).expect("it waits");
    assert_eq!(intake.first_open(), Some(11), "it is under way");
    intake.done(channel, id);
    assert_eq!(intake.first_open(), Some(12));
    intake.done(CHANNEL, 12);
    assert_eq!(intake.first_open(), None);
}

#[test]
fn what_is_held_is_worked_on_when_it_is_let_go_whatever_was_fetched_meanwhile() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.hold(CHANNEL);
    intake.heard(CHANNEL, 12, 12);
    assert_eq!(intake.missed(CHANNEL, None), Some(10));
    intake.page(CHANNEL, vec![(11, 11), (12, 12)], 12, false);
    assert_eq!(intake.next(), None);
    assert_eq!(intake.moved(), []);
    intake.let_go(CHANNEL);
    assert_eq!(work_all(&mut intake), [11, 12]);
}

#[test]
fn what_is_late_holds_up_the_watermark_alone() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    for id in [11, 12, 13] {
        intake.heard(CHANNEL, id, id);
    }
    assert_eq!(intake.next(), Some((CHANNEL, 11, 11)));
    assert_eq!(intake.next(), None);
    intake.late(CHANNEL, 11);
    assert!(intake.is_under_way(CHANNEL, 11));
    assert_eq!(intake.next(), Some((CHANNEL, 12, 12)));
    intake.done(CHANNEL, 12);
    assert_eq!(intake.next(), Some((CHANNEL, 13, 13)));
    intake.heard(CHANNEL, 14, 14);
    assert_eq!((intake.moved(), intake.first_open()), (vec![(CHANNEL, 10)], Some(11)));
    intake.done(CHANNEL, 11);
    assert_eq!(intake.moved(), [(CHANNEL, 12)]);
    assert_eq!(intake.next(), None, "the one before it is under way");
    intake.done(CHANNEL, 13);
    assert_eq!(work_all(&mut intake), [14]);
    assert_eq!(intake.moved(), [(CHANNEL, 14)]);
}

/// A message that hangs for days must not displace all others that are remembered.
#[test]
fn what_is_late_for_very_long_is_given_up_and_disturbs_nothing_when_it_is_over() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.heard(CHANNEL, 11, 11);
    assert_eq!(intake.next(), Some((CHANNEL, 11, 11)));
    intake.late(CHANNEL, 11);
    let last = 20 + BEYOND_MAX as Id;
    for id in 20..last {
        assert_eq!(intake.seen(CHANNEL), Some(10));
        intake.passed(CHANNEL, id);
    }
    assert_eq!((intake.seen(CHANNEL), intake.first_open()), (Some(last - 1), None));
    for id in [last, last + 1] {
        intake.heard(CHANNEL, id, id);
    }
    assert_eq!(intake.next(), Some((CHANNEL, last, last)));
    intake.done(CHANNEL, 11);
    assert_eq!(intake.next(), None, "the one before it is under way");
}

#[test]
fn a_channel_is_left_when_nothing_of_it_is_left_to_do() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.missed(CHANNEL, None);
    assert!(!intake.leave(CHANNEL), "it is being fetched");
    intake.page(CHANNEL, vec![(11, 11)], 11, false);
    assert!(!intake.leave(CHANNEL), "something waits");
    assert_eq!(work_all(&mut intake), [11]);
    assert!(intake.leave(CHANNEL) && !intake.follows(CHANNEL));
    // Later messages in the channel are received from there on.
    intake.heard(CHANNEL, 14, 14);
    assert_eq!(work_all(&mut intake), [14]);
}

#[test]
fn what_is_heard_while_the_past_is_fetched_waits_behind_it() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    assert_eq!(intake.missed(CHANNEL, None), Some(10));
    intake.heard(CHANNEL, 15, 15);
    assert!(work_all(&mut intake).is_empty());
    intake.page(CHANNEL, vec![(11, 11), (12, 12)], 12, true);
    assert_eq!(work_all(&mut intake), [11, 12]);
    // The page contains the live message as well.
    intake.page(CHANNEL, vec![(13, 13), (15, 15)], 15, false);
    assert_eq!(work_all(&mut intake), [13, 15]);
    assert_eq!(intake.seen(CHANNEL), Some(15));
}

#[test]
fn the_watermark_stays_before_what_is_under_way() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.follow(8, 10, 0);
    intake.heard(CHANNEL, 11, 11);
    intake.heard(CHANNEL, 12, 12);
    let (channel, id, _) = intake.next().expect("the first is due");
    assert_eq!((channel, id, intake.next()), (CHANNEL, 11, None), "one at a time in a channel");
    assert_eq!(intake.seen(CHANNEL), Some(10));
    intake.done(channel, id);
    assert_eq!(intake.seen(CHANNEL), Some(11));
}

#[test]
fn one_that_comes_late_is_not_taken_for_one_that_comes_twice() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    for id in [11, 14] {
        intake.heard(CHANNEL, id, id);
    }
    assert_eq!(work_all(&mut intake), [11, 14]);
    assert!(intake.heard(CHANNEL, 12, 12));
    // Also behind a post of herder's own.
    intake.passed(CHANNEL, 16);
    assert!(intake.heard(CHANNEL, 15, 15));
    intake.passed(CHANNEL, 15);
    assert!(!intake.heard(CHANNEL, 9, 9), "older than anything that is remembered");
    assert_eq!(work_all(&mut intake), [12, 15]);
    assert_eq!(intake.seen(CHANNEL), Some(16));
}

#[test]
fn nothing_is_fetched_when_the_newest_message_is_known() {
    let mut intake: Intake<Id> = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    assert_eq!(intake.missed(CHANNEL, Some(10)), None);
    assert_eq!(intake.missed(CHANNEL, Some(11)), Some(10));
    assert_eq!(intake.missed(99, Some(11)), None, "a channel that nobody follows");
}

#[test]
fn a_channel_that_cannot_be_read_does_not_hold_up_what_is_heard() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.missed(CHANNEL, None);
    intake.heard(CHANNEL, 11, 11);
    intake.unfetchable(CHANNEL);
    assert_eq!(work_all(&mut intake), [11]);
}

#[test]
fn what_was_said_where_nobody_could_read_is_worked_on_when_it_can_be_read() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.unreadable(CHANNEL);
    intake.heard(CHANNEL, 13, 13);
    intake.passed(CHANNEL, 14);
    assert_eq!(work_all(&mut intake), [13], "what is heard does not wait");
    assert_eq!(intake.seen(CHANNEL), Some(10), "and is not all there is");
    assert_eq!(intake.missed(CHANNEL, None), Some(10));
    intake.page(CHANNEL, vec![(11, 11), (12, 12), (13, 13)], 14, false);
    assert_eq!(work_all(&mut intake), [11, 12]);
    assert_eq!(intake.seen(CHANNEL), Some(14));

    // Messages that stay unread for long are given up, so that memory is bounded.
    intake.unreadable(CHANNEL);
    let last = 20 + BEYOND_MAX as Id;
    for id in 20..=last {
        intake.heard(CHANNEL, id, id);
    }
    assert_eq!(work_all(&mut intake).len(), BEYOND_MAX + 1);
    assert_eq!(intake.seen(CHANNEL), Some(last));
}

#[test]
fn what_waits_can_be_changed_and_taken_back() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, 10, 0);
    intake.missed(CHANNEL, None);
    intake.heard(CHANNEL, 11, 11);
    intake.heard(CHANNEL, 12, 12);
    assert!(intake.revise(CHANNEL, 11, |_| None));
    assert!(!intake.revise(CHANNEL, 11, |_| None), "it waits no more");
    assert!(intake.revise(CHANNEL, 12, Some));
    intake.page(CHANNEL, vec![(11, 11), (12, 12)], 12, false);
    assert_eq!(work_all(&mut intake), [12]);
}

#[test]
fn what_is_older_than_the_first_sight_of_a_channel_is_heard_live_and_never_fetched() {
    let mut intake = Intake::default();
    intake.follow(CHANNEL, CHANNEL, 20);
    assert_eq!(intake.missed(CHANNEL, None), Some(20));
    intake.page(CHANNEL, vec![(21, 21)], 21, false);
    // Discord's clock differs from ours.
    intake.heard(CHANNEL, 15, 15);
    assert_eq!(work_all(&mut intake), [15, 21]);
}

#[test]
fn ids_and_times_are_the_same_thing() {
    // Discord's own example.
    assert_eq!(millis_of(175_928_847_299_117_063), 1_462_015_105_796);
    assert_eq!(millis_of(id_at(1_462_015_105_796)), 1_462_015_105_796);
    assert_eq!(id_at(0), 0);
}

/// An event of the simulated link.
#[derive(Debug, Clone)]
enum Step {
    /// A person writes a message, which is received or not.
    Write { heard: bool },
    /// herder posts a message, which it receives or not.
    Post { heard: bool },
    /// The last message is repeated.
    Again,
    /// A new session, whose missed messages are fetched in pages of this size; meanwhile a person may write.
    Ready { page: usize, meanwhile: bool },
    /// All due messages are handled.
    Work,
    /// herder is killed, with the watermark stored or not; decisions are stored.
    Kill { written: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(|heard| Step::Write { heard }),
        2 => any::<bool>().prop_map(|heard| Step::Post { heard }),
        1 => Just(Step::Again),
        2 => (1..4_usize, any::<bool>()).prop_map(|(page, meanwhile)| Step::Ready { page, meanwhile }),
        3 => Just(Step::Work),
        1 => any::<bool>().prop_map(|written| Step::Kill { written }),
    ]
}

/// A channel, a herder that tracks it, and the messages that were handled.
struct World {
    intake: Intake<Id>,
    written: Vec<Id>,
    /// herder's own messages.
    posted: Vec<Id>,
    worked: Vec<Id>,
    on_disk: Id,
    linked: bool,
}

impl World {
    fn write(&mut self) -> Id {
        let id = self.next_id();
        self.written.push(id);
        id
    }

    fn post(&mut self) -> Id {
        let id = self.next_id();
        self.posted.push(id);
        id
    }

    fn next_id(&self) -> Id {
        100 + (self.written.len() + self.posted.len()) as Id * 2
    }

    /// Returns the last message of the channel, of any author.
    fn newest(&self) -> Option<Id> {
        self.written.last().max(self.posted.last()).copied()
    }

    fn work(&mut self) {
        while let Some((channel, id, _)) = self.intake.next() {
            // The memo of a decided message survives a kill.
            if !self.worked.contains(&id) {
                self.worked.push(id);
            }
            self.intake.done(channel, id);
        }
    }

    fn ready(&mut self, page: usize, meanwhile: bool) {
        self.linked = true;
        let mut after = self.intake.missed(CHANNEL, None);
        if meanwhile {
            let id = self.write();
            self.intake.heard(CHANNEL, id, id);
        }
        while let Some(from) = after {
            let all: BTreeSet<Id> = self.written.iter().chain(&self.posted).copied().collect();
            let part: Vec<Id> = all.into_iter().filter(|id| *id > from).take(page).collect();
            let more = part.len() == page;
            let upto = part.last().copied().unwrap_or(from);
            let said = part.into_iter().filter(|id| self.written.contains(id)).map(|id| (id, id));
            self.intake.page(CHANNEL, said.collect(), upto, more);
            self.work();
            after = more.then_some(upto);
        }
    }
}

proptest! {
    #[test]
    fn all_messages_are_worked_on_once_and_in_order(steps in prop::collection::vec(step(), 0..60)) {
        let mut world =
            World { intake: Intake::default(), written: vec![], posted: vec![], worked: vec![], on_disk: 99, linked: false };
        world.intake.follow(CHANNEL, world.on_disk, 0);
        for step in steps {
            match step {
                Step::Write { heard } => {
                    let id = world.write();
                    // After a message that was not received there is no live one before a new session.
                    world.linked &= heard;
                    if world.linked {
                        world.intake.heard(CHANNEL, id, id);
                    }
                }
                Step::Post { heard } => {
                    let id = world.post();
                    world.linked &= heard;
                    if world.linked {
                        world.intake.passed(CHANNEL, id);
                    }
                }
                Step::Again => {
                    if let Some(id) = world.written.last().copied().filter(|_| world.linked) {
                        world.intake.heard(CHANNEL, id, id);
                    }
                }
                Step::Ready { page, meanwhile } => world.ready(page, meanwhile),
                Step::Work => {
                    world.work();
                    if let Some((_, seen)) = world.intake.moved().last() {
                        world.on_disk = *seen;
                    }
                }
                Step::Kill { written } => {
                    if let Some(seen) = world.intake.seen(CHANNEL).filter(|_| written) {
                        world.on_disk = seen;
                    }
                    world.intake = Intake::default();
                    world.intake.follow(CHANNEL, world.on_disk, 0);
                    world.linked = false;
                }
            }
        }
        world.ready(3, false);
        world.work();
        prop_assert_eq!(&world.worked, &world.written);
        let once: BTreeSet<Id> = world.worked.iter().copied().collect();
        prop_assert_eq!(once.len(), world.worked.len());
        // Nothing is left to be fetched the next time.
        if let Some(newest) = world.newest() {
            prop_assert_eq!(world.intake.missed(CHANNEL, Some(newest)), None);
        }
    }
}
