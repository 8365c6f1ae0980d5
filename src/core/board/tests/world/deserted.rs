//! Agents without a supervisor.

use super::*;

impl World {
    pub(super) fn desert(&mut self, index: usize) {
        let name = self.name(index);
        if self.agents[&name].phase == Phase::Removed {
            return;
        }
        self.mail.retain(|mail| !matches!(mail, Mail::To(to, _) if *to == name));
        self.deserted.insert(name.clone());
        let events = self.board.take_back(&name, &self.agents[&name], self.now);
        self.commit(events);
        self.run_all_errands();
        self.deal();
    }

    /// Delivers the messages on their way to an agent, and drops those that it sent.
    pub(in crate::board::tests) fn arrives(&mut self, agent: &str) {
        let (to, others): (VecDeque<Mail>, VecDeque<Mail>) = std::mem::take(&mut self.mail)
            .into_iter()
            .partition(|mail| matches!(mail, Mail::To(to, _) if to.as_str() == agent));
        self.mail = others;
        for mail in to {
            self.deliver(mail);
        }
    }
}
