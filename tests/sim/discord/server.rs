//! The listener: plain and encrypted on one port, for REST, gateway and attachments.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::fault::{Blow, Effect, Kind};
use super::limits::Standing;
use super::multipart::{self, File};
use super::refusal::Refusal;
use super::rest;
use super::state::{self, State};
use super::{Shared, contract, gateway};

const API: &str = "/api/v10";

/// One connection, plain or encrypted, that can be made to end with a reset.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Stream,
    resets: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Link {
    /// Makes the end of the connection a reset instead of an orderly close.
    pub(crate) fn reset_on_drop(&mut self) {
        self.resets.store(true, Ordering::SeqCst);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.resets.load(Ordering::SeqCst) {
            let tcp = match &self.stream {
                Stream::Plain(tcp) => tcp,
                Stream::Tls(tls) => tls.get_ref().0,
            };
            // A socket that is already gone needs no reset.
            drop(tcp.set_zero_linger());
        }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Stream::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Stream::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// Takes connections until the runtime ends.
pub(crate) async fn listen(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            // A client that goes away in the middle is its own business.
            drop(connection(stream, tls, shared).await);
        });
    }
}

async fn connection(stream: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) -> io::Result<()> {
    let resets = Arc::new(AtomicBool::new(false));
    if shared.with(|state| state.offline) {
        return stream.set_zero_linger();
    }
    stream.set_nodelay(true)?;
    // The first byte of a TLS handshake is none that a method of HTTP begins with.
    let mut first = [0];
    stream.peek(&mut first).await?;
    let stream = if first == [0x16] {
        Stream::Tls(Box::new(tls.accept(stream).await?))
    } else {
        Stream::Plain(stream)
    };
    let link = Link { stream, resets: Arc::clone(&resets) };
    let service = service_fn(move |request| {
        let (shared, resets) = (Arc::clone(&shared), Arc::clone(&resets));
        async move {
            let answer = serve(request, &shared).await;
            if answer.is_err() {
                resets.store(true, Ordering::SeqCst);
            }
            answer
        }
    });
    let http = hyper::server::conn::http1::Builder::new();
    http.serve_connection(TokioIo::new(link), service).with_upgrades().await.map_err(io::Error::other)
}

type Answer = Response<Full<Bytes>>;

/// The connection is to end without an answer.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dropped on purpose")
    }
}

impl std::error::Error for Dropped {}

async fn serve(request: Request<Incoming>, shared: &Arc<Shared>) -> Result<Answer, Dropped> {
    if shared.with(|state| state.offline) {
        return Err(Dropped);
    }
    if request.headers().get("upgrade").is_some_and(|upgrade| upgrade == "websocket") {
        return Ok(upgrade(request, shared));
    }
    if request.uri().path().starts_with("/attachments/") {
        return Ok(attachment(request.uri().path(), shared).await);
    }
    let at = Instant::now();
    let (head, body) = request.into_parts();
    // A body that breaks off never becomes a request.
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    rest(&head, &body, at, shared).await
}

fn answer(status: u16, body: &Value) -> Answer {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status != 204 {
        response.headers_mut().insert("content-type", "application/json".parse().expect("a header"));
        *response.body_mut() = Full::from(body.to_string());
    }
    response
}

fn with_header(mut response: Answer, name: &'static str, value: &str) -> Answer {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
    response
}

fn upgrade(mut request: Request<Incoming>, shared: &Arc<Shared>) -> Answer {
    let is_refused = shared.with(|state| {
        let refuse = state.gateway.refuse > 0;
        state.gateway.refuse = state.gateway.refuse.saturating_sub(1);
        refuse
    });
    let key = request.headers().get("sec-websocket-key").cloned();
    let Some(key) = key.filter(|_| !is_refused) else {
        return answer(503, &json!({ "message": "the gateway takes no connections" }));
    };
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(&mut request).await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<Link>>() else { return };
        let link = parts.io.into_inner();
        let socket =
            WebSocketStream::from_partially_read(link, parts.read_buf.to_vec(), Role::Server, None).await;
        gateway::serve(shared, socket).await;
    });
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let response = with_header(response, "upgrade", "websocket");
    let response = with_header(response, "connection", "upgrade");
    with_header(response, "sec-websocket-accept", &derive_accept_key(key.as_bytes()))
}

async fn attachment(path: &str, shared: &Shared) -> Answer {
    let id = path.split('/').nth(3).and_then(|id| id.parse::<state::Id>().ok());
    if let Some(gate) = shared.with(|state| state.held_file.take()) {
        gate.passed().await;
    }
    let is_lost = shared.with(|state| {
        let is_lost = state.files_lost > 0;
        state.files_lost = state.files_lost.saturating_sub(1);
        is_lost
    });
    if is_lost {
        return answer(503, &json!({ "message": "503: Service Unavailable", "code": 0 }));
    }
    let found = shared.with(|state| {
        let all = state.messages.values().flat_map(|message| &message.attachments);
        all.chain(&state.offered).find(|attachment| Some(attachment.id) == id).cloned()
    });
    let Some(found) = found else { return answer(404, &json!({ "message": "404: Not Found", "code": 0 })) };
    let response = Response::new(Full::from(found.bytes));
    with_header(response, "content-type", &found.content_type)
}

/// A request as the rest of the simulator sees it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// The route without its method, as in the contract.
    pub(crate) route: String,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) files: Vec<File>,
    /// The time at which its first byte was read.
    pub(crate) at: Instant,
}

impl Call {
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.method, self.route)
    }

    /// Returns an id of the path.
    pub(crate) fn id(&self, name: &str) -> state::Id {
        self.parameters.get(name).and_then(|id| id.parse().ok()).unwrap_or_default()
    }
}

async fn rest(
    head: &hyper::http::request::Parts,
    body: &Bytes,
    at: Instant,
    shared: &Arc<Shared>,
) -> Result<Answer, Dropped> {
    let call = match call(head, body, at, &shared.contract) {
        Ok(call) => call,
        Err(refusal) => {
            let line = format!("{} {}: {}", head.method, head.uri, refusal.line());
            shared.with(|state| state.violation(line));
            return Ok(answer(refusal.status, &refusal.body()));
        }
    };
    let key = call.key();
    let (number, blow) = shared.with(|state| {
        state.requests.push(state::Request {
            route: key.clone(),
            path: head.uri.path().to_owned(),
            body: call.body.clone(),
            at,
            status: None,
        });
        let blow = state.faults.iter_mut().find_map(|fault| fault.strikes(&key).then(|| fault.blow()));
        (state.requests.len() - 1, blow)
    });
    let answered = settle(head, &call, shared, blow).await;
    let answered = answered.map(|answer| match shared.look(State::date) {
        Some(date) => with_header(answer, "date", &date),
        None => answer,
    });
    shared.with(|state| {
        state.requests[number].status = answered.as_ref().ok().map(|answer| answer.status().as_u16());
    });
    answered
}

/// Returns the answer, with the injected faults.
async fn settle(
    head: &hyper::http::request::Parts,
    call: &Call,
    shared: &Arc<Shared>,
    blow: Option<Blow>,
) -> Result<Answer, Dropped> {
    let broken = |status| answer(status, &json!({ "message": format!("{status}: made to fail"), "code": 0 }));
    let Some(blow) = blow else { return Ok(perform(head, call, shared)) };
    let lost = || {
        let answer = perform(head, call, shared);
        // A client that has given up meanwhile may ask again.
        shared.with(|state| rest::answer_lost(state, call));
        answer
    };
    let happened = match blow.kind {
        Kind::Slow(_) | Kind::Status { effect: Effect::After, .. } | Kind::Dropped(Effect::After) => {
            let answer = lost();
            shared.with(|state| state.kept_back.push(head.uri.path().to_owned()));
            Some(answer)
        }
        Kind::RateLimited { .. } => {
            shared.with(|state| state.limits.refused += 1);
            None
        }
        Kind::Status { .. } | Kind::Dropped(_) | Kind::Refused(_) | Kind::Foreign(_) => None,
    };
    blow.allowed().await;
    match blow.kind {
        Kind::RateLimited { retry_after, is_global } => {
            Ok(rate_limited(Duration::from_secs_f64(retry_after), is_global, "user"))
        }
        Kind::Status { status, .. } => Ok(broken(status)),
        Kind::Slow(time) => {
            tokio::time::sleep(time).await;
            happened.ok_or(Dropped)
        }
        Kind::Dropped(_) => Err(Dropped),
        Kind::Refused(refusal) => Ok(answer(refusal.status, &refusal.body())),
        Kind::Foreign(status) => Ok(page(status)),
    }
}

/// Returns a page of a proxy.
fn page(status: u16) -> Answer {
    let words = format!("<html><head><title>{status}</title></head><body>A proxy says no.</body></html>");
    let mut response = with_header(Response::new(Full::from(words)), "content-type", "text/html");
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response
}

fn rate_limited(retry_after: Duration, is_global: bool, scope: &str) -> Answer {
    let seconds = retry_after.as_secs_f64();
    let body =
        json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": is_global });
    let response = answer(429, &body);
    let response = with_header(response, "retry-after", &format!("{}", seconds.ceil()));
    let response = with_header(response, "x-ratelimit-reset-after", &format!("{seconds:.3}"));
    let response = with_header(response, "x-ratelimit-scope", if is_global { "global" } else { scope });
    if is_global { with_header(response, "x-ratelimit-global", "true") } else { response }
}

fn with_limit(response: Answer, standing: &Standing, state: &State) -> Answer {
    let reset = (state.now() as f64) / 1000.0 + standing.reset_after.as_secs_f64();
    let fields = [
        ("x-ratelimit-bucket", format!("{:x}", crc32fast::hash(standing.bucket.as_bytes()))),
        ("x-ratelimit-limit", standing.limit.to_string()),
        ("x-ratelimit-remaining", standing.remaining.to_string()),
        ("x-ratelimit-reset", format!("{reset:.3}")),
        ("x-ratelimit-reset-after", format!("{:.3}", standing.reset_after.as_secs_f64())),
    ];
    fields.iter().fold(response, |response, (name, value)| with_header(response, name, value))
}

/// Checks a request as Discord does and does what it asks.
fn perform(head: &hyper::http::request::Parts, call: &Call, shared: &Shared) -> Answer {
    let key = call.key();
    shared.with(|state| {
        if let Err(refusal) = authorized(head, call, state) {
            return refuse(state, &key, &refusal);
        }
        let major = ["channel_id", "guild_id", "webhook_token", "interaction_token"];
        let major = major.iter().find_map(|name| call.parameters.get(*name));
        let standing = state.limits.request(&key, major.map_or("", String::as_str));
        if let Some((retry_after, is_global)) =
            standing.as_ref().and_then(|standing| Some((standing.retry_after?, standing.is_global)))
        {
            state.limits.refused += 1;
            state.limits.refused_globally += u32::from(is_global);
            let response = rate_limited(retry_after, is_global, "user");
            return standing
                .iter()
                .fold(response, |response, standing| with_limit(response, standing, state));
        }
        let problems = problems(call, &shared.contract);
        for field in shared.contract.unknown_fields(&call.method, &call.route, &call.body) {
            state.warnings.push(format!("{key}: unknown field {field}"));
        }
        let result = if problems.is_empty() {
            rest::answer(state, call)
        } else {
            Err(Refusal::invalid(problems).into())
        };
        let response = match result {
            Ok((status, body)) => answer(status, &body),
            Err(rest::No::Refused(refusal)) => refuse(state, &key, &refusal),
            Err(rest::No::Wait(time)) => {
                state.limits.refused += 1;
                rate_limited(time, false, "shared")
            }
        };
        standing.iter().fold(response, |response, standing| with_limit(response, standing, state))
    })
}

fn problems(call: &Call, contract: &contract::Contract) -> Vec<super::refusal::Problem> {
    let mut problems = contract.parameter_problems(&call.method, &call.route, &call.parameters, &call.query);
    problems.extend(contract.body_problems(&call.method, &call.route, &call.body));
    problems
}

fn refuse(state: &mut State, key: &str, refusal: &Refusal) -> Answer {
    if refusal.is_violation {
        state.violation(format!("{key}: {}", refusal.line()));
    }
    answer(refusal.status, &refusal.body())
}

/// Checks that the token is where Discord expects it. Routes with an interaction's own token need no other.
fn authorized(head: &hyper::http::request::Parts, call: &Call, state: &mut State) -> Result<(), Refusal> {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    if !header("user-agent").is_some_and(|agent| agent.starts_with("DiscordBot (")) {
        let agent = header("user-agent").unwrap_or_default().to_owned();
        state
            .warnings
            .push(format!("{}: the User-Agent is {agent:?}, not `DiscordBot (URL, VERSION)`", call.key()));
    }
    let is_open = call.route.starts_with("/interactions/") || call.route.contains("{webhook_token}");
    if is_open || call.route == "/gateway" {
        return Ok(());
    }
    match header("authorization") {
        Some(given) if given.strip_prefix("Bot ") == Some(state.bot.token.as_str()) => Ok(()),
        _ => Err(Refusal::new(401, 0, "401: Unauthorized")),
    }
}

fn call(
    head: &hyper::http::request::Parts,
    body: &Bytes,
    at: Instant,
    contract: &contract::Contract,
) -> Result<Call, Refusal> {
    let nowhere = || Refusal::new(404, 0, "404: Not Found");
    let path = head.uri.path().strip_prefix(API).ok_or_else(nowhere)?;
    let found = contract.route(head.method.as_str(), path).ok_or_else(nowhere)?;
    let query = head.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let query = query.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (contract::percent_decoded(name), contract::percent_decoded(&value.replace('+', " ")))
    });
    let content_type =
        head.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (body, files) = multipart::read(content_type, body)?;
    Ok(Call {
        method: head.method.to_string(),
        route: found.route,
        parameters: found.parameters,
        query: query.collect(),
        body,
        files,
        at,
    })
}

/// Returns a certificate authority of the simulator's own, and what it vouches for.
pub(crate) fn tls() -> (String, TlsAcceptor) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

    let key = KeyPair::generate().expect("randomness");
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "Simulated authority");
    let certificate = authority.self_signed(&key).expect("a key signs");
    let issuer = Issuer::new(authority, key);
    let names = ["discord.com", "cdn.discordapp.com", "gateway.discord.gg", "localhost", "127.0.0.1"];
    let leaf_key = KeyPair::generate().expect("randomness");
    let leaf = CertificateParams::new(names.map(str::to_owned)).expect("names").signed_by(&leaf_key, &issuer);
    let leaf = leaf.expect("the authority signs");
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der())),
        )
        .expect("the key is the certificate's");
    (certificate.pem(), TlsAcceptor::from(Arc::new(config)))
}
