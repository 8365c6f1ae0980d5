//! The meaning of every form of a line, and the help about them.

use herder::commands::COMMANDS;
use herder::commands::parse::{self, Heard, Problem};
use herder::l10n::Locale;

use super::reading::{Agents, gist, hear, table};

#[test]
fn every_way_to_say_a_command() {
    for (place, forms) in [
        (
            "#spark",
            vec![
                "pause",
                "Pause",
                "PAUSE",
                " pause ",
                "pause.",
                "pause!",
                "!pause",
                "/pause",
                "pause spark",
                "@herder pause",
            ],
        ),
        ("#work", vec![]),
        ("private", vec!["pause spark", "pause @spark", "/pause spark"]),
        ("#herder", vec!["pause spark"]),
    ] {
        let everywhere = [
            "@spark pause",
            "@spark: pause",
            "@spark, pause",
            "@Spark Pause",
            "spark: pause",
            "spark, pause",
            "SPARK: pause",
            "!pause spark",
            "!pause @spark",
            "!pause spark:",
            "!PAUSE Spark",
            "!spark pause",
            "@spark !pause",
            "spark: !pause",
            "@spark pause spark",
            "herder: pause spark",
            "herder, pause spark",
            "@herder pause spark",
            "herdbot: pause spark",
            "@herdbot pause spark",
            "Herdbot: pause spark",
            "！pause spark",
            "＠spark pause",
            "spark： pause",
            "\u{200b}!pause spark",
            "\u{feff}@spark pause",
            "@spark ｐａｕｓｅ",
            "@spark pau\u{200b}se",
            "!pause\u{3000}spark",
            "\u{2}!pause spark",
        ];
        for form in forms.iter().copied().chain(everywhere) {
            assert_eq!(gist(&hear(place, form)), "do pause @spark", "{form:?} in {place}");
        }
    }
}

/// `<@5>` is a person whose name is `@herder stop-all`.
#[test]
fn what_somebody_calls_themselves_is_no_command() {
    for place in ["#herder", "#work"] {
        table(place, &[("<@5>", "nothing"), ("<@5> pause spark", "nothing"), (" <@5>: stop-all", "nothing")]);
    }
    for place in ["#spark", "private"] {
        for line in ["<@5>", "\u{200b}<@5> pause"] {
            assert!(
                matches!(hear(place, line), Heard::Problem(Problem::NoSuchAgent { .. })),
                "{line} in {place}"
            );
        }
    }
    table("#spark", &[("ask <@5> what is wrong", "work spark: ask <@5> what is wrong")]);
    let spelled =
        hear("#spark", "task add ask <@5>").spelled_out(|words| words.replace("<@5>", "@herder stop-all"));
    assert_eq!(gist(&spelled), "do task add @spark: ask @herder stop-all");
}

/// The call has a number, but there is one at most for each agent.
#[test]
fn a_call_is_acknowledged_by_its_number_or_by_its_agent() {
    table(
        "#spark",
        &[
            ("ack", "do ack @spark"),
            ("!ack", "do ack @spark"),
            ("!ack 7", "do ack @spark"),
            ("!ack other", "do ack @other"),
        ],
    );
    for place in ["#work", "#herder"] {
        table(
            place,
            &[
                ("@spark ack", "do ack @spark"),
                ("@spark ack #7", "do ack @spark"),
                ("!ack spark", "do ack @spark"),
                ("!ack 7", "do ack"),
                ("!ack", "usage ack: no id"),
                ("!ack sparc", "usage ack: wrong sparc"),
            ],
        );
    }
}

/// One open question needs no number; an `answer` among other words is talk, or work.
#[test]
fn what_is_open_is_answered_without_its_number() {
    table(
        "#spark",
        &[
            ("approve", "do approve @spark"),
            ("!deny", "do deny @spark"),
            ("!answer the green one", "do answer @spark: the green one"),
            ("!answer 2", "do answer @spark: 2"),
            ("!answer 9 2", "do answer @spark: 2"),
            ("answer the mail of Bob", "work spark: answer the mail of Bob"),
            ("@spark answer the green one", "work spark: answer the green one"),
            ("approve of what they said", "work spark: approve of what they said"),
        ],
    );
    table(
        "#herder",
        &[
            ("@spark approve", "do approve @spark"),
            ("!approve", "do approve"),
            ("!answer 1,3", "do answer: 1,3"),
            ("answer him later", "nothing"),
        ],
    );
}

#[test]
fn commands_with_arguments() {
    table(
        "#spark",
        &[
            ("pause now", "do pause @spark now"),
            ("pause now!", "do pause @spark now"),
            ("!pause now", "do pause @spark now"),
            ("!pause other now", "do pause @other now"),
            ("pause other", "do pause @other"),
            ("@other pause now", "do pause @other now"),
            ("resume", "do resume @spark"),
            ("abort", "do abort @spark"),
            ("restart", "do restart @spark"),
            ("stop-all", "do stop-all"),
            ("!stop-all", "do stop-all"),
            ("stop all", "do stop-all"),
            ("!stopall", "do stop-all"),
            ("status", "do status @spark"),
            ("status?", "do status @spark"),
            ("status all", "do status"),
            ("!status other", "do status @other"),
            ("@spark", "do status @spark"),
            ("spark:", "do status @spark"),
            ("help", "do help"),
            ("@herder", "do help"),
            ("herder:", "do help"),
            ("help pause", "do help pause"),
            ("help !pause", "do help pause"),
            ("help agent", "do help agent"),
            ("help agent add", "do help agent add"),
            ("queue", "do queue @spark"),
            ("clear", "do clear @spark"),
            ("log", "do log @spark"),
            ("log 3", "do log @spark 3"),
            ("log session 4", "do log @spark session 4"),
            ("log session 4000 page 2", "do log @spark session 4000 page 2"),
            ("!log other page 2", "do log @other page 2"),
            ("!log gone 2", "do log @gone 2"),
            ("!history gone", "do history @gone"),
            ("!audit gone", "do audit @gone"),
            ("!log session 0", "usage log: wrong 0"),
            ("!status gone", "usage status: extra gone"),
            ("!log other 12", "do log @other 12"),
            ("history", "do history @spark"),
            ("history all 5", "do history 5"),
            ("audit", "do audit @spark"),
            ("!audit all", "do audit"),
            ("tasks", "do task list @spark"),
            ("task list", "do task list @spark"),
            ("task list all", "do task list"),
            ("task add fix  the tests", "do task add @spark: fix  the tests"),
            ("!task add other fix it", "do task add @other: fix it"),
            ("@other task add fix it", "do task add @other: fix it"),
            ("task show 7", "do task show #7"),
            ("task show #7", "do task show #7"),
            ("!task cancel #7.", "do task cancel #7"),
            ("agents", "do agent list"),
            ("agent show", "do agent show @spark"),
            ("agent remove", "do agent remove @spark"),
            ("!agent remove other", "do agent remove @other"),
            ("!agent remove other AB12", "do agent remove @other ab12"),
            ("!agent edit model=opus", r#"do agent edit @spark ["model=opus"]"#),
            ("!agent edit other a=\"b c\" d=e", r#"do agent edit @other ["a=b c", "d=e"]"#),
            (
                "!agent add new claude /srv/x model=opus instructions=\"do it\"",
                r#"do agent add new claude ["/srv/x", "model=opus", "instructions=do it"]"#,
            ),
        ],
    );
    table(
        "#herder",
        &[
            ("!status", "do status"),
            ("status", "do status"),
            ("!status spark", "do status @spark"),
            ("!history", "do history"),
            ("!log spark", "do log @spark"),
            ("help", "do help"),
            ("herder: stop-all", "do stop-all"),
            ("!spark-codex log 2", "do log @spark-codex 2"),
        ],
    );
    table(
        "private",
        &[
            ("status", "do status"),
            ("help", "do help"),
            ("stop-all", "do stop-all"),
            ("log spark", "do log @spark"),
        ],
    );
}

#[test]
fn plain_text_in_an_agents_channel_is_work_for_it() {
    let texts = [
        "fix the tests",
        "please pause the music player",
        "pleez pause",
        "continue",
        "go on",
        "yes",
        "ok",
        "test",
        "help me to understand why this fails",
        "log the errors in src/main.rs",
        "clear the cache before the run",
        "status of the build looks wrong, look into it",
        "queue the jobs in order",
        "task force notes are in notes.md",
        "agent smith is a character",
        "history of the file shows a change, revert it",
        "audit the dependencies for licences",
        "stop using mocks in the tests",
        "kill the zombie process in the test setup",
        "cancel the subscription in billing.rs",
        "note: the tests fail",
        "alice: look at this",
        "usage of unwrap is too high in core",
        "/usr/bin/env is missing",
        "/src/main.rs: fix the warning",
        "@types/node needs an update",
        "> !pause",
        "\"pause\" is the wrong word",
        "1",
        "?",
        "ありがとう",
        "🙂",
        "spark is a nice name",
        "https://example.org/x",
        "$(reboot)",
        "; rm -rf /",
    ];
    for text in texts {
        assert_eq!(gist(&hear("#spark", text)), format!("work spark: {text}"), "{text:?}");
        if !text.starts_with('/') && !text.starts_with('@') {
            for form in [format!("@spark {text}"), format!("spark: {text}")] {
                for place in ["#spark", "#other", "#work", "#herder", "private"] {
                    assert_eq!(
                        gist(&hear(place, &form)),
                        format!("work spark: {text}"),
                        "{form:?} in {place}"
                    );
                }
            }
        }
    }
    table("#spark", &[("@other fix it", "work other: fix it"), ("  fix  it ", "work spark: fix  it")]);
}

#[test]
fn what_sounds_like_a_command_is_asked_back_or_answered_with_its_usage() {
    table(
        "#spark",
        &[
            ("resum", "asked resum: resume"),
            ("puase", "asked puase: pause"),
            ("puase now", "asked puase: pause"),
            ("abrot", "asked abrot: abort"),
            ("statsu", "asked statsu: status"),
            ("halp", "asked halp: help"),
            ("раuse", "asked раuse: pause"),
            ("@spark resum", "asked resum: resume"),
            ("stop now", "asked stop: pause now | abort | stop-all"),
            ("stop it", "asked stop: pause now | abort | stop-all"),
            ("kill", "asked kill: abort | restart"),
            ("cancel", "asked cancel: abort | task cancel"),
            ("unpause", "asked unpause: resume"),
            ("approve it", "usage approve: extra it"),
            ("deny", "do deny @spark"),
            ("whisper do it", "do whisper @spark: do it"),
            ("pause the music player", "usage pause: extra the"),
            ("@spark restart the web server", "usage restart: extra the"),
            ("resume work on the parser", "usage resume: extra work"),
            ("abort abort", "usage abort: extra abort"),
            ("pause sprak", "usage pause: agent sprak, spark?"),
            ("@spark pause other", "usage pause: extra other"),
            ("@spark stop-all", "usage stop-all: whole fleet"),
            ("stop-all now", "usage stop-all: extra now"),
            ("log 0", "usage log: wrong 0"),
            ("log -1", "usage log: extra -1"),
            ("log 99999999999999999999", "usage log: wrong 99999999999999999999"),
            ("log x", "usage log: extra x"),
            ("help me", "usage help: wrong me"),
            ("task", "group task"),
            ("agent", "group agent"),
            ("task lst", "group task, task list?"),
            ("task cancle 3", "group task, task cancel?"),
            ("agent ad new claude /srv", "group agent, agent add?"),
            ("task show", "usage task show: no task"),
            ("task show x", "usage task show: wrong x"),
            ("task show 99999999999999999999", "usage task show: wrong 99999999999999999999"),
            ("task add", "usage task add: no text"),
            ("task add   ", "usage task add: no text"),
            ("agent add", "usage agent add: no name"),
            ("agent add new", "usage agent add: no runtime"),
            ("agent add new gemini /x", "usage agent add: wrong gemini"),
            ("agent add new claude", "usage agent add: no workspace"),
            ("agent edit", "usage agent edit: no key=value"),
            ("agent edit a=\"b", "usage agent edit: unclosed \""),
            ("@bob look at this", "no agent bob"),
            ("@sprak pause", "no agent sprak, spark?"),
            ("sprak: pause", "no agent sprak, spark?"),
        ],
    );
}

#[test]
fn one_word_stops_what_the_channel_is_about() {
    for stop in ["stop", "Stop!", "STOP", "stop please", "please stop", "!stop"] {
        table("#spark", &[(stop, "do pause @spark now")]);
        table("#herder", &[(stop, "do stop-all")]);
    }
    for place in ["#spark", "#other", "#herder", "#work", "private"] {
        table(
            place,
            &[("@spark stop", "do pause @spark now"), ("spark: stop please", "do pause @spark now")],
        );
    }
    for stop in ["@herder stop", "@herder: Stop!", "herder: stop please", "Herdbot, stop", "!stop"] {
        for place in ["#herder", "#work", "private"] {
            table(place, &[(stop, "do stop-all")]);
        }
        table("#spark", &[(stop, "do pause @spark now")]);
    }
    table("private", &[("stop", "do stop-all")]);
    // A line that names nobody in another channel is talk, and one with more than that word is asked back.
    table("#work", &[("stop", "nothing"), ("!stop it", "asked stop: pause now | abort | stop-all")]);
}

#[test]
fn who_mentions_the_bot_in_an_agents_channel_speaks_to_that_agent() {
    table(
        "#spark",
        &[
            ("@herder fix the tests", "work spark: fix the tests"),
            ("@herder pause", "do pause @spark"),
            ("@herder stop-all", "do stop-all"),
            ("@herder please stop", "do pause @spark now"),
            ("@herder !foo", "unknown !foo"),
            ("@herder", "do help"),
            // A nick in front with a colon is how people on IRC begin a command.
            ("herder: fix the tests", "unknown fix"),
        ],
    );
    table("#work", &[("@herder fix the tests", "unknown fix"), ("@herder status", "do status")]);
}

#[test]
fn a_polite_command_is_that_command() {
    table(
        "#spark",
        &[
            ("please pause", "do pause @spark"),
            ("Please, pause now", "do pause @spark now"),
            ("can you pause?", "do pause @spark"),
            ("could you please resume", "do resume @spark"),
            ("pause now please", "do pause @spark now"),
            ("pause please", "do pause @spark"),
            ("status please!", "do status @spark"),
            ("@spark can you restart, please?", "do restart @spark"),
            ("please stop-all", "do stop-all"),
            ("please fix the tests", "work spark: please fix the tests"),
            ("can you pause the music player?", "work spark: can you pause the music player?"),
            ("please log the errors in main", "work spark: please log the errors in main"),
            ("please whisper less", "work spark: please whisper less"),
            ("please", "work spark: please"),
        ],
    );
    table("#herder", &[("please pause spark", "do pause @spark"), ("status please", "do status")]);
}

#[test]
fn what_begins_with_a_mark_is_never_work() {
    table(
        "#spark",
        &[
            ("!foo", "unknown foo"),
            ("!foo bar baz", "unknown foo"),
            ("!resum", "unknown resum, resume?"),
            ("!puase now", "unknown puase, pause?"),
            ("!stop other", "asked stop: pause now | abort | stop-all"),
            ("!", "unknown !"),
            ("!!!", "unknown !!!"),
            ("!?", "unknown !?"),
            ("! pause", "do pause @spark"),
            ("!spark", "unknown spark"),
            ("!spark do it", "unknown do"),
            ("!pause sprak", "usage pause: agent sprak, spark?"),
            ("!pause nobody-near", "usage pause: extra nobody-near"),
            ("herder: foo", "unknown foo"),
            ("@spark !foo", "unknown foo"),
            ("/resum", "unknown resum, resume?"),
        ],
    );
    table(
        "#work",
        &[
            ("!pause", "usage pause: no agent"),
            ("!pause nobody", "usage pause: agent nobody"),
            ("!pause sprak", "usage pause: agent sprak, spark?"),
            ("!log", "usage log: no agent"),
            ("!task add", "usage task add: no text"),
            ("!task add nobody do it", "do task add: nobody do it"),
            ("!task add sprak do it", "usage task add: agent sprak, spark?"),
            ("!task add auto spark is slow", "do task add: spark is slow"),
            ("!task assign 7 nobody", "usage task assign: agent nobody"),
            ("!status nobody", "usage status: agent nobody"),
            ("!foo", "unknown foo"),
            ("!kill", "asked kill: abort | restart"),
        ],
    );
}

#[test]
fn talk_among_people_is_left_alone() {
    for place in ["#work", "#herder"] {
        for text in [
            "hello",
            "what do you think?",
            "@alice look",
            "@alice: hello",
            "alice: pause for lunch?",
            "!!!",
            "!",
            "",
            "   ",
            "\u{200b}",
            "the herder is slow",
            "spark is slow",
            "(spark: no)",
            "note: pause",
            "/me waves",
        ] {
            assert_eq!(gist(&hear(place, text)), "nothing", "{text:?} in {place}");
        }
    }
    table(
        "#work",
        &[("pause", "nothing"), ("status", "nothing"), ("help", "nothing"), ("pause spark", "nothing")],
    );
    table(
        "#herder",
        &[
            ("pause for lunch, anyone?", "nothing"),
            ("help me with lunch please", "nothing"),
            ("pause", "usage pause: no agent"),
            ("statsu", "unknown statsu, status?"),
        ],
    );
    // A name that is nearly an agent's was meant for it.
    table(
        "#work",
        &[
            ("@sprak fix it", "no agent sprak, spark?"),
            ("@bob pause", "no agent bob"),
            ("sprak: status", "no agent sprak, spark?"),
        ],
    );
    table(
        "private",
        &[
            ("hello", "unknown hello"),
            ("sprak: pause", "no agent sprak, spark?"),
            ("@bob hi", "no agent bob"),
        ],
    );
}

#[test]
fn hostile_lines_mean_nothing_special() {
    let long = "x".repeat(100_000);
    assert_eq!(gist(&hear("#work", &long)), "nothing");
    assert_eq!(gist(&hear("#spark", &long)), format!("work spark: {long}"));
    assert!(gist(&hear("#spark", &format!("!{long}"))).starts_with("unknown"));
    assert!(gist(&hear("#work", &format!("@{long}"))).starts_with("nothing"));
    assert!(gist(&hear("#work", &format!("{long}: pause"))).starts_with("nothing"));
    table(
        "#spark",
        &[
            ("!pau\u{0}se", "do pause @spark"),
            ("!pause\u{202e}", "do pause @spark"),
            ("!ｐause", "do pause @spark"),
            ("!раuse", "unknown раuse, pause?"),
            ("!pause;abort", "unknown pause;abort"),
            ("!pause\nabort", "usage pause: extra abort"),
            ("!../../etc", "unknown !../../etc"),
            ("@spark\u{0} pause", "do pause @spark"),
        ],
    );
}

#[test]
fn requests_of_the_shell_keep_their_arguments_apart() {
    let agents = Agents::new(&["spark"]);
    let ask = |name: &str, args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        gist(&parse::request(name, &args, &agents))
    };
    assert_eq!(ask("pause", &["spark", "now"]), "do pause @spark now");
    assert_eq!(ask("pause", &[]), "usage pause: no agent");
    assert_eq!(
        ask("agent add", &["new", "command", "command=sh -c 'x'"]),
        r#"do agent add new command ["command=sh -c 'x'"]"#
    );
    assert_eq!(ask("agent", &["list"]), "do agent list");
    assert_eq!(ask("task", &["add", "spark", "fix", "it\nnow"]), "do task add @spark: fix it\nnow");
    assert_eq!(ask("staus", &[]), "unknown staus, status?");
    assert_eq!(ask("", &[]), "do help");
    assert_eq!(ask("spark", &["do", "it"]), "unknown do", "the shell gives no plain work");
}

#[test]
fn help_and_usage_come_from_the_table() {
    let usages: Vec<String> = COMMANDS.iter().map(|c| format!("{:8} {}", c.role, c.usage())).collect();
    insta::assert_snapshot!(usages.join("\n"));
    let locale = Locale::load("en-US").expect("the source");
    insta::assert_snapshot!(herder::commands::table_markdown(&locale));
}
