//! An agent whose stream in the journal cannot be read stands still alone.

use super::*;

/// Makes the first entry of the agent's stream something that no herder has written.
fn damage(dir: &Path, agent: &str) {
    let db = sled::open(dir.join("data/sled")).unwrap();
    let (index, events) = (db.open_tree("index").unwrap(), db.open_tree("events").unwrap());
    let prefix = format!("{}\0", Stream::Agent(name(agent)));
    let (_, seq) = index.scan_prefix(prefix).next().expect("the agent has a stream").unwrap();
    events.insert(seq, b"no entry").unwrap();
    db.flush().unwrap();
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
    damage(dir.path(), "newt");
    damage(dir.path(), "spark");

    let house = open(&all).await;
    house.give("flint", "hello").await.unwrap();
    house.until("flint", |view| idle(view) && view.agent.totals.successes == 1).await;
    for agent in ["newt", "spark"] {
        let lost = house.control(agent, Control::Resume).await;
        assert!(matches!(lost, Err(Refusal::NoSuchAgent { .. })), "{lost:?}");
        let again = house.fleet.add(shell(agent, dir.path(), "cat"), asked("agent add")).await;
        assert!(matches!(again, Err(Refusal::HistoryUnreadable { .. })), "{again:?}");
    }
    let given_up = |agent: &str| {
        let is = |(_, body): &(Target, Body)| matches!(body, Body::Notice(Notice::SupervisorGaveUp { agent: lost, .. }) if lost.as_str() == agent);
        house.owed("test").into_iter().filter(is).map(|(to, _)| to).collect::<Vec<_>>()
    };
    for agent in ["newt", "spark"] {
        assert_eq!(given_up(agent), [Target::Agent(name(agent)), Target::Alerts]);
    }
    // Nor does it when the file is read again, which can add others.
    let done = house.fleet.configure(agents(&["flint", "newt", "quick", "spark"])).await.unwrap();
    assert_eq!((done.added, done.failed), (vec![name("quick")], vec![name("newt"), name("spark")]));
    house.give("quick", "hello").await.unwrap();
    house.until("quick", |view| idle(view) && view.agent.totals.successes == 1).await;
    house.close().await;
}
