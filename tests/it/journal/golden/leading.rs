//! Agents that lead: parts of a task, and the wait for them.

use std::sync::Arc;

use herder::core::board::BoardEvent;
use herder::core::card::{Card, Spent};
use herder::core::check::Evidence;
use herder::core::event::Event;
use herder::core::id::{SessionId, WorkId};
use herder::core::lead::{PartOutcome, PartResult};
use herder::core::review::{Landed, Proof};
use herder::core::spec::{AgentSpec, Autonomy, Permissions, Rights, Runtime};
use herder::core::work::{Actor, TaskEnd, Work, WorkKind};
use herder::journal::FleetEvent;

use super::super::{agent, ann};
use super::board::evidence;
use super::samples::work;

fn outcome() -> PartOutcome {
    let landed = Landed {
        branch: "main".to_owned(),
        commit: "0d".repeat(20),
        head: "0b".repeat(20),
        link: String::new(),
    };
    let proof = Proof {
        branch: "herder/31-port".to_owned(),
        check: Some(Evidence { output: String::new(), ..evidence() }),
        accepted: Some(ann()),
        landed: Some(landed),
    };
    PartOutcome {
        note: "ported".into(),
        commit: "0b".repeat(20),
        proof: Some(Box::new(proof)),
        spent: Spent { tokens: 1200, microdollars: 250_000 },
    }
}

pub(super) fn events() -> Vec<Event> {
    let (session, task, parts) = (SessionId(7), WorkId(30), vec![WorkId(31), WorkId(32)]);
    let whole =
        PartResult { part: WorkId(31), end: TaskEnd::Done, agent: Some(agent("flint")), outcome: outcome() };
    let bare = PartResult {
        part: WorkId(32),
        end: TaskEnd::Cancelled,
        agent: None,
        outcome: PartOutcome::default(),
    };
    let mut spec = AgentSpec::new(agent("crane"), Runtime::Claude, "/srv/crane".into());
    (spec.leads, spec.lead_budget_usd) = (true, 2.5);
    vec![
        Event::PartsAwaited { session, work: task, parts: parts.clone() },
        Event::Parked { session, work: task, parts },
        Event::PartsReported { session, work: task, results: vec![Arc::new(whole), Arc::new(bare)] },
        Event::Added { spec: Box::new(spec), by: ann() },
    ]
}

pub(super) fn fleet() -> Vec<FleetEvent> {
    let (task, part, spark) = (WorkId(30), WorkId(31), agent("spark"));
    let card = Card {
        parent: Some(task),
        depth: 1,
        most: Some(Rights { permissions: Permissions::WorkspaceWrite, autonomy: Autonomy::Human }),
        ..Card::default()
    };
    let by = Actor::agent(&spark);
    let added = Work { by: by.clone(), card: Some(Box::new(card)), ..work(31, WorkKind::Task) };
    let added = |to| BoardEvent::PartAdded { agent: spark.clone(), work: Arc::new(added.clone()), to };
    let over = BoardEvent::PartOver {
        agent: agent("flint"),
        number: 5,
        part,
        parent: task,
        end: TaskEnd::Done,
        outcome: Some(Box::new(outcome())),
    };
    let events = [
        added(None),
        added(Some(agent("flint"))),
        over,
        BoardEvent::PartCancelled { task, part, by },
        BoardEvent::LeadEnding { task, by: ann() },
        BoardEvent::LeadClosed { task },
    ];
    events.into_iter().map(|event| FleetEvent::Board { event }).collect()
}
