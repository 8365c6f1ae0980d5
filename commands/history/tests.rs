//! Tests that every event has its text in every locale.

use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::core::agent::ProcessRecord;
use crate::core::ask::{About, Ask, AskAnswer, AskKey, DecidedBy, Rule};
use crate::core::board::BoardEvent;
use crate::core::dealings::Onward;
use crate::core::event::{PauseReason, StopReason, WaitReason};
use crate::core::id::{AccountName, AgentName, AskId, NetworkName, SessionId, WorkId};
use crate::core::input::Clock;
use crate::core::lead::{PartOutcome, PartResult};
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::spec::{AgentSpec, Runtime};
use crate::core::tie::Tie;
use crate::core::time::Timestamp;
use crate::core::usage::{Cap, Unit, Waived, Warned, Window};
use crate::core::verdict::Lapse;
use crate::core::whisper::{Tone, Whisper};
use crate::core::work::{TaskEnd, TaskReport, Work, WorkKind};
use crate::core::workspace::{Unfinished, Workspace};
use crate::l10n::Locale;
use crate::redact::Redactor;

fn agent_events() -> Vec<Event> {
    let name = AgentName::new("spark").expect("a name");
    let spec = Box::new(AgentSpec::new(name, Runtime::Claude, PathBuf::from("/srv")));
    let by = Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None };
    let (session, work) = (SessionId(4), WorkId(7));
    let whole = Work {
        id: work,
        kind: WorkKind::Task,
        text: "fix the tests".to_owned(),
        by: by.clone(),
        at: Timestamp::default(),
        attempts: 0,
        card: None,
    };
    let text = || "so it is".to_owned();
    vec![
        Event::Added { spec: spec.clone(), by: by.clone() },
        Event::Edited { spec, by: by.clone() },
        Event::Removed { by: by.clone() },
        Event::Queued { work: whole.clone() },
        Event::TaskTaken { number: 1, work: whole.clone() },
        Event::TaskHandedBack { work, onward: Onward::To(None), by: by.clone() },
        Event::SplitBegun { work, number: 5, until: Timestamp::default() },
        Event::SplitEnded { number: 5, lapse: None, usage: Usage::default(), unmetered: false },
        Event::SplitEnded {
            number: 5,
            lapse: Some(crate::core::verdict::Lapse::Busy),
            usage: Usage::default(),
            unmetered: true,
        },
        Event::BoardHeard { up_to: 1 },
        Event::Cleared { works: vec![work], by: by.clone() },
        Event::Reworded { work, text: text(), by: by.clone() },
        Event::Withdrawn { work, by: by.clone() },
        Event::Steered { session, work },
        Event::TaskEnded { work, end: TaskEnd::Done, note: text().into() },
        Event::Whispered {
            whisper: Box::new(Whisper {
                id: work,
                text: text(),
                by: by.clone(),
                at: Timestamp::default(),
                prompted: None,
                tone: Tone::Person,
            }),
        },
        Event::WhispersDelivered { session, whispers: vec![work], way: Way::Turn },
        Event::WhispersDelivered { session, whispers: vec![work], way: Way::Anew },
        Event::WhispersDropped { whispers: vec![work], by: by.clone() },
        Event::EvaluationBegun { number: 4, finding: None },
        Event::Evaluated {
            number: 4,
            judgement: Box::new(Judgement::Verdict(Verdict::correction(&text()))),
            usage: Usage::default(),
            unmetered: false,
        },
        Event::Evaluated {
            number: 4,
            judgement: Box::new(Judgement::Lapse(crate::core::verdict::Lapse::Busy)),
            usage: Usage::default(),
            unmetered: true,
        },
        Event::DetectorStoodIn { number: 4 },
        Event::EscalationReminded { id: work, next: None },
        Event::AskReminded { ask: AskId(9), next: None },
        Event::EscalationAcked { id: work, by: by.clone() },
        Event::EscalationAnswered { id: work, answer: watch::Answer::Abort, by: by.clone() },
        Event::WhisperMarked { id: work, mark: Mark::Right, by: by.clone() },
        Event::TaskReported {
            session,
            work,
            report: TaskReport { end: TaskEnd::Blocked, note: text(), denied: None, opinion: None },
        },
        Event::PartsAwaited { session, work, parts: vec![WorkId(8), WorkId(9)] },
        Event::Parked { session, work, parts: vec![WorkId(8), WorkId(9)] },
        Event::PartsReported {
            session,
            work,
            results: vec![Arc::new(PartResult {
                part: WorkId(8),
                end: TaskEnd::Done,
                agent: None,
                outcome: PartOutcome::default(),
            })],
        },
        Event::Discarded { work, by: by.clone() },
        Event::SessionStarted { session, work: whole, trial: false },
        Event::WorkspaceSeen {
            session,
            workspace: Workspace {
                branch: Some("main".to_owned()),
                changed: 3,
                unfinished: Some(Unfinished::Rebase),
            },
        },
        Event::ProcessStarted { session, pid: 4711, started: 1 },
        Event::ProcessWarm {
            session,
            process: Some(ProcessRecord { pid: 4711, started: 1 }),
            until: Timestamp::default(),
        },
        Event::ProcessWarm { session, process: None, until: Timestamp::default() },
        Event::Ready { session, late: Vec::new() },
        Event::ConversationNamed { session, conversation: text() },
        Event::TurnEnded { session, text: text(), tools: Vec::new() },
        Event::ClockRanOut { session, clock: Clock::Silence, evidence: text().into() },
        Event::PermissionDenied { session, what: text() },
        Event::UsageRecorded {
            session,
            usage: Usage { input_tokens: 1200, output_tokens: 30, cost_usd: 0.5, ..Usage::default() },
            turn: Usage { input_tokens: 200, output_tokens: 10, cost_usd: 0.1, ..Usage::default() },
        },
        Event::CapNear { cap: CAP, at: 0, limit: 5.0, used: 4.0, percent: 80 },
        Event::CapWaived { cap: CAP, at: 0, limit: 10.0, by: by.clone() },
        Event::Spiked { hour: 0, unit: Unit::Tokens, used: 4000.0, usual: 1000.0 },
        Event::PriceUnknown { model: "gpt-5.4".to_owned(), assumed: true },
        Event::Asked {
            ask: Ask {
                id: AskId(9),
                about: About::Question { text: text(), options: Vec::new(), several: false },
                work,
                asker: None,
                at: Timestamp::default(),
                until: Timestamp::default(),
                part: None,
                remind_at: None,
                reminded: 0,
            },
        },
        Event::AskedAgain { ask: AskId(9), session, key: None, call: None },
        Event::Answered { ask: AskId(9), answer: AskAnswer::Deny, by: by.clone() },
        Event::AskExpired { ask: AskId(9) },
        Event::AskDropped { ask: AskId(9) },
        Event::PermissionDecided {
            session,
            key: AskKey(1),
            tool: "Bash".to_owned(),
            command: text(),
            allowed: true,
            by: DecidedBy::Autonomy,
        },
        Event::RuleAdded {
            rule: Rule {
                id: AskId(9),
                tool: "Bash".to_owned(),
                command: text(),
                by: by.clone(),
                at: Timestamp::default(),
            },
        },
        Event::RuleRemoved { rule: AskId(9), by: by.clone() },
        Event::StopRequested { session, reason: StopReason::Abort, by: Some(by.clone()) },
        Event::SessionEnded {
            session,
            outcome: Box::new(Outcome::new(Category::Crash, "exit code 101")),
            survivors: Vec::new(),
        },
        Event::Requeued { work },
        Event::Waiting { until: Timestamp::default(), reason: WaitReason::RateLimit },
        Event::WaitOver,
        Event::PausePending { by: by.clone(), all: false },
        Event::Paused { reason: PauseReason::Person(by.clone()) },
        Event::Resumed { by: by.clone() },
        Event::AccountOpened { by: by.clone() },
        Event::Reset { by },
        Event::BreakerOpened { failures: 6, trial: false },
        Event::ClockSet { by: -10_800_000 },
        Event::BreakerClosed,
        Event::Degraded { crashes: 6 },
        Event::SupervisorPanicked { message: text() },
    ]
}

const CAP: Cap = Cap { window: Window::Day, unit: Unit::Usd };

fn fleet_events() -> Vec<FleetEvent> {
    let agent = || AgentName::new("spark").expect("a name");
    let account = || AccountName::from("team");
    let by = Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None };
    let tie = Tie {
        user: "112233445566778899".to_owned(),
        network: NetworkName::from("libera"),
        account: "alice".to_owned(),
    };
    vec![
        FleetEvent::AgentAdded { agent: agent() },
        FleetEvent::AgentRemoved { agent: agent() },
        FleetEvent::LeftOut { agent: AgentName::new("spark").expect("a name") },
        FleetEvent::Configured {
            spec: Box::new(AgentSpec::new(agent(), Runtime::Claude, PathBuf::from("/srv"))),
        },
        FleetEvent::AccountBlocked { account: account(), category: Category::Auth, agent: agent() },
        FleetEvent::AccountOpened { account: account(), by: by.clone() },
        FleetEvent::AccountExhausted {
            account: account(),
            agent: agent(),
            resets_at: None,
            probe_at: None,
            ask_at: None,
        },
        FleetEvent::AccountAsked { account: account() },
        FleetEvent::AccountTried {
            account: account(),
            category: Category::Quota,
            agent: agent(),
            by: by.clone(),
        },
        FleetEvent::AccountProved { account: account(), agent: agent() },
        FleetEvent::Linked { tie: tie.clone(), name: "Ann".to_owned(), by: by.clone() },
        FleetEvent::Unlinked { tie, by },
        FleetEvent::SupervisorPanicked { agent: agent(), message: "so it is".to_owned() },
        FleetEvent::Started { version: "0.1.0".to_owned() },
        FleetEvent::BooksKept { agent: agent(), books: Box::default() },
        FleetEvent::CapNear {
            account: Some(account()),
            warned: Warned { cap: CAP, at: 0, limit: 5.0, percent: 80 },
        },
        FleetEvent::CapWaived { account: None, waived: Waived { cap: CAP, at: 0, limit: 10.0 }, by: None },
        FleetEvent::Stopped,
    ]
    .into_iter()
    .chain(board_events().into_iter().map(|event| FleetEvent::Board { event }))
    .collect()
}

fn board_events() -> Vec<BoardEvent> {
    let by = Actor { network: NetworkName::from("libera"), name: "alice".to_owned(), identity: None };
    let (agent, number, task) = (AgentName::new("spark").expect("a name"), 1, WorkId(7));
    let work = Arc::new(Work {
        id: task,
        kind: WorkKind::Task,
        text: "fix the tests".to_owned(),
        by: by.clone(),
        at: Timestamp::default(),
        attempts: 0,
        card: None,
    });
    let to = Some(agent.clone());
    vec![
        BoardEvent::Added { work: Arc::clone(&work) },
        BoardEvent::Taken { agent: agent.clone(), number, work: Arc::clone(&work), to: None, by: by.clone() },
        BoardEvent::Directed { task, to: to.clone(), by: by.clone() },
        BoardEvent::Reworded { task, text: "fix them well".to_owned(), by: by.clone() },
        BoardEvent::Offered { task, to: agent.clone(), number },
        BoardEvent::Accepted { task, number },
        BoardEvent::Returned { task, number },
        BoardEvent::PartAdded { agent: agent.clone(), work: Arc::clone(&work), to: None },
        BoardEvent::PartCancelled { task: WorkId(6), part: task, by: by.clone() },
        BoardEvent::LeadEnding { task, by: by.clone() },
        BoardEvent::LeadClosed { task },
        BoardEvent::Split { task, parts: vec![work], to: to.clone(), by: by.clone() },
        BoardEvent::PartOver {
            agent,
            number,
            part: task,
            parent: WorkId(6),
            end: TaskEnd::Done,
            outcome: None,
        },
        BoardEvent::AwaitedOver { task, awaited: WorkId(6), end: TaskEnd::Done },
        BoardEvent::Reopened { task, to, by: by.clone() },
        BoardEvent::Cancelling { task, by: by.clone() },
        BoardEvent::Ended { task, end: TaskEnd::Cancelled, by: Some(by) },
    ]
}

fn told(locale: &str) -> Vec<String> {
    let locale = Locale::load_in_zone(locale, jiff::tz::TimeZone::UTC).expect("a locale");
    let redactor = Redactor::default();
    let voice = Voice { locale: &locale, now: Timestamp::default(), redactor: &redactor };
    let agent = agent_events().into_iter().map(|event| of_agent(voice, &event));
    agent.chain(fleet_events().iter().map(|event| of_fleet(voice, event))).collect()
}

#[test]
fn every_event_has_its_words() {
    insta::assert_snapshot!(told("en-US").join("\n"), @r##"
        added claude by alice
        changed by alice
        removed by alice
        queued #7 by alice: fix the tests
        #7 taken from the board, given by alice: fix the tests
        #7 handed back to the board by alice
        task #7 is being split
        split 5 is there
        no split 5: too many evaluations ran at once
        the board knows its news
        dropped 1 from the queue by alice
        #7 reworded by alice: so it is
        #7 taken back by alice
        #7 put into the running turn
        task #7 done: so it is
        whisper #7 by alice: so it is
        whisper #7 put into the running turn
        whisper #7 handed over with the next turn, for which the running one was cut short
        whisper #7 taken back, not handed over by alice
        evaluation 4 begun
        evaluation 4: CORRECTION so it is
        evaluation 4 came to nothing: too many evaluations ran at once
        evaluation 4: the built-in detector stands in
        reminded of call #7
        reminded people of 9
        call #7 seen by alice
        call #7 answered: abort by alice
        whisper #7 called right by alice
        said of task #7 blocked: so it is
        #7 waits for parts: #8, #9
        #7 set aside until its parts are over: #8, #9
        parts are over, and #7 goes on: #8 done
        #7 discarded by alice
        session 4 started: #7 fix the tests (alice)
        workspace looked at: branch main, 3 changed files, a rebase under way
        process 4711 started
        process 4711 stays for the next session
        the process that stayed is let go
        session 4 ready
        conversation named: so it is
        turn: so it is
        clock ran out: has been silent for too long: so it is
        permission denied: so it is
        session 4 has used: 1.2k in, 30 out · $0.50
        cap dollars per day nearly used up: 80 %
        cap dollars per day waived by alice: $10.00
        unusual hour: 4,000 tokens / 1,000 tokens
        price unknown: gpt-5.4
        asked 9: so it is
        asked 9 again
        9 denied by alice
        9 not answered in time
        9 needs no answer any more
        permission given: so it is
        rule 9 made by alice: so it is
        rule 9 removed by alice
        stopping (abort) by alice
        session 4 crash: exit code 101
        #7 back at the head of the queue
        waits until 1970-01-01 00:00:00: rate limited
        wait over
        pause after the session asked for by alice
        paused: by alice
        resumed by alice
        account opened by alice
        counters reset by alice
        breaker opened after 6 failures
        the machine's clock was set by −3h
        breaker closed
        degraded after 6 process crashes
        supervisor rebuilt: so it is
        added spark
        removed spark
        spark is not in bot.toml any more
        spark read from bot.toml
        account team blocked: spark, authentication failed
        account team opened by alice
        account team exhausted: spark
        people asked about account team
        account team tried by alice: spark
        account team works again: spark
        linked Ann by alice: libera alice
        unlinked alice by alice
        supervisor rebuilt spark: so it is
        herder 0.1.0 started
        books of spark kept
        cap team dollars per day nearly used up: 80 %
        cap dollars per day waived: $10.00
        herder stopped
        #7 put on the board by alice: fix the tests
        #7 spark hands it back to the board, by alice
        #7 assigned by alice: spark
        #7 reworded by alice: fix them well
        #7 handed over: spark
        #7 arrived
        #7 back on the board
        part added by its lead: #7 spark: fix the tests
        part #7 cancelled by alice
        #7 is over, and its open parts are cancelled by alice
        all parts of #7 are over
        #7 split by alice: #7
        part #7 done
        #7 waited for: #6 done
        #7 to be tried anew by alice: spark
        #7 cancelled with its parts by alice
        task #7 cancelled by alice
    "##);
}

#[test]
fn no_locale_falls_back_to_the_name_of_an_event() {
    // A variable that the message does not know would appear in the text as it is.
    for locale in ["en-US", "de", "ja"] {
        for line in told(locale) {
            let first = line.split([' ', ':']).next().unwrap_or_default();
            assert!(!first.contains('-'), "{locale}: {line}");
        }
    }
}

#[test]
fn words_that_are_for_the_agent_alone_are_hidden_whatever_they_became() {
    let said = "read the error first";
    for judgement in [
        Judgement::Verdict(Verdict::correction(said)),
        Judgement::Verdict(Verdict::think_deeper(said)),
        Judgement::Verdict(Verdict::escalation(said)),
        Judgement::Lapse(Lapse::unparsable(said)),
    ] {
        let event = Event::Evaluated {
            number: 1,
            judgement: Box::new(judgement),
            usage: Usage::default(),
            unmetered: false,
        };
        let mut recorded = Recorded {
            seq: 1,
            stream: Stream::Agent(AgentName::new("spark").expect("a good name")),
            rev: 1,
            at: Timestamp::default(),
            entry: Entry::Agent(event),
        };
        hide_whisper(&mut recorded);
        let shown = format!("{recorded:?}");
        assert!(!shown.contains(said), "{shown}");
    }
}
