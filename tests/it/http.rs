//! The page and the API of a whole herder, asked over TCP.

mod answers;
mod api;
mod browser;
mod events;
mod follow;
mod followed;
mod guard;
mod hammer;
mod health;
mod history;
mod killed;
mod looks;
mod metrics;
mod nobody;
mod once;
mod page;
mod picture;
mod reviews;
mod schemathesis;
mod sessions;
mod tls;
mod views;

use std::net::SocketAddr;

use herder::config::{Http, Listen, Token};
use herder::core::role::Role;
use herder::run::Options;
use reqwest::redirect::Policy as Redirects;
use reqwest::{Client, RequestBuilder};

use crate::stage::{Scene, embedded_network, inside, server, shell};

/// The secret of a role's token.
fn secret(role: Role) -> String {
    format!("{role}-token-of-the-tests")
}

pub(crate) fn settings() -> Http {
    let token = |role: Role| Token { name: format!("the-{role}"), role, secret: secret(role).into() };
    Http {
        listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
        public_url: None,
        hosts: std::collections::BTreeSet::new(),
        tls: None,
        behind_proxy: false,
        tokens: [Role::Viewer, Role::Operator, Role::Admin].map(token).into(),
    }
}

/// A herder with a page, one agent, and alice on IRC.
struct House {
    scene: Scene,
    url: String,
    client: Client,
}

impl House {
    /// `script` is the agent's.
    async fn open(script: &str) -> Self {
        Self::open_with(script, |_, _| ()).await
    }

    /// With other options and settings.
    async fn open_with(script: &str, change: impl FnOnce(&mut Options, &mut Http)) -> Self {
        let server = server().await;
        let (mut options, mut http) = (inside(&server), settings());
        change(&mut options, &mut http);
        let script = script.to_owned();
        let scene = Scene::open_configured(
            (server, options),
            "alice",
            &["#spark", "#herder"],
            move |dir| vec![shell("spark", dir, &script)],
            |config| config.http = Some(http),
        )
        .await;
        Self::of(scene)
    }

    fn of(scene: Scene) -> Self {
        let url = reachable(scene.stage.herder.page_url().expect("there is a page"));
        // As a browser, but for redirects, which are looked at.
        let client = Client::builder().redirect(Redirects::none()).no_proxy().build().expect("a client");
        Self { scene, url, client }
    }

    /// The same herder, ended and started again with its one agent and at its old address.
    async fn restarted(self, script: &str) -> Self {
        self.restarted_after(script, async {}).await
    }

    /// The same, started again once `meanwhile` is over.
    async fn restarted_after(self, script: &str, meanwhile: impl Future<Output = ()>) -> Self {
        let Scene { dir, server, person, stage } = self.scene;
        stage.close().await;
        meanwhile.await;
        let agents = vec![shell("spark", dir.path(), script)];
        let mut config = crate::stage::config(dir.path(), vec![embedded_network(&server)], agents);
        let address = self.url.strip_prefix("http://").and_then(|address| address.parse().ok());
        config.http = Some(Http { listen: Listen::Tcp(address.expect("an address")), ..settings() });
        let stage = crate::stage::Stage::open(config, inside(&server)).await;
        Self::of(Scene { dir, server, person, stage })
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.url))
    }

    /// A request to the API by a token of that role.
    fn by(&self, role: Role, path: &str) -> RequestBuilder {
        self.get(&format!("/api/v1{path}")).bearer_auth(secret(role))
    }

    /// A command over the API by a token of that role.
    fn command(&self, role: Role, command: &serde_json::Value) -> RequestBuilder {
        self.post("/api/v1/commands").bearer_auth(secret(role)).json(command)
    }

    async fn close(self) {
        self.scene.close().await;
    }
}

/// The page's address for a client that is no browser: only those know that names below `localhost` are this machine.
pub(crate) fn reachable(url: &str) -> String {
    let name = own_name(url).unwrap_or_default();
    url.replacen(&name, "127.0.0.1", usize::from(!name.is_empty()))
}

/// The name of this machine's in a link: `herder-`, 16 digits, `.localhost`.
pub(crate) fn own_name(url: &str) -> Option<String> {
    let name = url.strip_prefix("http://")?.split(':').next()?;
    let drawn = name.strip_prefix("herder-")?.strip_suffix(".localhost")?;
    let is_hex = drawn.len() == 16 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| name.to_owned())
}

async fn json(request: RequestBuilder) -> (u16, serde_json::Value) {
    let response = request.send().await.expect("herder answers");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

async fn text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.expect("herder answers");
    (response.status().as_u16(), response.text().await.expect("text"))
}
