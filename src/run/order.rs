//! Order of replies: in each place the order in which the lines were said, independent of other places.

use std::collections::{HashMap, VecDeque};

use crate::core::id::NetworkName;
use crate::core::speech::Place;

/// Maximum number of lines of one place (a channel or person) that are handled at once: enough for one commit to carry
/// many of them. Further lines wait.
const HERE: usize = 64;

/// Maximum number of unanswered lines of all places; beyond it no more lines are read from the networks. A few slow
/// places do not reach it.
const HELD: usize = 512;

/// The place where a line was said: its network and the channel or person.
pub(super) type Spot = (NetworkName, Place);

/// Identifies a line that is being handled, by its place and its number there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    spot: Spot,
    number: usize,
}

/// Queues that bring answers into the order of their lines, per place. `L` is the type of a line, `A` of an answer.
#[derive(Debug)]
pub(super) struct Order<L, A> {
    places: HashMap<Spot, Line<L, A>>,
    held: usize,
}

#[derive(Debug)]
struct Line<L, A> {
    /// Slots for the answers of the lines that were started, oldest first; `None` for a line that is still being
    /// handled.
    answers: VecDeque<Option<A>>,
    /// Number of lines of this place whose answers were already given out.
    answered: usize,
    /// Lines of this place that are not started yet.
    waiting: VecDeque<L>,
}

impl<L, A> Default for Order<L, A> {
    fn default() -> Self {
        Self { places: HashMap::new(), held: 0 }
    }
}

impl<L, A> Order<L, A> {
    /// Returns true if fewer than [`HELD`] lines of all places are waiting, under way or not yet answered; otherwise
    /// the caller reads no more lines.
    pub(super) fn have_room(&self) -> bool {
        self.held < HELD
    }

    /// Adds a line that was said in a place; returns it if its handling can start now.
    pub(super) fn said(&mut self, spot: Spot, said: L) -> Option<(Turn, L)> {
        self.held += 1;
        let line = self.places.entry(spot.clone()).or_insert_with(|| Line {
            answers: VecDeque::new(),
            answered: 0,
            waiting: VecDeque::new(),
        });
        line.waiting.push_back(said);
        line.begin(&spot)
    }

    /// Records the answer to a line. Returns the answers that can be sent now, in the order of their lines, and the
    /// lines whose handling can start now.
    pub(super) fn answered(&mut self, turn: Turn, answer: A) -> (Vec<A>, Vec<(Turn, L)>) {
        let Turn { spot, number } = turn;
        let Some(line) = self.places.get_mut(&spot) else { return (Vec::new(), Vec::new()) };
        if let Some(slot) = line.answers.get_mut(number - line.answered) {
            *slot = Some(answer);
        }
        let mut ready = Vec::new();
        while line.answers.front().is_some_and(Option::is_some) {
            ready.extend(line.answers.pop_front().flatten());
        }
        line.answered += ready.len();
        self.held -= ready.len();
        let next = std::iter::from_fn(|| line.begin(&spot)).collect();
        if line.answers.is_empty() {
            self.places.remove(&spot);
        }
        (ready, next)
    }
}

impl<L, A> Line<L, A> {
    fn begin(&mut self, spot: &Spot) -> Option<(Turn, L)> {
        if self.answers.len() >= HERE {
            return None;
        }
        let said = self.waiting.pop_front()?;
        let number = self.answered + self.answers.len();
        self.answers.push_back(None);
        Some((Turn { spot: spot.clone(), number }, said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(channel: &str) -> Spot {
        (NetworkName::from("libera"), Place::Channel(channel.to_owned()))
    }

    fn begun(order: &mut Order<usize, usize>, channel: &str, said: usize) -> Turn {
        order.said(spot(channel), said).expect("it begins").0
    }

    #[test]
    fn a_place_is_answered_in_its_order_and_waits_for_no_other() {
        let mut order = Order::default();
        let [slow, second, third] = [1, 2, 3].map(|said| begun(&mut order, "#spark", said));
        let elsewhere = begun(&mut order, "#ember", 4);
        assert_eq!(order.answered(third, 3), (vec![], vec![]));
        assert_eq!(order.answered(elsewhere, 4), (vec![4], vec![]));
        assert_eq!(order.answered(second, 2), (vec![], vec![]));
        assert_eq!(order.answered(slow, 1), (vec![1, 2, 3], vec![]));
        assert!(order.places.is_empty() && order.held == 0, "{order:?}");
    }

    #[test]
    fn what_is_too_much_for_one_place_begins_when_there_is_room() {
        let mut order = Order::default();
        let mut turns: VecDeque<_> = (0..HERE).map(|said| begun(&mut order, "#spark", said)).collect();
        assert_eq!(order.said(spot("#spark"), HERE), None);
        assert_eq!(order.said(spot("#spark"), HERE + 1), None);
        begun(&mut order, "#ember", 0);
        let first = turns.pop_front().expect("one");
        let second = turns.pop_front().expect("another");
        assert_eq!(order.answered(second, 1), (vec![], vec![]));
        let (ready, next) = order.answered(first, 0);
        assert_eq!(ready, [0, 1]);
        assert_eq!(next.iter().map(|(_, said)| *said).collect::<Vec<_>>(), [HERE, HERE + 1]);
        for (n, (turn, said)) in next.into_iter().enumerate() {
            assert_eq!((turn.number, said), (HERE + n, HERE + n));
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut order = Order::<usize, usize>::default();
        for said in 0..HELD {
            assert!(order.have_room());
            let _ = order.said(spot(&format!("#{}", said % 7)), said);
        }
        assert!(!order.have_room());
    }
}
