//! Files of a session on a runner, which the bot has.

use herder::core::outcome::Category;
use herder::files::{FileStore, PIECE_MAX};

use super::links::Runner;
use super::{Hearing, launch};
use herder::runtime::Launch;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_on_a_runner_gets_files_in_pieces_from_its_bot() {
    let (runner, data) = (Runner::start(), tempfile::tempdir().expect("a folder"));
    let link = runner.link(1);
    let store = FileStore::new(data.path());
    let bytes: Vec<u8> = (0..=250).cycle().take(2 * PIECE_MAX + 9).collect();
    let kept = store.keep("7-1-large.bin", &bytes).expect("it is kept");
    link.give_files(store);
    let script = "cat > prompt; cd .herder/*/inbox && sha256sum *";
    let launch = launch(runner.folder(), script);
    let inbox = launch.spec.workspace.join(format!(".herder/{}/inbox", launch.agent));
    let prompt = launch.spec.workspace.join("prompt");
    let driver = link.launch(Launch { files: vec![kept.clone()], ..launch });
    let mut hearing = Hearing::new(link.clone(), driver, 0);
    hearing.until_it_ends().await;
    let outcome = hearing.outcome.expect("it has ended");
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    assert!(std::fs::read(inbox.join("7-1-large.bin")).expect("it is there") == bytes, "byte for byte");
    let prompt = std::fs::read_to_string(prompt).expect("a prompt");
    assert!(prompt.contains(&kept.sha256.to_string()), "{prompt}");
    link.close().await;
    runner.end().await;
}
