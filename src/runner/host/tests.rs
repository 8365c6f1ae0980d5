//! Tests of a runner's end of a connection.

use tokio_util::bytes::BytesMut;

use super::*;
use crate::redact::Redactor;
use crate::runner::Setup;
use crate::runner::wire::{Frames, FromRunner, OLDEST, VERSION};
use crate::runtime::ProcessTrees;

fn host(folder: &std::path::Path) -> Host {
    let machine = Machine::new(Setup {
        data_dir: folder.to_owned(),
        trees: ProcessTrees::new().expect("this process can adopt"),
        redactor: Redactor::default(),
        withheld: BTreeSet::new(),
        tools: None,
    });
    Host::new(machine, None, None, None).expect("there is randomness")
}

#[tokio::test]
async fn what_there_is_to_tell_is_told_to_the_newest_connection_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let host = host(folder.path());
    let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) };
    let mut hosted = Hosted::over(of.clone());
    hosted.keep(Report::Words("one".to_owned()));
    hosted.keep(ended(Category::Interrupted, Own::NotEnded));
    host.0.state().sessions.insert(of, hosted);
    let hello = ToRunner::Hello { journal: "j".to_owned(), oldest: OLDEST, newest: VERSION };
    let hello = Envelope::new(1, 0, hello);
    let (_, first) = host.0.welcome(&hello).expect("it is let in");
    let (_, second) = host.0.welcome(&hello).expect("it takes the first one's place");
    let told = |connection: &CancellationToken| {
        let (mut frames, mut out, mut numbers) = (Frames::default(), BytesMut::new(), Vec::new());
        host.0.tell((1, connection), &mut frames, &mut out).expect("it fits");
        while let Some(message) = frames.read::<FromRunner>(&mut out).expect("it is whole") {
            if let FromRunner::Report { n, .. } = message.body {
                numbers.push(n);
            }
        }
        numbers
    };
    assert_eq!(told(&first), [] as [u64; 0]);
    assert_eq!(told(&second), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_stood_still_gives_its_bot_time_to_come_back() {
    let (running, patience) = (Running::default(), Duration::from_secs(10));
    let attended = watch::Sender::new(false);
    let (mut watched, mut later) = (attended.subscribe(), attended.subscribe());
    let back = is_back(&mut watched, &running, patience);
    tokio::pin!(back);
    tokio::select! {
        biased;
        _ = &mut back => panic!("too early"),
        () = tokio::task::yield_now() => {}
    }
    // The whole process is stopped for longer than that: no task is polled.
    tokio::time::advance(Duration::from_secs(60)).await;
    let bot = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        attended.send_replace(true);
    };
    assert!(tokio::join!(back, bot).0, "its sessions would have been stopped");
    attended.send_replace(false);
    let began = tokio::time::Instant::now();
    assert!(!is_back(&mut later, &running, patience).await);
    assert!(
        began.elapsed() >= patience && began.elapsed() <= 2 * patience + Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}
