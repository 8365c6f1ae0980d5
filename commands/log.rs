//! `log`: shows an agent's last turns in brief, or the whole text of one session.

use std::borrow::Cow;

use serde_json::json;

use super::answers::Found;
use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{DOT, Voice};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::clean::clean;
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId};
use crate::core::outcome::Outcome;
use crate::core::role::Role;
use crate::journal::{Entry, Recorded, Stream};
use crate::outbox::split::split;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Log,
    name: "log",
    aliases: &[],
    args: &[
        Arg::PastAgent,
        Arg::Count { name: "n" },
        Arg::Number { name: "session" },
        Arg::Number { name: "page" },
    ],
    role: Role::Viewer,
    scope: Scope::Agent,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-log",
};

/// Number of turns that `log` shows if none is given.
const TURNS: usize = 5;

/// Maximum length of a turn's text in one line of `log`, in characters.
const TURN_MAX: usize = 300;

/// Number of lines on one page of a session's text in a chat: about a screen. A terminal gets all lines.
const PAGE_LINES: usize = 20;

/// Maximum length of a line of a page, in bytes: nearly a line of IRC.
const LINE_MAX: usize = 340;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let agent = desk.agent(call)?.clone();
    let asked = call.session.map(|session| SessionId(session.into()));
    if let Some(session) = asked {
        return whole(desk, call, &agent, session).await;
    }
    let wanted = desk.wanted(call, TURNS);
    let found = desk.history(Stream::Agent(agent.clone()), wanted, is_turn).await?;
    let remarks = found.remarks(desk.voice());
    let Found { entries, .. } = found;
    // A request for one turn, or for a page, gets the whole text.
    if let Some(last) = entries.last().and_then(session_of).filter(|_| wanted == 1 || call.page.is_some()) {
        return whole(desk, call, &agent, last).await;
    }
    let voice = desk.voice();
    let mut lines: Vec<String> = entries.iter().filter_map(|recorded| line(voice, recorded)).collect();
    let cut = entries.iter().zip(&lines).rev().find(|(_, line)| line.ends_with('…'));
    if let Some(session) = cut.and_then(|(recorded, _)| session_of(recorded)) {
        lines.push(voice.text("cmd-log-more", &[("agent", (&agent).into()), ("session", session.0.into())]));
    }
    if lines.is_empty() && remarks.is_empty() {
        lines.push(voice.text("cmd-log-empty", &[("agent", (&agent).into())]));
    }
    lines.splice(0..0, remarks);
    Ok(Answer::lines(lines).with(json!(entries)))
}

fn is_turn(recorded: &Recorded) -> bool {
    session_of(recorded).is_some()
}

/// Returns the number of the session to which a recorded turn, plan or end of a session belongs; `None` for other
/// entries.
pub(super) fn session_of(recorded: &Recorded) -> Option<SessionId> {
    match &recorded.entry {
        Entry::Agent(Event::TurnEnded { session, .. } | Event::SessionEnded { session, .. }) => {
            Some(*session)
        }
        Entry::Agent(Event::Asked { ask }) => ask.plan_of(),
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => None,
    }
}

/// Formats a turn, a plan or the end of a session as one line of `log`; `None` for other entries.
pub(crate) fn line(voice: Voice<'_>, recorded: &Recorded) -> Option<String> {
    let time = voice.locale.time(recorded.at);
    match &recorded.entry {
        Entry::Agent(Event::TurnEnded { text, tools, .. }) => {
            let mut pieces = Vec::new();
            pieces.extend(tools_line(voice, tools));
            pieces.push(voice.short(text, TURN_MAX));
            pieces.retain(|piece| !piece.is_empty());
            Some(format!("{time} {}", pieces.join(DOT)))
        }
        Entry::Agent(Event::SessionEnded { session, outcome, .. }) => {
            let ended = ended(voice, *session, outcome);
            let text = voice.short(&last_words(voice, outcome), TURN_MAX);
            Some(if text.is_empty() {
                format!("{time} {ended}")
            } else {
                format!("{time} {ended}{DOT}{text}")
            })
        }
        Entry::Agent(Event::Asked { ask }) if ask.plan_of().is_some() => {
            let plan = voice.short(ask.about.words(), TURN_MAX);
            Some(format!(
                "{time} {}",
                voice.text("cmd-log-plan", &[("ask", ask.id.to_string().into()), ("text", plan.into())])
            ))
        }
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => None,
    }
}

/// Returns the last text of a session, or the reason why it ended without one.
fn last_words<'a>(voice: Voice<'_>, outcome: &'a Outcome) -> Cow<'a, str> {
    match &outcome.text {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(voice.locale.detail(&outcome.detail)),
    }
}

fn tools_line(voice: Voice<'_>, tools: &[String]) -> Option<String> {
    let tools = voice.short(&tools.join(", "), 120);
    (!tools.is_empty()).then(|| voice.text("cmd-log-tools", &[("tools", tools.into())]))
}

fn ended(voice: Voice<'_>, session: SessionId, outcome: &Outcome) -> String {
    let how = voice.locale.category(outcome.category);
    voice.text("cmd-log-ended", &[("session", session.0.into()), ("how", how.into())])
}

/// Returns the reply with the whole text of one session; in a chat one page of it.
async fn whole(desk: &Desk<'_>, call: &Call, agent: &AgentName, session: SessionId) -> Done {
    let voice = desk.voice();
    let found = desk.session(agent, session).await?;
    let mut remarks = found.remarks(voice);
    let Found { entries, .. } = found;
    let Some(last) = entries.last() else {
        let variables = [("agent", agent.into()), ("session", session.0.into())];
        if remarks.is_empty() {
            remarks.push(voice.text("cmd-log-no-session", &variables));
        }
        return Ok(Answer::lines(remarks).with(json!(entries)));
    };
    let heading = match &last.entry {
        Entry::Agent(Event::SessionEnded { outcome, .. }) => ended(voice, session, outcome),
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => {
            let how = voice.text("phase-running", &[]);
            voice.text("cmd-log-ended", &[("session", session.0.into()), ("how", how.into())])
        }
    };
    let heading = format!("{} {heading}", voice.locale.time(last.at));
    let said = said(voice, &entries);
    if desk.long && call.page.is_none() {
        let lines = std::iter::once(heading)
            .chain(remarks)
            .chain(said.lines().map(|line| voice.locale.cut(line).into_owned()));
        return Ok(Answer::lines(lines.collect()).with(json!(entries)));
    }
    let said = said.lines().flat_map(|line| split(&voice.locale.cut(line), LINE_MAX));
    let lines: Vec<String> = remarks.into_iter().chain(said).collect();
    let pages = lines.len().div_ceil(PAGE_LINES).max(1);
    let page = call.page.map_or(1, |page| usize::try_from(page).unwrap_or(usize::MAX)).min(pages);
    let mut shown: Vec<String> = lines.chunks(PAGE_LINES).nth(page - 1).unwrap_or_default().to_vec();
    if pages > 1 {
        let place = voice.text("cmd-log-page", &[("page", page.into()), ("pages", pages.into())]);
        shown.insert(0, format!("{heading}{DOT}{place}"));
    } else {
        shown.insert(0, heading);
    }
    if page < pages {
        let variables = [("agent", agent.into()), ("session", session.0.into()), ("page", (page + 1).into())];
        shown.push(voice.text("cmd-log-next", &variables));
    }
    Ok(Answer::lines(shown).with(json!(entries)))
}

/// Joins the texts of a session's entries in order, without repetitions and secrets.
fn said(voice: Voice<'_>, entries: &[Recorded]) -> String {
    let (mut turns, mut end) = (String::new(), Cow::Borrowed(""));
    for recorded in entries {
        match &recorded.entry {
            Entry::Agent(Event::TurnEnded { text, tools, .. }) => {
                turns.extend(tools_line(voice, tools).map(|tools| format!("{tools}\n")));
                turns.push_str(text.trim_end());
                turns.push('\n');
            }
            Entry::Agent(Event::Asked { ask }) if ask.plan_of().is_some() => {
                let plan = ask.about.words().trim_end();
                // An agent's answer may be its plan.
                if !turns.trim_end().ends_with(plan) {
                    turns.push_str(plan);
                    turns.push('\n');
                }
            }
            Entry::Agent(Event::SessionEnded { outcome, .. }) => {
                end = last_words(voice, outcome);
            }
            Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => {}
        }
    }
    let (turns, end) = (turns.trim_end(), end.trim_end());
    // A program's output is both its turns and its result: the longer one has all of it.
    let again = !end.is_empty() && turns.lines().next_back() == end.lines().next_back();
    let text = match again {
        true if turns.len() >= end.len() => turns.to_owned(),
        true => end.to_owned(),
        false => format!("{turns}\n{end}"),
    };
    voice.redactor.redact(&clean(text.trim_matches('\n'))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::answers::WholeSession;
    use crate::core::ask::{About, Ask, Asker};
    use crate::core::id::{AskId, WorkId};
    use crate::core::outcome::Category;
    use crate::core::time::Timestamp;
    use crate::l10n::Locale;
    use crate::redact::Redactor;

    fn entry(event: Event) -> Recorded {
        let agent = AgentName::new("spark").expect("a name");
        let at = Timestamp::default();
        Recorded { seq: 1, stream: Stream::Agent(agent), rev: 1, at, entry: Entry::Agent(event) }
    }

    fn turn(text: &str, tools: &[&str]) -> Recorded {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        entry(Event::TurnEnded { session: SessionId(1), text: text.to_owned(), tools })
    }

    fn end(text: Option<&str>) -> Recorded {
        let outcome =
            Outcome { text: text.map(str::to_owned), ..Outcome::new(Category::Crash, "exit code 3") };
        entry(Event::SessionEnded {
            session: SessionId(1),
            outcome: Box::new(outcome),
            survivors: Vec::new(),
        })
    }

    fn plan(text: &str) -> Recorded {
        let at = Timestamp::default();
        let about = About::Plan { text: text.to_owned() };
        let asker = Some(Asker { session: SessionId(1), key: None, call: None });
        let work = WorkId(1);
        let ask =
            Ask { id: AskId(9), about, work, asker, at, until: at, part: None, remind_at: None, reminded: 0 };
        entry(Event::Asked { ask })
    }

    #[test]
    fn a_long_plan_is_in_the_log_of_its_session_to_its_last_line() {
        let locale = Locale::load("en-US").expect("a locale");
        let redactor = Redactor::default();
        let voice = Voice { locale: &locale, now: Timestamp::default(), redactor: &redactor };
        let steps: Vec<String> = (1..=400).map(|step| format!("{step}. a step of the plan")).collect();
        let text = steps.join("\n");
        let mut whole = WholeSession::of(SessionId(1));
        for recorded in [plan(&text), turn("I have looked.", &["Read"])] {
            assert!(whole.take(recorded).is_continue());
        }
        let found = whole.found(true, 0);
        assert_eq!(said(voice, &found.entries), format!("tools: Read\nI have looked.\n{text}"));
        let brief = line(voice, &found.entries[1]).expect("a line");
        assert!(brief.contains("plan 9: 1. a step") && brief.ends_with('…'), "{brief}");
        assert!(is_turn(&found.entries[1]), "`log 1` begins with the session of the plan");
        // The plan of an agent without such a tool is its answer.
        assert_eq!(said(voice, &[turn(&text, &[]), plan(&text), end(Some(&text))]), text);
    }

    #[test]
    fn what_was_said_is_shown_once() {
        let locale = Locale::load("en-US").expect("a locale");
        let redactor = Redactor::default();
        let voice = Voice { locale: &locale, now: Timestamp::default(), redactor: &redactor };
        let cases = [
            (vec![turn("a", &["Bash"]), turn("b", &[]), end(Some("c"))], "tools: Bash\na\nb\nc"),
            (vec![turn("1\n2", &[]), turn("3", &[]), end(Some("1\n2\n3\n"))], "1\n2\n3"),
            (vec![turn("3", &[]), end(Some("1\n2\n3"))], "1\n2\n3"),
            (vec![turn("half", &[])], "half"),
            (vec![turn("half", &[]), end(None)], "half\nexit code 3"),
            (vec![end(Some("all"))], "all"),
        ];
        for (entries, text) in cases {
            assert_eq!(said(voice, &entries), text);
        }
    }
}
