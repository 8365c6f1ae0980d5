//! The order in which agents take turns, and accounts that reach their usage limit: a whole herder with real
//! children, on each network.

use std::path::Path;
use std::time::Duration;

use herder::config::Config;
use herder::core::agent::Phase;
use herder::core::event::Event;
use herder::core::id::{AccountName, AgentName};
use herder::core::outcome::Category;
use herder::core::policy::Policy;
use herder::core::quota::{QuietHours, QuotaRules, Resume};
use herder::core::spec::{AgentSpec, Pattern};
use herder::core::time::Timestamp;
use herder::journal::{Entry, FleetEvent, Recorded, Stream};
use herder::supervisor::View;
use jiff::tz::TimeZone;

use crate::on::{On, Story, on_each_network};
use crate::stage::{appears, shell};

/// Says what it was told, unless the file `exhausted` is there: then it is at the account's limit.
const LIMITED: &str = "[ -e exhausted ] && { echo 'usage limit reached, sorry' >&2; exit 1; }; cat";

/// Works until it is ended.
const LONG: &str = "sleep 600";

async fn open(
    on: On,
    agents: impl FnOnce(&Path) -> Vec<AgentSpec>,
    change: impl FnOnce(&mut Policy),
) -> Story {
    let change = |config: &mut Config| change(&mut config.policy);
    Story::open(on, &["#herder", "#alerts", "#work"], agents, change).await
}

impl Story {
    async fn rests(&self, agent: &str, sessions: u64) {
        self.until(agent, |view| {
            view.agent.phase == Phase::Idle
                && view.agent.queue.is_empty()
                && view.agent.totals.successes >= sessions
        })
        .await;
    }

    /// Returns the times of the next try and of the question to people, from the last time that an account was
    /// closed.
    fn closing(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let history = self.stage.herder.fleet().journal().history(&Stream::Fleet, 1000, None);
        let closing = |recorded: &Recorded| match &recorded.entry {
            Entry::Fleet(FleetEvent::AccountExhausted { probe_at, ask_at, .. }) => Some((*probe_at, *ask_at)),
            _ => None,
        };
        history.expect("readable").iter().rev().find_map(closing).expect("one was closed")
    }

    /// Returns the start times of an agent's sessions.
    fn begun(&self, agent: &str) -> Vec<Timestamp> {
        let stream = Stream::Agent(AgentName::new(agent).expect("a good name"));
        let history = self.stage.herder.fleet().journal().history(&stream, 1000, None).expect("readable");
        let starts = |entry: &Entry| matches!(entry, Entry::Agent(Event::SessionStarted { .. }));
        history.iter().filter(|recorded| starts(&recorded.entry)).map(|recorded| recorded.at).collect()
    }

    fn closings(&self) -> usize {
        let closes = |entry: &Entry| matches!(entry, Entry::Fleet(FleetEvent::AccountExhausted { .. }));
        self.count(&Stream::Fleet, closes)
    }
}

on_each_network!(
    as_many_agents_work_as_may_and_the_others_wait_for_their_turn,
    an_exhausted_account_waits_for_a_persons_word_also_after_a_restart_while_others_go_on,
    one_agent_of_an_exhausted_account_tries_it_again_and_again_until_it_works,
    people_are_asked_before_an_exhausted_account_goes_on_if_they_want_it_so,
    an_exhausted_account_that_never_goes_on_by_itself_waits_for_a_word_also_after_a_restart,
    nobody_tries_an_exhausted_account_in_quiet_hours_unless_a_person_says_so,
    a_task_of_the_board_passes_over_an_account_that_is_closed_and_waits_for_it_if_nobody_else_can,
    an_account_that_was_closed_for_its_login_or_its_bill_is_tried_by_one_agent_before_all_begin,
);

/// Returns two agents of one account, and one of another.
fn limited(dir: &Path) -> Vec<AgentSpec> {
    let of = |agent: &str, account: &str| {
        let mut spec = shell(agent, dir, LIMITED);
        spec.account = AccountName::from(account);
        spec.patterns = vec![Pattern { matches: "usage limit".to_owned(), category: Category::Quota }];
        spec
    };
    let mut ember = of("ember", "local");
    ember.command = ["sh", "-c", "cat"].map(str::to_owned).to_vec();
    vec![of("spark", "openai"), of("flint", "openai"), ember]
}

async fn as_many_agents_work_as_may_and_the_others_wait_for_their_turn(on: On) {
    let agents = |dir: &Path| ["one", "two", "three"].map(|agent| shell(agent, dir, LONG)).to_vec();
    let mut story = open(on, agents, |policy| policy.max_active = 2).await;
    for agent in ["one", "two"] {
        story.alice.say("#herder", &format!("@{agent} begin")).await;
        story.until(agent, |view| view.agent.process.is_some()).await;
    }
    let queued = story.says("@three begin", "Queued for three").await;
    let waits = "👀 Queued for three at position 1: waits for its turn (2 of 2 active).";
    assert!(queued.ends_with(waits), "{queued}");
    let status = story.says("@three status", "three: ").await;
    assert!(status.contains("waits for its turn (2 of 2 active)"), "{status}");
    assert_eq!((story.sessions("one"), story.sessions("two"), story.sessions("three")), (1, 1, 0));

    story.says("@one abort", "one is being stopped").await;
    story.until("three", |view| view.agent.process.is_some()).await;
    let again = story.says("@one once more", "Queued for one").await;
    assert!(again.contains("waits for its turn (2 of 2 active)"), "{again}");
    // A waiting agent is paused like any other, and does not begin when a place is free.
    story.says("@one pause", "⏸️ one").await;
    story.says("@two abort", "two is being stopped").await;
    let rested = story.until("one", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!(rested.agent.queue.len(), 1);
    story.close().await;
}

async fn an_exhausted_account_waits_for_a_persons_word_also_after_a_restart_while_others_go_on(on: On) {
    let mut story = open(on, limited, |_| {}).await;
    let exhausted = story.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    story.alice.say("#herder", "@spark count the beans").await;
    let alert = story.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert!(alert.starts_with("⏳ Account openai: usage limit reached, seen by spark."), "{alert}");
    assert!(alert.contains("one of them tries again at"), "{alert}");
    story.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    let queued = story.says("@flint count the peas", "flint").await;
    assert!(queued.contains("at position 1: account openai is exhausted until"), "{queued}");
    let status = story.says("@spark status", "spark: ").await;
    assert!(status.contains("account openai is exhausted until"), "{status}");
    // Another account has nothing to do with it.
    story.alice.say("#herder", "@ember say something").await;
    story.rests("ember", 1).await;
    assert_eq!((story.sessions("spark"), story.sessions("flint"), story.closings()), (1, 0, 1));

    let agents = limited(story.dir.path());
    let mut story = story.again(agents, |_| {}).await;
    let status = story.says("@flint status", "flint: ").await;
    assert!(status.contains("account openai is exhausted until"), "{status}");
    assert_eq!((story.sessions("spark"), story.sessions("flint"), story.closings()), (1, 0, 1));

    std::fs::remove_file(&exhausted).expect("it was there");
    story.alice.say("#herder", "@flint resume").await;
    story.alice.hears_in_any_order("#alerts", "alice lets flint try account openai").await;
    story.alice.hears_in_any_order("#alerts", "Account openai works again, as flint shows").await;
    story.rests("flint", 1).await;
    story.rests("spark", 1).await;
    story.close().await;
}

async fn one_agent_of_an_exhausted_account_tries_it_again_and_again_until_it_works(on: On) {
    let often = |policy: &mut Policy| policy.quota.probe_interval = Duration::from_secs(1);
    let mut story = open(on, limited, often).await;
    let exhausted = story.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    story.alice.say("#herder", "@spark count the beans").await;
    story.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    story.alice.say("#herder", "@flint count the peas").await;
    // Both have tried, one at a time.
    story.until("flint", |view| view.agent.exhausted.is_some()).await;
    story.until("spark", |view| view.agent.totals.sessions >= 2).await;
    std::fs::remove_file(&exhausted).expect("it was there");
    story.alice.hears_in_any_order("#alerts", "Account openai works again").await;
    story.rests("flint", 1).await;
    story.rests("spark", 1).await;
    let tries = story.sessions("spark") + story.sessions("flint");
    // Every try but the last two has shown that the limit holds.
    assert_eq!(tries, story.closings() + 2, "two at once");
    let alerts = story.alice.heard_in("#alerts");
    let said = alerts.iter().filter(|text| text.contains("usage limit reached")).count();
    let lines = story.alice.heard_in("#work");
    let lines = lines.iter().filter(|text| text.contains("QUOTA-EXHAUSTED")).count();
    assert_eq!((said, lines), (1, 1), "once for each closing");
    let view = story.until("spark", |_| true).await;
    assert_eq!((view.agent.failures, view.agent.totals.failures), (0, 0), "the account's, not the agent's");
    story.close().await;
}

async fn people_are_asked_before_an_exhausted_account_goes_on_if_they_want_it_so(on: On) {
    let ask = |policy: &mut Policy| {
        let probe_interval = Duration::from_secs(1);
        policy.quota = QuotaRules { probe_interval, resume: Resume::Ask, quiet: None };
    };
    let mut story = open(on, limited, ask).await;
    let exhausted = story.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    story.alice.say("#herder", "@spark count the beans").await;
    let alert = story.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert!(alert.contains("people are asked at"), "{alert}");
    story.alice.hears_in_any_order("#alerts", "its usage limit should be over. `").await;
    assert_eq!(story.sessions("spark"), 1, "nobody tries without a word");
    std::fs::remove_file(&exhausted).expect("it was there");
    story.alice.say("#herder", "@spark resume").await;
    story.alice.hears_in_any_order("#alerts", "Account openai works again").await;
    story.rests("spark", 1).await;
    story.close().await;
}

async fn an_exhausted_account_that_never_goes_on_by_itself_waits_for_a_word_also_after_a_restart(on: On) {
    let never = |policy: &mut Policy| {
        let probe_interval = Duration::from_secs(1);
        policy.quota = QuotaRules { probe_interval, resume: Resume::Never, quiet: None };
    };
    let mut story = open(on, limited, never).await;
    let exhausted = story.dir.path().join("exhausted");
    std::fs::write(&exhausted, "").expect("a file");
    story.alice.say("#herder", "@spark count the beans").await;
    let alert = story.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert!(
        ["`@spark resume`", "`/resume agent:spark`"].iter().any(|hint| alert
            .ends_with(&format!("None of its agents begins anything; {hint} lets one of them try."))),
        "{alert}"
    );
    story.alice.hears_in_any_order("#work", "QUOTA-EXHAUSTED openai").await;
    // A try that fails leaves all others waiting for the next permission: that is said again, without a second
    // message that the account is closed.
    story.alice.say("#herder", "@spark resume").await;
    story.alice.hears_in_any_order("#alerts", "alice lets spark try account openai").await;
    story.until("spark", |view| view.agent.totals.sessions >= 2 && view.agent.session().is_none()).await;
    let again = story.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert_eq!(again, alert);
    let lines = story.alice.heard_in("#work");
    assert_eq!(lines.iter().filter(|text| text.contains("QUOTA-EXHAUSTED")).count(), 1);
    // The account is closed for an agent without work, too.
    let flint = AgentName::new("flint").expect("a good name");
    let closed = |view: &View| view.closed && view.hold.is_none();
    story.stage.herder.fleet().wait_among_all(&flint, closed).await.expect("it is there");
    std::fs::remove_file(&exhausted).expect("it was there");

    // The limit is over, and the time of the next try is past: no agent tries.
    let agents = limited(story.dir.path());
    let mut story = story.again(agents, |config| never(&mut config.policy)).await;
    let waits = "account openai is exhausted until a person resumes one of its agents";
    let queued = story.says("@flint count the peas", "flint").await;
    assert!(queued.contains(waits), "{queued}");
    let status = story.says("@spark status", "spark: ").await;
    assert!(status.contains(waits), "{status}");
    assert_eq!(story.closing(), (None, None), "nothing is to come");
    assert_eq!((story.sessions("spark"), story.sessions("flint"), story.closings()), (2, 0, 2));
    story.alice.say("#herder", "@spark resume").await;
    story.alice.hears_in_any_order("#alerts", "Account openai works again, as spark shows").await;
    story.rests("spark", 1).await;
    story.rests("flint", 1).await;
    story.close().await;
}

async fn nobody_tries_an_exhausted_account_in_quiet_hours_unless_a_person_says_so(on: On) {
    let mut story = open(on, limited, |_| {}).await;
    let (exhausted, fleet) = (story.dir.path().join("exhausted"), story.stage.herder.fleet().clone());
    std::fs::write(&exhausted, "").expect("a file");
    let quiet_until = |end: Timestamp| {
        let time = |at: Timestamp| {
            let moment = jiff::Timestamp::from_millisecond(at.as_millis()).expect("a moment");
            TimeZone::UTC.to_datetime(moment).time()
        };
        let from = time(end.before(Duration::from_secs(12 * 3600)));
        let quiet = Some(QuietHours { from, to: time(end), zone: TimeZone::UTC });
        let quota = QuotaRules { probe_interval: Duration::from_secs(1), resume: Resume::Auto, quiet };
        fleet.set_policy(Policy { quota, stop_grace: Duration::from_secs(1), ..Policy::default() });
    };
    // They last for hours: who says so goes before.
    let end = herder::clock::now().after(Duration::from_secs(6 * 3600));
    quiet_until(end);
    story.alice.say("#herder", "@spark count the beans").await;
    story.alice.hears_in_any_order("#alerts", "usage limit reached").await;
    assert_eq!(story.closing(), (Some(end), None));
    story.alice.say("#herder", "@flint count the peas").await;
    story.alice.hears_in_any_order("#herder", "account openai is exhausted until").await;
    story.alice.say("#herder", "@spark resume").await;
    story.alice.hears_in_any_order("#alerts", "alice lets spark try account openai").await;
    story.until("spark", |view| view.agent.totals.sessions >= 2 && view.agent.session().is_none()).await;

    // They are over soon: then an agent tries by itself, and not before.
    let end = herder::clock::now().after(Duration::from_secs(4));
    quiet_until(end);
    story.alice.say("#herder", "@spark resume").await;
    story.until("spark", |view| view.agent.totals.sessions >= 3 && view.agent.session().is_none()).await;
    std::fs::remove_file(&exhausted).expect("it was there");
    story.alice.hears_in_any_order("#alerts", "Account openai works again").await;
    story.rests("spark", 1).await;
    story.rests("flint", 1).await;
    let mut begun: Vec<Timestamp> =
        ["spark", "flint"].into_iter().flat_map(|agent| story.begun(agent)).collect();
    begun.sort_unstable();
    // The first one met the limit, two were let through by a person.
    let own = begun.split_off(3);
    assert!(own.len() >= 2 && own.iter().all(|at| *at >= end), "{end:?}: {begun:?}, {own:?}");
    story.close().await;
}

async fn a_task_of_the_board_passes_over_an_account_that_is_closed_and_waits_for_it_if_nobody_else_can(
    on: On,
) {
    let mut story = open(on, limited, |_| {}).await;
    std::fs::write(story.dir.path().join("exhausted"), "").expect("a file");
    story.alice.say("#herder", "@spark begin").await;
    story.alice.hears("#work", "QUOTA-EXHAUSTED openai").await;
    // flint has been idle for longest, and is of the same account.
    story.says("!task add count the ants", "is on the board").await;
    story.alice.hears("#work", "assigned ember").await;
    story.alice.hears("#work", "DONE").await;

    story.says("@ember pause", "⏸️ ember").await;
    story.says("!task add count the bees", "is on the board").await;
    story.alice.hears("#work", "queued").await;
    story.says("!task list", "queued · board · count the bees").await;
    assert_eq!(story.sessions("flint"), 0);
    // A person lets the account be tried: once it works, the task goes to any idle agent.
    std::fs::remove_file(story.dir.path().join("exhausted")).expect("a file");
    story.says("@spark resume", "spark").await;
    story.alice.hears("#work", "assigned flint").await;
    story.alice.hears("#work", "DONE").await;
    story.close().await;
}

/// Notes that it runs; then the account refuses it while `refused` is there, and it takes until `go` is there.
const BILLED: &str = "echo run >> runs; : > running; [ -e refused ] && { cat refused >&2; exit 1; }; \
                      while [ ! -e go ]; do sleep 0.05; done; cat";

async fn an_account_that_was_closed_for_its_login_or_its_bill_is_tried_by_one_agent_before_all_begin(on: On) {
    let agents = |dir: &Path| {
        let pattern = |matches: &str, category| Pattern { matches: matches.to_owned(), category };
        let patterns = vec![pattern("no such key", Category::Auth), pattern("pay first", Category::Billing)];
        let agent = |name: &str| AgentSpec {
            account: AccountName::from("openai"),
            patterns: patterns.clone(),
            ..shell(name, dir, BILLED)
        };
        ["spark", "flint", "nova"].map(agent).to_vec()
    };
    let mut story = open(on, agents, |_| {}).await;
    let runs = |story: &Story| {
        let text = std::fs::read_to_string(story.dir.path().join("runs")).unwrap_or_default();
        text.lines().count()
    };
    let (refused, go) = (story.dir.path().join("refused"), story.dir.path().join("go"));
    for (round, words, why) in
        [(1, "no such key", "authentication failed"), (2, "pay first", "billing error")]
    {
        std::fs::write(&refused, words).expect("a file");
        let before = runs(&story);
        story.alice.say("#herder", "@spark count the beans").await;
        story.alice.hears("#alerts", &format!("openai: {why}, seen by spark")).await;
        for agent in ["spark", "flint", "nova"] {
            story.until(agent, |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
        }
        // Work that they are given meanwhile waits, and costs nothing.
        for agent in ["flint", "nova"] {
            story.says(&format!("@{agent} count the peas"), agent).await;
        }
        assert_eq!(runs(&story), before + 1, "nobody follows spark");

        std::fs::remove_file(&refused).expect("it was there");
        let running = story.dir.path().join("running");
        std::fs::remove_file(&running).expect("spark has run");
        story.alice.say("#herder", "@flint resume").await;
        // The process is on record before its program begins.
        appears(&running).await;
        let status = story.says("@nova status", "nova: ").await;
        assert!(status.contains("flint"), "it waits for what flint shows: {status}");
        assert_eq!(runs(&story), before + 2, "one shows whether the account works");
        std::fs::write(&go, "").expect("a file");
        for agent in ["spark", "flint", "nova"] {
            story.rests(agent, round).await;
        }
        assert_eq!(runs(&story), before + 4);
        std::fs::remove_file(&go).expect("it was there");
    }
    story.close().await;
}
