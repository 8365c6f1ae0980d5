//! Capabilities, login, nick: the lines before 001.

use base64::Engine as _;
use herder::chat::irc::Connector;
use herder::config::{IrcNetwork, Sasl};
use herder::core::detail::LinkReason;
use herder::core::link::LinkState;
use secrecy::SecretString;

use super::script::{ALL, Listener, Script, listen};
use crate::irc_rig::{Rig, network, settings};

fn with_password(password: &str) -> IrcNetwork {
    let password = SecretString::from(password);
    IrcNetwork { sasl: Some(Sasl::Plain { account: "herder".to_owned(), password }), ..network(0) }
}

async fn start(network: IrcNetwork, caps: &str) -> (Rig, Listener, Script) {
    let (connector, mut listener) = listen();
    let rig = Rig::start(settings(network), connector, &[]);
    let script = listener.accept(caps).await;
    (rig, listener, script)
}

/// Returns the state that follows `Connecting { attempts: 0 }`.
async fn outcome(rig: &mut Rig) -> LinkState {
    assert_eq!(rig.report().await, LinkState::Connecting { attempts: 0, reason: None });
    rig.report().await
}

fn reason(state: LinkState) -> String {
    match state {
        LinkState::Connecting { attempts: 1, reason: Some(reason) } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_login_asks_for_what_is_offered_and_ends_before_001() {
    let (mut rig, _listener, mut server) = start(with_password("secret"), "").await;
    server.until("CAP LS 302").await;
    server.until("USER").await;
    server.send(":s CAP * LS * :multi-prefix sasl=PLAIN unknown/cap").await;
    server.send(":s CAP * LS :server-time").await;
    assert_eq!(server.line().await.as_deref(), Some("CAP REQ :multi-prefix sasl server-time"));
    server.send(":s CAP * ACK :multi-prefix sasl server-time").await;
    assert_eq!(server.line().await.as_deref(), Some("AUTHENTICATE PLAIN"));
    server.send("AUTHENTICATE +").await;
    let data = base64::engine::general_purpose::STANDARD.encode("\0herder\0secret");
    assert_eq!(server.line().await, Some(format!("AUTHENTICATE {data}")));
    server.send(":s 900 herder herder!h@host herder :You are now logged in").await;
    server.send(":s 903 herder :done").await;
    assert_eq!(server.line().await.as_deref(), Some("CAP END"));
    server.welcome().await;
    server.settle().await;
    rig.until_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_password_goes_out_in_pieces_of_400() {
    // 7 + 1 + 592 bytes are 800 characters: two full pieces, and an empty one that says so.
    let (_rig, _listener, mut server) = start(with_password(&"x".repeat(592)), ALL).await;
    server.until("AUTHENTICATE PLAIN").await;
    server.send("AUTHENTICATE +").await;
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let line = server.line().await.expect("a piece");
        sizes.push(line.trim_start_matches("AUTHENTICATE ").len());
    }
    assert_eq!(sizes, [400, 400, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_given_up_for_good() {
    for (line, word) in
        [(":s 904 herder :SASL authentication failed", "SASL"), (":s 464 * :Password incorrect", "password")]
    {
        let (mut rig, _listener, mut server) = start(with_password("wrong"), ALL).await;
        server.until("AUTHENTICATE PLAIN").await;
        server.send(line).await;
        let state = outcome(&mut rig).await;
        let LinkState::Refused { reason } = state else { panic!("{line}: {state:?}") };
        assert!(reason.to_string().contains(word), "{reason}");
        tokio::time::timeout(crate::irc_rig::PATIENCE, rig.task).await.expect("it ends").expect("no panic");
    }
}

/// A ban is said at once, and tried against after its time, or after a wait that grows.
#[tokio::test(start_paused = true)]
async fn a_ban_is_waited_for_and_not_the_end() {
    let (mut rig, mut listener, mut server) = start(network(0), "").await;
    assert_eq!(rig.report().await, LinkState::Connecting { attempts: 0, reason: None });
    for (line, seconds) in [
        (":s 465 herder :You are banned from this server- Temporary K-line 10 min. - noise", 600),
        ("ERROR :Closing Link: (K-Lined)", 120),
        (":s 466 herder :You will be banned", 240),
    ] {
        server.until("CAP END").await;
        server.send(line).await;
        let state = rig.report().await;
        let LinkState::Barred { reason, .. } = state else { panic!("{line}: {state:?}") };
        assert!(reason.to_string().contains("banned; the next attempt is in"), "{reason}");
        let begin = tokio::time::Instant::now();
        server = listener.accept("").await;
        assert_eq!(begin.elapsed().as_secs(), seconds, "{line}");
    }
    server.settle().await;
    rig.until_up().await;
    server.send(":s 465 herder :You are banned from this server").await;
    let state = rig.report().await;
    assert!(matches!(state, LinkState::Barred { .. }), "{state:?}");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn services_that_say_nothing_cost_ten_seconds_and_another_try() {
    let (mut rig, mut listener, mut server) = start(with_password("secret"), ALL).await;
    let begin = tokio::time::Instant::now();
    server.until("AUTHENTICATE PLAIN").await;
    assert!(reason(outcome(&mut rig).await).contains("did not answer"));
    assert_eq!(begin.elapsed().as_secs(), 10);
    listener.accept(ALL).await.until("AUTHENTICATE PLAIN").await;
}

#[tokio::test(start_paused = true)]
async fn services_that_are_away_are_waited_for() {
    let (mut rig, mut listener, mut server) = start(with_password("secret"), "multi-prefix").await;
    server.until("CAP REQ :multi-prefix").await;
    server.send(":s CAP * ACK :multi-prefix").await;
    server.send(":s CAP * NEW :sasl=PLAIN").await;
    server.until("AUTHENTICATE PLAIN").await;
    drop(server);
    reason(outcome(&mut rig).await);

    let mut server = listener.accept("multi-prefix").await;
    server.until("CAP REQ :multi-prefix").await;
    server.send(":s CAP * ACK :multi-prefix").await;
    let state = rig.report().await;
    let LinkState::Connecting { reason: Some(reason), .. } = state else { panic!("{state:?}") };
    assert!(reason.is(&LinkReason::NoLoginNow.into()), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn without_sasl_the_password_goes_to_nickserv() {
    let nickserv = IrcNetwork { nickserv_password: Some(SecretString::from("secret")), ..network(0) };
    let (_rig, _listener, mut server) = start(nickserv, "").await;
    assert_eq!(server.posted("NickServ").await, "IDENTIFY secret");
}

#[tokio::test(start_paused = true)]
async fn services_that_are_not_there_are_told_again_until_they_know_us() {
    let nickserv = IrcNetwork { nickserv_password: Some(SecretString::from("secret")), ..network(0) };
    let (mut rig, _listener, mut server) = start(nickserv, "cap-notify").await;
    let away = ":s 401 herder NickServ :No such nick/channel";
    let mut begin = tokio::time::Instant::now();
    for waited in [0, 15, 30] {
        assert_eq!(server.posted("NickServ").await, "IDENTIFY secret");
        assert_eq!(begin.elapsed().as_secs(), waited);
        begin = tokio::time::Instant::now();
        server.send(away).await;
    }
    // They say themselves that they are back.
    server.send(":s CAP herder NEW :sasl=PLAIN").await;
    assert_eq!(server.posted("NickServ").await, "IDENTIFY secret");
    assert!(begin.elapsed().as_secs() < 15);
    rig.until_up().await;
    // They take the name from who does not say whose it is.
    server.send(":herder!h@host NICK Guest1").await;
    assert_eq!(server.posted("NickServ").await, "IDENTIFY herder secret");
    server.send(":s 900 Guest1 Guest1!h@host herder :You are now logged in").await;
    server.send(away).await;
    server.quiet_without("NickServ").await;
}

/// A thief who takes the nick between the server's answer and the password is on another server.
#[tokio::test(start_paused = true)]
async fn the_password_goes_to_the_server_that_the_services_are_on_where_lines_can() {
    let nickserv = IrcNetwork { nickserv_password: Some(SecretString::from("secret")), ..network(0) };
    let (mut rig, _listener, mut server) = start(nickserv, "").await;
    for (refused, to) in [
        (":s 401 herder NickServ@services.test.local :No such nick/channel", "NickServ@services.test.local"),
        (":s 401 herder NickServ :No such nick/channel", "NickServ"),
        ("", "NickServ"),
    ] {
        server.until("WHOIS NickServ").await;
        server.send(":s 312 herder NickServ services.test.local :services").await;
        server.send(":s 318 herder NickServ :End").await;
        assert_eq!(server.posted(to).await, "IDENTIFY secret");
        if !refused.is_empty() {
            server.send(refused).await;
        }
    }
    rig.until_up().await;
    let told = server.seen.iter().filter(|line| line.contains("secret")).count();
    assert_eq!(told, 3, "{:#?}", server.seen);
    rig.stop().await;
}

/// Returns the services' refusal in the next report that the link is up.
async fn unidentified(rig: &mut Rig) -> Option<String> {
    loop {
        if let LinkState::Up { unidentified, .. } = rig.report().await {
            return unidentified.map(|said| said.to_string());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_password_that_nickserv_refuses_is_told_further_and_tried_once_with_each_link() {
    let nickserv = IrcNetwork { nickserv_password: Some(SecretString::from("secret")), ..network(0) };
    let (mut rig, mut listener, mut server) = start(nickserv, "").await;
    assert_eq!(server.posted("NickServ").await, "IDENTIFY secret");
    // A line from another sender is not from NickServ, and a line about other things is no answer.
    server.send(":eve!e@h NOTICE herder :Password incorrect.").await;
    server.send(":NickServ!s@services. NOTICE herder :This nickname is registered and protected.").await;
    server.quiet().await;
    assert_eq!(unidentified(&mut rig).await, None);
    server.send(":NickServ!s@services. NOTICE herder :\x02Password incorrect\x02.").await;
    assert_eq!(unidentified(&mut rig).await.as_deref(), Some("Password incorrect."));
    for line in [
        ":NickServ!s@services. NOTICE herder :Password incorrect.",
        ":s 401 herder NickServ :No such nick/channel",
        ":s CAP herder NEW :sasl=PLAIN",
        ":herder!h@host NICK Guest1",
    ] {
        server.send(line).await;
        server.quiet_without("NickServ").await;
    }

    drop(server);
    let mut server = listener.accept("").await;
    assert_eq!(server.posted("NickServ").await, "IDENTIFY secret");
    server.quiet().await;
    assert_eq!(unidentified(&mut rig).await.as_deref(), Some("Password incorrect."), "as far as is known");
    server.send(":NickServ!s@services. NOTICE herder :Password accepted - you are now recognized.").await;
    assert_eq!(unidentified(&mut rig).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_denied_as_a_whole_is_asked_for_one_by_one() {
    let (mut rig, _listener, mut server) = start(network(0), "batch server-time").await;
    server.until("CAP REQ :batch server-time").await;
    server.send(":s CAP * NAK :batch server-time").await;
    assert_eq!(server.line().await.as_deref(), Some("CAP REQ :batch"));
    assert_eq!(server.line().await.as_deref(), Some("CAP REQ :server-time"));
    server.send(":s CAP * NAK :batch").await;
    server.send(":s CAP * ACK :server-time").await;
    server.until("CAP END").await;
    server.welcome().await;
    server.settle().await;
    rig.until_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_capabilities_and_sends_neither_005_nor_376_is_joined() {
    let (mut rig, _listener, mut server) = start(network(0), "").await;
    server.isupport.clear();
    server.until("CAP LS").await;
    server.send(":s 421 herder CAP :Unknown command").await;
    server.until("USER").await;
    server.nick = "herder".to_owned();
    server.until("CAP END").await;
    server.welcome().await;
    let fence = server.until("PING").await;
    server.answer(&fence).await;
    for channel in ["#control", "#alerts", "#work"] {
        let join = server.until("JOIN").await;
        assert_eq!(join, format!("JOIN {channel}"), "one at a time");
        server.answer(&join).await;
    }
    rig.until_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_nick_in_use_is_asked_for_again_when_its_holder_leaves() {
    let (mut rig, _listener, mut server) = start(network(0), "").await;
    server.until("NICK herder").await;
    server.send(":s 433 * herder :in use").await;
    // The answer to the capabilities was on its way before.
    server.until("CAP END").await;
    server.until("NICK herder_").await;
    server.nick = "herder_".to_owned();
    server.welcome().await;
    server.settle().await;
    rig.until_up().await;
    server.send(":herder!x@y QUIT :bye").await;
    server.until("NICK herder").await;
    server.send(":herder_!h@host NICK :herder").await;
    server.send(":services. NOTICE herder :a notice is not a command").await;
    server.send(":herder!h@host NICK :Guest15362").await;
    server.send(":bob!b@b PRIVMSG Guest15362 :!status").await;
    let who = server.until("WHOIS bob").await;
    assert_eq!(who, "WHOIS bob");
    server.send(":s 318 Guest15362 bob :End").await;
    assert_eq!(rig.hear().await.own_nick, "Guest15362");
}

#[tokio::test(start_paused = true)]
async fn who_comes_too_fast_waits_a_minute_and_waits_double_up_to_half_a_minute() {
    let (mut rig, mut listener, mut server) = start(network(0), "").await;
    server.send("ERROR :Closing Link: (Trying to reconnect too fast.)").await;
    reason(outcome(&mut rig).await);
    let begin = tokio::time::Instant::now();
    drop(listener.accept("").await);
    assert!(begin.elapsed().as_secs() >= 60);
    let mut waits = Vec::new();
    for attempts in 2..=7 {
        let state = rig.report().await;
        assert!(matches!(state, LinkState::Connecting { attempts: n, .. } if n == attempts), "{state:?}");
        let begin = tokio::time::Instant::now();
        drop(listener.accept("").await);
        waits.push(begin.elapsed().as_secs_f64());
    }
    for (wait, expected) in waits.iter().zip([2.0, 4.0, 8.0, 16.0, 30.0, 30.0]) {
        assert!((wait / expected - 1.0).abs() < 0.21, "{waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_is_asked_and_then_given_up() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &[]);
    let mut server = listener.up("").await;
    rig.until_up().await;
    let begin = tokio::time::Instant::now();
    server.send(":s NOTICE herder :the last word").await;
    server.until("PING :idle").await;
    assert_eq!(begin.elapsed().as_secs(), 60);
    let state = rig.report().await;
    assert!(
        matches!(state, LinkState::Connecting { attempts: 0, reason: Some(reason) } if reason.is(&LinkReason::FellSilent.into()))
    );
    assert_eq!(begin.elapsed().as_secs(), 90);
}

#[tokio::test(start_paused = true)]
async fn who_is_started_anew_waits_as_long_as_who_goes_on() {
    let network = settings(network(0));
    let refused =
        || Connector::factory(|| Err::<tokio::io::DuplexStream, _>(std::io::Error::other("no route")));
    let mut rig = Rig::start(network.clone(), refused(), &[]);
    for attempt in 0..=5 {
        assert!(matches!(rig.report().await, LinkState::Connecting { attempts, .. } if attempts == attempt));
    }
    rig.stop().await;
    let stopped = tokio::time::Instant::now();
    let mut rig = Rig::start(network, refused(), &[]);
    rig.report().await;
    let LinkState::Connecting { attempts: 1, .. } = rig.report().await else { panic!("it counts its own") };
    let waited = stopped.elapsed().as_secs();
    assert!((12..=20).contains(&waited), "the wait after the fifth failure is 16 s and was {waited} s");
    rig.stop().await;
}
