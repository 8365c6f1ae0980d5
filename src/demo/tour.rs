//! A tour of one minute: somebody types, so that there is something to see before the person knows what to type.
//!
//! It is a second console whose keyboard is a list. What it types goes the way that everybody's words go.

use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::chat::console::{self, Settings, Style, Typed};

/// The nick under which it types.
const NICK: &str = "tour";

/// Seconds after the one before, the channel without `#`, and what is typed there.
const STEPS: [(f64, &str, &str); 20] = [
    (0.2, "herder", "Welcome. I am a script that types like a person; you can type at the same time."),
    (0.3, "spark", "write a haiku about pipes"),
    (1.0, "nova", "refactor the parser, and crash in the middle"),
    (1.0, "ember", "run into the rate limit"),
    (
        2.5,
        "herder",
        "What is said in an agent's channel is work for it. nova crashed: see the countdown. ember waits for its reset.",
    ),
    (2.5, "herder", "!status"),
    (
        4.0,
        "herder",
        "Now spark's credentials are refused. That pauses it until somebody resumes it; nothing is retried in vain.",
    ),
    (0.5, "herder", "@spark log in with an auth that fails"),
    (
        4.0,
        "herder",
        "And nova hangs. Silence alone is no crime, but here no tool is open and no CPU is used either.",
    ),
    (0.5, "nova", "think about it, then hang"),
    (6.0, "herder", "The key is fixed (let us say), so somebody resumes spark. Its work was kept:"),
    (0.5, "herder", "@spark resume"),
    (
        6.0,
        "herder",
        "ember forks children and daemons that are deaf to SIGTERM, and is aborted. All of them are ended before it goes on:",
    ),
    (0.5, "ember", "fork a few daemons"),
    (5.0, "herder", "@ember status"),
    (2.0, "herder", "@ember abort"),
    (6.0, "herder", "!status"),
    (2.0, "herder", "@spark history 5"),
    (
        3.0,
        "herder",
        "That was the tour. Your turn: @spark crash please · @spark pause now · @nova status · !task add ember tidy up · !help",
    ),
    (
        0.0,
        "herder",
        "Any of these words in its work decides how a session ends: crash, limit, auth, billing, budget, hang, fork, tool.",
    ),
];

/// Types until the list is at its end, then leaves.
pub(super) async fn run(stream: DuplexStream, stop: CancellationToken) {
    let style = Style { colours: false, prompt: None, zone: jiff::tz::TimeZone::UTC };
    let channels = super::scene::AGENTS.iter().map(|agent| format!("#{agent}")).collect();
    let settings = Settings {
        nick: NICK.to_owned(),
        channel: "#herder".to_owned(),
        alerts: "#alerts".to_owned(),
        channels,
        style,
        echo: false,
    };
    let (keyboard, mut typed) = mpsc::channel(STEPS.len() * 2);
    let typing = async {
        for (after, channel, text) in STEPS {
            tokio::time::sleep(Duration::from_secs_f64(after)).await;
            for line in [format!("/channel {channel}"), text.to_owned()] {
                if keyboard.send(Typed::Line(line)).await.is_err() {
                    return;
                }
            }
        }
        // Its last words are on their way before it goes.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = keyboard.send(Typed::Line("/quit".to_owned())).await;
    };
    let showing = console::run(settings, stream, &mut typed, tokio::io::sink(), stop);
    // Whoever ends the demo ends the tour in the middle of a pause.
    tokio::select! {
        _ = showing => {}
        () = async { typing.await; std::future::pending().await } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_takes_a_minute_and_shows_something_at_once() {
        let total: f64 = STEPS.iter().map(|(after, ..)| after).sum();
        assert!((30.0..60.0).contains(&total), "{total} s");
        let first = STEPS.iter().take(2).map(|(after, ..)| after).sum::<f64>();
        assert!(first < 1.0, "the first work is given after {first} s");
        for (_, channel, text) in STEPS {
            assert!(channel == "herder" || super::super::scene::AGENTS.contains(&channel), "{channel}");
            assert!(text.len() <= 200, "too long to be read in passing: {text}");
        }
    }
}
