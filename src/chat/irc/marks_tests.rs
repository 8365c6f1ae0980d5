use super::*;
use std::collections::HashMap;

use proptest::prelude::*;

const CHANNEL: &str = "#spark";

fn network() -> NetworkName {
    NetworkName::from("libera")
}

/// The memos as a journal keeps them.
#[derive(Debug, Default)]
struct Disk(BTreeMap<String, String>);

impl Disk {
    fn commit(&mut self, memos: Vec<Memo>) {
        for Memo { key, value } in memos {
            assert!(key.len() <= crate::journal::MEMO_KEY_MAX, "{key}");
            match value {
                Some(value) => self.0.insert(key, value),
                None => self.0.remove(&key),
            };
        }
    }

    fn note(&mut self, marks: &Marks) {
        marks.note().into_iter().for_each(|memos| self.commit(memos));
    }

    /// Stores a decision together with its memo.
    fn decides(&mut self, id: &str) {
        let heard = Heard { agent: None, work: None, place: Some(CHANNEL.to_owned()) };
        self.commit(vec![heard.memo(&network(), id)]);
    }

    fn load(&self) -> Marks {
        let (seen, heard) = Marks::keys(&network());
        let of = |prefix: &str| {
            let found = self.0.iter().filter(|(key, _)| key.starts_with(prefix));
            found.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
        };
        Marks::load(network(), of(&seen), of(&heard))
    }
}

#[test]
fn a_channel_that_was_never_followed_has_no_mark_and_nothing_of_it_is_kept() {
    let marks = Marks::new(network());
    assert_eq!(marks.of(CHANNEL), None);
    assert!(!marks.took(CHANNEL, "a", 5));
    marks.done(CHANNEL, "a");
    marks.passed(CHANNEL, 5);
    assert_eq!(marks.note(), Vec::<Vec<Memo>>::new());
}

#[test]
fn the_mark_stands_before_what_is_not_done() {
    let marks = Marks::new(network());
    marks.begin(CHANNEL, 0);
    for (id, time) in [("a", 100_000), ("b", 200_000), ("c", 300_000)] {
        assert!(marks.took(CHANNEL, id, time));
    }
    marks.done(CHANNEL, "a");
    assert_eq!(marks.of(CHANNEL), Some((100_000 - SLACK, Some("a".to_owned()))));
    marks.done(CHANNEL, "c");
    assert_eq!(marks.of(CHANNEL).map(|(at, _)| at), Some(200_000), "not beyond b");
    marks.passed(CHANNEL, 900_000);
    assert_eq!(marks.of(CHANNEL).map(|(at, _)| at), Some(200_000), "not beyond b");
    marks.done(CHANNEL, "b");
    marks.passed(CHANNEL, 900_000);
    assert_eq!(marks.of(CHANNEL), Some((900_000 - SLACK, None)));
}

#[test]
fn a_server_whose_clock_is_behind_ours_is_believed() {
    let marks = Marks::new(network());
    marks.begin(CHANNEL, 3_600_000);
    marks.took(CHANNEL, "a", 50_000);
    marks.done(CHANNEL, "a");
    assert_eq!(marks.of(CHANNEL), Some((50_000 - SLACK, Some("a".to_owned()))));
}

#[test]
fn what_is_remembered_of_a_flood_is_bounded() {
    let (marks, mut disk) = (Marks::new(network()), Disk::default());
    marks.begin(CHANNEL, 0);
    for number in 0..10_i64 * i64::try_from(DONE_MAX).unwrap() {
        let id = format!("{number:0>100}");
        marks.took(CHANNEL, &id, 100_000 + number);
        marks.done(CHANNEL, &id);
    }
    disk.note(&marks);
    let [value] = disk.0.values().collect::<Vec<_>>()[..] else { panic!("one memo: {disk:?}") };
    assert!(value.len() < crate::journal::MEMO_MAX, "{}", value.len());
}

#[test]
fn what_is_wanted_no_longer_leaves_nothing_on_disk() {
    let (marks, mut disk) = (Marks::new(network()), Disk::default());
    marks.begin(CHANNEL, 0);
    marks.took(CHANNEL, "a", 5);
    disk.decides("a");
    disk.decides("elsewhere");
    marks.done(CHANNEL, "a");
    disk.note(&marks);
    let marks = disk.load();
    marks.keep(|_| false);
    disk.note(&marks);
    assert_eq!(disk.0, BTreeMap::new());
}

proptest! {
    /// herder is killed again and again, after decisions and before notes; the server returns the requested lines in
    /// any order. Every line is decided once.
    #[test]
    fn each_line_is_decided_once_whatever_is_killed(
        steps in proptest::collection::vec((0_i64..4000, any::<bool>(), 0_u8..6), 1..60),
    ) {
        let mut disk = Disk::default();
        let mut marks = disk.load();
        marks.begin(CHANNEL, 0);
        disk.note(&marks);
        let (mut time, mut said) = (1_000_000_i64, Vec::<(i64, String)>::new());
        let mut decided: HashMap<String, u32> = HashMap::new();
        for (number, (gap, away, event)) in steps.into_iter().enumerate() {
            time += gap;
            let id = number.to_string();
            said.push((time, id.clone()));
            if !away {
                prop_assert!(marks.took(CHANNEL, &id, time));
                // Some lines are decided but not reported as handled before the kill.
                *decided.entry(id.clone()).or_default() += 1;
                disk.decides(&id);
                if event != 1 {
                    marks.done(CHANNEL, &id);
                }
            }
            if event == 0 {
                disk.note(&marks);
            }
            if event == 1 || away {
                marks = disk.load();
                let (at, _) = marks.of(CHANNEL).expect("it was noted");
                for (time, id) in said.iter().filter(|(time, _)| *time >= at) {
                    if !marks.meets(CHANNEL, id, *time) {
                        marks.took(CHANNEL, id, *time);
                        *decided.entry(id.clone()).or_default() += 1;
                        disk.decides(id);
                        marks.done(CHANNEL, id);
                    }
                }
                marks.told(CHANNEL);
            }
        }
        for (_, id) in &said {
            prop_assert_eq!(decided.get(id), Some(&1), "line {}", id);
        }
    }
}
