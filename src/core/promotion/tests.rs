//! Tests of promotion, by tables: agents are letters, lower-case for account `x` and upper-case for account `y`.

use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_000_000);
const INTERVAL: Duration = Duration::from_secs(300);

fn at(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn account(agent: char) -> AccountName {
    AccountName::from(if agent.is_ascii_lowercase() { "x" } else { "y" })
}

fn name(agent: char) -> AgentName {
    let upper = if agent.is_ascii_uppercase() { "y" } else { "x" };
    AgentName::new(&format!("{}-{upper}", agent.to_ascii_lowercase())).expect("a name")
}

struct Hall(Promotion);

impl Hall {
    fn of(max: u32) -> Self {
        let mut promotion = Promotion::default();
        promotion.limit(max, INTERVAL, None);
        Self(promotion)
    }

    fn stands(&mut self, agents: &str, standing: Standing, now: Timestamp) -> &mut Self {
        for agent in agents.chars() {
            self.0.stands(&name(agent), &account(agent), standing, now);
        }
        self
    }

    fn works(&mut self, agents: &str) -> &mut Self {
        self.stands(agents, Standing::Active, NOW)
    }

    fn wants(&mut self, agent: char, since: u64) -> &mut Self {
        self.stands(&agent.to_string(), Standing::Wants(at(since)), at(since))
    }

    fn rests(&mut self, agents: &str, now: Timestamp) -> &mut Self {
        self.stands(agents, Standing::Rests, now)
    }

    /// Returns the agents that are promoted, as letters.
    fn promoted(&mut self, now: Timestamp) -> String {
        let letter = |name: &AgentName| {
            let letter = name.as_str().chars().next().expect("a letter");
            if name.as_str().ends_with('y') { letter.to_ascii_uppercase() } else { letter }
        };
        self.0.promote(now).iter().map(letter).collect()
    }

    fn begins(&mut self, agent: char, now: Timestamp) -> bool {
        self.0.begin(&name(agent), &account(agent), now, false, now).is_ok()
    }

    fn hold(&self, agent: char, now: Timestamp) -> Option<Hold> {
        self.0.hold(&name(agent), now)
    }

    /// Closes the gate of `x`, which allows a probe from then on.
    fn gate(&mut self, probe_at: Option<Timestamp>, first: Option<char>) -> &mut Self {
        let closed = Gate::closed(Category::Quota, name('a'), NOW);
        let gate = Gate { probe_at, first: first.map(name), ..closed };
        self.0.set_gates([(account('a'), gate)].into());
        self
    }

    fn opens(&mut self) -> &mut Self {
        self.0.set_gates(BTreeMap::new());
        self
    }

    /// Moves an agent of `x` to `y`.
    fn moved(&mut self, agent: char, standing: Standing, now: Timestamp) -> &mut Self {
        self.0.stands(&name(agent), &account('A'), standing, now);
        self
    }

    fn closes(&mut self, agent: char, now: Timestamp) -> bool {
        self.0.close(&name(agent), &account(agent), Category::Quota, now)
    }

    /// Only a gate of `y` is stored.
    fn news_of_another_account(&mut self) -> &mut Self {
        self.0.set_gates([(account('A'), Gate::closed(Category::Auth, name('A'), NOW))].into());
        self
    }
}

#[test]
fn whoever_has_waited_longest_is_next() {
    let mut hall = Hall::of(2);
    hall.works("ab").wants('d', 3).wants('c', 2).wants('e', 4);
    assert_eq!(hall.promoted(at(5)), "");
    assert_eq!(hall.hold('d', at(5)), Some(Hold::Turn { active: 2, max: 2 }));
    assert_eq!(hall.rests("a", at(6)).promoted(at(6)), "c");
    assert_eq!(hall.hold('c', at(6)), None, "it is its turn");
    assert_eq!(hall.promoted(at(6)), "", "its place is kept for it");
    // An agent that was at work comes after those that waited meanwhile.
    assert_eq!(hall.wants('b', 7).promoted(at(7)), "d");
    assert_eq!(hall.rests("cd", at(8)).promoted(at(8)), "eb");
}

#[test]
fn without_a_limit_everybody_begins() {
    let mut hall = Hall::of(0);
    for agent in "abcdefghij".chars() {
        assert!(hall.begins(agent, NOW));
    }
    assert_eq!(hall.0.active(), 10);
}

#[test]
fn the_account_with_fewer_agents_at_work_is_next() {
    let mut hall = Hall::of(3);
    hall.works("abc").wants('d', 1).wants('e', 2).wants('A', 3).wants('B', 4);
    assert_eq!(hall.rests("a", at(5)).promoted(at(5)), "A");
    assert_eq!(hall.rests("b", at(6)).promoted(at(6)), "d", "one of each: whoever has waited longer");
    assert_eq!(hall.rests("cd", at(7)).promoted(at(7)), "eB");
}

#[test]
fn a_place_is_free_for_whoever_comes_when_nobody_waits() {
    let mut hall = Hall::of(1);
    assert!(hall.begins('a', NOW));
    assert!(hall.begins('a', NOW), "its next work follows at once");
    assert!(!hall.begins('b', NOW), "no place is free");
    hall.wants('b', 1);
    assert!(!hall.begins('a', at(2)), "somebody waits");
    assert_eq!(hall.wants('a', 2).promoted(at(2)), "b");
}

#[test]
fn whoever_is_told_and_does_not_begin_gives_the_place_back() {
    let mut hall = Hall::of(1);
    hall.wants('a', 1).wants('b', 2);
    assert_eq!(hall.promoted(at(3)), "a");
    assert_eq!(hall.rests("a", at(4)).promoted(at(4)), "b");
}

#[test]
fn whoever_was_at_work_when_herder_went_down_goes_on_unless_there_is_less_room_now() {
    let mut hall = Hall::of(2);
    hall.works("abc").wants('d', 0);
    let keeps =
        |hall: &mut Hall, agent| hall.0.begin(&name(agent), &account(agent), at(5), true, at(5)).is_ok();
    assert!(!keeps(&mut hall, 'a'), "three were at work");
    hall.wants('a', 5);
    assert!(keeps(&mut hall, 'b') && keeps(&mut hall, 'c'));
    assert_eq!(hall.promoted(at(6)), "");
}

#[test]
fn a_closed_gate_lets_nobody_of_its_account_through_and_everybody_else() {
    let mut hall = Hall::of(0);
    hall.works("a").0.close(&name('a'), &account('a'), Category::Quota, NOW);
    hall.wants('a', 0).wants('b', 1).wants('A', 2);
    assert_eq!(hall.promoted(at(3)), "A");
    assert!(!hall.begins('c', at(3)) && hall.begins('B', at(3)));
    hall.gate(Some(at(100)), None);
    assert_eq!((hall.promoted(at(99)).as_str(), hall.0.deadline(at(99))), ("", Some(at(100))));
    let closed = Hold::Closed { account: account('a'), category: Category::Quota, until: Some(at(100)) };
    assert_eq!(hall.hold('b', at(99)), Some(closed));
}

#[test]
fn one_goes_first_and_the_others_when_it_has_shown_that_the_account_works() {
    let mut hall = Hall::of(0);
    hall.wants('b', 1).wants('a', 0).wants('c', 2).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    assert!(hall.0.probes(&name('a'), &account('a')) && !hall.0.probes(&name('a'), &account('A')));
    hall.works("a");
    assert_eq!(hall.promoted(at(101)), "");
    assert!(!hall.begins('d', at(101)));
    assert_eq!(hall.hold('b', at(101)), Some(Hold::Tried { account: account('a'), agent: name('a') }));
    assert_eq!(hall.opens().promoted(at(102)), "bc");
}

#[test]
fn one_that_meets_the_limit_again_closes_the_gate_for_its_siblings_too() {
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    hall.works("a");
    assert!(
        !hall.0.close(&name('b'), &account('b'), Category::Quota, at(101)),
        "it was not to show anything"
    );
    assert!(hall.0.close(&name('a'), &account('a'), Category::Quota, at(101)));
    hall.wants('a', 101);
    assert_eq!(hall.promoted(at(1000)), "", "until the root has said when");
    "ab".chars().for_each(|agent| hall.0.heard(&name(agent), Some(&account(agent))));
    assert_eq!(hall.gate(Some(at(401)), None).promoted(at(400)), "");
    assert_eq!(hall.promoted(at(401)), "b", "the other one, this time");
}

#[test]
fn one_that_has_shown_nothing_tries_again_itself_and_after_the_interval_another_does() {
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    // It crashes, and waits for its own countdown.
    hall.works("a").rests("a", at(110));
    assert_eq!((hall.promoted(at(110)).as_str(), hall.0.deadline(at(110))), ("", Some(at(410))));
    assert!(hall.begins('a', at(120)), "it goes on where it was");
    hall.rests("a", at(130));
    assert_eq!(hall.promoted(at(429)), "");
    assert_eq!(hall.promoted(at(430)), "b");
}

#[test]
fn one_that_is_moved_to_another_account_keeps_nobody_from_trying_the_one_it_has_left() {
    // While its session runs, which then shows nothing.
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    hall.works("a").moved('a', Standing::Active, at(105));
    assert!(hall.0.probes(&name('a'), &account('a')), "its session is still the old account's");
    assert_eq!(hall.promoted(at(106)), "");
    hall.moved('a', Standing::Rests, at(110));
    assert_eq!((hall.promoted(at(409)).as_str(), hall.0.deadline(at(409))), ("", Some(at(410))));
    assert_eq!(hall.promoted(at(410)), "b");

    // Its session has ended, and the next one started elsewhere in the same decision: the result of the first still
    // counts.
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    hall.works("a");
    assert!(hall.0.begin(&name('a'), &account('A'), at(110), false, at(110)).is_ok());
    assert!(hall.0.probes(&name('a'), &account('a')) && !hall.0.probes(&name('a'), &account('A')));
    assert_eq!(hall.promoted(at(409)), "");
    assert_eq!(hall.promoted(at(410)), "b");

    // Before it is told that it has a place.
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    assert!(hall.0.begin(&name('a'), &account('A'), at(101), false, at(101)).is_ok());
    assert_eq!(hall.promoted(at(101)), "b");
}

#[test]
fn what_was_closed_a_moment_ago_stays_closed_when_something_is_heard_of_another_account() {
    let mut hall = Hall::of(0);
    hall.works("a");
    assert!(!hall.closes('a', at(1)));
    hall.wants('b', 1);
    assert_eq!(hall.news_of_another_account().promoted(at(2)), "");
    // The closing is stored: the stored gates count again.
    hall.0.heard(&name('a'), Some(&account('a')));
    assert_eq!(hall.gate(Some(at(300)), None).promoted(at(299)), "");
    assert_eq!(hall.promoted(at(300)), "b");
    assert!(!hall.closes('a', at(301)), "its session is older");
    hall.0.heard(&name('a'), None);
    assert_eq!(hall.wants('c', 302).opens().promoted(at(302)), "c");

    // A probe failed: no other follows before that is stored.
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(100)), None);
    assert_eq!(hall.promoted(at(100)), "a");
    hall.works("a");
    assert!(hall.closes('a', at(101)));
    assert_eq!(hall.gate(Some(at(100)), None).promoted(at(101)), "");
    hall.0.heard(&name('a'), Some(&account('A')));
    assert_eq!(hall.gate(Some(at(100)), None).promoted(at(102)), "", "that was about another account");
    hall.0.heard(&name('a'), Some(&account('a')));
    assert_eq!(hall.gate(Some(at(401)), None).promoted(at(400)), "");
    assert_eq!(hall.promoted(at(401)), "b");
}

#[test]
fn whom_a_person_names_goes_first_if_it_has_work() {
    let mut hall = Hall::of(0);
    hall.wants('a', 0).wants('b', 1).gate(Some(at(2)), Some('b'));
    assert_eq!(hall.promoted(at(2)), "b");
    let mut hall = Hall::of(0);
    hall.wants('a', 0).gate(Some(at(2)), Some('b'));
    assert_eq!(hall.promoted(at(2)), "a");
    // A person's decision takes precedence over a probe without a result.
    hall.works("a").rests("a", at(3)).wants('b', 4);
    assert_eq!(hall.promoted(at(4)), "");
    assert_eq!(hall.gate(Some(at(5)), Some('b')).promoted(at(5)), "b");
}

#[test]
fn an_account_that_is_tried_waits_no_longer_than_others() {
    let mut hall = Hall::of(1);
    hall.works("A").wants('a', 1).wants('B', 2).gate(Some(at(3)), None);
    assert_eq!(hall.wants('A', 4).promoted(at(4)), "a");
}

#[test]
fn in_quiet_hours_nobody_tries_an_account_again_but_whom_a_person_wants() {
    use jiff::civil::Time;
    use jiff::tz::TimeZone;
    // 13:46:40 UTC; the hours begin twenty seconds later.
    let time = |hour, minute| Time::constant(hour, minute, 0, 0);
    let quiet = QuietHours { from: time(13, 47), to: time(14, 47), zone: TimeZone::UTC };
    let over = at(20 + 3600);
    let mut hall = Hall::of(5);
    hall.0.limit(5, INTERVAL, Some(quiet));
    let closed = |first: Option<char>| Gate {
        probe_at: Some(at(10)),
        first: first.map(name),
        ..Gate::closed(Category::Quota, name('a'), NOW)
    };
    hall.0.set_gates([(account('a'), closed(None))].into());
    // A probe is allowed, but no agent has work until the quiet hours.
    assert_eq!(hall.promoted(at(15)), "");
    hall.wants('a', 20);
    assert_eq!((hall.promoted(at(20)), hall.0.deadline(at(20))), (String::new(), Some(over)));
    let held = Hold::Closed { account: account('a'), category: Category::Quota, until: Some(over) };
    assert_eq!(hall.0.hold(&name('a'), at(20)), Some(held));
    assert_eq!(hall.promoted(over), "a");
    // A probe without a result is followed by the next one after its end, too.
    hall.works("a").rests("a", at(15)).wants('b', 16);
    assert_eq!(hall.promoted(at(15 + 300)), "");
    assert_eq!(hall.promoted(over.after(INTERVAL)), "b");

    let mut hall = Hall::of(5);
    let quiet = QuietHours { from: time(13, 0), to: time(14, 47), zone: TimeZone::UTC };
    hall.0.limit(5, INTERVAL, Some(quiet));
    hall.0.set_gates([(account('a'), closed(Some('a')))].into());
    hall.wants('a', 20);
    assert_eq!(hall.promoted(at(20)), "a");
}

/// Sets the bytes of memory that are free on the machine of a hall.
fn roomy(hall: &mut Hall, free: u64, pressure: Option<u8>, now: Timestamp) {
    hall.0.measured(Some(Room { pressure, free }), 20, now);
}

#[test]
fn who_needs_more_memory_than_is_free_waits_and_says_so() {
    for max in [0, 5] {
        let mut hall = Hall::of(max);
        hall.0.needs(&name('a'), 600);
        roomy(&mut hall, 500, None, NOW);
        hall.works("c").wants('a', 0).wants('b', 1);
        assert!(!hall.begins('a', at(1)));
        assert_eq!(hall.hold('a', at(1)), Some(Hold::Memory { needs: 600, free: 500 }));
        assert_eq!(hall.0.deadline(at(1)), Some(NOW.after(LOOK)), "it is looked at again");
        // One that needs less does not wait for it.
        assert_eq!(hall.promoted(at(1)), "b");
        roomy(&mut hall, 600, None, at(2));
        assert_eq!(hall.promoted(at(2)), "a");
        assert_eq!((hall.hold('a', at(2)), hall.0.deadline(at(2))), (None, None));
        assert!(hall.begins('a', at(2)), "it was let in, whatever is free by now");
    }
}

#[test]
fn nobody_begins_while_the_machine_is_short_of_memory() {
    let mut hall = Hall::of(0);
    roomy(&mut hall, 900, Some(20), NOW);
    hall.wants('a', 0);
    assert!(!hall.begins('a', NOW));
    assert_eq!(hall.hold('a', NOW), Some(Hold::Pressure { percent: 20, max: 20 }));
    assert_eq!(hall.promoted(NOW), "");
    roomy(&mut hall, 900, Some(19), at(1));
    assert_eq!(hall.promoted(at(1)), "a");
}

#[test]
fn what_a_session_that_has_just_begun_will_take_is_not_given_twice() {
    let mut hall = Hall::of(0);
    for agent in "abc".chars() {
        hall.0.needs(&name(agent), 400);
    }
    roomy(&mut hall, 900, None, NOW);
    hall.works("w").wants('a', 0).wants('b', 0).wants('c', 0);
    assert_eq!(hall.promoted(NOW), "ab");
    assert_eq!(hall.hold('c', NOW), Some(Hold::Memory { needs: 400, free: 100 }));
    hall.works("ab");
    assert!(!hall.begins('c', at(1)));
    // After a while they have taken what they need, and what is free tells.
    roomy(&mut hall, 450, None, at(11));
    assert!(hall.begins('c', at(11)));

    // One that has ended again takes nothing.
    let mut hall = Hall::of(0);
    hall.0.needs(&name('a'), 600);
    hall.0.needs(&name('b'), 600);
    roomy(&mut hall, 900, None, NOW);
    assert!(hall.begins('a', NOW));
    assert!(!hall.begins('b', NOW));
    hall.rests("a", NOW);
    assert!(hall.begins('b', NOW));
}

#[test]
fn an_agent_that_would_be_alone_does_not_wait_for_what_others_take() {
    let mut hall = Hall::of(0);
    hall.0.needs(&name('a'), 5000);
    hall.0.needs(&name('b'), 5000);
    roomy(&mut hall, 100, None, NOW);
    hall.wants('a', 0).wants('b', 1);
    assert_eq!(hall.promoted(NOW), "a", "one alone");
    assert!(!hall.begins('b', at(1)));
    hall.rests("a", at(2));
    assert!(hall.begins('b', at(2)));
}
