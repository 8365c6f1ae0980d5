//! `irc_ask`: a question to people, with a wait for the answer in slices.
//!
//! A person may take as long as the question is open, and no CLI waits so long for a tool. A call without an answer
//! yet returns the question's number, and the next call with that number continues to wait. The question belongs to
//! the agent and is on disk: it outlives the call, the session and herder. The session's timers stop while a call
//! waits, and run between two calls, so that an agent that asked and then hangs is noticed.

use std::time::Duration;

use serde_json::Value;

use super::{Arguments, Caller, Host, Told, take};
use crate::clock;
use crate::core::ask::{ABOUT_MAX, AskAnswer, AskEnd, Inquiry, LINES_MAX, OFFERS_MAX, Offer, Settled};
use crate::core::clean::clean;
use crate::core::id::AskId;
use crate::core::notice::Refusal;
use crate::core::tools::ASK_SLICE;
use crate::runtime::grants::Admitted;
use crate::runtime::text::one_line;
use crate::supervisor::View;

pub(super) async fn ask(
    host: &Host,
    caller: Caller<'_>,
    arguments: Arguments<'_>,
    admitted: &mut Admitted,
) -> Told {
    let id = match arguments.number("id")? {
        Some(id) => known(host, caller, AskId(id))?,
        None => asked(host, caller, arguments).await?,
    };
    let slice = Duration::from_secs(ASK_SLICE);
    let waits = admitted.waits();
    let settled = if host.is_whispered_to(caller) {
        None
    } else {
        tokio::select! {
            settled = host.fleet().answer_to(caller.agent, id, slice) => settled,
            // A whisper interrupts the wait so that the agent reads it at once; it can continue to wait.
            () = admitted.woken() => None,
        }
    };
    drop(waits);
    let settled = settled.or_else(|| host.fleet().view(caller.agent)?.agent.settled_ask(id).cloned());
    Ok(match settled {
        Some(settled) => answered(&settled),
        None => {
            let until = host.fleet().view(caller.agent).and_then(|view| Some(view.agent.open_ask(id)?.until));
            unanswered(id, until.map(|until| until.since(clock::now())))
        }
    })
}

/// Checks that `id` is a question that this agent has asked; the error is a sentence for the model.
fn known(host: &Host, caller: Caller<'_>, id: AskId) -> Result<AskId, String> {
    let view = host.fleet().view(caller.agent).ok_or_else(gone)?;
    if is_question(&view, id) {
        Ok(id)
    } else {
        Err(format!(
            "You have asked no question {id}. Give the number that irc_ask gave you, or a `question`."
        ))
    }
}

fn is_question(view: &View, id: AskId) -> bool {
    let settled = view.agent.settled_ask(id).map(|settled| &settled.ask);
    view.agent.open_ask(id).or(settled).is_some_and(|ask| ask.about.is_question())
}

/// Posts a new question to people and returns its number. The same question during the same task keeps its number.
async fn asked(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Result<AskId, String> {
    let text =
        host.without_secrets(arguments.text("question")?.ok_or("Either `question` or `id` is needed.")?);
    let text = text.trim();
    if text.is_empty() {
        return Err("There is nothing to ask in `question`.".to_owned());
    }
    if text.len() > ABOUT_MAX || text.lines().count() > LINES_MAX {
        return Err(format!("That is too long: at most {ABOUT_MAX} bytes and {LINES_MAX} lines."));
    }
    take(&host.0.sends, caller.agent)?;
    let inquiry = Inquiry::Question {
        text: text.to_owned(),
        options: offers(arguments)?,
        several: arguments.is("several")?.unwrap_or_default(),
    };
    let inquiry = inquiry.each(|text| host.without_secrets(text));
    let asked = host.fleet().question(caller.agent, (caller.session, caller.call), inquiry).await;
    asked.map_err(|refusal| match refusal {
        Refusal::TooManyAsks { max, .. } => {
            format!("{max} questions of yours are open; wait for their answers with irc_ask and their `id`.")
        }
        _ => gone(),
    })
}

/// Parses the answers offered with a question: each is a text, or an object with a text and an explanation.
fn offers(arguments: Arguments<'_>) -> Result<Vec<Offer>, String> {
    let wrong = || {
        format!(
            "`options` is a list of at most {OFFERS_MAX} texts, or of objects with `label` and `description`."
        )
    };
    let Some(given) = arguments.value("options") else { return Ok(Vec::new()) };
    let given = given.as_array().filter(|given| given.len() <= OFFERS_MAX).ok_or_else(wrong)?;
    let offer = |option: &Value| {
        let label = option.as_str().or_else(|| option["label"].as_str())?;
        let description = option["description"].as_str().unwrap_or_default();
        let offer = Offer { label: clean(label).trim().to_owned(), description: clean(description) };
        (!offer.label.is_empty()).then_some(offer)
    };
    given.iter().map(offer).collect::<Option<Vec<_>>>().ok_or_else(wrong)
}

/// Formats the state of an open question for the model; `left` is the time for which it stays open.
fn unanswered(id: AskId, left: Option<Duration>) -> String {
    let left = left.map(|left| match left.as_secs() {
        seconds @ 0..120 => format!(" It stays open for {seconds} s more."),
        seconds => format!(" It stays open for {} minutes more.", seconds / 60),
    });
    let left = left.unwrap_or_default();
    format!(
        "Nobody has answered question {id} yet.{left} Call irc_ask again with {{\"id\": {id}}} to go on waiting."
    )
}

fn gone() -> String {
    "Your session is over already; nothing was asked.".to_owned()
}

/// Formats for the model how a question ended: with an operator's answer, or without any.
fn answered(settled: &Settled) -> String {
    let id = settled.ask.id;
    match &settled.end {
        AskEnd::Answered { answer: answer @ (AskAnswer::Text { .. } | AskAnswer::Chosen { .. }), by } => {
            let (name, network) = (one_line(&by.name, 64), &by.network);
            format!(
                "{name} ({network}) answered question {id}:\n{}",
                clean(&answer.words().unwrap_or_default())
            )
        }
        AskEnd::Answered { answer: AskAnswer::Allow { .. }, .. } => {
            format!("Question {id} was answered: yes.")
        }
        AskEnd::Answered { answer: AskAnswer::Deny, .. } => format!("Question {id} was answered: no."),
        AskEnd::Expired => format!(
            "Nobody answered question {id} in time. Decide by yourself what is safe, or end with task_blocked."
        ),
        AskEnd::Dropped => format!("Question {id} needs no answer any more: its work is over."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_question_stays_open_is_said() {
        let told = |seconds| unanswered(AskId(7), Some(Duration::from_secs(seconds)));
        assert!(told(45).contains("open for 45 s more. Call irc_ask"), "{}", told(45));
        assert!(told(4 * 3600).contains("open for 240 minutes more"), "{}", told(4 * 3600));
    }
}
