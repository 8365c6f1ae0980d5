//! Long backlogs: the last lines, and how many there were.
//!
//! Somebody who comes back to a channel wants to know how things stand, not to scroll through a night. A channel of an agent
//! with more lines than the configuration allows ([`BACKLOG_LINES`]) in the normal lane keeps what the agent said last on its
//! way; the older words become one line "… n lines while away; `@agent log`" in their place. If that is still too much, the
//! older ones of herder's own status posts follow. What came of the work is shown: only of more lines than [`RESULTS_KEPT`]
//! the older ones are left out, last of all. A post of which a line was already handed out is never touched.
//!
//! Answers to what people asked are shortened in the same way. Of alerts nothing goes that a person has to do something
//! about: what a later one about the same call, account, network or breaker has overtaken, and what is mere news.
//!
//! A network that stays away must not fill the disk either. What waits for one target is bounded ([`bound`]): lines for
//! machines in the work channel by [`BOUND_KEPT`], answers to people by [`ANSWERS_KEPT`], each with a line that says how
//! many are left out.
//!
//! The posts that were left out leave the journal in the transaction that puts the line in the place of the last of them, so
//! that neither a restart nor a kill changes the number.

use std::collections::{HashSet, VecDeque};

use super::lane::Item;
use super::{Body, Lane, Post, Renderer, Target, render};
use crate::core::id::{AccountName, AgentName, NetworkName, PostId, WorkId};
use crate::core::notice::Notice;
use crate::journal::{Collapsed, Settled};

/// From more than so many lines on a backlog is collapsed, where the configuration does not say otherwise.
pub const BACKLOG_LINES: u32 = 30;

/// About how many of the last lines stay.
pub const BACKLOG_KEPT: u32 = 10;

/// How many of the last lines of results stay: on IRC some minutes of talk.
const RESULTS_KEPT: u32 = 200;

/// How many of the last lines stay for a channel that is read by machines, which want all of them.
pub(super) const BOUND_KEPT: u32 = 500;

/// How many of the last answers stay for one channel or person: who asked that often reads no more.
pub(super) const ANSWERS_KEPT: u32 = 50;

/// What has to be recorded of a collapse, in order.
pub(super) type Away = Vec<Settled>;

/// Keys for the lines that are put in: there are at most so many.
pub(super) type Keys = [u64; 3];

/// Which posts are left out, and what the line for them says.
struct Rule<'a> {
    keep: u32,
    collapsible: &'a dyn Fn(&Item) -> bool,
    agent: Option<&'a AgentName>,
    lane: Lane,
}

/// Collapses what waits for `target` in one lane, if that is more lines than `longest`. `keys` are for the lines that are put
/// in.
pub(super) fn collapse(
    items: &mut VecDeque<Item>,
    target: &Target,
    lane: Lane,
    longest: u32,
    keys: Keys,
    renderer: &Renderer,
) -> Away {
    match lane {
        Lane::Normal => collapse_talk(items, target, longest, keys, renderer),
        Lane::Urgent if items.iter().map(Item::lines).sum::<u32>() > longest => {
            collapse_urgent(items, target, keys[0], renderer)
        }
        Lane::Urgent => Away::new(),
    }
}

/// Alerts, or answers in a channel. What is said to one person is theirs alone.
fn collapse_urgent(items: &mut VecDeque<Item>, target: &Target, key: u64, renderer: &Renderer) -> Away {
    let mut away = Away::new();
    let overtaken = overtaken(items);
    let alert = |item: &Item| overtaken.contains(&item.key()) || is_news(item) || is_line(item);
    let answer = |item: &Item| item.post.answers.is_some() || is_line(item);
    let (collapsible, agent): (&dyn Fn(&Item) -> bool, _) = match target {
        Target::Person(_) => return away,
        Target::Alerts => (&alert, None),
        Target::Agent(agent) => (&answer, Some(agent)),
        Target::Work | Target::Control | Target::Channel(_) => (&answer, None),
    };
    let rule = Rule { keep: BACKLOG_KEPT, collapsible, agent, lane: Lane::Urgent };
    leave_out(items, key, &rule, renderer, &mut away);
    away
}

/// What an alert is about, where a later one about the same makes an earlier one history.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Subject {
    Call(WorkId),
    Account(AccountName),
    Network(NetworkName),
    Breaker(AgentName),
}

impl Subject {
    fn of(item: &Item) -> Option<Self> {
        let Body::Notice(notice) = &item.post.body else { return None };
        match notice {
            Notice::Escalated { id, .. } | Notice::EscalationAnswered { id, .. } => Some(Self::Call(*id)),
            Notice::AccountBlocked { account, .. }
            | Notice::AccountOpened { account, .. }
            | Notice::AccountExhausted { account, .. }
            | Notice::AccountAsked { account, .. }
            | Notice::AccountTried { account, .. }
            | Notice::AccountWorks { account, .. } => Some(Self::Account(account.clone())),
            Notice::NetworkDown { network, .. }
            | Notice::NetworkUp { network, .. }
            | Notice::NetworkRefused { network, .. } => Some(Self::Network(network.clone())),
            Notice::NeedsIntervention { agent, .. } | Notice::BreakerClosed { agent } => {
                Some(Self::Breaker(agent.clone()))
            }
            _ => None,
        }
    }
}

/// The keys of posts that a later one has overtaken.
fn overtaken(items: &VecDeque<Item>) -> HashSet<u64> {
    let mut later = HashSet::new();
    let mut is_old = |item: &&Item| Subject::of(item).is_some_and(|subject| !later.insert(subject));
    items.iter().rev().filter(|item| is_old(item)).map(Item::key).collect()
}

/// Whether nobody has to do anything about an alert.
fn is_news(item: &Item) -> bool {
    let Body::Notice(notice) = &item.post.body else { return false };
    matches!(
        notice,
        Notice::CapNear { .. }
            | Notice::CapWaived { .. }
            | Notice::SharedCapNear { .. }
            | Notice::SharedCapWaived { .. }
            | Notice::Spiked { .. }
            | Notice::EvaluatorLapsed { .. }
            | Notice::SupervisorPanicked { .. }
    )
}

/// What is left out next of a backlog that is still too long, how many lines of it stay, and whether that is ever due.
type Stage<'a> = (&'a dyn Fn(&Item) -> bool, u32, bool);

/// What an agent says in its own channel; other channels in the normal lane are read by machines.
fn collapse_talk(
    items: &mut VecDeque<Item>,
    target: &Target,
    longest: u32,
    keys: Keys,
    renderer: &Renderer,
) -> Away {
    let mut away = Away::new();
    let Target::Agent(agent) = target else { return away };
    let long = |items: &VecDeque<Item>| items.iter().map(Item::lines).sum::<u32>() > longest;
    let words = |item: &Item| (is_words(item) && !is_result(item)) || is_line(item);
    let status = |item: &Item| !is_result(item);
    let results_too = |item: &Item| is_result(item) || is_line(item);
    let results: u32 = items.iter().filter(|item| is_result(item)).map(Item::lines).sum();
    let stages: [Stage<'_>; 3] = [
        (&words, BACKLOG_KEPT, true),
        (&status, BACKLOG_KEPT, true),
        (&results_too, RESULTS_KEPT, results > RESULTS_KEPT),
    ];
    for ((collapsible, keep, is_due), key) in stages.into_iter().zip(keys) {
        if is_due && long(items) {
            let rule = Rule { keep, collapsible, agent: Some(agent), lane: Lane::Normal };
            leave_out(items, key, &rule, renderer, &mut away);
        }
    }
    away
}

/// Bounds what waits for `target`, whatever it is, once it is too much to hold.
pub(super) fn bound(
    items: &mut VecDeque<Item>,
    target: &Target,
    lane: Lane,
    keys: Keys,
    renderer: &Renderer,
) -> Away {
    let mut away = Away::new();
    let answers = |item: &Item| item.post.answers.is_some() || is_line(item);
    let all = |_: &Item| true;
    let rule = match (lane, target) {
        (Lane::Normal, Target::Agent(_)) => {
            return collapse_talk(items, target, BACKLOG_LINES, keys, renderer);
        }
        (Lane::Normal, _) => Rule { keep: BOUND_KEPT, collapsible: &all, agent: None, lane },
        (Lane::Urgent, _) => Rule { keep: ANSWERS_KEPT, collapsible: &answers, agent: None, lane },
    };
    leave_out(items, keys[0], &rule, renderer, &mut away);
    away
}

fn is_words(item: &Item) -> bool {
    matches!(&item.post.body, Body::Agent { .. })
}

fn is_result(item: &Item) -> bool {
    matches!(&item.post.body, Body::Agent { is_result: true, .. })
}

fn is_line(item: &Item) -> bool {
    matches!(&item.post.body, Body::Notice(Notice::Collapsed { .. }))
}

/// Takes out all but the last lines of what is collapsible, and puts one line where the last of them was.
fn leave_out(items: &mut VecDeque<Item>, key: u64, rule: &Rule<'_>, renderer: &Renderer, away: &mut Away) {
    let (mut kept, mut said, mut full) = (0, false, false);
    let mut left_out = vec![false; items.len()];
    let mut cut = None;
    for (at, item) in items.iter_mut().enumerate().rev() {
        if !item.untouched() || !(rule.collapsible)(item) {
            continue;
        }
        let room = rule.keep.saturating_sub(kept);
        if !full && !said && is_words(item) && room > 0 && item.lines() > room {
            // What was said last is not left out whole, however long it is: its last lines stay.
            cut = item.trim(renderer, room).map(|trim| (at, trim));
            full |= cut.is_some();
        } else {
            full |= kept > 0 && kept + item.lines() > rule.keep;
            left_out[at] = full;
        }
        said |= is_words(item);
        kept += item.lines();
    }
    let last = left_out.iter().rposition(|out| *out);
    let Some(place) = last.or(cut.as_ref().map(|(at, _)| *at)) else { return };
    let mut count = cut.as_ref().map_or(0, |(_, trim)| trim.lines);
    let mut ids = Vec::new();
    for (at, item) in std::mem::take(items).into_iter().enumerate() {
        let out = left_out[at];
        if out {
            count = count.saturating_add(away_with(&item));
            ids.extend(Some(item.post.id).filter(|id| *id != PostId(0)));
        }
        if at == place {
            // It takes the row of the last post that it stands for.
            let line = standing(&item.post, ids.pop().unwrap_or_default(), count, rule);
            items.push_back(Item::new(key, line.clone()));
            if line.id != PostId(0) {
                away.extend(cut.take().map(|(_, trim)| Settled::Delivered(trim.confirmed)));
                let left_out = std::mem::take(&mut ids);
                away.push(Settled::Collapsed(Box::new(Collapsed { line, left_out })));
            }
        }
        if !out {
            items.push_back(item);
        }
    }
}

/// How many lines are away with a post that is left out.
fn away_with(item: &Item) -> u32 {
    match &item.post.body {
        // A line that already stands for others brings their number.
        Body::Notice(Notice::Collapsed { count, .. }) => *count,
        // What would have been cut is away as well: it is counted with the rest.
        Body::Agent { text, .. } if !item.is_trimmed() => {
            u32::try_from(render::whole(text)).unwrap_or(u32::MAX).max(1)
        }
        Body::Agent { .. }
        | Body::Said { .. }
        | Body::Notice(_)
        | Body::Refusal(_)
        | Body::Hook(_)
        | Body::Lines(_)
        | Body::Looked(_)
        | Body::Kept(_) => item.lines(),
    }
}

/// The line that stands for `count` others, the last of which is `last`.
fn standing(last: &Post, id: PostId, count: u32, rule: &Rule<'_>) -> Post {
    Post {
        id,
        network: last.network.clone(),
        to: last.to.clone(),
        lane: rule.lane,
        at: last.at,
        body: Body::Notice(Notice::Collapsed { agent: rule.agent.cloned(), count }),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}
