//! The numbers between bot and runner, over connections that end at any message.

use herder::runner::ledger::{Arrival, InOrder, KEPT_MAX, Unheard};
use proptest::prelude::*;

/// A step of one direction: a sender, a receiver, and the connection between them.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The sender has a message, if there is room.
    Say,
    /// The oldest message on its way arrives.
    Arrive,
    /// The receiver commits what it has taken, and acknowledges it.
    Commit,
    /// The acknowledgement arrives.
    Acknowledge,
    /// The connection ends, with everything on its way, and is made again: what is kept is sent again.
    Cut,
    /// The receiver is killed: it goes on from its last commit.
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Say),
        6 => Just(Step::Arrive),
        2 => Just(Step::Commit),
        2 => Just(Step::Acknowledge),
        1 => Just(Step::Cut),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #[test]
    fn each_message_is_taken_once_and_in_order_and_forgotten_only_after_its_commit(
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let (mut sender, mut receiver) = (Unheard::default(), InOrder::default());
        let (mut on_the_way, mut said) = (Vec::new(), 0_u64);
        // The numbers on the receiver's disk, and those that it has taken since.
        let (mut committed, mut taken) = (Vec::new(), Vec::new());
        let mut acknowledged = None;
        for step in steps.into_iter().chain([Step::Cut]) {
            match step {
                Step::Say if !sender.is_full() => {
                    said += 1;
                    on_the_way.push((sender.keep(said, 10), said));
                }
                Step::Say => {}
                Step::Arrive if !on_the_way.is_empty() => {
                    let (number, message) = on_the_way.remove(0);
                    match receiver.take(number) {
                        Arrival::Next => taken.push(message),
                        Arrival::Again => prop_assert!(number <= receiver.last()),
                        Arrival::Gap => prop_assert!(false, "a connection keeps its order: {number}"),
                    }
                }
                Step::Arrive => {}
                Step::Commit => {
                    committed.append(&mut taken);
                    acknowledged = Some(committed.len() as u64);
                }
                Step::Acknowledge => {
                    if let Some(up_to) = acknowledged.take() {
                        sender.heard(up_to);
                    }
                }
                Step::Kill => {
                    taken.clear();
                    receiver = InOrder::after(committed.len() as u64);
                    acknowledged = None;
                }
                Step::Cut => {}
            }
            if matches!(step, Step::Cut | Step::Kill) {
                on_the_way = sender.since(0).map(|(number, message)| (number, *message)).collect();
            }
            prop_assert!(sender.first() <= committed.len() as u64 + 1, "it is forgotten before it is on disk");
            prop_assert!(sender.since(0).count() <= KEPT_MAX);
        }
        for (number, message) in on_the_way {
            if receiver.take(number) == Arrival::Next {
                taken.push(message);
            }
        }
        committed.append(&mut taken);
        prop_assert_eq!(committed, (1..=said).collect::<Vec<_>>());
    }
}

#[test]
fn a_sender_is_full_at_either_bound_and_has_room_again_when_it_is_heard() {
    let mut unheard = Unheard::default();
    for _ in 0..KEPT_MAX {
        assert!(!unheard.is_full());
        unheard.keep((), 1);
    }
    assert!(unheard.is_full());
    unheard.heard(1);
    assert!(!unheard.is_full());
    let mut unheard = Unheard::default();
    unheard.keep((), 4 * 1024 * 1024);
    assert!(unheard.is_full());
    unheard.heard(1);
    assert!(unheard.is_empty() && !unheard.is_full());
    assert_eq!((unheard.first(), unheard.next_number()), (2, 2));
}

/// A confused or hostile peer changes nothing.
#[test]
fn a_number_that_was_never_given_is_not_heard_and_one_out_of_turn_is_not_taken() {
    let mut unheard = Unheard::default();
    unheard.keep("one", 1);
    for up_to in [2, 3, u64::MAX, 0] {
        unheard.heard(up_to);
        assert_eq!(unheard.since(0).collect::<Vec<_>>(), [(1, &"one")]);
    }
    assert_eq!(unheard.since(2).count(), 0);
    assert_eq!(unheard.since(u64::MAX).count(), 0);
    let mut order = InOrder::after(4);
    assert_eq!(order.take(6), Arrival::Gap);
    assert_eq!(order.take(4), Arrival::Again);
    assert_eq!(order.take(5), Arrival::Next);
    assert_eq!(order.last(), 5);
    assert_eq!(InOrder::after(u64::MAX).take(u64::MAX), Arrival::Again);
}
