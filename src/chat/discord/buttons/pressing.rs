//! Handling of pressed buttons.

use std::sync::Arc;

use serde_json::json;
use serenity::all::{
    ButtonStyle, ComponentInteraction, ComponentInteractionDataKind, CreateActionRow, CreateButton,
};
use tracing::warn;

use super::following::{change, who};
use super::rows::{accepted_row, action, closed_row, cut, open_row, short};
use super::{Done, is_open};
use crate::chat::discord::custom_id::{Answer, Confirm, CustomId, Verdict};
use crate::chat::discord::interactions::{Asker, locale};
use crate::chat::discord::reply::{self, Reply};
use crate::chat::discord::{Bot, asks, forms};
use crate::commands::interact::Structured;
use crate::commands::options::Given;
use crate::commands::{Verb, command};
use crate::core::id::{AgentName, WorkId};
use crate::core::time::Timestamp;
use crate::core::work::Actor;

/// Handles a pressed button under a post: runs its command and shows the result.
pub(in crate::chat::discord) async fn pressed(bot: &Arc<Bot>, asker: &Asker, press: &ComponentInteraction) {
    match press.data.custom_id.parse() {
        Ok(CustomId::Answer { answer: Answer::Transcript, agent, .. }) => {
            let structured = asker.structured(Answer::Transcript.command(), of(&agent, None));
            let answering = async {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                Reply { private: true, ..Reply::of(answered) }
            };
            reply::answer(bot, asker, true, answering).await;
        }
        Ok(CustomId::Answer { answer, agent, at }) => answered(bot, asker, press, (answer, &agent, at)).await,
        Ok(CustomId::Confirm { confirm, agent, code }) => {
            confirmed(bot, asker, press, (confirm, &agent, &code)).await;
        }
        Ok(CustomId::Ask { choice, agent, ask }) => {
            let pick = asks::Pick::Choice(choice);
            show(bot, asker, press, asks::pressed(bot, asker, (pick, &agent, ask))).await;
        }
        Ok(CustomId::Pick { agent, ask, option }) => {
            let numbers = match (option, &press.data.kind) {
                (Some(option), _) => option.to_string(),
                (None, ComponentInteractionDataKind::StringSelect { values }) => values.join(","),
                (None, _) => String::new(),
            };
            let pick = asks::Pick::Offers(numbers);
            show(bot, asker, press, asks::pressed(bot, asker, (pick, &agent, ask))).await;
        }
        Ok(CustomId::Other { ask, .. }) => {
            let given = Given(vec![("id".to_owned(), ask.to_string())]);
            forms::offer(bot, asker, command(Verb::Answer), given).await;
        }
        Ok(CustomId::Review { verdict, agent, task }) => {
            reviewed(bot, asker, press, (verdict, &agent, task)).await;
        }
        Ok(CustomId::Again { draft }) => forms::again(bot, asker, draft).await,
        Ok(CustomId::Form { .. }) | Err(_) => {
            let told = Reply::to_them(locale(bot, asker).text("answer-unknown", &[]));
            reply::at_once(bot, asker, &told).await;
        }
    }
}

/// Handles a pressed button under a task in review.
async fn reviewed(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    (verdict, agent, task): (Verdict, &AgentName, WorkId),
) {
    let given = Given(vec![("task".to_owned(), task.to_string())]);
    match verdict {
        Verdict::Diff => {
            let structured = asker.structured("task diff", given);
            let answering = async {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                Reply { private: true, ..Reply::of(answered) }
            };
            reply::answer(bot, asker, true, answering).await;
        }
        Verdict::Reject => forms::offer(bot, asker, command(Verb::Reject), given).await,
        Verdict::Accept => {
            let structured = Structured { shown: false, ..asker.structured("accept", given) };
            let deciding = async {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                if answered.refused {
                    return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
                }
                let by = Actor { network: bot.network(), name: asker.author.nick.clone(), identity: None };
                Pressed::Buttons(vec![accepted_row(&bot.ports.locale, agent, task, &by)])
            };
            show(bot, asker, press, deciding).await;
        }
    }
}

fn of(agent: &AgentName, code: Option<&str>) -> Given {
    let agent = ("agent".to_owned(), agent.to_string());
    let code = code.map(|code| ("code".to_owned(), code.to_owned()));
    Given(std::iter::once(agent).chain(code).collect())
}

/// The result of a pressed button: new buttons for the message, or a private reply to the person.
pub(in crate::chat::discord) enum Pressed {
    Buttons(Vec<CreateActionRow>),
    Told(Reply),
}

async fn answered(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    (answer, agent, at): (Answer, &AgentName, Timestamp),
) {
    let deciding = async {
        // One press at a time, so that the second sees the effect of the first.
        let _first = bot.pressing.lock().await;
        // The agent decides whether it is too late: a post can be answered before the view shows it.
        let structured = Structured {
            // The message shows who answered, not the agent's present activity.
            shown: false,
            // An earlier answer on another network counts.
            under: Some(at),
            ..asker.structured(answer.command(), of(agent, None))
        };
        let answered = bot.ports.dispatcher.interact(&structured).await;
        let still = bot.ports.fleet.view(agent).is_some_and(|view| is_open(&view, at));
        if answered.refused {
            if !still {
                return Pressed::Told(too_late(bot, asker, agent, at).await);
            }
            return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
        }
        let by = Actor { network: bot.network(), name: asker.author.nick.clone(), identity: None };
        let done = Done { command: answer.command(), by };
        let posts = &bot.ports.locale;
        // Resuming an account is complete although it is still closed: the root supervisor opens it.
        let stands = still && matches!(answer, Answer::Abort);
        Pressed::Buttons(vec![if stands {
            open_row(posts, agent, at, Some(&done))
        } else {
            closed_row(posts, (agent, at), Some(&done))
        }])
    };
    show(bot, asker, press, deciding).await;
}

async fn confirmed(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    (confirm, agent, code): (Confirm, &AgentName, &str),
) {
    let posts = &bot.ports.locale;
    let structured = asker.structured("agent remove", of(agent, Some(code)));
    let deciding = async {
        if let Err(lines) = bot.ports.dispatcher.may(&structured) {
            return Pressed::Told(Reply { lines, private: true, ..Reply::default() });
        }
        let waits = bot.ports.dispatcher.removal_waits(agent, code).await;
        let (label, id) = match confirm {
            // The question is over: its buttons show that from now on.
            _ if !waits => (posts.text("button-over", &[]), confirm),
            Confirm::Remove => {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                if answered.refused {
                    return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
                }
                let name = short(&asker.author.nick);
                let action = posts.text("button-remove", &[]);
                let variables = [
                    ("action", action.into()),
                    ("name", name.into()),
                    ("network", bot.network().as_str().to_owned().into()),
                ];
                (posts.text("button-answered", &variables), Confirm::Remove)
            }
            Confirm::Keep => {
                if let Err(lines) = bot.ports.dispatcher.keep_agent(&structured, agent, code).await {
                    return Pressed::Told(Reply { lines, private: true, ..Reply::default() });
                }
                let name = short(&asker.author.nick);
                (posts.text("button-kept", &[("name", name.into())]), Confirm::Keep)
            }
        };
        let id = CustomId::Confirm { confirm: id, agent: agent.clone(), code: code.to_owned() };
        let button = CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Secondary);
        Pressed::Buttons(vec![CreateActionRow::Buttons(vec![button.disabled(true)])])
    };
    show(bot, asker, press, deciding).await;
}

/// Shows the result of a pressed button, as the first response or after an invisible acknowledgement.
async fn show(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    deciding: impl Future<Output = Pressed>,
) {
    let mut deciding = std::pin::pin!(deciding);
    let soon = reply::soon(asker);
    if let Some(soon) = soon
        && let Ok(pressed) = tokio::time::timeout(soon, &mut deciding).await
    {
        match pressed {
            Pressed::Told(told) => reply::at_once(bot, asker, &told).await,
            Pressed::Buttons(rows) => {
                let update = json!({ "type": 7, "data": { "components": rows } });
                if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &update).await {
                    warn!(%reason, "a press could not be acknowledged");
                    change_once(bot, press, &rows).await;
                }
            }
        }
        return;
    }
    if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &json!({ "type": 6 })).await {
        warn!(%reason, "a press could not be acknowledged");
        if soon.is_none() {
            // It is too late, and the person was told that the interaction failed.
            return;
        }
    }
    match deciding.await {
        Pressed::Told(told) => {
            if let Err(reason) = reply::aside(bot, asker, &told).await {
                warn!(%reason, "whoever pressed a button could not be told");
            }
        }
        Pressed::Buttons(rows) => change_once(bot, press, &rows).await,
    }
}

async fn change_once(bot: &Bot, press: &ComponentInteraction, rows: &[CreateActionRow]) {
    if let Err(reason) = change(bot, press.channel_id, press.message.id, rows).await {
        warn!(%reason, "the buttons of a message could not be changed");
    }
}

/// Builds the private reply to a person whose answer came after another person's.
async fn too_late(bot: &Bot, asker: &Asker, agent: &AgentName, at: Timestamp) -> Reply {
    let locale = locale(bot, asker);
    // A person without permission is told only that, not who answered.
    if let Err(lines) = bot.ports.dispatcher.may(&asker.structured(Answer::Resume.command(), of(agent, None)))
    {
        return Reply { lines, private: true, ..Reply::default() };
    }
    Reply::to_them(match who(bot, agent, at).await {
        Some(done) => locale.text(
            "prompt-late",
            &[
                ("name", short(&done.by.name).into()),
                ("network", done.by.network.as_str().into()),
                ("action", action(locale, done.command).into()),
            ],
        ),
        None => locale.text("prompt-over", &[("agent", agent.into())]),
    })
}
