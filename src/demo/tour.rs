//! A tour of one minute: a script types, so that something happens before the person knows what to type.
//!
//! The tour is a second console whose input is a list of lines. herder handles these lines like any person's.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::repository::PROGRAM;
use super::scene::LANDS;
use crate::chat::console::{self, Settings, Style, Typed};

/// The nick under which the demo's tour types.
const NICK: &str = "tour";

/// The lines that the demo's tour types: seconds since the line before, channel without `#`, and text.
const STEPS: [(f64, &str, &str); 35] = [
    (0.2, "herder", "Welcome. I am a script that types like a person; you can type at the same time."),
    (
        0.3,
        "herder",
        "The same is on a page in a browser: its link stands above, where the demo began. Every button there is a command here.",
    ),
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
        0.5,
        "herder",
        "clay works on a branch of a small repository. A check runs when it says that it is done.",
    ),
    (0.5, "clay", "greet whoever is named"),
    (
        3.0,
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
    (5.0, "herder", "The key is fixed (let us say), so somebody resumes spark. Its work was kept:"),
    (0.5, "herder", "@spark resume"),
    (
        4.0,
        "herder",
        "ember forks children and daemons that are deaf to SIGTERM, and is aborted. All of them are ended; its channel says how many:",
    ),
    (0.5, "ember", "fork a few daemons"),
    (3.0, "herder", "@ember status"),
    (2.0, "herder", "@ember abort"),
    (
        4.0,
        "herder",
        "spark runs one failing command again and again. herder's detector tells it so, twice, and nobody else:",
    ),
    (0.5, "spark", "run the benchmark in a spiral"),
    (1.0, "herder", AFTER_THE_CALL),
    (0.5, "herder", "@spark resume"),
    (3.0, "herder", "!status"),
    (1.0, "herder", "@spark history 5"),
    (
        3.0,
        "herder",
        "nova wants to push, and that is always asked. Nothing is pushed until somebody answers, by the number of the question:",
    ),
    (0.5, "nova", "push what is done"),
    (1.0, "nova", APPROVAL),
    (
        1.0,
        "herder",
        "The check of clay's work has failed, clay was told, and it has passed. Now somebody looks at it and decides:",
    ),
    (0.3, "clay", DIFF),
    (2.0, "clay", ACCEPTANCE),
    (0.5, "herder", AFTER_THE_MERGE),
    (0.2, "clay", STORY),
    (
        3.0,
        "herder",
        "That was the tour. Your turn: @spark crash please · @spark pause now · @nova status · !task add ember tidy up · !help",
    ),
    (
        0.0,
        "herder",
        "Any of these words in its work decides how a session ends: crash, limit, auth, billing, budget, hang, fork, spiral, push, tool.",
    ),
];

/// The line that is typed only after a person was called. The time of the call depends on the machine, and an earlier
/// answer would mean something else.
const AFTER_THE_CALL: &str =
    "It did not help, so a person is called in #alerts and spark waits. Somebody answers, from anywhere:";

/// The beginning of a post by which herder calls for a person; the tour waits for it.
const CALL: &str = "[ESCALATION]";

/// The line of the tour that approves an agent's request; the number of the request is appended once it is known.
const APPROVAL: &str = "@nova approve";

/// The lines of the tour about clay's task; its number is appended once the task is in review.
const DIFF: &str = "!task diff";
const ACCEPTANCE: &str = "!accept";
const STORY: &str = "!task show";

/// The line that is typed only after clay's work is merged.
const AFTER_THE_MERGE: &str = "clay's work is in the repository now. This is the whole life of the task:";

/// Texts around the number of a task that is in review.
const REVIEW: (&str, &str) = ("Task ", " of clay is in review");

/// The text of a post by which herder tells that clay's task is merged.
const MERGED: &str = " of clay is merged";

/// The text that precedes the number of a request for permission in a post; the tour searches for it.
const ASKED: &str = "nova asks for permission ";

/// Posts that the tour waits for and that have appeared so far.
#[derive(Debug, Clone, Default)]
struct Read {
    called: bool,
    /// Number of the last request for permission; `None` before the first.
    asked: Option<String>,
    /// Number of clay's task; `None` until it is in review.
    reviewed: Option<String>,
    merged: bool,
}

/// Maximum time for which the tour waits for posts in all before it continues without them. On a loaded machine a call for
/// a person takes more than a minute.
const WAITED: Duration = Duration::from_secs(200);

/// Capacity of the tour's output that is not read yet, in bytes: enough for a burst of posts.
const SHOWN: usize = 64 * 1024;

impl Read {
    /// Returns the text to type for a line of the tour; `None`: a post that it needs has not appeared yet.
    fn complete(&self, text: &str) -> Option<String> {
        let with = |number: &Option<String>| Some(format!("{text} {}", number.as_deref()?));
        match text {
            AFTER_THE_CALL => self.called.then(|| text.to_owned()),
            AFTER_THE_MERGE => self.merged.then(|| text.to_owned()),
            APPROVAL => with(&self.asked),
            DIFF => Some(format!("{} {PROGRAM}", with(&self.reviewed)?)),
            ACCEPTANCE | STORY => with(&self.reviewed),
            _ => Some(text.to_owned()),
        }
    }
}

/// Types all lines of the tour that are about these agents, then quits. Ends early if `stop` is cancelled.
pub(super) async fn run(stream: DuplexStream, agents: &[&str], stop: CancellationToken) {
    let style = Style { colours: false, prompt: None, zone: jiff::tz::TimeZone::UTC };
    let settings = Settings {
        nick: NICK.to_owned(),
        channel: "#herder".to_owned(),
        alerts: "#alerts".to_owned(),
        channels: agents.iter().map(|agent| format!("#{agent}")).collect(),
        style,
        echo: false,
    };
    let is_shown =
        |channel: &str, text: &str| agents.contains(&LANDS) || (channel != LANDS && !text.contains(LANDS));
    let (keyboard, mut typed) = mpsc::channel(STEPS.len() * 2);
    let (terminal, shown) = tokio::io::duplex(SHOWN);
    let (seen, mut read) = watch::channel(Read::default());
    let typing = async {
        let mut patience = WAITED;
        for (after, channel, text) in STEPS {
            if !is_shown(channel, text) {
                continue;
            }
            // A post that never comes, as a call without a judge, leaves out the line that needs it.
            let began = Instant::now();
            let _ = tokio::time::timeout(patience, read.wait_for(|read| read.complete(text).is_some())).await;
            patience = patience.saturating_sub(began.elapsed());
            let Some(text) = read.borrow().complete(text) else { continue };
            tokio::time::sleep(Duration::from_secs_f64(after)).await;
            for line in [format!("/channel {channel}"), text] {
                if keyboard.send(Typed::Line(line)).await.is_err() {
                    return;
                }
            }
        }
        // The last line is sent before it quits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = keyboard.send(Typed::Line("/quit".to_owned())).await;
    };
    let showing = console::run(settings, stream, &mut typed, terminal, stop);
    // The end of the demo ends the tour during a pause too.
    tokio::select! {
        _ = showing => {}
        () = watch_for_what_is_asked(shown, &seen) => {}
        () = async { typing.await; std::future::pending().await } => {}
    }
}

/// Reads the tour's output until it is closed, and reports the posts that the tour waits for to `seen`.
async fn watch_for_what_is_asked(shown: impl AsyncRead + Unpin, seen: &watch::Sender<Read>) {
    let mut lines = BufReader::new(shown).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.contains(CALL) {
            seen.send_modify(|read| read.called = true);
        }
        if let Some((_, rest)) = line.split_once(ASKED) {
            let number = rest.chars().take_while(char::is_ascii_digit).collect();
            seen.send_modify(|read| read.asked = Some(number));
        }
        if let Some((before, _)) = line.split_once(REVIEW.1)
            && let Some((_, number)) = before.rsplit_once(REVIEW.0)
        {
            seen.send_modify(|read| read.reviewed = Some(number.to_owned()));
        }
        if line.contains(MERGED) {
            seen.send_modify(|read| read.merged = true);
        }
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
