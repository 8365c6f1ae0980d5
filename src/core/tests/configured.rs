//! Tests of the configuration's changes to an existing agent.

use super::*;
use crate::event::StopReason;

/// The busy agent's spec with one thing changed.
fn changed(change: impl FnOnce(&mut AgentSpec)) -> (AgentSpec, AgentSpec) {
    let old = Desk::busy().agent.spec.expect("it was added");
    let mut new = old.clone();
    change(&mut new);
    (old, new)
}

#[test]
fn what_runs_is_another_thing_only_if_its_own_command_is() {
    type Change = fn(&mut AgentSpec);
    let cuts: [(&str, Change); 12] = [
        ("runtime", |spec| spec.runtime = Runtime::Claude),
        ("command", |spec| spec.command.push("--fast".to_owned())),
        ("prompt", |spec| spec.prompt = crate::spec::PromptMode::Arg),
        ("output", |spec| spec.output = crate::spec::Output::Codex),
        ("workspace", |spec| spec.workspace.push("sub")),
        ("model", |spec| spec.model = "other".to_owned()),
        ("permissions", |spec| spec.permissions = crate::spec::Permissions::ReadOnly),
        ("env", |spec| drop(spec.env.insert("A".to_owned(), "b".to_owned()))),
        ("inherit_env", |spec| spec.inherit_env.push("KEY".to_owned())),
        ("own_home", |spec| spec.own_home = true),
        ("credentials", |spec| spec.credentials.push("git".to_owned())),
        ("sandbox", |spec| spec.sandbox.push("bwrap".to_owned())),
    ];
    let leaves: [(&str, Change); 13] = [
        ("account", |spec| spec.account = "other".into()),
        ("autonomy", |spec| spec.autonomy = crate::spec::Autonomy::Full),
        ("instructions", |spec| spec.instructions.push_str("take care")),
        ("loop", |spec| spec.looping = true),
        ("rest", |spec| spec.rest = Duration::from_secs(9)),
        ("max_turns", |spec| spec.max_turns = 9),
        ("max_budget_usd", |spec| spec.max_budget_usd = 9.0),
        ("usd_per_day", |spec| spec.caps.usd_per_day = 9.0),
        ("max_task_duration", |spec| spec.max_task_duration = Some(Duration::from_secs(9))),
        ("relay", |spec| spec.relay = crate::spec::Relay::All),
        ("share", |spec| spec.share.pids = 9),
        ("channels", |spec| spec.channels.push("#dev".to_owned())),
        ("nothing", |_| ()),
    ];
    for (what, change) in cuts {
        let (old, new) = changed(change);
        assert!(!old.runs_as(&new), "{what}");
        let mut desk = Desk::busy();
        let step = desk.ask(Control::Configure(Box::new(new)));
        assert_eq!(step.told(), "Edited, StopRequested(Configured)", "{what}");
        let stopping = Notice::Stopping { agent: old.name.clone(), reason: StopReason::Configured };
        assert_eq!(step.reply, Some(stopping), "{what}");
    }
    for (what, change) in leaves {
        let (old, new) = changed(change);
        assert!(old.runs_as(&new), "{what}");
        let step = Desk::busy().ask(Control::Configure(Box::new(new)));
        assert_eq!(step.told(), "Edited", "{what}");
    }
}

#[test]
fn a_session_that_is_cut_goes_on_with_its_work_and_counts_as_nothing() {
    let (_, new) = changed(|spec| spec.command.push("--fast".to_owned()));
    let mut desk = Desk::busy();
    let before = (desk.agent.failures, desk.agent.crashes);
    desk.ask(Control::Configure(Box::new(new.clone())));
    let step = desk.fails(Category::Crash);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
    assert_eq!(desk.agent.current.as_ref().map(|work| (work.id, work.attempts)), Some((WorkId(1), 0)));
    assert_eq!((desk.agent.failures, desk.agent.crashes), before);

    // A pause requested meanwhile takes effect, and a session that had finished keeps its result.
    let mut desk = Desk::busy();
    desk.ask(Control::Pause { now: false });
    desk.ask(Control::Configure(Box::new(new.clone())));
    desk.fails(Category::Interrupted);
    assert!(matches!(desk.agent.phase, Phase::Paused { .. }), "{:?}", desk.agent.phase);
    let mut desk = Desk::busy();
    desk.ask(Control::Configure(Box::new(new)));
    assert_eq!(desk.succeeds().told(), "SessionEnded(Success)");
    assert_eq!((&desk.agent.phase, desk.queue()), (&Phase::Idle, Vec::new()));
}

#[test]
fn an_agent_without_a_session_begins_with_the_new_command() {
    let (_, new) = changed(|spec| {
        spec.command.push("--fast".to_owned());
        spec.looping = true;
    });
    let mut desk = Desk::new();
    let step = desk.ask(Control::Configure(Box::new(new.clone())));
    assert_eq!(step.told(), "Edited, SessionStarted(1)", "it was not begun by the old one");
    let mut desk = Desk::busy();
    desk.ask(Control::Remove);
    let late = desk.try_ask(Control::Configure(Box::new(new)));
    assert!(matches!(late, Err(Refusal::Removed { .. })), "{late:?}");
}
