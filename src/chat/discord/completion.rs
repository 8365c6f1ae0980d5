//! Autocompletion from memory: agents, tasks and commands that match the typed text, best first.

use crate::commands::COMMANDS;
use crate::commands::options::Kind;
use crate::core::board::Board;
use crate::core::clean::clean;
use crate::core::id::WorkId;
use crate::core::watch::Watch;
use crate::core::work::{Work, WorkKind};
use crate::redact::Redactor;
use crate::supervisor::View;

/// Maximum number of choices that Discord shows for an option that is being typed.
const CHOICES_MAX: usize = 25;

/// Maximum length of a shown choice, in characters.
const CHOICE_MAX: usize = 100;

/// Maximum length of the typed text that is compared with names; a longer text is not a name.
const TYPED_MAX: usize = 64;

/// Maximum length of the part of a task's text that is compared with what is typed, in characters.
const COMPARED_MAX: usize = 2 * CHOICE_MAX;

/// A choice that is offered to the person who types a command's option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The text that the person sees.
    pub(super) shown: String,
    /// The value that the command receives if the person takes the choice.
    pub(super) value: String,
}

/// Returns the choices for an option of this kind that match the text typed so far.
pub(super) fn choices(
    kind: Kind,
    typed: &str,
    agents: &[View],
    board: &Board,
    redactor: &Redactor,
) -> Vec<Choice> {
    let plain = |name: &str| Choice { shown: name.to_owned(), value: name.to_owned() };
    match kind {
        Kind::Agent => {
            best(typed, agents.iter().map(|view| view.name.as_str())).into_iter().map(plain).collect()
        }
        Kind::AgentOrAll => {
            let names = agents.iter().map(|view| view.name.as_str()).chain(["all"]);
            best(typed, names).into_iter().map(plain).collect()
        }
        Kind::AgentOrAuto => {
            let names = agents.iter().map(|view| view.name.as_str()).chain(["auto"]);
            best(typed, names).into_iter().map(plain).collect()
        }
        Kind::Command => {
            best(typed, COMMANDS.iter().map(|command| command.name)).into_iter().map(plain).collect()
        }
        Kind::Task => tasks(typed, agents, board, redactor),
        Kind::Ask => asks(typed, agents, redactor),
        Kind::Call => numbered(typed, agents, redactor, |watch| {
            watch.escalation.iter().map(|call| (call.id, call.text.as_str())).collect()
        }),
        Kind::Told => numbered(typed, agents, redactor, |watch| {
            watch.told.iter().rev().map(|told| (told.id, told.text.as_str())).collect()
        }),
        Kind::Choice(_) | Kind::Flag | Kind::Count | Kind::Number | Kind::Word | Kind::Text => Vec::new(),
    }
}

/// Returns tasks that match the typed text by number, agent or words: open ones first, led by those on the board, then
/// finished ones, latest first.
fn tasks(typed: &str, agents: &[View], board: &Board, redactor: &Redactor) -> Vec<Choice> {
    let typed = typed.trim().trim_start_matches('#').to_lowercase();
    let open = agents.iter().flat_map(|view| {
        let reviews = view.agent.checkouts.in_review();
        let parked = view.agent.board.parked().map(|parked| &parked.work);
        let works = reviews.chain(&view.agent.current).chain(parked).chain(&view.agent.queue);
        let tasks = works.filter(|work| work.kind == WorkKind::Task);
        tasks.map(move |work| (view.name.as_str(), work))
    });
    let over = agents
        .iter()
        .flat_map(|view| view.agent.finished.iter().rev().map(move |done| (view.name.as_str(), &done.work)));
    let boarded = board.tasks.values().map(|boarded| ("board", &*boarded.work));
    let mut found: Vec<(u8, &str, &Work)> = Vec::new();
    for (holder, work) in boarded.chain(open).chain(over) {
        let id = work.id.to_string();
        let class = if id == typed {
            0
        } else if id.starts_with(&typed) {
            1
        } else if holder.contains(&typed) {
            2
        } else if beginning(&work.text).contains(&typed) {
            3
        } else {
            continue;
        };
        found.push((class, holder, work));
    }
    // The sort is stable: within a class open tasks come before finished ones.
    found.sort_by_key(|(class, _, _)| *class);
    // Only shown tasks are redacted: there may be tens of thousands.
    let choice = |(_, holder, work): (u8, &str, &Work)| {
        let text = redactor.redact(&clean(&work.text)).replace('\n', " ");
        let shown = format!("#{} {holder}: {text}", work.id).chars().take(CHOICE_MAX).collect();
        Choice { shown, value: work.id.to_string() }
    };
    found.into_iter().take(CHOICES_MAX).map(choice).collect()
}

/// Returns the beginning of a text that is compared with what is typed; it is about as long as the part that is shown.
fn beginning(text: &str) -> String {
    text.chars().take(COMPARED_MAX).collect::<String>().to_lowercase()
}

/// Returns the calls or whispers of the evaluator that match the typed text by number or agent.
fn numbered(
    typed: &str,
    agents: &[View],
    redactor: &Redactor,
    of: impl Fn(&Watch) -> Vec<(WorkId, &str)>,
) -> Vec<Choice> {
    let found = agents.iter().flat_map(|view| {
        of(&view.agent.watch).into_iter().map(move |(id, text)| (view, id.to_string(), text))
    });
    offered(typed, found, redactor)
}

/// Returns the items whose number or agent matches the typed text, each with the beginning of its text.
fn offered<'a>(
    typed: &str,
    found: impl Iterator<Item = (&'a View, String, &'a str)>,
    redactor: &Redactor,
) -> Vec<Choice> {
    let typed = typed.trim().trim_start_matches('#').to_lowercase();
    found
        .filter(|(view, id, _)| id.starts_with(&typed) || view.name.as_str().contains(&typed))
        .map(|(view, id, text)| {
            let text = redactor.redact(&clean(text)).replace('\n', " ");
            let shown = format!("{id} {}: {text}", view.name).chars().take(CHOICE_MAX).collect();
            Choice { shown, value: id }
        })
        .take(CHOICES_MAX)
        .collect()
}

/// Returns open requests and permanent rules that match the typed text by number or agent.
fn asks(typed: &str, agents: &[View], redactor: &Redactor) -> Vec<Choice> {
    let asked = agents.iter().flat_map(|view| {
        view.agent.asks.iter().map(move |ask| (view, ask.id.to_string(), ask.about.words()))
    });
    let rules = agents.iter().flat_map(|view| {
        view.agent.rules.iter().map(move |rule| (view, rule.id.to_string(), rule.command.as_str()))
    });
    offered(typed, asked.chain(rules), redactor)
}

/// The quality of a match between the typed text and a name; a smaller one is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    Prefix,
    /// A later word of the name begins with the typed text: `cod` in `spark-codex`.
    Word,
    Inside,
    /// The letters of the typed text occur in the name in this order: `spx` in `spark-codex`.
    Letters,
}

/// Returns the names that match the typed text best; if none matches, those that differ from it by the fewest typing
/// errors.
pub(super) fn best<'a>(typed: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let typed: String =
        typed.trim().trim_start_matches(['@', '/', '!']).to_lowercase().chars().take(TYPED_MAX).collect();
    let mut fitting: Vec<(Fit, usize, &str)> =
        names.clone().filter_map(|name| Some((fit(&typed, name)?, name.len(), name))).collect();
    if fitting.is_empty() {
        return nearest(&typed, names);
    }
    // Shorter names first, since more of them was typed; then by name, so that the order is stable while typing.
    fitting.sort_unstable();
    fitting.into_iter().map(|(_, _, name)| name).take(CHOICES_MAX).collect()
}

fn fit(typed: &str, name: &str) -> Option<Fit> {
    if name == typed {
        return Some(Fit::Exact);
    }
    if name.starts_with(typed) {
        return Some(Fit::Prefix);
    }
    if let Some(at) = name.find(typed) {
        let begins = |at: usize| name[..at].ends_with(['-', '_', ' ']);
        let word = begins(at) || name.match_indices(typed).any(|(at, _)| begins(at));
        return Some(if word { Fit::Word } else { Fit::Inside });
    }
    let mut letters = name.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(Fit::Letters)
}

/// Returns the names that differ from the typed text by a few typing errors.
fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    /// Maximum number of names that are compared letter by letter; those with the most letters in common are
    /// preselected.
    const COMPARED_MAX: usize = 64;
    let length = typed.chars().count();
    if length < 3 {
        return Vec::new();
    }
    let slips_max = length.div_ceil(3).min(4);
    let wanted = letters(typed);
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (apart(&wanted, &letters(name)), name))
        .filter(|(apart, _)| *apart <= slips_max * 2)
        .collect();
    near.sort_unstable();
    near.truncate(COMPARED_MAX);
    let slips = near.into_iter().map(|(_, name)| (strsim::osa_distance(typed, name), name));
    let mut near: Vec<(usize, &str)> = slips.filter(|(slips, _)| *slips <= slips_max).collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(CHOICES_MAX).collect()
}

/// Counts the letters and digits of a text; all other characters share one count.
fn letters(text: &str) -> [u8; 37] {
    let mut counts = [0_u8; 37];
    for c in text.bytes() {
        let place = match c {
            b'a'..=b'z' => c - b'a',
            b'0'..=b'9' => 26 + (c - b'0'),
            _ => 36,
        };
        let count = &mut counts[usize::from(place)];
        *count = count.saturating_add(1);
    }
    counts
}

/// Returns the number of letters that only one of two texts has: a typing error changes at most two.
fn apart(one: &[u8; 37], other: &[u8; 37]) -> usize {
    one.iter().zip(other).map(|(one, other)| usize::from(one.abs_diff(*other))).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::Instant;

    use super::*;
    use crate::core::agent::Agent;
    use crate::core::id::{AgentName, NetworkName, WorkId};
    use crate::core::time::Timestamp;
    use crate::core::work::{Actor, FinishedTask, TaskEnd};
    use crate::runtime::Live;

    const NAMES: [&str; 8] =
        ["spark", "spark-codex", "codex", "quick", "sparrow", "park", "review-codex", "pack"];

    #[test]
    fn the_best_comes_first() {
        let cases: &[(&str, &[&str])] = &[
            ("spark", &["spark", "spark-codex"]),
            ("SPARK", &["spark", "spark-codex"]),
            ("@spark", &["spark", "spark-codex"]),
            ("sp", &["spark", "sparrow", "spark-codex"]),
            ("codex", &["codex", "spark-codex", "review-codex"]),
            ("par", &["park", "spark", "sparrow", "spark-codex"]),
            ("spx", &["spark-codex"]),
            ("sprak", &["spark", "park"]),
            ("qiuck", &["quick"]),
            ("zz", &[]),
            ("nothing-like-it", &[]),
            ("paxk", &["pack", "park", "spark"]),
        ];
        for (typed, expected) in cases {
            assert_eq!(best(typed, NAMES.into_iter()), *expected, "{typed}");
        }
        assert_eq!(best("", NAMES.into_iter()).len(), NAMES.len(), "nothing typed: all");
    }

    #[test]
    fn there_are_never_more_than_discord_shows() {
        let names: Vec<String> = (0..1000).map(|n| format!("agent-{n}")).collect();
        for typed in ["", "agent", "a", "1", &"x".repeat(6000)] {
            assert!(best(typed, names.iter().map(String::as_str)).len() <= CHOICES_MAX);
        }
        assert_eq!(best("agent-7", names.iter().map(String::as_str))[..2], ["agent-7", "agent-70"]);
    }

    #[test]
    fn a_thousand_agents_take_no_time() {
        let names: Vec<String> = (0..1000).map(|n| format!("agent-{n}-codex")).collect();
        let rounds = 20;
        let start = Instant::now();
        for _ in 0..rounds {
            assert_eq!(best("codex", names.iter().map(String::as_str)).len(), CHOICES_MAX);
            assert!(!best("agnet-77-codxe", names.iter().map(String::as_str)).is_empty());
        }
        // Unoptimised and on a loaded machine: a hundredth of the three seconds that Discord waits.
        assert!(start.elapsed() / rounds < std::time::Duration::from_millis(30), "{:?}", start.elapsed());
    }

    fn view(name: &str, open: &[(u64, &str)], over: &[(u64, &str)]) -> View {
        let work = |(id, text): &(u64, &str)| Work {
            id: WorkId(*id),
            kind: WorkKind::Task,
            text: (*text).to_owned(),
            by: Actor { network: NetworkName::from("net"), name: "alice".to_owned(), identity: None },
            at: Timestamp::default(),
            attempts: 0,
            card: None,
        };
        let finished = over.iter().map(|over| FinishedTask {
            work: work(over),
            end: TaskEnd::Done,
            at: Timestamp::default(),
            note: String::new().into(),
            proof: None,
        });
        let agent = Agent {
            queue: open.iter().map(work).collect(),
            finished: finished.collect(),
            ..Agent::default()
        };
        View {
            name: AgentName::new(name).expect("a name"),
            agent: Arc::new(agent),
            live: Live::default(),
            hold: None,
            closed: false,
            runner: None,
        }
    }

    #[test]
    fn tasks_are_found_by_number_agent_and_words() {
        let views = [
            view(
                "spark",
                &[(12, "Fix the\nparser, not hunter2-hunter2"), (3, "lexer")],
                &[(1, "parser"), (2, "docs")],
            ),
            view("quick", &[(4, &"long ".repeat(100))], &[]),
        ];
        let redactor = Redactor::new(&["hunter2-hunter2".to_owned().into()]);
        let ids = |typed: &str| -> Vec<String> {
            choices(Kind::Task, typed, &views, &Board::default(), &redactor)
                .into_iter()
                .map(|choice| choice.value)
                .collect()
        };
        assert_eq!(ids("1"), ["1", "12"]);
        assert_eq!(ids("#12"), ["12"]);
        assert_eq!(ids("PARSER"), ["12", "1"]);
        assert_eq!(ids("quick"), ["4"]);
        assert_eq!(ids(""), ["12", "3", "4", "2", "1"]);
        let shown = choices(Kind::Task, "12", &views, &Board::default(), &redactor);
        assert_eq!(shown[0].shown, "#12 spark: Fix the parser, not [redacted]");
        assert!(
            choices(Kind::Task, "4", &views, &Board::default(), &redactor)[0].shown.chars().count()
                <= CHOICE_MAX
        );
        // The compared part of a text is bounded; secrets are redacted in the whole text, wherever the choice is cut.
        let deep = format!("{} hunter2-hunter2 {} needle", "a".repeat(80), "b".repeat(4000));
        let deep = [view("spark", &[(1, &deep)], &[])];
        assert_eq!(choices(Kind::Task, "needle", &deep, &Board::default(), &redactor), [] as [Choice; 0]);
        let shown = choices(Kind::Task, "1", &deep, &Board::default(), &redactor);
        assert!(shown[0].shown.contains("[redact") && !shown[0].shown.contains("hunter"), "{shown:?}");
        assert_eq!(choices(Kind::AgentOrAll, "al", &views, &Board::default(), &redactor)[0].value, "all");
        assert_eq!(
            choices(Kind::Command, "agent a", &views, &Board::default(), &redactor)[0].value,
            "agent add"
        );
    }
}
