//! `status`: shows the state of an agent or the fleet from memory; no model is asked.

use serde::Serialize;
use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{DOT, Voice, person};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::agent::{Agent, Breaker, Phase, Totals};
use crate::core::ask::{About, Ask};
use crate::core::clean::visible;
use crate::core::link::{LinkReport, LinkState};
use crate::core::machine::Taken;
use crate::core::outcome::Usage;
use crate::core::promotion::Hold;
use crate::core::role::Role;
use crate::core::time::Timestamp;
use crate::core::verdict::Verdict;
use crate::core::watch::{Counts, Escalation, Judgement, Watch};
use crate::core::work::{Work, WorkKind};
use crate::supervisor::View;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Status,
    name: "status",
    aliases: &[],
    args: &[Arg::AgentOrAll],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-status",
};

pub(super) fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let line_of = |view: &View| super::handoff::line(desk.inner.journal.data_dir(), view);
    if call.agent.is_some() {
        let view = desk.view(call)?;
        let data = json!(AgentStatus::of(&view, desk.now, line_of(&view)));
        return Ok(Answer::lines(one(voice, &view)).with(data));
    }
    let (views, links) = (desk.fleet.agents(), desk.fleet.links());
    let mut lines = vec![fleet(voice, &views, &links)];
    lines.extend(desk.first(views.iter().map(|view| line(voice, view))));
    let data = json!({
        "agents": views.iter().map(|view| AgentStatus::of(view, desk.now, line_of(view))).collect::<Vec<_>>(),
        "links": links.iter().map(link).collect::<Vec<_>>(),
    });
    Ok(Answer::lines(lines).with(data))
}

/// Formats the state of the fleet in one line.
fn fleet(voice: Voice<'_>, views: &[View], links: &[LinkReport]) -> String {
    if views.is_empty() {
        return voice.text("cmd-status-nobody", &[]);
    }
    let busy = views.iter().filter(|view| view.agent.session().is_some()).count();
    let stopped = views.iter().filter(|view| is_stopped(&view.agent.phase)).count();
    let summary = voice.text(
        "cmd-status-fleet",
        &[("agents", views.len().into()), ("busy", busy.into()), ("stopped", stopped.into())],
    );
    std::iter::once(summary).chain(links.iter().map(|link| voice.link(link))).collect::<Vec<_>>().join(DOT)
}

/// Returns true if an agent in this phase continues only when a person acts.
fn is_stopped(phase: &Phase) -> bool {
    match phase {
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded | Phase::Removed => true,
        Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Waiting { .. } => false,
    }
}

/// Formats the state of one agent in one line.
fn line(voice: Voice<'_>, view: &View) -> String {
    let agent = &view.agent;
    let mut pieces = vec![format!("{}: {}", view.name, voice.phase(agent, view.hold.as_ref()))];
    pieces.extend(activity(voice, view));
    if !agent.queue.is_empty() {
        pieces.push(voice.text("cmd-status-queued", &[("count", agent.queue.len().into())]));
    }
    if agent.failures > 0 {
        pieces.push(voice.text("cmd-status-failures", &[("count", agent.failures.into())]));
    }
    let asks: Vec<String> = open(voice, agent).map(|ask| ask.id.to_string()).collect();
    if !asks.is_empty() {
        pieces.push(voice.text("cmd-status-asks", &[("asks", asks.join(", ").into())]));
    }
    pieces.join(DOT)
}

/// Returns an agent's questions that are still open.
fn open<'a>(voice: Voice<'_>, agent: &'a Agent) -> impl Iterator<Item = &'a Ask> {
    let now = voice.now;
    agent.asks.iter().filter(move |ask| ask.until > now)
}

/// Formats an agent's open questions, one per line.
fn asked(voice: Voice<'_>, agent: &Agent) -> Vec<String> {
    open(voice, agent)
        .map(|ask| {
            let kind = match ask.about {
                About::Permission { .. } => "permission",
                About::Question { .. } => "question",
                About::Plan { .. } => "plan",
            };
            let text = voice.short(&visible(ask.about.words()), 160).replace('`', "'");
            let left = ask.until.since(voice.now);
            voice.text(
                "cmd-status-asked",
                &[
                    ("ask", ask.id.to_string().into()),
                    ("kind", kind.into()),
                    ("text", text.into()),
                    ("left", left.into()),
                ],
            )
        })
        .collect()
}

/// Describes in lines what a running session of an agent does at present.
fn activity(voice: Voice<'_>, view: &View) -> Vec<String> {
    if view.agent.session().is_none() {
        return Vec::new();
    }
    let live = &view.live;
    let tool = live.tool.as_deref().map(|tool| voice.short(tool, 60));
    let mut pieces: Vec<String> =
        tool.map(|tool| voice.text("cmd-status-tool", &[("tool", tool.into())])).into_iter().collect();
    if let Some(last) = live.last_event {
        pieces.push(voice.text("cmd-status-idle", &[("idle", voice.now.since(last).into())]));
    }
    if live.turns > 0 {
        pieces.push(voice.text("cmd-status-turns", &[("count", live.turns.into())]));
    }
    pieces.extend(
        live.memory
            .map(|memory| voice.text("cmd-status-memory", &[("taken", voice.locale.taken(memory).into())])),
    );
    // The books include estimates; the live meter may be a moment ahead of them.
    let meter = view.agent.meter;
    let usage = if meter.tokens() >= live.usage.tokens() { meter } else { live.usage };
    if usage != Usage::default() {
        pieces.push(voice.usage(usage));
    }
    pieces
}

/// Formats the state of one agent in full, in several lines.
fn one(voice: Voice<'_>, view: &View) -> Vec<String> {
    let agent = &view.agent;
    let mut first = vec![format!("{}: {}", view.name, voice.phase(agent, view.hold.as_ref()))];
    first.push(voice.text("cmd-status-since", &[("since", agent.in_phase(voice.now).into())]));
    first.extend(activity(voice, view));
    if agent.pause_pending.is_some() {
        first.push(voice.text("cmd-status-pause-pending", &[]));
    }
    let totals = &agent.totals;
    let sums = voice.text(
        "cmd-status-totals",
        &[
            ("sessions", totals.sessions.into()),
            ("successes", totals.successes.into()),
            ("failures", totals.failures.into()),
            ("crashes", totals.crashes.into()),
            ("turns", totals.turns.into()),
            ("usage", voice.usage(totals.usage).into()),
        ],
    );
    let mut lines = vec![first.join(DOT), sums];
    lines.extend(spent(voice, agent));
    if totals.unknown > 0 {
        lines.push(voice.text("cmd-status-unknown", &[("count", totals.unknown.into())]));
    }
    let today = agent.books.today(voice.now, None);
    if today != Usage::default() {
        let caps = agent.caps(voice.now).map(|standing| super::usage::cap(voice, standing));
        let today = voice.text("cmd-status-today", &[("usage", voice.usage(today).into())]);
        lines.push(std::iter::once(today).chain(caps).collect::<Vec<_>>().join(DOT));
    }
    if let Some(workspace) = &agent.workspace {
        let workspace = voice.locale.workspace(workspace);
        lines.push(voice.text("cmd-status-workspace", &[("workspace", workspace.into())]));
    }
    lines.extend(troubles(voice, agent));
    lines.extend(asked(voice, agent));
    lines.extend(watched(voice, &agent.watch));
    let messages = agent.queue.iter().filter(|work| work.kind == WorkKind::Message).count();
    let tasks = agent.queue.iter().filter(|work| work.kind == WorkKind::Task).count();
    if messages + tasks > 0 {
        let variables = [("messages", messages.into()), ("tasks", tasks.into())];
        lines.push(voice.text("cmd-status-queue", &variables));
    }
    lines
}

/// Formats the usage of an agent's last turn and of its session; `None` if there is none.
fn spent(voice: Voice<'_>, agent: &Agent) -> Option<String> {
    let (told, turn) = super::usage::last_turn(voice, agent);
    let runs = ("runs", if agent.session().is_some() { "yes" } else { "no" }.into());
    let session = ("session", voice.usage(agent.meter).into());
    (!agent.meter.is_none()).then(|| voice.text("cmd-status-spent", &[told, turn, runs, session]))
}

/// Describes the state of the evaluator for an agent, without its whispers, which are for the agent alone.
fn watched(voice: Voice<'_>, watch: &Watch) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(judged) = &watch.judged {
        let counts = &watch.counts;
        let last = match &judged.what {
            Judgement::Verdict(Verdict::Ok) => voice.text("cmd-status-judged-ok", &[]),
            Judgement::Verdict(_) => voice.text("cmd-status-judged", &[("count", watch.findings.into())]),
            Judgement::Lapse(lapse) => voice.short(&voice.locale.lapse(&lapse.hushed()), 160),
        };
        let kinds = counts.kinds.by_name().map(|(kind, count)| {
            voice.text("cmd-status-lapses", &[("kind", kind.into()), ("count", count.into())])
        });
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let variables = [
            ("judged", counts.judged.into()),
            ("findings", counts.findings.into()),
            ("lapses", counts.lapses.into()),
            ("named", if kinds.is_empty() { "no" } else { "yes" }.into()),
            ("kinds", kinds.into()),
            ("ago", voice.now.since(judged.at).into()),
            ("last", last.into()),
        ];
        lines.push(voice.text("cmd-status-evaluator", &variables));
    }
    if let Some(call) = &watch.escalation {
        let acked = call.acked.as_ref().map(person);
        let variables = [
            ("id", call.id.to_string().into()),
            ("ago", voice.now.since(call.at).into()),
            ("acked", if acked.is_some() { "yes" } else { "no" }.into()),
            ("name", acked.unwrap_or_default().into()),
        ];
        lines.push(voice.text("cmd-status-called", &variables));
    }
    lines
}

/// Describes an agent's recent failures; `None` if there are none.
fn troubles(voice: Voice<'_>, agent: &Agent) -> Option<String> {
    let mut pieces = Vec::new();
    if agent.failures > 0 {
        pieces.push(voice.text("cmd-status-failures", &[("count", agent.failures.into())]));
    }
    if agent.crashes > 0 {
        pieces.push(voice.text("cmd-status-crashes", &[("count", agent.crashes.into())]));
    }
    match agent.breaker {
        Breaker::Closed => {}
        Breaker::Open => pieces.push(voice.text("cmd-status-breaker-open", &[])),
        Breaker::HalfOpen => pieces.push(voice.text("cmd-status-breaker-half-open", &[])),
    }
    let detail =
        agent.last_outcome.as_ref().map(|outcome| voice.short(&voice.locale.detail(&outcome.detail), 160));
    if let Some(detail) = detail.filter(|detail| !detail.is_empty()) {
        pieces.push(voice.text("cmd-status-last", &[("detail", detail.into())]));
    }
    (!pieces.is_empty()).then(|| pieces.join(DOT))
}

/// The state of one agent as JSON for programs.
#[derive(Debug, Serialize)]
struct AgentStatus<'a> {
    name: &'a str,
    #[serde(flatten)]
    phase: &'a Phase,
    since: Timestamp,
    current: Option<&'a Work>,
    queued: usize,
    pause_pending: bool,
    tool: Option<&'a str>,
    idle_ms: Option<u64>,
    turns: u32,
    usage: Usage,
    last_turn: Usage,
    hour: Usage,
    today: Usage,
    failures: u32,
    crashes: u32,
    breaker: Breaker,
    next_restart: Option<Timestamp>,
    hold: Option<&'a Hold>,
    totals: &'a Totals,
    evaluator: &'a Counts,
    escalation: Option<&'a Escalation>,
    asks: &'a [Ask],
    runtime: Option<crate::core::spec::Runtime>,
    account: Option<&'a str>,
    pid: Option<u32>,
    conversation: Option<&'a str>,
    /// The line that takes the conversation up in a terminal.
    handoff: Option<String>,
    memory: Option<Taken>,
}

impl<'a> AgentStatus<'a> {
    fn of(view: &'a View, now: Timestamp, handoff: Option<String>) -> Self {
        let agent = &*view.agent;
        let idle = view.live.last_event.map(|last| now.since(last));
        Self {
            name: view.name.as_str(),
            phase: &agent.phase,
            since: agent.since,
            current: agent.current.as_ref(),
            queued: agent.queue.len(),
            pause_pending: agent.pause_pending.is_some(),
            tool: view.live.tool.as_deref(),
            idle_ms: idle.map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
            turns: view.live.turns,
            usage: if agent.meter.tokens() >= view.live.usage.tokens() {
                agent.meter
            } else {
                view.live.usage
            },
            last_turn: agent.turn,
            hour: agent.books.this_hour(now, None),
            today: agent.books.today(now, None),
            failures: agent.failures,
            crashes: agent.crashes,
            breaker: agent.breaker,
            next_restart: agent.countdown(),
            hold: view.hold.as_ref().filter(|_| agent.wants().is_some()),
            totals: &agent.totals,
            evaluator: &agent.watch.counts,
            escalation: agent.watch.escalation.as_ref(),
            asks: &agent.asks,
            runtime: agent.spec.as_ref().map(|spec| spec.runtime),
            account: agent.spec.as_ref().map(|spec| spec.account.as_str()),
            pid: agent.process.map(|process| process.pid),
            conversation: agent.conversation.as_deref(),
            handoff,
            memory: view.live.memory.filter(|_| agent.session().is_some()),
        }
    }
}

/// Returns the state of a network's link as JSON for programs.
fn link(report: &LinkReport) -> serde_json::Value {
    let network = report.network.as_str();
    match &report.state {
        LinkState::Up { since, unidentified } => {
            let unidentified = unidentified.as_ref().map(ToString::to_string);
            json!({ "network": network, "state": "up", "since": since, "unidentified": unidentified })
        }
        LinkState::Connecting { attempts, reason } => {
            let reason = reason.as_ref().map(ToString::to_string);
            json!({ "network": network, "state": "connecting", "attempts": attempts, "reason": reason })
        }
        LinkState::Barred { attempts, reason } => {
            json!({ "network": network, "state": "barred", "attempts": attempts, "reason": reason.to_string() })
        }
        LinkState::Refused { reason } => {
            json!({ "network": network, "state": "refused", "reason": reason.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};
    use std::time::Duration;

    use super::*;
    use crate::core::event::{PauseReason, StopReason, WaitReason};
    use crate::core::id::{AgentName, NetworkName, SessionId, WorkId};
    use crate::core::outcome::{Category, Outcome};
    use crate::core::work::Actor;
    use crate::l10n::Locale;
    use crate::redact::Redactor;
    use crate::runtime::Live;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn alice() -> Actor {
        Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None }
    }

    fn work(kind: WorkKind) -> Work {
        let text = "fix the\ntests".to_owned();
        Work { id: WorkId(7), kind, text, by: alice(), at: NOW, attempts: 0, card: None }
    }

    fn view(phase: Phase, change: impl FnOnce(&mut Agent, &mut Live)) -> View {
        let since = NOW.before(Duration::from_secs(200));
        let mut agent = Agent { phase, since, ..Agent::default() };
        let mut live = Live::default();
        change(&mut agent, &mut live);
        View {
            name: AgentName::new("spark").expect("a name"),
            agent: Arc::new(agent),
            live,
            hold: None,
            closed: false,
            runner: None,
        }
    }

    fn busy(agent: &mut Agent, live: &mut Live) {
        agent.current = Some(work(WorkKind::Message));
        agent.queue.extend([work(WorkKind::Message), work(WorkKind::Task)]);
        agent.totals.sessions = 4;
        agent.totals.successes = 3;
        agent.totals.usage =
            Usage { input_tokens: 1_234_567, output_tokens: 89_012, cost_usd: 3.5, ..Usage::default() };
        live.tool = Some("Bash\u{1b}[31m".to_owned());
        live.last_event = Some(NOW.before(Duration::from_secs(12)));
        live.turns = 3;
        live.usage = Usage { input_tokens: 12_000, output_tokens: 950, cost_usd: 0.12, ..Usage::default() };
    }

    fn failing(agent: &mut Agent, _: &mut Live) {
        agent.failures = 2;
        agent.crashes = 1;
        agent.breaker = Breaker::HalfOpen;
        agent.totals.unknown = 1;
        agent.last_outcome = Some(Outcome::new(Category::Crash, "exit code 101"));
    }

    fn views() -> Vec<View> {
        let session = SessionId(4);
        let nothing = |_: &mut Agent, _: &mut Live| {};
        let until = NOW.after(Duration::from_secs(35));
        vec![
            view(Phase::Idle, nothing),
            view(Phase::Starting { session }, |agent, _| agent.current = Some(work(WorkKind::Round))),
            view(Phase::Running { session }, busy),
            view(Phase::Running { session }, |agent, live| {
                busy(agent, live);
                agent.pause_pending = Some(alice());
            }),
            view(Phase::Stopping { session, reason: StopReason::Abort }, busy),
            view(Phase::Waiting { until, reason: WaitReason::Backoff(Category::Crash) }, failing),
            view(Phase::Waiting { until, reason: WaitReason::RateLimit }, nothing),
            view(Phase::Paused { reason: PauseReason::Person(alice()) }, nothing),
            view(Phase::Paused { reason: PauseReason::Account(Category::Auth) }, nothing),
            view(Phase::NeedsIntervention, failing),
            view(Phase::Degraded, failing),
        ]
    }

    fn voice(locale: &Locale) -> Voice<'_> {
        static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);
        Voice { locale, now: NOW, redactor: &REDACTOR }
    }

    #[test]
    fn every_phase_in_one_line() {
        let locale = Locale::default();
        let lines: Vec<String> = views().iter().map(|view| line(voice(&locale), view)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r##"
            spark: idle
            spark: starting round
            spark: running #7 “fix the tests” · tool Bash · quiet for 12s · 3 turns · 12k in, 950 out · $0.12 · 2 queued
            spark: running #7 “fix the tests” · tool Bash · quiet for 12s · 3 turns · 12k in, 950 out · $0.12 · 2 queued
            spark: stopping (abort) · tool Bash · quiet for 12s · 3 turns · 12k in, 950 out · $0.12 · 2 queued
            spark: restarting after: crash, 35s left · 2 failures in a row
            spark: rate limited, 35s left
            spark: paused (by alice)
            spark: paused (account: authentication failed)
            spark: needs intervention · 2 failures in a row
            spark: degraded · 2 failures in a row
        "##);
    }

    #[test]
    fn one_agent_in_full() {
        let locale = Locale::default();
        let all = views();
        let shown: Vec<String> =
            [2, 5].into_iter().map(|index: usize| one(voice(&locale), &all[index]).join("\n")).collect();
        insta::assert_snapshot!(shown.join("\n\n"), @r##"
            spark: running #7 “fix the tests” · for 3m 20s · tool Bash · quiet for 12s · 3 turns · 12k in, 950 out · $0.12
            4 sessions, 3 ok, 0 failed, 0 crashed · 0 turns · 1.2M in, 89k out · $3.50
            queued: 1 message, 1 task

            spark: restarting after: crash, 35s left · for 3m 20s
            0 sessions, 0 ok, 0 failed, 0 crashed · 0 turns · 0 in, 0 out
            1 failure of a kind that is not known, taken for transient
            2 failures in a row · 1 process crash in a row · breaker half-open · last: exit code 101
        "##);
    }

    #[test]
    fn the_last_turn_and_its_session_are_told_in_full_and_to_programs() {
        let used = |input_tokens, cost_usd| Usage { input_tokens, cost_usd, ..Usage::default() };
        let spent =
            |phase, turn| view(phase, |agent, _| (agent.meter, agent.turn) = (used(12_000, 0.5), turn));
        let (running, turn) = (Phase::Running { session: SessionId(4) }, used(3_000, 0.25));
        let share = Usage { estimated_usd: 0.25, ..turn };
        let shown = |locale: &str| {
            let locale = Locale::load(locale).expect("a locale");
            let views = [
                spent(running.clone(), turn),
                spent(Phase::Idle, share),
                spent(Phase::Idle, Usage::default()),
            ];
            let lines = views.iter().map(|view| one(voice(&locale), view).remove(2));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown("en-US"), @r##"
            last turn 3k in, 0 out · $0.25; this session 12k in, 0 out · $0.50
            last turn 3k in, 0 out · ~$0.25; last session 12k in, 0 out · $0.50
            last session 12k in, 0 out · $0.50
        "##);
        insta::assert_snapshot!(shown("de"), @r##"
            letzter Schritt 3k rein, 0 raus · 0,25 $; diese Sitzung 12k rein, 0 raus · 0,50 $
            letzter Schritt 3k rein, 0 raus · ~0,25 $; letzte Sitzung 12k rein, 0 raus · 0,50 $
            letzte Sitzung 12k rein, 0 raus · 0,50 $
        "##);
        insta::assert_snapshot!(shown("ja"), @r##"
            直近のターン 入力 3k、出力 0 · $0.25、今のセッション 入力 12k、出力 0 · $0.50
            直近のターン 入力 3k、出力 0 · ~$0.25、前回のセッション 入力 12k、出力 0 · $0.50
            前回のセッション 入力 12k、出力 0 · $0.50
        "##);
        let view = spent(running.clone(), turn);
        let data = json!(AgentStatus::of(&view, NOW, None));
        assert_eq!(
            (&data["last_turn"]["input_tokens"], &data["usage"]["input_tokens"]),
            (&json!(3_000), &json!(12_000))
        );
    }

    #[test]
    fn the_networks_are_told_with_the_fleet() {
        let locale = Locale::default();
        let link = |network: &str, state| LinkReport { network: NetworkName::from(network), state };
        let up = |unidentified: Option<&str>| LinkState::Up {
            since: NOW.before(Duration::from_secs(7200)),
            unidentified: unidentified.map(Into::into),
        };
        let links = [
            link("libera", up(None)),
            link("dal", up(Some("Password incorrect."))),
            link("home", LinkState::Connecting { attempts: 3, reason: Some("refused".into()) }),
            link("new", LinkState::Connecting { attempts: 0, reason: None }),
            link("oftc", LinkState::Refused { reason: "banned".into() }),
        ];
        insta::assert_snapshot!(fleet(voice(&locale), &views(), &links), @r##"11 agents, 4 busy, 4 stopped · libera up 2h · dal up 2h, without its account (Password incorrect.) · home down, 3 attempts: refused · new connecting · oftc given up: banned"##);
        assert!(fleet(voice(&locale), &[], &links).contains("no agents"));
    }

    #[test]
    fn programs_get_the_phase_and_the_countdown() {
        let all = views();
        let data = json!(AgentStatus::of(&all[5], NOW, None));
        assert_eq!(data["phase"], "waiting");
        assert_eq!(data["next_restart"], NOW.after(Duration::from_secs(35)).as_millis());
        assert_eq!(json!(AgentStatus::of(&all[2], NOW, None))["idle_ms"], 12_000);
    }
}
