//! One lane (urgent or normal) of a network's queue: a queue per target; the targets are served in turn, one line each.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::backlog::{self, Away, Keys};
use super::render::{self, Renderer};
use super::{markup, split};
use crate::core::id::PostId;
use crate::core::post::{Body, Lane, Post, Target};
use crate::journal::Confirmed;

/// Minimum room for text in a line, in bytes; a target with less waits as if herder had not joined it.
const ROOM_USABLE: usize = 32;

/// Sender that is dropped when its post is not pending any more, for whatever reason, which wakes the receiver; nothing
/// is sent on it.
pub(super) type Owed = oneshot::Sender<Infallible>;

/// A delivery to record: a post and the number of its first lines that are delivered, `None` for all of it.
pub(super) type Part = (PostId, Option<u32>);

/// The unit that a network sends and confirms at once: a line on IRC, a whole message on Discord.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// The channel or person that the line is sent to.
    pub target: Target,
    /// The text of the line: not blank, without line breaks, within the room that the network has.
    pub text: String,
    /// The id of the post that the line belongs to; 0 for a post that is not stored.
    pub post: PostId,
    /// Index of the line in its post, from 0.
    pub index: u32,
    /// True if the line is in the urgent lane.
    pub urgent: bool,
    /// True if the line was sent before without being confirmed, so that it may have arrived already.
    pub resent: bool,
    /// The post that the line belongs to, for quotations and buttons.
    pub source: Arc<Post>,
    key: u64,
    unit: usize,
}

impl Line {
    /// Returns a number that identifies the line's post in this run; posts that are not stored have one too.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.key
    }

    /// Returns true if the line answers a person who only looked something up; if it is lost, the person asks again.
    #[must_use]
    pub fn is_look(&self) -> bool {
        matches!(self.source.body, Body::Looked(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitState {
    Waiting,
    Flying,
    Confirmed,
}

/// A piece of a rendered post that is sent as one line.
#[derive(Debug)]
struct Unit {
    /// Number of the piece within its post; it stays the same when another piece is cut further.
    id: usize,
    /// Index of the rendered line that the piece belongs to; pieces of one line share it.
    index: u32,
    text: String,
    state: UnitState,
    resent: bool,
}

/// The first lines of a long post that were left out of a backlog.
#[derive(Debug)]
pub(super) struct Trim {
    /// Number of lines that were left out now.
    pub(super) lines: u32,
    /// The change to record in the journal: these lines count as delivered.
    pub(super) confirmed: Confirmed,
}

/// A pending post in the queue of its target.
#[derive(Debug)]
pub(super) struct Item {
    key: u64,
    pub(super) post: Arc<Post>,
    units: Option<Vec<Unit>>,
    /// Number of the post's first lines that count as delivered.
    recorded: u32,
    /// Number of the post's first lines that were left out of a long backlog; they count as delivered.
    trimmed: u32,
    /// Dropped with the post, to wake a task that waits until the post is not pending any more.
    _owed: Option<Owed>,
}

impl Item {
    pub(super) fn new(key: u64, post: Post) -> Self {
        let recorded = post.confirmed_lines;
        Self { key, post: Arc::new(post), units: None, recorded, trimmed: 0, _owed: None }
    }

    /// Returns the number that identifies the post in this run.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// Returns true if no line of the post was ever given to the network.
    pub(super) fn untouched(&self) -> bool {
        let waits = |unit: &Unit| unit.state == UnitState::Waiting && !unit.resent;
        let owed = |units: &Vec<Unit>| units.iter().filter(|unit| unit.index >= self.trimmed).all(waits);
        self.recorded == self.trimmed && self.units.as_ref().is_none_or(owed)
    }

    /// Returns the post's approximate number of lines that are still to be sent.
    pub(super) fn lines(&self) -> u32 {
        match &self.units {
            Some(units) if self.is_trimmed() => {
                u32::try_from(units.len()).unwrap_or(u32::MAX).saturating_sub(self.trimmed)
            }
            Some(_) | None => render::estimate(&self.post),
        }
    }

    /// Returns true if the first lines of the post were left out of a long backlog.
    pub(super) fn is_trimmed(&self) -> bool {
        self.trimmed > 0
    }

    /// Leaves out the first lines of a post that was not sent yet, so that `room` lines stay; `None` if it has no more
    /// than that.
    pub(super) fn trim(&mut self, renderer: &Renderer, room: u32) -> Option<Trim> {
        let lines = u32::try_from(self.units(renderer).len()).unwrap_or(u32::MAX);
        let out = lines.saturating_sub(room);
        out.checked_sub(self.trimmed).filter(|more| *more > 0)?;
        let more = self.away(lines, out) - self.away(lines, self.trimmed);
        for unit in self.units.iter_mut().flatten().filter(|unit| unit.index < out) {
            unit.state = UnitState::Confirmed;
        }
        (self.recorded, self.trimmed) = (out, out);
        let (network, post) = (self.post.network.clone(), self.post.id);
        Some(Trim { lines: more, confirmed: Confirmed { network, post, lines: Some(out) } })
    }

    /// Returns the number of lines of the post's text that a reader misses if the first `out` of its `lines` are left
    /// out. A text too long for a channel has more lines than the post shows.
    fn away(&self, lines: u32, out: u32) -> u32 {
        match &self.post.body {
            Body::Agent { text, .. } if out > 0 && lines as usize > render::WORDS_LINES_MAX => {
                let whole = u32::try_from(render::whole(text)).unwrap_or(u32::MAX).max(lines);
                whole - (lines - out)
            }
            Body::Agent { .. }
            | Body::Said { .. }
            | Body::File(_)
            | Body::Notice(_)
            | Body::Refusal(_)
            | Body::Hook(_)
            | Body::Lines(_)
            | Body::Looked(_)
            | Body::Kept(_) => out,
        }
    }

    fn units(&mut self, renderer: &Renderer) -> &mut Vec<Unit> {
        let (post, recorded) = (&self.post, self.recorded);
        self.units.get_or_insert_with(|| {
            let state = |index| if index < recorded { UnitState::Confirmed } else { UnitState::Waiting };
            let unit = |(id, text)| {
                let index = u32::try_from(id).unwrap_or(u32::MAX);
                Unit { id, index, text, state: state(index), resent: false }
            };
            renderer.lines(post).into_iter().enumerate().map(unit).collect()
        })
    }

    fn finished(&self) -> bool {
        self.units.as_ref().is_some_and(|units| units.iter().all(|unit| unit.state == UnitState::Confirmed))
    }

    /// Number of lines, from the first on, that are confirmed without a gap.
    fn confirmed(&self) -> u32 {
        let gap = |unit: &&Unit| unit.state != UnitState::Confirmed;
        let units = self.units.as_deref().unwrap_or_default();
        units.iter().find(gap).map_or(u32::try_from(units.len()).unwrap_or(u32::MAX), |unit| unit.index)
    }

    /// Returns the delivery of the whole post, to be recorded; `None` if the post is not stored.
    fn whole(self) -> Option<Part> {
        Some((self.post.id, None)).filter(|(id, _)| *id != PostId(0))
    }

    /// Gives out the first line of the post that waits, cut to `room` bytes.
    fn take(&mut self, renderer: &Renderer, room: usize) -> Option<Line> {
        let units = self.units(renderer);
        let at = units.iter().position(|unit| unit.state == UnitState::Waiting)?;
        if units[at].text.len() > room {
            cut(units, at, room);
        }
        let unit = &mut units[at];
        unit.state = UnitState::Flying;
        let (text, index, id, resent) = (unit.text.clone(), unit.index, unit.id, unit.resent);
        let (target, post, key) = (self.post.to.clone(), self.post.id, self.key);
        let source = Arc::clone(&self.post);
        Some(Line { target, text, post, index, urgent: false, resent, source, key, unit: id })
    }
}

/// Cuts the piece at index `at` into several of at most `room` bytes, for a network with little room in a line.
fn cut(units: &mut Vec<Unit>, at: usize, room: usize) {
    let mut id = units.iter().map(|unit| unit.id).max().unwrap_or(0);
    let whole = units.remove(at);
    // Each piece carries the bar of the whole line.
    let (bar, words) = whole.text.split_at(markup::bar_of(&whole.text));
    let pieces = split::split(words, room.saturating_sub(bar.len())).into_iter().map(|text| {
        id += 1;
        let text = format!("{bar}{text}");
        Unit { id, index: whole.index, text, state: UnitState::Waiting, resent: whole.resent }
    });
    units.splice(at..at, pieces.collect::<Vec<_>>());
}

/// The pending posts of one lane, as one queue per target.
#[derive(Debug, Default)]
pub(super) struct LaneQueue {
    targets: HashMap<Target, VecDeque<Item>>,
    /// Targets that have pending posts, the next one to be served first.
    turns: VecDeque<Target>,
}

impl LaneQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns the number of posts in the lane.
    pub(super) fn len(&self) -> usize {
        self.targets.values().map(VecDeque::len).sum()
    }

    /// Returns the number of pending posts of a target in the lane.
    pub(super) fn waiting(&self, target: &Target) -> usize {
        self.targets.get(target).map_or(0, VecDeque::len)
    }

    /// Returns the targets that have pending posts, in the order in which they are served.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.turns.iter().cloned().collect()
    }

    /// Adds a post to its target's queue, with the value to drop when it is not pending any more. Returns the number of
    /// pending posts of that target.
    pub(super) fn push(&mut self, key: u64, post: Post, owed: Option<Owed>) -> usize {
        let target = post.to.clone();
        let items = self.targets.entry(target.clone()).or_default();
        if items.is_empty() {
            self.turns.push_back(target);
        }
        items.push_back(Item { _owed: owed, ..Item::new(key, post) });
        items.len()
    }

    /// Gives out at most `max` lines, one per target in turn, from targets that are joined and have room. Also returns
    /// the deliveries to record of posts that turned out to be empty.
    pub(super) fn take(
        &mut self,
        max: usize,
        renderer: &Renderer,
        room: &dyn Fn(&Target) -> usize,
        joined: &dyn Fn(&Target) -> bool,
    ) -> (Vec<Line>, Vec<Part>) {
        let (mut lines, mut silent) = (Vec::new(), Vec::new());
        let mut passed = 0;
        while lines.len() < max && passed < self.turns.len() {
            let Some(target) = self.turns.pop_front() else { break };
            let ready = joined(&target).then(|| room(&target)).filter(|room| *room >= ROOM_USABLE);
            let line = ready.and_then(|room| self.take_from(&target, renderer, room, &mut silent));
            passed = if line.is_some() { 0 } else { passed + 1 };
            lines.extend(line);
            if self.targets.contains_key(&target) {
                self.turns.push_back(target);
            } else {
                passed = 0;
            }
        }
        (lines, silent)
    }

    fn take_from(
        &mut self,
        target: &Target,
        renderer: &Renderer,
        room: usize,
        silent: &mut Vec<Part>,
    ) -> Option<Line> {
        let items = self.targets.get_mut(target)?;
        let mut at = 0;
        while let Some(item) = items.get_mut(at) {
            if let Some(line) = item.take(renderer, room) {
                return Some(line);
            }
            if item.finished() {
                silent.extend(items.remove(at).into_iter().flat_map(Item::whole));
            } else {
                at += 1;
            }
        }
        if items.is_empty() {
            self.targets.remove(target);
        }
        None
    }

    /// Confirms that a line was delivered. Returns the deliveries to record.
    pub(super) fn confirm(&mut self, line: &Line) -> Vec<Part> {
        let Some(items) = self.targets.get_mut(&line.target) else { return Vec::new() };
        let Some(at) = items.iter().position(|item| item.key == line.key) else { return Vec::new() };
        let item = &mut items[at];
        if let Some(unit) = unit(item, line) {
            unit.state = UnitState::Confirmed;
        }
        if !item.finished() {
            let confirmed = item.confirmed();
            let news = item.post.id != PostId(0) && confirmed > item.recorded;
            item.recorded = item.recorded.max(confirmed);
            return if news { vec![(item.post.id, Some(confirmed))] } else { Vec::new() };
        }
        let parts = items.remove(at).and_then(Item::whole).into_iter().collect();
        if items.is_empty() {
            self.drop_target(&line.target);
        }
        parts
    }

    /// Marks a line that was sent but did not arrive as waiting again.
    pub(super) fn requeue(&mut self, line: &Line) {
        let item = self
            .targets
            .get_mut(&line.target)
            .and_then(|items| items.iter_mut().find(|item| item.key == line.key));
        if let Some(unit) = item.and_then(|item| unit(item, line))
            && unit.state == UnitState::Flying
        {
            (unit.state, unit.resent) = (UnitState::Waiting, true);
        }
    }

    /// Marks all lines that were sent but not confirmed as waiting again.
    pub(super) fn ground(&mut self) {
        for item in self.targets.values_mut().flatten() {
            for unit in item.units.iter_mut().flatten().filter(|unit| unit.state == UnitState::Flying) {
                (unit.state, unit.resent) = (UnitState::Waiting, true);
            }
        }
    }

    /// Removes the posts of a target for which `is_given_up` returns true. Returns the deliveries to record.
    pub(super) fn forget(&mut self, target: &Target, is_given_up: &dyn Fn(&Post) -> bool) -> Vec<Part> {
        let Some(items) = self.targets.get_mut(target) else { return Vec::new() };
        let (given_up, left): (VecDeque<Item>, VecDeque<Item>) =
            std::mem::take(items).into_iter().partition(|item| is_given_up(&item.post));
        *items = left;
        if items.is_empty() {
            self.drop_target(target);
        }
        given_up.into_iter().flat_map(Item::whole).collect()
    }

    /// Removes the last post of a target for which `is_kind` returns true and that was not sent yet, because a later
    /// post supersedes it. Returns the deliveries to record.
    pub(super) fn overtake(&mut self, target: &Target, is_kind: &dyn Fn(&Post) -> bool) -> Vec<Part> {
        let Some(items) = self.targets.get_mut(target) else { return Vec::new() };
        let waits = |item: &Item| is_kind(&item.post) && item.untouched() && !item.is_trimmed();
        let Some(at) = items.iter().rposition(waits) else { return Vec::new() };
        let parts = items.remove(at).and_then(Item::whole).into_iter().collect();
        if items.is_empty() {
            self.drop_target(target);
        }
        parts
    }

    /// Shortens the pending posts of a target if they exceed `longest` lines. Returns the changes to record.
    pub(super) fn collapse(
        &mut self,
        target: &Target,
        lane: Lane,
        longest: u32,
        keys: Keys,
        renderer: &Renderer,
    ) -> Away {
        let items = self.targets.get_mut(target);
        items.map(|items| backlog::collapse(items, target, lane, longest, keys, renderer)).unwrap_or_default()
    }

    /// Shortens the pending posts of a target because there are more than the queue may hold. Returns the changes to
    /// record.
    pub(super) fn bound(&mut self, target: &Target, lane: Lane, keys: Keys, renderer: &Renderer) -> Away {
        let items = self.targets.get_mut(target);
        items.map(|items| backlog::bound(items, target, lane, keys, renderer)).unwrap_or_default()
    }

    /// Returns the person with the oldest pending private post, if more than `most` people have one.
    pub(super) fn surplus_person(&self, most: usize) -> Option<Target> {
        if self.targets.len() <= most {
            return None;
        }
        let waits = |(target, items): (&Target, &VecDeque<Item>)| {
            let person = matches!(target, Target::Person(_));
            items.front().filter(|_| person).map(|first| (first.key, target.clone()))
        };
        let persons: Vec<(u64, Target)> = self.targets.iter().filter_map(waits).collect();
        let surplus = persons.len() > most;
        persons.into_iter().min_by_key(|(key, _)| *key).filter(|_| surplus).map(|(_, target)| target)
    }

    fn drop_target(&mut self, target: &Target) {
        self.targets.remove(target);
        self.turns.retain(|turn| turn != target);
    }
}

fn unit<'a>(item: &'a mut Item, line: &Line) -> Option<&'a mut Unit> {
    item.units.as_mut()?.iter_mut().find(|unit| unit.id == line.unit)
}
