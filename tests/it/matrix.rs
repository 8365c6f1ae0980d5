//! The features that each runtime supports. The manual's matrix is made from this table; every cell names the tests
//! that show it, and those that tell the same story of every CLI read the expected result here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use herder::core::spec::{AgentSpec, Runtime};

use crate::agent_rig::pinned;

/// The columns of the table, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Acp,
    Command,
}

impl Column {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Claude, "claude"),
        (Self::Codex, "codex"),
        (Self::Gemini, "acp: gemini"),
        (Self::Opencode, "acp: opencode"),
        (Self::Acp, "acp: others"),
        (Self::Command, "command"),
    ];

    /// The one of an agent.
    fn of(spec: &AgentSpec) -> Self {
        let program = spec.command.first().and_then(|program| program.rsplit('/').next());
        match (spec.runtime, program) {
            (Runtime::Claude, _) => Self::Claude,
            (Runtime::Codex, _) => Self::Codex,
            (Runtime::Acp, Some("gemini")) => Self::Gemini,
            (Runtime::Acp, Some("opencode")) => Self::Opencode,
            (Runtime::Acp, _) => Self::Acp,
            (Runtime::Command, _) => Self::Command,
        }
    }

    /// The tests of its CLI.
    const fn tests(self) -> &'static str {
        match self {
            Self::Claude => "claude_cli::",
            Self::Codex => "codex_cli::",
            Self::Gemini => "acp_cli::gemini::",
            Self::Opencode => "acp_cli::opencode::",
            Self::Acp => "runtime::acp::",
            Self::Command => "runtime::command::",
        }
    }

    /// The variable of `scripts/test` that pins its CLI.
    const fn pin(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("claude_version"),
            Self::Codex => Some("codex_version"),
            Self::Gemini => Some("gemini_version"),
            Self::Opencode => Some("opencode_version"),
            Self::Acp | Self::Command => None,
        }
    }
}

/// The rows that stories look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    GoesOn,
    MidTurn,
    Interrupted,
    NothingLeft,
    Asks,
    Plans,
    OutlivesKill,
    LimitEnds,
    Sleeps,
    Failures,
    Counts,
    MaxTurns,
    Budget,
    Tools,
    Asking,
    Whispers,
    Model,
}

/// A row: what it is about, and for each column what is so and which tests show it. A test that begins with `.` is one of
/// the column's CLI. What is not shown is said to be so, or is no feature.
type Row = (Feature, &'static str, [(&'static str, &'static [&'static str]); 6]);

const NO: (&str, &[&str]) = ("no", &[]);
const UNTESTED: (&str, &[&str]) = ("not tested", &[]);

const FAILURES: &[&str] = &[
    ".refused_credentials",
    ".no_credit",
    ".unknown_model",
    ".context_overflow",
    ".rate_limit",
    ".server_error",
    ".stream_that_is_cut",
    ".stream_that_hangs",
    ".answer_that_never_begins",
];

const TABLE: &[Row] = &[
    (
        Feature::GoesOn,
        "the conversation goes on in the next session, also after a kill",
        [
            (
                "yes",
                &[
                    ".conversation_that_goes_on_and_one_that_is_gone",
                    ".killed_in_mid_tool_and_resumed",
                    "cli_killed::claude_goes_on_after_a_kill",
                ],
            ),
            (
                "yes",
                &[
                    ".conversation_that_goes_on_and_one_that_is_gone",
                    ".killed_in_mid_tool_and_resumed",
                    "cli_killed::codex_goes_on_after_a_kill",
                ],
            ),
            (
                "yes, unless it began in the same minute",
                &[
                    ".conversation_that_goes_on_and_one_that_is_gone",
                    ".killed_in_mid_tool_and_resumed",
                    "cli_killed::gemini_goes_on_after_a_kill",
                ],
            ),
            (
                "yes",
                &[
                    ".conversation_that_goes_on_and_one_that_is_gone",
                    ".killed_in_mid_tool_and_resumed",
                    "cli_killed::opencode_goes_on_after_a_kill",
                ],
            ),
            ("where the agent can", &[".a_conversation_goes_on_or_is_begun_anew_by_the_same_process"]),
            NO,
        ],
    ),
    (
        Feature::MidTurn,
        "a message goes into the running turn",
        [
            ("yes", &[".message_in_mid_turn"]),
            ("yes", &[".message_in_mid_turn"]),
            ("waits for the next session", &[".message_in_mid_turn"]),
            ("waits for the next session", &[".message_in_mid_turn"]),
            (
                "waits for the next session",
                &["runtime::acp_wire::a_message_in_mid_turn_waits_for_the_next_session"],
            ),
            (
                "waits for the next session",
                &["commands::dispatch::an_agent_is_steered_from_its_channel_and_from_anywhere"],
            ),
        ],
    ),
    (
        Feature::Interrupted,
        "asked to stop before it is ended",
        [
            ("yes", &[".stop_in_mid_tool", "runtime::claude::claude_is_interrupted_before_it_is_killed"]),
            ("yes", &[".stop_in_mid_tool", ".stream_that_hangs"]),
            ("yes", &[".stop_in_mid_tool", ".stop_in_mid_answer"]),
            ("yes", &[".stop_in_mid_tool", ".stop_in_mid_answer"]),
            ("yes", &[".a_cancelled_turn_leaves_nothing_running"]),
            NO,
        ],
    ),
    (
        Feature::NothingLeft,
        "nothing is left of it after a stop or a kill",
        [
            ("yes", &[".stop_in_mid_tool", ".killed_in_mid_tool_and_resumed"]),
            ("yes", &[".stop_in_mid_tool", ".killed_in_mid_tool_and_resumed"]),
            ("yes", &[".stop_in_mid_tool", ".killed_in_mid_tool_and_resumed"]),
            ("yes", &[".stop_in_mid_tool", ".killed_in_mid_tool_and_resumed"]),
            ("yes", &[".a_cancelled_turn_leaves_nothing_running"]),
            ("yes", &["runtime::processes::the_ladder_leaves_nothing"]),
        ],
    ),
    (
        Feature::Asks,
        "asks for what goes beyond its permissions, and about what is dangerous",
        [
            (
                "yes",
                &[
                    ".permission_is_asked_for_and_answered",
                    ".what_is_dangerous_is_asked_whatever_the_autonomy",
                    ".what_is_dangerous_is_asked_where_edits_are_accepted",
                ],
            ),
            (
                "yes; what it does inside its own sandbox it asks nobody about",
                &[
                    ".permission_is_asked_for_and_answered",
                    ".what_is_dangerous_is_asked_whatever_the_autonomy",
                ],
            ),
            (
                "yes",
                &[
                    ".permission_is_asked_for_and_answered",
                    ".what_is_dangerous_is_asked_whatever_the_autonomy",
                ],
            ),
            (
                "yes; herder has it ask",
                &[
                    ".permission_is_asked_for_and_answered",
                    ".what_is_dangerous_is_asked_whatever_the_autonomy",
                ],
            ),
            ("where the agent asks", &[".a_question_waits_for_its_answer_unless_it_is_covered_and_harmless"]),
            NO,
        ],
    ),
    (
        Feature::Plans,
        "begins with a plan that people approve or send back",
        [
            ("yes", &[".a_plan_is_shown_sent_back_and_approved"]),
            ("yes", &[".a_plan_is_shown_sent_back_and_approved"]),
            ("yes", &[".a_plan_is_shown_sent_back_and_approved"]),
            ("yes: what it answers first is its plan", &[".a_plan_is_shown_sent_back_and_approved"]),
            ("where it has a mode for that", &["acp_cli::others::qwen_begins_with_a_plan"]),
            NO,
        ],
    ),
    (
        Feature::OutlivesKill,
        "what it asks can be answered, on IRC and on Discord, after a `kill -9` of herder",
        [
            (
                "yes",
                &[
                    "tools::killed::a_question_of_claude_outlives_a_herder_that_is_killed",
                    "tools::killed::a_button_of_claude_outlives_a_herder_that_is_killed",
                ],
            ),
            (
                "yes",
                &[
                    "tools::killed::a_question_of_codex_outlives_a_herder_that_is_killed",
                    "tools::killed::a_button_of_codex_outlives_a_herder_that_is_killed",
                ],
            ),
            (
                "yes",
                &[
                    "tools::killed::a_question_of_gemini_outlives_a_herder_that_is_killed",
                    "tools::killed::a_button_of_gemini_outlives_a_herder_that_is_killed",
                ],
            ),
            (
                "yes",
                &[
                    "tools::killed::a_question_of_opencode_outlives_a_herder_that_is_killed",
                    "tools::killed::a_button_of_opencode_outlives_a_herder_that_is_killed",
                ],
            ),
            UNTESTED,
            NO,
        ],
    ),
    (
        Feature::LimitEnds,
        "says when a limit ends",
        [
            ("subscriptions", &[".usage_limit_of_a_subscription"]),
            ("usage limits", &[".usage_limit_of_a_subscription"]),
            NO,
            NO,
            NO,
            (
                "with `output`, where it prints it",
                &["runtime::printed::limits::a_limit_that_names_its_end_is_waited_for_until_then"],
            ),
        ],
    ),
    (
        Feature::Sleeps,
        "a limit that it sleeps through in silence is a limit, and no hang",
        [
            ("sleeps through none: it fails at once", &[".rate_limit_with_a_long_retry_after"]),
            ("yes", &[".rate_limit_with_a_long_retry_after"]),
            (
                "yes, said once it is stopped",
                &[".rate_limit_that_it_tries_again_through", ".rate_limit_with_a_long_retry_after"],
            ),
            (
                "yes; herder has it say so",
                &[".rate_limit", ".rate_limit_with_a_long_retry_after", ".no_quota"],
            ),
            (
                "where it says so on stderr",
                &["runtime::acp_wire::retries_that_are_said_on_standard_error_alone_say_what_it_waits_for"],
            ),
            (
                "by `patterns`; with `output` as it says",
                &["runtime::printed::limits::a_limit_that_it_is_silent_over_is_what_it_waits_for"],
            ),
        ],
    ),
    (
        Feature::Failures,
        "failures have their class: credentials, billing, model, context, limits, errors, cuts, hangs",
        [
            (
                "yes",
                &[
                    ".refused_credentials",
                    ".unknown_model",
                    ".context_overflow",
                    ".credit_too_low",
                    ".rate_limit_with_a_long_retry_after",
                    ".server_error",
                    ".stream_that_is_cut",
                    ".stream_that_hangs",
                    ".answer_that_never_begins",
                ],
            ),
            ("yes", FAILURES),
            ("yes", FAILURES),
            ("yes", FAILURES),
            ("by words", &[".failures_are_what_they_say"]),
            (
                "by exit code and `patterns`; with `output` by what it prints",
                &[
                    ".patterns_say_what_a_line_on_stderr_means",
                    "runtime::printed::every_end_that_was_seen_has_its_class_and_its_words",
                    "asked_once_cli::claude_is_read",
                    "asked_once_cli::codex_is_read",
                    "asked_once_cli::gemini_is_read",
                    "asked_once_cli::opencode_is_read",
                ],
            ),
        ],
    ),
    (
        Feature::Counts,
        "counts",
        [
            ("turns, tokens, dollars", &[".success"]),
            ("turns, tokens; dollars by `[prices]`", &[".success"]),
            ("tokens, at the end of its turn; dollars by `[prices]`", &[".success"]),
            (
                "tokens and dollars, at the end of its turn; tokens of the last call of the model alone",
                &[
                    ".success",
                    "runtime::acp_wire::a_success_has_its_text_cost_and_the_tokens_that_the_agent_names",
                ],
            ),
            (
                "what the agent reports; dollars by `[prices]` where it names none",
                &["runtime::acp_wire::a_success_has_its_text_cost_and_the_tokens_that_the_agent_names"],
            ),
            (
                "with `output`: turns, tokens, and dollars where it prints them, else by `[prices]`; codex names no model there: set `model`",
                &[
                    "runtime::printed::a_success_has_its_words_its_tokens_its_dollars_and_the_name_of_its_conversation",
                    "asked_once_cli::opencode_is_read",
                ],
            ),
        ],
    ),
    (
        Feature::MaxTurns,
        "`max_turns`",
        [("kept by the CLI", &[".too_many_turns"]), ("kept by herder", &[".too_many_turns"]), NO, NO, NO, NO],
    ),
    (
        Feature::Budget,
        "caps on dollars and tokens",
        [
            ("kept by both, in mid-session", &["spending_cli::claude_reaches_its_dollars"]),
            ("kept by herder, in mid-session", &["spending_cli::codex_reaches_its_tokens"]),
            ("kept by herder, at the end of a turn", &["spending_cli::gemini_reaches_its_tokens"]),
            (
                "dollars kept by herder, at the end of a turn; tokens as far as it names them",
                &["spending_cli::opencode_reaches_its_dollars"],
            ),
            (
                "kept by herder, when the agent reports",
                &["runtime::acp_wire::a_success_has_its_text_cost_and_the_tokens_that_the_agent_names"],
            ),
            (
                "with `output` kept by herder, when it is printed",
                &["asked_once_cli::what_was_printed_of_tokens_closes_the_agent_at_its_cap"],
            ),
        ],
    ),
    (
        Feature::Tools,
        "herder's tools",
        [
            ("yes", &["tools::clis::claude_speaks"]),
            ("yes", &["tools::clis::codex_speaks"]),
            ("yes", &["tools::clis::gemini_speaks"]),
            ("yes", &["tools::clis::opencode_speaks"]),
            ("yes", &[".acp_succeeds"]),
            (
                "by `HERDER_TOOLS` in its environment",
                &["tools::an_agent_joins_what_its_list_allows_and_leaves_again"],
            ),
        ],
    ),
    (
        Feature::Asking,
        "asks people with `irc_ask`, and waits",
        [
            ("yes", &["tools::clis::claude_asks_people", "tools::clis::claude_waits_in_slices"]),
            ("yes", &["tools::clis::codex_asks_people", "tools::clis::codex_waits_in_slices"]),
            ("yes", &["tools::clis::gemini_asks_people", "tools::clis::gemini_waits_in_slices"]),
            ("yes", &["tools::clis::opencode_asks_people", "tools::clis::opencode_waits_in_slices"]),
            UNTESTED,
            ("by `HERDER_TOOLS`", &["tools::asking::an_agent_asks_and_is_answered"]),
        ],
    ),
    (
        Feature::Whispers,
        "whispers reach the model",
        [
            (
                "in the running turn, with a tool's result",
                &[
                    "tools::clis::claude_is_whispered_to_in_mid_turn",
                    "tools::clis::claude_is_whispered_to_with_a_result",
                ],
            ),
            (
                "in the running turn, with a tool's result",
                &[
                    "tools::clis::codex_is_whispered_to_in_mid_turn",
                    "tools::clis::codex_is_whispered_to_with_a_result",
                ],
            ),
            (
                "with a tool's result or the next prompt",
                &["tools::clis::gemini_is_whispered_to_with_a_result"],
            ),
            (
                "with a tool's result or the next prompt",
                &["tools::clis::opencode_is_whispered_to_with_a_result"],
            ),
            (
                "with a tool's result, the next prompt, or a turn that another is cut short for",
                &["escalation::acp::its_turn_is_cut_short_for_what_it_must_hear"],
            ),
            (
                "with the next prompt",
                &["tools::whispers::what_no_call_took_along_comes_with_the_next_prompt"],
            ),
        ],
    ),
    (
        Feature::Model,
        "`model`",
        [
            ("yes", &["runtime::claude_wire::the_command_line_follows_the_spec"]),
            ("yes", &[".success"]),
            ("yes", &["runtime::acp_wire::the_model_is_set_in_the_way_the_agent_offers", ".success"]),
            ("yes", &["runtime::acp_wire::the_model_is_set_in_the_way_the_agent_offers", ".success"]),
            (
                "where the agent offers it",
                &["runtime::acp_wire::the_model_is_set_in_the_way_the_agent_offers"],
            ),
            ("in `command`", &[]),
        ],
    ),
];

/// Returns the table's entry for an agent.
pub(crate) fn says(spec: &AgentSpec, feature: Feature) -> &'static str {
    let column = Column::of(spec);
    let at = Column::ALL.iter().position(|(one, _)| *one == column).expect("all are there");
    let row = TABLE.iter().find(|(one, ..)| *one == feature).expect("every feature has a row");
    row.2[at].0
}

/// Fails unless the table says of an agent that it supports this, or that it does not.
pub(crate) fn shows(spec: &AgentSpec, feature: Feature, supported: bool) {
    let said = says(spec, feature);
    assert_eq!(said.starts_with("yes"), supported, "{feature:?} of {:?}: {said}", Column::of(spec));
}

fn matrix() -> String {
    let mut text = "|".to_owned();
    for (_, name) in Column::ALL {
        write!(text, " | {name}").expect("a text takes everything");
    }
    text.push_str(" |\n|---|---|---|---|---|---|---|\n");
    for (_, about, cells) in TABLE {
        let cells = cells.map(|(says, _)| says).join(" | ");
        writeln!(text, "| {about} | {cells} |").expect("a text takes everything");
    }
    let tested = Column::ALL.map(|(column, _)| match column.pin() {
        Some(variable) => format!("the real CLI, {}", pinned(variable)),
        None if column == Column::Acp => "the real CLIs [below](#other-agents), scripted agents".to_owned(),
        None => "any program, and the four CLIs asked once".to_owned(),
    });
    writeln!(text, "| tested against | {} |", tested.join(" | ")).expect("a text takes everything");
    text
}

const BEGIN: &str = "<!-- runtimes -->\n";
const END: &str = "<!-- /runtimes -->";

#[test]
fn the_manual_has_it() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/runtimes.md");
    let page = std::fs::read_to_string(&path).expect("there is a page");
    let (before, rest) = page.split_once(BEGIN).expect("it has a place for the matrix");
    let (written, after) = rest.split_once(END).expect("the place has an end");
    let made = matrix();
    if std::env::var_os("HERDER_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{made}{END}{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(written, made, "HERDER_BLESS=1 writes it anew");
}

/// A cell that says something names what shows it, and that is there.
#[test]
fn every_cell_is_shown_by_a_test() {
    let list = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--list", "--format", "terse"])
        .output()
        .expect("the tests can be listed");
    let list = String::from_utf8(list.stdout).expect("names are text");
    let there: BTreeSet<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    for (feature, _, cells) in TABLE {
        for ((column, _), (says, tests)) in Column::ALL.into_iter().zip(cells) {
            let silent = ["no", "not tested", "in `command`"].contains(says);
            assert_eq!(tests.is_empty(), silent, "{feature:?} of {column:?} says {says}");
            for test in *tests {
                let name = match test.strip_prefix('.') {
                    Some(rest) => format!("{}{rest}", column.tests()),
                    None => (*test).to_owned(),
                };
                assert!(there.contains(name.as_str()), "{feature:?} of {column:?}: there is no test {name}");
            }
        }
    }
}
