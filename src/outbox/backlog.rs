//! Shortening of long backlogs to their last lines, with a count of the others.
//!
//! A person who returns to a channel wants to know the present state, not to scroll through a night. If an agent's
//! channel has more pending lines than configured ([`BACKLOG_LINES`]) in the normal lane, the last of the agent's
//! intermediate words stay, and one line "… n lines while away; `@agent log`" replaces the older ones. If that is
//! still too much, herder's older status posts follow. Results of tasks are shown; only if they exceed
//! [`RESULTS_KEPT`] lines the older ones are left out, last of all. A post of which a line was sent is never touched.
//!
//! Answers to people are shortened in the same way. Of alerts only those are left out that need no action by a
//! person: earlier ones about the same call, account, network or breaker, and mere news.
//!
//! A network that stays away must not fill the disk either. The pending posts of each target are bounded ([`bound`]):
//! lines for machines in the work channel by [`BOUND_KEPT`], answers to people by [`ANSWERS_KEPT`], each with a line
//! that counts those left out.
//!
//! One transaction removes the posts from the journal and puts the line in the place of the last of them, so that
//! neither a restart nor a crash changes the count.

use std::collections::{HashSet, VecDeque};

use super::lane::Item;
use super::{Renderer, render};
use crate::core::id::{AccountName, AgentName, NetworkName, PostId, WorkId};
use crate::core::notice::Notice;
use crate::core::post::{Body, Lane, Post, Target};
use crate::journal::{Collapsed, Settled};

/// Default of the setting `backlog_lines`: number of pending lines of one target beyond which its backlog is shortened.
pub const BACKLOG_LINES: u32 = 30;

/// Approximate number of last lines that stay when a backlog is shortened.
pub const BACKLOG_KEPT: u32 = 10;

/// Number of last lines of tasks' results that stay when a backlog is shortened: on IRC some minutes of talk.
const RESULTS_KEPT: u32 = 200;

/// Number of last lines that stay in a channel that programs read, which want all of them.
pub(super) const BOUND_KEPT: u32 = 500;

/// Number of last lines of answers that stay for one channel or person when there are too many.
pub(super) const ANSWERS_KEPT: u32 = 50;

/// Changes made by shortening a backlog, to be recorded in the journal in this order.
pub(super) type Away = Vec<Settled>;

/// Keys for the lines that replace others when a backlog is shortened; at most three are needed.
pub(super) type Keys = [u64; 3];

/// The rule for one shortening: how many lines stay, which posts can be left out, and the content of the line that
/// replaces them.
struct Rule<'a> {
    keep: u32,
    collapsible: &'a dyn Fn(&Item) -> bool,
    agent: Option<&'a AgentName>,
    lane: Lane,
}

/// Shortens the pending posts of `target` in one lane if they exceed `longest` lines. `keys` are for the lines that
/// replace others.
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

/// Shortens pending alerts, or pending answers in a channel. Answers to one person are left alone.
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

/// The subject of an alert; a later alert about the same subject supersedes an earlier one.
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

/// Returns the keys of alerts that a later alert about the same subject supersedes.
fn overtaken(items: &VecDeque<Item>) -> HashSet<u64> {
    let mut later = HashSet::new();
    let mut is_old = |item: &&Item| Subject::of(item).is_some_and(|subject| !later.insert(subject));
    items.iter().rev().filter(|item| is_old(item)).map(Item::key).collect()
}

/// Returns true if a post is an alert that requires no action by a person.
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

/// One stage of shortening: which posts can be left out, how many lines of them stay, and whether the stage applies.
type Stage<'a> = (&'a dyn Fn(&Item) -> bool, u32, bool);

/// Shortens an agent's posts in its own channel; other channels in the normal lane are left alone, because programs
/// read them.
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

/// Shortens the pending posts of `target`, of any kind, because there are more than the queue may hold.
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

/// Removes all but the last lines of the posts that `rule` selects, and inserts one line with their number at the place
/// of the last removed one.
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
            // The last words always stay in part, however long they are: their last lines.
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
            // The line takes the journal row of the last post that it replaces.
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

/// Returns the number of lines that a reader misses when this post is left out.
fn away_with(item: &Item) -> u32 {
    match &item.post.body {
        // A line that already replaces others carries their number.
        Body::Notice(Notice::Collapsed { count, .. }) => *count,
        // Lines that would have been cut are counted too.
        Body::Agent { text, .. } if !item.is_trimmed() => {
            u32::try_from(render::whole(text)).unwrap_or(u32::MAX).max(1)
        }
        Body::Agent { .. }
        | Body::Said { .. }
        | Body::File(_)
        | Body::Notice(_)
        | Body::Refusal(_)
        | Body::Hook(_)
        | Body::Lines(_)
        | Body::Looked(_)
        | Body::Kept(_) => item.lines(),
    }
}

/// Builds the post that replaces `count` lines; it takes the place and time of `last`, the last post that it replaces.
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
