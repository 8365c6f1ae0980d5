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
            }
            return;
        }
        // Messages in the agent's channel are not about another agent's task.
        if work.card().review.is_none() {
            self.checkouts.open = Some(task);
        }
        let name = self.spec.as_ref().map(|spec| spec.name.clone());
        let plan = self.checkouts.all.get_mut(&task).map(|checkout| &mut checkout.plan);
        if let (Some(plan), Some(name)) = (plan, name)
            && !plan.worked.contains(&name)
        {
            plan.worked.push(name);
        }
        let before = self.checkouts.seated.replace(task);
        if before == Some(task) {
            return;
        }
        if let Some(before) = before {
            self.leave_seat(before);
        } else {
            (self.conversation, self.conversed) = (None, Usage::default());
            self.exchanges.clear();
        }
        if let Some(checkout) = self.checkouts.all.get_mut(&task) {
            let Conversation { id, used, exchanges } = std::mem::take(&mut checkout.conversation);
            (self.conversation, self.conversed, self.exchanges) = (id, used, exchanges);
        }
    }

    fn leave_seat(&mut self, task: WorkId) {
        let kept = Conversation {
            id: self.conversation.take(),
            used: std::mem::take(&mut self.conversed),
            exchanges: std::mem::take(&mut self.exchanges),
        };
        if let Some(checkout) = self.checkouts.all.get_mut(&task) {
            checkout.conversation = kept;
        }
    }

    /// Forgets the conversations about all tasks: the agent's settings have changed so that none can be resumed.
    pub(crate) fn forget_conversations(&mut self) {
        for checkout in self.checkouts.all.values_mut() {
            checkout.conversation.id = None;
        }
    }
}
