//! Questions to people: decisions without a person, answers, expiry, and answers that came while no session waited.

use super::Draft;
use crate::agent::Phase;
use crate::ask::{
    ABOUT_MAX, About, Ask, AskAnswer, AskEnd, AskKey, Asker, DecidedBy, Inquiry, LINES_MAX, OPEN_MAX, Part,
    RULES_MAX, Rule, Settled, TOOL_MAX,
};
use crate::danger;
use crate::event::Event;
use crate::id::{AgentName, AskId, SessionId, WorkId};
use crate::notice::{Notice, Refusal};
use crate::recap::{bounded, one_line};
use crate::spec::Autonomy;
use crate::unseen::hides;
use crate::work::Actor;

/// A permission request as a runtime's driver reports it.
pub(super) struct Wish<'a> {
    /// The driver's key of the request.
    pub(super) key: AskKey,
    pub(super) tool: &'a str,
    pub(super) command: &'a str,
    /// The command with its secrets redacted; `None` if it contains no secret.
    pub(super) redacted: Option<&'a str>,
    pub(super) shell: bool,
    pub(super) vague: bool,
}

/// Handles a runtime's permission request: asks a person, unless a rule or the agent's autonomy decides it.
pub(super) fn permission(draft: &mut Draft<'_>, session: SessionId, wish: &Wish<'_>) {
    // A session that is being stopped gets no answer, and one without work has nothing to ask for.
    let Some(work) = asking(draft) else { return };
    let patterns = &draft.context.policy.always_ask;
    let danger = if wish.shell {
        danger::of_command(wish.command, patterns)
    } else {
        danger::of_text(wish.command, patterns)
    };
    // The command itself decides, and what is stored and shown holds no secret.
    let stored = wish.redacted.unwrap_or(wish.command);
    let is_cut = |command: &str| shown(command).len() < command.len();
    let about = About::Permission {
        tool: bounded(&one_line(wish.tool), TOOL_MAX),
        cut: is_cut(stored) || is_cut(wish.command),
        command: shown(stored).to_owned(),
        vague: wish.vague,
        secret: wish.redacted.is_some(),
        danger,
    };
    let asker = Asker { session, key: Some(wish.key), call: None };
    if again(draft, &about, work, asker).is_some() {
        return;
    }
    if let Some((allowed, by)) = decided(draft, &about) {
        let (tool, command) = match about {
            About::Permission { tool, command, .. } => (tool, command),
            About::Question { .. } | About::Plan { .. } => return,
        };
        return draft.record(Event::PermissionDecided { session, key: wish.key, tool, command, allowed, by });
    }
    ask(draft, about, work, asker, None);
}

/// Handles a question or plan that a runtime puts to a person. The agent's autonomy never answers it.
pub(super) fn inquired(
    draft: &mut Draft<'_>,
    (session, key): (SessionId, AskKey),
    inquiry: &Inquiry,
    part: Option<Part>,
) {
    let Some(work) = asking(draft) else { return };
    let (about, asker) = (inquiry.about(), Asker { session, key: Some(key), call: None });
    if again(draft, &about, work, asker).is_some() {
        return;
    }
    let full = draft.agent().asks.len() >= OPEN_MAX;
    let id = ask(draft, about, work, asker, part);
    if full {
        // The agent is told at once that no answer comes.
        draft.record(Event::AskExpired { ask: id });
    }
}

/// Returns as much of a command as can be shown to a person: at most [`LINES_MAX`] lines and [`ABOUT_MAX`] bytes.
fn shown(command: &str) -> &str {
    let lines = command.match_indices('\n').nth(LINES_MAX - 1).map_or(command.len(), |(end, _)| end);
    let mut end = lines.min(ABOUT_MAX);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    command.get(..end).unwrap_or(command)
}

/// Returns the current work, to which a new question belongs; `None` if no session starts or runs.
fn asking(draft: &Draft<'_>) -> Option<WorkId> {
    let works = matches!(draft.agent().phase, Phase::Starting { .. } | Phase::Running { .. });
    draft.agent().current.as_ref().filter(|_| works).map(|work| work.id)
}

/// Reuses an equal question for the same work, and returns its number: that of this very tool call, which a herder that
/// was started again gets once more; else one that is still open, or was answered while no session waited.
fn again(draft: &mut Draft<'_>, about: &About, work: WorkId, asker: Asker) -> Option<AskId> {
    let agent = draft.agent();
    let same = |ask: &Ask| ask.work == work && ask.about.is_same(about);
    let settled = |is_it: &dyn Fn(&Settled) -> bool| {
        agent.settled.iter().find(|settled| same(&settled.ask) && is_it(settled)).map(|settled| &settled.ask)
    };
    let of_call = settled(&|settled| asker.call.is_some() && settled.ask.asker == Some(asker));
    let open = || agent.asks.iter().find(|ask| same(ask) && waits_for_nobody(ask, asker));
    let id = of_call.or_else(open).or_else(|| settled(&|settled| settled.due))?.id;
    let Asker { session, key, call } = asker;
    draft.record(Event::AskedAgain { ask: id, session, key, call });
    Some(id)
}

/// Returns true if an open question can be taken over by this asker, because no session waits for it. Two equal
/// requests of one session stay two: each is answered.
fn waits_for_nobody(ask: &Ask, asker: Asker) -> bool {
    ask.asker.is_none_or(|before| before.key.is_none() && asker.key.is_none())
}

/// Decides a permission request without a person: by a rule, by the agent's autonomy, or because too many are open.
/// `None`: a person is asked.
fn decided(draft: &Draft<'_>, about: &About) -> Option<(bool, DecidedBy)> {
    let About::Permission { tool, command, cut, vague, danger, .. } = about else { return None };
    let agent = draft.agent();
    let exact = about.is_exact();
    // Work that is reviewed is not changed, whatever the reviewer may do otherwise.
    let reviews = agent.current.as_ref().is_some_and(|work| work.card().review.is_some());
    let is_it = |rule: &&Rule| exact && rule.tool == *tool && rule.command == *command;
    let rule = agent.rules.iter().find(is_it).filter(|_| !reviews);
    if let Some(rule) = rule {
        return Some((true, DecidedBy::Rule { rule: rule.id }));
    }
    let autonomy = match agent.spec.as_ref().map_or(Autonomy::Human, |spec| spec.autonomy) {
        _ if reviews => Autonomy::Strict,
        autonomy => autonomy,
    };
    // A command that no person has seen whole may contain anything, and so may an action that is known by name alone.
    let always = danger.is_some() || *cut || *vague;
    match autonomy {
        Autonomy::Full if !always => Some((true, DecidedBy::Autonomy)),
        Autonomy::Strict if !always => Some((false, DecidedBy::Autonomy)),
        Autonomy::Full | Autonomy::Strict | Autonomy::Human if agent.asks.len() >= OPEN_MAX => {
            Some((false, DecidedBy::TooMany))
        }
        Autonomy::Full | Autonomy::Strict | Autonomy::Human => None,
    }
}

fn ask(draft: &mut Draft<'_>, about: About, work: WorkId, asker: Asker, part: Option<Part>) -> AskId {
    let id = AskId(draft.context.fresh.0);
    let (at, within) = (draft.context.now, draft.context.policy.confirm_timeout);
    let rules = &draft.context.policy.escalation;
    // The interval is that of a call for a person, but leaves time to answer.
    let remind_at = (rules.times > 0).then(|| at.after(rules.after.min(within / 2)));
    let until = at.after(within);
    draft.record(Event::Asked {
        ask: Ask { id, about, work, asker: Some(asker), at, until, part, remind_at, reminded: 0 },
    });
    id
}

/// Reminds people of questions that are still open.
pub(super) fn remind(draft: &mut Draft<'_>) {
    let (now, rules) = (draft.context.now, draft.context.policy.escalation);
    let due = |ask: &&Ask| ask.remind_at.is_some_and(|at| at <= now) && ask.until > now;
    let late: Vec<(AskId, bool)> = draft
        .agent()
        .asks
        .iter()
        .filter(due)
        .map(|ask| {
            (ask.id, ask.reminded.saturating_add(1) < rules.times && now.after(rules.after) < ask.until)
        })
        .collect();
    for (ask, more) in late {
        draft.record(Event::AskReminded { ask, next: more.then(|| now.after(rules.after)) });
    }
}

/// Handles a question that the agent asks with herder's own tool.
pub(super) fn question(
    draft: &mut Draft<'_>,
    (session, call): (SessionId, Option<u64>),
    inquiry: &Inquiry,
) -> Result<(), Refusal> {
    let agent = draft.name()?;
    let work = asking(draft).filter(|_| draft.agent().session() == Some(session));
    let work = work.ok_or_else(|| Refusal::NoSession { agent: agent.clone() })?;
    let about = inquiry.about();
    if about.words().is_empty() {
        return Err(Refusal::EmptyWork { agent });
    }
    let asker = Asker { session, key: None, call };
    if again(draft, &about, work, asker).is_some() {
        return Ok(());
    }
    if draft.agent().asks.len() >= OPEN_MAX {
        return Err(Refusal::TooManyAsks { agent, max: u32::try_from(OPEN_MAX).unwrap_or(u32::MAX) });
    }
    ask(draft, about, work, asker, None);
    Ok(())
}

/// Drops the question for whose answer the runtime does not wait any more. While a session is being stopped it stays
/// open, as the next one may ask the same.
pub(super) fn withdrawn(draft: &mut Draft<'_>, session: SessionId, key: AskKey) {
    if asking(draft).is_none() {
        return;
    }
    let asker = Some(Asker { session, key: Some(key), call: None });
    if let Some(ask) = draft.agent().asks.iter().find(|ask| ask.asker == asker).map(|ask| ask.id) {
        draft.record(Event::AskDropped { ask });
    }
}

/// Records a person's answer to a request, with the rule that it makes, or refuses it.
pub(super) fn answer(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: AskId,
    answer: &AskAnswer,
) -> Result<Notice, Refusal> {
    // The deadline counts even if the tick is late.
    let open = draft.agent().open_ask(id).filter(|ask| ask.until > draft.context.now).cloned();
    let Some(ask) = open else {
        return Err(match (draft.agent().settled_ask(id), draft.agent().open_ask(id)) {
            (Some(settled), _) => Refusal::AskOver { ask: id, end: settled.end.clone(), at: settled.at },
            (None, Some(late)) => Refusal::AskOver { ask: id, end: AskEnd::Expired, at: late.until },
            (None, None) => Refusal::NoSuchAsk { ask: id },
        });
    };
    let by_words = matches!(answer, AskAnswer::Text { .. } | AskAnswer::Chosen { .. });
    let is_plan = matches!(ask.about, About::Plan { .. });
    if by_words != ask.about.is_question() && !is_plan {
        return Err(Refusal::WrongAnswer { agent, ask: id, question: !by_words });
    }
    let answer = match answer {
        AskAnswer::Text { text } if text.trim().is_empty() => return Err(Refusal::EmptyWork { agent }),
        AskAnswer::Text { text } => ask.about.chosen(text.trim()).map_err(|offers| {
            let offers = u32::try_from(offers).unwrap_or(u32::MAX);
            let several = matches!(ask.about, About::Question { several: true, .. });
            Refusal::NoSuchOffer { agent: agent.clone(), ask: id, offers, several }
        })?,
        AskAnswer::Allow { .. } if is_plan => AskAnswer::Allow { always: false },
        other => other.clone(),
    };
    let rule = rule(draft, &agent, &ask, &answer, by)?;
    draft.record(Event::Answered { ask: id, answer: answer.clone(), by: by.clone() });
    if let Some(rule) = rule {
        draft.record(Event::RuleAdded { rule });
    }
    Ok(answered(agent, id, &answer, by))
}

/// Returns the always-allow rule that an answer creates; `None` if it creates none.
fn rule(
    draft: &Draft<'_>,
    agent: &AgentName,
    ask: &Ask,
    answer: &AskAnswer,
    by: &Actor,
) -> Result<Option<Rule>, Refusal> {
    let (AskAnswer::Allow { always: true }, About::Permission { tool, command, cut, vague, secret, .. }) =
        (answer, &ask.about)
    else {
        return Ok(None);
    };
    if !ask.about.is_exact() || draft.agent().rules.len() >= RULES_MAX {
        let (agent, ask) = (agent.clone(), ask.id);
        let (cut, vague, secret, hidden) = (*cut, *vague, *secret, hides(command));
        return Err(Refusal::NoRule { agent, ask, cut, vague, hidden, secret });
    }
    let (tool, command) = (tool.clone(), command.clone());
    Ok(Some(Rule { id: ask.id, tool, command, by: by.clone(), at: draft.context.now }))
}

/// Returns the public notice about an answer.
pub(crate) fn answered(agent: AgentName, ask: AskId, answer: &AskAnswer, by: &Actor) -> Notice {
    let (name, network) = (by.name.clone(), by.network.clone());
    match answer {
        AskAnswer::Allow { always } => {
            Notice::PermissionAnswered { agent, ask, allowed: true, always: *always, by: name, network }
        }
        AskAnswer::Deny => {
            Notice::PermissionAnswered { agent, ask, allowed: false, always: false, by: name, network }
        }
        AskAnswer::Text { .. } | AskAnswer::Chosen { .. } => {
            let text = super::excerpt(&answer.words().unwrap_or_default());
            Notice::QuestionAnswered { agent, ask, text, by: name, network }
        }
    }
}

/// Returns the number of the agent's only open question, which a message then answers; `None` if there is none or more
/// than one.
pub(super) fn answered_by_message(draft: &Draft<'_>) -> Option<AskId> {
    let now = draft.context.now;
    let mut questions = draft.agent().asks.iter().filter(|ask| ask.about.is_question() && ask.until > now);
    let only = questions.next()?;
    questions.next().is_none().then_some(only.id)
}

/// Returns the words of a message that answers a question, without a leading `answer`, which was meant as the command.
pub(super) fn said(text: &str) -> &str {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) if word.eq_ignore_ascii_case("answer") => rest.trim(),
        Some(_) | None => text,
    }
}

pub(super) fn remove_rule(
    draft: &mut Draft<'_>,
    agent: AgentName,
    by: &Actor,
    id: AskId,
) -> Result<Notice, Refusal> {
    let rule = draft.agent().rules.iter().find(|rule| rule.id == id);
    let command = rule.ok_or(Refusal::NoSuchRule { rule: id })?.command.clone();
    draft.record(Event::RuleRemoved { rule: id, by: by.clone() });
    Ok(Notice::RuleRemoved { agent, rule: id, command: super::excerpt(&command) })
}

/// Ends requests to people whose deadline has passed.
pub(super) fn expire(draft: &mut Draft<'_>) {
    let now = draft.context.now;
    let late: Vec<AskId> =
        draft.agent().asks.iter().filter(|ask| ask.until <= now).map(|ask| ask.id).collect();
    for ask in late {
        draft.record(Event::AskExpired { ask });
    }
}

/// Drops requests to people whose work the agent does not have any more.
pub(super) fn drop_idle(draft: &mut Draft<'_>) {
    let agent = draft.agent();
    if agent.asks.is_empty() {
        return;
    }
    let removed = agent.phase == Phase::Removed;
    let parked = || agent.board.parked().map(|parked| &parked.work);
    let held = |id| agent.current.iter().chain(&agent.queue).chain(parked()).any(|work| work.id == id);
    let idle: Vec<AskId> =
        agent.asks.iter().filter(|ask| removed || !held(ask.work)).map(|ask| ask.id).collect();
    for ask in idle {
        draft.record(Event::AskDropped { ask });
    }
}
