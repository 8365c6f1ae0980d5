//! A command that changes nothing is answered from memory: it waits for no disk.

use std::sync::{Arc, Mutex, mpsc};

use herder::clock;
use herder::commands::dispatch::Handled;
use herder::commands::{COMMANDS, Command, Effect, Verb};
use herder::core::id::{NetworkName, PostId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::speech::Inbound;
use herder::journal::{Batch, PostSink};

use super::rig::{PATIENCE, Rig, inbound};

/// Holds the journal's writer up, as a disk does that hangs, until the sender is dropped.
struct Hanging {
    began: mpsc::Sender<()>,
    over: Mutex<mpsc::Receiver<()>>,
}

impl PostSink for Hanging {
    fn accept(&self, _: Vec<Post>) {
        let _ = self.began.send(());
        let _ = self.over.lock().expect("not poisoned").recv();
    }
}

fn line_for(command: &Command) -> Inbound {
    let line = match command.verb {
        Verb::TaskShow | Verb::TaskDiff => format!("!{} 1", command.name),
        Verb::AgentShow | Verb::Log | Verb::History | Verb::Queue => format!("!{} spark", command.name),
        _ => format!("!{}", command.name),
    };
    inbound("alice", Some("alice"), "#herder", &line)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_that_only_looks_is_answered_while_the_disk_hangs_and_recorded_when_it_goes_on() {
    let rig = Rig::open().await;
    let (begin, began) = mpsc::channel();
    let (go_on, over) = mpsc::channel::<()>();
    rig.journal.deliver_to(Arc::new(Hanging { began: begin, over: Mutex::new(over) }));
    let post = Post {
        id: PostId::default(),
        network: NetworkName::from("net"),
        to: Target::Control,
        lane: Lane::Normal,
        at: clock::now(),
        body: Body::Kept(vec!["said".to_owned()]),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    };
    let committing = rig.journal.commit(Batch { posts: vec![post], ..Batch::default() });
    let looking = async {
        let hangs = tokio::task::spawn_blocking(move || began.recv().map(|()| began)).await.unwrap();
        let _held = hangs.expect("it is committed");
        let mut verbs = Vec::new();
        for command in COMMANDS {
            // The trail of who asked what shows what is on disk.
            if command.effect != Effect::Looks || command.verb == Verb::Audit {
                continue;
            }
            let handling = rig.dispatcher.handled(line_for(command));
            let handled = tokio::time::timeout(PATIENCE / 2, handling).await.expect(command.name);
            assert!(matches!(handled, Handled::Looked(_)), "{}: {handled:?}", command.name);
            verbs.push(command.name);
        }
        drop(go_on);
        verbs
    };
    let (committed, verbs) = tokio::join!(committing, looking);
    committed.expect("the disk goes on");
    assert!(verbs.len() > 8, "{verbs:?}");
    let recorded: Vec<String> = rig.audit().await.into_iter().map(|entry| entry.verb).collect();
    assert_eq!(recorded, verbs, "each is on record, in order");
    rig.close().await;
}
