//! The text format of labelled transcripts, and how one scenario becomes several of them.
//!
//! ```text
//! ## name | label          a scenario; the label is `fine` or the pattern
//! let x = a | b            a word that is drawn once; `{x}` stands for it
//! > words                  a turn begins with these words
//! $ command ~ 12s          a command that went well, and how long it took; its output follows, indented
//! $! command               one that failed
//! + file : content         an edit (`+!`: refused); what it says tells one edit from another
//! < path                   a read or a search (`<!`: failed)
//! * tool arguments         another tool (`*!`: failed)
//! & < path                 in the same turn as the step before
//! wait 5m                  silence before the next turn
//! work                     what follows is about other work
//! stuck                    from here on a finding is right, before it is not
//! repeat 3..5 … end        so many times; `{i}` counts them, `{i:a|b|c}` takes one after the other
//! maybe … end              in every other transcript
//! {a|b}  {#3}              one of these, drawn each time; a number of three digits
//! ```
//!
//! A step begins a turn of its own, unless words stand before it or `&` does.

use std::collections::BTreeMap;

use herder::core::cut::both_ends;
use herder::core::detector::Pattern;
use herder::core::id::{SessionId, WorkId};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, SAID_MAX, STEPS_MAX, Step, Turn, WHAT_MAX, WORDS_MAX};
use regex::{Captures, Regex};

/// The template of transcripts.
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// `None`: nothing may be found.
    pub(crate) label: Option<Pattern>,
    lines: Vec<String>,
}

/// One transcript.
pub(crate) struct Transcript {
    pub(crate) turns: Vec<Turn>,
    /// The turn from which on a finding is right.
    pub(crate) stuck: Option<usize>,
}

/// Returns the scenarios of a file.
pub(crate) fn scenarios(text: &str) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("## ") {
            let (name, label) = head.split_once(" | ").expect("a name and a label");
            let label = (label != "fine").then(|| {
                let known = Pattern::ALL.into_iter().find(|pattern| pattern.name() == label);
                known.unwrap_or_else(|| panic!("{name}: there is no pattern {label}"))
            });
            scenarios.push(Scenario { name: name.to_owned(), label, lines: Vec::new() });
        } else if let Some(scenario) = scenarios.last_mut() {
            scenario.lines.push(line.to_owned());
        }
    }
    scenarios
}

impl Scenario {
    /// Returns the transcript of that number.
    pub(crate) fn transcript(&self, seed: u64) -> Transcript {
        let mut drawn = Draw::new(&self.name, seed);
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let mut played = Vec::new();
        drawn.expand(&lines, 1, &mut played);
        let transcript = Stage::new(&mut drawn).play(&played);
        assert_eq!(transcript.stuck.is_some(), self.label.is_some(), "{}: stuck or fine?", self.name);
        transcript
    }
}

fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Chance, the same for the same seed.
struct Draw {
    state: u64,
    words: BTreeMap<String, String>,
    slot: Regex,
}

impl Draw {
    fn new(name: &str, seed: u64) -> Self {
        let slot = Regex::new(r"\{(#\d|i:[^{}]*|\w+|[^{}]*\|[^{}]*)\}").expect("a pattern");
        Self {
            state: digest(name).wrapping_add(seed.wrapping_mul(0x9e37_79b9)),
            words: BTreeMap::new(),
            slot,
        }
    }

    /// Draws a number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) % bound as u64).expect("below a usize")
    }

    /// Plays the lines: carries out blocks and fills slots.
    fn expand(&mut self, lines: &[&str], round: usize, played: &mut Vec<String>) {
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            if let Some(range) = line.strip_prefix("repeat ") {
                let body = block(&lines[at..]);
                at += body.len() + 1;
                let (least, most) = range.split_once("..").unwrap_or((range, range));
                let (least, most): (usize, usize) = (number(least), number(most));
                for round in 1..=least + self.below(most - least + 1) {
                    self.expand(&dedented(body), round, played);
                }
            } else if line == "maybe" {
                let body = block(&lines[at..]);
                at += body.len() + 1;
                if self.below(2) == 0 {
                    self.expand(&dedented(body), round, played);
                }
            } else if let Some((name, words)) =
                line.strip_prefix("let ").and_then(|rest| rest.split_once(" = "))
            {
                let words: Vec<&str> = words.split(" | ").collect();
                let word = words[self.below(words.len())].to_owned();
                self.words.insert(name.to_owned(), word);
            } else {
                played.push(self.fill(line, round));
            }
        }
    }

    fn fill(&mut self, line: &str, round: usize) -> String {
        let slot = self.slot.clone();
        let filled = slot.replace_all(line, |slot: &Captures<'_>| {
            let inside = &slot[1];
            if let Some(digits) = inside.strip_prefix('#') {
                let digits = u32::try_from(number(digits)).expect("few digits");
                let least = 10_usize.pow(digits - 1);
                return (least + self.below(9 * least)).to_string();
            }
            if let Some(words) = inside.strip_prefix("i:") {
                let words: Vec<&str> = words.split('|').collect();
                return words[(round - 1) % words.len()].to_owned();
            }
            if inside == "i" {
                return round.to_string();
            }
            if inside.contains('|') {
                let words: Vec<&str> = inside.split('|').collect();
                return words[self.below(words.len())].to_owned();
            }
            self.words.get(inside).cloned().unwrap_or_else(|| slot[0].to_owned())
        });
        filled.into_owned()
    }
}

fn number(text: &str) -> usize {
    text.trim().parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// Returns the lines up to the `end` of the block that they are in.
fn block<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let end = lines.iter().position(|line| *line == "end").expect("a block ends");
    &lines[..end]
}

fn dedented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect()
}

/// Turns as they are made from lines.
struct Stage<'d> {
    drawn: &'d mut Draw,
    turns: Vec<Turn>,
    /// The last turn has words and waits for its step.
    open: bool,
    at: i64,
    work: u64,
    stuck: Option<usize>,
    shell: &'static str,
}

impl<'d> Stage<'d> {
    fn new(drawn: &'d mut Draw) -> Self {
        let shell = ["Bash", "shell", "run_shell_command", "bash"][drawn.below(4)];
        Self { drawn, turns: Vec::new(), open: false, at: 1_772_360_430_000, work: 1, stuck: None, shell }
    }

    fn play(mut self, lines: &[String]) -> Transcript {
        let mut at = 0;
        while at < lines.len() {
            let line = &lines[at];
            at += 1;
            let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
            match command {
                "" => assert!(line.trim().is_empty(), "output without a step: {line}"),
                ">" => {
                    self.turn(rest);
                    self.open = true;
                }
                "wait" => {
                    self.open = false;
                    self.at += millis(rest);
                }
                "work" => {
                    self.open = false;
                    self.work += 1;
                }
                "stuck" => {
                    self.open = false;
                    self.stuck = Some(self.turns.len());
                }
                _ => {
                    let indented = |line: &&String| line.is_empty() || line.starts_with("  ");
                    let output: Vec<&str> =
                        lines[at..].iter().take_while(indented).map(|line| line.trim_end()).collect();
                    at += output.len();
                    let output = dedented(&output).join("\n");
                    let joins = self.open || command == "&";
                    let (command, rest) =
                        if command == "&" { rest.split_once(' ').expect("a step") } else { (command, rest) };
                    self.step(command, rest, output.trim_end(), joins);
                }
            }
        }
        Transcript { turns: self.turns, stuck: self.stuck }
    }

    fn turn(&mut self, words: &str) {
        let took_ms = 1500 + self.drawn.below(4000) as u64;
        self.turns.push(Turn {
            session: SessionId(1),
            work: Some(WorkId(self.work)),
            at: Timestamp::from_millis(self.at),
            took_ms,
            words: both_ends(words, WORDS_MAX),
            steps: Vec::new(),
            more: 0,
        });
        self.at += i64::try_from(took_ms).expect("a short time") + 400;
    }

    fn step(&mut self, mark: &str, rest: &str, output: &str, joins: bool) {
        if !joins {
            self.turn("");
        }
        self.open = false;
        let (what, took) = rest.rsplit_once(" ~ ").map_or((rest, 0), |(what, took)| (what, millis(took)));
        self.at += took;
        let (tool, kind, what, told) = match mark.trim_end_matches('!') {
            "$" => (self.shell, Kind::Command, what, what),
            "+" => ("Edit", Kind::Edit, what.split(" : ").next().unwrap_or(what), what),
            "<" => ("Read", Kind::Read, what, what),
            "*" => {
                let (tool, arguments) = what.split_once(' ').unwrap_or((what, ""));
                (tool, Kind::Other, arguments, arguments)
            }
            _ => panic!("no step: {mark} {rest}"),
        };
        let end = End { ok: !mark.ends_with('!'), said: both_ends(output, SAID_MAX), digest: digest(output) };
        let step = Step {
            tool: tool.to_owned(),
            kind,
            what: both_ends(what, WHAT_MAX),
            digest: digest(told),
            end: Some(end),
            after_ms: 0,
            took_ms: 0,
        };
        let turn = self.turns.last_mut().expect("a turn for the step");
        turn.took_ms += u64::try_from(took).expect("no time is negative");
        assert!(turn.steps.len() < STEPS_MAX, "a turn of a transcript has few steps");
        turn.steps.push(step);
    }
}

fn millis(text: &str) -> i64 {
    let (count, unit) = text.trim().split_at(text.trim().len() - 1);
    let unit = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => panic!("no time: {text}"),
    };
    i64::try_from(number(count)).expect("a short time") * unit
}
