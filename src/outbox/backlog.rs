//! Long backlogs: the last lines, and how many there were.
//!
//! Somebody who comes back to a channel wants to know how things stand, not to scroll through a night. A channel of an agent
//! with more than [`BACKLOG_LINES`] lines in the normal lane keeps what the agent said last; the older words become one line
//! "… n lines while away; `@agent log`" in their place. If herder's own status posts alone are still too many, the older ones
//! of them follow. Alerts and answers are of the urgent lane and are never touched, nor are machine-read lines in the work
//! channel, nor a post of which a line was already handed out.
//!
//! The posts that were left out count as delivered when that line is: a herder that is killed before still owes them all.

use std::collections::VecDeque;
use std::sync::Arc;

use super::lane::Item;
use super::{Body, Lane, Post, Target, render};
use crate::core::id::PostId;
use crate::core::notice::Notice;

/// From more than so many lines on a backlog is collapsed.
pub const BACKLOG_LINES: u32 = 30;

/// About how many of the last lines stay.
pub const BACKLOG_KEPT: u32 = 10;

/// Collapses the backlog of `target`, if it is an agent's channel and long. `key` is for the line that is put in.
pub(super) fn collapse(items: &mut VecDeque<Item>, target: &Target, key: u64) {
    let Target::Agent(agent) = target else { return };
    let long = |items: &VecDeque<Item>| items.iter().map(Item::lines).sum::<u32>() > BACKLOG_LINES;
    let words =
        |item: &Item| matches!(&item.post.body, Body::Agent { .. } | Body::Notice(Notice::Collapsed { .. }));
    if long(items) {
        leave_out(items, key, words, agent);
    }
    if long(items) {
        leave_out(items, key, |_| true, agent);
    }
}

/// Takes out all but the last lines of what is `collapsible`, and puts one line where the last of them was.
fn leave_out(
    items: &mut VecDeque<Item>,
    key: u64,
    collapsible: impl Fn(&Item) -> bool,
    agent: &crate::core::id::AgentName,
) {
    let (mut kept, mut full) = (0, false);
    let mut left_out = vec![false; items.len()];
    for (at, item) in items.iter().enumerate().rev() {
        if !item.untouched() || !collapsible(item) {
            continue;
        }
        // The last post stays even when it alone is longer.
        full |= kept > 0 && kept + item.lines() > BACKLOG_KEPT;
        left_out[at] = full;
        kept += item.lines();
    }
    let Some(place) = left_out.iter().rposition(|out| *out) else { return };
    let mut line = None;
    for (at, item) in std::mem::take(items).into_iter().enumerate() {
        if left_out[at] {
            absorb(&mut line, item, key, agent);
            if at == place {
                items.extend(line.take());
            }
        } else {
            items.push_back(item);
        }
    }
}

/// Adds a post that is left out to the line that stands for all of them.
fn absorb(line: &mut Option<Item>, item: Item, key: u64, agent: &crate::core::id::AgentName) {
    let lines = item.lines();
    let post = &*item.post;
    let (id, at) = (post.id, post.at);
    let line = line.get_or_insert_with(|| {
        let body = Body::Notice(Notice::Collapsed { agent: Some(agent.clone()), count: 0 });
        let post = Post {
            id: PostId(0),
            network: post.network.clone(),
            to: post.to.clone(),
            lane: Lane::Normal,
            at,
            body,
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        };
        Item::new(key, post)
    });
    // A line that already stands for others brings their number.
    let more = match &post.body {
        Body::Notice(Notice::Collapsed { count, .. }) => *count,
        // What would have been cut is away as well: it is counted with the rest.
        Body::Agent { text, .. } => u32::try_from(render::whole(text)).unwrap_or(u32::MAX).max(1),
        Body::Notice(_) | Body::Refusal(_) | Body::Lines(_) => lines,
    };
    let standing = Arc::make_mut(&mut line.post);
    standing.at = at;
    if let Body::Notice(Notice::Collapsed { count, .. }) = &mut standing.body {
        *count = count.saturating_add(more);
    }
    line.covers.extend(item.covers);
    line.covers.extend(Some(id).filter(|id| *id != PostId(0)));
}
