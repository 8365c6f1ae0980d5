//! Each command through a real fleet: journal, supervisors and child processes included.

use std::time::Duration;

use herder::clock;
use herder::config::Subject;
use herder::core::agent::Phase;
use herder::core::time::Timestamp;

use super::rig::{Rig, SECRET, inbound, name};

fn minutes(from: Timestamp, count: u64) -> Timestamp {
    from.after(Duration::from_secs(60 * count))
}

#[track_caller]
fn has(lines: &[String], piece: &str) {
    assert!(lines.iter().any(|line| line.contains(piece)), "{piece:?} is not in {lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_steered_from_its_channel_and_from_anywhere() {
    let rig = Rig::open().await;
    let answer = rig.do_("olga", "#spark", "build the parser").await;
    assert!(answer.starts_with("Agent(AgentName(\"spark\")): 👀"), "{answer}");
    rig.until_running("spark").await;
    let status = rig.say("vera", "#spark", "status").await;
    has(&status, "build the parser");
    has(&status, "spark: running");

    let answer = rig.do_("olga", "#work", "@spark then the lexer").await;
    assert!(answer.starts_with("Channel(\"#work\"): 👀"), "{answer}");
    let answer = rig.do_("olga", "private", "task add spark and the tests").await;
    assert!(answer.starts_with("Person(\"olga!olga@olga.example.org\"): 👀"), "{answer}");
    let queue = rig.say("vera", "#herder", "!queue spark").await;
    has(&queue, "build the parser");
    has(&queue, "1. #");
    has(&queue, "and the tests (olga)");
    let tasks = rig.say("vera", "#herder", "tasks").await;
    has(&tasks, "queued · **spark** · and the tests");
    let task = tasks[0].split_whitespace().next().unwrap().to_owned();
    let shown = rig.say("vera", "#herder", &format!("!task show {task}")).await;
    has(&shown, "given by olga (net)");

    let answer = rig.do_("olga", "#spark", "pause").await;
    assert!(answer.contains("⏸️"), "{answer}");
    has(&rig.say("olga", "#spark", "pause").await, "already paused");
    rig.do_("olga", "#spark", "resume").await;
    rig.do_("olga", "#herder", &format!("!task cancel {task}")).await;
    has(&rig.say("olga", "#herder", &format!("!task cancel {task}")).await, "already over");
    rig.do_("olga", "#spark", "clear").await;
    has(&rig.say("olga", "#spark", "clear").await, "no queued messages");
    has(&rig.say("vera", "#spark", "queue").await, "Nothing waits");

    rig.do_("olga", "#herder", "spark: abort").await;
    rig.until("spark", |view| view.agent.phase == Phase::Idle).await;
    has(&rig.say("olga", "#spark", "abort").await, "nothing to abort");
    rig.do_("olga", "#herder", "@spark pause now").await;
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    rig.do_("olga", "#spark", "restart").await;
    has(&rig.say("vera", "#herder", "!task show 99").await, "no task 99");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_all_leaves_no_process_and_says_so() {
    let rig = Rig::open().await;
    rig.do_("olga", "#spark", "build").await;
    rig.until_running("spark").await;
    assert_eq!(rig.say("olga", "#herder", "!stop-all").await, ["Stopping 2 agents …"]);
    rig.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    let answer = loop {
        if let Some(answer) = rig.answers("olga").into_iter().find(|answer| answer.starts_with("Control")) {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    assert!(answer.contains('0'), "{answer}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_said_and_what_happened_can_be_read_back() {
    let rig = Rig::open().await;
    has(&rig.say("vera", "#quick", "log").await, "has said nothing yet");
    rig.do_("olga", "#quick", &format!("say hello, not {SECRET}")).await;
    rig.until("quick", |view| view.agent.totals.successes == 1).await;
    let log = rig.say("vera", "#quick", "log").await;
    has(&log, "say hello, not [redacted]");
    has(&log, "session 1: success");
    let history = rig.say("vera", "#quick", "history 20").await;
    has(&history, "queued #");
    has(&history, "by olga");
    has(&history, "session 1 success");
    assert_eq!(rig.say("vera", "#quick", "history 2").await.len(), 2);
    has(&rig.say("vera", "#herder", "!history").await, "added spark");
    has(
        &rig.say("olga", "#herder", "!audit").await,
        "olga (account:olga, net #quick): say hello, not [redacted]",
    );
    has(&rig.say("olga", "#herder", "!audit quick 50").await, "vera (account:vera, net #quick): log");
    for lines in [rig.say("olga", "#herder", "!audit").await, rig.say("vera", "#quick", "history").await] {
        assert!(!lines.concat().contains(SECRET), "{lines:?}");
    }
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_added_changed_and_removed_by_command() {
    let rig = Rig::open().await;
    let dir = rig.dir.path().display().to_string();
    let wrong = rig
        .say("alice", "#herder", "!agent add Pause command relative modle=x loop=maybe env.API_KEY=y")
        .await;
    insta::assert_snapshot!(wrong.join("\n"), @r##"
        “Pause”: nothing was done, there are 6 problems:
        “pause” cannot name an agent: herder uses that word itself.
        modle: no such key; did you mean model?
        loop: must be one of true, false
        env.API_KEY: secrets do not come by chat; set it in herder's environment and name it in inherit_env
        workspace: must be a path from the root, e.g. /srv/agents/spark
        command: an agent of runtime command needs one, e.g. command="sh -c 'make test'"
        "##);
    has(&rig.say("alice", "#herder", "!agent add spark!ling command /tmp").await, "cannot name an agent");
    has(
        &rig.say("alice", "#herder", "!agent add ops command /tmp command=cat").await,
        "“ops” cannot name an agent: #ops is a channel of herder's own.",
    );
    has(
        &rig.say("alice", "#herder", "!agent add new command /no/such/folder command=cat").await,
        "no such folder",
    );
    has(
        &rig.say("alice", "#herder", &format!("!agent add spark command {dir} command=cat")).await,
        "already an agent",
    );

    let answer = rig
        .do_("alice", "#herder", &format!("!agent add echo command {dir} command='sh -c cat' model=\"a b\""))
        .await;
    assert!(answer.contains("echo"), "{answer}");
    let spec = rig.fleet.view(&name("echo")).unwrap().agent.spec.clone().unwrap();
    assert_eq!(
        (spec.command.as_slice(), spec.model.as_str()),
        (["sh", "-c", "cat"].map(str::to_owned).as_slice(), "a b")
    );
    has(&rig.say("vera", "#herder", "agents").await, "echo: command · a b · ");

    has(&rig.say("alice", "#echo", "!agent edit max_turns=many").await, "max_turns=20");
    rig.do_("alice", "#echo", "!agent edit max_turns=3 model= instructions=\"be brief\"").await;
    let shown = rig.say("vera", "#echo", "!agent show").await;
    has(&shown, "max_turns=3");
    has(&shown, "instructions=be brief");
    rig.do_("alice", "#echo", "!agent edit tags=rust,gpu usd_per_day=20 env.RUST_LOG=warn").await;
    let shown = rig.say("vera", "#echo", "!agent show").await;
    for setting in ["tags=gpu,rust", "usd_per_day=20", "env=RUST_LOG"] {
        has(&shown, setting);
    }

    let asked = rig.say("alice", "#herder", "!agent remove echo").await;
    let code = asked[0].split_whitespace().last().unwrap().trim_matches('`').to_owned();
    has(&asked, "`!agent remove echo ");
    assert!(rig.fleet.view(&name("echo")).is_some(), "asking removes nothing");
    let answer = rig.do_("alice", "#herder", &format!("!agent remove echo {code}")).await;
    assert!(answer.contains("echo"), "{answer}");
    has(&rig.say("vera", "#herder", "!status echo").await, "no agent “echo”");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_confirmed_by_whoever_asked_in_time_and_once() {
    let rig = Rig::open().await;
    let now = clock::now();
    let ask = async |at: Timestamp| {
        let asked = rig.say_at("alice", "#herder", "!agent remove quick", at).await;
        asked[0].split_whitespace().last().unwrap().trim_matches('`').to_owned()
    };
    let refused = async |who: &str, code: &str, at: Timestamp| {
        let lines = rig.say_at(who, "#herder", &format!("!agent remove quick {code}"), at).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines[0].clone()
    };
    refused("alice", "abcd", now).await;
    let code = ask(now).await;
    assert!(refused("alice", &code, minutes(now, 1)).await.contains("60 s are over"));
    let code = ask(minutes(now, 2)).await;
    refused("alice", "wrong", minutes(now, 2)).await;
    refused("alice", &code, minutes(now, 2)).await;
    let code = ask(minutes(now, 3)).await;
    assert!(refused("olga", &code, minutes(now, 3)).await.contains("role admin"));
    assert!(rig.fleet.view(&name("quick")).is_some());
    assert!(
        rig.say_at("alice", "#herder", &format!("!agent remove quick {code}"), minutes(now, 3))
            .await
            .is_empty()
    );
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_are_checked_and_named() {
    let rig = Rig::open().await;
    let now = clock::now();
    let mut at = now;
    for (who, text, needed) in [
        ("vera", "pause", "`pause` needs the role operator."),
        ("vera", "do it", "Giving **spark** work needs the role operator."),
        ("vera", "!agent add x command /tmp command=cat", "`agent add` needs the role admin."),
        ("olga", "!agent remove spark", "`agent remove` needs the role admin."),
        ("mallory", "status", "`status` needs the role viewer."),
        ("mallory", "!foo", "Commands need the role viewer."),
    ] {
        at = minutes(at, 5);
        assert_eq!(rig.say_at(who, "#spark", text, at).await, [needed], "{who}: {text}");
    }
    assert!(rig.audit().await.is_empty(), "what was refused is not recorded as accepted");
    assert_eq!(rig.fleet.view(&name("spark")).unwrap().agent.queue.len(), 0);
    // A nick proves nothing.
    let spoofed = rig.dispatcher.handle_at(inbound("alice", None, "#spark", "pause"), minutes(at, 5)).await;
    assert_eq!(spoofed.unwrap(), ["`pause` needs the role operator."]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_viewers_and_bots_cannot_make_it_flood() {
    let rig = Rig::with_viewers(vec![Subject::Everyone]).await;
    let now = clock::now();
    let mut answered = 0;
    for _ in 0..50 {
        answered += rig.say_at("mallory", "#spark", "pause", now).await.len();
    }
    assert_eq!(answered, 3);
    let (mut answered, mut told) = (0, 0);
    for _ in 0..50 {
        let lines = rig.say_at("vera", "#spark", "status", now).await;
        told += usize::from(lines == ["That was too much at once. Try again in a minute."]);
        answered += usize::from(!lines.is_empty());
    }
    assert_eq!((answered - told, told), (12, 1), "it is told once that it was too much");
    for count in 0..30 {
        let lines = rig.say_at("olga", "#spark", "status", now).await;
        assert!(!lines.is_empty(), "an operator is never held back ({count})");
    }
    let exchanges = async |at: Timestamp| {
        let (mut answered, mut told) = (0, 0);
        for _ in 0..30 {
            let lines = rig.say_at("rob", "#spark", "status", at).await;
            told +=
                lines.iter().filter(|line| line.contains("A bot is answered 20 times an hour here.")).count();
            answered += usize::from(!lines.is_empty());
        }
        assert_eq!(told, 1, "it is told once that it had its share");
        answered - told
    };
    assert_eq!(exchanges(now).await, 20);
    assert!(
        !rig.say_at("rob", "#quick", "status", now).await.is_empty(),
        "the pair with another agent is another one"
    );
    rig.say_at("olga", "#quick", "status", now).await;
    assert!(rig.say_at("rob", "#spark", "status", now).await.is_empty());
    rig.say_at("olga", "#spark", "status", now).await;
    assert_eq!(exchanges(now).await, 20, "a person's word resets it");
    assert_eq!(exchanges(minutes(now, 61)).await, 20, "so does an hour");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_accepted_command_is_recorded_with_who_where_and_what() {
    let rig = Rig::open().await;
    rig.do_("olga", "#spark", "build the parser").await;
    rig.say("vera", "#herder", "!status").await;
    rig.do_("olga", "private", &format!("task add spark use {SECRET} {}", "x".repeat(2000))).await;
    rig.say("olga", "#spark", "resum").await;
    rig.say("olga", "#spark", "resume").await;
    let audit = rig.audit().await;
    let short: Vec<String> = audit
        .iter()
        .map(|entry| {
            let agent = entry.agent.as_ref().map_or("-", |agent| agent.as_str());
            let identity = entry.by.identity.as_deref().unwrap_or("-");
            let text: String = entry.text.chars().take(40).collect();
            format!("{} {identity} {} {agent} {}: {text}", entry.by.name, entry.place, entry.verb)
        })
        .collect();
    assert_eq!(
        short,
        [
            "olga account:olga #spark spark work: build the parser",
            "vera account:vera #herder - status: !status",
            "olga account:olga private spark task add: task add spark use [redacted] xxxxxxxxxx",
        ]
    );
    assert!(audit[2].text.chars().count() <= 401);
    rig.close().await;
}

/// A question without an answer, because herder was killed, is heard again.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_noted_with_its_answer_where_the_network_does_so() {
    let rig = Rig::with_viewers(vec![Subject::Everyone]).await;
    let noted = || rig.journal.memos("heard/").unwrap().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    let mut question = inbound("vera", Some("7"), "#herder", "!status");
    (question.message, question.at) = (Some("70".to_owned()), clock::now());
    question.author.network = "discord".into();
    has(&rig.dispatcher.handle(question.clone()).await.unwrap_or_default(), "2 agents");
    assert_eq!(rig.audit().await.len(), 1);
    assert_eq!(noted(), [] as [String; 0]);
    question.author.network = "net".into();
    has(&rig.dispatcher.handle(question).await.unwrap_or_default(), "2 agents");
    assert_eq!(rig.audit().await.len(), 2);
    assert_eq!(noted(), ["heard/net/70"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_piece_of_a_secret_shows_where_a_text_is_cut_or_coloured() {
    let rig = Rig::open().await;
    rig.do_("olga", "#spark", "first").await;
    rig.until_running("spark").await;
    let (head, tail) = SECRET.split_at(8);
    for padding in 40..60 {
        rig.do_("olga", "#spark", &format!("task add {} {SECRET}", "x".repeat(padding))).await;
    }
    rig.do_("olga", "#spark", &format!("task add colour {head}\u{3}04{tail} {head}\u{1b}[31m{tail}")).await;
    let mut shown = Vec::new();
    for text in ["queue", "status", "task list", "history 20"] {
        shown.extend(rig.say("olga", "#spark", text).await);
    }
    shown.extend(rig.audit().await.into_iter().map(|entry| entry.text));
    let leaks: Vec<_> = shown.iter().filter(|line| line.contains(&SECRET[..5])).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn help_is_short_and_complete() {
    let rig = Rig::open().await;
    let help = rig.say("olga", "#spark", "help").await;
    insta::assert_snapshot!(help.join("\n"), @r##"
    In an agent's channel write what it is to do, or a command alone, e.g. `pause`. Anywhere: `@agent text`, `@agent pause`, `!pause agent`.
    anybody: link, whoami
    viewer: status, usage, task list, task show, task diff, rule list, queue, log, history, agent list, agent show, runner list, help, page
    operator: pause, handoff, resume, abort, restart, stop-all, resume-all, task add, task new, task open, task drop, accept, reject, task assign, task split, task cancel, approve, deny, answer, rule remove, ack, clear, whisper, mark, audit
    admin (not you): agent add, agent edit, agent remove, runner drain, runner open, runner remove, reload
    `!help pause` explains one command.
    "##);
    insta::assert_snapshot!(rig.say("olga", "#spark", "help pause").await.join("\n"), @r##"
        !pause [agent] [now] – pause after the current session; `now` interrupts it
        Needs the role operator. In an agent's channel, and after `@agent`, the agent can be left out.
        "##);
    insta::assert_snapshot!(rig.say("olga", "#spark", "help stop-all").await.join("\n"), @r##"
        !stop-all – stop every agent now; answers with the number of processes left
        Also: !stopall, !stop all
        Needs the role operator.
        "##);
    insta::assert_snapshot!(rig.say("olga", "#spark", "help agent add").await.join("\n"), @r##"
        !agent add <name> <claude|codex|acp|command> <workspace> [key=value …] – add an agent
        Needs the role admin.
        Keys: runtime, runner, workspace, command, prompt, output, model, account, permissions, autonomy, instructions, loop, rest, max_turns, max_budget_usd, usd_per_hour, usd_per_day, tokens_per_session, tokens_per_hour, tokens_per_day, max_task_duration, keep_warm, relay, env.NAME, inherit_env, own_home, credentials, sandbox, memory, cpu, pids, tags. Values with spaces in quotes: `instructions="run the tests first"`.
        "##);
    insta::assert_snapshot!(rig.say("olga", "#spark", "help task").await.join("\n"), @r##"
        !task add [agent|auto] [priority=high|normal|low] [needs=full,tag] [after=7,8] [check="make test"] <text> – give a task to an agent, or to the next idle one that suffices
        !task new [agent] [priority=high|normal|low] [check="make test"] <text> – begin a task; what is said in the agent's channel then belongs to it
        !task open <task> – go back to an earlier task: its folder, its conversation
        !task drop <task> [confirm] – remove the folder and the branch of a task
        !task list [agent|all] – the tasks of an agent or of all
        !task show <task> – one task in full
        !task diff <task> [stat|file] [page <number>] – what a task has changed: its files, or the lines of one of them
        !task assign <task> [agent|auto] – give a queued, failed or blocked task to another agent, or to the next idle one
        !task split <task> <first; second; …> – do a queued task in 2 to 5 parts
        !task cancel <task> – cancel a task, queued or running
        "##);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_answered_with_what_to_do() {
    let rig = Rig::open().await;
    let mut told = Vec::new();
    for text in [
        "!foo",
        "!resum",
        "resum",
        "!stop it",
        "!pause sprak",
        "!task",
        "task lst",
        "@bob hello",
        "@sprak hello",
        "!task show x",
        "!task add",
        "!agent add new gemini /x",
        "!agent edit a=\"b",
        "@spark stop-all",
        "log 0",
    ] {
        let lines = rig.say("olga", if text == "!stop it" { "#work" } else { "#spark" }, text).await;
        told.push(format!("{text}\n    {}", lines.join("\n    ")));
    }
    insta::assert_snapshot!(told.join("\n"), @r##"
        !foo
            I know no command “foo”. `!help` lists them.
        !resum
            I know no command “resum”. Did you mean `!resume`?
        resum
            Nothing done, and nothing given to **spark**: “resum” could be `@spark resume`. As work: `!task add spark …`
        !stop it
            “stop” is no command of its own: `@agent pause now`, `@agent abort`, `!stop-all`?
        !pause sprak
            There is no agent “sprak”. Did you mean **spark**? Usage: `!pause [agent] [now]`
        !task
            Which one: `!task add`, `!task new`, `!task open`, `!task drop`, `!task list`, `!task show`, `!task diff`, `!task assign`, `!task split`, `!task cancel`?
        task lst
            Did you mean `!task list`?
        @bob hello
            There is no agent “bob”. `!agent list` shows those there are. Nothing was given to **spark** either.
        @sprak hello
            There is no agent “sprak”. Did you mean **spark**? Nothing was given to **spark** either.
        !task show x
            “x” does not fit here; write for example #12. Usage: `!task show <task>`
        !task add
            “text” is missing. Usage: `!task add [agent|auto] [priority=high|normal|low] [needs=full,tag] [after=7,8] [check="make test"] <text>`
        !agent add new gemini /x
            “gemini” does not fit here; write for example claude|codex|acp|command. Usage: `!agent add <name> <claude|codex|acp|command> <workspace> [key=value …]`
        !agent edit a="b
            A quote (") is not closed. Usage: `!agent edit [agent] key=value …`
        @spark stop-all
            `!stop-all` is for all agents; one alone stops with `pause now`. Usage: `!stop-all` If it is work: `!task add spark …`
        log 0
            “0” does not fit here; write for example n = 1 – 1000. Usage: `!log [agent] [n] [session <number>] [page <number>]` If it is work: `!task add spark …`
        "##);
    assert!(rig.fleet.view(&name("spark")).unwrap().agent.queue.is_empty(), "nothing reached the agent");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_many_agents_stays_short() {
    let rig = Rig::open().await;
    let dir = rig.dir.path().display().to_string();
    for number in 0..12 {
        rig.do_("alice", "#herder", &format!("!agent add extra{number} command {dir} command=cat")).await;
    }
    let status = rig.say("olga", "#herder", "!status").await;
    assert_eq!(status.len(), 12);
    assert_eq!(status[0], "14 agents, 0 busy, 0 stopped");
    assert_eq!(status[1], "extra0: idle");
    assert_eq!(status[11], "… 4 more");
    rig.close().await;
}
