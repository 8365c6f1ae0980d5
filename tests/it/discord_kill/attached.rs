//! herder is killed between the receipt of a file and the session that gets it.

use rustix::process::Signal;

use super::{Field, LONG, done};
use crate::kill::{reap, signal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_received_before_a_kill_reaches_the_agent_once() {
    let field = Field::new().await;
    let herder = field.start();
    field.sim.channel("calm").await;
    field.alice.says("#calm", "pause");
    field.sim.until_within(LONG, "a pause", |state| super::prompts(state).count() > 0).await;
    let bytes = b"\0\x01\x02\xff";
    let said = field.alice.message("#calm", "keep this").attaching("core.bin", "", bytes.to_vec()).send();
    // It is queued, and on disk.
    field.sim.reaction(said, "👀").await;
    signal(&herder, Signal::KILL);
    reap(herder).await;
    let inbox = field.dir.path().join(".herder/calm/inbox");
    assert!(!inbox.exists(), "no session has begun");
    let herder = field.start();
    field.sim.ready().await;
    field.alice.says("#calm", "resume");
    // The worker says the last line of its prompt.
    let of_file = |text: &&str| text.starts_with("done - ") && text.contains("core.bin");
    field.sim.until_within(LONG, "the work", |state| done(state, "calm").any(|text| of_file(&text))).await;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success(), "{}", field.log());
    let told: Vec<String> =
        field.sim.look(|state| done(state, "calm").filter(of_file).map(str::to_owned).collect());
    let [told] = &told[..] else { panic!("once: {told:?}") };
    assert!(told.contains(&herder::files::digest(bytes).to_string()), "{told}");
    let received: Vec<_> =
        std::fs::read_dir(&inbox).expect("an inbox").map(|entry| entry.unwrap().path()).collect();
    let [received] = &received[..] else { panic!("one file: {received:?}") };
    assert_eq!(std::fs::read(received).expect("it is there"), bytes);
}
