//! The same with an evaluator that takes a moment, Discord beside IRC, and kills at random moments, some of them
//! during an evaluation.
//!
//! `HERDER_LADDER_KILLS` sets how often (20, at least 8); `HERDER_SEED` repeats a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use herder::clock;
use herder::core::event::Event;
use herder::core::time::Timestamp;
use herder::core::whisper::{Tone, Whisper};

use super::{Ended, Plot, Story, find};
use crate::escalation::labels;
use crate::kill::{Moments, number};
use crate::simulated_discord::state::{Id, Message};
use crate::simulated_discord::{Discord, State, User, permission};
use crate::stage::PATIENCE;

/// The least number of these kills that come after the call for a person.
const LAST_KILLS: u64 = 6;

/// Words of the call for a person.
const CALL: &str = "appears stuck on task";

/// Judges when there is no file `hold`; no two of its words are the same.
fn judge(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "cat > /dev/null; echo asked >> {dir}/judged; number=$(wc -l < {dir}/judged); \
         while [ -e {dir}/hold ]; do sleep 0.02; done; echo CORRECTION Mind gap $number."
    )
}

fn plot(dir: &Path, sim: &Discord, olga: &User) -> Plot {
    std::fs::write(dir.join("judge.sh"), judge(dir)).expect("a file can be written");
    Plot {
        evaluator: format!(
            "kind = \"command\"\ncommand = [\"sh\", \"{}\"]\n",
            dir.join("judge.sh").display()
        ),
        more: format!(
            "[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\napi_url = \"{}\"\n",
            sim.guild_id(),
            sim.api_url()
        ),
        admins: format!("\"irc:test:alice\", \"discord:{}\"", olga.id),
        token: sim.token(),
        pace: "0.1",
    }
}

/// Returns the calls on Discord, deleted or not, since people saw all of them.
fn calls(state: &State) -> impl Iterator<Item = &Message> {
    let channel = state.channel("alerts").map(|channel| channel.id);
    let posts = state.messages.values().filter(move |message| Some(message.channel) == channel);
    posts.filter(|message| message.content.contains(CALL))
}

struct Harried {
    story: Story,
    sim: Discord,
    olga: User,
    moments: Moments,
    seed: u64,
    /// Times of kills.
    kills: Vec<Timestamp>,
    /// Logins on Discord of those that were killed.
    logins: u32,
}

impl Harried {
    async fn begin() -> Self {
        let seed = number("HERDER_SEED", u64::from(std::process::id()));
        let sim = Discord::start().await;
        sim.role("manager", permission::MANAGE_GUILD);
        let olga = sim.user("olga").roles(["manager"]);
        let story = Story::begin(|dir| plot(dir, &sim, &olga)).await;
        sim.channel("alerts").await;
        Self { story, sim, olga, moments: Moments::new(seed), seed, kills: Vec::new(), logins: 0 }
    }

    async fn is_killed(&mut self) {
        self.kills.push(clock::now());
        self.story.dies().await;
        self.sim.gateway().silent().await;
        self.logins = self.sim.gateway().identifies();
        self.story.starts();
    }

    /// Waits until the current herder receives messages and presses.
    async fn listens(&self) {
        self.story.until("its start", |_, _| true).await;
        self.sim.gateway().identified(self.logins + 1).await;
    }

    fn has_asked(&self) -> usize {
        let judged = std::fs::read_to_string(self.story.dir.path().join("judged"));
        judged.map_or(0, |judged| judged.lines().count())
    }

    async fn is_called(&mut self) -> bool {
        self.story.alice.overhears("#alerts").await;
        self.story.alice.heard_in("#alerts").iter().any(|line| line.contains(CALL))
    }

    /// Waits until an evaluation is open, which is held; false if a person is called first.
    async fn is_being_judged(&mut self) -> bool {
        let before = self.has_asked();
        let looking = async {
            while self.has_asked() == before {
                if self.is_called().await {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            true
        };
        let seen = tokio::time::timeout(2 * PATIENCE, looking).await;
        seen.unwrap_or_else(|_| panic!("nobody judges\n{}", self.story.log()))
    }

    /// Kills herder at a random moment of a life: while it starts, or after that.
    async fn is_killed_somewhere(&mut self) {
        if self.moments.millis(3).as_millis() > 0 {
            self.story.until("its start", |_, _| true).await;
        }
        tokio::time::sleep(self.moments.millis(1500)).await;
        self.is_killed().await;
    }

    /// Climbs the ladder, with kills at random moments, each second one during an evaluation.
    async fn climbs(&mut self, kills: u64) {
        self.story.alice.say("#spark", "benchmark nemotron").await;
        let hold = self.story.dir.path().join("hold");
        for kill in 0..kills {
            if self.is_called().await {
                break;
            }
            if kill % 2 == 0 {
                std::fs::write(&hold, "").expect("a file can be written");
                if self.is_being_judged().await {
                    tokio::time::sleep(self.moments.millis(300)).await;
                    self.is_killed().await;
                }
                std::fs::remove_file(&hold).expect("it is there");
            } else {
                self.is_killed_somewhere().await;
            }
        }
        self.story.alice.hears_in_any_order("#alerts", CALL).await;
    }

    /// Returns the call on Discord, as soon as it is there.
    async fn prompt(&self) -> Id {
        let open = |state: &State| calls(state).any(|message| labels(message).len() == 3);
        self.sim.until_within(PATIENCE, "a call with buttons", open).await;
        self.sim.look(|state| calls(state).next().map(|message| message.id)).expect("it is there")
    }

    /// Presses a button that an earlier herder has posted, and kills herder over it; if the press went unheard, it is
    /// repeated.
    async fn is_pressed(&mut self, prompt: Id) {
        let resume = self.sim.message(prompt, |_| true).await.button("Resume").custom_id;
        self.listens().await;
        let click = self.olga.clicks(prompt, &resume);
        tokio::time::sleep(self.moments.millis(300)).await;
        self.is_killed().await;
        self.listens().await;
        if click.now().ack.is_none()
            && let Some(again) = self.olga.clicks_if_open(prompt, &resume)
        {
            again.acknowledged().await;
        }
        let is_closed = |message: &Message| labels(message) == ["Resume · olga (discord)", "Transcript"];
        self.sim.message(prompt, is_closed).await;
        self.story.alice.hears_in_any_order("#alerts", "is answered by olga: it goes on").await;
    }

    async fn ends(self) {
        let Self { mut story, sim, seed, kills, .. } = self;
        story.alice.hears_in_any_order("#spark", "I see.").await;
        story.until("its rest", |status, _| find(status, "phase").is_some_and(|phase| phase == "idle")).await;
        let ended = story.ends().await;
        ended.each_whisper_has_one_end();
        ended.is_called_and_answered_once();
        whispers_are_repeated_by_kills_alone(&ended, &kills, seed);
        let untold =
            ended.count(|event| matches!(event, Event::Escalated { escalation } if escalation.untold));
        let told = ended
            .count(|event| matches!(event, Event::Whispered { whisper } if whisper.tone != Tone::Escalation));
        assert!(told == 2 || (untold == 1 && told == 1), "seed {seed}: {told} whispers");
        let wanted = [("agent_spiraling", told), ("agent_escalation", 1)];
        let wanted = wanted.into_iter().chain([("agent_resumed", 1), ("agent_complete", 1)]);
        ended.programs_are_told(&wanted.collect::<BTreeMap<_, _>>());
        let lapses = ended.agent.watch.counts.lapses;
        assert!(lapses > 0, "seed {seed}: no kill has met somebody who judges");

        // Discord: once, since what is sent again has the same nonce. IRC: at least once, and each kill may repeat it.
        let posts: Vec<String> = sim.look(|state| calls(state).map(|call| call.content.clone()).collect());
        assert_eq!(posts.len(), 1, "seed {seed}: {posts:#?}");
        let called: Vec<&String> = ended.alerts.iter().filter(|line| line.contains(CALL)).collect();
        assert!((1..=1 + kills.len()).contains(&called.len()), "seed {seed}: {called:#?}");
        let different: BTreeSet<&String> = called.into_iter().collect();
        assert_eq!(different.len(), 1, "seed {seed}: {different:#?}");
        for channel in ["spark", "alerts", "herder", "work"] {
            let seen = sim.posts(channel).into_iter().filter(|post| post.contains("[CORRECTION]")).count();
            assert_eq!(seen, 0, "seed {seed}: a whisper is nobody else's");
        }
    }
}

/// Checks that a whisper that was handed over and recorded is not handed over again; a kill between the two repeats
/// it once.
fn whispers_are_repeated_by_kills_alone(ended: &Ended, kills: &[Timestamp], seed: u64) {
    let delivered = |of: &Whisper| {
        ended.events.iter().find_map(|(at, event)| match event {
            Event::WhispersDelivered { whispers, .. } if whispers.contains(&of.id) => Some(*at),
            _ => None,
        })
    };
    for (at, event) in &ended.events {
        let Event::Whispered { whisper } = event else { continue };
        let Some(until) = delivered(whisper) else { continue };
        let between = kills.iter().filter(|kill| (*at..=until).contains(kill)).count();
        let words = whisper.words();
        // In its recap a session reads what the one before it was told, in a list.
        let listed = ended.told.matches(&format!("- {words}")).count();
        let told = ended.told.matches(&words).count() - listed;
        assert!((1..=1 + between).contains(&told), "seed {seed}: {told} times: {words}\n{}", ended.told);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_any_moment_change_nothing_and_a_button_from_before_them_is_answered() {
    let kills = number("HERDER_LADDER_KILLS", 20).max(LAST_KILLS + 2);
    let mut on = Box::pin(Harried::begin()).await;
    on.climbs(kills - LAST_KILLS).await;
    let prompt = on.prompt().await;
    while (on.kills.len() as u64) < kills - 1 {
        on.is_killed_somewhere().await;
    }
    on.is_pressed(prompt).await;
    on.ends().await;
}
