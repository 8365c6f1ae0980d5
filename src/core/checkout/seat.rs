//! The conversation that an agent has open: that of the task it works on. Those of other tasks are kept with their clones.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::WorkId;
use crate::outcome::Usage;
use crate::past::Exchange;
use crate::work::Work;

/// A conversation that is kept while its agent works on another task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// Id of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its usage.
    pub used: Usage,
    /// Its last exchanges.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub exchanges: VecDeque<Exchange>,
}

impl Agent {
    /// Opens the conversation of the task that a session begins to work on, and keeps the one before.
    pub(crate) fn take_seat(&mut self, work: &Work) {
        let task = work.task();
        if !self.checkouts.all.contains_key(&task) {
            // Its agent has a workspace; a conversation about a clone is of no use there.
            if let Some(before) = self.checkouts.seated.take() {
                self.leave_seat(before);
                let aside = self.checkouts.aside.take();
                self.continue_with(aside.map(|aside| *aside).unwrap_or_default());
            }
            return;
        }
        // Messages in the agent's channel are not about another agent's task.
        if work.card().review.is_none() {
            self.checkouts.open = Some(task);
        }
        let before = self.checkouts.seated.replace(task);
        if before == Some(task) {
            return;
        }
        if let Some(before) = before {
            self.leave_seat(before);
        } else if self.has_repository() {
            self.checkouts.aside = None;
        } else {
            self.checkouts.aside = Some(Box::new(self.put_aside()));
        }
        let known = self.checkouts.all.get_mut(&task);
        let known = known.map(|checkout| std::mem::take(&mut checkout.conversation)).unwrap_or_default();
        self.continue_with(known);
    }

    fn leave_seat(&mut self, task: WorkId) {
        let kept = self.put_aside();
        if let Some(checkout) = self.checkouts.all.get_mut(&task) {
            checkout.conversation = kept;
        }
    }

    fn put_aside(&mut self) -> Conversation {
        Conversation {
            id: self.conversation.take(),
            used: std::mem::take(&mut self.conversed),
            exchanges: std::mem::take(&mut self.exchanges),
        }
    }

    fn continue_with(&mut self, conversation: Conversation) {
        let Conversation { id, used, exchanges } = conversation;
        (self.conversation, self.conversed, self.exchanges) = (id, used, exchanges);
    }

    /// Forgets the conversations about all tasks: the agent's settings have changed so that none can be resumed.
    pub(crate) fn forget_conversations(&mut self) {
        for checkout in self.checkouts.all.values_mut() {
            checkout.conversation.id = None;
        }
        if let Some(aside) = &mut self.checkouts.aside {
            aside.id = None;
        }
    }
}
