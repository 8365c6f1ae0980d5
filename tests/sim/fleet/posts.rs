//! Pending posts of networks and the lines that arrived: every post once, in order, and twice only if its fate was
//! unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use herder::core::id::{NetworkName, PostId};
use herder::core::post::{Post, Target};
use herder::journal::{Confirmed, Journal, Settled};
use herder::outbox::Line;

/// A line of a post.
type Part = (PostId, u32);

/// A pending post.
#[derive(Debug, Default)]
struct Owed {
    network: NetworkName,
    /// Lines of it that the network has.
    arrived: BTreeSet<u32>,
    /// The number of its first lines that are recorded on disk as delivered.
    confirmed: u32,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    owed: BTreeMap<PostId, Owed>,
    /// Lines that have arrived without herder's knowledge: they may come once more.
    unknown: HashSet<Part>,
    /// The last post that arrived, by lane of a target.
    last: HashMap<(NetworkName, Target, bool), Part>,
}

impl Posts {
    /// Records a post that is on disk.
    pub(crate) fn owed(&mut self, post: &Post) -> Result<(), String> {
        let owed = Owed { network: post.network.clone(), ..Owed::default() };
        match self.owed.insert(post.id, owed) {
            Some(_) => Err(format!("post {} is owed twice", post.id)),
            None => Ok(()),
        }
    }

    /// Records lines that have arrived on a network.
    pub(crate) fn arrived(&mut self, network: &NetworkName, lines: &[Line]) -> Result<(), String> {
        for line in lines {
            let part = (line.post, line.index);
            let Some(owed) = self.owed.get_mut(&line.post) else {
                return Err(format!("post {} is said again on {network}: {}", line.post, line.text));
            };
            if owed.network != *network {
                return Err(format!("post {} is said on {network}", line.post));
            }
            let again = !owed.arrived.insert(line.index) || line.index < owed.confirmed;
            if again && !self.unknown.remove(&part) {
                return Err(format!(
                    "line {} of post {} is said again: {}",
                    line.index, line.post, line.text
                ));
            }
            let lane = (network.clone(), line.target.clone(), line.urgent);
            let last = self.last.entry(lane).or_insert(part);
            if part < *last && !again && !line.resent {
                return Err(format!("{part:?} is said after {last:?} in {:?}", line.target));
            }
            *last = part.max(*last);
        }
        Ok(())
    }

    /// Records the loss of a link: lines of the window that have arrived may be said once more.
    pub(crate) fn nobody_knows(&mut self, lines: &[Line]) {
        self.unknown.extend(lines.iter().map(|line| (line.post, line.index)));
    }

    /// Lines that no one takes are dropped and count as said.
    pub(crate) fn given_up(&mut self, lines: &[Line]) {
        for line in lines {
            if let Some(owed) = self.owed.get_mut(&line.post) {
                owed.arrived.insert(line.index);
            }
        }
    }

    /// Records the end of herder: lines that have arrived and are not recorded on disk may be said once more.
    pub(crate) fn herder_is_gone(&mut self) {
        for (post, owed) in &self.owed {
            let lines = owed.arrived.iter().filter(|line| **line >= owed.confirmed);
            self.unknown.extend(lines.map(|line| (*post, *line)));
        }
    }

    /// Records that the deliveries of posts are on disk.
    pub(crate) fn settled(&mut self, settled: &[Settled]) -> Result<(), String> {
        for settled in settled {
            match settled {
                Settled::Delivered(Confirmed { post, lines: None, .. }) => {
                    let Some(owed) = self.owed.remove(post) else {
                        return Err(format!("post {post} is delivered twice"));
                    };
                    if owed.arrived.is_empty() && owed.confirmed == 0 {
                        return Err(format!("post {post} counts as delivered, and nobody has seen it"));
                    }
                    self.unknown.retain(|(of, _)| of != post);
                }
                Settled::Delivered(Confirmed { post, lines: Some(lines), .. }) => {
                    if let Some(owed) = self.owed.get_mut(post) {
                        owed.confirmed = owed.confirmed.max(*lines);
                    }
                }
                Settled::Collapsed(collapsed) => {
                    for post in &collapsed.left_out {
                        if self.owed.remove(post).is_none() {
                            return Err(format!("post {post} is left out, and was not owed"));
                        }
                    }
                    match self.owed.get_mut(&collapsed.line.id) {
                        Some(owed) => (owed.arrived, owed.confirmed) = (BTreeSet::new(), 0),
                        None => return Err(format!("a line stands for post {}", collapsed.line.id)),
                    }
                }
            }
        }
        Ok(())
    }

    /// The outbox on disk holds exactly the posts that were not said.
    pub(crate) fn are_what_the_outbox_owes(
        &self,
        journal: &Journal,
        networks: &[NetworkName],
    ) -> Result<(), String> {
        let mut owed = BTreeSet::new();
        for network in networks {
            let posts = journal.undelivered(network).map_err(|reason| reason.to_string())?;
            owed.extend(posts.into_iter().map(|post| post.id));
        }
        let known: BTreeSet<PostId> = self.owed.keys().copied().collect();
        let differ: Vec<_> = owed.symmetric_difference(&known).take(5).collect();
        if differ.is_empty() { Ok(()) } else { Err(format!("posts {differ:?} are owed, or are not")) }
    }

    pub(crate) fn everything_was_said(&self) -> Result<(), String> {
        match self.owed.first_key_value() {
            Some((post, owed)) => Err(format!(
                "post {post} to {} was never delivered, nor were {} others",
                owed.network,
                self.owed.len() - 1
            )),
            None => Ok(()),
        }
    }
}
