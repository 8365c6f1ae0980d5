//! The page of somebody who is allowed by a role on Discord.

use herder::config::Subject;
use herder::run::Options;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::json;

use super::Rig;
use crate::http::{reachable, settings};
use crate::simulated_discord::{Discord, permission};
use crate::stage::{PATIENCE, Stage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_loses_the_role_loses_what_it_allowed_at_the_next_look() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let role = rig.sim.role("operators", permission::MANAGE_GUILD);
    let bob = rig.sim.user("bob").roles(["operators"]);
    rig.operators = vec![Subject::DiscordRole(role.to_string())];
    let mut config = rig.config();
    config.http = Some(settings());
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.sim.command("page").await;
    let said = bob.slash("herder", "page", json!({})).answer().await.content;
    let from = said.find("http://").unwrap_or_else(|| panic!("no link: {said}"));
    let link = said[from..].split([' ', '\n', '>', '`']).next().expect("a link");
    let link = reachable(link);
    let client = Client::builder().redirect(Policy::none()).no_proxy().build().expect("a client");
    let entered = client.post(&link).send().await.expect("an answer");
    assert_eq!(entered.status(), 303, "{said}");
    let cookie = entered.headers()["set-cookie"].to_str().expect("text");
    let cookie = cookie.split(';').next().expect("a pair");
    let home = link.split("/login/").next().expect("a page");
    let is_shown_as = async |role: &str| {
        let looking = async {
            loop {
                let page = client.get(home).header("cookie", cookie).send().await.expect("an answer");
                if page.text().await.expect("text").contains(&format!("({role})")) {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("never the role {role}"));
    };
    is_shown_as("operator").await;
    // Everybody may look there.
    let none: [&str; 0] = [];
    let _ = bob.roles(none);
    is_shown_as("viewer").await;
    rig.stop().await;
}
