//! Random batches against a model: after any of them, and after any reopening, the journal equals the model.

use std::collections::BTreeMap;

use herder::core::agent::Agent;
use herder::core::id::{NetworkName, PostId};
use herder::core::time::Timestamp;
use herder::journal::{Aggregate, Batch, Confirmed, Entry, FleetState, Journal, Snapshot, Stream};
use proptest::prelude::*;

use super::{added, audit, batch, cleared, of, post, queued, settings, write};

#[derive(Debug, Clone)]
enum Step {
    Commit { stream: u8, entries: u8, posts: u8, size: usize, snapshot: bool },
    Conflict { stream: u8 },
    Confirm { nth: usize, lines: Option<u32> },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_u8, 0..4_u8, 0..3_u8, prop_oneof![9 => 0..2_000_usize, 1 => 60_000..200_000_usize], any::<bool>())
            .prop_map(|(stream, entries, posts, size, snapshot)| Step::Commit { stream, entries, posts, size, snapshot }),
        1 => (0..4_u8).prop_map(|stream| Step::Conflict { stream }),
        3 => (0..8_usize, prop_oneof![2 => Just(None), 1 => (0..9_u32).prop_map(Some)])
            .prop_map(|(nth, lines)| Step::Confirm { nth, lines }),
        1 => Just(Step::Reopen),
    ]
}

fn stream(n: u8) -> Stream {
    match n {
        0 => Stream::Fleet,
        1 => Stream::Audit,
        2 => of("spark"),
        _ => of("ember"),
    }
}

fn entry(stream: &Stream, n: u64, size: usize) -> Entry {
    let text = "é".repeat(size / 2);
    match stream {
        Stream::Fleet => added(if n.is_multiple_of(2) { "spark" } else { "ember" }),
        Stream::Audit => audit(&text),
        Stream::Agent(_) if n.is_multiple_of(5) => cleared(&[n - 1, n - 2]),
        Stream::Agent(_) => queued(n, &text),
    }
}

#[derive(Default)]
struct Model {
    streams: BTreeMap<Stream, Vec<(u64, Entry)>>,
    owed: BTreeMap<u64, u32>,
    seq: u64,
    post: u64,
}

fn folded<S: Aggregate>(entries: &[(u64, Entry)]) -> S {
    let mut state = S::default();
    for (_, entry) in entries {
        state.apply_entry(entry, Timestamp::from_millis(1_000));
    }
    state
}

impl Model {
    fn rev(&self, stream: &Stream) -> u64 {
        self.streams.get(stream).map_or(0, |entries| entries.len() as u64)
    }

    fn snapshot(&self, stream: &Stream) -> Option<Snapshot> {
        let entries = self.streams.get(stream)?;
        let state = match stream {
            Stream::Fleet => serde_json::to_vec(&folded::<FleetState>(entries)),
            Stream::Agent(_) => serde_json::to_vec(&folded::<Agent>(entries)),
            Stream::Audit => return None,
        };
        Some(Snapshot { stream: stream.clone(), rev: entries.len() as u64, state: state.expect("JSON") })
    }

    fn assert_says(&self, journal: &Journal) {
        for (stream, entries) in &self.streams {
            let history = journal.history(stream, usize::MAX, None).expect("reads");
            let found: Vec<(u64, u64, &Entry)> =
                history.iter().map(|it| (it.rev, it.seq, &it.entry)).collect();
            let expected: Vec<(u64, u64, &Entry)> =
                (1..).zip(entries).map(|(rev, (seq, entry))| (rev, *seq, entry)).collect();
            assert_eq!(found, expected);
            let loaded = journal.load::<Agent>(stream).expect("loads");
            assert_eq!((loaded.rev, loaded.missing), (self.rev(stream), 0));
            match stream {
                Stream::Agent(_) => assert_eq!(loaded.state, folded::<Agent>(entries)),
                Stream::Fleet => {
                    let fleet = journal.load::<FleetState>(stream).expect("loads").state;
                    assert_eq!(fleet, folded::<FleetState>(entries));
                }
                Stream::Audit => {}
            }
        }
        let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
        let owed: BTreeMap<u64, u32> = owed.iter().map(|post| (post.id.0, post.confirmed_lines)).collect();
        assert_eq!(owed, self.owed);
    }
}

async fn perform(journal: &Journal, model: &mut Model, step: &Step) {
    match step {
        Step::Commit { stream: n, entries, posts, size, snapshot } => {
            let stream = stream(*n);
            let rev = model.rev(&stream);
            let new: Vec<Entry> = (1..=u64::from(*entries)).map(|i| entry(&stream, rev + i, *size)).collect();
            for entry in &new {
                model.seq += 1;
                model.streams.entry(stream.clone()).or_default().push((model.seq, entry.clone()));
            }
            let posts: Vec<_> = (0..*posts).map(|_| post("libera", &"p".repeat(*size))).collect();
            for _ in &posts {
                model.post += 1;
                model.owed.insert(model.post, 0);
            }
            let snapshots = snapshot.then(|| model.snapshot(&stream)).flatten().into_iter().collect();
            let it = Batch { posts, snapshots, ..batch(vec![write(stream.clone(), Some(rev), new)]) };
            let receipt = journal.commit(it).await.expect("commits");
            assert_eq!(receipt.revs, [model.rev(&stream)]);
        }
        Step::Conflict { stream: n } => {
            let stream = stream(*n);
            let mut it = batch(vec![
                write(Stream::Audit, None, vec![audit("never")]),
                write(stream.clone(), Some(model.rev(&stream) + 7), vec![]),
            ]);
            it.posts = vec![post("libera", "never")];
            journal.commit(it).await.expect_err("another revision");
        }
        Step::Confirm { nth, lines } => {
            let Some(id) = model.owed.keys().nth(*nth).copied() else { return };
            match lines {
                Some(lines) => *model.owed.entry(id).or_default() = *lines,
                None => drop(model.owed.remove(&id)),
            }
            let network = NetworkName::from("libera");
            journal
                .confirm(vec![Confirmed { network, post: PostId(id), lines: *lines }])
                .await
                .expect("confirms");
        }
        Step::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_journal_says_what_was_committed_before_and_after_reopening(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let dir = tempfile::tempdir().expect("a folder");
        let settings = settings(dir.path());
        let mut model = Model::default();
        let (mut journal, _) = Journal::open(&settings).expect("opens");
        for step in &steps {
            if matches!(step, Step::Reopen) {
                drop(journal);
                let (again, opening) = Journal::open(&settings).expect("opens");
                assert!(opening.missing.is_empty() && !opening.fresh, "{opening:?}");
                journal = again;
                model.assert_says(&journal);
            }
            runtime.block_on(perform(&journal, &mut model, step));
        }
        model.assert_says(&journal);
        drop(journal);
        model.assert_says(&Journal::open(&settings).expect("opens").0);
    }
}
