//! Data of earlier versions stays readable for ever: `tests/golden/v1/` holds one of everything.
//!
//! A line that is there is never changed. A new kind of event is added to the samples below and to its file with
//! `HERDER_BLESS=1 cargo test --test it journal::golden`, which only appends.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use herder::core::agent::Agent;
use herder::core::event::{Event, PauseReason};
use herder::core::id::{NetworkName, PostId};
use herder::core::outcome::Exit;
use herder::core::time::Timestamp;
use herder::journal::encoding::{decode_event, decode_post, encode_event, encode_post};
use herder::journal::{
    Batch, Confirmed, Entry, FleetEvent, FleetState, Journal, Recorded, Snapshot, Stream, export, import,
    line_of,
};

#[macro_use]
mod samples;
mod board;
mod leading;
mod notices;
mod runner;
mod watching;

use notices::{notices, refusals};
use samples::*;

use super::{agent, ann, settings};

#[test]
fn there_is_a_sample_of_everything_that_can_be_on_disk() {
    assert_all(EVENTS, &events(), event_name);
    assert_all(FLEET, &fleet(), fleet_name);
    assert_all(NOTICES, &notices(), notice_name);
    assert_all(REFUSALS, &refusals(), refusal_name);
    assert_all(TARGETS, &targets(), target_name);
    assert_all(CATEGORIES, &CATEGORY, category_name);
    assert_all(STOPS, &STOP, stop_name);
    assert_all(PAUSES, &pauses(), pause_name);
    assert_all(WAITS, &WAIT, wait_name);
    assert_all(CLOCKS, &CLOCK, clock_name);
    assert_all(HALTS, &halts(), halt_name);
    assert_all(ENDS, &END, end_name);
    assert_all(KINDS, &KIND, kind_name);
    let specs = specs();
    assert_all(ABOUTS, &abouts(), about_name);
    assert_all(ANSWERS, &answers(), answer_name);
    assert_all(ASK_ENDS, &ask_ends(), ask_end_name);
    assert_all(DECIDERS, &DECIDER, decider_name);
    assert_all(RUNTIMES, &specs.each_ref().map(|spec| spec.runtime), runtime_name);
    assert_all(PROMPTS, &specs.each_ref().map(|spec| spec.prompt), prompt_name);
    assert_all(RELAYS, &specs.each_ref().map(|spec| spec.relay), relay_name);
    assert_all(PERMISSIONS, &specs.each_ref().map(|spec| spec.permissions), permission_name);
    assert_all(AUTONOMIES, &specs.each_ref().map(|spec| spec.autonomy), autonomy_name);
    let exits: Vec<Exit> = CATEGORY.iter().filter_map(|category| outcome(*category).exit).collect();
    assert_all(OWN, &crate::reasons::every(), own_name);
    assert_all(EXITS, &exits, exit_name);
}

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

/// Every sample is in the file as it was once written, reads back as itself, and is written as the same bytes.
fn assert_golden<T: PartialEq + Debug>(
    name: &str,
    samples: &[T],
    encode: impl Fn(&T) -> String,
    decode: impl Fn(&str, &T) -> T,
) {
    let path = golden(name);
    let mut text = fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("HERDER_BLESS").is_some() {
        let known: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("opens");
        for line in samples.iter().map(&encode).filter(|line| !known.contains(line)) {
            writeln!(file, "{line}").expect("writes");
        }
        text = fs::read_to_string(&path).expect("reads");
    }
    let lines: Vec<&str> = text.lines().collect();
    for sample in samples {
        let line = encode(sample);
        assert!(
            lines.contains(&&*line),
            "{name} has no line for {sample:?}; see the module's comment\n{line}"
        );
    }
    assert_eq!(lines.len(), samples.len(), "{name} has lines that no sample is written as any more");
    for line in lines {
        let sample = samples.iter().find(|sample| encode(sample) == line).expect("just seen");
        assert_eq!(&decode(line, sample), sample);
    }
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[test]
fn events_of_version_1_are_read_and_written_as_they_were() {
    assert_golden(
        "events.jsonl",
        &recorded_alike(),
        |recorded| utf8(encode_event(recorded).expect("encodes")),
        |line, _| decode_event(1, line.as_bytes()).expect("decodes"),
    );
}

/// One seq, revision and time for all, so that a sample can be added anywhere.
fn recorded_alike() -> Vec<Recorded> {
    let at = Timestamp::from_millis(1_763_700_000_123);
    recorded().into_iter().map(|it| Recorded { seq: 1, rev: 1, at, ..it }).collect()
}

/// Returns the name of an event inside another one, as in the journal, and of the act that it is about.
fn inner_name(entry: &Entry) -> String {
    let inner = match entry {
        Entry::Agent(Event::Checkout(event)) => serde_json::to_value(event),
        Entry::Fleet(FleetEvent::Board { event }) => serde_json::to_value(event),
        _ => return String::new(),
    };
    let inner = inner.expect("JSON");
    let words = [&inner["what"], &inner["act"]].map(|word| word.as_str().map(|word| format!(" {word}")));
    words.into_iter().flatten().collect()
}

/// One line of the table for each kind of entry that has a line in the log, as its first sample is told.
#[test]
fn the_manual_has_every_line_of_the_log() {
    let mut made = String::from("| event | level | line | fields |\n|---|---|---|---|\n");
    let mut seen = BTreeSet::new();
    for recorded in recorded() {
        let (name, stream) = match &recorded.entry {
            Entry::Agent(event) => (event_name(event), "agent"),
            Entry::Fleet(event) => (fleet_name(event), "fleet"),
            Entry::Audit(_) => continue,
        };
        let name = format!("{name}{}", inner_name(&recorded.entry));
        let Some((level, message, fields)) = line_of(&recorded.entry) else { continue };
        if seen.insert((stream, name.clone())) {
            let message = message.replace('|', "\\|").replace('<', "&lt;");
            let fields = fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
            made.push_str(&format!("| {name} | {level} | {message} | {fields} |\n"));
        }
    }
    assert!(seen.len() > 40, "{made}");
    crate::docs::pages::hold("docs/operate/log.md", "log", &made);
}

#[test]
fn posts_of_version_1_are_read_and_written_as_they_were() {
    assert_golden(
        "posts.jsonl",
        &posts(),
        |post| utf8(encode_post(post).expect("encodes")),
        |line, _| decode_post(line.as_bytes()).expect("decodes"),
    );
}

/// `journal.jsonl` was exported by version 1 and stays as it is.
#[test]
fn a_journal_of_version_1_still_opens() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    import(&settings, &golden("journal.jsonl")).expect("imports");
    let (journal, opening) = Journal::open(&settings).expect("opens");
    assert!(opening.missing.is_empty() && !opening.fresh, "{opening:?}");
    insta::assert_snapshot!(journal.id(), @"562f82e299db4de3");
    let spark = journal.load::<Agent>(&Stream::Agent(agent("spark"))).expect("loads");
    let queue: Vec<u64> = spark.state.queue.iter().map(|work| work.id.0).collect();
    insta::assert_snapshot!(format!("{:?}", (spark.rev, spark.missing, spark.state.phase, queue)), @r#"(5, 0, Paused { reason: Person(Actor { network: NetworkName("libera"), name: "ann", identity: Some("account ann") }) }, [1, 2, 3])"#);
    let fleet = journal.load::<FleetState>(&Stream::Fleet).expect("loads");
    insta::assert_snapshot!(format!("{:?}", (fleet.rev, fleet.state.roster, fleet.state.stopped)), @r#"(3, {AgentName("spark")}, true)"#);
    let audit = journal.history(&Stream::Audit, 9, None).expect("reads");
    let audit: Vec<u64> = audit.iter().map(|it| it.seq).collect();
    let owed = journal.undelivered(&NetworkName::from("libera")).expect("reads");
    let owed: Vec<(u64, u32)> = owed.iter().map(|post| (post.id.0, post.confirmed_lines)).collect();
    insta::assert_snapshot!(format!("{:?}", (audit, owed, journal.fresh_work_id())), @"([7, 8], [(1, 0), (2, 1), (3, 0)], WorkId(4))");
}

/// Writes `journal.jsonl`; to be run for the last time of a version, never again.
#[tokio::test]
async fn the_journal_of_this_version_is_made_when_asked_for() {
    let (Some(_), path) = (std::env::var_os("HERDER_BLESS"), golden("journal.jsonl")) else { return };
    if path.exists() {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let [spec, ..] = specs();
    let spark = || Stream::Agent(agent("spark"));
    let at = Timestamp::from_millis(1_763_700_000_123);
    let batches = [
        vec![(Stream::Fleet, vec![Entry::Fleet(FleetEvent::Started { version: "0.1.0".into() })])],
        vec![
            (Stream::Fleet, vec![Entry::Fleet(FleetEvent::AgentAdded { agent: agent("spark") })]),
            (spark(), vec![Entry::Agent(Event::Added { spec: Box::new(spec), by: ann() })]),
        ],
        vec![
            (
                spark(),
                KIND.iter()
                    .zip(1..)
                    .map(|(kind, n)| Entry::Agent(Event::Queued { work: work(n, *kind) }))
                    .collect(),
            ),
            (Stream::Audit, audits().into_iter().map(Entry::Audit).collect()),
        ],
        vec![(spark(), vec![Entry::Agent(Event::Paused { reason: PauseReason::Person(ann()) })])],
        vec![(Stream::Fleet, vec![Entry::Fleet(FleetEvent::Stopped)])],
    ];
    for (n, batch) in batches.into_iter().enumerate() {
        let writes = batch.into_iter().map(|(stream, entries)| super::write(stream, None, entries)).collect();
        let snapshots = if n == 2 {
            let state = journal.load::<Agent>(&spark()).expect("loads");
            vec![Snapshot {
                stream: spark(),
                rev: state.rev,
                state: serde_json::to_vec(&state.state).expect("JSON"),
            }]
        } else {
            vec![]
        };
        let posts = if n == 2 { posts().into_iter().rev().take(3).collect() } else { vec![] };
        journal.commit(Batch { at, writes, posts, snapshots, ..Batch::default() }).await.expect("commits");
    }
    let lines = Confirmed { network: NetworkName::from("libera"), post: PostId(2), lines: Some(1) };
    journal.confirm(vec![lines]).await.expect("confirms");
    export(&journal, &path, at).await.expect("exports");
}
