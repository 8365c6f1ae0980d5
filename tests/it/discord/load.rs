//! herder under load while its link breaks: two agents have three jobs each under way, and a third one is paused with
//! a button that a person presses in that moment.

use herder::core::agent::{Agent, Phase};
use herder::core::event::Event;
use herder::core::id::AgentName;
use herder::journal::{Entry, Stream};
use herder::run::Options;

use super::Rig;
use crate::discord_kill::{done, prompts};
use crate::simulated_discord::asked::Asked;
use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, State};
use crate::stage::{self, PATIENCE, Stage};

const WORKERS: [&str; 2] = ["spark", "flint"];

/// Jobs that each worker has under way when the link breaks.
const UNDER_WAY: usize = 3;

/// Holds its work while there is a file `closed`, writes it down, so that nothing is done twice in secret, and says it.
fn script(agent: &str) -> String {
    format!(
        "work=$(tail -n 1); while [ -e closed ]; do sleep 0.02; done; echo \"$work\" >> done.{agent}; echo \"done $work\""
    )
}

fn name(agent: &str) -> AgentName {
    AgentName::new(agent).expect("a good name")
}

/// A press of the paused one's button.
struct Press {
    post: Message,
    click: Asked,
    /// The number of links made by then.
    links: u32,
}

pub(super) struct Load {
    pub(super) rig: Rig,
    rounds: usize,
    press: Option<Press>,
    /// The messages to each worker, in order.
    said: [Vec<String>; 2],
}

impl Load {
    pub(super) async fn open(sim: Discord) -> Self {
        let mut rig = Rig::prepare(sim).await;
        let mut config = rig.config();
        let agents = WORKERS.into_iter().chain(["calm"]);
        config.agents = agents.map(|agent| stage::shell(agent, rig.dir.path(), &script(agent))).collect();
        rig.stage = Some(Stage::open(config, Options::default()).await);
        let rig = rig.sees_ready().await;
        for agent in WORKERS.into_iter().chain(["calm"]) {
            rig.sim.channel(agent).await;
        }
        Self { rig, rounds: 0, press: None, said: Default::default() }
    }

    async fn until(&self, agent: &str, what: &str, mut holds: impl FnMut(&Agent) -> bool) {
        let (fleet, agent) = (self.rig.stage().herder.fleet(), name(agent));
        let waited = fleet.wait_for(&agent, |view| holds(&view.agent));
        let Ok(view) = tokio::time::timeout(PATIENCE, waited).await else {
            panic!("waited for {what}: {:?}", fleet.view(&agent));
        };
        view.expect("the agent is there");
    }

    fn says(&mut self, fault: &str, when: &str) {
        for (worker, said) in WORKERS.into_iter().zip(&mut self.said) {
            let job = format!("{worker} {fault} {when}.");
            self.rig.alice.says(worker, &job);
            said.push(job);
        }
    }

    /// Applies `breaks` while all agents are busy; one more job is given to each while herder may be away, and the
    /// button is pressed just before or just after the break.
    pub(super) async fn meets(&mut self, fault: &str, breaks: impl FnOnce(&Discord)) {
        let closed = self.rig.dir.path().join("closed");
        std::fs::write(&closed, "").expect("a file can be written");
        for number in 1..=UNDER_WAY {
            self.says(fault, &number.to_string());
        }
        for worker in WORKERS {
            self.until(worker, "jobs under way", |agent| {
                matches!(agent.phase, Phase::Running { .. }) && agent.queue.len() == UNDER_WAY - 1
            })
            .await;
        }
        let post = self.calms().await;
        let button = post.button("Resume").custom_id;
        let links = self.rig.sim.gateway().links();
        self.rounds += 1;
        let click = if self.rounds % 2 == 1 {
            let click = self.rig.alice.clicks(post.id, &button);
            breaks(&self.rig.sim);
            click
        } else {
            breaks(&self.rig.sim);
            self.rig.alice.clicks(post.id, &button)
        };
        self.press = Some(Press { post, click, links });
        self.says(fault, "while");
        std::fs::remove_file(closed).expect("it is there");
    }

    /// Pauses the calm one and gives it work; the post that says so has buttons.
    async fn calms(&self) -> Message {
        let before = self.rig.sim.look(|state| prompts(state).count());
        self.rig.alice.says("calm", "pause");
        let newest = |state: &State| prompts(state).nth(before).cloned();
        let post = self.rig.sim.find("a post with buttons", newest).await;
        self.rig.alice.says("calm", &format!("calm {}.", self.rounds + 1));
        self.until("calm", "a pause with work", |agent| {
            matches!(agent.phase, Phase::Paused { .. }) && agent.queue.len() == 1
        })
        .await;
        post
    }

    /// Checks that herder recovers: all work is done and reported once and in order, and the button has worked once.
    pub(super) async fn comes_through(&mut self, fault: &str) {
        let Press { post, click, links } = self.press.take().expect("a fault was met");
        self.button_works(&post, click, links).await;
        self.says(fault, "after");
        for (worker, said) in WORKERS.into_iter().zip(&self.said) {
            let what = format!("{worker} to have done {} after {fault}", said.len());
            let all = |state: &State| done(state, worker).count() >= said.len();
            self.rig.sim.until_within(PATIENCE, &what, all).await;
        }
        let told = format!("done calm {}.", self.rounds);
        let is_told = |state: &State| done(state, "calm").any(|line| line == told);
        self.rig.sim.until_within(PATIENCE, &told, is_told).await;
        for agent in WORKERS.into_iter().chain(["calm"]) {
            self.until(agent, "its rest", |agent| agent.phase == Phase::Idle).await;
        }
        self.everything_came_once(fault);
    }

    /// Presses again once herder is back, if Discord gave up a press without an answer.
    async fn button_works(&self, post: &Message, mut click: Asked, mut links: u32) {
        let button = post.button("Resume").custom_id;
        loop {
            let over = |state: &State| {
                state.interactions[&click.id].ack.is_some()
                    || state.gateway.identifies + state.gateway.resumes > links
            };
            self.rig.sim.until_within(PATIENCE, "an answer to a press, or the link", over).await;
            if click.now().ack.is_some() {
                break;
            }
            links = self.rig.sim.gateway().links();
            match self.rig.alice.clicks_if_open(post.id, &button) {
                Some(again) => click = again,
                None => break,
            }
        }
        let is_closed = |message: &Message| message.buttons().iter().any(|button| button.disabled);
        let shown = self.rig.sim.message(post.id, is_closed).await;
        let labels: Vec<String> = shown.buttons().into_iter().map(|button| button.label).collect();
        assert_eq!(labels, ["Resume · alice (discord)", "Transcript"]);
    }

    fn everything_came_once(&self, fault: &str) {
        for (worker, said) in WORKERS.into_iter().zip(&self.said) {
            let written = std::fs::read_to_string(self.rig.dir.path().join(format!("done.{worker}")));
            let written = written.expect("it has written something");
            assert_eq!(written.lines().collect::<Vec<_>>(), *said, "what was done after {fault}");
            let expected: Vec<String> = said.iter().map(|job| format!("done {job}")).collect();
            let told: Vec<String> =
                self.rig.sim.look(|state| done(state, worker).map(str::to_owned).collect());
            assert_eq!(told, expected, "what was told after {fault}");
        }
        let expected: Vec<String> = (1..=self.rounds).map(|round| format!("done calm {round}.")).collect();
        let told: Vec<String> = self.rig.sim.look(|state| done(state, "calm").map(str::to_owned).collect());
        assert_eq!(told, expected, "what the paused one told after {fault}");
        let journal = self.rig.stage().herder.fleet().journal();
        let entries = journal.history(&Stream::Agent(name("calm")), 10_000, None).expect("it can be read");
        let is_resumed = |entry: &Entry| matches!(entry, Entry::Agent(Event::Resumed { .. }));
        let resumed = entries.iter().filter(|recorded| is_resumed(&recorded.entry)).count();
        assert_eq!(resumed, self.rounds, "how often the button has worked after {fault}");
    }

    /// Ends herder; what it had still to say would have come by then.
    pub(super) async fn stop(mut self) {
        let before = self.rig.sim.look(|state| WORKERS.map(|worker| done(state, worker).count()));
        self.rig.stop().await;
        let after = self.rig.sim.look(|state| WORKERS.map(|worker| done(state, worker).count()));
        assert_eq!(before, after, "nothing is told again");
    }
}
