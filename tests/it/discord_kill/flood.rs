//! More messages than herder can process while its disk hangs: none of them is lost, in any channel.

use rustix::process::Signal;
use serde_json::json;

use super::{Field, done};
use crate::going_down::{Hanging, apart};
use crate::kill::{reap, signal};
use crate::simulated_discord::State;
use crate::stage::PATIENCE;

/// The number of messages at a time, until it is too much.
const AT_ONCE: usize = 200;

/// Sends so many messages that herder has to leave some out. The messages are for no agent, so that herder is done
/// with them at once as soon as it can continue.
async fn floods(field: &Field) {
    let noise = field.sim.user("noise");
    let told = || std::fs::read_to_string(field.dir.path().join("log")).unwrap_or_default();
    while !told().contains("messages come faster than they are taken in") {
        for _ in 0..AT_ONCE {
            // A webhook's: how far the channel is done is noted all the same, and that is where herder stands still.
            noise.message("spark", "noise").with("webhook_id", json!("100000000000000080")).send();
        }
        everything_has_arrived(field).await;
    }
}

/// Waits until all earlier messages have arrived: autocompletion is answered from memory alone, in the order of
/// events.
async fn everything_has_arrived(field: &Field) {
    field.alice.autocompletes("general", "pause", "agent", "sp", json!({})).choices().await;
}

/// Waits until the agent has said in that channel or thread that the job is done.
async fn has_done(field: &Field, place: &str, job: &str) {
    let wanted = format!("done {job}");
    let told = |state: &State| done(state, place).any(|line| line == wanted);
    field.sim.until_within(PATIENCE, &wanted, told).await;
}

/// In a channel that herder knows, in one where no one had spoken to it before, in a new thread and in private.
#[test]
fn what_is_said_while_herder_can_take_in_no_more_is_done_wherever_it_was_said() {
    let name =
        "discord_kill::flood::what_is_said_while_herder_can_take_in_no_more_is_done_wherever_it_was_said";
    apart(name, "true", |_| async move {
        let field = Field::new().await;
        let lobby = field.sim.makes_channel("lobby");
        let herder = field.start();
        let spark = field.sim.channel("#spark").await.id;
        field.sim.command("pause").await;
        field.alice.says("spark", "one.");
        has_done(&field, "spark", "one.").await;

        let hanging = Hanging::writer_of(herder.pid());
        floods(&field).await;
        field.alice.says("spark", "two.");
        field.alice.says("lobby", "@spark three.");
        field.sim.makes_thread("aside", lobby);
        field.alice.says("aside", "@spark four.");
        field.sim.makes_thread("beside", spark);
        field.alice.says("beside", "five.");
        field.alice.whispers("@spark six.");
        everything_has_arrived(&field).await;
        drop(hanging);
        for job in ["two.", "three.", "four.", "six."] {
            has_done(&field, "spark", job).await;
        }
        // The words about work from a thread of the agent's own channel come in the thread.
        has_done(&field, "beside", "five.").await;
        // Later messages are heard at once, and nothing comes twice.
        field.alice.says("lobby", "@spark seven.");
        has_done(&field, "spark", "seven.").await;
        let mut told: Vec<String> = field.sim.look(|state| done(state, "spark").map(str::to_owned).collect());
        told.sort();
        let mut jobs = ["one", "two", "three", "four", "six", "seven"].map(|job| format!("done {job}."));
        jobs.sort();
        assert_eq!(told, jobs);
        assert_eq!(field.sim.look(|state| done(state, "beside").count()), 1);
        signal(&herder, Signal::TERM);
        assert!(reap(herder).await.success(), "{}", field.log());
    });
}
