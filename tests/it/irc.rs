//! The IRC network against scripted servers over in-memory streams, and against the embedded server.

mod authority;
mod delivery;
mod looks;
mod past;
mod registration;
pub(crate) mod script;

use herder::chat::embedded_ircd::{Options, Password, Server};
use herder::chat::irc::Connector;
use herder::core::post::Lane;
use herder::core::speech::Place;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::irc_rig::{Rig, agent, network, settings};

/// Reads lines until one contains `text`.
async fn until(lines: &mut (impl tokio::io::AsyncBufRead + Unpin), text: &str) -> String {
    loop {
        let mut line = String::new();
        let read = tokio::time::timeout(crate::irc_rig::PATIENCE, lines.read_line(&mut line)).await;
        assert_ne!(read.expect("a line in time").expect("readable"), 0, "closed before \"{text}\" came");
        if line.contains(text) {
            return line.trim_end().to_owned();
        }
    }
}

#[tokio::test]
async fn on_the_embedded_server_people_command_and_are_answered() {
    let options =
        Options { accounts: vec![("alice".to_owned(), Password::of("secret"))], ..Options::default() };
    let server = Server::start(options).await.expect("a port");
    let inside = server.connector();
    let connector = Connector::factory(move || Ok(inside.connect("herder")));
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    rig.until_up().await;

    let (reader, mut writer) =
        tokio::net::TcpStream::connect(server.address()).await.expect("up").into_split();
    let mut reader = BufReader::new(reader);
    writer.write_all(b"PASS secret\r\nNICK ally\r\nUSER a 0 * :a\r\nJOIN #spark\r\n").await.expect("taken");
    until(&mut reader, " 366 ").await;
    writer.write_all(b"PRIVMSG #spark :\x02status\x02\r\nPRIVMSG herder :!status\r\n").await.expect("taken");

    let heard = rig.hear().await;
    assert_eq!(heard.place, Place::Channel("#spark".to_owned()));
    assert_eq!((heard.text.as_str(), heard.author.account.as_deref()), ("status", Some("alice")));
    let private = rig.hear().await;
    assert_eq!(private.place, Place::Direct("ally".to_owned()));

    rig.say(&agent("spark"), Lane::Normal, "one");
    rig.say(&private.author.in_private("ally"), Lane::Urgent, "two");
    rig.drained().await;
    let (first, second) = (until(&mut reader, "PRIVMSG").await, until(&mut reader, "PRIVMSG").await);
    assert!(first.ends_with(" two"), "{first}");
    assert!(second.ends_with(" one"), "{second}");
    rig.stop().await;
}
