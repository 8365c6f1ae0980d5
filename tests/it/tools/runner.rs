//! Tools of agents on a runner: calls go on over the end of the bot.

use herder::runner::process::{Question, ask};
use rustix::process::Signal;
use serde_json::json;

use super::{Client, agent, told};
use crate::kill::{Running, outside_server, reap, signal};
use crate::stage::Person;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_call_and_a_whisper_outlive_a_bot_that_is_killed() {
    let (dir, server) = (tempfile::tempdir().expect("a folder"), outside_server().await);
    let spark = agent("spark", dir.path());
    let text = format!(
        "data_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
         [access]\nadmins = [\"irc-mask:test:boss!*@localhost\"]\n[runners]\nlocal = \"process\"\n\
         [[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {:?}\ncommand = {:?}\n",
        server.address().port(),
        spark.workspace,
        spark.command,
    );
    let config = dir.path().join("bot.toml");
    std::fs::write(&config, text).expect("written");
    let mut boss = Person::join(server.address(), "boss", None, &["#spark", "#herder"]).await;
    let start = || Running::start(dir.path(), &config, &[]);
    let bot = start();
    boss.reaches("herder", "#spark").await;
    boss.say("#spark", "look around").await;
    let mut client = Client::meet(dir.path(), "spark").await;
    client.does("irc_send", json!({ "text": "hello" })).await;
    boss.hears("#spark", "<spark> hello").await;

    let waits = json!({ "name": "irc_read", "arguments": { "wait_seconds": 45 } });
    let waits = client.ask("tools/call", &waits);
    signal(&bot, Signal::KILL);
    reap(bot).await;
    let bot = start();
    boss.hears("#herder", "1 session went on").await;
    boss.reaches("herder", "#herder").await;
    boss.say("herder", "whisper spark mind the gap").await;
    let (done, text) = told(&client.answer(waits).await);
    assert!(done && text.contains("[WHISPER] boss tells you, and you alone: mind the gap"), "{text}");
    let told = client.does("irc_channels", json!({})).await;
    assert!(!told.contains("WHISPER"), "{told}");
    // It counts as delivered for the next bot as well.
    boss.reaches("herder", "#herder").await;
    signal(&bot, Signal::KILL);
    reap(bot).await;
    let bot = start();
    boss.hears("#herder", "1 session went on").await;
    let told = client.does("irc_channels", json!({})).await;
    assert!(!told.contains("WHISPER"), "{told}");
    // The bot reads no file of the workspace itself.
    std::fs::write(dir.path().join("spark/a.txt"), "from afar\n").expect("a file");
    client.does("send_file", json!({ "path": "a.txt" })).await;
    boss.hears("#spark", "a.txt (10 bytes). It begins:").await;
    boss.hears("#spark", "<spark> from afar").await;
    signal(&bot, Signal::TERM);
    assert!(reap(bot).await.success());
    ask(&dir.path().join("data"), Question::Stop).await.expect("the runner ends");
}
