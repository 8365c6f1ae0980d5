//! An agent whose stream in the journal cannot be read is halted alone.

use super::*;

/// Makes an entry of the agent's stream something that no herder has written; `None`: takes the last one away.
pub(crate) fn damage(dir: &Path, agent: &str, revision: Option<u64>) {
    let db = sled::open(dir.join("data/sled")).unwrap();
    let (index, events) = (db.open_tree("index").unwrap(), db.open_tree("events").unwrap());
    let prefix = format!("{}\0", Stream::Agent(name(agent)));
    let entry = match revision {
        Some(revision) => index.get([prefix.as_bytes(), &revision.to_be_bytes()].concat()).unwrap(),
        None => index.scan_prefix(prefix).next_back().map(|last| last.unwrap().1),
    };
    let seq = entry.expect("there is one");
    match revision {
        Some(_) => drop(events.insert(seq, b"no entry").unwrap()),
        None => drop(events.remove(seq).unwrap().expect("it was there")),
    }
    db.flush().unwrap();
}

/// The same for the first entry of each of many.
pub(super) fn damage_all(dir: &Path, agents: &[AgentName]) {
    let db = sled::open(dir.join("data/sled")).unwrap();
    let (index, events) = (db.open_tree("index").unwrap(), db.open_tree("events").unwrap());
    for agent in agents {
        let prefix = format!("{}\0", Stream::Agent(agent.clone()));
        let seq = index.get([prefix.as_bytes(), &1_u64.to_be_bytes()].concat()).unwrap().unwrap();
        events.insert(seq, b"no entry").unwrap();
    }
    db.flush().unwrap();
}

/// Returns the channels in which people are told that an agent's supervisor gave up.
fn given_up(house: &House, agent: &str) -> Vec<Target> {
    let is = |(_, body): &(Target, Body)| matches!(body, Body::Notice(Notice::SupervisorGaveUp { agent: lost, .. }) if lost.as_str() == agent);
    house.owed("test").into_iter().filter(is).map(|(to, _)| to).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_stream_cannot_be_read_keeps_nobody_else_and_people_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let agents = |names: &[&str]| names.iter().map(|name| shell(name, dir.path(), "cat")).collect::<Vec<_>>();
    let open = |names: &[&str]| House::open(dir.path(), agents(names), FaultInjection::default());
    let all = ["flint", "newt", "spark"];
    open(&all).await.close().await;
    // One that the file leaves out is removed; its stream stays.
    let house = open(&["flint", "spark"]).await;
    let newt = name("newt");
    let gone = house.fleet.wait_for(&newt, |_| false);
    assert!(tokio::time::timeout(PATIENCE, gone).await.unwrap().is_none());
    house.close().await;
    damage(dir.path(), "newt", Some(1));
    damage(dir.path(), "spark", Some(1));

    let house = open(&all).await;
    house.give("flint", "hello").await.unwrap();
    house.until("flint", |view| idle(view) && view.agent.totals.successes == 1).await;
    for agent in ["newt", "spark"] {
        let lost = house.control(agent, Control::Resume).await;
        assert_eq!(lost, Err(Refusal::Deserted { agent: name(agent) }));
        let again = house.fleet.add(shell(agent, dir.path(), "cat"), asked("agent add")).await;
        assert!(matches!(again, Err(Refusal::HistoryUnreadable { .. })), "{again:?}");
    }
    assert_eq!(house.fleet.unreadable(), [name("newt"), name("spark")]);
    for agent in ["newt", "spark"] {
        assert_eq!(given_up(&house, agent), [Target::Agent(name(agent)), Target::Alerts]);
    }
    // Nor does it when the file is read again, which can add others.
    let done = house.fleet.configure(agents(&["flint", "newt", "quick", "spark"])).await.unwrap();
    assert_eq!((done.added, done.failed), (vec![name("quick")], vec![name("newt"), name("spark")]));
    house.give("quick", "hello").await.unwrap();
    house.until("quick", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}

/// Opens the journal alone, with that many events beside its archives.
async fn archive(dir: &Path, keep_events: u64) {
    let history = History { keep_events, daily_export: false, ..History::default() };
    let settings = journal::Settings { ballast: 0, ..journal::Settings::new(dir.join("data"), history) };
    let opening = tokio::task::spawn_blocking(move || Journal::open(&settings));
    let (journal, opening) = opening.await.unwrap().unwrap();
    assert_eq!(opening.missing, []);
    assert!(journal.maintain(herder::clock::now()).await.unwrap().archived > 0);
    journal.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_has_lost_an_entry_stands_still_also_when_what_is_left_of_it_is_in_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let open = || House::open(dir.path(), vec![shell("spark", dir.path(), "cat")], FaultInjection::default());
    let house = open().await;
    house.control("spark", Control::Pause { now: false }).await.unwrap();
    for n in 0..10 {
        house.give("spark", &n.to_string()).await.unwrap();
    }
    house.close().await;
    // The event that pauses it.
    damage(dir.path(), "spark", Some(2));
    // At first newer ones are still beside the archive; nor does a snapshot of what is left hide it then.
    for keep_events in [12, 1] {
        archive(dir.path(), keep_events).await;
        let house = open().await;
        assert_eq!(
            house.control("spark", Control::Resume).await,
            Err(Refusal::Deserted { agent: name("spark") })
        );
        // The root processes that before this request.
        let again = house.fleet.add(shell("spark", dir.path(), "cat"), asked("agent add")).await;
        assert!(matches!(again, Err(Refusal::HistoryUnreadable { .. })), "{again:?}");
        let told = given_up(&house, "spark");
        assert!(told.contains(&Target::Alerts), "{told:?}");
        let works = |event: &Event| matches!(event, Event::SessionStarted { .. });
        assert!(!house.events("spark").iter().any(works), "nobody has let it on");
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_last_entry_is_said_to_be_missing_goes_on_and_is_not_stopped_for_that_later() {
    let dir = tempfile::tempdir().unwrap();
    let open = || House::open(dir.path(), vec![shell("spark", dir.path(), "cat")], FaultInjection::default());
    let house = open().await;
    house.control("spark", Control::Pause { now: false }).await.unwrap();
    house.close().await;
    damage(dir.path(), "spark", None);
    for n in 1..=3 {
        let house = open().await;
        assert_eq!(house.journal.missing().len(), usize::from(n == 1), "it is said once");
        house.give("spark", "hello").await.unwrap();
        house.until("spark", |view| idle(view) && view.agent.totals.successes == n).await;
        assert_eq!(given_up(&house, "spark"), []);
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_agent_whose_last_entry_is_lost_can_be_added_again_and_read_ever_after() {
    let dir = tempfile::tempdir().unwrap();
    let open = |agents: &[&str]| {
        let agents = agents.iter().map(|name| shell(name, dir.path(), "cat")).collect();
        House::open(dir.path(), agents, FaultInjection::default())
    };
    open(&["flint", "newt"]).await.close().await;
    let newt = name("newt");
    let is_gone = async |house: &House| {
        let gone = house.fleet.wait_for(&newt, |_| false);
        assert!(tokio::time::timeout(PATIENCE, gone).await.unwrap().is_none());
    };
    let house = open(&["flint"]).await;
    is_gone(&house).await;
    house.close().await;
    damage(dir.path(), "newt", None);
    let house = open(&["flint"]).await;
    assert_eq!(house.journal.missing().len(), 1, "it is said");
    // Its removal was the entry that is lost, and is decided once more.
    is_gone(&house).await;
    house.fleet.add(shell("newt", dir.path(), "cat"), asked("agent add")).await.unwrap();
    house.close().await;
    let house = open(&["flint"]).await;
    assert_eq!(house.fleet.unreadable(), []);
    house.give("newt", "hello").await.unwrap();
    house.until("newt", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}
