//! Laws that hold after every step, and once every message has arrived.

use super::*;

impl World {
    pub(super) fn check(&self) {
        for task in &self.given {
            let mut places = Vec::new();
            if let Some(boarded) = self.board.tasks.get(task) {
                let arrived = matches!(&boarded.place, Place::Offered { to, number }
                    if self.agents[to].board.taken >= *number);
                if !arrived {
                    places.push(format!("board {:?}", boarded.place));
                }
            }
            let over = self.board.finished.iter().filter(|done| done.work.id == *task);
            places.extend(over.map(|_| "ended on the board".to_owned()));
            for (name, agent) in &self.agents {
                let works = agent.all_works().filter(|work| work.id == *task);
                places.extend(works.map(|_| format!("with {name}")));
                let over = agent.finished.iter().filter(|done| done.work.id == *task);
                places.extend(over.map(|_| format!("ended with {name}")));
                let unheard = agent.board.news.iter().filter(|news| news.number > self.board.heard_of(name));
                let back = unheard
                    .filter(|news| matches!(&news.news, News::HandedBack { work, .. } if work.id == *task));
                places.extend(back.map(|_| format!("handed back by {name}")));
            }
            assert!(!places.is_empty(), "{task} is lost");
            assert!(places.len() == 1, "{task} is in several places: {places:?}");
        }
        let twice = self.ended.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None, "a task ended twice on the board");
        self.check_parts();
        for agent in self.agents.values() {
            assert!(agent.board.news.len() <= 100, "news pile up");
        }
    }

    /// Checks, after every message has arrived, that no hand-over is under way and no task waits that could be
    /// started.
    pub(in crate::board::tests) fn is_settled(&self) {
        for (id, boarded) in &self.board.tasks {
            if boarded.waits_for_others() {
                let open = |task| self.end_of(task) != Some(TaskEnd::Done);
                assert!(boarded.work.card().awaited().any(open), "{id} waits for tasks that are done");
                continue;
            }
            match &boarded.place {
                // An agent that is being stopped for removal takes no tasks, and gives them back when it is gone.
                Place::Queued { to: Some(to) } if self.deserted.contains(to) => {}
                Place::Offered { to, .. } | Place::Queued { to: Some(to) } => {
                    assert!(self.agents[to].leaves(), "{id} never arrived at {to}");
                }
                Place::Queued { to: None } => {
                    let free = self.agents.iter().any(|(name, agent)| {
                        let there = !self.closed.contains(name) && !self.deserted.contains(name);
                        let free = agent.is_free(self.now) && there;
                        free && Board::would_do(agent, &boarded.work)
                    });
                    assert!(!free, "{id} waits though somebody is idle");
                }
                Place::Split { parts, cancelled } => {
                    let done = parts.iter().all(|part| part.end == Some(TaskEnd::Done));
                    let over = parts.iter().all(|part| part.end.is_some());
                    assert!(!(done || over && cancelled.is_some()), "{id} is over and stays: {parts:?}");
                }
            }
        }
        self.are_parts_settled();
        let heard =
            |name: &AgentName, agent: &Agent| agent.phase != Phase::Removed && !self.deserted.contains(name);
        for (name, agent) in self.agents.iter().filter(|(name, agent)| heard(name, agent)) {
            assert!(agent.board.news.is_empty(), "{name} was not heard: {:?}", agent.board.news);
        }
    }
}
