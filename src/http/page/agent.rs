//! One agent: what it does, its buttons, what waits, what it said, what happened.

use maud::{Markup, html};

use super::View;
use super::fleet::{ABORT, Mood, PAUSE, PAUSE_NOW, RESTART, RESUME, buttons, fields, needs_of};
use crate::supervisor::View as Seen;

/// Turns of the log that are shown, and events.
const SHOWN: (&str, &str) = ("5", "20");

pub(super) async fn body(view: &View<'_>, seen: &Seen) -> Markup {
    let back = format!("/agents/{}", seen.name);
    let label = |id| view.voice.text(id, &[("agent", (&seen.name).into())]);
    html! {
        (parts(view, seen, false).await)
        @if view.may_steer() {
            div.speak {
                @for (command, said, text) in [("task add", "page-give-label", "page-give"), ("whisper", "page-whisper-label", "page-whisper")] {
                    form.act method="post" action="/do" {
                        (fields(view, seen.name.as_str(), &back))
                        input name="text" required maxlength="16000" aria-label=(label(said)) placeholder=(label(said));
                        button name="command" value=(command) { (view.text(text)) }
                    }
                }
            }
        }
        p.back { a href="/" { "← " (view.text("page-back")) } }
    }
}

/// What of it changes while it is looked at.
pub(in super::super) async fn parts(view: &View<'_>, seen: &Seen, oob: bool) -> Markup {
    let (agent, voice) = (&*seen.agent, view.voice);
    let mood = Mood::of(seen);
    let back = format!("/agents/{}", seen.name);
    let name = seen.name.to_string();
    let oob = oob.then_some("true");
    let said = lines(view, "log", &[name.clone(), SHOWN.0.to_owned()]).await;
    let happened = lines(view, "history", &[name, SHOWN.1.to_owned()]).await;
    html! {
        section #head.agent class=(mood.class()) hx-swap-oob=[oob] {
            h1 { span.sign aria-hidden="true" { (mood.sign()) } " " (seen.name) }
            p.phase { (voice.phase(agent, seen.hold.as_ref())) }
            (buttons(view, seen, &[PAUSE, PAUSE_NOW, RESUME, ABORT, RESTART], &back))
            @for need in needs_of(view, seen, &back) { (need) }
        }
        div #tail hx-swap-oob=[oob] {
            @if !agent.queue.is_empty() {
                section {
                    h2 { (view.text("page-waiting")) }
                    ol { @for work in agent.queue.iter().take(20) { li { (voice.work(work)) } } }
                }
            }
            section {
                h2 { (view.text("page-said")) }
                pre.log { @for line in &said { (line) "\n" } }
            }
            section {
                h2 { (view.text("page-happened")) }
                pre.log { @for line in &happened { (line) "\n" } }
            }
        }
    }
}

async fn lines(view: &View<'_>, command: &str, args: &[String]) -> Vec<String> {
    let dispatcher = &view.app.setup.dispatcher;
    let language = view.voice.locale.name();
    let asked = dispatcher.request_of(&view.caller.author, (command, args), Some(language), false).await;
    let lines = asked.map_or_else(|lines| lines, |reply| reply.lines);
    lines.into_iter().map(|line| line.replace("**", "")).collect()
}
